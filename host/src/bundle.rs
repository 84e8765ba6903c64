//! A run in one file: the policy, the checked files, the answers of commands and models, and the ledger entry. Replaying it
//! gives the same record elsewhere, so that a dispute about a verdict ends in one command.
//!
//! A run does not store the checked bytes. They are taken from the working tree or a commit, and only if they have the
//! digest in the record.

mod replay;

pub use replay::{RecordDifference, Replayed, replay};

use crate::changes::{self, Needs, Selection};
use crate::deadline::Deadline;
use crate::environment::Environment;
use crate::error::Error;
use crate::ledger::body::Committed;
use crate::ledger::{Entry, EntryKind, Filter, Ledger};
use crate::record::Record;
use crate::session::{POLICY_FILE, Policy, PolicyFiles, Request, RunInputs, StoredRun, policy_files, tree_digest};
use crate::submission::Submission;
use crate::text::clean_line;
use crate::workspace::Workspace;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The version of the bundle format.
const VERSION: u32 = 1;
/// The most bytes of files in a bundle.
const MAX_BYTES: u64 = 256 << 20;

/// A run, with everything that is needed to repeat it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    /// The version of this format.
    pub version: u32,
    /// The ledger entry of the run. Its body is the record.
    pub entry: BundledEntry,
    /// The inputs that decided the run, besides the files and the policy.
    given: RunInputs,
    /// The files of the policy, including gate.toml; empty for the default gate.
    policy: BTreeMap<String, String>,
    /// The files of the workspace that verifiers could read, by path.
    work: BTreeMap<String, BundledFile>,
    /// The results of commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commands: Option<String>,
    /// The answers of models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    models: Option<String>,
}

/// A ledger entry, with its bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundledEntry {
    /// Its number.
    pub seq: u64,
    /// When it was appended.
    pub at: String,
    /// Its project.
    pub project: crate::ledger::Project,
    /// Its labels.
    pub labels: crate::ledger::Labels,
    /// The hash of the entry before it.
    pub prev: crate::ledger::Hash,
    /// Its hash.
    pub hash: crate::ledger::Hash,
    /// Its bytes, in base64.
    body: String,
}

impl BundledEntry {
    fn of(entry: &Entry) -> Self {
        let Entry { seq, at, project, labels, prev, hash, body, .. } = entry.clone();
        Self { seq, at, project, labels, prev, hash, body: STANDARD.encode(body) }
    }

    /// Returns the entry, if its hash matches its content.
    pub fn entry(&self) -> Result<Entry, Error> {
        let Self { seq, at, project, labels, prev, hash, body } = self.clone();
        let altered = || Error::input("the bundle was altered: the hash of its entry does not match");
        let body = STANDARD.decode(body).map_err(|_| altered())?;
        let entry = Entry { seq, at, project, kind: EntryKind::Run, labels, prev, hash, body };
        if entry.is_intact() { Ok(entry) } else { Err(altered()) }
    }
}

/// A file of the workspace.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BundledFile {
    /// `file`, `program` or `link`.
    kind: String,
    /// Its bytes, or the target of the symlink, in base64.
    content: String,
}

/// Makes a bundle of a run. `folder` is in the project of the run.
pub fn make(ledger: &dyn Ledger, entry: &Entry, folder: &Path, environment: &Environment) -> Result<Bundle, Error> {
    let record = entry.record()?;
    let gone = |what: &str| Error::input(format_args!("run {} cannot be bundled: {what}", record.run));
    let stored = StoredRun::of(ledger, &record.run);
    let stored = stored.map_err(|error| gone("what is stored of it cannot be read").because(error))?;
    let StoredRun { inputs: given, commands, models } = stored.ok_or_else(|| gone("its inputs are not stored"))?;
    let policy = policy(&record, folder, environment)?;
    let submission = submission(&given.submission)?;
    let work = work(ledger, &record, &submission, &given.paths, folder, environment)?;
    Ok(Bundle { version: VERSION, entry: BundledEntry::of(entry), commands, models, given, policy, work })
}

/// Returns the submission that was checked. Fields that only the host may set are restored separately.
fn submission(kept: &Value) -> Result<Submission, Error> {
    let mut document = kept.clone();
    let mut source = None;
    if let Some(fields) = document.as_object_mut() {
        fields.remove("evidence");
        fields.remove("tree_digest");
        source = fields.get_mut("task").and_then(Value::as_object_mut).and_then(|task| task.remove("source"));
    }
    let unreadable = |error: serde_json::Error| Error::input("the submission in it cannot be read").because(error);
    let mut submission: Submission = serde_json::from_value(document).map_err(unreadable)?;
    if let (Some(task), Some(source)) = (submission.task.as_mut(), source) {
        task.source = crate::submission::TaskSource::named(source.as_str().unwrap_or_default());
    }
    Ok(submission)
}

