//! `gate install`, `gate uninstall` and `gate doctor` in real repositories, and what git then does.

mod ci;
mod doctor;

use crate::support;
use gatehost::hook::{AgentHost, sample};
use gatehost::install;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A repository, with a home above it.
struct Work {
    home: tempfile::TempDir,
}

impl Work {
    fn new() -> Self {
        let work = Self { home: crate::support::tempdir().expect("a folder") };
        fs::create_dir(work.folder()).expect("a folder");
        work.must("git", &["init", "-q", "."]);
        work.must("git", &["commit", "-q", "--allow-empty", "-m", "base"]);
        work
    }

    fn folder(&self) -> PathBuf {
        self.home.path().canonicalize().expect("a folder").join("work")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder().join(path)).unwrap_or_default()
    }

    fn run(&self, program: &str, arguments: &[&str]) -> (Option<i32>, String) {
        let program = if program == "gate" { env!("CARGO_BIN_EXE_gate") } else { program };
        let mut command = Command::new(program);
        support::isolate(command.args(arguments), &self.folder(), self.home.path()).stdin(Stdio::null());
        let output = command.env("GATE_STATE_DIR", self.home.path().join("state")).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), said)
    }

    fn must(&self, program: &str, arguments: &[&str]) -> String {
        let (code, said) = self.run(program, arguments);
        assert_eq!(code, Some(0), "{program} {arguments:?}: {said}");
        said
    }
}

/// If one hook cannot be installed, all others are as they were.
#[test]
fn hooks_are_installed_as_a_set() {
    let work = Work::new();
    let at = |name: &str| work.folder().join(".git/hooks").join(name);
    work.write(".git/hooks/pre-commit", "#!/bin/sh\necho mine\n");
    fs::create_dir(at("pre-push")).expect("a folder");
    let names = || {
        let entries = fs::read_dir(work.folder().join(".git/hooks")).expect("a folder");
        let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let (code, said) = work.run("gate", &["install", "git"]);
    assert_eq!((code, names()), (Some(2), before), "{said}");
    assert_eq!(work.read(".git/hooks/pre-commit"), "#!/bin/sh\necho mine\n");
    fs::remove_dir(at("pre-push")).expect("removed");
    // An earlier installation was killed after it had given the hook its second name.
    fs::hard_link(at("pre-commit"), at("pre-commit.before-gate")).expect("a link");
    work.must("gate", &["install", "git"]);
    assert_eq!(work.read(".git/hooks/pre-commit.before-gate"), "#!/bin/sh\necho mine\n");
    assert!(work.read(".git/hooks/pre-commit").contains("gate"));
}

#[test]
fn every_installed_hook_blocks_through_a_shell_without_a_path() {
    let work = Work::new();
    for host in AgentHost::ALL {
        work.must("gate", &["install", host.as_str()]);
        let once = work.read(install::settings_file(*host));
        work.must("gate", &["install", host.as_str()]);
        assert_eq!(work.read(install::settings_file(*host)), once, "{host:?}: installing twice changes nothing");
        let settings = install::settings_value(&once).expect("JSON");
        let handlers = install::handlers(*host, &settings);
        let stop = handlers.iter().find(|handler| handler.event == install::stop_event(*host)).expect("a stop hook");
        assert!(install::deadline(*host, &stop.command) < install::timeout(*host, stop), "{host:?}");
        let bad = work.home.path().join(format!("bad-{}", host.as_str()));
        fs::create_dir(&bad).expect("a folder");
        fs::write(bad.join(sample::BAD.0), sample::BAD.1).expect("written");
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &stop.command]).current_dir("/").env_clear().env("PATH", "").env("HOME", work.home.path());
        let mut shell =
            shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a shell");
        let message = sample::message(*host, &stop.event, &bad, "test");
        shell.stdin.take().expect("a pipe").write_all(message.as_bytes()).expect("read");
        let output = shell.wait_with_output().expect("it ends");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        let exit = u8::try_from(output.status.code().expect("a code")).expect("small");
        let answer = gatehost::hook::Answer { stdout: text(output.stdout), stderr: text(output.stderr), exit };
        assert_eq!(sample::proves(*host, &answer), Ok(()), "{host:?}");
        work.must("gate", &["uninstall", host.as_str()]);
        let folder = Path::new(install::settings_file(*host)).parent().expect("a folder").to_owned();
        assert!(!work.folder().join(&folder).exists(), "{host:?}: `{}` is left", folder.display());
    }
}

