//! Finds a line about a failure that is in no report: from a runner whose format is unknown, from a build that broke before its
//! tests began, or from a command whose exit code was lost.
//!
//! Only outputs with exit code 0 whose reports contain no failure are searched. Only the words of runners and build tools
//! count, at the places where they print them; what tests log in sentences does not. Three kinds of lines are left alone,
//! because honest logs contain them: a Python traceback, the panic of a Rust thread, and a cross or a number before a name
//! outside a list of tests.

mod blocks;
mod counts;
mod suspects;

use crate::printed::Printed;

/// Starts of a line. No word continues behind them, and `: 0` takes them back.
const STARTS: &[&str] = &[
    "FAILED",
    "FAILURE",
    "FAIL",
    "FAILURES!",
    "ERRORS!",
    "[  FAILED  ]",
    "BUILD FAILED",
    "Build FAILED",
    "** TEST FAILED **",
    "** BUILD FAILED **",
    "Test Run Failed.",
    "Test Run Aborted.",
    "Test run failed",
    "Errors while running CTest",
    "Failures:",
    "Failed examples:",
    "TEST FAILED",
    "TESTS FAILED",
    "TEST FAILURE",
    "Some tests failed.",
    "Result: FAIL",
];

/// Starts of a line behind any indentation: words that only runners and build tools print.
const INDENTED: &[&str] = &[
    "--- FAIL:",
    "=== FAIL:",
    "[FAIL] ",
    "[FAILED] ",
    "[Fail] ",
    "• [FAILED] ",
    "✘ [fail]: ",
    "✖ failing tests:",
    "Failure/Error: ",
    "(in test file ",
    "Failed Tests (",
    "[error] Failed tests:",
    "[ERROR] There are test failures.",
    "evaluation failed :(",
    "error: test failed",
    "error: test run failed",
    "error: doctest failed",
    "error: could not compile",
    "process didn't exit successfully:",
    "FAILED (",
    "[ERROR] Failed to execute goal",
    "[ERROR] Failures:",
    "[INFO] BUILD FAILURE",
    "make: ***",
    "gmake: ***",
    "ninja: build stopped:",
    "npm ERR!",
    "npm error",
    "ELIFECYCLE",
    "error Command failed with exit code",
    "Error: Process completed with exit code ",
    "INTERNALERROR>",
    "Vitest caught",
    "PHP Fatal error:",
    "PHP Parse error:",
    "The active test run was aborted",
    "Test host process crashed",
    "Segmentation fault",
    "(fail) ",
    "✘ Test ",
    "##teamcity[testFailed",
];

/// Ends of a line.
const ENDS: &[&str] = &[" ... FAIL", " ... ERROR", " ... FAILED", ": FAILED:", " | FAIL |", " is NOT correct!"];

/// The start of a line behind any indentation, and what is behind it in the same line.
const FRAMES: &[(&str, &str)] = &[
    // prove
    ("Failed ", " subtests"),
    // Gradle, Bazel, tox, nox, just, cargo
    ("> Task ", " FAILED"),
    ("//", " FAILED in "),
    ("//", " FAILED TO BUILD"),
    ("//", " TIMEOUT in "),
    ("ERROR: ", ": commands failed"),
    ("nox > Session ", " failed."),
    ("error: Recipe `", "` failed "),
    ("error: ", " target failed:"),
    ("error: ", " targets failed:"),
    // XCTest, Pester, Ginkgo, PHPUnit, Boost
    ("Test Case '", "' failed ("),
    ("[-] ", "ms ("),
    ("Summarizing ", " Failure"),
    ("There was 1 ", "failure:"),
    ("There was 1 ", "error:"),
    ("There were ", " failures:"),
    ("There were ", " errors:"),
    ("*** ", " detected in the test module "),
    // .NET, and results of xUnit, NUnit and MSTest in XML
    ("[xUnit.net ", " [FAIL]"),
    ("<", "result=\"Fail\""),
    ("<", "result=\"Failed\""),
    ("<", "outcome=\"Failed\""),
    ("<", "outcome=\"Error\""),
];

