//! The files that a command can read and change.

use super::stage::*;
use gatehost::commands::CommandEnding;
use gatehost::config::{Access, SandboxLevel};
use gatehost::verdict::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process;
use std::{env, fs};

#[test]
fn e7_the_work_is_not_changed_by_testing_it() {
    for level in confined() {
        let bed = TestBed::new(level).file("a.txt", "a").file("gate.toml", "x").file("target/old", "");
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
            let bed = TestBed::new(level).file("gate.toml", "good").file(".git/HEAD", "ref").file(".git/hooks/a", "");
            let bed = bed.with(|command| command.workspace = Access::ReadWrite);
            let tried = bed.try_sh(&format!("echo fine > free.txt; ({attempt}) 2>/dev/null; exit 0"));
            assert!(bed.root().join("free.txt").exists(), "{level}");
            match tried {
                // Where it cannot be prevented, it is seen.
                Err(error) => {
                    assert!(
                        level < SandboxLevel::Namespaces && error.to_string().contains("which belongs to the policy")
                    );
                    assert_eq!(error.kind(), ErrorKind::CommandTampered, "{error}");
                }
                Ok(_) => {
                    assert_eq!(level, SandboxLevel::Namespaces, "{attempt}");
                    assert_eq!(fs::read_to_string(bed.root().join("gate.toml")).expect("there"), "good", "{attempt}");
                    assert_eq!(fs::read_dir(bed.root().join(".git/hooks")).expect("there").count(), 1, "{attempt}");
                }
            }
        }
        let bed = TestBed::new(level).with(|command| command.workspace = Access::ReadWrite);
        let error = bed.try_sh("echo new > gate.lock").expect_err("seen").to_string();
        assert!(error.contains("gate.lock"), "{level}: {error}");
    }
}

/// Files that no command may read, although their folder has programs in `PATH`, or toolchains.
const SECRETS: [&str; 15] = [
    ".ssh/id",
    ".aws/credentials",
    ".netrc",
    ".cargo/credentials.toml",
    "notes.txt",
    ".fly/config.yml",
    ".pulumi/credentials.json",
    ".docker/config.json",
    ".deno/credentials.json",
    ".dotnet/corefx/cryptography/x509stores/my/key.pfx",
    ".local/share/uv/credentials/credentials.toml",
    ".npm-global/etc/npmrc",
    ".fly/share/app/credentials.json",
    ".fly/lib/node_modules/a/.npmrc",
    "sites/lib/python/auth.json",
];

