//! Computes hunks from the bytes before and after a change.

use crate::deadline::{Deadline, Late};
use crate::submission::{DiffLine, Hunk, LineKind};
use crate::verdict::Edit;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};
use std::collections::HashMap;

/// A file with more changed and context lines has no hunks.
const MAX_LINES: usize = 20_000;
/// A larger file has no hunks either.
pub(super) const MAX_BYTES: u64 = 64 << 20;
/// The bytes of the hunks of a file, and of all files. Where there are more, a file has no hunks.
const MAX_HUNKS: usize = 16 << 20;
const MAX_ALL_HUNKS: usize = 32 << 20;
/// From this many lines on, those that both texts start and end with are left out, because each takes memory.
const MANY_LINES: usize = 500_000;
/// The lines that are compared.
const MAX_COMPARED: usize = 4_000_000;
/// The lines that are looked at between two looks at the clock.
const PORTION: usize = 4_096;
/// Context lines around each change.
const CONTEXT: usize = 3;

/// Returns the hunks that turn `old` into `new`. `None` if one of them is binary, or if there are too many lines: a part of
/// the diff could hide the rest. The result never depends on the time that it takes.
pub(super) fn hunks(old: &[u8], new: &[u8], deadline: &Deadline) -> Result<Option<Vec<Hunk>>, Late> {
    if [old, new].iter().any(|content| content.contains(&0) || content.len() as u64 > MAX_BYTES) {
        return Ok(None);
    }
    let middle = Middle::of(old, new);
    let Some((old, new)) = middle.lines() else { return Ok(None) };
    let Some(changes) = changes(&old, &new, deadline)? else { return Ok(None) };
    let groups = group_diff_ops(changes, CONTEXT);
    let (mut lines, mut bytes) = (0, 0);
    for change in groups.iter().flatten() {
        let (old, new) = (&old[change.old_range()], &new[change.new_range()]);
        // Equal lines are shown once.
        let shown = [if matches!(change, DiffOp::Equal { .. }) { &[] } else { old }, new];
        lines += shown.iter().map(|lines| lines.len()).sum::<usize>();
        bytes += shown.iter().copied().flatten().map(|line| line.len()).sum::<usize>();
    }
    let fits = lines <= MAX_LINES && bytes <= MAX_HUNKS;
    Ok(fits.then(|| groups.iter().map(|group| hunk(group, &old, &new, middle.skipped)).collect()))
}

/// What the hunks of all files may still take.
#[derive(Debug)]
pub(super) struct HunkBudget(usize);

impl HunkBudget {
    pub(super) fn new() -> Self {
        Self(MAX_ALL_HUNKS)
    }

    /// Returns the hunks of the next file, in the order of the paths; `None` if they do not fit.
    pub(super) fn take(&mut self, hunks: Option<Vec<Hunk>>) -> Option<Vec<Hunk>> {
        let hunks = hunks?;
        let lines = hunks.iter().flat_map(|hunk| &hunk.lines);
        self.0 = self.0.checked_sub(lines.map(|line| line.text.len() + size_of::<DiffLine>()).sum())?;
        Some(hunks)
    }
}

type Lines<'t> = Vec<&'t [u8]>;

/// The part of two texts in which they differ, with the lines around it.
struct Middle<'t> {
    /// How many lines are before it.
    skipped: usize,
    old: &'t [u8],
    new: &'t [u8],
}

impl<'t> Middle<'t> {
    fn of(old: &'t [u8], new: &'t [u8]) -> Self {
        // A text has at most as many lines as bytes.
        let is_long = |text: &[u8]| text.len() >= MANY_LINES && count_lines(text) >= MANY_LINES;
        if !is_long(old) && !is_long(new) {
            return Self { skipped: 0, old, new };
        }
        let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let start = (0..=CONTEXT).fold(same, |end, line| line_start(&old[..end.saturating_sub(usize::from(line > 0))]));
        let (old_rest, new_rest) = (&old[start..], &new[start..]);
        let same = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
        let end = &old_rest[old_rest.len() - same..];
        let kept: usize = end.split_inclusive(|&byte| byte == b'\n').take(CONTEXT + 1).map(<[u8]>::len).sum();
        let cut = same - kept;
        let skipped = count_lines(&old[..start]);
        Self { skipped, old: &old_rest[..old_rest.len() - cut], new: &new_rest[..new_rest.len() - cut] }
    }

