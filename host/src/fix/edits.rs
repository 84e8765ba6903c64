//! Applying edits to a text. Pure.

use crate::verdict::Edit;
use crate::writer::with_line_endings_of;

/// Applies edits to a text. Of two that overlap, the first is used. Returns `None` if no edit fits the text.
pub(super) fn apply(text: &str, edits: &[&Edit]) -> Option<String> {
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let offset = |line: u32, column: u32| {
        let line = usize::try_from(line).ok()?.checked_sub(1)?;
        let column = usize::try_from(column).ok()?.checked_sub(1)?;
        // The position after the last line is the end of the text.
        if line == starts.len() && column == 0 {
            return Some(text.len());
        }
        let start = *starts.get(line)?;
        let end = starts.get(line + 1).map_or(text.len(), |next| next - 1);
        let content = text.get(start..end)?;
        let mut columns = content.char_indices().map(|(at, _)| start + at).chain([end]);
        columns.nth(column)
    };
    let placed = |edit: &&Edit| {
        let from = offset(edit.start_line, edit.start_column)?;
        let to = offset(edit.end_line, edit.end_column)?;
        // Verifiers write LF, whatever the file has.
        (from <= to).then(|| (from, to, with_line_endings_of(text, &edit.replacement)))
    };
    let mut placed: Vec<(usize, usize, String)> = edits.iter().filter_map(placed).collect();
    placed.sort();
    placed.dedup();
    let mut fixed = String::with_capacity(text.len());
    let mut at = 0;
    let mut applied = false;
    for (from, to, replacement) in placed {
        if from < at || (applied && from == at && from == to) {
            continue;
        }
        fixed.push_str(&text[at..from]);
        fixed.push_str(&replacement);
        (at, applied) = (to, true);
    }
    fixed.push_str(&text[at..]);
    (applied && fixed != text).then_some(fixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(from: (u32, u32), to: (u32, u32), replacement: &str) -> Edit {
        Edit {
            start_line: from.0,
            start_column: from.1,
            end_line: to.0,
            end_column: to.1,
            replacement: replacement.to_owned(),
        }
    }

    #[test]
    fn edits_are_placed_by_lines_and_characters() {
        for (text, edits, expected) in [
            ("[1,]", vec![edit((1, 3), (1, 4), "")], Some("[1]")),
            ("ä, b \nc", vec![edit((1, 5), (1, 6), "")], Some("ä, b\nc")),
            ("a\n\n\n", vec![edit((2, 1), (4, 1), "")], Some("a\n")),
            ("a", vec![edit((1, 2), (1, 2), "\n")], Some("a\n")),
            ("a\nb", vec![edit((2, 1), (3, 1), "")], Some("a\n")),
            ("ab", vec![edit((1, 1), (1, 2), "x"), edit((1, 2), (1, 3), "y")], Some("xy")),
            ("abc", vec![edit((1, 1), (1, 3), "x"), edit((1, 2), (1, 4), "y")], Some("xc")),
            ("ab", vec![edit((1, 1), (1, 2), "x"), edit((1, 1), (1, 2), "x")], Some("xb")),
            ("a\r\nb\r\n", vec![edit((1, 1), (1, 2), "x\ny")], Some("x\r\ny\r\nb\r\n")),
            ("a\r\nb\n", vec![edit((2, 1), (2, 2), "x\ny")], Some("a\r\nx\ny\n")),
            ("a \r\nb\r\n", vec![edit((1, 2), (2, 1), "\n")], Some("a\r\nb\r\n")),
            ("a", vec![edit((1, 1), (1, 2), "a")], None),
            ("a", vec![edit((9, 1), (9, 2), "x")], None),
            ("a", vec![edit((1, 9), (1, 9), "x")], None),
            ("a", vec![edit((0, 1), (1, 1), "x")], None),
            ("ab", vec![edit((1, 3), (1, 1), "x")], None),
        ] {
            let edits: Vec<&Edit> = edits.iter().collect();
            assert_eq!(apply(text, &edits).as_deref(), expected, "{text:?} {edits:?}");
        }
    }
}
