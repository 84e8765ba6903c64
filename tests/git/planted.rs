//! Repositories, programs and indexes that the author of a change planted.

use super::{Home, which_git};
use sha1_checked::Sha1;
use sha2::Digest;
use std::fs;
use std::path::Path;

const GATE: &str = "[gate.main]\nall = [\"a\"]\n[check.a]\nverifier = \"json-syntax\"\n";

/// A repository with a gate, a folder of two levels, and a commit `base`.
fn project() -> Home {
    let home = Home::new();
    fs::write(home.work().join("gate.toml"), GATE).expect("written");
    home.sh("mkdir -p packages/api; echo '[1]' > packages/api/b.json; git add -A; git commit -qm base; git tag base");
    home
}

#[test]
fn repositories_inside_one_another_do_not_hide_the_gate() {
    let home = project();
    home.sh("mkdir -p new/deep; git init -q new; git init -q new/deep; echo x > new/deep/x.txt");
    let (exit, text) = home.gate(&home.work(), &["-C", "new/deep", "run", "-q"], &[]);
    assert!(exit == 2 && text.contains("../../gate.toml"), "{text}");
}

#[test]
fn a_repository_around_files_of_another_is_refused() {
    for place in ["packages", "packages/api"] {
        let home = project();
        // With a gate of its own, and a last commit in which all is as bad as it is now.
        home.sh(&format!(
            "cp gate.toml packages/api; git add -A; git commit -qm gate
            echo '[1,' > packages/api/b.json; cd {place}; git init -q; git add -A; git commit -qm planted; git tag base"
        ));
        let folder = home.work().join("packages/api");
        for selection in [&["run"][..], &["run", "--staged"], &["run", "--since", "base"], &["run", "--all-files"]] {
            let (exit, text) = home.gate(&folder, selection, &[]);
            assert!(exit == 2 && text.contains("has a `.git` of its own"), "{place}: {selection:?}: {text}");
        }
    }
}

#[test]
fn a_submodule_and_a_linked_working_tree_inside_are_no_plants() {
    let home = project();
    home.sh(
        "git init -q -b main ../theirs; cp gate.toml ../theirs; git -C ../theirs add -A; git -C ../theirs commit -qm x
        git -c protocol.file.allow=always submodule --quiet add \"$PWD/../theirs\" sub; git commit -qm sub
        git worktree add -q inside -b inside
        echo '[1,' | tee sub/b.json > inside/b.json",
    );
    for place in ["sub", "inside"] {
        let (exit, text) = home.gate(&home.work().join(place), &["run"], &[]);
        assert!(exit == 1 && text.contains("    b.json:2:1"), "{place}: {text}");
    }
}

#[test]
fn a_git_of_the_project_around_is_not_run() {
    let home = project();
    let ran = home.path().join("ran");
    home.sh(&format!(
        "mkdir -p node_modules/.bin new; git init -q new; cp gate.toml new; echo '[1,' > new/b.json
        git worktree add -q ../linked; echo '[1,' > ../linked/b.json
        printf '#!/bin/sh\\ntouch {}\\n' > node_modules/.bin/git; chmod +x node_modules/.bin/git",
        ran.display()
    ));
    let real = Path::new(&which_git()).parent().expect("a folder").display().to_string();
    let path = format!("{}:{real}", home.work().join("node_modules/.bin").display());
    for folder in [home.work().join("new"), home.path().join("linked")] {
        let (exit, text) = home.gate(&folder, &["run"], &[("PATH", &path)]);
        assert!(exit == 1 && text.contains("    b.json:2:1"), "{text}");
        assert!(!ran.exists(), "{}", folder.display());
    }
}

