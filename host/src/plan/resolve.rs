//! Resolves a configuration to a plan: the gate, its terms and its verifiers.

use super::{
    Check, FORMAT, Gate, GateRule, Plan, PlanNode, PlanNodeKind, ResolvedVerifier, Resolver, Shape, SubmissionParts,
    voices,
};
use crate::config::{
    self, Config, ConfigProblem, ConfigProblems, Enforcement, Flaky, Grant, Inapplicable, MemberTarget, MemberTerms,
    nearest, one_of, pattern,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Resolves the gate of this name. Without a name: the only gate, the gate named `default`, or the only gate that no other
/// gate uses.
pub fn resolve(config: &Config, gate: Option<&str>, resolver: &dyn Resolver) -> Result<Plan, ConfigProblems> {
    let (name, gate) = choose(config, gate)?;
    let place = format!("gate.{name}");
    let mut resolving = Resolving { config, resolver, verifiers: BTreeMap::new(), problems: Vec::new() };
    if gate.terms.mode == Some(Enforcement::Shadow) {
        let problem = config.places.problem(&format!("{place}.mode"), "a gate in shadow mode cannot be run by itself");
        resolving
            .problems
            .push(problem.hint("set `mode` on its members, or make it a member of another gate".to_owned()));
    }
    let root = resolving.gate(name, &place, &gate.rule, &gate.terms, 1, Inherited::default());
    ConfigProblems::none_of(resolving.problems)?;
    // If there is no problem, there is a root.
    let root = root.ok_or_else(|| ConfigProblem::new(place, "the gate cannot be resolved"))?;
    let mut plan = Plan {
        format: FORMAT,
        deadline: config.deadline,
        require_trusted: config.require_trusted,
        files: config.files.clone(),
        exclude: config.exclude.clone(),
        root,
        commands: BTreeMap::new(),
        models: BTreeMap::new(),
    };
    let grants: BTreeSet<Grant> = plan.checks().flat_map(|check| check.grants.iter().cloned()).collect();
    for grant in &grants {
        if let Grant::Model(name) = grant
            && let Some(model) = config.models.get(name)
        {
            plan.models.insert(name.clone(), model.clone());
        }
    }
    let of_models = plan.models.values().filter_map(|model| model.command.clone());
    let granted = grants.iter().filter_map(|grant| match grant {
        Grant::Command(name) => Some(name.clone()),
        Grant::Workspace | Grant::Model(_) => None,
    });
    let commands = of_models.chain(granted).filter_map(|name| Some((config.commands.get(&name)?.clone(), name)));
    plan.commands = commands.map(|(command, name)| (name, command)).collect();
    Ok(plan)
}

/// Returns the name of the gate that is run; `None` if there is no such gate.
pub(crate) fn gate_of<'c>(config: &'c Config, gate: Option<&str>) -> Option<&'c str> {
    choose(config, gate).ok().map(|(name, _)| name)
}

/// Returns the checks that this gate uses; none if there is no such gate.
pub(crate) fn checks_of<'c>(config: &'c Config, gate: Option<&str>) -> Vec<&'c config::CheckConfig> {
    let mut names = BTreeSet::new();
    let mut open: Vec<&str> = gate_of(config, gate).into_iter().collect();
    while let Some(name) = open.pop() {
        if names.insert(name) {
            open.extend(config.gates.get(name).iter().flat_map(|gate| gate.rule.names()));
        }
    }
    names.into_iter().filter_map(|name| config.checks.get(name)).collect()
}

fn choose<'c>(config: &'c Config, name: Option<&str>) -> Result<(&'c str, &'c config::GateConfig), ConfigProblem> {
    let names = || config.gates.keys().map(String::as_str);
    let Some(name) = name else {
        let inner: BTreeSet<&str> = config.gates.values().flat_map(|gate| gate.rule.names()).collect();
        let outer: Vec<&str> = names().filter(|name| !inner.contains(name)).collect();
        let gate = match outer.as_slice() {
            _ if config.gates.len() == 1 => config.gates.iter().next(),
            _ if config.gates.contains_key("default") => config.gates.get_key_value("default"),
            [only] => config.gates.get_key_value(*only),
            _ => None,
        };
        return gate.map(|(name, gate)| (name.as_str(), gate)).ok_or_else(|| {
            let names: Vec<&str> = names().collect();
            ConfigProblem::new("", "name a gate: there are several").hint(format!("name {}", one_of(&names)))
        });
    };
    config.gates.get_key_value(name).map(|(name, gate)| (name.as_str(), gate)).ok_or_else(|| {
        let message = format!("expected the name of a gate, found `{}`", crate::text::clean_line(name, 60));
        let hint = match config.checks.get(name) {
            Some(_) => Some(format!("`{name}` is a check; run it by a gate with `all = [\"{name}\"]`")),
            None => nearest(name, names()),
        };
        ConfigProblem::new("", message).hint(hint)
    })
}

