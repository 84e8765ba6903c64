//! Reading git's unified diffs.

use crate::submission::{DiffLine, Hunk, LineKind};
use std::collections::BTreeMap;

/// A file whose diff is longer is handed over without its hunks.
const MAX_LINES: usize = 20_000;

/// The hunks of each file, by its new path. Binary files have none, and neither has a file of whose hunks one is not
/// whole: a part of the truth could hide the rest.
pub(super) fn parse(diff: &[u8]) -> BTreeMap<String, Vec<Hunk>> {
    let mut reader = Reader::default();
    for line in diff.split(|&byte| byte == b'\n') {
        reader.line(line);
    }
    reader.close();
    let short = |hunks: &Vec<Hunk>| hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>() <= MAX_LINES;
    let known = |(path, hunks): (String, Option<Vec<Hunk>>)| Some((path, hunks.filter(short)?));
    reader.files.into_iter().filter_map(known).collect()
}

#[derive(Default)]
struct Reader {
    /// `None` for a file whose hunks are not known.
    files: BTreeMap<String, Option<Vec<Hunk>>>,
    path: Option<String>,
    hunk: Option<Open>,
    /// Until the next file, nothing is what it seems.
    is_lost: bool,
}

impl Reader {
    fn line(&mut self, line: &[u8]) {
        if self.hunk.as_mut().is_some_and(|open| open.take(line)) {
            return;
        }
        self.close();
        if line.starts_with(b"diff --git ") {
            (self.path, self.is_lost) = (None, false);
            return;
        }
        if self.is_lost {
            return;
        }
        if let Some(name) = line.strip_prefix(b"+++ ") {
            self.path = new_path(name);
        } else if let Some(header) = line.strip_prefix(b"@@ ") {
            self.hunk = Open::new(header);
            if self.hunk.is_none() {
                self.lose();
            }
        }
    }

    fn close(&mut self) {
        match (self.hunk.take(), &self.path) {
            (Some(open), _) if !open.is_whole() => self.lose(),
            (Some(open), Some(path)) => {
                if let Some(hunks) = self.files.entry(path.clone()).or_insert_with(|| Some(Vec::new())) {
                    hunks.push(open.hunk);
                }
            }
            _ => {}
        }
    }

    fn lose(&mut self) {
        self.is_lost = true;
        if let Some(path) = self.path.take() {
            self.files.insert(path, None);
        }
    }
}

/// The hunk of a file that is new as a whole; none where it is binary or too long.
pub(super) fn all_added(content: &[u8]) -> Option<Vec<Hunk>> {
    let text = str::from_utf8(content).ok().filter(|text| !text.contains('\0'))?;
    let added = |text: &str| DiffLine { kind: LineKind::Added, text: text.to_owned() };
    let lines: Vec<DiffLine> = text.lines().map(added).collect();
    if lines.len() > MAX_LINES {
        return None;
    }
    Some(if lines.is_empty() { Vec::new() } else { vec![Hunk { old_start: 0, new_start: 1, lines }] })
}

/// A hunk of which lines are still to come.
struct Open {
    hunk: Hunk,
    old_left: u32,
    new_left: u32,
}

impl Open {
    /// From `-OLD[,COUNT] +NEW[,COUNT] @@ …`.
    fn new(header: &[u8]) -> Option<Self> {
        let header = str::from_utf8(header.split(|&byte| byte == b'@').next()?).ok()?;
        let mut ranges = header.split_whitespace().map(|range| {
            let range = range.get(1..)?;
            let (start, count) = range.split_once(',').unwrap_or((range, "1"));
            Some((start.parse().ok()?, count.parse().ok()?))
        });
        let (old_start, old_left) = ranges.next()??;
        let (new_start, new_left) = ranges.next()??;
        Some(Self { hunk: Hunk { old_start, new_start, lines: Vec::new() }, old_left, new_left })
    }

    fn is_whole(&self) -> bool {
        (self.old_left, self.new_left) == (0, 0)
    }

    /// Take a line if it belongs to the hunk. The counts of its header decide, and not what the line looks like.
    fn take(&mut self, line: &[u8]) -> bool {
        // An empty line is an unchanged one that lost its space, as git can be told to print it.
        let (mark, text) = line.split_first().map_or((b' ', line), |(&mark, text)| (mark, text));
        let (old, new, kind) = match mark {
            b' ' => (1, 1, LineKind::Context),
            b'-' => (1, 0, LineKind::Removed),
            b'+' => (0, 1, LineKind::Added),
            // "\ No newline at end of file" belongs to the line before.
            b'\\' => return true,
            _ => return false,
        };
        let (Some(old_left), Some(new_left)) = (self.old_left.checked_sub(old), self.new_left.checked_sub(new)) else {
            return false;
        };
        (self.old_left, self.new_left) = (old_left, new_left);
        let text = String::from_utf8_lossy(text);
        self.hunk.lines.push(DiffLine { kind, text: text.strip_suffix('\r').unwrap_or(&text).to_owned() });
        true
    }
}

