//! The files of the working tree that the configuration of git names: hooks, parts of the configuration itself, and programs
//! such as filters and monitors. Git runs them, or does what they say.

use super::Repository;
use crate::changes::ChangesError;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The hooks that git knows (githooks(5)).
const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

impl Repository {
    /// Returns the files and folders inside the working tree that the configuration names, relative to the root.
    pub(in crate::changes) fn named_by_configuration(&self) -> Result<Vec<String>, ChangesError> {
        let said = self.git()?.run(&["config", "--type=path", "--null", "--get-all", "core.hooksPath"])?;
        let hooks = said.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let mut named: Vec<String> =
            hooks.flat_map(|folder| self.hooks(Path::new(OsStr::from_bytes(folder)))).collect();
        let said = self.git()?.run(&["config", "--list", "--show-origin", "--null"])?;
        let said = String::from_utf8_lossy(&said);
        let mut fields = said.split('\0');
        // Where a setting is from, and its key and value on lines of their own.
        while let (Some(origin), Some(setting)) = (fields.next(), fields.next()) {
            let origin = origin.strip_prefix("file:").map(Path::new);
            // Git names a file from the root, and a part of the configuration from the file that includes it.
            let folders = [Some(Path::new("")), origin.and_then(Path::parent)];
            let (key, value) = setting.split_once('\n').unwrap_or((setting, ""));
            // A program that is named without a folder is one of the search path.
            let is_path = key.ends_with("file") || key.ends_with("path");
            let words = value.split(|char: char| char.is_whitespace() || "'\"`!;&|()<>=".contains(char));
            let words = words.filter(|word| is_path || word.contains('/'));
            let words = words.flat_map(|word| folders.iter().flatten().map(move |folder| folder.join(word)));
            named.extend(origin.map(Path::to_owned).into_iter().chain(words).filter_map(|name| self.named_file(&name)));
        }
        named.sort();
        named.dedup();
        Ok(named)
    }

    /// Returns a folder of hooks, named through a symlink or not. Of the root, only the hooks are returned.
    fn hooks(&self, folder: &Path) -> Vec<String> {
        let folder = self.root.join(folder);
        // Our own setting leads nowhere.
        let folders = [folder.canonicalize().ok(), Some(folder)].into_iter().flatten();
        let named = folders.filter_map(|folder| self.inside(&folder));
        let all = |folder: String| match folder.as_str() {
            "" => HOOKS.iter().map(|hook| (*hook).to_owned()).collect(),
            _ => vec![folder],
        };
        named.flat_map(all).collect()
    }

    /// Returns the file that a word of the configuration names, if it is in the working tree.
    fn named_file(&self, name: &Path) -> Option<String> {
        let home = || Some(self.environment.home()?.join(name.strip_prefix("~").ok()?));
        let path = home().unwrap_or_else(|| self.root.join(name)).canonicalize().ok()?;
        self.inside(&path).filter(|_| path.is_file())
    }

    fn inside(&self, path: &Path) -> Option<String> {
        let parts = path.strip_prefix(&self.root).ok()?.components();
        Some(parts.collect::<PathBuf>().to_str()?.to_owned())
    }
}
