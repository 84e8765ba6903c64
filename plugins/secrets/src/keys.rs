//! Private keys in the formats that contain them. A format is recognised by its frame *and* by some of the key inside, so a
//! program that only handles keys is not reported.

mod hex;
mod jwk;
mod pem;
mod xml;

use std::ops::Range;

/// The marks of all formats: a text without any of them contains no key that is found here.
pub(crate) const MARKS: &[&str] = &{
    const OTHERS: [&str; 9] = [
        "PRIVATE",
        "BEGIN",
        "LS0tLS1CRUdJTi",
        "PuTTY-User-Key-File",
        "kty",
        "RSAKeyValue",
        "DSAKeyValue",
        "privateExponent:",
        "priv:",
    ];
    let mut marks = [""; OTHERS.len() + hex::STARTS.len()];
    let mut at = 0;
    while at < marks.len() {
        marks[at] = if at < OTHERS.len() { OTHERS[at] } else { hex::STARTS[at - OTHERS.len()] };
        at += 1;
    }
    marks
};

/// Where keys are, in the order of the text.
pub(crate) fn find(text: &str) -> Vec<Range<usize>> {
    let mut found = pem::find(text);
    for place in [jwk::find, xml::find, hex::find].iter().flat_map(|find| find(text)) {
        if !found.iter().any(|known| known.start <= place.start && place.start < known.end) {
            found.push(place);
        }
    }
    found.sort_by_key(|place| place.start);
    found
}

/// The random part of a key that was found: without its frame, comments and offsets.
pub(crate) fn material(found: &str) -> String {
    let text = hex::decoded(found);
    let text = text.as_deref().unwrap_or(found);
    let pieces = if text.contains("PRIVATE") { pem::pieces(text) } else { String::new() };
    if pieces.is_empty() { text.to_owned() } else { pieces }
}
