//! Reports as the test runners print them (`recorded/`), and outputs that must not count as one.

use super::*;
use gatehost_sdk::commands::{Captured, Ending};
use gatehost_sdk::{Class, Status};

fn captured(text: &str) -> Captured {
    Captured { head: text.into(), tail: Vec::new(), length: text.len() as u64, sha256: String::new() }
}

fn ended(code: i32, stdout: &str) -> Output {
    let argv = vec!["run".to_owned(), "tests".to_owned()];
    Output {
        argv,
        ending: Ending::Exited(code),
        stdout: captured(stdout),
        stderr: captured(""),
        rewrites: Vec::new(),
        replayed: false,
    }
}

fn codes(verdict: &Verdict) -> Vec<&str> {
    verdict.findings.iter().map(|finding| &*finding.code).collect()
}

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("../recorded/", $name))
    };
}

#[test]
fn good_reports_pass() {
    for (format, text, summary) in [
        (Format::Cargo, recorded!("cargo-good.txt"), "1 passed"),
        (Format::Pytest, recorded!("pytest-good.txt"), "1 passed"),
        (Format::Jest, recorded!("jest-good.txt"), "1 passed"),
        (Format::Tap, recorded!("good.tap"), "2 passed, 1 skipped"),
        (Format::Junit, recorded!("good.xml"), "2 passed"),
        (Format::Go, recorded!("go-good.jsonl"), "1 passed"),
        (Format::Go, "ok  \texample.com/sums\t0.002s\n?   \texample.com/x\t[no test files]\n", "1 passed"),
        (Format::Go, "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\nok  \texample.com/sums\t0.002s\n", "1 passed"),
        (Format::Nextest, recorded!("nextest-good.txt"), "1 passed, 1 skipped"),
        (Format::Unittest, recorded!("unittest-good.txt"), "1 passed, 1 skipped"),
        (Format::Mocha, recorded!("mocha-good.txt"), "1 passed, 1 skipped"),
        (Format::Vitest, recorded!("vitest-good.txt"), "1 passed, 1 skipped"),
        (
            Format::Ctest,
            "    Start 1: sums\n1/1 Test #1: sums ....   Passed    0.00 sec\n\n100% tests passed, 0 tests failed out of 1\n",
            "1 passed",
        ),
        (Format::Phpunit, "..S  3 / 3 (100%)\n\nOK (3 tests, 5 assertions)\n", "3 passed"),
        (
            Format::Phpunit,
            "OK, but some tests were skipped!\nTests: 3, Assertions: 3, Skipped: 1.\n",
            "2 passed, 1 skipped",
        ),
        (
            Format::Rspec,
            "Finished in 0.01 seconds (files took 0.1 seconds to load)\n3 examples, 0 failures, 1 pending\n",
            "2 passed, 1 skipped",
        ),
        (
            Format::Dotnet,
            "Passed!  - Failed:     0, Passed:     3, Skipped:     1, Total:     4, Duration: 12 ms - Sums.dll (net8.0)\n",
            "3 passed, 1 skipped",
        ),
        (Format::Dotnet, "Test summary: total: 3, failed: 0, succeeded: 3, skipped: 0, duration: 1.2s\n", "3 passed"),
    ] {
        for format in [format, Format::Auto] {
            let verdict = judge(&ended(0, text), &Settings { format, ..Settings::default() });
            assert_eq!((verdict.status, &*verdict.summary), (Status::Pass, summary), "{format:?}: {verdict:?}");
        }
        // Jest reports on standard error.
        let elsewhere = Output { stdout: captured(""), stderr: captured(text), ..ended(0, "") };
        assert_eq!(judge(&elsewhere, &Settings::default()).status, Status::Pass, "{format:?}");
    }
}

