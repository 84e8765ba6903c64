//! The part of the scan that is not code: the tags of elements, and the text between them.

use super::{BRACKET, ELEMENT, MEMBER, Scan};
use crate::level::Level;

impl Scan<'_> {
    pub(super) fn in_tag(&mut self) {
        self.skip_to(|byte| matches!(byte, b'{' | b'"' | b'\'' | b'>' | b'<' | b'/' | b'.'));
        let byte = self.peek(0);
        let before = self.text[..self.at].trim_ascii_end().last().copied();
        self.at = (self.at + 1).min(self.text.len());
        match byte {
            b'{' => self.open_bracket(Level::Brace),
            b'"' | b'\'' => {
                self.skip_to(|other| other == byte);
                self.at = (self.at + 1).min(self.text.len());
            }
            b'>' if before == Some(b'/') => self.end_of_element(),
            b'>' => {
                self.levels.pop();
                self.levels.push(Level::Children);
            }
            b'<' if before == Some(b'=') => self.open(Level::Tag, ELEMENT),
            b'<' => self.type_arguments(),
            b'.' => self.nesting.link(MEMBER),
            _ => {}
        }
    }

    fn type_arguments(&mut self) {
        let mut open = 1;
        while open > 0 && self.at < self.text.len() {
            match self.peek(0) {
                b'<' => {
                    open += 1;
                    self.nesting.link(BRACKET);
                }
                b'>' => open -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    pub(super) fn in_children(&mut self) {
        self.skip_to(|byte| matches!(byte, b'{' | b'<'));
        let byte = self.peek(0);
        self.at = (self.at + 1).min(self.text.len());
        match byte {
            b'{' => self.open_bracket(Level::Brace),
            b'<' if self.peek(0) == b'/' => {
                self.skip_past(b">");
                self.end_of_element();
            }
            b'<' => self.open(Level::Tag, ELEMENT),
            _ => {}
        }
    }

    fn end_of_element(&mut self) {
        self.pop();
        self.after_operand = true;
    }
}
