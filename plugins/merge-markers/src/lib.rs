//! `merge-markers`: no text file contains markers of a merge conflict. Takes no settings.
//!
//! A marker is seven of `<`, `>` or `|` at the start of a line, followed by white space or the end of the line. Markdown and
//! reStructuredText underline titles with seven `=`, so that line counts only inside an open conflict. Longer markers, which git
//! writes with `conflict-marker-size`, count only as a whole conflict: `<`, `=` and `>` of the same length in this order. Bytes
//! that are not UTF-8 hide no marker, and UTF-16 is decoded by its byte order mark. A file with a NUL is binary and passes.

use gatehost_sdk::{About, File, FileVerifier, Finding, Place, Rule, Verdict};

struct MergeMarkers;

impl FileVerifier for MergeMarkers {
    type Settings = ();
    const ABOUT: About = About::new(
        "merge-markers",
        env!("CARGO_PKG_VERSION"),
        "No text file contains markers of an unresolved merge conflict.",
    )
    .files(&["**/*"])
    .rules(
        const {
            &[
                Rule::error("conflict", "A merge conflict is not resolved.")
                    .help("Merge both sides, and remove the markers."),
                Rule::error("stray-mark", "A single marker of a merge conflict is left.")
                    .help("Remove the marker, and check the lines around it."),
            ]
        },
    );

    fn check(file: &File, (): ()) -> Verdict {
        file.readable().map_or_else(Verdict::pass, |text| judge(&file.path, &text))
    }
}

gatehost_sdk::export_file_verifier!(MergeMarkers);

/// The length of a mark, unless the repository says another.
const USUAL: usize = 7;

/// A conflict that is open: its first line, the length of its marks, and whether its sides have been parted.
#[derive(Clone, Copy)]
struct Open {
    line: u32,
    length: usize,
    parted: bool,
}

/// Whether the text contains seven `<`, `>` or `|` in a row. Such a run covers every seventh byte, so most are skipped.
fn may_have_marks(text: &str) -> bool {
    let bytes = text.as_bytes();
    (USUAL - 1..bytes.len()).step_by(USUAL).any(|at| {
        let is_same = |byte: &&u8| **byte == bytes[at];
        matches!(bytes[at], b'<' | b'>' | b'|') && {
            let before = bytes[..at].iter().rev().take_while(is_same).take(USUAL).count();
            let after = bytes[at..].iter().take_while(is_same).take(USUAL).count();
            before + after >= USUAL
        }
    })
}

fn judge(path: &str, text: &str) -> Verdict {
    if !may_have_marks(text) {
        return Verdict::pass();
    }
    let mut findings = Vec::new();
    let mut open: Option<Open> = None;
    for (number, line) in (1..).zip(lines(text)) {
        let Some((mark, length)) = mark(line) else { continue };
        match (mark, open) {
            ('<', before) => {
                findings.extend(before.and_then(|open| stray(path, open.line, '<', open.length)));
                open = Some(Open { line: number, length, parted: false });
            }
            ('=', Some(before)) if before.length == length => open = Some(Open { parted: true, ..before }),
            ('>', Some(before)) if before.length == length && (before.parted || length == USUAL) => {
                let place = Place { end_line: Some(number), ..Place::file(path).position(before.line, 1) };
                findings.push(
                    Finding::error("conflict", format!("unresolved merge conflict; it ends on line {number}"))
                        .at(place)
                        .hint("merge both sides, and remove the markers"),
                );
                open = None;
            }
            ('>' | '|', None) => findings.extend(stray(path, number, mark, length)),
            _ => {}
        }
    }
    findings.extend(open.and_then(|open| stray(path, open.line, '<', open.length)));
    if findings.is_empty() { Verdict::pass() } else { Verdict::fail("", findings) }
}

/// The lines, however they end, without a byte order mark before the first.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let whole = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    // Where CR ends lines, it stands within what LF parts.
    whole.flat_map(|line| line.split('\r'))
}

