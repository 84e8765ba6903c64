//! Reads a submission document (JSON or YAML, strictly) and the transcript of an evaluator.

mod evaluator;

pub use evaluator::transcript;

use crate::json_values;
use crate::submission::Submission;
use crate::text::clean_line;
use crate::workspace;
use serde::de::IgnoredAny;

/// Longer documents are refused: each check that reads it needs many times as much memory.
pub const MAX_BYTES: usize = 16 << 20;

/// Why a document is not a submission.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The document is empty.
    #[error("the document is empty; expected a submission in JSON or YAML")]
    Empty,
    /// The document is too long.
    #[error("the document has more than {MAX_BYTES} bytes")]
    TooLarge,
    /// The document has too many values.
    #[error("the document has more than {} values", json_values::MAX)]
    TooManyValues,
    /// The document is not UTF-8.
    #[error("the document is not UTF-8 at byte {0}")]
    NotUtf8(usize),
    /// The document is not the transcript of an evaluator.
    #[error("no line is an event of an evaluator's transcript")]
    NoTranscript,
    /// A path leads out of the workspace, or is malformed.
    #[error("`{place}` is `{path}`; expected a path inside the workspace, such as `src/a.rs`")]
    Outside {
        /// The entry, such as `changes[0].path`.
        place: String,
        /// The path.
        path: String,
    },
    /// The document is not a submission.
    #[error("line {line}, column {column}: {message}")]
    Invalid {
        /// The line, from 1.
        line: u64,
        /// The column, from 1.
        column: u64,
        /// What is wrong.
        message: String,
    },
}

/// Reads a document. If its first character is `{`, it is JSON, otherwise YAML.
pub fn parse(bytes: &[u8]) -> Result<Submission, InputError> {
    if bytes.len() > MAX_BYTES {
        return Err(InputError::TooLarge);
    }
    let text = str::from_utf8(bytes).map_err(|error| InputError::NotUtf8(error.valid_up_to()))?;
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let submission: Submission = match text.trim_start().chars().next() {
        None => Err(InputError::Empty),
        Some('{') if json_values::count(text.as_bytes()) > json_values::MAX => Err(InputError::TooManyValues),
        Some('{') => serde_json::from_str(text).map_err(|error| {
            // A document that is not JSON at all is reported as that, even if a field before the mistake is wrong too.
            let error = serde_json::from_str::<IgnoredAny>(text).err().unwrap_or(error);
            let (line, column) = (error.line() as u64, error.column() as u64);
            let suffix = format!(" at line {line} column {column}");
            let message = error.to_string();
            invalid(line, column, message.strip_suffix(&suffix).unwrap_or(&message))
        }),
        Some(_) => serde_saphyr::from_str(text).map_err(|error| {
            let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
            // Only the first line; the others show the place, which is reported as numbers.
            let message = error.without_snippet().to_string();
            let message = message.lines().next().unwrap_or_default();
            let suffix = format!(" at line {line}, column {column}");
            invalid(line, column, message.strip_suffix(&suffix).unwrap_or(message))
        }),
    }?;
    inside(&submission)?;
    Ok(submission)
}

/// Checks that every path of changes and findings is inside the workspace.
fn inside(submission: &Submission) -> Result<(), InputError> {
    let changes = submission.changes.iter().enumerate().flat_map(|(index, change)| {
        let path = (format!("changes[{index}].path"), &change.path);
        let old = change.old_path.as_ref().map(|old| (format!("changes[{index}].old_path"), old));
        std::iter::once(path).chain(old)
    });
    let findings = submission.prior_findings.iter().enumerate().filter_map(|(index, prior)| {
        let place = prior.finding.place.as_ref()?;
        Some((format!("prior_findings[{index}].finding.place.path"), &place.path))
    });
    match changes.chain(findings).find(|(_, path)| !workspace::is_inside(path)) {
        Some((place, path)) => Err(InputError::Outside { place, path: clean_line(path, 200) }),
        None => Ok(()),
    }
}

