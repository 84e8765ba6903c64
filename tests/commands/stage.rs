//! A workspace in which commands run, the sandbox levels, and helpers to observe the result.

use gatehost::commands::{CommandResult, Commands, NoResult};
use gatehost::config::{Access, CommandConfig, SandboxLevel};
use gatehost::environment::Environment;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{self, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

pub(super) const LEVELS: [SandboxLevel; 3] = [SandboxLevel::Namespaces, SandboxLevel::Landlock, SandboxLevel::None];
/// Far more than any command takes: one that is not killed fails a test instead of hanging it.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// A workspace, and how a command runs in it.
pub(super) struct TestBed {
    pub(super) folder: tempfile::TempDir,
    pub(super) command: CommandConfig,
    pub(super) level: SandboxLevel,
    pub(super) reserve: u64,
    pub(super) configuration: Option<PathBuf>,
    pub(super) cache: PathBuf,
}

impl TestBed {
    pub(super) fn new(level: SandboxLevel) -> Self {
        let command = CommandConfig {
            run: Vec::new(),
            from_task: None,
            timeout: PATIENCE,
            env: Vec::new(),
            cwd: None,
            network: false,
            workspace: Access::ReadOnly,
            read: Vec::new(),
            write: Vec::new(),
            min_sandbox: level,
            fixes: false,
        };
        let folder = tempfile::tempdir().expect("a folder");
        // Not there, unless a test makes it.
        let cache = folder.path().join(".gate-cache");
        Self { folder, command, level, reserve: 0, configuration: None, cache }
    }

    pub(super) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("a folder")
    }

    pub(super) fn file(self, path: &str, text: &str) -> Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
        self
    }

    pub(super) fn with(mut self, change: impl FnOnce(&mut CommandConfig)) -> Self {
        change(&mut self.command);
        self
    }

    pub(super) fn commands(&self, run: &[&str]) -> Commands {
        let run = run.iter().map(|part| (*part).to_owned()).collect();
        let declared = BTreeMap::from([("it".to_owned(), CommandConfig { run, ..self.command.clone() })]);
        let commands = Commands::new(declared, self.root())
            .with_configuration(self.configuration.clone())
            .with_environment(Environment::of_process());
        commands.with_cache(self.cache.clone()).with_at_most(self.level).with_reserve(self.reserve)
    }

    pub(super) fn run(&self, run: &[&str], stdin: &[u8]) -> Result<CommandResult, NoResult> {
        let commands = self.commands(run);
        tokio().block_on(async {
            let run = commands.run("it", stdin.to_vec());
            tokio::time::timeout(2 * PATIENCE, run).await.expect("an end in time")
        })
    }

    pub(super) fn try_sh(&self, script: &str) -> Result<CommandResult, NoResult> {
        self.run(&["sh", "-c", script], b"")
    }

    /// Runs a script, whatever its result.
    pub(super) fn sh(&self, script: &str) -> CommandResult {
        let ran = self.try_sh(script).unwrap_or_else(|error| panic!("{}: {script}: {error}", self.level));
        assert_eq!(ran.sandbox, self.level, "{script}");
        ran
    }

    /// Makes this program do something inside the sandbox; see `others::inside`.
    pub(super) fn inside(self, what: &str) -> CommandResult {
        let this = env::current_exe().expect("this program");
        let this = this.to_str().expect("a name");
        let bed = self.with(|command| command.read.push(this.to_owned()));
        let run = [this, "--ignored", "--exact", "commands::others::inside", "--nocapture"];
        bed.run(&run, what.as_bytes()).unwrap_or_else(|error| panic!("{what}: {error}"))
    }
}

pub(super) fn tokio() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
}

/// Returns the levels of this machine. What the kernel supports must work, because otherwise nothing would be tested.
pub(super) fn levels() -> &'static [SandboxLevel] {
    static FOUND: OnceLock<Vec<SandboxLevel>> = OnceLock::new();
    let is_there = |level: SandboxLevel| match TestBed::new(level).run(&["true"], b"") {
        Ok(ran) => ran.sandbox == level,
        Err(error) => {
            assert!(!kernel_offers(level), "the kernel offers `{level}`, and it is not to be had: {error}");
            #[expect(clippy::print_stderr, reason = "a test that says less than it could says so")]
            {
                eprintln!("note: this machine has no `{level}`, which is therefore not tested");
            }
            false
        }
    };
    FOUND.get_or_init(|| LEVELS.into_iter().filter(|&level| is_there(level)).collect())
}

/// Asks the kernel, without any of the tested code.
fn kernel_offers(level: SandboxLevel) -> bool {
    match level {
        SandboxLevel::None => true,
        SandboxLevel::Landlock => {
            #[expect(unsafe_code, reason = "std does not know Landlock")]
            // SAFETY: with this flag, it tells its version and no memory is involved.
            let version =
                unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0, 1) };
            version >= 2
        }
        SandboxLevel::Namespaces => {
            let mut unshare = process::Command::new("unshare");
            unshare.args(["--user", "--map-root-user", "--pid", "--fork", "--mount", "--net", "--ipc", "--uts"]);
            let mount = unshare.args(["mount", "-t", "tmpfs", "none", "/tmp"]).stdout(Stdio::null());
            mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
        }
    }
}

pub(super) fn confined() -> impl Iterator<Item = SandboxLevel> {
    levels().iter().copied().filter(|level| *level > SandboxLevel::None)
}

pub(super) fn printed(ran: &CommandResult) -> String {
    String::from_utf8_lossy(&[&*ran.stdout.head, &*ran.stdout.tail].concat()).into_owned()
}

pub(super) fn complained(ran: &CommandResult) -> String {
    String::from_utf8_lossy(&ran.stderr.head).into_owned()
}

/// Returns the processes whose command line contains this.
pub(super) fn processes_with(mark: &str) -> usize {
    let lines = fs::read_dir("/proc").expect("processes").flatten();
    let lines = lines.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

pub(super) fn assert_no_survivor(mark: &str, level: SandboxLevel) {
    let start = Instant::now();
    while processes_with(mark) > 0 {
        assert!(start.elapsed() < Duration::from_secs(10), "{level}: `{mark}` survived");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Returns a mark for command lines that no other test has.
pub(super) fn mark(number: usize) -> String {
    format!("{}.{number}", 1_000_000 + process::id())
}

/// Returns this program, to run one test of these modules.
pub(super) fn again(test: &str, more: &[&str]) -> process::Command {
    let mut this = process::Command::new(env::current_exe().expect("this program"));
    this.args(["--exact", &format!("commands::{test}"), "--nocapture"]).args(more);
    this.stdout(Stdio::null()).stderr(Stdio::null());
    this
}

/// Runs such a program: its one test must pass.
pub(super) fn must_pass(alone: &mut process::Command) {
    let output = alone.stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("run");
    let (printed, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}{complained}");
}

/// Returns whether what was tried `inside` succeeded.
pub(super) fn was_possible(ran: &CommandResult) -> bool {
    let printed = printed(ran);
    let (yes, no) = (printed.contains("it was possible"), printed.contains("it was denied"));
    assert!(yes != no, "{printed}{}", complained(ran));
    yes
}
