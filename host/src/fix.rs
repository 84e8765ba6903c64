//! The fixes that verifiers offer: applied in a copy of the workspace, and kept only if the gate result improves.
//!
//! A fix is an offer of the verifier that reported the finding. The gate decides whether it helps: no finding may be new, no
//! check may have a worse result, and a finding must be gone. Fixes uncover others, such as the second error of a parser
//! that stops at the first, so several rounds are tried.

mod edits;
mod names;
mod scope;

pub use scope::OutOfScope;

use crate::changes::{self, Changes, ChangesError, Needs, Selection, WorkFolder};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::outcome::{Node, NodeKind, Outcome};
use crate::record::Record;
use crate::session::{Host, LedgerUse, Pinned, Recording, Request};
use crate::text::clean_line;
use crate::verdict::{Edit, Finding, Fix};
use crate::workspace::Workspace;
use crate::writer::{self, Beneath, Expected, WriteError};
use scope::FixScope;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    /// The files for which a fix was offered that it may not change.
    pub refused: BTreeMap<String, OutOfScope>,
    /// Why not every fix was tried, if the deadline of the gate passed first.
    pub late: Option<String>,
}

impl Proposal {
    /// Writes the fixed files, all or none: if one has changed since, or cannot be written, the others stay as they are.
    pub fn write(&self) -> Result<(), Error> {
        let cannot = |path: &str, error: WriteError| {
            let path = clean_line(path, 200);
            match error {
                WriteError::Changed => Error::host(format_args!("`{path}` changed while fixes were tried")),
                error => Error::host(format_args!("cannot write `{path}`")).because(error),
            }
        };
        let work =
            Beneath::open(&self.root).map_err(|error| Error::host("cannot open the workspace").because(error))?;
        let mut staged = Vec::new();
        for FileFix { path, before, after } in &self.files {
            let expected = Expected::Content(before.as_bytes());
            let file = work.stage(path, expected, after.as_bytes(), writer::PLAIN);
            staged.push(file.map_err(|error| cannot(path, error))?);
        }
        writer::commit(staged).map_err(|(at, error)| cannot(self.files.get(at).map_or(".", |file| &file.path), error))
    }
}

/// Returns whether a record has fixes.
pub fn offers(record: &Record) -> bool {
    offered(&record.gate).next().is_some()
}

/// Returns the fixes of a record that [`propose`] would try, each with its check and finding.
pub fn permitted<'r>(
    request: &Request,
    pinned: &Pinned,
    record: &'r Record,
) -> Result<Vec<(&'r Node, &'r Finding, &'r Fix)>, Error> {
    if !offers(record) {
        return Ok(Vec::new());
    }
    let Some(work) = collect(request, &deadline_of(pinned))? else { return Ok(Vec::new()) };
    let scope = FixScope::new(request, pinned, work.workspace.root(), &work.changes)?;
    let is_permitted = |offer: &Offer<'_>| {
        let text = text(&work.workspace, offer.path);
        text.is_some_and(|text| scope.refuses(offer.check, offer.path, &text).is_none())
    };
    let permitted = offered(&record.gate).filter(is_permitted);
    Ok(permitted.filter_map(|offer| Some((offer.check, offer.finding, offer.finding.fix.as_ref()?))).collect())
}

