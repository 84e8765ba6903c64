//! The limits of the caller (`ulimit`): an error names them, or the result is right. No signal, no panic, no abort, and no error of
//! a verifier.

use crate::guests;
use crate::support::isolate;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A repository with a bad file, and what a host sends at the end of a turn.
struct Limited {
    _temporary: tempfile::TempDir,
    home: PathBuf,
    /// Runs everything as an ordinary user, because limits of processes do not apply to root.
    ordinary: bool,
}

const GATE: &str = "[gate.default]\nall = [\"json\", \"tests\"]\n[check.json]\nverifier = \"json-syntax\"\n\
                    [check.tests]\nverifier = \"command\"\ngrants = [\"command:tests\"]\n\
                    [command.tests]\nrun = [\"test\", \"-f\", \"a.json\"]\n[retry]\ninfra = 0\n";

impl Limited {
    fn new(ordinary: bool) -> Self {
        let temporary = crate::support::tempdir().expect("a folder");
        let home = temporary.path().canonicalize().expect("a folder");
        let limited = Self { _temporary: temporary, home, ordinary: false };
        let work = limited.work();
        fs::create_dir(&work).expect("made");
        fs::write(work.join("gate.toml"), GATE).expect("written");
        fs::write(work.join("a.json"), "{}\n").expect("written");
        let script = "git init -q -b main . && git add . && git commit -qm first && echo '{' > a.json";
        assert!(limited.shell(script, "").status.success());
        if ordinary {
            fs::set_permissions(&limited.home, fs::Permissions::from_mode(0o755)).expect("opened");
            assert!(limited.shell("chown -R 65534:65534 ..", "").status.success());
        }
        Self { ordinary, ..limited }
    }

    fn work(&self) -> PathBuf {
        self.home.join("work")
    }

