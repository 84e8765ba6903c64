//! Which paths of the policy a change touches, and what follows: it never passes by itself, and commands see the old files.

use super::policy::FoundPolicy;
use super::trusted::Trusted;
use crate::changes::{self, Changes, ChangesError, Selection, WorkFolder};
use crate::commands::BaseFiles;
use crate::config::{Config, FileSet};
use crate::environment::Environment;
use crate::error::{Error, ErrorCategory};
use crate::fingerprint;
use crate::outcome::{Node, NodeKind, Outcome, Severity};
use crate::verdict::{Category, Finding, Level, Place, Status, Verdict};
use std::collections::BTreeSet;

/// The name of the check that reports changes of the policy.
const CHECK: &str = "policy";
/// The code of its findings.
const TOUCHED: &str = "policy.touched";
/// The most paths that are listed.
const MOST: usize = 100;

impl FoundPolicy {
    /// Returns the paths of the policy that differ between the trusted commit and the work. `changes` are the changes of the
    /// selection.
    pub(super) fn touched(
        &self,
        changes: &Changes,
        work: &WorkFolder,
        selection: &Selection,
        environment: &Environment,
    ) -> Result<Vec<String>, Error> {
        let Some(trusted) = &self.trusted else { return Ok(Vec::new()) };
        let protected = ProtectedPatterns::of(&self.config, trusted)?;
        let touched = |changes: &Changes| -> Result<Vec<String>, ChangesError> {
            let mut touched = BTreeSet::new();
            for change in &changes.changes {
                work.deadline.check()?;
                let paths = [Some(&change.path), change.old_path.as_ref()].into_iter().flatten();
                touched.extend(paths.filter(|path| trusted.paths.contains(*path) || protected.contains(path)).cloned());
            }
            Ok(touched.into_iter().collect())
        };
        if changes.base.as_ref() == Some(&trusted.commit) {
            return Ok(touched(changes)?);
        }
        // Nothing was compared, or with another commit. What is the same byte for byte was not touched.
        if trusted.stored.is_none() && self.config.protected.is_empty() {
            return Ok(Vec::new());
        }
        let selection = match selection {
            Selection::Between { to, .. } | Selection::Commit(to) => {
                Selection::Between { from: trusted.commit.clone(), to: to.clone() }
            }
            _ => Selection::Since(trusted.commit.clone()),
        };
        let root = WorkFolder { folder: work.project().to_owned(), ..work.clone() };
        Ok(touched(&changes::collect_at(&root, &selection, &changes::Needs::default, environment, None)?)?)
    }
}

/// The protected paths of a configuration, relative to the root of the repository.
struct ProtectedPatterns<'t> {
    patterns: Option<FileSet>,
    folder: &'t str,
}

impl<'t> ProtectedPatterns<'t> {
    fn of(config: &Config, trusted: &'t Trusted) -> Result<Self, Error> {
        let patterns = (!config.protected.is_empty()).then(|| FileSet::new(&config.protected, &[])).transpose();
        let patterns = patterns.map_err(|error| Error::new(ErrorCategory::Configuration, &error))?;
        Ok(Self { patterns, folder: &trusted.folder })
    }

    fn contains(&self, path: &str) -> bool {
        let inside = match self.folder {
            "" => Some(path),
            folder => path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')),
        };
        self.patterns.as_ref().zip(inside).is_some_and(|(patterns, path)| patterns.contains(path))
    }
}

impl FoundPolicy {
    /// Returns the protected paths that the work touches as they are in the trusted commit, which is what commands see.
    pub(super) fn base_files(
        &self,
        changes: &Changes,
        work: &WorkFolder,
        selection: &Selection,
        environment: &Environment,
    ) -> Result<Option<BaseFiles>, Error> {
        let Some(trusted) = self.trusted.as_ref().filter(|_| !self.config.protected.is_empty()) else {
            return Ok(None);
        };
        let protected = ProtectedPatterns::of(&self.config, trusted)?;
        let mut paths = BTreeSet::from_iter(self.touched(changes, work, selection, environment)?);
        paths.retain(|path| protected.contains(path));
        if paths.is_empty() {
            return Ok(None);
        }
        let wanted = paths.iter().map(String::as_str).collect();
        let stored = changes::stored_until(work.project(), &trusted.commit, &wanted, environment, &work.deadline)?;
        Ok(Some(BaseFiles::new(paths, stored)))
    }
}

