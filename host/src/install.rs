//! Installs gates into the settings of coding agents, git hooks and CI, and removes them again.
//!
//! Existing configuration is kept: settings are edited in place, comments included, and an existing git hook still runs.
//! Installing twice changes nothing.

mod ci;
pub mod git;
mod hosts;
mod settings;
mod trust;

pub use hosts::{
    Handler, client, command_line, deadline, handlers, program, settings_file, settings_files, stop_event,
    switched_off, timeout, verifies,
};
pub use settings::value as settings_value;
pub use trust::{Trust, trust_of, trusted_line};

use crate::environment::Environment;
use crate::error::Error;
use crate::hook::AgentHost;
use crate::writer::{self, Expected, WriteError};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A place where a gate can be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// The settings of a coding agent's host.
    Host(AgentHost),
    /// The hooks of this repository.
    Git,
    /// A workflow of GitHub Actions.
    Github,
    /// A job of GitLab CI.
    Gitlab,
}

impl Target {
    /// Every target.
    pub const ALL: &[Self] = &[
        Self::Host(AgentHost::Claude),
        Self::Host(AgentHost::Codex),
        Self::Host(AgentHost::Gemini),
        Self::Host(AgentHost::Qwen),
        Self::Host(AgentHost::Copilot),
        Self::Host(AgentHost::Cursor),
        Self::Git,
        Self::Github,
        Self::Gitlab,
    ];

    /// Returns its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Host(host) => host.as_str(),
            Self::Git => "git",
            Self::Github => "github",
            Self::Gitlab => "gitlab",
        }
    }

    /// Returns the target of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|target| target.as_str() == name)
    }

    /// Returns whether it seems to be used in this folder, because it left a file here.
    pub fn is_used(self, root: &Path) -> bool {
        let sign = match self {
            Self::Host(AgentHost::Claude) => ".claude",
            Self::Host(AgentHost::Codex) => ".codex",
            Self::Host(AgentHost::Gemini) => ".gemini",
            Self::Host(AgentHost::Qwen) => ".qwen",
            Self::Host(AgentHost::Copilot) => ".github/hooks",
            Self::Host(AgentHost::Cursor) => ".cursor",
            Self::Git => ".git",
            Self::Github => ".github/workflows",
            Self::Gitlab => ".gitlab-ci.yml",
        };
        root.join(sign).exists()
    }
}

/// One step of an installation: what was done to a file, or what is left to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallStep {
    /// It was written or edited.
    Written(PathBuf),
    /// It was up to date.
    Kept(PathBuf),
    /// It was removed.
    Removed(PathBuf),
    /// Something that the user has to know or do.
    Note(String),
}

/// Installs a gate. `gate` is the absolute path of the program.
pub fn install(target: Target, root: &Path, gate: &Path, environment: &Environment) -> Result<Vec<InstallStep>, Error> {
    if !gate.is_absolute() {
        return Err(Error::host(format_args!("expected an absolute path, found `{}`", gate.display())));
    }
    match target {
        Target::Host(host) => {
            let path = root.join(settings_file(host));
            let before = read(&path)?;
            let after =
                settings::merged(before.as_deref(), &hosts::entries(host, gate), hosts::root_entries(host), host)
                    .map_err(|error| error.context(&format!("cannot edit `{}`", path.display())))?;
            let mut changes = vec![store(&path, before.as_deref(), &after, writer::PLAIN)?];
            changes.extend(hosts::notes(host, root).into_iter().map(InstallStep::Note));
            Ok(changes)
        }
        Target::Git => git::install(root, gate, environment),
        Target::Github => ci::install(root, ci::GITHUB),
        Target::Gitlab => ci::install(root, ci::GITLAB),
    }
}

/// Removes a gate. Settings of others stay.
pub fn uninstall(target: Target, root: &Path, environment: &Environment) -> Result<Vec<InstallStep>, Error> {
    let changes = match target {
        Target::Host(host) => {
            let path = root.join(settings_file(host));
            let Some(before) = read(&path)? else { return Ok(vec![InstallStep::Kept(path)]) };
            let after = settings::without(&before, host)
                .map_err(|error| error.context(&format!("cannot edit `{}`", path.display())))?;
            match after {
                Some(after) => vec![store(&path, Some(&before), &after, writer::PLAIN)?],
                None => remove(&path)?,
            }
        }
        Target::Git => return git::uninstall(root, environment),
        Target::Github => ci::uninstall(root, ci::GITHUB)?,
        Target::Gitlab => ci::uninstall(root, ci::GITLAB)?,
    };
    for change in &changes {
        if let InstallStep::Removed(path) = change {
            remove_empty_folders(path, root);
        }
    }
    Ok(changes)
}

/// Removes the folders around a removed file, up to the root, that hold nothing else.
fn remove_empty_folders(removed: &Path, root: &Path) {
    let folders = removed.ancestors().skip(1).take_while(|folder| *folder != root && folder.starts_with(root));
    for folder in folders {
        // A folder that is not empty cannot be removed.
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

fn read(path: &Path) -> Result<Option<String>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::input(format_args!("cannot read `{}`", path.display())).because(error)),
    }
}

/// Writes a file as a whole or not at all. An unchanged file is not written. `mode` is that of a new file before the umask.
fn store(path: &Path, before: Option<&str>, after: &str, mode: u32) -> Result<InstallStep, Error> {
    if before == Some(after) {
        return Ok(InstallStep::Kept(path.to_owned()));
    }
    let expected = before.map_or(Expected::Absent, |text| Expected::Content(text.as_bytes()));
    let after = writer::with_line_endings_of(before.unwrap_or_default(), after);
    writer::create_folders_above(path)
        .map_err(WriteError::from)
        // Symlinks are followed, as the host does.
        .and_then(|_| writer::replace(path, expected, after.as_bytes(), mode))
        .map_err(|error| Error::input(format_args!("cannot write `{}`", path.display())).because(error))?;
    Ok(InstallStep::Written(path.to_owned()))
}

fn remove(path: &Path) -> Result<Vec<InstallStep>, Error> {
    // As they are written, behind symlinks, which stay.
    match writer::remove(path) {
        Ok(()) => Ok(vec![InstallStep::Removed(path.to_owned())]),
        Err(error) => Err(Error::input(format_args!("cannot remove `{}`", path.display())).because(error)),
    }
}

/// Quotes a word for a shell command.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+@".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
