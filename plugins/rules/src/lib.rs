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
/// What a compiled pattern may take.
const PATTERN_SIZE: usize = 1 << 20;
/// How many places of one rule are reported.
const MOST_PLACES: usize = 20;

/// A regular expression of somebody's settings, bounded so that none exhausts the sandbox; or what is wrong with it.
pub fn expression(pattern: &str, options: impl FnOnce(&mut RegexBuilder)) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(pattern);
    options(builder.size_limit(PATTERN_SIZE).dfa_size_limit(PATTERN_SIZE));
    // regex explains over several lines, and the last says what is wrong.
    builder
        .build()
        .map_err(|why| why.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned())
}

/// A rule as it is written. Unknown fields are refused by the verifier's schema.
#[derive(Clone, Deserialize)]
pub struct Rule {
    /// Its name, which is the code of its findings.
    pub id: String,
    /// The regular expression.
    pub pattern: String,
    /// Whether it must be found, or must not.
    pub kind: RuleKind,
    /// What to say when the rule is broken.
    pub message: Option<String>,
    /// The hint when the rule is violated.
    pub hint: Option<String>,
    /// The level of a violation.
    #[serde(default)]
    pub level: Weight,
    /// How often it must be found.
    pub min: Option<usize>,
    /// How often the pattern may occur.
    pub max: Option<usize>,
    /// Whether to ignore case.
    #[serde(default)]
    pub ignore_case: bool,
    /// The files that it is about; all, where none is named.
    #[serde(default)]
    pub files: Vec<String>,
}

/// What a rule wants.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleKind {
    /// The pattern is found.
    Require,
    /// It is not.
    Forbid,
}

/// The level of a rule's findings.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// It fails.
    #[default]
    Error,
    /// It is said.
    Warning,
    /// It is mentioned.
    Note,
}

/// What a rule looks at.
pub struct Texts<'a> {
    /// What they are, for a message.
    pub name: &'a str,
    /// The texts.
    pub known: Vec<Text<'a>>,
    /// Why there may be more.
    pub unknown: Option<String>,
    /// What is wrong, where there should be a text and is none.
    pub missing: Option<Finding>,
}

/// One text.
pub struct Text<'a> {
    /// Its characters.
    pub text: &'a str,
    /// The path and the first line of it, where it is of a file.
    pub from: Option<(&'a str, u32)>,
}

impl Text<'_> {
    /// The finding with its place, where the text has one.
    fn place(&self, at: usize, finding: Finding) -> Finding {
        let Some((path, first)) = self.from else { return finding };
        let position = TextPosition::of(self.text, at);
        finding.at(Place::file(path).position(first + position.line - 1, position.column))
    }
}

/// Why a rule is not kept.
pub enum Violation {
    /// What is wrong.
    Found(Vec<Finding>),
    /// Why it cannot be judged.
    Unknown(String),
}

/// A rule that can be used.
pub struct Compiled<'r> {
    rule: &'r Rule,
    pattern: Regex,
    files: Vec<Glob>,
}

impl Rule {
    /// Make the rule ready, or say why it cannot be used.
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
    /// Whether it is about this file.
    pub fn applies_to(&self, path: &str) -> bool {
        self.files.is_empty() || self.files.iter().any(|glob| glob.matches(path))
    }

    /// How the texts break it, if they do.
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

/// The verdict of all rules: broken ones fail, else what is not known abstains.
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
