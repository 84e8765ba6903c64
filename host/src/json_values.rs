//! Counts the values of JSON before it is parsed: a parsed value takes many times as much memory as its text.

use std::io::{self, Read};

/// The most values of a document, and of a line of a transcript.
pub(crate) const MAX: usize = 1_000_000;

/// Counts values in pieces of a text. Each value but the first is behind one of `,`, `:`, `[` and `{`.
#[derive(Debug, Default)]
struct JsonValues {
    count: usize,
    in_string: bool,
    is_escaped: bool,
}

impl JsonValues {
    /// Counts the values of the next piece.
    fn add(&mut self, text: &[u8]) {
        for byte in text {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.in_string => self.is_escaped = true,
                b'"' => self.in_string = !self.in_string,
                b',' | b':' | b'[' | b'{' if !self.in_string => self.count += 1,
                _ => {}
            }
        }
    }
}

/// Reads JSON until it has more than [`MAX`] values.
pub(crate) struct Bounded<R> {
    input: R,
    values: JsonValues,
}

impl<R> Bounded<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, values: JsonValues::default() }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(bytes)?;
        self.values.add(&bytes[..read]);
        if self.values.count > MAX { Err(io::ErrorKind::InvalidData.into()) } else { Ok(read) }
    }
}

/// Returns about how many values a text has.
pub(crate) fn count(text: &[u8]) -> usize {
    let mut values = JsonValues::default();
    values.add(text);
    values.count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_what_strings_contain_is_not() {
        for (text, values) in [
            ("", 0),
            ("7", 0),
            ("[1,2,3]", 3),
            (r#"{"a":[{},{"b":1}],"c":2}"#, 9),
            (r#"["a,b:{[", "\"", "\\", ",\",", "]"]"#, 5),
        ] {
            assert_eq!(count(text.as_bytes()), values, "{text}");
            let mut pieces = JsonValues::default();
            text.as_bytes().chunks(1).for_each(|piece| pieces.add(piece));
            assert_eq!(pieces.count, values, "{text}");
        }
    }
}
