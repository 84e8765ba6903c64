//! What the author of a change can plant in the workspace to give a command more access.

use super::stage::*;
use gatehost::commands::CommandEnding;
use gatehost::config::{Access, SandboxLevel};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, process, thread};

#[test]
fn e13_a_link_in_the_work_gives_nothing() {
    for &level in levels() {
        for target in ["..", ".git/info", "src"] {
            let bed = TestBed::new(level).file("src/a", "").file(".git/info/exclude", "");
            symlink(target, bed.root().join("target")).expect("linked");
            let bed = bed.with(|command| command.write = vec!["target".to_owned()]);
            let error = bed.try_sh("echo x > target/planted").expect_err("refused").to_string();
            assert!(error.contains(&format!("`target` is a symlink to `{target}`")), "{level}: {error}");
            assert!(!bed.root().join("target/planted").exists(), "{level}");
        }
    }
}

/// Somebody else puts a link where a folder was, again and again: between the look at it and its use, too.
#[test]
fn e13_a_link_that_comes_late_gives_nothing_either() {
    for level in confined() {
        let secret = tempfile::tempdir().expect("a folder");
        let bed = TestBed::new(level).file("target/x", "").with(|command| command.write = vec!["target".to_owned()]);
        let (folder, link) = (bed.root().join("target"), bed.root().join("link"));
        symlink(secret.path(), &link).expect("linked");
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).expect("exchanged");
                }
            });
            for _ in 0..20 {
                let _ = bed.try_sh(&format!("echo x > target/planted; echo x > {}/planted", secret.path().display()));
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(fs::read_dir(secret.path()).expect("there").count(), 0, "{level}");
    }
}

#[test]
fn e13_a_file_that_names_a_folder_does_not_open_it() {
    let secret = tempfile::tempdir().expect("a folder");
    fs::write(secret.path().join("key"), "secret").expect("written");
    for level in confined() {
        let bed = TestBed::new(level).file(".git", &format!("gitdir: {}\n", secret.path().display()));
        let ran = bed.sh(&format!("cat {}/key", secret.path().display()));
        assert!(ran.stdout.length == 0 && ran.ending != CommandEnding::Exited(0), "{level}: {ran:?}");
    }
}

#[test]
fn e13_a_linked_working_tree_has_its_repository() {
    let git = |bed: &TestBed, line: &str| {
        let mut git = process::Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(line.split(' ')).current_dir(bed.root());
        assert!(git.output().expect("git runs").status.success(), "{line}");
    };
    for level in confined() {
        let main = TestBed::new(level);
        for line in ["init -q", "commit -q --allow-empty -m first", "worktree add -q linked"] {
            git(&main, line);
        }
        let linked = TestBed::new(level);
        let root = linked.root();
        fs::remove_dir(&root).expect("removed");
        fs::rename(main.root().join("linked"), &root).expect("moved");
        git(&linked, &format!("-C {} worktree repair {}", main.root().display(), root.display()));
        assert_eq!(printed(&linked.sh("git log --format=%s")), "first\n", "{level}");
    }
}

#[test]
fn e14_a_configuration_is_protected_wherever_it_is() {
    let attempts = ["echo evil >> conf/g.toml", "mv conf old; mkdir conf; echo evil > conf/g.toml"];
    for &level in levels() {
        for (attempt, linked) in attempts.into_iter().flat_map(|attempt| [(attempt, false), (attempt, true)]) {
            let bed = TestBed::new(level).file("conf/g.toml", "good").with(|it| it.workspace = Access::ReadWrite);
            let mut named = bed.root().join("conf/g.toml");
            if linked {
                named = bed.root().join("gate.toml");
                symlink("conf/g.toml", &named).expect("linked");
            }
            let bed = TestBed { configuration: Some(named.clone()), ..bed };
            let tried = bed.try_sh(&format!("echo fine > free.txt; ({attempt}) 2>/dev/null; exit 0"));
            assert!(bed.root().join("free.txt").exists(), "{level}");
            match tried {
                Err(error) => {
                    assert_ne!(level, SandboxLevel::Namespaces, "{attempt}: {error}");
                    assert!(error.to_string().contains("it changed `conf/g.toml`"), "{level}: {attempt}: {error}");
                }
                Ok(_) => {
                    assert_eq!(level, SandboxLevel::Namespaces, "{attempt}");
                    assert_eq!(fs::read_to_string(named).expect("there"), "good", "{attempt}");
                }
            }
        }
    }
}

