//! Git as a program: what it is told, what it is kept from, and how long it is waited for.
//!
//! Whoever is judged may have configured the repository. So git runs nothing of the repository's, asks nobody on the
//! network, and believes nothing that could hide a change:
//!
//! - programs: file system monitors and hooks are switched off; filters of attributes are emptied one by one;
//!   `diff` gets no external program, no text conversion and no look into submodules; no pager, no prompt. Nothing
//!   that we ask of git uses an editor, a signature, an alias or a merge driver;
//! - the network: nothing is fetched later (`GIT_NO_LAZY_FETCH`), and no protocol is allowed, so neither
//!   `core.sshCommand`, `credential.helper`, `core.gitProxy` nor a remote's `uploadpack` is ever reached;
//! - attributes: those of the work, the user and the system are not read. `.git/info/attributes` cannot be left out;
//!   with its filters empty, it can still name an encoding;
//! - what git remembers: replaced objects, grafts, the commit graph and the untracked cache are left aside, and a
//!   file whose times changed is compared again. `core.autocrlf` stays: it hides nothing but carriage returns. What
//!   the index says of a file whose size and times are those that it recorded is believed, or every file would have
//!   to be read for every run;
//! - the environment: only what says where the repository, its index and the user's configuration are.

use super::attend::{Said, attend};
use crate::changes::{Error, shown, shown_text};
use crate::text;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;
use std::{env, thread};

/// For an answer of git's. A large repository on a cold disk takes a while; a pipe in place of a file, for ever.
const PATIENCE: Duration = Duration::from_secs(120);

const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    // Below a device there is nothing, and cannot be.
    "core.hooksPath=/dev/null/none",
    "core.attributesFile=/dev/null/none",
    "core.untrackedCache=false",
    "core.commitGraph=false",
    "core.trustCtime=true",
    "core.checkStat=default",
    // A file whose name differs in case only is another file, and a link is a link.
    "core.ignoreCase=false",
    "core.symlinks=true",
    "core.quotePath=false",
    "diff.suppressBlankEmpty=false",
    "diff.autoRefreshIndex=false",
    // Warnings that would look like one about a file that cannot be seen.
    "core.safecrlf=false",
    "core.warnAmbiguousRefs=false",
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_PROTOCOL_FROM_USER", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_GRAFT_FILE", "/dev/null/none"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_LITERAL_PATHSPECS", "1"),
];

/// What git sees of our environment: where it is, what its user trusts and ignores, and what it tells its hooks.
const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "SUDO_UID",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
];

/// Git, in a working tree that it agrees is one.
pub(super) struct Git {
    root: PathBuf,
    /// The filters that the configuration names. They are emptied for every question.
    filters: BTreeSet<OsString>,
    /// The tree without files, by the repository's own digest.
    pub(super) empty_tree: &'static str,
    pub(super) is_shallow: bool,
}

impl Git {
    /// Where git, asked in `folder`, says that the working tree begins.
    pub(super) fn top(folder: &Path) -> Result<PathBuf, Error> {
        let answer = Self::unknowing(folder).run(&["rev-parse", "--show-toplevel"])?;
        Ok(PathBuf::from(OsStr::from_bytes(answer.strip_suffix(b"\n").unwrap_or(&answer))))
    }

    /// Git in the working tree of `root`. It is refused where git would look at another one.
    pub(super) fn open(root: &Path) -> Result<Self, Error> {
        let mut git = Self::unknowing(root);
        let (layout, filters) = both(
            || git.run(&["rev-parse", "--show-object-format", "--is-shallow-repository", "--show-toplevel"]),
            || git.configured(r"^filter\."),
        );
        let layout = layout?;
        let lines: Vec<&[u8]> = layout.split(|&byte| byte == b'\n').collect();
        let [format, shallow, top, b""] = lines[..] else {
            return Err(Error::BadPath(shown(root)));
        };
        let top = PathBuf::from(OsStr::from_bytes(top));
        if top.canonicalize().ok().as_deref() != Some(root) {
            return Err(Error::Elsewhere { found: root.to_owned(), top });
        }
        git.empty_tree = match format {
            b"sha256" => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
            _ => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        };
        git.is_shallow = shallow == b"true";
        git.filters = filter_names(&filters?);
        Ok(git)
    }

    fn unknowing(root: &Path) -> Self {
        Self { root: root.to_owned(), filters: BTreeSet::new(), empty_tree: "", is_shallow: false }
    }

    /// The names of the settings that match, each followed by NUL.
    fn configured(&self, pattern: &str) -> Result<Vec<u8>, Error> {
        let question = ["config", "--null", "--name-only", "--get-regexp", pattern];
        let answer = self.ask(&question)?;
        // So it says that there is none.
        if answer.status.code() == Some(1) { Ok(Vec::new()) } else { answer.succeeded(&question) }
    }

