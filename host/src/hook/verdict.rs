//! Turns a record or an error into a verdict for an agent, with the text that the agent reads.

use super::budget::HookVerdict;
use crate::error::Error;
use crate::ledger::history::failure_digest;
use crate::outcome::{Node, NodeKind, Outcome, Severity};
use crate::process_limits;
use crate::record::Record;
use crate::verdict::{Class, Status};

/// The verifiers that check whether work is finished, not whether it is correct.
const ABOUT_COMPLETION: &[&str] = &["completion-signal", "checklist", "executor-report"];

/// Returns what a record means for an agent.
pub(super) fn verdict_of(record: &Record) -> HookVerdict {
    let reason = record.feedback.clone().unwrap_or_default();
    match record.status {
        Status::Pass => HookVerdict::Pass,
        _ if record.class == Some(Class::Blocked) => HookVerdict::Blocked { reason },
        Status::Fail if record.severity != Some(Severity::Infra) => {
            let mut blocking = Vec::new();
            blockers(&record.gate, &mut blocking);
            HookVerdict::Fail { digest: failure_digest(record), reason, unfinished: is_unfinished(&blocking) }
        }
        Status::Fail | Status::Abstain | Status::Error | Status::NotApplicable => {
            HookVerdict::Fault { reason: with_limits(reason) }
        }
    }
}

/// Returns the checks because of which a gate did not pass.
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

/// Returns the text that tells an agent why there is no verdict.
pub fn no_answer(why: &str) -> String {
    with_limits(format!(
        "The gate gave no answer, so nothing is verified. This is not a finding about the work.\n- {why}\n"
    ))
}

/// Appends the limits of the process that are unusually low, because of which there can be no verdict.
pub fn with_limits(mut text: String) -> String {
    for low in process_limits::low() {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text += &format!("- {low}\n");
    }
    text
}

/// Returns an error as text for an agent.
pub(super) fn explain(error: &Error) -> String {
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
    with_limits(text)
}
