//! The rules over statuses. `None` is a member that counts neither way: skipped, disabled or in shadow.
//!
//! A rule of which no member counts does not count itself, and so it can never pass.

use crate::verdict::Status;

/// Returns the outcome of members that must all pass: any fail is fail; else any error is error; else any abstain is
/// abstain; else pass.
pub fn all(members: impl IntoIterator<Item = Option<Status>>) -> Option<Status> {
    strongest(members, [Status::Fail, Status::Error, Status::Abstain, Status::Pass])
}

/// Returns the outcome of members of which one must pass: any pass is pass; else any error is error; else any abstain is
/// abstain; else fail.
pub fn any(members: impl IntoIterator<Item = Option<Status>>) -> Option<Status> {
    strongest(members, [Status::Pass, Status::Error, Status::Abstain, Status::Fail])
}

/// Returns the outcome of the first member that does not pass, or pass if all do.
pub fn tiers(members: impl IntoIterator<Item = Option<Status>>) -> Option<Status> {
    let mut reached = None;
    for status in members.into_iter().flatten() {
        reached = Some(status);
        if status != Status::Pass {
            break;
        }
    }
    reached
}

/// Returns the outcome of a member that must fail: pass and fail change places. An error stays an error, and an abstention
/// an abstention.
pub fn not(member: Option<Status>) -> Option<Status> {
    member.map(|status| match status {
        Status::Pass => Status::Fail,
        Status::Fail => Status::Pass,
        Status::Abstain => Status::Abstain,
        Status::Error => Status::Error,
        Status::NotApplicable => Status::NotApplicable,
    })
}

/// Returns the status of a member that comes first in `order`. What is not in it counts neither way.
fn strongest(members: impl IntoIterator<Item = Option<Status>>, order: [Status; 4]) -> Option<Status> {
    let rank = |status: &Status| order.iter().position(|other| other == status);
    members.into_iter().flatten().filter(|status| order.contains(status)).min_by_key(rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Status::{Abstain, Error, Fail, Pass};

    #[test]
    fn the_strongest_member_decides() {
        for (members, by_all, by_any) in [
            (vec![Pass], Pass, Pass),
            (vec![Pass, Pass], Pass, Pass),
            (vec![Pass, Fail], Fail, Pass),
            (vec![Pass, Abstain], Abstain, Pass),
            (vec![Pass, Error], Error, Pass),
            (vec![Abstain, Error], Error, Error),
            (vec![Error, Fail], Fail, Error),
            (vec![Abstain, Fail], Fail, Abstain),
            (vec![Pass, Abstain, Error, Fail], Fail, Pass),
            (vec![Fail, Fail], Fail, Fail),
        ] {
            let counted = || members.iter().copied().map(Some);
            assert_eq!(all(counted()), Some(by_all), "all {members:?}");
            assert_eq!(any(counted()), Some(by_any), "any {members:?}");
            let with_neutral = || counted().chain([None]);
            assert_eq!((all(with_neutral()), any(with_neutral())), (Some(by_all), Some(by_any)));
        }
    }

    #[test]
    fn the_first_tier_that_does_not_pass_decides() {
        for (members, expected) in [
            (vec![Some(Pass), Some(Pass)], Some(Pass)),
            (vec![Some(Pass), Some(Abstain), Some(Fail)], Some(Abstain)),
            (vec![Some(Error), Some(Fail)], Some(Error)),
            (vec![None, Some(Fail), Some(Pass)], Some(Fail)),
            (vec![Some(Pass), None], Some(Pass)),
        ] {
            assert_eq!(tiers(members.clone()), expected, "{members:?}");
        }
    }

    #[test]
    fn not_swaps_answers_and_keeps_silence() {
        for (status, expected) in [(Pass, Fail), (Fail, Pass), (Error, Error), (Abstain, Abstain)] {
            assert_eq!(not(Some(status)), Some(expected));
        }
    }

    #[test]
    fn what_has_no_member_that_counts_does_not_count() {
        for members in [vec![], vec![None], vec![None, None]] {
            assert_eq!((all(members.clone()), any(members.clone()), tiers(members)), (None, None, None));
        }
        assert_eq!(not(None), None);
    }
}
