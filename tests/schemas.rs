//! The published schemas are up to date, and agree with what the program accepts and prints.

use gatehost::{config, schema};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

fn cases() -> impl Iterator<Item = PathBuf> {
    crate::support::cases().into_iter().map(|case| case.folder)
}

#[test]
fn the_published_schemas_are_the_programs() {
    for (name, schema) in [
        ("gate", schema::gate_toml()),
        ("submission", schema::submission()),
        ("record", schema::record()),
        ("mistake", schema::mistake()),
        ("event", schema::event()),
        ("loop", schema::loop_record()),
        ("program-input", schema::program_input()),
        ("program-output", schema::program_output()),
    ] {
        jsonschema::meta::validate(&schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        let path = root().join(format!("host/schemas/{name}.schema.json"));
        let text = format!("{schema:#}\n");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, &text).expect("written");
        }
        assert_eq!(fs::read_to_string(&path).expect("published"), text, "{name}: BLESS=1 cargo test rewrites it");
    }
}

#[test]
fn an_editor_accepts_every_gate_toml_that_the_program_accepts() {
    let validator = jsonschema::validator_for(&schema::gate_toml()).expect("a schema");
    let mut accepted = 0;
    let mut refused = 0;
    for case in cases() {
        let Ok(text) = fs::read_to_string(case.join("workspace/gate.toml")) else { continue };
        let Ok(table) = DeTable::parse(&text) else { continue };
        let document = json(&DeValue::Table(table.into_inner()));
        if config::parse(text.as_bytes()).is_ok() {
            accepted += 1;
            let problems: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
            assert!(problems.is_empty(), "{}: {problems:?}", case.display());
        } else {
            refused += usize::from(!validator.is_valid(&document));
        }
    }
    assert!(accepted >= 40, "{accepted} files were accepted");
    assert!(refused >= 10, "the schema refuses {refused} files");
}

