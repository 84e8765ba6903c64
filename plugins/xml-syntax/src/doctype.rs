//! `<!DOCTYPE …>` and the declarations of an internal subset. Parameter entities are allowed between declarations, but not
//! within one.

use crate::Problem;
use crate::document::Document;
use crate::entities::Entity;
use crate::text::Read;

impl<'a> Document<'a> {
    pub(crate) fn doctype(&mut self) -> Read {
        self.cursor.at += "<!DOCTYPE".len();
        self.cursor.expect_space()?;
        self.cursor.name()?;
        if self.cursor.space() && !self.cursor.is("[") && !self.cursor.is(">") {
            self.external(false)?;
            self.entities.elsewhere = true;
            self.cursor.space();
        }
        if self.cursor.take("[") {
            self.internal_subset()?;
            self.cursor.space();
        }
        self.cursor.expect(">")
    }

    fn internal_subset(&mut self) -> Read {
        loop {
            self.cursor.space();
            if self.cursor.take("]") {
                return Ok(());
            } else if self.cursor.take("%") {
                self.cursor.name()?;
                self.cursor.expect(";")?;
                self.entities.elsewhere = true;
            } else if self.cursor.is("<!--") {
                self.cursor.comment()?;
            } else if self.cursor.is("<?") {
                self.cursor.instruction()?;
            } else if self.cursor.take("<!ELEMENT") {
                self.element()?;
            } else if self.cursor.take("<!ATTLIST") {
                self.attribute_list()?;
            } else if self.cursor.take("<!ENTITY") {
                self.entity()?;
            } else if self.cursor.take("<!NOTATION") {
                self.notation()?;
            } else {
                return Err(self.cursor.expected("a declaration or `]`"));
            }
        }
    }

    /// Behind a declaration.
    fn declaration_end(&mut self) -> Read {
        self.cursor.space();
        self.cursor.expect(">")
    }

    fn element(&mut self) -> Read {
        self.cursor.expect_space()?;
        self.cursor.name()?;
        self.cursor.expect_space()?;
        if !self.cursor.take("EMPTY") && !self.cursor.take("ANY") {
            self.cursor.expect("(")?;
            self.cursor.space();
            if self.cursor.take("#PCDATA") { self.mixed()? } else { self.children()? }
        }
        self.declaration_end()
    }

    /// `(#PCDATA | a | b)*`, of which a single `(#PCDATA)` needs no star.
    fn mixed(&mut self) -> Read {
        let mut has_names = false;
        loop {
            self.cursor.space();
            if self.cursor.take(")") {
                break;
            }
            self.cursor.expect("|")?;
            self.cursor.space();
            self.cursor.name()?;
            has_names = true;
        }
        if !self.cursor.take("*") && has_names {
            return Err(self.cursor.expected("`*`"));
        }
        Ok(())
    }

    /// `(a, (b | c)?, d*)+`, after the first bracket. Within one bracket there is one kind of separator.
    fn children(&mut self) -> Read {
        let mut open: Vec<Option<char>> = vec![None];
        loop {
            self.cursor.space();
            if self.cursor.take("(") {
                open.push(None);
                continue;
            }
            self.cursor.name()?;
            self.repetition();
            // Behind a part: what closes, and then what goes on.
            loop {
                self.cursor.space();
                let Some(separator) = open.last_mut() else { return Ok(()) };
                match self.cursor.next() {
                    Some(')') => {
                        open.pop();
                        self.cursor.at += 1;
                        self.repetition();
                        if open.is_empty() {
                            return Ok(());
                        }
                    }
                    Some(next @ ('|' | ',')) if separator.is_none_or(|known| known == next) => {
                        *separator = Some(next);
                        self.cursor.at += 1;
                        break;
                    }
                    _ => return Err(self.cursor.expected("`)`, or the separator of this group")),
                }
            }
        }
    }

    fn repetition(&mut self) {
        if let Some('?' | '*' | '+') = self.cursor.next() {
            self.cursor.at += 1;
        }
    }

    fn attribute_list(&mut self) -> Read {
        self.cursor.expect_space()?;
        self.cursor.name()?;
        loop {
            let space = self.cursor.space();
            if self.cursor.take(">") {
                return Ok(());
            }
            if !space {
                return Err(self.cursor.expected("a space or `>`"));
            }
            self.cursor.name()?;
            self.cursor.expect_space()?;
            self.attribute_type()?;
            self.cursor.expect_space()?;
            self.attribute_default()?;
        }
    }

