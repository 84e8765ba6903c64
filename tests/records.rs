//! The record of a run of each kind: golden (`fixtures/cases/records`), valid under the published schema, and equal in two
//! runs except for identifiers, times and durations.

use gatehost::record::Record;
use gatehost::schema;
use libtest_mimic::{Failed, Trial};
use serde_json::Value;
use std::path::Path;

/// Whether a record shows what it is an example of.
type Shows = fn(&Value) -> bool;

/// What a record of each kind must show. A missing case fails, and so does a kind without a case.
const KINDS: &[(&str, Shows)] = &[
    ("a-flaky-check", |record| {
        marked(record, "flaky") && every_check(record)[0]["runs"].as_array().is_some_and(|runs| runs.len() == 2)
    }),
    ("a-mistake", |document| document["status"] == "mistake" && document["exit"] == 2),
    ("a-submission", |record| {
        record["task"]["id"] == "2.3" && record["attempt"] == 2 && record["executor"]["session"] == "s-1"
    }),
    ("a-vote", |record| {
        // Divided, so that no ballot is left out because the result was certain before.
        let vote = &record["gate"]["vote"];
        vote["for"] == 1 && vote["against"] == 1 && vote["decision"] == "divided" && marked(record, "needs-person")
    }),
    ("an-error", |record| record["status"] == "error" && record["class"] == "infra"),
    ("commands", |record| {
        let check = every_check(record)[0];
        check["commands"][0]["sandbox"].is_string() && check["files"][0]["digest"].is_string()
    }),
    ("files", |record| {
        let files =
            every_check(record).into_iter().flat_map(|check| check["files"].as_array().cloned().unwrap_or_default());
        let finding = |check: &&Value| check["verdict"]["findings"][0]["fingerprint"].is_string();
        files.filter(|file| file["digest"].is_string()).count() >= 2 && every_check(record).iter().any(finding)
    }),
    ("models", |record| {
        let asked: Vec<Value> = every_check(record).iter().map(|check| check["models"][0].clone()).collect();
        marked(record, "replayed")
            && asked.iter().all(|model| model["question_sha256"].is_string() && model["answer_sha256"].is_string())
    }),
];

fn marked(record: &Value, mark: &str) -> bool {
    record["marks"].as_array().is_some_and(|marks| marks.iter().any(|it| it == mark))
}

/// Returns the checks that ran.
fn every_check(record: &Value) -> Vec<&Value> {
    let mut found = Vec::new();
    let mut ahead = vec![&record["gate"]];
    while let Some(node) = ahead.pop() {
        if node["kind"] == "check" && node["verdict"].is_object() {
            found.push(node);
        }
        ahead.extend(node["children"].as_array().into_iter().flatten().rev());
    }
    found
}

/// Removes what differs between runs.
fn without_times(value: &mut Value) {
    const DIFFERS: [&str; 4] = ["run", "started", "started_ms", "duration_ms"];
    match value {
        Value::Object(entries) => {
            entries.retain(|key, _| !DIFFERS.contains(&key.as_str()));
            entries.values_mut().for_each(without_times);
        }
        Value::Array(values) => values.iter_mut().for_each(without_times),
        _ => {}
    }
}

/// Returns a test for each kind, and one that there are no others.
pub(crate) fn trials() -> Vec<Trial> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/cases/records");
    let all = Trial::test("records: every kind has a golden record", {
        let folder = folder.clone();
        move || {
            let entries = std::fs::read_dir(&folder)?.flatten();
            let mut found: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
            found.sort();
            let known: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
            if found == known { Ok(()) } else { Err(format!("expected {known:?}, found {found:?}").into()) }
        }
    });
    let each = KINDS.iter().map(|&(kind, shows)| {
        let case = folder.join(kind);
        let name = format!("records: {kind} follows the schema and is the same twice");
        Trial::test(name, move || check(&case, kind, shows))
    });
    std::iter::once(all).chain(each).collect()
}

fn check(case: &Path, kind: &str, shows: Shows) -> Result<(), Failed> {
    let is_mistake = kind == "a-mistake";
    let schema = if is_mistake { schema::mistake() } else { schema::record() };
    let validator = jsonschema::validator_for(&schema)?;
    let run = || -> Result<Value, Failed> {
        let said: Value = serde_json::from_slice(&crate::play(case)?.stdout)?;
        let problems: Vec<String> = validator.iter_errors(&said).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{problems:?}");
        if !is_mistake {
            let read: Record = serde_json::from_value(said.clone())?;
            assert_eq!(serde_json::to_value(&read)?, said, "read and written again");
        }
        Ok(said)
    };
    let (mut one, mut two) = (run()?, run()?);
    assert!(shows(&one), "{one:#}");
    assert!(is_mistake || one["run"] != two["run"], "each run has an identifier of its own");
    without_times(&mut one);
    without_times(&mut two);
    assert_eq!(one, two);
    Ok(())
}