/// Finds the fixes that help. `pinned` is the gate, and `before` its record of the work as it is.
pub fn propose(host: &Host, request: &Request, pinned: &Pinned, before: Record) -> Result<Proposal, Error> {
    let (root, deadline, offered_fixes) = (request.folder.clone(), deadline_of(pinned), offered(&before.gate).count());
    let (files, refused) = (Vec::new(), BTreeMap::new());
    let mut proposal = Proposal { root, files, offered: offered_fixes, before, after: None, refused, late: None };
    if proposal.offered == 0 {
        return Ok(proposal);
    }
    let Some(work) = collect(request, &deadline)? else {
        let late = deadline.check().err().map(|late| late.to_string());
        return Ok(Proposal { late, ..proposal });
    };
    work.workspace.root().clone_into(&mut proposal.root);
    let scope = FixScope::new(request, pinned, &proposal.root, &work.changes)?;
    if !request.selection.is_live() {
        return Err(Error::usage("only files of the working tree can be fixed"));
    }
    // Also where the selection compares nothing.
    let base = changes::base(&request.folder, &request.selection, &request.environment)?;
    let base = base.ok_or_else(|| {
        Error::input("`gate fix` tries fixes in a copy of the workspace, which needs a git repository with a commit")
    })?;
    let copy = changes::copy(&request.folder, &base, &request.environment, &deadline)?;
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
    let cannot = |error: io::Error| Error::host("cannot open the copy of the workspace").because(error);
    // An ignored folder is not in the copy.
    fs::create_dir_all(&trial.folder).map_err(cannot)?;
    if !trial.folder.canonicalize().map_err(cannot)?.starts_with(copy.root()) {
        return Err(Error::host("the copy of the workspace leads out of its own folder"));
    }
    let files = Beneath::open(copy.root()).map_err(cannot)?;
    let work = Workspace::open(copy.root()).map_err(cannot)?;
    let (refused, written) = (RefCell::default(), RefCell::default());
    let trial = FixTrial { host, request: trial, work, files, scope, deadline, refused, written };
    let start = trial.judge()?;
    let paths: BTreeSet<String> = offered(&start.gate).map(|offer| offer.path.to_owned()).collect();
    let kept = match trial.repair(&start, &paths)? {
        Some(kept) => Some(kept),
        None => trial.one_by_one(&start, &paths)?,
    };
    if let Some((after, originals)) = kept {
        for (path, before) in originals {
            let after = trial.text(&path).ok_or_else(|| Error::host(format_args!("cannot read the fixed `{path}`")))?;
            proposal.files.push(FileFix { path, before, after });
        }
        proposal.after = Some(after);
    }
    proposal.late = trial.deadline.check().err().map(|late| late.to_string());
    proposal.refused = trial.refused.into_inner();
    Ok(proposal)
}

/// Returns the deadline of a gate for all that is done to fix the work.
fn deadline_of(pinned: &Pinned) -> Deadline {
    let (deadline, plan) = (Deadline::from_now(), pinned.plan());
    deadline.set(&plan.root.name, plan.deadline, Duration::ZERO);
    deadline
}

/// Returns the changes of the work, if they are found before the deadline.
fn collect(request: &Request, deadline: &Deadline) -> Result<Option<Changes>, Error> {
    let Request { folder, selection, environment, .. } = request;
    let work = WorkFolder::of(folder, environment)?.until(deadline);
    match changes::collect_at(&work, selection, &Needs::default, environment, None) {
        Err(ChangesError::Late(_)) => Ok(None),
        found => Ok(Some(found?)),
    }
}

/// The original content of the fixed files.
type Originals = BTreeMap<String, String>;

/// A copy of the workspace in which fixes are tried.
struct FixTrial<'t> {
    host: &'t Host,
    request: Request,
    /// The copy.
    work: Workspace,
    /// Writes into the copy.
    files: Beneath,
    scope: FixScope<'t>,
    /// The deadline of the gate, for all trials together.
    deadline: Deadline,
    refused: RefCell<BTreeMap<String, OutOfScope>>,
    /// What was written into the copy last. All other files have the content that they have in the workspace.
    written: RefCell<BTreeMap<String, String>>,
}

