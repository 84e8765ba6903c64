//! `gate list`: lists the gates and checks of the configuration.

use crate::args::{Global, OutputFormat};
use crate::error::Error;
use crate::run::announce;
use crate::{Exit, terminal};
use clap::Args;
use gatehost::config::{Config, MemberConfig, MemberTarget, RuleConfig};
use gatehost::environment::Environment;
use gatehost::session::{self, Policy, Request};
use gatehost::text::{clean_line, write_json};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "`gate plan` shows the resolved configuration, `gate inspect` lists the bundled verifiers.")]
pub(crate) struct ListArgs {
    /// Use this configuration file instead of the nearest gate.toml
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

pub(crate) fn run(global: &Global, command: &ListArgs) -> Result<Exit, Error> {
    let mut request = Request::new(&global.directory, Environment::of_process());
    request.policy = command.config.clone().map_or(Policy::Nearest, Policy::File);
    let (config, policy) = session::configuration(&request)?;
    let mut out = terminal::stdout();
    match command.format {
        OutputFormat::Json => {
            let gates = config
                .gates
                .iter()
                .map(|(name, gate)| json!({ "name": name, "rule": gate.rule.word(), "members": members(&gate.rule) }));
            let checks = config.checks.values().map(|check| {
                json!({
                    "name": check.name,
                    "verifier": check.verifier,
                    "files": check.terms.files,
                    "exclude": check.terms.exclude,
                    "enabled": check.terms.enabled != Some(false),
                })
            });
            let (gates, checks): (Vec<_>, Vec<_>) = (gates.collect(), checks.collect());
            write_json(&mut out, &json!({ "version": 1, "gates": gates, "checks": checks }))?;
        }
        OutputFormat::Human => terminal::noted(&mut out, |out| human(out, &config))?,
    }
    announce(global, &policy, "is");
    Ok(Exit::Pass)
}

/// Prints gates and checks within 80 columns.
fn human(out: &mut impl Write, config: &Config) -> std::io::Result<()> {
    let width = config.gates.keys().chain(config.checks.keys()).map(|name| name.chars().count()).max().unwrap_or(0);
    writeln!(out, "gates")?;
    for (name, gate) in &config.gates {
        let text = format!("{} of {}", gate.rule.word(), members(&gate.rule).join(", "));
        terminal::wrapped(out, &format!("  {name:width$}  {}", clean_line(&text, 2_000)), width + 4)?;
    }
    writeln!(out, "checks")?;
    for check in config.checks.values() {
        let mut text = check.verifier.clone();
        if let Some(files) = &check.terms.files {
            text += &format!(" on {}", files.join(", "));
        }
        if check.terms.enabled == Some(false) {
            text += " (disabled)";
        }
        terminal::wrapped(out, &format!("  {:width$}  {}", check.name, clean_line(&text, 2_000)), width + 4)?;
    }
    Ok(())
}

/// Returns the names of the members of a rule.
fn members(rule: &RuleConfig) -> Vec<String> {
    let name = |member: &MemberConfig| match (&member.name, &member.target) {
        (Some(name), _) | (None, MemberTarget::Named(name)) => name.clone(),
        (None, MemberTarget::Inline(rule)) => format!("({} of {})", rule.word(), members(rule).join(", ")),
    };
    rule.members().iter().map(name).collect()
}
