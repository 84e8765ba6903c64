//! The tokens of a protocol file.

use crate::{Fault, fault};

/// A token, with the bytes where it starts and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'t> {
    pub(crate) kind: TokenKind,
    pub(crate) at: usize,
    pub(crate) text: &'t str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Name,
    Integer,
    Float,
    String,
    Mark,
    End,
}

/// All tokens of a text, with the end as the last.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Fault> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &text[at..];
        let (kind, length) = match byte {
            _ if byte.is_ascii_whitespace() || byte == 0x0B => {
                at += 1;
                continue;
            }
            b'/' if rest.starts_with("//") => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            b'/' if rest.starts_with("/*") => {
                let end =
                    rest[2..].find("*/").ok_or_else(|| fault(at, "unclosed-comment", "the comment is not closed"))?;
                at += end + 4;
                continue;
            }
            b'"' | b'\'' => (TokenKind::String, string(rest, at)?),
            b'0'..=b'9' => number(rest, at)?,
            b'.' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => number(rest, at)?,
            _ if is_letter(byte) => (TokenKind::Name, rest.bytes().take_while(|&byte| is_part(byte)).count()),
            _ if byte.is_ascii_graphic() => (TokenKind::Mark, 1),
            _ => return Err(fault(at, "bad-character", "the character is not allowed here")),
        };
        tokens.push(Token { kind, at, text: &rest[..length] });
        at += length;
    }
    tokens.push(Token { kind: TokenKind::End, at: text.len(), text: "" });
    Ok(tokens)
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

fn is_part(byte: u8) -> bool {
    is_letter(byte) || byte.is_ascii_digit()
}

/// How long the string is that a text starts with.
fn string(rest: &str, at: usize) -> Result<usize, Fault> {
    let bytes = rest.as_bytes();
    let mut next = 1;
    loop {
        match bytes.get(next) {
            None | Some(b'\n') => return Err(fault(at, "unclosed-string", "the string is not closed")),
            Some(b'\\') => {
                let escape = bytes.get(next + 1).copied().unwrap_or(b'\n');
                let digits = |from: usize, count: usize| {
                    bytes
                        .get(next + from..next + from + count)
                        .is_some_and(|some| some.iter().all(u8::is_ascii_hexdigit))
                };
                let known = match escape {
                    b'x' | b'X' => digits(2, 1),
                    b'u' => digits(2, 4),
                    b'U' => digits(2, 8),
                    _ => b"abfnrtv\\?'\"01234567".contains(&escape),
                };
                if !known {
                    return Err(fault(at + next, "bad-escape", "invalid escape in a string"));
                }
                next += 2;
            }
            Some(byte) if *byte == bytes[0] => return Ok(next + 1),
            Some(_) => next += 1,
        }
    }
}

/// The kind and the length of the number that a text starts with.
fn number(rest: &str, at: usize) -> Result<(TokenKind, usize), Fault> {
    let bytes = rest.as_bytes();
    let count =
        |from: usize, is: fn(&u8) -> bool| bytes[from.min(bytes.len())..].iter().take_while(|byte| is(byte)).count();
    let wrong = |message| Err(fault(at, "bad-number", message));
    let (kind, length) = if matches!(bytes, [b'0', b'x' | b'X', ..]) {
        let digits = count(2, u8::is_ascii_hexdigit);
        if digits == 0 {
            return wrong("`0x` needs digits");
        }
        (TokenKind::Integer, 2 + digits)
    } else {
        let whole = count(0, u8::is_ascii_digit);
        let mut length = whole;
        if bytes.get(length) == Some(&b'.') {
            length += 1 + count(length + 1, u8::is_ascii_digit);
        }
        if matches!(bytes.get(length), Some(b'e' | b'E')) {
            let signed = matches!(bytes.get(length + 1), Some(b'+' | b'-'));
            let digits = count(length + 1 + usize::from(signed), u8::is_ascii_digit);
            if digits == 0 {
                return wrong("an exponent needs digits");
            }
            length += 1 + usize::from(signed) + digits;
        }
        if length > whole {
            length += usize::from(matches!(bytes.get(length), Some(b'f' | b'F')));
            (TokenKind::Float, length)
        } else if matches!(bytes.get(length), Some(b'f' | b'F')) && bytes[0] != b'0' {
            (TokenKind::Float, length + 1)
        } else if whole > 1 && bytes[0] == b'0' && bytes[..whole].iter().any(|byte| matches!(byte, b'8' | b'9')) {
            return wrong("a number that starts with 0 is octal and has only the digits 0 to 7");
        } else {
            (TokenKind::Integer, whole)
        }
    };
    match bytes.get(length) {
        Some(byte) if is_part(*byte) => wrong("expected a space between a number and a name"),
        Some(b'.') if kind == TokenKind::Float => wrong("a number has more than one decimal point"),
        _ => Ok((kind, length)),
    }
}
