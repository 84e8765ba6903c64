//! How git is used: repositories that try to run something, and unusual places to call `gate` from.

mod clean;
mod hiding;
mod matrix;
mod planted;
mod since;
mod stored;

use crate::support::isolate;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A repository with one good file, with its own home folder.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self::at(crate::support::tempdir().expect("a folder"))
    }

    fn at(folder: tempfile::TempDir) -> Self {
        let home = Self(folder);
        fs::create_dir(home.work()).expect("a folder");
        home.sh("echo '[1]' > a.json; git init -q -b main; git add -A; git commit -qm first");
        home
    }

    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().expect("a folder")
    }

    fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    fn sh(&self, script: &str) {
        let output = isolate(Command::new("bash").args(["-euc", script]), &self.work(), &self.path()).output();
        let output = output.expect("bash runs");
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn gate(&self, folder: &Path, args: &[&str], variables: &[(&str, &str)]) -> (i32, String) {
        let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
        let Output { status, stdout, stderr } =
            isolate(gate.args(args), folder, &self.path()).envs(variables.iter().copied()).output().expect("gate runs");
        let text = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
        (status.code().expect("an exit code"), text)
    }

    /// Puts a script in place of git, first in the returned search path.
    fn git_is(&self, script: &str) -> String {
        let bin = self.path().join("bin");
        fs::create_dir_all(&bin).expect("a folder");
        fs::write(bin.join("git"), format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).expect("executable");
        format!("{}:{}", bin.display(), std::env::var("PATH").expect("a search path"))
    }
}

