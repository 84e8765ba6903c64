//! What can be open around a token, and what words mean to the meter.

/// Something that is open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Level {
    /// `(`, perhaps of an `if`, after which a statement follows.
    Paren { of_head: bool },
    /// `[`.
    Square,
    /// `{`.
    Brace,
    /// `${` in a template.
    Template,
    /// `<` of type arguments, or a comparison that looks like one.
    Angle,
    /// `<a` up to its `>`.
    Tag,
    /// What stands between `<a>` and `</a>`.
    Children,
}

/// Words by what they do to the nesting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Words {
    /// A name, a literal, or a word that changes nothing.
    Name,
    /// It continues the statement before.
    Else,
    /// A statement follows.
    Statement,
    /// A parenthesis and a statement follow.
    Head,
    /// An operand follows.
    Prefix,
    /// Between operands.
    Binary,
    /// Much follows.
    Heavy,
}

impl Words {
    pub(crate) fn of(word: &[u8]) -> Self {
        match word {
            b"else" => Self::Else,
            b"do" => Self::Statement,
            b"if" | b"for" | b"while" | b"with" => Self::Head,
            b"typeof" | b"void" | b"delete" | b"await" | b"yield" | b"new" | b"throw" | b"case" | b"keyof"
            | b"unique" | b"readonly" | b"async" => Self::Prefix,
            b"in" | b"of" | b"instanceof" | b"extends" | b"as" | b"satisfies" | b"catch" | b"finally" => Self::Binary,
            b"function" | b"class" | b"return" | b"infer" | b"asserts" | b"is" => Self::Heavy,
            _ => Self::Name,
        }
    }
}
