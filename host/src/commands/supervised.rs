//! Runs a program without a sandbox, such as the executor of a loop. It keeps its terminal, its network and its environment,
//! but everything that it started is killed when it ends, also if `gate` itself is killed.
//!
//! A supervisor process stands between, as above every command (`supervisor.rs`): it adopts the orphans of the program, and
//! kills them when the program has ended, when it times out, or when the host is gone. A program that has not ended by
//! itself gets SIGTERM, and SIGKILL a little later. If the program kills its supervisor, the host kills what is left
//! (`marked.rs`), and the result is an error whatever the program did.

use super::{Captured, CommandEnding, NoResult};
use crate::environment::Environment;
use std::path::PathBuf;
use std::time::Duration;

/// A program to run.
#[derive(Clone, Debug)]
pub struct Supervised {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The folder that it runs in.
    pub folder: PathBuf,
    /// All environment variables that it sees.
    pub environment: Environment,
    /// Its stdin; if it is not set, the stdin of this process.
    pub stdin: Option<Vec<u8>>,
    /// The time limit.
    pub timeout: Duration,
    /// Whether it stays in the foreground of the terminal of this process. Otherwise it gets its own session.
    pub keep_terminal: bool,
}

/// The result of the program. It shares the stderr of this process.
#[derive(Clone, Debug)]
pub struct SupervisedEnd {
    /// How it ended.
    pub ending: CommandEnding,
    /// What it wrote to standard output.
    pub stdout: Captured,
    /// How long it ran.
    pub duration: Duration,
}

impl Supervised {
    /// Runs the program. `told` gets its stdout as it comes. Returns when nothing that it started is left. Dropping the
    /// future kills all of it.
    pub async fn run(self, told: impl FnMut(&[u8]) + Send + 'static) -> Result<SupervisedEnd, NoResult> {
        #[cfg(all(feature = "commands", target_os = "linux"))]
        return linux::run(self, told).await;
        #[cfg(not(all(feature = "commands", target_os = "linux")))]
        {
            let _ = told;
            Err(NoResult::not_started(super::UNAVAILABLE.to_owned()))
        }
    }
}

#[cfg(all(feature = "commands", target_os = "linux"))]
mod linux {
    use super::super::lifeline::{self, Lifeline};
    use super::super::marked::{self, kill_marked, new_mark};
    use super::super::stdio::{self, Streams};
    use super::super::supervisor::{self, SupervisorMessage};
    use super::super::sys::{self, Fork};
    use super::super::{CommandEnding, NoResult};
    use super::{Supervised, SupervisedEnd};
    use libc::{c_ulong, pid_t};
    use std::io::{self, ErrorKind, PipeReader};
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    /// How long a program may take to end after SIGTERM, in milliseconds.
    const GRACE: i32 = 2_000;
    /// How long killing everything may take.
    const ENDING: Duration = Duration::from_secs(15);

    pub(super) async fn run(
        program: Supervised,
        told: impl FnMut(&[u8]) + Send + 'static,
    ) -> Result<SupervisedEnd, NoResult> {
        lifeline::on_own_thread("gate executor", move |theirs, life| attended(program, theirs, life, told)).await
    }

    fn broken(error: &io::Error) -> NoResult {
        NoResult::not_started(format!("the program could not be run: {error}"))
    }

