//! Debug statements of Python and JavaScript, outside strings and comments.

use crate::{Check, finding};
use gatehost_sdk::{File, Finding, Place};

/// Modules of Python that are debuggers.
const DEBUGGERS: [&str; 9] = ["pdb", "ipdb", "bpdb", "pdbr", "pudb", "rpdb", "wdb", "pydevd_pycharm", "web_pdb"];

pub(crate) fn judge(file: &File, text: &str) -> Option<Finding> {
    let (_, suffix) = file.path.rsplit_once('.')?;
    let find: fn(&str) -> bool = match suffix.to_ascii_lowercase().as_str() {
        "py" | "pyi" | "pyw" => python,
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" | "vue" | "svelte" => javascript,
        _ => return None,
    };
    let code = code(text, suffix.starts_with("py"));
    let mut found = (1..).zip(code.lines().zip(text.lines())).filter(|(_, (code, _))| find(code));
    let (line, (_, shown)) = found.next()?;
    let more = found.count();
    let more = if more == 0 { String::new() } else { format!(", and {more} more") };
    let shown: String = shown.trim().chars().take(80).collect();
    let place = Place { line: Some(line), ..Place::file(&file.path) };
    Some(
        finding(file, Check::DebugStatement, format!("found a debugger call: `{shown}`{more}"))
            .at(place)
            .hint("remove it"),
    )
}

/// Whether a line of code imports or calls a debugger.
fn python(line: &str) -> bool {
    line.split(';').any(|statement| {
        let statement = statement.trim_start();
        let words: Vec<&str> = statement.split([' ', ',', '\t', '.', '(']).filter(|word| !word.is_empty()).collect();
        let imports = match words.first() {
            Some(&"import") => words[1..].iter().any(|word| DEBUGGERS.contains(word)),
            Some(&"from") => words.get(1).is_some_and(|module| DEBUGGERS.contains(module)),
            _ => false,
        };
        imports || calls(statement, "breakpoint")
    })
}

/// Whether a function is called by its plain name.
fn calls(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '.');
        let before = code[..at].trim_end();
        !code[..at].ends_with(is_part)
            && !before.ends_with("def")
            && code[at + name.len()..].trim_start().starts_with('(')
    })
}

/// Whether a line of code has the statement `debugger`.
fn javascript(line: &str) -> bool {
    line.match_indices("debugger").any(|(at, word)| {
        let before = line[..at].trim_end();
        let after = line[at + word.len()..].trim_start();
        (before.is_empty() || before.ends_with([';', '{', '}', ')']) || before.ends_with("else"))
            && (after.is_empty() || after.starts_with([';', '}']))
    })
}

/// A text with its strings and comments made blank, line by line as long as before.
fn code(text: &str, python: bool) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = match first {
            '#' if python => line_end(rest),
            '/' if !python && rest.starts_with("//") => line_end(rest),
            '/' if !python && rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' | '\'' if python && rest[1..].starts_with(&rest[..1].repeat(2)) => string_end(rest, 3, true),
            '`' if !python => string_end(rest, 1, true),
            '"' | '\'' => string_end(rest, 1, false),
            _ => 0,
        };
        if skipped == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            // A string is something: `debugger` after it is no statement.
            code.push(if matches!(first, '#' | '/') { ' ' } else { '"' });
            code.extend(rest[..skipped].chars().filter(|character| *character == '\n'));
            rest = &rest[skipped..];
        }
    }
    code
}

fn line_end(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

/// The length of the string that a text starts with, with `marks` quotation marks on each side. One that must end on its
/// line ends there, closed or not: what looked like a string was none, and hides nothing below.
fn string_end(text: &str, marks: usize, several_lines: bool) -> usize {
    let closing = &text[..marks];
    let mut at = marks;
    while let Some(next) = text[at..].chars().next() {
        if text[at..].starts_with(closing) {
            return at + marks;
        }
        match next {
            '\n' if !several_lines => return at,
            '\\' => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
            other => at += other.len_utf8(),
        }
    }
    text.len()
}
