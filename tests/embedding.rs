//! The library, used as another program would use it: from async code, several runs at once, each with its own environment.

use gatehost::changes::Selection;
use gatehost::environment::Environment;
use gatehost::event::{Event, EventKind};
use gatehost::session::{Host, Policy, Request};
use gatehost::verdict::Status;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Returns a folder with its own command `greet`, found by its own `PATH`.
fn project(greeting: &str) -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = crate::support::tempdir().expect("a folder");
    let work = folder.path().join("work");
    let programs = folder.path().join("programs");
    fs::create_dir_all(&work).expect("a folder");
    fs::create_dir_all(&programs).expect("a folder");
    let program = programs.join("greet");
    fs::write(&program, format!("#!/bin/sh\necho {greeting} $GREETED\n")).expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
    let gate = "[gate.main]\nall = [\"c\"]\n[check.c]\nverifier = \"command\"\ngrants = [\"command:greet\"]\n\
                [command.greet]\nrun = [\"greet\"]\nenv = [\"GREETED\"]\n";
    fs::write(work.join("gate.toml"), gate).expect("written");
    folder
}

fn request(folder: &Path, greeted: &str) -> Request {
    let path = format!("{}:/usr/bin:/bin", folder.join("programs").display());
    let variables = [("PATH", path.as_str()), ("GREETED", greeted), ("GATE_CACHE_DIR", "/nonexistent")];
    Request::new(folder.join("work"), variables.into_iter().collect())
}

#[test]
fn two_runs_at_once_each_see_their_own_environment() {
    let (one, two) = (project("hello"), project("bonjour"));
    // One thread: were the library to block it, the two could not run at the same time.
    let tokio = tokio::runtime::Builder::new_current_thread().build().expect("a thread");
    let host = Host::new(&Environment::default()).expect("a host");
    assert!(host.uncached().is_some(), "an empty environment names no cache");
    let (first, second) = tokio.block_on(async {
        let first = host.run(request(one.path(), "one"), ());
        let second = host.run(request(two.path(), "two"), ());
        tokio::join!(first, second)
    });
    for (record, said) in [(first, "hello one\n"), (second, "bonjour two\n")] {
        let record = record.expect("a record");
        assert_eq!(record.status, Status::Pass, "{:?}", record.feedback);
        let commands: Vec<&str> = record.gate.walk().flat_map(|node| &node.commands).map(|it| &*it.output).collect();
        assert_eq!(commands, [said]);
    }
    // Dropped within async code, as a caller may do it.
    tokio.block_on(async move { drop(host) });
}

#[test]
fn git_sees_the_environment_of_the_request_too() {
    let folder = crate::support::tempdir().expect("a folder");
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-C"]).arg(folder.path()).args(arguments);
        assert!(git.output().expect("git runs").status.success(), "{arguments:?}");
    };
    fs::write(folder.path().join("a.json"), "[1]").expect("written");
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "first"]);
    fs::write(folder.path().join("b.json"), "[1,]").expect("written");
    fs::write(folder.path().join("ignore"), "b.json\nignore\nconfig\n").expect("written");
    fs::write(folder.path().join("config"), format!("[core]\nexcludesFile = {}/ignore\n", folder.path().display()))
        .expect("written");
    let config = folder.path().join("config").display().to_string();
    let path = std::env::var("PATH").expect("a search path");
    let run = |variables: &[(&str, &str)]| {
        let environment: Environment = variables.iter().copied().collect();
        let request = Request::new(folder.path(), environment);
        async move { Host::new(&Environment::default()).expect("a host").run(request, ()).await }
    };
    let tokio = tokio::runtime::Builder::new_current_thread().build().expect("a thread");
    // At the same time: one whose git ignores the new file, one whose git does not, and one that has no git.
    let (ignoring, plain, none) = tokio.block_on(async {
        tokio::join!(
            run(&[("PATH", &path), ("GIT_CONFIG_GLOBAL", &config)]),
            run(&[("PATH", &path), ("GIT_CONFIG_GLOBAL", "/dev/null")]),
            run(&[("PATH", "/nonexistent")]),
        )
    });
    let ignoring = ignoring.expect("a record");
    assert_eq!((ignoring.status, ignoring.files), (Status::Pass, 0), "{:?}", ignoring.feedback);
    let plain = plain.expect("a record");
    assert_eq!((plain.status, plain.files), (Status::Fail, 3), "{:?}", plain.feedback);
    assert_eq!(none.expect_err("there is no git").exit().code(), 2);
}

#[test]
fn a_caller_gets_a_record_an_error_or_nothing_at_all() {
    let folder = crate::support::tempdir().expect("a folder");
    fs::write(folder.path().join("a.json"), "[1,]").expect("written");
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a thread");
    let host = Host::new(&Environment::default()).expect("a host");
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = Arc::clone(&seen);
    let watch = move |event: &Event| {
        if let EventKind::CheckEnded { path, .. } = &event.what {
            told.lock().expect("a list").push(path.clone());
        }
    };
    let mut request = Request::new(folder.path(), Environment::of_process());
    request.selection = Selection::Files(vec!["a.json".into()]);
    request.policy = Policy::Verifiers {
        verifiers: vec!["json-syntax".to_owned()],
        settings: serde_json::json!({}),
        grants: vec![],
    };
    let record = tokio.block_on(host.run(request.clone(), watch)).expect("a record");
    assert_eq!((record.status, record.files), (Status::Fail, 1));
    assert!(seen.lock().expect("a list").iter().any(|path| path.ends_with("json-syntax")));
    // What a verifier does is never an error of the call.
    request.submission.claim = Some(gatehost::submission::Claim::default());
    let mistake = tokio.block_on(host.run(request.clone(), ())).expect_err("nobody reads the claim");
    assert_eq!(mistake.exit().code(), 2, "{mistake}");
    // A run that is not waited for is cancelled.
    request.submission.claim = None;
    let cancelled = tokio.block_on(async {
        tokio::select! {
            biased;
            () = std::future::ready(()) => true,
            _ = host.run(request, ()) => false,
        }
    });
    assert!(cancelled);
}
