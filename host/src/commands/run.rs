//! Runs one command: prepares it, starts it at the highest sandbox level, and supervises it on its own thread.

use super::advice;
use super::filter::{self, Sockets};
use super::landlock::Landlock;
use super::lifeline::{self, Lifeline};
use super::mounts::{self, MountAccess, MountedPath, Mounts, Private};
use super::namespaces::{self, Namespaces};
use super::protected::Protected;
use super::scratch::Scratch;
use super::stdio::{self, Bounds, NotStarted, StartedCommand, SupervisedOutput};
use super::supervisor::Confinement;
use super::work_copy::{IgnoredFiles, WorkCopy};
use super::{BaseFiles, CommandResult, Commands, NoResult};
use crate::config::{CommandConfig, SandboxLevel};
use crate::deadline::Deadline;
use crate::environment::Environment;
use crate::text::clean_line;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use std::{env, fs, io};

/// How many processes and threads a command may have, in addition to those that exist already.
const MOST_PROCESSES: u64 = 4_096;

/// Runs a command. Dropping the future kills it.
pub(super) async fn run(
    commands: &Commands,
    name: &str,
    command: &CommandConfig,
    stdin: Vec<u8>,
) -> Result<CommandResult, NoResult> {
    let run = CommandRun {
        command: command.clone(),
        root: commands.root.clone(),
        configuration: commands.configuration.clone(),
        private: commands.private(),
        environment: commands.environment.clone(),
        at_most: commands.at_most,
        reserve: commands.reserve,
        base_files: commands.base_files.clone(),
        name: name.to_owned(),
    };
    lifeline::on_own_thread("gate command", move |theirs, life| run.all(theirs, life, stdin)).await
}

fn impossible(what: &str, error: &io::Error) -> NoResult {
    NoResult::not_started(format!("cannot create {what}: {error}"))
}

struct CommandRun {
    name: String,
    command: CommandConfig,
    root: PathBuf,
    configuration: Option<PathBuf>,
    private: Vec<Private>,
    environment: Environment,
    at_most: SandboxLevel,
    reserve: u64,
    base_files: Option<Arc<BaseFiles>>,
}

/// A command that is ready to start at any sandbox level.
struct PreparedCommand {
    root: PathBuf,
    cwd: PathBuf,
    program: PathBuf,
    environment: BTreeMap<OsString, OsString>,
    protected: Protected,
    mounts: Mounts,
    /// The copy of the workspace, for a command with `fixes = true`.
    copy: Option<WorkCopy>,
    /// The copy of the workspace that is mounted in its place, for a command that sees files of the base.
    view: Option<WorkCopy>,
}

impl CommandRun {
    fn all(&self, theirs: io::PipeReader, life: &Lifeline, stdin: Vec<u8>) -> Result<CommandResult, NoResult> {
        let mut prepared = self.prepare(life.deadline())?;
        let before = prepared.protected.digests();
        let started = SystemTime::now();
        let start = Instant::now();
        let (begun, sandbox, _scratch) = self.begin(&mut prepared, &theirs, !stdin.is_empty())?;
        drop(theirs);
        let bounds = Bounds { until: start + self.command.timeout, disk: &prepared.root, reserve: self.reserve };
        let SupervisedOutput { ending, stdout, stderr } = begun.communicate(stdin, &bounds, life)?;
        if let Some(path) = prepared.protected.changed(&before, sandbox == SandboxLevel::Namespaces) {
            return Err(NoResult::tampered(format!("it changed `{path}`, which belongs to the policy"))
                .with_hint("run the command in a copy, or before `gate`: a check must not change its own policy"));
        }
        let stderr = match prepared.copy.as_ref().map_or(&[][..], WorkCopy::left_out) {
            [] => stderr,
            links => stderr.with_note(&format!(
                "without a sandbox, the copy of the workspace lacks symlinks that lead out of it: {}",
                clean_line(&links.join(", "), 300)
            )),
        };
        let rewrites =
            prepared.copy.as_ref().map(|copy| copy.rewrites(life.deadline())).transpose()?.unwrap_or_default();
        let advice = match sandbox {
            // Without a sandbox, nothing was in its way.
            SandboxLevel::None => None,
            _ => advice::advice(&self.name, &self.command, &prepared.root, ending, [&stdout, &stderr], |variable| {
                self.environment.get(variable).is_some()
            }),
        };
        let argv = self.command.run.clone();
        let duration = start.elapsed();
        Ok(CommandResult {
            name: self.name.clone(),
            argv,
            ending,
            stdout,
            stderr,
            started,
            duration,
            sandbox,
            advice,
            rewrites,
            replayed: false,
            on_base: false,
        })
    }