    fn shell(&self, script: &str, input: &str) -> Output {
        let mut command = match self.ordinary {
            true => Command::new("setpriv"),
            false => Command::new("bash"),
        };
        if self.ordinary {
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "bash"]);
        }
        command.args(["-c", script, env!("CARGO_BIN_EXE_gate")]);
        isolate(&mut command, &self.work(), &self.home).env("GATE_STATE_DIR", self.home.join("state"));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a shell");
        // A program that could not start reads nothing.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        child.wait_with_output().expect("it ends")
    }

    /// What a host sends at the end of a turn.
    fn turn(&self, session: &str) -> String {
        let message = serde_json::json!({
            "session_id": session, "transcript_path": "/nonexistent", "cwd": self.work(), "permission_mode": "default",
            "hook_event_name": "Stop", "stop_hook_active": false,
        });
        message.to_string()
    }

    /// Calls the tool `verify` of a server with this limit.
    fn tool(&self, flag: &str, value: u64) -> Output {
        let call = |id: u32, method: &str, params| serde_json::json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let hello = serde_json::json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        });
        let begun = serde_json::json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let verify = serde_json::json!({ "name": "verify", "arguments": {} });
        let input = format!("{}\n{begun}\n{}\n", call(1, "initialize", hello), call(2, "tools/call", verify));
        // Its input stays open until it has answered twice.
        let script = "trap '' PIPE; coproc { ulimit LIMIT && exec $0 mcp; } 2>&1; exec 3<&${COPROC[0]} 4>&${COPROC[1]}; cat >&4; \
                      for answer in 1 2 3; do read -r line <&3 && echo \"$line\"; [[ $line == *'\"id\":2'* ]] && break; done";
        self.shell(&script.replace("LIMIT", &format!("{flag} {value}")), &input)
    }

    /// The verdict is that of the work, or the limit is named.
    fn is_right_or_names(&self, flag: &str, value: u64, command: &str, output: &Output) {
        let said = said(output);
        let right = said.contains("unexpected-end") || said.contains(&format!("`ulimit {flag}`"));
        assert!(right, "ulimit {flag} {value}: gate {command}: {:?}\n{said}", output.status);
    }

    /// Runs every command with this limit.
    fn every_command(&self, flag: &str, value: u64) {
        for command in [
            "run",
            "run --all-files --format json",
            "plan",
            "verify",
            "log",
            "doctor",
            "inspect json-syntax",
            "mcp",
            "loop -- true",
        ] {
            let output = self.shell(&format!("ulimit {flag} {value} && exec $0 {command}"), "");
            let said = said(&output);
            let what = format!("ulimit {flag} {value}: gate {command}: {:?}\n{said}", output.status);
            assert!(matches!(output.status.code(), Some(0..=3)), "{what}");
            assert!(!said.contains("trap.") && !said.contains("panicked"), "{what}");
            // A bad file never passes.
            assert!(!command.starts_with("run") || output.status.code() != Some(0), "{what}");
            let is_noted = !command.starts_with("loop") || output.status.code() != Some(3) || said.contains("\nnote: ");
            assert!(is_noted, "{what}");
            let names = said.contains(&format!("`ulimit {flag}`")) || said.contains("hint: `gate run` creates one");
            assert!(!matches!(output.status.code(), Some(2 | 3)) || names || said.contains("policy"), "{what}");
        }
        let script = format!("ulimit {flag} {value} && exec $0 hook --host claude");
        let output = self.shell(&script, &self.turn(&format!("{flag} {value}")));
        let blocks = output.status.code() == Some(2) || said(&output).contains(r#""decision":"block""#);
        assert!(blocks, "ulimit {flag} {value}: gate hook: {:?}\n{}", output.status, said(&output));
        self.is_right_or_names(flag, value, "hook", &output);
        self.is_right_or_names(flag, value, "mcp", &self.tool(flag, value));
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
fn limits_of_memory_are_named() {
    let limited = Limited::new(false);
    for (flag, value) in
        [("-v", 260_000), ("-v", 2_000_000), ("-v", 6_000_000), ("-d", 5_000), ("-d", 20_000), ("-s", 64)]
    {
        limited.every_command(flag, value);
    }
}

#[test]
fn limits_of_files_and_processor_time_are_named() {
    let limited = Limited::new(false);
    for (flag, value) in [("-f", 0), ("-f", 16), ("-f", 64), ("-n", 12), ("-n", 64), ("-n", 100), ("-t", 1)] {
        limited.every_command(flag, value);
    }
}

#[test]
fn a_hook_whose_answer_cannot_be_written_blocks() {
    let limited = Limited::new(false);
    for script in ["ulimit -f 0; exec $0 hook --host claude > answer", "exec $0 hook --host claude > /dev/full"] {
        let output = limited.shell(script, &limited.turn(script));
        assert_eq!(output.status.code(), Some(2), "{script}: {}", said(&output));
        assert!(said(&output).contains("error: cannot write the answer to stdout: "), "{}", said(&output));
    }
    for script in ["exec $0 hook --host claude >&-", "exec $0 hook --host claude > /dev/null"] {
        let output = limited.shell(script, &limited.turn(script));
        assert_eq!(output.status.code(), Some(2), "{script}: {}", said(&output));
        assert!(said(&output).contains("a.json:2: error [unexpected-end]"), "{}", said(&output));
    }
}

#[test]
fn a_caller_that_ignores_the_end_of_its_children_gets_a_verdict() {
    let limited = Limited::new(false);
    fs::write(limited.work().join("a.json"), "{}\n").expect("written");
    let output = limited.shell("trap '' CHLD; exec $0 run --all-files", "");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

#[test]
fn limits_of_processes_are_named() {
    let readable = |path: &Path| path.metadata().is_ok_and(|about| about.permissions().mode() & 0o005 == 0o005);
    let ordinary = rustix::process::geteuid().is_root();
    // Root has no limit of processes.
    if ordinary && !Path::new(env!("CARGO_BIN_EXE_gate")).ancestors().all(readable) {
        return;
    }
    let limited = Limited::new(ordinary);
    for value in [1, 2, 10] {
        limited.every_command("-u", value);
    }
    // Commands that need processes of their own never fail for the lack of them.
    let names = ["a", "b", "c", "d"];
    let mut gate = format!("[gate.default]\nall = {names:?}\n[retry]\ninfra = 0\n");
    for name in names {
        gate += &format!("[check.{name}]\nverifier = \"command\"\ngrants = [\"command:{name}\"]\n");
        gate += &format!("[command.{name}]\nrun = [\"sh\", \"-c\", \"sleep 0.1 | sleep 0.1; test -f gate.toml\"]\n");
    }
    fs::write(limited.work().join("processes.toml"), gate).expect("written");
    for value in (16..64).step_by(4) {
        let output = limited.shell(&format!("ulimit -u {value} && exec $0 run -c processes.toml"), "");
        let said = said(&output);
        assert!(matches!(output.status.code(), Some(0 | 3)), "ulimit -u {value}: {:?}\n{said}", output.status);
        assert!(output.status.success() || said.contains("`ulimit -u`"), "ulimit -u {value}: {said}");
    }
}

#[test]
fn a_file_that_is_cut_off_while_it_is_mapped_is_named() {
    let limited = Limited::new(false);
    let hello = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} });
    let script =
        "coproc $0 mcp; pid=$COPROC_PID; cat >&${COPROC[1]}; read -r answer <&${COPROC[0]}; kill -BUS $pid; wait $pid";
    let output = limited.shell(script, &format!("{hello}\n"));
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("error: a file that `gate` reads was cut off"), "{}", said(&output));
}

#[test]
fn processor_time_that_is_used_up_is_named() {
    let limited = Limited::new(false);
    fs::write(limited.work().join("spin.wasm"), guests::component("spin-in-check")).expect("written");
    let gate = "[gate.default]\nall = [\"spin\"]\n[check.spin]\nverifier = \"./spin.wasm\"\nfiles = [\"*.json\"]\n";
    fs::write(limited.work().join("spin.toml"), gate).expect("written");
    for ignored in ["", "trap '' XCPU; "] {
        let output = limited.shell(&format!("{ignored}ulimit -t 2 && exec $0 run -c spin.toml --files a.json"), "");
        assert_eq!(output.status.code(), Some(3), "{ignored}{}", said(&output));
        for part in ["error: the processor time is used up\n", "note: processor time is limited to "] {
            assert!(said(&output).contains(part), "{part} {}", said(&output));
        }
    }
}

#[test]
fn a_child_process_has_the_default_action_for_the_file_limit() {
    let limited = Limited::new(false);
    // Signal 25 is the lowest bit of the seventh digit from the right.
    let script =
        "ulimit -f 100000 && exec $0 loop --max-bounces 1 -- sh -c 'grep SigIgn /proc/self/status > ../ignored'";
    let output = limited.shell(script, "");
    let ignored = fs::read_to_string(limited.home.join("ignored")).unwrap_or_else(|_| panic!("{}", said(&output)));
    let digit = ignored.trim().chars().rev().nth(6).and_then(|digit| digit.to_digit(16));
    assert_eq!(digit.map(|digit| digit & 1), Some(0), "{ignored}");
}
