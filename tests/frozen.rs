//! Names and tables that never change, because people and programs rely on them.

use crate::support::repository;
use gatehost::schema;
use gatehost::verdict::ErrorKind;
use regex::Regex;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

/// Names of error kinds are printed, stored and filtered by. New ones can be added (`BLESS=1`); none may change or
/// disappear.
#[test]
fn error_kinds_keep_their_names() {
    let path = repository().join("fixtures/error-kinds.txt");
    let names: Vec<&str> = ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let frozen = fs::read_to_string(&path).expect("the list");
    let gone: Vec<&str> = frozen.lines().filter(|name| !names.contains(name)).collect();
    assert!(gone.is_empty(), "these kinds were removed or renamed: {gone:?}");
    let mut sorted = names.clone();
    sorted.sort_unstable();
    let text = sorted.join("\n") + "\n";
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &text).expect("written");
    }
    sorted.dedup();
    assert_eq!(sorted.len(), names.len(), "two kinds have the same name");
    assert_eq!(fs::read_to_string(&path).expect("the list"), text, "BLESS=1 cargo test adds a new kind to the list");
}

/// The exit codes in README and `gate --help` are the same.
#[test]
fn readme_and_help_have_the_same_exit_codes() {
    let readme = fs::read_to_string(repository().join("README.md")).expect("README");
    let section = readme.split("## Exit codes").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("a section");
    let row = Regex::new(r"(?m)^\| ([0-9, ]+) \| (.+) \|$").expect("a pattern");
    let readme: Vec<(String, String)> =
        row.captures_iter(section).map(|found| (found[1].to_owned(), found[2].to_owned())).collect();
    let output = Command::new(env!("CARGO_BIN_EXE_gate")).arg("--help").output().expect("gate runs");
    let help = String::from_utf8(output.stdout).expect("UTF-8");
    let section = help.split("Exit codes:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a section");
    let line = Regex::new(r"(?m)^  ([0-9, ]+?)  (.+)$").expect("a pattern");
    let help: Vec<(String, String)> =
        line.captures_iter(section).map(|found| (found[1].to_owned(), found[2].to_owned())).collect();
    assert_eq!(readme.len(), 5, "{readme:?}");
    assert_eq!(readme, help);
}

/// CI runs the two commands of README.
#[test]
fn ci_runs_the_two_commands_of_the_readme() {
    let read = |name: &str| fs::read_to_string(repository().join(name)).expect("a file");
    let (readme, ci) = (read("README.md"), read(".ci/run"));
    for (command, step) in [
        ("cargo run -- run --all-files", "step cargo run --quiet --locked -- run --all-files\n"),
        ("cargo test", "step cargo test --locked\n"),
    ] {
        assert!(readme.contains(&format!("\n{command} ")), "README has no `{command}`");
        assert!(ci.contains(step), ".ci/run has no `{step}`");
    }
}

#[test]
fn the_readme_can_be_read_in_five_minutes() {
    let length = fs::metadata(repository().join("README.md")).expect("README").len();
    assert!(length <= 8_192, "README has {length} bytes");
}

/// The reference of the configuration equals `gate schema gate`, as tables. `BLESS=1` writes it.
#[test]
fn the_documented_keys_are_those_of_the_schema() {
    const BEGIN: &str = "<!-- keys: written by `BLESS=1 cargo test --test suite frozen` -->\n";
    const END: &str = "<!-- end of keys -->";
    let path = repository().join("host/docs/configuration.md");
    let guide = fs::read_to_string(&path).expect("the guide");
    let (before, rest) = guide.split_once(BEGIN).expect("where the keys begin");
    let (found, after) = rest.split_once(END).expect("where the keys end");
    let expected = reference(&schema::gate_toml());
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{expected}{END}{after}")).expect("written");
    } else {
        assert_eq!(found, expected, "BLESS=1 cargo test writes the reference");
    }
}

