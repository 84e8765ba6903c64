//! Files that are not what their name says: templates, and scripts whose first line names another language.
//!
//! A syntax verifier parses first. Only a file that does not parse is looked at here, and only where the error stands at
//! the foreign syntax (or, in YAML and XML, behind it) it is excused: a valid file passes, and a broken file fails
//! whatever stands elsewhere in it.

mod marks;
mod modeline;

use crate::{File, Level, Status, Verdict};
use marks::Mark;

/// What a language looks like to someone who searches it for syntax that is not its own.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name in a reason: `Python`.
    pub name: &'static str,
    /// What interpreters and editors call it, in lower case.
    pub known_as: &'static [&'static str],
    /// What starts a comment that ends with its line.
    pub comments: &'static [&'static str],
    /// The quotes within which a mark of a template is text.
    pub quotes: &'static [char],
    /// Whether `{{ name }}` can be its own syntax, so that only an unmistakable mark counts.
    pub has_braces: bool,
    /// How its reader meets a template's mark.
    pub reading: Reading,
}

/// Where a template's mark makes a reader fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// At the mark.
    AtMark,
    /// At the mark or anywhere behind it: a mark may be text to the reader, and the tags around it no longer match.
    BehindMark,
    /// As `BehindMark`, where the mark stands in place of a line, an item or a value, as in YAML.
    BehindLine,
}

impl File {
    /// The verdict of a syntax verifier, unless the file fails because it is something else: then it is not applicable,
    /// with the reason. `text` is what was judged, and `strict` the setting of this name.
    pub fn unless_foreign(&self, text: &str, format: &Format, strict: bool, verdict: Verdict) -> Verdict {
        if strict || verdict.status != Status::Fail {
            return verdict;
        }
        let errors = verdict.findings.iter().filter(|finding| finding.level == Level::Error);
        let places = errors.filter_map(|error| error.place.as_ref()).map(|place| (place.line, place.column));
        let Some((Some(line), column)) = places.min() else { return verdict };
        match reason(text, format, offset(text, line, column.unwrap_or(1))) {
            Some(reason) => Verdict::not_applicable(reason),
            None => verdict,
        }
    }
}

/// The schema of the setting `strict`, the same in every syntax verifier: a literal for `concat!`.
#[macro_export]
macro_rules! strict_schema {
    () => {
        r#""strict": {
      "description": "Whether templates and files in another language are judged like all others. Otherwise a file that does not parse because it is one of them is not applicable.",
      "type": "boolean",
      "default": false
    }"#
    };
}

/// Why a text with its first error at this byte is not of the format at all.
pub fn reason(text: &str, format: &Format, error: usize) -> Option<String> {
    let Format { name, .. } = format;
    if let Some(interpreter) = modeline::interpreter(text).filter(|named| !is_known_as(format, named)) {
        return Some(format!("the first line names `{interpreter}`, so the file is not {name}"));
    }
    if let Some((line, language)) = modeline::language(text).filter(|(_, named)| !is_known_as(format, named)) {
        return Some(format!("the modeline in line {line} names `{language}`, so the file is not {name}"));
    }
    let mark = marks::of(text).find(|mark| is_cause(text, format, mark, error))?;
    let line = text[..mark.start].matches('\n').count() + 1;
    let kind = mark.kind.shown();
    Some(format!("line {line} has template syntax (`{kind}`), so the file is {name} only after rendering"))
}

fn is_known_as(format: &Format, name: &str) -> bool {
    format.known_as.contains(&name)
}

/// How far from an error a mark in the same line can be: some lines are a whole file.
const NEAR: usize = 400;

fn is_cause(text: &str, format: &Format, mark: &Mark, error: usize) -> bool {
    let inside = &text[mark.start..mark.end];
    if format.has_braces && !mark.is_unmistakable(text) {
        return false;
    }
    // The quotes of a template may end those around it: `"{{ a["b"] }}"`.
    if mark.start < error && error < mark.end && inside.contains(format.quotes) {
        return true;
    }
    let line = text[..mark.start].rfind('\n').map_or(0, |end| end + 1);
    if is_text(&text[line..mark.start], format) {
        return false;
    }
    let line_end = text[mark.end..].find('\n').map_or(text.len(), |end| mark.end + end);
    let is_near = error + NEAR >= mark.start && error <= mark.end + NEAR;
    let is_at = (line..=line_end).contains(&error) && is_near;
    match format.reading {
        Reading::AtMark => is_at,
        Reading::BehindMark => (mark.start..mark.end).contains(&error) || mark.is_block(text) && mark.start <= error,
        Reading::BehindLine => line <= error && marks::is_in_place(text, line, mark.start),
    }
}

/// Whether what follows the beginning of a line is in a comment or a string.
fn is_text(before: &str, format: &Format) -> bool {
    let mut open = None;
    let mut escaped = false;
    for (at, character) in before.char_indices() {
        match open {
            Some(_) if escaped => escaped = false,
            Some(_) if character == '\\' => escaped = true,
            Some(quote) if character == quote => open = None,
            Some(_) => {}
            None if format.comments.iter().any(|comment| before[at..].starts_with(comment)) => return true,
            None if format.quotes.contains(&character) => open = Some(character),
            None => {}
        }
    }
    open.is_some()
}

/// The byte of a line and a column, both from 1.
fn offset(text: &str, line: u32, column: u32) -> usize {
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1) as usize);
    let start: usize = lines.map(str::len).sum();
    let within = text[start..].char_indices().nth(column.saturating_sub(1) as usize);
    within.map_or(text.len(), |(at, _)| start + at)
}

#[cfg(test)]
mod tests;
