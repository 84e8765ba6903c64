//! What a person sees while a gate runs: how far it is, and each step of it.
//!
//! ```text
//! gate commit [#####-----------] step 1/3  cargo-test  120/400 files  3s
//!   [x] syntax  pass
//!   [~] tests   running
//!   [ ] review  pending
//! ```

use crate::interrupt;
use gatehost::event::What;
use gatehost::outcome::{NodeKind, Outcome};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use std::time::Duration;

/// The most steps that are listed; more would fill the terminal.
const MOST_LISTED: usize = 12;

/// Lines on standard error; nothing where nobody watches.
pub(crate) struct Progress {
    watched: bool,
    lines: MultiProgress,
    shown: Mutex<Option<Shown>>,
}

/// What is shown of a run that began.
struct Shown {
    bar: ProgressBar,
    steps: Vec<Step>,
}

/// A member of the gate itself: a tier of a tiered gate, for one.
struct Step {
    path: String,
    line: ProgressBar,
}

impl Progress {
    pub(crate) fn new(watched: bool) -> Self {
        let target = if watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self { watched, lines: MultiProgress::with_draw_target(target), shown: Mutex::default() }
    }

    pub(crate) fn observe(&self, what: &What) {
        if !self.watched {
            return;
        }
        let mut shown = self.shown.lock();
        match (what, shown.as_mut()) {
            (What::RunStarted { gate, members, .. }, _) => *shown = Some(self.begin(gate, members)),
            (What::RunEnded { .. }, Some(shown)) => shown.bar.finish_and_clear(),
            (what, Some(shown)) => shown.observe(what),
            (_, None) => {}
        }
    }

    fn begin(&self, gate: &str, members: &[String]) -> Shown {
        let own = [gate.to_owned()];
        let names = if members.is_empty() { &own[..] } else { members };
        let bar = self.lines.add(ProgressBar::new(names.len() as u64));
        if let Ok(style) = ProgressStyle::with_template("gate {prefix} [{bar:16}] step {pos}/{len}  {msg}  {elapsed}") {
            bar.set_style(style.progress_chars("##-"));
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
            let step = Step { path, line };
            step.show(' ', &format!("{name:width$}  pending"));
            step
        };
        let steps = names.iter().enumerate().map(step).collect();
        interrupt::clears(&self.lines);
        bar.enable_steady_tick(Duration::from_millis(100));
        Shown { bar, steps }
    }

    /// Shows nothing any more, until another run begins.
    pub(crate) fn finish(&self) {
        if let Some(shown) = self.shown.lock().take() {
            shown.bar.finish_and_clear();
            shown.steps.iter().for_each(|step| self.lines.remove(&step.line));
            self.lines.remove(&shown.bar);
        }
        let _ = self.lines.clear();
    }

    /// Does this while nothing is shown, and shows it again.
    pub(crate) fn suspended(&self, say: impl FnOnce()) {
        self.lines.suspend(say);
    }
}

impl Shown {
    fn observe(&self, what: &What) {
        match what {
            What::CheckStarted { path, kind } => {
                if *kind == NodeKind::Check {
                    self.bar.set_message(path.rsplit('/').next().unwrap_or(path).to_owned());
                }
                if let Some(step) = self.step(path) {
                    step.becomes('~', "running");
                }
            }
            What::FilesDone { check, done, total } => self.bar.set_message(format!("{check}  {done}/{total} files")),
            What::CheckEnded { path, outcome, .. } => {
                // What was cut short may be told again.
                if let Some(step) = self.step(path).filter(|step| !step.line.is_finished()) {
                    step.becomes(mark(*outcome), outcome.as_str());
                    step.line.abandon();
                    self.bar.inc(1);
                }
            }
            _ => {}
        }
    }

    fn step(&self, path: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.path == path)
    }
}

impl Step {
    fn show(&self, mark: char, message: &str) {
        self.line.set_prefix(mark.to_string());
        self.line.set_message(message.to_owned());
    }

    /// The name stays, the last word changes.
    fn becomes(&self, mark: char, state: &str) {
        let message = self.line.message();
        let name = message.rsplit_once("  ").map_or("", |(name, _)| name);
        self.show(mark, &format!("{name}  {state}"));
    }
}

fn mark(outcome: Outcome) -> char {
    match outcome {
        Outcome::Pass => 'x',
        Outcome::Fail => '!',
        Outcome::Abstain | Outcome::Error => '?',
        Outcome::Skipped | Outcome::NotApplicable | Outcome::NotReached | Outcome::NotNeeded => '-',
    }
}
