//! Escapes foreign text for output, and formats timestamps.

use anstyle::Style;
use std::time::{SystemTime, UNIX_EPOCH};

/// Shortens `text` to `max` characters, and escapes what must not reach a terminal, a log or a report.
///
/// Escaped are control characters (so no colour, no cursor movement, no NUL) except line feed and tab, and characters that
/// change the text direction or are invisible. A caller that prints several lines must indent them.
pub fn clean(text: &str, max: usize) -> String {
    let mut clean = String::with_capacity(text.len().min(max));
    for (count, c) in text.chars().enumerate() {
        if count == max {
            clean.push('…');
            break;
        }
        match c {
            '\n' | '\t' => clean.push(c),
            _ if hides(c) => clean.extend(c.escape_unicode()),
            _ => clean.push(c),
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

/// Returns equivalent JSON in which the characters that [`clean`] escapes are escaped as in JSON. In valid JSON these occur
/// only in strings, except line feeds and the like, which stay.
pub fn clean_json(json: &str) -> String {
    let mut clean = String::with_capacity(json.len());
    for c in json.chars() {
        if hides(c) && !c.is_ascii_whitespace() {
            clean.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            clean.push(c);
        }
    }
    clean
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

fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
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
            ("\u{202e}txt.exe", "\\u{202e}txt.exe"),
            ("\u{85}\u{9b}", "\\u{85}\\u{9b}"),
            ("zero\u{200b}width", "zero\\u{200b}width"),
        ] {
            assert_eq!(clean(text, 100), expected);
        }
        assert_eq!(clean_line("a\nb", 100), "a\\nb");
    }

    #[test]
    fn clean_json_means_the_same() {
        let json = "{\n\t\"a\": \"\u{9b}8m\u{202e}\u{E0041}ä\"\n}";
        let clean = clean_json(json);
        assert_eq!(clean, "{\n\t\"a\": \"\\u009b8m\\u202e\\udb40\\udc41ä\"\n}");
        let read = |json: &str| serde_json::from_str::<serde_json::Value>(json).expect("JSON");
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
