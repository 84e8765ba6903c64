//! Time: what a verifier does before it is called, and what the host does itself, ends with the deadline of the gate.

use crate::guests;
use crate::ledger::Stage;
use gatehost::ledger::{EntryKind, Filter, Ledger};
use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// More than any of these runs takes on a busy machine, and far less than without a deadline.
const PATIENT: Duration = Duration::from_secs(10);

/// Runs the gate, and returns its record, what it printed and how long it took.
fn run(stage: &Stage, arguments: &[&str]) -> (Value, Output, Duration) {
    let arguments = [&["run", "--format", "json"], arguments].concat();
    let start = Instant::now();
    let output = stage.run(&arguments);
    let took = start.elapsed();
    let record = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (record, output, took)
}

/// Returns the errors of the members of a gate: kind, message and hint.
fn errors(record: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |member: &Value| {
        let error = &member["verdict"]["error"];
        (text(&error["kind"]), text(&error["message"]), text(&error["hint"]))
    };
    record["gate"]["children"].as_array().expect("members").iter().map(of).collect()
}

/// Writes components that never describe themselves, each with another digest, and a gate of them.
fn endless(stage: &Stage, count: usize, top: &str, limits: &str) {
    let guests = ["spin-in-describe", "spin-in-start"].map(guests::component);
    let names: Vec<String> = (0..count).map(|number| format!("\"c{number}\"")).collect();
    let mut toml = format!("{top}\n[gate.g]\nall = [{}]\n", names.join(", "));
    for number in 0..count {
        let mut component = guests[number % guests.len()].clone();
        // An empty custom section with another name.
        component.extend([0, 3, 2, b'n', u8::try_from(number).expect("few")]);
        fs::write(stage.work().join(format!("c{number}.wasm")), component).expect("written");
        toml += &format!("[check.c{number}]\nverifier = \"./c{number}.wasm\"\nfiles = [\"*.json\"]\n{limits}\n");
    }
    fs::write(stage.work().join("gate.toml"), toml).expect("written");
    // Compiling has a limit of its own.
    let names: Vec<String> = (0..count).map(|number| format!("c{number}.wasm")).collect();
    let names: Vec<&str> = ["compile"].into_iter().chain(names.iter().map(String::as_str)).collect();
    assert!(stage.run(&names).status.success());
}

#[test]
fn endless_descriptions_end_together_with_the_limit_of_their_check() {
    let stage = Stage::new();
    endless(&stage, 12, "", "limits = { time = \"2s\" }");
    let (record, output, took) = run(&stage, &[]);
    assert_eq!(output.status.code(), Some(3));
    assert!(took < PATIENT, "one after the other they take 24 s: {took:?}");
    for (kind, message, hint) in errors(&record) {
        assert_eq!((&*kind, &*message), ("limit.time", "the verifier did not describe itself within 2s"));
        assert!(hint.contains("raise the shorter of `limits.time` and `timeout` of its check"), "{hint}");
    }
    assert_eq!((errors(&record).len(), &record["gate"]["class"]), (12, &Value::from("timeout")));
    let project = stage.project();
    assert_eq!(stage.ledger().entries(&Filter::of(&project).kinds(&[EntryKind::Run])).expect("entries").len(), 1);
    for command in [&["plan"][..], &["verify"], &["fix"]] {
        let output = stage.run(command);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{command:?}: {said}");
        assert!(said.contains("limit.time"), "{command:?}: {said}");
    }
}

