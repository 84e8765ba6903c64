//! Counts votes, and finds out when the remaining votes no longer matter.
//!
//! Only pass and fail are ballots. Voices are counted, not members: the members of one voice have one ballot, which is in
//! favour only if all ballots that they cast are. A voice weighs as much as its heaviest member that has not dropped out. It
//! is absent if one of its members is absent: otherwise the ballot of another member could complete the quorum, and a
//! failing member could open the gate. Members that dropped out are not absent, unless the configuration sets a quorum: that
//! many must vote.

use crate::config::Threshold;
use crate::outcome::VoteCount;
use crate::plan::Vote;
use std::collections::BTreeMap;

/// The ballot of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ballot {
    /// It passed.
    For,
    /// It failed.
    Against,
    /// It errored or abstained.
    Absent,
    /// It dropped out: it did not apply, or its error is ignored.
    Gone,
}

/// The voters, and what is needed to pass.
#[derive(Clone, Debug)]
pub struct Electorate {
    voices: Vec<VoiceMembers>,
    threshold: Threshold,
    absences: u64,
    gone_are_missing: bool,
}

/// Members that share one ballot, with their weights.
type VoiceMembers = Vec<(usize, u64)>;

/// The count of a vote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The weight of the voices in favour.
    pub in_favour: u64,
    /// The weight of the voices against.
    pub against: u64,
    /// How many voices voted.
    pub cast: u64,
    /// How many voices are absent.
    pub absent: u64,
    /// How many of the absent voices did not apply.
    pub gone: u64,
    /// How many may be absent.
    pub absences: u64,
    /// How many voices there are, without those that dropped out.
    pub voices: u64,
    met: bool,
}

/// The result of a vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VoteResult {
    /// Enough voices are in favour.
    Pass,
    /// No voice is in favour.
    Fail,
    /// Some voices are in favour, but too few.
    Divided,
    /// Too few voted.
    NoQuorum,
}

impl Electorate {
    /// Returns the voters of a vote. `weights` has the weight of each member that takes part.
    pub fn new(vote: &Vote, weights: &[Option<u32>]) -> Self {
        let mut voices: BTreeMap<usize, VoiceMembers> = BTreeMap::new();
        for (member, weight) in weights.iter().enumerate() {
            if let Some(weight) = weight {
                let voice = vote.voices.get(member).copied().unwrap_or(member);
                voices.entry(voice).or_default().push((member, u64::from(*weight)));
            }
        }
        Self {
            voices: voices.into_values().collect(),
            threshold: vote.threshold,
            absences: u64::from(vote.absences),
            gone_are_missing: vote.gone_are_missing,
        }
    }

    /// Returns the same voters, with so many more absences allowed.
    pub(super) fn with_more_absences(self, more: usize) -> Self {
        Self { absences: self.absences + more as u64, ..self }
    }

    /// Counts these ballots, one for each member; `None` if a ballot is unknown and does not matter.
    pub fn count(&self, ballots: &[Option<Ballot>]) -> Tally {
        let mut count = Tally { absences: self.absences, ..Tally::default() };
        for voice in &self.voices {
            let said = |member: usize| ballots.get(member).copied().flatten();
            let missed = |member: usize| self.gone_are_missing && said(member) == Some(Ballot::Gone);
            let of = |member: usize| if missed(member) { Some(Ballot::Absent) } else { said(member) };
            let has = |ballot| voice.iter().any(|(member, _)| of(*member) == Some(ballot));
            let present = voice.iter().filter(|(member, _)| of(*member).is_some_and(|ballot| ballot != Ballot::Gone));
            let weight = present.map(|(_, weight)| *weight).max().unwrap_or(0);
            if has(Ballot::Against) {
                count.against += weight;
                count.cast += 1;
            } else if has(Ballot::For) {
                count.in_favour += weight;
                count.cast += 1;
            }
            count.absent += u64::from(has(Ballot::Absent));
            count.gone += u64::from(voice.iter().any(|(member, _)| missed(*member)));
            count.voices += u64::from(voice.iter().any(|(member, _)| of(*member) != Some(Ballot::Gone)));
        }
        let cast = count.in_favour + count.against;
        count.met = match self.threshold {
            Threshold::Majority => count.in_favour * 2 > cast,
            Threshold::TwoThirds => count.in_favour * 3 >= cast * 2,
            Threshold::Unanimous => count.in_favour == cast,
            Threshold::AtLeast(weight) => count.in_favour >= weight,
        };
        count
    }

