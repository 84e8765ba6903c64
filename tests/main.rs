//! The integration suite: each module is a part of it.

mod architecture;
mod asking;
mod author;
mod baseline;
mod cache;
mod caller_limits;
mod cli;
mod commands;
mod component;
mod deadline;
mod determinism;
mod embedding;
mod failing_calls;
mod frozen;
mod full_disk;
mod git;
mod guests;
mod hidden;
mod hooks;
mod hostile;
mod install;
mod killed;
mod ledger;
mod looping;
mod mcp;
mod memory;
mod models;
mod programs;
mod released;
mod reports;
mod schemas;
mod signals;
#[allow(dead_code, reason = "the other test target uses the rest")]
mod support;
mod templates;
