//! Every format of a record of each kind, compared with `fixtures/reports`; `BLESS=1` rewrites them.

use super::{Format, Style, read, write};
use crate::outcome::{Node, NodeKind, Outcome, VerifierId, VoteCount};
use crate::record::{HostBuild, PolicyRecord, Record};
use crate::verdict::{Edit, ErrorKind, Failure, Finding, Fix, Level, Place, Rule, Status, Verdict};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn finding(code: &str, level: Level, path: &str, line: u32, message: &str) -> Finding {
    let place =
        Place { path: path.to_owned(), line: Some(line), column: Some(5), end_line: Some(line), end_column: Some(9) };
    Finding { place: Some(place), fingerprint: format!("{code}-{line}"), ..Finding::new(code, level, message) }
}

fn check(name: &str, verifier: &str, verdict: Verdict) -> Node {
    let mut node = Node::new(name, NodeKind::Check, verdict.status.into());
    node.verifier =
        Some(VerifierId { name: verifier.to_owned(), digest: "sha256:d".to_owned(), ..VerifierId::default() });
    node.verdict = Some(verdict);
    node.duration = Duration::from_millis(1_234);
    node
}

fn record(kind: NodeKind, outcome: Outcome, children: Vec<Node>) -> Record {
    let gate = Node { children, ..Node::new("commit", kind, outcome) };
    let feedback = (outcome != Outcome::Pass).then(|| crate::feedback::feedback(&gate));
    Record {
        run: "01k9".to_owned(),
        started: "2026-01-26T14:05:00.000Z".to_owned(),
        duration: Duration::from_millis(2_500),
        host: HostBuild { version: "0.1.0".to_owned(), ..HostBuild::default() },
        policy: PolicyRecord { source: "file".to_owned(), name: "gate.toml".to_owned(), ..PolicyRecord::default() },
        files: 2,
        feedback,
        ..Record::of(gate)
    }
}

/// A record of each kind, by its name.
fn records() -> Vec<(&'static str, Record)> {
    let hostile = "bad\n::error::forged | `x` <b>&\"% @team";
    let mut bad = finding("trailing-comma", Level::Error, "src/a b.json", 3, hostile);
    bad.hint = Some("remove the comma".to_owned());
    bad.fix = Some(Fix {
        description: "remove the comma".to_owned(),
        edits: vec![Edit { start_line: 3, start_column: 1, end_line: 4, end_column: 1, replacement: "1\n".to_owned() }],
    });
    let warning = finding("long-line", Level::Warning, "src/b.py", 1, "this line is long");
    let mut json_check =
        check("json", "json-syntax", Verdict { findings: vec![bad.clone()], ..Verdict::of(Status::Fail) });
    json_check.rules = vec![Rule {
        code: "trailing-comma".to_owned(),
        level: Level::Error,
        summary: "a comma before a closing bracket".to_owned(),
        help: "JSON allows none.".to_owned(),
        url: Some("https://example.com/trailing-comma".to_owned()),
    }];
    let warned = check("python", "python-syntax", Verdict { findings: vec![warning], ..Verdict::of(Status::Pass) });
    let silent = check("tests", "command", Verdict { summary: "exit code 1".to_owned(), ..Verdict::of(Status::Fail) });
    let failure = Failure::new(ErrorKind::LimitTime, "timed out after 10s").hint("raise `limits.time`");
    let broken = check("slow", "./slow.wasm", failure.into());
    let mut skipped = Node::new("yaml", NodeKind::Check, Outcome::Skipped);
    skipped.reason = "not due".to_owned();
    let mut shadow = json_check.clone();
    (shadow.name, shadow.shadow) = ("shadow".to_owned(), true);
    let mut divided = Node::new("review", NodeKind::Vote, Outcome::Abstain);
    divided.vote = Some(VoteCount { in_favour: 1, against: 1, absent: 0, decision: "divided".to_owned() });
    (divided.reason, divided.escalated) = ("1 for, 1 against".to_owned(), true);
    divided.children = vec![
        check("one", "review-verdict", Verdict::of(Status::Pass)),
        check("two", "review-verdict", Verdict { findings: vec![bad], ..Verdict::of(Status::Fail) }),
    ];
    vec![
        ("pass", record(NodeKind::All, Outcome::Pass, vec![warned.clone(), shadow])),
        ("fail", record(NodeKind::All, Outcome::Fail, vec![json_check.clone(), warned.clone(), silent, skipped])),
        ("error", record(NodeKind::All, Outcome::Error, vec![broken, warned])),
        ("abstain", record(NodeKind::Tiers, Outcome::Abstain, vec![divided])),
        (
            "any",
            record(
                NodeKind::Any,
                Outcome::Pass,
                vec![json_check, check("yaml", "yaml-syntax", Verdict::of(Status::Pass))],
            ),
        ),
    ]
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/reports")
}