/// Returns the tables of gate.toml with their keys.
fn reference(schema: &Value) -> String {
    let defs = &schema["$defs"];
    let root = &schema["properties"];
    let member = &defs["member"]["anyOf"][1]["properties"];
    let (gate, check) = (&defs["gate"]["properties"], &defs["check"]["properties"]);
    let both = |key: &str| gate.get(key).is_some() && check.get(key).is_some();
    let keys = |table: &Value, chosen: &dyn Fn(&str) -> bool| -> Vec<(String, Value)> {
        let all = table.as_object().expect("a table").iter().filter(|(key, _)| chosen(key));
        all.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let all = |_: &str| true;
    let is_table = |key: &str| root[key]["type"] == "object" || key == "loop";
    let tables = [
        ("Top level", keys(root, &|key| !is_table(key))),
        ("`[gate.NAME]`: the rule", keys(gate, &|key| !both(key))),
        ("Gates, checks and members", keys(gate, &both)),
        ("Members only", keys(member, &|key| gate.get(key).is_none())),
        ("`[check.NAME]`", keys(check, &|key| !both(key))),
        ("`flaky` of a check", keys(&check["flaky"]["properties"], &all)),
        ("`limits` of a check", keys(&check["limits"]["properties"], &all)),
        ("`[command.NAME]`", keys(&defs["command"]["properties"], &all)),
        ("`[model.NAME]`", keys(&defs["model"]["properties"], &all)),
        ("`price` of a model", keys(&defs["model"]["properties"]["price"]["properties"], &all)),
        ("`[loop]`", keys(&defs["loop"]["properties"], &all)),
        ("`[hook]`", keys(&root["hook"]["properties"], &all)),
        ("`[retry]`", keys(&root["retry"]["properties"], &all)),
        ("`[escalation]`", keys(&root["escalation"]["properties"], &all)),
        ("`[overrides]`", keys(&root["overrides"]["properties"], &all)),
        ("`[plan]`", keys(&root["plan"]["properties"], &all)),
        ("`[evaluator]`", keys(&root["evaluator"]["properties"], &all)),
        ("`[limits]`", keys(&root["limits"]["properties"], &all)),
        ("`[progress]`", keys(&root["progress"]["properties"], &all)),
    ];
    for name in root.as_object().expect("a table").keys().filter(|key| is_table(key)) {
        let is_listed = tables.iter().any(|(title, _)| title.starts_with(&format!("`[{name}")));
        assert!(is_listed, "the reference has no table for `[{name}]`");
    }
    let mut text = String::new();
    for (title, keys) in tables {
        assert!(!keys.is_empty(), "{title} has no keys");
        write!(text, "\n### {title}\n\n| key | value | default | meaning |\n|---|---|---|---|\n").expect("text");
        for (key, value) in keys {
            let meaning =
                value["description"].as_str().unwrap_or_else(|| panic!("`{key}` of {title} is not described"));
            let default = value.get("default").map_or(String::new(), |default| format!("`{default}`"));
            writeln!(text, "| `{key}` | {} | {default} | {meaning} |", values(&value)).expect("text");
        }
    }
    text + "\n"
}

/// Returns the values of a key in words.
fn values(value: &Value) -> String {
    let number = |bound: &str| value[bound].as_u64();
    if let Some(reference) = value["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return match name {
            "globs" => "list of patterns",
            "leniency" => "`block`, `warn`, `escalate`",
            "members" => "list of members",
            "loop" => "table",
            name => name,
        }
        .to_owned();
    }
    if let Some(words) = value["enum"].as_array() {
        return words
            .iter()
            .map(|word| format!("`{}`", word.as_str().unwrap_or_default()))
            .collect::<Vec<_>>()
            .join(", ");
    }
    if let Some(choices) = value["anyOf"].as_array() {
        return choices.iter().map(values).collect::<Vec<_>>().join(" or ");
    }
    match (value["type"].as_str().unwrap_or_default(), number("minimum"), number("maximum")) {
        ("integer", Some(least), Some(most)) => format!("{least} to {most}"),
        ("integer", Some(least), None) => format!("{least} or more"),
        ("number", Some(least), Some(most)) => format!("{least} to {most}"),
        ("boolean", ..) => "`true`, `false`".to_owned(),
        ("string", ..) => "text".to_owned(),
        ("array", ..) => "list".to_owned(),
        ("object", ..) => "table".to_owned(),
        (other, ..) => other.to_owned(),
    }
}