/// Settings are often links into a folder of dotfiles.
#[test]
fn symlinks_of_people_stay_and_lose_only_our_entries() {
    let work = Work::new();
    for settings in [".claude/settings.local.json", ".github/workflows/gate.yml", "gate.toml"] {
        let path = work.folder().join(settings);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let target = work.home.path().join(path.file_name().expect("a name"));
        symlink(&target, &path).expect("a link");
        let (install, uninstall): (&[&str], &[&str]) = match settings {
            ".claude/settings.local.json" => (&["install", "claude"], &["uninstall", "claude"]),
            "gate.toml" => (&["init", "--no-run"], &["plan"]),
            _ => (&["install", "github"], &["uninstall", "github"]),
        };
        work.must("gate", install);
        assert!(fs::read_to_string(&target).expect("written").contains("gate"), "{settings}");
        work.must("gate", uninstall);
        assert_eq!(fs::read_link(&path).expect("a link"), target);
        assert_eq!(target.exists(), settings == "gate.toml", "{settings}");
    }
    let settings = work.home.path().join("settings.local.json");
    fs::write(&settings, "{\"model\": \"mine\"}\n").expect("written");
    work.must("gate", &["install", "claude"]);
    work.must("gate", &["uninstall", "claude"]);
    let left = fs::read_to_string(&settings).expect("it stays");
    assert!(left.contains("mine") && !left.contains("hook"), "{left}");
}

#[test]
fn a_dangling_hook_is_displaced_and_restored() {
    let work = Work::new();
    let hook = work.folder().join(".git/hooks/commit-msg");
    fs::create_dir_all(hook.parent().expect("a folder")).expect("a folder");
    symlink("../../scripts/none.sh", &hook).expect("a link");
    work.must("gate", &["install", "git"]);
    assert!(fs::symlink_metadata(&hook).expect("there").is_file() && !work.folder().join("scripts").exists());
    work.must("gate", &["install", "git"]);
    work.must("gate", &["uninstall", "git"]);
    assert_eq!(fs::read_link(&hook).expect("a link"), Path::new("../../scripts/none.sh"));
    assert!(!hook.with_file_name("commit-msg.before-gate").exists());
}

#[test]
fn git_refuses_what_the_gate_refuses_and_earlier_hooks_still_run() {
    let work = Work::new();
    work.write(".git/hooks/pre-commit", "#!/bin/sh\necho earlier hook\n");
    work.must("chmod", &["+x", ".git/hooks/pre-commit"]);
    work.must("gate", &["install", "git"]);
    work.must("gate", &["install", "git"]);
    // Partly staged: the index is judged, and not the working tree.
    work.write("a.json", "{\"a\": 1,}");
    work.must("git", &["add", "a.json"]);
    work.write("a.json", "{}");
    let (code, said) = work.run("git", &["commit", "-m", "bad"]);
    assert_ne!(code, Some(0), "{said}");
    assert!(said.contains("earlier hook") && said.contains("trailing-comma"), "{said}");
    work.must("git", &["add", "a.json"]);
    work.write("a.json", "{\"a\": 1,}");
    work.must("git", &["commit", "-m", "good"]);
    // `commit -a` has an index of its own.
    assert_ne!(work.run("git", &["commit", "-am", "bad"]).0, Some(0));
    // What was committed past the hooks is found afterwards, and is not pushed.
    work.must("git", &["commit", "--no-verify", "-am", "past the hooks"]);
    assert_eq!(work.run("gate", &["run", "--from-ref", "HEAD~1"]).0, Some(1));
    let remote = work.home.path().join("remote.git");
    let remote = remote.to_string_lossy();
    work.must("git", &["init", "-q", "--bare", &remote]);
    work.must("git", &["remote", "add", "origin", &remote]);
    let (code, said) = work.run("git", &["push", "-q", "origin", "HEAD:refs/heads/new"]);
    assert!(code != Some(0) && said.contains("trailing-comma"), "{said}");
    work.write("a.json", "{}");
    work.must("git", &["commit", "-am", "repaired"]);
    work.must("git", &["push", "-q", "origin", "HEAD:refs/heads/new"]);
    work.must("git", &["push", "-q", "origin", ":refs/heads/new"]);
    work.must("gate", &["uninstall", "git"]);
    assert!(work.read(".git/hooks/pre-commit").contains("earlier hook"));
    assert_eq!(work.read(".git/hooks/pre-push"), "");
}