#[test]
fn each_failed_test_is_named() {
    for (text, summary, expected) in [
        (
            recorded!("cargo.txt"),
            "3 failed, 1 passed, 1 skipped",
            &[
                "tests::calm: note: test did not panic as expected at src/lib.rs:16:8",
                "tests::worse: Error: \"no luck\"",
                "src/lib.rs:7 tests::bad: assertion `left == right` failed: sums",
            ][..],
        ),
        (
            recorded!("cargo-quiet.txt"),
            "3 failed, 1 passed, 1 skipped",
            &["src/lib.rs:7 tests::bad: assertion `left == right` failed: sums"],
        ),
        (
            recorded!("pytest.txt"),
            "3 failed, 1 passed, 2 skipped",
            &[
                "test_a.py:5 test_a.py::test_bad: AssertionError: three is not four",
                "test_a.py:8 test_a.py::TestGroup::test_in_class: ValueError: no",
                "test_a.py:10 test_a.py::test_error: RuntimeError: fixture",
            ],
        ),
        (
            recorded!("pytest.xml"),
            "3 failed, 1 passed, 2 skipped",
            &[
                "test_a test_bad: AssertionError: three is not four",
                "test_a.TestGroup test_in_class: ValueError: no",
                "test_a test_error: failed on setup with \"RuntimeError: fixture\"",
            ],
        ),
        (
            recorded!("jest.txt"),
            "2 failed, 2 passed, 1 skipped",
            &[
                "src/a.test.js:4 PlannerId › should validate UUID format: expect(received).toBe(expected) // Object.is equality",
                "src/c.test.js:1 Test suite failed to run: Cannot find module './missing' from 'src/c.test.js'",
            ],
        ),
        (
            recorded!("jest.json"),
            "2 failed, 2 passed, 1 skipped",
            &["PlannerId should validate UUID format: Error: expect(received).toBe(expected) // Object.is equality"],
        ),
        (recorded!("node.tap"), "2 failed, 1 passed, 2 skipped", &["bad: 1 == 2", "sub: 1 subtest failed"]),
        (
            recorded!("go.jsonl"),
            "2 failed, 1 passed, 1 skipped",
            &["example.com/broken", "example.com/sums TestTable/negative: sums_test.go:17: got 1, want -1"],
        ),
        (recorded!("nextest.txt"), "1 failed, 1 passed, 1 skipped", &["nx tests::bad"]),
        (
            recorded!("unittest.txt"),
            "2 failed, 1 passed, 1 skipped",
            &[
                "test_bad (__main__.T.test_bad): AssertionError: 1 != 2 : sums",
                "test_err (__main__.T.test_err): ValueError: no",
            ],
        ),
        (
            recorded!("mocha.txt"),
            "2 failed, 1 passed, 1 skipped",
            &[
                "m.spec.js:2 sums is wrong: AssertionError [ERR_ASSERTION]: sums",
                "m.spec.js:2 sums deep breaks: Error: no luck",
            ],
        ),
        (
            recorded!("vitest.txt"),
            "3 failed, 1 passed, 1 skipped",
            &[
                "src/v.test.js:2 src/v.test.js > sums > is wrong: AssertionError: expected 1 to be 2 // Object.is equality",
                "src/w.test.js:1 src/w.test.js: Error: Cannot find module './missing.js' imported from /home/me/project/src/w.test.js",
            ],
        ),
        (
            "--- FAIL: TestTable (0.00s)\n    --- FAIL: TestTable/negative (0.00s)\n        sums_test.go:17: got 1\nFAIL\nFAIL\texample.com/sums\t0.003s\nok  \texample.com/x\t0.01s\n",
            "1 failed, 1 passed",
            &["TestTable/negative: sums_test.go:17: got 1"],
        ),
        (
            "# example.com/broken\n./a.go:3:1: x\nFAIL\texample.com/broken [build failed]\nFAIL\n",
            "1 failed",
            &["example.com/broken"],
        ),
        (
            "50% tests passed, 1 tests failed out of 2\n\nThe following tests FAILED:\n\t  2 - sums (Failed)\nErrors while running CTest\n",
            "1 failed, 1 passed",
            &["sums"],
        ),
        (
            "There was 1 failure:\n\n1) SumsTest::testAdds\nFailed asserting that 1 matches expected 2.\n\n/a/SumsTest.php:9\n\nFAILURES!\nTests: 2, Assertions: 2, Failures: 1.\n",
            "1 failed, 1 passed",
            &["SumsTest::testAdds: Failed asserting that 1 matches expected 2."],
        ),
        (
            "2 examples, 1 failure\n\nFailed examples:\n\nrspec ./spec/sums_spec.rb:5 # Sums adds\n",
            "1 failed, 1 passed",
            &["spec/sums_spec.rb:5 Sums adds"],
        ),
        (
            "  Failed Sums.Tests.Adds [12 ms]\n\nFailed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3, Duration: 1 s - Sums.dll (net8.0)\n",
            "1 failed, 2 passed",
            &["Sums.Tests.Adds"],
        ),
    ] {
        let verdict = judge(&ended(1, text), &Settings::default());
        assert_eq!((verdict.status, &*verdict.summary), (Status::Fail, summary), "{verdict:?}");
        assert_eq!(codes(&verdict).last(), Some(&"exit-nonzero"));
        let found: Vec<String> = verdict.findings.iter().map(shown).collect();
        for expected in expected {
            assert!(found.iter().any(|found| found == expected), "{expected}: {found:#?}");
        }
    }
}

