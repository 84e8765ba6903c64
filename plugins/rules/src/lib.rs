//! Rules for regular expressions that must or must not match in texts.
//!
//! The engine is linear in the text, and patterns are bounded in length and compiled size. If a rule does not compile, its
//! verifier abstains and gives the reason.

mod schema;

use gatehost_sdk::glob::Glob;
use gatehost_sdk::{Finding, Level, Place, TextPosition, Verdict};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;

const PATTERN_LENGTH: usize = 1_000;
/// The size limit of a compiled pattern in bytes.
const PATTERN_SIZE: usize = 1 << 20;
/// The maximum number of places that are reported for one rule.
const MOST_PLACES: usize = 20;

/// Compiles a regular expression of the settings, within limits that fit the sandbox. The error says what is wrong with it.
pub fn expression(pattern: &str, options: impl FnOnce(&mut RegexBuilder)) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(pattern);
    options(builder.size_limit(PATTERN_SIZE).dfa_size_limit(PATTERN_SIZE));
    // regex explains over several lines, and the last says what is wrong.
    builder
        .build()
        .map_err(|why| why.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned())
}

/// A rule as in the settings. The schema refuses unknown fields.
#[derive(Clone, Deserialize)]
pub struct Rule {
    /// Its name, which is the code of its findings.
    pub id: String,
    /// The regular expression.
    pub pattern: String,
    /// Whether the pattern must or must not occur.
    pub kind: RuleKind,
    /// The message when the rule is violated.
    pub message: Option<String>,
    /// The hint when the rule is violated.
    pub hint: Option<String>,
    /// The level of a violation.
    #[serde(default)]
    pub level: Weight,
    /// How often the pattern must occur.
    pub min: Option<usize>,
    /// How often the pattern may occur.
    pub max: Option<usize>,
    /// Whether to ignore case.
    #[serde(default)]
    pub ignore_case: bool,
    /// The patterns of the files that the rule applies to; empty for all files.
    #[serde(default)]
    pub files: Vec<String>,
}

/// The kind of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleKind {
    /// The pattern must occur.
    Require,
    /// The pattern must not occur.
    Forbid,
}

/// The level of a rule's findings.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// The verdict is `fail`.
    #[default]
    Error,
    /// The findings are warnings.
    Warning,
    /// The findings are notes.
    Note,
}

/// The texts that a rule searches.
pub struct Texts<'a> {
    /// Their name in messages.
    pub name: &'a str,
    /// The texts.
    pub known: Vec<Text<'a>>,
    /// Why some texts may be unknown.
    pub unknown: Option<String>,
    /// The finding to report if there is no text although there must be one.
    pub missing: Option<Finding>,
}

/// One text.
pub struct Text<'a> {
    /// The content.
    pub text: &'a str,
    /// The path and the number of the first line, if the text is from a file.
    pub from: Option<(&'a str, u32)>,
}

impl Text<'_> {
    /// Sets the place of a finding, if the text is from a file.
    fn place(&self, at: usize, finding: Finding) -> Finding {
        let Some((path, first)) = self.from else { return finding };
        let position = TextPosition::of(self.text, at);
        finding.at(Place::file(path).position(first + position.line - 1, position.column))
    }
}

/// The violation of a rule, or why it cannot be checked.
pub enum Violation {
    /// The rule is violated.
    Found(Vec<Finding>),
    /// A text is unknown, for this reason.
    Unknown(String),
}

/// A compiled rule.
pub struct Compiled<'r> {
    rule: &'r Rule,
    pattern: Regex,
    files: Vec<Glob>,
}

