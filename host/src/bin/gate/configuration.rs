//! Which configuration counts: the one that was named, the nearest gate.toml, the verifiers of the command line, or the
//! default gate.

use crate::args::{Global, Run};
use crate::complaint::Complaint;
use crate::terminal::say;
use anyhow::{Context, anyhow};
use gatehost::changes;
use gatehost::config::{self, Config, Grant};
use gatehost::runtime::BUNDLED;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const FILE: &str = "gate.toml";

/// A configuration, and where it came from.
pub(crate) struct Configured {
    pub(crate) config: Config,
    /// What it is called in messages.
    pub(crate) name: String,
    /// The file, if it was read from one.
    pub(crate) path: Option<PathBuf>,
    /// What its paths are relative to.
    pub(crate) folder: PathBuf,
    origin: Origin,
}

/// Who chose a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// It was named, or is in the folder itself.
    Caller,
    /// It is above the folder, in the same repository.
    Above,
    /// Nobody wrote one.
    Default,
}

impl Configured {
    /// Tell where it came from, if that may surprise. `verb`: it `is`, or it `was`, the one that counts.
    pub(crate) fn announce(&self, global: &Global, verb: &str) {
        let name = &self.name;
        match self.origin {
            _ if global.quiet => {}
            Origin::Caller => {}
            Origin::Above => say(format_args!("note: this {verb} the gate of `{name}`")),
            Origin::Default => say(format_args!(
                "note: there is no gate.toml, so this {verb} the default gate; `gate init` writes one to start from"
            )),
        }
    }
}

/// The configuration that was named, or the nearest one, or the default.
pub(crate) fn find(global: &Global, named: Option<&Path>) -> Result<Configured, Complaint> {
    if let Some(named) = named {
        let (path, name) = (global.directory.join(named), named.display().to_string());
        let folder = path.parent().unwrap_or(&global.directory);
        let configured = written(read(open(&path, &name)?, &name)?, name, folder, Origin::Caller)?;
        return Ok(Configured { path: Some(path), ..configured });
    }
    let Some(Found { path, above, owner }) = nearest(&global.directory)? else {
        return written(default_gate(), "the default gate".to_owned(), &global.directory, Origin::Default);
    };
    let name = format!("{}{FILE}", "../".repeat(above));
    let file = open(&path, &name)?;
    let metadata = file.metadata().map_err(Complaint::mistake)?;
    for owner in [owner, metadata.uid()] {
        must_be_ours(owner, &name)?;
    }
    let folder = path.parent().unwrap_or(&global.directory);
    let origin = if above == 0 { Origin::Caller } else { Origin::Above };
    let configured = written(read(file, &name)?, name, folder, origin)?;
    Ok(Configured { path: Some(path), ..configured })
}

fn open(path: &Path, name: &str) -> Result<File, Complaint> {
    let opened = config::open_regular(path).with_context(|| match path.is_symlink() && !path.exists() {
        true => format!("`{name}` is a link, and what it leads to cannot be read"),
        false => format!("cannot read `{name}`"),
    });
    opened.map_err(Complaint::mistake)
}

