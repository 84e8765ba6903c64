//! Failures that differ from the log of a test only by the lines around them, or by the shape of a line.

/// Whether a failure starts at a line.
pub(super) fn starts(lines: &[&str], at: usize) -> bool {
    let parts = [is_listed, in_mocha, in_go, in_pytest, in_titles];
    in_jest(lines[at]) || parts.iter().any(|starts| starts(lines, at))
}

/// Whether the line of a list has the mark of a test that passed.
pub(super) fn is_ticked(line: &str) -> bool {
    line.trim_start().starts_with(['✓', '✔', '√'])
}

/// A failed test in the list of a runner: a cross (jest, vitest, node, Playwright) or a number (mocha) before its name.
///
/// Programs under test print such marks too. A cross therefore needs the time of the test behind its name, or a ticked
/// neighbour at the same indentation; a number needs the neighbour.
fn is_listed(lines: &[&str], at: usize) -> bool {
    let bare = lines[at].trim();
    let crossed = bare.strip_prefix(['✕', '✖', '✗', '✘', '×']).or_else(|| bare.strip_prefix("X "));
    let dotnet = bare.strip_prefix("Failed ").filter(|rest| rest.ends_with(']'));
    if let Some(name) = crossed.or(dotnet) {
        let of = name.split_whitespace().take(4).eq(["1", "of", "1", "failed"]);
        return ends_with_time(name) || of || crossed.is_some() && beside_a_tick(lines, at);
    }
    numbered(bare).is_some_and(|name| name.contains(" › ")) || numbered(bare).is_some() && beside_a_tick(lines, at)
}

/// `name (3 ms)`, `name 3ms`, `name [3 ms]`, `name (0.5s)`
fn ends_with_time(name: &str) -> bool {
    let end = name.trim_end_matches([')', ']']);
    let number = ["ms", "s"].iter().find_map(|unit| end.strip_suffix(unit)).map(str::trim_end).unwrap_or_default();
    let digits = number.len() - number.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let before = number[..number.len() - digits].chars().next_back();
    digits > 0 && before.is_some_and(|before| matches!(before, ' ' | '(' | '['))
}

fn beside_a_tick(lines: &[&str], at: usize) -> bool {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let neighbour =
        |line: Option<&&str>| line.is_some_and(|line| is_ticked(line) && indentation(line) == indentation(lines[at]));
    indentation(lines[at]) > 0
        && (neighbour(at.checked_sub(1).and_then(|at| lines.get(at))) || neighbour(lines.get(at + 1)))
}

/// The text behind `1) `.
fn numbered(bare: &str) -> Option<&str> {
    bare.split_once(") ").filter(|(number, _)| number.parse::<u32>().is_ok()).map(|(_, name)| name)
}

/// `  ● suite › name`
fn in_jest(line: &str) -> bool {
    line.strip_prefix("  ● ").is_some_and(|name| name.contains(" › "))
}

/// `  1) suite`, further titles down to one that ends with a colon, and an error below it.
fn in_mocha(lines: &[&str], at: usize) -> bool {
    let Some(first) = lines[at].strip_prefix("  ").and_then(numbered) else { return false };
    let titles = std::iter::once(first).chain(lines[at + 1..].iter().take(6).map(|line| line.trim()));
    let mut behind = titles.skip_while(|title| !title.ends_with(':')).skip(1).filter(|line| !line.is_empty());
    let error = behind.next().and_then(|said| said.split([':', ' ']).next()).unwrap_or_default();
    error.ends_with("Error") && error.chars().all(char::is_alphanumeric)
}

/// A panic that nothing recovered, and the other ends of a Go program, with the stack below them.
fn in_go(lines: &[&str], at: usize) -> bool {
    let ends = ["panic: ", "fatal error: "].iter().any(|start| lines[at].starts_with(start));
    ends && lines[at + 1..].iter().take(6).any(|line| line.starts_with("goroutine ") && line.ends_with("]:"))
}

/// `E       assert 1 == 2`, and below it `test_a.py:2: AssertionError`
fn in_pytest(lines: &[&str], at: usize) -> bool {
    let place = |line: &&str| {
        let mut parts = line.rsplitn(3, ':');
        let (error, row, path) = (parts.next(), parts.next(), parts.next());
        path.is_some_and(|path| path.ends_with(".py"))
            && row.is_some_and(|row| row.parse::<u32>().is_ok())
            && error.is_some_and(|error| !error.trim().is_empty() && error.trim().chars().all(char::is_alphanumeric))
    };
    lines[at].starts_with("E   ") && lines[at + 1..].iter().take(4).any(place)
}

/// A title of unittest below its ruler (`ERROR: test_a (t.T)`), and libtest's list of what failed.
fn in_titles(lines: &[&str], at: usize) -> bool {
    let next = lines.get(at + 1).copied().unwrap_or_default();
    let ruler = lines[at].len() > 40 && lines[at].chars().all(|c| c == '=');
    let listed = next.strip_prefix("    ").is_some_and(|name| !name.is_empty() && !name.contains(' '));
    ruler && (next.starts_with("ERROR: ") || next.starts_with("FAIL: ")) || lines[at] == "failures:" && listed
}
