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
    "Failures:",
    "Failed examples:",
    "TEST FAILED",
    "TESTS FAILED",
    "Result: FAIL",
];

/// How such a line starts behind any indentation: words that only runners and build tools print.
const INDENTED: &[&str] = &[
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
    "success",
    "successes",
    "succeeded",
];

const BAD: &[&str] = &["fail", "fails", "failed", "failing", "failure", "failures", "error", "errors", "errored"];

/// The first line that says that something failed.
pub(crate) fn line(text: &str) -> Option<&str> {
    const SIGNS: [fn(&str) -> bool; 10] =
        [starts, in_prove, in_make, in_gradle, in_bazel, in_python, is_not_ok, counts, in_json, in_documents];
    text.lines().find(|line| SIGNS.iter().any(|sign| sign(line)))
}

fn starts(line: &str) -> bool {
    let bare = line.trim_start();
    let rest = STARTS.iter().find_map(|word| line.strip_prefix(word));
    INDENTED.iter().any(|words| bare.starts_with(words))
        || rest.is_some_and(|rest| {
            let word_ends = !rest.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '_' | '-'));
            let none = rest.trim_matches(|c: char| !c.is_alphanumeric()).eq("0");
            word_ends && !none
        })
}

/// What `prove` says of a file: `Failed 1/2 subtests`, `t/a.t .. Dubious, test returned 1`.
fn in_prove(line: &str) -> bool {
    let bare = line.trim();
    (bare.starts_with("Failed ") && bare.ends_with(" subtests")) || bare.contains(" Dubious, test returned ")
}

/// `make[1]: *** [Makefile:2: test] Error 1`, and `exit status 1`, which `go test` prints on a line of its own.
fn in_make(line: &str) -> bool {
    let level = |rest: &str| rest.split_once("]: *** ").is_some_and(|(level, _)| level.parse::<u32>().is_ok());
    let code = line.strip_prefix("exit status ").and_then(|code| code.trim_end().parse::<u32>().ok());
    ["make[", "gmake["].iter().any(|make| line.strip_prefix(make).is_some_and(level))
        || code.is_some_and(|code| code > 0)
}

/// `> Task :test FAILED`, `SumsTest > adds() FAILED`
fn in_gradle(line: &str) -> bool {
    line.ends_with(" FAILED") && (line.starts_with("> Task ") || line.contains(" > "))
}