/// The place and the first line.
fn shown(finding: &Finding) -> String {
    let line = finding.message.lines().next().unwrap_or_default();
    match &finding.place {
        Some(place) => format!("{}:{} {line}", place.path, place.line.unwrap_or(0)),
        None => line.to_owned(),
    }
}

#[test]
fn nothing_else_passes() {
    let good = recorded!("good.tap");
    let xml = recorded!("good.xml");
    for (code, text, status, expected) in [
        (1, good, Status::Fail, &["exit-nonzero"][..]),
        (0, "1..2\nok 1\nnot ok 2 - x\n", Status::Fail, &["test-failed", "contradiction"]),
        (0, "1..3\nok 1\nok 2\n", Status::Fail, &["broken-report"]),
        (0, "ok 1\nok 2\n", Status::Fail, &["broken-report"]),
        (0, "1..2\nok 1\nBail out! no database\n", Status::Fail, &["broken-report"]),
        (0, "1..0 # SKIP nothing here\n", Status::Fail, &["too-few-tests"]),
        (0, "1..1\nok 1 # skip later\n", Status::Fail, &["too-few-tests"]),
        (
            0,
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured\n",
            Status::Fail,
            &["too-few-tests"],
        ),
        (
            0,
            "running 2 tests\ntest result: ok. 2 passed; 0 failed; 0 ignored\nrunning 1 test\n",
            Status::Fail,
            &["broken-report"],
        ),
        (
            0,
            "running 1 test\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n",
            Status::Fail,
            &["test-failed", "contradiction"],
        ),
        (5, "no tests ran in 0.01s\n", Status::Fail, &["too-few-tests", "exit-nonzero"]),
        (0, &xml.replace("failures=\"0\"", "failures=\"1\""), Status::Fail, &["test-failed", "contradiction"]),
        (0, &xml.replace("</testcase>", ""), Status::Fail, &["broken-report", "too-few-tests"]),
        (0, &xml.replace("tests=\"2\"", "tests=\"3\""), Status::Fail, &["broken-report"]),
        (
            0,
            &xml.replace("name=\"adds\"", "name=\"adds\" status=\"failed\""),
            Status::Fail,
            &["test-failed", "contradiction"],
        ),
        (
            0,
            "<testsuites tests=\"2\"><testsuite tests=\"2\" disabled=\"2\"><testcase name=\"DISABLED_a\" status=\"notrun\"/>\
             <testcase name=\"b\" status=\"run\" result=\"suppressed\"/></testsuite></testsuites>",
            Status::Fail,
            &["too-few-tests"],
        ),
        (
            0,
            "{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"T\"}\n{\"Action\":\"fail\",\"Package\":\"p\"}\n\
             {\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"T\"}\n{\"Action\":\"pass\",\"Package\":\"p\"}\n",
            Status::Fail,
            &["test-failed", "contradiction"],
        ),
        (0, "1 failed in 0.02s\n1 passed in 0.01s\n", Status::Fail, &["test-failed", "contradiction"]),
        (0, "100 tests passed, 0 failed", Status::Abstain, &[]),
        (0, "", Status::Abstain, &[]),
        (1, "100 tests passed", Status::Fail, &["exit-nonzero"]),
        (0, "{\"Action\":\"pass\"}\n{}\n", Status::Abstain, &[]),
    ] {
        let verdict = judge(&ended(code, text), &Settings::default());
        assert_eq!((verdict.status, &*codes(&verdict)), (status, expected), "{text}");
    }
}

