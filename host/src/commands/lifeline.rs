//! A thread for each child process, and the lifeline that ends the process when nobody waits for it.

use super::{NoResult, running};
use crate::deadline::Deadline;
use parking_lot::Mutex;
use std::io::{self, PipeReader, PipeWriter};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long a caller that drops the future waits until the processes have ended.
const PATIENCE: Duration = Duration::from_secs(5);

/// The end of the lifeline that the host holds. Cutting it kills the command and everything that the command started.
#[derive(Debug)]
pub(super) struct Lifeline {
    pipe: Mutex<Option<PipeWriter>>,
    /// It is over once the lifeline is cut, so that what the host does for the command ends too.
    deadline: Deadline,
}

impl Lifeline {
    pub(super) fn cut(&self) {
        self.deadline.end();
        drop(self.pipe.lock().take());
    }

    /// Returns when work for the command must end.
    pub(super) fn deadline(&self) -> &Deadline {
        &self.deadline
    }
}

/// Cuts the lifeline when the future is dropped.
struct CutOnDrop {
    lifeline: Arc<Lifeline>,
    is_gone: mpsc::Receiver<()>,
}

impl Drop for CutOnDrop {
    fn drop(&mut self) {
        self.lifeline.cut();
        // After a run this returns at once; otherwise it takes as long as it takes to kill the processes.
        let _ = self.is_gone.recv_timeout(PATIENCE);
    }
}

/// Runs `work` on a thread of its own. `work` gets the end of the lifeline that the supervisor process holds, and the end that the
/// host holds. Dropping the future cuts the lifeline, and waits a while until `work` has returned.
pub(super) async fn on_own_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce(PipeReader, &Lifeline) -> Result<T, NoResult> + Send + 'static,
) -> Result<T, NoResult> {
    let cannot = |what: &str, error: io::Error| NoResult::not_started(format!("cannot create {what}: {error}"));
    let (theirs, ours) = io::pipe().map_err(|error| cannot("a pipe", error))?;
    let lifeline = Arc::new(Lifeline { pipe: Mutex::new(Some(ours)), deadline: Deadline::default() });
    let entry = running::enter(&lifeline)?;
    let (gone, is_gone) = mpsc::channel::<()>();
    let _guard = CutOnDrop { lifeline: Arc::clone(&lifeline), is_gone };
    let (send, receive) = oneshot::channel();
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(move || {
        // Dropped last, so that whoever waits for it knows that everything has ended.
        let _gone = gone;
        let result = work(theirs, &lifeline);
        if entry.leave() {
            let _ = send.send(result);
        } else {
            // `gate` is being interrupted: a command that was killed for that has no result.
            loop {
                thread::park();
            }
        }
    });
    spawned.map_err(|error| cannot("a thread", error))?;
    receive.await.unwrap_or_else(|_| Err(NoResult::not_started("lost contact with the command".to_owned())))
}
