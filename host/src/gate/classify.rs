//! Computes the class, severity and confidence of an outcome.

use crate::outcome::{Node, NodeKind, Outcome, Severity};
use crate::verdict::{Class, ErrorKind, Status};

/// Sets the class, severity and confidence of a member whose outcome is known.
pub(super) fn classify(node: &mut Node) {
    let verdict = node.verdict.as_ref();
    let error = verdict.and_then(|verdict| verdict.error.as_ref()).map(|error| error.kind);
    let stated = verdict.and_then(|verdict| verdict.class.clone());
    let deciding = node.children.iter().filter(|child| !child.shadow && child.outcome == node.outcome);
    let stated = stated.or_else(|| worst(deciding.filter_map(|child| child.class.clone())));
    (node.class, node.severity) = class_of(node.outcome.status(), error, stated);
    node.confidence = confidence(node);
}

/// Returns the class and severity of an outcome. The class that a verifier or the members state counts where there is no error of
/// the host. A verifier cannot state `infra`.
fn class_of(
    status: Option<Status>,
    error: Option<ErrorKind>,
    stated: Option<Class>,
) -> (Option<Class>, Option<Severity>) {
    match status {
        None | Some(Status::Pass | Status::NotApplicable) => (None, None),
        Some(Status::Fail) => {
            let class = stated.filter(|class| *class != Class::Infra).unwrap_or(Class::VerifyFailure);
            let severity = match class {
                Class::ReviewRejection => Severity::Semantic,
                Class::Timeout => Severity::Inconclusive,
                _ => Severity::Hard,
            };
            (Some(class), Some(severity))
        }
        Some(Status::Error) => {
            let class = error.map(of_error).or(stated).unwrap_or(Class::Infra);
            let severity = if class == Class::Infra { Severity::Infra } else { Severity::Inconclusive };
            (Some(class), Some(severity))
        }
        Some(Status::Abstain) => (stated.filter(|class| *class != Class::Infra), Some(Severity::Inconclusive)),
    }
}

/// Returns the class of an error. `infra` is no attempt of the executor, so only errors that the work cannot cause at will have it.
fn of_error(kind: ErrorKind) -> Class {
    match kind {
        ErrorKind::LimitTime | ErrorKind::LlmTimeout => Class::Timeout,
        // The submission names a path, or has a file, that no verifier can be given.
        ErrorKind::InputLimit | ErrorKind::FsBadPath => Class::Malformed,
        // The work decides what a command prints, how it exits and what it writes.
        ErrorKind::CommandTampered
        | ErrorKind::CommandReadOnly
        | ErrorKind::CommandOffline
        | ErrorKind::CommandUnset
        | ErrorKind::CommandNoProgram
        | ErrorKind::CommandNoDependency => Class::VerifyFailure,
        // The verifier, the configuration, the machine or a provider.
        ErrorKind::LoadUnreadable
        | ErrorKind::LoadMalformed
        | ErrorKind::LoadNotComponent
        | ErrorKind::LoadPrecompiledRefused
        | ErrorKind::LoadFeatureDisabled
        | ErrorKind::LoadLimit
        | ErrorKind::CompileLimit
        | ErrorKind::TrustDigestMismatch
        | ErrorKind::LinkUnknownImport
        | ErrorKind::LinkCapabilityDenied
        | ErrorKind::LinkVersion
        | ErrorKind::LinkWorldMismatch
        | ErrorKind::SettingsInvalid
        | ErrorKind::FsUnreadable
        | ErrorKind::SubjectChanged
        | ErrorKind::LimitMemory
        | ErrorKind::LimitHostcalls
        | ErrorKind::LimitTransfer
        | ErrorKind::LimitHandles
        | ErrorKind::LimitRandom
        | ErrorKind::TrapStack
        | ErrorKind::TrapUnreachable
        | ErrorKind::TrapOutOfBounds
        | ErrorKind::TrapArithmetic
        | ErrorKind::TrapBadCall
        | ErrorKind::TrapReentry
        | ErrorKind::TrapOther
        | ErrorKind::GuestExited
        | ErrorKind::GuestMalformed
        | ErrorKind::AbiOutOfBounds
        | ErrorKind::AbiUtf8
        | ErrorKind::AbiDiscriminant
        | ErrorKind::AbiRange
        | ErrorKind::AbiPlace
        | ErrorKind::CommandNotStarted
        | ErrorKind::LlmUnreachable
        | ErrorKind::LlmMalformed
        | ErrorKind::LlmBudget
        | ErrorKind::LlmNotDistinct
        | ErrorKind::HostFailed => Class::Infra,
    }
}

/// Returns the class that decides what happens next, of several.
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

/// Returns the confidence of a pass or a failure.
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
        use Severity::{Hard, Inconclusive, Semantic};
        for (status, stated, class, severity) in [
            (Status::Fail, None, Some(Class::VerifyFailure), Some(Hard)),
            (Status::Fail, Some(Class::ReviewRejection), Some(Class::ReviewRejection), Some(Semantic)),
            (Status::Fail, Some(Class::Timeout), Some(Class::Timeout), Some(Inconclusive)),
            (Status::Fail, Some(Class::Blocked), Some(Class::Blocked), Some(Hard)),
            (Status::Fail, Some(Class::Infra), Some(Class::VerifyFailure), Some(Hard)),
            (Status::Abstain, None, None, Some(Inconclusive)),
            (Status::Abstain, Some(Class::Malformed), Some(Class::Malformed), Some(Inconclusive)),
            (Status::Abstain, Some(Class::Infra), None, Some(Inconclusive)),
            (Status::Pass, Some(Class::Blocked), None, None),
            (Status::NotApplicable, None, None, None),
        ] {
            let node = check(status, stated.clone(), None);
            assert_eq!((node.class, node.severity), (class, severity), "{status} {stated:?}");
        }
    }

    #[test]
    fn every_error_kind_has_its_class_and_severity() {
        let listed = |names: &str, kind: ErrorKind| names.split(' ').any(|name| name == kind.as_str());
        for &kind in ErrorKind::ALL {
            let expected = if listed("limit.time llm.timeout", kind) {
                (Class::Timeout, Severity::Inconclusive)
            } else if listed("input.limit fs.bad-path", kind) {
                (Class::Malformed, Severity::Inconclusive)
            } else if kind.is_by_output() || kind == ErrorKind::CommandTampered {
                (Class::VerifyFailure, Severity::Inconclusive)
            } else {
                (Class::Infra, Severity::Infra)
            };
            // What the verdict states besides does not count.
            let (class, severity) = class_of(Some(Status::Error), Some(kind), Some(Class::Blocked));
            assert_eq!((class, severity), (Some(expected.0), Some(expected.1)), "{kind}");
        }
        let unexplained = class_of(Some(Status::Error), None, None);
        assert_eq!(unexplained, (Some(Class::Infra), Some(Severity::Infra)));
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
