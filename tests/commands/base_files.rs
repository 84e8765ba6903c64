//! Commands that see the base's version of files that the work touched.

use super::stage::{TestBed, complained, levels, printed, tokio};
use gatehost::changes;
use gatehost::commands::{BaseFiles, CommandEnding, CommandResult, NoResult};
use gatehost::config::{Access, SandboxLevel};
use gatehost::environment::Environment;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::Arc;
use std::{fs, path::Path};

fn git(bed: &TestBed, script: &str) {
    let mut bash = Command::new("bash");
    let home = tempfile::tempdir().expect("a folder");
    let output = crate::support::isolate(bash.args(["-euc", script]), &bed.root(), home.path()).output().expect("runs");
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a script that sees these paths as they are in the last commit.
fn run(bed: &TestBed, paths: &[&str], script: &str) -> Result<CommandResult, NoResult> {
    let wanted = paths.iter().copied().collect();
    let stored = changes::stored(&bed.root(), "HEAD", &wanted, &Environment::of_process()).expect("a commit");
    let base = BaseFiles::new(paths.iter().map(|path| (*path).to_owned()).collect(), stored);
    let commands = bed.commands(&["sh", "-c", script]).with_base_files(Some(Arc::new(base)));
    tokio().block_on(commands.run("it", Vec::new()))
}

/// A repository with tests, sources and ignored folders, at the level `namespaces`; `None` if the machine has none.
fn bed() -> Option<TestBed> {
    if !levels().contains(&SandboxLevel::Namespaces) {
        return None;
    }
    let bed = TestBed::new(SandboxLevel::Namespaces)
        .file(".gitignore", "node_modules\ntarget\n*.log\n")
        .file("tests/a", "base a\n")
        .file("tests/deep/b", "base b\n")
        .file("src/c", "base c\n");
    git(&bed, "git init -q . && git add . && git commit -qm first");
    Some(bed.file("src/c", "work c\n").file("node_modules/tool/run", "echo tool\n").file("target/built", "old\n"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a file")
}

#[test]
fn touched_files_are_those_of_the_base_and_everything_else_is_the_works() {
    let Some(bed) = bed() else { return };
    let bed = bed
        .file("tests/a", "work a\n")
        .file("tests/new", "work\n")
        .file("src/new", "work new\n")
        .file("x.log", "log\n");
    fs::remove_dir_all(bed.root().join("tests/deep")).expect("removed");
    let script = "cat tests/a tests/deep/b src/c src/new x.log \"$PWD\"/tests/a; ls tests; sh node_modules/tool/run; \
                  git log --format=%s; ls -d /tmp/gate-* 2> /dev/null || true";
    let ran = run(&bed, &["tests/a", "tests/new", "tests/deep/b"], script).expect("it runs");
    let expected = "base a\nbase b\nwork c\nwork new\nlog\nbase a\na\ndeep\ntool\nfirst\n";
    assert_eq!((&*printed(&ran), &*complained(&ran)), (expected, ""));
    // The work is as it was.
    assert_eq!(read(&bed.root().join("tests/a")), "work a\n");
    assert!(bed.root().join("tests/new").exists() && !bed.root().join("tests/deep").exists());
}

#[test]
fn what_is_written_does_not_reach_the_work() {
    let Some(bed) = bed() else { return };
    let bed = bed.file("tests/a", "work a\n");
    let script = "cat target/built; echo new > target/built; cat target/built; echo x > src/c && cat src/c";
    // Where only `target` may be written, it is a copy.
    let granted = bed.with(|command| command.write.push("target".to_owned()));
    let ran = run(&granted, &["tests/a"], script).expect("it runs");
    assert_eq!((&*printed(&ran), ran.ending), ("old\nnew\n", CommandEnding::Exited(2)), "{}", complained(&ran));
    let writes_all = granted.with(|command| (command.workspace, command.write) = (Access::ReadWrite, Vec::new()));
    let ran = run(&writes_all, &["tests/a"], script).expect("it runs");
    assert_eq!((&*printed(&ran), ran.ending), ("old\nnew\nx\n", CommandEnding::Exited(0)), "{}", complained(&ran));
    // Without a grant, it is the original, and cannot be written.
    let none = writes_all.with(|command| command.workspace = Access::ReadOnly);
    assert_eq!(printed(&run(&none, &["tests/a"], script).expect("it runs")), "old\nold\n");
    assert_eq!(
        (read(&none.root().join("target/built")), read(&none.root().join("src/c"))),
        ("old\n".into(), "work c\n".into())
    );
}

#[test]
fn a_folder_that_became_a_symlink_is_not_followed() {
    let Some(bed) = bed() else { return };
    let outside = tempfile::tempdir().expect("a folder");
    fs::remove_dir_all(bed.root().join("tests")).expect("removed");
    symlink(outside.path(), bed.root().join("tests")).expect("linked");
    let ran = run(&bed, &["tests/a", "tests/deep/b"], "cat tests/a tests/deep/b").expect("it runs");
    assert_eq!((&*printed(&ran), &*complained(&ran)), ("base a\nbase b\n", ""));
    assert_eq!(fs::read_dir(outside.path()).expect("a folder").count(), 0);
    // Nor is a file that became a folder in the way.
    let Some(bed) = self::bed() else { return };
    fs::remove_file(bed.root().join("tests/a")).expect("removed");
    let bed = bed.file("tests/a/inside", "work\n");
    assert_eq!(printed(&run(&bed, &["tests/a", "tests/a/inside"], "cat tests/a").expect("it runs")), "base a\n");
}

#[test]
fn the_files_of_the_base_are_no_fixes() {
    let Some(bed) = bed() else { return };
    let bed = bed.file("tests/a", "work a\n").with(|command| command.fixes = true);
    fs::remove_dir_all(bed.root().join("tests/deep")).expect("removed");
    let ran = run(&bed, &["tests/a", "tests/deep/b"], "cat tests/a tests/deep/b; echo y > tests/a; echo x > src/c");
    let ran = ran.expect("it runs");
    assert_eq!((&*printed(&ran), &*complained(&ran)), ("base a\nbase b\n", ""));
    assert_eq!(ran.rewrites.iter().map(|rewrite| rewrite.path.as_str()).collect::<Vec<_>>(), ["src/c"]);
}

#[test]
fn the_cache_stays_hidden() {
    for ignored in ["nothing", ".gate-cache"] {
        let Some(bed) = bed() else { return };
        let bed = bed.file(".gate-cache/key", "secret\n").file(".gitignore", ignored).file("tests/a", "work a\n");
        let ran = run(&bed, &["tests/a"], "cat tests/a; cat .gate-cache/key").expect("it runs");
        assert_eq!((&*printed(&ran), ran.ending), ("base a\n", CommandEnding::Exited(1)), "{ignored}");
    }
}

#[test]
fn a_program_of_the_base_is_run() {
    let Some(bed) = bed() else { return };
    let bed = bed.file("tests/run.sh", "#!/bin/sh\necho base\n");
    git(&bed, "chmod +x tests/run.sh && git add tests && git commit -qm second && rm tests/run.sh");
    let stored = changes::stored(&bed.root(), "HEAD", &["tests/run.sh"].into(), &Environment::of_process());
    let base = BaseFiles::new(["tests/run.sh".to_owned()].into(), stored.expect("a commit"));
    let commands = bed.commands(&["./tests/run.sh"]).with_base_files(Some(Arc::new(base)));
    assert_eq!(printed(&tokio().block_on(commands.run("it", Vec::new())).expect("it runs")), "base\n");
}

#[test]
fn a_level_that_cannot_show_them_is_refused() {
    for level in [SandboxLevel::Landlock, SandboxLevel::None] {
        let bed = TestBed::new(level).file("tests/a", "base\n");
        git(&bed, "git init -q . && git add . && git commit -qm first");
        let bed = bed.file("tests/a", "work\n");
        let refused = run(&bed, &["tests/a"], "cat tests/a").expect_err("it must not run");
        assert!(refused.to_string().contains("it requires the sandbox level `namespaces`"), "{refused}");
        assert!(refused.hint().is_some_and(|hint| hint.contains("the base's version")), "{refused:?}");
    }
}