/// A path of the policy that the work touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TouchedPath {
    pub(crate) path: String,
    /// Whether commands saw the base's version of it.
    pub(crate) from_base: bool,
}

impl TouchedPath {
    const MESSAGE: &str = "the change touches the policy";
    const FROM_BASE: &str = "the change touches the policy; commands saw the base's version of this file";

    /// Returns the path that a finding of a record is about.
    pub(crate) fn of(finding: &Finding) -> Option<Self> {
        let place = finding.place.as_ref().filter(|_| finding.code == TOUCHED)?;
        Some(Self { path: place.path.clone(), from_base: finding.message == Self::FROM_BASE })
    }
}

/// Notes what of the policy the work touches. A pass becomes an abstention that needs human review.
pub(super) fn hold(gate: &mut Node, touched: &[TouchedPath]) {
    if touched.is_empty() {
        return;
    }
    let finding = |TouchedPath { path, from_base }: &TouchedPath| Finding {
        place: Some(Place { path: path.clone(), line: None, column: None, end_line: None, end_column: None }),
        category: Category::Manual,
        hint: Some("ask a person to review it; `gate skip` records the decision".to_owned()),
        ..Finding::new(TOUCHED, Level::Error, if *from_base { TouchedPath::FROM_BASE } else { TouchedPath::MESSAGE })
    };
    let mut findings: Vec<Finding> = touched.iter().take(MOST).map(finding).collect();
    fingerprint::assign(CHECK, &mut findings, |_, _| None);
    let mut node = Node::new(CHECK, NodeKind::Check, Outcome::Abstain);
    node.escalated = true;
    node.severity = Some(Severity::Inconclusive);
    node.verdict = Some(Verdict {
        summary: "the change touches the policy, so the old policy was used".to_owned(),
        needs_person: true,
        findings,
        findings_omitted: touched.len().saturating_sub(MOST) as u64,
        ..Verdict::of(Status::Abstain)
    });
    gate.children.push(node);
    // What fails goes back first: a person need not look at it yet.
    gate.escalated |= gate.outcome != Outcome::Fail;
    if gate.outcome.status().is_none_or(|status| status == Status::Pass) {
        gate.outcome = Outcome::Abstain;
        gate.reason = "the change touches the policy".to_owned();
        gate.severity = Some(Severity::Inconclusive);
        (gate.confidence, gate.nothing_to_check) = (None, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_touches_the_policy_never_passes() {
        for outcome in [Outcome::Pass, Outcome::Fail, Outcome::Abstain, Outcome::Error, Outcome::Skipped] {
            let mut gate = Node::new("g", NodeKind::All, outcome);
            let touched = TouchedPath { path: "gate.toml".to_owned(), from_base: false };
            hold(&mut gate, std::slice::from_ref(&touched));
            let findings = gate.walk().flat_map(|node| &node.verdict).flat_map(|verdict| &verdict.findings);
            assert_eq!(findings.filter_map(TouchedPath::of).collect::<Vec<_>>(), [touched]);
            assert_ne!(gate.outcome, Outcome::Pass, "{outcome:?}");
            assert_eq!(gate.escalated, outcome != Outcome::Fail, "what fails goes back first");
            assert_eq!(gate.outcome == Outcome::Fail, outcome == Outcome::Fail, "a failure stays one");
        }
        let mut gate = Node::new("g", NodeKind::All, Outcome::Pass);
        hold(&mut gate, &[]);
        assert_eq!((gate.outcome, gate.children.len()), (Outcome::Pass, 0));
    }
}
