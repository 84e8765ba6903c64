//! The document: its declaration, its root element, and the content of the element.

use crate::attributes::Prefixes;
use crate::entities::Entities;
use crate::text::{Cursor, Read, is_allowed};
use crate::{MOST_FINDINGS, Problem};

/// What is wrong with a document.
pub(crate) fn problems(text: &str, prefixes: bool) -> Vec<Problem> {
    let mut document = Document {
        cursor: Cursor { text, at: 0 },
        entities: Entities::default(),
        prefixes: prefixes.then(Prefixes::default),
        open: Vec::new(),
        has_root: false,
        found: Vec::new(),
        unbound: Vec::new(),
    };
    let end = document.read();
    document.found.extend(end.err());
    document.found.extend(document.unbound);
    document.found
}

pub(crate) struct Document<'a> {
    pub(crate) cursor: Cursor<'a>,
    pub(crate) entities: Entities<'a>,
    pub(crate) prefixes: Option<Prefixes<'a>>,
    /// The elements that are open: their names, and where they start.
    open: Vec<(&'a str, usize)>,
    has_root: bool,
    /// Errors after which reading went on.
    found: Vec<Problem>,
    /// Prefixes that nothing declares. Apart, so that what may be a warning never takes the place of an error.
    pub(crate) unbound: Vec<Problem>,
}

impl<'a> Document<'a> {
    fn read(&mut self) -> Read {
        if let Some((at, character)) = self.cursor.text.char_indices().find(|&(_, character)| !is_allowed(character)) {
            let message = format!("the character U+{:04X} is not allowed in XML", u32::from(character));
            self.add(Problem { code: "bad-character", message, at });
        }
        self.cursor.take("\u{FEFF}");
        if self.cursor.text.trim_ascii().is_empty() {
            return Err(self.cursor.problem("empty", "the file is empty; expected an element"));
        }
        self.declaration()?;
        let mut may_have_doctype = true;
        while let Some(next) = self.cursor.next() {
            match next {
                '<' if self.cursor.is("<!--") => self.cursor.comment()?,
                '<' if self.cursor.is("<?") => self.cursor.instruction()?,
                '<' if self.cursor.is("</") => self.end_tag()?,
                '<' if self.cursor.is("<![CDATA[") && !self.open.is_empty() => self.character_data()?,
                '<' if self.cursor.is("<!DOCTYPE") && may_have_doctype && !self.has_root => {
                    may_have_doctype = false;
                    self.doctype()?;
                }
                '<' if self.cursor.is("<!") => {
                    return Err(self.cursor.problem("syntax", "expected an element, found a declaration"));
                }
                '<' => self.start_tag()?,
                _ if self.open.is_empty() => self.outside()?,
                '&' => self.content_reference()?,
                _ => self.characters(),
            }
        }
        self.end()
    }

    fn end(&self) -> Read {
        if let Some(&(name, at)) = self.open.last() {
            let message = format!("the element `<{name}>` is not closed; expected `</{name}>`");
            return Err(Problem { code: "unclosed-element", message, at });
        }
        if !self.has_root {
            return Err(self.cursor.problem("empty", "the file has no element"));
        }
        Ok(())
    }

