//! Gatehost: load verifiers as sandboxed WebAssembly components, and compose their verdicts into gates.
//!
//! The modules in the order in which data passes through them; each imports only from those before it.
//! The library never prints and never ends the process: that is the binary's.

// Data.
pub mod text;
pub mod limits;
pub mod environment;
mod random;
mod regular_file;
mod run_id;
pub mod search_path;
mod temporary;
pub mod cache_store;
pub mod verdict;
mod fingerprint;
pub mod submission;
pub mod outcome;
pub mod event;
pub mod record;
pub mod retry;

// What is to be done: the file as written, what it means, and the rules by which it is decided.
pub mod config;
pub mod plan;
pub mod gate;
pub mod feedback;

// What is judged.
pub mod workspace;
pub mod input;
pub mod transcript;
pub mod taskplan;
pub mod changes;
pub mod error;

// What a verifier can be granted besides.
pub mod commands;
pub mod shutdown;
pub mod models;

// Who judges.
pub mod runtime;
mod cached_passes;
pub mod settings;
pub mod resolver;
pub mod runner;

// What outlives a run.
pub mod ledger;
pub mod overrides;
pub mod proof;

// One call that does it all.
pub mod session;
pub mod bundle;

// An executor, run until its work passes.
pub mod looping;

// For those who write verifiers.
pub mod author;

// What is told afterwards.
pub mod report;
pub mod schema;

// Where it is put to use: hooks of coding agents and of git.
pub mod hook;
pub mod install;
pub mod import;

// For those who write verifiers.
pub mod component;
