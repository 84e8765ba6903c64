//! The one thing of Markdown that several verifiers must know: where the fenced code blocks are.

use std::ops::RangeInclusive;

/// A fenced code block that is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fenced<'a> {
    /// The first word after the opening fence, such as `json`; empty where there is none.
    pub language: &'a str,
    /// What stands between the fences.
    pub body: &'a str,
    /// Its lines from 1, with both fences.
    pub lines: RangeInclusive<usize>,
}

/// The fenced code blocks of a text. A fence that nothing closes makes none: what follows it stays visible.
pub fn fenced(text: &str) -> Vec<Fenced<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, &str, usize, usize)> = None;
    let mut start = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let end = start + line.len();
        let trimmed = line.trim();
        let mark = fence(trimmed);
        let after = trimmed[mark.len()..].trim();
        match open {
            None if !mark.is_empty() && (mark.starts_with('~') || !after.contains('`')) => {
                open = Some((mark, after.split_whitespace().next().unwrap_or_default(), end, number));
            }
            Some((opening, language, body, first)) if mark.starts_with(opening) && after.is_empty() => {
                blocks.push(Fenced { language, body: &text[body..start], lines: first..=number });
                open = None;
            }
            _ => {}
        }
        start = end;
    }
    blocks
}

/// The run of at least three backticks or tildes that a line starts with.
fn fence(line: &str) -> &str {
    ['`', '~']
        .into_iter()
        .map(|mark| &line[..line.len() - line.trim_start_matches(mark).len()])
        .find(|run| run.len() >= 3)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_what_stands_between_two_fences() {
        for (text, expected) in [
            ("", vec![]),
            ("```\na\n```", vec![("", "a\n", 1..=3)]),
            ("x\n```yaml title=1\na\nb\n```\ny", vec![("yaml", "a\nb\n", 2..=5)]),
            ("~~~\n```\n~~~\n", vec![("", "```\n", 1..=3)]),
            ("````\n```\n````", vec![("", "```\n", 1..=3)]),
            ("  ```\r\na\r\n  ```\r\n", vec![("", "a\r\n", 1..=3)]),
            ("```\na\n``` b\n", vec![]),
            ("```\na", vec![]),
            ("```a``` b\n```\nc\n```", vec![("", "c\n", 2..=4)]),
            ("```\n```", vec![("", "", 1..=2)]),
        ] {
            let found: Vec<_> =
                fenced(text).into_iter().map(|block| (block.language, block.body, block.lines)).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
