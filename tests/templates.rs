//! `gate new` and the guide write the same files as this repository has.

use gatehost::component::WIT;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    let files: Vec<String> = names("wit").into_iter().filter(|name| name.ends_with(".wit")).collect();
    assert_eq!(known, files);
}

#[test]
fn the_whole_sdk_is_handed_out() {
    let folder = crate::support::tempdir().expect("a folder");
    let made = Command::new(env!("CARGO_BIN_EXE_gate"))
        .args(["new", "sample", "--lang", "rust"])
        .current_dir(folder.path())
        .output()
        .expect("gate runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let ours = sources(&root().join("plugins/sdk/src"));
    assert!(ours.len() > 5, "the SDK is gone");
    assert_eq!(sources(&folder.path().join("sample/vendor/gatehost-sdk/src")), ours);
}

/// Returns the files below a folder, by path.
fn sources(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut sources = BTreeMap::new();
    let mut ahead = vec![root.to_owned()];
    while let Some(path) = ahead.pop() {
        if path.is_dir() {
            ahead.extend(fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
        } else {
            let inside = path.strip_prefix(root).expect("below it").to_owned();
            sources.insert(inside, fs::read(path).expect("a file"));
        }
    }
    sources
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
