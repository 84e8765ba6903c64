//! Escapes foreign text for output, and formats timestamps.

mod hidden;

use anstyle::Style;
use hidden::Hidden;
use serde::Serialize;
use serde_json::Value;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

/// How a mark begins and ends that stands for a character that a reader does not see: `⟨U+200B⟩`.
const MARK: (&str, char) = ("⟨U+", '⟩');

/// Shortens `text` to `max` characters, and makes visible what must not reach a terminal, a log or a report unseen.
///
/// Control characters are escaped (so no colour, no cursor movement, no NUL), except line feed and tab. Characters that are
/// invisible, change the direction of text or are for private use become marks, except where ordinary text needs them. A caller
/// that prints several lines must indent them.
pub fn clean(text: &str, max: usize) -> String {
    if text.len() <= max && hidden::is_plain(text) {
        return text.to_owned();
    }
    let mut clean = String::with_capacity(text.len().min(max));
    for (count, (c, hidden)) in hidden::characters(text).enumerate() {
        if count == max {
            clean.push('…');
            break;
        }
        match hidden {
            Some(Hidden::Control) if !matches!(c, '\n' | '\t') => clean.extend(c.escape_unicode()),
            None | Some(Hidden::Control) => clean.push(c),
            Some(Hidden::Private | Hidden::Invisible) => {
                clean.push_str(&format!("{}{:04X}{}", MARK.0, u32::from(c), MARK.1))
            }
        }
    }
    clean
}

/// Escapes and shortens text like [`clean`], to one line.
pub fn clean_line(text: &str, max: usize) -> String {
    let mut line = clean(text, max);
    for (what, instead) in [('\n', "\\n"), ('\t', " ")] {
        if line.contains(what) {
            line = line.replace(what, instead);
        }
    }
    line
}

/// The most characters of one text in a document.
const MAX_TEXT: usize = 100_000;

