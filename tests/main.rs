//! The integration suite: each module is a part of it.

mod architecture;
mod asking;
mod baseline;
mod cache;
mod cases;
mod component;
mod determinism;
mod guests;
mod hostile;
mod memory;
mod released;
mod schemas;
mod templates;
