//! The transport of `gate mcp`: one JSON document per line on stdin and stdout.
//!
//! rmcp has such a transport, but drops a message that is too long without a response, ignores what is not JSON, and ends calls
//! five seconds after the end of stdin. This one responds in both cases, and reports the end of stdin to rmcp only when no
//! request is pending.

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use serde::Deserialize as _;
use serde_json::Value;
use std::collections::HashSet;
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::sync::{Notify, mpsc, watch};

/// The most bytes of one message.
const MAX_BYTES: u64 = 16 << 20;
/// The most requests without a response. With more, the next message is not read yet.
const MAX_PENDING: usize = 64;

type Pending = watch::Sender<HashSet<RequestId>>;

/// A line of stdin.
enum Line {
    Message(Vec<u8>),
    TooLong,
}

/// Receives messages from a thread that reads stdin, and hands messages to a thread that writes stdout.
pub(super) struct Stdio {
    lines: mpsc::Receiver<Line>,
    answers: mpsc::Sender<ServerJsonRpcMessage>,
    /// The requests without a response.
    pending: Pending,
    /// Whether a request chose a revision of the protocol. Before that, rmcp ends the session at anything but a request.
    started: bool,
}

/// The client on the other side of stdin and stdout.
pub(super) struct Client {
    gone: Arc<Notify>,
    writer: JoinHandle<()>,
}

impl Client {
    /// Waits until nobody can read the responses any more.
    pub(super) async fn gone(&self) {
        self.gone.notified().await;
    }

    /// Waits until every response is written. The transport must be dropped before.
    pub(super) fn finish(self) {
        let _ = self.writer.join();
    }
}

impl Stdio {
    /// Starts the threads that read and write.
    pub(super) fn open() -> (Self, Client) {
        let (read_lines, lines) = mpsc::channel(1);
        let (answers, answered) = mpsc::channel(8);
        let pending = Pending::default();
        let gone = Arc::new(Notify::new());
        let (hung_up, closed, written) = (Arc::clone(&gone), Arc::clone(&gone), pending.clone());
        thread::spawn(move || {
            read(&read_lines);
            drop(read_lines);
            // Calls may still run. An error or hang-up of stdout, which is reported whatever is asked for, ends them.
            let (out, wanted) = (io::stdout(), PollFlags::empty());
            if retry_on_intr(|| poll(&mut [PollFd::new(&out, wanted)], None)).is_ok() {
                hung_up.notify_one();
            }
        });
        let writer = thread::spawn(move || {
            if write(answered, &written).is_err() {
                closed.notify_one();
            }
        });
        (Self { lines, answers, pending, started: false }, Client { gone, writer })
    }

    /// Follows which requests are pending. Returns whether rmcp wants the message.
    fn note(&mut self, message: &ClientJsonRpcMessage) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                self.pending.send_modify(|pending| {
                    pending.insert(request.id.clone());
                });
                self.started |=
                    !matches!(request.request, ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_));
                return true;
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    answer(&self.pending, id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        self.started
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answers = self.answers.clone();
        async move { answers.send(message).await.map_err(|_| io::ErrorKind::BrokenPipe.into()) }
    }

    /// Returns the next message, or `None` at the end of stdin. rmcp may drop the future at each `await`.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let mut pending = self.pending.subscribe();
        loop {
            pending.wait_for(|pending| pending.len() < MAX_PENDING).await.ok()?;
            let refusal = self.answers.reserve().await.ok()?;
            let Some(line) = self.lines.recv().await else { break };
            match parse(line) {
                Ok(message) => {
                    drop(refusal);
                    if let Some(message) = message
                        && self.note(&message)
                    {
                        return Some(message);
                    }
                }
                Err((error, id)) => refusal.send(ServerJsonRpcMessage::error(error, id)),
            }
        }
        pending.wait_for(HashSet::is_empty).await.ok()?;
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a message; `None` is a notification that this server does not know. The error is the response.
fn parse(line: Line) -> Result<Option<ClientJsonRpcMessage>, (ErrorData, Option<RequestId>)> {
    let Line::Message(line) = line else {
        return Err((ErrorData::invalid_request(format!("a message has at most {MAX_BYTES} bytes"), None), None));
    };
    let message: Value = serde_json::from_slice(&line)
        .map_err(|error| (ErrorData::parse_error(format!("this is not JSON: {error}"), None), None))?;
    let id = message.get("id").and_then(|id| RequestId::deserialize(id).ok());
    let is_notification = message.get("method").is_some() && message.get("id").is_none();
    match serde_json::from_value(message) {
        Ok(message) => Ok(Some(message)),
        Err(_) if is_notification => Ok(None),
        Err(error) => {
            Err((ErrorData::invalid_request(format!("this is no message of the protocol: {error}"), None), id))
        }
    }
}

/// Reads lines until the end of stdin.
fn read(lines: &mpsc::Sender<Line>) {
    let mut input = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let Ok(1..) = (&mut input).take(MAX_BYTES).read_until(b'\n', &mut line) else { return };
        let cut = line.len() as u64 == MAX_BYTES && !line.ends_with(b"\n");
        if line.iter().all(u8::is_ascii_whitespace) && !cut {
            continue;
        }
        let line = if cut { Line::TooLong } else { Line::Message(line) };
        if cut && input.skip_until(b'\n').is_err() || lines.blocking_send(line).is_err() {
            return;
        }
    }
}

/// Writes messages until the transport is dropped.
fn write(mut answers: mpsc::Receiver<ServerJsonRpcMessage>, pending: &Pending) -> io::Result<()> {
    while let Some(mut message) = answers.blocking_recv() {
        // It quotes the request.
        if let JsonRpcMessage::Error(error) = &mut message {
            error.error.message = gatehost::text::clean_line(&error.error.message, 1_000).into();
        }
        let mut line = gatehost::text::json_line(&message)?.into_bytes();
        line.push(b'\n');
        let mut out = io::stdout().lock();
        out.write_all(&line)?;
        out.flush()?;
        match &message {
            JsonRpcMessage::Response(response) => answer(pending, &response.id),
            JsonRpcMessage::Error(error) => error.id.iter().for_each(|id| answer(pending, id)),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
        }
    }
    Ok(())
}

/// Removes a request that is answered, or that gets no response.
fn answer(pending: &Pending, id: &RequestId) {
    pending.send_modify(|pending| {
        pending.remove(id);
    });
}
