//! Between the contract's types and the host's: inputs go in as they are, answers come out bounded and checked.

use super::bindings::exports::gatehost::verifier::submission_verifier as into;
use super::bindings::gatehost::verifier::{submission as wit, types};
use crate::limits::Limits;
use crate::submission as host;
use crate::text::{clean, clean_line};
use crate::verdict::{ErrorKind, Failure, Finding, Level, Place, Status, Verdict};
use crate::workspace;

const MAX_LINE: usize = 1_000;
const MAX_TEXT: usize = 4_000;
const MAX_CODE: usize = 100;

/// Check an answer and make it ours. `only` is the one path that a file verifier may name.
pub(super) fn verdict(answer: types::Verdict, limits: &Limits, only: Option<&str>) -> Result<Verdict, Failure> {
    if let Some(confidence) = answer.confidence
        && !(0.0..=1.0).contains(&confidence)
    {
        return Err(Failure::new(
            ErrorKind::AbiRange,
            format!("the guest gave a confidence of {confidence}; expected 0.0 to 1.0"),
        ));
    }
    // Looked at before any are dropped: a pass must not hide an error behind a thousand notes.
    let has_error = answer.findings.iter().any(|finding| finding.level == types::Level::Error);
    let status = match answer.status {
        types::Status::Pass if has_error => Status::Fail,
        types::Status::Pass => Status::Pass,
        types::Status::Fail => Status::Fail,
        types::Status::Abstain => Status::Abstain,
    };
    let found = answer.findings.len();
    let mut findings = answer.findings;
    if found > limits.findings {
        // The worst are kept.
        findings.sort_by_key(|finding| finding.level as u8);
        findings.truncate(limits.findings);
    }
    let findings = findings.into_iter().map(|finding| self::finding(finding, only)).collect::<Result<Vec<_>, _>>()?;
    Ok(Verdict {
        status,
        confidence: answer.confidence,
        summary: clean_line(&answer.summary, MAX_LINE),
        class: answer.class.map(|class| clean_line(&class, MAX_CODE)),
        error: None,
        findings_omitted: (found - findings.len()) as u64,
        findings,
    })
}

fn finding(finding: types::Finding, only: Option<&str>) -> Result<Finding, Failure> {
    Ok(Finding {
        code: clean_line(&finding.code, MAX_CODE),
        level: match finding.level {
            types::Level::Error => Level::Error,
            types::Level::Warning => Level::Warning,
            types::Level::Note => Level::Note,
        },
        message: clean(&finding.message, MAX_TEXT),
        place: finding.place.map(|place| self::place(place, only)).transpose()?,
        hint: finding.hint.map(|hint| clean(&hint, MAX_TEXT)),
    })
}

fn place(place: types::Place, only: Option<&str>) -> Result<Place, Failure> {
    let refused = |why: &str| Err(Failure::new(ErrorKind::AbiPlace, why));
    match only {
        Some(path) if place.path != path => return refused("the guest named another file than it was given"),
        None if !workspace::is_inside(&place.path) => return refused("the guest named a path outside the work"),
        _ => {}
    }
    if [place.line, place.column, place.end_line, place.end_column].contains(&Some(0)) {
        return refused("the guest gave a line or column 0; they count from 1");
    }
    Ok(Place {
        path: clean_line(&place.path, MAX_LINE),
        line: place.line,
        column: place.line.and(place.column),
        end_line: place.line.and(place.end_line),
        end_column: place.line.and(place.end_column),
    })
}