impl FixTrial<'_> {
    fn judge(&self) -> Result<Record, Error> {
        let tokio = tokio::runtime::Builder::new_current_thread().build();
        tokio
            .map_err(|error| Error::host("cannot wait").because(error))?
            .block_on(self.host.run_until(self.request.clone(), &self.deadline))
    }

    /// Fixes these files until no fix is left. If that does not help, they are restored.
    fn repair(&self, start: &Record, paths: &BTreeSet<String>) -> Result<Option<(Record, Originals)>, Error> {
        let mut originals = Originals::new();
        let mut now = start.clone();
        for _ in 0..MAX_ROUNDS {
            if self.deadline.is_over() {
                break;
            }
            let mut edits: BTreeMap<&str, Vec<&Edit>> = BTreeMap::new();
            let mut texts: BTreeMap<&str, String> = BTreeMap::new();
            for offer in offered(&now.gate).filter(|offer| paths.contains(offer.path)) {
                if !texts.contains_key(offer.path) {
                    let Some(text) = self.text(offer.path) else { continue };
                    texts.insert(offer.path, text);
                }
                if let Some(why) = self.refuses(&offer, &texts[offer.path]) {
                    self.refused.borrow_mut().insert(offer.path.to_owned(), why);
                    continue;
                }
                edits.entry(offer.path).or_default().extend(offer.finding.fix.iter().flat_map(|fix| &fix.edits));
            }
            let mut changed = false;
            for (path, edits) in edits {
                let Some(text) = texts.remove(path) else { continue };
                let Some(fixed) = edits::apply(&text, &edits) else { continue };
                self.put(path, &text, &fixed)?;
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
            let fixed = self.text(&path).unwrap_or_default();
            self.put(&path, &fixed, &text)?;
        }
        Ok(None)
    }

    /// Returns why a fix is not tried. What a check itself wrote into the copy is not what it was asked about.
    fn refuses(&self, offer: &Offer<'_>, now: &str) -> Option<OutOfScope> {
        let was_given = match self.written.borrow().get(offer.path) {
            Some(written) => written == now,
            None => self.scope.has(offer.path, now),
        };
        self.scope.refuses(offer.check, offer.path, now).or((!was_given).then_some(OutOfScope::NotJudged))
    }

    fn text(&self, path: &str) -> Option<String> {
        text(&self.work, path)
    }

    /// Replaces a file of the copy.
    fn put(&self, path: &str, before: &str, after: &str) -> Result<(), Error> {
        let written = self.files.replace(path, Expected::Content(before.as_bytes()), after.as_bytes(), writer::PLAIN);
        let what = format_args!("cannot fix the copy of `{}`", clean_line(path, 200)).to_string();
        written.map_err(|error| Error::host(what).because(error))?;
        self.written.borrow_mut().insert(path.to_owned(), after.to_owned());
        Ok(())
    }

    /// Fixes one file after the other, and keeps the fixes that help.
    fn one_by_one(&self, start: &Record, paths: &BTreeSet<String>) -> Result<Option<(Record, Originals)>, Error> {
        let mut kept: Option<(Record, Originals)> = None;
        for path in paths.iter().take(MAX_ALONE).filter(|_| paths.len() > 1 && !self.deadline.is_over()) {
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

/// Returns the text of a file that can be fixed: a regular text file that is not too large.
fn text(work: &Workspace, path: &str) -> Option<String> {
    String::from_utf8(work.read(path, MAX_BYTES).ok()?).ok()
}

/// A fix that a check offers for a file.
struct Offer<'r> {
    check: &'r Node,
    path: &'r str,
    finding: &'r Finding,
}

/// Returns the fixes of checks that count.
fn offered(gate: &Node) -> impl Iterator<Item = Offer<'_>> {
    checks(gate).flat_map(|check| {
        let findings = check.verdict.iter().flat_map(|verdict| &verdict.findings);
        findings.filter_map(move |finding| {
            let path = finding.place.as_ref()?.path.as_str();
            let has_edits = finding.fix.as_ref().is_some_and(|fix| !fix.edits.is_empty());
            (has_edits && crate::workspace::is_inside(path)).then_some(Offer { check, path, finding })
        })
    })
}

fn checks(gate: &Node) -> impl Iterator<Item = &Node> {
    gate.walk().filter(|node| node.kind == NodeKind::Check && !node.shadow)
}

fn findings(gate: &Node) -> impl Iterator<Item = &Finding> {
    checks(gate).flat_map(|node| node.verdict.iter().flat_map(|verdict| &verdict.findings))
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
    let ranks = |gate: &Node| checks(gate).map(|node| (node.name.clone(), rank(node))).collect::<BTreeMap<_, _>>();
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
