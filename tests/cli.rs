//! What the program does where the world around it is not as it should be: nobody reads, nothing can be kept.

use crate::{cases, guests};
use std::fs::{self, File};
use std::io::pipe;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A folder to be in, with a home above it.
fn work() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a folder");
    fs::create_dir(home.path().join("work")).expect("a folder");
    fs::write(home.path().join("work/a.json"), "{}").expect("written");
    home
}

fn gate(home: &Path, arguments: &str) -> Command {
    let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
    cases::quiet(gate.args(arguments.split_whitespace()), &home.join("work"), home).stdin(Stdio::null());
    gate
}

fn output(home: &Path, arguments: &str) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = gate(home, arguments).output().expect("gate runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8").replace(&*home.to_string_lossy(), "[HOME]");
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn output_that_cannot_be_written_is_no_reason_to_panic() {
    let home = work();
    let full = || File::options().write(true).open("/dev/full").expect("a device that is full");
    // The end of a pipe whose other end is closed.
    let unread = || pipe().expect("a pipe").1;
    for arguments in [
        "--help",
        "run --help",
        "--version",
        "no-such-command",
        "completions bash",
        "completions zsh",
        "completions fish",
        "completions elvish",
        "completions powershell",
        "schema gate",
        "inspect",
        "inspect json-syntax",
        "init --dry-run",
        "new --list",
        "plan",
        "plan -c none.toml",
        "run",
        "run -v --format json",
        "compile json-syntax none",
    ] {
        for (what, gate) in [
            ("a full stdout", gate(home.path(), arguments).stdout(full()).stderr(Stdio::null())),
            ("a closed stdout", gate(home.path(), arguments).stdout(unread()).stderr(Stdio::null())),
            ("a full stderr", gate(home.path(), arguments).stdout(Stdio::null()).stderr(full())),
            ("a closed stderr", gate(home.path(), arguments).stdout(Stdio::null()).stderr(unread())),
        ] {
            let code = gate.status().expect("gate runs").code();
            assert!(matches!(code, Some(0..=3)), "`gate {arguments}` with {what}: {code:?}");
        }
    }
}

#[test]
fn colours_reach_what_is_printed_before_the_arguments_are_understood() {
    let home = work();
    for (arguments, colored) in [
        ("run --help --color always", true),
        ("run --help --color=never", false),
        ("run --help", false),
        ("--color always no-such-command", true),
        ("--color never no-such-command", false),
    ] {
        let (_, stdout, stderr) = output(home.path(), arguments);
        assert_eq!((stdout + &stderr).contains('\x1b'), colored, "{arguments}");
    }
}

#[test]
fn a_cache_that_cannot_be_used_is_told() {
    let home = work();
    fs::write(home.path().join("work/guest.wasm"), guests::component("another-name")).expect("written");
    fs::write(home.path().join("cache"), "in the way").expect("written");
    let why = "cannot use the cache folder `[HOME]/cache`";
    let (code, _, stderr) = output(home.path(), "run --verifier json-syntax");
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.starts_with(&format!("note: the cache is disabled: {why}: ")), "{stderr}");
    assert_eq!(output(home.path(), "run --verifier json-syntax -q").2, "");
    let (code, stdout, stderr) = output(home.path(), "compile ./guest.wasm");
    assert_eq!((code, stdout.as_str()), (Some(3), ""));
    assert!(stderr.starts_with(&format!("error: {why}\ncaused by: ")), "{stderr}");
}

#[test]
fn a_full_disk_is_no_verdict_and_a_bad_path_a_mistake() {
    let home = work();
    let (code, stdout, stderr) = output(home.path(), "run --output json=/dev/full");
    assert_eq!(code, Some(3), "{stdout}{stderr}");
    let (code, _, stderr) = output(home.path(), "run --output json=no/such/folder/a.json");
    assert_eq!(code, Some(2), "{stderr}");
    let full = File::options().write(true).open("/dev/full").expect("a device that is full");
    let ended = gate(home.path(), "run --format json").stdout(full).status().expect("gate runs");
    assert_eq!(ended.code(), Some(3));
}

#[test]
fn a_plan_that_nobody_wrote_is_told_to_be_one() {
    let home = work();
    let note = "note: there is no gate.toml, so this is the default gate; `gate init` writes one to start from\n";
    assert_eq!(output(home.path(), "plan").2, note);
    assert_eq!(output(home.path(), "run --dry-run").2, note);
    assert_eq!(output(home.path(), "plan -q").2, "");
}

/// Every whole gate.toml of the README and the guides is one; the components that it names are given.
#[test]
fn the_examples_of_the_guides_load() {
    let texts: Vec<String> = guides().iter().map(|guide| fs::read_to_string(guide).expect("a guide")).collect();
    let blocks = texts.iter().flat_map(|text| text.split("```toml\n").skip(1));
    let blocks = blocks.map(|rest| rest.split("```").next().expect("an end"));
    let whole: Vec<&str> = blocks.filter(|block| block.contains("[gate.")).collect();
    assert!(!whole.is_empty(), "the examples are gone");
    for example in whole {
        let home = work();
        let work = home.path().join("work");
        fs::create_dir(work.join("checks")).expect("a folder");
        for component in example.split('"').filter(|word| word.ends_with(".wasm")) {
            fs::write(work.join(component), guests::assemble("scripted", cases::SCRIPTED)).expect("written");
        }
        fs::write(work.join("gate.toml"), example).expect("written");
        let (code, _, stderr) = output(home.path(), "plan");
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{example}");
    }
}

/// The README and all guides.
fn guides() -> Vec<std::path::PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let docs = fs::read_dir(root.join("host/docs")).expect("the guides").map(|entry| entry.expect("an entry").path());
    let named = ["README.md", "CONTRIBUTING.md", "plugins/README.md", "plugins/AUTHORING.md", "wit/README.md"];
    docs.chain(named.map(|name| root.join(name))).collect()
}

#[test]
fn every_link_of_the_guides_leads_somewhere() {
    let link = regex::Regex::new(r"\]\(([^)#]+)(#[^)]*)?\)").expect("a pattern");
    for guide in guides() {
        let text = fs::read_to_string(&guide).expect("a guide");
        for found in link.captures_iter(&text) {
            let target = &found[1];
            if !target.contains("://") {
                let path = guide.parent().expect("a folder").join(target);
                assert!(path.exists(), "{}: `{target}` leads nowhere", guide.display());
            }
        }
    }
}

#[test]
fn the_readme_can_be_read_in_five_minutes() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).expect("the README");
    assert!(readme.len() <= 8_192, "{} bytes", readme.len());
}
