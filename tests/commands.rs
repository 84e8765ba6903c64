//! The catalogue of commands that misbehave, run for real at every level of confinement that the machine has.
#![cfg(target_os = "linux")]

use gatehost::commands::{Commands, Ending, NotStarted, Ran};
use gatehost::config::{Access, Command, Sandbox};
use std::collections::BTreeMap;
use std::io::{BufRead, Read};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

const LEVELS: [Sandbox; 3] = [Sandbox::Namespaces, Sandbox::Landlock, Sandbox::None];
/// Far more than any of these takes; a command that is not ended fails a test and does not hang it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A work, and how a command is run in it.
struct Bed {
    folder: tempfile::TempDir,
    command: Command,
    level: Sandbox,
    reserve: u64,
}

impl Bed {
    fn new(level: Sandbox) -> Self {
        let command = Command {
            run: Vec::new(),
            timeout: PATIENCE,
            env: Vec::new(),
            cwd: None,
            network: false,
            workspace: Access::ReadOnly,
            read: Vec::new(),
            write: Vec::new(),
            min_sandbox: level,
        };
        Self { folder: tempfile::tempdir().expect("a folder"), command, level, reserve: 0 }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("a folder")
    }

    fn file(self, path: &str, text: &str) -> Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Command)) -> Self {
        change(&mut self.command);
        self
    }

    fn commands(&self, run: &[&str]) -> Commands {
        let run = run.iter().map(|part| (*part).to_owned()).collect();
        let declared = BTreeMap::from([("it".to_owned(), Command { run, ..self.command.clone() })]);
        Commands::new(declared, self.root()).with_at_most(self.level).with_reserve(self.reserve)
    }

    fn run(&self, run: &[&str], stdin: &[u8]) -> Result<Ran, NotStarted> {
        let commands = self.commands(run);
        tokio().block_on(async {
            let run = commands.run("it", stdin.to_vec());
            tokio::time::timeout(2 * PATIENCE, run).await.expect("an end in time")
        })
    }

    fn try_sh(&self, script: &str) -> Result<Ran, NotStarted> {
        self.run(&["sh", "-c", script], b"")
    }

    /// A script that is run, whatever becomes of it.
    fn sh(&self, script: &str) -> Ran {
        let ran = self.try_sh(script).unwrap_or_else(|error| panic!("{}: {script}: {error}", self.level));
        assert_eq!(ran.sandbox, self.level, "{script}");
        ran
    }

    /// Have this program do something inside; see `inside`.
    fn inside(self, what: &str) -> Ran {
        let this = env::current_exe().expect("this program");
        let this = this.to_str().expect("a name");
        let bed = self.with(|command| command.read.push(this.to_owned()));
        let run = [this, "--ignored", "--exact", "commands::inside", "--nocapture"];
        bed.run(&run, what.as_bytes()).unwrap_or_else(|error| panic!("{what}: {error}"))
    }
}

fn tokio() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
}

/// The levels that this machine has.
fn levels() -> &'static [Sandbox] {
    static FOUND: OnceLock<Vec<Sandbox>> = OnceLock::new();
    FOUND.get_or_init(|| LEVELS.into_iter().filter(|&level| Bed::new(level).run(&["true"], b"").is_ok()).collect())
}

fn confined() -> impl Iterator<Item = Sandbox> {
    levels().iter().copied().filter(|level| *level > Sandbox::None)
}

fn printed(ran: &Ran) -> String {
    String::from_utf8_lossy(&[&*ran.stdout.head, &*ran.stdout.tail].concat()).into_owned()
}

fn complained(ran: &Ran) -> String {
    String::from_utf8_lossy(&ran.stderr.head).into_owned()
}

