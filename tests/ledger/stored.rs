//! What a run stores besides its entries: within limits, in the state folder that the next process finds.

use super::Stage;
use super::commands::{in_git, record, said, text, write};
use crate::guests;
use crate::support::isolate;
use gatehost::ledger::Ledger;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A gate whose verifier runs a command so many times.
fn loud(stage: &Stage, times: u32, command: &str, more: &str) {
    let text = guests::text("storing/run-in-a-loop").replace("i32.const 120", &format!("i32.const {times}"));
    fs::write(stage.work().join("loop.wasm"), guests::assemble("a loop", &text)).expect("written");
    let gate = format!(
        "[gate.default]\nall = [\"loud\"]\n[check.loud]\nverifier = \"./loop.wasm\"\ngrants = [\"command:loud\"]\n\
         [command.loud]\nrun = [\"sh\", \"-c\", \"{command}\"]\n{more}"
    );
    write(stage, "gate.toml", &gate);
    in_git(stage);
    write(stage, "b.json", "[1]\n");
}

/// Runs a program, and returns its output and the most memory that it used at the same time, in KiB. The system is asked while it
/// runs, because what it reports of a process that has ended includes the memory of the process that started it.
fn measured(command: &mut Command) -> (Output, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| fs::File::create(folder.path().join(name)).expect("a file");
    let mut child = command.stdout(file("out")).stderr(file("err")).spawn().expect("gate runs");
    let (about, mut most) = (format!("/proc/{}/status", child.id()), 0);
    let status = loop {
        let peak = fs::read_to_string(&about).unwrap_or_default();
        let peak = peak.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        most = most.max(peak.unwrap_or(0));
        if let Some(status) = child.try_wait().expect("a status") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let read = |name: &str| fs::read(folder.path().join(name)).expect("a file");
    (Output { status, stdout: read("out"), stderr: read("err") }, most)
}

fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let sizes = entries.map(|entry| match entry.file_type().expect("a type").is_dir() {
        true => size_of(&entry.path()),
        false => entry.metadata().expect("there").len(),
    });
    sizes.sum()
}

#[test]
fn a_command_in_a_loop_fills_neither_disk_nor_memory_and_what_was_cut_is_named() {
    let stage = Stage::new();
    loud(&stage, 40, "head -c 1900000 /dev/zero", "");
    // Compiling the component takes memory too.
    assert_eq!(stage.run(&["plan"]).status.code(), Some(0));
    let (output, memory) = measured(&mut stage.gate(&["run", "--format", "json"]));
    let run = record(&output);
    assert_eq!(run["status"], "pass", "{}", said(&output));
    // A result has 1.9 MB, which are 2.5 MB in base64: 16 MiB are 6 of them.
    let cut = &run["not_stored"][0];
    assert_eq!(
        (&cut["check"], &cut["kind"], &cut["results"]),
        (&"loud".into(), &"commands".into(), &34.into()),
        "{cut}"
    );
    assert_eq!(run["gate"]["children"][0]["commands"].as_array().expect("commands").len(), 40);
    let told = "34 results of commands of the check `loud` (";
    assert!(said(&output).contains(told), "{}", said(&output));
    let size = size_of(&stage.state());
    assert!(size < 2 << 20, "{size} bytes are stored");
    assert!(memory > 0 && memory < 120 << 10, "{memory} KiB are used");
    let bundle = stage.state().join("bundle");
    let bundle = bundle.to_str().expect("UTF-8");
    let made = stage.run(&["bundle", "--output", bundle]);
    assert_eq!(made.status.code(), Some(0), "{}", said(&made));
    assert!(said(&made).contains(told), "{}", said(&made));
    let replayed = stage.run(&["replay", bundle]);
    assert_eq!(replayed.status.code(), Some(2), "{}", said(&replayed));
    assert!(said(&replayed).contains("cannot be replayed: not stored were 34 results of"), "{}", said(&replayed));
}

