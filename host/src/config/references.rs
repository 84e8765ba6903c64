//! Checks the references between entries: names must exist, and time limits must fit.

use super::command::COMMAND_TIMEOUT;
use super::model::MODEL_TIMEOUT;
use super::{
    CheckConfig, Config, ConfigProblem, Grant, MAX_DEADLINE, MemberConfig, MemberTarget, MemberTerms, RuleConfig,
    nearest, show_duration,
};
use std::collections::BTreeSet;
use std::time::Duration;

/// The default and the longest time limit of a check without commands and models, over all its files. One call has less time
/// (`Limits::time`).
const PLAIN_TIMEOUT: (Duration, Duration) = (Duration::from_secs(2 * 60), Duration::from_secs(5 * 60));

/// The time that a verifier has in addition to its commands or models, so that their own limit is reached first and can be
/// named.
const GRACE: Duration = Duration::from_secs(10);

impl Config {
    /// Returns the default and the longest time limit of a check. The default is that of the slowest command or model that
    /// the check is granted.
    pub(crate) fn timeouts(&self, check: &CheckConfig) -> (Duration, Duration) {
        let of = |grant: &Grant| match grant {
            Grant::Workspace => None,
            Grant::Command(name) => Some((self.commands.get(name)?.timeout + GRACE, COMMAND_TIMEOUT.1)),
            Grant::Model(name) => {
                Some(((self.models.get(name)?.timeout + GRACE).min(MODEL_TIMEOUT.1), MODEL_TIMEOUT.1))
            }
        };
        let longest = |a: (Duration, Duration), b: (Duration, Duration)| (a.0.max(b.0), a.1.max(b.1));
        check.grants.iter().filter_map(of).reduce(longest).unwrap_or(PLAIN_TIMEOUT)
    }
}

/// Returns all references that do not hold.
pub(super) fn problems(config: &Config) -> Vec<ConfigProblem> {
    let mut review = Review { config, problems: Vec::new() };
    for (name, gate) in &config.gates {
        review.timeout(&format!("gate.{name}"), &gate.terms, MAX_DEADLINE);
        review.members(&gate.rule);
        if config.checks.contains_key(name) {
            let message = format!("a gate has the same name `{name}`");
            review.note(
                &format!("check.{name}"),
                message,
                Some("gates and checks share one namespace; rename one of them".to_owned()),
            );
        }
    }
    for check in config.checks.values() {
        review.timeout(&format!("check.{}", check.name), &check.terms, config.timeouts(check).1);
    }
    if let Some(name) = config.escalation.notify.as_ref().filter(|name| !config.commands.contains_key(*name)) {
        let message = format!("expected the name of a command, found `{}`", crate::text::clean_line(name, 60));
        let hint = nearest(name, config.commands.keys().map(String::as_str))
            .or_else(|| Some("declare it: `[command.NAME]` with `run = [\"PROGRAM\"]`".to_owned()));
        review.note("escalation.notify", message, hint);
    }
    review.problems
}

/// Returns the checks that no gate uses.
///
/// Gates that no other gate uses are fine, because they can be run by name.
pub(super) fn unnamed(config: &Config) -> Vec<ConfigProblem> {
    let named: BTreeSet<&str> = config.gates.values().flat_map(|gate| gate.rule.names()).collect();
    let forgotten = |check: &&CheckConfig| !named.contains(check.name.as_str()) && check.terms.enabled != Some(false);
    let problem = |check: &CheckConfig| {
        let name = &check.name;
        let hint = format!("add it to a gate, such as `all = [\"{name}\"]`, or disable it: `enabled = false`");
        config.places.problem(&format!("check.{name}"), "no gate uses this check").hint(hint)
    };
    config.checks.values().filter(forgotten).map(problem).collect()
}

struct Review<'c> {
    config: &'c Config,
    problems: Vec<ConfigProblem>,
}

impl Review<'_> {
    fn note(&mut self, place: &str, message: impl AsRef<str>, hint: Option<String>) {
        self.problems.push(self.config.places.problem(place, message).hint(hint));
    }

    fn timeout(&mut self, place: &str, terms: &MemberTerms, max: Duration) {
        if let Some(timeout) = terms.timeout.filter(|timeout| *timeout > max) {
            let message = format!("expected at most `{}`, found `{}`", show_duration(max), show_duration(timeout));
            self.note(&format!("{place}.timeout"), message, None);
        }
    }

    fn members(&mut self, rule: &RuleConfig) {
        for member in rule.members() {
            let max = match &member.target {
                MemberTarget::Named(name) => match self.config.checks.get(name) {
                    Some(check) => self.config.timeouts(check).1,
                    None => {
                        self.refuse_unknown(member, name);
                        MAX_DEADLINE
                    }
                },
                MemberTarget::Inline(rule) => {
                    self.members(rule);
                    MAX_DEADLINE
                }
            };
            self.timeout(&member.place, &member.terms, max);
        }
    }

    fn refuse_unknown(&mut self, member: &MemberConfig, name: &str) {
        if !self.config.gates.contains_key(name) {
            let names = self.config.gates.keys().chain(self.config.checks.keys()).map(String::as_str);
            let shown = crate::text::clean_line(name, 60);
            let message = format!("expected the name of a gate or a check, found `{shown}`");
            self.note(&member.place, message, nearest(name, names));
        }
    }
}
