use super::*;
use crate::config::Divergence;
use VoteResult::{Divided, Fail, NoQuorum, Pass};
use proptest::prelude::*;

fn electorate(threshold: Threshold, absences: u32, voices: &[usize], weights: &[u32]) -> Electorate {
    let on_divergence = Divergence::Escalate;
    let vote = Vote { threshold, absences, gone_are_missing: false, on_divergence, voices: voices.to_vec() };
    Electorate::new(&vote, &weights.iter().copied().map(Some).collect::<Vec<_>>())
}

/// Returns the same rules with a quorum.
fn with_quorum(electorate: Electorate) -> Electorate {
    Electorate { gone_are_missing: true, ..electorate }
}

/// Ballots from letters: for, against, absent, not known, gone.
fn ballots(letters: &str) -> Vec<Option<Ballot>> {
    let ballot = |letter| match letter {
        '+' => Some(Ballot::For),
        '-' => Some(Ballot::Against),
        '0' => Some(Ballot::Absent),
        '?' => None,
        _ => Some(Ballot::Gone),
    };
    letters.chars().map(ballot).collect()
}

#[test]
fn a_tie_does_not_pass_and_other_rows() {
    for (threshold, absences, letters, expected) in [
        (Threshold::Majority, 0, "+++", Pass),
        (Threshold::Majority, 0, "++-", Pass),
        (Threshold::Majority, 0, "+-", Divided),
        (Threshold::Majority, 0, "+--", Divided),
        (Threshold::Majority, 0, "---", Fail),
        (Threshold::Majority, 0, "++0", NoQuorum),
        (Threshold::Majority, 1, "++0", Pass),
        (Threshold::Majority, 1, "+00", NoQuorum),
        (Threshold::Majority, 9, "000", NoQuorum),
        (Threshold::Majority, 9, "...", NoQuorum),
        (Threshold::Majority, 0, "+..", Pass),
        (Threshold::TwoThirds, 0, "++-", Pass),
        (Threshold::TwoThirds, 0, "+++--", Divided),
        (Threshold::Unanimous, 0, "+++", Pass),
        (Threshold::Unanimous, 0, "++-", Divided),
        (Threshold::Unanimous, 1, "++0", Pass),
        (Threshold::AtLeast(2), 0, "++---", Pass),
        (Threshold::AtLeast(2), 0, "+----", Divided),
        (Threshold::AtLeast(2), 3, "+000", Divided),
    ] {
        let voices: Vec<usize> = (0..letters.len()).collect();
        let electorate = electorate(threshold, absences, &voices, &vec![1; letters.len()]);
        assert_eq!(electorate.count(&ballots(letters)).decision(), expected, "{threshold:?} {letters}");
    }
}

#[test]
fn with_a_quorum_that_many_vote_whoever_applies() {
    for (absences, letters, expected) in [
        (0, "+..", NoQuorum),
        (1, "+..", NoQuorum),
        (2, "+..", Pass),
        (1, "++.", Pass),
        (1, "+0.", NoQuorum),
        (1, "+-.", Divided),
        (2, "-..", Fail),
    ] {
        let electorate = with_quorum(electorate(Threshold::Majority, absences, &[0, 1, 2], &[1; 3]));
        assert_eq!(electorate.count(&ballots(letters)).decision(), expected, "{absences} {letters}");
    }
    let electorate = with_quorum(electorate(Threshold::Majority, 0, &[0, 1, 2], &[1; 3]));
    let count = electorate.count(&ballots("+.."));
    let reason = count.reason(count.decision());
    assert_eq!(reason, "quorum not met: 2 of 3 absent (2 did not apply), at most 0 may be absent");
}

#[test]
fn a_heavier_ballot_counts_for_more() {
    let electorate = electorate(Threshold::Majority, 0, &[0, 1, 2], &[3, 1, 1]);
    assert_eq!(electorate.count(&ballots("+--")).decision(), Pass);
    assert_eq!(electorate.count(&ballots("-++")).decision(), Divided);
}

#[test]
fn members_of_one_voice_have_one_ballot() {
    let electorate = electorate(Threshold::Majority, 1, &[0, 0, 0, 1], &[1, 1, 2, 2]);
    for (letters, expected) in [
        ("+++-", Divided), // 2 against 2, and not 3 against 1
        ("++-+", Divided), // not all of the first voice are for it
        ("0+0+", Pass),    // the first voice is for it, and missing once
        ("000+", Pass),
        ("0+00", NoQuorum),
        ("0000", NoQuorum),
        ("...+", Pass),
    ] {
        assert_eq!(electorate.count(&ballots(letters)).decision(), expected, "{letters}");
    }
}

