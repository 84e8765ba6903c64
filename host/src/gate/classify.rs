//! Which kind of failure an outcome is, how bad it is, and how sure.

use crate::outcome::{Node, NodeKind, Outcome, Severity};
use crate::verdict::{Class, Status};

/// Notes the class, severity and confidence of a member whose outcome is known.
pub(super) fn classify(node: &mut Node) {
    let said = node.verdict.as_ref().and_then(|verdict| verdict.class.clone());
    let below = node.children.iter().filter(|child| !child.shadow && child.outcome == node.outcome);
    let said = said.or_else(|| worst(below.filter_map(|child| child.class.clone())));
    (node.class, node.severity) = match node.outcome.status() {
        None | Some(Status::Pass | Status::NotApplicable) => (None, None),
        Some(status) => {
            let (class, severity) = class_of(status, said);
            (class, Some(severity))
        }
    };
    node.confidence = confidence(node);
}

/// The class and severity of what is not a pass. What a verifier says counts only where it gave a judgement.
fn class_of(status: Status, said: Option<Class>) -> (Option<Class>, Severity) {
    match status {
        Status::Fail => {
            let class = said.unwrap_or(Class::VerifyFailure);
            let severity = match class {
                Class::ReviewRejection => Severity::Semantic,
                Class::Timeout => Severity::Inconclusive,
                _ => Severity::Hard,
            };
            (Some(class), severity)
        }
        Status::Error => (Some(Class::Infra), Severity::Infra),
        Status::Abstain | Status::NotApplicable | Status::Pass => (said, Severity::Inconclusive),
    }
}

/// Of several classes, the one that decides what happens next.
pub(crate) fn worst(classes: impl Iterator<Item = Class>) -> Option<Class> {
    classes.min_by_key(|class| match class {
        Class::Blocked => 0,
        Class::ExecutionFailure => 1,
        Class::Malformed => 2,
        Class::VerifyFailure => 3,
        Class::Other(_) => 4,
        Class::ReviewRejection => 5,
        Class::Timeout => 6,
        Class::Infra => 7,
    })
}

/// How sure a pass or a failure is.
fn confidence(node: &Node) -> Option<f64> {
    if !matches!(node.outcome, Outcome::Pass | Outcome::Fail) {
        return None;
    }
    let counted = || node.children.iter().filter(|child| !child.shadow);
    let least = |sure: f64, more: f64| sure.min(more);
    match node.kind {
        NodeKind::Check => Some(node.verdict.as_ref().and_then(|verdict| verdict.confidence).unwrap_or(1.0)),
        NodeKind::Vote => {
            let vote = node.vote.as_ref()?;
            let cast = vote.in_favour + vote.against;
            // Both are small sums of weights.
            #[expect(clippy::cast_precision_loss, reason = "weights are far below 2^52")]
            (cast > 0).then(|| vote.in_favour as f64 / cast as f64)
        }
        NodeKind::Any if node.outcome == Outcome::Pass => {
            let passes = counted().filter(|child| child.outcome == Outcome::Pass);
            passes.filter_map(|child| child.confidence).reduce(f64::max)
        }
        NodeKind::Tiers | NodeKind::All | NodeKind::Any | NodeKind::Not => {
            counted().filter_map(|child| child.confidence).reduce(least).or(Some(1.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;

    fn check(status: Status, class: Option<Class>, confidence: Option<f64>) -> Node {
        let mut node = Node::new("c", NodeKind::Check, status.into());
        node.verdict = Some(Verdict { class, confidence, ..Verdict::of(status) });
        classify(&mut node);
        node
    }

    #[test]
    fn every_outcome_has_its_class_and_severity() {
        use Severity::{Hard, Inconclusive, Infra, Semantic};
        for (status, said, class, severity) in [
            (Status::Fail, None, Some(Class::VerifyFailure), Some(Hard)),
            (Status::Fail, Some(Class::ReviewRejection), Some(Class::ReviewRejection), Some(Semantic)),
            (Status::Fail, Some(Class::Timeout), Some(Class::Timeout), Some(Inconclusive)),
            (Status::Fail, Some(Class::Blocked), Some(Class::Blocked), Some(Hard)),
            (Status::Error, None, Some(Class::Infra), Some(Infra)),
            (Status::Error, Some(Class::VerifyFailure), Some(Class::Infra), Some(Infra)),
            (Status::Abstain, None, None, Some(Inconclusive)),
            (Status::Abstain, Some(Class::Malformed), Some(Class::Malformed), Some(Inconclusive)),
            (Status::Pass, Some(Class::Blocked), None, None),
            (Status::NotApplicable, None, None, None),
        ] {
            let node = check(status, said.clone(), None);
            assert_eq!((node.class, node.severity), (class, severity), "{status} {said:?}");
        }
    }

    #[test]
    fn the_class_that_decides_is_that_of_the_worst_member() {
        let members = [Class::Timeout, Class::ReviewRejection, Class::VerifyFailure];
        let mut gate = Node::new("g", NodeKind::All, Outcome::Fail);
        gate.children = members.map(|class| check(Status::Fail, Some(class), None)).into();
        gate.children.push(check(Status::Error, None, None));
        classify(&mut gate);
        assert_eq!(gate.class, Some(Class::VerifyFailure));
        gate.children.push(check(Status::Fail, Some(Class::Blocked), None));
        classify(&mut gate);
        assert_eq!(gate.class, Some(Class::Blocked));
    }

    #[test]
    fn a_gate_is_as_sure_as_its_rule_says() {
        let members = || {
            vec![
                check(Status::Pass, None, Some(0.9)),
                check(Status::Pass, None, Some(0.6)),
                check(Status::Pass, None, None),
            ]
        };
        for (kind, expected) in [(NodeKind::All, 0.6), (NodeKind::Tiers, 0.6), (NodeKind::Any, 1.0)] {
            let mut gate = Node::new("g", kind, Outcome::Pass);
            gate.children = members();
            classify(&mut gate);
            assert_eq!(gate.confidence, Some(expected), "{kind:?}");
        }
        let mut undecided = Node::new("g", NodeKind::All, Outcome::Abstain);
        undecided.children = members();
        classify(&mut undecided);
        assert_eq!(undecided.confidence, None);
    }
}