    /// Returns the lines of both; `None` if they are too many.
    fn lines(&self) -> Option<(Lines<'t>, Lines<'t>)> {
        let is_short = self.old.len() + self.new.len() <= MAX_COMPARED;
        (is_short || count_lines(self.old) + count_lines(self.new) <= MAX_COMPARED)
            .then(|| (lines(self.old), lines(self.new)))
    }
}

/// Returns where the last line of a text starts.
fn line_start(text: &[u8]) -> usize {
    text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)
}

fn count_lines(text: &[u8]) -> usize {
    text.iter().map(|&byte| usize::from(byte == b'\n')).sum()
}

/// Returns the line-based edits that turn `old` into `new`: one edit if nearly everything differs.
#[cfg_attr(not(all(feature = "commands", target_os = "linux")), allow(dead_code, reason = "only commands fix files"))]
pub(crate) fn edits(old: &str, new: &str, deadline: &Deadline) -> Result<Vec<Edit>, Late> {
    let middle = Middle::of(old.as_bytes(), new.as_bytes());
    let Some((before, after)) = middle.lines() else {
        let end_line = u32::try_from(old.split_inclusive('\n').count() + 1).unwrap_or(u32::MAX);
        let whole = Edit { start_line: 1, start_column: 1, end_line, end_column: 1, replacement: new.to_owned() };
        return Ok(vec![whole]);
    };
    let whole = || DiffOp::Replace { old_index: 0, old_len: before.len(), new_index: 0, new_len: after.len() };
    let changes = changes(&before, &after, deadline)?.unwrap_or_else(|| vec![whole()]);
    let line = |index: usize| u32::try_from(middle.skipped + index + 1).unwrap_or(u32::MAX);
    let edit = |change: &DiffOp| {
        let (removed, added) = (change.old_range(), change.new_range());
        let replacement = String::from_utf8_lossy(&after[added].concat()).into_owned();
        Edit {
            start_line: line(removed.start),
            start_column: 1,
            end_line: line(removed.end),
            end_column: 1,
            replacement,
        }
    };
    Ok(changes.iter().filter(|change| !matches!(change, DiffOp::Equal { .. })).map(edit).collect())
}

/// Returns the fewest changes that turn `old` into `new`; `None` if they are more than [`MAX_LINES`].
fn changes(old: &[&[u8]], new: &[&[u8]], deadline: &Deadline) -> Result<Option<Vec<DiffOp>>, Late> {
    // Numbers are compared faster than lines.
    let mut numbers = HashMap::new();
    let old = numbered(old, &mut numbers, deadline)?;
    let new = numbered(new, &mut numbers, deadline)?;
    if fewest_changes(&old, &new, numbers.len()) > MAX_LINES || !is_near(&old, &new, MAX_LINES, deadline)? {
        return Ok(None);
    }
    let changes = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline.at());
    // A search that was cut off finds more changes than there are.
    deadline.check()?;
    Ok(Some(changes))
}

/// Returns a number for each line, the same for equal lines.
fn numbered<'t>(
    lines: &[&'t [u8]],
    numbers: &mut HashMap<&'t [u8], usize>,
    deadline: &Deadline,
) -> Result<Vec<usize>, Late> {
    let mut found = Vec::with_capacity(lines.len());
    for part in lines.chunks(PORTION) {
        deadline.check()?;
        for line in part {
            let next = numbers.len();
            found.push(*numbers.entry(line).or_insert(next));
        }
    }
    Ok(found)
}

