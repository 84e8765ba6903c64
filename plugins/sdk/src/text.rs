//! For verifiers of text: what to say of bytes that are none.

use crate::{File, Finding, Place, TextPosition};

impl File {
    /// The text, or the finding that the file is not UTF-8 as `format` must be, at the place where it ceases to be.
    #[expect(clippy::result_large_err, reason = "happens once in a call, which then ends")]
    pub fn utf8(&self, format: &str) -> Result<&str, Finding> {
        let Some(text) = self.text() else {
            let (code, what) = match self.bytes() {
                [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => ("utf-16", "UTF-16"),
                _ => ("not-utf-8", "not UTF-8"),
            };
            let valid = self.bytes().utf8_chunks().next().map_or("", |chunk| chunk.valid());
            let TextPosition { line, column } = TextPosition::of(valid, valid.len());
            return Err(Finding::error(code, format!("the file is {what}; {format} is UTF-8"))
                .at(Place::file(&self.path).position(line, column))
                .hint("save the file as UTF-8"));
        };
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Content;

    #[test]
    fn what_is_not_utf8_is_told_with_its_place() {
        for (bytes, code, line, column) in
            [(&b"\xFF\xFEa\0"[..], "utf-16", 1, 1), (b"a\n\xC3\xB6\xFF", "not-utf-8", 2, 2)]
        {
            let file = File { path: "a".into(), content: Content::Binary(bytes.into()) };
            let finding = file.utf8("JSON").expect_err("not UTF-8");
            let place = finding.place.expect("a place");
            assert_eq!((&*finding.code, place.line, place.column), (code, Some(line), Some(column)));
        }
    }
}
