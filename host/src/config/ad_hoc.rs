//! A configuration that nobody wrote: some verifiers, all of which must pass.

use super::problem::Places;
use super::terms::Terms;
use super::{Check, Config, DEADLINE, Gate, Grant, Hook, Member, Overrides, Rule, Target};
use crate::limits::Limits;
use crate::retry::{EscalationPolicy, RetryPolicy};
use std::collections::BTreeMap;
use std::path::Path;

/// A gate of these verifiers, all with the same settings and grants. That they exist, and that settings and grants
/// suit them, is for the plan to find out.
pub fn of_verifiers(verifiers: &[String], settings: &serde_json::Value, grants: &[Grant]) -> Config {
    let mut checks = BTreeMap::new();
    let mut members = Vec::new();
    for verifier in verifiers {
        let name = unused_name(verifier, &checks);
        let check = Check {
            name: name.clone(),
            verifier: verifier.clone(),
            settings: settings.clone(),
            settings_files: BTreeMap::new(),
            grants: grants.iter().cloned().collect(),
            limits: Limits::default(),
            time: None,
            terms: Terms::default(),
        };
        checks.insert(name.clone(), check);
        let place = format!("gate.all[{}]", members.len());
        members.push(Member { place, name: None, target: Target::Named(name), weight: 1, terms: Terms::default() });
    }
    let gate = Gate { rule: Rule::All(members), terms: Terms::default() };
    Config {
        deadline: DEADLINE,
        require_trusted: false,
        gates: BTreeMap::from([("command-line".to_owned(), gate)]),
        checks,
        commands: BTreeMap::new(),
        models: BTreeMap::new(),
        retry: RetryPolicy::default(),
        escalation: EscalationPolicy::default(),
        overrides: Overrides::default(),
        hook: Hook::default(),
        places: Places::default(),
    }
}

impl Config {
    /// The same under another name, for a configuration of one gate.
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.gates = self.gates.into_values().map(|gate| (name.to_owned(), gate)).collect();
        self
    }
}

/// The name of the file without its ending; with a number where that is taken.
fn unused_name(verifier: &str, taken: &BTreeMap<String, Check>) -> String {
    let path = verifier.split("@sha256:").next().unwrap_or(verifier);
    let stem = Path::new(path).file_stem().and_then(|stem| stem.to_str()).unwrap_or("verifier");
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let name: String = stem.chars().map(plain).take(50).collect();
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains_key(name)).unwrap_or(name)
}