fn written(record: &Record, format: Format) -> String {
    let mut out = Vec::new();
    write(&mut out, record, format, Style::default(), Path::new("/nonexistent")).expect("written");
    let text = String::from_utf8(out).expect("text");
    let token = regex::Regex::new("[0-9a-f]{32}").expect("a pattern");
    if format == Format::Github { token.replace_all(&text, "TOKEN").into_owned() } else { text }
}

#[test]
fn every_format_of_every_kind_is_as_expected() {
    let mut wrong = String::new();
    for (kind, record) in records() {
        for (name, format, _) in Format::ALL {
            let (path, found) = (folder().join(format!("{kind}.{name}")), written(&record, *format));
            if std::env::var_os("BLESS").is_some() {
                std::fs::create_dir_all(folder()).expect("a folder");
                std::fs::write(&path, &found).expect("written");
            }
            let expected = std::fs::read_to_string(&path).unwrap_or_default();
            if expected != found {
                wrong += &format!("--- {}\n{expected}+++ found\n{found}", path.display());
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Reports for machines place what has no place of its own in a file that exists.
#[test]
fn what_has_no_place_is_placed_in_the_configuration() {
    for (source, name, expected) in [
        ("file", "gate.toml", "gate.toml"),
        ("file", "/elsewhere/gate.toml", "."),
        ("base", "gate.toml of `main`", "gate.toml"),
        ("base", "a of `b`/gate.toml of `57c103e`", "a of `b`/gate.toml"),
        ("default", "the default gate", "."),
    ] {
        let policy = PolicyRecord { source: source.to_owned(), name: name.to_owned(), ..PolicyRecord::default() };
        let record = Record { policy, ..records().remove(0).1 };
        assert_eq!(super::view::fallback_path(&record), expected, "{source} {name}");
    }
}

#[test]
fn every_format_has_one_name() {
    for (name, format, _) in Format::ALL {
        assert_eq!((format.as_str(), Format::named(name)), (*name, Some(*format)));
    }
}

#[test]
fn a_record_that_is_read_again_is_the_same_and_safe_to_show() {
    for (kind, record) in records() {
        let text = written(&record, Format::Json);
        assert_eq!(written(&read(text.as_bytes()).expect("a record"), Format::Json), text, "{kind}");
    }
    let (_, mut record) = records().swap_remove(1);
    record.gate.name = "a\u{1b}[31m".to_owned();
    let read = read(written(&record, Format::Json).as_bytes()).expect("a record");
    assert!(!read.gate.name.contains('\u{1b}'), "{}", read.gate.name);
    for bad in ["", "{}", "[]", r#"{"version":2}"#, r#"{"version":1}"#] {
        assert!(super::read(bad.as_bytes()).is_err(), "{bad}");
    }
}

/// What turns a build red: failures and errors of JUnit, unsuppressed errors of SARIF, and `::error`.
#[test]
fn a_machine_sees_red_exactly_where_the_gate_did_not_pass() {
    for (kind, record) in records() {
        let red = record.status != Status::Pass;
        let junit = written(&record, Format::Junit);
        assert_eq!(junit.contains("<failure") || junit.contains("<error"), red, "{kind}: {junit}");
        let github = written(&record, Format::Github);
        let commands = github.split("::TOKEN::\n").last().expect("commands");
        assert_eq!(commands.lines().any(|line| line.starts_with("::error")), red, "{kind}: {github}");
        assert!(commands.lines().all(|line| line.starts_with("::")), "{kind}: {github}");
        let gitlab: Value = serde_json::from_str(&written(&record, Format::Gitlab)).expect("JSON");
        let severe = |entry: &Value| matches!(entry["severity"].as_str(), Some("major" | "critical"));
        assert_eq!(gitlab.as_array().expect("a list").iter().any(severe), red, "{kind}: {gitlab}");
        let rdjsonl = written(&record, Format::Rdjsonl);
        assert_eq!(rdjsonl.contains(r#""severity":"ERROR""#), red, "{kind}: {rdjsonl}");
        let sarif: Value = serde_json::from_str(&written(&record, Format::Sarif)).expect("JSON");
        let run = &sarif["runs"][0];
        let counts = |result: &Value| result.get("suppressions").is_none() && result["kind"] != "pass";
        let open = |result: &Value| counts(result) && (result["level"] == "error" || result["kind"] == "open");
        let broke = run["invocations"][0]["executionSuccessful"] == false;
        assert_eq!(run["results"].as_array().expect("results").iter().any(open) || broke, red, "{kind}: {sarif:#}");
    }
}

/// The part of SARIF 2.1.0 that is written here, with the names and limits of the standard. Nothing else may appear.
fn sarif_schema() -> Value {
    let object = |properties: Value, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let text = object(json!({ "text": { "type": "string", "minLength": 1 } }), &["text"]);
    let level = json!({ "enum": ["none", "note", "warning", "error"] });
    let number = json!({ "type": "integer", "minimum": 1 });
    let region = object(
        json!({ "startLine": number, "startColumn": number, "endLine": number, "endColumn": number }),
        &["startLine"],
    );
    let artifact = object(
        json!({ "uri": { "type": "string", "format": "uri-reference" }, "uriBaseId": { "type": "string" } }),
        &["uri"],
    );
    let content = object(json!({ "text": { "type": "string" } }), &[]);
    let replacement = object(json!({ "deletedRegion": region, "insertedContent": content }), &["deletedRegion"]);
    let change = object(
        json!({ "artifactLocation": artifact, "replacements": { "type": "array", "minItems": 1, "items": replacement } }),
        &["artifactLocation", "replacements"],
    );
    let fix = object(
        json!({ "description": text, "artifactChanges": { "type": "array", "minItems": 1, "items": change } }),
        &["artifactChanges"],
    );
    let logical = object(json!({ "fullyQualifiedName": { "type": "string" }, "kind": { "type": "string" } }), &[]);
    let physical = object(json!({ "artifactLocation": artifact, "region": region }), &["artifactLocation"]);
    let location = object(
        json!({ "physicalLocation": physical, "logicalLocations": { "type": "array", "items": logical } }),
        &["physicalLocation"],
    );
    let suppression = object(
        json!({ "kind": { "enum": ["inSource", "external"] }, "justification": { "type": "string" } }),
        &["kind"],
    );
    let mut result = object(
        json!({
            "ruleId": { "type": "string" },
            "ruleIndex": { "type": "integer", "minimum": 0 },
            "kind": { "enum": ["notApplicable", "pass", "fail", "review", "open", "informational"] },
            "level": level,
            "message": text,
            "locations": { "type": "array", "minItems": 1, "items": location },
            "partialFingerprints": { "type": "object", "additionalProperties": { "type": "string" } },
            "suppressions": { "type": "array", "items": suppression },
            "fixes": { "type": "array", "uniqueItems": true, "items": fix },
            "properties": { "type": "object" },
        }),
        &["message"],
    );
    result["if"] = json!({ "properties": { "kind": { "const": "fail" } } });
    result["else"] = json!({ "properties": { "level": { "const": "none" } } });
    let rule = object(
        json!({
            "id": { "type": "string" },
            "shortDescription": text,
            "help": text,
            "helpUri": { "type": "string", "format": "uri" },
            "defaultConfiguration": object(json!({ "level": level }), &[]),
        }),
        &["id"],
    );
    let notification = object(
        json!({
            "level": level,
            "descriptor": object(json!({ "id": { "type": "string" } }), &[]),
            "message": text,
            "properties": { "type": "object" },
        }),
        &["message"],
    );
    let invocation = object(
        json!({
            "executionSuccessful": { "type": "boolean" },
            "exitCode": { "type": "integer" },
            "startTimeUtc": { "type": "string", "format": "date-time" },
            "toolExecutionNotifications": { "type": "array", "items": notification },
        }),
        &["executionSuccessful"],
    );
    let driver = object(
        json!({
            "name": { "type": "string" },
            "semanticVersion": { "type": "string" },
            "rules": { "type": "array", "uniqueItems": true, "items": rule },
        }),
        &["name"],
    );
    let run = object(
        json!({
            "tool": object(json!({ "driver": driver }), &["driver"]),
            "automationDetails": object(json!({ "id": { "type": "string" } }), &[]),
            "columnKind": { "enum": ["utf16CodeUnits", "unicodeCodePoints"] },
            "originalUriBaseIds": { "type": "object", "additionalProperties": object(json!({ "description": text }), &[]) },
            "invocations": { "type": "array", "items": invocation },
            "results": { "type": ["array", "null"], "items": result },
            "properties": { "type": "object" },
        }),
        &["tool"],
    );
    object(
        json!({
            "$schema": { "type": "string", "format": "uri" },
            "version": { "const": "2.1.0" },
            "runs": { "type": ["array", "null"], "items": run },
        }),
        &["version", "runs"],
    )
}

#[test]
fn sarif_says_nothing_that_the_standard_does_not_know() {
    let validator = jsonschema::validator_for(&sarif_schema()).expect("a schema");
    for (kind, record) in records() {
        let log: Value = serde_json::from_str(&written(&record, Format::Sarif)).expect("JSON");
        let problems: Vec<String> = validator.iter_errors(&log).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{kind}: {problems:?}");
    }
}

/// Puts a text into every string of a record that a component controls, whether it was cleaned when it arrived or not: records
/// come from older programs and other machines, too.
fn saying(text: &str) -> Record {
    let place = Place { path: text.to_owned(), line: Some(1), column: Some(2), end_line: Some(1), end_column: Some(3) };
    let edit = Edit { start_line: 1, start_column: 1, end_line: 1, end_column: 1, replacement: text.to_owned() };
    let mut found = Finding::new(text, Level::Error, text);
    (found.hint, found.key, found.url) =
        (Some(text.to_owned()), Some(text.to_owned()), Some(format!("https://a/{text}")));
    found.fix = Some(Fix { description: text.to_owned(), edits: vec![edit] });
    found.place = Some(place);
    let mut failed = Verdict { summary: text.to_owned(), findings: vec![found], ..Verdict::of(Status::Fail) };
    failed.class = Some(crate::verdict::Class::Other(text.to_owned()));
    failed.metrics = vec![crate::verdict::Metric { name: text.to_owned(), value: 1.0 }];
    let mut one = check("one", text, failed);
    one.reason = text.to_owned();
    let rule = |url: &str| Rule {
        code: text.to_owned(),
        level: Level::Error,
        summary: text.to_owned(),
        help: text.to_owned(),
        url: Some(url.to_owned()),
    };
    one.rules = vec![rule(&format!("https://a/{text}")), rule(text)];
    let two = check("two", text, Failure::new(ErrorKind::GuestExited, text).hint(text).into());
    record(NodeKind::All, Outcome::Fail, vec![one, two])
}

/// A text in which two characters are invisible, in one string of a check after the other.
#[test]
fn marks_are_noted_whichever_string_has_them() {
    let text = || "a\u{200b}b\u{2060}c".to_owned();
    let failed = |change: &dyn Fn(&mut Verdict, &mut Finding)| {
        let mut verdict = Verdict { summary: "bad".to_owned(), ..Verdict::of(Status::Fail) };
        let mut found = Finding::new("code", Level::Error, "bad");
        let edit =
            Edit { start_line: 1, start_column: 1, end_line: 1, end_column: 1, replacement: "better".to_owned() };
        found.place =
            Some(Place { path: "a.json".to_owned(), line: Some(1), column: Some(1), end_line: None, end_column: None });
        found.fix = Some(Fix { description: "better".to_owned(), edits: vec![edit] });
        change(&mut verdict, &mut found);
        verdict.findings.extend((found.message != "none").then_some(found));
        record(NodeKind::All, Outcome::Fail, vec![check("one", "verifier", verdict)])
    };
    let none = |found: &mut Finding| found.message = "none".to_owned();
    let with_rule = |mut record: Record| {
        let (code, level) = ("code".to_owned(), Level::Error);
        record.gate.children[0].rules = vec![Rule { code, level, summary: text(), help: text(), url: None }];
        record
    };
    for (what, record) in [
        ("summary", failed(&|verdict, found| (verdict.summary, ()) = (text(), none(found)))),
        ("message", failed(&|_, found| found.message = text())),
        ("hint", failed(&|_, found| found.hint = Some(text()))),
        ("code", failed(&|_, found| found.code = text())),
        ("path", failed(&|_, found| found.place.as_mut().expect("a place").path = text())),
        ("rule", with_rule(failed(&|_, _| ()))),
        ("fix", failed(&|_, found| found.fix.as_mut().expect("a fix").description = text())),
        (
            "error",
            record(
                NodeKind::All,
                Outcome::Error,
                vec![check("one", "verifier", Failure::new(ErrorKind::GuestExited, text()).into())],
            ),
        ),
    ] {
        for (name, format, _) in Format::ALL.iter().filter(|(name, ..)| *name != "json") {
            let written = written(&record, *format);
            let marks = written.matches("⟨U+200B⟩").count() + written.matches("⟨U+2060⟩").count();
            assert!(marks == 0 || written.contains("⟨U+…⟩"), "{name}, {what}: {written}");
            let counts_all = ["human", "markdown", "html", "feedback"].contains(name);
            let note = format!("{marks} invisible characters are shown as marks");
            assert!(!counts_all || marks == 0 || written.contains(&note), "{name}, {what}, {marks}: {written}");
        }
    }
}

/// Every character × every format × every string: a reader sees what is there, and is told about what has no shape.
#[test]
fn no_output_hides_a_character() {
    let mut hiding = Vec::new();
    for c in '\0'..=char::MAX {
        let mut text = [0; 4];
        if crate::text::clean(c.encode_utf8(&mut text), 1) != *c.encode_utf8(&mut [0; 4]) {
            hiding.push(c);
        }
    }
    assert!(hiding.len() > 137_000, "{}", hiding.len());
    let is_private = |c: &char| matches!(u32::from(*c), 0xE000..=0xF8FF | 0xF_0000..);
    let (private, rest): (Vec<char>, Vec<char>) = hiding.into_iter().partition(is_private);
    // Each of those without a shape; of the characters for private use, which are one range each, some.
    for characters in rest.chunks(40).map(<[char]>::to_vec).chain([private.into_iter().step_by(2_000).collect()]) {
        let text: String = characters.iter().flat_map(|c| [*c, 'x']).collect();
        let record = saying(&text);
        for (name, format, _) in Format::ALL {
            let written = written(&record, *format);
            let seen = written.chars().find(|c| characters.contains(c) && *c != '\n');
            assert_eq!(seen, None, "{name}: {characters:x?}");
            let noted = written.contains("⟨U+…⟩");
            let is_told = crate::text::invisible(&text) > 0;
            assert_eq!(noted, is_told, "{name}: {characters:x?}");
        }
    }
}
