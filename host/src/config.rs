//! Reads `gate.toml` strictly: either all of it is valid, or every problem is reported at once.
//!
//! Resolving the file (verifiers, defaults, numbers) is left to `plan`.

mod ad_hoc;
mod check;
mod command;
mod files;
mod gate;
mod grant;
mod hook;
mod looping;
mod model;
mod people;
mod problem;
mod read;
mod references;
mod settings_files;
mod structure;
mod tasks;
mod terms;
#[cfg(test)]
mod tests;
mod units;

pub use ad_hoc::{BadCommandLine, of_command, of_verifiers, words};
pub use check::CheckConfig;
pub use command::{Access, CommandConfig, FILES, SandboxLevel};
pub use files::{BadPattern, FileSet};
pub use gate::{
    Divergence, GateConfig, MAX_VOTERS, MAX_WEIGHT, MemberConfig, MemberTarget, RuleConfig, Threshold, VoteConfig,
};
pub use grant::{Grant, UnknownGrant};
pub use hook::HookConfig;
pub use looping::{LoopConfig, OnReviewLimit, OnSpecFinding};
pub use model::{Api, ModelConfig};
pub use people::Overrides;
pub use problem::{ConfigProblem, ConfigProblems, Position};
pub use terms::{Enforcement, Flaky, Inapplicable, Leniency, MemberTerms, PassIf, When};

pub(crate) use files::pattern;
pub(crate) use problem::{Positions, did_you_mean, nearest, one_of};
pub(crate) use units::{milliseconds, show_duration};

use crate::limits::StoredLimits;
use crate::retry::{EscalationPolicy, RetryPolicy};
use read::{Table, TomlSource, TomlValue};
use std::collections::BTreeMap;
use std::time::Duration;
use toml::de::{DeTable, DeValue};

/// The most bytes of a file that are read.
pub const MAX_BYTES: usize = 1 << 20;
/// How deeply gates may be nested.
pub const MAX_DEPTH: usize = 64;
/// The most members of a gate, including the members of its members.
pub const MAX_MEMBERS: usize = 1_000;
/// The default time limit of a gate. It is longer if one of the commands may take longer.
pub const DEADLINE: Duration = Duration::from_secs(30 * 60);
/// The longest time limit of a gate.
pub const MAX_DEADLINE: Duration = Duration::from_secs(2 * 60 * 60);
/// The time that a gate has in addition to its longest command.
const BESIDE_COMMANDS: Duration = Duration::from_secs(10 * 60);

/// A valid `gate.toml`.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Whether a pass may not depend on anything that only the author of the change vouches for.
    pub require_trusted: bool,
    /// The time limit of the whole gate.
    pub deadline: Duration,
    /// `[gate.*]`, at least one.
    pub gates: BTreeMap<String, GateConfig>,
    /// `[check.*]`. No check has the same name as a gate.
    pub checks: BTreeMap<String, CheckConfig>,
    /// `[command.*]`.
    pub commands: BTreeMap<String, CommandConfig>,
    /// `[model.*]`.
    pub models: BTreeMap<String, ModelConfig>,
    /// `[retry]`: how often a failure is retried.
    pub retry: RetryPolicy,
    /// `[escalation]`: when human review is needed.
    pub escalation: EscalationPolicy,
    /// `[overrides]`: who may let work through without a pass.
    pub overrides: Overrides,
    /// Patterns of protected files, such as tests: a change that touches one needs human review. Relative to gate.toml.
    pub protected: Vec<String>,
    /// `[progress] file`: where reviews are logged, relative to gate.toml.
    pub progress: Option<String>,
    /// `[limits]`: how much of the answers of commands and models is stored with a run.
    pub stored: StoredLimits,
    /// The files that file checks may match, whatever their own patterns; empty for all.
    pub files: Vec<String>,
    /// The files that no file check matches.
    pub exclude: Vec<String>,
    /// `[hook]`.
    pub hook: HookConfig,
    /// `[loop]`.
    pub looping: LoopConfig,
    /// `[plan] file`: the plan of tasks, relative to gate.toml.
    pub plan_file: Option<String>,
    /// `[evaluator]`: the command that evaluates the work in a loop.
    pub evaluator: Option<CommandConfig>,
    pub(crate) places: Positions,
}