#[test]
fn every_number_in_gate_toml_says_its_limit() {
    // These depend on the members of the vote.
    let depend = ["threshold", "quorum"];
    fn unlimited(schema: &Value, name: &str, found: &mut Vec<String>) {
        match schema {
            Value::Object(fields) => {
                if fields.get("type") == Some(&"integer".into()) && !fields.contains_key("maximum") {
                    found.push(name.to_owned());
                }
                for (key, value) in fields {
                    let is_keyword = ["anyOf", "items", "properties", "additionalProperties"].contains(&key.as_str());
                    unlimited(value, if is_keyword { name } else { key }, found);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| unlimited(value, name, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    unlimited(&schema::gate_toml(), "", &mut found);
    found.retain(|name| !depend.contains(&name.as_str()));
    assert_eq!(found, [""; 0]);
    let validator = jsonschema::validator_for(&schema::gate_toml()).expect("a schema");
    for (voters, accepted) in [(1, true), (config::MAX_VOTERS, true), (config::MAX_VOTERS + 1, false)] {
        let text = format!("[gate.g]\nvote = \"a\"\nvoters = {voters}\n[check.a]\nverifier = \"x\"\n");
        let table = DeTable::parse(&text).expect("TOML");
        assert_eq!(validator.is_valid(&json(&DeValue::Table(table.into_inner()))), accepted, "{voters}");
        assert_eq!(config::parse(text.as_bytes()).is_ok(), accepted, "{voters}");
    }
}

#[test]
fn every_report_follows_its_schema() {
    let validator = jsonschema::validator_for(&schema::record()).expect("a schema");
    let mut seen = 0;
    for case in cases() {
        let Ok(text) = fs::read_to_string(case.join("stdout")) else { continue };
        let Ok(report) = serde_json::from_str::<Value>(&text) else { continue };
        if report.get("gate").is_some() {
            seen += 1;
            let problems: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
            assert!(problems.is_empty(), "{}: {problems:?}", case.display());
        }
    }
    assert!(seen >= 2, "{seen} reports");
}

#[test]
fn every_line_of_the_events_follows_its_schema() {
    let validator = jsonschema::validator_for(&schema::event()).expect("a schema");
    let mut seen = 0;
    for case in cases() {
        let args = fs::read_to_string(case.join("args")).expect("arguments");
        if !args.contains("--events\n-\n") {
            continue;
        }
        for line in fs::read_to_string(case.join("stdout")).expect("events").lines() {
            let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            let problems: Vec<String> = validator.iter_errors(&event).map(|error| error.to_string()).collect();
            assert!(problems.is_empty(), "{}: {line}: {problems:?}", case.display());
            seen += 1;
        }
    }
    assert!(seen >= 5, "{seen} events");
}

/// Returns the fields of a schema as `Type.field`, and the words of its enumerations as `Type=word`.
fn names(title: &str, schema: &Value) -> BTreeSet<String> {
    fn visit(owner: &str, schema: &Value, found: &mut BTreeSet<String>) {
        match schema {
            Value::Object(entries) => {
                for (field, of) in entries.get("properties").and_then(Value::as_object).into_iter().flatten() {
                    found.insert(format!("{owner}.{field}"));
                    visit(owner, of, found);
                }
                let words = entries.get("enum").and_then(Value::as_array).into_iter().flatten();
                let words = words.chain(entries.get("const")).filter_map(Value::as_str);
                found.extend(words.map(|word| format!("{owner}={word}")));
                let others = entries.iter().filter(|(key, _)| !matches!(key.as_str(), "properties" | "$defs"));
                others.for_each(|(_, of)| visit(owner, of, found));
            }
            Value::Array(values) => values.iter().for_each(|of| visit(owner, of, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    visit(title, schema, &mut found);
    for (name, of) in schema["$defs"].as_object().into_iter().flatten() {
        visit(name, of, &mut found);
    }
    found
}

/// Readers of records and events may rely on every name. New names are added to the list; none is ever removed, not even by
/// `BLESS=1`.
#[test]
fn no_name_of_the_record_or_the_events_is_taken_back() {
    let list = root().join("host/schemas/frozen.txt");
    let frozen = fs::read_to_string(&list).unwrap_or_default();
    let frozen: BTreeSet<String> = frozen.lines().map(str::to_owned).collect();
    let now: BTreeSet<String> =
        [("Record", schema::record()), ("Event", schema::event()), ("Mistake", schema::mistake())]
            .iter()
            .flat_map(|(title, schema)| names(title, schema))
            .collect();
    let gone: Vec<&String> = frozen.difference(&now).collect();
    assert!(gone.is_empty(), "renamed or removed, which breaks whoever reads it: {gone:?}");
    if std::env::var_os("BLESS").is_some() {
        let all: Vec<&str> = now.iter().map(String::as_str).collect();
        fs::write(&list, all.join("\n") + "\n").expect("written");
    } else {
        let new: Vec<&String> = now.difference(&frozen).collect();
        assert!(new.is_empty(), "new, and not in host/schemas/frozen.txt yet (BLESS=1 adds them): {new:?}");
    }
}

#[test]
fn every_submission_of_the_cases_follows_its_schema() {
    let validator = jsonschema::validator_for(&schema::submission()).expect("a schema");
    for case in cases() {
        let Ok(text) = fs::read_to_string(case.join("stdin")) else { continue };
        let Ok(document) = serde_json::from_str::<Value>(&text) else { continue };
        let accepted = gatehost::input::parse(text.as_bytes()).is_ok();
        assert_eq!(validator.is_valid(&document), accepted, "{}", case.display());
    }
}

fn json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(number) => number.as_str().parse::<i64>().map_or(Value::Null, Value::from),
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Value::Null, Value::from),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Datetime(date) => Value::from(date.to_string()),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => {
            let entries = table.iter().map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref())));
            Value::Object(entries.collect::<Map<String, Value>>())
        }
    }
}
