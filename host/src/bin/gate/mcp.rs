//! `gate mcp`: the Model Context Protocol over standard input and output, a JSON document a line.
//!
//! Written by hand: a server of tools needs four methods of JSON-RPC, which are the half of this file, and a crate for the
//! whole protocol would add an asynchronous transport, macros and some thirty dependencies to every build.
//!
//! One host serves all calls, so that only the first one starts the engine. A gate that fails is an answer, and no error:
//! `isError` means that the gate could not run. The tools advise; hooks enforce.

mod tools;

use crate::args::Global;
use crate::error::Error;
use crate::{Exit, setup};
use gatehost::environment::Environment;
use gatehost::session::Host;
use serde_json::{Value, json};
use std::io::{self, BufRead, Read, Write};

/// The versions of the protocol that are spoken, the newest first.
const VERSIONS: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The most bytes of one message.
const MAX_BYTES: u64 = 16 << 20;

/// What all calls share.
struct Server<'g> {
    global: &'g Global,
    host: Host,
}

pub(crate) fn run(global: &Global) -> Result<Exit, Error> {
    let server = Server { global, host: setup::host(global, &Environment::of_process())? };
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut input).take(MAX_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(Exit::Pass);
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if let Some(answer) = server.answer(&line) {
            let mut out = io::stdout().lock();
            writeln!(out, "{answer}")?;
            out.flush()?;
        }
        if !line.ends_with(b"\n") && line.len() as u64 == MAX_BYTES {
            // The rest of a message that is too long.
            io::copy(&mut Rest(&mut input), &mut io::sink())?;
        }
    }
}

/// What is left of a line.
struct Rest<'r, R>(&'r mut R);

impl<R: BufRead> Read for Rest<'_, R> {
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

impl Server<'_> {
    /// The answer to a message; none to a notification.
    fn answer(&self, line: &[u8]) -> Option<Value> {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return Some(error(&Value::Null, -32700, "this is not JSON"));
        };
        let id = message.get("id").cloned();
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            // An answer to a question that we did not ask needs none.
            let is_answer = message.get("result").is_some() || message.get("error").is_some();
            return (!is_answer)
                .then(|| error(&id.unwrap_or(Value::Null), -32600, "expected an object with a `method`"));
        };
        let id = id?;
        let parameters = message.get("params").cloned().unwrap_or(json!({}));
        Some(match method {
            "initialize" => result(&id, &initialized(&parameters)),
            "ping" => result(&id, &json!({})),
            "tools/list" => result(&id, &json!({ "tools": tools::list() })),
            "tools/call" => self.call(&id, &parameters),
            other => error(&id, -32601, &format!("there is no method `{other}`")),
        })
    }

    fn call(&self, id: &Value, parameters: &Value) -> Value {
        let name = parameters.get("name").and_then(Value::as_str).unwrap_or_default();
        let arguments = parameters.get("arguments").cloned().unwrap_or(json!({}));
        match tools::call(self, name, arguments) {
            None => error(id, -32602, &format!("there is no tool `{}`", gatehost::text::clean_line(name, 100))),
            Some(Ok(content)) => {
                let text = json!([{ "type": "text", "text": content.to_string() }]);
                result(id, &json!({ "content": text, "structuredContent": content, "isError": false }))
            }
            Some(Err(why)) => result(id, &json!({ "content": [{ "type": "text", "text": why }], "isError": true })),
        }
    }
}

fn initialized(parameters: &Value) -> Value {
    let asked = parameters.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    let version = VERSIONS.iter().find(|version| **version == asked).unwrap_or(&VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "gate", "version": env!("CARGO_PKG_VERSION") },
        "instructions": "Call `verify` before saying that work is done. Nothing but the verdict `pass` is a pass.",
    })
}

fn result(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