    fn prepare(&self, deadline: &Deadline) -> Result<PreparedCommand, NoResult> {
        let there = |error: io::Error| NoResult::not_started(format!("`{}`: {error}", self.root.display()));
        let root = self.root.canonicalize().map_err(there)?;
        if root == Path::new("/") {
            return Err(NoResult::not_started(
                "a command cannot use the root of the file system as its workspace".to_owned(),
            ));
        }
        let cwd = self.command.cwd.as_deref().unwrap_or("");
        let full = root
            .join(cwd)
            .canonicalize()
            .map_err(|error| NoResult::not_started(format!("its folder `{cwd}`: {error}")))?;
        if !full.starts_with(&root) || !full.is_dir() {
            return Err(NoResult::not_started(format!("its folder `{cwd}` is not inside the workspace")));
        }
        let environment = mounts::environment(&self.command, &self.environment);
        let search = environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        let protected = Protected::new(&root, self.configuration.as_deref());
        let mut mounts = Mounts::new(&self.command, &root, &search, &self.environment, &protected, &self.private)?;
        let private = mounts.hidden.clone();
        let copied = |ignored: IgnoredFiles<'_>| {
            WorkCopy::of(&root, &self.environment, self.base_files.clone(), ignored, &private, deadline)
        };
        let view = self.base_files.as_ref().map(|_| copied(IgnoredFiles::Mounted(&mounts.places))).transpose()?;
        let program = self.command.run.first().map_or("", String::as_str);
        let program = find(program, &root, view.as_ref().map(WorkCopy::path), &search)?;
        if let Some(view) = &view {
            mounts.replace(&root, view.path(), view.ignored());
        }
        let copy = self.command.fixes.then(|| copied(IgnoredFiles::Linked)).transpose()?;
        let cwd = match &copy {
            None => full,
            Some(copy) => {
                mounts.places.push(MountedPath {
                    path: copy.path().to_owned(),
                    access: MountAccess::Write,
                    folder: true,
                });
                copy.path().join(full.strip_prefix(&root).unwrap_or(Path::new("")))
            }
        };
        Ok(PreparedCommand { root, cwd, program, environment, protected, mounts, copy, view })
    }

    /// Starts the command at the highest sandbox level that works, and not below the minimum.
    fn begin(
        &self,
        prepared: &mut PreparedCommand,
        theirs: &io::PipeReader,
        has_input: bool,
    ) -> Result<(StartedCommand, SandboxLevel, Scratch), NoResult> {
        // Only there, one file can be shown in place of another.
        let needed = if prepared.view.is_some() { SandboxLevel::Namespaces } else { SandboxLevel::None };
        let least = self.command.min_sandbox.max(needed);
        let mut lacking = Vec::new();
        for level in [SandboxLevel::Namespaces, SandboxLevel::Landlock, SandboxLevel::None] {
            if level > self.at_most {
                lacking.push(format!("limited to `{}`", self.at_most));
                continue;
            }
            if level < least {
                break;
            }
            if let Some(copy) = prepared.copy.as_mut().filter(|_| level == SandboxLevel::None) {
                copy.confine().map_err(|error| impossible("a copy without symlinks that lead out of it", &error))?;
            }
            let scratch =
                Scratch::new(level, &prepared.mounts).map_err(|error| impossible("a folder for it", &error))?;
            match self.attempt(level, prepared, theirs, &scratch, has_input) {
                Ok(begun) => return Ok((begun, level, scratch)),
                Err(NotStarted::Exposing(Private { path, what, variable })) => {
                    let shown = path.display();
                    return Err(NoResult::not_started(format!(
                        "it could read the {what} of `gate` in `{shown}`, which the sandbox level `{level}` cannot hide; set \
                         `{variable}` to a folder that the command does not see"
                    )));
                }
                // Not a limit of the machine: planting symlinks must not lead to a lower level.
                Err(NotStarted::Confining(_, error)) if error.raw_os_error() == Some(libc::ELOOP) => {
                    let why = "a path that it needs became a symlink while it was started; symlinks are not followed";
                    return Err(NoResult::not_started(why.to_owned()));
                }
                Err(NotStarted::Confining(stage, error)) => lacking.push(format!("no {}: {error}", stage.what())),
                Err(NotStarted::Running(error)) => {
                    let program = prepared.program.display();
                    let failed = NoResult::not_started(format!("`{program}` cannot be run: {error}"));
                    return Err(match error.kind() {
                        // The program itself was found. Its interpreter or loader is missing.
                        io::ErrorKind::NotFound => failed.with_hint(format!(
                            "the command does not see its interpreter or loader; if that is in your home, add its folder to `read` of `[command.{}]`",
                            self.name
                        )),
                        _ => failed,
                    });
                }
            }
        }
        lacking.dedup();
        let why = lacking.join("; ");
        let failed = NoResult::not_started(format!(
            "it requires the sandbox level `{least}`, which this machine does not have ({why})"
        ));
        Err(match prepared.view {
            Some(_) => failed.with_hint(
                "the change touches protected files: a command must see the base's version of them, which needs that level",
            ),
            None => failed,
        })
    }

    fn attempt(
        &self,
        level: SandboxLevel,
        prepared: &PreparedCommand,
        theirs: &io::PipeReader,
        scratch: &Scratch,
        has_input: bool,
    ) -> Result<StartedCommand, NotStarted> {
        let (report, say) = io::pipe().map_err(NotStarted::Running)?;
        let confinement = Confinement {
            level,
            namespaces: self.namespaces(level, prepared, scratch).map_err(NotStarted::Running)?,
            landlock: self.landlock(level, prepared, scratch)?,
            filter: self.filter(level).map_err(NotStarted::Running)?,
            most_processes: if level == SandboxLevel::Namespaces {
                MOST_PROCESSES
            } else {
                MOST_PROCESSES + processes()
            },
            lifeline: theirs.try_clone().map_err(NotStarted::Running)?.into(),
            report: say.into(),
        };
        let mut command = process::Command::new(&prepared.program);
        command.args(self.command.run.iter().skip(1)).current_dir(&prepared.cwd).env_clear();
        command.env("HOME", &scratch.home).env("TMPDIR", &scratch.temporary);
        // So that reading a repository does not write to it.
        command.env("GIT_OPTIONAL_LOCKS", "0").envs(&prepared.environment);
        command.stdin(if has_input { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        stdio::begin(command, confinement, report)
    }

    fn namespaces(
        &self,
        level: SandboxLevel,
        prepared: &PreparedCommand,
        scratch: &Scratch,
    ) -> io::Result<Option<Namespaces>> {
        if level < SandboxLevel::Namespaces {
            return Ok(None);
        }
        Namespaces::new(scratch.folder(), &prepared.mounts, &prepared.cwd, self.command.network).map(Some)
    }

    fn landlock(
        &self,
        level: SandboxLevel,
        prepared: &PreparedCommand,
        scratch: &Scratch,
    ) -> Result<Option<Landlock>, NotStarted> {
        let mut places = prepared.mounts.places.clone();
        match level {
            SandboxLevel::None => return Ok(None),
            SandboxLevel::Namespaces => places.extend(namespaces::own_places()),
            SandboxLevel::Landlock => places.extend(scratch.places()),
        }
        match (Landlock::new(&places).map_err(NotStarted::Running)?, prepared.mounts.hidden.first()) {
            (None, _) if level == SandboxLevel::Landlock => Err(NotStarted::Confining(
                super::supervisor::ConfinementStage::Landlock,
                io::ErrorKind::Unsupported.into(),
            )),
            // Landlock rules for a folder cover everything in it.
            (Some(_), Some(hidden)) if level == SandboxLevel::Landlock => Err(NotStarted::Exposing(hidden.clone())),
            (landlock, _) => Ok(landlock),
        }
    }

    fn filter(&self, level: SandboxLevel) -> io::Result<Vec<seccompiler::sock_filter>> {
        match (level, self.command.network) {
            (SandboxLevel::None, _) => Ok(Vec::new()),
            (SandboxLevel::Landlock, false) => filter::program(Sockets::None),
            (SandboxLevel::Landlock, true) => filter::program(Sockets::Internet),
            (SandboxLevel::Namespaces, _) => filter::program(Sockets::Inside),
        }
    }
}

/// Returns how many processes and threads this machine has, because the limit counts all of a user.
fn processes() -> u64 {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let total = load.split_whitespace().nth(3).and_then(|running| running.split('/').nth(1));
    total.and_then(|total| total.parse().ok()).unwrap_or(0)
}

/// Returns the path of a program. A name is searched in `PATH`; a path is relative to the workspace `root`, whose copy may have
/// the program too.
fn find(program: &str, root: &Path, copy: Option<&Path>, search: &OsStr) -> Result<PathBuf, NoResult> {
    let is_program =
        |path: &Path| path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0);
    if program.contains('/') {
        let path = root.join(program);
        return match path.metadata() {
            _ if is_program(&path) || copy.is_some_and(|copy| is_program(&copy.join(program))) => Ok(path),
            Ok(_) => Err(NoResult::not_started(format!("`{program}` is not an executable file"))),
            Err(error) => {
                Err(NoResult::not_started(format!("the program `{program}`: {error} (relative to the workspace)")))
            }
        };
    }
    let folders = env::split_paths(search).filter(|folder| folder.is_absolute());
    let found = folders.map(|folder| folder.join(program)).find(|path| is_program(path));
    found.ok_or_else(|| {
        let search = search.to_string_lossy();
        NoResult::not_started(format!("there is no program `{program}` in the search path ({search})")).with_hint(
            "install it, or put its folder into `PATH`; for a program of the workspace, write its path: `./run.sh`",
        )
    })
}
