//! Files of people on a full disk: each is the old one or the new one. Reports to files that are mounts.

use crate::support::isolate;
use std::process::{Command, Output};

/// Runs a script in a mount namespace of its own, in which `work` can be mounted. `None` if the system has none.
fn in_namespace(home: &std::path::Path, script: &str) -> Option<Output> {
    let user: &[&str] = if rustix::process::geteuid().is_root() { &[] } else { &["--user", "--map-root-user"] };
    let mut unshare = Command::new("unshare");
    let works = unshare.args(user).args(["--mount", "true"]).output().is_ok_and(|output| output.status.success());
    let mut unshare = Command::new("unshare");
    let command = unshare.args(user).args(["--mount", "bash", "-euc", script]);
    let run = isolate(command, home, home).env("GATE", env!("CARGO_BIN_EXE_gate")).output().expect("unshare runs");
    works.then_some(run)
}

#[test]
#[expect(clippy::print_stderr, reason = "says that the test was skipped")]
fn a_full_disk_leaves_the_old_files() {
    let home = crate::support::tempdir().expect("a folder");
    let home = home.path().canonicalize().expect("a folder");
    // The work is a small file system that is filled to the last block before each command.
    let script = r#"
        export GATE_STATE_DIR=$PWD/state HOME=$PWD TMPDIR=$PWD/tmp
        mkdir work tmp; mount -t tmpfs -o size=400k,nr_inodes=500 none work; cd work
        git init -q -b main
        printf '[gate.main]\nall = ["tidy"]\n[check.tidy]\nverifier = "hygiene"\n' > gate.toml
        mkdir .claude; printf '{\n  // mine\n  "permissions": {}\n}\n' > .claude/settings.local.json
        printf '#!/bin/sh\necho mine\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
        seq 1 2000 > STATE.md; git add gate.toml; git commit -qm first
        for n in $(seq 1 4); do seq -f "%g one   " 1 900 > "$n.txt"; done
        list() { find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum; find .git/hooks -type f -print0 | sort -z | xargs -0 sha256sum; }
        "$GATE" run > ../out 2>&1 || true
        mv gate.toml ../saved
        try() {
            head -c 4M /dev/zero > filling 2> /dev/null || true
            list > ../before
            set +e; "$GATE" "$@" > ../out 2>&1; exit=$?; set -e
            list > ../after
            echo "$* -> $exit"
            cmp ../before ../after || { cat ../out; diff ../before ../after; exit 1; }
            case $exit in 0|1|2|101|134) cat ../out; exit 1 ;; esac
            rm filling
        }
        try init
        mv ../saved gate.toml
        try fix --yes
        try install claude
        try install git
        try status --write STATE.md
        # With space, the same commands write.
        for command in "fix --yes" "install claude" "install git" "status --write STATE.md"; do "$GATE" $command > ../out 2>&1 || { cat ../out; exit 1; }; done
        find . -name '.gate-write-*' -o -name '*.gate-new' | grep . && exit 1
        ! cmp -s ../before <(list)
    "#;
    let Some(output) = in_namespace(&home, script) else {
        eprintln!("skipped: no mount namespaces here");
        return;
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 5, "{}", text(&output.stdout));
}

#[test]
#[expect(clippy::print_stderr, reason = "says that the test was skipped")]
fn a_report_file_that_cannot_be_replaced_is_written_in_place() {
    let home = crate::support::tempdir().expect("a folder");
    let home = home.path().canonicalize().expect("a folder");
    let script = r#"
        export GATE_STATE_DIR=$PWD/state HOME=$PWD
        mkdir work work/fixed; cd work; echo '{}' > a.json
        touch mounted fixed/mounted; head -c 100000 /dev/zero | tee ../first > ../second
        mount --bind ../first mounted; mount --bind fixed fixed; mount --bind ../second fixed/mounted; mount -o remount,ro,bind fixed
        "$GATE" run --output json=mounted --output json=fixed/mounted > /dev/null
        for file in ../first ../second; do grep -q '"status": "pass"' $file; test $(wc -c < $file) -lt 100000; done
        test -z "$(find . -name '.gate-write-*')"
    "#;
    let Some(output) = in_namespace(&home, script) else {
        eprintln!("skipped: no mount namespaces here");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
