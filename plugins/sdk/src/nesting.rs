//! Estimates the stack that a recursive parser needs, before it runs.
//!
//! A guest's stack is small, and a guest cannot recover from its overflow. So a verifier with a recursive parser scans the
//! tokens first, adds up what each costs the parser in bytes of stack, and abstains if the sum is too large. The costs are
//! measured in the sandbox.

/// The stack that a parser may use, by these estimates: three quarters of what the host gives a guest (512 KiB).
pub const STACK: u32 = 384 << 10;

/// A meter of the stack that a recursive parser would need at the current token.
#[derive(Debug, Default)]
pub struct Nesting {
    now: Used,
    /// The same of every level that is open around this one.
    outer: Vec<Used>,
    deepest: u32,
}

/// What is in use in one level.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    /// With the chain up to the current token.
    chain: u32,
    /// Where a chain starts: with the statements that this one is a part of.
    statement: u32,
    /// At the start of the level.
    level: u32,
}

impl Nesting {
    /// Nothing is open.
    pub fn new() -> Self {
        Self::default()
    }

    /// A bracket or a block opens: what is inside costs this much more.
    pub fn open(&mut self, cost: u32) {
        self.outer.push(self.now);
        self.link(cost);
        self.now = Used { chain: self.now.chain, statement: self.now.chain, level: self.now.chain };
    }

    /// What was opened last ends. What its level cost before is still in use: `f(a)(b)(c)` is a chain.
    pub fn close(&mut self) {
        self.now = self.outer.pop().unwrap_or(self.now);
    }

    /// A link of a chain, such as an operator: what follows, or what went before, stands one call deeper.
    pub fn link(&mut self, cost: u32) {
        self.now.chain = self.now.chain.saturating_add(cost);
        self.deepest = self.deepest.max(self.now.chain);
    }

    /// A part of the chain ends that cost this much, such as a path before an operator.
    pub fn unlink(&mut self, cost: u32) {
        self.now.chain = self.now.chain.saturating_sub(cost).max(self.now.statement);
    }

    /// A chain ends, as at a comma; what is open stays open.
    pub fn end_of_chain(&mut self) {
        self.now.chain = self.now.statement;
    }

    /// A statement begins within another and without a bracket, as after `else`.
    pub fn link_statement(&mut self, cost: u32) {
        self.end_of_chain();
        self.link(cost);
        self.now.statement = self.now.chain;
    }

    /// A statement ends, and with it those that it is a part of in this level.
    pub fn end_of_statement(&mut self) {
        self.now.statement = self.now.level;
        self.end_of_chain();
    }

    /// How many levels are open.
    pub fn levels(&self) -> usize {
        self.outer.len()
    }

    /// Whether the parser would have needed more than [`STACK`] so far.
    pub fn is_too_deep(&self) -> bool {
        self.deepest > STACK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(` and `)`, `+` for a link, `-` for its end and `,` for the end of a chain, `:` and `;` for a statement's, each at a fifth of the
    /// stack.
    fn is_too_deep(text: &str) -> bool {
        let mut nesting = Nesting::new();
        for byte in text.bytes() {
            match byte {
                b'(' => nesting.open(STACK / 5),
                b')' => nesting.close(),
                b'-' => nesting.unlink(STACK / 5),
                b',' => nesting.end_of_chain(),
                b':' => nesting.link_statement(STACK / 5),
                b';' => nesting.end_of_statement(),
                _ => nesting.link(STACK / 5),
            }
        }
        nesting.is_too_deep()
    }

    #[test]
    fn levels_and_chains_add_up_until_they_end() {
        for (text, expected) in [
            ("", false),
            ("(((((", false),
            ("((((((", true),
            ("()()()()()()()", false),
            ("+++++", false),
            ("++++++", true),
            ("+++,+++,+++", false),
            ("((+,++,+++))", false),
            ("(+(+(+", true),
            ("+++-++-+", false),
            ("+++-+++", false),
            ("+++-++++", true),
            ("++(--++", false),
            ("++(--+++", true),
            ("(+(+(,", false),
            ("+++(+++)", true),
            ("(+++)+++", false),
            ("+++())))+++", true),
            ("+++(,,)+++", true),
            (":::,:::", true),
            (":::;:::", false),
            ("(;:+,:+;:+)", false),
            ("(:(;;;)::)+:", false),
            ("::(:;;:)::", false),
            ("::(:::;)::", true),
        ] {
            assert_eq!(is_too_deep(text), expected, "{text}");
        }
    }
}