/// Runs a gate that is an error, and returns whether its component was remembered, and how long the process computed.
fn remembered(stage: &Stage, arguments: &[&str]) -> (bool, Duration) {
    let mut gate = stage.gate(&[&["run", "--format", "json"], arguments].concat());
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let mut child = gate.stdout(File::create(&out).expect("a file")).stderr(Stdio::null()).spawn().expect("gate runs");
    let about = format!("/proc/{}/stat", child.id());
    // What the system says of a process that ended stays until somebody waits for it.
    let ticks: u64 = loop {
        let text = fs::read_to_string(&about).expect("a process");
        let fields: Vec<&str> = text.rsplit(") ").next().expect("fields").split(' ').collect();
        if fields[0] == "Z" {
            break [fields[11], fields[12]].map(|ticks| ticks.parse::<u64>().expect("ticks")).iter().sum();
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(child.wait().expect("a status").code(), Some(3));
    let record: Value = serde_json::from_slice(&fs::read(&out).expect("a record")).expect("JSON");
    let (kind, message, hint) = errors(&record).remove(0);
    assert_eq!(kind, "limit.time");
    assert_eq!(message.contains("it was last asked"), hint.contains("`gate run --no-cache` asks it again"));
    (message.contains("it was last asked"), Duration::from_millis(10 * ticks))
}

#[test]
fn a_component_that_computed_until_its_time_was_over_is_remembered() {
    let stage = Stage::new();
    endless(&stage, 1, "", "limits = { time = \"1s\" }");
    let mut is_known = false;
    // A busy machine may never leave it the processor time that is enough to be sure.
    for _ in 0..10 {
        let (is_remembered, computed) = remembered(&stage, &[]);
        assert_eq!(is_remembered, is_known, "{computed:?}");
        // On one core, half of the time is its share.
        is_known |= computed > Duration::from_millis(950);
        if is_known || computed > Duration::from_millis(450) {
            break;
        }
    }
    if is_known {
        assert!(remembered(&stage, &[]).0);
        assert!(!remembered(&stage, &["--no-cache"]).0);
        // The limits are a part of the key.
        let toml = fs::read_to_string(stage.work().join("gate.toml")).expect("text");
        fs::write(stage.work().join("gate.toml"), toml.replace("1s", "900ms")).expect("written");
        assert!(!remembered(&stage, &[]).0);
    }
}

#[test]
fn more_components_than_can_run_at_once_share_the_time() {
    let stage = Stage::new();
    // 16 run at the same time.
    endless(&stage, 33, "", "limits = { time = \"3s\" }");
    let toml = fs::read_to_string(stage.work().join("gate.toml")).expect("text");
    let last = format!(
        "{}[check.z]\nverifier = \"./z.wasm\"\nfiles = [\"*.json\"]\n",
        toml.replace("\"c32\"]", "\"c32\", \"z\"]")
    );
    fs::write(stage.work().join("gate.toml"), last).expect("written");
    fs::write(stage.work().join("z.wasm"), describing(&["**".to_owned()], "")).expect("written");
    assert!(stage.run(&["compile", "z.wasm"]).status.success());
    let (record, output, took) = run(&stage, &["--no-cache"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(took < PATIENT, "{took:?}");
    let errors = errors(&record);
    for (kind, message, _) in &errors[..33] {
        assert_eq!((&**kind, &**message), ("limit.time", "the verifier did not describe itself within 1s"));
    }
    assert_eq!(record["gate"]["children"][33]["outcome"], "pass");
}

#[test]
fn the_deadline_ends_endless_descriptions_and_remembers_nothing() {
    let stage = Stage::new();
    endless(&stage, 3, "deadline = \"1s\"", "");
    for _ in 0..2 {
        let (record, output, took) = run(&stage, &[]);
        assert_eq!(output.status.code(), Some(3));
        assert!(took < PATIENT, "{took:?}");
        for (kind, message, _) in errors(&record) {
            assert_eq!((&*kind, &*message), ("limit.time", "the gate `g` took more than 1s"));
        }
    }
}

/// Makes a component that describes these patterns of files and this schema of settings.
fn describing(files: &[String], schema: &str) -> Vec<u8> {
    let number = |number: usize| u32::try_from(number).expect("small").to_le_bytes();
    let text: String = files.concat() + schema;
    let list = 4096 + text.len().next_multiple_of(4);
    let mut at = 4096;
    let mut content = text.clone().into_bytes();
    content.resize(list - 4096, 0);
    for file in files {
        content.extend([number(at), number(file.len())].concat());
        at += file.len();
    }
    // Name, version, summary, files, schema, rules, no URL.
    let record = [96, 7, 103, 5, 108, 14, list, files.len(), at, schema.len(), 0, 0, 0].map(number).concat();
    let escaped = |bytes: &[u8]| bytes.iter().map(|byte| format!("\\{byte:02x}")).collect::<String>();
    let text = guests::text("describing/at-length");
    guests::assemble("at-length", &text.replace("RECORD", &escaped(&record)).replace("CONTENT", &escaped(&content)))
}

#[test]
fn descriptions_that_take_long_to_look_at_end_with_the_deadline() {
    let stage = Stage::new();
    // Each takes longer than a tenth of a second to compile.
    let schema = |number: usize| {
        let pattern = |at| format!(r#""p{at}":{{"pattern":"^(\\p{{L}}{{55}}|{number}-{at})$"}}"#);
        format!(
            r#"{{"type":"object","required":[],"properties":{{{}}}}}"#,
            (0..50).map(pattern).collect::<Vec<_>>().join(",")
        )
    };
    let names: Vec<String> = (0..40).map(|number| format!("c{number}")).collect();
    let mut toml = format!("deadline = \"500ms\"\n[gate.g]\nall = {names:?}\n");
    for (number, name) in names.iter().enumerate() {
        let component = describing(&["**".to_owned()], &schema(number));
        fs::write(stage.work().join(format!("{name}.wasm")), component).expect("written");
        toml += &format!("[check.{name}]\nverifier = \"./{name}.wasm\"\n");
    }
    fs::write(stage.work().join("gate.toml"), toml).expect("written");
    assert!(stage.run(&["compile", "c0.wasm"]).status.success());
    let (record, output, took) = run(&stage, &[]);
    assert_eq!((output.status.code(), errors(&record).len()), (Some(3), 40));
    assert!(took < PATIENT, "{took:?}");
    for (kind, message, _) in errors(&record) {
        assert_eq!((&*kind, &*message), ("limit.time", "the gate `g` took more than 500ms"));
    }
    let output = stage.run(&["plan"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(3) && said.contains("limit.time"), "{said}");
}

#[test]
fn a_component_that_describes_too_many_patterns_is_refused() {
    let stage = Stage::new();
    let toml = "[gate.g]\nall = [\"c\"]\n[check.c]\nverifier = \"./c.wasm\"\n";
    fs::write(stage.work().join("gate.toml"), toml).expect("written");
    let refused = |files: &[String]| {
        fs::write(stage.work().join("c.wasm"), describing(files, "")).expect("written");
        let output = stage.run(&["plan"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_named = said.contains("at most 1000 with 65536 bytes are compiled");
        assert_eq!((output.status.code() == Some(2), output.status.code() == Some(0)), (is_named, !is_named), "{said}");
        is_named
    };
    let patterns = |count: usize| (0..count).map(|number| format!("**/*{number}*x*{number}/**")).collect::<Vec<_>>();
    assert!(!refused(&patterns(1_000)));
    assert!(refused(&patterns(1_001)));
    assert!(refused(&["a".repeat(65_537)]));
}

#[test]
fn a_verifier_beside_an_endless_one_judges_as_ever() {
    let stage = Stage::new();
    endless(&stage, 1, "", "limits = { time = \"1s\" }");
    let toml = fs::read_to_string(stage.work().join("gate.toml")).expect("text");
    let both = toml.replace("\"c0\"]", "\"c0\", \"json\"]")
        + "[check.json]\nverifier = \"json-syntax\"\n[gate.other]\nall = [\"json\"]\n";
    fs::write(stage.work().join("gate.toml"), both).expect("written");
    let (record, ..) = run(&stage, &["g"]);
    let outcomes: Vec<&Value> =
        record["gate"]["children"].as_array().expect("two").iter().map(|it| &it["outcome"]).collect();
    assert_eq!(outcomes, ["error", "pass"]);
    // Only the verifiers of the gate are asked.
    let (record, output, _) = run(&stage, &["other", "--no-cache"]);
    assert_eq!((output.status.code(), &record["status"]), (Some(0), &Value::from("pass")));
}

fn git(stage: &Stage, script: &str) {
    let mut shell = Command::new("bash");
    crate::support::isolate(shell.args(["-ec", script]), stage.work(), stage.work().parent().expect("a home"));
    assert!(shell.status().expect("a shell").success());
}

/// Creates a file that takes long to read and no space.
fn large(path: &Path, size: u64) {
    File::create(path).and_then(|file| file.set_len(size)).expect("a file");
}

/// Lines in another order for each seed.
fn shuffled(seed: u64) -> String {
    (0..600_000_u64).map(|number| format!("{}\n", (number * 7_919 + seed) * 104_729 % 600_000)).collect()
}

/// Work of the host that takes many seconds: its name, what prepares it, and the arguments.
type Row = (&'static str, fn(&Stage), &'static [&'static str]);

/// Writes many files, and patterns in place of a part of the configuration that take long to compare with their names.
fn patterns(stage: &Stage, place: &str, with: impl Fn(&str) -> String) {
    let patterns: Vec<String> = (0..3_000).map(|number| format!("**/*{number}*x*{number}/**")).collect();
    let toml = stage.work().join("gate.toml");
    let text = fs::read_to_string(&toml).expect("text");
    assert!(text.contains(place));
    fs::write(toml, text.replacen(place, &with(&format!("{patterns:?}")), 1)).expect("written");
    fs::create_dir(stage.work().join("folder")).expect("made");
    (0..20_000).for_each(|file| fs::write(stage.work().join(format!("folder/{file}")), "").expect("a file"));
}

const COMMAND: &str = "verifier = \"command\"\ngrants = [\"command:t\"]";
const COMMIT: &str = "git init -q -b main && git add -A && git commit -qm base";
const SUBMISSION: &str = "verifier = \"case-conflicts\"\ngrants = [\"workspace\"]";

const WORK: &[Row] = &[
    (
        "differences",
        |stage| {
            let write = |seed| {
                (0..3).for_each(|file| fs::write(stage.work().join(format!("{file}")), shuffled(seed)).expect("a file"))
            };
            write(0);
            git(stage, COMMIT);
            write(1);
        },
        &[],
    ),
    (
        "staged differences",
        |stage| {
            fs::write(stage.work().join("a"), shuffled(0)).expect("a file");
            git(stage, COMMIT);
            fs::write(stage.work().join("a"), shuffled(1)).expect("a file");
            git(stage, "git add -A");
        },
        &["--staged"],
    ),
    (
        "hashes of tracked files",
        |stage| {
            fs::write(stage.work().join("a"), "").expect("a file");
            git(stage, COMMIT);
            large(&stage.work().join("a"), 64 << 30);
        },
        &[],
    ),
    (
        "digest of the files",
        |stage| (0..100).for_each(|file| large(&stage.work().join(format!("{file}")), 256 << 20)),
        &[],
    ),
    (
        "patterns of a file verifier",
        |stage| patterns(stage, SUBMISSION, |patterns| format!("verifier = \"json-syntax\"\nfiles = {patterns}")),
        &[],
    ),
    (
        "patterns of a submission verifier",
        |stage| {
            patterns(stage, SUBMISSION, |patterns| {
                format!("{COMMAND}\nfiles = {patterns}\n[command.t]\nrun = [\"true\"]")
            })
        },
        &[],
    ),
    (
        "patterns of a gate",
        |stage| {
            patterns(stage, "all = [\"c\"]", |patterns| {
                format!("all = [\"c\", \"other\"]\n[gate.other]\nall = [\"c\"]\nfiles = {patterns}")
            });
        },
        &[],
    ),
    (
        "patterns of the whole configuration",
        |stage| patterns(stage, "deadline", |patterns| format!("exclude = {patterns}\ndeadline")),
        &[],
    ),
    (
        "patterns of protected files",
        |stage| {
            patterns(stage, "deadline", |patterns| format!("protected = {patterns}\ndeadline"));
            git(stage, &COMMIT.replace("-A", "gate.toml"));
        },
        &[],
    ),
    (
        "a git that hangs",
        |stage| {
            git(stage, COMMIT);
            let git = stage.work().parent().expect("a home").join("bin/git");
            fs::create_dir(git.parent().expect("a folder")).expect("a folder");
            fs::write(&git, "#!/bin/sh\nexec sleep 600\n").expect("a program");
            fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).expect("executable");
            fs::write(stage.work().join("untracked"), "").expect("a file");
        },
        &[],
    ),
];

#[test]
fn work_of_the_host_ends_with_the_deadline() {
    for (name, prepare, arguments) in WORK {
        let stage = Stage::new();
        let toml = format!("deadline = \"500ms\"\n[gate.g]\nall = [\"c\"]\n[check.c]\n{SUBMISSION}\n");
        fs::write(stage.work().join("gate.toml"), toml).expect("written");
        prepare(&stage);
        let mut gate = stage.gate(&[&["run", "--format", "json"], *arguments].concat());
        let programs = stage.work().parent().expect("a home").join("bin");
        let path =
            std::env::join_paths([programs].into_iter().chain(std::env::split_paths(crate::support::search_path())));
        let start = Instant::now();
        let output = gate.env("PATH", path.expect("a path")).output().expect("gate runs");
        let took = start.elapsed();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{name}: {said}");
        let record: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{name}: {said}"));
        let late = ("limit.time".to_owned(), "the gate `g` took more than 500ms".to_owned(), String::new());
        assert_eq!(errors(&record)[0], late, "{name}");
        assert_eq!(record["status"], "error", "{name}");
        assert!(took < PATIENT, "{name}: {took:?}");
        let project = stage.project();
        let stored = stage.ledger().entries(&Filter::of(&project).kinds(&[EntryKind::Run])).expect("entries");
        assert_eq!(stored.len(), 1, "{name}");
    }
}

#[test]
fn files_that_are_passed_from_the_cache_are_read_until_the_deadline() {
    let stage = Stage::new();
    (0..200).for_each(|file| large(&stage.work().join(format!("{file}.json")), 64 << 20));
    let toml = "deadline = \"500ms\"\n[gate.g]\nall = [\"c\"]\n[check.c]\nverifier = \"json-syntax\"\n";
    fs::write(stage.work().join("gate.toml"), toml).expect("written");
    let (record, output, took) = run(&stage, &[]);
    assert_eq!((output.status.code(), errors(&record)[0].0.as_str()), (Some(3), "limit.time"));
    assert!(took < PATIENT, "{took:?}");
}

#[test]
fn fix_reads_no_file_again_without_an_offered_fix() {
    let stage = Stage::new();
    let toml = format!("deadline = \"500ms\"\n[gate.g]\nall = [\"c\"]\n[check.c]\n{SUBMISSION}\n");
    fs::write(stage.work().join("gate.toml"), toml).expect("written");
    fs::write(stage.work().join("a"), "").expect("a file");
    git(&stage, COMMIT);
    large(&stage.work().join("a"), 64 << 30);
    let start = Instant::now();
    let output = stage.run(&["fix"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stdout).contains("no finding has a fix"));
    assert!(start.elapsed() < PATIENT, "{:?}", start.elapsed());
}
