//! GitLab's code quality report: a list of findings, each with a fingerprint that is unique in the report.

use super::view;
use crate::outcome::Outcome;
use crate::record::Record;
use crate::verdict::Level;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Writes the report.
pub(super) fn gitlab(out: &mut dyn Write, record: &Record) -> io::Result<()> {
    let mut entries = Entries::default();
    for member in view::checks(record) {
        for finding in member.findings() {
            let severity = match member.level(finding) {
                Level::Error => "major",
                Level::Warning => "minor",
                Level::Note => "info",
            };
            let place = finding.place.as_ref();
            let path = place.map_or(view::fallback_path(record), |place| place.path.as_str());
            let line = place.and_then(|place| place.line).unwrap_or(1).max(1);
            let (rule, text) = (member.rule(&finding.code), view::text(finding));
            entries.add(&finding.fingerprint, &rule, severity, path, line, &text);
        }
    }
    for member in view::blockers(record) {
        let explained = member.findings().any(|finding| finding.level == Level::Error);
        if !explained || member.node.outcome != Outcome::Fail {
            let text = format!("`{}`: {}: {}", member.node.name, member.node.outcome.as_str(), member.noted_summary());
            let rule = member.rule(member.node.outcome.as_str());
            entries.add("", &rule, "critical", view::fallback_path(record), 1, &text);
        }
    }
    crate::text::write_json(out, &entries.list)
}

#[derive(Default)]
struct Entries {
    list: Vec<Value>,
    fingerprints: BTreeSet<String>,
}

impl Entries {
    fn add(&mut self, fingerprint: &str, rule: &str, severity: &str, path: &str, line: u32, text: &str) {
        let mut unique = match fingerprint {
            "" => digest(&[rule, path, text]),
            known => known.to_owned(),
        };
        while !self.fingerprints.insert(unique.clone()) {
            unique = digest(&[&unique]);
        }
        self.list.push(json!({
            "description": text,
            "check_name": rule,
            "fingerprint": unique,
            "severity": severity,
            "location": { "path": path, "lines": { "begin": line } },
        }));
    }
}

fn digest(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    crate::text::hex(&digest.finalize())
}
