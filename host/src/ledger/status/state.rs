//! The states of a task in the gate protocol, and the steps between them.

use serde::Serialize;

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TaskState {
    /// Nothing has begun.
    Pending,
    /// The executor works.
    Executing,
    /// Commands and rules are checked.
    Verifying,
    /// A reviewer looks at it.
    Reviewing,
    /// It passed.
    Approved,
    /// A reviewer rejected it.
    Rejected,
    /// It failed, or was interrupted.
    Failed,
    /// It waits for something else.
    Blocked,
    /// A person let it through without a pass.
    Skipped,
}

impl TaskState {
    /// Every state.
    pub const ALL: [Self; 9] = [
        Self::Pending,
        Self::Executing,
        Self::Verifying,
        Self::Reviewing,
        Self::Approved,
        Self::Rejected,
        Self::Failed,
        Self::Blocked,
        Self::Skipped,
    ];

    /// Returns the word of the protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Executing => "EXECUTING",
            Self::Verifying => "VERIFYING",
            Self::Reviewing => "REVIEWING",
            Self::Approved => "APPROVED",
            Self::Rejected => "REJECTED",
            Self::Failed => "FAILED",
            Self::Blocked => "BLOCKED",
            Self::Skipped => "SKIPPED",
        }
    }

    /// Returns whether the protocol has this step. Only a review approves, and only verified work is reviewed.
    pub fn may_become(self, next: Self) -> bool {
        use TaskState::{Approved, Blocked, Executing, Failed, Pending, Rejected, Reviewing, Skipped, Verifying};
        match (self, next) {
            (Pending, Executing) | (Executing, Verifying) | (Verifying, Reviewing) | (Reviewing, Approved) => true,
            (Executing | Verifying | Reviewing, Failed | Blocked) | (Reviewing, Rejected) => true,
            (Failed | Rejected | Blocked, Executing) => true,
            // Only a person does this, and only without a pass.
            (Pending | Failed | Rejected | Blocked, Skipped) => true,
            // A task can be started again.
            (Approved | Skipped, Executing) => true,
            _ => false,
        }
    }

    /// Returns the steps of the protocol from this state to another; the last of them is `to`.
    pub(super) fn on_the_way(self, to: Self) -> Vec<Self> {
        let mut paths = vec![vec![self]];
        for _ in 0..Self::ALL.len() {
            let mut longer = Vec::new();
            for path in &paths {
                let last = path.last().copied().unwrap_or(self);
                for next in Self::ALL.into_iter().filter(|next| last.may_become(*next) && !path.contains(next)) {
                    let mut path = path.clone();
                    path.push(next);
                    if next == to {
                        return path.split_off(1);
                    }
                    longer.push(path);
                }
            }
            paths = longer;
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_steps_of_the_protocol_are_taken() {
        use TaskState::{Approved, Executing, Failed, Pending, Rejected, Reviewing, Skipped, Verifying};
        for (from, to, allowed) in [
            (Pending, Executing, true),
            (Pending, Approved, false),
            (Executing, Approved, false),
            (Verifying, Approved, false),
            (Executing, Reviewing, false),
            (Verifying, Rejected, false),
            (Reviewing, Rejected, true),
            (Approved, Skipped, false),
            (Failed, Executing, true),
            (Failed, Approved, false),
            (Rejected, Verifying, false),
        ] {
            assert_eq!(from.may_become(to), allowed, "{from:?} → {to:?}");
        }
    }

    #[test]
    fn every_state_is_reached_by_steps_that_are_known() {
        for from in TaskState::ALL {
            for to in TaskState::ALL.into_iter().filter(|to| *to != from && *to != TaskState::Pending) {
                let path = from.on_the_way(to);
                assert_eq!(path.last(), Some(&to), "{from:?} → {to:?}");
                let mut before = from;
                for step in path {
                    assert!(before.may_become(step), "{before:?} → {step:?}");
                    before = step;
                }
            }
        }
    }

    #[test]
    fn nothing_is_approved_without_having_been_reviewed() {
        for state in TaskState::ALL {
            assert_eq!(state.may_become(TaskState::Approved), state == TaskState::Reviewing, "{state:?}");
        }
    }
}
