//! The integration suite: each module is a part of it.

mod architecture;
mod asking;
mod author;
mod baseline;
mod cache;
mod cases;
mod cli;
mod commands;
mod component;
mod determinism;
mod git;
mod guests;
mod hostile;
mod killed;
mod looping;
mod memory;
mod models;
mod programs;
mod released;
mod schemas;
mod templates;