#[test]
fn fixes_of_many_files_fill_neither_disk_nor_memory_and_what_was_cut_is_named() {
    let stage = Stage::new();
    let text = guests::text("storing/fix-of-zeros");
    fs::write(stage.work().join("zeros.wasm"), guests::assemble("zeros", &text)).expect("written");
    write(
        &stage,
        "gate.toml",
        "[gate.default]\nall = [\"zeros\"]\n[check.zeros]\nverifier = \"./zeros.wasm\"\nfiles = [\"f/*\"]\n",
    );
    fs::create_dir(stage.work().join("f")).expect("a folder");
    for number in 0..600 {
        write(&stage, &format!("f/{number:03}"), &format!("{number}\n"));
    }
    assert_eq!(stage.run(&["plan"]).status.code(), Some(0), "compiled");
    let runs = [(); 2].map(|()| {
        let (output, memory) = measured(&mut stage.gate(&["run", "--format", "json"]));
        assert!(memory > 0 && memory < 200 << 10, "{memory} KiB are used");
        record(&output)["gate"]["children"][0]["verdict"].clone()
    });
    assert_eq!(runs[0], runs[1]);
    let findings = runs[0]["findings"].as_array().expect("findings");
    // A zero takes 6 bytes in JSON, so 8 MiB are 21 fixes.
    assert_eq!((&runs[0]["status"], findings.len(), &runs[0]["fixes_omitted"]), (&"fail".into(), 600, &579.into()));
    assert!(findings[..21].iter().all(|finding| finding["fix"].is_object()) && findings[21]["fix"].is_null());
    let size = size_of(&stage.state());
    assert!(size < 4 << 20, "{size} bytes are stored");
    assert!(said(&stage.run(&["run"])).contains("without the fixes of 579 findings"));
}

#[test]
fn components_that_describe_themselves_in_much_memory_do_so_one_after_another() {
    let stage = Stage::new();
    let component = guests::assemble("much memory", &guests::text("describing/in-much-memory"));
    let names: Vec<String> = (0..8).map(|number| format!("c{number}")).collect();
    let mut gate = format!("[gate.default]\nall = {names:?}\n");
    for (name, number) in names.iter().zip(0..) {
        // Another custom section makes it another component.
        let bytes = [&component[..], &[0, 3, 2, b'n', number]].concat();
        fs::write(stage.work().join(format!("{name}.wasm")), bytes).expect("written");
        gate += &format!("[check.{name}]\nverifier = \"./{name}.wasm\"\nfiles = [\"*.json\"]\n");
    }
    write(&stage, "gate.toml", &gate);
    assert_eq!(stage.run(&["run"]).status.code(), Some(2), "compiled");
    let (output, memory) = measured(&mut stage.gate(&["run"]));
    assert!(said(&output).contains("wasm `unreachable` instruction executed"), "it got the memory: {}", said(&output));
    assert!(memory > 200 << 10 && memory < 500 << 10, "{memory} KiB are used");
}

#[test]
fn a_large_file_that_became_small_is_not_read_from_the_repository() {
    let stage = Stage::new();
    let rule = "settings = { rules = [{ id = \"r\", kind = \"forbid\", pattern = \"evil\", in = \"added-lines\" }] }";
    write(&stage, "gate.toml", &format!("[gate.default]\nall = [\"a\"]\n[check.a]\nverifier = \"patterns\"\n{rule}\n"));
    fs::File::create(stage.work().join("large")).and_then(|file| file.set_len(200 << 20)).expect("written");
    in_git(&stage);
    write(&stage, "large", "small\n");
    let (output, memory) = measured(&mut stage.gate(&["run"]));
    assert!(said(&output).contains("the added lines of `large` are unknown"), "{}", said(&output));
    assert!(memory > 0 && memory < 150 << 10, "{memory} KiB are used");
}

#[test]
fn inputs_that_exceed_the_limit_are_not_stored_and_named() {
    let stage = Stage::new();
    loud(&stage, 1, "true", "[limits]\nstored = \"1B\"\n");
    let output = stage.run(&["run", "--format", "json"]);
    let run = record(&output);
    let cut = run["not_stored"].as_array().expect("cut");
    assert!(run["status"] == "pass" && cut.iter().any(|cut| cut["kind"] == "inputs" && cut["check"] == ""), "{run:#}");
    assert!(said(&output).contains("warning: the inputs of the run ("), "{}", said(&output));
    let bundle = stage.run(&["bundle"]);
    assert_eq!(bundle.status.code(), Some(2), "{}", said(&bundle));
    assert!(said(&bundle).contains("its inputs are not stored"), "{}", said(&bundle));
}

#[test]
fn a_run_whose_answers_cannot_be_stored_is_no_pass() {
    let stage = Stage::new();
    loud(&stage, 2, "head -c 1000000 /dev/urandom", "");
    assert_eq!(stage.run(&["run"]).status.code(), Some(0), "the caches are filled");
    let mut failed = 0;
    for at in (4..40).step_by(3) {
        let output = stage.run_with("space", at);
        stage.holds(&output, &format!("call {at}"));
        match output.status.code() {
            Some(0) => {}
            Some(3) => failed += 1,
            other => panic!("call {at}: {other:?} {}", said(&output)),
        }
    }
    assert!(failed >= 5, "only {failed} calls mattered");
    assert_eq!(stage.run(&["run"]).status.code(), Some(0));
}

