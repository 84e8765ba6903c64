//! What is never changed, because people and programs rely on it.

use crate::support::repository;
use gatehost::verdict::ErrorKind;
use regex::Regex;
use std::fs;
use std::process::Command;

/// Names of error kinds are printed, stored and filtered by. One can be added (`BLESS=1`), and none changed or removed.
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

/// README's table of exit codes is the one of `gate --help`.
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

/// The two commands of README are what CI runs, so neither can rot.
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
