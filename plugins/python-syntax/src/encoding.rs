//! The text of a file by its declared encoding (PEP 263).

use gatehost_sdk::{File, Verdict};
use std::borrow::Cow;

/// The text, or the verdict over a file of which there is none.
pub(crate) fn text(file: &File) -> Result<Cow<'_, str>, Box<Verdict>> {
    let finding = match file.utf8("Python") {
        Ok(text) => return Ok(Cow::Borrowed(text)),
        Err(finding) => finding,
    };
    match declared(file.bytes()).as_deref() {
        None | Some("utf-8" | "utf8") => Err(Box::new(finding.into())),
        // Every byte is the character of that number.
        Some("latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "l1") => {
            Ok(file.bytes().iter().map(|&byte| char::from(byte)).collect::<String>().into())
        }
        Some(other) => {
            let why = format!("the file declares the encoding `{other}`, which this verifier cannot read");
            Err(Box::new(Verdict::abstain(why)))
        }
    }
}

/// What `# -*- coding: NAME -*-` in one of the first two lines says, in lower case with `-`.
fn declared(bytes: &[u8]) -> Option<String> {
    bytes.split(|&byte| byte == b'\n').take(2).find_map(|line| {
        let line = line.trim_ascii();
        let comment = line.strip_prefix(b"#")?.utf8_chunks().next()?.valid();
        let after = comment.split_once("coding")?.1.strip_prefix([':', '='])?.trim_start();
        let end = after.find(|char: char| !char.is_ascii_alphanumeric() && !"-_.".contains(char));
        let name = &after[..end.unwrap_or(after.len())];
        (!name.is_empty()).then(|| name.to_ascii_lowercase().replace('_', "-"))
    })
}