/// Words anywhere in a line, below a word that is in all of them.
const ANYWHERE: &[(&str, &[&str])] = &[
    // tox, Deno, Zig, ScalaTest
    ("FAIL", &[": FAIL code ", " ... FAILED (", "... FAIL (", " *** FAILED ***"]),
    // Boost, .NET
    (": error", &["): error: in \"", "): error CS", "): error FS", "): error BC", ": error MSB"]),
    // prove, Julia
    ("test", &[" Dubious, test returned ", "Some tests did not pass: "]),
];

/// Returns the first line that says that something failed.
pub(crate) fn line<'t>(text: &Printed<'t>) -> Option<&'t str> {
    let lines = text.all_lines();
    let mut marked = text.marked_lines().enumerate();
    marked
        .find(|(at, (line, marks))| suspects::is_suspect(line, *marks) && reports_failure(lines, *at))
        .map(|(_, (line, _))| line)
}

/// Whether the line at this place says that something failed.
fn reports_failure(lines: &[&str], at: usize) -> bool {
    const SIGNS: [fn(&str) -> bool; 9] =
        [starts, contains, in_make, in_gradle, in_python, in_flutter, is_not_ok, counts::count_failures, in_json];
    let line = lines[at];
    !is_passed(line) && (SIGNS.iter().any(|sign| sign(line)) || blocks::starts(lines, at))
}

/// Whether a line reports a test that passed. The title of such a test may be anything.
fn is_passed(line: &str) -> bool {
    let (bare, end) = (line.trim_start(), line.trim_end());
    blocks::is_ticked(line)
        || ["ok ", "PASS ", "PASS: ", "--- PASS: "].iter().any(|start| bare.starts_with(start))
        || [" ... ok", " PASSED"].iter().any(|word| end.ends_with(word))
        || end.ends_with("%]") && end.contains(" PASSED ")
}

fn starts(line: &str) -> bool {
    let bare = line.trim_start();
    let rest = STARTS.iter().find_map(|word| line.strip_prefix(word));
    INDENTED.iter().any(|words| bare.starts_with(words))
        // ` FAIL  src/a.test.ts > name` of vitest
        || line.starts_with(" FAIL  ")
        || rest.is_some_and(|rest| {
            let word_ends = !rest.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '_' | '-'));
            let none = rest.trim_matches(|c: char| !c.is_alphanumeric()).eq("0");
            word_ends && !none
        })
}

fn contains(line: &str) -> bool {
    let (bare, end) = (line.trim_start(), line.trim_end());
    let framed = |(start, inside): &(&str, &str)| bare.strip_prefix(start).is_some_and(|rest| rest.contains(inside));
    let inside =
        |(common, words): &(&str, &[&str])| bare.contains(common) && words.iter().any(|words| bare.contains(words));
    ENDS.iter().any(|words| end.ends_with(words)) || FRAMES.iter().any(framed) || ANYWHERE.iter().any(inside)
}

/// `make[1]: *** [Makefile:2: test] Error 1`, and `exit status 1`, which `go test` prints on a line of its own.
fn in_make(line: &str) -> bool {
    let level = |rest: &str| rest.split_once("]: *** ").is_some_and(|(level, _)| level.parse::<u32>().is_ok());
    let code = line.strip_prefix("exit status ").and_then(|code| code.trim_end().parse::<u32>().ok());
    ["make[", "gmake["].iter().any(|make| line.strip_prefix(make).is_some_and(level))
        || code.is_some_and(|code| code > 0)
}

/// `SumsTest > adds() FAILED`
fn in_gradle(line: &str) -> bool {
    line.ends_with(" FAILED") && line.contains(" > ")
}

