//! Checks and bounds every verdict that a guest returns.

use crate::limits::Limits;
use crate::text::{clean, clean_line, link};
use crate::verdict::{Class, Edit, ErrorKind, Failure, Finding, Fix, Level, Place, Status, Verdict};
use crate::workspace;

const MAX_LINE: usize = 1_000;

const MAX_TEXT: usize = 4_000;

const MAX_CODE: usize = 100;

const MAX_METRICS: usize = 100;

/// Checks and bounds a verdict from a guest. `only` is the one path that a file verifier may report places in.
pub(super) fn checked(mut verdict: Verdict, limits: &Limits, only: Option<&str>) -> Result<Verdict, Failure> {
    if let Some(confidence) = verdict.confidence
        && !(0.0..=1.0).contains(&confidence)
    {
        return Err(Failure::new(
            ErrorKind::AbiRange,
            format!("the verifier returned a confidence of {confidence}; expected 0.0 to 1.0"),
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
        let message =
            format!("the verifier returned {} for the metric `{name}`; expected a finite number", metric.value);
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
    finding.url = finding.url.take().filter(|url| link(url).is_some());
    finding.fingerprint = String::new();
    Ok(())
}

/// Replacements are not changed, because they are the content of a file. They are escaped where they are shown.
fn check_fix(fix: &mut Fix, has_place: bool) -> Result<(), Failure> {
    let refused = |why: &str| Err(Failure::new(ErrorKind::AbiPlace, why));
    if !has_place {
        return refused("the verifier returned a fix for a finding without a place");
    }
    let too_large = |most: usize, unit: &str| {
        Err(Failure::new(ErrorKind::LimitTransfer, format!("the verifier returned a fix of more than {most} {unit}")))
    };
    if fix.edits.iter().map(|edit| edit.replacement.len()).sum::<usize>() > Fix::MAX_BYTES {
        return too_large(Fix::MAX_BYTES, "bytes");
    }
    if fix.edits.len() > Fix::MAX_EDITS {
        return too_large(Fix::MAX_EDITS, "edits");
    }
    let start = |edit: &Edit| (edit.start_line, edit.start_column);
    let end = |edit: &Edit| (edit.end_line, edit.end_column);
    for (index, edit) in fix.edits.iter().enumerate() {
        if [edit.start_line, edit.start_column, edit.end_line, edit.end_column].contains(&0) {
            return refused("the verifier returned an edit with a line or column 0; they count from 1");
        }
        if end(edit) < start(edit) {
            return refused("the verifier returned an edit that ends before it starts");
        }
        if fix.edits.get(index + 1).is_some_and(|next| start(next) < end(edit)) {
            return refused("the verifier returned edits that overlap or are not in the order of the file");
        }
    }
    fix.description = clean_line(&fix.description, MAX_LINE);
    Ok(())
}

fn check_place(place: &mut Place, only: Option<&str>) -> Result<(), Failure> {
    let refused = |why: &str| Err(Failure::new(ErrorKind::AbiPlace, why));
    match only {
        Some(path) if place.path != path => return refused("the verifier returned a place in another file"),
        None if !workspace::is_inside(&place.path) => {
            return refused("the verifier returned a path outside the workspace");
        }
        _ => {}
    }
    if [place.line, place.column, place.end_line, place.end_column].contains(&Some(0)) {
        return refused("the verifier returned a line or column 0; they count from 1");
    }
    if !place.ends_behind_start() {
        return refused("the verifier returned a place that ends before it starts, or that has an end and no line");
    }
    place.path = clean_line(&place.path, MAX_LINE);
    place.column = place.line.and(place.column);
    Ok(())
}
