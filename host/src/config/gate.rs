//! `[gate.*]`: rules, and their members by name or inline, to any depth.

use super::looping::{self, LoopConfig};
use super::read::{Table, TomlValue};
use super::terms::MemberTerms;
use super::units;
use serde::Serialize;
use std::collections::BTreeSet;

/// The most voters of one name.
pub const MAX_VOTERS: u32 = 100;
/// The heaviest vote.
pub const MAX_WEIGHT: u32 = 1_000;
const RULES: [&str; 5] = ["tiers", "all", "any", "not", "vote"];
const OF_A_VOTE: [&str; 5] = ["voters", "threshold", "quorum", "independent", "on_divergence"];

/// A gate.
#[derive(Clone, Debug, PartialEq)]
pub struct GateConfig {
    /// How the members are combined.
    pub rule: RuleConfig,
    /// When and how it runs.
    pub terms: MemberTerms,
    /// The settings that override `[loop]` if a loop runs this gate.
    pub looping: LoopConfig,
}

/// How the results of members are combined.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleConfig {
    /// Run in order; the first member that does not pass decides.
    Tiers(Vec<MemberConfig>),
    /// Every member must pass.
    All(Vec<MemberConfig>),
    /// One member must pass.
    Any(Vec<MemberConfig>),
    /// The member must fail.
    Not(Box<MemberConfig>),
    /// The members vote.
    Vote(VoteConfig),
}

impl RuleConfig {
    /// Returns the members, in the order of the file.
    pub fn members(&self) -> &[MemberConfig] {
        match self {
            Self::Tiers(members) | Self::All(members) | Self::Any(members) => members,
            Self::Not(member) => std::slice::from_ref(member),
            Self::Vote(vote) => &vote.members,
        }
    }

    /// Returns the names of the gates and checks in it, also within inline gates.
    pub fn names(&self) -> Vec<&str> {
        let members = self.members().iter();
        members
            .flat_map(|member| match &member.target {
                MemberTarget::Named(name) => vec![name.as_str()],
                MemberTarget::Inline(rule) => rule.names(),
            })
            .collect()
    }

    /// Returns the key of this rule in gate.toml.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Tiers(_) => "tiers",
            Self::All(_) => "all",
            Self::Any(_) => "any",
            Self::Not(_) => "not",
            Self::Vote(_) => "vote",
        }
    }
}

/// A vote.
#[derive(Clone, Debug, PartialEq)]
pub struct VoteConfig {
    /// The voters; exactly one if [`VoteConfig::voters`] is set.
    pub members: Vec<MemberConfig>,
    /// How often a single voter votes.
    pub voters: Option<u32>,
    /// How many of the cast votes must be in favour.
    pub threshold: Threshold,
    /// How many votes must be cast; by default, the votes of all members that apply.
    pub quorum: Option<u32>,
    /// Whether votes of the same component with the same models count as one.
    pub independent: bool,
    /// What happens if some votes are in favour, but too few.
    pub on_divergence: Divergence,
}

/// How many of the cast votes must be in favour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Threshold {
    /// More than half.
    #[default]
    Majority,
    /// Two thirds or more.
    TwoThirds,
    /// All of them.
    Unanimous,
    /// At least this weight, however many votes are cast.
    AtLeast(u64),
}

/// What happens to a vote with some votes in favour, but too few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Divergence {
    /// Human review is needed.
    #[default]
    Escalate,
    /// The vote fails.
    Fail,
}

/// A member of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberConfig {
    /// The entry, such as `gate.commit.tiers[0]`.
    pub place: String,
    /// The name in reports, if it differs from the name of the gate or check.
    pub name: Option<String>,
    /// The gate or check.
    pub target: MemberTarget,
    /// How much its vote weighs.
    pub weight: u32,
    /// The terms that override those of the gate or check.
    pub terms: MemberTerms,
}

/// The gate or check of a member.
#[derive(Clone, Debug, PartialEq)]
pub enum MemberTarget {
    /// The gate or the check of this name.
    Named(String),
    /// A gate that is written inline.
    Inline(RuleConfig),
}

pub(super) fn read(name: &str, mut table: Table<'_>) -> GateConfig {
    let target = read_target(&mut table, &RULES);
    let terms = MemberTerms::read(&mut table);
    refuse_weight(&mut table, name);
    let looping = table.get("loop").and_then(|value| value.table("a table of budgets")).map(looping::read);
    let looping = looping.unwrap_or_default();
    table.finish();
    match target {
        Some(MemberTarget::Inline(rule)) => GateConfig { rule, terms, looping },
        // The gate is kept although it has a problem, so that its name is known.
        _ => GateConfig { rule: RuleConfig::All(Vec::new()), terms, looping },
    }
}

/// Refuses a `weight` outside a vote.
pub(super) fn refuse_weight(table: &mut Table<'_>, name: &str) {
    if let Some(weight) = table.get("weight") {
        let hint = format!("write `{{ use = \"{name}\", weight = … }}` in the vote");
        weight.problem_with("`weight` is allowed only on a member of a `vote`", hint);
    }
}