/// Makes every text of a document safe to show, as [`clean`] does.
pub fn clean_value(value: &mut Value) {
    match value {
        Value::String(text) => *text = clean(text, MAX_TEXT),
        Value::Array(items) => items.iter_mut().for_each(clean_value),
        Value::Object(entries) => entries.values_mut().for_each(clean_value),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns how many invisible characters a text has, as marks of [`clean`] or still as themselves.
pub fn invisible(text: &str) -> u64 {
    if text.is_ascii() {
        return 0;
    }
    let itself = hidden::characters(text).filter(|(_, hidden)| *hidden == Some(Hidden::Invisible));
    let marked = text.split(MARK.0).skip(1).filter(|rest| {
        let number = rest.split_once(MARK.1).and_then(|(number, _)| u32::from_str_radix(number, 16).ok());
        number.and_then(char::from_u32).is_some_and(|c| hidden::of(c) == Some(Hidden::Invisible))
    });
    (itself.count() + marked.count()) as u64
}

/// Returns the sentence that tells a reader about invisible characters, if there are any.
pub fn invisible_note(number: u64) -> Option<String> {
    let shown = if number == 1 { "is shown as a mark" } else { "are shown as marks" };
    // Not itself a mark: this sentence can be a part of a text in which marks are counted.
    (number > 0).then(|| format!("{} {shown} ⟨U+…⟩", count(number, "invisible character")))
}

/// Returns equivalent JSON in which no character is hidden from a reader: what [`clean`] makes visible is escaped as in JSON. In
/// valid JSON these characters occur only in strings, except line feeds and the like, which stay.
pub fn clean_json(json: String) -> String {
    if hidden::is_plain(&json) {
        return json;
    }
    let mut clean = String::with_capacity(json.len());
    for (c, hidden) in hidden::characters(&json) {
        if hidden.is_some() && !c.is_ascii_whitespace() {
            clean.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            clean.push(c);
        }
    }
    clean
}

/// Returns a value as one line of JSON in which no character is hidden from a reader.
pub fn json_line(value: &impl Serialize) -> io::Result<String> {
    Ok(clean_json(serde_json::to_string(value)?))
}

/// Writes a value as indented JSON in which no character is hidden from a reader.
pub fn write_json<W: Write + ?Sized>(out: &mut W, value: &impl Serialize) -> io::Result<()> {
    writeln!(out, "{}", clean_json(serde_json::to_string_pretty(value)?))
}

/// The most characters of a link.
const MAX_LINK: usize = 1_000;

/// Returns a link that a reader may follow: an `https` address without a user name, in visible ASCII characters.
pub fn link(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://")?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_visible = url.bytes().all(|byte| byte.is_ascii_graphic() && !br#""'<>\^`{|}"#.contains(&byte));
    (is_visible && url.len() <= MAX_LINK && !host.is_empty() && !host.contains('@')).then_some(url)
}

/// Returns text in a colour or another style, if `color` is set.
pub fn paint(color: bool, style: Style, text: &str) -> String {
    if color { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

/// Returns a count such as `1 file` or `2 files`.
pub fn count(number: impl TryInto<u64>, word: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

/// Returns `once`, or a number such as `3 times`.
pub fn times(number: impl TryInto<u64>) -> String {
    match number.try_into().unwrap_or(u64::MAX) {
        1 => "once".to_owned(),
        number => format!("{number} times"),
    }
}

/// Returns a time in UTC with milliseconds, such as `2026-01-26T14:05:00.000Z`.
///
/// This is the usual civil-from-days algorithm. The crate jiff writes the same for all of 8.9 million times between 1970 and
/// 9999 (every day, and random ones), but is two more crates, 4 s of processor time in a first build and 200 KB of the program.
pub fn timestamp(moment: SystemTime) -> String {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // Years start in March, so that a leap day is the last day of its year; 400 years have 146,097 days.
    let days = days + 719_468;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = days / 146_097 * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second, milli) = (second / 3_600, second / 60 % 60, second % 60, since.subsec_millis());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Returns bytes in hexadecimal, as digests are written.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    push_hex(&mut text, bytes);
    text
}

/// Returns a digest of SHA-256 as records have it: `sha256:` and hexadecimal digits.
pub(crate) fn sha256(digest: impl AsRef<[u8]>) -> String {
    const PREFIX: &str = "sha256:";
    let digest = digest.as_ref();
    let mut text = String::with_capacity(PREFIX.len() + digest.len() * 2);
    text.push_str(PREFIX);
    push_hex(&mut text, digest);
    text
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(DIGITS[usize::from(digit)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn foreign_text_cannot_forge_or_hide() {
        for (text, expected) in [
            ("plain", "plain"),
            ("two\nlines\ttab", "two\nlines\ttab"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("a\r\nb\0", "a\\u{d}\nb\\u{0}"),
            ("\u{202e}txt.exe", "⟨U+202E⟩txt.exe"),
            ("\u{85}\u{9b}", "\\u{85}\\u{9b}"),
            ("zero\u{200b}width", "zero⟨U+200B⟩width"),
            (
                "soft\u{ad}hyphen, \u{e0100}\u{fe01}\u{34f}\u{3164}",
                "soft⟨U+00AD⟩hyphen, ⟨U+E0100⟩⟨U+FE01⟩⟨U+034F⟩⟨U+3164⟩",
            ),
            ("icon \u{e0b0} \u{10ffff}", "icon ⟨U+E0B0⟩ \u{10ffff}"),
        ] {
            assert_eq!(clean(text, 100), expected);
        }
        assert_eq!(clean_line("a\nb", 100), "a\\nb");
    }

    #[test]
    fn clean_json_means_the_same() {
        let json = "{\n\t\"a\": \"\u{9b}8m\u{7f}\u{202e}\u{E0041}ä\"\n}";
        let clean = clean_json(json.to_owned());
        assert_eq!(clean, "{\n\t\"a\": \"\\u009b8m\\u007f\\u202e\\udb40\\udc41ä\"\n}");
        let read = |json: &str| serde_json::from_str::<Value>(json).expect("JSON");
        assert_eq!(read(&clean), read(json));
    }

    #[test]
    fn moments_are_written_in_utc() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_769_436_300, "2026-01-26T14:05:00.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn length_is_bounded_in_characters() {
        assert_eq!(clean("äöü", 3), "äöü");
        assert_eq!(clean("äöüß", 3), "äöü…");
    }
}
