//! Every trick with every selection: there is a bad file of each kind, and no trick makes a selection overlook one.

use super::Home;

/// The bad files: committed, staged, changed in the working tree, and untracked.
const FILES: [&str; 4] = ["committed", "staged", "changed", "untracked"];

/// Each selection, and the bad files that it must find.
const SELECTIONS: [(&[&str], &[&str]); 5] = [
    (&["run"], &["staged", "changed", "untracked"]),
    (&["run", "--staged"], &["staged"]),
    (&["run", "--all-files"], &FILES),
    (&["run", "--from-ref", "base"], &["committed"]),
    (&["run", "--since", "base"], &FILES),
];

/// Tricks that hide nothing, whatever git makes of them. `$all` are the bad files that git knows.
const TRICKS: &[(&str, &str)] = &[
    ("no trick", ":"),
    ("assume-unchanged", "git update-index --assume-unchanged $all"),
    ("skip-worktree", "git update-index --skip-worktree $all"),
    ("both flags", "git update-index --assume-unchanged $all; git update-index --skip-worktree $all"),
    ("old times", "touch -r keep.json *.json; git config core.trustctime false; git config core.checkStat minimal"),
    ("core.ignoreStat", "git config core.ignoreStat true; git update-index -q --really-refresh || :"),
    (
        "a monitor",
        "printf '#!/bin/sh\\nprintf token\\\\0' > ../m; chmod +x ../m; git config core.fsmonitor \"$PWD/../m\"; git update-index --fsmonitor",
    ),
    ("a monitor that is built in", "git config core.fsmonitor true"),
    (
        "a monitor of the working tree",
        "git config extensions.worktreeConfig true; git config --worktree core.fsmonitor true",
    ),
    (
        "an included configuration",
        "printf '[core]\\nignoreStat = true\\nfsmonitor = true\\n[status]\\nshowUntrackedFiles = no\\n' > ../more; git config include.path \"$PWD/../more\"",
    ),
    ("an untracked cache", "git update-index --untracked-cache; git status > ../said; touch -d 2001-01-01 ."),
    ("no untracked files", "git config status.showUntrackedFiles no"),
    ("a filter in .git", "git config filter.x.clean 'cat keep.json'; echo '*.json filter=x' > .git/info/attributes"),
    ("a filter in the work", "git config filter.x.clean 'cat keep.json'; echo '*.json filter=x' > .gitattributes"),
    (
        "a filter of another file",
        "git config filter.x.clean 'cat keep.json'; echo '*.json filter=x' > ../x; git config core.attributesFile \"$PWD/../x\"",
    ),
    (
        "a required process",
        "git config filter.x.process false; git config filter.x.required true; echo '* filter=x' > .git/info/attributes",
    ),
    ("an encoding", "echo '*.json working-tree-encoding=UTF-16' > .git/info/attributes"),
    ("ident", "echo '*.json ident' > .git/info/attributes"),
    ("line ends in .git", "echo '*.json text eol=crlf' > .git/info/attributes"),
    (
        "line ends by settings",
        "git config core.autocrlf true; git config core.eol crlf; git config core.safecrlf false",
    ),
    ("no differences", "echo '* binary -diff -text' > .git/info/attributes; git config diff.ignoreSubmodules all"),
    (
        "programs for differences",
        "git config diff.external true; git config diff.noprefix true; git config diff.json.textconv true; echo '* diff=json' > .git/info/attributes",
    ),
    (
        "replaced files",
        "for name in $all; do git replace -f $(git hash-object -w $name) $(git rev-parse base:keep.json); done",
    ),
    ("a replaced tree", "git replace $(git rev-parse HEAD^{tree}) $(git rev-parse base^{tree})"),
    ("a replaced commit", "git replace $(git rev-parse base) $(git rev-parse HEAD)"),
    ("a graft", "echo \"$(git rev-parse base) $(git rev-parse HEAD)\" > .git/info/grafts"),
    ("a commit graph", "git config core.commitGraph true; git commit-graph write --reachable --changed-paths"),
    ("shallow commits", "git rev-parse base > .git/shallow"),
    ("a split index", "git update-index --split-index; git update-index --assume-unchanged $all"),
    ("index version 3", "git update-index --index-version 3; git update-index --skip-worktree $all"),
    ("index version 4", "git update-index --index-version 4; git update-index --assume-unchanged $all"),
    ("an index for threads", "git config index.threads 3; git update-index --index-version 4 --force-write-index"),
    ("an index without a digest", "git config index.skipHash true; git update-index --force-write-index"),
    (
        "a sparse checkout",
        "git config core.sparseCheckout true; mkdir -p .git/info; echo /keep.json > .git/info/sparse-checkout; git update-index --skip-worktree $all",
    ),
    ("aliases", "for name in cat-file check-ignore rev-parse ls-files config; do git config alias.$name '!true'; done"),
    ("large files", "git config core.bigFileThreshold 1"),
    ("no cases", "git config core.ignoreCase true"),
    ("no links", "git config core.symlinks false; git config core.fileMode false"),
    ("locks", "touch .git/index.lock .git/HEAD.lock .git/config.lock"),
    ("packs", "git repack -q -a -d -b; git multi-pack-index write --bitmap 2> /dev/null; git pack-refs --all"),
    (
        "objects elsewhere",
        "mv .git/objects ../objects; mkdir .git/objects .git/objects/info; echo \"$PWD/../objects\" > .git/objects/info/alternates",
    ),
    ("a repository elsewhere", "mv .git ../elsewhere; echo 'gitdir: ../elsewhere' > .git"),
    ("a repository around it", "git init -q ..; echo '*' > ../.git/info/exclude"),
    (
        "other settings",
        "git config core.preloadIndex true; git config feature.manyFiles true; git config core.multiPackIndex true; git config core.logAllRefUpdates false",
    ),
    (
        "a promise to fetch later",
        "git config extensions.partialClone origin; git config remote.origin.url /nowhere; git config remote.origin.promisor true",
    ),
    ("another time of the folder", "touch -d 2001-01-01 . *.json"),
];

