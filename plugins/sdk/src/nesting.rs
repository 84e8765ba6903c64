//! Estimates the stack that a recursive parser needs, before it runs.
//!
//! A guest's stack is small, and a guest cannot recover from its overflow. So a verifier with a recursive parser scans the
//! tokens first, adds up what each costs the parser in bytes of stack, and abstains if the sum is too large. The costs are
//! measured in the sandbox.

/// The stack in bytes that a parser may use by these estimates: three quarters of the stack of a guest (512 KiB).
pub const STACK: u32 = 384 << 10;

/// A meter of the stack that a recursive parser would need at the current token.
#[derive(Debug, Default)]
pub struct Nesting {
    now: Used,
    /// The usage of each open level around this one.
    outer: Vec<Used>,
    deepest: u32,
}

/// The stack that is in use, at three points of one level.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    /// At the current token.
    chain: u32,
    /// At the start of the chain, with the statements around it.
    statement: u32,
    /// At the start of the level.
    level: u32,
}

impl Nesting {
    /// Returns a meter with nothing open.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens a bracket or a block, inside which the parser needs this much more stack.
    pub fn open(&mut self, cost: u32) {
        self.outer.push(self.now);
        self.link(cost);
        self.now = Used { chain: self.now.chain, statement: self.now.chain, level: self.now.chain };
    }

    /// Closes the innermost bracket or block. The chain before it continues: `f(a)(b)(c)` is one chain.
    pub fn close(&mut self) {
        self.now = self.outer.pop().unwrap_or(self.now);
    }

    /// Adds a link to a chain, such as an operator, which makes the parser recurse once more.
    pub fn link(&mut self, cost: u32) {
        self.now.chain = self.now.chain.saturating_add(cost);
        self.deepest = self.deepest.max(self.now.chain);
    }

    /// Ends a part of a chain that cost this much, such as a path before an operator.
    pub fn unlink(&mut self, cost: u32) {
        self.now.chain = self.now.chain.saturating_sub(cost).max(self.now.statement);
    }

    /// Ends a chain, for example at a comma. Open brackets stay open.
    pub fn end_of_chain(&mut self) {
        self.now.chain = self.now.statement;
    }

    /// Starts a statement within another one without a bracket, for example after `else`.
    pub fn link_statement(&mut self, cost: u32) {
        self.end_of_chain();
        self.link(cost);
        self.now.statement = self.now.chain;
    }

    /// Ends a statement, and the statements around it in the same level.
    pub fn end_of_statement(&mut self) {
        self.now.statement = self.now.level;
        self.end_of_chain();
    }

    /// Returns the number of open levels.
    pub fn levels(&self) -> usize {
        self.outer.len()
    }

    /// Returns the most stack in bytes that the parser would have needed so far.
    pub fn deepest(&self) -> u32 {
        self.deepest
    }

    /// Returns whether the parser would have needed more than [`STACK`] so far.
    pub fn is_too_deep(&self) -> bool {
        self.deepest > STACK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `(` and `)` as brackets, `+` as a link, `-` as its end, `,` as the end of a chain, `:` as the start of a statement
    /// and `;` as its end. Each costs a fifth of the stack.
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
