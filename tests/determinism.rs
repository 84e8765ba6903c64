//! Two runs of one gate over the same files print the same.

use crate::guests;
use regex::Regex;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

const SCRIPTED: &str = include_str!("../fixtures/scripted.wat");

#[test]
fn twelve_checks_in_three_tiers_over_a_thousand_files_report_the_same_twice() {
    let folder = crate::support::tempdir().expect("a folder");
    let root = folder.path();
    let cache = crate::support::tempdir().expect("a folder");
    fs::write(root.join("scripted.wasm"), guests::assemble("scripted", SCRIPTED)).expect("written");
    for number in 0..1_000 {
        let below = root.join(format!("part-{}", number % 7));
        fs::create_dir_all(&below).expect("a folder");
        // Every 50th is wrong, and every 3rd is for the other verifier.
        let (ending, text) = match number {
            n if n % 50 == 0 => ("json", format!("{{\"n\": {n},}}")),
            n if n % 3 == 0 => ("txt", format!("{n}")),
            n => ("json", format!("{{\"n\": [{n}]}}")),
        };
        fs::write(below.join(format!("{number:04}.{ending}")), text).expect("written");
    }
    let mut config = String::from(
        "[gate.main]\ntiers = [\"first\", \"second\", \"third\"]\n[gate.first]\nall = [\"j0\", \"j1\", \"j2\", \"s0\"]\n\
         [gate.second]\nvote = [\"s1\", \"s2\", \"s3\", \"s4\"]\n[gate.third]\nany = [\"j3\", \"j4\", \"j5\", \"j6\"]\n",
    );
    for number in 0..7 {
        // The first tier's do not see what is wrong, so that all tiers are reached.
        let wrong = if number < 3 { "\"**/*[05]0.json\"" } else { "" };
        let _ = writeln!(
            config,
            "[check.j{number}]\nverifier = \"json-syntax\"\nfiles = [\"part-{number}/*.json\"]\nexclude = [{wrong}]"
        );
    }
    for (number, say) in ["pass", "pass", "fail", "pass", "pass"].into_iter().enumerate() {
        let _ = writeln!(config, "[check.s{number}]\nverifier = \"./scripted.wasm\"\nsettings = {{ say = \"{say}\" }}");
    }
    fs::write(root.join("gate.toml"), config).expect("written");
    let run = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_gate"))
            .args(["run", "--format", "json"])
            .args(more)
            .current_dir(root)
            .env("GATE_CACHE_DIR", cache.path())
            .output()
            .expect("gate runs");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        // But for its identifier, its times, and what an earlier run had judged already, it is the same.
        let differs = r#"("(duration_ms|started_ms)": [0-9.]+|"(run|started)": "[^"]+"|,\s+"cached": true|,\s+"established": "[0-9a-z]+")"#;
        Regex::new(differs).expect("a pattern").replace_all(&text, "").into_owned()
    };
    let first = run(&["--no-cache"]);
    assert!(first.contains("\"trailing-comma\""), "{first}");
    assert_eq!(first.matches("\"kind\": \"check\"").count(), 12);
    // Judged again, judged to be remembered, and remembered.
    assert_eq!(first, run(&["--no-cache"]));
    assert_eq!(first, run(&[]));
    assert_eq!(first, run(&[]));
}
