//! Runs between `fork` and `exec`: the child sets up its sandbox and forks.
//!
//! One process becomes the command. The other, the supervisor, stays above it: it adopts the orphans of the command, reports
//! how the command ended, and kills everything that is left. It does the same when the host is gone: both hold an end of the
//! lifeline, a pipe that nobody writes to.
//!
//! With namespaces, the supervisor is the first process of the namespace, so its end kills all others. Otherwise it is a
//! subreaper, and kills orphans until there are none.

use super::landlock::Landlock;
use super::namespaces::Namespaces;
use super::sys::{self, Fork};
use crate::config::SandboxLevel;
use libc::{c_ulong, pid_t, pollfd};
use seccompiler::sock_filter;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// The largest file that a command may write, in bytes.
const MOST_OF_A_FILE: u64 = 4 << 30;

/// The step of the sandbox setup that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum ConfinementStage {
    Namespaces = 1,
    Mounts,
    Landlock,
    Filter,
    Processes,
}

impl ConfinementStage {
    const ALL: [Self; 5] = [Self::Namespaces, Self::Mounts, Self::Landlock, Self::Filter, Self::Processes];

    /// Returns the words for "this machine has no …".
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Mounts => "private file system",
            Self::Landlock => "Landlock",
            Self::Filter => "filter of system calls",
            Self::Processes => "processes",
        }
    }
}

/// A message of the supervisor: eight bytes, which a pipe never splits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SupervisorMessage {
    /// The command ended with this wait status.
    Ended(i32),
    /// The command was not started.
    Failed(ConfinementStage, i32),
}

impl SupervisorMessage {
    pub(super) fn bytes(self) -> [u8; 8] {
        let (tag, value) = match self {
            Self::Ended(status) => (0, status),
            Self::Failed(stage, errno) => (stage as i32, errno),
        };
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&tag.to_ne_bytes());
        bytes[4..].copy_from_slice(&value.to_ne_bytes());
        bytes
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (tag, value) = bytes.split_first_chunk::<4>()?;
        let (tag, value) = (i32::from_ne_bytes(*tag), i32::from_ne_bytes(value.try_into().ok()?));
        match tag {
            0 => Some(Self::Ended(value)),
            tag => ConfinementStage::ALL
                .into_iter()
                .find(|stage| *stage as i32 == tag)
                .map(|stage| Self::Failed(stage, value)),
        }
    }
}

/// How a child sets up its sandbox. The parent prepared everything in it.
#[derive(Debug)]
pub(super) struct Confinement {
    pub(super) level: SandboxLevel,
    pub(super) namespaces: Option<Namespaces>,
    pub(super) landlock: Option<Landlock>,
    pub(super) filter: Vec<sock_filter>,
    /// The most processes and threads of this user.
    pub(super) most_processes: u64,
    pub(super) lifeline: OwnedFd,
    pub(super) report: OwnedFd,
}

impl Confinement {
    /// Turns the child into the supervisor. Returns in the process that becomes the command, or after an error.
    pub(super) fn enter(&self) -> io::Result<()> {
        sys::new_session();
        sys::forget_handlers();
        if let Some(namespaces) = &self.namespaces {
            match self.stage(ConfinementStage::Namespaces, sys::fork(namespaces.flags()))? {
                Fork::Parent(_) => wait_for_all(),
                Fork::Child => {}
            }
            sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as c_ulong)?;
            self.stage(ConfinementStage::Mounts, namespaces.enter())?;
        } else {
            sys::prctl(libc::PR_SET_CHILD_SUBREAPER, 1)?;
        }
        sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1)?;
        // Before Landlock, which would hide it.
        let descendants = sys::open(c"/proc/thread-self/children", libc::O_RDONLY).ok();
        if let Some(landlock) = &self.landlock {
            self.stage(ConfinementStage::Landlock, landlock.enter())?;
        }
        // So that the command cannot trace its supervisor.
        sys::prctl(libc::PR_SET_DUMPABLE, 0)?;
        let children = self.stage(ConfinementStage::Processes, sys::children_as_descriptor())?;
        match self.stage(ConfinementStage::Processes, sys::fork(0))? {
            Fork::Parent(command) => self.keep(command, &children, descendants.as_ref()),
            Fork::Child => self.become_command(),
        }
    }

    fn become_command(&self) -> io::Result<()> {
        sys::new_session();
        sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as c_ulong)?;
        sys::unblock_signals();
        sys::limit(libc::RLIMIT_CORE as i32, 0);
        sys::limit(libc::RLIMIT_FSIZE as i32, MOST_OF_A_FILE);
        sys::limit(libc::RLIMIT_NPROC as i32, self.most_processes);
        if self.level > SandboxLevel::None {
            self.stage(ConfinementStage::Filter, sys::drop_capabilities())?;
        }
        if let Some(landlock) = &self.landlock {
            self.stage(ConfinementStage::Landlock, landlock.enter_deeper())?;
        }
        if !self.filter.is_empty() {
            self.stage(ConfinementStage::Filter, sys::filter(&self.filter))?;
        }
        sys::inherit_nothing();
        Ok(())
    }

    /// Waits until the command has ended or the host is gone.
    fn keep(&self, command: pid_t, children: &OwnedFd, descendants: Option<&OwnedFd>) -> ! {
        close_all_but(&self.lifeline, &self.report, children, descendants);
        if let Some(status) = wait_for(command, Some(&self.lifeline), children, None) {
            self.say(SupervisorMessage::Ended(status));
        }
        if self.namespaces.is_none() {
            let keeps_signals_inside = self.landlock.as_ref().is_some_and(Landlock::keeps_signals_inside);
            kill_all(command, descendants, keeps_signals_inside);
        }
        sys::exit(0)
    }

    /// Returns the result; reports the stage of an error to the host.
    fn stage<T>(&self, stage: ConfinementStage, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            self.say(SupervisorMessage::Failed(stage, error.raw_os_error().unwrap_or(0)));
        }
        result
    }

    fn say(&self, said: SupervisorMessage) {
        let _ = sys::write(self.report.as_raw_fd(), &said.bytes());
    }
}