/// A mark by itself. One of another length than the usual may be anything.
fn stray(path: &str, line: u32, mark: char, length: usize) -> Option<Finding> {
    let marks = mark.to_string().repeat(USUAL);
    let finding = Finding::error("stray-mark", format!("`{marks}` at the start of a line is a merge conflict marker"))
        .at(Place::file(path).position(line, 1))
        .hint("remove the marker, and check the lines around it");
    (length == USUAL).then_some(finding)
}

/// The character of the mark that a line is, and how many of it there are.
fn mark(line: &str) -> Option<(char, usize)> {
    let mark = line.chars().next().filter(|first| matches!(first, '<' | '>' | '|' | '='))?;
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    (length >= USUAL && (rest.is_empty() || rest.starts_with([' ', '\t']))).then_some((mark, length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::Status;

    fn found(text: &str) -> Vec<(String, u32)> {
        let verdict = judge("a.txt", text);
        assert_eq!(MergeMarkers::ABOUT.undeclared(&verdict), [""; 0]);
        let findings = verdict.findings;
        findings
            .into_iter()
            .map(|finding| (finding.code, finding.place.and_then(|place| place.line).expect("a line")))
            .collect()
    }

    #[test]
    fn marks_are_found_with_their_lines() {
        for (text, expected) in [
            ("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> topic\nd\n", &[("conflict", 2)][..]),
            ("<<<<<<< HEAD\r\nb\r\n=======\r\nc\r\n>>>>>>> topic\r\n", &[("conflict", 1)]),
            ("<<<<<<< a\n||||||| base\n=======\n>>>>>>> b\n", &[("conflict", 1)]),
            ("<<<<<<< a\n>>>>>>> b\n<<<<<<< a\n=======\n>>>>>>>", &[("conflict", 1), ("conflict", 3)]),
            ("<<<<<<< a\nb\n", &[("stray-mark", 1)]),
            ("b\n>>>>>>> a", &[("stray-mark", 2)]),
            ("||||||| base", &[("stray-mark", 1)]),
            ("<<<<<<< a\n<<<<<<< b\n>>>>>>> c\n", &[("stray-mark", 1), ("conflict", 2)]),
            ("\u{FEFF}<<<<<<< a\nb\n=======\n>>>>>>> c\n", &[("conflict", 1)]),
            ("a\r<<<<<<< a\rb\r=======\rc\r>>>>>>> d\r", &[("conflict", 2)]),
            ("<<<<<<<\tHEAD\n=======\t\n>>>>>>>\ttopic\n", &[("conflict", 1)]),
            ("<<<<<<<< a\nb\n========\nc\n>>>>>>>> d\n", &[("conflict", 1)]),
            ("<<<<<<<<<<<< a\n|||||||||||| e\n============\n>>>>>>>>>>>> d\n", &[("conflict", 1)]),
        ] {
            let expected: Vec<(String, u32)> = expected.iter().map(|&(code, line)| (code.to_owned(), line)).collect();
            assert_eq!(found(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_mark_passes() {
        for text in [
            "",
            "Title\n=======\n",
            "=======\nTitle\n=======\n",
            "  <<<<<<< HEAD\n",
            "<<<<<<<HEAD\n",
            "<<<<<<<< HEAD\n",
            "<<<<<<<< HEAD\n>>>>>>>> a\n",
            "<<<<<<<< a\n=======\n>>>>>>>> b\n",
            "<<<<<< HEAD\n",
            "a <<<<<<< b\n",
            ">>>>>>>>>>\n",
            "> > > quoted\n",
            "| a | b |\n|||||||||\n",
        ] {
            assert_eq!(found(text), [], "{text:?}");
        }
    }

    #[test]
    fn a_binary_file_passes_and_one_foreign_byte_makes_none() {
        let utf16: Vec<u8> = "\u{FEFF}<<<<<<< a\n>>>>>>> b\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (bytes, status) in [
            (b"\xFF\0\n<<<<<<< a\n".to_vec(), Status::Pass),
            (b"caf\xE9\n<<<<<<< a\n".to_vec(), Status::Fail),
            (utf16, Status::Fail),
        ] {
            let file = File::new("a", bytes);
            assert_eq!(MergeMarkers::check(&file, ()).status, status, "{file:?}");
        }
    }
}