/// Not a test: has a home with secrets, and looks from within a command.
#[test]
#[ignore = "part of another test"]
fn looks_around() {
    let home = PathBuf::from(env::var_os("HOME").expect("a home"));
    for &level in levels() {
        let bed = TestBed::new(level).with(|command| command.env = vec!["WANTED".to_owned()]);
        let seen = printed(&bed.sh("env"));
        assert!(seen.contains("WANTED=yes\n") && !seen.contains("UNWANTED"), "{seen}");
        assert!(!seen.contains(&format!("HOME={}\n", home.display())), "{seen}");
        assert_eq!(printed(&bed.sh("touch \"$HOME/a\" \"$TMPDIR/b\" && ls \"$HOME\"")), "a\n");
        // What a toolchain needs is there, under its usual name.
        assert_eq!(printed(&bed.sh("cat ~/.cargo/config.toml")), "[registry]\ntoken = \"\"\n[build]\njobs = 2\n");
        if level == SandboxLevel::None {
            continue;
        }
        assert_eq!(
            printed(&bed.sh("tool; cat ~/.local/share/uv/tools/a/file; ls ~/.deno/bin")),
            "it runs\nfine\ndeno\n"
        );
        for secret in SECRETS {
            let path = home.join(secret);
            let ran = bed.sh(&format!("cat {0} ~/{secret} /proc/*/root{0}", path.display()));
            assert!(ran.stdout.length == 0 && ran.ending != CommandEnding::Exited(0), "{level}: {ran:?}");
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
    let write = |path: &str, text: &str| {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, text).expect("written");
        path
    };
    SECRETS.iter().for_each(|secret| drop(write(secret, "secret")));
    write(".cargo/config.toml", "[registry]\ntoken = \"secret\"\n[build]\njobs = 2\n");
    write(".local/share/uv/tools/a/file", "fine\n");
    write(".deno/bin/deno", "");
    // A program that needs what is beside it.
    let tool = write(".fly/bin/tool", "#!/bin/sh\n. \"${0%/bin/tool}/lib/tool.sh\"\n");
    fs::set_permissions(tool, fs::Permissions::from_mode(0o755)).expect("set");
    write(".fly/lib/tool.sh", "echo it runs\n");
    write("sites/bin/site", "");
    let folders = ["sites/bin", ".fly/bin", ".pulumi/bin", ".docker/bin", ".deno/bin", ".dotnet", ".local/share/uv"];
    let own = folders.map(|folder| home.path().join(folder));
    // Without the toolchains of whoever runs the tests, which are searched for credentials by each command.
    let path = env::var_os("PATH").expect("a search path");
    let system = env::split_paths(&path).filter(|folder| folder.starts_with("/usr") || folder.starts_with("/bin"));
    let search = env::join_paths(own.into_iter().chain(system)).expect("a search path");
    let mut alone = again("files::looks_around", &["--ignored"]);
    alone
        .env("PATH", search)
        .env_remove("CARGO_HOME")
        .env("HOME", home.path())
        .env("UNWANTED", "secret")
        .env("WANTED", "yes");
    must_pass(&mut alone);
}

#[test]
fn e11_a_disk_is_not_filled() {
    for &level in levels() {
        // Sparse: what is bounded is the size, and nothing is written here.
        let bed = TestBed::new(level).with(|command| command.workspace = Access::ReadWrite);
        let ran = bed.sh("exec dd if=/dev/zero of=big bs=1 count=1 seek=8G");
        assert_eq!(ran.ending, CommandEnding::Signalled(libc::SIGXFSZ), "{level}: {}", complained(&ran));
        let full = TestBed { reserve: u64::MAX, ..TestBed::new(level) };
        let error = full.try_sh("sleep 600").expect_err("ended").to_string();
        assert!(error.contains("of free disk space"), "{level}: {error}");
    }
    if levels().contains(&SandboxLevel::Namespaces) {
        let ran = TestBed::new(SandboxLevel::Namespaces)
            .sh("df -Pk \"$TMPDIR\" \"$HOME\" / | awk 'NR > 1 { print $2 }' | sort -u");
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
        let bed = TestBed::new(level).with(|command| command.read = vec![path("shown")]);
        let ran = bed.sh(&format!("cat {0}/shown {0}/hidden; echo x > {0}/shown", elsewhere.path().display()));
        assert_eq!(printed(&ran), "shown", "{level}");
        assert_eq!(fs::read_to_string(path("shown")).expect("there"), "shown", "{level}");
        let missing = bed.with(|command| command.read = vec!["/no/such/path".to_owned()]);
        assert!(missing.try_sh("true").is_err_and(|error| error.to_string().contains("`/no/such/path`")), "{level}");
        let all = missing.with(|command| command.read = vec!["/".to_owned()]);
        assert!(
            all.try_sh("true").is_err_and(|error| error.to_string().contains("the root of the file system")),
            "{level}"
        );
    }
}

#[test]
fn a_build_works_where_only_its_own_folder_can_be_written() {
    if process::Command::new("cargo").arg("--version").output().is_err() {
        return;
    }
    for level in confined() {
        let bed = TestBed::new(level)
            .file("Cargo.toml", "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")
            .file("Cargo.lock", "# This file is automatically @generated by Cargo.\n# It is not intended for manual editing.\nversion = 4\n\n[[package]]\nname = \"a\"\nversion = \"0.1.0\"\n")
            .file("src/lib.rs", "#[test]\nfn good() {}\n")
            .with(|command| command.write = vec!["target".to_owned()]);
        let ran = bed.run(&["cargo", "test", "--offline", "--lib"], b"").expect("run");
        assert_eq!(ran.ending, CommandEnding::Exited(0), "{level}: {}", complained(&ran));
        assert!(printed(&ran).contains("test good ... ok"), "{level}");
    }
}

/// At the levels without a file system of its own, its home is a folder of the machine.
#[test]
fn a_home_nested_deeper_than_a_path_is_long_is_deleted() {
    // In memory if possible: some disks take milliseconds for each folder that is deleted.
    let parent = crate::support::memory().map_or_else(env::temp_dir, Path::to_owned);
    let temporary = tempfile::tempdir_in(parent).expect("a folder");
    let mut alone = again("files::nests_folders", &["--ignored"]);
    must_pass(alone.env("TMPDIR", temporary.path()));
    let left: Vec<_> =
        fs::read_dir(temporary.path()).expect("there").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, [] as [&str; 0]);
}

/// Not a test: a command makes 5,000 folders, one inside the other.
#[test]
#[ignore = "part of another test"]
fn nests_folders() {
    for &level in levels() {
        assert!(was_possible(&TestBed::new(level).inside("nest 5000")), "{level}");
    }
}

#[test]
fn where_its_confinement_was_in_its_way_the_key_that_helps_is_named() {
    let level = levels()[0];
    if level == SandboxLevel::None {
        return;
    }
    let advice =
        |script: &str| TestBed::new(level).sh(script).advice.map(|advice| advice.to_string()).unwrap_or_default();
    if level == SandboxLevel::Namespaces {
        let said = advice("touch a.txt");
        assert!(
            said.starts_with("`a.txt` could not be written") && said.contains("`write` of `[command.it]`"),
            "{said}"
        );
    }
    let said = advice("no-such-program-anywhere");
    assert!(said.contains("`no-such-program-anywhere` was not found"), "{said}");
    let said = advice("echo 'curl: (6) Could not resolve host: a.example' >&2; exit 6");
    assert!(said.contains("`network = true` in `[command.it]`"), "{said}");
    // Set for whoever runs the tests, and not passed on.
    let is_own = |name: &String| {
        name.starts_with("CARGO_") && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    };
    if let Some(name) = env::vars().map(|(name, _)| name).find(is_own) {
        let said = advice(&format!("echo 'error: environment variable {name} is not set' >&2; exit 1"));
        assert_eq!(said, format!("the command does not see `{name}`; add it to `env` of `[command.it]`"));
    }
    assert_eq!(advice("echo 1 test failed; exit 1"), "");
    assert_eq!(advice("echo Read-only file system"), "");
}
