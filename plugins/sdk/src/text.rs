//! Text of files: findings for bytes that are not UTF-8, decoding of UTF-16, and quoting in messages.

use crate::{Content, File, Finding, Place};
use std::borrow::Cow;

impl File {
    /// Returns the text of a file whose format must be UTF-8, or the finding to report. `format` is its name: `JSON`.
    #[expect(clippy::result_large_err, reason = "a verifier takes this way once, and then it is done")]
    pub fn utf8(&self, format: &str) -> Result<&str, Finding> {
        if let Some(text) = self.text() {
            return Ok(text);
        }
        let (code, what) = match self.bytes() {
            [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => ("utf-16", "UTF-16"),
            _ => ("not-utf-8", "not UTF-8"),
        };
        let valid = self.bytes().utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
        Err(Finding::error(code, format!("the file is {what}; {format} must be UTF-8"))
            .at(place_in_bytes(self, valid))
            .hint("save the file as UTF-8"))
    }

    /// Returns the text to search, even if some bytes are not UTF-8. UTF-16 with a byte order mark is decoded; in other files
    /// U+FFFD replaces invalid bytes. `None` for a binary file, which contains a NUL.
    pub fn readable(&self) -> Option<Cow<'_, str>> {
        match &self.content {
            Content::Text(text) => Some(Cow::Borrowed(text)),
            Content::Missing => None,
            Content::Binary(bytes) => utf16_units(bytes)
                .map(|units| Cow::Owned(String::from_utf16_lossy(&units)))
                .or_else(|| (!bytes.contains(&0)).then(|| String::from_utf8_lossy(bytes))),
        }
    }
}

fn place_in_bytes(file: &File, offset: usize) -> Place {
    let before = &file.bytes()[..offset];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let column = String::from_utf8_lossy(&before[line_start..]).chars().count() + 1;
    let bounded = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Place::file(&file.path).position(bounded(line), bounded(column))
}

/// Decodes bytes that start with a byte order mark of UTF-16, without the mark. Returns `None` if there is no such mark or if
/// the bytes are not valid UTF-16.
pub fn from_utf16(bytes: &[u8]) -> Option<String> {
    let units = utf16_units(bytes).filter(|_| bytes.len().is_multiple_of(2))?;
    String::from_utf16(&units).ok()
}

/// The UTF-16 units after a byte order mark of UTF-16.
fn utf16_units(bytes: &[u8]) -> Option<Vec<u16>> {
    let unit: fn([u8; 2]) -> u16 = match bytes {
        [0xFF, 0xFE, ..] => u16::from_le_bytes,
        [0xFE, 0xFF, ..] => u16::from_be_bytes,
        _ => return None,
    };
    Some(bytes[2..].as_chunks().0.iter().map(|&pair| unit(pair)).collect())
}

/// Removes invisible characters, which could split a word: soft hyphens, joiners, direction marks.
pub fn visible(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let is_invisible = |character: &char| {
        matches!(character, '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}'
            | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
    };
    text.chars().filter(|character| !is_invisible(character)).collect()
}

/// Returns a text on one line and shortened, for a message.
pub fn one_line(text: &str) -> String {
    const MOST: usize = 400;
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(MOST) {
        line.truncate(end);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_utf8_has_a_code_and_a_place() {
        for (bytes, code, line, column) in [
            (&b"a\n\xC3\xB6\xFFb"[..], "not-utf-8", 2, 2),
            (b"\xFF\xFEa\0", "utf-16", 1, 1),
            (b"\xFE\xFF\0a", "utf-16", 1, 1),
        ] {
            let file = File::new("a", bytes);
            let finding = file.utf8("JSON").expect_err("not UTF-8");
            let place = finding.place.expect("a place");
            assert_eq!((&*finding.code, place.line, place.column), (code, Some(line), Some(column)));
        }
    }

    #[test]
    fn utf16_of_either_order_is_read() {
        assert_eq!(from_utf16(b"\xFF\xFEa\0\xF6\0").as_deref(), Some("aö"));
        assert_eq!(from_utf16(b"\xFE\xFF\0a\xD8\x34\xDD\x1E").as_deref(), Some("a𝄞"));
        for wrong in [&b""[..], b"a\0", b"\xFF\xFEa", b"\xFF\xFE\x34\xD8"] {
            assert_eq!(from_utf16(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn foreign_bytes_do_not_end_a_search() {
        for (bytes, expected) in [
            (&b"caf\xE9\nb"[..], Some("caf\u{FFFD}\nb")),
            (b"\xFF\xFEa\0\x34\xD8b\0c", Some("a\u{FFFD}b")),
            (b"\x89PNG\0\0", None),
        ] {
            let file = File::new("a", bytes);
            assert_eq!(file.readable().as_deref(), expected, "{bytes:?}");
        }
    }

    #[test]
    fn what_nobody_sees_is_left_out() {
        assert_eq!(visible("\u{FEFF}man\u{AD}u\u{200B}al ö\u{2028}✅\u{FE0F}"), "manual ö\u{2028}✅");
    }

    #[test]
    fn a_quotation_is_one_short_line() {
        assert_eq!(one_line("a\n\t b "), "a b");
        assert_eq!(one_line(&"ö".repeat(400)), "ö".repeat(400));
        assert_eq!(one_line(&"ö".repeat(401)), "ö".repeat(400) + "…");
    }
}
