//! Handles SIGINT, SIGTERM and SIGHUP, and SIGXCPU when the processor time is used up: kills what the program started, deletes its temporary files, and prints a message.
//!
//! The handler only writes the signal number to a pipe; a thread does the rest. Signals are not blocked, because child
//! processes would inherit that. After a second signal, the program exits at once, and its children with it.
#![expect(unsafe_code, reason = "std has no signals")]

use crate::terminal::say;
use gatehost::error::Exit;
use gatehost::shutdown;
use indicatif::{MultiProgress, ProgressDrawTarget};
use parking_lot::Mutex;
use std::io::Read;
use std::os::fd::IntoRawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use std::{io, mem, ptr, thread};

const SIGNALS: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGXCPU];
/// How long to wait for commands. Killing one takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a report that is being written may take.
const LAST_WORDS: Duration = Duration::from_millis(200);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static PANEL: Mutex<Option<MultiProgress>> = Mutex::new(None);

/// The pipe of the handler, and the process that owns it: a forked child has it too until `exec`.
static WRITE: AtomicI32 = AtomicI32::new(-1);
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Makes writing beyond the limit of file sizes an error instead of a signal that kills. A signal that is ignored would be
/// ignored by child processes too; one with a handler gets its default action there.
pub(crate) fn survive_file_limit() {
    extern "C" fn nothing(_: libc::c_int) {}
    handle(libc::SIGXFSZ, nothing);
}

/// Calls `truncated` where the program reads from a mapped file that somebody else has cut off. It may only make calls that a
/// handler may make.
pub(crate) fn on_truncated_file(truncated: extern "C" fn(libc::c_int)) {
    handle(libc::SIGBUS, truncated);
}

/// Restores the default action of SIGCHLD. If the caller ignores that signal, the system discards the exit codes of child processes.
pub(crate) fn wait_for_children() {
    // SAFETY: the default action.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
}

fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: the action is ours, and its handler only makes calls that a handler may make.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &raw const action, ptr::null_mut());
    }
}

/// Handles signals from now on. If that fails, they keep their default action.
pub(crate) fn watch() {
    let Ok((mut read, write)) = io::pipe() else { return };
    let watching = thread::Builder::new().name("gate-signals".to_owned()).spawn(move || {
        let mut next = || {
            let mut signal = [0];
            read.read_exact(&mut signal).map(|()| libc::c_int::from(signal[0]))
        };
        let Ok(first) = next() else { return };
        INTERRUPTED.store(true, Ordering::SeqCst);
        if thread::Builder::new().spawn(move || close(first)).is_err() {
            exit(first);
        }
        if let Ok(second) = next() {
            exit(second);
        }
    });
    if watching.is_err() {
        return;
    }
    WRITE.store(write.into_raw_fd(), Ordering::SeqCst);
    // SAFETY: the action is ours, and the handler only makes calls that a handler may make.
    unsafe {
        PROCESS.store(libc::getpid(), Ordering::SeqCst);
        for signal in SIGNALS {
            let mut action: libc::sigaction = mem::zeroed();
            // Signals that the parent process ignores (`nohup`) stay ignored. SIGXCPU does not: it comes before the system kills.
            if libc::sigaction(signal, ptr::null(), &raw mut action) == 0
                && (action.sa_sigaction != libc::SIG_IGN || signal == libc::SIGXCPU)
            {
                action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &raw const action, ptr::null_mut());
            }
        }
    }
}

/// The handler.
extern "C" fn note(signal: libc::c_int) {
    // SAFETY: calls that a handler may make; the byte is ours.
    unsafe {
        if libc::getpid() != PROCESS.load(Ordering::SeqCst) {
            libc::_exit(128 + signal);
        }
        let byte = signal as u8;
        libc::write(WRITE.load(Ordering::SeqCst), (&raw const byte).cast(), 1);
    }
}

/// Sets the panel to clear before a message is printed.
pub(crate) fn clears(panel: &MultiProgress) {
    *PANEL.lock() = Some(panel.clone());
}

/// Blocks the main thread once the program is interrupted: the signal thread exits the program.
pub(crate) fn give_way() {
    while INTERRUPTED.load(Ordering::SeqCst) {
        thread::park();
    }
}

fn close(signal: libc::c_int) {
    hold_stdout();
    shutdown::clean_up(PATIENCE);
    end_children();
    let panel = PANEL.lock().take();
    if let Some(panel) = panel {
        let _ = panel.clear();
        panel.set_draw_target(ProgressDrawTarget::hidden());
    }
    if signal == libc::SIGXCPU {
        say("error: the processor time is used up");
        crate::caller_limits::mention();
    } else {
        say("interrupted");
    }
    exit(signal)
}

/// Lets no report start, because it would be about killed commands. A report that has started may finish.
fn hold_stdout() {
    let (held, is_held) = mpsc::channel();
    let holder = move || {
        let _stdout = io::stdout().lock();
        let _ = held.send(());
        loop {
            thread::park();
        }
    };
    if thread::Builder::new().spawn(holder).is_ok() {
        let _ = is_held.recv_timeout(LAST_WORDS);
    }
}

/// Kills child processes besides commands, such as `git` and compilers, with everything that they started: orphans become
/// children of this process, so every round reaches one more generation.
#[cfg(target_os = "linux")]
fn end_children() {
    use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};
    /// More generations than any program starts.
    const MOST_ROUNDS: usize = 200;
    let _ = set_child_subreaper(Some(getpid()));
    for _ in 0..MOST_ROUNDS {
        let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        let children: Vec<Pid> = lists
            .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            .filter_map(|number| Pid::from_raw(number.parse().ok()?))
            .collect();
        if children.is_empty() {
            return;
        }
        for child in children {
            let _ = kill_process(child, Signal::KILL);
        }
        while matches!(waitpid(None, WaitOptions::NOHANG), Ok(Some(_))) {}
        thread::sleep(Duration::from_millis(1));
    }
}

/// Does nothing: other systems have no list of children.
#[cfg(not(target_os = "linux"))]
fn end_children() {}

/// Exits with the code that shells use for a signal, or as after an error if the processor time is used up.
fn exit(signal: libc::c_int) -> ! {
    let code = if signal == libc::SIGXCPU { libc::c_int::from(Exit::NoVerdict.code()) } else { 128 + signal };
    // SAFETY: it does not return.
    unsafe { libc::_exit(code) }
}

/// Exits with this code. Nothing else runs, and nothing is flushed.
pub(crate) fn exit_at_once(code: u8) -> ! {
    // SAFETY: it does not return.
    unsafe { libc::_exit(libc::c_int::from(code)) }
}
