//! Totals over the runs of a project.

use super::history::{self, RunEnding};
use super::{EntryKind, Filter, Ledger, LedgerError, Project};
use crate::outcome::{NodeKind, Outcome};
use crate::record::Mark;
use crate::text;
use crate::verdict::{Class, Level, Status};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// The results of the runs of a project.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// How many runs there were.
    pub runs: u64,
    /// How many passed.
    pub passed: u64,
    /// How many failed.
    pub failed: u64,
    /// How many ended without a verdict.
    pub undecided: u64,
    /// How many were interrupted.
    pub interrupted: u64,
    /// How many run now.
    pub in_progress: u64,
    /// How many tasks there were.
    pub total_tasks: u64,
    /// How many of them passed.
    pub tasks_passed: u64,
    /// How many of them failed last, and are not being tried again at the moment.
    pub tasks_failed: u64,
    /// How many of them are being checked now.
    pub tasks_in_progress: u64,
    /// How many tasks of the plan were not checked yet, if the size of the plan is known.
    pub tasks_pending: u64,
    /// `passed / (passed + failed)`, as a percentage; `None` if both are 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_rate: Option<f64>,
    /// How many attempts a task took on average, of those that passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avg_attempts: Option<f64>,
    /// How many passes were weak.
    pub weak_passes: u64,
    /// How many passes rest on a relaxation.
    pub relaxed_passes: u64,
    /// How often each class of failure occurred.
    pub classes: BTreeMap<String, u64>,
    /// How often a check was flaky: its runs disagreed, or it failed and passed the very same work.
    pub flaky: BTreeMap<String, u64>,
    /// How often a test, or anything else that a command reported, failed on work that passed without a change.
    pub flaky_tests: BTreeMap<String, u64>,
    /// How often a check in shadow would have blocked.
    pub would_have_blocked: BTreeMap<String, u64>,
    /// The cost of each verifier.
    pub verifiers: BTreeMap<String, VerifierStats>,
    /// What models cost.
    pub models: ModelStats,
    /// How many overrides there were.
    pub overrides: u64,
    /// How many escalations there were.
    pub escalations: u64,
    /// The last failures, newest first.
    pub recent_failures: Vec<FailureEntry>,
}

/// The cost of a verifier.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct VerifierStats {
    /// How often it ran.
    pub runs: u64,
    /// How often it failed.
    pub failed: u64,
    /// How long it took in all.
    pub total_ms: f64,
}

/// What models cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ModelStats {
    /// How many questions there were.
    pub questions: u64,
    /// The tokens of the questions.
    pub input_tokens: u64,
    /// The tokens of the answers.
    pub output_tokens: u64,
    /// The cost, if prices are configured.
    pub cost: f64,
}

/// A failure, and whether it was recovered from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailureEntry {
    /// The run.
    pub run: String,
    /// The task.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// Which attempt at the task it was.
    pub attempt: u32,
    /// Its class.
    pub failure_type: String,
    /// What was wrong.
    pub error: String,
    /// Whether a later run of the task passed.
    pub recovered: bool,
    /// How: `passed in run …`, or `let through by a person`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resolution: String,
}

/// How many of the last failures are listed.
const RECENT: usize = 20;

impl Stats {
    /// Counts the entries of a project.
    pub fn read(ledger: &dyn Ledger, project: &Project) -> Result<Self, LedgerError> {
        let entries = ledger.entries(&Filter::of(project))?;
        let mut stats = Self::default();
        let runs = history::runs(&entries)?;
        let mut attempts: BTreeMap<&str, (u64, bool)> = BTreeMap::new();
        let mut last: BTreeMap<&str, &history::PastRun> = BTreeMap::new();
        let mut planned = 0;
        for run in &runs {
            stats.runs += 1;
            let task = attempts.entry(&run.task).or_default();
            if run.is_attempt() && !task.1 {
                task.0 += 1;
                task.1 = run.passed();
            }
            last.insert(&run.task, run);
            let total = run.record().and_then(|record| record.task.as_ref()?.total);
            planned = total.map_or(planned, u64::from);
            match &run.ending {
                RunEnding::Running => stats.in_progress += 1,
                RunEnding::Interrupted => stats.interrupted += 1,
                RunEnding::Recorded(record) => stats.add(record),
            }
        }
        let tasks = attempts.iter().filter(|(task, _)| !task.is_empty());
        let done: Vec<u64> = tasks.clone().filter(|(_, (_, passed))| *passed).map(|(_, (count, _))| *count).collect();
        stats.total_tasks = tasks.count() as u64;
        stats.tasks_passed = done.len() as u64;
        for run in last.iter().filter(|(task, _)| !task.is_empty()).map(|(_, run)| run) {
            match &run.ending {
                RunEnding::Running => stats.tasks_in_progress += 1,
                _ if attempts.get(run.task.as_str()).is_some_and(|(_, passed)| *passed) => {}
                RunEnding::Interrupted | RunEnding::Recorded(_) => stats.tasks_failed += 1,
            }
        }
        stats.tasks_pending = planned.saturating_sub(stats.total_tasks);
        stats.disagreements(&runs);
        stats.avg_attempts = ratio(done.iter().sum(), done.len() as u64);
        stats.pass_rate = ratio(stats.passed * 100, stats.passed + stats.failed);
        let of = |kind| entries.iter().filter(move |entry| entry.kind == kind);
        stats.overrides = of(EntryKind::Override).count() as u64;
        stats.escalations = of(EntryKind::Escalation).count() as u64;
        let let_through: BTreeSet<&str> = of(EntryKind::Override).map(|entry| entry.labels.task.as_str()).collect();
        for (index, run) in runs.iter().enumerate().rev() {
            if run.passed() || run.ending == RunEnding::Running || stats.recent_failures.len() >= RECENT {
                continue;
            }
            let same = |other: &&history::PastRun| other.task == run.task && other.gate == run.gate;
            let later = runs[index + 1..].iter().filter(same).find(|other| other.passed());
            let resolution = match later {
                Some(later) => format!("passed in run {}", later.run),
                None if !run.task.is_empty() && let_through.contains(run.task.as_str()) => {
                    "let through by a person".to_owned()
                }
                None => String::new(),
            };
            stats.recent_failures.push(FailureEntry {
                run: run.run.clone(),
                task: run.task.clone(),
                attempt: run.record().map_or(1, |record| record.attempt),
                failure_type: run.class().map_or_else(|| run.word().to_owned(), ToString::to_string),
                error: super::status::failure(run),
                recovered: later.is_some(),
                resolution,
            });
        }
        Ok(stats)
    }

