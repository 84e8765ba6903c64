//! Programs as verifiers: only what they print counts.

use crate::asking::{Question, TestHost};
use crate::guests;
use gatehost::limits::Limits;
use gatehost::runtime::{ComponentSource, LogLevel, Runtime};
use gatehost::verdict::{Class, ErrorKind, Level, Status};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use ErrorKind::*;

/// Every program of `fixtures/components/programs`, and its expected result.
const PROGRAMS: &[(&str, Result<Status, ErrorKind>)] = &[
    ("another-file", Err(AbiPlace)),
    ("chatter", Err(GuestMalformed)),
    ("echo", Ok(Status::Pass)),
    ("endless", Err(LimitTime)),
    ("ends-before-it-starts", Err(AbiPlace)),
    ("error", Err(GuestMalformed)),
    ("exit-0", Ok(Status::Pass)),
    ("exit-1", Err(GuestExited)),
    ("fail", Ok(Status::Fail)),
    ("flood", Err(LimitTransfer)),
    ("forged", Err(GuestMalformed)),
    ("garbage", Err(GuestMalformed)),
    ("hog", Err(LimitMemory)),
    ("imports-env", Err(LoadNotComponent)),
    ("no-status", Err(GuestMalformed)),
    ("not-utf8", Err(GuestMalformed)),
    ("opens-a-file", Err(GuestExited)),
    ("pass", Ok(Status::Pass)),
    ("pass-with-error", Ok(Status::Fail)),
    ("range", Err(AbiRange)),
    ("silent", Err(GuestMalformed)),
    ("trap", Err(TrapUnreachable)),
    ("two", Err(GuestMalformed)),
];

fn program(name: &str) -> Vec<u8> {
    guests::module(&format!("programs/{name}"))
}

#[test]
fn every_program_ends_as_it_should() {
    let host = TestHost::new();
    for (name, expected) in PROGRAMS {
        let time = if *expected == Err(LimitTime) { Duration::from_millis(200) } else { Limits::default().time };
        let question = Question { limits: Limits { time, ..Limits::default() }, ..Question::default() };
        let found = match host.ask(&program(name), question) {
            Err(failure) => Err(failure.kind),
            Ok(answer) => match answer.verdict.error {
                Some(failure) => Err(failure.kind),
                None => Ok(answer.verdict.status),
            },
        };
        assert_eq!(found, *expected, "{name}");
    }
}

#[test]
fn every_program_is_in_the_table() {
    let files = fs::read_dir(guests::folder().join("programs")).expect("the programs");
    let files: BTreeSet<String> = files
        .map(|entry| entry.expect("an entry").path().file_stem().expect("a name").to_string_lossy().into())
        .collect();
    assert_eq!(files, PROGRAMS.iter().map(|(name, _)| (*name).to_owned()).collect());
}

#[test]
fn what_a_program_reads_follows_its_schema() {
    let validator = jsonschema::validator_for(&gatehost::schema::program_input()).expect("a schema");
    let read = |content: &[u8]| -> Value {
        let settings = "{\"a\":1}";
        let question = Question { settings, content: content.to_vec(), ..Question::default() };
        let answer = TestHost::new().ask(&program("echo"), question).expect("loaded");
        assert_eq!(answer.verdict.status, Status::Pass);
        let [line] = &answer.log[..] else { panic!("{:?}", answer.log) };
        assert_eq!(line.severity, LogLevel::Printed);
        let document = serde_json::from_str(&line.message).expect("a document");
        assert!(validator.is_valid(&document), "{document}");
        document
    };
    let contract = "gatehost:verifier@0.1.0";
    let file = json!({ "path": "src/main.rs", "text": "text", "executable": false });
    assert_eq!(read(b"text"), json!({ "contract": contract, "settings": { "a": 1 }, "file": file }));
    let file = json!({ "path": "src/main.rs", "base64": "/wA=", "executable": false });
    assert_eq!(read(b"\xff\0"), json!({ "contract": contract, "settings": { "a": 1 }, "file": file }));
}

#[test]
fn what_a_program_finds_is_kept() {
    let answer = TestHost::new().ask(&program("fail"), Question::default()).expect("loaded");
    let verdict = answer.verdict;
    assert_eq!((verdict.confidence, &*verdict.summary, verdict.class), (Some(0.5), "no good", Some(Class::Malformed)));
    let [finding] = &verdict.findings[..] else { panic!("one finding") };
    assert_eq!(
        (&*finding.code, finding.level, finding.hint.as_deref()),
        ("no-good", Level::Error, Some("make it better"))
    );
    assert_eq!(finding.place.as_ref().expect("a place").to_string(), "src/main.rs:1:2");
}

#[test]
fn a_program_with_a_flipped_bit_is_refused_or_ends() {
    let host = TestHost::new();
    let whole = program("pass");
    let limits = Limits { time: Duration::from_millis(50), ..Limits::default() };
    for position in (0..whole.len()).step_by(whole.len() / 50) {
        let mut flipped = whole.clone();
        flipped[position] ^= 1 << (position % 8);
        // Any end will do; `ask` fails the test for a panic and for a call without an end.
        let _ = host.ask(&flipped, Question { limits: limits.clone(), ..Question::default() });
    }
    assert!(host.is_well());
}

#[test]
fn a_program_cannot_make_the_encoder_read_types_of_its_own() {
    let mut module = program("pass");
    let name = b"component-type:mine";
    // A custom section: 0, its length, the length of its name, the name, and something in it.
    module.extend([0, name.len() as u8 + 2, name.len() as u8]);
    module.extend(name);
    module.push(1);
    let failure = TestHost::new().ask(&module, Question::default()).expect_err("refused");
    assert_eq!(failure.kind, LoadNotComponent);
    assert!(failure.message.contains("already contains component types"), "{failure}");
}

#[test]
fn a_program_is_known_by_its_own_bytes_and_has_no_shape() {
    let runtime = Runtime::new(None);
    let source = ComponentSource::from_bytes(program("pass"));
    let verifier = runtime.load(&source, &Default::default()).expect("loaded");
    assert_eq!((verifier.digest(), verifier.shape()), (source.digest(), None));
    assert!(verifier.component_type().is_program());
}