/// Returns whether at most this many added and removed lines turn `old` into `new`: the greedy search of Myers, without its path,
/// which ends as soon as there are more.
fn is_near(old: &[usize], new: &[usize], most: usize, deadline: &Deadline) -> Result<bool, Late> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[start..], &new[start..]);
    if old.len() + new.len() <= most {
        return Ok(true);
    }
    // How far each diagonal gets in `old`; the middle one is that of equal positions.
    let middle = most + 1;
    let mut reached = vec![0; 2 * middle + 1];
    for changed in 0..=most {
        deadline.check()?;
        for diagonal in (middle - changed..=middle + changed).step_by(2) {
            let (removed, added) = (reached[diagonal - 1] + 1, reached[diagonal + 1]);
            let mut x = match diagonal {
                _ if changed == 0 => 0,
                _ if diagonal == middle - changed => added,
                _ if diagonal == middle + changed => removed,
                _ => removed.max(added),
            };
            let mut y = x + middle - diagonal;
            while let (Some(a), Some(b)) = (old.get(x), new.get(y))
                && a == b
            {
                (x, y) = (x + 1, y + 1);
            }
            reached[diagonal] = x;
            if x >= old.len() && y >= new.len() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Splits content into lines with their line ends: a line that lost its end is another line.
fn lines(content: &[u8]) -> Lines<'_> {
    content.split_inclusive(|&byte| byte == b'\n').collect()
}

/// Returns a lower bound for the number of changed lines. All lines have numbers below `count`.
fn fewest_changes(old: &[usize], new: &[usize], count: usize) -> usize {
    let mut excess = vec![0_isize; count];
    old.iter().for_each(|line| excess[*line] += 1);
    new.iter().for_each(|line| excess[*line] -= 1);
    excess.into_iter().map(isize::unsigned_abs).sum()
}

fn hunk(group: &[DiffOp], old: &[&[u8]], new: &[&[u8]], skipped: usize) -> Hunk {
    let mut found = Vec::new();
    let mut push = |kind, lines: &[&[u8]]| found.extend(lines.iter().map(|text| line(kind, text)));
    for change in group {
        let (before, after) = (&old[change.old_range()], &new[change.new_range()]);
        match change {
            DiffOp::Equal { .. } => push(LineKind::Context, after),
            _ => {
                push(LineKind::Removed, before);
                push(LineKind::Added, after);
            }
        }
    }
    // If a side has no lines, the number is that of the line before, as in a unified diff.
    let start = |first: Option<usize>, count: usize| {
        let first = skipped + first.unwrap_or(0) + usize::from(count > 0);
        u32::try_from(first).unwrap_or(u32::MAX)
    };
    let count = |range: fn(&DiffOp) -> std::ops::Range<usize>| group.iter().map(|change| range(change).len()).sum();
    Hunk {
        old_start: start(group.first().map(|change| change.old_range().start), count(DiffOp::old_range)),
        new_start: start(group.first().map(|change| change.new_range().start), count(DiffOp::new_range)),
        lines: found,
    }
}

fn line(kind: LineKind, text: &[u8]) -> DiffLine {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    DiffLine { kind, text: String::from_utf8_lossy(text).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LineKind::{Added, Context, Removed};
    use proptest::prelude::*;

    fn hunks(old: &[u8], new: &[u8]) -> Option<Vec<Hunk>> {
        super::hunks(old, new, &Deadline::default()).expect("no deadline")
    }

    fn told(hunk: &Hunk) -> Vec<(LineKind, &str)> {
        hunk.lines.iter().map(|line| (line.kind, line.text.as_str())).collect()
    }

    #[test]
    fn a_new_file_is_added_lines_only() {
        let found = hunks(b"", b"one\r\ntwo\n").expect("text");
        assert_eq!(told(&found[0]), [(Added, "one"), (Added, "two")]);
        assert_eq!((found[0].old_start, found[0].new_start), (0, 1));
        assert_eq!(hunks(b"", b""), Some(Vec::new()));
        assert_eq!(hunks(b"", b"a\0b"), None);
        assert_eq!(hunks(b"a\0b", b""), None);
        assert_eq!(hunks(b"", &b"\n".repeat(MAX_LINES + 1)), None);
        assert_eq!(told(&hunks(b"", b"\xff\n").expect("some other text")[0]), [(Added, "\u{fffd}")]);
    }

    #[test]
    fn hunks_keep_their_lines_and_starts() {
        let old = "0\none\ntwo\nthree\n4\n5\n6\n7\n8\n9\nten\n";
        let new = "0\none\n2\nthree\n4\n5\n6\n7\n8\n9\n10\n11";
        let found = hunks(old.as_bytes(), new.as_bytes()).expect("text");
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].old_start, found[0].new_start), (1, 1));
        let first = [(Context, "0"), (Context, "one"), (Removed, "two"), (Added, "2"), (Context, "three")];
        assert_eq!(told(&found[0])[..5], first);
        assert_eq!((found[1].old_start, found[1].new_start), (8, 8));
        assert_eq!(told(&found[1])[3..], [(Removed, "ten"), (Added, "10"), (Added, "11")]);
    }

    #[test]
    fn a_line_end_is_a_part_of_a_line() {
        assert_eq!(told(&hunks(b"a\nb", b"a\nb\n").expect("text")[0])[1..], [(Removed, "b"), (Added, "b")]);
        assert_eq!(told(&hunks(b"a\n", b"a\r\n").expect("text")[0]), [(Removed, "a"), (Added, "a")]);
        assert_eq!(told(&hunks(b"a\n", b"").expect("text")[0]), [(Removed, "a")]);
    }

    #[test]
    fn lines_that_many_lines_start_and_end_with_take_no_memory() {
        let many = |first: &str, middle: &str, last: &str| {
            format!("{first}{}{middle}{}{last}", "\n".repeat(300_000), "x\n".repeat(300_000))
        };
        let (old, new) = (many("", "a\n", ""), many("", "b\nc\n", ""));
        let found = hunks(old.as_bytes(), new.as_bytes()).expect("text");
        let shown =
            [(Context, ""), (Context, ""), (Context, ""), (Removed, "a"), (Added, "b"), (Added, "c"), (Context, "x")];
        assert_eq!(told(&found[0])[..7], shown);
        assert_eq!(
            (found.len(), found[0].lines.len(), found[0].old_start, found[0].new_start),
            (1, 9, 299_998, 299_998)
        );
        let middle = Middle::of(old.as_bytes(), new.as_bytes());
        assert!(middle.old.len() < 20 && middle.new.len() < 20, "{} {}", middle.old.len(), middle.new.len());
        for (old, new) in [
            (many("", "", ""), many("", "\n", "")),
            (many("", "", "end"), many("", "", "other")),
            (many("", "", "end"), many("", "", "")),
            (many("a\n", "", ""), many("", "", "")),
            (many("", "", ""), many("", "", "").repeat(2)),
            (many("", "", ""), String::new()),
        ] {
            assert!(edited(&old, &edits(&old, &new, &Deadline::default()).expect("no deadline")) == new);
        }
        let newlines = "\n".repeat(MAX_COMPARED + 1);
        assert_eq!(hunks(newlines.as_bytes(), b"a"), None);
        assert!(edited(&newlines, &edits(&newlines, "a", &Deadline::default()).expect("no deadline")) == "a");
    }

    #[test]
    fn hunks_are_limited_in_bytes() {
        let text = |bytes: usize| "a".repeat(bytes);
        assert_eq!(hunks(b"", text(MAX_HUNKS + 1).as_bytes()), None);
        let large = hunks(b"", text(MAX_HUNKS).as_bytes()).expect("text");
        let small = hunks(b"", b"a").expect("text");
        let mut left = HunkBudget::new();
        for (hunks, fits) in [(&large, true), (&large, false), (&small, true)] {
            assert_eq!(left.take(Some(hunks.clone())).is_some(), fits);
        }
    }

    #[test]
    fn what_is_entirely_other_in_a_large_file_takes_no_time() {
        let text = |letter: &str| (0..60_000).map(|number| format!("{letter}{number}\n")).collect::<String>();
        assert_eq!(hunks(text("a").as_bytes(), text("b").as_bytes()), None);
    }

    #[test]
    fn a_search_that_is_cut_off_is_late_and_never_another_result() {
        let lines = |step: usize| (0..3_000).map(|number| format!("{}\n", number * step % 3_000)).collect::<String>();
        let (old, new) = (lines(7), lines(11));
        let deadline = Deadline::default();
        deadline.set("g", std::time::Duration::ZERO, std::time::Duration::ZERO);
        assert!(super::hunks(old.as_bytes(), new.as_bytes(), &deadline).is_err());
    }

    /// Does what the hunks say to the old lines. What they say of unchanged and removed lines must be so.
    fn applied(old: &[&str], hunks: &[Hunk]) -> Vec<String> {
        let mut new = Vec::new();
        let mut at = 0;
        for hunk in hunks {
            let removes = hunk.lines.iter().any(|line| line.kind != Added);
            let start = hunk.old_start as usize - usize::from(removes);
            new.extend(old[at..start].iter().map(|&line| line.to_owned()));
            at = start;
            assert_eq!(
                hunk.new_start as usize,
                new.len() + usize::from(hunk.lines.iter().any(|line| line.kind != Removed))
            );
            for line in &hunk.lines {
                if line.kind != Added {
                    assert_eq!(old[at], line.text);
                    at += 1;
                }
                if line.kind != Removed {
                    new.push(line.text.clone());
                }
            }
        }
        new.extend(old[at..].iter().map(|&line| line.to_owned()));
        new
    }

    /// Does what edits say: column 1 of the line after the last one is the end.
    fn edited(old: &str, edits: &[Edit]) -> String {
        let lines: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut new, mut at) = (String::new(), 0);
        for edit in edits {
            assert_eq!((edit.start_column, edit.end_column), (1, 1));
            new += &lines[at..edit.start_line as usize - 1].concat();
            new += &edit.replacement;
            at = edit.end_line as usize - 1;
        }
        new + &lines[at..].concat()
    }

    proptest! {
        #[test]
        fn the_fewest_changes_decide_whether_files_are_near(
            old in proptest::collection::vec(0..4_usize, 0..40),
            new in proptest::collection::vec(0..4_usize, 0..40),
            most in 0..40_usize,
        ) {
            let changes = capture_diff_slices_deadline(Algorithm::Lcs, &old, &new, None);
            let same: usize = changes.iter().map(|change| match change {
                DiffOp::Equal { len, .. } => *len,
                _ => 0,
            }).sum();
            let fewest = old.len() + new.len() - 2 * same;
            let near = is_near(&old, &new, most, &Deadline::default()).expect("no deadline");
            prop_assert_eq!(near, fewest <= most);
        }

        #[test]
        fn edits_rebuild_what_was_read(old in "[ab\r\n]{0,60}", new in "[ab\r\n]{0,60}") {
            prop_assert_eq!(edited(&old, &edits(&old, &new, &Deadline::default()).expect("no deadline")), new);
        }

        #[test]
        fn hunks_rebuild_what_was_read(old in "[ab\n]{0,60}", new in "[ab\n]{0,60}") {
            let found = hunks(old.as_bytes(), new.as_bytes()).expect("text");
            let lines: Vec<&str> = old.lines().collect();
            prop_assert_eq!(applied(&lines, &found), new.lines().map(str::to_owned).collect::<Vec<_>>());
        }
    }
}
