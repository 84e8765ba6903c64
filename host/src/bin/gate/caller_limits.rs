//! The limits of the caller (`ulimit`) end the program with a named error, never with a signal, a panic or an abort.
//!
//! What a run needs is tried at the start, but only if a limit is low. What fails later ends the program here too: the allocator
//! and the panic of a thread that cannot be started say so, and exit. Commands end with the program.
#![expect(unsafe_code, reason = "an allocator is unsafe")]

use crate::error::Error;
use crate::interrupt;
use gatehost::error::Exit;
use gatehost::process_limits::{self, LowLimit, ProcessLimit};
use parking_lot::RwLock;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::{panic, thread};

/// The stack of the program.
const STACK: usize = 8 << 20;
/// The memory that must be free at the start.
const MEMORY: usize = 64 << 20;
/// The files that can be open at the same time, besides those of the commands that run in parallel.
const OPEN_FILES: usize = 64;
/// The files for each of those.
const FILES_OF_COMMAND: usize = 16;
/// The threads that a run starts besides those for each core.
const THREADS: usize = 16;
/// The processes of a command, one of which runs for each core.
const PROCESSES_OF_COMMAND: usize = 16;
/// The stack of a thread that only stands for a process.
const SMALL_STACK: usize = 64 << 10;
/// The processor time in seconds. The system kills at once with a limit of 1 s, without a signal before.
const PROCESSOR_TIME: u64 = 2;

/// The exit code when nothing works any more. Hosts let an agent stop after any other code than 2.
static EXIT: AtomicU8 = AtomicU8::new(Exit::NoVerdict as u8);

/// Runs the program with a stack of the usual size, whatever the limit is. If memory is limited, the stack could not grow.
pub(crate) fn run(program: fn() -> ExitCode) -> ExitCode {
    interrupt::wait_for_children();
    interrupt::survive_file_limit();
    interrupt::on_truncated_file(truncated);
    // Before the arguments are understood, which takes memory.
    if std::env::args_os().any(|argument| argument == "hook") {
        EXIT.store(Exit::Mistake as u8, Ordering::Relaxed);
    }
    let ordinary = panic::take_hook();
    panic::set_hook(Box::new(move |panic| match panic.payload_as_str().and_then(shortage) {
        Some(shortage) => die(shortage),
        None => ordinary(panic),
    }));
    if ProcessLimit::Stack.low().or_else(process_limits::of_memory).is_none() {
        return program();
    }
    match thread::Builder::new().name("main".to_owned()).stack_size(STACK).spawn(program) {
        // A panic has printed its message.
        Ok(thread) => thread.join().unwrap_or(ExitCode::from(101)),
        Err(_) => die("`gate` cannot start a thread"),
    }
}

/// Returns what is missing if a panic is about a thread that std, tokio or rayon could not start, or about memory for its stack:
/// they have no other way to say so.
fn shortage(message: &str) -> Option<&'static str> {
    let refused =
        |code: i32| [format!("code: {code},"), format!("os error {code})")].iter().any(|code| message.contains(code));
    if refused(libc::ENOMEM) {
        Some("`gate` is out of memory")
    } else if message.contains("thread") && refused(libc::EAGAIN) {
        Some("`gate` cannot start a thread")
    } else {
        None
    }
}