    /// Counts the checks that both failed and passed the same work under the same plan.
    fn disagreements(&mut self, runs: &[history::PastRun]) {
        type Results<'r> = (bool, BTreeSet<&'r str>);
        let mut told: BTreeMap<(&str, &str, &str), Results<'_>> = BTreeMap::new();
        for record in runs.iter().filter_map(history::PastRun::record) {
            let Some(tree) = &record.tree else { continue };
            let checks = record.checks().filter(|check| !check.commands.is_empty() || !check.models.is_empty());
            for check in checks.filter(|check| matches!(check.outcome, Outcome::Pass | Outcome::Fail)) {
                let (passed, failures) = told.entry((tree, &record.plan, &check.name)).or_default();
                *passed |= check.outcome == Outcome::Pass;
                if check.outcome == Outcome::Fail {
                    let findings = check.verdict.iter().flat_map(|verdict| &verdict.findings);
                    let errors = findings.filter(|finding| finding.level == Level::Error);
                    failures.extend(errors.map(|finding| finding.message.as_str()));
                }
            }
        }
        for ((_, _, check), (passed, failures)) in told {
            if passed && !failures.is_empty() {
                *self.flaky.entry(check.to_owned()).or_default() += 1;
                for failure in failures {
                    *self.flaky_tests.entry(crate::text::clean_line(failure, 200)).or_default() += 1;
                }
            }
        }
    }

    fn add(&mut self, record: &crate::record::Record) {
        match record.status {
            Status::Pass => self.passed += 1,
            Status::Fail => self.failed += 1,
            Status::Abstain | Status::Error | Status::NotApplicable => self.undecided += 1,
        }
        self.weak_passes += u64::from(record.marks.contains(&Mark::Weak));
        self.relaxed_passes += u64::from(record.status == Status::Pass && record.marks.contains(&Mark::Relaxed));
        if let Some(class) = &record.class {
            *self.classes.entry(class.as_str().to_owned()).or_default() += 1;
        }
        for node in record.gate.walk().filter(|node| node.kind == NodeKind::Check) {
            let blocks = matches!(node.outcome, Outcome::Fail | Outcome::Abstain | Outcome::Error);
            if node.flaky {
                *self.flaky.entry(node.name.clone()).or_default() += 1;
            }
            if node.shadow && blocks {
                *self.would_have_blocked.entry(node.name.clone()).or_default() += 1;
            }
            if let (Some(verifier), Some(_)) = (&node.verifier, &node.verdict) {
                let entry = self.verifiers.entry(verifier.name.clone()).or_default();
                entry.runs += 1;
                entry.failed += u64::from(node.class != Some(Class::Infra) && node.outcome == Outcome::Fail);
                entry.total_ms += node.duration.as_secs_f64() * 1e3;
            }
            for model in &node.models {
                self.models.questions += 1;
                self.models.input_tokens += model.input_tokens.unwrap_or_default();
                self.models.output_tokens += model.output_tokens.unwrap_or_default();
                self.models.cost += model.cost.unwrap_or_default();
            }
        }
    }

    /// Returns a digest that changes if anything but times changes.
    pub fn fingerprint(&self) -> String {
        let mut stable = self.clone();
        stable.verifiers.values_mut().for_each(|verifier| verifier.total_ms = 0.0);
        let bytes = serde_json::to_vec(&stable).unwrap_or_default();
        text::sha256(Sha256::digest(bytes))
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs are far below 2^52")]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64 * 100.0).round() / 100.0)
}
