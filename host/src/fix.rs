//! The fixes that verifiers offer: applied in a copy of the workspace, and kept only if the gate result improves.
//!
//! A fix is an offer of the verifier that reported the finding. The gate decides whether it helps: no finding may be new, no
//! check may have a worse result, and a finding must be gone. Fixes uncover others, such as the second error of a parser
//! that stops at the first, so several rounds are tried.

mod edits;

use crate::changes::{self, Selection};
use crate::error::Error;
use crate::outcome::{Node, NodeKind, Outcome};
use crate::record::Record;
use crate::session::{Host, LedgerUse, Pinned, Recording, Request};
use crate::verdict::{Edit, Finding};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The most rounds.
const MAX_ROUNDS: usize = 10;
/// How many files are tried one by one, if all together do not help.
const MAX_ALONE: usize = 20;
/// Larger files are not fixed.
const MAX_BYTES: u64 = 16 << 20;

/// A file, before and after its fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFix {
    /// The path relative to the root of the work.
    pub path: String,
    /// Its content.
    pub before: String,
    /// Its fixed content.
    pub after: String,
}

/// The fixes that help.
#[derive(Debug)]
pub struct Proposal {
    /// The root of the work.
    root: PathBuf,
    /// The files, ordered by path; empty if no fix helps.
    pub files: Vec<FileFix>,
    /// The record of the work as it is.
    pub before: Record,
    /// The record of the fixed work; `None` if no fix helps.
    pub after: Option<Record>,
    /// How many findings have a fix.
    pub offered: usize,
}

impl Proposal {
    /// Writes the fixed files. If one file has changed since, nothing is written.
    pub fn write(&self) -> Result<(), Error> {
        let changed =
            |file: &&FileFix| fs::read(self.root.join(&file.path)).ok().as_deref() != Some(file.before.as_bytes());
        if let Some(file) = self.files.iter().find(changed) {
            return Err(Error::host(format_args!("`{}` changed while fixes were tried", file.path)));
        }
        for file in &self.files {
            let path = self.root.join(&file.path);
            let cannot = |error| Error::host(format_args!("cannot write `{}`", file.path)).because(error);
            // In place, so that its mode and hard links stay.
            fs::write(&path, &file.after).map_err(cannot)?;
        }
        Ok(())
    }
}

/// Returns whether a record has fixes.
pub fn offers(record: &Record) -> bool {
    offered(&record.gate).next().is_some()
}

/// Finds the fixes that help. `pinned` is the gate, and `before` its record of the work as it is.
pub fn propose(host: &Host, request: &Request, pinned: &Pinned, before: Record) -> Result<Proposal, Error> {
    let work = changes::collect(&request.folder, &request.selection, changes::Needs::default(), &request.environment)?;
    let root = work.workspace.root().to_owned();
    let mut proposal =
        Proposal { root, files: Vec::new(), offered: offered(&before.gate).count(), before, after: None };
    if proposal.offered == 0 {
        return Ok(proposal);
    }
    if !request.selection.is_live() {
        return Err(Error::usage("only files of the working tree can be fixed"));
    }
    let base = work.base.ok_or_else(|| {
        Error::input("`gate fix` tries fixes in a copy of the workspace, which needs a git repository with a commit")
    })?;
    let copy = changes::copy(&request.folder, &base, &request.environment)?;
    let folder = request.folder.canonicalize().ok();
    let inside = folder.as_deref().and_then(|folder| folder.strip_prefix(&proposal.root).ok()).unwrap_or(Path::new(""));
    let mut trial = request.clone();
    trial.folder = copy.root().join(inside);
    trial.pinned = Some(pinned.clone());
    trial.ledger = LedgerUse::Off;
    trial.first.clear();
    trial.models = Recording::Off;
    trial.commands = None;
    if trial.selection == Selection::Changed {
        trial.selection = Selection::Base(base);
    }
    let trial = FixTrial { host, request: trial, root: copy.root().to_owned() };
    let start = trial.judge()?;
    let paths: BTreeSet<String> = offered(&start.gate).map(|(path, _)| path.to_owned()).collect();
    let kept = match trial.repair(&start, &paths)? {
        Some(kept) => Some(kept),
        None => trial.one_by_one(&start, &paths)?,
    };
    if let Some((after, originals)) = kept {
        for (path, before) in originals {
            let after = fs::read_to_string(trial.root.join(&path)).map_err(unreadable(&path))?;
            proposal.files.push(FileFix { path, before, after });
        }
        proposal.after = Some(after);
    }
    Ok(proposal)
}

/// The original content of the fixed files.
type Originals = BTreeMap<String, String>;

/// A copy of the workspace in which fixes are tried.
struct FixTrial<'h> {
    host: &'h Host,
    request: Request,
    root: PathBuf,
}

