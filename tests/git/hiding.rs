//! Ways to hide a change. The repository belongs to the author of the change, and none of them makes a gate pass.

use super::{Home, which_git};
use std::fs;
use std::path::Path;

const CHANGED: &[&str] = &["run"];
const STAGED: &[&str] = &["run", "--staged"];
const ALL: &[&str] = &["run", "--all-files"];
const BETWEEN: &[&str] = &["run", "--from-ref", "base"];
const SINCE: &[&str] = &["run", "--since", "base"];

/// Tricks that hide changes of the working tree.
const IN_THE_TREE: &[(&str, &str)] = &[
    ("no trick", ":"),
    ("assume-unchanged", "git update-index --assume-unchanged a.json"),
    ("skip-worktree", "git update-index --skip-worktree a.json"),
    ("both flags", "git update-index --assume-unchanged a.json; git update-index --skip-worktree a.json"),
    ("an old time", "touch -r keep.json a.json; git config core.trustctime false; git config core.checkStat minimal"),
    ("core.ignoreStat", "git config core.ignoreStat true; git update-index -q --refresh || :"),
    ("an ignored file", "echo '*.json' > .gitignore"),
    ("out of the index and ignored", "git rm -q --cached a.json; echo '*.json' > .git/info/exclude"),
    (
        "a filter in .git",
        "git config filter.x.clean 'git show base:a.json'; echo 'a.json filter=x' > .git/info/attributes",
    ),
    (
        "a filter in the work",
        "git config filter.x.clean 'git show base:a.json'; echo 'a.json filter=x' > .gitattributes",
    ),
    (
        "a filter of a file",
        "git config filter.x.clean 'git show base:a.json'; echo 'a.json filter=x' > ../x; git config core.attributesFile ../x",
    ),
    (
        "a required process",
        "git config filter.x.process false; git config filter.x.required true; echo '* filter=x' > .git/info/attributes",
    ),
    ("an encoding", "echo 'a.json working-tree-encoding=UTF-16' > .git/info/attributes"),
    ("ident", "echo 'a.json ident' > .git/info/attributes"),
    (
        "a monitor",
        "printf '#!/bin/sh\\nprintf token\\\\0' > ../m; chmod +x ../m; git config core.fsmonitor \"$PWD/../m\"; git update-index --fsmonitor",
    ),
    ("no untracked files", "git config status.showUntrackedFiles no; mv a.json b.json; git checkout -q a.json"),
    (
        "an untracked cache",
        "git checkout -q a.json; git update-index --untracked-cache; git status >../s; echo '[1,' > dir/c.json; touch -d 2001-01-01 dir",
    ),
    (
        "an intent to add that is ignored",
        "git checkout -q a.json; echo '[1,' > b.json; git add -N b.json; echo b.json > .git/info/exclude",
    ),
    (
        "a commit of another repository",
        "git checkout -q a.json; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),lib; mkdir lib; echo '[1,' > lib/c.json",
    ),
    ("a folder that is said to be a repository", "git checkout -q a.json; mkdir -p lib/.git; echo '[1,' > lib/c.json"),
    (
        "a file that says there is a repository",
        "git checkout -q a.json; mkdir lib; echo 'gitdir: /nowhere' > lib/.git; echo '[1,' > lib/c.json",
    ),
    (
        "a repository in a known folder",
        "git checkout -q a.json; git init -q dir; echo '[1,' > dir/c.json; git -C dir add c.json",
    ),
    ("a repository around a known file", "git checkout -q a.json; git init -q dir; echo '[1,' > dir/b.json"),
    ("replaced objects", "git replace $(git rev-parse base:a.json) $(git hash-object -w a.json)"),
    ("another case", "git checkout -q a.json; git config core.ignoreCase true; echo '[1,' > A.json"),
    (
        "a link in the place of a file",
        "rm a.json; echo '[1,' > b.txt; ln -s b.txt a.json; git config core.symlinks false",
    ),
    ("a split index", "git update-index --split-index; git update-index --assume-unchanged a.json"),
    ("index version 4", "git update-index --index-version 4; git update-index --assume-unchanged a.json"),
    (
        "a sparse index",
        "git sparse-checkout set --cone --sparse-index other; echo '[1,' > a.json; mkdir -p dir; echo '[1,' > dir/b.json; echo dir > .git/info/exclude",
    ),
    ("an alias", "git config alias.cat-file '!true'; git config alias.check-ignore '!true'"),
    ("a smaller file", "git config core.bigFileThreshold 1"),
    ("line ends", "git config core.autocrlf true; git config core.eol crlf"),
    ("a graft", "echo $(git rev-parse HEAD) > .git/info/grafts"),
    (
        "a conflict",
        "b=$(git rev-parse base:a.json); printf \"100644 $b 1\\ta.json\\n100644 $b 2\\ta.json\\n\" | git update-index --index-info",
    ),
    ("a stale lock", "touch .git/index.lock .git/HEAD.lock"),
    ("no index", "rm .git/index"),
];

