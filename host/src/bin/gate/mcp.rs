//! `gate mcp`: a server of the Model Context Protocol over stdio, with one JSON document per line.
//!
//! The protocol is this file: five methods of JSON-RPC and one notification. The crate rmcp was measured in its place (3.8.0 with
//! `server` and `transport-io` only): it adds nine crates, chrono and uuid among them, and 13 s of processor time to a build
//! without optimisation. It turns on a feature of serde, which the build script would have to turn on too, or the WebAssembly
//! engine is compiled twice. Its transport over stdio does not bound the length of a message. `tests/mcp-client` drives this
//! server with the official Python SDK.
//!
//! Clients of revision 2026-07-28 call `server/discover`, or nothing, and name the revision in each request. Clients of older
//! revisions call `initialize`.
//!
//! One host serves all calls, so only the first call starts the engine. Calls run in parallel, and each can be cancelled. A gate
//! that fails is a result, not an error: `isError` means that the gate could not run. The tools advise; hooks enforce.

mod tools;

use crate::args::Global;
use crate::error::Error;
use crate::{Exit, setup};
use gatehost::environment::Environment;
use gatehost::session::Host;
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};
use std::mem;
use std::thread;
use tokio::sync::oneshot;

/// Printed below the flags of `gate mcp --help`.
pub(crate) const HELP: &str = "\
Tools: `verify` runs a gate, `explain` describes a finding code, `status` shows the last runs, `fix` lists the fixes that \
verifiers offer. The tools advise; hooks enforce (`gate install`).";

/// The revision of the protocol without a handshake: every request names it in its metadata.
const STATELESS: &str = "2026-07-28";
/// The revisions of the protocol that `initialize` agrees on, newest first.
const HANDSHAKE: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Where a request names its revision, and where a response names the server.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";
/// The most bytes of one message.
const MAX_BYTES: u64 = 16 << 20;

/// The most parallel calls; others wait.
const MAX_CALLS: usize = 4;

/// The state that all calls share.
struct McpServer<'g> {
    global: &'g Global,
    host: Host,
    /// The running calls by identifier, and how to cancel each.
    calls: Mutex<BTreeMap<String, oneshot::Sender<()>>>,
}

pub(crate) fn run(global: &Global) -> Result<Exit, Error> {
    let server = McpServer { global, host: setup::host(global, &Environment::of_process())?, calls: Mutex::default() };
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    thread::scope(|scope| {
        loop {
            line.clear();
            if (&mut input).take(MAX_BYTES).read_until(b'\n', &mut line)? == 0 {
                server.finish();
                return Ok(Exit::Pass);
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match server.answer(&line) {
                Action::None => {}
                Action::Reply(answer) => say(&answer)?,
                Action::Call { id, parameters, cancelled } => {
                    let server = &server;
                    let call = move || {
                        if let Some(answer) = server.call(&id, &parameters, cancelled) {
                            // The client may have closed its end.
                            let _ = say(&answer);
                        }
                    };
                    // With too many calls, this one runs here, and the next message waits.
                    if server.running() > MAX_CALLS {
                        call();
                    } else {
                        scope.spawn(call);
                    }
                }
            }
            if !line.ends_with(b"\n") && line.len() as u64 == MAX_BYTES {
                // The rest of a message that is too long.
                io::copy(&mut RestOfLine(&mut input), &mut io::sink())?;
            }
        }
    })
}

/// Prints a message on one line.
fn say(message: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{message}")?;
    out.flush()
}

/// What the server does about a message.
enum Action {
    None,
    Reply(Value),
    Call { id: Value, parameters: Value, cancelled: oneshot::Receiver<()> },
}

/// Reads the rest of a line.
struct RestOfLine<'r, R>(&'r mut R);

impl<R: BufRead> Read for RestOfLine<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.0.fill_buf()?;
        let end = available.iter().position(|byte| *byte == b'\n');
        let (used, told) = match end {
            Some(0) => (1, 0),
            Some(at) => (at.min(buffer.len()), at.min(buffer.len())),
            None => (available.len().min(buffer.len()), available.len().min(buffer.len())),
        };
        self.0.consume(used);
        Ok(told)
    }
}