#[test]
fn a_list_of_shallow_commits_does_not_choose_the_base() {
    let home = project();
    // What was bad once and is repaired is made bad again, on a branch that merges what was bad.
    home.sh("echo '[1,' > a.json; git commit -qam old; git tag old; echo '[1]' > a.json; git commit -qam repaired
        git branch upstream; echo '[1,' > a.json; git commit -qam again
        git reset -q --hard $(git commit-tree -p HEAD -p old -m merge HEAD^{tree})");
    let selections = [&["run", "--from-ref", "upstream"][..], &["run", "--since", "upstream"]];
    for trick in
        [":", "git rev-parse HEAD^1 > .git/shallow; test $(git merge-base upstream HEAD) = $(git rev-parse old)"]
    {
        home.sh(trick);
        for selection in selections {
            let (exit, text) = home.gate(&home.work(), selection, &[]);
            assert!(exit == 1 && text.contains("    a.json:2:1"), "{trick}: {selection:?}: {text}");
        }
    }
    // A commit that is really missing.
    home.sh("id=$(git rev-parse HEAD^1); rm -f .git/objects/${id:0:2}/${id:2}");
    for selection in selections {
        let (exit, text) = home.gate(&home.work(), selection, &[]);
        assert!(
            exit == 2 && text.contains("a part of the history that this clone does not have"),
            "{selection:?}: {text}"
        );
    }
}

#[test]
fn a_merge_base_is_that_of_git() {
    let home = project();
    // Branches that were merged into one another, with times that go backwards.
    home.sh("n=0; commit() { n=$((n + 1)); export GIT_COMMITTER_DATE=\"2026-01-01T00:$((59 - n % 60)):00Z\"; \
            git commit -q --allow-empty -m $n; }
        for name in one two three; do git checkout -qb $name base; commit; commit; done
        git merge -q --no-edit one; commit; git checkout -q two; git merge -q --no-edit three; commit
        git checkout -q one; commit; git merge -q --no-edit two~1; commit; git checkout -qb four three~2; commit
        git checkout -q one");
    for (from, to) in
        [("one", "two"), ("two", "three"), ("four", "one"), ("base", "four"), ("three", "one"), ("two", "four")]
    {
        home.sh(&format!("git merge-base --all {from} {to} > ../bases"));
        let (exit, text) =
            home.gate(&home.work(), &["run", "--from-ref", from, "--to-ref", to, "--format", "json"], &[]);
        assert_eq!(exit, 0, "{text}");
        let bases = fs::read_to_string(home.path().join("bases")).expect("bases");
        assert!(
            bases.lines().any(|base| text.contains(&format!("\"base\": \"{base}\""))),
            "{from} {to}: {bases}: {text}"
        );
    }
}

#[test]
fn a_mode_is_a_change_even_if_all_files_have_it() {
    let home = project();
    home.sh("for n in $(seq 12); do echo \"[$n]\" > $n.json; done; git add -A; git commit -qm more; chmod +x *.json */*/*.json");
    let arguments = ["run", "--verifier", "files-in-scope", "--settings", "{\"files\":[\"-\"]}"];
    let (exit, text) = home.gate(&home.work(), &arguments, &[]);
    assert!(exit == 1 && text.contains("`7.json` has changed"), "{text}");
}

#[test]
fn what_is_said_to_be_a_repository_must_be_one() {
    for plant in [
        "mkdir -p lib/.git",
        "mkdir lib; echo 'gitdir: /nowhere' > lib/.git",
        "mkdir -p lib/.git; echo x > lib/.git/HEAD",
    ] {
        let home = project();
        home.sh(&format!(
            "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),lib; {plant}; echo '[1,' > lib/c.json"
        ));
        for selection in [&["run"][..], &["run", "--all-files"], &["run", "--since", "base"]] {
            let (exit, text) = home.gate(&home.work(), selection, &[]);
            assert!(exit == 1 && text.contains("    lib/c.json:2:1"), "{plant}: {selection:?}: {text}");
        }
    }
}

#[test]
fn what_changed_inside_a_submodule_is_judged() {
    let home = project();
    home.sh("git init -q -b main ../theirs; echo '[1,' > ../theirs/theirs.json; echo '[1]' > ../theirs/f.json
        git -C ../theirs add -A; git -C ../theirs commit -qm x
        git -c protocol.file.allow=always submodule --quiet add \"$PWD/../theirs\" sub; git commit -qm sub");
    let selections = [&["run"][..], &["run", "--all-files"], &["run", "--since", "HEAD"]];
    for selection in selections {
        let (exit, text) = home.gate(&home.work(), selection, &[]);
        assert_eq!(exit, 0, "{selection:?}: {text}");
    }
    for (change, path) in [("echo '[1,' > sub/f.json", "sub/f.json"), ("echo '[1,' > sub/new.json", "sub/new.json")] {
        home.sh(&format!(
            "{change}; git config diff.ignoreSubmodules all; git -C sub update-index --assume-unchanged f.json"
        ));
        for selection in selections {
            let (exit, text) = home.gate(&home.work(), selection, &[]);
            assert!(exit == 1 && text.contains(&format!("    {path}:2:1")), "{selection:?}: {text}");
        }
    }
}

/// The entries of an index of version 2, and where they end.
fn entries(index: &[u8]) -> &[u8] {
    let count = u32::from_be_bytes(index[8..12].try_into().expect("a number"));
    let mut at = 12;
    for _ in 0..count {
        let name = index[at + 62..].iter().position(|&byte| byte == 0).expect("an end");
        at += (62 + name + 8) / 8 * 8;
    }
    &index[12..at]
}

/// An index whose entries are good, and whose table for threads leads to others that are bad.
fn with_hidden_entries(good: &[u8], bad: &[u8]) -> Vec<u8> {
    let part = |name: &[u8], content: &[u8]| {
        [name, &u32::try_from(content.len()).expect("short").to_be_bytes(), content].concat()
    };
    let mut forged = [&good[..12], entries(good)].concat();
    let end = u32::try_from(forged.len()).expect("short");
    let table = [&1_u32.to_be_bytes()[..], &(end + 8).to_be_bytes(), &good[8..12]].concat();
    let parts = [part(b"XXXX", entries(bad)), part(b"IEOT", &table)];
    let heads: Vec<u8> = parts.iter().flat_map(|part| part[..8].to_vec()).collect();
    forged.extend(parts.concat());
    forged.extend(part(b"EOIE", &[&end.to_be_bytes()[..], &Sha1::digest(&heads)].concat()));
    forged.extend([0; 20]);
    forged
}

#[test]
fn threads_of_git_do_not_commit_other_entries() {
    let home = project();
    home.sh("echo '[1,' > a.json; git add a.json; cp .git/index ../bad; git reset -q --hard
        echo '[2]' > a.json; git add a.json; cp .git/index ../good; git config index.threads 3");
    let read = |name: &str| fs::read(home.path().join(name)).expect("an index");
    let forged = with_hidden_entries(&read("good"), &read("bad"));
    fs::write(home.work().join(".git/index"), &forged).expect("written");
    // Git would commit the bad one.
    home.sh("test \"$(git cat-file blob :a.json 2> /dev/null)\" = '[1,'");
    fs::write(home.work().join(".git/index"), forged).expect("written");
    let (exit, text) = home.gate(&home.work(), &["run", "--staged"], &[]);
    assert!(exit == 2 && text.contains("the recorded positions of its entries are wrong"), "{text}");
}

#[test]
fn a_file_that_changes_back_and_forth_is_not_overlooked() {
    let home = project();
    for content in ["[1,", "[1]", "[1,"] {
        home.sh(&format!("echo '{content}' > packages/api/b.json; touch -d 2001-01-01 packages/api/b.json"));
        let (exit, text) = home.gate(&home.work(), &["run"], &[]);
        assert_eq!(exit, i32::from(content == "[1,"), "{text}");
    }
}
