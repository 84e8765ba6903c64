//! Uses the configuration of the base commit instead of that of the working tree, so that the author of a change cannot
//! weaken it.
//!
//! In a repository, gate.toml, the files that it names and the components that it names by path are read from the base
//! commit of the change. A change that touches one of them, or a protected path, is checked by the old configuration and
//! never passes by itself: it needs human review (`policy.touched`). Commands see protected files as they are in the base.
//!
//! If the base commit has no gate.toml for the folder, or if there is no base commit or no repository, the configuration of
//! the working tree is used. For the first commit of a repository, that is the configuration in the commit.

use super::Request;
use super::policy::{FoundPolicy, Policy, PolicyOrigin, written};
use crate::changes::{self, Changes, SameFiles, Selection, StoredFiles, WorkFolder};
use crate::commands::BaseFiles;
use crate::config::{self, Config, FileSet};
use crate::environment::Environment;
use crate::error::{Error, ErrorCategory};
use crate::fingerprint;
use crate::outcome::{Node, NodeKind, Outcome, Severity};
use crate::regular_file::{self, Symlinks};
use crate::text::clean_line;
use crate::verdict::{Category, Finding, Level, Place, Status, Verdict};
use crate::workspace::Workspace;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

const FILE: &str = "gate.toml";
/// The name of the check that reports changes of the policy.
const CHECK: &str = "policy";
/// The code of its findings.
const TOUCHED: &str = "policy.touched";
/// The most paths that are listed.
const MOST: usize = 100;

/// A configuration that was read from a commit.
#[derive(Debug)]
pub(super) struct Trusted {
    /// The commit, in full.
    pub(super) commit: String,
    /// The folder that holds the files while they are read. `None` if the working tree has the same files.
    stored: Option<StoredFiles>,
    /// The files of the configuration, and every path where a nearer gate.toml could be, relative to the root of the
    /// repository.
    paths: BTreeSet<String>,
    /// The folder that its patterns are relative to, relative to the root of the repository.
    folder: String,
}

/// The place of a folder in its repository, and the places where its configuration may be.
struct PolicyPlaces {
    root: PathBuf,
    /// The folder and those above it, nearest first, relative to the root.
    folders: Vec<String>,
}

impl PolicyPlaces {
    /// Returns `None` if the folder is in no repository.
    fn of(work: WorkFolder) -> Option<Self> {
        let WorkFolder { folder: real, root } = work;
        let root = root?;
        let inside = |folder: &Path| folder.strip_prefix(&root).ok().and_then(Path::to_str).map(str::to_owned);
        let folders = real.ancestors().take_while(|folder| folder.starts_with(&root)).filter_map(inside).collect();
        Some(Self { root, folders })
    }

    fn candidates(&self) -> BTreeSet<String> {
        self.folders.iter().map(|folder| join(folder, FILE)).collect()
    }
}

/// How the configuration of the working tree compares with that of the base commit.
#[derive(Debug)]
pub(super) enum PolicyStatus {
    /// They are the same, byte for byte.
    Same(Trusted),
    /// This commit has another configuration.
    Other(String),
    /// The base commit has no configuration.
    New,
}

/// The inputs for comparing a configuration with that of the base commit.
#[derive(Debug)]
pub(super) struct PolicyComparison {
    work: WorkFolder,
    selection: Selection,
    /// The gate.toml of the working tree.
    file: Option<PathBuf>,
    /// The paths that the configuration of the working tree names.
    names: Vec<String>,
    environment: Environment,
}

impl PolicyComparison {
    /// Returns `None` for a configuration that the caller chose.
    pub(super) fn new(request: &Request, found: &FoundPolicy) -> Result<Option<Self>, Error> {
        if request.policy != Policy::Nearest {
            return Ok(None);
        }
        Ok(Some(Self {
            work: request.work_folder()?,
            selection: request.selection.clone(),
            file: found.path.clone(),
            names: names(&found.config),
            environment: request.environment.clone(),
        }))
    }

