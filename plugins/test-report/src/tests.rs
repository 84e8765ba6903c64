//! Reports as the programs really print them (`recorded/`), and what must not pass for one.

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
fn honest_reports_that_look_odd_pass() {
    let logged = "test_a.py::test_a \n---- live log call ----\nERROR    root:test_a.py:5 retrying\nPASSED\n\n\
                  ==== 1 passed in 0.01s ====\n";
    let only_counted = "<testsuites tests=\"3\" skipped=\"1\"><testsuite tests=\"3\" skipped=\"1\">\
                        <testcase name=\"a\" status=\"run\" result=\"completed\"/><testcase name=\"b\" status=\"passed\"/>\
                        </testsuite></testsuites>";
    let nested = "<testsuites tests=\"2\"><testsuite tests=\"2\"><testsuite tests=\"1\"><testcase name=\"a\"/></testsuite>\
                  <testsuite tests=\"1\"><testcase name=\"b\"/></testsuite></testsuite></testsuites>";
    for text in [logged, only_counted, nested] {
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