/// Reads the value of exactly one of these keys.
fn read_target(table: &mut Table<'_>, keys: &[&'static str]) -> Option<MemberTarget> {
    let found: Vec<_> = keys.iter().filter_map(|key| Some((*key, table.get(key)?))).collect();
    let of_a_vote = OF_A_VOTE.map(|key| table.get(key));
    let [(key, value)] = found.as_slice() else {
        let several = found.iter().map(|(key, _)| format!("`{key}`")).collect::<Vec<_>>().join(" and ");
        let found = if found.is_empty() { "none" } else { &several };
        table.here.problem(format!("expected exactly one of {}, found {found}", super::one_of(keys)));
        return None;
    };
    if *key == "vote" {
        return read_vote(value, of_a_vote).map(RuleConfig::Vote).map(MemberTarget::Inline);
    }
    for value in of_a_vote.into_iter().flatten() {
        value.problem("allowed only with `vote`");
    }
    Some(MemberTarget::Inline(match *key {
        "tiers" => RuleConfig::Tiers(read_members(value, false)?),
        "all" => RuleConfig::All(read_members(value, false)?),
        "any" => RuleConfig::Any(read_members(value, false)?),
        "not" => RuleConfig::Not(Box::new(read_member(value, false)?)),
        _ => return value.text("the name of a gate or a check").map(MemberTarget::Named),
    }))
}

fn read_members(value: &TomlValue<'_>, in_vote: bool) -> Option<Vec<MemberConfig>> {
    let list = value.list("a list of names of gates and checks")?;
    let mut names = BTreeSet::new();
    let mut member = |value: &TomlValue<'_>| {
        let member = read_member(value, in_vote)?;
        let name = match (&member.name, &member.target) {
            (Some(name), _) | (None, MemberTarget::Named(name)) => name,
            (None, MemberTarget::Inline(_)) => return Some(member),
        };
        if !names.insert(name.clone()) {
            let hint = format!("to list a member twice, name one of them: `{{ use = \"{name}\", name = \"…\" }}`");
            value.problem_with(format!("`{name}` is listed twice"), hint);
        }
        Some(member)
    };
    Some(list.iter().filter_map(&mut member).collect())
}

fn read_member(value: &TomlValue<'_>, in_vote: bool) -> Option<MemberConfig> {
    let place = value.place.clone();
    if let Some(name) = value.as_str() {
        let target = MemberTarget::Named(name.to_owned());
        return Some(MemberConfig { place, name: None, target, weight: 1, terms: MemberTerms::default() });
    }
    let mut table = value.table("the name of a gate or a check, or a table")?;
    let target = read_target(&mut table, &["use", "tiers", "all", "any", "not", "vote"]);
    let name = table.get("name").and_then(|value| {
        let name = value.as_str().filter(|name| units::is_name(name)).map(str::to_owned);
        name.or_else(|| value.expected("a name of at most 64 letters, digits, `-` and `_`"))
    });
    let weight = table.get("weight").and_then(|value| {
        if !in_vote {
            value.problem("`weight` is allowed only on a member of a `vote`");
        }
        value.small(1..=MAX_WEIGHT)
    });
    let terms = MemberTerms::read(&mut table);
    table.finish();
    Some(MemberConfig { place, name, target: target?, weight: weight.unwrap_or(1), terms })
}

fn read_vote(value: &TomlValue<'_>, keys: [Option<TomlValue<'_>>; 5]) -> Option<VoteConfig> {
    let [voters, threshold, quorum, independent, divergence] = keys;
    let count = voters.as_ref().and_then(|value| value.small(1..=MAX_VOTERS));
    // The number of votes and their total weight; unknown if they could not be read.
    let (members, most) = if value.is_list() {
        if let Some(voters) = voters {
            voters.problem("`voters` is allowed only with a single name, not with a list");
        }
        let written = value.list_or_empty("a list").map_or(0, |list| list.len());
        let members = read_members(value, true);
        let most = members
            .as_ref()
            .filter(|members| members.len() == written)
            .map(|members| (members.len() as u64, members.iter().map(|member| u64::from(member.weight)).sum::<u64>()));
        (members, most)
    } else {
        if voters.is_none() {
            value.problem("expected `voters` with a single name: how many times it votes");
        }
        let most = count.map(|count| (u64::from(count), u64::from(count)));
        (read_member(value, false).map(|member| vec![member]), most)
    };
    let threshold = threshold.and_then(|value| read_threshold(&value, most.map(|(_, weight)| weight)));
    let quorum = quorum.and_then(|value| {
        let voters = most.map_or(u64::from(u32::MAX), |(voters, _)| voters);
        let quorum = value.as_number(1..=voters).and_then(|quorum| u32::try_from(quorum).ok());
        quorum.or_else(|| value.expected(&format!("a whole number from 1 to the number of voters ({voters})")))
    });
    let divergences = [("escalate", Divergence::Escalate), ("fail", Divergence::Fail)];
    let independent = independent.and_then(|value| value.flag()).unwrap_or(false);
    let on_divergence = divergence.and_then(|value| value.word(&divergences)).unwrap_or_default();
    Some(VoteConfig {
        members: members?,
        voters: count,
        threshold: threshold.unwrap_or_default(),
        quorum,
        independent,
        on_divergence,
    })
}

fn read_threshold(value: &TomlValue<'_>, most: Option<u64>) -> Option<Threshold> {
    let words =
        [("majority", Threshold::Majority), ("two-thirds", Threshold::TwoThirds), ("unanimous", Threshold::Unanimous)];
    if let Some((_, threshold)) = words.iter().find(|(word, _)| value.as_str() == Some(word)) {
        return Some(*threshold);
    }
    let most = most.unwrap_or(u64::MAX);
    value.as_number(1..=most).map(Threshold::AtLeast).or_else(|| {
        let number = format!("a whole number from 1 to the total weight of the voters ({most})");
        value.expected(&format!("`majority`, `two-thirds`, `unanimous` or {number}"))
    })
}
