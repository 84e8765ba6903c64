//! Converts between the types of the contract and those of the host, and checks every verdict that a guest returns.

use super::bindings::exports::gatehost::verifier::submission_verifier as into;
use super::bindings::gatehost::verifier::{submission as wit, types};
use crate::limits::Limits;
use crate::submission as host;
use crate::text::{clean, clean_line};
use crate::verdict::{Category, Class, Edit, ErrorKind, Failure, Finding, Fix, Level, Metric, Place, Status, Verdict};
use crate::workspace;

const MAX_LINE: usize = 1_000;
const MAX_TEXT: usize = 4_000;
const MAX_CODE: usize = 100;
const MAX_METRICS: usize = 100;
/// The most characters of all replacements of one fix.
const MAX_REPLACEMENT: usize = 64 << 10;

/// Checks and bounds a verdict from a guest. `only` is the one path that a file verifier may report places in.
pub(super) fn checked(mut verdict: Verdict, limits: &Limits, only: Option<&str>) -> Result<Verdict, Failure> {
    if let Some(confidence) = verdict.confidence
        && !(0.0..=1.0).contains(&confidence)
    {
        return Err(Failure::new(
            ErrorKind::AbiRange,
            format!("the guest gave a confidence of {confidence}; expected 0.0 to 1.0"),
        ));
    }
    // Checked before any finding is dropped: a pass must not hide an error behind a thousand notes.
    let has_error = verdict.findings.iter().any(|finding| finding.level == Level::Error);
    verdict.status = match verdict.status {
        Status::Pass | Status::NotApplicable if has_error => Status::Fail,
        // A verifier that needs human review has not passed.
        Status::Pass | Status::NotApplicable if verdict.needs_person => Status::Abstain,
        status => status,
    };
    if let Some(metric) = verdict.metrics.iter().find(|metric| !metric.value.is_finite()) {
        let name = clean_line(&metric.name, MAX_CODE);
        let message = format!("the guest gave {} for the metric `{name}`; expected a finite number", metric.value);
        return Err(Failure::new(ErrorKind::AbiRange, message));
    }
    verdict.metrics.truncate(MAX_METRICS);
    for metric in &mut verdict.metrics {
        metric.name = clean_line(&metric.name, MAX_CODE);
    }
    let found = verdict.findings.len();
    if found > limits.findings {
        // The worst findings are kept.
        verdict.findings.sort_by_key(|finding| finding.level);
        verdict.findings.truncate(limits.findings);
    }
    verdict.findings_omitted = (found - verdict.findings.len()) as u64;
    for finding in &mut verdict.findings {
        check_finding(finding, only)?;
    }
    verdict.summary = clean_line(&verdict.summary, MAX_LINE);
    verdict.class = verdict.class.map(check_class);
    verdict.error = None;
    Ok(verdict)
}

fn check_class(class: Class) -> Class {
    // A class with a name of its own is that class.
    match Class::from(clean_line(class.as_str(), MAX_CODE)) {
        // Only the host may use `infra`.
        Class::Infra => Class::Other("other".to_owned()),
        class => class,
    }
}

fn check_finding(finding: &mut Finding, only: Option<&str>) -> Result<(), Failure> {
    if let Some(fix) = &mut finding.fix {
        check_fix(fix, finding.place.is_some())?;
    }
    if let Some(place) = &mut finding.place {
        check_place(place, only)?;
    }
    finding.code = clean_line(&finding.code, MAX_CODE);
    finding.message = clean(&finding.message, MAX_TEXT);
    finding.hint = finding.hint.take().map(|hint| clean(&hint, MAX_TEXT));
    finding.key = finding.key.take().map(|key| clean_line(&key, MAX_LINE));
    finding.url = finding.url.take().map(|url| clean_line(&url, MAX_LINE));
    finding.fingerprint = String::new();
    Ok(())
}

/// Replacements are not changed, because they are the content of a file. They are escaped where they are shown.
fn check_fix(fix: &mut Fix, has_place: bool) -> Result<(), Failure> {
    let refused = |why: &str| Err(Failure::new(ErrorKind::AbiPlace, why));
    if !has_place {
        return refused("the guest gave a fix for a finding without a place");
    }
    if fix.edits.iter().map(|edit| edit.replacement.len()).sum::<usize>() > MAX_REPLACEMENT {
        return Err(Failure::new(
            ErrorKind::LimitTransfer,
            format!("the guest gave a fix of more than {MAX_REPLACEMENT} bytes"),
        ));
    }
    let start = |edit: &Edit| (edit.start_line, edit.start_column);
    let end = |edit: &Edit| (edit.end_line, edit.end_column);
    for (index, edit) in fix.edits.iter().enumerate() {
        if [edit.start_line, edit.start_column, edit.end_line, edit.end_column].contains(&0) {
            return refused("the guest gave an edit with a line or column 0; they count from 1");
        }
        if end(edit) < start(edit) {
            return refused("the guest gave an edit that ends before it starts");
        }
        if fix.edits.get(index + 1).is_some_and(|next| start(next) < end(edit)) {
            return refused("the guest gave edits that overlap or are not in the order of the file");
        }
    }
    fix.description = clean_line(&fix.description, MAX_LINE);
    Ok(())
}

fn check_place(place: &mut Place, only: Option<&str>) -> Result<(), Failure> {
    let refused = |why: &str| Err(Failure::new(ErrorKind::AbiPlace, why));
    match only {
        Some(path) if place.path != path => return refused("the verifier reported a place in another file"),
        None if !workspace::is_inside(&place.path) => {
            return refused("the verifier reported a path outside the workspace");
        }
        _ => {}
    }
    if [place.line, place.column, place.end_line, place.end_column].contains(&Some(0)) {
        return refused("the guest gave a line or column 0; they count from 1");
    }
    place.path = clean_line(&place.path, MAX_LINE);
    place.column = place.line.and(place.column);
    place.end_line = place.line.and(place.end_line);
    place.end_column = place.line.and(place.end_column);
    Ok(())
}

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
