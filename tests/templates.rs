//! What `gate new` writes, and what the guide says of it, is what this repository has.

use gatehost::component::WIT;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).expect(folder);
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect(folder).file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn the_whole_contract_is_handed_out() {
    let known: Vec<&str> = WIT.iter().map(|(name, _)| *name).collect();
    assert_eq!(known, names("wit"));
}

#[test]
fn the_whole_sdk_is_handed_out() {
    let templates = read("host/src/bin/gate/templates.rs");
    for name in names("plugins/sdk/src") {
        assert!(templates.contains(&format!("plugins/sdk/src/{name}\"")), "{name} is not in templates.rs");
    }
}

#[test]
fn the_sdk_that_is_handed_out_has_the_same_dependencies() {
    let dependencies = |text: &str| -> Vec<String> {
        let after = text.split("[dependencies]\n").nth(1).expect("dependencies");
        after.lines().take_while(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let workspace = read("plugins/Cargo.toml");
    let handed_out = dependencies(&read("host/templates/rust/sdk/Cargo.toml.in"));
    for dependency in &handed_out {
        assert!(workspace.lines().any(|line| line == dependency), "plugins/Cargo.toml has no `{dependency}`");
    }
    let name = |line: &String| line.split([' ', '.']).next().expect("a name").to_owned();
    let ours: Vec<String> = dependencies(&read("plugins/sdk/Cargo.toml")).iter().map(name).collect();
    assert_eq!(handed_out.iter().map(name).collect::<Vec<_>>(), ours);
}

#[test]
fn the_guide_quotes_the_template() {
    let template = read("host/templates/rust/file/lib.rs");
    let start = template.find("gatehost_sdk::settings!").expect("settings");
    let end = template.find("#[cfg(test)]").expect("tests");
    assert!(read("plugins/AUTHORING.md").contains(template[start..end].trim_end()), "the guide's sample is another");
}
