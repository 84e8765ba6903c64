//! The grammar of protocol files, as protoc's parser has it.

use crate::fault;
use crate::reader::{Read, Reader};
use crate::tokens::{Token, TokenKind};

impl Reader<'_> {
    pub(crate) fn file(&mut self) -> Read {
        if (self.is("syntax") || self.is("edition")) && self.is_next("=") {
            let is_syntax = self.is("syntax");
            self.at += 2;
            let said = self.now();
            self.string()?;
            let known = [r#""proto2""#, r#""proto3""#, "'proto2'", "'proto3'"];
            if is_syntax && !known.contains(&said.text) {
                return Err(fault(said.at, "syntax", "expected the syntax `proto2` or `proto3`"));
            }
            self.labelled = is_syntax && said.text.contains("proto2");
            self.expect(";")?;
        }
        while self.now().kind != TokenKind::End {
            self.statement()?;
        }
        Ok(())
    }

    fn statement(&mut self) -> Read {
        if (self.is("export") || self.is("local")) && (self.is_next("message") || self.is_next("enum")) {
            self.at += 1;
        }
        match self.now().text {
            ";" => {
                self.at += 1;
                Ok(())
            }
            "import" => {
                self.at += 1;
                let _ = self.take("public") || self.take("weak") || self.take("option");
                self.string()?;
                self.expect(";")
            }
            "package" => {
                self.at += 1;
                self.path()?;
                self.expect(";")
            }
            "service" => self.service(),
            "message" | "enum" | "extend" | "option" if self.now().kind == TokenKind::Name => self.shared(),
            _ => self.wrong("a statement such as `message` or `service`"),
        }
    }

    /// What may stand in a file and in a message.
    fn shared(&mut self) -> Read {
        let word = self.now().text;
        self.at += 1;
        match word {
            "message" => {
                self.name()?;
                self.message()
            }
            "enum" => self.enumeration(),
            "option" => {
                self.option()?;
                self.expect(";")
            }
            _ => {
                self.type_name()?;
                self.expect("{")?;
                // At least one field.
                self.field(true)?;
                self.block(|reader| reader.field(true))
            }
        }
    }

    /// A message from its brace on.
    fn message(&mut self) -> Read {
        self.expect("{")?;
        self.nested(|reader| reader.block(Self::element))
    }

    fn element(&mut self) -> Read {
        if (self.is("export") || self.is("local")) && (self.is_next("message") || self.is_next("enum")) {
            self.at += 1;
        }
        if self.now().kind != TokenKind::Name {
            return if self.take(";") { Ok(()) } else { self.field(true) };
        }
        match self.now().text {
            "message" | "enum" | "extend" | "option" => self.shared(),
            "extensions" => {
                self.at += 1;
                self.ranges()?;
                self.options()?;
                self.expect(";")
            }
            "reserved" => self.reserved(),
            "oneof" => {
                self.at += 1;
                self.name()?;
                self.expect("{")?;
                self.block(|reader| match reader.is("option") {
                    true => {
                        reader.at += 1;
                        reader.option()?;
                        reader.expect(";")
                    }
                    false => reader.field(false),
                })
            }
            _ => self.field(true),
        }
    }

    /// `1`, `2 to 5`, `7 to max`, with commas; in enumerations also negative.
    fn ranges(&mut self) -> Read {
        loop {
            self.take("-");
            self.integer()?;
            if self.take("to") && !self.take("max") {
                self.take("-");
                self.integer()?;
            }
            if !self.take(",") {
                return Ok(());
            }
        }
    }

    fn reserved(&mut self) -> Read {
        self.at += 1;
        match self.now().kind {
            TokenKind::String => loop {
                self.string()?;
                if !self.take(",") {
                    break;
                }
            },
            TokenKind::Name => loop {
                self.name()?;
                if !self.take(",") {
                    break;
                }
            },
            _ => self.ranges()?,
        }
        self.expect(";")
    }

    /// A field, a map or a group.
    fn field(&mut self, may_be_labelled: bool) -> Read {
        let has_label = self.is("optional") || self.is("required") || self.is("repeated");
        if has_label {
            if !may_be_labelled {
                return self.wrong("a type (fields of a `oneof` have no label)");
            }
            self.at += 1;
        }
        if self.is("map") && self.is_next("<") {
            self.at += 2;
            self.type_name()?;
            self.expect(",")?;
            self.type_name()?;
            self.expect(">")?;
        } else if self.labelled && may_be_labelled && !has_label {
            return self.wrong("`required`, `optional` or `repeated`");
        } else {
            let is_group = self.is("group");
            self.type_name()?;
            if is_group && self.now().kind == TokenKind::Name {
                self.name()?;
                self.expect("=")?;
                self.integer()?;
                self.options()?;
                return self.message();
            }
        }
        self.name()?;
        self.expect("=")?;
        self.integer()?;
        self.options()?;
        self.expect(";")
    }

    /// `[a = 1, (b).c = "d"]`, if there are any.
    fn options(&mut self) -> Read {
        if !self.take("[") {
            return Ok(());
        }
        self.option()?;
        while self.take(",") {
            self.option()?;
        }
        self.expect("]")
    }

    fn option(&mut self) -> Read {
        loop {
            if self.take("(") {
                self.type_name()?;
                self.expect(")")?;
            } else {
                self.name()?;
            }
            if !self.take(".") {
                break;
            }
        }
        self.expect("=")?;
        self.value()
    }

    fn value(&mut self) -> Read {
        let negative = self.take("-");
        match self.now().kind {
            TokenKind::Integer | TokenKind::Float => {
                self.at += 1;
                Ok(())
            }
            TokenKind::Name if !negative || self.is("inf") || self.is("nan") => {
                self.at += 1;
                Ok(())
            }
            TokenKind::String if !negative => self.string(),
            TokenKind::Mark if !negative && self.take("{") => self.aggregate(),
            _ => self.wrong("a value"),
        }
    }

    /// What is between braces protoc only counts here.
    fn aggregate(&mut self) -> Read {
        let mut open = 1;
        while open > 0 {
            match self.now() {
                Token { kind: TokenKind::End, .. } => return self.wrong("`}`"),
                Token { kind: TokenKind::Mark, text: "{", .. } => open += 1,
                Token { kind: TokenKind::Mark, text: "}", .. } => open -= 1,
                _ => {}
            }
            self.at += 1;
        }
        Ok(())
    }

    fn enumeration(&mut self) -> Read {
        self.name()?;
        self.expect("{")?;
        self.block(|reader| {
            if reader.take(";") {
                return Ok(());
            }
            if reader.is("option") && !reader.is_next("=") {
                reader.at += 1;
                reader.option()?;
                return reader.expect(";");
            }
            if reader.is("reserved") && !reader.is_next("=") {
                return reader.reserved();
            }
            reader.name()?;
            reader.expect("=")?;
            reader.take("-");
            reader.integer()?;
            reader.options()?;
            reader.expect(";")
        })
    }

    fn service(&mut self) -> Read {
        self.at += 1;
        self.name()?;
        self.expect("{")?;
        self.block(|reader| match reader.now().text {
            ";" => {
                reader.at += 1;
                Ok(())
            }
            "option" => {
                reader.at += 1;
                reader.option()?;
                reader.expect(";")
            }
            _ => {
                reader.expect("rpc")?;
                reader.name()?;
                reader.message_type()?;
                reader.expect("returns")?;
                reader.message_type()?;
                if !reader.take("{") {
                    return reader.expect(";");
                }
                reader.block(|reader| {
                    if reader.take(";") {
                        return Ok(());
                    }
                    reader.expect("option")?;
                    reader.option()?;
                    reader.expect(";")
                })
            }
        })
    }

    /// `(stream a.B)`
    fn message_type(&mut self) -> Read {
        self.expect("(")?;
        if self.is("stream") && !self.is_next(")") && !self.is_next(".") {
            self.at += 1;
        }
        self.type_name()?;
        self.expect(")")
    }
}
