//! The shapes of credentials, as their issuers document them.

mod table;

use gatehost_sdk::Rule;
pub(crate) use table::SHAPES;

/// One kind of credential.
pub(crate) struct Shape {
    /// The code of its findings.
    pub(crate) code: &'static str,
    /// What it is, with an article.
    pub(crate) name: &'static str,
    /// Of these, one stands in every text that contains one. Each has two bytes at least.
    pub(crate) marks: &'static [&'static str],
    /// What a report may show of it: the part that is no secret.
    pub(crate) shown: &'static str,
    /// What it looks like. The group `secret`, where there is one, is the credential itself. Empty for private keys, which
    /// are found by `keys.rs`.
    pub(crate) pattern: &'static str,
}

/// What the verifier declares: a rule for each shape.
pub(crate) const RULES: [Rule; SHAPES.len()] = {
    const HELP: &str = "Remove it, and revoke it if it was ever shared. If it is not a secret, write a comment \
                        `gate:allow-secret` on its line, or add the key of the finding to `baseline`.";
    let mut rules = [Rule::error("", "").help(HELP); SHAPES.len()];
    let mut at = 0;
    while at < SHAPES.len() {
        rules[at].code = SHAPES[at].code;
        rules[at].summary = SHAPES[at].name;
        at += 1;
    }
    rules
};
