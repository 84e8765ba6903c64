//! Private keys in the formats that contain them. A format is recognised by its frame *and* by some of the key inside, so a
//! program that only handles keys is not reported.

mod hex;
mod jwk;
mod pem;
mod xml;

use std::ops::Range;

/// The marks of all formats: a text without any of them contains no key that is found here.
pub(crate) const MARKS: &[&str] = &[
    "PRIVATE",
    "BEGIN",
    "LS0tLS1CRUdJTi",
    "PuTTY-User-Key-File",
    "kty",
    "RSAKeyValue",
    "DSAKeyValue",
    "privateExponent:",
    "priv:",
    "2d2d",
    "2D2D",
    "2d 2d",
    "2D 2D",
    "0x2d",
    "0x2D",
    "\\x2d",
    "\\x2D",
    "3082",
    "30 82",
    "30:82",
    "0x30",
    "x30\\x82",
    "30770201",
    "30818702",
];

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