/// Tricks that hide changes of the index.
const IN_THE_INDEX: &[(&str, &str)] = &[
    ("no trick", ":"),
    ("good in the tree", "echo '[1]' > a.json"),
    ("assume-unchanged", "git update-index --assume-unchanged a.json"),
    ("skip-worktree", "git update-index --skip-worktree a.json"),
    ("not in the tree", "rm a.json; git update-index --skip-worktree a.json"),
    ("an attribute", "echo 'a.json binary -diff' > .git/info/attributes"),
    ("an external program", "git config diff.external true; git config diff.noprefix true"),
    ("replaced objects", "git replace $(git rev-parse :a.json) $(git rev-parse base:a.json)"),
    ("a replaced commit", "git replace $(git rev-parse HEAD) $(git commit-tree -m x $(git write-tree))"),
    ("a split index", "git update-index --split-index; git update-index --assume-unchanged a.json"),
    ("index version 4", "git update-index --index-version 4"),
    (
        "out of the index and back under another name",
        "git mv a.json b.json; git update-index --assume-unchanged b.json",
    ),
];

/// Tricks that hide commits.
const IN_A_COMMIT: &[(&str, &str)] = &[
    ("no trick", ":"),
    ("good in the tree", "echo '[1]' > a.json; git add a.json"),
    ("replaced objects", "git replace $(git rev-parse HEAD:a.json) $(git rev-parse base:a.json)"),
    ("a replaced tree", "git replace $(git rev-parse HEAD^{tree}) $(git rev-parse base^{tree})"),
    ("a replaced commit", "git replace $(git rev-parse base) $(git rev-parse HEAD)"),
    ("a graft", "echo \"$(git rev-parse base) $(git rev-parse HEAD)\" > .git/info/grafts"),
    ("an attribute", "echo '* binary -diff' > .git/info/attributes"),
    ("a commit graph", "git config core.commitGraph true; git commit-graph write --reachable"),
    ("a renamed file", "git mv a.json b.json; git commit -qm renamed"),
];

