//! Reports for people and programs: renders a [`Record`] to a writer, and decides nothing.
//!
//! [`Format::ALL`] is the one list of formats: the command line, the help texts and the tests take their names from it.

mod github;
mod gitlab;
mod html;
mod human;
mod json;
mod junit;
mod markdown;
mod rdjsonl;
mod sarif;
#[cfg(test)]
mod tests;
mod view;

pub use html::{Page, PageRun, html};
pub use human::{Style, human};
pub use json::{json, mistake, read};
pub use markdown::markdown;

use crate::outcome::Outcome;
use crate::record::Record;
use crate::verdict::Status;
use std::io::{self, Write};
use std::path::Path;

/// A format of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Format {
    /// For people.
    #[default]
    Human,
    /// The record as one JSON document.
    Json,
    /// The feedback for the executor.
    Feedback,
    /// SARIF 2.1.0.
    Sarif,
    /// JUnit XML.
    Junit,
    /// Workflow commands of GitHub Actions.
    Github,
    /// GitLab's code quality report.
    Gitlab,
    /// One diagnostic per line, for reviewdog.
    Rdjsonl,
    /// Markdown, for job summaries and comments.
    Markdown,
    /// One self-contained page.
    Html,
}

impl Format {
    /// Every format: its name, and what it is in one line.
    pub const ALL: &[(&str, Self, &str)] = &[
        ("human", Self::Human, "For people"),
        ("json", Self::Json, "The record as one JSON document"),
        ("feedback", Self::Feedback, "The feedback for the executor: at most 2,000 characters, empty after a pass"),
        ("sarif", Self::Sarif, "SARIF 2.1.0, for code scanning"),
        ("junit", Self::Junit, "JUnit XML: a test case for each check"),
        ("github", Self::Github, "The human report, with annotations for GitHub Actions"),
        ("gitlab", Self::Gitlab, "GitLab's code quality report"),
        ("rdjsonl", Self::Rdjsonl, "One diagnostic per line, for reviewdog"),
        ("markdown", Self::Markdown, "Markdown, for job summaries and comments"),
        ("html", Self::Html, "One self-contained page"),
    ];

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, format, _)| *format == self).map_or("", |(name, ..)| name)
    }

    /// Returns the format of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, ..)| *known == name).map(|(_, format, _)| *format)
    }
}

/// Writes a record in this format. `style` is for the formats that people read. `root` is the folder that the paths of the
/// record are relative to; a format whose columns count bytes reads the checked files there.
pub fn write(out: &mut dyn Write, record: &Record, format: Format, style: Style, root: &Path) -> io::Result<()> {
    match format {
        Format::Human => human(out, record, style),
        Format::Json => json(out, record),
        Format::Feedback if record.status == Status::Pass => Ok(()),
        Format::Feedback => write!(out, "{}", record.feedback.as_deref().unwrap_or_default()),
        Format::Sarif => sarif::sarif(out, record),
        Format::Junit => junit::junit(out, record),
        Format::Github => github::github(out, record, style),
        Format::Gitlab => gitlab::gitlab(out, record),
        Format::Rdjsonl => rdjsonl::rdjsonl(out, record, root),
        Format::Markdown => markdown(out, record),
        Format::Html => html::of_record(out, record),
    }
}

/// Counts the checks with each outcome, most serious first. Outcomes without a check are left out.
fn counts(record: &Record) -> Vec<(Outcome, usize)> {
    use Outcome::{Abstain, Error, Fail, NotApplicable, NotNeeded, NotReached, Pass, Skipped};
    [Fail, Error, Abstain, Pass, NotApplicable, Skipped, NotReached, NotNeeded]
        .into_iter()
        .map(|outcome| (outcome, record.checks().filter(|check| check.outcome == outcome).count()))
        .filter(|(_, count)| *count > 0)
        .collect()
}

/// Returns the outcomes of the checks of a record in words: `1 failed, 2 passed`.
fn counted(record: &Record) -> String {
    let word = |outcome: Outcome| match outcome {
        Outcome::Pass => "passed",
        Outcome::Fail => "failed",
        Outcome::Abstain => "abstained",
        Outcome::Error => "errored",
        other => other.as_str(),
    };
    let counts: Vec<String> = counts(record).iter().map(|(kind, count)| format!("{count} {}", word(*kind))).collect();
    if counts.is_empty() { "no checks".to_owned() } else { counts.join(", ") }
}
