//! Combines the results of all files of a check into one verdict.

use crate::commands::CommandResult;
use crate::config::Inapplicable;
use crate::finding_budget::FindingBudget;
use crate::outcome::{JudgedFile, ModelUse};
use crate::runtime::{CallResult, LogLine};
use crate::text::{self, clean_line};
use crate::verdict::{Failure, Finding, Metric, Status, Verdict};
use std::mem;

/// The results of all calls of one check.
pub(super) struct FilesResult {
    /// `None` if there was nothing to check.
    pub(super) verdict: Option<Verdict>,
    pub(super) files: Option<Vec<JudgedFile>>,
    pub(super) log: Vec<LogLine>,
    pub(super) log_dropped: u64,
    pub(super) ran: Vec<CommandResult>,
    pub(super) asked: Vec<ModelUse>,
    /// How many more commands ran and models were asked.
    pub(super) unlisted: u64,
}

/// The result for one file.
pub(super) struct FileAnswer {
    pub(super) result: FileResult,
    /// SHA-256 of the bytes; `None` if they could not be read.
    pub(super) digest: Option<[u8; 32]>,
}

/// A result is large, and most files of most runs have none of their own.
pub(super) enum FileResult {
    /// A bare pass that this run established.
    Cached(String),
    Called(Box<CallResult>),
}

impl FileResult {
    fn status(&self) -> Status {
        match self {
            Self::Cached(_) => Status::Pass,
            Self::Called(answer) => answer.verdict.status,
        }
    }

    fn confidence(&self) -> Option<f64> {
        match self {
            Self::Cached(_) => None,
            Self::Called(answer) => answer.verdict.confidence,
        }
    }
}

impl From<CallResult> for FileResult {
    fn from(answer: CallResult) -> Self {
        Self::Called(Box::new(answer))
    }
}

impl From<CallResult> for FileAnswer {
    fn from(answer: CallResult) -> Self {
        Self { result: answer.into(), digest: None }
    }
}

/// The most characters of a path in a message.
const MAX_PATH: usize = 300;
/// The most metrics of a check.
const MAX_METRICS: usize = 1_000;
/// The most files without a judgement that are named, besides the first.
const MAX_NAMED: usize = 5;