/// Returns the files of the policy of the run.
fn policy(record: &Record, folder: &Path, environment: &Environment) -> Result<BTreeMap<String, String>, Error> {
    let mut request = Request::new(folder, environment.clone());
    request.policy = match (record.policy.source.as_str(), &record.policy.commit) {
        ("default", _) => return Ok(BTreeMap::new()),
        ("flags", _) => {
            return Err(Error::input("its verifiers were named on the command line, and a bundle cannot contain them")
                .hint("declare them in a gate.toml, and run its gate".to_owned()));
        }
        (_, Some(commit)) => Policy::Commit(commit.clone()),
        ("above", None) => Policy::Nearest,
        (_, None) if record.policy.name == POLICY_FILE => Policy::Nearest,
        (_, None) => Policy::File(record.policy.name.clone().into()),
    };
    let PolicyFiles { digest, files } = policy_files(&request)?;
    if digest != record.policy.digest {
        return Err(
            Error::input("its configuration is no longer here").hint("check out the commit of the run".to_owned())
        );
    }
    Ok(files.into_iter().map(|(path, bytes)| (path, STANDARD.encode(bytes))).collect())
}

/// Returns the files that verifiers could read: the checked files, and with the grant `workspace` all others.
fn work(
    ledger: &dyn Ledger,
    record: &Record,
    submission: &Submission,
    paths: &[String],
    folder: &Path,
    environment: &Environment,
) -> Result<BTreeMap<String, BundledFile>, Error> {
    let root = changes::root(folder, environment)?.unwrap_or_else(|| folder.to_owned());
    let noted = Filter { run: Some(record.run.clone()), ..Filter::default().kinds(&[EntryKind::Commit]) };
    let commits = ledger.entries(&noted)?;
    let commits = commits.iter().map(|entry| Ok(entry.read::<Committed>()?.commit_sha));
    let commits = commits.collect::<Result<Vec<String>, Error>>()?.into_iter().chain(record.selection.to.clone());
    let has_it = |root: &Path| -> Option<Workspace> {
        let workspace = Workspace::open(root).ok()?;
        (tree_digest(submission, &workspace, &Deadline::default()) == record.tree).then_some(workspace)
    };
    let reads_all = record.gate.walk().filter_map(|node| node.verifier.as_ref());
    let reads_all = reads_all.into_iter().any(|verifier| verifier.grants.iter().any(|grant| grant == "workspace"));
    // The target of a symlink is checked under the name of the symlink.
    let leads_on = |workspace: &Workspace| reads_all || paths.iter().any(|path| workspace.link_target(path).is_ok());
    if let Some(workspace) = has_it(&root) {
        let all = match leads_on(&workspace) {
            true => changes::collect(folder, &Selection::All, Needs::default(), environment)?
                .paths()
                .into_iter()
                .map(str::to_owned)
                .collect(),
            false => Vec::new(),
        };
        return files(&workspace, paths.iter().cloned().chain(all));
    }
    for commit in commits {
        let Ok(stored) = changes::checkout(&root, &commit, environment, &Deadline::default()) else { continue };
        if let Some(workspace) = has_it(stored.path()) {
            let all = if leads_on(&workspace) { changes::below(stored.path())? } else { Vec::new() };
            return files(&workspace, paths.iter().cloned().chain(all));
        }
    }
    Err(Error::input(format_args!("run {} cannot be bundled: the checked files are no longer here", record.run))
        .hint("bundle a run before its files change, or after they are committed".to_owned()))
}

fn files(workspace: &Workspace, paths: impl Iterator<Item = String>) -> Result<BTreeMap<String, BundledFile>, Error> {
    let mut files = BTreeMap::new();
    let mut left = MAX_BYTES;
    for path in paths {
        let (kind, bytes) = match workspace.link_target(&path) {
            Ok(target) => ("link", target.into_bytes()),
            Err(_) => match workspace.read_with_mode(&path, left) {
                Ok((bytes, executable)) => (if executable { "program" } else { "file" }, bytes),
                // A folder, such as another repository, has no bytes here.
                Err(crate::workspace::WorkspaceError::WrongKind(_)) => continue,
                Err(crate::workspace::WorkspaceError::TooLarge(size)) => {
                    let (used, most) = (MAX_BYTES - left, MAX_BYTES >> 20);
                    let path = clean_line(&path, 200);
                    let message = format!(
                        "the files cannot be bundled: together they have more than {most} MiB, `{path}` with its {size} bytes after \
                         {used} bytes of others"
                    );
                    return Err(Error::input(message));
                }
                Err(error) => {
                    let what = format!("`{}` cannot be bundled", clean_line(&path, 200));
                    return Err(Error::input(what).because(std::io::Error::other(error.to_string())));
                }
            },
        };
        left = left.saturating_sub(bytes.len() as u64);
        files.insert(path, BundledFile { kind: kind.to_owned(), content: STANDARD.encode(bytes) });
    }
    Ok(files)
}
