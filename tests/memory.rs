//! Cached passes: unchanged files are not checked again, and nothing else is cached.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

struct Place {
    work: TempDir,
    cache: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self {
            work: crate::support::tempdir().expect("a folder"),
            cache: crate::support::tempdir().expect("a folder"),
        };
        for name in ["a.json", "b.json", "c.json"] {
            place.write(name, "[1]");
        }
        place
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.work.path().join(name), text).expect("written");
    }

    /// Returns the outcome of the JSON check, and how many verdicts were cached.
    fn run(&self, flags: &[&str]) -> (String, usize) {
        let output = Command::new(env!("CARGO_BIN_EXE_gate"))
            .args(["run", "--verifier", "json-syntax", "--format", "json"])
            .args(flags)
            .current_dir(self.work.path())
            .env("GATE_CACHE_DIR", self.cache.path())
            .output()
            .expect("gate runs");
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        let check = &report["gate"]["children"][0];
        let check = if check.is_null() { &report["gate"] } else { check };
        let files = check["files"].as_array().expect("files").iter();
        let cached = files.filter(|file| file["cached"] == true).count();
        (check["outcome"].as_str().expect("an outcome").to_owned(), cached)
    }

    fn entry(&self) -> std::path::PathBuf {
        let mut entries = fs::read_dir(self.cache.path()).expect("a folder").map(|entry| entry.expect("one").path());
        entries.find(|path| path.extension().is_some_and(|suffix| suffix == "passes")).expect("an entry")
    }
}

fn pass(cached: usize) -> (String, usize) {
    ("pass".to_owned(), cached)
}

#[test]
fn what_is_unchanged_is_not_judged_again() {
    let place = Place::new();
    assert_eq!(place.run(&["-v"]), pass(0));
    assert_eq!(place.run(&["-v"]), pass(3));
    assert_eq!(place.run(&[]), pass(3), "the record is the same whatever is shown of it");
    assert_eq!(place.run(&["-v", "--no-cache"]), pass(0));
    place.write("b.json", "[2]");
    assert_eq!(place.run(&["-v"]), pass(2));
    assert_eq!(place.run(&["-v"]), pass(3));
}

#[test]
fn what_failed_is_judged_each_time() {
    let place = Place::new();
    place.write("b.json", "[1,]");
    assert_eq!(place.run(&["-v"]), ("fail".to_owned(), 0));
    assert_eq!(place.run(&["-v"]), ("fail".to_owned(), 2));
}

#[test]
fn a_planted_or_altered_memory_is_not_believed() {
    let place = Place::new();
    place.run(&[]);
    let entry = place.entry();
    let good = fs::read(&entry).expect("an entry");
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        bytes
    };
    for bytes in [flipped(0), flipped(40), good[..good.len() - 32].to_vec(), Vec::new()] {
        fs::write(&entry, bytes).expect("written");
        assert_eq!(place.run(&["-v"]), pass(0));
    }
    // The memory of another user's store, under the same name.
    let other = Place::new();
    other.run(&[]);
    let name = entry.file_name().expect("a name");
    assert!(Path::new(&other.entry()).ends_with(name), "the same component and settings");
    fs::copy(other.entry(), &entry).expect("copied");
    assert_eq!(place.run(&["-v"]), pass(0));
}