/// The path behind `+++ `: `b/path`, quoted as a C string where it has unusual characters; none for a deleted file.
fn new_path(name: &[u8]) -> Option<String> {
    let name = str::from_utf8(name.strip_suffix(b"\t").unwrap_or(name)).ok()?;
    let unquoted = match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        None => name.to_owned(),
        Some(quoted) => {
            let mut path = Vec::new();
            let mut bytes = quoted.bytes();
            while let Some(byte) = bytes.next() {
                path.push(match (byte, byte == b'\\') {
                    (byte, false) => byte,
                    (_, true) => match bytes.next()? {
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'a' => 7,
                        b'b' => 8,
                        b'v' => 11,
                        b'f' => 12,
                        b'r' => b'\r',
                        digit @ b'0'..=b'3' => {
                            let octal = |digit: u8| digit.checked_sub(b'0').filter(|digit| *digit < 8);
                            octal(digit)? * 64 + octal(bytes.next()?)? * 8 + octal(bytes.next()?)?
                        }
                        other => other,
                    },
                });
            }
            String::from_utf8(path).ok()?
        }
    };
    unquoted.strip_prefix("b/").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(hunk: &Hunk) -> Vec<(LineKind, &str)> {
        hunk.lines.iter().map(|line| (line.kind, line.text.as_str())).collect()
    }

    #[test]
    fn a_new_file_is_added_lines_only() {
        let hunks = all_added(b"one\r\ntwo\n").expect("text");
        assert_eq!(lines(&hunks[0]), [(LineKind::Added, "one"), (LineKind::Added, "two")]);
        assert_eq!((hunks[0].old_start, hunks[0].new_start), (0, 1));
        assert_eq!(all_added(b""), Some(Vec::new()));
        assert_eq!(all_added(b"a\0b"), None);
        assert_eq!(all_added(b"\xff"), None);
        assert_eq!(all_added(&b"\n".repeat(MAX_LINES + 1)), None);
    }

    #[test]
    fn hunks_keep_their_lines_and_starts() {
        let diff = b"diff --git a/x.txt b/x.txt\nindex 1..2 100644\n--- a/x.txt\n+++ b/x.txt\n@@ -1,3 +1,3 @@ fn a\n one\n-two\n+2\n three\n@@ -10 +10,2 @@\n-ten\n+10\n+11\n\\ No newline at end of file\n";
        let files = parse(diff);
        let hunks = &files["x.txt"];
        assert_eq!((hunks[0].old_start, hunks[0].new_start), (1, 1));
        use LineKind::{Added, Context, Removed};
        assert_eq!(lines(&hunks[0]), [(Context, "one"), (Removed, "two"), (Added, "2"), (Context, "three")]);
        assert_eq!((hunks[1].old_start, hunks[1].new_start), (10, 10));
        assert_eq!(lines(&hunks[1]), [(Removed, "ten"), (Added, "10"), (Added, "11")]);
    }

    #[test]
    fn an_empty_line_is_context_and_a_part_of_a_hunk_is_nothing() {
        let whole = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n one\n\n+two\n";
        assert_eq!(parse(whole)["x"][0].lines.len(), 3);
        let after = b"+++ b/y\n@@ -1 +1 @@\n-a\n+b\n";
        let next = b"diff --git a/z b/z\n--- a/z\n+++ b/z\n@@ -0,0 +1 @@\n+new\n";
        for broken in [&b"@@ -1,4 +1,5 @@\n one\n?\n"[..], b"@@ what @@\n+one\n"] {
            let diff =
                [&b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"[..], broken, after, next].concat();
            assert_eq!(parse(&diff).into_keys().collect::<Vec<_>>(), ["z"]);
        }
    }

    #[test]
    fn content_that_looks_like_a_header_stays_content() {
        let diff = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n+++ b/y\n @@ -1 +1 @@\ndiff --git a/z b/z\n--- a/z\n+++ b/z\n@@ -0,0 +1 @@\n+new\n";
        let files = parse(diff);
        assert_eq!(files["x"][0].lines.len(), 3);
        assert_eq!(files["x"][0].lines[1].text, "++ b/y");
        assert_eq!(files["z"][0].lines[0].text, "new");
        assert_eq!(files.len(), 2);
    }

    #[test]
    fn unusual_paths_are_unquoted() {
        assert_eq!(new_path(b"b/a b.txt\t").as_deref(), Some("a b.txt"));
        assert_eq!(new_path(br#""b/\303\266\"\n.txt""#).as_deref(), Some("ö\"\n.txt"));
        assert_eq!(new_path(b"/dev/null"), None);
    }
}
