//! What an output says of failures besides its reports: of a runner that has no reader here, of a build that broke before
//! its tests began, of a command whose exit code something swallowed.
//!
//! Only an output is searched whose exit code is 0 and whose reports know of no failure. Only words count with which
//! runners and build tools start a line, and rows of counts as they sum up with; what tests log in sentences does not.

/// How a line starts that says it. Behind it no word goes on, and `: 0` takes it back.
const STARTS: &[&str] = &[
    "FAILED",
    "FAILURE",
    "FAIL",
    "FAILURES!",
    "ERRORS!",
    "--- FAIL:",
    "[  FAILED  ]",
    "BUILD FAILED",
    "Build FAILED",
    "** TEST FAILED **",
    "** BUILD FAILED **",
    "Test Run Failed.",
    "Test Run Aborted.",
    "Errors while running CTest",
    "error: test failed",
    "error: test run failed",
    "error: doctest failed",
    "error: could not compile",
    "[ERROR] Failed to execute goal",
    "make: ***",
    "npm ERR!",
    "npm error",
    "Segmentation fault",
    "##teamcity[testFailed",
];

/// What runners count besides failures. A row of counts is one of tests only if it has one of these.
const COUNTED: &[&str] = &[
    "test",
    "tests",
    "example",
    "examples",
    "assertion",
    "assertions",
    "spec",
    "specs",
    "scenarios",
    "pass",
    "passed",
    "passes",
    "passing",
    "skipped",
    "pending",
    "ignored",
];

const BAD: &[&str] = &["fail", "fails", "failed", "failing", "failure", "failures", "error", "errors", "errored"];

/// The first line that says that something failed.
pub(crate) fn line(text: &str) -> Option<&str> {
    text.lines().find(|line| starts(line) || fails_in_gradle(line) || is_not_ok(line) || counts(line) || in_json(line))
}

fn starts(line: &str) -> bool {
    let rest = STARTS.iter().find_map(|word| line.strip_prefix(word));
    rest.is_some_and(|rest| {
        let word_ends = !rest.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '_' | '-'));
        let none = rest.trim_matches(|c: char| !c.is_alphanumeric()).eq("0");
        word_ends && !none
    })
}

/// `> Task :test FAILED`, `SumsTest > adds() FAILED`
fn fails_in_gradle(line: &str) -> bool {
    line.ends_with(" FAILED") && (line.starts_with("> Task ") || line.contains(" > "))
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

/// `3 runs, 5 assertions, 1 failures, 0 errors`, `Tests run: 3, Failures: 1`, ` 1 fail`
fn counts(line: &str) -> bool {
    let pieces: Vec<Vec<&str>> = line.split([',', ';', '|']).map(words).collect();
    let is = |list: &[&str], word: &str| list.iter().any(|known| word.eq_ignore_ascii_case(known));
    // The number beside one of these words, on either side.
    let beside = |piece: &[&str], list: &[&str]| -> Option<u64> {
        piece.windows(2).find_map(|pair| match (pair[0].parse(), pair[1].parse()) {
            (Ok(number), Err(_)) if is(list, pair[1]) => Some(number),
            (Err(_), Ok(number)) if is(list, pair[0]) => Some(number),
            _ => None,
        })
    };
    let bad = pieces.iter().any(|piece| piece.len() <= 12 && beside(piece, BAD).is_some_and(|number| number > 0));
    let counted =
        |piece: &Vec<&str>| piece.len() <= 5 && piece.iter().any(|word| is(COUNTED, word)) && has_number(piece);
    let alone =
        pieces.len() == 1 && pieces[0].len() == 2 && pieces[0].iter().all(|word| !is(&["error", "errors"], word));
    bad && (alone || pieces.len() > 1 && pieces.iter().any(counted))
}

fn has_number(piece: &[&str]) -> bool {
    piece.iter().any(|word| word.parse::<u64>().is_ok())
}

fn words(piece: &str) -> Vec<&str> {
    piece.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(14).collect()
}

/// `"failures": 1` of a report in JSON, escaped or not.
fn in_json(line: &str) -> bool {
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
mod tests {
    use super::*;

    #[test]
    fn runners_and_builds_say_it() {
        for said in [
            "FAILED (failures=1)",
            "FAIL: test-suite.sh",
            "[  FAILED  ] Sums.Adds (0 ms)",
            "> Task :test FAILED",
            "SumsTest > adds() FAILED",
            "not ok 2 - adds",
            "not ok",
            "Tests run: 3, Failures: 1, Errors: 0, Skipped: 0",
            "[ERROR] Tests run: 3, Failures: 0, Errors: 1, Skipped: 0, Time elapsed: 0.01 s",
            "3 runs, 5 assertions, 1 failures, 0 errors, 0 skips",
            "3 tests, 1 failure",
            "3 tests completed, 1 failed",
            "\t Executed 3 tests, with 1 failure (0 unexpected) in 0.012 (0.014) seconds",
            " 1 fail",
            "1 failing",
            "# fail 1",
            "Failed: 2",
            "FAILED | 1 passed | 1 failed (5ms)",
            "error: could not compile `sums` (lib test) due to 1 previous error",
            "error: test failed, to rerun pass `--lib`",
            "make: *** [Makefile:2: test] Error 1",
            "npm ERR! Test failed.  See above for more details.",
            "  \"failures\": 1,",
            "{\"stats\":{\"passes\":2,\"failures\":1}}",
            "Segmentation fault (core dumped)",
        ] {
            assert_eq!(line(&format!("before\n{said}\nafter\n")), Some(said));
        }
    }

    #[test]
    fn what_tests_log_and_counts_of_none_do_not() {
        for said in [
            "FAILED: 0",
            "FAILED-LOGIN is logged",
            "failures are retried, 3 times",
            "authentication FAILED",
            "3 tests, 0 failures",
            "Tests run: 3, Failures: 0, Errors: 0, Skipped: 1",
            "# fail 0",
            "0 failing",
            "✖ 3 problems (1 error, 2 warnings)",
            "processed 3 files, 1 error",
            "warning: 1 failed attempt, and then it worked",
            "not ok 2 - later # TODO not there yet",
            "nothing is not ok here",
            "  \"failures\": 0,",
            "the key \"failures\" is 1",
            "1 error",
            "made: *** stars",
            "test tests::reports_1_failed ... ok",
            "test errors_are_counted, 2 ... ok",
            "PASS src/errors 1 failed.test.js",
        ] {
            assert_eq!(line(&format!("{said}\n")), None);
        }
    }
}
