//! Gatehost: load verifiers as sandboxed WebAssembly components, and compose their verdicts into gates.
//!
//! The modules in the order in which data passes through them; each imports only from those before it.

pub mod limits;
pub mod outcome;
pub mod submission;
pub mod text;
pub mod verdict;
pub mod workspace;

pub mod runtime;
