//! Files that are not in the format of their extension: templates, and scripts whose first line names another language.
//!
//! A syntax verifier parses first. This module looks only at files that do not parse, and a file is not applicable only if
//! the error is at the foreign syntax (or, in YAML and XML, after it). So a valid file passes, and a broken file fails
//! whatever else it contains.

mod marks;
mod modeline;

use crate::{File, Level, Status, Verdict};
use marks::Mark;

/// The properties of a language that matter in the search for foreign syntax.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name in messages: `Python`.
    pub name: &'static str,
    /// The names that interpreters and editors use, in lower case.
    pub known_as: &'static [&'static str],
    /// The starts of line comments.
    pub comments: &'static [&'static str],
    /// The quotes within which template syntax is text.
    pub quotes: &'static [char],
    /// Whether `{{ name }}` can be valid syntax, so that only an unmistakable template mark counts.
    pub has_braces: bool,
    /// Where a template mark makes the parser fail.
    pub reading: Reading,
}

/// Where a template mark makes a parser fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// At the mark.
    AtMark,
    /// At the mark or anywhere after it: the parser may read the mark as text, and the tags around it no longer match.
    BehindMark,
    /// Like `BehindMark`, if the mark replaces a line, an item or a value, as in YAML.
    BehindLine,
}

impl File {
    /// Returns the verdict of a syntax verifier for the text of the file. A file that is not UTF-8 fails, and a file that fails
    /// because it is something else is not applicable, unless `strict` is set.
    pub fn judged_as(&self, format: &Format, strict: bool, judge: impl FnOnce(&str) -> Verdict) -> Verdict {
        match self.utf8(format.name) {
            Ok(text) => self.unless_foreign(text, format, strict, judge(text)),
            Err(finding) => finding.into(),
        }
    }

    /// Returns the verdict of a syntax verifier, or not applicable with the reason if the file fails because it is something
    /// else. `text` is the checked text, and `strict` the setting of this name.
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

/// Returns why a text with its first error at this byte is in another format, if it is.
pub fn reason(text: &str, format: &Format, error: usize) -> Option<String> {
    let Format { name, .. } = format;
    if let Some(interpreter) = modeline::interpreter(text).filter(|named| !is_known_as(format, named)) {
        return Some(format!("the first line names `{interpreter}`, so the file is not {name}"));
    }
    if let Some((line, language)) = modeline::language(text).filter(|(_, named)| !is_known_as(format, named)) {
        return Some(format!("the modeline on line {line} names `{language}`, so the file is not {name}"));
    }
    let mark = marks::of(text).find(|mark| is_cause(text, format, mark, error))?;
    let line = text[..mark.start].matches('\n').count() + 1;
    let kind = mark.kind.shown();
    Some(format!("line {line} contains template syntax (`{kind}`), so the file becomes {name} only after rendering"))
}

fn is_known_as(format: &Format, name: &str) -> bool {
    format.known_as.contains(&name)
}

/// The maximum distance in bytes between an error and a mark on the same line. Some files are one long line.
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

/// Whether the text after this beginning of a line is in a comment or a string.
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

/// The byte offset of a line and a column, both from 1.
fn offset(text: &str, line: u32, column: u32) -> usize {
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1) as usize);
    let start: usize = lines.map(str::len).sum();
    let within = text[start..].char_indices().nth(column.saturating_sub(1) as usize);
    within.map_or(text.len(), |(at, _)| start + at)
}

#[cfg(test)]
mod tests;
