//! Commits work that passed: exactly the bytes that were checked.

use super::repeated;
use crate::changes::{self, Needs, Selection};
use crate::error::Error;
use crate::search_path;
use crate::session::Request;
use crate::text::clean;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Commits all differences from the base, except files that the loop wrote itself, and returns the commit. `tree` is the
/// digest of the checked work. A commit with another digest is undone.
pub(super) fn commit(
    request: &Request,
    base: &str,
    tree: &str,
    message: &str,
    own: &BTreeSet<String>,
) -> Result<String, Error> {
    let found = changes::collect(&request.folder, &Selection::Changed, Needs::default(), &request.environment)?;
    let root = found.workspace.root().to_owned();
    let git = CallerGit::find(&root, request)?;
    let before = git.head()?;
    let changed = found.changes.iter().flat_map(|change| [Some(&change.path), change.old_path.as_ref()]).flatten();
    let paths: BTreeSet<&String> = changed.filter(|path| !own.contains(*path)).collect();
    if !paths.is_empty() {
        let list: String = paths.iter().map(|path| format!("{path}\0")).collect();
        // Exactly these paths, as they are in the working tree, whatever is ignored or staged.
        git.run(&["update-index", "--add", "--remove", "-z", "--stdin"], list.as_bytes())?;
        git.run(&["commit", "--quiet", "--file=-"], message.as_bytes())?;
    }
    let after = git.head()?;
    let stored = repeated::tree(
        &root,
        &Selection::Between { from: base.to_owned(), to: after.clone() },
        own,
        &request.environment,
    );
    if stored.as_deref() != Some(tree) {
        if after != before {
            git.run(&["reset", "--quiet", "--soft", &before], b"")?;
        }
        return Err(Error::host(
            "the commit would have contained other bytes than those that were checked, so it was not made",
        )
        .hint("check for commit hooks that change files, and for programs that still write".to_owned()));
    }
    Ok(after)
}

/// The git of the caller, with the caller's settings and hooks.
struct CallerGit {
    program: PathBuf,
    root: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl CallerGit {
    fn find(root: &Path, request: &Request) -> Result<Self, Error> {
        let path = request.environment.get("PATH").map(OsString::from).unwrap_or_default();
        let program = search_path::find_program("git", &path, root);
        let program = program.ok_or_else(|| Error::host("there is no `git` in PATH outside the workspace"))?;
        let environment = request.environment.variables();
        let environment = environment.map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        Ok(Self { program, root: root.to_owned(), environment })
    }

    fn head(&self) -> Result<String, Error> {
        Ok(self.run(&["rev-parse", "HEAD"], b"")?.trim().to_owned())
    }

    fn run(&self, arguments: &[&str], stdin: &[u8]) -> Result<String, Error> {
        let name = arguments.first().copied().unwrap_or_default();
        let failed = |error: std::io::Error| Error::host(format_args!("`git {name}` cannot be run")).because(error);
        let mut git = Command::new(&self.program);
        git.arg("-C").arg(&self.root).args(arguments).env_clear().envs(self.environment.iter().cloned());
        git.env("GIT_TERMINAL_PROMPT", "0");
        git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = git.spawn().map_err(failed)?;
        if let Some(mut pipe) = child.stdin.take() {
            // If git exits before it reads, its exit code and output say why.
            let _ = pipe.write_all(stdin);
        }
        let output = child.wait_with_output().map_err(failed)?;
        if !output.status.success() {
            let said = clean(&String::from_utf8_lossy(&output.stderr), 2_000);
            return Err(Error::host(format_args!("`git {name}` failed: {}", said.trim())));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
