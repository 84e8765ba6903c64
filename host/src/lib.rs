//! Gatehost: load verifiers as sandboxed WebAssembly components, and compose their verdicts into gates.
//!
//! One call judges a folder by its own gate, and returns a [`Record`](record::Record) of everything that was found:
//!
//! ```no_run
//! use gatehost::environment::Environment;
//! use gatehost::session::{Host, Request};
//! use gatehost::verdict::Status;
//!
//! # async fn example() -> Result<(), gatehost::error::Error> {
//! let environment = Environment::of_process();
//! // Made once, a host serves many runs at the same time, on threads of its own.
//! let host = Host::new(&environment)?;
//! let record = host.run(Request::new(".", environment), ()).await?;
//! if record.status != Status::Pass {
//!     eprintln!("{}", record.feedback.unwrap_or_default());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The library never prints, never ends the process, reads no environment variable unless it is asked to
//! ([`Environment::of_process`](environment::Environment::of_process)), and does not block the caller's executor. `host/examples`
//! has whole programs, and the guide `host/docs/embedding.md` explains them.
//!
//! # Features
//!
//! All are on by default. Without any, the library runs verifiers from files and from memory, and nothing else.
//!
//! | feature | what it adds |
//! |---|---|
//! | `bundled` | the bundled verifiers, compiled ahead; building them needs rustup's target `wasm32-unknown-unknown` |
//! | `commands` | the grant `command:NAME`: running commands, confined |
//! | `models` | the grant `model:NAME`: asking models over HTTP |
//! | `author` | what those who write verifiers need: `author`, `component` |
//! | `cli` | the program `gate`, and what only it uses: `install`, `import`; needs all others |
//!
//! # Modules
//!
//! They stand in the order in which data passes through them; each uses only those before it. What grows within a version,
//! such as records and events, is `#[non_exhaustive]`; verdicts and submissions are as the contract has them (`wit/`).

// Data.
#[doc(hidden)]
pub mod text;
pub mod limits;
pub mod environment;
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
pub mod retry;

// What is to be done: the file as written, what it means, and the rules by which it is decided.
pub mod config;
pub mod plan;
pub mod gate;
mod feedback;

// What is judged.
pub mod workspace;
pub mod input;
mod transcript;
pub mod taskplan;
pub mod changes;
pub mod error;

// What a verifier can be granted besides.
pub mod commands;
#[doc(hidden)]
pub mod shutdown;
pub mod models;

// Who judges.
pub mod runtime;
mod cached_passes;
#[doc(hidden)]
pub mod settings;
mod resolver;
mod runner;

// What outlives a run.
pub mod ledger;
pub mod overrides;
pub mod proof;

// One call that does it all.
pub mod session;
pub mod bundle;
pub mod fix;

// An executor, run until its work passes.
pub mod looping;

// For those who write verifiers.
#[cfg(feature = "author")]
pub mod author;

// What is told afterwards.
pub mod report;
pub mod schema;

// Where it is put to use: hooks of coding agents and of git.
#[doc(hidden)]
pub mod hook;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod install;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod import;

// For those who write verifiers.
#[cfg(feature = "author")]
pub mod component;
