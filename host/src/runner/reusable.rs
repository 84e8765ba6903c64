//! Passes of submission verifiers that later runs of the same loop may reuse.
//!
//! A pass depends on the component, its settings, the parts of the submission that it is given, what earlier checks
//! established, and what it reads through `workspace`. What a command depends on is not traced: it counts as depending on
//! everything in the tree, whose digest is a part of the submission. Passes live as long as the loop and its pinned gate, so
//! that the configuration, the commands and the environment are the same. A pass that asked a model, that came from a tape or
//! that is told not to be reproducible (`flaky`) is not kept. A pass that is reused never makes a gate pass.

use super::reads::RunReads;
use crate::config::Grant;
use crate::deadline::Deadline;
use crate::gate::CheckAnswer;
use crate::plan::{self, Shape};
use crate::runtime::PreparedSubmission;
use crate::verdict::Status;
use crate::workspace::Workspace;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The passes of the runs of one loop.
#[derive(Debug, Default)]
pub(crate) struct ReusablePasses {
    passes: Mutex<BTreeMap<[u8; blake3::OUT_LEN], KnownPass>>,
}

#[derive(Debug)]
struct KnownPass {
    run: String,
    reads: Arc<RunReads>,
    answer: CheckAnswer,
}

impl ReusablePasses {
    pub(super) fn is_empty(&self) -> bool {
        self.passes.lock().is_empty()
    }

    /// Returns whether passes of this check may be reused at all.
    pub(super) fn apply_to(check: &plan::Check) -> bool {
        let asks_models = check.grants.iter().any(|grant| matches!(grant, Grant::Model(_)));
        check.shape == Shape::Submission && check.flaky.is_none() && !asks_models
    }

    /// Returns the pass of an earlier run, if everything that it depends on is the same.
    pub(super) fn find(
        &self,
        check: &plan::Check,
        given: &PreparedSubmission,
        workspace: &Workspace,
        deadline: &Deadline,
    ) -> Option<CheckAnswer> {
        let passes = self.passes.lock();
        let known = passes.get(&key(check, given)?).filter(|known| known.reads.are_same(workspace, deadline))?;
        Some(CheckAnswer { reused: Some(known.run.clone()), ..known.answer.clone() })
    }

    /// Keeps the answer of this run, if it is a pass.
    pub(super) fn keep(
        &self,
        check: &plan::Check,
        given: &PreparedSubmission,
        reads: Arc<RunReads>,
        run: &str,
        answer: &CheckAnswer,
    ) {
        let replayed = answer.commands.iter().any(|command| command.replayed);
        if answer.verdict.status != Status::Pass || replayed || run.is_empty() {
            return;
        }
        if let Some(key) = key(check, given) {
            let known = KnownPass { run: run.to_owned(), reads, answer: answer.clone() };
            self.passes.lock().insert(key, known);
        }
    }
}

/// Returns a key of everything that a pass depends on, except what was read; `None` if the digest of the tree is unknown.
fn key(check: &plan::Check, given: &PreparedSubmission) -> Option<[u8; blake3::OUT_LEN]> {
    given.submission().tree_digest.as_ref()?;
    let mut key = blake3::Hasher::new();
    for part in [check.member.as_str(), &check.digest, &plan::canonical(&check.settings)] {
        key.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    Some(*key.update(given.digest().as_bytes()).finalize().as_bytes())
}