    fn attribute_type(&mut self) -> Read {
        if self.cursor.is("(") {
            return self.choices(false);
        }
        let at = self.cursor.at;
        match self.cursor.name()? {
            "CDATA" | "ID" | "IDREF" | "IDREFS" | "ENTITY" | "ENTITIES" | "NMTOKEN" | "NMTOKENS" => Ok(()),
            "NOTATION" => {
                self.cursor.expect_space()?;
                self.choices(true)
            }
            _ => {
                self.cursor.at = at;
                Err(self.cursor.expected("a type of attribute, such as `CDATA`"))
            }
        }
    }

    fn choices(&mut self, are_names: bool) -> Read {
        self.cursor.expect("(")?;
        loop {
            self.cursor.space();
            if are_names {
                self.cursor.name()?
            } else {
                self.cursor.token()?
            };
            self.cursor.space();
            if self.cursor.take(")") {
                return Ok(());
            }
            self.cursor.expect("|")?;
        }
    }

    fn attribute_default(&mut self) -> Read {
        if self.cursor.take("#REQUIRED") || self.cursor.take("#IMPLIED") {
            return Ok(());
        }
        if self.cursor.take("#FIXED") {
            self.cursor.expect_space()?;
        }
        let at = self.cursor.at + 1;
        let value = self.cursor.quoted()?;
        match value.find('<') {
            Some(before) => {
                let message = "`<` in a value must be written `&lt;`".to_owned();
                Err(Problem { code: "bare-less-than", message, at: at + before })
            }
            None => self.references_in(value, at, true),
        }
    }

    fn entity(&mut self) -> Read {
        self.cursor.expect_space()?;
        let is_parameter = self.cursor.take("%");
        if is_parameter {
            self.cursor.expect_space()?;
        }
        let name = self.cursor.name()?;
        self.cursor.expect_space()?;
        let entity = if self.cursor.is("\"") || self.cursor.is("'") {
            let at = self.cursor.at + 1;
            let value = self.cursor.quoted()?;
            if let Some(before) = value.find('%') {
                let message = "a parameter entity is not allowed within a declaration here".to_owned();
                return Err(Problem { code: "syntax", message, at: at + before });
            }
            self.references_in(value, at, false)?;
            Entity::Internal(value)
        } else {
            self.external(false)?;
            let space = self.cursor.space();
            if !is_parameter && space && self.cursor.take("NDATA") {
                self.cursor.expect_space()?;
                self.cursor.name()?;
                Entity::Unparsed
            } else {
                Entity::External
            }
        };
        if !is_parameter {
            // The first declaration counts.
            self.entities.declared.entry(name).or_insert(entity);
        }
        self.declaration_end()
    }

    /// The references in a value of a declaration are of the right form. What the text of an entity refers to may come
    /// later; what an attribute's default refers to must be there.
    fn references_in(&mut self, value: &'a str, at: usize, is_attribute: bool) -> Read {
        let behind = self.cursor.at;
        let mut from = 0;
        while let Some(before) = value[from..].find('&') {
            self.cursor.at = at + from + before;
            let reference = self.cursor.at;
            let entity = self.cursor.reference()?.filter(|_| is_attribute);
            if let Some(problem) = entity.and_then(|name| self.entities.problem(name, true, reference)) {
                self.add(problem);
            }
            from = self.cursor.at - at;
        }
        self.cursor.at = behind;
        Ok(())
    }

    fn notation(&mut self) -> Read {
        self.cursor.expect_space()?;
        self.cursor.name()?;
        self.cursor.expect_space()?;
        self.external(true)?;
        self.declaration_end()
    }

    /// `SYSTEM "…"` or `PUBLIC "…" "…"`; of a notation the second may be missing.
    fn external(&mut self, may_be_public_only: bool) -> Read {
        if self.cursor.take("SYSTEM") {
            self.cursor.expect_space()?;
            return self.cursor.quoted().map(drop);
        }
        if !self.cursor.take("PUBLIC") {
            return Err(self.cursor.expected("`SYSTEM` or `PUBLIC`"));
        }
        self.cursor.expect_space()?;
        let at = self.cursor.at + 1;
        let id = self.cursor.quoted()?;
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || " \r\n-'()+,./:=?;!*#@$_%".contains(c);
        if let Some(before) = id.find(|character| !is_allowed(character)) {
            let message = "a character is not allowed in a public identifier".to_owned();
            return Err(Problem { code: "syntax", message, at: at + before });
        }
        let space = self.cursor.space();
        if may_be_public_only && !self.cursor.is("\"") && !self.cursor.is("'") {
            return Ok(());
        }
        if !space {
            return Err(self.cursor.expected("a space"));
        }
        self.cursor.quoted().map(drop)
    }
}
