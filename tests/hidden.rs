//! A verifier that hides characters in every string that it controls, and every command that prints such strings: nobody reads
//! a text that has more in it than they see.
//!
//! `host/src/report/tests.rs` has every character and every format of reports; here are the programs and the other commands.

use crate::{guests, support};
use regex::Regex;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// One or more of each kind: C0, DEL, C1, soft hyphen, joiners, fillers, direction, separators, variation selectors, tags, a
/// byte order mark, interlinear annotation, musical and shorthand format characters, unassigned ones.
const HIDDEN: &str = "\u{1b}\u{8}\u{7f}\u{85}\u{9b}\u{ad}\u{34f}\u{61c}\u{115f}\u{17b4}\u{180b}\u{180e}\u{200b}\u{200d}\u{200e}\
    \u{2028}\u{2029}\u{202a}\u{202e}\u{2060}\u{2064}\u{2066}\u{2069}\u{206f}\u{3164}\u{fe00}\u{fe0f}\u{feff}\u{ffa0}\u{fff0}\
    \u{fff9}\u{1bca0}\u{1d173}\u{e0000}\u{e0001}\u{e0041}\u{e007f}\u{e0100}\u{e01ef}\u{e0fff}\u{e0b0}\u{f0000}";

/// A program that logs, and prints this verdict whatever it is given.
fn verifier(verdict: &Value, log: &str) -> Vec<u8> {
    let escaped = |text: &str| text.bytes().map(|byte| format!("\\{byte:02x}")).collect::<String>();
    let verdict = verdict.to_string();
    let program = format!(
        r#"(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 16)
  (data (i32.const 1024) "{}")
  (data (i32.const 65536) "{}")
  (func $print (param $to i32) (param $at i32) (param $length i32)
    (i32.store (i32.const 0) (local.get $at))
    (i32.store (i32.const 4) (local.get $length))
    (drop (call $write (local.get $to) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func (export "_start")
    (call $print (i32.const 2) (i32.const 1024) (i32.const {}))
    (call $print (i32.const 1) (i32.const 65536) (i32.const {}))))"#,
        escaped(log),
        escaped(&verdict),
        log.len(),
        verdict.len()
    );
    wat::parse_str(program).expect("a program")
}

/// Runs a program in the work, and returns everything that it printed.
fn run(home: &Path, program: &str, arguments: &[&str], input: &str) -> String {
    let mut command = Command::new(program);
    support::isolate(command.args(arguments), &home.join("work"), home).env("GATE_STATE_DIR", home.join("state"));
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("it starts");
    // It may end before it has read everything.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    let printed = [output.stdout, output.stderr].concat();
    String::from_utf8(printed).expect("UTF-8")
}

/// The characters that no text hides: by the properties of Unicode, and not by a list.
static HIDING: LazyLock<Regex> = LazyLock::new(|| {
    let hiding = r"[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Cc}\p{Co}\p{Zl}\p{Zp}--[\n\t]]";
    Regex::new(hiding).expect("a pattern")
});

/// Asserts that a text has none of the characters, neither as they are nor where a program decodes JSON.
fn assert_visible(what: &str, text: &str) {
    let seen = HIDING.find(text).map(|found| &text[found.start()..]);
    assert_eq!(seen, None, "{what}");
    assert_noted(what, text);
}

/// Asserts that a text for people tells what its marks are.
fn assert_noted(what: &str, text: &str) {
    let is_json = text.trim_start().starts_with(['{', '[']);
    let marks = text.matches("⟨U+").count() - text.matches("⟨U+…⟩").count();
    assert!(is_json || marks == 0 || text.contains("⟨U+…⟩"), "{what}: {text}");
}

/// Returns findings with every character that hides in their texts. Of those for private use, which are three ranges, some.
fn every_character() -> Vec<Value> {
    let is_hiding = |c: &char| HIDING.is_match(c.encode_utf8(&mut [0; 4]));
    let is_private = |c: &char| matches!(u32::from(*c), 0xE000..=0xF8FF | 0xF_0000..);
    let (private, rest): (Vec<char>, Vec<char>) = ('\0'..=char::MAX).filter(is_hiding).partition(is_private);
    let all: Vec<char> = rest.into_iter().chain(private.into_iter().step_by(2_000)).collect();
    let found = |characters: &[char]| {
        let text: String = characters.iter().flat_map(|c| [*c, 'x']).collect();
        json!({ "code": text, "level": "error", "message": text, "hint": text, "key": text })
    };
    all.chunks(50).map(found).collect()
}

#[test]
fn no_command_prints_a_hidden_character() {
    let hidden: String = HIDDEN.chars().flat_map(|c| [c, 'x']).collect();
    let short: String = hidden.chars().skip(20).take(60).collect();
    let edit = json!({ "start_line": 1, "start_column": 1, "end_line": 1, "end_column": 1, "replacement": hidden });
    let finding = json!({
        "code": short, "level": "error", "message": hidden, "hint": hidden, "key": hidden, "url": format!("https://a/{hidden}"),
        "place": { "path": "a.json", "line": 1, "column": 1, "end_line": 1, "end_column": 2 },
        "fix": { "description": hidden, "edits": [edit] },
    });
    let findings: Vec<Value> = std::iter::once(finding).chain(every_character()).collect();
    assert!(findings.len() > 80, "{}", findings.len());
    let verdict = json!({
        "status": "fail", "summary": hidden, "class": short, "metrics": [{ "name": short, "value": 1.0 }], "findings": findings,
    });
    let home = support::tempdir().expect("a folder");
    let work = home.path().join("work");
    fs::create_dir(&work).expect("a folder");
    fs::write(home.path().join("hiding.wasm"), verifier(&verdict, &format!("{hidden}\n"))).expect("written");
    let gate_toml = "[gate.main]\nall = [\"hiding\", \"tests\"]\n[check.hiding]\nverifier = \"../hiding.wasm\"\nfiles = [\"*.json\"]\n\
                     [check.tests]\nverifier = \"command\"\ngrants = [\"command:tests\"]\n[command.tests]\nrun = [\"cat\", \"said\"]\n";
    fs::write(work.join("gate.toml"), gate_toml).expect("written");
    fs::write(work.join("a.json"), "{}\n").expect("written");
    fs::write(work.join("said"), format!("{hidden}\n")).expect("written");
    let gate = env!("CARGO_BIN_EXE_gate");
    let gate = |arguments: &str, input: &str| run(home.path(), gate, &arguments.split(' ').collect::<Vec<_>>(), input);
    for arguments in ["init -q", "add -A", "commit -qm first"] {
        run(home.path(), "git", &arguments.split(' ').collect::<Vec<_>>(), "");
    }
    fs::write(work.join("a.json"), "{ }\n").expect("written");

    let printed = gate("run", "");
    assert!(printed.contains("⟨U+E0100⟩") && printed.contains("invisible characters are shown as marks"), "{printed}");
    for format in ["human", "json", "feedback", "sarif", "junit", "github", "gitlab", "rdjsonl", "markdown", "html"] {
        for command in ["run -v --format", "report --format"] {
            let arguments = format!("{command} {format}");
            assert_visible(&arguments, &gate(&arguments, ""));
        }
    }
    let task = work.join("task.md");
    fs::write(&task, format!("# {hidden}\n\n{hidden}\n")).expect("written");
    for arguments in [
        "run --events -",
        "run --task task.md --claim said",
        "fix",
        "fix a.json",
        "loop --task task.md --max-bounces 1 -- true",
        "loop --task task.md --max-bounces 1 --format json -- true",
        "log",
        "log --format json",
        "explain",
        "explain --format json",
        "status",
        "status --format json",
        "stats",
        "stats --format json",
        "verify",
        "verify --format json",
        "report --html",
        "bundle",
        "inspect ../hiding.wasm",
        "inspect --format json ../hiding.wasm",
        "plan",
        "list",
    ] {
        let printed = gate(arguments, "");
        assert!(!printed.contains("Usage:"), "{arguments}: {printed}");
        assert_visible(arguments, &printed);
    }
    // What is quoted begins no line of its own.
    let bundle = json!({ "version": 1, format!("new\nerror: forged{hidden}"): 1 });
    fs::write(work.join("bundle"), bundle.to_string()).expect("written");
    fs::write(work.join("lefthook.yml"), format!("pre-commit:\n  commands:\n    a: {{run: \"a{hidden}\n"))
        .expect("written");
    let name: String = HIDDEN.chars().filter(|c| !c.is_control()).collect();
    let named =
        [format!("run -c {name}"), format!("run --submission {name}"), format!("ru{name}"), format!("run --{name}")];
    let ordinary =
        ["attest", "replay bundle", "init --from lefthook.yml --dry-run", "loop --task task.md --max-bounces 0 -- env"];
    for arguments in ordinary.map(str::to_owned).into_iter().chain(named) {
        let printed = gate(&arguments, "");
        assert_visible(&arguments, &printed);
        assert!(!printed.lines().any(|line| line.starts_with("error: forged")), "{arguments}: {printed}");
    }
    let folder = home.path().join(&name);
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("a.json"), "{").expect("written");
    for arguments in ["init --dry-run", "init", "run", "doctor", "report --html"] {
        assert_visible(arguments, &gate(&format!("-C {} {arguments}", folder.display()), ""));
    }
    gate("status --write STATE.md", "");
    assert_visible("STATE.md", &fs::read_to_string(work.join("STATE.md")).expect("written"));

    // What an agent reads is decoded first.
    let stop = json!({
        "session_id": "s", "transcript_path": "/nonexistent", "cwd": work, "permission_mode": "default",
        "hook_event_name": "Stop", "stop_hook_active": false, "last_assistant_message": "done",
    });
    let printed = gate("hook --host claude", &stop.to_string());
    assert_visible("hook", &printed);
    let answer: Value = serde_json::from_str(printed.lines().next().expect("an answer")).expect("JSON");
    let reason = answer["reason"].as_str().expect("a reason");
    assert_visible("hook, decoded", reason);
    assert!(reason.contains("⟨U+200D⟩") && reason.contains("invisible characters"), "{reason}");
    let call = |id: u64, tool: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": {} } });
    let hello = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } },
    });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let lines: Vec<String> =
        [hello, ready, call(1, "verify"), call(2, "fix"), call(3, "status")].iter().map(Value::to_string).collect();
    let printed = gate("mcp", &(lines.join("\n") + "\n"));
    assert_visible("mcp", &printed);
    let replies = printed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let results: Vec<Value> = replies.filter(|reply| reply["result"]["structuredContent"].is_object()).collect();
    assert_eq!(results.len(), 3, "{printed}");
    for result in results {
        decoded(&result["result"]);
        let content = &result["result"]["structuredContent"];
        assert_eq!(content.to_string().contains("⟨U+200D⟩"), content["note"].is_string(), "{content}");
    }
}

