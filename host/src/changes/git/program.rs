//! Git as a program: what it is told, what it is kept from, and how long it is waited for.
//!
//! The repository belongs to the author of the change. So git is asked for as little as possible: the bytes of objects,
//! which are hashed before they are used (`objects.rs`); which commit a name stands for; and which untracked files are
//! ignored. Git runs nothing that the repository configures, and asks nobody on the network:
//!
//! - git is told where the repository and its working tree are, so that no setting leads it elsewhere;
//! - the program is the first `git` in `PATH` that is outside the workspace, found once;
//! - nothing that is asked of git uses a filter, an attribute, a hook, an external program, a signature, an alias or a
//!   pager. File system monitors are switched off besides;
//! - the network: nothing is fetched later (`GIT_NO_LAZY_FETCH`), and no protocol is allowed, so neither
//!   `core.sshCommand`, `credential.helper`, `core.gitProxy` nor a remote's `uploadpack` is ever reached;
//! - replaced objects, grafts and the commit graph are left aside;
//! - the environment: only what says where the repository, its index and the user's configuration are;
//! - what git would read whole before it does anything must be a regular file of a plausible size (`layout.rs`).

use super::child_io::{ChildOutput, attend};
use super::id::ObjectFormat;
use super::layout::Layout;
use super::objects::{CatFile, Object, Objects};
use crate::changes::{ChangesError, shown};
use crate::environment::Environment;
use crate::{search_path, text};
use parking_lot::Mutex;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// For an answer of git's. A large repository on a cold disk takes a while; a pipe in place of a file, forever.
const PATIENCE: Duration = Duration::from_secs(120);

const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    // Below a device there is nothing, and cannot be.
    "core.hooksPath=/dev/null/none",
    "core.attributesFile=/dev/null/none",
    "core.untrackedCache=false",
    "core.commitGraph=false",
    // A file whose name differs in case only is another file.
    "core.ignoreCase=false",
    "core.quotePath=false",
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
];

/// What git sees of our environment: where it is, what its user trusts and ignores, and what it tells its hooks.
const INHERITED: &[&str] = &[
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
    pub(super) root: PathBuf,
    program: PathBuf,
    /// The search path, without folders of the work.
    path: OsString,
    /// Whether git is told where the repository and its working tree are, and does not search for them.
    is_pinned: bool,
    /// The last commit, where there is one.
    pub(super) head: Option<Object>,
    /// What it inherits from.
    environment: Environment,
    /// The hash function of the repository.
    pub(super) format: ObjectFormat,
    pub(super) is_shallow: bool,
    pub(super) layout: Layout,
    /// Reads objects. Started ahead, while the first question is answered.
    pub(super) reader: Mutex<Option<CatFile>>,
}

impl Git {
    /// Returns where git, asked in `folder`, says that the working tree begins.
    pub(super) fn top(folder: &Path, environment: &Environment) -> Result<PathBuf, ChangesError> {
        let answer = Self::unknowing(folder, environment)?.run(&["rev-parse", "--show-toplevel"])?;
        Ok(PathBuf::from(OsStr::from_bytes(answer.strip_suffix(b"\n").unwrap_or(&answer))))
    }

    /// Git in the working tree of `root`. It is refused where git would look at another one.
    pub(super) fn open(root: &Path, environment: &Environment) -> Result<Self, ChangesError> {
        Self::opened(Self::unknowing(root, environment)?)
    }

