//! Compares the codes that a verifier declares with those that it reports.

use super::{Promise, is_kebab};
use crate::author::trial::TrialRun;
use crate::runtime::Description;
use crate::text::clean_line;
use std::collections::{BTreeMap, BTreeSet};

/// Codes that were reported and are not declared, each with the first input that has it.
pub(super) struct Undeclared<'a> {
    about: &'a Description,
    codes: BTreeMap<String, String>,
}

impl<'a> Undeclared<'a> {
    pub(super) fn new(about: &'a Description) -> Self {
        Self { about, codes: BTreeMap::new() }
    }

    /// Checks the codes that were reported for this input.
    pub(super) fn note(&mut self, judged: &TrialRun, input: &str) {
        let findings = judged.answers.iter().flat_map(|(_, answer)| &answer.verdict.findings);
        for finding in findings.filter(|finding| self.about.rule(&finding.code).is_none()) {
            self.codes.entry(finding.code.clone()).or_insert_with(|| input.to_owned());
        }
    }

    /// Returns the rule that every code is declared.
    pub(super) fn promise(self) -> Promise {
        let name = "declares every code that it reports";
        let declared: Vec<&str> = self.about.rules.iter().map(|rule| &*rule.code).collect();
        if self.codes.is_empty() {
            let seen = if declared.is_empty() { "none, and reports none".to_owned() } else { declared.join(", ") };
            return Promise::kept(name, clean_line(&seen, 200));
        }
        let shown: Vec<String> = self.codes.keys().map(|code| format!("`{}`", clean_line(code, 60))).collect();
        let reported: Vec<String> =
            self.codes.iter().map(|(code, input)| format!("`{}` on {input}", clean_line(code, 60))).collect();
        let rules = if shown.len() == 1 { "a rule with the code" } else { "rules with the codes" };
        let hint = format!("add {rules} {} to `rules` of what `describe` returns", shown.join(", "));
        Promise::broken(name, format!("it reports {}", reported.join(", ")), hint)
    }
}

/// Returns the rule that the declared rules are complete.
pub(super) fn well_formed(about: &Description) -> Promise {
    let mut codes = BTreeSet::new();
    let broken = about.rules.iter().find_map(|rule| {
        let code = clean_line(&rule.code, 60);
        if rule.code != "*" && !is_kebab(&rule.code) {
            Some(format!("the code `{code}`; expected lower-case words joined by `-`, or `*`"))
        } else if rule.summary.trim().is_empty() {
            Some(format!("the rule `{code}` has no summary; expected what it means, in one line"))
        } else if !codes.insert(&rule.code) {
            Some(format!("the rule `{code}` is declared twice"))
        } else {
            None
        }
    });
    let seen = match about.rules.len() {
        0 => "none".to_owned(),
        1 => "1 rule".to_owned(),
        count => format!("{count} rules"),
    };
    Promise::of("rules say what they mean", seen, broken, "change `rules` of what `describe` returns")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Rule;
    use crate::verdict::Level;

    fn about(rules: &[(&str, &str)]) -> Description {
        let rule = |(code, summary): &(&str, &str)| Rule {
            code: (*code).to_owned(),
            level: Level::Error,
            summary: (*summary).to_owned(),
            help: String::new(),
            url: None,
        };
        Description {
            name: "a".to_owned(),
            version: "1.0.0".to_owned(),
            summary: String::new(),
            files: Vec::new(),
            settings_schema: String::new(),
            rules: rules.iter().map(rule).collect(),
            url: None,
        }
    }

    #[test]
    fn rules_have_a_code_and_a_summary_each() {
        for (rules, good) in [
            (&[][..], true),
            (&[("a-b", "A.")], true),
            (&[("*", "All.")], true),
            (&[("A b", "A.")], false),
            (&[("a", " ")], false),
            (&[("a", "A."), ("a", "A.")], false),
        ] {
            assert_eq!(well_formed(&about(rules)).kept, good, "{rules:?}");
        }
    }
}
