//! The files of the working tree that the configuration of git names: hooks, parts of the configuration itself, and programs
//! such as filters and monitors. Git runs them, or does what they say.
//!
//! A value may be a shell command, so it names a file if it contains its base name as a word, wherever the file is. That a file
//! is taken for a program by mistake only means that no fix changes it.

use super::Repository;
use super::layout::Layout;
use crate::changes::ChangesError;
use crate::workspace::real_inside;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Variables that name what git runs.
const VARIABLES: &[&str] = &[
    "EDITOR",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    "PAGER",
    "SSH_ASKPASS",
    "VISUAL",
];
/// Keys whose values are texts for people.
const TEXTS: &[&str] = &["author.email", "author.name", "committer.email", "committer.name", "user.email", "user.name"];
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

/// Returns whether git takes a file with this name for a hook, if it is in a folder of hooks. One word, such as `update`, may be
/// the name of anything.
pub(crate) fn is_hook_name(name: &str) -> bool {
    name.contains('-') && HOOKS.contains(&name)
}

/// What the configuration of git names.
#[derive(Debug, Default)]
pub(crate) struct NamedByGit {
    /// The folders of the repository and of its hooks, without symlinks.
    pub(crate) folders: Vec<PathBuf>,
    /// Files and folders, relative to the root of the work, in lower case.
    paths: Vec<String>,
    /// The values of settings, without quotes, in lower case.
    values: Vec<String>,
}

impl NamedByGit {
    /// Returns whether git runs a file, or does what it says.
    pub(crate) fn has(&self, path: &str) -> bool {
        let path = path.to_ascii_lowercase();
        let is_at_or_below =
            |entry: &String| path.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let name = path.rsplit('/').next().unwrap_or(&path);
        self.paths.iter().any(is_at_or_below) || self.values.iter().any(|value| names_file(value, name))
    }
}

impl Repository {
    /// Adds what the configuration names below `work`, which is the root of the working tree or a folder in it.
    pub(in crate::changes) fn add_named(&self, work: &Path, named: &mut NamedByGit) -> Result<(), ChangesError> {
        let said = self.git()?.run(&["config", "--type=path", "--null", "--get-all", "core.hooksPath"])?;
        let hooks = said.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(OsStr::from_bytes);
        let layout = Layout::of(&self.root, &self.environment);
        for folder in hooks.map(Path::new).chain([layout.folder(), layout.common()]) {
            // Our own setting leads nowhere.
            named.folders.extend(self.root.join(folder).canonicalize());
            named.paths.extend(self.hooks(work, folder));
        }
        let said = self.git()?.run(&["config", "--list", "--show-origin", "--null"])?;
        let said = String::from_utf8_lossy(&said);
        let mut fields = said.split('\0');
        // Where a setting is from, and its key and value on lines of their own.
        while let (Some(origin), Some(setting)) = (fields.next(), fields.next()) {
            let origin = origin.strip_prefix("file:").map(|file| self.root.join(file));
            let (key, value) = setting.split_once('\n').unwrap_or((setting, ""));
            let is_text = TEXTS.contains(&key) || (key.starts_with("branch.") && key.ends_with(".description"));
            if !is_text {
                self.read_value(work, named, key, value, origin.as_deref().and_then(Path::parent));
            }
            named.paths.extend(origin.and_then(|file| real_inside(work, &file)));
        }
        for key in VARIABLES {
            let value = self.environment.get(key).map(OsStr::to_string_lossy);
            self.read_value(work, named, &key.to_ascii_lowercase(), &value.unwrap_or_default(), None);
        }
        named.paths.retain(|path| !path.is_empty());
        named.paths.iter_mut().for_each(|path| path.make_ascii_lowercase());
        Ok(())
    }

    /// Adds what a value names. Git names a file from the root, and a part of the configuration from the file that includes it.
    fn read_value(&self, work: &Path, named: &mut NamedByGit, key: &str, value: &str, near: Option<&Path>) {
        // A single word without a folder is more often a name than one of a folder.
        let is_path =
            ["dir", "file", "path"].iter().any(|end| key.ends_with(end)) || value.contains(char::is_whitespace);
        let words = value.split(|char: char| char.is_whitespace() || "'\"`!;&|()<>=".contains(char));
        for word in words.filter(|word| is_path || word.contains('/')) {
            let home = || Some(self.environment.home()?.join(word.strip_prefix("~/")?));
            let path = home().unwrap_or_else(|| self.root.join(word));
            let paths = near.map(|folder| folder.join(word)).into_iter().chain([path]);
            named.paths.extend(paths.filter_map(|path| real_inside(work, &path)));
        }
        named.values.push(value.replace(['\'', '"', '\\'], "").to_ascii_lowercase());
    }

    /// Returns a folder of hooks or of the repository, named through a symlink or not. Of the root, only the hooks are returned.
    fn hooks(&self, work: &Path, folder: &Path) -> Vec<String> {
        let folder = self.root.join(folder);
        let written = folder.strip_prefix(work).ok().and_then(Path::to_str).map(str::to_owned);
        let all = |folder: String| match folder.as_str() {
            "" => HOOKS.iter().map(|hook| (*hook).to_owned()).collect(),
            _ => vec![folder],
        };
        [real_inside(work, &folder), written].into_iter().flatten().flat_map(all).collect()
    }
}

/// Returns whether a command contains the name of a file as a word, or is for the Python module in it.
fn names_file(command: &str, name: &str) -> bool {
    let is_name = |char: char| char.is_alphanumeric() || "._-".contains(char);
    // The value of an option may follow its letter.
    let starts = |before: &str| !before.ends_with(is_name) || before.chars().nth_back(1) == Some('-');
    let is_word = |(at, _): (usize, &str)| starts(&command[..at]) && !command[at + name.len()..].starts_with(is_name);
    let words = || command.split_whitespace();
    let is_module = |stem: &str| {
        words().zip(words().skip(1)).any(|(flag, module)| flag == "-m" && module.rsplit('.').next() == Some(stem))
    };
    command.match_indices(name).any(is_word) || name.strip_suffix(".py").is_some_and(is_module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_the_files_that_it_contains_as_words() {
        for (command, name, expected) in [
            ("python3 clean.py %f", "clean.py", true),
            ("!sh alias.sh", "alias.sh", true),
            ("$PWD/d/e.sh", "e.sh", true),
            ("cd t && sh c.sh", "c.sh", true),
            ("./sp ace.sh", "sp ace.sh", true),
            ("ssh -F ssh_config", "ssh_config", true),
            ("ssh -Fssh_config", "ssh_config", true),
            ("run --config=x.toml;", "x.toml", true),
            ("python3 -m tools.clean", "clean.py", true),
            ("git-lfs clean -- %f", "clean.py", false),
            ("autoclean.py", "clean.py", false),
            ("clean.pyc", "clean.py", false),
            ("https://host/plain.txt.git", "plain.txt", false),
            ("", "a", false),
        ] {
            assert_eq!(names_file(command, name), expected, "{command} {name}");
        }
    }
}
