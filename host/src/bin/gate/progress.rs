//! What a person sees while a gate runs: how far it is, and what it is waiting for.

use gatehost::gate::Event;
use gatehost::outcome::NodeKind;
use gatehost::plan::{Node, Plan, Rule, What};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// A line on standard error; nothing where nobody watches.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Whether the steps are tiers; else they are checks.
    tiers: bool,
}

impl Progress {
    pub(crate) fn new(plan: &Plan, watched: bool) -> Self {
        let tiers = matches!(&plan.root.what, What::Gate(gate) if gate.rule == Rule::Tiers);
        let steps = if tiers { plan.root.members().len() } else { plan.checks().count() };
        let target = if watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(steps as u64), target);
        if let Ok(style) = ProgressStyle::with_template("gate {prefix} [{bar:16}] step {pos}/{len} {msg}") {
            bar.set_style(style.progress_chars("##-"));
        }
        bar.set_prefix(plan.root.name.clone());
        if watched {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        Self { bar, tiers }
    }

    pub(crate) fn observe(&self, event: Event<'_>) {
        match event {
            Event::Started { node: Node { name, what: What::Check(_), .. }, .. } => self.bar.set_message(name.clone()),
            Event::Started { .. } => {}
            Event::Finished { path, node } => {
                let is_step = if self.tiers { path.matches('/').count() == 1 } else { node.kind == NodeKind::Check };
                if is_step {
                    self.bar.inc(1);
                }
            }
        }
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
