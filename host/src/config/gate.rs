//! `[gate.*]`: the rules, and their members by name or inline, to any depth.

use super::looping::{self, LoopConfig};
use super::read::{Table, TomlValue};
use super::terms::MemberTerms;
use super::units;
use serde::Serialize;
use std::collections::BTreeSet;

/// The most voters of one name.
const MAX_VOTERS: u32 = 100;
/// The heaviest vote.
const MAX_WEIGHT: u32 = 1_000;
const RULES: [&str; 5] = ["tiers", "all", "any", "not", "vote"];
const OF_A_VOTE: [&str; 5] = ["voters", "threshold", "quorum", "independent", "on_divergence"];

/// A gate.
#[derive(Clone, Debug, PartialEq)]
pub struct GateConfig {
    /// How its members come to one answer.
    pub rule: RuleConfig,
    /// When and how it runs.
    pub terms: MemberTerms,
    /// What differs from `[loop]` where a loop runs this gate.
    pub looping: LoopConfig,
}

/// How members come to one answer.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleConfig {
    /// In order; the first that does not pass decides.
    Tiers(Vec<MemberConfig>),
    /// Every one must pass.
    All(Vec<MemberConfig>),
    /// One must pass.
    Any(Vec<MemberConfig>),
    /// It must fail.
    Not(Box<MemberConfig>),
    /// They vote.
    Vote(VoteConfig),
}

impl RuleConfig {
    /// The members, in the order of the file.
    pub fn members(&self) -> &[MemberConfig] {
        match self {
            Self::Tiers(members) | Self::All(members) | Self::Any(members) => members,
            Self::Not(member) => std::slice::from_ref(member),
            Self::Vote(vote) => &vote.members,
        }
    }

    /// The names of the gates and checks in it, also within inline gates.
    pub fn names(&self) -> Vec<&str> {
        let members = self.members().iter();
        members
            .flat_map(|member| match &member.target {
                MemberTarget::Named(name) => vec![name.as_str()],
                MemberTarget::Inline(rule) => rule.names(),
            })
            .collect()
    }

    /// The key that one writes.
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
    /// Who votes; exactly one if [`VoteConfig::voters`] is given.
    pub members: Vec<MemberConfig>,
    /// How often the one member votes.
    pub voters: Option<u32>,
    /// How many of the cast ballots must be for it.
    pub threshold: Threshold,
    /// How many ballots must be cast; without it, those of all that apply.
    pub quorum: Option<u32>,
    /// Whether ballots of the same component with the same models are one voice.
    pub independent: bool,
    /// What becomes of some ballots for it, but too few.
    pub on_divergence: Divergence,
}

/// How many of the cast ballots must be for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Threshold {
    /// More than half.
    #[default]
    Majority,
    /// Two thirds or more.
    TwoThirds,
    /// All.
    Unanimous,
    /// This weight or more, however many were cast.
    AtLeast(u64),
}

/// What becomes of a vote that some are for, but too few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Divergence {
    /// A person is asked.
    #[default]
    Escalate,
    /// It fails.
    Fail,
}

/// A member of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberConfig {
    /// The entry, such as `gate.commit.tiers[0]`.
    pub place: String,
    /// The name that it has in reports, if not that of what it is.
    pub name: Option<String>,
    /// What it is.
    pub target: MemberTarget,
    /// How much its vote weighs.
    pub weight: u32,
    /// What differs from the terms of its target.
    pub terms: MemberTerms,
}

/// What a member is.
#[derive(Clone, Debug, PartialEq)]
pub enum MemberTarget {
    /// The gate or the check of this name.
    Named(String),
    /// A gate that is written in place.
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
        // It is kept, so that its name is known; the problem was noted.
        _ => GateConfig { rule: RuleConfig::All(Vec::new()), terms, looping },
    }
}

/// Refuses a `weight` where nobody votes.
pub(super) fn refuse_weight(table: &mut Table<'_>, name: &str) {
    if let Some(weight) = table.get("weight") {
        let hint = format!("write `{{ use = \"{name}\", weight = … }}` in the vote");
        weight.problem_with("`weight` is allowed only on a member of a `vote`", hint);
    }
}

/// What the table says under exactly one of these keys.
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
    // How many ballots there can be, and their weight; not known when they could not be read.
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
