//! A server that speaks both APIs, without streaming, and does what it is told.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A request that arrived.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) path: String,
    /// In lower case, with their values.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Value,
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn is_anthropic(&self) -> bool {
        self.path.ends_with("/v1/messages")
    }

    pub(super) fn system(&self) -> &str {
        let system = if self.is_anthropic() { &self.body["system"] } else { &self.body["messages"][0]["content"] };
        system.as_str().expect("a role")
    }

    pub(super) fn prompt(&self) -> &str {
        let message = if self.is_anthropic() { 0 } else { 1 };
        self.body["messages"][message]["content"].as_str().expect("a prompt")
    }
}

/// What to do with a request.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// Answer with this text.
    Say(String),
    /// Answer with this text, ended for this reason.
    Stop(String, &'static str),
    /// A status, headers and a body.
    Status(u16, &'static str, String),
    /// A body as it is.
    Body(Vec<u8>),
    /// A body that comes byte by byte, and never whole.
    Drip,
    /// A body that ends before its time.
    Cut,
    /// No answer at all.
    HangUp,
}

pub(super) struct Server {
    pub(super) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// A server that does these things in turn, and then the last of them forever.
    pub(super) fn doing(acts: Vec<Act>) -> Self {
        Self::start(move |number, _| acts.get(number).or(acts.last()).expect("something to do").clone())
    }

    /// A server that makes of each request, of which it counts the earlier ones, what `script` says.
    pub(super) fn start(script: impl Fn(usize, &Asked) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, script) = (Arc::clone(&asked), Arc::new(script));
        // Ends with the process; a server has nothing to clean up.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
                std::thread::spawn(move || serve(stream, &seen, &*script));
            }
        });
        Self { url, asked }
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("a list").clone()
    }
}

fn serve(mut stream: TcpStream, seen: &Mutex<Vec<Asked>>, script: &dyn Fn(usize, &Asked) -> Act) -> Option<()> {
    let asked = read(&stream)?;
    let act = {
        let mut seen = seen.lock().expect("a list");
        let act = script(seen.len(), &asked);
        seen.push(asked.clone());
        act
    };
    let whole = |status: u16, headers: &str, body: &[u8]| {
        let length = body.len();
        let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n");
        [head.as_bytes(), body].concat()
    };
    let partial = |length: usize| format!("HTTP/1.1 200 X\r\ncontent-length: {length}\r\n\r\n").into_bytes();
    match act {
        Act::Say(text) => stream.write_all(&whole(200, "", &answer(&asked, &text, None))).ok()?,
        Act::Stop(text, why) => stream.write_all(&whole(200, "", &answer(&asked, &text, Some(why)))).ok()?,
        Act::Status(status, headers, body) => stream.write_all(&whole(status, headers, body.as_bytes())).ok()?,
        Act::Body(body) => stream.write_all(&whole(200, "", &body)).ok()?,
        Act::Drip => {
            stream.write_all(&partial(1_000_000)).ok()?;
            loop {
                stream.write_all(b" ").ok()?;
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Act::Cut => stream.write_all(&[partial(1_000), b"{\"content\": [".to_vec()].concat()).ok()?,
        Act::HangUp => {}
    }
    stream.flush().ok()
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|&read| read > 0)?;
        Some(line.trim_end().to_owned())
    };
    let path = line()?.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    while let Some(header) = line().filter(|header| !header.is_empty()) {
        let (name, value) = header.split_once(':')?;
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length")?.1.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { path, headers, body: serde_json::from_slice(&body).ok()? })
}

/// An answer in the form of the API that was asked. One of a forced tool is its input, where it is an object.
fn answer(asked: &Asked, text: &str, stop: Option<&str>) -> Vec<u8> {
    let object = serde_json::from_str::<Value>(text).ok().filter(Value::is_object);
    let answer = match (asked.is_anthropic(), object) {
        (true, Some(input)) if asked.body["tools"].is_array() => json!({
            "model": "small-1", "stop_reason": stop.unwrap_or("tool_use"),
            "content": [{ "type": "tool_use", "id": "1", "name": "answer", "input": input }],
            "usage": { "input_tokens": 100, "output_tokens": 10 },
        }),
        (true, _) => json!({
            "model": "small-1", "stop_reason": stop.unwrap_or("end_turn"),
            "content": [{ "type": "text", "text": text }],
            "usage": { "input_tokens": 100, "output_tokens": 10 },
        }),
        (false, _) => json!({
            "model": "small-1",
            "choices": [{ "index": 0, "finish_reason": stop.unwrap_or("stop"), "message": { "role": "assistant", "content": text } }],
            "usage": { "prompt_tokens": 100, "completion_tokens": 10 },
        }),
    };
    answer.to_string().into_bytes()
}
