//! Tests some guests more closely: not only how they end, but what is kept of them.

use super::*;
use gatehost::runtime::{ComponentSource, LogLevel};
use gatehost::verdict::{Class, Level};
use std::fs::{self, File};
use std::path::Path;

fn verdict(host: &TestHost, name: &str, question: Question) -> Verdict {
    host.ask(&guests::component(name), question).expect("loaded").verdict
}

#[test]
fn a_file_of_a_gigabyte_is_refused_unread() {
    let folder = crate::support::tempdir().expect("a folder");
    let path = folder.path().join("huge.wasm");
    File::create(&path).expect("a file").set_len(1 << 30).expect("a sparse file");
    let failure = ComponentSource::from_file(&path).expect_err("too large");
    assert_eq!(failure.kind, LoadLimit);
}

#[test]
fn other_bytes_than_the_expected_are_refused() {
    let source = ComponentSource::from_bytes(guests::component("another-name"));
    source
        .must_be(&ComponentSource::from_bytes(guests::component("another-name")).digest().to_uppercase())
        .expect("the same");
    let failure = source.must_be(json_syntax().digest).expect_err("others");
    assert_eq!(failure.kind, TrustDigestMismatch);

    let folder = crate::support::tempdir().expect("a folder");
    fs::write(folder.path().join("other.wasm"), source.bytes()).expect("written");
    let named = |name: &str, digest: &str| ComponentSource::named(&format!("{name}@{digest}"), folder.path());
    named("./other.wasm", source.digest()).expect("the same");
    named("json-syntax", json_syntax().digest).expect("the same");
    for (name, digest) in [("./other.wasm", json_syntax().digest), ("json-syntax", source.digest())] {
        assert_eq!(named(name, digest).expect_err("others").kind, TrustDigestMismatch, "{name}");
    }
}

#[test]
fn what_was_hashed_is_what_runs_whatever_becomes_of_the_file() {
    let folder = crate::support::tempdir().expect("a folder");
    let path = folder.path().join("swapped.wasm");
    fs::write(&path, guests::component("unreachable")).expect("written");
    let source = ComponentSource::from_file(&path).expect("read");
    fs::write(&path, guests::component("another-name")).expect("written");
    source.must_be(ComponentSource::from_bytes(guests::component("unreachable")).digest()).expect("the first");
    let answer = TestHost::new().ask(source.bytes(), Question::default()).expect("loaded");
    assert_eq!(answer.verdict.error.map(|failure| failure.kind), Some(TrapUnreachable));
}

#[test]
fn no_part_of_a_component_is_a_component() {
    let host = TestHost::new();
    let whole = json_syntax().wasm();
    for length in (0..whole.len()).step_by(whole.len() / 100) {
        assert!(host.ask(&whole[..length], Question::default()).is_err(), "the first {length} bytes");
    }
}

#[test]
fn a_component_with_a_flipped_bit_is_refused_or_answers() {
    let host = TestHost::new();
    let whole = guests::component("clock-and-random");
    let limits = Limits { time: Duration::from_millis(50), ..Limits::default() };
    for position in (0..whole.len()).step_by(whole.len() / 200) {
        let mut flipped = whole.clone();
        flipped[position] ^= 1 << (position % 8);
        // Any answer will do; `ask` fails the test for a panic and for a call without an end.
        let _ = host.ask(&flipped, Question { limits: limits.clone(), ..Question::default() });
    }
    assert!(host.is_well());
}

#[test]
fn what_is_refused_is_named_with_what_would_help() {
    let host = TestHost::new();
    for (name, words) in [
        ("import-env", "`launch-missiles`"),
        ("import-network", "`wasi:sockets/instance-network@0.2.6`"),
        ("import-newer-wasi", "`wasi:cli/exit@0.3.0`"),
        ("import-unknown-function", "`erase`"),
        ("import-workspace", "no grant `workspace`"),
        ("import-commands", "no grant `command:NAME`"),
        ("import-models", "no grant `model:NAME`"),
        ("version-older", "version 0.0.9 of the contract; this host has 0.1.0 and accepts 0.1.x"),
        ("export-wrong-type", "`describe`"),
        ("feature-memory64", "memory64"),
    ] {
        let failure = host.ask(&guests::component(name), Question::default()).expect_err(name);
        assert!(failure.message.contains(words), "{name}: {failure}");
    }
}

#[test]
fn a_description_has_limits_too() {
    let host = TestHost::new();
    for (name, kind) in [("greedy-description", LimitMemory), ("aliased-rules", LimitTransfer)] {
        let source = ComponentSource::from_bytes(guests::component(name));
        let failure = host.describe(&source).expect_err(name);
        assert_eq!(failure.kind, kind, "{name}");
    }
}

#[test]
fn every_call_is_the_first_of_a_fresh_instance() {
    let host = TestHost::new();
    for name in ["pass-at-the-second-call", "fail-at-the-second-call"] {
        let first = verdict(&host, name, Question::default());
        assert_eq!(first, verdict(&host, name, Question::default()), "{name}");
    }
}

