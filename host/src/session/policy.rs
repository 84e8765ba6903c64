//! Finds the configuration of a request: a named file, the nearest gate.toml, verifiers that the caller named, or the
//! default gate.

use super::trusted::{self, Trusted};
use super::{ProgressFile, Request};
use crate::changes::{self, WorkFolder};
use crate::config::{self, Config, Grant};
use crate::environment::Environment;
use crate::error::{Error, ErrorCategory};
use crate::record::PolicyRecord;
use crate::regular_file::{self, Symlinks};
use crate::runtime::BUNDLED;
use crate::text;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(crate) const FILE: &str = "gate.toml";

/// Where a configuration comes from.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Policy {
    /// The gate.toml in the folder, or the nearest one above it in its repository. If there is none, the default gate. In a
    /// repository, the version in the base commit of the change is used, if that commit has one.
    #[default]
    Nearest,
    /// The nearest gate.toml, always as it is in the working tree. For a person who edits it.
    Work,
    /// This file, relative to the folder of the request.
    File(PathBuf),
    /// The gate.toml in the folder or above it, and every file that it names, as this commit has them. A change that touches
    /// one of these files is checked by the old version, and needs human review.
    Commit(String),
    /// No file: run this command, which must exit with code 0. It may write to the workspace and has no network.
    Command(Vec<String>),
    /// No file: run these verifiers, all of which must pass.
    Verifiers {
        /// Bundled names or paths of components, with `@sha256:HEX` to pin one.
        verifiers: Vec<String>,
        /// The settings of the verifiers: a JSON object.
        settings: serde_json::Value,
        /// The grants of the verifiers. Only `workspace` can be granted without a file; commands and models must be declared
        /// in one.
        grants: Vec<Grant>,
    },
}

/// Who chose a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyOrigin {
    /// The caller named it, or it is in the folder itself.
    File,
    /// The file is above the folder, in the same repository.
    Above,
    /// There is no file: the default gate.
    Default,
    /// The caller named verifiers instead.
    Flags,
    /// The file was read from a commit that the caller trusts.
    Commit,
}

impl PolicyOrigin {
    /// Returns the word used in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Above => "above",
            Self::Default => "default",
            Self::Flags => "flags",
            Self::Commit => "base",
        }
    }
}

/// A configuration, and where it came from.
#[derive(Debug)]
pub(super) struct FoundPolicy {
    pub(super) config: Config,
    /// The name of the configuration in messages.
    pub(super) name: String,
    /// The file that the configuration was read from, if any.
    pub(super) path: Option<PathBuf>,
    /// The folder that paths of the configuration are relative to.
    pub(super) folder: PathBuf,
    origin: PolicyOrigin,
    digest: Option<String>,
    /// The commit that the configuration was read from, if any.
    pub(super) trusted: Option<Trusted>,
}

impl FoundPolicy {
    /// Returns the file of `[progress]`, next to the gate.toml of the working tree.
    pub(super) fn progress_file(&self) -> Option<ProgressFile> {
        Some(ProgressFile { folder: self.path.as_ref()?.parent()?.to_owned(), name: self.config.progress.clone()? })
    }

    pub(super) fn record(&self) -> PolicyRecord {
        PolicyRecord {
            source: self.origin.as_str().to_owned(),
            name: self.name.clone(),
            digest: self.digest.clone(),
            commit: self.trusted.as_ref().map(|trusted| trusted.commit.clone()),
        }
    }
}

/// Finds and reads the configuration of a request.
pub(super) fn find(request: &Request) -> Result<FoundPolicy, Error> {
    match &request.policy {
        Policy::Nearest | Policy::Work => nearest(&request.folder, &request.work_folder()?, &request.environment),
        Policy::File(named) => {
            let (path, name) = (request.folder.join(named), named.display().to_string());
            let folder = path.parent().unwrap_or(&request.folder).to_owned();
            written(read(open(&path, &name)?, &name)?, name, Some(path), folder, PolicyOrigin::File)
        }
        Policy::Commit(name) => trusted::find(request.work_folder()?, name, &request.environment),
        Policy::Command(argv) => Ok(from_flags(request, config::of_command(argv))),
        Policy::Verifiers { verifiers, settings, grants } => of_verifiers(request, verifiers, settings, grants),
    }
}

