//! Decides how often an agent is sent back. `gate` has its own budget, because the limits of hosts are too high or missing.
//!
//! A failure is sent back a few times, as long as something changes. A fault of the gate itself (a verifier that broke, a
//! broken configuration, no verdict) is reported once, because the agent cannot fix it. When the budget is used up, the
//! agent may stop, and the work is not verified.
//!
//! The counts come from the ledger ([`Budget::of`]). A session itself only stores where and when it began.

use super::{Call, Decision, HookEvent};
use crate::ledger::body::Bounce;
use crate::ledger::{Entry, EntryKind};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How often an agent is sent back if the configuration says nothing.
pub const BOUNCES: u32 = 2;
/// How often an agent is sent back in one session at most, whatever is configured. Prevents endless loops.
const MAX_TOTAL: u32 = 50;
/// The status of the entry that records that an agent was let go without a pass.
pub const FAILED: &str = "verification_failed";
/// The status of the entry that records that an agent was told about a fault.
pub const FAULT: &str = "error";

/// What is known about a session of an agent, besides its entries in the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentSession {
    /// The root of the work at the first event. If the agent changes its folder, the same root is checked.
    pub root: Option<PathBuf>,
    /// The state of the work when the session began.
    pub start: Option<Start>,
    /// The request of the user that the agent works on.
    pub turn: Option<String>,
    /// The number of the last ledger entry before this request.
    pub since: u64,
    /// The first line of what the agent was told last.
    pub told: Option<String>,
}

/// The state of the work at the first event of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The commit that changes are relative to. Without one, everything is new.
    pub base: Option<String>,
    /// The digest of the configuration; empty for the default gate, `None` if it could not be read.
    pub policy: Option<String>,
    /// Whether the base has that same configuration.
    pub committed: bool,
}

/// What a run means for an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookVerdict {
    /// The work passed.
    Pass,
    /// The work must change.
    Fail {
        /// The digest of the failure.
        digest: String,
        /// The feedback for the agent.
        reason: String,
        /// Whether it only says that the work is unfinished.
        unfinished: bool,
    },
    /// The agent says that it waits for something else.
    Blocked {
        /// What it waits for.
        reason: String,
    },
    /// There is no verdict, and the agent cannot change that.
    Fault {
        /// What happened.
        reason: String,
    },
}

/// How often an agent was sent back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// For failures of the gate, in this turn.
    pub bounces: u32,
    /// For faults, in this turn.
    pub faults: u32,
    /// In the whole session.
    pub total: u32,
    /// The digest of the last failure of the gate in this turn.
    pub failure: Option<String>,
    /// Whether the agent was let go without a pass in this turn.
    pub is_spent: bool,
}

impl Budget {
    /// Counts the entries of a session (bounces and notes) for a gate. Those up to `since` belong to earlier turns.
    pub fn of(entries: &[Entry], gate: &str, since: u64) -> Self {
        let mut budget = Self::default();
        for entry in entries {
            let counts = entry.seq > since;
            match entry.kind {
                EntryKind::Bounce => {
                    budget.total += 1;
                    if counts && entry.labels.status == FAULT {
                        budget.faults += 1;
                    } else if counts && entry.labels.gate == gate {
                        budget.bounces += 1;
                        // If the body cannot be read, the bounce still counts.
                        budget.failure = entry.read::<Bounce>().ok().map(|bounce| bounce.failure);
                    }
                }
                EntryKind::Note => budget.is_spent |= counts && entry.labels.status == FAILED,
                _ => {}
            }
        }
        budget
    }

    /// Decides what the agent is told. The caller then records the decision in the ledger.
    pub fn decide(&self, call: &Call, judged: &HookVerdict, allowed: u32) -> Decision {
        let is_tool = call.event == HookEvent::Tool;
        match judged {
            HookVerdict::Pass => Decision::Allow,
            // The agent only pauses. Its work is checked when the background work is done.
            HookVerdict::Fail { unfinished: true, .. } if call.paused => Decision::Allow,
            // After a tool, the reason is shown next to the output of the tool, and the agent continues.
            HookVerdict::Fail { reason, .. } if is_tool => Decision::Block(reason.clone()),
            HookVerdict::Fail { digest, reason, .. } => {
                let is_same = self.failure.as_ref() == Some(digest);
                if self.bounces >= allowed || self.total >= MAX_TOTAL {
                    release(&format!("the agent was sent back {}", crate::text::times(self.bounces)), reason)
                } else if is_same && self.bounces > 0 {
                    release("the agent was sent back, and the same failures remain", reason)
                } else {
                    Decision::Block(reason.clone())
                }
            }
            HookVerdict::Blocked { .. } if is_tool => Decision::Allow,
            HookVerdict::Blocked { reason } => release("the agent reports that it is blocked", reason),
            HookVerdict::Fault { .. } if is_tool && self.faults > 0 => Decision::Allow,
            HookVerdict::Fault { reason } if self.faults > 0 || self.total >= MAX_TOTAL => {
                release("there is no verdict, and the agent was already told", reason)
            }
            HookVerdict::Fault { reason } => Decision::Block(reason.clone()),
        }
    }
}

impl AgentSession {
    /// Returns whether a call belongs to another request of the user than the calls before it, which renews the budget.
    pub fn is_new_turn(&self, call: &Call, is_spent: bool) -> bool {
        let is_new = match (&call.turn, &self.turn) {
            (Some(turn), Some(known)) => turn != known,
            (Some(_), None) => false,
            (None, _) => is_spent && !call.active && call.event == HookEvent::Stop,
        };
        // Qwen announces what we told the agent as if the user had asked for it.
        let told = |told: &String| call.prompt.as_ref().is_none_or(|prompt| prompt.contains(told.as_str()));
        let is_asked = call.event == HookEvent::Prompt && !self.told.as_ref().is_some_and(told);
        is_new || is_asked
    }

    /// Remembers what the agent was told.
    pub fn remember_reason(&mut self, reason: &str) {
        self.told = reason.lines().find(|line| !line.trim().is_empty()).map(|line| line.chars().take(200).collect());
    }
}

fn release(why: &str, reason: &str) -> Decision {
    Decision::Release(format!(
        "{FAILED}: {why}. The work is not verified, and `gate verify` and git hooks refuse it.\n{reason}"
    ))
}

/// Decides without the ledger. Only the host can then say whether the agent was sent back before.
pub fn uncounted(call: &Call, reason: &str) -> Decision {
    // Qwen always says that the agent was sent back, and has a limit of its own.
    let was_sent_back = call.active && call.host != super::AgentHost::Qwen;
    if was_sent_back && call.event != HookEvent::Tool {
        release("bounces cannot be counted, because the state folder cannot be used", reason)
    } else {
        Decision::Block(reason.to_owned())
    }
}