    /// What git says, where it succeeds.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, Error> {
        self.ask(arguments)?.succeeded(arguments)
    }

    /// As [`Git::run`], where git succeeds and has looked at everything: what it cannot open it only warns of.
    pub(super) fn look(&self, arguments: &[&str]) -> Result<Vec<u8>, Error> {
        let answer = self.ask(arguments)?;
        match unseen(&answer.stderr) {
            Some(line) if answer.status.success() => {
                Err(failed(arguments, &format!("it could not see everything: {}", shown_text(line))))
            }
            _ => answer.succeeded(arguments),
        }
    }

    /// What git says, whether it succeeds or not.
    pub(super) fn ask(&self, arguments: &[&str]) -> Result<Said<Vec<u8>>, Error> {
        let listen = |mut pipe: ChildStdout| {
            let mut output = Vec::new();
            pipe.read_to_end(&mut output).map(|_| output)
        };
        self.converse(arguments, PATIENCE, |_| Ok(()), listen)
    }

    /// Talk with git: `speak` into its standard input while `listen` reads its standard output.
    pub(super) fn converse<T: Send>(
        &self,
        arguments: &[&str],
        patience: Duration,
        speak: impl FnOnce(ChildStdin) -> io::Result<()> + Send,
        listen: impl FnOnce(ChildStdout) -> io::Result<T> + Send,
    ) -> Result<Said<T>, Error> {
        let child = self.command(arguments).spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NoGit,
            _ => failed(arguments, &error.to_string()),
        })?;
        let said = attend(child, patience, speak, listen).map_err(|error| failed(arguments, &error.to_string()))?;
        Ok(said)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut git = Command::new("git");
        git.arg("--no-pager").arg("-C").arg(&self.root);
        for setting in SETTINGS {
            git.args(["-c", setting]);
        }
        git.args(arguments).env_clear().envs(ENVIRONMENT.iter().copied());
        git.envs(INHERITED.iter().filter_map(|name| Some((name, env::var_os(name)?))));
        if !self.empty_tree.is_empty() {
            git.env("GIT_ATTR_SOURCE", self.empty_tree);
        }
        configure(&mut git, &self.filters);
        git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        git
    }
}

/// The caller's settings from the environment, and after them those that empty every filter. Not as arguments: there
/// the name of a filter could hold a `=`.
fn configure(git: &mut Command, filters: &BTreeSet<OsString>) {
    let inherited = env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse().ok()).unwrap_or(0_usize);
    for number in 0..inherited {
        for name in [format!("GIT_CONFIG_KEY_{number}"), format!("GIT_CONFIG_VALUE_{number}")] {
            git.envs(env::var_os(&name).map(|value| (name, value)));
        }
    }
    let mut number = inherited;
    for filter in filters {
        for (variable, value) in [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")] {
            let key = [OsStr::new("filter"), filter, OsStr::new(variable)].join(OsStr::new("."));
            git.env(format!("GIT_CONFIG_KEY_{number}"), key).env(format!("GIT_CONFIG_VALUE_{number}"), value);
            number += 1;
        }
    }
    git.env("GIT_CONFIG_COUNT", number.to_string());
}

impl<T> Said<T> {
    /// What it said, where it succeeded in answering `question`.
    pub(super) fn succeeded(self, question: &[&str]) -> Result<T, Error> {
        match (self.status.success(), self.stderr.is_empty()) {
            (true, _) => Ok(self.stdout),
            (false, false) => Err(failed(question, &self.stderr)),
            // Killed, for one.
            (false, true) => Err(failed(question, &format!("it ended without a word ({})", self.status))),
        }
    }
}

/// Two questions at once, since each is a process of its own.
pub(super) fn both<A: Send, B>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        (first.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), second)
    })
}

fn failed(arguments: &[&str], message: &str) -> Error {
    let command = match arguments {
        ["-c", _, command, ..] | [command, ..] => command,
        [] => "",
    };
    Error::Git { command: command.to_owned(), message: text::clean(message, 2_000) }
}

/// The first thing that git says it could not see. Advice is none, and neither is a file of patterns that it may not
/// read: then more is listed, not less. Nor is what it says of its settings, or of a place where it looks for objects:
/// without an object that it needs, it fails.
fn unseen(stderr: &str) -> Option<&str> {
    let harmless = [
        "hint:",
        "warning: unable to access '",
        "warning: core.fsyncObjectFiles is deprecated",
        "error: unable to normalize alternate object path: ",
        "error: object directory ",
    ];
    stderr.lines().find(|line| !line.is_empty() && !harmless.iter().any(|start| line.starts_with(start)))
}

/// From `filter.NAME.VARIABLE`, each followed by NUL.
fn filter_names(keys: &[u8]) -> BTreeSet<OsString> {
    let name = |key: &[u8]| {
        let rest = key.strip_prefix(b"filter.")?;
        let end = rest.iter().rposition(|&byte| byte == b'.')?;
        Some(OsString::from_vec(rest[..end].to_vec()))
    };
    keys.split(|&byte| byte == 0).filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_not_seen_is_an_error() {
        assert_eq!(unseen(""), None);
        assert_eq!(
            unseen("hint: use -uno\nwarning: unable to access '/root/.config/git/ignore': Permission denied"),
            None
        );
        for line in [
            "warning: core.fsyncObjectFiles is deprecated; use core.fsync instead",
            "error: unable to normalize alternate object path: /gone/objects",
            "error: object directory /gone/objects does not exist; check .git/objects/info/alternates",
        ] {
            assert_eq!(unseen(line), None);
        }
        for line in ["warning: could not open directory 'x/': Permission denied", "x/a.json: Permission denied"] {
            assert_eq!(unseen(&format!("hint: a\n{line}\n")), Some(line));
        }
    }

    #[test]
    fn filters_are_named_by_whatever_is_between_the_dots() {
        let names = filter_names(b"filter.lfs.clean\0filter.lfs.process\0filter.a=b.c.clean\0filter.required\0");
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["a=b.c", "lfs"]);
    }
}