#[test]
fn e14_a_pipe_where_a_file_was_is_seen_and_not_waited_for() {
    for &level in levels() {
        let bed = TestBed::new(level).file(".git/HEAD", "ref").with(|command| command.workspace = Access::ReadWrite);
        let error = bed.try_sh("mkfifo gate.lock").expect_err("seen").to_string();
        assert!(error.contains("it changed `gate.lock`"), "{level}: {error}");
    }
}

#[test]
fn e15_what_was_passed_before_can_be_neither_seen_nor_forged() {
    for level in confined() {
        let bed = TestBed::new(level).file("a/cache/secret", "secret").with(|it| it.workspace = Access::ReadWrite);
        let bed = TestBed { cache: bed.root().join("a/cache"), ..bed };
        let tried = bed.try_sh(
            "cat a/cache/secret; (echo x > a/cache/x.passes; rm -r a/cache; mv a b; mkdir -p a/cache; echo x > a/cache/secret) 2>&1; exit 0",
        );
        match tried {
            Ok(ran) => {
                assert_eq!(level, SandboxLevel::Namespaces);
                assert!(!printed(&ran).starts_with("secret"), "{}", printed(&ran));
            }
            Err(error) => {
                assert_eq!(level, SandboxLevel::Landlock, "{error}");
                assert!(error.to_string().contains("set `GATE_CACHE_DIR`"), "{error}");
            }
        }
        assert_eq!(fs::read_to_string(bed.cache.join("secret")).expect("there"), "secret", "{level}");
        assert_eq!(fs::read_dir(&bed.cache).expect("there").count(), 1, "{level}");
        // Where it is elsewhere, nothing has to be done about it.
        let elsewhere = tempfile::tempdir().expect("a folder");
        fs::write(elsewhere.path().join("secret"), "secret").expect("written");
        let bed = TestBed { cache: elsewhere.path().to_owned(), ..bed };
        let ran = bed.sh(&format!("cat {}/secret", elsewhere.path().display()));
        assert_eq!(ran.stdout.length, 0, "{level}");
    }
}

/// The program tells which configuration it read, and where its cache is.
#[test]
fn e15_a_run_protects_its_own_configuration_and_cache() {
    if confined().next().is_none() {
        return;
    }
    for script in ["echo '# changed' >> conf/g.toml", "cat cache/secret", "echo x > cache/x.passes"] {
        let bed = TestBed::new(SandboxLevel::None).file(
            "conf/g.toml",
            &format!(
                "[gate.g]\nall = [\"c\"]\n[check.c]\nverifier = \"command\"\ngrants = [\"command:it\"]\n\
             [command.it]\nrun = [\"sh\", \"-c\", \"{script}\"]\nworkspace = \"read-write\"\n"
            ),
        );
        let mut gate = process::Command::new(env!("CARGO_BIN_EXE_gate"));
        gate.args(["run", "--all-files", "-c", "conf/g.toml"]).current_dir(bed.root());
        let output = gate.env("GATE_CACHE_DIR", bed.root().join("cache")).output().expect("run");
        let printed = String::from_utf8_lossy(&output.stdout);
        // In namespaces it cannot be done; otherwise it is seen, or not even tried.
        let expected =
            [(1, "exited with code"), (3, "command.read-only"), (3, "command.not-started"), (3, "command.tampered")];
        let code = output.status.code().unwrap_or(0);
        assert!(expected.iter().any(|&(it, why)| code == it && printed.contains(why)), "{script}: {code}: {printed}");
        assert_eq!(fs::read_dir(bed.root().join("cache")).expect("made").count(), 1, "{script}: {printed}");
    }
}
