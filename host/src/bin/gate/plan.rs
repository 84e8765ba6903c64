//! `gate plan`: shows the resolved configuration.

use crate::args::{Global, OutputFormat};
use crate::error::Error;
use crate::run::{Watcher, announce, warn};
use crate::{Exit, setup, terminal};
use clap::Args;
use gatehost::config::Threshold;
use gatehost::environment::Environment;
use gatehost::plan::{self, GateRule, PlanNode, PlanNodeKind};
use gatehost::session::{Policy, Request};
use gatehost::text::{clean_line, write_json};
use serde_json::json;
use std::io::{self, Write};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
The digest covers the rules, the settings, the limits and the bytes of every verifier. Machines that print the same \
digest make the same decisions.

Examples:
  gate plan
  gate plan commit --format json")]
pub(crate) struct PlanArgs {
    /// The gate [default: as for `gate run`]
    pub(crate) gate: Option<String>,
    /// Use this configuration file instead of the nearest gate.toml
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

pub(crate) fn run(global: &Global, command: &PlanArgs) -> Result<Exit, Error> {
    let mut request = Request::new(&global.directory, Environment::of_process());
    request.policy = command.config.clone().map_or(Policy::Work, Policy::File);
    request.gate.clone_from(&command.gate);
    let host = setup::host(global, &request.environment)?;
    let planned = setup::wait(host.plan(request, Watcher::silent(global)))?;
    show(&planned.plan, command.format, global.verbose)?;
    warn(global, &planned.warnings);
    announce(global, &planned.policy, "is");
    Ok(Exit::Pass)
}

/// As much is shown of a digest.
const SHORT: usize = "sha256:".len() + 12;

/// Prints a plan within 80 columns, unless `--verbose` is set.
pub(crate) fn show(plan: &plan::Plan, format: OutputFormat, verbose: bool) -> io::Result<()> {
    let mut out = terminal::stdout();
    match format {
        OutputFormat::Json => write_json(&mut out, &json!({ "version": 1, "digest": plan.digest(), "plan": plan })),
        OutputFormat::Human => terminal::noted(&mut out, |out| {
            for (key, patterns) in [("files", &plan.files), ("exclude", &plan.exclude)] {
                if !patterns.is_empty() {
                    line(out, &format!("{key}: {}", clean_line(&patterns.join(", "), usize::MAX)), verbose)?;
                }
            }
            node(out, &plan.root, 0, verbose)?;
            let digest = plan.digest();
            let shown = if verbose { digest.as_str() } else { digest.get(..SHORT).unwrap_or(&digest) };
            writeln!(out, "plan {shown}")
        }),
    }
}

/// Prints a line, wrapped between its parts.
fn line(out: &mut impl Write, text: &str, verbose: bool) -> io::Result<()> {
    if verbose {
        return writeln!(out, "{text}");
    }
    let indent = text.len() - text.trim_start().len() + 4;
    terminal::wrapped(out, text, indent)
}

fn node(out: &mut impl Write, node: &PlanNode, depth: usize, verbose: bool) -> io::Result<()> {
    let indent = "  ".repeat(depth);
    let what = match &node.what {
        PlanNodeKind::Check(check) => {
            let mut words = vec![short(&check.verifier, verbose)];
            if !check.files.is_empty() {
                words.push(format!("on {}", check.files.join(", ")));
            }
            if !check.exclude.is_empty() {
                words.push(format!("not {}", check.exclude.join(", ")));
            }
            if !check.grants.is_empty() {
                let grants: Vec<String> = check.grants.iter().map(ToString::to_string).collect();
                words.push(format!("granted {}", grants.join(", ")));
            }
            words.push(format!("at most {:?}", check.timeout));
            words.join("; ")
        }
        PlanNodeKind::Gate(gate) => rule(&gate.rule, gate.members.len()),
    };
    // Patterns and paths may contain anything, so they are escaped.
    let what = clean_line(&what, usize::MAX);
    line(out, &format!("{indent}{}: {what}{}", node.name, terms(node)), verbose)?;
    node.members().iter().try_for_each(|member| self::node(out, member, depth + 1, verbose))
}

/// Returns a verifier with a short digest.
fn short(verifier: &str, verbose: bool) -> String {
    match verifier.rsplit_once("@sha256:") {
        Some((name, hex)) if !verbose => format!("{name}@sha256:{}…", hex.get(..12).unwrap_or(hex)),
        _ => verifier.to_owned(),
    }
}

fn rule(rule: &GateRule, members: usize) -> String {
    match rule {
        GateRule::Tiers => "tiers, the first that does not pass decides".to_owned(),
        GateRule::All => "all must pass".to_owned(),
        GateRule::Any => "one must pass".to_owned(),
        GateRule::Not => "must fail".to_owned(),
        GateRule::Vote(vote) => {
            let threshold = match vote.threshold {
                Threshold::Majority => "a majority".to_owned(),
                Threshold::TwoThirds => "two thirds".to_owned(),
                Threshold::Unanimous => "all".to_owned(),
                Threshold::AtLeast(number) => number.to_string(),
            };
            let missing = if vote.gone_are_missing {
                format!("{} may be absent or skipped", vote.absences)
            } else {
                "no member that applies may be absent".to_owned()
            };
            format!("vote of {members}, {threshold} must be in favour, {missing}")
        }
    }
}

/// Returns the terms of a member that are not the defaults.
fn terms(node: &PlanNode) -> String {
    use gatehost::config::{Enforcement, Leniency};
    let mut words = Vec::new();
    if !node.enabled {
        words.push("disabled".to_owned());
    }
    if node.mode == Enforcement::Shadow {
        words.push("shadow".to_owned());
    }
    if let Some(tier) = node.tier {
        words.push(format!("tier {tier}"));
    }
    if !node.when.is_empty() {
        let when: Vec<String> = node.when.iter().map(ToString::to_string).collect();
        words.push(format!("when {}", when.join(", ")));
    }
    for (key, leniency) in [("on_error", node.on_error), ("on_abstain", node.on_abstain)] {
        match leniency {
            Leniency::Block => {}
            Leniency::Warn => words.push(format!("{key} = \"warn\"")),
            Leniency::Escalate => words.push(format!("{key} = \"escalate\"")),
        }
    }
    if words.is_empty() { String::new() } else { format!(" [{}]", words.join("; ")) }
}
