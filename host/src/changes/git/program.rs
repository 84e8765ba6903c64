//! Runs git: its arguments, its restrictions and its time limit.
//!
//! The repository belongs to the author of the change. So git is used for as little as possible: the bytes of many or unusual
//! objects, which are hashed before they are used (`objects.rs`); the commit that a name refers to; and which untracked files
//! are ignored.
//! Git runs nothing that the repository configures, and does not use the network:
//!
//! - git gets the paths of the repository and of its working tree, so that no setting changes them;
//! - the program is the first `git` in `PATH` that is outside the workspace, found once;
//! - no git command that is used here runs a filter, a hook, an external program, a signature check, an alias or a pager, or
//!   reads attributes. File system monitors are disabled;
//! - the network: nothing is fetched later (`GIT_NO_LAZY_FETCH`), and no protocol is allowed, so neither
//!   `core.sshCommand`, `credential.helper`, `core.gitProxy` nor a remote's `uploadpack` is ever reached;
//! - replaced objects, grafts and the commit graph are ignored;
//! - the environment: only the variables that locate the repository, its index and the user's configuration;
//! - files that git reads as a whole must be regular files of a plausible size (`layout.rs`).

use super::child_io::{ChildOutput, communicate};
use super::id::ObjectFormat;
use super::layout::Layout;
use super::object_files::{self, ObjectFiles};
use super::objects::{CatFile, Object, Objects};
use crate::changes::{ChangesError, shown};
use crate::deadline::Deadline;
use crate::environment::Environment;
use crate::{search_path, text};
use parking_lot::Mutex;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The time limit of a git command. A large repository on a cold disk takes a while; a pipe in place of a file would block
/// forever.
const PATIENCE: Duration = Duration::from_secs(120);

const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    // Nothing can exist below a device.
    "core.hooksPath=/dev/null/none",
    "core.attributesFile=/dev/null/none",
    "core.untrackedCache=false",
    "core.commitGraph=false",
    // File names are case-sensitive here.
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

/// The environment variables that git gets: its location, what the user trusts and ignores, and what git sets for hooks.
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

/// Git, in a working tree that git accepts.
pub(super) struct Git {
    pub(super) root: PathBuf,
    program: PathBuf,
    /// The search path, without folders of the workspace.
    path: OsString,
    /// Whether git gets the paths of the repository and its working tree instead of searching for them.
    is_pinned: bool,
    /// The last commit, if there is one.
    pub(super) head: Option<Object>,
    /// The environment that git inherits from.
    environment: Environment,
    /// The hash function of the repository.
    pub(super) format: ObjectFormat,
    pub(super) is_shallow: bool,
    pub(super) layout: Layout,
    /// When reading the repository must end.
    pub(super) deadline: Deadline,
    /// The process that reads objects, if one is running and idle.
    pub(super) reader: Mutex<Option<CatFile>>,
}

impl Git {
    /// Returns the root of the working tree that git finds from `folder`.
    pub(super) fn top(folder: &Path, environment: &Environment) -> Result<PathBuf, ChangesError> {
        let answer =
            Self::unopened(folder, environment, &Deadline::default())?.run(&["rev-parse", "--show-toplevel"])?;
        Ok(PathBuf::from(OsStr::from_bytes(answer.strip_suffix(b"\n").unwrap_or(&answer))))
    }

    /// Opens git in the working tree `root`. Refused if git would use another one.
    pub(super) fn open(root: &Path, environment: &Environment, deadline: &Deadline) -> Result<Self, ChangesError> {
        Self::opened(Self::unopened(root, environment, deadline)?)
    }

