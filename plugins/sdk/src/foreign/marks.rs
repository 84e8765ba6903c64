//! Template syntax: `{{ … }}` (Jinja, Go, Mustache, cookiecutter), `{% … %}` (Jinja, Liquid), `<% … %>` (ERB, EJS).

/// One mark, from its first byte to the one after its last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Value,
    Statement,
    Erb,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Value, Self::Statement, Self::Erb];

    fn delimiters(self) -> (&'static str, &'static str) {
        match self {
            Self::Value => ("{{", "}}"),
            Self::Statement => ("{%", "%}"),
            Self::Erb => ("<%", "%>"),
        }
    }

    pub(super) fn shown(self) -> &'static str {
        match self {
            Self::Value => "{{ … }}",
            Self::Statement => "{% … %}",
            Self::Erb => "<% … %>",
        }
    }
}

/// The maximum length of a mark in bytes: enough for a call with many arguments, but not for a program between two braces.
const LONGEST: usize = 2_000;

/// The marks of a text, in order.
pub(super) fn of(text: &str) -> impl Iterator<Item = Mark> {
    let mut from = 0;
    std::iter::from_fn(move || {
        while let Some(before) = text[from..].find(['{', '<']) {
            let start = from + before;
            if let Some(mark) = at(text, start) {
                from = mark.end;
                return Some(mark);
            }
            from = start + 1;
        }
        None
    })
}

fn at(text: &str, start: usize) -> Option<Mark> {
    let rest = &text[start..];
    let kind = Kind::ALL.into_iter().find(|kind| rest.starts_with(kind.delimiters().0))?;
    let (_, closing) = kind.delimiters();
    let inside = &rest[2..rest.floor_char_boundary(LONGEST.min(rest.len()))];
    // `${{ … }}` is read by GitHub Actions, and the file around it is what its name says.
    if kind == Kind::Value && text[..start].ends_with('$') {
        return None;
    }
    let length = inside.find(closing)?;
    let is_right = match kind {
        Kind::Value => !inside[..length].contains("{{"),
        // `{%` and `<%` are followed by a word, or by what trims, comments or prints.
        Kind::Statement => word(&inside[..length]).is_some(),
        Kind::Erb => !inside[..length].trim().is_empty(),
    };
    is_right.then_some(Mark { kind, start, end: start + 2 + length + 2 })
}

/// The first word after what may trim spaces.
fn word(inside: &str) -> Option<&str> {
    let inside = inside.trim_start_matches(['-', '+', '~', '=']).trim_start();
    let length = inside.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(inside.len());
    (length > 0 && !inside.starts_with(|c: char| c.is_ascii_digit())).then(|| &inside[..length])
}

impl Mark {
    fn inside<'a>(&self, text: &'a str) -> &'a str {
        &text[self.start + 2..self.end - 2]
    }

    /// Whether a mark opens, closes or divides a part of the text.
    pub(super) fn is_block(&self, text: &str) -> bool {
        let inside = self.inside(text);
        match self.kind {
            Kind::Statement | Kind::Erb => true,
            Kind::Value => {
                inside.starts_with(['#', '/', '^'])
                    || matches!(word(inside), Some("if" | "else" | "end" | "range" | "with" | "define" | "block"))
            }
        }
    }

    /// Whether a mark cannot be valid syntax in a language with braces: it has one dotted name, perhaps with filters or arguments,
    /// and nothing that only an object or a block of statements has.
    pub(super) fn is_unmistakable(&self, text: &str) -> bool {
        if self.kind != Kind::Value {
            return true;
        }
        // `style={{ color }}` is JSX.
        if text[..self.start].trim_end().ends_with('=') && !text[..self.start].ends_with(' ') {
            return false;
        }
        let inside = self.inside(text).trim_matches(['-', '~']).trim();
        let name = inside.trim_start_matches(['.', '$', '#', '/', '^', '>', '!', '&', '@']).trim_start();
        let length = name.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-'))).unwrap_or(name.len());
        let behind = name[length..].trim_start();
        length > 0
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && !inside.contains(['{', '}', ';', '\n'])
            && !inside.starts_with("...")
            && !behind.starts_with([':', ',', '=', '?', '+', '*'])
    }
}

/// Whether a mark replaces a line, an item or a value in YAML, and is not in the text of a block scalar (`|`, `>`).
pub(super) fn is_in_place(text: &str, line: usize, at: usize) -> bool {
    let before = text[line..at].trim_start();
    let item = before.trim_start_matches("- ").trim_start();
    let is_value = item.strip_suffix(|c: char| c == ' ').is_some_and(|key| key.trim_end().ends_with(':'));
    (item.is_empty() || is_value) && !is_in_block(text, line)
}

/// Whether a line belongs to a block scalar: one of the lines that it is nested in ends in `|` or `>`.
fn is_in_block(text: &str, line: usize) -> bool {
    let indentation = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let mut depth = indentation(&text[line..]);
    for earlier in text[..line].lines().rev().filter(|earlier| !earlier.trim().is_empty()) {
        let this = indentation(earlier);
        if this >= depth {
            continue;
        }
        if earlier
            .trim_end()
            .trim_end_matches(|c: char| c.is_ascii_digit() || c == '+' || c == '-')
            .ends_with(['|', '>'])
        {
            return true;
        }
        depth = this;
    }
    false
}