/// Processes whose command line contains this.
fn processes_with(mark: &str) -> usize {
    let lines = fs::read_dir("/proc").expect("processes").flatten();
    let lines = lines.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

fn assert_no_survivor(mark: &str, level: Sandbox) {
    let start = Instant::now();
    while processes_with(mark) > 0 {
        assert!(start.elapsed() < Duration::from_secs(10), "{level}: `{mark}` survived");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Something to look for in command lines, which no other test has.
fn mark(number: usize) -> String {
    format!("{}.{number}", 1_000_000 + process::id())
}

#[test]
fn this_machine_has_some_level() {
    let tried = |level| Bed::new(level).run(&["true"], b"").map(|ran| ran.sandbox);
    assert!(levels().contains(&Sandbox::None), "{:?}", LEVELS.map(tried));
}

#[test]
fn a_command_says_what_it_was_and_how_it_ended() {
    for &level in levels() {
        let bed = Bed::new(level).file("part/a.txt", "here").with(|command| command.cwd = Some("part".to_owned()));
        let ran = bed.sh("cat a.txt; echo problem >&2; exit 7");
        assert_eq!((ran.ending, &*printed(&ran), &*complained(&ran)), (Ending::Exited(7), "here", "problem\n"));
        assert_eq!((&*ran.name, ran.argv.len(), ran.stdout.length), ("it", 3, 4));
        assert!(ran.duration < PATIENCE && ran.started.elapsed().is_ok_and(|since| since < PATIENCE));
    }
}

#[test]
fn e1_nothing_survives_the_end_of_a_command() {
    for &level in levels() {
        let mark = mark(11);
        // Out of its session, away from its parent, deaf to what can be ignored.
        let daemon =
            format!("trap '' TERM HUP INT; (setsid sh -c 'trap \"\" TERM HUP INT; sleep {mark}; sleep {mark}' &) &");
        let ran = Bed::new(level).sh(&format!("{daemon} sleep 0.1; echo begun"));
        assert_eq!((ran.ending, &*printed(&ran)), (Ending::Exited(0), "begun\n"), "{level}");
        assert_no_survivor(&mark, level);
    }
}

#[test]
fn e1_nothing_survives_the_time_limit() {
    for &level in levels() {
        let mark = mark(12);
        let bed = Bed::new(level).with(|command| command.timeout = Duration::from_millis(300));
        let start = Instant::now();
        let ran = bed.sh(&format!(
            "trap '' TERM; echo begun; (setsid setsid sh -c 'trap \"\" TERM; while :; do sleep {mark}; done' &); while :; do sleep {mark}; done"
        ));
        assert_eq!((ran.ending, &*printed(&ran)), (Ending::TimedOut, "begun\n"), "{level}");
        assert!(start.elapsed() < Duration::from_secs(10), "{level}: {:?}", start.elapsed());
        assert_no_survivor(&mark, level);
    }
}

#[test]
fn e1_nothing_survives_when_nobody_waits_any_more() {
    for &level in levels() {
        let mark = mark(13);
        let bed = Bed::new(level);
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
    Bed::new(level).sh(&format!("(setsid sleep {mark} &); sleep {mark}"));
}

#[test]
fn e1_nothing_survives_the_host() {
    for &level in levels() {
        let mark = mark(14);
        let mut host = again("runs_for_ever", &["--ignored"]).stdin(Stdio::piped()).spawn().expect("started");
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

/// This program, to run one test and nothing else.
fn again(test: &str, more: &[&str]) -> process::Command {
    let mut this = process::Command::new(env::current_exe().expect("this program"));
    this.args(["--exact", &format!("commands::{test}"), "--nocapture"]).args(more);
    this.stdout(Stdio::null()).stderr(Stdio::null());
    this
}

#[test]
fn e2_a_fork_bomb_goes_off_in_vain() {
    for &level in levels() {
        let bed = Bed::new(level).with(|command| command.timeout = Duration::from_millis(400));
        let mark = mark(2);
        let ran = bed.sh(&format!("bomb() {{ sleep {mark} & bomb | bomb; }}; bomb"));
        assert_ne!(ran.ending, Ending::Exited(0), "{level}");
        assert_no_survivor(&mark, level);
    }
}

#[test]
fn e2_there_is_a_limit_of_processes() {
    let root = rustix::process::geteuid().is_root();
    for &level in levels() {
        // The kernel exempts root from the limit of a user; only a namespace of processes counts for all.
        if root && (level < Sandbox::Namespaces || !pids_are_counted_by_namespace()) {
            continue;
        }
        assert!(!was_possible(&Bed::new(level).inside("threads 10000")), "{level}");
    }
}

fn pids_are_counted_by_namespace() -> bool {
    let version = fs::read_to_string("/proc/sys/kernel/osrelease").expect("a version");
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (6, 14)
}

#[test]
fn e3_a_grandchild_that_holds_the_output_is_not_waited_for() {
    for &level in levels() {
        let ran = Bed::new(level).sh("(setsid sh -c 'sleep 0.2; echo late; sleep 600' &); echo done");
        assert_eq!((ran.ending, &*printed(&ran)), (Ending::Exited(0), "done\n"), "{level}");
        assert!(ran.duration < Duration::from_secs(5), "{level}: {:?}", ran.duration);
    }
}

#[test]
fn e4_any_amount_of_output_is_counted_and_kept_in_part() {
    const KEPT: usize = 1 << 20;
    const ALL: u64 = 200_000_003;
    let level = levels()[0];
    let ran = Bed::new(level).sh(&format!("yes 0123456789abcde | head -c {ALL}; echo an error >&2"));
    assert_eq!((ran.stdout.length, ran.stdout.head.len(), ran.stdout.tail.len()), (ALL, KEPT, KEPT));
    assert!(ran.stdout.head.starts_with(b"0123456789abcde\n0") && ran.stdout.tail.ends_with(b"abcde\n012"));
    assert_eq!(ran.stdout.sha256, "e8c6230fb3e89a22c4a24a6715562c340e22fe0c74d75f1aecbed3c69fdbef03");
    assert_eq!(complained(&ran), "an error\n");
}

#[test]
fn e5_there_is_no_input_and_no_terminal() {
    for &level in levels() {
        let ran = Bed::new(level).sh("cat; read line; echo \"read $?\"; (: < /dev/tty) 2>/dev/null; echo \"tty $?\"");
        assert_eq!(ran.ending, Ending::Exited(0), "{level}");
        let printed = printed(&ran);
        assert!(printed.starts_with("read 1\ntty ") && !printed.contains("tty 0"), "{level}: {printed}");
    }
}

#[test]
fn what_is_given_as_input_arrives_whole() {
    let input: Vec<u8> = (0..700_000u32).map(|n| (n % 253) as u8).collect();
    for &level in levels() {
        let ran = Bed::new(level).run(&["cat"], &input).expect("run");
        assert!(ran.stdout.head == input, "{level}");
        // Nobody has to read it.
        assert_eq!(Bed::new(level).run(&["true"], &input).expect("run").ending, Ending::Exited(0), "{level}");
    }
}

#[test]
fn e6_only_an_exit_with_0_is_one() {
    for &level in levels() {
        let bed = Bed::new(level).file("not-a-program", "text");
        for (script, ending) in [
            ("kill -9 $$", Ending::Signalled(9)),
            ("kill -TERM $$", Ending::Signalled(15)),
            ("kill -SEGV $$", Ending::Signalled(11)),
            ("./not-a-program", Ending::Exited(126)),
            ("no-such-program-anywhere", Ending::Exited(127)),
            ("exit 255", Ending::Exited(255)),
            ("exit 0", Ending::Exited(0)),
        ] {
            assert_eq!(bed.sh(script).ending, ending, "{level}: {script}");
        }
    }
}

#[test]
fn e6_what_cannot_be_run_has_no_result() {
    for &level in levels() {
        let bed = Bed::new(level).file("not-a-program", "text").file("folder/x", "");
        for (run, expected) in [
            ("no-such-program", "there is no program `no-such-program` in the search path"),
            ("./no-such-program", "the program `./no-such-program`: No such file"),
            ("./not-a-program", "`./not-a-program` is not a file that can be executed"),
            ("./folder", "is not a file that can be executed"),
        ] {
            let error = bed.run(&[run], b"").expect_err("no result").to_string();
            assert!(error.starts_with("the command `it`: ") && error.contains(expected), "{level}: {error}");
        }
        let outside = Bed::new(level).with(|command| command.cwd = Some("none".to_owned()));
        assert!(outside.try_sh("true").is_err_and(|error| error.to_string().contains("its folder `none`")));
    }
}

#[test]
fn e7_the_work_is_not_changed_by_testing_it() {
    for level in confined() {
        let bed = Bed::new(level).file("a.txt", "a").file("gate.toml", "x").file("target/old", "");
        let bed = bed.with(|command| command.write = vec!["target".to_owned(), "new/folder".to_owned()]);
        let ran = bed.sh(
            "(echo b > a.txt) 2>/dev/null; (: > b.txt) 2>/dev/null; rm -f a.txt 2>/dev/null; mkdir c 2>/dev/null; \
                          echo 1 > target/x; mv target/old target/newer; \
             mkdir target/sub && mv target/newer target/sub/ && ln target/sub/newer target/linked || echo not moved; echo 2 > new/folder/y; cat a.txt target/x",
        );
        assert_eq!(printed(&ran), "a1\n", "{level}: {}", complained(&ran));
        let mut names: Vec<_> =
            fs::read_dir(bed.root()).expect("a folder").map(|entry| entry.expect("one").file_name()).collect();
        names.sort();
        assert_eq!(names, ["a.txt", "gate.toml", "new", "target"], "{level}");
        assert!(bed.root().join("new/folder/y").exists(), "{level}");
    }
}

#[test]
fn e7_what_decides_is_not_changed_even_where_the_work_may_be() {
    let attempts = [
        "echo evil > gate.toml",
        "rm -f gate.toml; echo evil > gate.toml",
        "echo evil > .git/HEAD",
        "echo evil > .git/hooks/pre-commit",
        "mv .git .old; mkdir .git",
    ];
    for &level in levels() {
        for attempt in attempts {
            let bed = Bed::new(level).file("gate.toml", "good").file(".git/HEAD", "ref").file(".git/hooks/a", "");
            let bed = bed.with(|command| command.workspace = Access::ReadWrite);
            let tried = bed.try_sh(&format!("echo fine > free.txt; ({attempt}) 2>/dev/null; exit 0"));
            assert!(bed.root().join("free.txt").exists(), "{level}");
            match tried {
                // Where it cannot be prevented, it is seen.
                Err(error) => assert!(
                    level < Sandbox::Namespaces && error.to_string().contains("it changed `gate.toml`"),
                    "{error}"
                ),
                Ok(_) => {
                    assert_eq!(level, Sandbox::Namespaces, "{attempt}");
                    assert_eq!(fs::read_to_string(bed.root().join("gate.toml")).expect("there"), "good", "{attempt}");
                    assert_eq!(fs::read_dir(bed.root().join(".git/hooks")).expect("there").count(), 1, "{attempt}");
                }
            }
        }
        let bed = Bed::new(level).with(|command| command.workspace = Access::ReadWrite);
        let error = bed.try_sh("echo new > gate.lock").expect_err("seen").to_string();
        assert!(error.contains("gate.lock"), "{level}: {error}");
    }
}

/// Not a test: has a home with secrets, and looks from within a command.
#[test]
#[ignore = "part of another test"]
fn looks_around() {
    let home = PathBuf::from(env::var_os("HOME").expect("a home"));
    for &level in levels() {
        let bed = Bed::new(level).with(|command| command.env = vec!["WANTED".to_owned()]);
        let seen = printed(&bed.sh("env"));
        assert!(seen.contains("WANTED=yes\n") && !seen.contains("UNWANTED"), "{seen}");
        assert!(!seen.contains(&format!("HOME={}\n", home.display())), "{seen}");
        assert_eq!(printed(&bed.sh("touch \"$HOME/a\" \"$TMPDIR/b\" && ls \"$HOME\"")), "a\n");
        // What a toolchain needs is there, under its usual name.
        assert_eq!(printed(&bed.sh("cat ~/.cargo/config.toml")), "fine");
        if level == Sandbox::None {
            continue;
        }
        for secret in [".ssh/id", ".aws/credentials", ".netrc", ".cargo/credentials.toml", "notes.txt"] {
            let path = home.join(secret);
            let ran = bed.sh(&format!("cat {0} ~/{secret} /proc/*/root{0}", path.display()));
            assert!(ran.stdout.length == 0 && ran.ending != Ending::Exited(0), "{level}: {ran:?}");
        }
        let ran = bed.sh(&format!("ls -a {}", home.display()));
        assert!(!printed(&ran).contains("notes.txt"), "{level}: {ran:?}");
        let ran = bed.sh(&format!("cat /proc/{0}/environ /proc/{0}/cmdline /proc/*/environ", process::id()));
        assert!(!printed(&ran).contains("UNWANTED"), "{level}: {ran:?}");
    }
}

#[test]
fn e8_secrets_are_not_visible() {
    let home = tempfile::tempdir().expect("a folder");
    for secret in [".ssh/id", ".aws/credentials", ".netrc", ".cargo/credentials.toml", "notes.txt"] {
        let path = home.path().join(secret);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, "secret").expect("written");
    }
    fs::write(home.path().join(".cargo/config.toml"), "fine").expect("written");
    let mut alone = again("looks_around", &["--ignored"]);
    alone.env_remove("CARGO_HOME").env("HOME", home.path()).env("UNWANTED", "secret").env("WANTED", "yes");
    let output = alone.stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("run");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "{printed}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Not a test: does one thing in a command, as its input says.
#[test]
#[ignore = "part of other tests"]
fn inside() {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).expect("a line");
    let (what, about) = line.trim().split_once(' ').expect("two words");
    let done = match what {
        "tcp" => TcpStream::connect(about).map(drop),
        "unix" => UnixStream::connect(about).map(drop),
        "loopback" => {
            TcpListener::bind("127.0.0.1:0").and_then(|listener| TcpStream::connect(listener.local_addr()?)).map(drop)
        }
        "threads" => threads(about.parse().expect("a number")),
        "trace" => trace(about.parse().expect("a number")),
        other => panic!("{other}"),
    };
    #[expect(clippy::print_stdout, reason = "how it says what came of it")]
    match done {
        Ok(()) => println!("\nit was possible"),
        Err(error) => println!("\nit was denied: {error}"),
    }
}

/// So many at once, if they can be had.
fn threads(count: usize) -> std::io::Result<()> {
    let gate = std::sync::Arc::new(std::sync::Mutex::new(()));
    let closed = gate.lock().expect("a gate");
    let one = |_| {
        let gate = std::sync::Arc::clone(&gate);
        thread::Builder::new().stack_size(64 << 10).spawn(move || drop(gate.lock()))
    };
    let all: std::io::Result<Vec<_>> = (0..count).map(one).collect();
    drop(closed);
    all.map(drop)
}

fn trace(pid: i32) -> std::io::Result<()> {
    #[expect(unsafe_code, reason = "std cannot trace")]
    // SAFETY: the request takes no memory.
    let result = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

fn was_possible(ran: &Ran) -> bool {
    let printed = printed(ran);
    let (yes, no) = (printed.contains("it was possible"), printed.contains("it was denied"));
    assert!(yes != no, "{printed}{}", complained(ran));
    yes
}

#[test]
fn e9_there_is_no_network_unless_granted() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a server");
    let tcp = format!("tcp {}", server.local_addr().expect("an address"));
    let elsewhere = tempfile::tempdir().expect("a folder");
    let path = elsewhere.path().join("socket");
    let _socket = UnixListener::bind(&path).expect("a server");
    let unix = format!("unix {}", path.display());
    for &level in levels() {
        let free = level == Sandbox::None;
        let granted = || Bed::new(level).with(|command| command.network = true);
        assert_eq!(was_possible(&Bed::new(level).inside(&tcp)), free, "{level}");
        assert!(was_possible(&granted().inside(&tcp)), "{level}");
        assert_eq!(was_possible(&Bed::new(level).inside(&unix)), free, "{level}");
        assert_eq!(was_possible(&granted().inside(&unix)), free, "{level}");
        // In a network of its own, a test may talk to itself.
        let itself = was_possible(&Bed::new(level).inside("loopback itself"));
        assert_eq!(itself, level != Sandbox::Landlock, "{level}");
    }
}

#[test]
fn e10_others_are_neither_traced_nor_signalled() {
    let mut other = process::Command::new("sleep").arg("600").spawn().expect("started");
    for level in confined() {
        for pid in [other.id(), process::id()] {
            assert!(!was_possible(&Bed::new(level).inside(&format!("trace {pid}"))), "{level}");
            let ran = Bed::new(level).sh(&format!("kill -TERM {pid}; kill -KILL $PPID; kill -KILL -1; exit 3"));
            assert_ne!(ran.ending, Ending::Exited(0), "{level}");
        }
        assert!(other.try_wait().expect("known").is_none(), "{level}: it was ended");
    }
    other.kill().expect("killed");
    other.wait().expect("ended");
}

#[test]
fn e11_a_disk_is_not_filled() {
    for &level in levels() {
        // Sparse: what is bounded is the size, and nothing is written here.
        let bed = Bed::new(level).with(|command| command.workspace = Access::ReadWrite);
        let ran = bed.sh("exec dd if=/dev/zero of=big bs=1 count=1 seek=8G");
        assert_eq!(ran.ending, Ending::Signalled(libc::SIGXFSZ), "{level}: {}", complained(&ran));
        let full = Bed { reserve: u64::MAX, ..Bed::new(level) };
        let error = full.try_sh("sleep 600").expect_err("ended").to_string();
        assert!(error.contains("of the disk were left"), "{level}: {error}");
    }
    if levels().contains(&Sandbox::Namespaces) {
        let ran =
            Bed::new(Sandbox::Namespaces).sh("df -Pk \"$TMPDIR\" \"$HOME\" / | awk 'NR > 1 { print $2 }' | sort -u");
        assert_eq!(printed(&ran), "1048576\n");
    }
}

#[test]
fn e12_what_is_printed_is_no_success() {
    for &level in levels() {
        let ran = Bed::new(level).sh("echo '100 passed, 0 failed'; echo 'exit 0'; exit 1");
        assert_eq!(ran.ending, Ending::Exited(1), "{level}");
    }
}

#[test]
fn a_confinement_that_cannot_be_had_is_no_result() {
    for (at_most, least) in [(Sandbox::Landlock, Sandbox::Namespaces), (Sandbox::None, Sandbox::Landlock)] {
        let bed = Bed { level: at_most, ..Bed::new(least) };
        let error = bed.try_sh("true").expect_err("refused").to_string();
        assert!(error.contains(&format!("`{least}` at least")), "{error}");
    }
}

#[test]
fn what_is_named_besides_is_seen_and_nothing_beside_it() {
    let elsewhere = tempfile::tempdir().expect("a folder");
    for name in ["shown", "hidden"] {
        fs::write(elsewhere.path().join(name), name).expect("written");
    }
    let path = |name: &str| elsewhere.path().join(name).display().to_string();
    for level in confined() {
        let bed = Bed::new(level).with(|command| command.read = vec![path("shown")]);
        let ran = bed.sh(&format!("cat {0}/shown {0}/hidden; echo x > {0}/shown", elsewhere.path().display()));
        assert_eq!(printed(&ran), "shown", "{level}");
        assert_eq!(fs::read_to_string(path("shown")).expect("there"), "shown", "{level}");
        let missing = bed.with(|command| command.read = vec!["/no/such/path".to_owned()]);
        assert!(missing.try_sh("true").is_err_and(|error| error.to_string().contains("`/no/such/path`")), "{level}");
        let all = missing.with(|command| command.read = vec!["/".to_owned()]);
        assert!(all.try_sh("true").is_err_and(|error| error.to_string().contains("the whole machine")), "{level}");
    }
}

#[test]
fn a_build_works_where_only_its_own_folder_can_be_written() {
    if process::Command::new("cargo").arg("--version").output().is_err() {
        return;
    }
    for level in confined() {
        let bed = Bed::new(level)
            .file("Cargo.toml", "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")
            .file("Cargo.lock", "# This file is automatically @generated by Cargo.\n# It is not intended for manual editing.\nversion = 4\n\n[[package]]\nname = \"a\"\nversion = \"0.1.0\"\n")
            .file("src/lib.rs", "#[test]\nfn good() {}\n")
            .with(|command| command.write = vec!["target".to_owned()]);
        let ran = bed.run(&["cargo", "test", "--offline", "--lib"], b"").expect("run");
        assert_eq!(ran.ending, Ending::Exited(0), "{level}: {}", complained(&ran));
        assert!(printed(&ran).contains("test good ... ok"), "{level}");
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
            Bed::new(level).sh("echo out; echo err >&2");
            let late = Bed::new(level).with(|command| command.timeout = Duration::from_millis(20));
            late.sh("(setsid sleep 600 &); sleep 600");
            assert!(Bed::new(level).run(&["no-such-program"], b"").is_err());
            let _ = Bed::new(level).file("broken", "#!/no/such/interpreter\n").try_sh("chmod +x broken; ./broken");
        }
    }
    assert_eq!(before, held());
}

#[test]
fn many_runs_leave_nothing_behind() {
    let temporary = tempfile::tempdir().expect("a folder");
    let mut alone = again("counts_what_is_left", &["--ignored"]);
    let output =
        alone.env("TMPDIR", temporary.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("run");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "{printed}{}",
        String::from_utf8_lossy(&output.stderr)
    );
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
