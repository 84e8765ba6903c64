//! Converts between the types of the contract and those of the host.

use super::bindings::exports::gatehost::verifier::submission_verifier as into;
use super::bindings::gatehost::verifier::{submission as wit, types};
use crate::submission as host;
use crate::verdict::{Category, Class, Edit, Finding, Fix, Level, Metric, Place, Status, Verdict};

/// Converts the verdict of a component. Nothing in it is checked yet.
pub(super) fn received(verdict: types::Verdict) -> Verdict {
    Verdict {
        status: match verdict.status {
            types::Status::Fail => Status::Fail,
            types::Status::Pass => Status::Pass,
            types::Status::Abstain => Status::Abstain,
            types::Status::NotApplicable => Status::NotApplicable,
        },
        confidence: verdict.confidence,
        summary: verdict.summary,
        class: verdict.class.map(|class| match class {
            types::FailureClass::ExecutionFailure => Class::ExecutionFailure,
            types::FailureClass::VerifyFailure => Class::VerifyFailure,
            types::FailureClass::ReviewRejection => Class::ReviewRejection,
            types::FailureClass::Blocked => Class::Blocked,
            types::FailureClass::Timeout => Class::Timeout,
            types::FailureClass::Malformed => Class::Malformed,
            types::FailureClass::Other(word) => Class::Other(word),
        }),
        needs_person: verdict.needs_person,
        metrics: verdict.metrics.into_iter().map(|it| Metric { name: it.name, value: it.value }).collect(),
        error: None,
        findings: verdict.findings.into_iter().map(received_finding).collect(),
        findings_omitted: 0,
        fixes_omitted: 0,
    }
}

fn received_finding(finding: types::Finding) -> Finding {
    Finding {
        code: finding.code,
        level: match finding.level {
            types::Level::Error => Level::Error,
            types::Level::Warning => Level::Warning,
            types::Level::Note => Level::Note,
        },
        message: finding.message,
        place: finding.place.map(|place| Place {
            path: place.path,
            line: place.line,
            column: place.column,
            end_line: place.end_line,
            end_column: place.end_column,
        }),
        hint: finding.hint,
        category: match finding.category {
            types::Category::Work => Category::Work,
            types::Category::Specification => Category::Specification,
            types::Category::Manual => Category::Manual,
        },
        key: finding.key,
        url: finding.url,
        fix: finding.fix.map(|fix| Fix {
            description: fix.description,
            edits: fix
                .edits
                .into_iter()
                .map(|edit| Edit {
                    start_line: edit.start_line,
                    start_column: edit.start_column,
                    end_line: edit.end_line,
                    end_column: edit.end_column,
                    replacement: edit.replacement,
                })
                .collect(),
        }),
        fingerprint: String::new(),
    }
}

fn class(class: Class) -> types::FailureClass {
    match class {
        Class::ExecutionFailure => types::FailureClass::ExecutionFailure,
        Class::VerifyFailure => types::FailureClass::VerifyFailure,
        Class::ReviewRejection => types::FailureClass::ReviewRejection,
        Class::Blocked => types::FailureClass::Blocked,
        Class::Timeout => types::FailureClass::Timeout,
        Class::Malformed => types::FailureClass::Malformed,
        Class::Infra => types::FailureClass::Other("infra".to_owned()),
        Class::Other(word) => types::FailureClass::Other(word),
    }
}

/// Converts a submission for a component.
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
            source: match task.source {
                host::TaskSource::Author => wit::TaskSource::Author,
                host::TaskSource::Caller => wit::TaskSource::Caller,
                host::TaskSource::Plan => wit::TaskSource::Plan,
            },
            group: task.group,
            depends_on: task.depends_on,
            size: task.size,
            commit: task.commit,
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
            ended: submission.executor.ended.map(|ended| match ended {
                host::ExecutorEnd::Error => wit::ExecutorEnd::Error,
                host::ExecutorEnd::Killed => wit::ExecutorEnd::Killed,
                host::ExecutorEnd::TimedOut => wit::ExecutorEnd::TimedOut,
                host::ExecutorEnd::OutOfTurns => wit::ExecutorEnd::OutOfTurns,
                host::ExecutorEnd::Finished => wit::ExecutorEnd::Finished,
            }),
        },
        prior_findings: submission
            .prior_findings
            .into_iter()
            .map(|prior| wit::PriorFinding {
                attempt: prior.attempt,
                check: prior.check,
                fingerprint: prior.finding.fingerprint.clone(),
                finding: finding(prior.finding),
            })
            .collect(),
        evidence: submission.evidence.into_iter().map(evidence).collect(),
        evaluator: submission.evaluator.map(|evaluator| wit::Evaluator {
            completed: evaluator.completed,
            text: evaluator.text,
            name: evaluator.name,
            model: evaluator.model,
            session: evaluator.session,
        }),
        base: submission.base,
        attempts_allowed: submission.attempts_allowed,
        review: submission.review.map(|review| wit::ReviewRound { number: review.number, allowed: review.allowed }),
        tree_digest: submission.tree_digest,
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
        old_mode: change.old_mode,
        new_mode: change.new_mode,
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
        on_base: command.on_base,
        replayed: command.replayed,
    });
    let models = evidence.models.into_iter().map(|model| wit::ModelEvidence {
        name: model.name,
        model: model.model,
        family: model.family,
        ended: model.ended,
        question_sha256: model.question_sha256,
        answer_sha256: model.answer_sha256,
        replayed: model.replayed,
    });
    wit::Evidence {
        check: evidence.check,
        verifier: evidence.verifier,
        outcome: match evidence.outcome {
            Status::Fail => wit::Outcome::Fail,
            Status::Pass => wit::Outcome::Pass,
            Status::Abstain => wit::Outcome::Abstain,
            Status::Error => wit::Outcome::Error,
            Status::NotApplicable => wit::Outcome::NotApplicable,
        },
        summary: evidence.summary,
        findings: evidence.findings.into_iter().map(finding).collect(),
        commands: commands.collect(),
        digest: evidence.digest,
        class: evidence.class.map(class),
        confidence: evidence.confidence,
        models: models.collect(),
    }
}

fn finding(finding: Finding) -> types::Finding {
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
        category: match finding.category {
            Category::Work => types::Category::Work,
            Category::Specification => types::Category::Specification,
            Category::Manual => types::Category::Manual,
        },
        key: finding.key,
        url: finding.url,
        fix: finding
            .fix
            .map(|fix| types::Fix { description: fix.description, edits: fix.edits.into_iter().map(edit).collect() }),
    }
}

pub(super) fn edit(edit: Edit) -> types::Edit {
    types::Edit {
        start_line: edit.start_line,
        start_column: edit.start_column,
        end_line: edit.end_line,
        end_column: edit.end_column,
        replacement: edit.replacement,
    }
}
