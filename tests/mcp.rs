//! `gate mcp`: a conversation, a line each way.

use crate::support;
use gatehost::runtime::{BUNDLED, Bundled};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;

struct Server {
    child: Child,
    replies: BufReader<std::process::ChildStdout>,
    home: tempfile::TempDir,
}

impl Server {
    /// A server whose client shook hands.
    fn new() -> Self {
        Self::with("")
    }

    fn with(gate_toml: &str) -> Self {
        let mut server = Self::silent(Some(gate_toml).filter(|text| !text.is_empty()));
        let hello = server.ask(HELLO);
        assert_eq!(hello["result"]["protocolVersion"], "2025-11-25", "{hello}");
        assert_eq!(hello["result"]["serverInfo"]["name"], "gate");
        server.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        server
    }

    /// A server that was told nothing yet.
    fn silent(gate_toml: Option<&str>) -> Self {
        let home = crate::support::tempdir().expect("a folder");
        let work = home.path().join("work");
        fs::create_dir(&work).expect("a folder");
        if let Some(text) = gate_toml {
            fs::write(work.join("gate.toml"), text).expect("written");
        }
        let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
        support::isolate(gate.arg("mcp"), &work, home.path()).env("GATE_STATE_DIR", home.path().join("state"));
        let mut child = gate.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("gate runs");
        let replies = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, replies, home }
    }

    fn write(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().expect("a pipe"), "{line}").expect("read");
    }

    fn ask(&mut self, line: &str) -> Value {
        self.write(line);
        self.reply()
    }

    fn reply(&mut self) -> Value {
        let mut reply = String::new();
        self.replies.read_line(&mut reply).expect("a reply");
        serde_json::from_str(&reply).expect("JSON")
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
        self.ask(&message.to_string())
    }
}

#[test]
fn work_is_verified_explained_and_remembered() {
    let mut server = Server::new();
    let tools = server.ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    let tools = tools["result"]["tools"].as_array().expect("tools").clone();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["verify", "explain", "status", "fix"]);
    let output = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).expect("a tool");
        jsonschema::validator_for(&tool["outputSchema"]).expect("a schema")
    };

    fs::write(server.home.path().join("work/a.json"), "{\"a\": 1,}").expect("written");
    let failed = server.call("verify", json!({}));
    let content = &failed["result"]["structuredContent"];
    assert_eq!((&failed["result"]["isError"], &content["verdict"]), (&json!(false), &json!("fail")), "{failed}");
    assert_eq!(content["findings"][0]["code"], "trailing-comma");
    assert!(output("verify").is_valid(content), "{content}");
    let text = failed["result"]["content"][0]["text"].as_str().expect("text");
    assert_eq!(&serde_json::from_str::<Value>(text).expect("JSON"), content);

    let explained = server.call("explain", json!({ "code": "trailing-comma" }));
    let declares = |bundled: &&Bundled| bundled.description().rules.iter().any(|rule| rule.code == "trailing-comma");
    let declared = BUNDLED.iter().filter(declares).count();
    let rules = explained["result"]["structuredContent"]["rules"].as_array().expect("rules");
    assert_eq!(rules.len(), declared, "{explained}");
    assert!(output("fix").is_valid(&server.call("fix", json!({}))["result"]["structuredContent"]));
    fs::write(server.home.path().join("work/a.json"), "{}").expect("written");
    assert_eq!(server.call("verify", json!({}))["result"]["structuredContent"]["verdict"], "pass");
    let runs = server.call("status", json!({}));
    assert_eq!(runs["result"]["structuredContent"]["runs"][0]["status"], "pass", "{runs}");

    drop(server.child.stdin.take());
    assert_eq!(server.child.wait().expect("ended").code(), Some(0));
}

