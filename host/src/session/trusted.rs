//! The configuration of a commit that the caller trusts, instead of that of the work.
//!
//! gate.toml, the texts that it names as settings and the components that it names by their paths are read as the commit has
//! them. Work that touches any of them, or a path that the configuration protects, is judged by the old configuration and
//! never passes by itself: human review is needed (`policy.touched`).

use super::policy::{Found, PolicyOrigin, written};
use crate::changes::{self, Selection, Stored};
use crate::config::{self, Config, FileSet};
use crate::error::{Error, Kind};
use crate::fingerprint;
use crate::outcome::{Node, NodeKind, Outcome, Severity};
use crate::text::clean_line;
use crate::verdict::{Category, Finding, Level, Place, Status, Verdict};
use std::collections::BTreeSet;
use std::path::{Component, Path};

const FILE: &str = "gate.toml";
/// The check under which touching the policy is reported.
const CHECK: &str = "policy";
/// The most paths that are listed.
const MOST: usize = 100;

/// What a configuration of a commit rests on.
#[derive(Debug)]
pub(super) struct Trusted {
    /// The commit, in full.
    commit: String,
    /// Holds the files for as long as they are read.
    _stored: Stored,
    /// The files that the configuration consists of, relative to the root of the repository.
    paths: BTreeSet<String>,
    /// Where its patterns begin, relative to the root of the repository.
    folder: String,
}

/// Finds and reads the configuration as a commit has it: that of the folder, or else the nearest above it.
pub(super) fn find(folder: &Path, name: &str) -> Result<Found, Error> {
    let real = folder
        .canonicalize()
        .map_err(|error| Error::input(format_args!("cannot open the folder `{}`", folder.display())).because(error))?;
    let no_repository = || Error::usage("`--policy-from` needs a git repository");
    let root = changes::repository(&real)?.filter(|root| real.starts_with(root)).ok_or_else(no_repository)?;
    let inside = |folder: &Path| folder.strip_prefix(&root).ok().and_then(Path::to_str).map(str::to_owned);
    let folders: Vec<String> =
        real.ancestors().take_while(|folder| folder.starts_with(&root)).filter_map(inside).collect();
    let candidates: Vec<String> = folders.iter().map(|folder| join(folder, FILE)).collect();
    let stored = changes::stored(&root, name, &candidates.iter().map(String::as_str).collect())?;
    let nearest = folders.iter().find(|folder| stored.path().join(join(folder, FILE)).symlink_metadata().is_ok());
    let shown = clean_line(name, 200);
    let Some(within) = nearest else {
        return Err(Error::new(
            Kind::Configuration,
            format_args!("the commit `{shown}` has no {FILE} for this folder"),
        )
        .hint("commit a gate.toml first, or run without `--policy-from`".to_owned()));
    };
    let file = join(within, FILE);
    let title = format!("{file} of `{shown}`");
    let bytes = super::policy::read_named(&stored.path().join(&file), &title)?;
    let config = config::parse(&bytes).map_err(|problems| Error::configuration(&title, &problems))?;
    let mut paths = named(&config, within);
    paths.insert(file.clone());
    let stored = changes::stored(&root, stored.commit(), &paths.iter().map(String::as_str).collect())?;
    let from = stored.path().join(within);
    let mut found = written(bytes, title, Some(root.join(&file)), from, PolicyOrigin::Commit)?;
    let commit = stored.commit().to_owned();
    found.trusted = Some(Trusted { commit, _stored: stored, paths, folder: within.clone() });
    Ok(found)
}

/// The files that a configuration names, relative to the root of the repository.
fn named(config: &Config, folder: &str) -> BTreeSet<String> {
    let texts = config.checks.values().flat_map(|check| check.settings_files.values());
    let verifiers = config.checks.values().map(|check| &check.verifier);
    let verifiers = verifiers.filter(|name| name.contains(['/', '.']));
    let paths = texts.map(String::as_str).chain(verifiers.map(|name| name.split("@sha256:").next().unwrap_or(name)));
    paths.filter_map(|path| normal(folder, path)).collect()
}

/// A path in a folder, without `.` and `..`; nothing where it leads out of the repository.
fn normal(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

impl Found {
    /// The paths of the policy that differ between the trusted commit and the work.
    pub(super) fn touched(&self, folder: &Path, selection: &Selection) -> Result<Vec<String>, Error> {
        let Some(trusted) = &self.trusted else { return Ok(Vec::new()) };
        let selection = match selection {
            Selection::Between { to, .. } => Selection::Between { from: trusted.commit.clone(), to: to.clone() },
            _ => Selection::Since(trusted.commit.clone()),
        };
        let protected = FileSet::new(&self.config.protected, &[]);
        let protected = protected.map_err(|error| Error::new(Kind::Configuration, &error))?;
        let is_protected = |path: &str| {
            let inside = match trusted.folder.as_str() {
                "" => Some(path),
                folder => path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')),
            };
            !self.config.protected.is_empty() && inside.is_some_and(|path| protected.contains(path))
        };
        let root = folder.canonicalize().ok().map(|real| changes::repository(&real)).transpose()?.flatten();
        let root = root.as_deref().unwrap_or(folder);
        let changes = changes::collect(root, &selection, changes::Needs::default())?;
        let paths = changes.changes.iter().flat_map(|change| [Some(&change.path), change.old_path.as_ref()]);
        let touched = paths.flatten().filter(|path| trusted.paths.contains(*path) || is_protected(path));
        Ok(touched.cloned().collect::<BTreeSet<_>>().into_iter().collect())
    }
}

/// Notes what of the policy the work touches. A pass becomes an abstention that needs human review.
pub(super) fn hold(gate: &mut Node, touched: &[String]) {
    if touched.is_empty() {
        return;
    }
    let finding = |path: &String| Finding {
        place: Some(Place { path: path.clone(), line: None, column: None, end_line: None, end_column: None }),
        category: Category::Manual,
        hint: Some("have a person review it; `gate skip` records the decision".to_owned()),
        ..Finding::new("policy.touched", Level::Error, "the change touches the policy")
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
    gate.escalated = true;
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
            hold(&mut gate, &["gate.toml".to_owned()]);
            assert_ne!(gate.outcome, Outcome::Pass, "{outcome:?}");
            assert!(gate.escalated);
            assert_eq!(gate.outcome == Outcome::Fail, outcome == Outcome::Fail, "a failure stays one");
        }
        let mut gate = Node::new("g", NodeKind::All, Outcome::Pass);
        hold(&mut gate, &[]);
        assert_eq!((gate.outcome, gate.children.len()), (Outcome::Pass, 0));
    }

    #[test]
    fn paths_are_those_of_the_repository() {
        for (folder, path, expected) in [
            ("", "a.wasm", Some("a.wasm")),
            ("", "./checks/a.wasm", Some("checks/a.wasm")),
            ("sub", "../a.wasm", Some("a.wasm")),
            ("sub/deep", "x/../y", Some("sub/deep/y")),
            ("", "../a.wasm", None),
            ("", "/etc/passwd", None),
        ] {
            assert_eq!(normal(folder, path).as_deref(), expected, "{folder} {path}");
        }
    }
}