    /// Returns the results that are still possible while some ballots are unknown.
    ///
    /// A result is possible exactly if one of a few extreme endings leads to it, because every other ending can be changed
    /// to one of them without changing the result:
    ///
    /// - pass: all remaining members vote in favour, except in voices that are against already, which keep their weight;
    /// - fail: all remaining members vote against;
    /// - no quorum: all remaining members are absent;
    /// - divided: all remaining members vote against, except perhaps one voice, as light as possible.
    ///
    /// If dropping out counts as absent, no member can make its voice lighter, so casting a ballot is never worse.
    pub fn possible(&self, ballots: &[Option<Ballot>]) -> Vec<VoteResult> {
        let known =
            |voice: &VoiceMembers, ballot| voice.iter().any(|(member, _)| ballots.get(*member) == Some(&Some(ballot)));
        let open = |voice: &VoiceMembers| -> VoiceMembers {
            voice.iter().filter(|(member, _)| ballots.get(*member) == Some(&None)).copied().collect()
        };
        let decision = |rest: &dyn Fn(&VoiceMembers, (usize, u64)) -> Ballot| {
            let mut ending = ballots.to_vec();
            for voice in &self.voices {
                open(voice).into_iter().for_each(|member| ending[member.0] = Some(rest(voice, member)));
            }
            self.count(&ending).decision()
        };
        let lightest = if self.gone_are_missing { Ballot::For } else { Ballot::Gone };
        let pass = decision(&|voice, _| if known(voice, Ballot::Against) { lightest } else { Ballot::For });
        let fail = decision(&|_, _| Ballot::Against);
        let no_quorum = decision(&|_, _| Ballot::Absent);
        let divided = self.voices.iter().filter_map(|one| {
            let first = open(one).into_iter().min_by_key(|(_, weight)| *weight)?;
            Some(decision(&|voice, member| match () {
                () if voice != one => Ballot::Against,
                () if member == first && !known(one, Ballot::For) => Ballot::For,
                () => lightest,
            }))
        });
        let mut possible: Vec<VoteResult> = [pass, fail, no_quorum].into_iter().chain(divided).collect();
        possible.sort_unstable();
        possible.dedup();
        possible
    }
}

impl VoteResult {
    /// Returns the word used in every report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Divided => "divided",
            Self::NoQuorum => "no-quorum",
        }
    }
}

impl Electorate {
    /// Returns the result of these ballots. If some are unknown because they were not needed, all endings have the same
    /// result. Should they ever differ, the result is not a pass.
    ///
    /// Counting only the known ballots would be wrong: a member that was not needed still adds its weight to its voice.
    pub fn decision(&self, ballots: &[Option<Ballot>]) -> VoteResult {
        let possible = self.possible(ballots);
        let blocking = possible.iter().find(|decision| **decision != VoteResult::Pass);
        blocking.or(possible.first()).copied().unwrap_or(VoteResult::NoQuorum)
    }
}

impl Tally {
    /// Returns the count for the record.
    pub fn record(&self, decision: VoteResult) -> VoteCount {
        let Self { in_favour, against, absent, .. } = *self;
        VoteCount { in_favour, against, absent, decision: decision.as_str().to_owned() }
    }

    /// Returns the result of the count.
    pub fn decision(&self) -> VoteResult {
        match self {
            Self { cast: 0, .. } => VoteResult::NoQuorum,
            _ if self.absent > self.absences => VoteResult::NoQuorum,
            Self { in_favour: 0, .. } => VoteResult::Fail,
            Self { met: true, .. } => VoteResult::Pass,
            Self { met: false, .. } => VoteResult::Divided,
        }
    }

    /// Returns how the result came about, if it is not obvious.
    pub fn reason(&self, decision: VoteResult) -> String {
        let Self { in_favour, against, absent, gone, absences, voices, .. } = self;
        match decision {
            VoteResult::NoQuorum if absent > absences => {
                let gone = if *gone > 0 { format!(" ({gone} did not apply)") } else { String::new() };
                format!("quorum not met: {absent} of {voices} absent{gone}, at most {absences} may be absent")
            }
            VoteResult::NoQuorum => "quorum not met: nobody voted".to_owned(),
            VoteResult::Pass if *against == 0 => String::new(),
            VoteResult::Pass => format!("with dissent: {in_favour} for, {against} against"),
            VoteResult::Divided => format!("divided: {in_favour} for, {against} against"),
            VoteResult::Fail => format!("{in_favour} for, {against} against"),
        }
    }
}

#[cfg(test)]
mod tests;
