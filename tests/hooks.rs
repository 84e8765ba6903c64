//! `gate hook` as a host calls it: the process, its input, its answer, and what becomes of it when something goes wrong.

mod dying;
mod golden;
mod policy;

use crate::support;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A folder to work in, with a home above it.
struct Work {
    home: tempfile::TempDir,
}

impl Work {
    fn new(gate_toml: Option<&str>) -> Self {
        let home = crate::support::tempdir().expect("a folder");
        let work = Self { home };
        fs::create_dir(work.folder()).expect("a folder");
        if let Some(text) = gate_toml {
            fs::write(work.folder().join("gate.toml"), text).expect("written");
        }
        work
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join("work")
    }

    fn bad(self) -> Self {
        fs::write(self.folder().join("a.json"), "{\"a\": 1,}").expect("written");
        self
    }

    /// A command in the folder, with nothing of the developer's environment.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        support::isolate(command.args(arguments), &self.folder(), self.home.path());
        command.env("GATE_STATE_DIR", self.home.path().join("state"));
        command
    }

    fn git(&self, arguments: &[&str]) {
        assert!(self.command("git", arguments).status().expect("git runs").success(), "{arguments:?}");
    }

    fn hook(&self, arguments: &[&str]) -> Command {
        let mut gate = self.command(env!("CARGO_BIN_EXE_gate"), &["hook"]);
        gate.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        gate
    }

    fn claude(&self) -> String {
        json!({
            "session_id": "s", "transcript_path": "/nonexistent", "cwd": self.folder(), "permission_mode": "default",
            "hook_event_name": "Stop", "stop_hook_active": false, "last_assistant_message": "done",
        })
        .to_string()
    }

    fn answer(&self, arguments: &[&str], input: &[u8]) -> (Option<i32>, String, String) {
        let mut child = self.hook(arguments).spawn().expect("gate runs");
        // A hook may answer before it has read everything.
        let _ = child.stdin.take().expect("a pipe").write_all(input);
        let output = child.wait_with_output().expect("gate ends");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    }
}

fn blocks(stdout: &str) -> bool {
    serde_json::from_str::<Value>(stdout).is_ok_and(|value| value["decision"] == "block")
}

#[test]
fn an_agent_is_sent_back_until_its_work_passes() {
    let work = Work::new(None).bad();
    let (code, stdout, _) = work.answer(&["--host", "claude"], work.claude().as_bytes());
    assert_eq!(code, Some(0));
    assert!(blocks(&stdout) && stdout.contains("trailing-comma"), "{stdout}");
    fs::write(work.folder().join("a.json"), "{}").expect("written");
    let passed = work.answer(&["--host", "claude"], work.claude().as_bytes());
    assert_eq!(passed, (Some(0), String::new(), String::new()));
}

#[test]
fn what_an_agent_committed_is_judged_with_the_rest() {
    let work = Work::new(None);
    let git = |arguments: &[&str]| work.git(arguments);
    git(&["init", "-q", "."]);
    git(&["commit", "-q", "--allow-empty", "-m", "base"]);
    let start = work.claude().replace("\"Stop\"", "\"SessionStart\"");
    assert_eq!(work.answer(&["--host", "claude"], start.as_bytes()), (Some(0), String::new(), String::new()));
    fs::write(work.folder().join("a.json"), "{\"a\": 1,}").expect("written");
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "hidden"]);
    // From a folder outside of the repository, the same work is judged.
    let elsewhere = work.claude().replace(&*work.folder().to_string_lossy(), "/");
    for message in [work.claude(), elsewhere] {
        let (_, stdout, _) = work.answer(&["--host", "claude"], message.as_bytes());
        assert!(stdout.contains("trailing-comma"), "{stdout}");
    }
}

#[test]
fn the_gate_for_an_event_is_chosen_in_the_configuration() {
    let text = "[gate.fast]\nall = [\"json\"]\n[gate.slow]\nall = [\"yaml\"]\n[hook]\nstop = \"slow\"\npost_tool_use = \"fast\"\n\
                [check.json]\nverifier = \"json-syntax\"\n[check.yaml]\nverifier = \"yaml-syntax\"\n";
    let work = Work::new(Some(text)).bad();
    assert_eq!(
        work.answer(&["--host", "claude"], work.claude().as_bytes()).1,
        "",
        "the gate `slow` has nothing against it"
    );
    let edit = json!({
        "session_id": "s", "cwd": work.folder(), "permission_mode": "default", "hook_event_name": "PostToolUse",
        "tool_name": "Write", "tool_input": { "file_path": work.folder().join("a.json") }, "tool_response": {},
    });
    let (_, stdout, _) = work.answer(&["--host", "claude"], edit.to_string().as_bytes());
    assert!(blocks(&stdout) && stdout.contains("trailing-comma"), "{stdout}");
}

#[test]
fn a_broken_configuration_blocks_once_and_says_so() {
    let work = Work::new(Some("[gate.x]\nall = [\"nothing\"]\n"));
    let (_, stdout, _) = work.answer(&["--host", "codex"], work.claude().as_bytes());
    assert!(blocks(&stdout) && stdout.contains("gate.toml"), "{stdout}");
    let (_, stdout, _) = work.answer(&["--host", "codex"], work.claude().as_bytes());
    assert!(!blocks(&stdout) && stdout.contains("verification_failed"), "{stdout}");
}