    fn attended(
        mut program: Supervised,
        theirs: PipeReader,
        life: &Lifeline,
        mut told: impl FnMut(&[u8]),
    ) -> Result<SupervisedEnd, NoResult> {
        let start = Instant::now();
        let until = start + program.timeout;
        let name = program.argv.first().cloned().unwrap_or_default();
        let no_numbers = || NoResult::not_started("the system has no random numbers".to_owned());
        let mark = new_mark().ok_or_else(no_numbers)?;
        program.environment.set(marked::VARIABLE, &mark);
        let (mut child, mut streams) = begin(program, theirs).map_err(|error| {
            NoResult::not_started(format!("`{name}` cannot be run: {error}"))
                .with_hint("name a program in PATH, or its path; use `sh -c '…'` for a shell command")
        })?;
        let mut late = false;
        // When everything must have ended, once the program is being killed.
        let mut over = None;
        while !streams.supervisor_is_gone {
            let now = Instant::now();
            if over.is_none() && now >= until {
                late = true;
                life.cut();
            }
            if over.is_none() && (late || !streams.report_bytes.is_empty()) {
                over = Some(now + ENDING);
            }
            if over.is_some_and(|over| now >= over) {
                let _ = child.kill();
                kill_marked(&mark);
                return Err(NoResult::tampered("its supervisor process did not end".to_owned()));
            }
            let next = over.unwrap_or(until);
            streams.wait(next.saturating_duration_since(now), &mut told).map_err(|error| broken(&error))?;
        }
        // It exits with 0 only after everything that the program started has ended.
        let ended_all = child.wait().map_err(|error| broken(&error))?.success();
        if !ended_all {
            kill_marked(&mark);
        }
        streams.drain(&mut told).map_err(|error| broken(&error))?;
        let ending = match (late, SupervisorMessage::read(&streams.report_bytes)) {
            (true, _) if ended_all => CommandEnding::TimedOut,
            (false, Some(SupervisorMessage::Ended(status))) if ended_all => stdio::ending(status),
            _ => {
                let killed =
                    "its supervisor process was killed, so processes that cleared their environment may still run";
                return Err(NoResult::tampered(killed.to_owned()));
            }
        };
        let [stdout, _] = streams.finish();
        Ok(SupervisedEnd { ending, stdout, duration: start.elapsed() })
    }

    fn begin(program: Supervised, theirs: PipeReader) -> io::Result<(Child, Streams)> {
        let (report, say) = io::pipe()?;
        let supervisor = Supervisor { lifeline: theirs.into(), report: say.into(), terminal: program.keep_terminal };
        let mut argv = program.argv.iter();
        let mut command = Command::new(argv.next().ok_or(ErrorKind::InvalidInput)?);
        command.args(argv).current_dir(&program.folder).env_clear().envs(program.environment.variables());
        command.stdin(if program.stdin.is_some() { Stdio::piped() } else { Stdio::inherit() });
        command.stdout(Stdio::piped()).stderr(Stdio::inherit());
        #[expect(unsafe_code, reason = "the one way to put a process between this one and its child")]
        // SAFETY: `enter` makes nothing but system calls on what was prepared: no allocation, no lock.
        unsafe {
            command.pre_exec(move || supervisor.enter());
        }
        let mut child = command.spawn()?;
        drop(command);
        let streams = Streams::new(&mut child, program.stdin.unwrap_or_default(), report)?;
        Ok((child, streams))
    }

    /// The supervisor process above the program. The parent prepared everything in it.
    struct Supervisor {
        lifeline: OwnedFd,
        report: OwnedFd,
        terminal: bool,
    }

    impl Supervisor {
        /// Turns the child into the supervisor. Returns in the process that becomes the program.
        fn enter(&self) -> io::Result<()> {
            if !self.terminal {
                sys::new_session();
            }
            sys::ignore_terminal(true);
            sys::prctl(libc::PR_SET_CHILD_SUBREAPER, 1)?;
            let descendants = sys::open(c"/proc/thread-self/children", libc::O_RDONLY).ok();
            let children = sys::children_as_descriptor()?;
            match sys::fork(0)? {
                Fork::Parent(program) => self.keep(program, &children, descendants.as_ref()),
                Fork::Child => {
                    if !self.terminal {
                        sys::new_session();
                    }
                    sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as c_ulong)?;
                    sys::ignore_terminal(false);
                    sys::unblock_signals();
                    sys::inherit_nothing();
                    Ok(())
                }
            }
        }

        /// Waits until the program has ended or must end, then kills everything that is left.
        fn keep(&self, program: pid_t, children: &OwnedFd, descendants: Option<&OwnedFd>) -> ! {
            supervisor::close_all_but(&self.lifeline, &self.report, children, descendants);
            match supervisor::wait_for(program, Some(&self.lifeline), children, None) {
                Some(status) => {
                    let _ = sys::write(self.report.as_raw_fd(), &SupervisorMessage::Ended(status).bytes());
                }
                None => {
                    sys::kill(program, libc::SIGTERM);
                    sys::kill(-program, libc::SIGTERM);
                    supervisor::wait_for(program, None, children, Some(GRACE));
                }
            }
            supervisor::kill_all(program, descendants, false);
            sys::exit(0)
        }
    }
}