/// Reads a configuration.
pub fn parse(bytes: &[u8]) -> Result<Config, ConfigProblems> {
    if bytes.len() > MAX_BYTES {
        let message = format!("expected at most {MAX_BYTES} bytes, found {}", bytes.len());
        return Err(ConfigProblem::new("", message).into());
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            let position = Some(TomlSource::new(valid).position(valid.len()));
            return Err(
                ConfigProblem { position, ..ConfigProblem::new("", "expected UTF-8, found other bytes") }.into()
            );
        }
    };
    let source = TomlSource::new(text);
    // Only the first error, because later errors mostly follow from it.
    let root = DeTable::parse(text).map_err(|error| {
        let position = error.span().map(|span| source.position(span.start));
        let message = format!("not valid TOML: {}", crate::text::clean_line(error.message(), 200));
        ConfigProblem { position, ..ConfigProblem::new("", message) }
    })?;
    let root = toml::Spanned::new(root.span(), DeValue::Table(root.into_inner()));
    let config = Table::root(&source, &root).map(read);
    let (mut problems, places) = source.into_notes();
    let Some(mut config) = config else { return Err(ConfigProblem::new("", "expected a table").into()) };
    config.places = places;
    problems.extend(references::problems(&config));
    problems.extend(structure::problems(&config));
    // A check that no gate uses often follows from a misspelt name.
    if problems.is_empty() {
        problems = references::unnamed(&config);
    }
    ConfigProblems::none_of(problems)?;
    Ok(config)
}

fn read(mut root: Table<'_>) -> Config {
    let deadline = root.get("deadline").and_then(|value| value.duration_up_to(MAX_DEADLINE));
    let gates = named(&mut root, "gate", gate::read);
    let commands = named(&mut root, "command", |_, table| command::read(table));
    let models = named(&mut root, "model", |_, table| model::read(table, &commands));
    let declared = check::DeclaredNames { commands: &commands, models: &models };
    let checks = named(&mut root, "check", |name, table| check::read(name, table, &declared));
    let require_trusted = root.get("require_trusted").and_then(|value| value.flag()).unwrap_or(false);
    let looping = root.get("loop").and_then(|value| value.table("a table `[loop]`")).map(looping::read);
    let looping = looping.unwrap_or_default();
    let plan_file = root.get("plan").and_then(|value| value.table("a table `[plan]`")).and_then(tasks::plan);
    let evaluator = root.get("evaluator").and_then(|value| value.table("a table `[evaluator]`")).map(tasks::evaluator);
    let longest = commands.values().map(|command| command.timeout + BESIDE_COMMANDS).max();
    let deadline = deadline.unwrap_or_else(|| longest.map_or(DEADLINE, |longest| longest.max(DEADLINE)));
    let retry = one(&mut root, "retry", people::retry);
    let escalation = one(&mut root, "escalation", people::escalation);
    let overrides = one(&mut root, "overrides", people::overrides);
    let files = root.get("files").and_then(|value| value.patterns(false)).unwrap_or_default();
    let exclude = root.get("exclude").and_then(|value| value.patterns(true)).unwrap_or_default();
    let protected = root.get("protected").and_then(|value| value.patterns(true)).unwrap_or_default();
    let progress = one(&mut root, "progress", people::progress);
    let stored = one(&mut root, "limits", people::stored);
    let hook = root.get("hook").and_then(|value| value.table("a table `[hook]`"));
    let hook = hook.map(|table| hook::read(table, &gates)).unwrap_or_default();
    let places = Positions::default();
    let config = Config {
        deadline,
        require_trusted,
        gates,
        checks,
        commands,
        models,
        retry,
        escalation,
        overrides,
        protected,
        progress,
        stored,
        files,
        exclude,
        hook,
        looping,
        plan_file,
        evaluator,
        places,
    };
    if config.gates.is_empty() && root.get("gate").is_none_or(|gates| gates.is_empty_table()) {
        root.here
            .problem_with("expected at least one gate", Some("add `[gate.NAME]` with `all = [\"CHECK\"]`".to_owned()));
    }
    root.finish();
    config
}

/// Returns the table `[KEY]`, or the default if there is none.
fn one<'s, T: Default>(root: &mut Table<'s>, key: &'static str, read: impl Fn(Table<'s>) -> T) -> T {
    root.get(key).and_then(|value| value.table(&format!("a table `[{key}]`"))).map(read).unwrap_or_default()
}

/// Returns the tables `[KIND.NAME]` of a kind.
fn named<'s, T>(root: &mut Table<'s>, kind: &'static str, read: impl Fn(&str, Table<'s>) -> T) -> BTreeMap<String, T> {
    let tables = root.get(kind).and_then(|value| value.table(&format!("tables `[{kind}.NAME]`")));
    let read_entry = |(name, value): (&'s str, TomlValue<'s>)| {
        if !units::is_name(name) {
            let shown = crate::text::clean_line(name, 80);
            value.problem(format!("expected a name of at most 64 letters, digits, `-` and `_`, found `{shown}`"));
        }
        Some((name.to_owned(), read(name, value.table(&format!("a table `[{kind}.{name}]`"))?)))
    };
    tables.map(|tables| tables.entries().into_iter().filter_map(read_entry).collect()).unwrap_or_default()
}
