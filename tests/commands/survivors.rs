//! What a command leaves behind: processes, folders, handles.

use super::stage::*;
use gatehost::commands::CommandEnding;
use gatehost::config::SandboxLevel;
use std::io::Read;
use std::path::Path;
use std::process::{self, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

#[test]
fn e1_nothing_survives_the_end_of_a_command() {
    for &level in levels() {
        let mark = mark(11);
        // Out of its session, away from its parent, deaf to what can be ignored.
        let daemon =
            format!("trap '' TERM HUP INT; (setsid sh -c 'trap \"\" TERM HUP INT; sleep {mark}; sleep {mark}' &) &");
        let ran = TestBed::new(level).sh(&format!("{daemon} sleep 0.1; echo begun"));
        assert_eq!((ran.ending, &*printed(&ran)), (CommandEnding::Exited(0), "begun\n"), "{level}");
        assert_no_survivor(&mark, level);
    }
}

#[test]
fn e1_nothing_survives_the_time_limit() {
    for &level in levels() {
        let mark = mark(12);
        let script = format!(
            "trap '' TERM; echo begun; (setsid setsid sh -c 'trap \"\" TERM; while :; do sleep {mark}; done' &); while :; do sleep {mark}; done"
        );
        // Longer where the machine is so busy that the command has not begun by then.
        let limits = [300, 3_000, 30_000].map(Duration::from_millis);
        let began = limits.into_iter().any(|limit| {
            let start = Instant::now();
            let ran = TestBed::new(level).with(|command| command.timeout = limit).sh(&script);
            assert_eq!(ran.ending, CommandEnding::TimedOut, "{level}");
            assert!(start.elapsed() < limit + Duration::from_secs(10), "{level}: {:?}", start.elapsed());
            assert_no_survivor(&mark, level);
            printed(&ran) == "begun\n"
        });
        assert!(began, "{level}");
    }
}

#[test]
fn e1_nothing_survives_when_nobody_waits_any_more() {
    for &level in levels() {
        let mark = mark(13);
        let bed = TestBed::new(level);
        let script = format!("(setsid sleep {mark} &); sleep {mark}");
        let commands = bed.commands(&["sh", "-c", &script]);
        tokio().block_on(async {
            let run = tokio::time::timeout(Duration::from_millis(200), commands.run("it", Vec::new()));
            assert!(run.await.is_err(), "{level}");
        });
        assert_no_survivor(&mark, level);
    }
}

/// Not a test: what the next one kills.
#[test]
#[ignore = "part of another test"]
fn runs_for_ever() {
    let line = std::io::stdin().lines().next().expect("a line").expect("text");
    let (level, mark) = line.split_once(' ').expect("two words");
    let level = LEVELS.into_iter().find(|known| known.as_str() == level).expect("a level");
    TestBed::new(level).sh(&format!("(setsid sleep {mark} &); sleep {mark}"));
}

#[test]
fn e1_nothing_survives_the_host() {
    for &level in levels() {
        let mark = mark(14);
        let mut host =
            again("survivors::runs_for_ever", &["--ignored"]).stdin(Stdio::piped()).spawn().expect("started");
        use std::io::Write as _;
        writeln!(host.stdin.take().expect("a pipe"), "{level} {mark}").expect("written");
        let start = Instant::now();
        while processes_with(&format!("sleep\0{mark}")) < 2 {
            assert!(start.elapsed() < PATIENCE, "{level}: not begun");
            thread::sleep(Duration::from_millis(10));
        }
        host.kill().expect("killed");
        host.wait().expect("ended");
        assert_no_survivor(&mark, level);
    }
}

#[test]
fn e2_a_fork_bomb_goes_off_in_vain() {
    for &level in levels() {
        let bed = TestBed::new(level).with(|command| command.timeout = Duration::from_millis(400));
        let mark = mark(2);
        // Without a limit, as for root, it ends at 4,000 processes: tests that run beside it need some, too.
        let depth = if are_processes_limited(level) { 1_000 } else { 10 };
        let more = "bomb $(($1 - 1)) | bomb $(($1 - 1))";
        let bomb = format!("bomb() {{ sleep {mark} & [ $1 -eq 0 ] || {more}; }}; bomb {depth}; sleep {mark}");
        let ran = bed.sh(&bomb);
        assert_ne!(ran.ending, CommandEnding::Exited(0), "{level}");
        assert_no_survivor(&mark, level);
    }
}

#[test]
fn e2_there_is_a_limit_of_processes() {
    for &level in levels().iter().filter(|level| are_processes_limited(**level)) {
        assert!(!was_possible(&TestBed::new(level).inside("threads 10000")), "{level}");
    }
}

/// The kernel exempts root from the limit of a user; only a namespace of processes counts for all.
fn are_processes_limited(level: SandboxLevel) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    !is_root || (level == SandboxLevel::Namespaces && pids_are_counted_by_namespace())
}