#[test]
fn bytes_of_any_kind_are_replayed_as_they_were() {
    let stage = Stage::new();
    let random = "head -c 3000000 /dev/urandom; printf 'a\\\\000b' >&2";
    loud(&stage, 3, random, "[limits]\nstored = \"256MiB\"\nstored_per_check = \"256MiB\"\n");
    let run = record(&stage.run(&["run", "--format", "json"]));
    assert_eq!((&run["status"], &run["not_stored"]), (&"pass".into(), &Value::Null), "{run:#}");
    let parts = stage.ledger().attachment(run["run"].as_str().expect("a run"), "commands").expect("stored");
    assert!(parts.len() >= 3 && parts.iter().all(|part| part.len() < 4 << 20), "{} parts", parts.len());
    let bundle = stage.state().join("bundle");
    let bundle = bundle.to_str().expect("UTF-8");
    assert_eq!(stage.run(&["bundle", "--output", bundle]).status.code(), Some(0));
    let replayed = Stage::new().run(&["replay", bundle]);
    assert_eq!(replayed.status.code(), Some(0), "{}", said(&replayed));
}

/// A gate whose command waits until the file `go` is there.
const WAITING: &str = "[gate.default]\nall = [\"tests\"]\n[check.tests]\nverifier = \"command\"\ngrants = [\"command:tests\"]\n\
                       [command.tests]\nrun = [\"sh\", \"-c\", \"touch begun; while ! test -f go; do sleep 0.01; done\"]\n\
                       workspace = \"read-write\"\n";

/// Runs a gate, and does this to the state folder in the middle of it. `older` beside it is how it was one run before.
fn run_while(tamper: impl Fn(&Path)) -> Output {
    let stage = Stage::new();
    write(&stage, "gate.toml", WAITING);
    write(&stage, "go", "");
    assert_eq!(stage.run(&["run"]).status.code(), Some(0));
    let older = stage.state().with_file_name("older");
    fs::create_dir(&older).expect("a folder");
    copy_files(&stage.state(), &older);
    assert_eq!(stage.run(&["run"]).status.code(), Some(0));
    ["go", "begun"].iter().for_each(|name| fs::remove_file(stage.work().join(name)).expect("removed"));
    let mut gate = stage.gate(&["run", "--format", "json"]);
    let running = gate.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("gate runs");
    let start = Instant::now();
    while !stage.work().join("begun").exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "the command does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    tamper(&stage.state());
    write(&stage, "go", "");
    running.wait_with_output().expect("it ended")
}

/// Copies the content of files into those of another folder.
fn copy_files(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("copied");
    }
}

/// What is done to a state folder, and its name.
type Tamper<'a> = (&'a str, &'a dyn Fn(&Path));

#[test]
fn nothing_is_acknowledged_if_a_file_of_the_ledger_went_away_during_the_run() {
    let undisturbed = run_while(|_| {});
    assert_eq!(undisturbed.status.code(), Some(0), "{}", said(&undisturbed));
    let removed = |name: &'static str| move |state: &Path| fs::remove_file(state.join(name)).expect("removed");
    let emptied = |name: &'static str| move |state: &Path| drop(fs::File::create(state.join(name)).expect("emptied"));
    let copied = |state: &Path| {
        fs::copy(state.join("ledger.db-wal"), state.join("copy")).expect("copied");
        fs::rename(state.join("copy"), state.join("ledger.db-wal")).expect("renamed");
    };
    let moved = |state: &Path| fs::rename(state, state.with_extension("old")).expect("renamed");
    let opened = |state: &Path| fs::set_permissions(state, fs::Permissions::from_mode(0o777)).expect("allowed");
    let shared_runs = |state: &Path| {
        fs::create_dir(state.join("runs")).expect("a folder");
        fs::set_permissions(state.join("runs"), fs::Permissions::from_mode(0o777)).expect("allowed");
    };
    let tampers: [Tamper<'_>; 12] = [
        ("ledger.db", &removed("ledger.db")),
        ("ledger.db-wal", &removed("ledger.db-wal")),
        ("ledger.db-shm", &removed("ledger.db-shm")),
        ("ledger.db emptied", &emptied("ledger.db")),
        ("ledger.db-wal emptied", &emptied("ledger.db-wal")),
        ("ledger.db-shm emptied", &emptied("ledger.db-shm")),
        ("an older copy of all files", &|state| copy_files(&state.with_file_name("older"), state)),
        ("the folder opened for others", &opened),
        ("the folder of earlier runs opened for others", &shared_runs),
        ("a copy of ledger.db-wal", &copied),
        ("the folder moved", &moved),
        ("the folder removed", &|state| fs::remove_dir_all(state).expect("removed")),
    ];
    for (what, tamper) in tampers {
        let output = run_while(tamper);
        assert_eq!(output.status.code(), Some(3), "{what}: {}", said(&output));
        let named = [
            "cannot write to the ledger",
            "cannot read the ledger",
            "the ledger is damaged",
            "it is writable by other users",
        ];
        assert!(named.iter().any(|why| said(&output).contains(why)), "{what}: {}", said(&output));
    }
}

