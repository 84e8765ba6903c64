//! Running a program that is not confined, such as the executor of a loop: it keeps its terminal, its network and its
//! environment, but it ends with everything that it started, also when `gate` itself is killed.
//!
//! A supervisor process stands between, as above every command (`supervisor.rs`): it adopts the orphans of the program, and
//! kills them when the program has ended, when it times out, or when the host is gone. A program that has not ended by
//! itself gets SIGTERM, and SIGKILL a little later. If the program kills its supervisor, the host kills what is left
//! (`marked.rs`), and the result is an error whatever the program did.

use super::{Captured, CommandEnding, NoResult};
use crate::environment::Environment;
use std::path::PathBuf;
use std::time::Duration;

/// A program to be run.
#[derive(Clone, Debug)]
pub struct Supervised {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where it runs.
    pub folder: PathBuf,
    /// All variables that it sees.
    pub environment: Environment,
    /// What it reads on standard input; without it, what this process would.
    pub stdin: Option<Vec<u8>>,
    /// How long it may run.
    pub timeout: Duration,
    /// Whether it stays in the foreground of the terminal of this process. Without one, it gets a session of its own.
    pub keep_terminal: bool,
}

/// What became of it. Its standard error is that of this process.
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
    /// Runs it to its end. `told` is handed what it prints as it comes. Returns when nothing that it started is left. When
    /// the future is dropped, all of it is ended.
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
    use super::super::capture::Capture;
    use super::super::marked::{self, kill_marked, new_mark};
    use super::super::stdio::{self, Lifeline};
    use super::super::supervisor::{SupervisorMessage, kill_each};
    use super::super::sys::{self, Fork};
    use super::super::{CommandEnding, NoResult, running};
    use super::{Supervised, SupervisedEnd};
    use libc::{c_ulong, pid_t, pollfd};
    use std::fs::File;
    use std::io::{self, ErrorKind, PipeReader, Read, Write};
    use std::os::fd::{AsRawFd, OwnedFd, RawFd};
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};
    use std::sync::{Arc, mpsc};
    use std::thread;
    use std::time::{Duration, Instant};
    use tokio::sync::oneshot;

    /// How long a program that is asked to end may take to do so, in milliseconds.
    const GRACE: i32 = 2_000;
    /// How long it may take in all until everything has ended.
    const ENDING: Duration = Duration::from_secs(15);
    /// How long an output is read that somebody holds who is not ours to end.
    const DRAIN: Duration = Duration::from_secs(2);
    /// How long somebody who no longer wants it waits for its end.
    const PATIENCE: Duration = Duration::from_secs(5);

    pub(super) async fn run(
        program: Supervised,
        told: impl FnMut(&[u8]) + Send + 'static,
    ) -> Result<SupervisedEnd, NoResult> {
        let (theirs, ours) = io::pipe().map_err(|error| broken(&error))?;
        let lifeline = Arc::new(Lifeline::new(ours));
        let entry = running::enter(&lifeline)?;
        let (gone, is_gone) = mpsc::channel::<()>();
        let _guard = Guard { lifeline: Arc::clone(&lifeline), is_gone };
        let (send, receive) = oneshot::channel();
        let attendant = thread::Builder::new().name("gate executor".to_owned()).spawn(move || {
            let _gone = gone;
            let result = attended(program, theirs, &lifeline, told);
            if entry.leave() {
                let _ = send.send(result);
            } else {
                // The program is being interrupted: nobody is to judge what was ended for that.
                loop {
                    thread::park();
                }
            }
        });
        attendant.map_err(|error| broken(&error))?;
        receive.await.unwrap_or_else(|_| Err(NoResult::not_started("lost contact with it".to_owned())))
    }

    /// When this is dropped, the program is ended.
    struct Guard {
        lifeline: Arc<Lifeline>,
        is_gone: mpsc::Receiver<()>,
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            self.lifeline.cut();
            let _ = self.is_gone.recv_timeout(PATIENCE);
        }
    }

    fn broken(error: &io::Error) -> NoResult {
        NoResult::not_started(format!("it could not be run: {error}"))
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
        let mut streams = begin(program, theirs).map_err(|error| {
            NoResult::not_started(format!("`{name}` cannot be run: {error}"))
                .with_hint("name a program in PATH, or its path; use `sh -c '…'` for a shell command")
        })?;
        let mut late = false;
        // When everything must have ended, once it is to end.
        let mut over = None;
        while !streams.keeper_is_gone {
            let now = Instant::now();
            if over.is_none() && now >= until {
                late = true;
                life.cut();
            }
            if over.is_none() && (late || !streams.said.is_empty()) {
                over = Some(now + ENDING);
            }
            if over.is_some_and(|over| now >= over) {
                let _ = streams.child.kill();
                kill_marked(&mark);
                return Err(NoResult::tampered("its supervisor process did not end".to_owned()));
            }
            let next = over.unwrap_or(until);
            streams.wait(next.saturating_duration_since(now), &mut told).map_err(|error| broken(&error))?;
        }
        // It exits with 0 only after everything that the program started has ended.
        let ended_all = streams.child.wait().map_err(|error| broken(&error))?.success();
        if !ended_all {
            kill_marked(&mark);
        }
        let drained = Instant::now() + DRAIN;
        while streams.stdout.is_some() && Instant::now() < drained {
            let left = drained.saturating_duration_since(Instant::now());
            streams.wait(left, &mut told).map_err(|error| broken(&error))?;
        }
        let ending = match (late, SupervisorMessage::read(&streams.said)) {
            (true, _) if ended_all => CommandEnding::TimedOut,
            (false, Some(SupervisorMessage::Ended(status))) if ended_all => stdio::ending(status),
            _ => {
                let killed =
                    "its supervisor process was killed, so processes that cleared their environment may still run";
                return Err(NoResult::tampered(killed.to_owned()));
            }
        };
        Ok(SupervisedEnd { ending, stdout: streams.capture.finish(), duration: start.elapsed() })
    }

    fn begin(program: Supervised, theirs: PipeReader) -> io::Result<Streams> {
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
        sys::do_not_block(&report)?;
        let open = |fd: Option<OwnedFd>| fd.map(|fd| sys::do_not_block(&fd).map(|()| File::from(fd))).transpose();
        let stdin = open(child.stdin.take().map(OwnedFd::from))?;
        let stdout = open(child.stdout.take().map(OwnedFd::from))?;
        Ok(Streams {
            child,
            stdin: stdin.map(|pipe| (pipe, program.stdin.unwrap_or_default(), 0)),
            stdout,
            capture: Capture::default(),
            report,
            said: Vec::new(),
            keeper_is_gone: false,
            buffer: vec![0; 64 << 10],
        })
    }

    /// The pipes to and from the program, and from its supervisor.
    struct Streams {
        child: Child,
        stdin: Option<(File, Vec<u8>, usize)>,
        stdout: Option<File>,
        capture: Capture,
        report: PipeReader,
        said: Vec<u8>,
        keeper_is_gone: bool,
        buffer: Vec<u8>,
    }

    impl Streams {
        /// Waits for something to happen, no longer than this, and deals with it.
        fn wait(&mut self, most: Duration, told: &mut impl FnMut(&[u8])) -> io::Result<()> {
            let watch = |fd: Option<RawFd>, events| pollfd { fd: fd.unwrap_or(-1), events, revents: 0 };
            let mut watched = [
                watch(self.stdin.as_ref().map(|(pipe, ..)| pipe.as_raw_fd()), libc::POLLOUT),
                watch(self.stdout.as_ref().map(AsRawFd::as_raw_fd), libc::POLLIN),
                watch((!self.keeper_is_gone).then(|| self.report.as_raw_fd()), libc::POLLIN),
            ];
            sys::poll(&mut watched, i32::try_from(most.as_millis()).unwrap_or(i32::MAX - 1) + 1)?;
            let [stdin, stdout, report] = watched.map(|watched| watched.revents != 0);
            if stdin {
                self.feed();
            }
            if stdout && let Some(pipe) = &mut self.stdout {
                match pipe.read(&mut self.buffer) {
                    Ok(0) => self.stdout = None,
                    Ok(read) => {
                        self.capture.add(&self.buffer[..read]);
                        told(&self.buffer[..read]);
                    }
                    Err(error) if is_no_matter(&error) => {}
                    Err(error) => return Err(error),
                }
            }
            if report {
                let mut said = [0; 16];
                match self.report.read(&mut said) {
                    Ok(0) => self.keeper_is_gone = true,
                    Ok(read) => self.said.extend_from_slice(&said[..read]),
                    Err(error) if is_no_matter(&error) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        }

        fn feed(&mut self) {
            let Some((pipe, bytes, written)) = &mut self.stdin else { return };
            let finished = match pipe.write(&bytes[*written..]) {
                Ok(more) => {
                    *written += more;
                    *written == bytes.len()
                }
                Err(error) => !is_no_matter(&error),
            };
            if finished {
                self.stdin = None;
            }
        }
    }

    fn is_no_matter(error: &io::Error) -> bool {
        matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
    }

    /// The process above the program. Everything in it was prepared by the parent.
    struct Supervisor {
        lifeline: OwnedFd,
        report: OwnedFd,
        terminal: bool,
    }

    impl Supervisor {
        /// Called in the child, which stays as the supervisor. Returns in the process that is to become the program.
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

        /// Stay until the program has ended or is to end, and then until nothing of it is left.
        fn keep(&self, program: pid_t, children: &OwnedFd, descendants: Option<&OwnedFd>) -> ! {
            let fds = [self.lifeline.as_raw_fd(), self.report.as_raw_fd(), children.as_raw_fd()];
            let mut kept = [fds[0], fds[1], fds[2], descendants.map_or(fds[2], AsRawFd::as_raw_fd)];
            kept.sort_unstable();
            sys::close_all_but(&kept);
            match wait_for(program, Some(&self.lifeline), children, -1) {
                Some(status) => {
                    let _ = sys::write(self.report.as_raw_fd(), &SupervisorMessage::Ended(status).bytes());
                }
                None => {
                    sys::kill(program, libc::SIGTERM);
                    sys::kill(-program, libc::SIGTERM);
                    wait_for(program, None, children, GRACE);
                }
            }
            end_all(program, descendants);
            sys::exit(0)
        }
    }

    /// Waits for the end of the program: its status. `None` where the lifeline was cut or the time was over first.
    fn wait_for(program: pid_t, lifeline: Option<&OwnedFd>, children: &OwnedFd, most: i32) -> Option<i32> {
        let mut left = most;
        loop {
            while let Ok(Some((pid, status))) = sys::reap(false) {
                if pid == program {
                    return Some(status);
                }
            }
            if left == 0 {
                return None;
            }
            let watch = |fd: RawFd| pollfd { fd, events: libc::POLLIN, revents: 0 };
            let mut watched = [watch(lifeline.map_or(-1, AsRawFd::as_raw_fd)), watch(children.as_raw_fd())];
            // In steps, since a clock is not to be had here.
            let step = if left < 0 { -1 } else { left.min(20) };
            if sys::poll(&mut watched, step).is_err() || watched[0].revents != 0 {
                return None;
            }
            let _ = sys::read(children.as_raw_fd(), &mut [0; 1024]);
            if left > 0 {
                left -= step;
            }
        }
    }

    fn end_all(program: pid_t, descendants: Option<&OwnedFd>) {
        loop {
            sys::kill(-program, libc::SIGKILL);
            // Whose parent ends becomes a child of this process: layer by layer, all do.
            if let Some(descendants) = descendants {
                kill_each(descendants);
            }
            loop {
                match sys::reap(false) {
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(_) => return,
                }
            }
            let _ = sys::poll(&mut [], 1);
        }
    }
}