fn nearest(folder: &Path, work: &WorkFolder, environment: &Environment) -> Result<FoundPolicy, Error> {
    let Some(PolicyFile { path, above, owner }) = nearest_entry(work)? else {
        let config = config::of_verifiers(&default_verifiers(), &serde_json::json!({}), &[]).named("default");
        let (name, origin) = ("the default gate".to_owned(), PolicyOrigin::Default);
        return Ok(FoundPolicy {
            config,
            name,
            path: None,
            folder: folder.to_owned(),
            origin,
            digest: None,
            trusted: None,
        });
    };
    let name = format!("{}{FILE}", "../".repeat(above));
    let file = open(&path, &name)?;
    let metadata = file.metadata().map_err(|error| unreadable(&name).because(error))?;
    for owner in [owner, metadata.uid()] {
        must_be_ours(owner, &name, environment)?;
    }
    let folder = path.parent().unwrap_or(folder).to_owned();
    let origin = if above == 0 { PolicyOrigin::File } else { PolicyOrigin::Above };
    written(read(file, &name)?, name, Some(path), folder, origin)
}

fn unreadable(name: &str) -> Error {
    Error::new(ErrorCategory::Configuration, format_args!("cannot read `{name}`"))
}

fn open(path: &Path, name: &str) -> Result<File, Error> {
    regular_file::open(path, Symlinks::Follow).map_err(|error| match path.is_symlink() && !path.exists() {
        true => Error::new(
            ErrorCategory::Configuration,
            format_args!("`{name}` is a symlink, and its target cannot be read"),
        )
        .because(error),
        false => unreadable(name).because(error),
    })
}

fn read(file: File, name: &str) -> Result<Vec<u8>, Error> {
    // Read one byte more than is accepted, to notice files that are too long.
    let mut bytes = Vec::new();
    let read = file.take(config::MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(name).because(error))?;
    Ok(bytes)
}

/// Reads a file of a configuration. `name` is its name in messages.
pub(super) fn read_named(path: &Path, name: &str) -> Result<Vec<u8>, Error> {
    read(open(path, name)?, name)
}

pub(super) fn written(
    bytes: Vec<u8>,
    name: String,
    path: Option<PathBuf>,
    folder: PathBuf,
    origin: PolicyOrigin,
) -> Result<FoundPolicy, Error> {
    let mut config = config::parse(&bytes).map_err(|problems| Error::configuration(&name, &problems))?;
    config.read_settings_files(&folder).map_err(|problems| Error::configuration(&name, &problems))?;
    let digest = Some(text::sha256(Sha256::digest(&bytes)));
    Ok(FoundPolicy { config, name, path, folder, origin, digest, trusted: None })
}

/// A gate.toml that was found by its name, and that the caller did not choose.
struct PolicyFile {
    path: PathBuf,
    /// How many folders above the requested one.
    above: usize,
    /// The owner of the directory entry: for a symlink, the owner of the link.
    owner: u32,
}

