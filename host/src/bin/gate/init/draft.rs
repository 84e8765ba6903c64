//! The gate.toml that `gate init` writes: checks, exclusions with their reasons, and commands for tests.

use super::tools::Tests;
use crate::terminal::count;
use gatehost::config::FileSet;
use gatehost::runtime::BUNDLED;
use gatehost::settings;
use gatehost::text::{clean_line, toml_string};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The gate for every commit.
pub(super) const DEFAULT: &str = "default";
/// The gate before a push, which may take longer.
pub(super) const PUSH: &str = "push";
/// How long tests may take, as gate.toml has it.
const TIMEOUT: &str = "30m";

/// The most patterns of a check that are shown.
const MOST_PATTERNS: usize = 3;

/// The file being written.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) checks: Vec<DraftCheck>,
    /// Patterns of files that no check matches, with the reasons.
    pub(super) exclude: BTreeMap<String, String>,
    pub(super) tests: Vec<Tests>,
    /// The tests that were left out, with the reasons.
    pub(super) aside: Vec<(Tests, String)>,
}

/// A bundled verifier and its files.
#[derive(Clone, Debug)]
pub(super) struct DraftCheck {
    pub(super) name: &'static str,
    summary: String,
    /// Why the check is included.
    pub(super) reason: String,
    /// Patterns of files that it does not match, with the reasons.
    pub(super) exclude: BTreeMap<String, String>,
}

impl Draft {
    /// Returns a check for every bundled verifier that matches a file and needs no settings.
    pub(super) fn new(paths: &[&str], tests: Vec<Tests>) -> Self {
        let exclude = super::places::not_ours(paths);
        let patterns: Vec<String> = exclude.keys().cloned().collect();
        let mut checks = Vec::new();
        for bundled in BUNDLED {
            let about = bundled.description();
            let Ok(files) = FileSet::new(&about.files, &patterns) else { continue };
            let matching = paths.iter().filter(|path| files.contains(path)).count();
            // A verifier that needs settings cannot be configured for everybody.
            let needs_settings = settings::validate(&about.settings_schema, &Value::Object(Map::new())).is_err();
            // A verifier that many existing files would fail is left for people to add.
            let is_taste = bundled.name == "hygiene";
            if about.files.is_empty() || matching == 0 || needs_settings || is_taste {
                continue;
            }
            let verb = if matching == 1 { "matches" } else { "match" };
            // The first patterns are enough: some verifiers have dozens.
            let more = if about.files.len() > MOST_PATTERNS { " …" } else { "" };
            let patterns = about.files.iter().take(MOST_PATTERNS).cloned().collect::<Vec<_>>().join(", ");
            let reason = format!("{} {verb} {patterns}{more}", count(matching, "file"));
            let exclude = BTreeMap::new();
            checks.push(DraftCheck { name: bundled.name, summary: about.summary.clone(), reason, exclude });
        }
        Self { checks, exclude, tests, aside: Vec::new() }
    }

    /// Returns the text of the file. While it is tried, tests have less time.
    pub(super) fn text(&self, timeout: Option<&str>) -> String {
        let mut text = String::from(
            "# The gate of this repository. `gate plan` shows what it means, and `gate schema gate` prints all keys.\n",
        );
        if !self.exclude.is_empty() {
            let _ = write!(text, "\n# No check matches these files.\n{}", excludes(&self.exclude));
        }
        let mut names: Vec<&str> = self.checks.iter().map(|check| check.name).collect();
        if names.is_empty() {
            names.push("completion-signal");
        }
        let _ = write!(text, "\n# For every commit: `gate run`.\n[gate.{DEFAULT}]\nall = {names:?}\n");
        if !self.tests.is_empty() {
            let tests: Vec<&str> =
                std::iter::once(DEFAULT).chain(self.tests.iter().map(|tests| tests.name.as_str())).collect();
            let _ = write!(
                text,
                "\n# Before a push, since tests take longer: `gate run {PUSH}`.\n[gate.{PUSH}]\ntiers = {tests:?}\n"
            );
            let _ = write!(text, "\n[hook]\npre_commit = {DEFAULT:?}\npre_push = {PUSH:?}\n");
        }
        for check in &self.checks {
            let _ = write!(text, "\n# {}\n[check.{}]\nverifier = {:?}\n", check.summary, check.name, check.name);
            if !check.exclude.is_empty() {
                text.push_str(&excludes(&check.exclude));
            }
        }
        if self.checks.is_empty() {
            text.push_str(
                "\n# The author of the work ends the claim with a line `TASK_COMPLETE` (`gate run --claim FILE`).\n",
            );
            text.push_str("[check.completion-signal]\nverifier = \"completion-signal\"\n");
        }
        for tests in &self.tests {
            text.push_str("\n# The tests pass. `host/docs/commands.md` says what they may see and do.\n");
            text.push_str(&of_tests(tests, timeout.unwrap_or(TIMEOUT)));
        }
        for (tests, why) in &self.aside {
            let _ = write!(text, "\n# Left out for now: {why}. Then add \"{}\" to a gate:\n", tests.name);
            for line in of_tests(tests, TIMEOUT).lines() {
                let _ = writeln!(text, "{}", format!("# {line}").trim_end());
            }
        }
        text
    }
}

fn of_tests(tests: &Tests, timeout: &str) -> String {
    let name = &tests.name;
    let verifier = if tests.report { "test-report" } else { "command" };
    let mut text = format!(
        "[check.{name}]\nverifier = {verifier:?}\ngrants = [\"command:{name}\"]\n\n[command.{name}]\nrun = {:?}\ntimeout = {timeout:?}\n",
        tests.run
    );
    if !tests.write.is_empty() {
        let _ = writeln!(text, "write = {:?}", tests.write);
    }
    if let Some(why) = tests.read_write {
        let _ = writeln!(text, "workspace = \"read-write\" # {why}");
    }
    if tests.network {
        text.push_str("network = true\n");
    }
    text
}

fn excludes(patterns: &BTreeMap<String, String>) -> String {
    let mut text = String::from("exclude = [\n");
    for (pattern, why) in patterns {
        let _ = writeln!(text, "    {}, # {}", toml_string(pattern), clean_line(why, 150));
    }
    text + "]\n"
}