impl Rule {
    /// Compiles the rule. The error says why it cannot be used.
    pub fn compile(&self) -> Result<Compiled<'_>, String> {
        if self.pattern.chars().count() > PATTERN_LENGTH {
            return Err(format!("the pattern is longer than {PATTERN_LENGTH} characters"));
        }
        if self.min.is_some() && self.kind == RuleKind::Forbid {
            return Err("`min` is allowed only for rules of the kind `require`".to_owned());
        }
        if self.max.is_some_and(|max| self.kind == RuleKind::Require && max < self.min.unwrap_or(1)) {
            return Err("`max` is less than `min`".to_owned());
        }
        let pattern = expression(&self.pattern, |builder| {
            // With CRLF, `$` is the end of a line whichever way it ends.
            builder.multi_line(true).crlf(true).case_insensitive(self.ignore_case);
        })?;
        let files = self.files.iter().map(|glob| Glob::new(glob).map_err(|why| format!("`{glob}`: {why}")));
        Ok(Compiled { rule: self, pattern, files: files.collect::<Result<_, _>>()? })
    }
}

impl Compiled<'_> {
    /// Returns whether the rule applies to this file.
    pub fn applies_to(&self, path: &str) -> bool {
        self.files.is_empty() || self.files.iter().any(|glob| glob.matches(path))
    }

    /// Returns how the texts violate the rule, if they do.
    pub fn broken_by(&self, texts: &Texts<'_>) -> Option<Violation> {
        if let Some(finding) = &texts.missing {
            return Some(Violation::Found(vec![finding.clone()]));
        }
        let (min, max) = match self.rule.kind {
            RuleKind::Require => (self.rule.min.unwrap_or(1), self.rule.max.unwrap_or(usize::MAX)),
            RuleKind::Forbid => (0, self.rule.max.unwrap_or(0)),
        };
        let mut count = 0;
        let mut places = Vec::new();
        for text in &texts.known {
            for found in self.pattern.find_iter(text.text) {
                count += 1;
                if count > max && places.len() < MOST_PLACES {
                    places.push((text, found.start()));
                }
            }
        }
        let (shown, subject) = (&self.rule.pattern, texts.name);
        if count > max {
            let message = match max {
                0 => format!("found `{shown}` in {subject}; it must not occur"),
                _ => format!("found `{shown}` {count} times in {subject}; expected at most {max}"),
            };
            // More is never fewer: what is not known cannot repair this.
            let found = places.into_iter().map(|(text, at)| text.place(at, self.finding(message.clone())));
            return Some(Violation::Found(found.collect()));
        }
        if let Some(why) = &texts.unknown
            && (count < min || max < usize::MAX)
        {
            return Some(Violation::Unknown(why.clone()));
        }
        (count < min).then(|| {
            let message = match min {
                1 => format!("`{shown}` was not found in {subject}; it must occur"),
                _ => format!("found `{shown}` {count} times in {subject}; expected at least {min}"),
            };
            Violation::Found(vec![self.finding(message)])
        })
    }

    fn finding(&self, message: String) -> Finding {
        let mut finding = Finding::error(&self.rule.id, self.rule.message.clone().unwrap_or(message));
        finding.level = match self.rule.level {
            Weight::Error => Level::Error,
            Weight::Warning => Level::Warning,
            Weight::Note => Level::Note,
        };
        finding.hint.clone_from(&self.rule.hint);
        finding
    }
}

/// Returns the verdict of all rules: `fail` if one is violated, or else `abstain` if a text is unknown.
pub fn verdict<'r>(judged: impl IntoIterator<Item = (&'r str, Option<Violation>)>) -> Verdict {
    let mut findings: Vec<Finding> = Vec::new();
    let mut unknown = None;
    for (id, broken) in judged {
        match broken {
            Some(Violation::Found(found)) => findings.extend(found),
            Some(Violation::Unknown(why)) => unknown = unknown.or_else(|| Some(format!("rule `{id}`: {why}"))),
            None => {}
        }
    }
    if findings.iter().any(|finding| finding.level == Level::Error) {
        Verdict::fail("a pattern rule is violated", findings)
    } else if let Some(why) = unknown {
        Verdict { findings, ..Verdict::abstain(why) }
    } else {
        Verdict { findings, ..Verdict::pass() }
    }
}