#[test]
fn a_gate_that_cannot_run_is_an_error_and_nonsense_is_answered() {
    let mut server = Server::new();
    for (tool, arguments) in [
        ("verify", json!({ "gate": "no-such-gate" })),
        ("verify", json!({ "files": ["/etc/passwd"] })),
        ("verify", json!({ "unknown": 1 })),
        ("explain", json!({})),
    ] {
        let reply = server.call(tool, arguments.clone());
        assert_eq!(reply["result"]["isError"], true, "{tool} {arguments}: {reply}");
    }
    assert_eq!(server.call("no-such-tool", json!({}))["error"]["code"], -32602);
    assert!(server.call("verify", json!([]))["error"]["code"].is_i64());
    for (line, code) in [
        ("nonsense", -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":4}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":5,"method":"no/such"}"#, -32601),
    ] {
        assert_eq!(server.ask(line)["error"]["code"], code, "{line}");
    }
    server.write("");
    server.write(r#"{"jsonrpc":"2.0","method":"no/such/notification"}"#);
    assert_eq!(
        server.ask(r#"{"jsonrpc":"2.0","id":6,"method":"ping"}"#),
        json!({ "jsonrpc": "2.0", "id": 6, "result": {} })
    );
}

#[test]
fn a_call_that_takes_long_keeps_nobody_waiting_and_can_be_cancelled() {
    let slow = "[gate.default]\nall = [\"slow\"]\n[check.slow]\nverifier = \"command\"\ngrants = [\"command:slow\"]\n\
                [command.slow]\nrun = [\"sleep\", \"300\"]\ntimeout = \"5m\"\n\
                [gate.fast]\nall = [\"json\"]\n[check.json]\nverifier = \"json-syntax\"\n";
    let mut server = Server::with(slow);
    fs::write(server.home.path().join("work/a.json"), "{}").expect("written");
    let call = |id: u32, gate: &str| {
        let parameters = json!({ "name": "verify", "arguments": { "gate": gate } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": parameters }).to_string()
    };
    server.write(&call(1, "default"));
    let pong = server.ask(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    assert_eq!(pong["id"], 2, "{pong}");
    let fast = server.ask(&call(3, "fast"));
    assert_eq!((&fast["id"], &fast["result"]["structuredContent"]["verdict"]), (&json!(3), &json!("pass")), "{fast}");
    // Nothing is said about a call that was cancelled, and the end of the input is not waited for in vain.
    server.write(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    let again = server.ask(&call(4, "fast"));
    assert_eq!(again["id"], 4, "{again}");
    drop(server.child.stdin.take());
    assert_eq!(server.child.wait().expect("ended").code(), Some(0));
}

#[test]
fn what_was_asked_before_the_end_of_the_input_is_answered() {
    let mut server = Server::new();
    fs::write(server.home.path().join("work/a.json"), "{,}").expect("written");
    server.write(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"verify","arguments":{}}}"#);
    drop(server.child.stdin.take());
    assert_eq!(server.reply()["result"]["structuredContent"]["verdict"], "fail");
    assert_eq!(server.child.wait().expect("ended").code(), Some(0));
}

#[test]
fn a_client_without_a_handshake_is_served() {
    let mut server = Server::silent(None);
    fs::write(server.home.path().join("work/a.json"), "{,}").expect("written");
    let mut ask = |id: u32, method: &str, revision: Value, mut parameters: Value| {
        parameters["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": revision, "io.modelcontextprotocol/clientCapabilities": {},
        });
        server.ask(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }).to_string())
    };
    let newest = || json!("2026-07-28");
    let discovered = ask(1, "server/discover", newest(), json!({}));
    let about = &discovered["result"];
    let versions = about["supportedVersions"].as_array().expect("versions");
    assert!(about["resultType"] == "complete" && versions.contains(&newest()), "{discovered}");
    assert_eq!(about["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "gate");
    let listed = ask(2, "tools/list", newest(), json!({}));
    assert!(listed["result"]["ttlMs"].is_u64() && listed["result"]["cacheScope"] == "private", "{listed}");
    let failed = ask(3, "tools/call", newest(), json!({ "name": "verify" }));
    let told = &failed["result"];
    assert_eq!((&told["resultType"], &told["isError"]), (&json!("complete"), &json!(false)), "{failed}");
    assert_eq!(told["structuredContent"]["verdict"], "fail");
    let unknown = json!("2099-01-01");
    let refused = ask(4, "tools/call", unknown.clone(), json!({ "name": "verify" }));
    assert_eq!(refused["error"]["code"], -32022, "{refused}");
    assert_eq!(refused["error"]["data"]["requested"], unknown);
    assert_eq!(ask(5, "tools/call", json!(1), json!({ "name": "verify" }))["error"]["code"], -32602);
}

#[test]
fn a_client_may_probe_and_give_up_before_the_handshake() {
    let mut server = Server::silent(None);
    assert!(server.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)["error"]["code"].is_i64());
    assert_eq!(server.ask(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#)["id"], 2);
    let mut server = Server::silent(None);
    server.write(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    assert_eq!(server.ask(HELLO)["id"], "hello");
    // Without a line break at the end.
    write!(server.child.stdin.as_mut().expect("a pipe"), r#"{{"jsonrpc":"2.0","id":3,"method":"ping"}}"#)
        .expect("read");
    drop(server.child.stdin.take());
    assert_eq!(server.reply()["id"], 3);
    assert_eq!(server.child.wait().expect("ended").code(), Some(0));
    let mut server = Server::silent(None);
    drop(server.child.stdin.take());
    assert_eq!(server.child.wait().expect("ended").code(), Some(0));
}

#[test]
fn a_message_that_is_too_long_is_refused_and_the_next_one_is_answered() {
    let mut server = Server::new();
    let long = "x".repeat(40 << 20);
    let refused = server.ask(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":"{long}"}}}}"#));
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert_eq!(server.ask(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#)["id"], 2);
}

#[test]
fn more_calls_than_run_at_once_are_all_answered() {
    let mut server = Server::new();
    fs::write(server.home.path().join("work/a.json"), "{,}").expect("written");
    let calls: BTreeSet<u64> = (0..200).collect();
    for id in &calls {
        let parameters = json!({ "name": if id % 50 == 0 { "verify" } else { "status" } });
        server.write(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": parameters }).to_string());
    }
    let answered = calls.iter().map(|_| server.reply()["id"].as_u64().expect("a number"));
    assert_eq!(answered.collect::<BTreeSet<u64>>(), calls);
}

#[test]
fn a_client_that_stops_reading_ends_the_session() {
    let Server { mut child, replies, home: _home } = Server::new();
    drop(replies);
    let mut stdin = child.stdin.take().expect("a pipe");
    // Several times: a process that another test is starting may have the pipe for a moment, and then a reply is not refused.
    let status = loop {
        // It may have ended already.
        let _ = writeln!(stdin, r#"{{"jsonrpc":"2.0","id":1,"method":"ping"}}"#);
        match child.try_wait().expect("a child") {
            Some(status) => break status,
            None => thread::sleep(Duration::from_millis(20)),
        }
    };
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_client_that_disappears_leaves_nothing_running() {
    let outside = crate::support::tempdir().expect("a folder");
    let outside = outside.path().canonicalize().expect("a folder");
    let slow = format!(
        "[gate.default]\nall = [\"slow\"]\n[check.slow]\nverifier = \"command\"\ngrants = [\"command:slow\"]\n\
         [command.slow]\nrun = [\"sh\", \"-c\", \"echo > {0}/started; sleep 300\"]\nwrite = [\"{0}\"]\ntimeout = \"4m\"\n",
        outside.display()
    );
    let mut server = Server::with(&slow);
    server.write(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"verify","arguments":{}}}"#);
    while !outside.join("started").exists() {
        assert!(server.child.try_wait().expect("a child").is_none(), "it ended");
        thread::sleep(Duration::from_millis(20));
    }
    let Server { mut child, replies, home } = server;
    drop((child.stdin.take(), replies));
    assert_eq!(child.wait().expect("ended").code(), Some(0));
    // A run that came to its end, which is a timeout here, would be in the ledger.
    let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
    support::isolate(gate.args(["log", "--format", "json", "--kind", "run"]), &home.path().join("work"), home.path());
    let listed = gate.env("GATE_STATE_DIR", home.path().join("state")).output().expect("gate runs");
    let listed = String::from_utf8_lossy(&listed.stdout);
    assert!(!listed.contains("\"seq\""), "{listed}");
}
