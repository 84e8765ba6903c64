//! Counts the independent voices of a vote, and checks whether the vote can be decided.

use super::{PlanNode, PlanNodeKind, Vote};
use crate::config::{self, Api, Enforcement, Grant, ModelConfig, Threshold};
use std::collections::{BTreeMap, BTreeSet};

/// A voice: the component and the models that it may ask. Models are compared by what they are, not by their names in the
/// configuration.
type Voice<'p> = (&'p str, BTreeSet<(Api, &'p Option<String>, &'p Option<String>, &'p Option<String>)>);

/// Counts the voices of a vote, or returns the key that makes the vote undecidable, and why.
///
/// Disabled voters and voters in shadow mode do not count.
pub(super) fn count(
    vote: &config::VoteConfig,
    members: &[PlanNode],
    models: &BTreeMap<String, ModelConfig>,
) -> Result<Vote, Vec<(&'static str, String)>> {
    let mut numbers = BTreeMap::new();
    let voices: Vec<usize> = if vote.independent {
        let number = |member| {
            let next = numbers.len();
            *numbers.entry(voices_of(member, models)).or_insert(next)
        };
        members.iter().map(number).collect()
    } else {
        (0..members.len()).collect()
    };
    let mut weights: BTreeMap<usize, u64> = BTreeMap::new();
    for (member, voice) in
        members.iter().zip(&voices).filter(|(member, _)| member.enabled && member.mode == Enforcement::Enforce)
    {
        let weight = weights.entry(*voice).or_default();
        *weight = u64::from(member.weight).max(*weight);
    }
    let (count, weight) = (u32::try_from(weights.len()).unwrap_or(u32::MAX), weights.values().sum::<u64>());
    let who = if vote.independent { "independent voices" } else { "voters that decide" };
    let mut problems = Vec::new();
    if let Some(quorum) = vote.quorum.filter(|quorum| *quorum > count && count > 0) {
        problems.push(("quorum", format!("expected at most the number of {who} ({count}), found `{quorum}`")));
    }
    if let Threshold::AtLeast(number) = vote.threshold
        && number > weight
        && count > 0
    {
        problems.push((
            "threshold",
            format!("expected at most the total weight of the {who} ({weight}), found `{number}`"),
        ));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let absences = count.saturating_sub(vote.quorum.unwrap_or(count));
    let gone_are_missing = vote.quorum.is_some();
    Ok(Vote { threshold: vote.threshold, absences, gone_are_missing, on_divergence: vote.on_divergence, voices })
}

/// Returns the voices of a member: its own, or those of all checks in it.
fn voices_of<'p>(member: &'p PlanNode, models: &'p BTreeMap<String, ModelConfig>) -> BTreeSet<Voice<'p>> {
    match &member.what {
        PlanNodeKind::Check(check) => {
            let model = |grant: &Grant| match grant {
                Grant::Model(name) => {
                    models.get(name).map(|model| (model.api, &model.model, &model.url, &model.command))
                }
                Grant::Workspace | Grant::Command(_) => None,
            };
            BTreeSet::from([(check.digest.as_str(), check.grants.iter().filter_map(model).collect())])
        }
        PlanNodeKind::Gate(gate) => gate.members.iter().flat_map(|member| voices_of(member, models)).collect(),
    }
}
