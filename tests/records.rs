//! The record of a run of each kind: golden (`fixtures/cases/record-of-…`), valid under the published schema, and the same
//! in two runs but for identifiers, times and durations.

use crate::cases;
use gatehost::record::Record;
use gatehost::schema;
use serde_json::Value;

/// What a record of each kind must show. A case that is missing here fails, and so does a kind without a case.
const KINDS: &[(&str, fn(&Value) -> bool)] = &[
    ("a-flaky-check", |record| marked(record, "flaky") && every_check(record)[0]["runs"].as_array().is_some_and(|runs| runs.len() == 2)),
    ("a-mistake", |document| document["status"] == "mistake" && document["exit"] == 2),
    ("a-submission", |record| {
        record["task"]["id"] == "2.3" && record["attempt"] == 2 && record["executor"]["session"] == "s-1"
    }),
    ("a-vote", |record| record["gate"]["vote"]["decision"] == "pass" && record["confidence"].as_f64().is_some_and(|sure| sure < 1.0)),
    ("an-error", |record| record["status"] == "error" && record["class"] == "infra"),
    ("commands", |record| every_check(record)[0]["commands"][0]["sandbox"].is_string()),
    ("files", |record| {
        let files = every_check(record).into_iter().flat_map(|check| check["files"].as_array().cloned().unwrap_or_default());
        let finding = |check: &&Value| check["verdict"]["findings"][0]["fingerprint"].is_string();
        files.filter(|file| file["digest"].is_string()).count() >= 2 && every_check(record).iter().any(finding)
    }),
    ("models", |record| {
        let asked: Vec<Value> = every_check(record).iter().map(|check| check["models"][0].clone()).collect();
        marked(record, "replayed") && asked.iter().all(|model| model["question_sha256"].is_string() && model["answer_sha256"].is_string())
    }),
];

fn marked(record: &Value, mark: &str) -> bool {
    record["marks"].as_array().is_some_and(|marks| marks.iter().any(|it| it == mark))
}

/// The checks that ran.
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

/// Take out what differs from run to run.
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

#[test]
fn a_run_of_each_kind_has_a_record_that_follows_the_schema_and_is_the_same_twice() {
    let validator = |schema: &Value| jsonschema::validator_for(schema).expect("a schema");
    let (record, mistake) = (validator(&schema::record()), validator(&schema::mistake()));
    let folders = std::fs::read_dir(cases::folder()).expect("cases").flatten();
    let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| name.starts_with("record-of-"));
    names.sort();
    let known: Vec<String> = KINDS.iter().map(|(kind, _)| format!("record-of-{kind}")).collect();
    assert_eq!(names, known);
    for (kind, shows) in KINDS {
        let case = cases::folder().join(format!("record-of-{kind}"));
        let [mut one, mut two] = [(), ()].map(|()| {
            let played = cases::play(&case);
            let said: Value = serde_json::from_slice(&played.stdout).unwrap_or_else(|error| panic!("{kind}: {error}"));
            let schema = if *kind == "a-mistake" { &mistake } else { &record };
            let problems: Vec<String> = schema.iter_errors(&said).map(|error| error.to_string()).collect();
            assert!(problems.is_empty(), "{kind}: {problems:?}");
            if *kind != "a-mistake" {
                let read: Record = serde_json::from_value(said.clone()).unwrap_or_else(|error| panic!("{kind}: {error}"));
                assert_eq!(serde_json::to_value(&read).expect("JSON"), said, "{kind}: read and written again");
            }
            said
        });
        assert!(shows(&one), "{kind}: {one:#}");
        if *kind != "a-mistake" {
            assert_ne!(one["run"], two["run"], "{kind}: each run has an identifier of its own");
        }
        without_times(&mut one);
        without_times(&mut two);
        assert_eq!(one, two, "{kind}");
    }
}
