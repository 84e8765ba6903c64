//! What a hook adds to an agent's stop, against `/bin/true`: `cargo bench --bench hook`.
//!
//! Both sides are measured in turns within one run, because machines are noisy and the noise falls on both; each figure is
//! a median.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs, reason = "a program for people who measure")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 51;
const BAR: Duration = Duration::from_millis(30);
const GATE: &str = "[gate.default]\nall = [\"json\"]\n[check.json]\nverifier = \"json-syntax\"\n";

fn main() {
    // `cargo test --benches` only wants to know that this starts.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    println!("a hook of Claude Code in a repository of 100 files, one of which changed");
    measured("the default gate, passes", None, "{}");
    measured("the default gate, blocks", None, "{,}");
    measured("a gate.toml of the base, passes", Some(GATE), "{}");
    measured("a gate.toml of the base, blocks", Some(GATE), "{,}");
}

fn measured(what: &str, gate_toml: Option<&str>, change: &str) {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    fs::create_dir(&work).unwrap();
    for number in 0..100 {
        fs::write(work.join(format!("{number}.json")), "{\"a\": [1, 2, 3]}").unwrap();
    }
    if let Some(text) = gate_toml {
        fs::write(work.join("gate.toml"), text).unwrap();
    }
    for arguments in [&["init", "-q", "."][..], &["add", "."], &["commit", "-q", "-m", "base"]] {
        run(home.path(), "git", arguments, b"");
    }
    let message = |event: &str, session: usize| {
        serde_json::json!({
            "session_id": session.to_string(), "transcript_path": "/nonexistent", "cwd": work, "hook_event_name": event,
            "permission_mode": "default", "stop_hook_active": false, "last_assistant_message": "done",
        })
        .to_string()
    };
    let hook =
        |message: &str| run(home.path(), env!("CARGO_BIN_EXE_gate"), &["hook", "--host", "claude"], message.as_bytes());
    // Every stop is the first of its session, so that each is judged and answered alike.
    for session in 0..=ROUNDS {
        hook(&message("SessionStart", session));
    }
    fs::write(work.join("0.json"), change).unwrap();
    // The first one fills the cache.
    let answer = hook(&message("Stop", ROUNDS));
    assert_eq!(answer.is_empty(), change == "{}", "{answer}");
    let (mut hooks, mut nothing) = (Vec::new(), Vec::new());
    for session in 0..ROUNDS {
        let stop = message("Stop", session);
        let start = Instant::now();
        hook(&stop);
        hooks.push(start.elapsed());
        let start = Instant::now();
        run(home.path(), "/bin/true", &[], b"");
        nothing.push(start.elapsed());
    }
    let [hooks, nothing] = [hooks, nothing].map(median);
    let more = hooks.saturating_sub(nothing);
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "  {what:32} {:6.2} ms, /bin/true {:5.2} ms, more {:6.2} ms (bar: at most {} ms){}",
        milliseconds(hooks),
        milliseconds(nothing),
        milliseconds(more),
        BAR.as_millis(),
        if more > BAR { " MISSED" } else { "" }
    );
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn run(home: &Path, program: &str, arguments: &[&str], input: &[u8]) -> String {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(home.join("work")).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1");
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        command.env(name, "a@example.com");
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // `/bin/true` reads nothing.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}
