//! The evaluator of a loop: a command that reads the work in a session of its own, and decides whether it is correct.
//!
//! It runs read-only and never without a sandbox. Its prompt has the task and its criteria, but nothing from the executor's
//! output. Its verdict counts only on a line with the nonce of this evaluation, which nothing in the work can know.

use super::Driver;
use super::emit::milliseconds;
use super::executor::Executed;
use super::record::EvaluatorRun;
use crate::changes;
use crate::commands::{CommandEnding, CommandResult, Commands, NoResult};
use crate::error::Error;
use crate::event::EventKind;
use crate::random::random;
use crate::submission::{Evaluator, ExecutorEnd, Task, TaskSource};
use crate::text::{clean, clean_line, hex};
use crate::transcript::{Transcript, TranscriptReader};
use std::collections::BTreeMap;

/// The bundled prompt of the role.
const ROLE: &str = include_str!("role-evaluator.md");
/// The name of its command in records and on tapes.
const NAME: &str = "evaluator";
/// How often it is asked if it gives no verdict.
const ATTEMPTS: u32 = 2;
/// The most characters of the task, and of its verdict's text.
const MAX_TEXT: usize = 64 << 10;
/// The most changed files that are named.
const MAX_FILES: usize = 500;

/// The result of an evaluation.
pub(super) struct Evaluated {
    pub(super) run: EvaluatorRun,
    /// The evaluator part of the submission.
    pub(super) part: Evaluator,
    /// Why its verdict does not count, as a word and in words.
    pub(super) refused: Option<(&'static str, String)>,
}

impl Driver<'_> {
    /// Runs the evaluator, if one is configured.
    pub(super) fn evaluate(&self, iteration: u32, executed: &Executed) -> Result<Option<Evaluated>, Error> {
        let Some(command) = self.pinned.config().evaluator.as_ref().filter(|_| self.evaluates) else { return Ok(None) };
        let folder = self.request.folder.canonicalize();
        let folder = folder.map_err(|error| Error::input("cannot open the folder of the work").because(error))?;
        let root = changes::repository(&folder, &self.request.environment)?.unwrap_or(folder);
        let declared = BTreeMap::from([(NAME.to_owned(), command.clone())]);
        let commands = Commands::new(declared, root)
            .with_configuration(self.pinned.configuration())
            .with_environment(self.request.environment.clone())
            .with_tape(self.request.commands.clone());
        let before = self.tree();
        let mut evaluated = None;
        for _ in 0..ATTEMPTS {
            let nonce = random::<16>().ok_or_else(|| Error::host("there are no random numbers for a nonce"))?;
            let nonce = hex(&nonce);
            let prompt = self.prompt(&nonce, iteration);
            self.entries.evaluator_started(iteration)?;
            self.emitter.emit(EventKind::EvaluatorStarted { iteration });
            let ran = super::wait(async { Ok(commands.run(NAME, prompt.into_bytes()).await) })?;
            let mut now = understood(ran, &nonce);
            let same_tree = before.is_some() && self.tree() == before;
            let executor = executed.run.session.as_deref();
            if !same_tree {
                now.refuse("evaluator.wrote", "the evaluator changed the work");
            } else if now.part.session.is_some() && now.part.session.as_deref() == executor {
                now.refuse("evaluator.session", "the evaluator worked in the session of the executor");
            }
            let EvaluatorRun { outcome, exit_code, duration_ms, .. } = now.run.clone();
            self.entries.evaluator_ended(&now.run)?;
            self.emitter.emit(EventKind::EvaluatorEnded { outcome, exit_code, duration_ms });
            let asked_again = now.refused.is_none() && !now.part.completed;
            evaluated = Some(now);
            if !asked_again {
                break;
            }
        }
        if let Some(last) = &mut evaluated
            && last.refused.is_none()
            && !last.part.completed
        {
            let why = format!("the evaluator returned no verdict: {}", last.run.outcome);
            last.refused = Some(("evaluator", why));
        }
        Ok(evaluated)
    }

    /// Returns the prompt of the evaluator.
    fn prompt(&self, nonce: &str, iteration: u32) -> String {
        let task = self.request.submission.task.clone().unwrap_or_default();
        let block = |label: &str, text: &str| {
            let text = clean(text.trim_end(), MAX_TEXT).replace(nonce, "");
            if text.is_empty() { String::new() } else { format!("\n<{label} {nonce}>\n{text}\n</{label} {nonce}>\n") }
        };
        let changed = changes::collect(
            &self.request.folder,
            &self.request.selection,
            changes::Needs::default(),
            &self.request.environment,
        );
        let changed = changed.map(|found| found.changes).unwrap_or_default();
        let files: Vec<String> = changed.iter().take(MAX_FILES).map(|change| clean_line(&change.path, 500)).collect();
        let Task { title, description, acceptance_criteria, done_criteria, .. } = task;
        let criteria = [acceptance_criteria, done_criteria].concat().join("\n");
        let allowed = self.budgets.iterations();
        format!(
            "{ROLE}\nEvaluation {iteration} of {allowed}. The work is what differs from commit {}.\n{}{}{}{}\n\
             End your answer with exactly one of these two lines, with the word as it is here:\n\
             {nonce} PASS\n{nonce} FAIL: what is wrong\n",
            clean_line(self.base(), 80),
            block("task", &title),
            block("description", &description),
            block("criteria", &criteria),
            block("changed-files", &files.join("\n")),
        )
    }
}