fn read(file: File, name: &str) -> Result<Vec<u8>, Complaint> {
    // One byte more than is accepted, so that what is too long is seen to be.
    let mut bytes = Vec::new();
    let read = file.take(config::MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read `{name}`")).map_err(Complaint::mistake)?;
    Ok(bytes)
}

fn written(bytes: Vec<u8>, name: String, folder: &Path, origin: Origin) -> Result<Configured, Complaint> {
    let mut config = config::parse(&bytes).map_err(|problems| Complaint::problems(&name, &problems))?;
    config.read_settings_files(folder).map_err(|problems| Complaint::problems(&name, &problems))?;
    Ok(Configured { config, name, path: None, folder: folder.to_owned(), origin })
}

/// A gate.toml that nobody named.
struct Found {
    path: PathBuf,
    /// How many folders above.
    above: usize,
    /// Whose entry it is in its folder: of a link, whose link.
    owner: u32,
}

/// `gate.toml` in the folder, or else above it in its repository. Outside of one, what is above may be anybody's. Whatever
/// has the name is the one, so that none is passed over for a weaker gate because it cannot be read.
fn nearest(folder: &Path) -> Result<Option<Found>, Complaint> {
    let real = folder
        .canonicalize()
        .with_context(|| format!("cannot open the folder `{}`", folder.display()))
        .map_err(Complaint::mistake)?;
    let root = changes::repository(&real)?.filter(|root| real.starts_with(root)).unwrap_or_else(|| real.clone());
    for (above, folder) in real.ancestors().take_while(|folder| folder.starts_with(&root)).enumerate() {
        let path = folder.join(FILE);
        match path.symlink_metadata() {
            Ok(entry) => return Ok(Some(Found { path, above, owner: entry.uid() })),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                let what = format!("cannot tell whether there is a `{}`", path.display());
                return Err(Complaint::mistake(anyhow!(error).context(what)));
            }
        }
    }
    // A repository inside another may have been made by the author of the change, to be judged by the default gate.
    if let Some(project) = changes::enclosing(&root) {
        let above = real.ancestors().take_while(|folder| folder.starts_with(&project)).enumerate();
        let mut above = above.filter(|(_, folder)| folder.join(FILE).symlink_metadata().is_ok());
        if let Some((above, _)) = above.next() {
            let name = format!("{}{FILE}", "../".repeat(above));
            let hidden = anyhow!(
                "this folder is in a repository of its own, and has no {FILE}, but the project around it has `{name}`"
            );
            return Err(Complaint::mistake(hidden)
                .hint(format!("name the one that counts: `-c {name}`; or remove the `.git` of `{}`", root.display())));
        }
    }
    Ok(None)
}

/// What a gate.toml says can run commands, so that of another user counts only if it is named.
fn must_be_ours(owner: u32, name: &str) -> Result<(), Complaint> {
    let user = rustix::process::geteuid().as_raw();
    let sudo = std::env::var("SUDO_UID").ok().and_then(|user| user.parse().ok());
    if is_trusted(owner, user, sudo) {
        return Ok(());
    }
    let foreign = anyhow!("`{name}` belongs to another user (its owner is {owner}, you are {user})");
    Err(Complaint::mistake(foreign).hint(format!("if you trust what it says, name it: `-c {name}`")))
}

/// The user's own, the system's, and for root that of whoever became root: as git does it with repositories.
fn is_trusted(owner: u32, user: u32, sudo: Option<u32>) -> bool {
    owner == user || owner == 0 || (user == 0 && sudo == Some(owner))
}

/// Every bundled syntax verifier over the files that it is for.
fn default_gate() -> Vec<u8> {
    let names: Vec<&str> =
        BUNDLED.iter().map(|bundled| bundled.name).filter(|name| name.ends_with("-syntax")).collect();
    let checks: String = names.iter().map(|name| format!("[check.{name}]\nverifier = \"{name}\"\n")).collect();
    format!("[gate.default]\nall = {names:?}\n{checks}").into_bytes()
}

/// A gate of the verifiers that were named on the command line.
pub(crate) fn ad_hoc(global: &Global, command: &Run) -> Result<Configured, Complaint> {
    let settings = match &command.settings {
        None => serde_json::json!({}),
        Some(text) => serde_json::from_str(text)
            .context("expected `--settings` to be a JSON object")
            .map_err(Complaint::mistake)?,
    };
    if !settings.is_object() {
        return Err(Complaint::mistake(anyhow!("expected `--settings` to be a JSON object, found `{settings}`")));
    }
    if let Some(other) = command.grant.iter().find(|grant| **grant != Grant::Workspace) {
        return Err(Complaint::mistake(anyhow!("`--grant {other}` names what only a gate.toml can declare"))
            .hint("`--grant workspace` can be given here; for all others, declare it in a gate.toml".to_owned()));
    }
    let config = config::of_verifiers(&command.verifier, &settings, &command.grant);
    let folder = global.directory.clone();
    Ok(Configured { config, name: "the command line".to_owned(), path: None, folder, origin: Origin::Caller })
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
