//! No false alarms: if a checkout writes other bytes than are stored, or fewer files, nothing has changed.

use super::Home;

/// Returns the files that are listed as changed.
fn changed(home: &Home, place: &str, selection: &[&str]) -> Vec<String> {
    let arguments =
        [&["run"], selection, &["--verifier", "files-in-scope", "--settings", "{\"files\":[\"-\"]}"]].concat();
    let (exit, text) = home.gate(&home.path().join(place), &arguments, &[]);
    assert!(exit == 1 || exit == 0 || text.contains("0 files"), "{text}");
    let named = |line: &str| Some(line.trim().split_once(": error[")?.0.to_owned());
    text.lines().filter_map(named).collect()
}

fn unchanged(home: &Home, place: &str) {
    for selection in [&[][..], &["--since", "HEAD"]] {
        assert_eq!(changed(home, place, selection), [""; 0], "{place}: {selection:?}");
    }
}

#[test]
fn line_ends_of_a_checkout_are_no_change() {
    let home = Home::new();
    home.sh("printf '*.bat eol=crlf\\n*.txt text=auto\\n*.raw -text\\n' > .gitattributes
        printf 'one\\ntwo\\n' | tee a.bat b.txt > c.raw
        git add -A; git commit -qm second; rm a.bat; git checkout -q a.bat
        grep -q $'\\r' a.bat");
    unchanged(&home, "work");
    // As an editor writes it, and as git would store it.
    home.sh("printf 'one\\r\\ntwo\\r\\n' > b.txt; test -z \"$(git diff --name-only)\"");
    unchanged(&home, "work");
    home.sh("printf 'one\\r\\ntwo\\r\\n' > c.raw; printf 'one\\r\\n2\\r\\n' > a.bat; printf '\\r\\n' >> b.txt");
    assert_eq!(changed(&home, "work", &[]), ["a.bat", "b.txt", "c.raw"]);
    // The working tree does not say how it is compared.
    home.sh("echo '*.raw text' > .gitattributes");
    assert_eq!(changed(&home, "work", &[]), [".gitattributes", "a.bat", "b.txt", "c.raw"]);
}

#[test]
fn only_changed_lines_of_a_file_with_other_line_ends_are_shown() {
    let home = Home::new();
    home.sh("echo '*.bat eol=crlf' > .gitattributes; printf 'evil\\ntwo\\n' > a.bat
        git add -A; git commit -qm second; rm a.bat; git checkout -q a.bat; printf '3\\r\\n' >> a.bat");
    let settings = "{\"rules\":[{\"id\":\"x\",\"kind\":\"forbid\",\"pattern\":\"evil\",\"in\":\"added-lines\"}]}";
    let (exit, text) = home.gate(&home.work(), &["run", "--verifier", "patterns", "--settings", settings], &[]);
    assert_eq!(exit, 0, "{text}");
}

#[test]
fn what_a_killed_write_left_is_no_change_until_git_tracks_it() {
    let home = Home::new();
    home.sh("mkdir -p sub .gate-write-0123456789abcdef/old; for name in sub/.gate-write-0123456789abcdef \\
        sub/.gate-write-0123456789abcdef-before .gate-write-0123456789abcdef/old/x; do echo x > $name; done");
    unchanged(&home, "work");
    home.sh("echo x > .gate-write-0123456789ABCDEF; echo x > .gate-write-0; git add sub/.gate-write-0123456789abcdef");
    let seen = [".gate-write-0", ".gate-write-0123456789ABCDEF", "sub/.gate-write-0123456789abcdef"];
    assert_eq!(changed(&home, "work", &[]), seen);
}

#[test]
fn a_user_may_ask_for_other_line_ends_everywhere() {
    let home = Home::new();
    home.sh("git config --global core.autocrlf true; rm a.json; git checkout -q a.json; grep -q $'\\r' a.json");
    unchanged(&home, "work");
}

#[test]
fn a_large_file_that_its_pointer_names_is_no_change() {
    let home = Home::new();
    home.sh("echo '*.bin filter=lfs diff=lfs merge=lfs -text' > .gitattributes
        pointer() { printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n' \
            $(sha256sum < $1 | cut -d' ' -f1) $(stat -c %s $1); }
        head -c 100000 /dev/zero > ../large; echo other > ../other
        pointer ../large > a.bin; pointer ../other > b.bin; pointer ../large > c.dat
        git add -A; git commit -qm second");
    unchanged(&home, "work");
    home.sh("cp ../large a.bin; cp ../other b.bin");
    unchanged(&home, "work");
    unchanged(&home, "work");
    home.sh("echo x >> b.bin; cp ../large c.dat");
    assert_eq!(changed(&home, "work", &[]), ["b.bin", "c.dat"]);
}

#[test]
fn an_id_that_a_checkout_writes_is_no_change() {
    let home = Home::new();
    home.sh("echo '*.c ident' > .gitattributes; echo '/* $Id$ */' | tee a.c > b.c
        git add -A; git commit -qm second; rm *.c; git checkout -q .; grep -q 'Id: ' a.c");
    unchanged(&home, "work");
    home.sh("sed -i 's/Id: ../Id: xx/' a.c; echo '/* $Id$ */' >> b.c");
    assert_eq!(changed(&home, "work", &[]), ["a.c", "b.c"]);
}

#[test]
fn submodules_worktrees_and_sparse_checkouts_are_clean() {
    let home = Home::new();
    home.sh("mkdir -p in/deep out/deep; echo '[1]' | tee in/a.json in/deep/b.json out/c.json out/deep/d.json > e.json
        git add -A; git commit -qm second
        git init -q -b main ../theirs; echo '[1,' > ../theirs/f.json
        git -C ../theirs add -A; git -C ../theirs commit -qm first
        git -c protocol.file.allow=always submodule --quiet add \"$PWD/../theirs\" sub; git commit -qm third
        git worktree add -q ../linked -b linked
        for index in '' --sparse-index; do
            git clone -q --no-local . ../sparse$index
            git -C ../sparse$index sparse-checkout set --cone $index in
        done
        git clone -q . ../hollow; git clone -q --depth 1 file://$PWD ../shallow");
    for place in ["work", "linked", "sparse", "sparse--sparse-index", "hollow", "shallow", "work/sub"] {
        unchanged(&home, place);
        let (_, text) = home.gate(&home.path().join(place), &["run", "--staged"], &[]);
        assert!(text.contains("0 files"), "{place}: {text}");
    }
    home.sh("for place in sparse sparse--sparse-index; do cd ../$place; mkdir -p out; echo '[2]' > out/c.json; done");
    for place in ["sparse", "sparse--sparse-index"] {
        assert_eq!(changed(&home, place, &[]), ["out/c.json"], "{place}");
    }
    home.sh("git -C sub commit -q --allow-empty -m other");
    assert_eq!(changed(&home, "work", &[]), ["sub"]);
}

#[test]
fn every_form_of_an_index_is_read() {
    for form in [
        "git update-index --index-version 3",
        "git update-index --index-version 4",
        "git update-index --split-index",
        "git config index.skipHash true; git update-index --force-write-index",
        "git config index.threads 4; git update-index --index-version 4 --force-write-index",
        "git update-index --untracked-cache",
        "git add -N new.json; rm new.json",
        "git rm -q --cached a.json; git add a.json; git write-tree",
    ] {
        let home = Home::new();
        home.sh(&format!(
            "mkdir dir; for n in $(seq 300); do echo \"[$n]\" > dir/$n.json; done
            git add -A; git commit -qm second; echo '[1]' > new.json; {form} > /dev/null; rm -f new.json"
        ));
        let found = changed(&home, "work", &[]);
        assert!(found.is_empty() || found == ["new.json"] && form.contains("-N"), "{form}: {found:?}");
        let (exit, text) = home.gate(&home.work(), &["run", "--all-files"], &[]);
        assert!(exit == 0 && text.contains("301 files"), "{form}: {text}");
        home.sh("echo '[2]' > dir/7.json; git add dir/7.json");
        let (exit, text) = home.gate(&home.work(), &["run", "--staged"], &[]);
        assert!(exit == 0 && text.contains("1 file;"), "{form}: {text}");
    }
}

#[test]
fn clean_tree_looks_at_the_working_tree_whatever_is_judged() {
    for (change, code) in [
        ("echo 2 > a.json", "unstaged"),
        ("echo 2 > a.json; git add a.json", "staged"),
        ("echo 2 > new.json", "untracked"),
    ] {
        let home = Home::new();
        home.sh("echo 1 > a.json; echo 1 > b.json; git add -A; git commit -qm second");
        let run = |selection: &[&str]| {
            home.gate(&home.work(), &[&["run", "--verifier", "clean-tree"], selection].concat(), &[])
        };
        let selections: [&[&str]; 6] = [
            &[],
            &["--since", "HEAD~1"],
            &["--from-ref", "HEAD~1", "--to-ref", "HEAD"],
            &["--staged"],
            &["--all-files"],
            &["--files", "b.json"],
        ];
        for selection in selections {
            let (exit, text) = run(selection);
            assert_eq!(exit, 0, "{selection:?}: {text}");
        }
        home.sh(change);
        for selection in selections {
            let (exit, text) = run(selection);
            assert!(exit == 1 && text.contains(&format!("error[{code}]")), "{selection:?}: {change}: {text}");
        }
    }
}