/// Waits for the first process of a new namespace, which is the only child of this process.
fn wait_for_all() -> ! {
    sys::close_all_but(&[]);
    while sys::reap(true).is_ok() {}
    sys::exit(0)
}

/// Closes all file descriptors of a supervisor except those that it uses.
pub(super) fn close_all_but(lifeline: &OwnedFd, report: &OwnedFd, children: &OwnedFd, descendants: Option<&OwnedFd>) {
    let [lifeline, report, children] = [lifeline, report, children].map(AsRawFd::as_raw_fd);
    let mut kept = [lifeline, report, children, descendants.map_or(children, AsRawFd::as_raw_fd)];
    kept.sort_unstable();
    sys::close_all_but(&kept);
}

/// Waits until `command` exits, and returns its wait status. Returns `None` if the lifeline is cut first, or after `most`
/// milliseconds.
pub(super) fn wait_for(
    command: pid_t,
    lifeline: Option<&OwnedFd>,
    children: &OwnedFd,
    most: Option<i32>,
) -> Option<i32> {
    let mut left = most;
    loop {
        while let Ok(Some((pid, status))) = sys::reap(false) {
            if pid == command {
                return Some(status);
            }
        }
        if left == Some(0) {
            return None;
        }
        let watch = |fd: RawFd| pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut watched = [watch(lifeline.map_or(-1, AsRawFd::as_raw_fd)), watch(children.as_raw_fd())];
        // In steps, because reading the clock is not allowed between `fork` and `exec`.
        let step = left.map_or(-1, |left| left.min(20));
        if sys::poll(&mut watched, step).is_err() || watched[0].revents != 0 {
            return None;
        }
        let _ = sys::read(children.as_raw_fd(), &mut [0; 1024]);
        left = left.map(|left| left - step);
    }
}

/// Kills a command and everything that it started. If signals cannot leave the sandbox, one signal reaches all processes at once.
pub(super) fn kill_all(command: pid_t, descendants: Option<&OwnedFd>, keeps_signals_inside: bool) {
    loop {
        if keeps_signals_inside {
            sys::kill(-1, libc::SIGKILL);
        } else {
            sys::kill(-command, libc::SIGKILL);
            // Orphans become children of this process, so every round reaches one more generation.
            if let Some(descendants) = descendants {
                kill_each(descendants);
            }
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

/// Kills the processes that a file of `/proc` lists. Processes that do not fit are killed in the next round.
fn kill_each(list: &OwnedFd) {
    let mut text = [0; 4096];
    let read = sys::read_from_start(list.as_raw_fd(), &mut text).unwrap_or(0);
    let mut pid: pid_t = 0;
    for byte in &text[..read] {
        match byte {
            b'0'..=b'9' => pid = pid.wrapping_mul(10).wrapping_add(pid_t::from(byte - b'0')),
            _ => {
                if pid > 1 {
                    sys::kill(pid, libc::SIGKILL);
                }
                pid = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_the_supervisor_are_understood() {
        for said in [
            SupervisorMessage::Ended(0),
            SupervisorMessage::Ended(256),
            SupervisorMessage::Failed(ConfinementStage::Filter, 1),
        ] {
            assert_eq!(SupervisorMessage::read(&said.bytes()), Some(said));
        }
        for garbage in [&b""[..], b"1234567", &[9; 8], &[0; 9]] {
            assert_eq!(SupervisorMessage::read(garbage), None);
        }
    }
}
