//! A gate that was resolved: its configuration, its plan and its verifiers.

use super::policy::FoundPolicy;
use super::sealed::Sealed;
use crate::config::{Config, LoopConfig, Overrides};
use crate::plan::Plan;
use crate::record::PolicyRecord;
use crate::resolver::Verifiers;
use crate::retry::{EscalationPolicy, RetryPolicy};
use std::path::PathBuf;
use std::sync::Arc;

/// A gate that was resolved and not run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Planned {
    /// The resolved configuration.
    pub plan: Plan,
    /// Where the configuration came from.
    pub policy: PolicyRecord,
    /// How often a failure is retried. Not part of the digest of the plan, because it does not decide whether work passes.
    pub retry: RetryPolicy,
    /// When human review is needed.
    pub escalation: EscalationPolicy,
    /// Who may let work through without a pass.
    pub overrides: Overrides,
    /// Settings of the configuration that have no effect.
    pub warnings: Vec<String>,
}

/// A gate that was resolved once and is run several times. Neither its configuration nor its verifiers are read again, so an
/// executor cannot change them between two runs.
#[derive(Clone)]
pub struct Pinned(pub(super) Arc<ResolvedConfig>);

impl std::fmt::Debug for Pinned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Pinned").field(&self.0.plan.root.name).finish()
    }
}

impl Pinned {
    /// Returns the resolved configuration.
    pub fn plan(&self) -> &Plan {
        &self.0.plan
    }

    /// Returns the path of the configuration file, if there is one.
    pub(crate) fn configuration(&self) -> Option<PathBuf> {
        self.0.found.path.clone()
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        &self.0.found.config
    }

    /// Returns where the configuration came from.
    pub fn policy(&self) -> PolicyRecord {
        self.0.found.record()
    }

    /// Returns the budgets of a loop around the gate.
    pub fn budgets(&self) -> LoopConfig {
        let config = self.config();
        let of_gate = config.gates.get(&self.0.plan.root.name).map(|gate| gate.looping.clone()).unwrap_or_default();
        of_gate.or(&config.looping)
    }
}

/// A configuration, the plan that it resolves to, and the verifiers that it names.
pub(super) struct ResolvedConfig {
    pub(super) found: Arc<FoundPolicy>,
    pub(super) plan: Plan,
    pub(super) verifiers: Verifiers,
    /// The digests of the policy, if the gate is pinned.
    pub(super) sealed: Sealed,
}
