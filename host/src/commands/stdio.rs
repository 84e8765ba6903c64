//! Supervises a command from start to end: stdin, stdout, stderr, the time limit and the free disk space.

use super::capture::Capture;
use super::lifeline::Lifeline;
use super::supervisor::{Confinement, ConfinementStage, SupervisorMessage};
use super::{Captured, CommandEnding, NoResult, sys};
use libc::pollfd;
use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// How long the outputs are read after the command has ended.
const DRAIN: Duration = Duration::from_secs(2);
/// How long killing everything may take.
const ENDING: Duration = Duration::from_secs(10);
/// How often the free disk space is checked.
const LOOK: Duration = Duration::from_millis(200);

/// Why a command did not start.
pub(super) enum NotStarted {
    /// The sandbox could not be set up; a lower level may work.
    Confining(ConfinementStage, io::Error),
    /// The command could read this folder, which it must not; a lower level would not hide it either.
    Exposing(super::mounts::Private),
    /// It could not be run.
    Running(io::Error),
}

/// A command that has started.
pub(super) struct StartedCommand {
    child: Child,
    report: PipeReader,
}

/// Starts a command in the sandbox. `report` is the read end of the pipe that the confinement writes to.
pub(super) fn begin(
    mut command: Command,
    confinement: Confinement,
    mut report: PipeReader,
) -> Result<StartedCommand, NotStarted> {
    #[expect(unsafe_code, reason = "the one way to confine a child and not oneself")]
    // SAFETY: `enter` makes nothing but system calls on what was prepared: no allocation, no lock.
    unsafe {
        command.pre_exec(move || confinement.enter());
    }
    let spawned = command.spawn();
    // This also closes this process's copies of the pipe ends that belong to the child.
    drop(command);
    match spawned {
        Ok(child) => Ok(StartedCommand { child, report }),
        Err(error) => {
            let mut said = Vec::new();
            let _ = report.read_to_end(&mut said);
            Err(match SupervisorMessage::read(&said) {
                Some(SupervisorMessage::Failed(stage, errno)) => {
                    NotStarted::Confining(stage, io::Error::from_raw_os_error(errno))
                }
                _ => NotStarted::Running(error),
            })
        }
    }
}

/// The result of a command.
pub(super) struct SupervisedOutput {
    pub(super) ending: CommandEnding,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
}

/// The limits of a command.
pub(super) struct Bounds<'a> {
    pub(super) until: Instant,
    /// The disk that the command may fill.
    pub(super) disk: &'a Path,
    /// The free disk space below which the command is killed.
    pub(super) reserve: u64,
}

impl StartedCommand {
    /// Supervises the command until it ends.
    pub(super) fn communicate(
        self,
        stdin: Vec<u8>,
        bounds: &Bounds<'_>,
        life: &Lifeline,
    ) -> Result<SupervisedOutput, NoResult> {
        let Self { mut child, report } = self;
        let mut streams = Streams::new(&mut child, stdin, report).map_err(broken)?;
        let mut stopped = None;
        let mut look = Instant::now() + LOOK;
        // When everything must have ended, once the command is being killed.
        let mut over = None;
        while !streams.supervisor_is_gone {
            let now = Instant::now();
            if over.is_none() {
                if now >= bounds.until {
                    stopped = Some(Stopped::Late);
                } else if now >= look {
                    look = now + LOOK;
                    stopped = fills(bounds).then_some(Stopped::DiskFull);
                }
                if stopped.is_some() {
                    life.cut();
                }
                if stopped.is_some() || !streams.report_bytes.is_empty() {
                    over = Some(now + ENDING);
                }
            } else if over.is_some_and(|over| now >= over) {
                let _ = child.kill();
                return Err(NoResult::not_started("it could not be killed".to_owned()));
            }
            let next = over.unwrap_or(bounds.until.min(look));
            streams.wait(next.saturating_duration_since(now), &mut |_| {}).map_err(broken)?;
        }
        child.wait().map_err(broken)?;
        streams.drain(&mut |_| {}).map_err(broken)?;
        let ending = match (stopped, SupervisorMessage::read(&streams.report_bytes)) {
            (Some(Stopped::DiskFull), _) => {
                let left = bounds.reserve >> 20;
                return Err(NoResult::not_started(format!("killed: less than {left} MiB of free disk space")));
            }
            (Some(Stopped::Late), _) => CommandEnding::TimedOut,
            (None, Some(SupervisorMessage::Ended(status))) => ending(status),
            (None, _) => return Err(NoResult::not_started("its supervisor process was killed".to_owned())),
        };
        let [stdout, stderr] = streams.finish();
        Ok(SupervisedOutput { ending, stdout, stderr })
    }
}

/// Why a command was stopped.
enum Stopped {
    Late,
    DiskFull,
}

fn broken(error: io::Error) -> NoResult {
    NoResult::not_started(format!("lost contact with the command: {error}"))
}

pub(super) fn ending(status: i32) -> CommandEnding {
    let status = ExitStatus::from_raw(status);
    match (status.code(), status.signal()) {
        (Some(code), _) => CommandEnding::Exited(code),
        (None, signal) => CommandEnding::Signalled(signal.unwrap_or(0)),
    }
}

