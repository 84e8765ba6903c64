//! The loop: runs an executor, checks its work, sends it back with feedback, and ends in a named state.
//!
//! Everything that decides is fixed before the executor runs for the first time: the base commit, the configuration, and
//! the bytes of the verifiers ([`Pinned`](crate::session::Pinned)). Every attempt is checked as the whole difference from
//! that commit: later commits, staged, unstaged and untracked files, and changes from before the loop.
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

/// A function that receives the output of an executor as it arrives.
pub type Output = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// The executor, the request by which its work is checked, and the options of a loop.
#[derive(Clone)]
#[non_exhaustive]
pub struct LoopRequest {
    /// How the work is checked. The loop fills in its selection, claim, attempt and session.
    pub request: Request,
    /// The executor and its arguments. In an argument, `{feedback}` and `{task}` are replaced.
    pub executor: Vec<String>,
    /// Whether the executor gets the feedback on stdin.
    pub feedback_on_stdin: bool,
    /// The budgets that override those of the configuration.
    pub budgets: LoopConfig,
    /// Whether the executor stays in the foreground of the terminal.
    pub keep_terminal: bool,
    /// Receives the output of the executor.
    pub output: Output,
    /// The arguments of the caller, stored in the ledger so that the loop can be resumed.
    pub arguments: Vec<String>,
    /// The identifier of the loop that is resumed.
    pub resume: Option<String>,
    /// The plan into which fix tasks are inserted for the findings of a reviewer.
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

/// Runs a loop to its end. Blocks until then. An error means that the caller must change something (there is nothing to run or
/// to check), or that the machine failed (such as a ledger that cannot be written). Everything that the executor and the
/// verifiers do is in the record.
pub fn run(host: &Host, wanted: LoopRequest, observer: impl Observer + 'static) -> Result<LoopRecord, Error> {
    let (driver, reached) = Driver::new(host, wanted, observer)?;
    driver.run(reached, Driver::drive)
}
