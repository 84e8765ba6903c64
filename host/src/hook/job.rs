//! What the child process of a hook does: run the gate that the event asks for, and report its result.

use super::budget::{BOUNCES, Judged};
use super::{Event, transcript};
use crate::changes::{self, Needs, Selection};
use crate::config;
use crate::environment::Environment;
use crate::error::Error;
use crate::ledger::history::failure_digest;
use crate::outcome::{Node, NodeKind, Outcome, Severity};
use crate::record::Record;
use crate::session::{Host, LedgerUse, Request, Unread, hook_settings};
use crate::submission::{Claim, Executor, Submission, Task, TaskSource};
use crate::verdict::{Class, Status};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The verifiers that say whether work is finished, and not whether it is right.
const ABOUT_COMPLETION: &[&str] = &["completion-signal", "checklist", "executor-report"];

/// What the child is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// What happened.
    pub event: Event,
    /// Where the agent works.
    pub folder: PathBuf,
    /// The commit that changes are relative to, where it is known.
    pub base: Option<String>,
    /// The files that a tool changed.
    pub files: Vec<PathBuf>,
    /// What the agent said and did.
    pub transcript: Option<PathBuf>,
    /// What the agent said last.
    pub claim: Option<String>,
    /// The identifier and the subject of a task.
    pub task: Option<(String, String)>,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// Who works.
    pub executor: Executor,
    /// What the entries in the ledger are found by.
    pub session: String,
}

/// What the child answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "lowercase")]
pub enum Done {
    /// There is nothing to verify at this event.
    Idle,
    /// The session began at this commit.
    Started {
        /// The commit.
        base: Option<String>,
    },
    /// The gate ran, or could not.
    Ran {
        /// What that means for the agent.
        judged: Judged,
        /// The commit that changes are relative to.
        base: Option<String>,
        /// The identifier of the run.
        run: Option<String>,
        /// The gate that ran.
        gate: Option<String>,
        /// How often the agent may be sent back.
        bounces: u32,
    },
}

/// Does it. Whatever goes wrong is an answer too.
pub async fn perform(job: Job) -> Done {
    let mut bounces = BOUNCES;
    attempt(&job, &mut bounces).await.unwrap_or_else(|error| Done::Ran {
        judged: Judged::Fault { reason: told(&error) },
        base: job.base.clone(),
        run: None,
        gate: None,
        bounces,
    })
}

async fn attempt(job: &Job, bounces: &mut u32) -> Result<Done, Error> {
    if job.event == Event::Start {
        let changes = changes::collect(&job.folder, &Selection::Changed, Needs::default())?;
        return Ok(Done::Started { base: changes.base });
    }
    let mut request = Request::new(&job.folder);
    let settings = hook_settings(&request)?;
    *bounces = settings.bounces.unwrap_or(BOUNCES);
    match gate(&settings, job.event) {
        Some(gate) => request.gate = gate,
        None => return Ok(Done::Idle),
    }
    request.selection = match &job.base {
        _ if job.event == Event::Tool => Selection::Files(job.files.clone()),
        Some(base) => Selection::Since(base.clone()),
        None => Selection::Changed,
    };
    request.submission = submission(job);
    request.unread = Unread::Ignore;
    request.ledger = LedgerUse::StateFolder;
    request.session.clone_from(&job.session);
    let host = Host::new(&Environment::of_process())?;
    let record = host.run(request, ()).await?;
    let base = job.base.clone().or_else(|| record.base.clone());
    let (run, gate) = (Some(record.run.clone()), Some(record.gate.name.clone()));
    Ok(Done::Ran { judged: judged(&record), base, run, gate, bounces: *bounces })
}

/// The gate for an event: `None` where there is none, `Some(None)` for the default one.
fn gate(settings: &config::Hook, event: Event) -> Option<Option<String>> {
    match event {
        Event::Stop => Some(settings.stop.clone()),
        Event::Task => Some(settings.task_completed.clone().or_else(|| settings.stop.clone())),
        Event::Tool => settings.post_tool_use.clone().map(Some),
        Event::Start | Event::Prompt | Event::Other => None,
    }
}

fn submission(job: &Job) -> Submission {
    let said = job.transcript.as_deref().map(transcript::read).unwrap_or_default();
    let text = job.claim.clone().or(said.last);
    let mut executor = job.executor.clone();
    executor.model = executor.model.or(said.model);
    Submission {
        claim: text.map(|text| Claim { text, report: None }),
        tool_calls: said.tool_calls,
        attempt: job.attempt,
        executor,
        task: job.task.clone().map(|(id, title)| Task { id, title, source: TaskSource::Caller, ..Task::default() }),
        ..Submission::default()
    }
}

/// What a record means for an agent.
fn judged(record: &Record) -> Judged {
    let reason = record.feedback.clone().unwrap_or_default();
    match record.status {
        Status::Pass => Judged::Pass,
        _ if record.class == Some(Class::Blocked) => Judged::Blocked { reason },
        Status::Fail if record.severity != Some(Severity::Infra) => {
            let mut blocking = Vec::new();
            blockers(&record.gate, &mut blocking);
            Judged::Fail { digest: failure_digest(record), reason, unfinished: is_unfinished(&blocking) }
        }
        Status::Fail | Status::Abstain | Status::Error | Status::NotApplicable => Judged::Fault { reason },
    }
}

/// The checks to which a gate owes that it did not pass.
fn blockers<'r>(node: &'r Node, blocking: &mut Vec<&'r Node>) {
    if node.shadow || !matches!(node.outcome, Outcome::Fail | Outcome::Abstain | Outcome::Error) {
        return;
    }
    if node.kind == NodeKind::Check {
        blocking.push(node);
    }
    node.children.iter().for_each(|child| blockers(child, blocking));
}

fn is_unfinished(blocking: &[&Node]) -> bool {
    let about = |check: &&Node| {
        check.verifier.as_ref().is_some_and(|verifier| ABOUT_COMPLETION.contains(&verifier.name.as_str()))
    };
    !blocking.is_empty() && blocking.iter().all(about)
}

/// An error as an agent is told it.
fn told(error: &Error) -> String {
    let mut text = "The gate could not run, so nothing is verified. This is not a finding about the work.\n".to_owned();
    for (message, causes, hint) in error.problems().take(5) {
        text += &format!("- {}\n", crate::text::clean_line(message, 300));
        for cause in causes {
            text += &format!("  caused by: {}\n", crate::text::clean_line(&cause, 300));
        }
        if let Some(hint) = hint {
            text += &format!("  hint: {}\n", crate::text::clean_line(hint, 300));
        }
    }
    text
}