    /// Opens git in a repository inside or around that of the environment; `None` if there is none.
    pub(super) fn open_other(
        root: &Path,
        environment: &Environment,
        deadline: &Deadline,
    ) -> Result<Option<Self>, ChangesError> {
        // The variables of git refer to another repository.
        let is_meant = |name: &OsStr| {
            let name = name.as_encoded_bytes();
            !name.starts_with(b"GIT_") || name.starts_with(b"GIT_CONFIG")
        };
        let variables = environment.variables().filter(|(name, _)| is_meant(name));
        let environment = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let git = Self::unopened(root, &environment, deadline)?;
        if !git.layout.is_plausible() {
            return Ok(None);
        }
        match Self::opened(git) {
            Ok(git) => Ok(Some(git)),
            // A folder that git takes for a part of another repository is not one by itself.
            Err(ChangesError::Elsewhere { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the object files, if they are where a repository usually has them.
    pub(super) fn object_files(&self) -> Option<ObjectFiles> {
        let is_elsewhere = self.environment.get("GIT_OBJECT_DIRECTORY").is_some();
        (self.is_pinned && !is_elsewhere).then(|| ObjectFiles::new(self.layout.common().join("objects")))
    }

    /// Returns the environment that git sees.
    pub(super) fn environment(&self) -> &Environment {
        &self.environment
    }

    fn opened(mut git: Self) -> Result<Self, ChangesError> {
        git.layout.refuse_unbounded()?;
        if git.is_pinned {
            let mut objects = Objects::new(&git);
            let known = object_files::head(git.layout.folder(), git.layout.common());
            let known = known.and_then(|id| objects.stored(&id));
            let head = if known.is_some() { known } else { objects.named("HEAD")? };
            let reader = objects.into_talk();
            git.is_shallow = git.layout.is_shallow();
            git.format = match &head {
                Some(head) => ObjectFormat::of(&head.id),
                None => format_of(git.run(&["rev-parse", "--show-object-format"])?.trim_ascii_end()),
            };
            (git.head, git.reader) = (head, Mutex::new(reader));
            return Ok(git);
        }
        // It starts while git answers.
        git.reader = Mutex::new(Some(CatFile::start(&git)?));
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

    fn unopened(root: &Path, environment: &Environment, deadline: &Deadline) -> Result<Self, ChangesError> {
        let path = environment.get("PATH").unwrap_or_default();
        let program = search_path::find_program("git", path, root).ok_or(ChangesError::NoGit)?;
        let path = search_path::outside(path, root);
        let layout = Layout::of(root, environment);
        // Only git understands its environment variables, and which other owners the user trusts.
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
            deadline: deadline.clone(),
            reader: Mutex::new(None),
        })
    }

    /// Returns the output of a successful git command.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, ChangesError> {
        self.ask(arguments)?.succeeded(arguments)
    }

    /// Returns the output of a git command, successful or not.
    pub(super) fn ask(&self, arguments: &[&str]) -> Result<ChildOutput<Vec<u8>>, ChangesError> {
        let listen = |mut pipe: ChildStdout| {
            let mut output = Vec::new();
            pipe.read_to_end(&mut output).map(|_| output)
        };
        self.converse(arguments, PATIENCE, |_| Ok(()), listen)
    }

    /// Runs git: `speak` writes its stdin while `listen` reads its stdout.
    pub(super) fn converse<T: Send>(
        &self,
        arguments: &[&str],
        patience: Duration,
        speak: impl FnOnce(ChildStdin) -> io::Result<()> + Send,
        listen: impl FnOnce(ChildStdout) -> io::Result<T> + Send,
    ) -> Result<ChildOutput<T>, ChangesError> {
        let child = self.spawn(arguments)?;
        communicate(child, patience, &self.deadline, speak, listen).map_err(|error| match self.deadline.check() {
            Err(late) => late.into(),
            Ok(()) => failed(arguments, &error.to_string()),
        })
    }

    /// Starts git with pipes.
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
        // Git would look for its configuration in a relative home: in the workspace.
        let ignored: Vec<&str> = self.environment.ignored().collect();
        let inherited = INHERITED.iter().filter(|name| !ignored.contains(name));
        git.envs(inherited.filter_map(|name| Some((name, self.environment.get(name)?))));
        if self.is_pinned {
            git.env("GIT_DIR", self.layout.folder()).env("GIT_WORK_TREE", &self.root);
        }
        git.env("PATH", &self.path);
        configure(&mut git, &self.environment);
        git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        git
    }
}

/// Sets the caller's configuration from the environment.
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
    /// Returns the output if git succeeded.
    pub(super) fn succeeded(self, question: &[&str]) -> Result<T, ChangesError> {
        match (self.status.success(), self.stderr.is_empty()) {
            (true, _) => Ok(self.stdout),
            (false, false) => Err(failed(question, &self.stderr)),
            // For example, it was killed.
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
