//! One run of the executor: its input, its output, and how it ended.

use super::emit::milliseconds;
use super::{Driver, ExecutorRun};
use crate::commands::{CommandEnding, NoResult, Supervised, SupervisedEnd};
use crate::error::Error;
use crate::event::EventKind;
use crate::submission::{ExecutorEnd, Printed};
use crate::temporary::{Purpose, Temporary};
use crate::text::{clean, clean_line};
use crate::transcript::{Transcript, TranscriptReader};
use crate::verdict::ErrorKind;
use parking_lot::Mutex;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

/// The most bytes of its output that are its claim, from the end.
const MAX_CLAIM: usize = 64 << 10;

/// How the executor ended.
pub(super) struct Executed {
    pub(super) run: ExecutorRun,
    /// The end of its output.
    pub(super) said: String,
    /// Its transcript, if it is an agent whose output format is known.
    pub(super) transcript: Option<Transcript>,
    /// Why contact was lost, or why processes that it started may still run.
    pub(super) lost: Option<String>,
}

impl Executed {
    pub(super) fn succeeded(&self) -> bool {
        let finished = |told: &Transcript| told.ended == ExecutorEnd::Finished;
        self.lost.is_none() && self.run.exit_code == Some(0) && self.transcript.as_ref().is_none_or(finished)
    }

    /// Returns whether it used up its turns before it was done.
    pub(super) fn is_out_of_turns(&self) -> bool {
        self.transcript.as_ref().is_some_and(|told| told.ended == ExecutorEnd::OutOfTurns)
    }
}

impl Driver<'_> {
    /// Runs the executor once, for at most this time, with this feedback and these fix tasks. Both are empty at the first
    /// attempt.
    pub(super) fn execute(
        &self,
        number: u32,
        timeout: Duration,
        feedback: &str,
        fix_tasks: &str,
    ) -> Result<Executed, Error> {
        let cannot = |error: std::io::Error| Error::host("cannot write the feedback for the executor").because(error);
        let folder = Temporary::new(Purpose::Feedback).map_err(cannot)?;
        let file = folder.path().join("feedback.txt");
        fs::write(&file, feedback).map_err(cannot)?;
        let mut environment = self.request.environment.clone();
        environment.set("GATE_LOOP", self.emitter.id());
        environment.set("GATE_ATTEMPT", number.to_string());
        let task = self.request.submission.task.as_ref();
        let asked = task.map(|task| if task.description.is_empty() { &task.title } else { &task.description });
        let asked = clean(asked.map_or("", String::as_str), usize::MAX);
        environment.set("GATE_TASK", &asked);
        environment.set("GATE_TASK_ID", clean_line(task.map_or("", |task| &task.id), usize::MAX));
        environment.set("GATE_FIX_TASK", fix_tasks);
        environment.set("GATE_FEEDBACK", feedback);
        environment.set("GATE_FEEDBACK_FILE", &file);
        let program = Supervised {
            argv: self.wanted.executor.iter().map(|argument| filled(argument, feedback, &asked)).collect(),
            folder: self.request.folder.clone(),
            environment,
            stdin: self.wanted.feedback_on_stdin.then(|| feedback.as_bytes().to_vec()),
            timeout,
            keep_terminal: self.wanted.keep_terminal,
        };
        self.entries.executor_started(number)?;
        self.emitter.emit(EventKind::ExecutorStarted { timeout_ms: milliseconds(program.timeout) });
        let output = Arc::clone(&self.wanted.output);
        let reader = Arc::new(Mutex::new(Some(TranscriptReader::default())));
        let read = Arc::clone(&reader);
        let told = move |bytes: &[u8]| {
            if let Some(reader) = &mut *read.lock() {
                reader.feed(bytes);
            }
            output(bytes);
        };
        let ended = super::wait(async { Ok(program.run(told).await) })?;
        let reader = reader.lock().take();
        let executed = match ended {
            Ok(ended) => executed(&ended, reader.and_then(TranscriptReader::finish)),
            Err(why) if number == 1 && why.kind() == ErrorKind::CommandNotStarted => {
                self.entries
                    .executor_ended(&ExecutorRun { outcome: "not-started".to_owned(), ..ExecutorRun::default() })?;
                return Err(Error::usage(format_args!("the executor: {why}")).hint(why.hint().map(str::to_owned)));
            }
            Err(why) => lost(&why),
        };
        self.entries.executor_ended(&executed.run)?;
        let ExecutorRun { outcome, exit_code, signal, duration_ms, .. } = executed.run.clone();
        self.emitter.emit(EventKind::ExecutorEnded { outcome, exit_code, signal, duration_ms });
        Ok(executed)
    }
}

/// Returns an argument with `{feedback}` and `{task}` filled in. Inserted text is not expanded again.
fn filled(argument: &str, feedback: &str, task: &str) -> String {
    let parts = argument.split("{feedback}").map(|part| part.replace("{task}", task));
    parts.collect::<Vec<_>>().join(feedback)
}

fn executed(ended: &SupervisedEnd, transcript: Option<Transcript>) -> Executed {
    let finished = transcript.as_ref().map_or(ExecutorEnd::Finished, |told| told.ended);
    let (outcome, exit_code, signal) = match ended.ending {
        CommandEnding::Exited(0) if finished == ExecutorEnd::OutOfTurns => ("out-of-turns", Some(0), None),
        CommandEnding::Exited(0) if finished != ExecutorEnd::Finished => ("failure", Some(0), None),
        CommandEnding::Exited(0) => ("success", Some(0), None),
        CommandEnding::Exited(code) => ("failure", Some(code), None),
        CommandEnding::Signalled(signal) => ("killed", None, Some(signal)),
        CommandEnding::TimedOut => ("timeout", None, None),
    };
    let stdout = Printed { length: ended.stdout.length, sha256: ended.stdout.sha256.clone() };
    let duration_ms = milliseconds(ended.duration);
    let printed = if ended.stdout.tail.is_empty() { &ended.stdout.head } else { &ended.stdout.tail };
    let said = match &transcript {
        Some(told) => told.claim.clone(),
        None => String::from_utf8_lossy(&printed[printed.len().saturating_sub(MAX_CLAIM)..]).into_owned(),
    };
    let run = ExecutorRun {
        outcome: outcome.to_owned(),
        exit_code,
        signal,
        duration_ms,
        stdout,
        agent: transcript.as_ref().map(|told| told.agent.to_owned()),
        model: transcript.as_ref().and_then(|told| told.model.clone()),
        session: transcript.as_ref().and_then(|told| told.session.clone()),
        input_tokens: transcript.as_ref().and_then(|told| Some(told.tokens?.0)),
        output_tokens: transcript.as_ref().and_then(|told| Some(told.tokens?.1)),
        cost_usd: transcript.as_ref().and_then(|told| told.cost),
    };
    Executed { run, said, transcript, lost: None }
}

fn lost(why: &NoResult) -> Executed {
    let run = ExecutorRun { outcome: "lost".to_owned(), ..ExecutorRun::default() };
    Executed { run, said: String::new(), transcript: None, lost: Some(why.to_string()) }
}