    /// `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`
    fn declaration(&mut self) -> Read {
        let cursor = &mut self.cursor;
        let is_declaration =
            cursor.rest().strip_prefix("<?xml").is_some_and(|rest| rest.starts_with([' ', '\t', '\n', '\r']));
        if !is_declaration {
            return Ok(());
        }
        cursor.at += 5;
        let mut before = 0;
        loop {
            let space = cursor.space();
            if cursor.take("?>") {
                return if before > 0 { Ok(()) } else { Err(cursor.expected("`version`")) };
            }
            let here = cursor.at;
            let name = cursor.name()?;
            let place = ["version", "encoding", "standalone"].iter().position(|known| *known == name);
            let is_in_order = place.is_some_and(|place| place >= before && (before > 0 || place == 0)) && space;
            if !is_in_order {
                cursor.at = here;
                return Err(cursor.expected("`version`, then `encoding`, then `standalone`, or `?>`"));
            }
            before = place.map_or(0, |place| place + 1);
            cursor.space();
            cursor.expect("=")?;
            cursor.space();
            let here = cursor.at;
            let value = cursor.quoted()?;
            let is_right = match name {
                // As expat has it: `1.0` in all but name.
                "version" => {
                    !value.is_empty() && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(&b))
                }
                "standalone" => matches!(value, "yes" | "no"),
                _ => {
                    value.starts_with(|c: char| c.is_ascii_alphabetic())
                        && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
                }
            };
            if !is_right {
                let message = format!("`{}` is not a valid {name}", value.escape_debug());
                return Err(Problem { at: here, ..cursor.problem("syntax", message) });
            }
            self.entities.standalone |= name == "standalone" && value == "yes";
        }
    }

    /// Before and after the element there may be spaces only.
    fn outside(&mut self) -> Read {
        if self.cursor.space() {
            return Ok(());
        }
        let what = if self.has_root { "the end of the file: XML has one root element" } else { "an element" };
        Err(self.cursor.expected(what))
    }

    fn characters(&mut self) {
        let rest = self.cursor.rest();
        let length = rest.find(['<', '&']).unwrap_or(rest.len());
        if let Some(before) = rest[..length].find("]]>") {
            let at = self.cursor.at + before;
            self.add(Problem { code: "syntax", message: "`]]>` must be written `]]&gt;`".to_owned(), at });
        }
        self.cursor.at += length;
    }

    fn character_data(&mut self) -> Read {
        let start = self.cursor.at;
        self.cursor.at += "<![CDATA[".len();
        let unclosed = |problem| Problem { at: start, ..problem };
        self.cursor.until("]]>", "unclosed-cdata", "a CDATA section").map_err(unclosed).map(drop)
    }

    fn content_reference(&mut self) -> Read {
        let at = self.cursor.at;
        let entity = self.cursor.reference()?;
        if let Some(problem) = entity.and_then(|name| self.entities.problem(name, false, at)) {
            self.add(problem);
        }
        Ok(())
    }

    fn start_tag(&mut self) -> Read {
        let start = self.cursor.at;
        if self.open.is_empty() && self.has_root {
            return Err(self.cursor.problem("second-root", "expected the end of the file: XML has one root element"));
        }
        self.cursor.at += 1;
        if !self.cursor.rest().starts_with(crate::text::starts_name) {
            let message = "`<` does not start a tag here; write `&lt;` for a plain `<`";
            return Err(Problem { at: start, ..self.cursor.problem("bare-less-than", message) });
        }
        let name = self.cursor.name()?;
        self.has_root = true;
        let is_empty = self.attributes(name, start)?;
        if is_empty {
            self.close();
        } else {
            self.open.push((name, start));
        }
        Ok(())
    }

    fn end_tag(&mut self) -> Read {
        let at = self.cursor.at;
        self.cursor.at += 2;
        let name = self.cursor.name()?;
        self.cursor.space();
        self.cursor.expect(">")?;
        let problem = |message| Problem { code: "mismatched-tag", message, at };
        let Some(&(expected, start)) = self.open.last() else {
            return Err(problem(format!("`</{name}>` has no start tag")));
        };
        if expected == name {
            self.open.pop();
            self.close();
            return Ok(());
        }
        let line = self.cursor.text[..start].matches('\n').count() + 1;
        let found = problem(format!("expected `</{expected}>` for the element on line {line}, found `</{name}>`"));
        // Where an outer element is meant, what is open in it was forgotten; otherwise nothing more can be said.
        match self.open.iter().rposition(|&(open, _)| open == name) {
            Some(outer) if self.found.len() < MOST_FINDINGS => {
                for _ in outer..self.open.len() {
                    self.close();
                }
                self.open.truncate(outer);
                self.add(found);
                Ok(())
            }
            _ => Err(found),
        }
    }

    /// Note an error after which reading goes on.
    pub(crate) fn add(&mut self, problem: Problem) {
        if self.found.len() < MOST_FINDINGS {
            self.found.push(problem);
        }
    }

    fn close(&mut self) {
        if let Some(prefixes) = &mut self.prefixes {
            prefixes.close();
        }
    }
}
