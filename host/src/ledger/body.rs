//! The bodies of entries other than runs. Data only.
//!
//! Fields are added and never changed: entries are read by later versions.

use crate::verdict::Finding;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The body of `step-started`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepStart {
    /// The step: `loop`, `executor`, `gate`, or within a gate `verify` (a check that runs commands) and `review` (one that
    /// asks a model).
    pub step: String,
    /// The check, for a step within a gate.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub check: String,
    /// The number of the attempt, from 1, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The process that does it, to find out later whether it still runs.
    pub process: Process,
    /// How long the machine had run, from which the age of entries follows. Earlier versions did not store it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime: Option<Uptime>,
}

impl StepStart {
    /// Returns the start of a step of this process, now.
    pub fn now(step: &str) -> Self {
        Self { step: step.to_owned(), process: Process::this(), uptime: Uptime::now(), ..Self::default() }
    }
}

/// A process of this machine, identified across reboots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// Its number.
    pub id: u32,
    /// When it was started, in clock ticks since the machine started.
    pub started: u64,
    /// The identifier of the boot.
    pub boot: String,
}

impl Process {
    /// Returns this process.
    pub fn this() -> Self {
        let id = std::process::id();
        Self { id, started: started(id).unwrap_or_default(), boot: boot() }
    }

    /// Returns whether it still runs.
    pub fn is_alive(&self) -> bool {
        self.boot == boot() && started(self.id) == Some(self.started)
    }
}

fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Returns when a process was started: the 22nd field, counted from after the name, which may contain anything.
fn started(id: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    // A zombie no longer runs.
    let state = fields.next().filter(|state| !matches!(*state, "Z" | "X"));
    state.and_then(|_| fields.nth(18)?.parse().ok())
}

/// The body of `step-ended`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepEnd {
    /// The step.
    pub step: String,
    /// The check, for a step within a gate.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub check: String,
    /// The result: `success`, `failure`, `timeout`, …
    pub outcome: String,
    /// How long it took.
    pub duration_ms: f64,
    /// Other details.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, serde_json::Value>,
}

/// The body of `attempt`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Attempt {
    /// Its number, from 1.
    pub number: u32,
    /// How many there may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<u32>,
    /// What is done next: `done`, `retry`, `escalate` or `stop`.
    pub next: String,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// What a loop needs to continue from here.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, serde_json::Value>,
}

/// The body of `bounce`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bounce {
    /// Its number in the session, from 1.
    pub number: u32,
    /// How many there may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<u32>,
    /// The feedback for the author of the work.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub feedback: String,
    /// The digest of the failure: see [`super::history::failure_digest`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure: String,
}

/// The body of `escalation`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Escalation {
    /// `notify` or `halt`.
    pub level: String,
    /// The trigger, as a word: `same-task`, `rejections`, `timeouts`, `group`, `divided-vote`, …
    pub trigger: String,
    /// Why, for a person.
    pub why: String,
    /// What can be done: `retry`, `skip`, `investigate`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<String>,
}

/// The body of `resume`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resume {
    /// The number of the entry of the escalation.
    pub escalation: u64,
    /// `retry`, `skip` or `investigate`.
    pub choice: String,
    /// Who decided.
    pub by: String,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The body of `override`: a person let something through without a pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Override {
    /// `skip`, or `force`.
    pub kind: String,
    /// The task.
    pub task: String,
    /// The run that did not pass.
    pub run: String,
    /// The digest of the checked tree. The override holds for this tree only.
    pub tree: String,
    /// The commit that the work is relative to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The fingerprints of the findings that it covers.
    pub fingerprints: Vec<String>,
    /// `verify-unavailable`, `known-false-negative` or `user-risk`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// The reason, in the words of the person who decided.
    pub reason: String,
    /// Who decided.
    pub by: String,
    /// How the person was identified: `terminal` or `signature`.
    pub proof: String,
    /// Until when it holds, in seconds since 1970.
    pub expires: u64,
    /// How long it holds, in seconds of the time of the chain. Earlier versions did not store it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lasts: Option<u64>,
    /// The signature over [`Override::request`], if there is one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// How long the machine had run when it was granted, which does not depend on the clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime: Option<Uptime>,
    /// Where it was granted: see [`machine`]. Earlier versions did not store it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub machine: String,
}

/// Returns a digest of the identifier of this machine, which stays the same when it is started again; empty if it has none.
pub fn machine() -> String {
    let id = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    match id.trim() {
        "" | "uninitialized" => String::new(),
        // The identifier itself is not for others to see.
        id => crate::text::sha256(Sha256::digest(format!("gatehost machine {id}"))),
    }
}

/// How long a machine has run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Uptime {
    /// The identifier of the boot.
    pub boot: String,
    /// Seconds since the machine started, including those in which it slept.
    pub seconds: u64,
}

impl Uptime {
    /// Returns it now, if the system tells. In a time namespace of its own, a process can choose it.
    pub fn now() -> Option<Self> {
        const SYSTEM: &str = "time:[4026531834]";
        // Without a link, the system has no time namespaces.
        if std::fs::read_link("/proc/self/ns/time").is_ok_and(|namespace| namespace.as_os_str() != SYSTEM) {
            return None;
        }
        let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
        let seconds = uptime.split('.').next()?.parse().ok()?;
        Some(Self { boot: boot(), seconds }).filter(|uptime| !uptime.boot.is_empty())
    }

    /// Returns the seconds from then until now, if the machine has not been started anew since.
    pub fn until(&self, now: &Self) -> Option<u64> {
        (now.boot == self.boot).then(|| now.seconds.saturating_sub(self.seconds))
    }
}

/// The detail of the note that an override has expired: the number of its entry.
pub const OVERRIDE: &str = "override";

impl Override {
    /// Returns how the task is reported, which is never as a pass.
    pub fn word(&self) -> &'static str {
        if self.kind == "force" { "complete (forced)" } else { "complete (unverified)" }
    }

    /// Returns the text to sign: everything that the override lets through, in a form that people can read.
    pub fn request(&self) -> String {
        let mut text = format!(
            "gatehost override v1\nkind: {}\ntask: {}\nrun: {}\ntree: {}\ncondition: {}\nreason: {}\nexpires: {}\n",
            self.kind,
            line(&self.task),
            line(&self.run),
            line(&self.tree),
            self.condition,
            line(&self.reason),
            self.expires
        );
        for fingerprint in &self.fingerprints {
            text.push_str(&format!("finding: {}\n", line(fingerprint)));
        }
        text
    }
}

fn line(text: &str) -> String {
    crate::text::clean_line(text, 2_000)
}

/// The body of `cut-off`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CutOff {
    /// The step.
    pub step: String,
    /// Why.
    pub why: String,
}

/// The body of `commit`: what a run passed was committed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Committed {
    /// The run that passed it.
    pub run: String,
    /// The digest of the checked tree, which is also that of the changes of the commit.
    pub tree: String,
    /// The commit, in full.
    pub commit_sha: String,
}

/// The body of `prune`: the dropped entries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pruned {
    /// The number of the first entry that was dropped.
    pub first: u64,
    /// The number of the last.
    pub last: u64,
    /// The hash of the last one, from which the chain continues.
    pub last_hash: String,
    /// How many entries of each kind there were.
    pub kinds: BTreeMap<String, u64>,
    /// How many runs had each result.
    pub runs: BTreeMap<String, u64>,
}

/// The body of `note`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Note {
    /// What it says.
    pub text: String,
    /// Other details.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, serde_json::Value>,
    /// Findings that it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}