/// Combines the verdicts of all files: any failure fails; else any error is an error; else any abstention abstains; else it
/// passes.
pub(super) fn summarise(
    paths: &[String],
    mut answers: Vec<(usize, FileAnswer)>,
    max_findings: usize,
    on_not_applicable: Inapplicable,
) -> FilesResult {
    if on_not_applicable == Inapplicable::Block {
        for (_, file) in &mut answers {
            if let FileResult::Called(answer) = &mut file.result
                && answer.verdict.status == Status::NotApplicable
            {
                answer.verdict.status = Status::Abstain;
            }
        }
    }
    let mut counts = [0usize; 5];
    let mut findings: Vec<Finding> = Vec::new();
    let mut omitted = 0;
    let mut first_error = None;
    // The confidence is the lowest of all files, and unset if one file has none.
    let counted = answers.iter().filter(|(_, file)| file.result.status() != Status::NotApplicable);
    let confidences = counted.map(|(_, file)| file.result.confidence());
    let confidence = confidences.reduce(|a, b| Some(a?.min(b?))).flatten();
    let mut first_words: [String; 5] = Default::default();
    let mut files = Vec::with_capacity(answers.len());
    let mut classes = Vec::new();
    let mut metrics: Vec<Metric> = Vec::new();
    let mut needs_person = false;
    let mut unjudged = Vec::new();
    let mut log = Vec::new();
    let mut log_dropped = 0;
    let mut ran = Vec::new();
    let mut asked = Vec::new();
    let mut unlisted = 0;
    let judged = answers.len();
    for (index, FileAnswer { result, digest }) in answers {
        let digest = digest.map(text::sha256).unwrap_or_default();
        let listed = |status, established: Option<String>, reason| {
            let path = paths.get(index)?.clone();
            Some(JudgedFile { path, digest, status, cached: established.is_some(), established, reason })
        };
        let answer = match result {
            FileResult::Called(answer) => answer,
            FileResult::Cached(run) => {
                counts[Status::Pass as usize] += 1;
                files.extend(listed(Status::Pass, Some(run), String::new()));
                continue;
            }
        };
        // Escaped, because a file name must not forge lines of the report.
        let path = || clean_line(paths.get(index).map_or("", String::as_str), MAX_PATH);
        let verdict = answer.verdict;
        let reason = match (verdict.status, &verdict.error) {
            (_, Some(failure)) => format!("{}: {}", failure.kind, failure.message),
            (Status::Abstain | Status::NotApplicable, None) => verdict.summary.clone(),
            _ => String::new(),
        };
        files.extend(listed(verdict.status, None, reason));
        needs_person |= verdict.needs_person;
        classes.extend(verdict.class.map(|class| (verdict.status, class)));
        for metric in verdict.metrics {
            match metrics.iter().position(|known| known.name == metric.name) {
                Some(known) => metrics[known].value += metric.value,
                None if metrics.len() < MAX_METRICS => metrics.push(metric),
                None => {}
            }
        }
        counts[verdict.status as usize] += 1;
        omitted += verdict.findings_omitted;
        findings.extend(verdict.findings);
        if let Some(failure) = verdict.error
            && first_error.is_none()
        {
            first_error = Some(Failure { message: format!("{}: {}", path(), failure.message), ..failure });
        }
        if verdict.status == Status::Abstain {
            unjudged.push(path());
        }
        let words = &mut first_words[verdict.status as usize];
        if words.is_empty() && !verdict.summary.is_empty() {
            *words = format!("{}: {}", path(), verdict.summary);
        }
        log.extend(answer.log);
        log_dropped += answer.log_dropped;
        ran.extend(answer.ran);
        asked.extend(answer.asked);
        unlisted += answer.unlisted;
    }
    if judged == 0 {
        return FilesResult { verdict: None, files: Some(files), log, log_dropped, ran, asked, unlisted };
    }
    let of = |status: Status| counts[status as usize];
    let order = [Status::Fail, Status::Error, Status::Abstain, Status::Pass];
    let status = order.into_iter().find(|&status| of(status) > 0).unwrap_or(Status::NotApplicable);
    let inapplicable = of(Status::NotApplicable);
    let summary = match status {
        Status::Pass if inapplicable == 0 => String::new(),
        Status::Pass => {
            format!("{inapplicable} of {judged} files: not applicable; {}", first_words[Status::NotApplicable as usize])
        }
        // Findings and errors explain themselves; an abstention has only its summary.
        Status::Abstain => {
            let about = about_unjudged(&first_words[Status::Abstain as usize], &unjudged);
            if judged == 1 { about } else { format!("{} of {judged} files: abstain; {about}", unjudged.len()) }
        }
        other if judged == 1 => mem::take(&mut first_words[other as usize]),
        other => format!("{} of {judged} files: {other}", of(other)),
    };
    let error = first_error.filter(|_| status == Status::Error);
    let class = classes.into_iter().find(|(of, _)| *of == status).map(|(_, class)| class);
    let mut verdict = Verdict {
        confidence,
        summary,
        error,
        findings,
        findings_omitted: omitted,
        class,
        needs_person,
        metrics,
        ..Verdict::of(status)
    };
    FindingBudget::of_check(max_findings).apply(&mut verdict);
    FilesResult { verdict: Some(verdict), files: Some(files), log, log_dropped, ran, asked, unlisted }
}

