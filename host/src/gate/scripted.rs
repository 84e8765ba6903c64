//! A judge that says what a test wrote down, and plans for it to judge.

use super::*;
use crate::config::{Divergence, Enforcement, Flaky, Inapplicable, Leniency, Threshold};
use crate::limits::Limits;
use crate::plan::{Check, Gate, GateRule, PlanNodeKind, Shape, SubmissionParts, Vote};
use crate::verdict::{ErrorKind, Failure, Status};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

/// What the judge does when it is asked.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Say this.
    Say(Checked),
    /// Say this after that time.
    After(u64, Checked),
    /// Never answer.
    Hang,
    /// Panic.
    Panic,
}

/// For each member, what is done in one call after the other; the last of it forever.
#[derive(Default)]
pub(super) struct Script {
    steps: BTreeMap<String, Vec<Step>>,
    /// Whether what was judged is found to have changed at the end.
    pub(super) overturned: bool,
    calls: Mutex<Vec<(String, Vec<String>)>>,
    events: Mutex<Vec<String>>,
}

pub(super) fn verdict(status: Status) -> Verdict {
    match status {
        Status::Error => Failure::new(ErrorKind::TrapOther, "it trapped").into(),
        other => Verdict::of(other),
    }
}

pub(super) fn say(status: Status) -> Step {
    Step::Say(verdict(status).into())
}

pub(super) fn sure(confidence: Option<f64>) -> Step {
    Step::Say(Verdict { confidence, ..Verdict::of(Status::Pass) }.into())
}

impl Script {
    pub(super) fn new(steps: impl IntoIterator<Item = (&'static str, Vec<Step>)>) -> Self {
        let steps = steps.into_iter().map(|(name, steps)| (name.to_owned(), steps)).collect();
        Self { steps, ..Self::default() }
    }

    /// Reads outcomes from letters: `+` pass, `-` fail, `?` abstain, `!` error, `.` no file, `0` not applicable, `*` hang,
    /// `x` panic.
    pub(super) fn of(letters: &[(&str, &str)]) -> Self {
        let step = |letter| match letter {
            '+' => say(Status::Pass),
            '-' => say(Status::Fail),
            '?' => say(Status::Abstain),
            '!' => say(Status::Error),
            '.' => Step::Say(Checked::NoFiles),
            '0' => say(Status::NotApplicable),
            '*' => Step::Hang,
            _ => Step::Panic,
        };
        let steps = letters.iter().map(|(name, letters)| ((*name).to_owned(), letters.chars().map(step).collect()));
        Self { steps: steps.collect(), ..Self::default() }
    }

    /// Returns which checks ran, and the evidence that each got.
    pub(super) fn calls(&self) -> Vec<(String, Vec<String>)> {
        self.calls.lock().expect("calls").clone()
    }

    pub(super) fn events(&self) -> Vec<String> {
        self.events.lock().expect("events").clone()
    }
}

impl RunCheck for Script {
    async fn judge(&self, check: &Check, evidence: &[Evidence]) -> Checked {
        let call = {
            let mut calls = self.calls.lock().expect("calls");
            let known = evidence.iter().map(|evidence| evidence.check.clone()).collect();
            calls.push((check.member.clone(), known));
            calls.iter().filter(|(member, _)| *member == check.member).count() - 1
        };
        let steps = self.steps.get(&check.member).unwrap_or_else(|| panic!("`{}` is not in the script", check.member));
        match steps.get(call).or(steps.last()).cloned().expect("a step") {
            Step::Say(judged) => judged,
            Step::After(milliseconds, judged) => {
                tokio::time::sleep(Duration::from_millis(milliseconds)).await;
                judged
            }
            Step::Hang => std::future::pending().await,
            Step::Panic => panic!("as the script says"),
        }
    }

    fn confirm(&self) -> Result<(), Failure> {
        if self.overturned { Err(Failure::new(ErrorKind::SubjectChanged, "as the script says")) } else { Ok(()) }
    }

    fn observe(&self, event: GateEvent<'_>) {
        let text = match event {
            GateEvent::Started { path, .. } => format!("{path} started"),
            GateEvent::Finished { path, node } => format!("{path} {}", node.outcome.as_str()),
        };
        self.events.lock().expect("events").push(text);
    }
}

/// Runs with a clock that jumps to whatever is waited for.
pub(super) fn run_plan(plan: &Plan, circumstances: &Circumstances, script: &Script) -> Node {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(run(plan, circumstances, script))
}

/// Runs a plan, starting with the checks that failed before.
pub(super) fn run_plan_first(plan: &Plan, script: &Script, failed: &BTreeSet<String>) -> Node {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let circumstances = Circumstances::default();
    runtime.expect("a runtime").block_on(run_failed_first(plan, &circumstances, script, failed))
}

pub(super) fn plan(root: plan::PlanNode) -> Plan {
    let (commands, models) = (BTreeMap::new(), BTreeMap::new());
    Plan {
        format: 1,
        deadline: Duration::from_secs(1_800),
        require_trusted: false,
        files: Vec::new(),
        exclude: Vec::new(),
        root,
        commands,
        models,
    }
}

fn node(name: &str, what: PlanNodeKind) -> plan::PlanNode {
    plan::PlanNode {
        name: name.to_owned(),
        enabled: true,
        mode: Enforcement::Enforce,
        when: Vec::new(),
        tier: None,
        on_error: Leniency::Block,
        on_abstain: Leniency::Block,
        on_nothing: Inapplicable::Block,
        weight: 1,
        what,
    }
}

pub(super) fn check(name: &str) -> plan::PlanNode {
    let check = Check {
        member: name.to_owned(),
        check: name.to_owned(),
        verifier: "v".to_owned(),
        digest: "sha256:d".to_owned(),
        shape: Shape::Submission,
        settings: serde_json::json!({}),
        grants: BTreeSet::new(),
        limits: Limits::default(),
        files: Vec::new(),
        exclude: Vec::new(),
        timeout: Duration::from_secs(10),
        attempts: 1,
        red_green: false,
        flaky: None,
        min_confidence: None,
        escalate_below: None,
        on_not_applicable: Inapplicable::Skip,
        working_tree: false,
        reads: SubmissionParts::ALL,
    };
    node(name, PlanNodeKind::Check(check))
}

pub(super) fn gate(name: &str, rule: GateRule, members: Vec<plan::PlanNode>) -> plan::PlanNode {
    node(name, PlanNodeKind::Gate(Gate { rule, files: Vec::new(), exclude: Vec::new(), timeout: None, members }))
}

pub(super) fn vote(name: &str, threshold: Threshold, absences: u32, members: Vec<plan::PlanNode>) -> plan::PlanNode {
    let voices = (0..members.len()).collect();
    let on_divergence = Divergence::Escalate;
    gate(name, GateRule::Vote(Vote { threshold, absences, gone_are_missing: false, on_divergence, voices }), members)
}

/// Changes that read well in a test.
impl plan::PlanNode {
    pub(super) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(super) fn check_mut(&mut self) -> &mut Check {
        match &mut self.what {
            PlanNodeKind::Check(check) => check,
            PlanNodeKind::Gate(_) => panic!("a gate"),
        }
    }

    pub(super) fn gate_mut(&mut self) -> &mut Gate {
        match &mut self.what {
            PlanNodeKind::Check(_) => panic!("a check"),
            PlanNodeKind::Gate(gate) => gate,
        }
    }

    pub(super) fn flaky(self, runs: u32, pass_if: crate::config::PassIf) -> Self {
        self.with(|node| node.check_mut().flaky = Some(Flaky { runs, pass_if }))
    }
}