/// `//sums:test   FAILED in 0.5s`
fn in_bazel(line: &str) -> bool {
    let target = line.starts_with("//") && line.contains(':');
    target && [" FAILED in ", " FAILED TO BUILD", " TIMEOUT in "].iter().any(|said| line.contains(said))
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
    // `test_a.py .F.   [100%]`
    let dots = test.strip_prefix(first).map_or("", str::trim);
    let progress = test.len() < line.len()
        && first.ends_with(".py")
        && dots.contains(['F', 'E'])
        && dots.chars().all(|dot| ".sxXFER".contains(dot));
    // `ERROR test_a.py::test_b - why`; what a test logs has more space behind the word.
    let named = line.strip_prefix("ERROR ").and_then(|rest| rest.split(' ').next());
    let summary = named.is_some_and(|name| name.ends_with(".py") || name.contains(".py::"));
    let title = line.starts_with("__") && [" ERROR collecting ", " ERROR at "].iter().any(|said| line.contains(said));
    let stops = ["Interrupted:", "KeyboardInterrupt", "stopping after"].iter().any(|said| line.contains(said));
    pytest
        || worker
        || progress
        || summary
        || title
        || (stops && line.starts_with("!!!!") && line.ends_with("!!!!"))
        || ended(&[" ... FAIL", " ... ERROR"])
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
    // The title of a test that passed may be anything.
    if line.trim_start().starts_with(['✓', '✔', '√']) {
        return false;
    }
    let line = line.replace(" / ", ",");
    let pieces: Vec<Vec<&str>> = line.split([',', ';', '|']).map(words).collect();
    let is = |list: &[&str], word: &str| list.iter().any(|known| word.eq_ignore_ascii_case(known));
    // The number beside one of these words, on either side.
    let beside = |piece: &[&str], list: &[&str]| -> Option<u64> {
        // `expected failures=1` of unittest is none.
        let piece = if piece.contains(&"expected") { &[] } else { piece };
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
    // `1 test failed`
    let sentence = pieces.len() == 1
        && matches!(*pieces[0], [number, counted, bad]
            if number.parse::<u64>().is_ok_and(|number| number > 0) && is(COUNTED, counted) && is(BAD, bad));
    sentence || bad && (alone || pieces.len() > 1 && pieces.iter().any(counted))
}

fn has_number(piece: &[&str]) -> bool {
    piece.iter().any(|word| word.parse::<u64>().is_ok())
}

fn words(piece: &str) -> Vec<&str> {
    piece.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(14).collect()
}

/// `"failures": 1` of a report in JSON, escaped or not, and what `go test -json` says of a build or prints.
fn in_json(line: &str) -> bool {
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

/// Results of xUnit, NUnit and MSTest in XML, and errors of .NET's compilers.
fn in_documents(line: &str) -> bool {
    const RESULTS: [&str; 4] = ["result=\"Fail\"", "result=\"Failed\"", "outcome=\"Failed\"", "outcome=\"Error\""];
    const ERRORS: [&str; 4] = ["): error CS", "): error FS", "): error BC", ": error MSB"];
    RESULTS.iter().chain(&ERRORS).any(|said| line.contains(said))
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
            "   error: could not compile `b` (lib test) due to 1 previous error",
            "  process didn't exit successfully: `/t/x` (signal: 11, SIGSEGV: invalid memory reference)",
            "make[1]: *** [Makefile:3: test] Error 1",
            "exit status 2",
            "  FAILED (failures=1)",
            " ELIFECYCLE  Test failed. See above for more details.",
            "error Command failed with exit code 1.",
            "[INFO] BUILD FAILURE",
            "//sums:test    FAILED in 0.5s",
            "test_a.py::test_x FAILED          [ 50%]",
            "test_a.py::T::test_x ERROR",
            "[gw0] [100%] FAILED test_a.py::test_x ",
            "ERROR test_a.py::test_x - assert 0",
            "test_a.py .F.s     [100%]",
            "______ ERROR collecting test_b.py ______",
            "!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!",
            "INTERNALERROR> Traceback (most recent call last):",
            "test_x (a.T.test_x) ... FAIL",
            "test_x (a.T.test_x) ... ERROR",
            "1 test failed",
            "1 success / 1 failure / 0 errors / 0 pending : 0.1 seconds",
            "Result: FAIL",
            "Failed 1/2 subtests",
            "t/a.t .. Dubious, test returned 1 (wstat 256, 0x100)",
            "Failures:",
            "{\"ImportPath\":\"a\",\"Action\":\"build-fail\"}",
            "{\"Action\":\"output\",\"Package\":\"b\",\"Output\":\"    --- FAIL: TestX (0.00s)\\n\"}",
            "<test name=\"x\" result=\"Fail\"/>",
            "<UnitTestResult testName=\"x\" outcome=\"Failed\"/>",
            "a.cs(1,1): error CS1002: ; expected [/a/a.csproj]",
            "(fail) sums > adds [0.50ms]",
            "Vitest caught 1 unhandled error during the test run.",
            "The active test run was aborted. Reason: Test host process crashed",
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
            "OK (skipped=1, expected failures=1)",
            "    ✔ 1 failing",
            "Failures: 0",
            "make[1]: Leaving directory '/a'",
            "exit status 0",
            "the child ended with exit status 2",
            "test_a.py::test_x[FAILED] PASSED        [ 60%]",
            "test_a.py .x.s     [100%]",
            "ERROR    root:test_a.py:5 retrying",
            "ERROR test_a is what a test logs",
            "test_x (a.T.test_x) ... expected failure",
            "test errors ... ok",
            "{\"Action\":\"output\",\"Package\":\"b\",\"Output\":\"    a_test.go:4: FAIL is a word\\n\"}",
            "3 tests passed",
            "0 tests failed",
        ] {
            assert_eq!(line(&format!("{said}\n")), None);
        }
    }
}