impl McpServer<'_> {
    /// Decides what to do about a message.
    fn answer(&self, line: &[u8]) -> Action {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return Action::Reply(error(&Value::Null, -32700, "this is not JSON"));
        };
        let id = message.get("id").cloned();
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            // The server sends no requests, so it ignores responses.
            let is_answer = message.get("result").is_some() || message.get("error").is_some();
            let refused = || error(&id.unwrap_or(Value::Null), -32600, "expected an object with a `method`");
            return if is_answer { Action::None } else { Action::Reply(refused()) };
        };
        let parameters = message.get("params").cloned().unwrap_or(json!({}));
        let Some(id) = id else {
            if method == "notifications/cancelled" {
                self.cancel(&parameters["requestId"]);
            }
            return Action::None;
        };
        let revision = &parameters["_meta"][VERSION_KEY];
        if !revision.is_null() && revision != STATELESS {
            return Action::Reply(unsupported(&id, revision));
        }
        let result = |content| result(&id, &parameters, content);
        Action::Reply(match method {
            "initialize" => result(initialized(&parameters)),
            "server/discover" => result(discovered()),
            "ping" => result(json!({})),
            "tools/list" => result(cacheable(json!({ "tools": tools::list() }))),
            "tools/call" => {
                let (cancel, cancelled) = oneshot::channel();
                self.calls().insert(id.to_string(), cancel);
                return Action::Call { id, parameters, cancelled };
            }
            other => error(&id, -32601, &format!("there is no method `{}`", gatehost::text::clean_line(other, 100))),
        })
    }

    fn calls(&self) -> parking_lot::MutexGuard<'_, BTreeMap<String, oneshot::Sender<()>>> {
        self.calls.lock()
    }

    fn running(&self) -> usize {
        self.calls().len()
    }

    /// Cancels a call, if it still runs.
    fn cancel(&self, id: &Value) {
        if let Some(cancel) = self.calls().remove(&id.to_string()) {
            let _ = cancel.send(());
        }
    }

    /// After the end of stdin, waits until all calls are answered. Cancels them if nobody can read the answers any more: a
    /// client that was killed leaves no commands running.
    fn finish(&self) {
        let out = io::stdout();
        let limit = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        while self.running() > 0 {
            // Errors and hang-ups are reported whatever is asked for.
            let mut closed = [PollFd::new(&out, PollFlags::empty())];
            if matches!(poll(&mut closed, Some(&limit)), Ok(1..)) {
                for cancel in mem::take(&mut *self.calls()).into_values() {
                    let _ = cancel.send(());
                }
            }
        }
    }

    /// Runs a call. There is no response to one that was cancelled.
    fn call(&self, id: &Value, parameters: &Value, cancelled: oneshot::Receiver<()>) -> Option<Value> {
        let name = parameters.get("name").and_then(Value::as_str).unwrap_or_default();
        let arguments = parameters.get("arguments").cloned().unwrap_or(json!({}));
        let answer = match tools::call(self, name, arguments, cancelled) {
            None => error(id, -32602, &format!("there is no tool `{}`", gatehost::text::clean_line(name, 100))),
            Some(Ok(content)) => {
                let text = json!([{ "type": "text", "text": content.to_string() }]);
                result(id, parameters, json!({ "content": text, "structuredContent": content, "isError": false }))
            }
            Some(Err(why)) => {
                result(id, parameters, json!({ "content": [{ "type": "text", "text": why }], "isError": true }))
            }
        };
        self.calls().remove(&id.to_string()).map(|_| answer)
    }
}

/// The answer to `initialize`.
fn initialized(parameters: &Value) -> Value {
    let asked = parameters.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    let version = HANDSHAKE.iter().find(|version| **version == asked).unwrap_or(&HANDSHAKE[0]);
    let mut answer = about();
    answer["protocolVersion"] = json!(version);
    answer["serverInfo"] = server_info();
    answer
}

/// The answer to `server/discover`.
fn discovered() -> Value {
    let mut answer = cacheable(about());
    answer["supportedVersions"] = json!(supported());
    answer
}

fn about() -> Value {
    json!({
        "capabilities": { "tools": {} },
        "instructions": "Call `verify` before saying that work is done. Nothing but the verdict `pass` is a pass.",
    })
}

fn server_info() -> Value {
    json!({ "name": "gate", "version": env!("CARGO_PKG_VERSION") })
}

fn supported() -> Vec<&'static str> {
    [&[STATELESS], HANDSHAKE].concat()
}

/// Says how long a client may keep a result: no time, since the next server may be another version of `gate`.
fn cacheable(mut content: Value) -> Value {
    content["ttlMs"] = json!(0);
    content["cacheScope"] = json!("private");
    content
}

/// The response to a request with these parameters.
fn result(id: &Value, parameters: &Value, mut content: Value) -> Value {
    if parameters["_meta"][VERSION_KEY] == STATELESS {
        content["resultType"] = json!("complete");
        content["_meta"] = json!({ SERVER_KEY: server_info() });
    }
    json!({ "jsonrpc": "2.0", "id": id, "result": content })
}

fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// The response to a request of an unknown revision.
fn unsupported(id: &Value, requested: &Value) -> Value {
    let mut answer = error(id, -32022, "this revision of the protocol is not supported");
    answer["error"]["data"] = json!({ "supported": supported(), "requested": requested });
    answer
}