/// What `gate init` puts into the gate `push` runs with `gate run push` and before a push, and not at a commit.
#[test]
fn the_tests_that_init_finds_run_before_a_push() {
    let work = Work::new();
    // A stand-in, so that the test needs no `make`.
    let tools = work.home.path().join("tools/bin");
    fs::create_dir_all(&tools).expect("a folder");
    fs::write(tools.join("make"), "#!/bin/sh\nexec sh ./tests.sh\n").expect("written");
    fs::set_permissions(tools.join("make"), fs::Permissions::from_mode(0o755)).expect("set");
    let script = |script: &str| {
        let script = format!("PATH={}:$PATH; {script}", tools.display());
        work.run("sh", &["-c", &script.replace("gate ", &format!("{} ", env!("CARGO_BIN_EXE_gate")))])
    };
    work.write("Makefile", "test:\n\tsh ./tests.sh\n");
    work.write("tests.sh", "exit 0\n");
    work.write("a.json", "{}");
    let (code, said) = script("gate init");
    assert!(code == Some(0) && said.contains("`make test`") && said.contains("in the gate `push`"), "{said}");
    work.must("git", &["add", "."]);
    work.must("git", &["commit", "-qm", "with a gate"]);
    let (code, said) = script("gate run push --all-files -v");
    assert!(code == Some(0) && said.contains("pass        tests"), "{said}");
    // Tests that fail do not stop a commit, and stop a push.
    work.must("gate", &["install", "git"]);
    work.write("tests.sh", "echo broken; exit 1\n");
    let (code, said) = script("git commit -qam 'the tests fail'");
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = script("gate run push --all-files");
    assert!(code == Some(1) && said.contains("fail        tests"), "{said}");
    let remote = work.home.path().join("remote.git");
    work.must("git", &["init", "-q", "--bare", &remote.to_string_lossy()]);
    let push = format!("git push -q {} HEAD:refs/heads/new", remote.display());
    let (code, said) = script(&push);
    assert!(code != Some(0) && said.contains("fail        tests"), "{said}");
    // They are the second tier.
    work.write("a.json", "{,}");
    let (code, said) = script("gate run push --all-files");
    assert!(code == Some(1) && said.contains("not reached tests") && !said.contains("fail        tests"), "{said}");
    work.write("a.json", "{}");
    work.write("tests.sh", "exit 0\n");
    assert_eq!(script("git commit -qam repaired").0, Some(0));
    let (code, said) = script(&push);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn git_hooks_are_put_where_git_looks() {
    let work = Work::new();
    work.must("git", &["config", "core.hooksPath", ".githooks"]);
    work.must("gate", &["install", "git"]);
    assert!(work.folder().join(".githooks/pre-commit").exists());
    // In a worktree too.
    let tree = work.home.path().join("tree");
    let tree_name = tree.to_string_lossy();
    let other = Work::new();
    other.must("gate", &["install", "git"]);
    other.must("git", &["worktree", "add", "-q", &tree_name]);
    fs::write(tree.join("a.json"), "{\"a\": 1,}").expect("written");
    other.must("git", &["-C", &tree_name, "add", "."]);
    assert_ne!(other.run("git", &["-C", &tree_name, "commit", "-m", "bad"]).0, Some(0));
    // A folder of hooks that other repositories use too is not touched.
    let shared = work.home.path().join("shared");
    fs::create_dir(&shared).expect("a folder");
    work.must("git", &["config", "core.hooksPath", &shared.to_string_lossy()]);
    let (code, said) = work.run("gate", &["install", "git"]);
    assert!(code == Some(2) && said.contains("outside this repository"), "{said}");
}

#[test]
fn a_message_is_judged_as_the_claim_where_a_gate_is_named_for_it() {
    let work = Work::new();
    work.write(
        "gate.toml",
        "[gate.default]\nall = [\"json\"]\n[gate.message]\nall = [\"words\"]\n[hook]\ncommit_msg = \"message\"\n\
         [check.json]\nverifier = \"json-syntax\"\n[check.words]\nverifier = \"completion-signal\"\n",
    );
    work.must("gate", &["install", "git"]);
    work.must("git", &["add", "."]);
    let (code, said) = work.run("git", &["commit", "-m", "nothing is said here"]);
    assert_ne!(code, Some(0), "{said}");
    assert!(said.contains("gate message"), "{said}");
}

#[test]
fn a_missing_gate_makes_git_refuse() {
    let work = Work::new();
    let copy = work.home.path().join("gate");
    // Not written by this process: a test that forks meanwhile would hold the file open, and nobody could run it.
    work.must("cp", &[env!("CARGO_BIN_EXE_gate"), &copy.to_string_lossy()]);
    work.must(&copy.to_string_lossy(), &["install", "git"]);
    fs::remove_file(copy).expect("removed");
    work.write("a.json", "{}");
    work.must("git", &["add", "."]);
    assert_ne!(work.run("git", &["commit", "-m", "unverified"]).0, Some(0));
}

#[test]
fn without_a_name_nothing_is_installed_unasked() {
    let work = Work::new();
    let (code, said) = work.run("gate", &["install"]);
    assert!(code == Some(2) && said.contains("gate install git"), "{said}");
    assert!(!work.folder().join(".git/hooks/pre-commit").exists());
}
