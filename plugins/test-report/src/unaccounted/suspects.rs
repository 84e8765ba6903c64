//! Finds the lines that may report a failure, so that only these are compared with all words of runners. A line that is no suspect
//! reports none; the tests compare both.

use super::in_flutter;
use crate::printed::{Marks, bare};

/// Starts of a line, behind its indentation, without `fail` or `err`.
const STARTS: &[&str] = &[
    "!!!!",
    "(in test file ",
    "*** ",
    "//",
    ":",
    "=====",
    "E   ",
    "ELIFECYCLE",
    "Segmentation fault",
    "Test Run Aborted.",
    "Test host process crashed",
    "The active test run was aborted",
    "Vitest caught",
    "X ",
    "[-] ",
    "exit status ",
    "gmake",
    "make",
    "ninja: build stopped:",
    "not ok",
    "panic: ",
    "process didn't exit successfully:",
];

/// Whether a line may report a failure.
pub(super) fn is_suspect(line: &str, marks: Marks) -> bool {
    if marks.has(Marks::FAILURE) || marks.has(Marks::DOUBT) {
        return true;
    }
    let bare = bare(line);
    let Some(first) = bare.bytes().next() else { return false };
    let starts = || STARTS.iter().any(|start| bare.starts_with(start));
    // A mark before a name.
    first >= 0x80
        || FIRST[usize::from(first)] && starts()
        || matches!(first, b'0'..=b'9' | b'+') && is_numbered(line, bare)
        || is_ended(bare.trim_end())
}

/// `1) name`, and the clock of flutter.
fn is_numbered(line: &str, bare: &str) -> bool {
    let behind = bare.trim_start_matches(|c: char| c == '+' || c.is_ascii_digit());
    behind.starts_with(')') || behind.starts_with(':') && in_flutter(line)
}

/// ` is NOT correct!`, and the progress of pytest with a failure in it.
fn is_ended(line: &str) -> bool {
    let is_progress = |line: &str| {
        let dots = line.trim_end_matches(|c| c != '[').strip_suffix('[').unwrap_or(line).trim_end();
        dots.ends_with(['.', 's', 'x', 'X', 'F', 'E', 'R']) && dots.contains(['F', 'E'])
    };
    line.ends_with("correct!") || line.strip_suffix("%]").is_some_and(is_progress)
}

/// The first bytes of [`STARTS`].
static FIRST: [bool; 256] = {
    let mut first = [false; 256];
    let mut at = 0;
    while at < STARTS.len() {
        first[STARTS[at].as_bytes()[0] as usize] = true;
        at += 1;
    }
    first
};
