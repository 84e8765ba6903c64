//! The loop: runs an executor, checks its work, sends it back with feedback, and ends in a named state.
//!
//! Everything that decides is fixed before the executor runs for the first time: the base commit, the configuration, and
//! the bytes of the verifiers ([`Pinned`](crate::session::Pinned)). Every attempt is checked as the whole difference from that commit: later
//! commits, staged, unstaged and untracked files, and changes from before the loop.
//!
//! An executor does not run in a sandbox. It keeps its terminal and its network, and everything that it started is killed
//! before its work is checked. An executor that does not exit with code 0 has failed, whatever it left behind.

mod attempt;
mod commit;
mod decide;
mod driver;
mod emit;
mod entries;
mod evaluator;
mod executor;
mod progress;
mod record;
mod repeated;
mod resume;
mod review;
mod runs;
mod written;

pub use record::{AttemptRecord, EvaluatorRun, ExecutorRun, IndependentRun, LoopRecord, State};
pub use resume::{InterruptedLoop, interrupted, open_tasks};
pub use runs::run_independently;

use crate::config::LoopConfig;
use crate::error::Error;
use crate::event::Observer;
use crate::session::{Host, Request};
use decide::Spent;
use driver::{Course, Driver, wait};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// What is handed the output of an executor as it comes.
pub type Output = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// What is to be done, by whom, and how it is judged.
#[derive(Clone)]
#[non_exhaustive]
pub struct LoopRequest {
    /// How the work is judged. Its selection, claim, attempt and session are for the loop to fill in.
    pub request: Request,
    /// The executor and its arguments. In an argument, `{feedback}` and `{task}` stand for what is said to it.
    pub executor: Vec<String>,
    /// Whether the feedback is its standard input.
    pub feedback_on_stdin: bool,
    /// The budgets that outrank those of the configuration.
    pub budgets: LoopConfig,
    /// Whether the executor stays in the foreground of the terminal.
    pub keep_terminal: bool,
    /// Handed what the executor prints.
    pub output: Output,
    /// The arguments of the caller, kept in the ledger so that the loop can be resumed.
    pub arguments: Vec<String>,
    /// The identifier of the loop that is resumed.
    pub resume: Option<String>,
    /// The plan into which tasks are inserted that repair what a reviewer found.
    pub insert_fix_tasks: Option<PathBuf>,
    /// Whether work that passes without a mark is committed.
    pub commit: bool,
}

impl LoopRequest {
    /// Runs this executor until this request passes.
    pub fn new(request: Request, executor: Vec<String>) -> Self {
        Self {
            request,
            executor,
            feedback_on_stdin: false,
            budgets: LoopConfig::default(),
            keep_terminal: false,
            output: Arc::new(|_| {}),
            arguments: Vec::new(),
            resume: None,
            insert_fix_tasks: None,
            commit: false,
        }
    }
}

impl fmt::Debug for LoopRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopRequest").field("request", &self.request).field("executor", &self.executor).finish()
    }
}

/// Runs a loop to its end, which blocks for as long as it takes. An error means that the caller must change something, or
/// that the machine failed: there was nothing to run or to judge, or the ledger could not be written. Whatever the
/// executor and the verifiers do is in the record.
pub fn run(host: &Host, wanted: LoopRequest, observer: impl Observer + 'static) -> Result<LoopRecord, Error> {
    let (driver, reached) = Driver::new(host, wanted, observer)?;
    driver.run(reached, Driver::drive)
}
