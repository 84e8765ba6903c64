//! What a command sees and changes of the files around it.

use super::stage::*;
use gatehost::commands::Ending;
use gatehost::config::{Access, Sandbox};
use std::path::PathBuf;
use std::process;
use std::{env, fs};

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
        "chmod +x .git/hooks/a",
        "mkdir -p .git/refs/heads; echo evil > .git/refs/heads/main",
        "echo evil > .git/packed-refs",
        "mkdir .git/info; echo evil > .git/info/attributes",
        "echo evil > .git/config.worktree",
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
                    level < Sandbox::Namespaces && error.to_string().contains("which decides about the work"),
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
    let mut alone = again("files::looks_around", &["--ignored"]);
    alone.env_remove("CARGO_HOME").env("HOME", home.path()).env("UNWANTED", "secret").env("WANTED", "yes");
    must_pass(&mut alone);
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
