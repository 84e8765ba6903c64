//! Gatehost: load verifiers as sandboxed WebAssembly components, and compose their verdicts into gates.
//!
//! One call runs the gate of a folder, and returns a [`Record`](record::Record) of everything that the gate found:
//!
//! ```no_run
//! use gatehost::environment::Environment;
//! use gatehost::session::{Host, Request};
//! use gatehost::verdict::Status;
//!
//! # async fn example() -> Result<(), gatehost::error::Error> {
//! let environment = Environment::of_process();
//! // A host serves many runs at the same time, on its own threads. Create it once.
//! let host = Host::new(&environment)?;
//! let record = host.run(Request::new(".", environment), ()).await?;
//! if record.status != Status::Pass {
//!     eprintln!("{}", record.feedback.unwrap_or_default());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The library never prints, never exits the process, and never blocks the caller's executor. It reads environment variables
//! only in [`Environment::of_process`](environment::Environment::of_process). `host/examples` has complete programs; the
//! guide `host/docs/embedding.md` explains them.
//!
//! # Features
//!
//! All features are on by default. Without any, the library only runs verifiers from files and from memory.
//!
//! | feature | what it adds |
//! |---|---|
//! | `bundled` | the bundled verifiers, compiled ahead; building them needs rustup's target `wasm32-unknown-unknown` |
//! | `commands` | the grant `command:NAME`: running commands in a sandbox |
//! | `models` | the grant `model:NAME`: asking models over HTTP |
//! | `author` | tools for authors of verifiers: `author`, `component` |
//! | `cli` | the program `gate`, and what only it uses: `install`, `import`; needs all others |
//!
//! # Modules
//!
//! The modules are listed in the order in which data passes through them; each module uses only those before it. Types that
//! grow within a version, such as records and events, are `#[non_exhaustive]`. Verdicts and submissions have the fields of
//! the contract (`wit/`).

// Data.
#[doc(hidden)]
pub mod text;
pub mod limits;
pub mod environment;
mod compression;
mod cores;
mod json_values;
mod own_folder;
#[doc(hidden)]
pub mod process_limits;
mod random;
mod regular_file;
mod run_id;
#[doc(hidden)]
pub mod search_path;
mod temporary;
pub mod cache_store;
pub mod verdict;
mod fingerprint;
pub mod submission;
pub mod outcome;
pub mod event;
pub mod record;
mod finding_budget;
mod tape_files;
pub mod retry;

// The configuration file, the plan that it resolves to, and the rules that decide a gate.
pub mod config;
pub mod plan;
mod deadline;
pub mod gate;
mod feedback;

// The files and the submission that are checked.
pub mod workspace;
#[doc(hidden)]
pub mod writer;
pub mod input;
mod transcript;
pub mod taskplan;
pub mod changes;
pub mod error;

// Capabilities that a verifier can be granted.
pub mod commands;
#[doc(hidden)]
pub mod shutdown;
pub mod models;

// Running verifiers.
pub mod runtime;
mod cached_passes;
#[doc(hidden)]
pub mod settings;
mod resolver;
mod runner;

// The ledger: records that outlive a run.
pub mod ledger;
pub mod overrides;
pub mod proof;

// One library call that runs a gate.
pub mod session;
pub mod bundle;
pub mod fix;

// Running an executor until its work passes.
pub mod looping;

// Tools for authors of verifiers.
#[cfg(feature = "author")]
pub mod author;

// Reports and schemas.
pub mod report;
pub mod schema;

// Hooks of coding agents and of git.
#[doc(hidden)]
pub mod hook;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod install;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod import;

// Tools for authors of verifiers.
#[cfg(feature = "author")]
pub mod component;

/// Compiles the Rust code of the guide to embedding.
#[cfg(doctest)]
#[doc = include_str!("../docs/embedding.md")]
struct EmbeddingGuide;
