//! JSON Web Keys (RFC 7517): an object with `kty`, and the private member `d`, or `k` of a symmetric key. Also inside of a
//! string (`\"kty\"`), as an object of JavaScript, and as YAML.

use super::pem::is_piece;
use std::ops::Range;

/// How far from `kty` the object is searched.
const REACH: usize = 8_000;
/// The shortest private member: 32 bytes in base64url have 43 characters, and a symmetric key may be shorter.
const SHORTEST: usize = 22;

pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let keys = text.match_indices("kty").filter_map(|(at, kty)| {
        let kind = value(text, at + kty.len())?;
        let name = if &text[kind] == "oct" { "k" } else { "d" };
        member(text, object(text, at), name)
    });
    keys.collect()
}

/// The object around a place; in a text without braces, its paragraph.
fn object(text: &str, at: usize) -> Range<usize> {
    let (before, behind) = (&text.as_bytes()[..at], &text.as_bytes()[at..]);
    // The brace that nothing between it and the place closes.
    let unmatched = |bytes: &mut dyn Iterator<Item = (usize, &u8)>, own: u8, other: u8| {
        let mut depth = 0;
        bytes.take(REACH).find_map(|(at, byte)| {
            if *byte == own && depth == 0 {
                return Some(at);
            }
            depth += i32::from(*byte == other) - i32::from(*byte == own);
            None
        })
    };
    let start = unmatched(&mut before.iter().enumerate().rev(), b'{', b'}');
    let end = unmatched(&mut behind.iter().enumerate(), b'}', b'{').map(|end| at + end);
    match (start, end) {
        (Some(start), Some(end)) => start..end,
        _ => {
            let start = text[..at].rfind("\n\n").unwrap_or(0);
            start..text[at..].find("\n\n").map_or(text.len(), |end| at + end)
        }
    }
}

/// The value of a member of an object, if it is long and random.
fn member(text: &str, object: Range<usize>, name: &str) -> Option<Range<usize>> {
    let names = text[object.clone()].match_indices(name).map(|(at, _)| object.start + at);
    names
        .filter(|at| !text[..*at].ends_with(|before: char| before.is_alphanumeric() || matches!(before, '_' | '-')))
        .filter_map(|at| value(text, at + name.len()))
        .find(|place| place.len() >= SHORTEST && is_piece(&text[place.clone()]))
}

/// What follows the name of a member: `": "value`, with any quotation marks, escaped or not, or none.
fn value(text: &str, at: usize) -> Option<Range<usize>> {
    let marks: &[char] = &['"', '\'', '\\'];
    let (name_end, rest) = text[at..].split_once(':')?;
    if !name_end.trim_matches(marks).trim().is_empty() {
        return None;
    }
    let rest = rest.trim_start_matches([' ', '\t']).trim_start_matches(marks);
    let start = text.len() - rest.len();
    let is_base64url = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    let length = rest.find(|character| !is_base64url(character)).unwrap_or(rest.len());
    Some(start..start + length)
}
