//! Shows the progress of a gate to a person.
//!
//! ```text
//! gate commit [#####-----------] step 1/3  cargo-test 120/400 files, 2s  3s
//!   [x] syntax  pass
//!   [~] tests   running
//!   [ ] review  pending
//! ```

use crate::interrupt;
use gatehost::event::EventKind;
use gatehost::outcome::{NodeKind, Outcome};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most steps that are listed; more would fill the terminal.
const MOST_LISTED: usize = 12;

/// Progress on stderr; nothing if it is not a terminal.
pub(crate) struct Progress {
    watched: bool,
    lines: MultiProgress,
    shown: Mutex<Option<VisibleProgress>>,
}

/// The progress of a running gate.
struct VisibleProgress {
    bar: ProgressBar,
    steps: Vec<MemberProgress>,
    running: Arc<Mutex<RunningChecks>>,
}

/// The running checks.
#[derive(Default)]
struct RunningChecks(BTreeMap<String, CheckProgress>);

/// The start of a check, and how many of its files are done.
struct CheckProgress {
    start: Instant,
    files: Option<(usize, usize)>,
}

impl RunningChecks {
    /// Returns the check that has been running longest.
    fn slowest(&self) -> String {
        let Some((name, check)) = self.0.iter().min_by_key(|(_, check)| check.start) else { return String::new() };
        let files = check.files.map_or(String::new(), |(done, total)| format!(" {done}/{total} files,"));
        format!("{name}{files} {}s", check.start.elapsed().as_secs())
    }
}

/// A direct member of the gate, such as a tier.
struct MemberProgress {
    path: String,
    line: ProgressBar,
}

impl Progress {
    pub(crate) fn new(watched: bool) -> Self {
        let target = if watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self { watched, lines: MultiProgress::with_draw_target(target), shown: Mutex::default() }
    }

    pub(crate) fn observe(&self, what: &EventKind) {
        if !self.watched {
            return;
        }
        let mut shown = self.shown.lock();
        match (what, shown.as_mut()) {
            (EventKind::RunStarted { gate, members, .. }, _) => *shown = Some(self.begin(gate, members)),
            (EventKind::RunEnded { .. }, Some(shown)) => shown.bar.finish_and_clear(),
            (what, Some(shown)) => shown.observe(what),
            (_, None) => {}
        }
    }

    fn begin(&self, gate: &str, members: &[String]) -> VisibleProgress {
        let own = [gate.to_owned()];
        let names = if members.is_empty() { &own[..] } else { members };
        let bar = self.lines.add(ProgressBar::new(names.len() as u64));
        let running: Arc<Mutex<RunningChecks>> = Arc::default();
        let template = "gate {prefix} [{bar:16}] step {pos}/{len}  {slowest}  {elapsed}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            let running = Arc::clone(&running);
            // Computed at every tick, so that the time advances.
            let slowest = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = out.write_str(&running.lock().slowest());
            };
            bar.set_style(style.with_key("slowest", slowest).progress_chars("##-"));
        }
        bar.set_prefix(gate.to_owned());
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
        let step = |(number, name): (usize, &String)| {
            let listed = number < MOST_LISTED;
            let line = if listed { self.lines.add(ProgressBar::no_length()) } else { ProgressBar::hidden() };
            if let Ok(style) = ProgressStyle::with_template("  [{prefix}] {msg}") {
                line.set_style(style);
            }
            let path = if members.is_empty() { name.clone() } else { format!("{gate}/{name}") };
            let step = MemberProgress { path, line };
            step.show(' ', &format!("{name:width$}  pending"));
            step
        };
        let steps = names.iter().enumerate().map(step).collect();
        interrupt::clears(&self.lines);
        bar.enable_steady_tick(Duration::from_millis(100));
        VisibleProgress { bar, steps, running }
    }

    /// Hides the progress until another run starts.
    pub(crate) fn finish(&self) {
        if let Some(shown) = self.shown.lock().take() {
            shown.bar.finish_and_clear();
            shown.steps.iter().for_each(|step| self.lines.remove(&step.line));
            self.lines.remove(&shown.bar);
        }
        let _ = self.lines.clear();
    }

    /// Hides the progress while this runs.
    pub(crate) fn suspended(&self, say: impl FnOnce()) {
        self.lines.suspend(say);
    }
}

impl VisibleProgress {
    fn observe(&self, what: &EventKind) {
        match what {
            EventKind::CheckStarted { path, kind } => {
                if *kind == NodeKind::Check {
                    let check = CheckProgress { start: Instant::now(), files: None };
                    self.running().0.insert(name(path), check);
                }
                if let Some(step) = self.step(path) {
                    step.becomes('~', "running");
                }
            }
            EventKind::FilesDone { check, done, total } => {
                if let Some(check) = self.running().0.get_mut(check) {
                    check.files = Some((*done, *total));
                }
            }
            EventKind::CheckEnded { path, outcome, .. } => {
                self.running().0.remove(&name(path));
                // A cancelled member may be reported again.
                if let Some(step) = self.step(path).filter(|step| !step.line.is_finished()) {
                    step.becomes(mark(*outcome), outcome.as_str());
                    step.line.abandon();
                    self.bar.inc(1);
                }
            }
            _ => {}
        }
    }

    fn running(&self) -> MutexGuard<'_, RunningChecks> {
        self.running.lock()
    }

    fn step(&self, path: &str) -> Option<&MemberProgress> {
        self.steps.iter().find(|step| step.path == path)
    }
}

impl MemberProgress {
    fn show(&self, mark: char, message: &str) {
        self.line.set_prefix(mark.to_string());
        self.line.set_message(message.to_owned());
    }

    /// Changes the state of a member.
    fn becomes(&self, mark: char, state: &str) {
        let message = self.line.message();
        let name = message.rsplit_once("  ").map_or("", |(name, _)| name);
        self.show(mark, &format!("{name}  {state}"));
    }
}

/// Returns the name of the member at a path.
fn name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

fn mark(outcome: Outcome) -> char {
    match outcome {
        Outcome::Pass => 'x',
        Outcome::Fail => '!',
        Outcome::Abstain | Outcome::Error => '?',
        Outcome::Skipped | Outcome::NotApplicable | Outcome::NotReached | Outcome::NotNeeded => '-',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_for_the_longest_time_is_shown() {
        let now = Instant::now();
        let check = |ago: u64, files| CheckProgress { start: now - Duration::from_secs(ago), files };
        let mut running = RunningChecks::default();
        assert_eq!(running.slowest(), "");
        running.0.insert("json".to_owned(), check(2, Some((120, 400))));
        assert!(running.slowest().starts_with("json 120/400 files, "));
        running.0.insert("tests".to_owned(), check(60, None));
        assert!(running.slowest().starts_with("tests 6"), "{}", running.slowest());
    }
}