#[test]
fn a_failure_in_any_report_counts() {
    let xml = recorded!("good.xml");
    for (stdout, stderr) in [
        (format!("{xml}\n=== short test summary info ===\nFAILED a.py::x\n1 failed in 0.02s\n"), ""),
        ("1..1\nok 1 - a\n".to_owned(), "Test Suites: 1 failed, 1 total\nTests: 1 failed, 1 total\n"),
        (recorded!("cargo-good.txt").to_owned(), "FAILED a.py::x\n1 failed in 0.1s"),
    ] {
        let output = Output { stderr: captured(stderr), ..ended(0, &stdout) };
        assert_eq!(codes(&judge(&output, &Settings::default())), ["test-failed", "contradiction"], "{stdout}");
    }
    let both = Output { stderr: captured(recorded!("cargo-good.txt")), ..ended(0, xml) };
    assert_eq!(judge(&both, &Settings::default()).status, Status::Pass);
}

#[test]
fn no_spelling_of_a_failure_passes_with_exit_code_0() {
    let jest = |failed: usize| {
        format!("Test Suites: {failed} failed, 1 passed, 2 total\nTests:       {failed} failed, 1 passed, 2 total\n")
    };
    let json = |failed: usize| {
        format!(
            "{{\"numPassedTests\":1,\"numFailedTests\":{failed},\"numPendingTests\":0,\"success\":{},\"testResults\":[]}}",
            failed == 0
        )
    };
    let suite = |inside: &str| format!("<testsuite tests=\"1\"><testcase name=\"a\"/>{inside}</testsuite>");
    for text in [
        // Two documents, two sums, and text beside JSON.
        format!("{}\n{}", json(0), json(1)),
        format!("{}\n{}", json(1), json(0)),
        format!("{}{}", jest(1), jest(0)),
        format!("{}{}", jest(0), json(1)),
        format!("{}{}", jest(1), json(0)),
        format!("{}{{\"numPassedTests\":1,\"numF", jest(0)),
        // TAP
        "1..2\nok 1 - a\nnot ok 2 - b # skips comments\n".to_owned(),
        "1..2\nok 1 - a\nnot ok 2 - b # todos are listed\n".to_owned(),
        "1..1\n    not ok 1 - inner\n    1..1\nok 1 - outer\n".to_owned(),
        format!("{}Bail out! no database\n", recorded!("cargo-good.txt")),
        format!("{}    bail out!\n", recorded!("good.tap")),
        // cargo
        "running 1 test\ntest result: FAILED. 1 passed; 0 failed; 0 ignored\n".to_owned(),
        // JUnit
        suite("<error message=\"fixture\"/>"),
        suite("<failure/>"),
        format!("<testsuites>{}</testsuites>", suite("<error/>")),
        suite("").replace("tests=", "failures=\"1.0\" tests="),
        suite("").replace("tests=", "errors=\"one\" tests="),
        "<testsuite tests=\"1\"><testcase name=\"a\"><testcase name=\"b\"><failure/></testcase></testcase></testsuite>"
            .to_owned(),
        "<testsuite tests=\"1\"><testcase name=\"a\"><rerun><failure/></rerun></testcase></testsuite>".to_owned(),
        format!("<?xml version=\"1.0\"?>{}\n<?xml version=\"1.0\"?>{}", suite(""), suite("<error/>")),
        // Others beside a known pass.
        format!("{}{}", recorded!("good.tap"), recorded!("nextest.txt")),
        format!("{}{}", recorded!("good.tap"), recorded!("unittest.txt")),
        format!("{}--- FAIL: TestA (0.00s)\nFAIL\n", recorded!("good.tap")),
        format!("{}FAILED (problems=1)\n", recorded!("pytest-good.txt")),
        format!("{}BUILD FAILED in 3s\n", recorded!("good.xml")),
        "Ran 1 test in 0.001s\n\nOK\nRan 1 test in 0.001s\n\nFAILED (errors=1)\n".to_owned(),
        "Ran 2 tests in 0.001s\n\nFAILED (unexpected successes=1)\n".to_owned(),
        "Ran 2 tests in 0.001s\n".to_owned(),
        "     Summary [   1.395s] 2 tests run: 1 passed, 1 timed out, 0 skipped\n".to_owned(),
        " Nextest run with nextest profile: default\n        PASS [   0.113s] nx tests::good\n".to_owned(),
        "OK (1 test, 1 assertion)\nERRORS!\nTests: 1, Assertions: 0, Errors: 1.\n".to_owned(),
        "1 example, 0 failures, 1 error occurred outside of examples\n".to_owned(),
        // A document without a declaration before one that has it.
        format!("{}\n<?xml version=\"1.0\"?>{}", suite("<failure/>"), suite("")),
        // Written over by a progress bar, after an escape that is no colour, in the words of an older version.
        format!("{}running\rFAILED (errors=1)\n", recorded!("good.tap")),
        format!("{}\u{1b}(B\u{1b}[mFAILED (errors=1)\n", recorded!("good.tap")),
        format!("{}\u{1b}]8;;http://a\u{7}FAILED\u{1b}]8;;\u{7}\n", recorded!("good.tap")),
        format!("{}==== 1 failed, 1 passed in 0.12 seconds ====\n", recorded!("good.tap")),
        // JSON that is laid out, or quoted in other JSON, and an event with something before it.
        format!("{}{}", recorded!("good.tap"), json(1).replace(',', ",\n ").replace('{', "{\n ")),
        format!("{}{}", recorded!("good.tap"), json(1).replace('"', "\\\"")),
        format!("{}..{{\"Action\":\"fail\",\"Package\":\"a\",\"Test\":\"TestA\"}}\n", recorded!("go-good.jsonl")),
        // Runners without a reader, and builds that broke.
        format!("{}[  FAILED  ] Sums.Adds (0 ms)\n", recorded!("good.tap")),
        format!("{}Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\n", recorded!("good.xml")),
        format!("{}error: could not compile `b` (lib test) due to 1 previous error\n", recorded!("cargo-good.txt")),
        format!("{}make: *** [Makefile:2: test] Error 1\n", recorded!("pytest-good.txt")),
        // A test that failed, although the sum of the same runner counts none.
        "        FAIL [   0.005s] a b\n     Summary [   0.010s] 1 test run: 1 passed, 0 skipped\n".to_owned(),
        "     SIGABRT [   0.005s] a b\n     Summary [   0.010s] 1 test run: 1 passed, 0 skipped\n".to_owned(),
        "     Summary [   0.010s] 1/3 tests run: 1 passed, 0 skipped\n".to_owned(),
        "1/2 Test #1: a ....   Passed    0.00 sec\n2/2 Test #2: b ....***Failed    0.00 sec\n\n\
         100% tests passed, 0 tests failed out of 2\n"
            .to_owned(),
        "1/1 Test #1: a ....***Exception: SegFault  0.00 sec\n100% tests passed, 0 tests failed out of 1\n".to_owned(),
        "1 example, 0 failures\nrspec ./spec/a_spec.rb:3 # X y\n".to_owned(),
        "  Failed A.B [1 ms]\nPassed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3\n".to_owned(),
        "Total tests: 3\n     Passed: 2\n     Failed: 1\n".to_owned(),
        "Snapshots:   1 failed, 1 total\nTests:       1 passed, 1 total\nTest Suites: 1 passed, 1 total\n".to_owned(),
        // Subtests that are missing, and a block that never ends.
        "1..1\n    1..2\n    ok 1\nok 1 - x\n".to_owned(),
        "1..1\nok 1\n  ---\nBail out! no database\n".to_owned(),
        "1..1\nok 1\u{b}not ok 2\n".to_owned(),
        // Elements and attributes of JUnit that others write.
        suite("").replace("name=\"a\"/>", "name=\"a\"><Failure/></testcase>"),
        suite("").replace("name=\"a\"/>", "name=\"a\"><rerunFailure/></testcase>"),
        suite("").replace("name=\"a\"/>", "name=\"a\" success=\"False\"/>"),
    ] {
        let verdict = judge(&ended(0, &text), &Settings::default());
        assert_eq!(TestReport::ABOUT.undeclared(&verdict), [""; 0]);
        assert_eq!(verdict.status, Status::Fail, "{text}: {verdict:?}");
    }
    // A failure in what was cut, of a stream that has no report of its own.
    let cut = Captured { length: 9_000_000, ..captured("{\"Action\":\"output\"}\n") };
    let output = Output { stderr: cut, ..ended(0, recorded!("go-good.jsonl")) };
    assert_eq!(codes(&judge(&output, &Settings::default())), ["report-cut"]);
}

