//! Commands that fix files: they run in a copy, and their changes become edits.

use super::stage::{TestBed, complained, levels};
use gatehost::commands::CommandResult;
use std::fs;
use std::os::unix::fs::symlink;

/// Returns a bed whose command fixes files.
fn bed(level: gatehost::config::SandboxLevel) -> TestBed {
    TestBed::new(level).with(|command| command.fixes = true)
}

fn rewritten(ran: &CommandResult) -> Vec<&str> {
    ran.rewrites.iter().map(|rewrite| rewrite.path.as_str()).collect()
}

#[test]
fn the_work_stays_as_it_is_and_the_changes_become_edits() {
    for &level in levels() {
        let bed = bed(level).file("a.txt", "one\ntwo\nthree").file("deep/b.txt", "x\n").file("c.txt", "same\n");
        let ran = bed.sh("echo 2 > new; sed -i s/two/2/ a.txt; : > deep/b.txt; cp c.txt d; mv d c.txt; rm -f none");
        assert_eq!(rewritten(&ran), ["a.txt", "deep/b.txt", "new"], "{level}");
        let edit = &ran.rewrites[0].edits[0];
        assert_eq!((edit.start_line, edit.end_line, &*edit.replacement), (2, 3, "2\n"), "{level}");
        assert_eq!(fs::read_to_string(bed.root().join("a.txt")).expect("there"), "one\ntwo\nthree", "{level}");
        assert!(!bed.root().join("new").exists(), "{level}");
    }
}

#[test]
fn what_is_deleted_or_no_text_is_told_without_edits() {
    let level = levels()[0];
    let bed = bed(level).file("a.txt", "one\n").file("b.txt", "two\n");
    let ran = bed.sh("rm a.txt; printf '\\377' > b.txt");
    assert_eq!(rewritten(&ran), ["a.txt", "b.txt"]);
    assert!(ran.rewrites.iter().all(|rewrite| rewrite.edits.is_empty()));
    assert!(bed.root().join("a.txt").exists());
}

/// A command may put anything into its copy: what is read of it afterwards is inside, and nothing is waited for.
#[test]
fn no_symlink_pipe_or_device_of_a_command_is_read() {
    for &level in levels() {
        let bed = bed(level).file("sub/secret", "mine\n").file("pipe", "a\n").file("zero", "b\n").file("link", "c\n");
        let elsewhere = crate::support::tempdir().expect("a folder");
        let elsewhere = elsewhere.path().canonicalize().expect("a folder");
        fs::write(elsewhere.join("secret"), "outside\n").expect("written");
        let plant = format!(
            "rm -r sub pipe zero link; ln -s {0} sub; ln -s {0}/secret link; mkfifo pipe; ln -s /dev/zero zero; ln -s {0} new",
            elsewhere.display()
        );
        let ran = bed.sh(&plant);
        let said = format!("{:?}", ran.rewrites);
        assert!(!said.contains("outside"), "{level}: {said}");
        assert!(rewritten(&ran).contains(&"sub/secret"), "{level}: {said}");
    }
}

#[test]
fn caches_are_no_changes_and_what_git_ignores_is_seen() {
    let level = levels()[0];
    let bed = bed(level).file(".gitignore", "node_modules\n").file("node_modules/tool/run", "#!/bin/sh\necho ran\n");
    let bed = bed.file("a.txt", "one\n");
    let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(bed.root()).status();
    assert!(git.expect("git runs").success());
    let ran =
        bed.sh("sh node_modules/tool/run; mkdir -p .cache __pycache__; echo x > .cache/y; echo x > __pycache__/z");
    assert_eq!((rewritten(&ran), &*ran.stdout.head), (vec![], &b"ran\n"[..]));
}

#[test]
fn what_git_ignores_is_not_written() {
    for &level in levels() {
        let bed = bed(level).file(".gitignore", "out\n").file("out/built", "old\n").file("a.txt", "one\n");
        let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(bed.root()).status();
        assert!(git.expect("git runs").success());
        bed.sh("echo new > out/built; true");
        assert_eq!(fs::read_to_string(bed.root().join("out/built")).expect("there"), "old\n", "{level}");
    }
}

#[test]
fn no_symlink_of_the_work_leads_out_of_the_copy_without_a_sandbox() {
    let elsewhere = crate::support::tempdir().expect("a folder");
    let elsewhere = elsewhere.path().canonicalize().expect("a folder");
    for &level in levels() {
        let bed = bed(level).file("sub/v.txt", "old\n").file("a.txt", "one\n");
        fs::write(elsewhere.join("v.txt"), "old\n").expect("written");
        let up = format!("../../../../../../../..{}", elsewhere.display());
        let links =
            [("absolute", &*elsewhere), ("back", &bed.root().join("sub")), ("up", up.as_ref()), ("two", "up".as_ref())];
        links.iter().for_each(|(link, target)| symlink(target, bed.root().join(link)).expect("a link"));
        symlink("sub", bed.root().join("inside")).expect("a link");
        let ran = bed.sh("for link in absolute back up two inside; do echo new > $link/v.txt; done; true");
        assert_eq!(rewritten(&ran), ["sub/v.txt"], "{level}");
        let left = [elsewhere.join("v.txt"), bed.root().join("sub/v.txt")]
            .map(|path| fs::read_to_string(path).expect("there"));
        assert_eq!(left, ["old\n", "old\n"], "{level}");
        let named = complained(&ran).contains("lead out of it: absolute, back, two, up");
        assert_eq!(named, level == gatehost::config::SandboxLevel::None, "{level}: {}", complained(&ran));
    }
}

#[test]
fn the_cache_is_not_copied() {
    for &level in levels().iter().filter(|level| **level != gatehost::config::SandboxLevel::None) {
        let bed = bed(level).file(".gate-cache/key", "secret\n").file("a.txt", "one\n");
        let Ok(ran) = bed.try_sh("cat .gate-cache/key") else { continue };
        assert!(ran.stdout.head.is_empty(), "{level}");
    }
}
