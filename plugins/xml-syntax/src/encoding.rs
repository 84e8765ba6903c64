//! Decodes bytes by the byte order mark or by the encoding in the XML declaration.

use gatehost_sdk::text::from_utf16;
use gatehost_sdk::{File, Finding, Place};
use std::borrow::Cow;

/// What the bytes of a file are.
pub(crate) enum Encoded<'a> {
    Text(Cow<'a, str>),
    /// Not what they claim to be.
    Wrong(Box<Finding>),
    /// In an encoding that this verifier does not know.
    Unknown(String),
}

pub(crate) fn decode(file: &File) -> Encoded<'_> {
    let bytes = file.bytes();
    if let Some(text) = from_utf16(bytes) {
        let declared = declared(text.as_bytes()).to_ascii_lowercase();
        let is_right =
            ["", "utf-16", "utf-16le", "utf-16be", "utf16", "ucs-2", "iso-10646-ucs-2"].contains(&&*declared);
        if is_right {
            return Encoded::Text(text.into());
        }
        let message = format!("the file declares {declared}, but is UTF-16");
        let finding = Finding::error("wrong-encoding", message).at(Place::file(&file.path).position(1, 1));
        return Encoded::Wrong(Box::new(finding.hint("declare `encoding=\"UTF-16\"`, or save the file as UTF-8")));
    }
    let declared = declared(bytes);
    let name = declared.to_ascii_lowercase();
    match (file.text(), &*name) {
        (Some(_), "utf-16" | "utf-16le" | "utf-16be" | "ucs-2" | "utf-32") => Encoded::Wrong(Box::new(
            Finding::error("wrong-encoding", format!("the file declares {declared}, but is UTF-8"))
                .at(file.place_of(0))
                .hint("declare `encoding=\"UTF-8\"`, or remove the declaration"),
        )),
        (Some(text), "us-ascii" | "ascii") => as_ascii(file, text, &declared),
        (Some(text), "" | "utf-8" | "utf8") => Encoded::Text(text.into()),
        // What happens to be UTF-8 as well has the same marks at the same places.
        (Some(text), name) if is_above_ascii(name) => Encoded::Text(text.into()),
        (None, name) if is_above_ascii(name) => {
            Encoded::Text(bytes.iter().map(|&byte| letter(byte)).collect::<String>().into())
        }
        (None, "" | "utf-8" | "utf8" | "us-ascii" | "ascii") => match file.utf8("XML without another declaration") {
            Ok(text) => Encoded::Text(text.into()),
            Err(finding) => Encoded::Wrong(Box::new(finding)),
        },
        _ => Encoded::Unknown(declared),
    }
}

/// What declares ASCII has nothing beyond it, but for a byte order mark.
fn as_ascii<'a>(file: &File, text: &'a str, declared: &str) -> Encoded<'a> {
    let beyond = text.char_indices().find(|&(at, char)| !char.is_ascii() && (at > 0 || char != '\u{FEFF}'));
    match beyond {
        None => Encoded::Text(text.into()),
        Some((at, _)) => Encoded::Wrong(Box::new(
            Finding::error(
                "wrong-encoding",
                format!("the file declares {declared}, but contains a byte outside ASCII"),
            )
            .at(file.place_of(at))
            .hint("declare `encoding=\"UTF-8\"`, or remove the declaration"),
        )),
    }
}

/// Whether an encoding has ASCII below 0x80 and something else above, so that all marks of XML are where they seem.
fn is_above_ascii(name: &str) -> bool {
    ["iso-8859-", "iso_8859-", "latin", "windows-125", "cp125", "koi8-", "ibm8", "euc-"]
        .iter()
        .any(|family| name.starts_with(family))
        || matches!(name, "tis-620" | "gb2312" | "macintosh" | "windows-874")
}

/// Which letter it is does not matter.
fn letter(byte: u8) -> char {
    if byte.is_ascii() { char::from(byte) } else { 'é' }
}

/// The encoding that the XML declaration names; empty where it names none.
fn declared(bytes: &[u8]) -> String {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
    let name = start.strip_prefix("<?xml").and_then(|rest| {
        let (declaration, _) = rest.split_once("?>")?;
        let (_, value) = declaration.split_once("encoding")?;
        let value = value.trim_start().strip_prefix('=')?.trim_start();
        let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        value[1..].split_once(quote).map(|(name, _)| name.to_owned())
    });
    name.unwrap_or_default()
}