/// Finds `gate.toml` in the folder or above it in its repository. Outside a repository, a file above the folder may be
/// anybody's, so it is not used. An entry that cannot be read is still chosen, so that an unreadable file never leads to a
/// weaker gate.
fn nearest_entry(work: &WorkFolder) -> Result<Option<PolicyFile>, Error> {
    let (real, root) = (&work.folder, work.project());
    for (above, folder) in real.ancestors().take_while(|folder| folder.starts_with(root)).enumerate() {
        let path = folder.join(FILE);
        match path.symlink_metadata() {
            Ok(entry) => return Ok(Some(PolicyFile { path, above, owner: entry.uid() })),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                let what = format!("cannot check whether `{}` exists", path.display());
                return Err(Error::new(ErrorCategory::Configuration, what).because(error));
            }
        }
    }
    // The author of the change may have created a nested repository to be checked by the default gate.
    if let Some(project) = changes::enclosing(root) {
        let above = real.ancestors().take_while(|folder| folder.starts_with(&project)).enumerate();
        let mut above = above.filter(|(_, folder)| folder.join(FILE).symlink_metadata().is_ok());
        if let Some((above, _)) = above.next() {
            let name = format!("{}{FILE}", "../".repeat(above));
            let hidden =
                format!("this folder is a nested repository without {FILE}, but the project around it has `{name}`");
            let hint = format!("choose it with `-c {name}`, or remove the `.git` of `{}`", root.display());
            return Err(Error::new(ErrorCategory::Configuration, hidden).hint(hint));
        }
    }
    Ok(None)
}

/// Refuses a gate.toml of another user, because gate.toml can run commands. A caller who trusts it names it.
fn must_be_ours(owner: u32, name: &str, environment: &Environment) -> Result<(), Error> {
    let user = rustix::process::geteuid().as_raw();
    let sudo = environment.text("SUDO_UID").and_then(|user| user.parse().ok());
    if is_trusted(owner, user, sudo) {
        return Ok(());
    }
    let foreign = format!("`{name}` belongs to another user (its owner is user {owner}, you are user {user})");
    let hint = format!("if you trust it, choose it with `-c {name}`");
    Err(Error::new(ErrorCategory::Configuration, foreign).hint(hint))
}

/// Returns whether the file belongs to the user, to root, or, under sudo, to the user who called sudo. Git uses the same
/// rule for repositories.
fn is_trusted(owner: u32, user: u32, sudo: Option<u32>) -> bool {
    owner == user || owner == 0 || (user == 0 && sudo == Some(owner))
}

/// Returns every bundled syntax verifier.
fn default_verifiers() -> Vec<String> {
    let names = BUNDLED.iter().map(|bundled| bundled.name.to_owned());
    names.filter(|name| name.ends_with("-syntax")).collect()
}

/// Returns a gate of the verifiers that the caller named.
fn of_verifiers(
    request: &Request,
    verifiers: &[String],
    settings: &serde_json::Value,
    grants: &[Grant],
) -> Result<FoundPolicy, Error> {
    if !settings.is_object() {
        return Err(Error::usage(format_args!("expected the settings to be a JSON object, found `{settings}`")));
    }
    if let Some(other) = grants.iter().find(|grant| **grant != Grant::Workspace) {
        return Err(Error::usage(format_args!("`--grant {other}` needs a declaration in gate.toml"))
            .hint("only `--grant workspace` works without a gate.toml; declare other grants there".to_owned()));
    }
    Ok(from_flags(request, config::of_verifiers(verifiers, settings, grants)))
}

/// Returns the policy that the flags of the caller make.
fn from_flags(request: &Request, config: Config) -> FoundPolicy {
    FoundPolicy {
        config,
        name: "the command line".to_owned(),
        path: None,
        folder: request.folder.clone(),
        origin: PolicyOrigin::Flags,
        digest: None,
        trusted: None,
    }
}

#[cfg(test)]
mod tests {
    use super::is_trusted;

    #[test]
    fn a_gate_of_another_user_is_not_trusted() {
        for (owner, user, sudo, trusted) in [
            (1000, 1000, None, true),
            (0, 1000, None, true),
            (1001, 1000, None, false),
            (1001, 1000, Some(1001), false),
            (1000, 0, None, false),
            (1000, 0, Some(1000), true),
            (1001, 0, Some(1000), false),
        ] {
            assert_eq!(is_trusted(owner, user, sudo), trusted, "{owner} {user} {sudo:?}");
        }
    }
}