#[test]
fn clocks_stand_still_and_random_numbers_follow_from_the_input() {
    let ask = |content: &[u8], settings| {
        let question = Question { content: content.to_vec(), settings, ..Question::default() };
        verdict(&TestHost::new(), "clock-and-random", question)
    };
    let first = ask(b"a", "{}");
    assert_eq!(first, ask(b"a", "{}"));
    // The lot is the first 16 digits of the summary, and the clocks are the others.
    for other in [ask(b"b", "{}"), ask(b"a", "{\"b\":1}")] {
        assert_ne!(first.summary[..16], other.summary[..16]);
        assert_eq!(first.summary[16..], other.summary[16..]);
    }
}

#[test]
fn a_flood_of_log_lines_is_cut_and_counted() {
    let host = TestHost::new();
    let log = Limits::default().log;
    for (name, written) in [("log-flood", 1_000), ("print-flood", 154_624)] {
        let answer = host.ask(&guests::component(name), Question::default()).expect("loaded");
        assert_eq!(answer.verdict.status, Status::Pass, "{name}");
        assert!(answer.log.iter().map(|line| line.message.len()).sum::<usize>() <= 8 * log, "{name}");
        assert!(answer.log_dropped > 0, "{name}");
        assert!(answer.log.len() as u64 + answer.log_dropped >= written, "{name}");
    }
}

#[test]
fn what_a_guest_logs_or_prints_cannot_look_like_the_hosts_words() {
    let host = TestHost::new();
    let log = |name| host.ask(&guests::component(name), Question::default()).expect("loaded").log;
    let [line] = &log("log-forging")[..] else { panic!("one line") };
    assert_eq!(line.message, "fine\\n\\u{1b}[2J\\u{1b}[32mpass\\u{d}⟨U+202E⟩");
    for line in log("print-flood") {
        assert_eq!((line.severity, &*line.message), (LogLevel::Printed, "\\u{1b}[31merror:\u{FFFD}"));
    }
}

#[test]
fn what_a_guest_says_is_escaped() {
    let verdict = verdict(&TestHost::new(), "hidden-characters", Question::default());
    assert_eq!(verdict.summary, "a\\u{0}b\\u{1b}[31mc⟨U+202E⟩d⟨U+200B⟩e\\n");
}

#[test]
fn only_the_host_says_that_a_verifier_broke() {
    let verdict = verdict(&TestHost::new(), "class-infra", Question::default());
    assert_eq!(verdict.class, Some(Class::Other("other".to_owned())));
}

#[test]
fn a_person_who_is_asked_for_is_not_forgotten() {
    for name in ["pass-that-needs-a-person", "not-applicable-that-needs-a-person"] {
        assert!(verdict(&TestHost::new(), name, Question::default()).needs_person, "{name}");
    }
}

#[test]
fn a_thousand_notes_do_not_bury_an_error() {
    let verdict = verdict(&TestHost::new(), "pass-with-buried-error", Question::default());
    let kept = Limits::default().findings;
    assert_eq!((verdict.findings.len(), verdict.findings_omitted), (kept, 5_001 - kept as u64));
    assert_eq!(verdict.findings[0].level, Level::Error);
}

#[test]
fn findings_that_may_be_handed_over_are_still_too_many_to_keep() {
    let limits = Limits { transfer: 64 << 20, ..Limits::default() };
    let verdict = verdict(&TestHost::new(), "many-findings", Question { limits, ..Question::default() });
    let kept = Limits::default().findings;
    assert_eq!((verdict.status, verdict.findings.len()), (Status::Fail, kept));
    assert_eq!(verdict.findings_omitted, 100_000 - kept as u64);
}

#[test]
fn a_name_is_what_the_host_knows_a_component_by_and_not_what_it_calls_itself() {
    let host = TestHost::new();
    let source = ComponentSource::from_bytes(guests::component("another-name"));
    assert_eq!(host.describe(&source).expect("a description").name, "json-syntax");
    assert!(source.as_bundled().is_none());
    assert_eq!(ComponentSource::named("json-syntax", Path::new(".")).expect("bundled").digest(), json_syntax().digest);
}

/// What is left in a place of the pool is cleared before the next guest gets it.
#[test]
fn nothing_of_a_guest_is_left_for_the_next() {
    let host = TestHost::new();
    let ask = |component: &[u8], content: &[u8]| {
        let question = Question { content: content.to_vec(), ..Question::default() };
        host.ask(component, question).expect("loaded").verdict.status
    };
    let text = guests::text("leave-or-look");
    // The pool gives a component the place that it had before.
    let same = guests::assemble("same", &text);
    for _ in 0..3 {
        assert_eq!(ask(&same, b"leave"), Status::Pass);
        assert_eq!(ask(&same, b"look"), Status::Pass);
    }
    // And one that it does not know a place that was never used, while there is one; so all of them are used first.
    let other = |number: usize| guests::assemble("other", &text.replacen("(module", &format!("(module $m{number}"), 1));
    assert_ne!(other(0), other(1));
    for number in 0..64 {
        assert_eq!(ask(&other(number), b"leave"), Status::Pass);
    }
    assert_eq!(ask(&other(64), b"look"), Status::Pass);
}