/// Tries what a run needs, if a limit is low.
pub(crate) fn check() -> Result<(), Error> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let files = OPEN_FILES + cores * FILES_OF_COMMAND;
    if let Some(low) = ProcessLimit::OpenFiles.low().filter(|low| low.value < files as u64) {
        return Err(too_low(low, format_args!("`gate` needs {files}")));
    }
    if let Some(low) = ProcessLimit::ProcessorTime.low() {
        let limits = getrlimit(Resource::Cpu);
        if limits.maximum.is_some_and(|seconds| seconds < PROCESSOR_TIME) {
            return Err(too_low(low, format_args!("`gate` needs {PROCESSOR_TIME} s")));
        }
        // With equal limits, the system kills without a signal before.
        if limits.current == limits.maximum {
            let earlier = rustix::process::Rlimit { current: limits.current.map(|seconds| seconds - 1), ..limits };
            let _ = setrlimit(Resource::Cpu, earlier);
        }
    }
    let memory = process_limits::of_memory();
    if let Some(low) = memory.filter(|_| !is_free(MEMORY)) {
        return Err(too_low(low, format_args!("`gate` needs {} KiB more", MEMORY >> 10)));
    }
    let threads = THREADS + 2 * cores;
    if let Some(low) = memory {
        let started = try_threads(threads, thread::Builder::new);
        started.map_err(|error| too_low(low, "`gate` cannot start its threads").because(error))?;
    }
    if let Some(low) = ProcessLimit::Processes.low() {
        // Where a command cannot start its processes, the work would be blamed.
        let small = || thread::Builder::new().stack_size(SMALL_STACK);
        let started = try_threads(threads + cores * PROCESSES_OF_COMMAND, small);
        let failed = "`gate` cannot start its threads and the processes of commands";
        started.map_err(|error| too_low(low, failed).because(error))?;
    }
    Ok(())
}

fn too_low(low: LowLimit, needs: impl std::fmt::Display) -> Error {
    Error::host(format_args!("{needs}, but {low}")).hint("raise the limit, or run `gate` without it".to_owned())
}

/// Returns whether so much memory could be allocated.
fn is_free(bytes: usize) -> bool {
    let Ok(layout) = Layout::from_size_align(bytes, 1) else { return false };
    // SAFETY: the size is not zero, and what was allocated is freed with the same layout.
    unsafe {
        let start = std::hint::black_box(System.alloc(layout));
        if !start.is_null() {
            System.dealloc(start, layout);
        }
        !start.is_null()
    }
}

/// Starts so many threads at the same time, and ends them.
fn try_threads(count: usize, builder: fn() -> thread::Builder) -> io::Result<()> {
    let hold = Arc::new(RwLock::new(()));
    let held = hold.write();
    let start = |_| {
        let hold = Arc::clone(&hold);
        builder().spawn(move || drop(hold.read()))
    };
    let mut threads = Vec::new();
    let started = (0..count).map(start).try_for_each(|thread| thread.map(|thread| threads.push(thread)));
    drop(held);
    for thread in threads {
        let _ = thread.join();
    }
    started
}

/// Prints the limits that are low, after an error of the machine.
pub(crate) fn mention() {
    for low in process_limits::low() {
        crate::terminal::say(format_args!("note: {low}"));
    }
}

/// Prints the limits that are low and can be the reason of this exit code. A command that could not start a process may say
/// that the work is wrong.
pub(crate) fn mention_after(exit: Exit) {
    match (exit, ProcessLimit::Processes.low()) {
        (Exit::NoVerdict, _) => mention(),
        (Exit::Fail, Some(low)) => crate::terminal::say(format_args!("note: {low}")),
        _ => {}
    }
}

/// Ends the program after SIGBUS: `ledger.db-shm` and compiled components are mapped into memory.
extern "C" fn truncated(_: libc::c_int) {
    die("a file that `gate` reads was cut off by another process, or cannot be read from its disk");
}

/// Ends the program. Nothing is allocated, and no lock is taken, so a signal handler may call this.
fn die(what: &str) -> ! {
    let mut text = [0; 1024];
    let mut left = &mut text[..];
    let _ = writeln!(left, "error: {what}");
    for low in process_limits::low() {
        let _ = writeln!(left, "note: {low}");
    }
    let unused = left.len();
    let _ = rustix::io::write(io::stderr(), &text[..text.len() - unused]);
    interrupt::exit_at_once(EXIT.load(Ordering::Relaxed))
}

/// The allocator of the system. Where it has no memory, std would abort.
struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn allocated(start: *mut u8) -> *mut u8 {
    if start.is_null() {
        die("`gate` is out of memory");
    }
    start
}

// SAFETY: every call is passed to the allocator of the system as it is.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for the caller.
        allocated(unsafe { System.alloc(layout) })
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as for the caller.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for the caller.
        allocated(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as for the caller.
        allocated(unsafe { System.realloc(start, layout, size) })
    }
}
