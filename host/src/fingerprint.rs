//! Fingerprints, which identify a finding across attempts.
//!
//! A fingerprint is a hash of the check, the code, the path, and what identifies the finding in its file: its key, or else
//! the trimmed text of its line, or else its message. So it survives moved lines and changed indentation. Findings that are
//! equal in all of this are numbered.

use crate::verdict::Finding;
use std::collections::{BTreeMap, BTreeSet};

/// Hexadecimal digits of a fingerprint: 128 bits.
const DIGITS: usize = 32;
/// The most bytes of a line that identify a finding.
const MAX_LINE: usize = 16 << 10;

/// Returns the lines of a file whose text identifies findings, counted from 1.
pub(crate) fn lines_in(findings: &[Finding], path: &str) -> BTreeSet<u32> {
    let places = findings.iter().filter(|finding| finding.key.is_none()).filter_map(|finding| finding.place.as_ref());
    places.filter(|place| place.path == path).filter_map(|place| place.line).collect()
}

/// Returns the text of these lines. Each file is read once, however many findings it has.
pub(crate) fn texts(content: &[u8], lines: &BTreeSet<u32>) -> BTreeMap<u32, String> {
    let mut texts = BTreeMap::new();
    let Some(last) = lines.last() else { return texts };
    for (text, line) in content.split(|byte| *byte == b'\n').zip(1..=*last) {
        if lines.contains(&line) {
            texts.insert(line, String::from_utf8_lossy(&text[..text.len().min(MAX_LINE)]).into_owned());
        }
    }
    texts
}

/// Sets the fingerprints of the findings of a check. `line` returns the text of a line of a file, if it is known.
pub(crate) fn assign(check: &str, findings: &mut [Finding], mut line: impl FnMut(&str, u32) -> Option<String>) {
    let mut alike: BTreeMap<String, u32> = BTreeMap::new();
    for finding in findings {
        let path = finding.place.as_ref().map_or("", |place| place.path.as_str());
        let at = finding.place.as_ref().and_then(|place| place.line);
        let (kind, text) = match (&finding.key, at.and_then(|at| line(path, at))) {
            (Some(key), _) => ("key", key.clone()),
            (None, Some(text)) => ("line", text.trim().to_owned()),
            (None, None) => ("message", finding.message.clone()),
        };
        let parts = [check, &finding.code, path, kind, &text];
        let first = hash(&parts, 0);
        let number = alike.entry(first.clone()).or_default();
        finding.fingerprint = if *number == 0 { first } else { hash(&parts, *number) };
        *number += 1;
    }
}

/// Hashes each part with its length, so that no two lists of parts give the same bytes.
fn hash(parts: &[&str], number: u32) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hasher.update(&number.to_le_bytes());
    hasher.finalize().to_hex()[..DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{Level, Place};

    fn finding(code: &str, line: u32, key: Option<&str>) -> Finding {
        let place = Place { path: "a.py".into(), line: Some(line), column: Some(1), end_line: None, end_column: None };
        Finding { place: Some(place), key: key.map(str::to_owned), ..Finding::new(code, Level::Error, "wrong") }
    }

    fn prints(findings: &[Finding], lines: &[&str]) -> Vec<String> {
        let mut findings = findings.to_vec();
        assign("python", &mut findings, |_, line| lines.get(line as usize - 1).map(|line| (*line).to_owned()));
        findings.into_iter().map(|finding| finding.fingerprint).collect()
    }

    #[test]
    fn moved_and_indented_lines_keep_their_findings() {
        let before = prints(&[finding("e", 1, None)], &["x ="]);
        let after = prints(&[finding("e", 3, None)], &["", "if y:", "    x ="]);
        assert_eq!(before, after);
        assert_eq!(before[0].len(), DIGITS);
    }

    #[test]
    fn lines_are_found_by_their_number() {
        let of = |text: &str, lines: &[u32]| {
            let texts = texts(text.as_bytes(), &lines.iter().copied().collect());
            texts.into_iter().map(|(line, text)| format!("{line}{text}")).collect::<Vec<_>>()
        };
        assert_eq!(of("a\nb\nc", &[3, 1]), ["1a", "3c"]);
        assert_eq!(of("a\n", &[1, 2, 3, u32::MAX]), ["1a", "2"]);
        assert_eq!(of("a", &[0]), Vec::<String>::new());
        assert_eq!(of(&"x".repeat(MAX_LINE + 1), &[1])[0].len(), MAX_LINE + 1);
        let findings = [finding("e", 1, None), finding("e", 2, Some("key")), finding("e", 3, None)];
        assert_eq!(lines_in(&findings, "a.py"), BTreeSet::from([1, 3]));
        assert_eq!(lines_in(&findings, "b.py"), BTreeSet::new());
    }

    #[test]
    fn what_differs_is_told_apart() {
        let lines = ["x =", "x =", "y ="];
        let all = prints(
            &[
                finding("e", 1, None),
                finding("e", 2, None),
                finding("e", 3, None),
                finding("f", 1, None),
                finding("e", 1, Some("test_a")),
                finding("e", 1, Some("test_b")),
            ],
            &lines,
        );
        let mut distinct = all.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), all.len(), "{all:?}");
        let other = prints(&[finding("e", 99, None)], &[]);
        assert!(!all.contains(&other[0]), "a line that is not there has its message");
    }

    #[test]
    fn a_key_identifies_whatever_the_line_says() {
        assert_eq!(
            prints(&[finding("e", 1, Some("test_a"))], &["x"]),
            prints(&[finding("e", 2, Some("test_a"))], &["", "y"])
        );
    }
}
