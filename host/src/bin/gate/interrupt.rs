//! SIGINT, SIGTERM and SIGHUP: the program ends what it started, deletes what it made for a while, and says so.
//!
//! A handler does nothing but write down which signal it was; a thread does the rest. Signals are not blocked, since the
//! programs that are started here would inherit that. Whoever sends a second one does not want to wait: then the program
//! ends at once, and what it started ends with it.
#![expect(unsafe_code, reason = "std has no signals")]

use crate::terminal::say;
use gatehost::shutdown;
use indicatif::{MultiProgress, ProgressDrawTarget};
use parking_lot::Mutex;
use std::io::Read;
use std::os::fd::IntoRawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use std::{io, mem, ptr, thread};

const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
/// How long commands are waited for. Ending one takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long somebody who writes a report already may take to finish it.
const LAST_WORDS: Duration = Duration::from_millis(200);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static PANEL: Mutex<Option<MultiProgress>> = Mutex::new(None);

/// Where the handler writes, and in which process: one that was forked and is no other program yet has it, too.
static WRITE: AtomicI32 = AtomicI32::new(-1);
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Watches for signals from now on. Where that cannot be, they do what they always do.
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
            // What whoever started the program wants to be ignored (`nohup`) is ignored.
            if libc::sigaction(signal, ptr::null(), &raw mut action) == 0 && action.sa_sigaction != libc::SIG_IGN {
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

/// The panel to be cleared before anything is said.
pub(crate) fn clears(panel: &MultiProgress) {
    *PANEL.lock() = Some(panel.clone());
}

/// Once the program is interrupted, its end is not for the main thread to decide, nor what it says last.
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
    say("interrupted");
    exit(signal)
}

/// Lets nobody begin a report, which could only be about what was ended here. One that has begun may be finished.
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

/// Ends the programs that were started beside commands, such as `git` and compilers, with all that they started: whose
/// parent ends becomes a child of this process, and so layer by layer all do.
#[cfg(target_os = "linux")]
fn end_children() {
    use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};
    /// More layers than anybody starts.
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

/// Elsewhere nobody tells which they are.
#[cfg(not(target_os = "linux"))]
fn end_children() {}

/// Ends with the code that shells give to a program that a signal ended. Nothing else runs, and nothing is flushed.
fn exit(signal: libc::c_int) -> ! {
    // SAFETY: it does not return.
    unsafe { libc::_exit(128 + signal) }
}
