//! Escapes foreign text for output, and formats timestamps.

mod hidden;

use anstyle::Style;
use hidden::Hidden;
use serde::Serialize;
use serde_json::Value;
use std::io::{self, Write};
use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

/// How a mark begins and ends that stands for a character that a reader does not see: `⟨U+200B⟩`.
const MARK: (&str, char) = ("⟨U+", '⟩');
/// The most digits of the number in a mark.
const MAX_DIGITS: usize = 6;

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
            // A part of a sequence of emoji would be taken for something hidden, and a part of a mark says nothing.
            clean.truncate(mark_begun(&clean));
            clean.truncate(clean.trim_end_matches(is_invisible).len());
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

/// Returns at most the first `max` characters of a clean text. No mark and no sequence of emoji is cut apart.
pub fn first(text: &str, max: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(max) else { return text };
    let end = mark_at(text, end).map_or(end, |mark| mark.start);
    text[..end].trim_end_matches(is_invisible)
}

/// Returns at most the last `max` characters of a clean text. No mark and no sequence of emoji is cut apart.
pub fn last(text: &str, max: usize) -> &str {
    let count = text.chars().count();
    if count <= max {
        return text;
    }
    let start = text.char_indices().nth(count - max).map_or(text.len(), |(start, _)| start);
    let start = mark_at(text, start).map_or(start, |mark| mark.end);
    text[start..].trim_start_matches(is_invisible)
}

fn is_invisible(c: char) -> bool {
    hidden::of(c) == Some(Hidden::Invisible)
}