#[test]
fn what_failed_is_told_once_and_counted() {
    let both = format!("{}{}", recorded!("jest.txt"), recorded!("jest.json"));
    let verdict = judge(&ended(1, &both), &Settings::default());
    let keys: Vec<&str> = verdict.findings.iter().filter_map(|finding| finding.key.as_deref()).collect();
    assert_eq!(keys.iter().filter(|key| key.ends_with("UUID format")).count(), 1, "{keys:?}");
    let metrics: Vec<(&str, f64)> = verdict.metrics.iter().map(|metric| (&*metric.name, metric.value)).collect();
    assert_eq!(metrics[0].0, "tests-run");
    let verdict = judge(&ended(0, recorded!("good.tap")), &Settings::default());
    let metrics: Vec<(&str, f64)> = verdict.metrics.iter().map(|metric| (&*metric.name, metric.value)).collect();
    assert_eq!(metrics, [("tests-run", 2.0), ("tests-failed", 0.0), ("tests-skipped", 1.0)]);
}

#[test]
fn honest_reports_that_look_odd_pass() {
    let logged = "test_a.py::test_a \n---- live log call ----\nERROR    root:test_a.py:5 retrying\nPASSED\n\n\
                  ==== 1 passed in 0.01s ====\n";
    let only_counted = "<testsuites tests=\"3\" skipped=\"1\"><testsuite tests=\"3\" skipped=\"1\">\
                        <testcase name=\"a\" status=\"run\" result=\"completed\"/><testcase name=\"b\" status=\"passed\"/>\
                        </testsuite></testsuites>";
    let nested = "<testsuites tests=\"2\"><testsuite tests=\"2\"><testsuite tests=\"1\"><testcase name=\"a\"/></testsuite>\
                  <testsuite tests=\"1\"><testcase name=\"b\"/></testsuite></testsuite></testsuites>";
    let subtests = "1..1\n# Subtest: a\n    ok 1 - inner\n    not ok 2 - later # TODO\n    1..2\nok 1 - a\n";
    let said = "test_a.py::test_a FAILED-LOGIN is logged\nFAILED: 0\n==== 1 passed in 0.01s ====\n";
    let expected = "Ran 2 tests in 0.001s\n\nOK (expected failures=1)\n";
    let two = "<?xml version=\"1.0\"?><testsuite tests=\"1\"><testcase name=\"a\"/></testsuite>\n\
               <?xml version=\"1.0\"?><testsuite tests=\"1\"><testcase name=\"b\"/></testsuite>\n";
    let expected_verbose = "test_e (t.T.test_e) ... expected failure\ntest_s (t.T.test_s) ... skipped 'no'\n\
                            test_a (t.T.test_a) ... ok\nRan 3 tests in 0.001s\n\nOK (skipped=1, expected failures=1)\n";
    let flaky = "  TRY 1 FAIL [   0.005s] (1/2) a tests::flaky\n\n  stdout ───\n\n    running 1 test\n    test tests::flaky ... FAILED\n\n\
                     test result: FAILED. 0 passed; 1 failed; 0 ignored\n\n  TRY 2 PASS [   0.004s] (2/2) a tests::flaky\n\
                      Summary [   0.010s] 1 test run: 1 passed (1 flaky), 0 skipped\n   FLAKY 2/3 [   0.004s] a tests::flaky\n"
        .replace("test result", "    test result");
    let quoted = "<testsuite tests=\"1\"><testcase name=\"a\"><system-out>\nFAILED to connect\n1 test failed\n</system-out>\
                  </testcase></testsuite>";
    let prove = "t/a.t .. \nok 1 - x\n1..1\nok\nt/b.t .. \n1..2\nok 1\nok 2\nok\nAll tests successful.\nResult: PASS\n";
    let repeated = "    Test #1: a ....***Failed    0.00 sec\n1/1 Test #1: a ....   Passed    0.01 sec\n\n\
                    100% tests passed, 0 tests failed out of 1\n";
    let totals =
        "  Passed A.B [1 ms]\n\nTest Run Successful.\nTotal tests: 3\n     Passed: 3\n Total time: 0.5 Seconds\n";
    let title = "\n  errors\n    ✔ 1 failing\n\n  1 passing (5ms)\n";
    for text in [
        logged,
        only_counted,
        nested,
        subtests,
        said,
        expected,
        two,
        expected_verbose,
        &flaky,
        quoted,
        prove,
        repeated,
        totals,
        title,
    ] {
        let verdict = judge(&ended(0, text), &Settings::default());
        assert_eq!(verdict.status, Status::Pass, "{text}: {verdict:?}");
    }
}

