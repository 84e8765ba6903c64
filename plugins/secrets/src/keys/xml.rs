//! Keys as .NET writes them in XML: `<RSAKeyValue>` with `<D>`, `<DSAKeyValue>` with `<X>`. A public key has neither. The
//! angle brackets may be escaped, as in a string or in an attribute.

use super::pem::pieces;
use std::ops::Range;

/// How far an element is searched for its private part.
const REACH: usize = 8_000;
/// How much there must be of the key.
const ENOUGH: usize = 20;

pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let elements = [("RSAKeyValue", "D"), ("DSAKeyValue", "X")];
    elements.iter().flat_map(|(element, private)| find_in(text, element, private)).collect()
}

fn find_in(text: &str, element: &str, private: &str) -> Vec<Range<usize>> {
    let starts = text.match_indices(element).filter(|(at, _)| !text[..*at].ends_with('/'));
    let keys = starts.filter_map(|(at, _)| {
        let inside = &text[at + element.len()..];
        let inside = &inside[..inside.find(element).unwrap_or(inside.len())];
        let [(before, open), ..] = [("<", ">"), ("&lt;", "&gt;"), ("\\u003c", "\\u003e"), ("\\u003C", "\\u003E")]
            .map(|(less, greater)| (inside.find(&format!("{less}{private}{greater}")), less.len() + greater.len()))
            .into_iter()
            .filter(|(start, _)| start.is_some_and(|start| start < REACH))
            .collect::<Vec<_>>()[..]
        else {
            return None;
        };
        let start = before? + open + private.len();
        let key = &inside[start..];
        let key = &key[..key.find(['<', '&', '\\']).unwrap_or(key.len())];
        let from = at + element.len() + start;
        (pieces(key).len() >= ENOUGH).then(|| from..from + key.len())
    });
    keys.collect()
}
