//! `json-syntax`: every matching file is one JSON text (RFC 8259). Takes no settings.
//!
//! The parser is serde_json's; it stops at the first error and needs no stack for nested values, so a file of any
//! depth gets an answer. A quick look (`quick.rs`) saves it the files in which there is nothing to find.

mod quick;

use gatehost_sdk::{About, File, FileVerifier, Finding, Place, Verdict};
use serde::de::IgnoredAny;

struct JsonSyntax;

impl FileVerifier for JsonSyntax {
    type Settings = ();
    const ABOUT: About = About::new("json-syntax", env!("CARGO_PKG_VERSION"), "Every file is valid JSON (RFC 8259).")
        .files(&["**/*.json", "**/*.geojson", "**/*.webmanifest"]);

    fn check(file: &File, (): ()) -> Verdict {
        first_error(file).map_or_else(Verdict::pass, Verdict::from)
    }
}

gatehost_sdk::export_file_verifier!(JsonSyntax);
// The parser allocates nothing but a place to remember what is open.
gatehost_sdk::use_arena!();

fn first_error(file: &File) -> Option<Finding> {
    let at_start = Place::file(&file.path).position(1, 1);
    let Some(text) = file.text() else {
        let (code, message) = match file.bytes() {
            [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => ("utf-16", "the file is UTF-16; JSON is UTF-8"),
            _ => ("not-utf-8", "the file is not UTF-8; JSON is UTF-8"),
        };
        let valid = file.bytes().utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
        return Some(Finding::error(code, message).at(place_in_bytes(file, valid)));
    };
    if quick::is_json(text) {
        return None;
    }
    if text.starts_with('\u{FEFF}') {
        return Some(
            Finding::error("byte-order-mark", "the file starts with a byte order mark; JSON must not")
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
        ("trailing-comma", "a comma after the last element; JSON allows none".to_owned())
    } else {
        ("syntax", message_of(&error))
    };
    Some(Finding::error(code, message).at(file.place_of(offset)))
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

fn place_in_bytes(file: &File, offset: usize) -> Place {
    let before = &file.bytes()[..offset];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let column = String::from_utf8_lossy(&before[line_start..]).chars().count() + 1;
    let bounded = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Place::file(&file.path).position(bounded(line), bounded(column))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::Content;

    fn error_in(bytes: &[u8]) -> Option<(String, u32, u32)> {
        let content = match str::from_utf8(bytes) {
            Ok(text) => Content::Text(text.to_owned()),
            Err(_) => Content::Binary(bytes.to_vec()),
        };
        let finding = first_error(&File { path: "a.json".into(), content })?;
        let place = finding.place.expect("every finding has a place");
        Some((finding.code, place.line.expect("a line"), place.column.expect("a column")))
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
    fn depth_needs_no_stack() {
        let depth = 100_000;
        let valid = "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(error_in(valid.as_bytes()), None);
        assert_eq!(error_in("[".repeat(depth).as_bytes()).expect("unclosed").0, "unexpected-end");
    }
}
