//! `[check.*]`: one configured use of a verifier.

use super::command::CommandConfig;
use super::grant::Grant;
use super::model::ModelConfig;
use super::problem::nearest;
use super::read::{Table, TomlValue};
use super::terms::MemberTerms;
use crate::limits::Limits;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A check.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckConfig {
    /// Its name.
    pub name: String,
    /// The name of a bundled verifier or the path of a component, optionally with `@sha256:HEX`.
    pub verifier: String,
    /// The settings: a JSON object that is not yet validated against the schema of the verifier.
    pub settings: serde_json::Value,
    /// Settings that are read from files, by name; see [`Config::read_settings_files`](super::Config::read_settings_files).
    pub settings_files: BTreeMap<String, String>,
    /// The grants of the check.
    pub grants: BTreeSet<Grant>,
    /// The limits of one call; the time limit is [`CheckConfig::time`].
    pub limits: Limits,
    /// The time limit of one call, if it is set.
    pub time: Option<Duration>,
    /// Whether the commands of the check must fail on the base commit, to prove that the change makes them succeed.
    pub red_green: bool,
    /// When and how it runs.
    pub terms: MemberTerms,
}

/// The commands and models that a check can be granted.
pub(super) struct DeclaredNames<'d> {
    pub(super) commands: &'d BTreeMap<String, CommandConfig>,
    pub(super) models: &'d BTreeMap<String, ModelConfig>,
}

pub(super) fn read(name: &str, mut table: Table<'_>, declared: &DeclaredNames<'_>) -> CheckConfig {
    let verifier = table.need("verifier", "the name of a bundled verifier, or the path of a component");
    let settings = table.get("settings").and_then(|value| value.table("a table")?.here.json());
    let settings_files = super::settings_files::read(&mut table, settings.as_ref());
    let grants = table.get("grants").and_then(|value| {
        let list = value.list_or_empty("a list of grants such as `[\"workspace\"]`")?;
        Some(list.iter().filter_map(|value| read_grant(value, declared)).collect())
    });
    let grants: BTreeSet<Grant> = grants.unwrap_or_default();
    let red_green = table.get("red_green").is_some_and(|value| {
        let wanted = value.flag().unwrap_or(false);
        if wanted && !grants.iter().any(|grant| matches!(grant, Grant::Command(_))) {
            value.problem_with(
                "expected a check with a granted command, which `red_green` runs on the base commit",
                "grant one: `grants = [\"command:NAME\"]`".to_owned(),
            );
        }
        wanted
    });
    let mut limits = Limits::default();
    let limit_table = table.get("limits").and_then(|value| value.table("a table such as `{ memory = \"64MiB\" }`"));
    let time = limit_table.and_then(|table| read_limits(table, &mut limits));
    let terms = MemberTerms::read(&mut table);
    super::gate::refuse_weight(&mut table, name);
    table.finish();
    CheckConfig {
        name: name.to_owned(),
        verifier: verifier.and_then(|value| read_verifier(&value)).unwrap_or_default(),
        settings: settings.unwrap_or_else(|| serde_json::Value::Object(serde_json::Map::new())),
        settings_files,
        grants,
        limits,
        time,
        red_green,
        terms,
    }
}

fn read_verifier(value: &TomlValue<'_>) -> Option<String> {
    let text = value.text("the name of a bundled verifier, or the path of a component")?;
    // The name is shown in reports.
    if text.contains(char::is_control) {
        return value.expected("a name or a path without control characters");
    }
    // A path may contain `@` too; a digest has no `/` and no `.`.
    let Some((_, digest)) = text.rsplit_once('@').filter(|(_, end)| !end.contains(['/', '.'])) else {
        return Some(text);
    };
    let hex = |hex: &&str| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    match digest.strip_prefix("sha256:").filter(hex) {
        Some(_) => Some(text),
        None => value.expected("a verifier followed by `@sha256:` and 64 hexadecimal digits"),
    }
}

fn read_grant(value: &TomlValue<'_>, declared: &DeclaredNames<'_>) -> Option<Grant> {
    let Some(word) = value.as_str() else { return value.expected("a grant such as `workspace`") };
    let grant = match word.parse::<Grant>() {
        Ok(grant) => grant,
        Err(error) => {
            value.problem(error.to_string());
            return None;
        }
    };
    match &grant {
        Grant::Workspace => {}
        Grant::Command(name) => must_be_declared(value, "command", name, declared.commands),
        Grant::Model(name) => must_be_declared(value, "model", name, declared.models),
    }
    Some(grant)
}

/// Reports a name that has no `[KIND.NAME]`.
pub(super) fn must_be_declared<T>(value: &TomlValue<'_>, kind: &str, name: &str, declared: &BTreeMap<String, T>) {
    if !declared.contains_key(name) {
        let shown = crate::text::clean_line(name, 60);
        let near = nearest(name, declared.keys().map(String::as_str));
        let hint = near.unwrap_or_else(|| format!("declare it: `[{kind}.{shown}]`"));
        value.problem_with(format!("expected a declared {kind}, found `{shown}`"), hint);
    }
}

/// Applies a `limits` table, and returns the time limit if it is set.
fn read_limits(mut table: Table<'_>, limits: &mut Limits) -> Option<Duration> {
    const MAX_TIME: Duration = Duration::from_secs(10 * 60);
    let time = table.get("time").and_then(|value| value.duration_up_to(MAX_TIME));
    let sizes = [("memory", &mut limits.memory), ("transfer", &mut limits.transfer), ("log", &mut limits.log)];
    for (key, limit) in sizes {
        let size = table.get(key).and_then(|value| value.size());
        *limit = size.and_then(|size| usize::try_from(size).ok()).unwrap_or(*limit);
    }
    for (key, limit) in [("random", &mut limits.random), ("input", &mut limits.input)] {
        *limit = table.get(key).and_then(|value| value.size()).unwrap_or(*limit);
    }
    let counts = [
        ("table_elements", &mut limits.table_elements),
        ("handles", &mut limits.handles),
        ("findings", &mut limits.findings),
    ];
    for (key, limit) in counts {
        let count = table.get(key).and_then(|value| value.small(1..=10_000_000));
        *limit = count.and_then(|count| usize::try_from(count).ok()).unwrap_or(*limit);
    }
    let hostcalls = table.get("hostcalls").and_then(|value| value.number(1..=1_000_000_000));
    limits.hostcalls = hostcalls.unwrap_or(limits.hostcalls);
    table.finish();
    time
}