#[test]
fn nothing_of_the_repository_is_run() {
    let home = Home::new();
    let ran = home.path().join("ran");
    home.sh(&format!(
        r#"run='touch {}; cat'
        printf '*.json filter=a=b\n' > .git/info/attributes
        printf '*.json filter=plain ident diff=plain\n' > ../attributes
        git config core.attributesFile "$PWD/../attributes"
        for filter in a=b plain; do
          git config "filter.$filter.clean" "$run"
          git config "filter.$filter.process" "$run"
          git config "filter.$filter.required" true
        done
        git config diff.plain.command "$run"
        git config diff.plain.textconv "$run"
        git config diff.external "$run"
        git config diff.submodule diff
        git config core.fsmonitor "$run"
        git config core.pager "$run"
        git config pager.status "$run"
        mkdir ../hooks; printf '#!/bin/sh\n%s\n' "$run" > ../hooks/post-index-change; chmod +x ../hooks/*
        git config core.hooksPath "$PWD/../hooks"
        echo '[2]' > a.json
        rm -f {}"#,
        ran.display(),
        ran.display()
    ));
    fs::write(home.work().join("gate.toml"), "[gate.main]\nall = [\"a\", \"b\"]\n[check.a]\nverifier = \"json-syntax\"\n[check.b]\nverifier = \"files-in-scope\"\nsettings = { files = [\"a.json\", \"gate.toml\"] }\n").expect("written");
    for args in [&["run"][..], &["run", "--all-files"], &["run", "--files", "."]] {
        let (exit, text) = home.gate(&home.work(), args, &[]);
        assert_eq!(exit, 0, "{args:?}: {text}");
        assert!(!ran.exists(), "{args:?}");
    }
    home.sh(&format!("git -c core.fsmonitor=false status > ../said 2>&1 || true; test -e {}", ran.display()));
}

#[test]
fn nothing_is_fetched() {
    let home = Home::new();
    let ran = home.path().join("ran");
    home.sh(&format!(
        "git config uploadpack.allowFilter true
        git clone -q --no-checkout --filter=blob:none file://$PWD ../partial 2>/dev/null
        cd ../partial
        git config remote.origin.uploadpack 'touch {}; git-upload-pack'",
        ran.display()
    ));
    let partial = home.path().join("partial");
    home.sh(
        "cd ../partial; git read-tree HEAD; git update-index --add --cacheinfo 100644,$(git rev-parse HEAD:a.json),b.json
        test -z \"$(git cat-file --batch-all-objects --batch-check | grep blob)\"",
    );
    let (exit, text) = home.gate(&partial, &["run", "--staged"], &[]);
    assert_eq!(exit, 2, "{text}");
    assert!(text.contains("the content of `b.json`") && text.contains("partial clone"), "{text}");
    assert!(!ran.exists());
}

#[test]
fn git_gets_no_variables_but_its_own() {
    let home = Home::new();
    // Git says whether it is ignored.
    home.sh("echo '[2]' > new.json");
    let real = which_git();
    let seen = home.path().join("seen");
    let path = home.git_is(&format!("env >> {}\nexec {real} \"$@\"", seen.display()));
    let variables = [
        ("PATH", path.as_str()),
        ("API_KEY", "s3cret"),
        ("GIT_EXTERNAL_DIFF", "false"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "safe.directory"),
        ("GIT_CONFIG_VALUE_0", "*"),
    ];
    let (exit, text) = home.gate(&home.work(), &["run", "--all-files"], &variables);
    assert_eq!(exit, 0, "{text}");
    let seen = fs::read_to_string(seen).expect("what git saw");
    assert!(seen.contains("GIT_NO_LAZY_FETCH=1") && seen.contains("GIT_CONFIG_VALUE_0=*"), "{seen}");
    assert!(!seen.contains("s3cret") && !seen.contains("GIT_EXTERNAL_DIFF"), "{seen}");
}

#[test]
fn an_answer_that_git_does_not_give_is_an_error() {
    let home = Home::new();
    home.sh("echo '[2]' > new.json");
    let real = which_git();
    for (answer, message) in [
        ("exit 128", "`git check-ignore` failed: it exited before it answered (exit status: 128)"),
        ("printf '\\0\\0\\0./other\\0'; sleep 5", "`git check-ignore` failed: it sent an unexpected answer"),
    ] {
        let path = home.git_is(&format!("case \"$*\" in *check-ignore*) {answer};; esac\nexec {real} \"$@\""));
        for args in [&["run"][..], &["run", "--all-files"], &["run", "--files", "."]] {
            let (exit, text) = home.gate(&home.work(), args, &[("PATH", &path)]);
            assert!(exit == 3 && text.contains(message), "{text}");
        }
    }
}

#[test]
fn what_git_says_of_itself_is_no_error() {
    let home = Home::new();
    home.sh("git config core.fsyncObjectFiles true
        echo /nowhere/objects > .git/objects/info/alternates
        echo '[2]' > a.json
        git status 2>&1 >/dev/null | grep -q /nowhere");
    for args in [&["run"][..], &["run", "--all-files"]] {
        let (exit, text) = home.gate(&home.work(), args, &[]);
        assert_eq!(exit, 0, "{args:?}: {text}");
    }
}

#[test]
fn an_unchanged_file_may_have_any_name() {
    let home = Home::new();
    home.sh(r"echo > $'\xff'; git add -A; git commit -qm second; echo '[2]' > a.json");
    let (exit, text) = home.gate(&home.work(), &["run"], &[]);
    assert_eq!(exit, 0, "{text}");
}

#[test]
fn a_git_that_was_killed_is_told() {
    let home = Home::new();
    // Only git resolves a name with such a character.
    home.sh("git checkout -q -b 'a@b'");
    let path = home.git_is(&format!("case \"$*\" in *cat-file*) kill -9 $$;; esac\nexec {} \"$@\"", which_git()));
    let (exit, text) = home.gate(&home.work(), &["run"], &[("PATH", &path)]);
    assert_eq!(exit, 3, "{text}");
    assert!(text.contains("`git cat-file` failed: it exited without output (signal: 9"), "{text}");
}

#[test]
fn files_where_git_expects_a_repository_are_judged() {
    let home = Home::new();
    home.sh("git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),lib
        git commit -qm second
        mkdir lib
        test -z \"$(git status --porcelain)\"
        mkdir lib/deep
        echo '[1,' > lib/deep/b.json
        test -z \"$(git status --porcelain)\"");
    let named = [&["run", "--files", "."][..], &["run", "--files", "lib"], &["run", "--files", "lib/deep"]];
    for args in [&["run"][..], &["run", "--all-files"]].into_iter().chain(named) {
        let (exit, text) = home.gate(&home.work(), args, &[]);
        assert_eq!(exit, 1, "{args:?}: {text}");
        assert!(text.contains("    lib/deep/b.json:2:1"), "{args:?}: {text}");
    }
}

#[test]
fn a_base_that_was_not_fetched_is_told() {
    let home = Home::new();
    home.sh("echo '[2]' > a.json; git commit -qam second
        git config uploadpack.allowFilter true
        git clone -q --filter=blob:none file://$PWD ../partial 2>/dev/null");
    let partial = home.path().join("partial");
    fs::write(partial.join("gate.toml"), "[gate.main]\nall = [\"a\"]\n[check.a]\nverifier = \"patterns\"\nsettings = { rules = [{ id = \"todo\", kind = \"forbid\", pattern = \"TODO\", in = \"added-lines\" }] }\n").expect("written");
    let (exit, text) = home.gate(&partial, &["run", "--from-ref", "HEAD~1"], &[]);
    assert_eq!(exit, 2, "{text}");
    assert!(text.contains("partial clone") && text.contains("git fetch --refetch --no-filter"), "{text}");
}

#[test]
fn without_git_only_named_files_are_judged() {
    let home = Home::new();
    let empty = home.path().join("empty");
    fs::create_dir(&empty).expect("a folder");
    let path = [("PATH", empty.to_str().expect("UTF-8"))];
    let (exit, text) = home.gate(&home.work(), &["run"], &path);
    assert_eq!(exit, 2, "{text}");
    assert!(text.contains("cannot find changes") && text.contains("--files"), "{text}");
    assert_eq!(home.gate(&home.work(), &["run", "--files", "a.json"], &path).0, 0);
}

#[test]
fn a_hook_judges_what_is_committed() {
    let home = Home::new();
    home.sh("git worktree add -q ../linked -b linked; mkdir sub");
    home.sh(&format!(
        "printf '#!/bin/sh\\nexec {} run --staged >&2\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
        env!("CARGO_BIN_EXE_gate")
    ));
    for place in [".", "../linked", "sub"] {
        // All of the index; all that is tracked; one file, from an index that git makes for it.
        for (number, what) in ["", "-a", ":/a.json"].into_iter().enumerate() {
            home.sh(&format!(
                "cd {place}
                file=$(git rev-parse --show-toplevel)/a.json
                echo '[1,' > $file; git add $file
                ! git commit -qm bad {what} 2> ~/said
                grep -q 'a.json:2:1' ~/said
                echo '[{number}, \"{place}\"]' > $file; git add $file
                git commit -qm good {what} 2> /dev/null"
            ));
        }
    }
}

#[test]
fn every_place_of_a_repository_is_the_same_work() {
    let home = Home::new();
    home.sh("git worktree add -q ../linked -b linked
        git init -q -b main ../theirs; git -C ../theirs commit -q --allow-empty -m first
        git -c protocol.file.allow=always submodule --quiet add \"$PWD/../theirs\" sub
        mkdir -p deep/er ../linked/deep sub/deep
        for place in . ../linked sub; do echo '[1,' > $place/b.json; done
        ln -s work ../by-link");
    for place in ["work", "work/deep/er", "by-link/deep", "linked", "linked/deep", "work/sub", "work/sub/deep"] {
        let (exit, text) = home.gate(&home.path().join(place), &["run"], &[]);
        assert_eq!(exit, 1, "{place}: {text}");
        assert!(text.contains("    b.json:2:1"), "{place}: {text}");
    }
}

#[test]
fn a_working_tree_of_the_environment_must_be_this_one() {
    let home = Home::new();
    home.sh("git init -q --bare ../bare.git; mkdir ../files; echo '[1,' > ../files/b.json");
    let (bare, files) = (home.path().join("bare.git"), home.path().join("files"));
    let (bare, other) = (bare.to_str().expect("UTF-8"), files.to_str().expect("UTF-8"));
    let (exit, text) = home.gate(&files, &["run"], &[("GIT_DIR", bare), ("GIT_WORK_TREE", other)]);
    assert_eq!(exit, 1, "{text}");
    assert!(text.contains("    b.json:2:1"), "{text}");
    for variables in [&[("GIT_WORK_TREE", other)][..], &[("GIT_DIR", bare), ("GIT_WORK_TREE", other)]] {
        let (exit, text) = home.gate(&home.work(), &["run"], variables);
        assert_eq!(exit, 2, "{text}");
        assert!(text.contains(&format!("git uses `{other}` as the working tree of")), "{text}");
    }
}

fn which_git() -> String {
    let output = Command::new("sh").args(["-c", "command -v git"]).output().expect("a shell");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
