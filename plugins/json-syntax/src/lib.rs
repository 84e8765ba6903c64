//! `json-syntax`: every matching file is one JSON text (RFC 8259), or JSONC or JSON5 if its name is known for that or the
//! settings say so.
//!
//! serde_json parses JSON, and `relaxed.rs` parses JSONC and JSON5. Both stop at the first error and need no stack for nested
//! values, so a file of any depth is checked. `quick.rs` recognises most valid JSON without either of them.

mod dialect;
mod quick;
mod relaxed;

use dialect::Dialect;

use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::{About, Edit, File, FileVerifier, Finding, Place, Rule, TextPosition, Verdict};
use serde::de::IgnoredAny;

gatehost_sdk::syntax_settings! {
    struct Settings {
        /// The dialect of the files. With `auto`, the name of a file decides: JSONC or JSON5 for names known to use them, and
        /// JSON (RFC 8259) for all others.
        dialect: Dialect = Dialect::Auto,
    }
}

const FORMAT: Format = Format {
    name: "JSON",
    known_as: &["json", "jsonc", "json5", "javascript", "js"],
    comments: &["//"],
    quotes: &['"', '\''],
    has_braces: false,
    reading: Reading::AtMark,
};

const RULES: &[Rule] = &[
    Rule::error("syntax", "The file is not valid JSON, JSONC or JSON5."),
    Rule::error("trailing-comma", "A comma follows the last element.").help("Remove the comma."),
    Rule::error("unexpected-end", "The file ends within a value."),
    Rule::error("empty", "The file is empty."),
    Rule::error("byte-order-mark", "The file starts with a byte order mark.")
        .help("Save the file as UTF-8 without a byte order mark."),
    Rule::error("unclosed-string", "A string is not closed before its line or the file ends."),
    Rule::error("unclosed-comment", "A comment is not closed."),
    Rule::error("bad-escape", "A string has an escape that the dialect does not allow."),
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

struct JsonSyntax;

impl FileVerifier for JsonSyntax {
    type Settings = Settings;
    const ABOUT: About = About::new(
        "json-syntax",
        env!("CARGO_PKG_VERSION"),
        "Every file is valid JSON (RFC 8259), or JSONC or JSON5 where its name says so.",
    )
    .files(&[
        "**/*.json",
        "**/*.geojson",
        "**/*.webmanifest",
        "**/*.jsonc",
        "**/*.json5",
        "**/*.code-workspace",
        "**/*.code-snippets",
        "**/.babelrc",
        "**/.jshintrc",
        "**/.parcelrc",
        "**/.swcrc",
    ])
    .settings::<Settings>()
    .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        match first_error(file, settings.dialect) {
            None => Verdict::pass(),
            Some(error) => file.unless_foreign(file.text().unwrap_or_default(), &FORMAT, settings.strict, error.into()),
        }
    }
}

gatehost_sdk::export_file_verifier!(JsonSyntax);
// The parser allocates nothing but a place to remember what is open.
gatehost_sdk::use_arena!();

fn first_error(file: &File, dialect: Dialect) -> Option<Finding> {
    let at_start = Place::file(&file.path).position(1, 1);
    let text = match file.utf8("JSON") {
        Ok(text) => text,
        Err(finding) => return Some(finding),
    };
    if quick::is_json(text) {
        return None;
    }
    let dialect = dialect.of(&file.path);
    if dialect != Dialect::Json {
        return relaxed_error(file, text, dialect);
    }
    if text.starts_with('\u{FEFF}') {
        return Some(
            Finding::error("byte-order-mark", "the file starts with a byte order mark, which JSON does not allow")
                .at(at_start)
                .hint("save the file as UTF-8 without a byte order mark"),
        );
    }
    if text.trim_ascii().is_empty() {
        return Some(Finding::error("empty", "the file is empty; expected a JSON value").at(at_start));
    }
    let error = serde_json::from_str::<IgnoredAny>(text).err()?;
    let offset = offset_of(text, &error);
    let (code, message) = if error.is_eof() {
        ("unexpected-end", message_of(&error))
    } else if text[..offset].trim_ascii_end().ends_with(',') && text[offset..].starts_with([']', '}']) {
        ("trailing-comma", "trailing comma after the last element; JSON does not allow it".to_owned())
    } else {
        ("syntax", message_of(&error))
    };
    let finding = Finding::error(code, message).at(file.place_of(offset));
    Some(match text[..offset].trim_ascii_end().len().checked_sub(1) {
        Some(comma) if code == "trailing-comma" => finding.fix("remove the comma", vec![removal(text, comma)]),
        _ => finding,
    })
}

/// The edit that removes the character at this offset.
fn removal(text: &str, offset: usize) -> Edit {
    let TextPosition { line, column } = TextPosition::of(text, offset);
    let (start_line, start_column, end_line, end_column) = (line, column, line, column + 1);
    Edit { start_line, start_column, end_line, end_column, replacement: String::new() }
}

fn relaxed_error(file: &File, text: &str, dialect: Dialect) -> Option<Finding> {
    let problem = relaxed::first_problem(text, dialect)?;
    if text.trim_ascii().is_empty() {
        let message = format!("the file is empty; expected a {} value", dialect.name());
        return Some(Finding::error("empty", message).at(file.place_of(0)));
    }
    Some(Finding::error(problem.code, problem.message).at(file.place_of(problem.at)))
}

