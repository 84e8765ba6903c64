//! How often an agent is sent back. The budget is ours: a host's own bound is too high, or there is none.
//!
//! A failure is worth a few bounces, as long as something changes. A fault of the gate itself (a verifier that broke, a
//! broken configuration, no judgement) is not the agent's to repair, and is told once. When nothing is left, the agent may
//! stop, and the work is not verified.

use super::{Call, Decision, Event};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How often an agent is sent back if the configuration says nothing.
pub const BOUNCES: u32 = 2;
/// How often it is sent back in one session, whatever is configured: a bound against a loop that nobody foresaw.
const MAX_TOTAL: u32 = 50;

/// What is known about a session of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// The root of the work, taken at the first event: an agent that changes its folder does not change what is judged.
    pub root: Option<PathBuf>,
    /// The commit that changes are relative to, taken at the first event.
    pub base: Option<String>,
    /// The request of the user that the agent works on.
    pub turn: Option<String>,
    /// How often the agent was sent back in this turn for failures.
    pub bounces: u32,
    /// How often it was told of a fault in this turn.
    pub faults: u32,
    /// How often it was sent back in all.
    pub total: u32,
    /// The digest of the last failure.
    pub failure: Option<String>,
    /// `verification_failed` where the agent was let go without a pass, else what the last run came to.
    pub state: Option<String>,
    /// The identifier of the last run.
    pub run: Option<String>,
    /// The first line of what the agent was told last.
    pub told: Option<String>,
}

/// What a run means for an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
pub enum Judged {
    /// The work passed.
    Pass,
    /// The work must change.
    Fail {
        /// What identifies the failure.
        digest: String,
        /// What goes back to the agent.
        reason: String,
        /// Whether it only says that the work is unfinished.
        unfinished: bool,
    },
    /// The agent says that it waits for something else.
    Blocked {
        /// What it waits for.
        reason: String,
    },
    /// There is no judgement, and the agent cannot change that.
    Fault {
        /// What happened.
        reason: String,
    },
}

impl Session {
    /// Takes note of a call before it is judged: a new request of the user renews the budget.
    pub fn note(&mut self, call: &Call) {
        let spent = self.state.as_deref() == Some(FAILED);
        let new = match (&call.turn, &self.turn) {
            (Some(turn), Some(known)) => turn != known,
            (Some(_), None) => false,
            (None, _) => spent && !call.active && call.event == Event::Stop,
        };
        // Qwen announces what we told the agent as if the user had asked for it.
        let told = |told: &String| call.prompt.as_ref().is_none_or(|prompt| prompt.contains(told.as_str()));
        let asked = call.event == Event::Prompt && !self.told.as_ref().is_some_and(told);
        if new || asked {
            (self.bounces, self.faults, self.failure, self.state) = (0, 0, None, None);
        }
        if call.turn.is_some() {
            self.turn.clone_from(&call.turn);
        }
    }

    /// Decides what the agent is told, and counts it.
    pub fn decide(&mut self, call: &Call, judged: &Judged, bounces: u32) -> Decision {
        match judged {
            Judged::Pass => {
                (self.bounces, self.faults, self.failure) = (0, 0, None);
                self.state = Some("pass".to_owned());
                Decision::Allow
            }
            // The agent only pauses; it is judged again when its work in the background is done.
            Judged::Fail { unfinished: true, .. } if call.paused => Decision::Allow,
            // After a tool, the reason stands beside what the tool said: it sends nobody back.
            Judged::Fail { reason, .. } if call.event == Event::Tool => Decision::Block(reason.clone()),
            Judged::Fail { digest, reason, .. } => {
                let same = self.failure.as_ref() == Some(digest);
                self.failure = Some(digest.clone());
                if self.bounces >= bounces || self.total >= MAX_TOTAL {
                    self.release(&format!("the agent was sent back {} times", self.bounces), reason)
                } else if same && self.bounces > 0 {
                    self.release("the agent was sent back, and the same failures remain", reason)
                } else {
                    self.bounces += 1;
                    self.block("fail", reason)
                }
            }
            Judged::Blocked { reason } => self.release("the agent reports that it is blocked", reason),
            Judged::Fault { reason } if self.faults > 0 || self.total >= MAX_TOTAL => {
                self.release("there is no verdict, and the agent was already told", reason)
            }
            Judged::Fault { reason } => {
                self.faults += 1;
                self.block("error", reason)
            }
        }
    }

    fn block(&mut self, state: &str, reason: &str) -> Decision {
        self.total += 1;
        self.state = Some(state.to_owned());
        self.told = reason.lines().find(|line| !line.trim().is_empty()).map(|line| line.chars().take(200).collect());
        Decision::Block(reason.to_owned())
    }

    fn release(&mut self, why: &str, reason: &str) -> Decision {
        self.state = Some(FAILED.to_owned());
        let message =
            format!("{FAILED}: {why}. The work is not verified, and `gate verify` and git hooks refuse it.\n{reason}");
        Decision::Release(message)
    }
}

/// The state of a session whose agent was let go without a pass.
pub const FAILED: &str = "verification_failed";
