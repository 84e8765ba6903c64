//! Git hooks: small scripts that run the previous hook first, and then `gate git-hook`.
//!
//! If `gate` is missing, the script fails and git refuses the commit or push. `--no-verify` skips every hook, so rely on
//! CI.

use super::{InstallStep, quoted, store};
use crate::environment::Environment;
use crate::error::Error;
use crate::search_path;
use crate::writer::{self, Expected};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The hooks that are installed.
pub const HOOKS: &[&str] = &["pre-commit", "commit-msg", "pre-push"];
/// The start of the second line of our scripts.
const MARK: &str = "# Written by `gate install git`";
/// The suffix of an earlier hook.
const BEFORE: &str = ".before-gate";

/// Returns the folder of the hooks of the repository that `root` is in.
pub fn hooks_folder(root: &Path, environment: &Environment) -> Result<PathBuf, Error> {
    let said = ask(root, environment, &["rev-parse", "--git-path", "hooks"])?;
    Ok(root.join(said))
}

fn ask(root: &Path, environment: &Environment, arguments: &[&str]) -> Result<String, Error> {
    let path = environment.get("PATH").unwrap_or_default();
    let missing = || Error::host("there is no `git` in PATH outside the workspace");
    let mut git = Command::new(search_path::find_program("git", path, root).ok_or_else(missing)?);
    git.arg("-C").arg(root).args(arguments).stdin(Stdio::null()).env("PATH", search_path::outside(path, root));
    let output = git.output().map_err(|error| Error::host("cannot run `git`").because(error))?;
    if !output.status.success() {
        let said = crate::text::clean_line(&String::from_utf8_lossy(&output.stderr), 300);
        let message = format!("`git {}` failed: {said}", arguments.join(" "));
        return Err(Error::input(message).hint("git hooks need a git repository: `git init`".to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

fn script(name: &str, gate: &Path) -> String {
    let gate = quoted(&gate.to_string_lossy());
    // Both hooks get the stdin of git. The script uses only builtins of the shell, because there may be no PATH.
    let (keep, feed) = match name {
        "pre-push" => {
            ("refs=\nwhile IFS= read -r line; do\n  refs=\"$refs$line\n\"\ndone\n", "printf '%s' \"$refs\" | ")
        }
        _ => ("", ""),
    };
    format!(
        "#!/bin/sh\n{MARK}. `gate uninstall git` restores what was here before.\n\
         before=${{0%/*}}/{name}{BEFORE}\n{keep}\
         if [ -x \"$before\" ]; then\n  {feed}\"$before\" \"$@\" || exit\nfi\n\
         {feed}{gate} git-hook {name} \"$@\"\n"
    )
}

fn is_ours(text: &str) -> bool {
    text.lines().nth(1).is_some_and(|line| line.starts_with(MARK))
}

/// Returns the command of our script, if the script exists and is executable.
pub fn installed(root: &Path, name: &str, environment: &Environment) -> Result<Option<String>, Error> {
    let path = hooks_folder(root, environment)?.join(name);
    let text = fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let executable = fs::metadata(&path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0);
    Ok(Some(text).filter(|text| executable && is_ours(text)))
}

/// Installs every hook, or none.
pub(super) fn install(root: &Path, gate: &Path, environment: &Environment) -> Result<Vec<InstallStep>, Error> {
    let folder = hooks_folder(root, environment)?;
    refuse_shared(root, &folder, environment)?;
    let mut changes = Vec::new();
    let mut done = Vec::new();
    for name in HOOKS {
        match HookChange::install(&folder, name, gate) {
            Ok((change, steps)) => {
                done.extend(change);
                changes.extend(steps);
            }
            Err(error) => {
                done.iter().rev().for_each(HookChange::undo);
                return Err(error);
            }
        }
    }
    Ok(changes)
}

/// A hook that was changed.
enum HookChange {
    /// There was none.
    New(PathBuf),
    /// Ours had another content.
    Updated { path: PathBuf, before: String, now: String },
    /// An earlier hook got another name.
    Displaced { path: PathBuf, kept: PathBuf },
}

impl HookChange {
    fn install(folder: &Path, name: &str, gate: &Path) -> Result<(Option<Self>, Vec<InstallStep>), Error> {
        let (path, kept) = (folder.join(name), folder.join(format!("{name}{BEFORE}")));
        let before = fs::read(&path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let ours = script(name, gate);
        // A symlink without a target is displaced, too.
        let dangles = before.is_none() && path.is_symlink();
        if !dangles && before.as_deref().is_none_or(is_ours) {
            let step = store(&path, before.as_deref(), &ours, writer::PROGRAM)?;
            let executable = fs::set_permissions(&path, fs::Permissions::from_mode(0o755));
            let change = match before {
                None => Some(Self::New(path.clone())),
                Some(before) if before != ours => Some(Self::Updated { path: path.clone(), before, now: ours }),
                Some(_) => None,
            };
            return match executable {
                Ok(()) => Ok((change, vec![step])),
                Err(error) => {
                    change.iter().for_each(Self::undo);
                    let message = format!("cannot make `{}` executable", path.display());
                    Err(Error::input(message).because(error))
                }
            };
        }
        if kept.symlink_metadata().is_ok() && !is_same_entry(&path, &kept) {
            let message = format!("both `{}` and `{}` are hooks", kept.display(), path.display());
            return Err(Error::input(message).hint("remove the one that you do not use".to_owned()));
        }
        writer::displace(&path, &kept, ours.as_bytes())
            .map_err(|error| Error::input(format_args!("cannot write `{}`", path.display())).because(error))?;
        let note = InstallStep::Note(format!("the existing hook `{name}` still runs first"));
        let steps = vec![note, InstallStep::Written(path.clone())];
        Ok((Some(Self::Displaced { path, kept }), steps))
    }

    /// Undoes the change, because another hook could not be installed.
    fn undo(&self) {
        let _ = match self {
            Self::New(path) => fs::remove_file(path),
            Self::Updated { path, before, now } => {
                let expected = Expected::Content(now.as_bytes());
                let _ = writer::replace(path, expected, before.as_bytes(), writer::PROGRAM);
                Ok(())
            }
            Self::Displaced { path, kept } => fs::rename(kept, path),
        };
    }
}

/// Returns whether two names are those of one file, as they are if an earlier installation was killed.
fn is_same_entry(a: &Path, b: &Path) -> bool {
    let of = |path: &Path| path.symlink_metadata().map(|about| (about.dev(), about.ino())).ok();
    of(a).is_some() && of(a) == of(b)
}

/// Refuses a folder of hooks outside the repository, which other repositories use too.
fn refuse_shared(root: &Path, folder: &Path, environment: &Environment) -> Result<(), Error> {
    let common = root.join(ask(root, environment, &["rev-parse", "--git-common-dir"])?);
    let top = PathBuf::from(ask(root, environment, &["rev-parse", "--show-toplevel"])?);
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (folder, common, top) = (real(folder), real(&common), real(&top));
    if folder.starts_with(&common) || folder.starts_with(&top) {
        return Ok(());
    }
    let message = format!("`core.hooksPath` is `{}`, which is outside this repository", folder.display());
    Err(Error::input(message).hint("set it for this repository: `git config core.hooksPath .githooks`".to_owned()))
}

/// Removes every hook of ours, and restores the earlier hooks.
pub(super) fn uninstall(root: &Path, environment: &Environment) -> Result<Vec<InstallStep>, Error> {
    let folder = hooks_folder(root, environment)?;
    let mut changes = Vec::new();
    for name in HOOKS {
        let path = folder.join(name);
        let ours = fs::read(&path).is_ok_and(|bytes| is_ours(&String::from_utf8_lossy(&bytes)));
        if !ours {
            continue;
        }
        let before = folder.join(format!("{name}{BEFORE}"));
        if before.symlink_metadata().is_ok() {
            fs::rename(&before, &path)
                .map_err(|error| Error::input(format_args!("cannot restore `{}`", path.display())).because(error))?;
            changes.push(InstallStep::Written(path));
        } else {
            changes.extend(super::remove(&path)?);
        }
    }
    Ok(changes)
}