    /// Compares the configuration with that of the base commit. This blocks.
    pub(super) fn standing(&self) -> Result<PolicyStatus, Error> {
        let Some(places) = PolicyPlaces::of(self.work.clone()) else { return Ok(PolicyStatus::New) };
        let file = self.file.as_ref().and_then(|file| file.canonicalize().ok());
        let nearest = places.folders.iter().find(|folder| Some(places.root.join(join(folder, FILE))) == file);
        let mut paths = places.candidates();
        paths.extend(self.names.iter().filter_map(|name| normal(nearest?, name)));
        let folders = folders_of(&paths);
        let wanted = paths.union(&folders).cloned().collect();
        let known = match changes::same_files(&places.root, &self.selection, &wanted, &self.environment) {
            // Files that the caller names need no git, and so no base commit.
            Err(changes::ChangesError::NoGit) if matches!(self.selection, Selection::Files(_)) => None,
            known => known?,
        };
        let Some(SameFiles { commit, same: known }) = known else { return Ok(PolicyStatus::New) };
        let old = places.folders.iter().find(|folder| known.contains_key(&join(folder, FILE)));
        // A folder that the commit has as an entry is a symlink, so other files than the named ones decide.
        let is_linked = folders.iter().any(|folder| known.contains_key(folder));
        Ok(match (old, nearest) {
            (None, _) => PolicyStatus::New,
            (Some(old), Some(folder)) if old == folder && !is_linked && known.values().all(|same| *same) => {
                PolicyStatus::Same(Trusted { commit, stored: None, paths, folder: folder.clone() })
            }
            _ => PolicyStatus::Other(commit),
        })
    }
}

/// Returns the configuration that applies after the comparison with the base commit.
pub(super) fn settle(
    mut found: FoundPolicy,
    standing: PolicyStatus,
    work: WorkFolder,
    environment: &Environment,
) -> Result<FoundPolicy, Error> {
    match standing {
        PolicyStatus::New => Ok(found),
        PolicyStatus::Same(trusted) => {
            found.trusted = Some(trusted);
            Ok(found)
        }
        PolicyStatus::Other(commit) => find(work, &commit, environment),
    }
}

/// Finds and reads the configuration of a commit: that of the folder, or the nearest above it.
pub(super) fn find(work: WorkFolder, name: &str, environment: &Environment) -> Result<FoundPolicy, Error> {
    let no_repository = || Error::usage("`--policy-from` needs a git repository");
    let places = PolicyPlaces::of(work).ok_or_else(no_repository)?;
    let root = &places.root;
    let mut paths = places.candidates();
    let stored = changes::stored(root, name, &paths.iter().map(String::as_str).collect(), environment)?;
    let there = |folder: &&String| stored.path().join(join(folder, FILE)).symlink_metadata().is_ok();
    let nearest = places.folders.iter().find(there);
    let shown = clean_line(name, 200);
    let Some(within) = nearest else {
        return Err(Error::new(
            ErrorCategory::Configuration,
            format_args!("the commit `{shown}` has no {FILE} for this folder"),
        )
        .hint("commit a gate.toml first, or run without `--policy-from`".to_owned()));
    };
    let file = join(within, FILE);
    let title = format!("{file} of `{shown}`");
    let bytes = super::policy::read_named(&stored.path().join(&file), &title)?;
    let config = config::parse(&bytes).map_err(|problems| Error::configuration(&title, &problems))?;
    paths.extend(names(&config).iter().filter_map(|name| normal(within, name)));
    let folders = folders_of(&paths);
    let wanted = paths.union(&folders).map(String::as_str).collect();
    let stored = changes::stored(root, stored.commit(), &wanted, environment)?;
    let files = Workspace::open(stored.path())
        .map_err(|error| Error::host("cannot open the files of the configuration").because(error))?;
    for path in std::mem::take(&mut paths) {
        let through = files.trail(&path);
        // What is behind a symlink is written nowhere: the link may lead out of the folder.
        if through.iter().eq([&path]) {
            add_new(&root.join(&path), &stored.path().join(&path)).map_err(|error| {
                Error::host(format_args!("cannot read `{}` as a part of the configuration", clean_line(&path, 200)))
                    .because(error)
            })?;
        }
        paths.insert(path);
        paths.extend(through);
    }
    let from = stored.path().join(within);
    let mut found = written(bytes, title, Some(root.join(&file)), from, PolicyOrigin::Commit)?;
    let commit = stored.commit().to_owned();
    found.trusted = Some(Trusted { commit, stored: Some(stored), paths, folder: within.clone() });
    Ok(found)
}