    /// Git in a repository inside or around the one that the environment may speak of; `None` where there is none.
    pub(super) fn open_other(root: &Path, environment: &Environment) -> Result<Option<Self>, ChangesError> {
        // Those of git's own variables say where another repository is.
        let is_meant = |name: &OsStr| {
            let name = name.as_encoded_bytes();
            !name.starts_with(b"GIT_") || name.starts_with(b"GIT_CONFIG")
        };
        let variables = environment.variables().filter(|(name, _)| is_meant(name));
        let environment = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let git = Self::unknowing(root, &environment)?;
        if !git.layout.is_plausible() {
            return Ok(None);
        }
        match Self::opened(git) {
            Ok(git) => Ok(Some(git)),
            // What git takes for a part of another repository is none by itself.
            Err(ChangesError::Elsewhere { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the environment that git sees.
    pub(super) fn environment(&self) -> &Environment {
        &self.environment
    }

    fn opened(mut git: Self) -> Result<Self, ChangesError> {
        git.layout.refuse_unbounded()?;
        let reader = CatFile::start(&git)?;
        git.reader = Mutex::new(Some(reader));
        if git.is_pinned {
            let mut objects = Objects::new(&git);
            let head = objects.named("HEAD")?;
            let reader = objects.into_talk();
            git.is_shallow = git.layout.is_shallow();
            git.format = match &head {
                Some(head) => ObjectFormat::of(&head.id),
                None => format_of(git.run(&["rev-parse", "--show-object-format"])?.trim_ascii_end()),
            };
            (git.head, git.reader) = (head, Mutex::new(reader));
            return Ok(git);
        }
        let root = &git.root;
        let answer = git.run(&["rev-parse", "--show-object-format", "--is-shallow-repository", "--show-toplevel"])?;
        let lines: Vec<&[u8]> = answer.split(|&byte| byte == b'\n').collect();
        let [format, shallow, top, b""] = lines[..] else {
            return Err(ChangesError::BadPath(shown(root)));
        };
        let top = PathBuf::from(OsStr::from_bytes(top));
        if top.canonicalize().ok().as_deref() != Some(root.as_path()) {
            return Err(ChangesError::Elsewhere { found: root.clone(), top });
        }
        git.format = format_of(format);
        git.is_shallow = shallow == b"true";
        Ok(git)
    }

    fn unknowing(root: &Path, environment: &Environment) -> Result<Self, ChangesError> {
        let path = environment.get("PATH").unwrap_or_default();
        let program = search_path::find_program("git", path, root).ok_or(ChangesError::NoGit)?;
        let path = search_path::outside(path, root);
        let layout = Layout::of(root, environment);
        // What the environment says, only git understands; and whom it trusts with a repository of somebody else.
        let speaks = ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"].iter().any(|name| environment.get(name).is_some());
        let is_pinned = !speaks && layout.is_plausible() && layout.is_ours();
        Ok(Self {
            root: root.to_owned(),
            program,
            path,
            is_pinned,
            head: None,
            environment: environment.clone(),
            format: ObjectFormat::Sha1,
            is_shallow: false,
            layout,
            reader: Mutex::new(None),
        })
    }

    /// What git says, where it succeeds.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, ChangesError> {
        self.ask(arguments)?.succeeded(arguments)
    }

    /// What git says, whether it succeeds or not.
    pub(super) fn ask(&self, arguments: &[&str]) -> Result<ChildOutput<Vec<u8>>, ChangesError> {
        let listen = |mut pipe: ChildStdout| {
            let mut output = Vec::new();
            pipe.read_to_end(&mut output).map(|_| output)
        };
        self.converse(arguments, PATIENCE, |_| Ok(()), listen)
    }

    /// Talks with git: `speak` into its standard input while `listen` reads its standard output.
    pub(super) fn converse<T: Send>(
        &self,
        arguments: &[&str],
        patience: Duration,
        speak: impl FnOnce(ChildStdin) -> io::Result<()> + Send,
        listen: impl FnOnce(ChildStdout) -> io::Result<T> + Send,
    ) -> Result<ChildOutput<T>, ChangesError> {
        let child = self.spawn(arguments)?;
        let said = attend(child, patience, speak, listen).map_err(|error| failed(arguments, &error.to_string()))?;
        Ok(said)
    }

    /// Starts git, with pipes to talk through.
    pub(super) fn spawn(&self, arguments: &[&str]) -> Result<Child, ChangesError> {
        self.command(arguments).spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ChangesError::NoGit,
            _ => failed(arguments, &error.to_string()),
        })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut git = Command::new(&self.program);
        git.arg("--no-pager").arg("-C").arg(&self.root);
        for setting in SETTINGS {
            git.args(["-c", setting]);
        }
        git.args(arguments).env_clear().envs(ENVIRONMENT.iter().copied());
        git.envs(INHERITED.iter().filter_map(|name| Some((name, self.environment.get(name)?))));
        if self.is_pinned {
            git.env("GIT_DIR", self.layout.folder()).env("GIT_WORK_TREE", &self.root);
        }
        git.env("PATH", &self.path);
        configure(&mut git, &self.environment);
        git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        git
    }
}

/// The caller's settings from the environment.
fn configure(git: &mut Command, environment: &Environment) {
    let inherited = environment.text("GIT_CONFIG_COUNT").and_then(|count| count.parse().ok()).unwrap_or(0_usize);
    for number in 0..inherited {
        for name in [format!("GIT_CONFIG_KEY_{number}"), format!("GIT_CONFIG_VALUE_{number}")] {
            git.envs(environment.get(&name).map(|value| (name.clone(), value)));
        }
    }
    git.env("GIT_CONFIG_COUNT", inherited.to_string());
}

impl<T> ChildOutput<T> {
    /// What it said, where it succeeded in answering `question`.
    pub(super) fn succeeded(self, question: &[&str]) -> Result<T, ChangesError> {
        match (self.status.success(), self.stderr.is_empty()) {
            (true, _) => Ok(self.stdout),
            (false, false) => Err(failed(question, &self.stderr)),
            // Killed, for one.
            (false, true) => Err(failed(question, &format!("it exited without output ({})", self.status))),
        }
    }
}

fn format_of(name: &[u8]) -> ObjectFormat {
    if name == b"sha256" { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 }
}

pub(super) fn failed(arguments: &[&str], message: &str) -> ChangesError {
    let command = match arguments {
        ["-c", _, command, ..] | [command, ..] => command,
        [] => "",
    };
    ChangesError::Git { command: command.to_owned(), message: text::clean(message, 2_000) }
}