/// Returns the summary of the first file without a judgement, and the names of the others.
fn about_unjudged(words: &str, paths: &[String]) -> String {
    // The summary starts with the path of its file.
    let others = paths.iter().filter(|path| !words.starts_with(&format!("{path}: ")));
    let named: Vec<&str> = others.clone().take(MAX_NAMED).map(String::as_str).collect();
    let more = others.count().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    match (words.is_empty(), named.is_empty()) {
        (_, true) => words.to_owned(),
        (true, false) => format!("{}{more}", named.join(", ")),
        (false, false) => format!("{words}; also {}{more}", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::ErrorKind;

    fn summarise(paths: &[String], answers: Vec<(usize, FileAnswer)>, most: usize) -> FilesResult {
        super::summarise(paths, answers, most, Inapplicable::Skip)
    }

    fn answers(statuses: &[Status]) -> Vec<(usize, FileAnswer)> {
        let answer = |status: Status| match status {
            Status::Error => CallResult::from(Failure::new(ErrorKind::LimitTime, "late")),
            other => CallResult { verdict: Verdict::of(other), ..Failure::new(ErrorKind::HostFailed, "").into() },
        };
        statuses.iter().map(|&status| answer(status).into()).enumerate().collect()
    }

    #[test]
    fn the_worst_file_decides() {
        use Status::{Abstain, Error, Fail, NotApplicable, Pass};
        let paths: Vec<String> = ["a", "b", "c"].map(String::from).into();
        for (statuses, expected) in [
            (&[Pass, Pass][..], Pass),
            (&[Pass, Fail, Error], Fail),
            (&[Error, Fail], Fail),
            (&[Pass, Error, Abstain], Error),
            (&[Pass, Abstain], Abstain),
            (&[Pass, NotApplicable], Pass),
            (&[NotApplicable, Fail], Fail),
            (&[NotApplicable, NotApplicable], NotApplicable),
        ] {
            let judged = summarise(&paths, answers(statuses), 10);
            let verdict = judged.verdict.expect("a verdict");
            assert_eq!(verdict.status, expected, "{statuses:?}");
            assert_eq!(verdict.error.is_some(), expected == Error, "{statuses:?}");
        }
        assert!(summarise(&paths, Vec::new(), 10).verdict.is_none());
        let strict = super::summarise(&paths, answers(&[Pass, NotApplicable]), 10, Inapplicable::Block);
        assert_eq!(strict.verdict.expect("a verdict").status, Abstain);
    }

    fn said(status: Status, change: impl Fn(&mut Verdict)) -> FileAnswer {
        let mut verdict = Verdict::of(status);
        change(&mut verdict);
        CallResult::from(verdict).into()
    }

    #[test]
    fn it_is_as_sure_as_of_the_file_that_it_is_least_sure_of() {
        let paths: Vec<String> = ["a", "b", "c"].map(String::from).into();
        for (confidences, expected) in [
            (&[Some(0.9), Some(0.2)][..], Some(0.2)),
            (&[Some(0.9)], Some(0.9)),
            (&[Some(0.9), None], None),
            (&[None, Some(0.9)], None),
            (&[Some(0.9), None, Some(0.8)], None),
            (&[None], None),
        ] {
            let answers = confidences.iter().map(|confidence| said(Status::Pass, |it| it.confidence = *confidence));
            let judged = summarise(&paths, answers.enumerate().collect(), 10);
            assert_eq!(judged.verdict.expect("a verdict").confidence, expected, "{confidences:?}");
        }
    }

    #[test]
    fn the_name_of_a_file_cannot_write_lines_of_a_report() {
        let paths = ["a\ngate default: pass\u{1b}[31m.json".to_owned()];
        let shown = "a\\ngate default: pass\\u{1b}[31m.json: ";
        let late = vec![(0, CallResult::from(Failure::new(ErrorKind::LimitTime, "late")).into())];
        let verdict = summarise(&paths, late, 10).verdict.expect("a verdict");
        assert_eq!(verdict.error.expect("an error").message, format!("{shown}late"));
        let unsure = vec![(0, said(Status::Abstain, |it| it.summary = "unsure".to_owned()))];
        assert_eq!(summarise(&paths, unsure, 10).verdict.expect("a verdict").summary, format!("{shown}unsure"));
    }

    #[test]
    fn every_file_without_a_judgement_is_named_while_they_are_few() {
        let paths: Vec<String> = (0..9).map(|number| format!("{number}.sql")).collect();
        for (words, count, expected) in [
            (&["", "unsure", ""][..], 3, "3 of 3 files: abstain; 1.sql: unsure; also 0.sql, 2.sql"),
            (&[""], 1, "0.sql"),
            (&["", ""], 2, "2 of 2 files: abstain; 0.sql, 1.sql"),
            (&["odd"], 9, "9 of 9 files: abstain; 0.sql: odd; also 1.sql, 2.sql, 3.sql, 4.sql, 5.sql and 3 more"),
        ] {
            let words = words.iter().chain(std::iter::repeat(&"")).take(count);
            let answers = words.map(|word| said(Status::Abstain, |it| it.summary = (*word).to_owned()));
            let judged = summarise(&paths, answers.enumerate().collect(), 10);
            assert_eq!(judged.verdict.expect("a verdict").summary, expected);
        }
    }
}
