//! GitHub Actions: the human report, then annotations. A step shows 10 annotations of each level, so the worst come first.
//!
//! The human report quotes verifiers, so it stands between `::stop-commands::` and a token that nobody can guess: what is
//! printed there starts no command.

use super::human::{Style, human};
use super::view;
use crate::outcome::Outcome;
use crate::random::random;
use crate::record::Record;
use crate::text::{clean, hex};
use crate::verdict::{Level, Place};
use std::io::{self, Write};

/// How many annotations of one level a step shows.
const MAX_SHOWN: usize = 10;

/// Writes the report.
pub(super) fn github(out: &mut dyn Write, record: &Record, style: Style) -> io::Result<()> {
    let token = random::<16>().map(|bytes| hex(&bytes)).ok_or_else(|| io::Error::other("no random bytes"))?;
    writeln!(out, "::stop-commands::{token}")?;
    human(out, record, style)?;
    writeln!(out, "::{token}::")?;
    let annotations = annotations(record);
    for level in [Level::Error, Level::Warning, Level::Note] {
        let of_level: Vec<&Annotation> = annotations.iter().filter(|annotation| annotation.level == level).collect();
        for annotation in of_level.iter().take(MAX_SHOWN) {
            writeln!(out, "{}", annotation.line())?;
        }
    }
    Ok(())
}

struct Annotation {
    level: Level,
    title: String,
    place: Option<Place>,
    message: String,
}

fn annotations(record: &Record) -> Vec<Annotation> {
    let mut annotations = Vec::new();
    for member in view::blockers(record) {
        let explained = member.findings().any(|finding| finding.level == Level::Error);
        if !explained || member.node.outcome != Outcome::Fail {
            let title = format!("gate: {}: {}", member.node.name, member.node.outcome.as_str());
            annotations.push(Annotation { level: Level::Error, title, place: None, message: member.noted_summary() });
        }
    }
    for member in view::checks(record) {
        for finding in member.findings() {
            let title = format!("gate: {} [{}]", member.node.name, finding.code);
            let (place, message) = (finding.place.clone(), view::text(finding));
            annotations.push(Annotation { level: member.level(finding), title, place, message });
        }
    }
    annotations
}

impl Annotation {
    fn line(&self) -> String {
        let command = match self.level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "notice",
        };
        let mut properties = Vec::new();
        if let Some(place) = &self.place {
            properties.push(format!("file={}", property(&place.path)));
            let numbers = [
                ("line", place.line),
                ("endLine", place.end_line),
                ("col", place.column),
                ("endColumn", place.end_column),
            ];
            let numbers = numbers.iter().filter_map(|(name, number)| number.map(|number| format!("{name}={number}")));
            properties.extend(numbers);
        }
        properties.push(format!("title={}", property(&self.title)));
        format!("::{command} {}::{}", properties.join(","), data(&self.message))
    }
}

fn data(text: &str) -> String {
    clean(text, usize::MAX).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