/// Tricks that are refused, or that lead to more files being checked, never fewer.
const REFUSED: &[(&str, &str)] = &[
    ("another working tree", "mkdir ../other; git config core.worktree \"$PWD/../other\""),
    ("no working tree", "git config core.bare true"),
    ("no last commit", "git symbolic-ref HEAD refs/heads/none"),
    ("a broken head", "echo nonsense > .git/HEAD"),
    ("a broken configuration", "echo '[' >> .git/config"),
    ("a broken index", "echo nonsense > .git/index"),
    ("an unknown format", "git config core.repositoryFormatVersion 99"),
    ("no objects", "rm -rf .git/objects"),
    ("a pipe for refs", "mkfifo .git/packed-refs"),
    ("a pipe for shallow commits", "mkfifo .git/shallow"),
];

fn bad(trick: &str) -> Home {
    let home = Home::new();
    home.sh("for name in keep committed staged changed; do echo '[1]' > $name.json; done
        git add -A; git commit -qm base; git tag base
        echo '[1,' > committed.json; git commit -qam bad
        echo '[1,' > staged.json; git add staged.json
        echo '[1,' > changed.json; echo '[1,' > untracked.json");
    home.sh(&format!("all='committed.json staged.json changed.json'\n{trick}"));
    home
}

#[test]
fn no_trick_makes_a_selection_overlook_a_file() {
    for (trick, script) in TRICKS {
        let home = bad(script);
        for (selection, expected) in SELECTIONS {
            let (exit, text) = home.gate(&home.work(), selection, &[]);
            assert_eq!(exit, 1, "{trick}: {selection:?}: {text}");
            for name in expected {
                assert!(text.contains(&format!("    {name}.json:2:1")), "{trick}: {selection:?}: {name}: {text}");
            }
        }
    }
}

#[test]
fn what_cannot_be_told_is_refused() {
    for (trick, script) in REFUSED {
        let home = bad(script);
        for (selection, _) in SELECTIONS {
            let (exit, text) = home.gate(&home.work(), selection, &[]);
            assert!(exit == 1 || exit >= 2 && text.contains("error: "), "{trick}: {selection:?}: {exit}: {text}");
        }
    }
}