#[test]
fn who_is_gone_lends_no_weight() {
    let electorate = electorate(Threshold::AtLeast(2), 0, &[0, 0], &[1, 3]);
    assert_eq!(electorate.count(&ballots("+.")).decision(), Divided);
    assert_eq!(electorate.count(&ballots("++")).decision(), Pass);
}

#[test]
fn the_reason_tells_dissent_division_and_absence() {
    for (letters, expected) in [
        ("+++", ""),
        ("++-", "with dissent: 2 for, 1 against"),
        ("+--", "divided: 1 for, 2 against"),
        ("---", "0 for, 3 against"),
        ("+00", "quorum not met: 2 of 3 absent, at most 1 may be absent"),
        ("00?", "quorum not met: 2 of 3 absent, at most 1 may be absent"),
        ("0..", "quorum not met: nobody voted"),
    ] {
        let count = electorate(Threshold::Majority, 1, &[0, 1, 2], &[1; 3]).count(&ballots(letters));
        assert_eq!(count.reason(count.decision()), expected);
    }
}

fn any_threshold() -> impl Strategy<Value = Threshold> {
    prop_oneof![
        Just(Threshold::Majority),
        Just(Threshold::TwoThirds),
        Just(Threshold::Unanimous),
        (1..8u64).prop_map(Threshold::AtLeast)
    ]
}

fn any_ballot() -> impl Strategy<Value = Ballot> {
    prop_oneof![Just(Ballot::For), Just(Ballot::Against), Just(Ballot::Absent), Just(Ballot::Gone)]
}

/// Returns a vote of up to six members, some of whose ballots are known.
fn any_vote() -> impl Strategy<Value = (Electorate, Vec<Option<Ballot>>)> {
    let members = prop::collection::vec((0..4usize, 1..4u32, prop::option::of(any_ballot())), 1..=6);
    let terms = (any_threshold(), 0..4u32, any::<bool>(), any::<bool>());
    (terms, members).prop_map(|((threshold, absences, independent, gone_are_missing), members)| {
        let voices: Vec<usize> =
            members.iter().enumerate().map(|(index, member)| if independent { member.0 } else { index }).collect();
        let weights: Vec<u32> = members.iter().map(|member| member.1).collect();
        let known = members.iter().map(|member| member.2).collect();
        (Electorate { gone_are_missing, ..electorate(threshold, absences, &voices, &weights) }, known)
    })
}

/// Returns the decisions of all endings, one by one.
fn exhaustive(electorate: &Electorate, known: &[Option<Ballot>]) -> Vec<VoteResult> {
    let mut endings = vec![Vec::new()];
    for ballot in known {
        let choices = ballot.map_or_else(|| ballots("+-0."), |ballot| vec![Some(ballot)]);
        endings = endings
            .into_iter()
            .flat_map(|ending| choices.iter().map(move |choice| [ending.as_slice(), &[*choice]].concat()))
            .collect();
    }
    let mut decisions: Vec<_> = endings.iter().map(|ending| electorate.count(ending).decision()).collect();
    decisions.sort_unstable();
    decisions.dedup();
    decisions
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_possible_is_exactly_what_some_ending_leads_to((electorate, known) in any_vote()) {
        prop_assert_eq!(electorate.possible(&known), exhaustive(&electorate, &known));
    }

    #[test]
    fn one_more_against_never_makes_a_pass(
        threshold in any_threshold(),
        (absences, gone_are_missing) in (0..4u32, any::<bool>()),
        members in prop::collection::vec((0..4usize, 1..4u32, any_ballot()), 1..=6),
        voice in 0..5usize,
        weight in 1..4u32,
    ) {
        let of = |members: &[(usize, u32, Ballot)]| {
            let voices: Vec<usize> = members.iter().map(|member| member.0).collect();
            let weights: Vec<u32> = members.iter().map(|member| member.1).collect();
            let ballots: Vec<_> = members.iter().map(|member| Some(member.2)).collect();
            let electorate = electorate(threshold, absences, &voices, &weights);
            Electorate { gone_are_missing, ..electorate }.count(&ballots).decision()
        };
        let more = [members.as_slice(), &[(voice, weight, Ballot::Against)]].concat();
        prop_assert!(of(&members) == Pass || of(&more) != Pass);
    }
}
