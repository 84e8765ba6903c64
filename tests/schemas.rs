//! The published schemas: up to date, and in agreement with what the program accepts and prints.

use gatehost::{config, schema};
use serde_json::{Map, Value};
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