/// Terms of a gate that its checks inherit.
#[derive(Clone, Copy, Default)]
struct Inherited {
    attempts: Option<u32>,
    flaky: Option<Flaky>,
    min_confidence: Option<f64>,
    escalate_below: Option<f64>,
    on_not_applicable: Option<Inapplicable>,
}

impl Inherited {
    fn within(self, terms: &MemberTerms) -> Self {
        Self {
            attempts: terms.attempts.or(self.attempts),
            flaky: terms.flaky.or(self.flaky),
            min_confidence: terms.min_confidence.or(self.min_confidence),
            escalate_below: terms.escalate_below.or(self.escalate_below),
            on_not_applicable: terms.on_not_applicable.or(self.on_not_applicable),
        }
    }
}

struct Resolving<'c> {
    config: &'c Config,
    resolver: &'c dyn Resolver,
    /// The answers of the resolver; `None` if it refused a check.
    verifiers: BTreeMap<String, Option<ResolvedVerifier>>,
    problems: Vec<ConfigProblem>,
}

impl Resolving<'_> {
    fn gate(
        &mut self,
        name: &str,
        place: &str,
        rule: &config::RuleConfig,
        terms: &MemberTerms,
        weight: u32,
        outer: Inherited,
    ) -> Option<PlanNode> {
        let inherited = outer.within(terms);
        let mut members = Vec::new();
        let mut complete = true;
        for (index, member) in rule.members().iter().enumerate() {
            let name = match (&member.name, &member.target) {
                (Some(name), _) | (None, MemberTarget::Named(name)) => name.clone(),
                (None, MemberTarget::Inline(rule)) => format!("{}#{}", rule.word(), index + 1),
            };
            let names = match rule {
                config::RuleConfig::Vote(config::VoteConfig { voters: Some(voters), .. }) => {
                    (1..=*voters).map(|number| format!("{name}#{number}")).collect()
                }
                _ => vec![name],
            };
            for name in names {
                match self.member(&name, member, inherited) {
                    Some(node) => members.push(node),
                    None => complete = false,
                }
            }
        }
        if !complete {
            return None;
        }
        let rule = match rule {
            config::RuleConfig::Tiers(_) => GateRule::Tiers,
            config::RuleConfig::All(_) => GateRule::All,
            config::RuleConfig::Any(_) => GateRule::Any,
            config::RuleConfig::Not(_) => GateRule::Not,
            config::RuleConfig::Vote(vote) => match voices::count(vote, &members, &self.config.models) {
                Ok(vote) => GateRule::Vote(vote),
                Err(problems) => {
                    let at =
                        |(key, message): (&str, String)| self.config.places.problem(&format!("{place}.{key}"), message);
                    self.problems.extend(problems.into_iter().map(at));
                    return None;
                }
            },
        };
        let files = terms.files.clone().unwrap_or_default();
        let exclude = terms.exclude.clone().unwrap_or_default();
        let gate = Gate { rule, files, exclude, timeout: terms.timeout, members };
        Some(node(name, terms, weight, PlanNodeKind::Gate(gate)))
    }

    fn member(&mut self, name: &str, member: &config::MemberConfig, inherited: Inherited) -> Option<PlanNode> {
        let config = self.config;
        let target = match &member.target {
            MemberTarget::Inline(rule) => {
                return self.gate(name, &member.place, rule, &member.terms, member.weight, inherited);
            }
            MemberTarget::Named(target) => target,
        };
        if let Some(check) = config.checks.get(target) {
            let terms = member.terms.or(&check.terms);
            let check = self.check(name, member, check, &terms, inherited)?;
            return Some(node(name, &terms, member.weight, PlanNodeKind::Check(check)));
        }
        let gate = config.gates.get(target)?;
        let terms = member.terms.or(&gate.terms);
        self.gate(name, &format!("gate.{target}"), &gate.rule, &terms, member.weight, inherited)
    }

    fn check(
        &mut self,
        name: &str,
        member: &config::MemberConfig,
        check: &config::CheckConfig,
        terms: &MemberTerms,
        inherited: Inherited,
    ) -> Option<Check> {
        let verifier = self.verifier(check)?;
        let for_files = || if terms.files.is_some() { Shape::File } else { Shape::Submission };
        let shape = verifier.shape.unwrap_or_else(for_files);
        let files = match (&terms.files, shape) {
            (Some(files), _) => files.clone(),
            (None, Shape::File) => verifier.files,
            (None, Shape::Submission) => Vec::new(),
        };
        if files.is_empty() && shape == Shape::File {
            let message = format!("expected `files`: the verifier `{}` has no default patterns", check.verifier);
            self.problems.push(self.config.places.problem(&format!("check.{}", check.name), message));
            return None;
        }
        let runs_commands = check.grants.iter().any(|grant| matches!(grant, Grant::Command(_)));
        if shape == Shape::Submission && !runs_commands {
            self.refuse_files(member, check);
        }
        // With `red_green`, every command runs a second time, on the base commit.
        let times = if check.red_green { 2 } else { 1 };
        let timeout = terms.timeout.unwrap_or(self.config.timeouts(check).0 * times);
        let mut limits = check.limits.clone();
        // A call that waits for a command or a model may take as long as the check.
        let waits = check.grants.iter().any(|grant| *grant != Grant::Workspace);
        limits.time = check.time.unwrap_or(if waits { timeout } else { limits.time.min(timeout) });
        let inherited = inherited.within(terms);
        Some(Check {
            member: name.to_owned(),
            check: check.name.clone(),
            verifier: portable(&check.verifier),
            digest: verifier.digest,
            shape,
            settings: check.settings.clone(),
            grants: check.grants.clone(),
            limits,
            files,
            exclude: terms.exclude.clone().unwrap_or_default(),
            timeout,
            attempts: inherited.attempts.unwrap_or(1),
            flaky: inherited.flaky,
            min_confidence: inherited.min_confidence,
            escalate_below: inherited.escalate_below,
            on_not_applicable: inherited.on_not_applicable.unwrap_or_default(),
            working_tree: verifier.working_tree,
            red_green: check.red_green,
            reads: if shape == Shape::Submission { verifier.reads } else { SubmissionParts::NONE },
        })
    }

    /// Reports file patterns on a check that judges no files, where they would have no effect.
    fn refuse_files(&mut self, member: &config::MemberConfig, check: &config::CheckConfig) {
        let of_check = format!("check.{}", check.name);
        for (place, terms) in [(&member.place, &member.terms), (&of_check, &check.terms)] {
            for (key, given) in [("files", &terms.files), ("exclude", &terms.exclude)] {
                if given.is_some() {
                    let message = format!(
                        "`{key}` is not allowed: the verifier `{}` checks the submission, not files",
                        check.verifier
                    );
                    let hint = format!(
                        "on a gate, it decides whether the gate runs: `{{ all = [\"{}\"], {key} = […] }}`",
                        check.name
                    );
                    self.problems.push(self.config.places.problem(&format!("{place}.{key}"), message).hint(hint));
                }
            }
        }
    }

    /// Asks the resolver, once for each check.
    fn verifier(&mut self, check: &config::CheckConfig) -> Option<ResolvedVerifier> {
        if let Some(known) = self.verifiers.get(&check.name) {
            return known.clone();
        }
        let problem =
            |at: &str, message: String| self.config.places.problem(&format!("check.{}.{at}", check.name), message);
        let resolved = match self.resolver.verifier(check) {
            Ok(resolved) => match resolved.files.iter().find_map(|text| pattern(text).err()) {
                None => Some(resolved),
                Some(error) => {
                    self.problems.push(problem("verifier", error.to_string()));
                    None
                }
            },
            Err(refusals) => {
                let refused =
                    refusals.into_iter().map(|refusal| problem(&refusal.at, refusal.message).hint(refusal.hint));
                self.problems.extend(refused);
                None
            }
        };
        self.verifiers.insert(check.name.clone(), resolved.clone());
        resolved
    }
}

fn node(name: &str, terms: &MemberTerms, weight: u32, what: PlanNodeKind) -> PlanNode {
    PlanNode {
        name: name.to_owned(),
        enabled: terms.enabled.unwrap_or(true),
        mode: terms.mode.unwrap_or_default(),
        when: terms.when.clone().unwrap_or_default(),
        tier: terms.tier,
        on_error: terms.on_error.unwrap_or_default(),
        on_abstain: terms.on_abstain.unwrap_or_default(),
        on_nothing: terms.on_nothing.unwrap_or_default(),
        weight,
        what,
    }
}

/// Returns the name of the verifier without the parts that depend on this machine.
fn portable(verifier: &str) -> String {
    let path = Path::new(verifier);
    match path.file_name().and_then(|name| name.to_str()) {
        Some(name) if path.is_absolute() => name.to_owned(),
        _ => verifier.to_owned(),
    }
}
