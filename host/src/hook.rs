//! `gate hook`: the command that the host of a coding agent calls when the agent wants to stop.
//!
//! Each host has one small file, which reads its message into a [`Call`] and turns the decision into an [`Answer`] in its
//! dialect. The rest is common: the host is detected (`detect`), bounces are counted ([`budget`]), and a child process runs
//! the gate ([`job`]) under supervision ([`supervise`]).
//!
//! Every host lets the agent stop if a hook crashes, hangs or is missing. So the gate runs in a child process, and the hook
//! itself only watches it: whatever happens to the child, the host gets an answer in its dialect and in time.

mod answer;
pub mod budget;
mod claude;
mod codex;
mod copilot;
mod cursor;
mod detect;
mod fields;
mod gemini;
pub mod job;
mod qwen;
pub mod running;
pub mod sample;
mod sessions;
mod state;
pub mod supervise;
#[cfg(test)]
mod tests;
mod transcript;
pub mod verdict;

pub use answer::Answer;
pub use detect::detect;

use crate::json_values::Bounded;
use fields::Fields;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The most bytes of a call that are read. Hosts send a few kilobytes.
const MAX_BYTES: u64 = 16 << 20;

/// A program that runs coding agents and calls hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentHost {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Qwen Code.
    Qwen,
    /// GitHub Copilot: its command line and its cloud agent.
    Copilot,
    /// Cursor.
    Cursor,
}

impl AgentHost {
    /// Every host.
    pub const ALL: &[Self] = &[Self::Claude, Self::Codex, Self::Gemini, Self::Qwen, Self::Copilot, Self::Cursor];

    /// Returns its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
            Self::Copilot => "copilot",
            Self::Cursor => "cursor",
        }
    }

    /// Returns the host of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|host| host.as_str() == name)
    }

    /// Returns how long the host waits for a hook by default, minus the time for the answer.
    pub fn deadline(self) -> Duration {
        Duration::from_secs(match self {
            Self::Claude | Self::Codex => 570,
            Self::Gemini | Self::Qwen => 54,
            Self::Copilot | Self::Cursor => 26,
        })
    }
}

/// What happened at the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookEvent {
    /// A session began. The base of its changes is fixed now.
    Start,
    /// The user asked for something. The agent has its whole budget again.
    Prompt,
    /// The agent, or one of its helpers, wants to stop.
    Stop,
    /// A task is declared to be complete.
    Task,
    /// A tool was used.
    Tool,
    /// An event at which nothing is verified.
    Other,
}

/// A call of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Who calls.
    pub host: AgentHost,
    /// What happened.
    pub event: HookEvent,
    /// The name of the event at the host.
    pub name: String,
    /// The session; for a helper of the agent, also the helper.
    pub session: Option<String>,
    /// Identifies the request of the user, if the host passes an identifier.
    pub turn: Option<String>,
    /// Where the agent works.
    pub folder: Option<PathBuf>,
    /// The path of the transcript of the session.
    pub transcript: Option<PathBuf>,
    /// The last message of the agent.
    pub claim: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The identifier and the subject of a task.
    pub task: Option<(String, String)>,
    /// The request of the user, if the event is one.
    pub prompt: Option<String>,
    /// The files that a tool changed.
    pub files: Vec<PathBuf>,
    /// Whether the host says that the agent was sent back already. Unreliable: Gemini forgets it, Qwen always says so.
    pub active: bool,
    /// Whether work continues in the background, so that the agent only pauses.
    pub paused: bool,
    /// Whether the agent was interrupted or failed, so that it cannot be sent back.
    pub aborted: bool,
}

impl Call {
    /// Returns a call about which only the host is known, for unreadable input. It counts as if the agent wanted to stop.
    pub fn of(host: AgentHost) -> Self {
        Self {
            host,
            event: HookEvent::Stop,
            name: String::new(),
            session: None,
            turn: None,
            folder: None,
            transcript: None,
            claim: None,
            model: None,
            task: None,
            prompt: None,
            files: Vec::new(),
            active: false,
            paused: false,
            aborted: false,
        }
    }

    /// Reads the call of a host: one JSON document. Does not wait for the end of the stream, because not every host closes it.
    /// `None` if neither the caller nor the input says which host it is.
    pub fn read(input: impl io::Read, host: Option<AgentHost>) -> Option<Self> {
        let bounded = io::BufReader::new(Bounded::new(input.take(MAX_BYTES)));
        let value: Option<Value> =
            serde_json::Deserializer::from_reader(bounded).into_iter().next().and_then(Result::ok);
        let Some(fields) = value.as_ref().and_then(Fields::new) else { return host.map(Self::of) };
        let host = host.or_else(|| detect(&fields))?;
        Some(match host {
            AgentHost::Claude => claude::read(&fields),
            AgentHost::Codex => codex::read(&fields),
            AgentHost::Gemini => gemini::read(&fields),
            AgentHost::Qwen => qwen::read(&fields),
            AgentHost::Copilot => copilot::read(&fields),
            AgentHost::Cursor => cursor::read(&fields),
        })
    }

    /// Returns the decision in the format of the host.
    pub fn answer(&self, decision: &Decision) -> Answer {
        match self.host {
            AgentHost::Claude => claude::answer(self, decision),
            AgentHost::Codex => codex::answer(self, decision),
            AgentHost::Gemini => gemini::answer(self, decision),
            AgentHost::Qwen => qwen::answer(self, decision),
            AgentHost::Copilot => copilot::answer(self, decision),
            AgentHost::Cursor => cursor::answer(self, decision),
        }
    }
}

/// What the agent is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It may go on.
    Allow,
    /// It must not stop yet, for this reason.
    Block(String),
    /// It may stop, and nothing is verified; the user is told this.
    Release(String),
}