/// Copies files that the configuration names and the commit does not have from the working tree, such as a component that is
/// built and never committed. A gate.toml is not copied: a new one does not apply.
fn add_new(work: &Path, stored: &Path) -> std::io::Result<()> {
    if stored.symlink_metadata().is_ok() || stored.file_name().is_some_and(|name| name == FILE) {
        return Ok(());
    }
    let Ok(mut file) = regular_file::open(work, Symlinks::Follow) else { return Ok(()) };
    std::fs::create_dir_all(stored.parent().unwrap_or(stored))?;
    std::io::copy(&mut file, &mut std::fs::File::create_new(stored)?)?;
    Ok(())
}

/// Returns the folders above these paths.
fn folders_of(paths: &BTreeSet<String>) -> BTreeSet<String> {
    let above = |path: &String| path.match_indices('/').map(|(end, _)| path[..end].to_owned()).collect::<Vec<_>>();
    paths.iter().flat_map(above).collect()
}

/// Returns the files that a configuration names: texts of settings, documents for reviewers, and components.
fn names(config: &Config) -> Vec<String> {
    let checks = || config.checks.values();
    let texts = checks().flat_map(|check| check.settings_files.values().cloned());
    let documents = checks().filter_map(|check| check.settings.get("documents")?.as_array());
    let documents = documents.flatten().filter_map(|document| document.as_str().map(str::to_owned));
    let verifiers = checks().map(|check| &check.verifier).filter(|name| name.contains(['/', '.']));
    let verifiers = verifiers.map(|name| name.split("@sha256:").next().unwrap_or(name).to_owned());
    texts.chain(documents).chain(verifiers).collect()
}

/// Returns the bytes of gate.toml and of every file that it names, by their paths relative to it.
pub(super) fn files(found: &FoundPolicy) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let name = found.path.as_ref().and_then(|path| path.file_name()).unwrap_or(FILE.as_ref());
    let mut files =
        BTreeMap::from([(FILE.to_owned(), super::policy::read_named(&found.folder.join(name), &found.name)?)]);
    for name in names(&found.config) {
        let Some(path) = normal("", &name) else {
            let shown = clean_line(&name, 200);
            return Err(Error::input(format_args!("the configuration names `{shown}`, outside its folder")));
        };
        let read = |path: &Path| {
            let mut bytes = Vec::new();
            regular_file::open(path, Symlinks::Follow)?.read_to_end(&mut bytes).map(|_| bytes)
        };
        // If a document is missing, the verifier reports it.
        if let Ok(bytes) = read(&found.folder.join(&name)) {
            files.insert(path, bytes);
        }
    }
    Ok(files)
}

/// Returns a path in a folder without `.` and `..`; `None` if it leaves the repository.
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
        let touched = |changes: &Changes| -> Vec<String> {
            let paths = changes.changes.iter().flat_map(|change| [Some(&change.path), change.old_path.as_ref()]);
            let touched = paths.flatten().filter(|path| trusted.paths.contains(*path) || protected.contains(path));
            touched.cloned().collect::<BTreeSet<_>>().into_iter().collect()
        };
        if changes.base.as_ref() == Some(&trusted.commit) {
            return Ok(touched(changes));
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
        let root = WorkFolder { folder: work.project().to_owned(), root: work.root.clone() };
        Ok(touched(&changes::collect_at(&root, &selection, changes::Needs::default(), environment, None)?))
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
        let stored = changes::stored(work.project(), &trusted.commit, &wanted, environment)?;
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

    #[test]
    fn folders_are_those_above_the_files() {
        let paths = BTreeSet::from(["gate.toml".to_owned(), "a/b/c.md".to_owned()]);
        assert!(folders_of(&paths).iter().eq(["a", "a/b"].iter()));
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