impl FixTrial<'_> {
    fn judge(&self) -> Result<Record, Error> {
        let tokio = tokio::runtime::Builder::new_current_thread().build();
        tokio
            .map_err(|error| Error::host("cannot wait").because(error))?
            .block_on(self.host.run(self.request.clone(), ()))
    }

    /// Fixes these files until no fix is left. If that does not help, they are restored.
    fn repair(&self, start: &Record, paths: &BTreeSet<String>) -> Result<Option<(Record, Originals)>, Error> {
        let mut originals = Originals::new();
        let mut now = start.clone();
        for _ in 0..MAX_ROUNDS {
            let mut edits: BTreeMap<&str, Vec<&Edit>> = BTreeMap::new();
            for (path, finding) in offered(&now.gate).filter(|(path, _)| paths.contains(*path)) {
                edits.entry(path).or_default().extend(finding.fix.iter().flat_map(|fix| &fix.edits));
            }
            let mut changed = false;
            for (path, edits) in edits {
                let file = self.root.join(path);
                let Some(text) = small_text(&file) else { continue };
                let Some(fixed) = edits::apply(&text, &edits) else { continue };
                fs::write(&file, fixed).map_err(unreadable(path))?;
                originals.entry(path.to_owned()).or_insert(text);
                changed = true;
            }
            if !changed {
                break;
            }
            now = self.judge()?;
        }
        if !originals.is_empty() && is_better(&start.gate, &now.gate) {
            return Ok(Some((now, originals)));
        }
        for (path, text) in originals {
            fs::write(self.root.join(&path), text).map_err(unreadable(&path))?;
        }
        Ok(None)
    }

    /// Fixes one file after the other, and keeps the fixes that help.
    fn one_by_one(&self, start: &Record, paths: &BTreeSet<String>) -> Result<Option<(Record, Originals)>, Error> {
        let mut kept: Option<(Record, Originals)> = None;
        for path in paths.iter().take(MAX_ALONE).filter(|_| paths.len() > 1) {
            let now = kept.as_ref().map_or(start, |(now, _)| now).clone();
            if let Some((now, more)) = self.repair(&now, &BTreeSet::from([path.clone()]))? {
                let mut originals = kept.map(|(_, originals)| originals).unwrap_or_default();
                originals.extend(more);
                kept = Some((now, originals));
            }
        }
        Ok(kept)
    }
}

fn unreadable(path: &str) -> impl FnOnce(std::io::Error) -> Error {
    let what = format!("cannot fix the copy of `{path}`");
    move |error| Error::host(what).because(error)
}

/// Returns the text of a file that can be fixed: a regular text file that is not too large.
fn small_text(file: &Path) -> Option<String> {
    let about = file.symlink_metadata().ok()?;
    let small = about.is_file() && about.len() <= MAX_BYTES;
    fs::read_to_string(file).ok().filter(|_| small)
}

/// Returns the findings with a fix, of checks that count, with their files.
fn offered(gate: &Node) -> impl Iterator<Item = (&str, &Finding)> {
    findings(gate).filter(|finding| finding.fix.as_ref().is_some_and(|fix| !fix.edits.is_empty())).filter_map(
        |finding| {
            let path = finding.place.as_ref()?.path.as_str();
            crate::workspace::is_inside(path).then_some((path, finding))
        },
    )
}

fn findings(gate: &Node) -> impl Iterator<Item = &Finding> {
    let checks = gate.walk().filter(|node| node.kind == NodeKind::Check && !node.shadow);
    checks.flat_map(|node| node.verdict.iter().flat_map(|verdict| &verdict.findings))
}

/// Returns whether a finding is gone, none is new, and no check has a worse result.
fn is_better(before: &Node, after: &Node) -> bool {
    let fingerprints = |gate: &Node| findings(gate).map(|finding| finding.fingerprint.clone()).collect::<BTreeSet<_>>();
    let (old, new) = (fingerprints(before), fingerprints(after));
    let rank = |node: &Node| match node.outcome {
        Outcome::Error => 3,
        Outcome::Fail => 2,
        Outcome::Abstain => 1,
        _ => 0,
    };
    let ranks = |gate: &Node| {
        let checks = gate.walk().filter(|node| node.kind == NodeKind::Check && !node.shadow);
        checks.map(|node| (node.name.clone(), rank(node))).collect::<BTreeMap<_, _>>()
    };
    let (was, is) = (ranks(before), ranks(after));
    // A check that was not reached before says nothing about the fix.
    let reached = |name: &String| before.walk().any(|node| node.name == *name && node.outcome != Outcome::NotReached);
    let worse = is.iter().any(|(name, rank)| reached(name) && was.get(name).is_none_or(|before| rank > before));
    let new_findings = new.difference(&old).next().is_some();
    !worse && !new_findings && new.len() < old.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{Level, Status, Verdict};

    fn gate(checks: &[(&str, Outcome, &[&str])]) -> Node {
        let child = |(name, outcome, fingerprints): &(&str, Outcome, &[&str])| {
            let finding = |fingerprint: &&str| Finding {
                fingerprint: (*fingerprint).to_owned(),
                ..Finding::new("code", Level::Error, "bad")
            };
            let verdict = Verdict { findings: fingerprints.iter().map(finding).collect(), ..Verdict::of(Status::Fail) };
            Node { verdict: Some(verdict), ..Node::new(*name, NodeKind::Check, *outcome) }
        };
        Node { children: checks.iter().map(child).collect(), ..Node::new("g", NodeKind::All, Outcome::Fail) }
    }

    #[test]
    fn a_repair_is_kept_only_where_it_helps() {
        use Outcome::{Error, Fail, Pass};
        let before = gate(&[("a", Fail, &["1", "2"]), ("b", Pass, &[])]);
        for (after, better) in [
            (gate(&[("a", Fail, &["1"]), ("b", Pass, &[])]), true),
            (gate(&[("a", Pass, &[]), ("b", Pass, &[])]), true),
            (gate(&[("a", Fail, &["1", "2"]), ("b", Pass, &[])]), false),
            (gate(&[("a", Fail, &["3"]), ("b", Pass, &[])]), false),
            (gate(&[("a", Pass, &[]), ("b", Fail, &["4"])]), false),
            (gate(&[("a", Pass, &[]), ("b", Fail, &[])]), false),
            (gate(&[("a", Error, &[]), ("b", Pass, &[])]), false),
        ] {
            assert_eq!(is_better(&before, &after), better, "{after:?}");
        }
    }
}
