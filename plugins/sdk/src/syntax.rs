//! Shared code of the syntax verifiers: order and limit findings, and abstain on files that are nested too deep or too long.

use crate::{File, Finding, Rule, Status, Verdict};

/// The maximum number of findings. Most findings after the first are its consequences.
const MOST: usize = 50;

/// The rules that several syntax verifiers share.
impl Rule {
    /// The file is not UTF-8; see [`File::utf8`].
    pub const NOT_UTF_8: Self = Self::error("not-utf-8", "The file is not UTF-8.").help("Save the file as UTF-8.");
    /// The file is UTF-16; see [`File::utf8`].
    pub const UTF_16: Self = Self::error("utf-16", "The file is UTF-16, not UTF-8.").help("Save the file as UTF-8.");
    /// The file was not checked; see [`File::too_deep`].
    pub const TOO_DEEP: Self =
        Self::note("too-deep", "The nesting is deeper than the verifier supports; the file was not checked.");
    /// The file was not checked; see [`File::too_long`].
    pub const TOO_LONG: Self =
        Self::note("too-long", "The file has more tokens than the verifier supports; it was not checked.");
}

impl File {
    /// Returns the verdict for a file with these errors, each with its byte offset; a pass if there are none.
    pub fn verdict(&self, mut errors: Vec<(usize, Finding)>) -> Verdict {
        errors.sort_by_key(|(at, _)| *at);
        // One mistake is often reported from several sides.
        errors.dedup_by_key(|(at, _)| *at);
        if errors.is_empty() {
            return Verdict::pass();
        }
        let found = errors.len();
        let summary = if found > MOST { format!("{found} errors; the first {MOST} are shown") } else { String::new() };
        let findings = errors.into_iter().take(MOST).map(|(at, finding)| finding.at(self.place_of(at))).collect();
        Verdict::fail(summary, findings)
    }

    /// Returns the abstention for a file whose nesting at this byte is too deep for the parser.
    pub fn too_deep(&self, at: usize) -> Verdict {
        self.beyond(
            Finding::note("too-deep", "the nesting is deeper than this verifier supports").at(self.place_of(at)),
        )
    }

    /// Returns the abstention for a file with too many tokens for the parser, from this byte on.
    pub fn too_long(&self, at: usize, most: usize) -> Verdict {
        let message = format!("the file has more than {most} tokens, the limit of this verifier");
        self.beyond(Finding::note("too-long", message).at(self.place_of(at)))
    }

    fn beyond(&self, finding: Finding) -> Verdict {
        let summary = finding.message.clone();
        Verdict { status: Status::Abstain, findings: vec![finding], ..Verdict::abstain(summary) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> File {
        File::new("a", text)
    }

    #[test]
    fn errors_are_ordered_and_bounded() {
        let file = file(&"\n".repeat(100));
        let verdict = file.verdict((0..100).rev().map(|at| (at, Finding::error("e", ""))).collect());
        assert_eq!((verdict.status, verdict.findings.len()), (Status::Fail, MOST));
        assert_eq!(verdict.findings[1].place.as_ref().and_then(|place| place.line), Some(2));
        assert_eq!(file.verdict(Vec::new()).status, Status::Pass);
    }

    #[test]
    fn what_cannot_be_judged_is_no_pass() {
        assert_eq!(file("(((").too_deep(2).status, Status::Abstain);
        assert_eq!(file("abc").too_long(2, 2).status, Status::Abstain);
    }
}