/// What a submission verifier is given.
pub(super) fn submission(submission: host::Submission) -> into::Submission {
    wit::Submission {
        task: submission.task.map(|task| wit::Task {
            id: task.id,
            title: task.title,
            description: task.description,
            acceptance_criteria: task.acceptance_criteria,
            done_criteria: task.done_criteria,
            verify: task.verify,
            phase: task.phase,
            previous_phase: task.previous_phase,
            index: task.index,
            total: task.total,
            expected_outputs: task.expected_outputs,
            files: task.files,
            tier: task.tier,
        }),
        claim: submission
            .claim
            .map(|claim| wit::Claim { text: claim.text, report: claim.report.map(|report| report.to_string()) }),
        tool_calls: submission
            .tool_calls
            .into_iter()
            .map(|call| wit::ToolCall {
                tool: call.tool,
                success: call.success,
                error: call.error,
                input: call.input.map(|input| input.to_string()),
                output: call.output,
                files_changed: call.files_changed,
            })
            .collect(),
        changes: submission.changes.into_iter().map(change).collect(),
        attempt: submission.attempt.max(1),
        executor: wit::Executor {
            name: submission.executor.name,
            model: submission.executor.model,
            family: submission.executor.family,
            session: submission.executor.session,
        },
        prior_findings: submission
            .prior_findings
            .into_iter()
            .map(|prior| wit::PriorFinding {
                attempt: prior.attempt,
                check: prior.check,
                finding: handed_over(prior.finding),
            })
            .collect(),
        evidence: submission.evidence.into_iter().map(evidence).collect(),
        evaluator: submission
            .evaluator
            .map(|evaluator| wit::Evaluator { completed: evaluator.completed, text: evaluator.text }),
        base: submission.base,
    }
}

fn change(change: host::Change) -> wit::Change {
    wit::Change {
        path: change.path,
        kind: match change.kind {
            host::ChangeKind::Added => wit::ChangeKind::Added,
            host::ChangeKind::Modified => wit::ChangeKind::Modified,
            host::ChangeKind::Deleted => wit::ChangeKind::Deleted,
            host::ChangeKind::Renamed => wit::ChangeKind::Renamed,
        },
        state: match change.state {
            host::ChangeState::Committed => wit::ChangeState::Committed,
            host::ChangeState::Staged => wit::ChangeState::Staged,
            host::ChangeState::Unstaged => wit::ChangeState::Unstaged,
            host::ChangeState::Untracked => wit::ChangeState::Untracked,
        },
        old_path: change.old_path,
        size: change.size,
        hunks: change.hunks.map(|hunks| hunks.into_iter().map(hunk).collect()),
    }
}

fn hunk(hunk: host::Hunk) -> wit::Hunk {
    let lines = hunk.lines.into_iter().map(|line| wit::DiffLine {
        kind: match line.kind {
            host::LineKind::Context => wit::LineKind::Context,
            host::LineKind::Added => wit::LineKind::Added,
            host::LineKind::Removed => wit::LineKind::Removed,
        },
        text: line.text,
    });
    wit::Hunk { old_start: hunk.old_start, new_start: hunk.new_start, lines: lines.collect() }
}

fn evidence(evidence: host::Evidence) -> wit::Evidence {
    let commands = evidence.commands.into_iter().map(|command| wit::CommandEvidence {
        name: command.name,
        argv: command.argv,
        exit_code: command.exit_code,
        signal: command.signal,
        timed_out: command.timed_out,
        output: command.output,
        stdout_length: command.stdout.length,
        stdout_sha256: command.stdout.sha256,
        stderr_length: command.stderr.length,
        stderr_sha256: command.stderr.sha256,
        started: command.started,
        duration_ms: command.duration_ms,
        sandbox: command.sandbox,
    });
    wit::Evidence {
        check: evidence.check,
        verifier: evidence.verifier,
        outcome: match evidence.outcome {
            Status::Fail => wit::Outcome::Fail,
            Status::Pass => wit::Outcome::Pass,
            Status::Abstain => wit::Outcome::Abstain,
            Status::Error => wit::Outcome::Error,
        },
        summary: evidence.summary,
        findings: evidence.findings.into_iter().map(handed_over).collect(),
        commands: commands.collect(),
    }
}

pub(super) fn handed_over(finding: Finding) -> types::Finding {
    types::Finding {
        code: finding.code,
        level: match finding.level {
            Level::Error => types::Level::Error,
            Level::Warning => types::Level::Warning,
            Level::Note => types::Level::Note,
        },
        message: finding.message,
        place: finding.place.map(|place| types::Place {
            path: place.path,
            line: place.line,
            column: place.column,
            end_line: place.end_line,
            end_column: place.end_column,
        }),
        hint: finding.hint,
    }
}
