//! `merge-markers`: no text file still has the marks of a merge conflict. Takes no settings.
//!
//! A mark is seven of `<`, `>` or `|` at the start of a line, followed by a space or the end of the line. Seven `=`
//! alone are also how Markdown and reStructuredText underline a title, so that line counts only inside a conflict that
//! is open. A byte that is not UTF-8 hides no mark, and UTF-16 is read by its byte order mark; what has neither text nor
//! lines, by a NUL in it, passes.

use gatehost_sdk::{About, File, FileVerifier, Finding, Place, Verdict};

struct MergeMarkers;

impl FileVerifier for MergeMarkers {
    type Settings = ();
    const ABOUT: About = About::new(
        "merge-markers",
        env!("CARGO_PKG_VERSION"),
        "No text file has the marks of an unresolved merge conflict.",
    )
    .files(&["**/*"]);

    fn check(file: &File, (): ()) -> Verdict {
        file.readable().map_or_else(Verdict::pass, |text| judge(&file.path, &text))
    }
}

gatehost_sdk::export_file_verifier!(MergeMarkers);

fn judge(path: &str, text: &str) -> Verdict {
    let mut findings = Vec::new();
    // The line that the open conflict starts on.
    let mut open: Option<u32> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let mark = mark(line);
        match (mark, open) {
            (Some('<'), before) => {
                findings.extend(before.map(|start| stray(path, start, '<')));
                open = Some(number);
            }
            (Some('>'), Some(start)) => {
                let place = Place { end_line: Some(number), ..Place::file(path).position(start, 1) };
                findings.push(
                    Finding::error("conflict", format!("a merge conflict, up to line {number}, is not resolved"))
                        .at(place)
                        .hint("choose what is right of both sides, and remove the marks"),
                );
                open = None;
            }
            (Some(mark @ ('>' | '|')), None) => findings.push(stray(path, number, mark)),
            _ => {}
        }
    }
    findings.extend(open.map(|start| stray(path, start, '<')));
    if findings.is_empty() { Verdict::pass() } else { Verdict::fail("", findings) }
}

fn stray(path: &str, line: u32, mark: char) -> Finding {
    let marks = mark.to_string().repeat(7);
    Finding::error("stray-mark", format!("`{marks}` at the start of a line is a mark of a merge conflict"))
        .at(Place::file(path).position(line, 1))
        .hint("remove the mark, and look for what it marked")
}

/// The character of the mark that a line is.
fn mark(line: &str) -> Option<char> {
    let mark = line.chars().next().filter(|first| matches!(first, '<' | '>' | '|' | '='))?;
    let rest = line.trim_start_matches(mark);
    (line.len() - rest.len() == 7 && (rest.is_empty() || rest.starts_with(' '))).then_some(mark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::Status;

    fn found(text: &str) -> Vec<(String, u32)> {
        let findings = judge("a.txt", text).findings;
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