#[test]
fn no_command_prints_a_hidden_character_of_a_description() {
    let home = support::tempdir().expect("a folder");
    let work = home.path().join("work");
    fs::create_dir(&work).expect("a folder");
    fs::write(home.path().join("hiding.wasm"), guests::component("hidden-description")).expect("written");
    let gate_toml = "[gate.main]\nall = [\"hiding\"]\n[check.hiding]\nverifier = \"../hiding.wasm\"\n";
    fs::write(work.join("gate.toml"), gate_toml).expect("written");
    fs::write(work.join("a.json"), "{}\n").expect("written");
    let gate = env!("CARGO_BIN_EXE_gate");
    let gate = |arguments: &str| run(home.path(), gate, &arguments.split(' ').collect::<Vec<_>>(), "");
    for arguments in
        ["inspect ../hiding.wasm", "inspect --format json ../hiding.wasm", "plan", "list", "run -v", "stats"]
    {
        let printed = gate(arguments);
        assert!(!printed.contains("error: "), "{arguments}: {printed}");
        assert_visible(arguments, &printed);
    }
    for format in ["json", "feedback", "sarif", "junit", "github", "gitlab", "rdjsonl", "markdown", "html"] {
        let printed = gate(&format!("run --format {format}"));
        assert!(printed.contains("⟨U+200B⟩"), "{format}: {printed}");
        assert_visible(format, &printed);
    }
    // What is wrong with settings quotes the schema.
    fs::write(work.join("gate.toml"), format!("{gate_toml}settings = {{ a = 1 }}\n")).expect("written");
    for arguments in ["run", "plan", "doctor", "run --format json"] {
        assert_visible(arguments, &gate(arguments));
    }
}

/// Asserts that no decoded text of a document hides anything.
fn decoded(value: &Value) {
    match value {
        Value::String(text) => assert_eq!(HIDING.find(text), None, "mcp, decoded: {text}"),
        Value::Array(items) => items.iter().for_each(decoded),
        Value::Object(entries) => entries.values().for_each(decoded),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
