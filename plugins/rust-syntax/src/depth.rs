//! Where a text is nested deeper than the parser's recursion can follow, or longer than its memory holds.

mod tokens;

use gatehost_sdk::nesting::Nesting;
use ra_ap_parser::{Edition, LexedStr, SyntaxKind, T};

/// Why a text is not given to the parser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LimitExceeded {
    /// Deeper than the stack.
    Stack,
    /// More tokens than fit the memory, with their tree.
    Tokens,
}

/// The most tokens that are parsed, spaces counted.
pub(crate) const MOST_TOKENS: usize = 400_000;

/// What each costs the parser, or the walk over its tree, in bytes of stack; measured in the sandbox.
const BRACKET: u32 = 750;
const PREFIX: u32 = 420;
const LINK: u32 = 90;

/// The first byte at which the text goes beyond something.
pub(crate) fn first_beyond(text: &str) -> Option<(usize, LimitExceeded)> {
    // A token has a byte.
    if text.len() <= MOST_TOKENS && fits(text).is_some() {
        return None;
    }
    let lexed = LexedStr::new(Edition::Edition2024, text);
    if lexed.len() > MOST_TOKENS {
        return Some((lexed.text_start(MOST_TOKENS), LimitExceeded::Tokens));
    }
    let mut scan = Scan::default();
    for token in 0..lexed.len() {
        scan.take(lexed.kind(token));
        if scan.nesting.is_too_deep() {
            return Some((lexed.text_start(token), LimitExceeded::Stack));
        }
    }
    None
}

/// Whether the text goes beyond nothing; `None` if it does, or if that is not certain without the lexer.
fn fits(text: &str) -> Option<()> {
    let mut scan = Scan::default();
    tokens::read(text, |kind| {
        scan.take(kind);
        (!scan.nesting.is_too_deep()).then_some(())
    })
}

#[derive(Default)]
struct Scan {
    nesting: Nesting,
    /// The brackets that are open, `<` where it looks like one, and whether a closure's parameters are open around it.
    open: Vec<(SyntaxKind, bool)>,
    /// Between the two `|` of a closure, where a comma ends nothing.
    in_closure: bool,
    after: Option<SyntaxKind>,
    /// What the `::` of the path that is being read cost.
    path: u32,
}

impl Scan {
    fn take(&mut self, kind: SyntaxKind) {
        if kind.is_trivia() {
            return;
        }
        let goes_on = kind == T![else] || (kind.is_punct() && kind != T![#]);
        if self.after == Some(T!['}']) && !goes_on {
            self.end_of_statement();
        }
        self.path(kind);
        match kind {
            T!['('] | T!['['] | T!['{'] => {
                // A call or an index is a link of what goes before it, too.
                self.nesting.link(LINK);
                self.open(kind);
            }
            T![')'] => self.close(T!['(']),
            T![']'] => self.close(T!['[']),
            T!['}'] => self.close(T!['{']),
            // Type arguments, or a comparison: in doubt something that is open until what is around it ends.
            T![<] => {
                self.nesting.link(LINK);
                self.open(kind);
            }
            T![>] if self.in_angles() && !matches!(self.after, Some(T![-] | T![=])) => self.pop(),
            T![;] => self.end_of_statement(),
            T![,] if !self.in_closure => self.nesting.end_of_chain(),
            T![|] => {
                self.in_closure = !self.in_closure && !self.is_after_operand();
                // An operator between operands, or between patterns, nests no deeper than another.
                self.nesting.link(if self.is_after_operand() { LINK } else { PREFIX / 2 });
            }
            T![!] | T![-] | T![*] | T![&] | T![=] | T![.] | T![@] | T![:] | T![>] => {
                self.nesting.link(if self.is_after_operand() && !matches!(kind, T![=] | T![@] | T![:] | T![>]) {
                    LINK
                } else {
                    PREFIX
                })
            }
            _ if kind.is_punct() => self.nesting.link(LINK),
            _ if kind.is_keyword(Edition::Edition2024) => self.nesting.link(PREFIX),
            _ => {}
        }
        self.after = Some(kind);
    }

    /// A path ends before anything that is not part of one, and so does what it costs.
    fn path(&mut self, kind: SyntaxKind) {
        match kind {
            T![:] if self.after == Some(T![:]) => self.path += 2 * PREFIX,
            T![:] | T![self] | T![super] | T![crate] | T![Self] | SyntaxKind::IDENT => {}
            // What stands in its brackets is inside of it.
            T![<] => self.path = 0,
            _ => self.nesting.unlink(std::mem::take(&mut self.path)),
        }
    }

    fn is_after_operand(&self) -> bool {
        self.after.is_some_and(|after| {
            matches!(after, T![')'] | T![']'] | T!['}'] | T![?]) || after.is_literal() || after == SyntaxKind::IDENT
        })
    }

    fn in_angles(&self) -> bool {
        self.open.last().is_some_and(|(open, _)| *open == T![<])
    }

    fn open(&mut self, kind: SyntaxKind) {
        self.open.push((kind, std::mem::take(&mut self.in_closure)));
        self.nesting.open(BRACKET);
    }

    fn pop(&mut self) {
        if let Some((_, in_closure)) = self.open.pop() {
            self.in_closure = in_closure;
            self.nesting.close();
        }
    }

    fn end_of_statement(&mut self) {
        while self.in_angles() {
            self.pop();
        }
        self.in_closure = false;
        self.nesting.end_of_chain();
    }

    fn close(&mut self, opening: SyntaxKind) {
        let Some(depth) = self.open.iter().rposition(|(open, _)| *open == opening) else { return };
        while self.open.len() > depth {
            self.pop();
        }
    }
}

#[cfg(test)]
mod tests;