/// What pytest and unittest say of one test, with `-v` or without, in a summary, or when they stop early.
fn in_python(line: &str) -> bool {
    let line = line.trim_end();
    // `test_a.py::test_b FAILED    [ 50%]`
    let test = line.strip_suffix("%]").and_then(|line| line.rsplit_once('[')).map_or(line, |(test, _)| test.trim_end());
    let ended = |ends: &[&str]| ends.iter().any(|end| test.ends_with(end));
    let first = test.split_whitespace().next().unwrap_or_default();
    let pytest = first.contains(".py::") && ended(&[" FAILED", " ERROR"]);
    // `[gw0] [ 50%] FAILED test_a.py::test_b`
    let worker = line.starts_with("[gw") && ["%] FAILED ", "%] ERROR "].iter().any(|said| line.contains(said));
    // `test_a.py .F.   [100%]`, and `.F.    [100%]` with `-q`
    let dots = if first.ends_with(".py") { test.strip_prefix(first).map_or("", str::trim) } else { test };
    let progress =
        test.len() < line.len() && dots.contains(['F', 'E']) && dots.chars().all(|dot| ".sxXFER".contains(dot));
    // `ERROR test_a.py::test_b - why`; what a test logs has more space behind the word.
    let named = line.strip_prefix("ERROR ").and_then(|rest| rest.split(' ').next());
    let summary = named.is_some_and(|name| name.ends_with(".py") || name.contains(".py::"));
    let title = line.starts_with("__") && [" ERROR collecting ", " ERROR at "].iter().any(|said| line.contains(said));
    let part = matches!(line.trim_matches('='), " FAILURES " | " ERRORS ") && line.starts_with("==");
    let stops = || ["Interrupted:", "KeyboardInterrupt", "stopping after"].iter().any(|said| line.contains(said));
    pytest
        || worker
        || progress
        || summary
        || title
        || part
        || (line.starts_with("!!!!") && line.ends_with("!!!!") && stops())
}

/// `00:01 +2 -1: name`: the time, what passed, what failed.
fn in_flutter(line: &str) -> bool {
    let mut words = line.split(' ');
    let (time, passed, failed) = (words.next(), words.next(), words.next());
    let number = |word: Option<&str>, sign: char| {
        word.is_some_and(|word| {
            word.strip_prefix(sign)
                .is_some_and(|number| number.trim_end_matches(':').parse::<u32>().is_ok_and(|n| n > 0))
        })
    };
    let clock = time.is_some_and(|time| time.contains(':') && time.chars().all(|c| c.is_ascii_digit() || c == ':'));
    clock && passed.is_some_and(|word| word.starts_with('+')) && number(failed, '-')
}

/// `not ok 2 - name`, which no directive excuses.
fn is_not_ok(line: &str) -> bool {
    let excused = |comment: &str| {
        let word = comment.trim_start().to_ascii_lowercase();
        word.starts_with("todo") || word.starts_with("skip")
    };
    let rest = line.strip_prefix("not ok").filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
    rest.is_some_and(|rest| !rest.split('#').skip(1).any(excused))
}

/// `"failures": 1` of a report in JSON, escaped or not, and what `go test -json` says of a build or prints.
fn in_json(line: &str) -> bool {
    if !line.contains('"') {
        return false;
    }
    let printed = line.split_once("\"Output\":\"").map_or("", |(_, printed)| printed.trim_start());
    if line.contains("\"Action\":\"build-fail\"") || printed.starts_with("--- FAIL:") || printed.starts_with("FAIL\\t")
    {
        return true;
    }
    ["failures\"", "failures\\\"", "numFailedTests\"", "numFailedTests\\\"", "failed\"", "failedTests\""].iter().any(
        |key| {
            line.match_indices(key).any(|(at, _)| {
                let opens = line[..at].ends_with('"');
                let value = line[at + key.len()..].trim_start();
                let value = value.strip_prefix(':').map_or("", str::trim_start);
                opens && value.starts_with(|digit: char| ('1'..='9').contains(&digit))
            })
        },
    )
}

#[cfg(test)]
mod tests;
