//! Keys as hexadecimal bytes: what `xxd` and `hexdump` print, arrays of C, strings of digits, and the text of `openssl`.
//!
//! Bytes count if they are the start of a PEM file, or of the DER of a private key: PKCS #1, PKCS #8 or SEC 1.

use std::ops::Range;

/// How many bytes are decoded: far enough for the first line of a PEM file and some of the key.
const ENOUGH: usize = 128;
/// How many bytes of a number `openssl` must have printed.
const PRINTED: usize = 16;
/// The first bytes of a key, in the spellings of bytes.
pub(super) const STARTS: &[&str] = &[
    "2d2d2d2d2d42",
    "2D2D2D2D2D42",
    "2d2d 2d2d 2d42",
    "2D2D 2D2D 2D42",
    "2d 2d 2d 2d 2d ",
    "2D 2D 2D 2D 2D ",
    "0x2d",
    "0x2D",
    "\\x2d",
    "\\x2D",
    "3082",
    "30 82",
    "30:82",
    "0x30",
    "\\x30\\x82",
    "30770201",
    "30818702",
];

pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for start in STARTS {
        for (at, _) in text.match_indices(start) {
            let alone = !text[..at].ends_with(|before: char| before.is_ascii_hexdigit());
            let known = found.iter().any(|known| known.contains(&at));
            if alone && !known && is_key(&decode(text, at, 12).0, true) {
                let start = dump_start(text.as_bytes(), at).unwrap_or(at);
                let (bytes, end) = decode(text, start, ENOUGH);
                found.extend(is_key(&bytes, false).then_some(start..end));
            }
        }
    }
    // `openssl rsa -text`, `openssl ec -text`
    for title in ["privateExponent:", "priv:"] {
        let numbers = text.match_indices(title).filter_map(|(at, title)| {
            let body = at + title.len();
            let (bytes, end) = decode(text, body, PRINTED);
            (text[body..].trim_start_matches(' ').starts_with(['\n', '\r']) && bytes.len() == PRINTED)
                .then_some(at..end)
        });
        found.extend(numbers);
    }
    found
}

/// The bytes of a key that was found here, as text if they are text.
pub(super) fn decoded(found: &str) -> Option<String> {
    let (bytes, _) = decode(found, 0, ENOUGH);
    is_key(&bytes, false).then(|| match String::from_utf8(bytes) {
        Ok(pem) => pem,
        Err(der) => der.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect(),
    })
}

/// Whether bytes are the start of a private key; or may be, by the first of them.
fn is_key(bytes: &[u8], only_start: bool) -> bool {
    let pem = bytes.starts_with(b"-----BEGIN")
        && (only_start || super::pem::find(&String::from_utf8_lossy(bytes)).first().is_some_and(|key| key.start == 0));
    // A sequence, its length in one, two or three bytes, and the version, which public keys and certificates do not have.
    let sequence = match bytes {
        [0x30, 0x82, _, _, rest @ ..] | [0x30, 0x81, _, rest @ ..] => rest,
        [0x30, length, rest @ ..] if *length < 0x80 => rest,
        _ => &[],
    };
    let der = match sequence {
        // The modulus of RSA, or the identifier of an algorithm.
        [2, 1, 0, 2, 0x81 | 0x82, ..] | [2, 1, 0, 0x30, _, 6, ..] => true,
        // A key of 32, 48 or 66 bytes.
        [2, 1, 1, 4, 32 | 48 | 66, ..] => true,
        _ => false,
    };
    pem || der && (only_start || bytes.len() >= 48)
}

/// Up to `most` bytes that are written from `at` on, and where the last of them ends. Each line of a dump starts with an
/// offset, and shows its 16 bytes again as characters.
fn decode(text: &str, at: usize, most: usize) -> (Vec<u8>, usize) {
    let text = text.as_bytes();
    let mut bytes = Vec::new();
    let offset = offset(&text[at..]);
    let (mut at, mut end) = (at + offset.unwrap_or(0), at);
    // The bytes of this line, in a dump.
    let mut in_line = offset.map(|_| 0);
    while bytes.len() < most {
        match &text[at..] {
            [b'0', b'x' | b'X', ..] | [b'\\', b'x', ..] => at += 2,
            [b'\n', rest @ ..] => {
                at += 1 + in_line.and_then(|_| self::offset(rest)).unwrap_or(0);
                in_line = in_line.map(|_| 0);
            }
            [_, ..] if in_line == Some(16) => at += 1,
            [b' ' | b'\t' | b'\r' | b',' | b':' | b'"' | b'\'' | b'+' | b'\\', ..] => at += 1,
            [high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let digit = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
                bytes.push(digit(*high) << 4 | digit(*low));
                in_line = in_line.map(|count| count + 1);
                at += 2;
                end = at;
            }
            _ => break,
        }
    }
    (bytes, end)
}

/// The start of the line, if it is one of a dump: only an offset is before `at`.
fn dump_start(text: &[u8], at: usize) -> Option<usize> {
    let start = text[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let length = offset(&text[start..at])?;
    text[start + length..at].trim_ascii().is_empty().then_some(start)
}

/// The length of an offset, which starts with zeros: `00000010: `, `00000010  `.
fn offset(line: &[u8]) -> Option<usize> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let ends = matches!(line[digits..], [b':', b' ', ..] | [b' ', b' ', ..]);
    ((7..=16).contains(&digits) && line.starts_with(b"0000") && ends).then_some(digits + 1)
}
