//! Whitespace, line endings and the byte order mark, each with the edits that fix them.
//!
//! The edits of the checks never overlap: everything after the last line that is not blank belongs to `end-of-file` alone.

use crate::{Check, finding};
use gatehost_sdk::{Edit, File, Finding, Place};

/// Formats in which whitespace at the end of a line means something.
const KEEPS_WHITESPACE: [&str; 4] = [".diff", ".patch", ".rej", ".snap"];
const MARKDOWN: [&str; 3] = [".md", ".markdown", ".mdx"];
/// Files whose own tools write or demand a byte order mark.
const KEEPS_MARK: [&str; 13] = [
    ".sln", ".csproj", ".vbproj", ".fsproj", ".vcxproj", ".props", ".cs", ".vb", ".resx", ".ps1", ".psm1", ".psd1",
    ".csv",
];
/// How many lines are repaired at once. A record that holds more of them helps nobody; repair again.
const REPAIRED: usize = 1_000;
/// How many lines a message names.
const NAMED: usize = 5;

/// A line: where it is, its text without its end, and its end: nothing, LF or CRLF.
struct Line<'a> {
    number: u32,
    text: &'a str,
    end: &'a str,
}

pub(crate) fn judge(file: &File, text: &str, wants: impl Fn(Check) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let has = |endings: &[&str]| endings.iter().any(|ending| file.path.to_ascii_lowercase().ends_with(ending));
    if text.starts_with('\u{FEFF}') && wants(Check::ByteOrderMark) && !has(&KEEPS_MARK) {
        let found = finding(file, Check::ByteOrderMark, "the file starts with a byte order mark");
        findings.push(found.fix("remove the byte order mark", vec![edit((1, 1), (1, 2), "")]));
    }
    let all = lines(text);
    let last = all.iter().rposition(|line| !is_blank(line.text)).map_or(0, |last| last + 1);
    let (lines, tail) = all.split_at(last);
    let crlf = lines.iter().filter(|line| line.end == "\r\n").count();
    let lf = lines.iter().filter(|line| line.end == "\n").count();
    let (usual, name) = if crlf > lf { ("\r\n", "CRLF") } else { ("\n", "LF") };
    let tail_ends = wants(Check::EndOfFile).then(|| end_of_file(file, lines, tail, usual)).flatten();
    if wants(Check::TrailingWhitespace) && !has(&KEEPS_WHITESPACE) {
        let judged = if tail_ends.is_some() { lines } else { &all };
        findings.extend(trailing_whitespace(file, judged, has(&MARKDOWN)));
    }
    if wants(Check::MixedLineEndings) && crlf > 0 && lf > 0 {
        // The end of the last line is repaired with the end of the file.
        let own = if tail_ends.is_some() { &lines[..lines.len() - 1] } else { lines };
        let odd: Vec<&Line<'_>> = own.iter().filter(|line| !line.end.is_empty() && line.end != usual).collect();
        let edits = odd.iter().map(|line| {
            let end = width(line.text) + 1;
            if usual == "\n" {
                edit((line.number, end), (line.number, end + 1), "")
            } else {
                edit((line.number, end), (line.number, end), "\r")
            }
        });
        let message = format!("line endings are mixed: {crlf} CRLF, {lf} LF");
        let fix = format!("end every line with {name}");
        let place = at(file, odd.first().map(|line| line.number));
        findings
            .push(finding(file, Check::MixedLineEndings, message).at(place).fix(fix, edits.take(REPAIRED).collect()));
    }
    findings.extend(tail_ends);
    findings
}

fn trailing_whitespace(file: &File, lines: &[Line<'_>], markdown: bool) -> Option<Finding> {
    let bare = |line: &Line<'_>| line.text.trim_end_matches([' ', '\t']).len();
    let odd: Vec<&Line<'_>> = lines
        .iter()
        .filter(|line| {
            let space = &line.text[bare(line)..];
            let is_break = markdown && space == "  " && bare(line) > 0;
            !space.is_empty() && !is_break
        })
        .collect();
    let first = odd.first()?;
    let edits = odd.iter().map(|line| {
        let start = width(&line.text[..bare(line)]) + 1;
        edit((line.number, start), (line.number, width(line.text) + 1), "")
    });
    let numbers: Vec<String> = odd.iter().take(NAMED).map(|line| line.number.to_string()).collect();
    let message = match odd.len() {
        1 => "the line ends in whitespace".to_owned(),
        count => {
            let more = if count > NAMED { " …" } else { "" };
            format!("{count} lines end in whitespace: {}{more}", numbers.join(", "))
        }
    };
    let found = finding(file, Check::TrailingWhitespace, message).at(at(file, Some(first.number)));
    Some(found.fix("remove whitespace at the end of lines", edits.take(REPAIRED).collect()))
}

fn end_of_file(file: &File, lines: &[Line<'_>], tail: &[Line<'_>], usual: &str) -> Option<Finding> {
    let new = |message: &str, place: Place, fix: &str, edits: Edit| {
        let found = finding(file, Check::EndOfFile, message).at(place);
        Some(found.fix(fix, vec![edits]))
    };
    match (lines.last(), tail) {
        // An empty file has no line to end.
        (None, []) => None,
        (None, [first, ..]) => {
            let whole = edit((first.number, 1), end_of(tail)?, "");
            new("the file has only empty lines", at(file, Some(1)), "empty the file", whole)
        }
        (Some(last), []) if last.end.is_empty() => {
            let end = (last.number, width(last.text) + 1);
            let place = at(file, Some(last.number));
            new("the last line does not end with a newline", place, "end the last line", edit(end, end, usual))
        }
        (Some(_), []) => None,
        (Some(last), [first, ..]) => {
            let start = (last.number, width(last.text) + 1);
            let edit = edit(start, end_of(tail)?, usual);
            let place = at(file, Some(first.number));
            new("the file ends with empty lines", place, "remove empty lines at the end of the file", edit)
        }
    }
}

/// The end of the last of these lines, which is the end of the file.
fn end_of(lines: &[Line<'_>]) -> Option<(u32, u32)> {
    let last = lines.last()?;
    Some(if last.end.is_empty() { (last.number, width(last.text) + 1) } else { (last.number + 1, 1) })
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let whole = text.split_inclusive('\n');
    (1..)
        .zip(whole)
        .map(|(number, whole)| {
            let text = whole.strip_suffix('\n').map_or(whole, |text| text.strip_suffix('\r').unwrap_or(text));
            Line { number, text, end: &whole[text.len()..] }
        })
        .collect()
}

fn is_blank(text: &str) -> bool {
    text.chars().all(|character| matches!(character, ' ' | '\t' | '\r'))
}

/// How many characters a text has.
fn width(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX - 1)
}

fn at(file: &File, line: Option<u32>) -> Place {
    Place { line, ..Place::file(&file.path) }
}

fn edit((start_line, start_column): (u32, u32), (end_line, end_column): (u32, u32), replacement: &str) -> Edit {
    Edit { start_line, start_column, end_line, end_column, replacement: replacement.to_owned() }
}