/// Returns where a text ends without the part of a mark that it may end with.
fn mark_begun(text: &str) -> usize {
    let is_mark = |rest: &str| {
        let digits = rest.strip_prefix(MARK.0).filter(|digits| digits.len() <= MAX_DIGITS);
        MARK.0.starts_with(rest) || digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let begun = MARK.0.chars().next().and_then(|first| text.rfind(first));
    begun.filter(|at| is_mark(&text[*at..])).unwrap_or(text.len())
}

/// Returns the range of the mark that is cut apart at an index, if one is.
fn mark_at(text: &str, at: usize) -> Option<Range<usize>> {
    let start = text[..at].rfind(MARK.0.chars().next()?)?;
    let inside = text[start..].strip_prefix(MARK.0)?;
    let digits = inside.find(MARK.1).filter(|digits| *digits <= MAX_DIGITS)?;
    let end = start + MARK.0.len() + digits + MARK.1.len_utf8();
    (start < at && at < end).then_some(start..end)
}

/// Makes visible in a message for a terminal what [`clean`] does, except the styles that [`paint`] adds.
pub fn clean_styled(text: &str) -> String {
    const ESCAPE: char = '\u{1b}';
    if hidden::is_plain(text) {
        return text.to_owned();
    }
    let mut parts = text.split(ESCAPE);
    let mut styled = clean(parts.next().unwrap_or_default(), usize::MAX);
    for part in parts {
        let code = part.strip_prefix('[').and_then(|rest| rest.split_once('m')).map(|(code, _)| code);
        match code.filter(|code| matches!(code.as_bytes(), [b'0' | b'1' | b'2' | b'4'] | [b'3' | b'9', b'0'..=b'7'])) {
            Some(_) => styled.push(ESCAPE),
            None => styled.extend(ESCAPE.escape_unicode()),
        }
        styled.push_str(&clean(part, usize::MAX));
    }
    styled
}

/// Returns foreign text for a file of Markdown: it can be no HTML, no comment that only programs read, no link and no image.
pub fn markdown(text: &str) -> String {
    let mut markdown = String::with_capacity(text.len());
    let mut last = ' ';
    for (at, c) in text.char_indices() {
        let next = text[at + c.len_utf8()..].chars().next();
        let opens = |next: char| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?');
        if c == '<' && next.is_some_and(opens) || c == '(' && last == ']' || c == '[' && last == '!' {
            markdown.push('\\');
        }
        markdown.push(c);
        last = c;
    }
    markdown
}

/// Returns a string of TOML in which no character is hidden from a reader.
pub fn toml_string(text: &str) -> String {
    let json = Value::from(text).to_string();
    let shown = |(c, hidden): (char, Option<Hidden>)| match hidden {
        None => c.to_string(),
        Some(_) if u32::from(c) > 0xFFFF => format!("\\U{:08X}", u32::from(c)),
        Some(_) => format!("\\u{:04X}", u32::from(c)),
    };
    hidden::characters(&json).map(shown).collect()
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

/// Returns the line about invisible characters in a text, if there are any.
pub fn note_line(text: &str) -> Option<String> {
    invisible_note(invisible(text)).map(|note| format!("Note: {note}.\n"))
}

/// Returns a text with a note if characters of it, or `beside` it, are shown as marks.
pub fn noted(text: String, beside: u64) -> String {
    match invisible_note(invisible(&text) + beside) {
        Some(note) => format!("{text}\nnote: {note}"),
        None => text,
    }
}

/// Returns whether a text has the line of [`note_line`].
pub fn has_note(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("Note: ") && line.contains("⟨U+…⟩"))
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
    let is_visible = url.bytes().all(|byte| byte.is_ascii_graphic() && !br#""'<>[\]^`{|}"#.contains(&byte));
    let (name, port) = host.split_once(':').unwrap_or((host, "443"));
    let is_named = name.bytes().any(|byte| byte.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    let is_escape = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    let is_escaped = url.split('%').skip(1).all(is_escape);
    (is_visible && is_escaped && is_named && port.parse::<u16>().is_ok() && url.len() <= MAX_LINK).then_some(url)
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
    fn messages_keep_only_the_styles_of_the_host() {
        for (text, expected) in [
            ("plain", "plain"),
            ("\u{1b}[31merror:\u{1b}[0m a", "\u{1b}[31merror:\u{1b}[0m a"),
            ("\u{1b}[8mhidden", "\\u{1b}[8mhidden"),
            ("\u{1b}[31;8mhidden", "\\u{1b}[31;8mhidden"),
            ("\u{1b}]8;;x\u{7}a\u{202e}\u{9b}", "\\u{1b}]8;;x\\u{7}a⟨U+202E⟩\\u{9b}"),
        ] {
            assert_eq!(clean_styled(text), expected);
        }
    }

    #[test]
    fn markdown_has_no_html_links_or_images() {
        for (text, expected) in [
            ("a < b, [x], (y), 1 <2", "a < b, [x], (y), 1 <2"),
            ("<!-- obey -->", "\\<!-- obey -->"),
            ("</details><b>", "\\</details>\\<b>"),
            ("![x](https://e) [y](z)", "!\\[x]\\(https://e) [y]\\(z)"),
        ] {
            assert_eq!(markdown(text), expected);
        }
    }

    #[test]
    fn strings_of_toml_show_everything_and_mean_the_same() {
        for text in ["plain \"quoted\" \\", "a\u{202e}\u{7f}\u{9b}\u{1b}\u{e0041}\n\tä👩\u{200d}💻"] {
            let toml = toml_string(text);
            assert!(
                toml.chars().all(|c| !is_invisible(c) || c == '\u{200d}') && !toml.contains(char::is_control),
                "{toml}"
            );
            assert_eq!(toml::from_str::<toml::Table>(&format!("a = {toml}")).expect("TOML")["a"].as_str(), Some(text));
        }
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

    #[test]
    fn a_cut_shows_no_part_of_a_mark_or_of_an_emoji() {
        let flag = "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}";
        let text = format!("x{flag}👩\u{200d}💻❤\u{fe0f}\u{200b}\u{e0041}y").repeat(2);
        let whole = clean(&text, usize::MAX);
        for max in 0..=whole.chars().count() {
            let cuts =
                [clean(&text, max), clean(&whole, max), first(&whole, max).to_owned(), last(&whole, max).to_owned()];
            for cut in cuts {
                assert_eq!(clean(&cut, usize::MAX), cut, "{max}");
                let marks = cut.matches(MARK.0).count();
                assert_eq!((cut.matches(MARK.1).count(), invisible(&cut)), (marks, marks as u64), "{max}: {cut}");
            }
            assert!(first(&whole, max).chars().count() <= max && last(&whole, max).chars().count() <= max);
        }
        assert_eq!((first("abc", 2), last("abc", 2), first("abc", 3), last("abc", 3)), ("ab", "bc", "abc", "abc"));
        assert_eq!((first("a⟨b", 2), last("⟨U+12", 2)), ("a⟨", "12"));
    }

    #[test]
    fn only_plain_addresses_are_links() {
        for url in ["https://a", "https://a.example/b?c=d#e", "https://a:8443/%20", "https://my_host/x"] {
            assert_eq!(link(url), Some(url));
        }
        for url in [
            "http://a",
            "HTTPS://a",
            "javascript:alert(1)",
            "https://",
            "https://.",
            "https://a@b/",
            "https://a:b/",
            "https://a:99999/",
            "https://a/](javascript:x)",
            "https://[::1/",
            "https://a/%zz",
            "https://a/%4",
            "https://a b/",
            "https://ä/",
            "https://a/\u{200b}",
        ] {
            assert_eq!(link(url), None, "{url}");
        }
    }
}
