//! Checks that gates form no cycle and have a reasonable size, before they are walked.

use super::{Config, ConfigProblem, GateConfig, MAX_DEPTH, MAX_MEMBERS, MemberConfig, MemberTarget, RuleConfig};
use std::collections::{BTreeMap, BTreeSet};

/// Reports cycles, and gates that are nested too deeply or have too many members.
///
/// A gate is measured after all gates in it. Gates that can never be measured are in a cycle or contain one. Not recursive,
/// because a file can chain many thousands of gates.
pub(super) fn problems(config: &Config) -> Vec<ConfigProblem> {
    let inner: Inner<'_> =
        config.gates.iter().map(|(name, gate)| (name.as_str(), gates_in(&gate.rule, &config.gates))).collect();
    let mut outer: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, inner) in &inner {
        inner.iter().for_each(|inner| outer.entry(inner).or_default().push(name));
    }
    let mut problems = Vec::new();
    let mut sizes: BTreeMap<&str, Size> = BTreeMap::new();
    let mut waiting: BTreeMap<&str, usize> = inner.iter().map(|(name, inner)| (*name, inner.len())).collect();
    let mut ready: Vec<&str> = waiting.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
    while let Some(name) = ready.pop() {
        waiting.remove(name);
        let size = measure(&config.gates[name].rule, &sizes);
        // Too large a gate is reported once, where the limit is crossed.
        if size.depth > MAX_DEPTH && inner[name].iter().all(|inner| sizes[inner].depth <= MAX_DEPTH) {
            let message = format!("expected gates nested at most {MAX_DEPTH} deep, found {}", size.depth);
            problems.push(config.places.problem(&format!("gate.{name}"), message));
        }
        if size.members > MAX_MEMBERS && inner[name].iter().all(|inner| sizes[inner].members <= MAX_MEMBERS) {
            let message = format!("expected at most {MAX_MEMBERS} members in all, found more");
            problems.push(config.places.problem(&format!("gate.{name}"), message));
        }
        sizes.insert(name, size);
        for outer in outer.get(name).into_iter().flatten() {
            if let Some(count) = waiting.get_mut(outer) {
                *count -= 1;
                if *count == 0 {
                    ready.push(outer);
                }
            }
        }
    }
    for cycle in cycles(&inner, &waiting.into_keys().collect()) {
        let path: Vec<String> = cycle.iter().chain(&cycle[..1]).map(|name| format!("`{name}`")).collect();
        let message = format!("the gates form a cycle: {}", path.join(" → "));
        problems.push(config.places.problem(&format!("gate.{}", cycle[0]), message));
    }
    problems
}

/// The gates that each gate names.
type Inner<'c> = BTreeMap<&'c str, BTreeSet<&'c str>>;

/// Returns the gates that a rule names, also within inline gates.
fn gates_in<'c>(rule: &RuleConfig, gates: &'c BTreeMap<String, GateConfig>) -> BTreeSet<&'c str> {
    let of = |member: &MemberConfig| match &member.target {
        MemberTarget::Named(name) => gates.get_key_value(name).map(|(name, _)| name.as_str()).into_iter().collect(),
        MemberTarget::Inline(rule) => gates_in(rule, gates),
    };
    rule.members().iter().flat_map(of).collect()
}

/// Returns one cycle for each group of gates that contain each other.
fn cycles<'c>(inner: &Inner<'c>, endless: &BTreeSet<&'c str>) -> Vec<Vec<&'c str>> {
    let mut cycles = Vec::new();
    let mut seen = BTreeSet::new();
    for start in endless {
        let mut path = Vec::new();
        let mut next = Some(*start);
        while let Some(name) = next {
            if !seen.insert(name) {
                // If this walk has met it before, it is a cycle. If another walk has, that walk found the cycle.
                if let Some(begin) = path.iter().position(|earlier| *earlier == name) {
                    cycles.push(path[begin..].to_vec());
                }
                break;
            }
            path.push(name);
            next = inner[name].iter().find(|inner| endless.contains(*inner)).copied();
        }
    }
    cycles
}

#[derive(Clone, Copy)]
struct Size {
    depth: usize,
    members: usize,
}

/// Returns the size of a gate with this rule, given the sizes of the gates in it.
fn measure(rule: &RuleConfig, sizes: &BTreeMap<&str, Size>) -> Size {
    let of = |member: &MemberConfig| match &member.target {
        MemberTarget::Named(name) => sizes.get(name.as_str()).copied().unwrap_or(Size { depth: 0, members: 0 }),
        MemberTarget::Inline(rule) => measure(rule, sizes),
    };
    let (mut depth, mut members) = (0, 0usize);
    for size in rule.members().iter().map(of) {
        depth = depth.max(size.depth);
        members = members.saturating_add(size.members).saturating_add(1);
    }
    let times = if let RuleConfig::Vote(vote) = rule { vote.voters.unwrap_or(1) as usize } else { 1 };
    Size { depth: depth + 1, members: members.saturating_mul(times) }
}
