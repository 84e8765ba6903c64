//! What a person sees while a gate runs: how far it is, and each step of it.
//!
//! ```text
//! gate commit [#####-----------] step 1/3  cargo-test
//!   [x] syntax  pass
//!   [~] tests   running
//!   [ ] review  pending
//! ```

use crate::interrupt;
use gatehost::gate::Event;
use gatehost::outcome::Outcome;
use gatehost::plan::{Plan, What};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// The most steps that are listed; more would fill the terminal.
const MOST_LISTED: usize = 12;

/// Lines on standard error; nothing where nobody watches.
pub(crate) struct Progress {
    lines: MultiProgress,
    bar: ProgressBar,
    steps: Vec<Step>,
}

/// A member of the gate itself: a tier of a tiered gate, for one.
struct Step {
    path: String,
    line: ProgressBar,
}

impl Progress {
    pub(crate) fn new(plan: &Plan, watched: bool) -> Self {
        let target = if watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let lines = MultiProgress::with_draw_target(target);
        let root = &plan.root;
        let names: Vec<&str> = match root.members() {
            [] => vec![&root.name],
            members => members.iter().map(|member| member.name.as_str()).collect(),
        };
        let bar = lines.add(ProgressBar::new(names.len() as u64));
        if let Ok(style) = ProgressStyle::with_template("gate {prefix} [{bar:16}] step {pos}/{len}  {msg}") {
            bar.set_style(style.progress_chars("##-"));
        }
        bar.set_prefix(root.name.clone());
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
        let step = |(number, name): (usize, &&str)| {
            let line = if number < MOST_LISTED { lines.add(ProgressBar::no_length()) } else { ProgressBar::hidden() };
            if let Ok(style) = ProgressStyle::with_template("  [{prefix}] {msg}") {
                line.set_style(style);
            }
            let path = if root.members().is_empty() { (*name).to_owned() } else { format!("{}/{name}", root.name) };
            let step = Step { path, line };
            step.show(' ', &format!("{name:width$}  pending"));
            step
        };
        let steps = names.iter().enumerate().map(step).collect();
        if watched {
            interrupt::clears(&lines);
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        Self { lines, bar, steps }
    }

    pub(crate) fn observe(&self, event: Event<'_>) {
        match event {
            Event::Started { path, node } => {
                if let What::Check(_) = &node.what {
                    self.bar.set_message(node.name.clone());
                }
                if let Some(step) = self.step(path) {
                    step.becomes('~', "running");
                }
            }
            Event::Finished { path, node } => {
                // What was cut short may be told again.
                if let Some(step) = self.step(path).filter(|step| !step.line.is_finished()) {
                    step.becomes(mark(node.outcome), node.outcome.as_str());
                    step.line.abandon();
                    self.bar.inc(1);
                }
            }
        }
    }

    fn step(&self, path: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.path == path)
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
        let _ = self.lines.clear();
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
        Outcome::Skipped | Outcome::NotReached | Outcome::NotNeeded => '-',
    }
}