/// Returns whether too little disk space is free. If that is unknown, the command is not blamed.
fn fills(bounds: &Bounds<'_>) -> bool {
    let free = rustix::fs::statvfs(bounds.disk).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    free.is_ok_and(|free| free < bounds.reserve)
}

/// The pipes to and from a child process, and the pipe from its supervisor.
pub(super) struct Streams {
    stdin: Option<(File, Vec<u8>, usize)>,
    outputs: [OutputPipe; 2],
    report: PipeReader,
    /// What the supervisor wrote so far: a [`SupervisorMessage`] when it is complete.
    pub(super) report_bytes: Vec<u8>,
    pub(super) supervisor_is_gone: bool,
    buffer: Vec<u8>,
}

/// One output; `None` after it was closed.
struct OutputPipe {
    pipe: Option<File>,
    capture: Capture,
}

impl Streams {
    /// Takes the pipes that the child has. A stream that the child inherited has none.
    pub(super) fn new(child: &mut Child, stdin: Vec<u8>, report: PipeReader) -> io::Result<Self> {
        sys::do_not_block(&report)?;
        let open = |fd: Option<OwnedFd>| {
            fd.map(|fd| {
                sys::do_not_block(&fd)?;
                Ok::<_, io::Error>(File::from(fd))
            })
            .transpose()
        };
        let output = |fd| Ok::<_, io::Error>(OutputPipe { pipe: open(fd)?, capture: Capture::default() });
        Ok(Self {
            stdin: open(child.stdin.take().map(OwnedFd::from))?.map(|pipe| (pipe, stdin, 0)),
            outputs: [output(child.stdout.take().map(OwnedFd::from))?, output(child.stderr.take().map(OwnedFd::from))?],
            report,
            report_bytes: Vec::new(),
            supervisor_is_gone: false,
            buffer: vec![0; 64 << 10],
        })
    }

    /// Waits at most this long until a pipe is ready, and reads or writes what is possible. `told` gets each piece of stdout.
    pub(super) fn wait(&mut self, most: Duration, told: &mut impl FnMut(&[u8])) -> io::Result<()> {
        // `poll` ignores negative descriptors.
        let watch = |fd: Option<RawFd>, events| pollfd { fd: fd.unwrap_or(-1), events, revents: 0 };
        let mut watched = [
            watch(self.stdin.as_ref().map(|(pipe, ..)| pipe.as_raw_fd()), libc::POLLOUT),
            watch(self.outputs[0].pipe.as_ref().map(AsRawFd::as_raw_fd), libc::POLLIN),
            watch(self.outputs[1].pipe.as_ref().map(AsRawFd::as_raw_fd), libc::POLLIN),
            watch((!self.supervisor_is_gone).then(|| self.report.as_raw_fd()), libc::POLLIN),
        ];
        // Rounded up, so that a deadline has passed after waiting for it.
        sys::poll(&mut watched, i32::try_from(most.as_millis()).unwrap_or(i32::MAX - 1) + 1)?;
        let [stdin, stdout, stderr, report] = watched.map(|watched| watched.revents != 0);
        if stdin {
            self.feed();
        }
        if stdout {
            let piece = self.outputs[0].take(&mut self.buffer)?;
            if !piece.is_empty() {
                told(piece);
            }
        }
        if stderr {
            self.outputs[1].take(&mut self.buffer)?;
        }
        if report {
            let mut said = [0; 16];
            match self.report.read(&mut said) {
                Ok(0) => self.supervisor_is_gone = true,
                Ok(read) => self.report_bytes.extend_from_slice(&said[..read]),
                Err(error) if is_no_matter(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes as much of stdin as fits. A command that does not read it is not an error.
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

    /// Reads the rest of the outputs until they are closed. Gives up after [`DRAIN`], because a process that `gate` cannot kill may
    /// hold a pipe open.
    pub(super) fn drain(&mut self, told: &mut impl FnMut(&[u8])) -> io::Result<()> {
        let until = Instant::now() + DRAIN;
        self.stdin = None;
        while self.outputs.iter().any(|output| output.pipe.is_some()) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.wait(left, told)?;
        }
        Ok(())
    }

    /// Returns what was captured of stdout and stderr.
    pub(super) fn finish(self) -> [Captured; 2] {
        self.outputs.map(|output| output.capture.finish())
    }
}

impl OutputPipe {
    /// Reads once, and returns what was read. Empty when there is nothing to read now.
    fn take<'b>(&mut self, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
        let Some(pipe) = &mut self.pipe else { return Ok(&[]) };
        match pipe.read(buffer) {
            Ok(0) => {
                self.pipe = None;
                Ok(&[])
            }
            Ok(read) => {
                self.capture.add(&buffer[..read]);
                Ok(&buffer[..read])
            }
            Err(error) if is_no_matter(&error) => Ok(&[]),
            Err(error) => Err(error),
        }
    }
}

fn is_no_matter(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