fn invalid(line: u64, column: u64, message: &str) -> InputError {
    InputError::Invalid { line: line.max(1), column: column.max(1), message: clean_line(message, 500) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_yaml_say_the_same() {
        let json = r#"{"task": {"id": "2.3", "index": 4, "total": 9}, "claim": {"text": "done", "report": {"status": "success"}},
            "tool_calls": [{"tool": "write", "success": true, "files_changed": ["a.json"]}], "attempt": 2}"#;
        let yaml = "task:\n  id: '2.3'\n  index: 4\n  total: 9\nclaim:\n  text: done\n  report:\n    status: success\ntool_calls:\n  - tool: write\n    success: true\n    files_changed: [a.json]\nattempt: 2\n";
        let submission = parse(json.as_bytes()).expect("JSON");
        assert_eq!(submission, parse(yaml.as_bytes()).expect("YAML"));
        assert_eq!(submission.task.expect("a task").index, Some(4));
    }

    #[test]
    fn anything_else_is_refused_with_its_place() {
        for (document, expected) in [
            (&b""[..], "the document is empty; expected a submission in JSON or YAML"),
            (b" \n", "the document is empty; expected a submission in JSON or YAML"),
            (b"{\"task\": ", "line 1, column 9: EOF while parsing a value"),
            (b"{\"claim\": 1", "line 1, column 11: EOF while parsing an object"),
            (b"{\"claim\": 1}", "line 1, column 11: invalid type: integer `1`, expected an object with a claim"),
            (b"\xff\xfe{}", "the document is not UTF-8 at byte 0"),
            (b"{\n  \"attempts\": 1}", "line 2, column 12: unknown field `attempts`, expected one of"),
            (b"{\"attempt\": -1}", "line 1, column 14: invalid value: integer `-1`, expected u32"),
            (b"attempt: many\n", "line 1, column 10: "),
            (b"{\"evidence\": []}", "line 1, column 13: `evidence` is established by `gate`"),
            (b"- a\n- b\n", "line 1, column 1: "),
            (b"just words", "line 1, column 1: "),
        ] {
            let error = parse(document).expect_err("refused").to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        assert_eq!(parse(&vec![b' '; MAX_BYTES + 1]), Err(InputError::TooLarge));
        let zeros = |count: usize| {
            let input = vec!["0"; count].join(",");
            format!("{{\"tool_calls\": [{{\"tool\": \"t\", \"success\": true, \"input\": [{input}]}}]}}").into_bytes()
        };
        assert!(parse(&zeros(json_values::MAX / 2)).is_ok());
        assert_eq!(parse(&zeros(json_values::MAX)), Err(InputError::TooManyValues));
        let vouched = br#"{"evaluator": {"completed": true, "text": "", "source": "caller"}}"#;
        assert!(parse(vouched).is_err_and(|error| error.to_string().contains("`source` is set by `gate`")));
    }

    #[test]
    fn paths_that_lead_out_of_the_work_are_refused() {
        let changed = |path: &str, old: &str| {
            format!(
                r#"{{"changes": [{{"path": "a.txt", "kind": "added", "state": "staged"}},
                {{"path": "{path}", "old_path": "{old}", "kind": "renamed", "state": "staged"}}]}}"#
            )
        };
        let found = |path: &str| {
            format!(
                r#"{{"prior_findings": [{{"attempt": 1, "check": "a",
                "finding": {{"code": "a", "level": "error", "message": "a", "place": {{"path": "{path}"}}}}}}]}}"#
            )
        };
        for path in ["/etc/passwd", "../a", "a/../../b", "a/..", "./a", "", "a//b", ".git/config", "a/"] {
            for (document, place) in [
                (changed(path, "b"), "changes[1].path"),
                (changed("b", path), "changes[1].old_path"),
                (found(path), "prior_findings[0].finding.place.path"),
            ] {
                let expected = InputError::Outside { place: place.to_owned(), path: path.to_owned() };
                assert_eq!(parse(document.as_bytes()), Err(expected));
            }
        }
        assert!(
            parse(changed("src/b..txt", ".gitignore").as_bytes()).is_ok() && parse(found("a/b").as_bytes()).is_ok()
        );
    }

    #[test]
    fn a_bomb_of_aliases_is_refused() {
        let mut bomb = String::from("a: &a [x, x, x, x, x, x, x, x, x]\n");
        for (name, of) in
            ["b", "c", "d", "e", "f", "g", "h", "i"].into_iter().zip(["a", "b", "c", "d", "e", "f", "g", "h"])
        {
            bomb += &format!("{name}: &{name} [*{of}, *{of}, *{of}, *{of}, *{of}, *{of}, *{of}, *{of}, *{of}]\n");
        }
        let inside: String = bomb.lines().map(|line| format!("    {line}\n")).collect();
        let document = format!("claim:\n  text: x\n  report:\n{inside}");
        assert!(parse(document.as_bytes()).is_err());
    }

    #[test]
    fn depth_is_bounded() {
        let deep =
            format!("{{\"claim\": {{\"text\": \"\", \"report\": {}{} }} }}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse(deep.as_bytes()).is_err());
        let deep = format!("claim:\n  text: x\n  report: {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse(deep.as_bytes()).is_err());
    }
}
