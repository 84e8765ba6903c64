//! The words and marks of a statement, for checks besides the grammar.

/// A word or a mark of a statement.
#[derive(Clone, Copy)]
pub(crate) struct Word<'a> {
    pub(crate) at: usize,
    pub(crate) text: &'a str,
    /// How many brackets are open around it.
    pub(crate) depth: usize,
}

impl Word<'_> {
    pub(crate) fn is(&self, known: &str) -> bool {
        self.text.eq_ignore_ascii_case(known)
    }

    /// Whether it can be a name, quoted or not.
    pub(crate) fn is_name(&self) -> bool {
        self.text.starts_with(|first: char| first.is_alphabetic() || matches!(first, '_' | '"'))
    }
}

/// Plain words, and everything else as single marks; strings, quoted names and comments are one mark each.
pub(crate) fn words(statement: &str) -> Vec<Word<'_>> {
    let (mut words, mut at, mut depth) = (Vec::new(), 0, 0_usize);
    while let Some(next) = statement[at..].chars().next() {
        let rest = &statement[at..];
        let until =
            |end: &str, skip: usize| rest[skip..].find(end).map_or(rest.len(), |found| skip + found + end.len());
        let length = match next {
            _ if rest.starts_with("--") => until("\n", 2),
            _ if rest.starts_with("/*") => until("*/", 2),
            '\'' => until("'", 1),
            '"' => until("\"", 1),
            _ if next.is_alphanumeric() || next == '_' => {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
            }
            _ => next.len_utf8(),
        };
        let is_comment = rest.starts_with("--") || rest.starts_with("/*");
        depth = if next == ')' { depth.saturating_sub(1) } else { depth };
        if !is_comment && !next.is_whitespace() {
            words.push(Word { at, text: &rest[..length], depth });
        }
        depth += usize::from(next == '(');
        at += length;
    }
    words
}
