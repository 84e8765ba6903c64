//! The child that runs the gate dies, hangs or starves, at every point that can be told apart from outside: the hook answers
//! with a block, in time.

use super::{SLOW, Work, blocks};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long anything is waited for.
const PATIENCE: Duration = Duration::from_secs(100);

/// The processes whose parent this is.
fn children(parent: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let of = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
    tasks.flat_map(|task| of(task).split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect()
}

/// Whether a process has a file of this name open.
fn has_open(process: u32, name: &str) -> bool {
    let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    open.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|path| path.ends_with(name))
}

fn command_line(process: u32) -> Vec<u8> {
    fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default()
}

fn threads(process: u32) -> usize {
    fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().count()
}

fn is_gone(process: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else { return true };
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

fn until<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < end, "{what} did not come about");
        thread::sleep(Duration::from_millis(1));
    }
}

fn signal(process: u32, name: &str) {
    let status = Command::new("/bin/sh").args(["-c", &format!("kill -{name} {process}")]).status().expect("a shell");
    assert!(status.success());
}

/// A point in the life of a child, and what is seen of it when it gets there.
type Point = (&'static str, fn(u32) -> bool);

const POINTS: &[Point] = &[
    ("when it starts", |_| true),
    ("when it has opened the ledger", |child| has_open(child, "ledger.db")),
    ("when the engine has started its threads", |child| threads(child) > 3),
    ("while a command runs", |child| !children(child).is_empty()),
];

/// Start a hook on a gate that takes long; do something to its child at a point; wait for the answer.
fn hook_whose_child(
    point: &str,
    is_there: fn(u32) -> bool,
    deadline: u64,
    act: impl Fn(u32),
) -> (Output, Work, Duration) {
    let work = Work::new(Some(SLOW)).bad();
    let start = Instant::now();
    let mut hook = work.hook(&["--host", "claude", "--deadline", &deadline.to_string()]).spawn().expect("gate runs");
    hook.stdin.take().expect("a pipe").write_all(work.claude().as_bytes()).expect("read");
    let id = hook.id();
    // Between fork and exec, the child is still a copy of the hook.
    let child = until("a child", || children(id).into_iter().find(|child| command_line(*child) != command_line(id)));
    until(point, || (is_there(child) || is_gone(child)).then_some(()));
    act(child);
    let output = hook.wait_with_output().expect("gate ends");
    (output, work, start.elapsed())
}

#[test]
fn a_child_that_dies_at_any_point_is_a_block() {
    for (point, is_there) in POINTS {
        for name in ["KILL", "ABRT", "SYS"] {
            let (output, work, _) = hook_whose_child(point, *is_there, 90, |child| signal(child, name));
            let stdout = String::from_utf8(output.stdout).expect("UTF-8");
            assert_eq!(output.status.code(), Some(0), "{name} {point}");
            assert!(blocks(&stdout) && stdout.contains("the run ended early"), "{name} {point}: {stdout}");
            // It is counted: the next time, the agent may stop, and nothing is verified.
            let mut sleepless = fs::read_to_string(work.folder().join("gate.toml")).expect("a gate");
            sleepless = sleepless.replace("[\"sleep\", \"300\"]", "[\"no-such-program\"]");
            fs::write(work.folder().join("gate.toml"), sleepless).expect("written");
            let (_, stdout, _) = work.answer(&["--host", "claude"], work.claude().as_bytes());
            assert!(stdout.contains("verification_failed"), "{name} {point}: {stdout}");
        }
    }
}

#[test]
fn a_child_that_hangs_at_any_point_is_a_block_within_the_deadline() {
    let hang = |(point, is_there): &Point| {
        let (output, _work, took) = hook_whose_child(point, *is_there, 12, |child| signal(child, "STOP"));
        let stdout = String::from_utf8(output.stdout).expect("UTF-8");
        assert_eq!(output.status.code(), Some(0), "{point}");
        assert!(blocks(&stdout) && stdout.contains("did not finish within"), "{point}: {stdout}");
        // A margin for a machine that is busy with other tests; the host's own limit is far above.
        assert!(took < Duration::from_secs(30), "{point}: {took:?}");
    };
    // All at the same time: each waits for its deadline.
    thread::scope(|scope| {
        for point in POINTS {
            scope.spawn(move || hang(point));
        }
    });
}

#[test]
fn where_every_child_dies_the_hook_still_blocks() {
    let work = Work::new(Some(SLOW)).bad();
    let mut hook = work.hook(&["--host", "codex", "--deadline", "60"]).spawn().expect("gate runs");
    hook.stdin.take().expect("a pipe").write_all(work.claude().as_bytes()).expect("read");
    let id = hook.id();
    until("the end", || {
        for child in children(id) {
            // It may have died in between.
            let _ = Command::new("/bin/sh").args(["-c", &format!("kill -KILL {child} 2>/dev/null")]).status();
        }
        hook.try_wait().expect("a process")
    });
    let output = hook.wait_with_output().expect("gate ends");
    let stdout = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.code() == Some(0) && blocks(&stdout), "{stdout}");
}

#[test]
fn a_run_ends_with_all_its_commands_when_the_hook_is_killed() {
    let work = Work::new(Some(SLOW)).bad();
    let mut hook = work.hook(&["--host", "claude", "--deadline", "100"]).spawn().expect("gate runs");
    hook.stdin.take().expect("a pipe").write_all(work.claude().as_bytes()).expect("read");
    let child = until("a child", || children(hook.id()).first().copied());
    let command = until("a command", || children(child).first().copied());
    hook.kill().expect("killed");
    hook.wait().expect("ended");
    until("the end of the run", || (is_gone(child) && is_gone(command)).then_some(()));
}

#[test]
fn without_memory_bad_work_is_never_let_go() {
    let (mut blocked, mut died) = (0, 0);
    for mebibytes in [8, 24, 64, 128, 192, 256, 384, 512, 1 << 10, 8 << 10] {
        let work = Work::new(None).bad();
        let script = format!("ulimit -v {}; exec \"$0\" hook --host claude --deadline 60", mebibytes << 10);
        let mut shell = work.command("/bin/sh", &["-c", &script, env!("CARGO_BIN_EXE_gate")]);
        let mut shell =
            shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a shell");
        // Where the program cannot even start, nobody reads.
        let _ = shell.stdin.take().expect("a pipe").write_all(work.claude().as_bytes());
        let output = shell.wait_with_output().expect("it ends");
        let stdout = String::from_utf8(output.stdout).expect("UTF-8");
        if output.status.success() {
            assert!(blocks(&stdout), "{mebibytes} MiB: {stdout}");
            blocked += 1;
        } else {
            assert_eq!(stdout, "", "{mebibytes} MiB");
            died += 1;
        }
    }
    // The limits reach from too little to start at all to enough.
    assert!(blocked > 3 && died < 6, "{blocked} blocked, {died} died");
    assert!(Path::new(env!("CARGO_BIN_EXE_gate")).is_absolute());
}