/// Returns a repository with a good commit `base`.
fn base() -> Home {
    let home = Home::new();
    home.sh("mkdir dir other; echo '[1]' > keep.json; echo '[1]' > dir/b.json; echo '[1]' > other/d.json
        git add -A; git commit -qm base; git tag base");
    home
}

fn must_not_pass(home: &Home, trick: &str, selections: &[&[&str]]) {
    for selection in selections {
        let (exit, text) = home.gate(&home.work(), selection, &[]);
        assert_ne!(exit, 0, "{trick}: {selection:?}: {text}");
        // The trick is seen through, or refused with a word about why; and not merely overlooked.
        assert!(exit == 1 || exit == 2 && text.contains("error: "), "{trick}: {selection:?}: {exit}: {text}");
    }
}

#[test]
fn nothing_hides_what_is_in_the_working_tree() {
    for (trick, script) in IN_THE_TREE {
        let home = base();
        home.sh(&format!("echo '[1,' > a.json\n{script}"));
        must_not_pass(&home, trick, &[CHANGED, ALL, SINCE]);
    }
}

#[test]
fn nothing_hides_what_is_staged() {
    for (trick, script) in IN_THE_INDEX {
        let home = base();
        home.sh(&format!("echo '[1,' > a.json; git add a.json\n{script}"));
        must_not_pass(&home, trick, &[STAGED]);
    }
}

#[test]
fn nothing_hides_what_was_committed() {
    for (trick, script) in IN_A_COMMIT {
        let home = base();
        home.sh(&format!("echo '[1,' > a.json; git commit -qam bad\n{script}"));
        must_not_pass(&home, trick, &[BETWEEN]);
        if *trick != "good in the tree" {
            must_not_pass(&home, trick, &[SINCE, ALL]);
        }
    }
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_not_overlooked() {
    for (trick, script) in [
        ("a flag", "git update-index --skip-worktree dir/b.json; rm dir/b.json"),
        ("a sparse checkout", "git sparse-checkout set --cone other"),
        ("a sparse index", "git sparse-checkout set --cone --sparse-index other"),
    ] {
        let home = base();
        home.sh(&format!("echo '[1,' > dir/b.json; git commit -qam bad; {script}; test ! -e dir/b.json"));
        let (exit, text) = home.gate(&home.work(), SINCE, &[]);
        assert!(
            exit == 2 && text.contains("`dir/b.json` has changed, but the sparse checkout excludes it"),
            "{trick}: {text}"
        );
        assert_eq!(home.gate(&home.work(), BETWEEN, &[]).0, 1, "{trick}");
        // Since the last commit, nothing has changed.
        let (exit, text) = home.gate(&home.work(), CHANGED, &[]);
        assert!(exit == 0 && text.contains("0 files") && text.contains("nothing to check"), "{trick}: {text}");
    }
    let home = base();
    home.sh("echo '[1,' > dir/b.json; git add -A; git update-index --skip-worktree dir/b.json; rm dir/b.json");
    must_not_pass(&home, "staged and left out", &[CHANGED, STAGED, SINCE]);
}

#[test]
fn a_git_of_the_work_is_not_run() {
    let home = base();
    let ran = home.path().join("ran");
    home.sh(&format!(
        "mkdir -p node_modules/.bin
        printf '#!/bin/sh\\ntouch {}\\n' > node_modules/.bin/git
        chmod +x node_modules/.bin/git
        ln -s \"$PWD/node_modules/.bin\" ../linked
        echo '[1,' > a.json; git add a.json; git commit -qm bad",
        ran.display()
    ));
    let real = Path::new(&which_git()).parent().expect("a folder").display().to_string();
    let inside = home.work().join("node_modules/.bin").display().to_string();
    for first in
        [inside, "node_modules/.bin".to_owned(), String::new(), home.path().join("linked").display().to_string()]
    {
        for selection in [CHANGED, STAGED, ALL, BETWEEN, SINCE] {
            let path = format!("{first}:{real}");
            let (exit, text) = home.gate(&home.work(), selection, &[("PATH", &path)]);
            // What is committed is no change: there is nothing to check.
            let expected = if [CHANGED, STAGED].contains(&selection) { 0 } else { 1 };
            assert!(exit == expected && !ran.exists(), "{first}: {selection:?}: {text}");
        }
    }
}

/// Replaces the content of an object by that of another.
fn forge(home: &Home, object: &str, other: &str) {
    home.sh(&format!(
        "at() {{ id=$(git rev-parse $1); echo .git/objects/${{id:0:2}}/${{id:2}}; }}
        chmod u+w $(at {object}); cp -f $(at {other}) $(at {object})"
    ));
}

#[test]
fn an_object_must_have_the_bytes_of_its_id() {
    // What is staged or committed is good by its id, and bad by its bytes.
    let bad = "echo '[1,' > bad; git update-index --add --cacheinfo 100644,$(git hash-object -w bad),bad.json";
    for (what, script, object, other, selection) in [
        ("a staged file", "echo '[2]' > a.json; git add a.json", ":a.json", ":bad.json", STAGED),
        ("a committed file", "echo '[2]' > a.json; git commit -qm good a.json", "HEAD:a.json", ":bad.json", BETWEEN),
        ("the base of a file", "echo '[2]' > a.json; git commit -qm good a.json", "base:a.json", ":bad.json", SINCE),
        ("a tree", "echo '[1,' > a.json; git commit -qm bad a.json", "HEAD^{tree}", "base^{tree}", BETWEEN),
        ("a commit", "echo '[1,' > a.json; git commit -qm bad a.json", "HEAD", "base", BETWEEN),
        ("a commit", "echo '[1,' > a.json; git commit -qm bad a.json", "HEAD", "base", SINCE),
        ("the commit of the base", "echo '[1,' > a.json; git commit -qm bad a.json", "base", "HEAD", BETWEEN),
        ("the commit of the base", "echo '[1,' > a.json; git commit -qm bad a.json", "base", "HEAD", SINCE),
        ("the last commit", "echo '[1,' > a.json", "HEAD", "HEAD~1", CHANGED),
    ] {
        let home = base();
        fs::write(home.work().join("gate.toml"), "[gate.main]\nall = [\"a\", \"b\"]\n[check.a]\nverifier = \"json-syntax\"\n[check.b]\nverifier = \"patterns\"\nsettings = { rules = [{ id = \"x\", kind = \"forbid\", pattern = \"x\", in = \"added-lines\" }] }\n").expect("written");
        home.sh(&format!("{script}; {bad}"));
        forge(&home, object, other);
        let (exit, text) = home.gate(&home.work(), selection, &[]);
        assert!(exit == 2 && text.contains("does not match its id"), "{what}: {selection:?}: {text}");
    }
}

#[test]
fn a_forged_step_does_not_lead_to_another_commit() {
    let home = base();
    home.sh("echo '[1,' > a.json; git commit -qam bad; echo '[2]' > keep.json; git commit -qam good
        git commit-tree -p HEAD -p base -m forged HEAD^{tree} > ../forged; git tag forged $(cat ../forged)");
    // `base~0` and `good~1` are read here, whatever the store says of them.
    forge(&home, "HEAD", "forged");
    for reference in ["HEAD~1", "HEAD^"] {
        for selection in ["--from-ref", "--since"] {
            let (exit, text) = home.gate(&home.work(), &["run", selection, reference], &[]);
            assert!(exit == 2 && text.contains("does not match its id"), "{text}");
        }
    }
}

/// Puts the cached tree ids of one index into another, which `git commit` would trust.
fn with_cached_folders(entries: &Path, folders: &Path) -> Vec<u8> {
    let cut = |path: &Path| {
        let bytes = fs::read(path).expect("an index");
        let bytes = bytes[..bytes.len() - 20].to_vec();
        let at = bytes.windows(4).rposition(|part| part == b"TREE").unwrap_or(bytes.len());
        (bytes[..at].to_vec(), bytes[at..].to_vec())
    };
    // Git takes a digest of zeros for one that was not made.
    [cut(entries).0, cut(folders).1, vec![0; 20]].concat()
}

#[test]
fn a_cached_folder_must_have_the_id_of_its_entries() {
    for (bad, good) in [("a.json", "a.json"), ("dir/b.json", "dir/b.json"), ("dir/b.json", "a.json")] {
        let home = base();
        home.sh(&format!("echo '[1,' > {bad}; git add {bad}; git write-tree > ../bad; cp .git/index ../with-bad
            git reset -q --hard; echo '[2]' > {good}; git add {good}; git write-tree > /dev/null; cp .git/index ../good"));
        let forged = with_cached_folders(&home.path().join("good"), &home.path().join("with-bad"));
        fs::write(home.work().join(".git/index"), &forged).expect("written");
        // Git commits what the entries do not say.
        home.sh("test \"$(git write-tree)\" = \"$(cat ../bad)\"");
        fs::write(home.work().join(".git/index"), &forged).expect("written");
        let (exit, text) = home.gate(&home.work(), STAGED, &[]);
        assert!(exit == 2 && text.contains("in the index does not match its entries"), "{bad}: {text}");
        assert_eq!(home.gate(&home.work(), CHANGED, &[]).0, 0, "the tree is good");
    }
}

#[test]
fn a_cached_folder_of_the_last_commit_hides_nothing() {
    let home = base();
    home.sh("git read-tree HEAD; git write-tree > /dev/null; cp .git/index ../clean
        echo '[1,' > dir/b.json; git add dir/b.json; cp .git/index ../bad");
    let forged = with_cached_folders(&home.path().join("bad"), &home.path().join("clean"));
    fs::write(home.work().join(".git/index"), forged).expect("written");
    home.sh("test -z \"$(git diff --cached --name-only)\"");
    must_not_pass(&home, "a cached folder", &[CHANGED, STAGED, ALL, SINCE]);
    home.sh("echo '[1]' > dir/b.json");
    must_not_pass(&home, "a cached folder", &[STAGED]);
}

#[test]
fn hunks_are_those_of_the_bytes_that_are_there() {
    for trick in ["--assume-unchanged", "--skip-worktree", "--no-assume-unchanged"] {
        let home = base();
        fs::write(home.work().join("gate.toml"), "[gate.main]\nall = [\"a\"]\n[check.a]\nverifier = \"patterns\"\nsettings = { rules = [{ id = \"evil\", kind = \"forbid\", pattern = \"evil\", in = \"added-lines\" }] }\n").expect("written");
        home.sh(&format!("echo '[2]' > a.json; git add -A; git update-index {trick} a.json; echo evil >> a.json"));
        for selection in [CHANGED, SINCE] {
            let (exit, text) = home.gate(&home.work(), selection, &[]);
            assert!(exit == 1 && text.contains("a.json:2:1"), "{trick}: {selection:?}: {text}");
        }
    }
}

#[test]
fn what_git_would_read_without_an_end_is_refused() {
    for file in [".gitignore", "dir/.gitignore", ".git/info/exclude", ".git/config.worktree", ".git/info/attributes"] {
        for make in ["mkfifo", "truncate -s 3G"] {
            let home = base();
            home.sh(&format!("echo x > new; rm -f {file}; {make} {file}"));
            for selection in [CHANGED, ALL, SINCE] {
                let (exit, text) = home.gate(&home.work(), selection, &[]);
                assert!(
                    exit == 2 && text.contains("cannot let git read") && text.contains(file),
                    "{file}: {make}: {text}"
                );
            }
        }
    }
}

#[test]
fn a_line_end_is_a_change_unless_the_base_says_otherwise() {
    // What is not known to be text is compared byte by byte.
    let home = base();
    home.sh("printf '[1]\\r\\n' > a.json; git config core.autocrlf true");
    let arguments = ["run", "--verifier", "files-in-scope", "--settings", "{\"files\":[\"keep.json\"]}"];
    let (exit, text) = home.gate(&home.work(), &arguments, &[]);
    assert!(exit == 1 && text.contains("`a.json` has changed"), "{text}");
}

#[test]
fn a_planted_repository_does_not_hide_the_gate() {
    let home = base();
    fs::write(home.work().join("gate.toml"), "[gate.main]\nall = [\"a\"]\n[check.a]\nverifier = \"json-syntax\"\n")
        .expect("written");
    home.sh("git add -A; git commit -qm gate; git init -q new; echo nothing > new/x.txt");
    let (exit, text) = home.gate(&home.work(), &["-q", "-C", "new", "run"], &[]);
    assert!(exit == 2 && text.contains("gate.toml") && text.contains("-c"), "{text}");
    let (exit, text) = home.gate(&home.work(), &["-C", "new", "run", "-c", "../gate.toml", "--all-files"], &[]);
    assert_eq!(exit, 0, "{text}");
}