fn pids_are_counted_by_namespace() -> bool {
    let version = fs::read_to_string("/proc/sys/kernel/osrelease").expect("a version");
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (6, 14)
}

#[test]
fn e3_a_grandchild_that_holds_the_output_is_not_waited_for() {
    for &level in levels() {
        let ran = TestBed::new(level).sh("(setsid sh -c 'sleep 0.2; echo late; sleep 600' &); echo done");
        assert_eq!((ran.ending, &*printed(&ran)), (CommandEnding::Exited(0), "done\n"), "{level}");
        assert!(ran.duration < Duration::from_secs(5), "{level}: {:?}", ran.duration);
    }
}

/// Not a test: counts what is left after many runs.
#[test]
#[ignore = "part of another test"]
fn counts_what_is_left() {
    let held = || {
        let count = |folder: &str| fs::read_dir(folder).expect("a folder").count();
        // A thread that has sent its last word may take a moment to be gone.
        let start = Instant::now();
        while count("/proc/self/task") > 2 && start.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
        (count("/proc/self/fd"), count("/proc/self/task"), fs::read_dir(env::temp_dir()).expect("a folder").count())
    };
    levels();
    let before = held();
    for _ in 0..5 {
        for &level in levels() {
            TestBed::new(level).sh("echo out; echo err >&2");
            // What it closed even to itself.
            TestBed::new(level).sh("mkdir -p \"$HOME/a/b\" \"$TMPDIR/c\"; chmod 0 \"$HOME/a\" \"$TMPDIR\"");
            let late = TestBed::new(level).with(|command| command.timeout = Duration::from_millis(20));
            late.sh("(setsid sleep 600 &); sleep 600");
            assert!(TestBed::new(level).run(&["no-such-program"], b"").is_err());
            let _ = TestBed::new(level).file("broken", "#!/no/such/interpreter\n").try_sh("chmod +x broken; ./broken");
        }
    }
    assert_eq!(before, held());
}

#[test]
fn many_runs_leave_nothing_behind() {
    let temporary = tempfile::tempdir().expect("a folder");
    must_pass(again("survivors::counts_what_is_left", &["--ignored"]).env("TMPDIR", temporary.path()));
}

/// The same for somebody without rights, as most people are.
#[test]
fn an_ordinary_user_is_as_safe() {
    let this = env::current_exe().expect("this program");
    if !rustix::process::geteuid().is_root() || !is_for_everybody(&this) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("own");
    fs::create_dir(&own).expect("made");
    std::os::unix::fs::chown(&own, Some(65534), Some(65534)).expect("given away");
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("opened");
    let mut nobody = process::Command::new("setpriv");
    nobody
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&this)
        .args(["commands::", "--test-threads=2"]);
    nobody.env("TMPDIR", &own).env("HOME", &own).env("PATH", "/usr/bin:/bin").current_dir(&own);
    let mut child = nobody.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("run");
    let mut printed = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut printed).expect("text");
    assert!(child.wait().expect("ended").success(), "{printed}");
    assert!(printed.contains("e9_there_is_no_network_unless_granted ... ok"), "{printed}");
}

fn is_for_everybody(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.ancestors().all(|path| path.metadata().is_ok_and(|about| about.permissions().mode() & 0o005 == 0o005))
}