#[test]
fn hostile_input_never_passes_bad_work() {
    let work = Work::new(None).bad();
    let huge = vec![b' '; 100 << 20];
    let nested = "[".repeat(1_000_000);
    let wrong = r#"{"session_id":{},"cwd":[],"hook_event_name":7,"stop_hook_active":"no"}"#;
    let lost =
        r#"{"session_id":"x","cwd":"/no/such/folder","hook_event_name":"Stop","transcript_path":"/no/such/file"}"#;
    let ansi = "{\"session_id\":\"\\u001b[31m\\n\",\"hook_event_name\":\"Stop\",\"last_assistant_message\":\"\\u001b]0;x\\u0007\"}";
    for (name, input) in [
        ("empty", &b""[..]),
        ("huge", &huge),
        ("not JSON", b"not json"),
        ("nested", nested.as_bytes()),
        ("wrong types", wrong.as_bytes()),
        ("missing paths", lost.as_bytes()),
        ("escapes", ansi.as_bytes()),
        ("not UTF-8", &[0xff, 0xfe, 0x00]),
    ] {
        let home = Work::new(None).bad();
        let (code, stdout, stderr) = home.answer(&["--host", "codex"], input);
        assert_eq!(code, Some(0), "{name}: {stderr}");
        assert!(blocks(&stdout) && !stdout.contains('\u{1b}'), "{name}: {stdout}");
        // Without a host, there is no dialect: exit code 2 blocks wherever an exit code does.
        let (code, stdout, stderr) =
            work.answer(&[], if name == "escapes" || name == "missing paths" { b"" } else { input });
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{name}");
        assert!(stderr.contains("--host"), "{name}: {stderr}");
    }
}

/// A gate that takes long, in a command.
const SLOW: &str = "[gate.default]\nall = [\"slow\"]\n[check.slow]\nverifier = \"command\"\ngrants = [\"command:slow\"]\n\
                    [command.slow]\nrun = [\"sleep\", \"300\"]\ntimeout = \"5m\"\n";

#[test]
fn a_host_that_does_not_close_its_pipe_is_answered() {
    // A whole message, and a part of one: in both cases the host waits for the answer with its pipe open.
    let work = Work::new(None).bad();
    let whole = work.claude();
    for (message, words) in [(whole.as_str(), "trailing-comma"), (&whole[..40], "did not finish within")] {
        let mut hook = work.hook(&["--host", "claude", "--deadline", "8"]).spawn().expect("gate runs");
        let mut stdin = hook.stdin.take().expect("a pipe");
        stdin.write_all(message.as_bytes()).and_then(|()| stdin.flush()).expect("read");
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || tell.send(hook.wait_with_output()));
        let output = told.recv_timeout(Duration::from_secs(60)).expect("an answer").expect("gate ends");
        let stdout = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(output.status.success() && blocks(&stdout) && stdout.contains(words), "{stdout}");
        drop(stdin);
    }
}

#[test]
fn a_file_outside_of_the_work_is_not_judged_after_an_edit() {
    let gate = "[gate.default]\nall = [\"json\"]\n[hook]\npost_tool_use = \"default\"\n[check.json]\nverifier = \"json-syntax\"\n";
    let work = Work::new(Some(gate)).bad();
    fs::write(work.home.path().join("b.json"), "{,}").expect("written");
    for (file, is_blocked) in [("work/a.json", true), ("b.json", false), ("work/deleted.json", false)] {
        let edit = json!({
            "session_id": "s", "cwd": work.folder(), "permission_mode": "default", "hook_event_name": "PostToolUse",
            "tool_name": "Write", "tool_input": { "file_path": work.home.path().join(file) }, "tool_response": {},
        });
        let (_, stdout, _) = work.answer(&["--host", "claude"], edit.to_string().as_bytes());
        assert_eq!(blocks(&stdout), is_blocked, "{file}: {stdout}");
    }
}

#[test]
fn where_bounces_cannot_be_counted_an_agent_is_not_sent_back_for_ever() {
    let work = Work::new(None).bad();
    fs::write(work.home.path().join("state"), "in the way").expect("written");
    fs::write(work.home.path().join("tmp"), "in the way").expect("written");
    let active = work.claude().replace("\"stop_hook_active\":false", "\"stop_hook_active\":true");
    for (message, blocked) in [(work.claude(), true), (active, false)] {
        let mut hook = work.hook(&["--host", "claude"]);
        let mut hook = hook.env("TMPDIR", work.home.path().join("tmp")).spawn().expect("gate runs");
        hook.stdin.take().expect("a pipe").write_all(message.as_bytes()).expect("read");
        let stdout = String::from_utf8(hook.wait_with_output().expect("gate ends").stdout).expect("UTF-8");
        assert_eq!(blocks(&stdout), blocked, "{stdout}");
        assert!(!stdout.is_empty(), "nothing is verified, and somebody must be told");
    }
}