#[test]
fn a_report_that_was_cut_is_not_relied_on() {
    let good = recorded!("good.tap");
    let cut = Captured { length: 9_000_000, ..captured(good) };
    let verdict = judge(&Output { stdout: cut, ..ended(0, "") }, &Settings::default());
    assert_eq!(codes(&verdict), ["report-cut"]);
}

#[test]
fn what_never_ended_is_no_success() {
    for (ending, code, class) in
        [(Ending::TimedOut, "timed-out", "timeout"), (Ending::Signalled(11), "signalled", "verify-failure")]
    {
        let verdict = judge(&Output { ending, ..ended(0, recorded!("good.tap")) }, &Settings::default());
        assert_eq!((&*codes(&verdict), verdict.class.as_ref().map(Class::as_str)), (&[code][..], Some(class)));
    }
}

#[test]
fn enough_tests_must_have_run() {
    let settings = |min_tests| Settings { min_tests, ..Settings::default() };
    assert_eq!(judge(&ended(0, recorded!("good.tap")), &settings(2)).status, Status::Pass);
    assert_eq!(codes(&judge(&ended(0, recorded!("good.tap")), &settings(3))), ["too-few-tests"]);
}

#[test]
fn the_settings_are_read() {
    let settings: Settings = serde_json::from_str(r#"{"format": "go", "command": "c"}"#).expect("settings");
    assert_eq!((settings.format, settings.min_tests, settings.command.as_deref()), (Format::Go, 1, Some("c")));
}