/// serde_json's text without the position that it ends in; the finding has a place of its own.
fn message_of(error: &serde_json::Error) -> String {
    let whole = error.to_string();
    let suffix = format!(" at line {} column {}", error.line(), error.column());
    whole.strip_suffix(&suffix).unwrap_or(&whole).to_owned()
}

/// Where the error is, in bytes. serde_json counts columns in bytes from 1, and gives 0 for the end of the line before.
fn offset_of(text: &str, error: &serde_json::Error) -> usize {
    let line_start = match error.line().checked_sub(2) {
        None => 0,
        Some(newlines_before) => {
            text.match_indices('\n').nth(newlines_before).map_or(text.len(), |(newline, _)| newline + 1)
        }
    };
    // Of a control character in a string it gives the column before.
    let before = if error.to_string().starts_with("control character") { 0 } else { 1 };
    text.floor_char_boundary(line_start + error.column().saturating_sub(before))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::Status;

    fn error_in(bytes: &[u8]) -> Option<(String, u32, u32)> {
        error_in_file("a.json", bytes)
    }

    fn error_in_file(path: &str, bytes: &[u8]) -> Option<(String, u32, u32)> {
        let finding = first_error(&File::new(path, bytes), Dialect::Auto)?;
        assert!(JsonSyntax::ABOUT.undeclared(&finding.clone().into()).is_empty());
        Some(finding.spot().expect("every finding has its place"))
    }

    #[test]
    fn valid_json_has_no_error() {
        for text in
            ["{}", "[]", "0", "\"\"", "null", " [1, 2.5e-3, \"\\u00e9\"]\r\n", "{\"a\": {\"b\": [true, false]}}"]
        {
            assert_eq!(error_in(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_first_error_has_its_place() {
        for (bytes, code, line, column) in [
            (&b""[..], "empty", 1, 1),
            (b" \n\t", "empty", 1, 1),
            (b"{\"a\": 1,}", "trailing-comma", 1, 9),
            (b"[1, 2,\n]", "trailing-comma", 2, 1),
            (b"[1,\n 2\n 3]", "syntax", 3, 2),
            (b"{\"a\"", "unexpected-end", 1, 4),
            (b"[\n", "unexpected-end", 2, 1),
            ("[\"ö\" 1]".as_bytes(), "syntax", 1, 6),
            (b"{} {}", "syntax", 1, 4),
            (b"[1, // two\n2]", "syntax", 1, 5),
            ("\u{FEFF}{}".as_bytes(), "byte-order-mark", 1, 1),
            (b"\xFF\xFE{\0}\0", "utf-16", 1, 1),
            (b"[\n\"\xFF\"]", "not-utf-8", 2, 2),
            (b"[\"\0\"]", "syntax", 1, 3),
        ] {
            let expected = Some((code.to_owned(), line, column));
            assert_eq!(error_in(bytes), expected, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_trailing_comma_comes_with_its_repair() {
        let file = File::new("a.json", "[1, \"\u{e4}\",\n]".as_bytes());
        let fix = first_error(&file, Dialect::Json).and_then(|finding| finding.fix).expect("a repair");
        let edit = &fix.edits[0];
        let range = (edit.start_line, edit.start_column, edit.end_line, edit.end_column);
        assert_eq!((range, edit.replacement.as_str()), ((1, 8, 1, 9), ""));
    }

    #[test]
    fn the_name_decides_what_is_allowed() {
        let commented = b"{\n  // a comment\n  \"a\": 1,\n}";
        assert_eq!(error_in_file(".vscode/settings.json", commented), None);
        assert_eq!(error_in_file("a.json", commented), Some(("syntax".to_owned(), 2, 3)));
        assert_eq!(error_in_file("a.json5", b"{a: 'b'}"), None);
        assert_eq!(error_in_file("tsconfig.json", b"{a: 'b'}"), Some(("syntax".to_owned(), 1, 2)));
        assert_eq!(error_in_file("tsconfig.json", b" \n"), Some(("empty".to_owned(), 1, 1)));
    }

    #[test]
    fn a_template_is_not_applicable() {
        for (text, expected) in [
            ("{\"a\": {{ b }}}", Status::NotApplicable),
            ("{\n{% if a %}\n\"b\": 1\n{% endif %}\n}", Status::NotApplicable),
            ("{\"a\": \"{{ b }}\"}", Status::Pass),
            ("{\"a\": \"{{ b }}\",}", Status::Fail),
        ] {
            let file = File::new("a.json", text);
            assert_eq!(JsonSyntax::check(&file, Settings::default()).status, expected, "{text}");
            let strict = JsonSyntax::check(&file, Settings { strict: true, ..Settings::default() });
            assert_eq!(strict.status == Status::Pass, expected == Status::Pass, "{text}");
        }
    }

    #[test]
    fn depth_needs_no_stack() {
        let depth = 100_000;
        let valid = "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(error_in(valid.as_bytes()), None);
        assert_eq!(error_in("[".repeat(depth).as_bytes()).expect("unclosed").0, "unexpected-end");
    }
}