impl Evaluated {
    fn refuse(&mut self, word: &'static str, why: &str) {
        self.part.completed = false;
        self.run.outcome = word.to_owned();
        self.refused = Some((word, why.to_owned()));
    }
}

/// Returns the evaluator's answer from the output of its command.
fn understood(ran: Result<CommandResult, NoResult>, nonce: &str) -> Evaluated {
    let nothing = |outcome: &str, text: String| Evaluated {
        run: EvaluatorRun { outcome: outcome.to_owned(), ..EvaluatorRun::default() },
        part: Evaluator { completed: false, text, name: None, model: None, session: None, source: TaskSource::Caller },
        refused: None,
    };
    let ran = match ran {
        Ok(ran) => ran,
        Err(why) => {
            let mut lost = nothing("not-started", String::new());
            lost.refused = Some(("evaluator", format!("the evaluator did not run: {why}")));
            return lost;
        }
    };
    let mut reader = TranscriptReader::default();
    reader.feed(&ran.stdout.head);
    if !ran.stdout.tail.is_empty() {
        reader.feed(b"\n");
        reader.feed(&ran.stdout.tail);
    }
    let told = reader.finish();
    let text = match &told {
        Some(told) => told.claim.clone(),
        None => {
            let printed = if ran.stdout.tail.is_empty() { &ran.stdout.head } else { &ran.stdout.tail };
            String::from_utf8_lossy(&printed[printed.len().saturating_sub(MAX_TEXT)..]).into_owned()
        }
    };
    let finished = told.as_ref().is_none_or(|told| told.ended == ExecutorEnd::Finished);
    // A recorded answer has the nonce of its own evaluation, and is marked as replayed.
    let recorded =
        text.trim_end().lines().last().and_then(|line| line.split_whitespace().next()).filter(|_| ran.replayed);
    let verdict = verdict(&text, recorded.unwrap_or(nonce));
    let (outcome, exit_code) = match ran.ending {
        CommandEnding::TimedOut => ("timeout", None),
        CommandEnding::Signalled(_) => ("killed", None),
        CommandEnding::Exited(code) if code != 0 || !finished => ("failure", Some(code)),
        CommandEnding::Exited(code) if verdict.is_none() => ("no-verdict", Some(code)),
        CommandEnding::Exited(code) => ("success", Some(code)),
    };
    let mut evaluated = nothing(outcome, verdict.clone().unwrap_or(text));
    evaluated.part.completed = outcome == "success";
    evaluated.part.name = told.as_ref().map(|told| told.agent.to_owned());
    let of = |part: fn(&Transcript) -> &Option<String>| told.as_ref().and_then(|told| part(told).clone());
    (evaluated.part.model, evaluated.part.session) = (of(|told| &told.model), of(|told| &told.session));
    evaluated.run = EvaluatorRun {
        exit_code,
        duration_ms: milliseconds(ran.duration),
        sandbox: ran.sandbox.as_str().to_owned(),
        replayed: ran.replayed,
        model: evaluated.part.model.clone(),
        session: evaluated.part.session.clone(),
        tokens: told.as_ref().and_then(|told| told.tokens).map(|(read, written)| read.saturating_add(written)),
        cost_usd: told.as_ref().and_then(|told| told.cost),
        ..evaluated.run
    };
    evaluated
}

/// Returns the text with its verdict in the words that verifiers know, if exactly one line contains the nonce and it is the
/// last.
fn verdict(text: &str, nonce: &str) -> Option<String> {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let (last, before) = lines.split_last()?;
    let bare = |line: &str| line.trim().trim_matches(['*', '`', '#', '>', '_', ' ']).to_owned();
    let word = bare(last).strip_prefix(nonce)?.trim().to_owned();
    if before.iter().any(|line| line.contains(nonce)) {
        return None;
    }
    let accepts = word == "PASS";
    (accepts || word.starts_with("FAIL")).then(|| {
        let reason = before.join("\n");
        format!("{}\n\n{word}\n", reason.trim_end()).trim_start().to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_line_with_the_nonce_is_a_verdict() {
        for (text, expected) in [
            ("n1 PASS", Some("PASS\n")),
            ("All is well.\n\n**n1 PASS**\n", Some("All is well.\n\nPASS\n")),
            ("n1 FAIL: no tests", Some("FAIL: no tests\n")),
            ("PASS", None),
            ("n2 PASS", None),
            ("n1 PASS\nn1 FAIL: no", None),
            ("n1 FAIL: no\nn1 PASS", None),
            ("n1 PASS\nBut wait.", None),
            ("n1 MAYBE", None),
            ("n1", None),
            ("", None),
        ] {
            assert_eq!(verdict(text, "n1").as_deref(), expected, "{text:?}");
        }
    }
}
