//! The `.gitattributes` of the base commit, as far as they decide which bytes a checkout writes.

use super::id::ObjectKind;
use super::objects::Objects;
use super::tree::TreeEntry;
use crate::changes::ChangesError;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::HashMap;

/// Longer files of attributes are not read.
const MAX_BYTES: usize = 1 << 20;
/// The most rules of all files together: each takes about 9 KiB. A file with more rules than are left is ignored.
const MAX_RULES: usize = 5_000;

/// Whether the line ends of a file are converted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TextConversion {
    #[default]
    Unsaid,
    Yes,
    No,
}

/// The attributes of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) text: TextConversion,
    /// Whether a checkout writes CRLF.
    pub(super) has_carriage_returns: bool,
    /// Whether Git LFS stores the file elsewhere.
    pub(super) is_large: bool,
    /// Whether `$Id$` is expanded.
    pub(super) has_id: bool,
}

/// The attributes of one commit.
pub(super) struct Attributes<'a> {
    /// Returns what the commit has at a path.
    base: &'a dyn Fn(&[u8]) -> Option<TreeEntry>,
    /// The rules of each folder that was looked up.
    rules: HashMap<Vec<u8>, Vec<AttributeRule>>,
    /// How many more rules may be read.
    rules_left: usize,
}

struct AttributeRule {
    pattern: Gitignore,
    states: Vec<AttributeState>,
}

/// The value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AttributeState {
    Text(TextConversion),
    LineEnd(Option<bool>),
    Large(bool),
    Id(bool),
}

impl<'a> Attributes<'a> {
    pub(super) fn new(base: &'a dyn Fn(&[u8]) -> Option<TreeEntry>) -> Self {
        Self { base, rules: HashMap::new(), rules_left: MAX_RULES }
    }

    /// Returns the attributes of a file: those of its parent folders, the nearest last.
    pub(super) fn of(&mut self, objects: &mut Objects<'_>, path: &[u8]) -> Result<Wanted, ChangesError> {
        let mut text = None;
        let mut line_end = None;
        let mut wanted = Wanted::default();
        let Ok(name) = str::from_utf8(path) else { return Ok(wanted) };
        let ends = name.match_indices('/').map(|(end, _)| end);
        for end in [0].into_iter().chain(ends) {
            let folder = &path[..end];
            if !self.rules.contains_key(folder) {
                let rules = self.read(objects, folder)?;
                self.rules_left -= rules.len();
                self.rules.insert(folder.to_vec(), rules);
            }
            let inside = name[end..].trim_start_matches('/');
            for rule in self.rules.get(folder).into_iter().flatten() {
                if !rule.pattern.matched(inside, false).is_ignore() {
                    continue;
                }
                for state in &rule.states {
                    match *state {
                        AttributeState::Text(state) => text = Some(state),
                        AttributeState::LineEnd(state) => line_end = state,
                        AttributeState::Large(state) => wanted.is_large = state,
                        AttributeState::Id(state) => wanted.has_id = state,
                    }
                }
            }
        }
        wanted.text = match (text.unwrap_or_default(), line_end) {
            // `eol` implies `text`.
            (TextConversion::Unsaid, Some(_)) => TextConversion::Yes,
            (text, _) => text,
        };
        wanted.has_carriage_returns = wanted.text == TextConversion::Yes && line_end == Some(true);
        Ok(wanted)
    }

    fn read(&self, objects: &mut Objects<'_>, folder: &[u8]) -> Result<Vec<AttributeRule>, ChangesError> {
        let path = if folder.is_empty() { b".gitattributes".to_vec() } else { [folder, b"/.gitattributes"].concat() };
        let Some(entry) = (self.base)(&path).filter(|entry| entry.mode.is_file()) else { return Ok(Vec::new()) };
        let bytes = objects.read(&entry.id, ObjectKind::Blob, "the attributes of the base")?;
        let max = if bytes.len() > MAX_BYTES { 0 } else { self.rules_left };
        Ok(rules(&String::from_utf8_lossy(&bytes), max))
    }
}

/// Parses the lines of a file. Returns no rule if there are more than `max`.
fn rules(text: &str, max: usize) -> Vec<AttributeRule> {
    let rules: Vec<AttributeRule> = text.lines().filter_map(rule).take(max + 1).collect();
    if rules.len() > max { Vec::new() } else { rules }
}

/// Parses a line: a pattern and its attributes. Macros and quoted patterns are not supported; without them, a file counts as
/// changed.
fn rule(line: &str) -> Option<AttributeRule> {
    let line = line.trim_start();
    let (pattern, states) = line.split_once(char::is_whitespace)?;
    if pattern.starts_with(['#', '!', '"', '[']) && (pattern.starts_with("[attr]") || !pattern.starts_with('[')) {
        return None;
    }
    let states: Vec<AttributeState> = states.split_whitespace().flat_map(state).collect();
    if states.is_empty() {
        return None;
    }
    let mut builder = GitignoreBuilder::new("");
    builder.add_line(None, pattern).ok()?;
    Some(AttributeRule { pattern: builder.build().ok()?, states })
}

fn state(word: &str) -> Vec<AttributeState> {
    let auto = TextConversion::Yes;
    match word {
        "text" | "text=auto" | "crlf" => vec![AttributeState::Text(auto)],
        "crlf=input" => vec![AttributeState::Text(TextConversion::Yes), AttributeState::LineEnd(Some(false))],
        "-text" | "-crlf" | "binary" => vec![AttributeState::Text(TextConversion::No)],
        "!text" | "!crlf" => vec![AttributeState::Text(TextConversion::Unsaid)],
        "eol=crlf" => vec![AttributeState::LineEnd(Some(true))],
        "eol=lf" => vec![AttributeState::LineEnd(Some(false))],
        "!eol" | "-eol" => vec![AttributeState::LineEnd(None)],
        "filter=lfs" => vec![AttributeState::Large(true)],
        "ident" => vec![AttributeState::Id(true)],
        "-ident" | "!ident" => vec![AttributeState::Id(false)],
        other if other.trim_start_matches(['-', '!']).split('=').next() == Some("filter") => {
            vec![AttributeState::Large(false)]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_pattern_and_what_it_sets() {
        let rules = rules(
            "# a comment\n*.bat text eol=crlf\n/big/** filter=lfs diff=lfs -text\n[attr]own text\n\"q x\" text\n[ab].c ident\nnothing\n*.x other\n",
            3,
        );
        let found: Vec<_> = rules
            .iter()
            .map(|rule| {
                let names = ["a.bat", "x/a.bat", "big/a", "x/big/a", "a.c"];
                let matched = names.into_iter().filter(|name| rule.pattern.matched(name, false).is_ignore());
                (matched.collect::<Vec<_>>(), rule.states.clone())
            })
            .collect();
        assert_eq!(
            found,
            [
                (
                    vec!["a.bat", "x/a.bat"],
                    vec![AttributeState::Text(TextConversion::Yes), AttributeState::LineEnd(Some(true))]
                ),
                (vec!["big/a"], vec![AttributeState::Large(true), AttributeState::Text(TextConversion::No)]),
                (vec!["a.c"], vec![AttributeState::Id(true)]),
            ]
        );
    }

    #[test]
    fn a_file_with_more_rules_than_are_left_is_not_read() {
        let text = "*.a text\n".repeat(MAX_RULES);
        assert_eq!(
            (rules(&text, MAX_RULES).len(), rules(&text, MAX_RULES - 1).len(), rules("", 0).len()),
            (MAX_RULES, 0, 0)
        );
    }
}