#[test]
fn a_home_behind_a_symlink_is_ordinary_and_a_place_that_others_can_write_to_is_refused() {
    let stage = Stage::new();
    let home = stage.state().parent().expect("a folder").to_owned();
    fs::create_dir_all(home.join("disk/user")).expect("a folder");
    symlink("disk/user", home.join("user")).expect("a link");
    let run = |folder: &Path, args: &[&str]| {
        let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
        isolate(gate.args(args), stage.work(), &home).env_remove("GATE_STATE_DIR").env_remove("GATE_CACHE_DIR");
        gate.env_remove("XDG_STATE_HOME").env_remove("XDG_CACHE_HOME").env("HOME", folder).output().expect("gate runs")
    };
    for args in [&["run"][..], &["log", "--verify"], &["status"], &["bundle", "--output", "../run.bundle"]] {
        let output = run(&home.join("user"), args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", said(&output));
        assert!(!said(&output).contains("cache"), "{args:?}: {}", said(&output));
    }
    assert!(home.join("disk/user/.local/state/gatehost/ledger.db").is_file());
    assert!(home.join("disk/user/.cache/gatehost/secret").is_file());
    // The same rules hold for the folder that the path leads to.
    fs::create_dir_all(home.join("shared/user")).expect("a folder");
    fs::set_permissions(home.join("shared"), fs::Permissions::from_mode(0o777)).expect("allowed");
    symlink("shared/user", home.join("other")).expect("a link");
    symlink("nowhere", home.join("gone")).expect("a link");
    for (folder, why) in [("other", "shared` above it is writable by other users"), ("gone", "is a symlink to nothing")]
    {
        let output = run(&home.join(folder), &["run"]);
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
        assert!(said(&output).contains(why) && said(&output).contains("GATE_STATE_DIR"), "{}", said(&output));
        assert!(said(&output).contains("the cache is disabled"), "{}", said(&output));
    }
}

#[test]
fn a_relative_home_is_ignored_with_a_warning() {
    let stage = Stage::new();
    let home = stage.state().parent().expect("a folder").to_owned();
    let run = |variables: &[(&str, &str)]| {
        let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
        isolate(gate.arg("run"), stage.work(), &home).env_remove("GATE_STATE_DIR").env_remove("XDG_STATE_HOME");
        gate.env_remove("HOME").envs(variables.iter().copied()).output().expect("gate runs")
    };
    let state = home.join("xdg");
    let state = state.to_str().expect("UTF-8");
    let output = run(&[("HOME", "home"), ("XDG_STATE_HOME", state)]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("warning: `HOME` is ignored: expected an absolute path"), "{}", said(&output));
    assert!(home.join("xdg/gatehost/ledger.db").is_file());
    for variables in
        [&[("HOME", "home")][..], &[("HOME", ".."), ("XDG_STATE_HOME", "state")], &[("XDG_STATE_HOME", "x")]]
    {
        let output = run(variables);
        assert_eq!(output.status.code(), Some(3), "{variables:?}: {}", said(&output));
        for expected in
            ["is ignored", "there is no state folder", "set `GATE_STATE_DIR`, or `HOME` to an absolute path"]
        {
            assert!(said(&output).contains(expected), "{variables:?}: {}", said(&output));
        }
    }
    let mut left: Vec<_> =
        fs::read_dir(stage.work()).expect("a folder").map(|entry| entry.expect("one").file_name()).collect();
    left.sort();
    assert_eq!(left, ["a.json"], "nothing is written where a relative path leads");
}

#[test]
fn the_folder_of_earlier_runs_must_be_writable() {
    let stage = Stage::new();
    assert_eq!(stage.run(&["run"]).status.code(), Some(0));
    let runs = stage.state().join("runs");
    let refused = |why: &str| {
        let output = stage.run(&["run"]);
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
        assert!(said(&output).contains(&format!("`runs` in it: {why}")), "{}", said(&output));
    };
    fs::write(&runs, "").expect("written");
    refused("it is not a folder");
    fs::remove_file(&runs).expect("removed");
    fs::create_dir(&runs).expect("a folder");
    fs::set_permissions(&runs, fs::Permissions::from_mode(0o777)).expect("allowed");
    refused("it is writable by other users");
    fs::set_permissions(&runs, fs::Permissions::from_mode(0o700)).expect("allowed");
    assert_eq!(stage.run(&["run"]).status.code(), Some(0));
    let bundle = stage.run(&["bundle"]);
    assert!(text(&bundle.stdout).starts_with("{\"version\":1"), "{}", said(&bundle));
}
