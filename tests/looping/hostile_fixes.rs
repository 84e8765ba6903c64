//! Fixes that a hostile verifier asks for: nothing outside the workspace changes, nothing that decides or runs anything does,
//! and nothing is run.

use super::Home;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// A program that passes once its input contains `FIXED`, and otherwise prints this verdict.
fn verifier(verdict: &Value) -> Vec<u8> {
    let text = verdict.to_string();
    let length = text.len();
    let data: String = text.bytes().map(|byte| format!("\\{byte:02x}")).collect();
    let program = format!(
        r#"(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 64)
  (data (i32.const 1024) "{{\22status\22: \22pass\22}}")
  (data (i32.const 65536) "{data}")
  (func $print (param $at i32) (param $length i32)
    (i32.store (i32.const 0) (local.get $at))
    (i32.store (i32.const 4) (local.get $length))
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func (export "_start") (local $at i32) (local $end i32)
    (local.set $end (i32.const 1048576))
    (loop $more
      (i32.store (i32.const 16) (local.get $end))
      (i32.store (i32.const 20) (i32.const 65536))
      (drop (call $read (i32.const 0) (i32.const 16) (i32.const 1) (i32.const 24)))
      (local.set $end (i32.add (local.get $end) (i32.load (i32.const 24))))
      (br_if $more (i32.load (i32.const 24))))
    (local.set $at (i32.const 1048576))
    (loop $next
      (if (i64.eq (i64.and (i64.load (local.get $at)) (i64.const 0xffffffffff)) (i64.const 0x4445584946))
        (then (call $print (i32.const 1024) (i32.const 18)) (return)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $at) (local.get $end))))
    (call $print (i32.const 65536) (i32.const {length}))))"#
    );
    wat::parse_str(program).expect("a program")
}

/// A failure with a fix for each of these paths: the text is inserted at the start.
fn verdict(paths: &[&str], text: &str) -> Value {
    let edit = json!({ "start_line": 1, "start_column": 1, "end_line": 1, "end_column": 1, "replacement": text });
    let finding = |path: &&str| {
        json!({
            "code": "bad", "level": "error", "message": "bad", "place": { "path": path, "line": 1 },
            "fix": { "description": "better", "edits": [edit] },
        })
    };
    json!({ "status": "fail", "findings": paths.iter().map(finding).collect::<Vec<_>>() })
}

fn settings(gate: &str, path: &Path, verdict: &Value) -> String {
    fs::write(path, verifier(verdict)).expect("written");
    format!("{gate}\n[check.fixer]\nverifier = \"{}\"\n", path.display())
}

/// The content of every file, and the target of every symlink, below a folder.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.display().to_string();
            match fs::read_link(&path) {
                Ok(target) => drop(found.insert(name, target.display().to_string().into_bytes())),
                Err(_) if path.is_dir() => folders.push(path),
                Err(_) => drop(found.insert(name, fs::read(&path).expect("a file"))),
            }
        }
    }
    found
}

/// A home with a verifier outside the work, a folder elsewhere, and every kind of symlink.
fn home(paths: &[&str], text: &str) -> Home {
    let outside = crate::support::tempdir().expect("a folder").keep();
    let home =
        Home::new(&settings("[gate.main]\nall = [\"fixer\"]", &outside.join("fixer.wasm"), &verdict(paths, text)));
    fs::create_dir(home.path().join("elsewhere")).expect("a folder");
    fs::write(home.path().join("elsewhere/victim.txt"), "untouched\n").expect("written");
    home.sh(
        "mkdir -p assets sub .claude hooks bare/objects bare/refs; echo ok > assets/victim.txt; echo ok > sub/victim.txt; \
         echo '{}' > .claude/settings.json; echo 'ref: x' > bare/HEAD; echo > bare/config; echo '#!/bin/sh' > hooks/pre-commit; \
         git config core.hooksPath hooks; \
         mkdir -p tools .github/workflows; echo '[user]' > tools/more.ini; echo 'cat' > tools/clean; echo 'on: push' > .github/workflows/ci.yml; \
         echo be nice > AGENTS.md; git config filter.tidy.clean 'sh ./tools/clean %f'; git config include.path ../tools/more.ini; \
         git add -A; git commit -qm files; rm -r assets; echo change > plain.txt; \
         for file in tools/* AGENTS.md .github/workflows/ci.yml; do echo '# change' >> $file; done; \
         echo change >> sub/victim.txt; echo >> .claude/settings.json; echo >> bare/config; echo >> hooks/pre-commit",
    );
    let elsewhere = home.path().join("elsewhere");
    for (link, target) in [
        ("assets", elsewhere.as_path()),
        ("above", Path::new("../elsewhere")),
        ("back", Path::new("../work/sub")),
        ("chain", Path::new("above")),
        ("circle", Path::new("circle")),
        ("dangling", Path::new("../elsewhere/new")),
        ("data", Path::new(".git")),
        ("inside", Path::new("sub")),
        ("file.txt", Path::new("../elsewhere/victim.txt")),
        ("config", Path::new(".git/config")),
    ] {
        symlink(target, home.work().join(link)).expect("a link");
    }
    symlink(home.work().join(".git"), home.work().join("real-data")).expect("a link");
    home
}

/// Every path that no fix may change, whoever asks.
const FORBIDDEN: &[&str] = &[
    "assets/victim.txt",
    "above/victim.txt",
    "back/victim.txt",
    "chain/victim.txt",
    "circle",
    "dangling",
    "data/config",
    "real-data/config",
    "inside/victim.txt",
    "file.txt",
    "config",
    "gate.toml",
    "a.json",
    ".claude/settings.json",
    "bare/config",
    "hooks/pre-commit",
    "tools/more.ini",
    "tools/clean",
    "AGENTS.md",
    ".github/workflows/ci.yml",
];

const SETTINGS: &str = "it or a symlink to it is hidden, or tells an agent, an editor, git or CI what to do";
const POLICY: &str = "it is a file of the policy, or a protected file";

/// Returns the paths whose content differs, except what `gate` itself keeps and what a fix may change.
fn differences(before: &BTreeMap<String, Vec<u8>>, now: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let own = ["/state/", "/cache/", "/.git/index", "/work/plain.txt"];
    let paths: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let differs = |path: &&&String| before.get(**path) != now.get(**path) && !own.iter().any(|own| path.contains(own));
    paths.iter().filter(differs).map(|path| (**path).clone()).collect()
}

#[test]
fn no_fix_leaves_the_workspace_or_changes_what_decides() {
    let run = "[core]\n\tfsmonitor = \"touch ../../ran; touch ran; false\"\n# FIXED\n";
    for paths in [FORBIDDEN.to_vec(), vec!["data/config"], vec!["assets/victim.txt"], vec!["config", "file.txt"]] {
        let home = home(&paths, run);
        let before = content(&home.path());
        let check = |after: &str| {
            let differ = differences(&before, &content(&home.path()));
            assert!(differ.is_empty(), "{after}: {differ:?}");
        };
        for arguments in [&["fix"][..], &["fix", "--yes"], &["fix", "--yes", "--all-files"]] {
            let ran = home.gate(arguments);
            assert_eq!(ran.exit, 1, "{}{}", ran.stdout, ran.stderr);
            assert!(ran.stdout.contains("nothing to write"), "{}", ran.stdout);
            home.sh("git status > /dev/null");
            check("gate fix");
        }
        let looped = home.script(&["--fix", "--max-bounces", "0"], "true");
        assert_ne!(looped.exit, 0, "{}", looped.stderr);
        home.sh("git status > /dev/null");
        check("gate loop --fix");
    }
}

/// The same verifier may fix what it was given: so it is not the test that fails to fix.
#[test]
fn a_fix_of_a_judged_file_is_written_and_the_others_are_named() {
    let paths = [FORBIDDEN, &["plain.txt"]].concat();
    let home = home(&paths, "FIXED ");
    let ran = home.gate(&["fix", "--yes"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(home.read("plain.txt"), "FIXED change\n");
    for (path, why) in [
        ("bare/config", "it is behind a symlink, belongs to the data of a repository, or is no regular file"),
        ("gate.toml", "its check did not judge this file"),
        (".claude/settings.json", SETTINGS),
        ("hooks/pre-commit", SETTINGS),
        ("tools/more.ini", SETTINGS),
        ("tools/clean", SETTINGS),
        ("AGENTS.md", SETTINGS),
        (".github/workflows/ci.yml", SETTINGS),
    ] {
        assert!(ran.stderr.contains(&format!("note: a fix for `{path}` was not tried: {why}\n")), "{}", ran.stderr);
    }
}

/// Each fix gives the verifier another file to fix, so without a limit ten rounds would be tried.
#[test]
fn all_trials_together_have_the_deadline_of_the_gate() {
    let home = home(&["plain.txt"], "x");
    let slow = "[check.slow]\nverifier = \"command\"\ngrants = [\"command:slow\"]\n[command.slow]\nrun = [\"sleep\", \"0.6\"]\n";
    let gate = home.read("gate.toml").replace("all = [\"fixer\"]", "tiers = [\"slow\", \"fixer\"]");
    home.write("gate.toml", &format!("deadline = \"3s\"\n{gate}{slow}"));
    home.sh("git commit -qm gate gate.toml");
    let ran = home.gate(&["fix", "--yes"]);
    let note = "note: not every fix was tried: the gate `main` took more than 3s\n";
    assert!(ran.stderr.contains(note), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(home.read("plain.txt"), "change\n");
}

/// What `gate install` writes tells agents and CI what to run.
#[test]
fn no_fix_changes_what_installs_a_gate() {
    use gatehost::hook::AgentHost;
    let hosts = AgentHost::ALL.iter().map(|host| gatehost::install::settings_file(*host));
    let paths: Vec<&str> = hosts.chain([".github/workflows/gate.yml", ".gitlab/gate.yml"]).collect();
    let home = home(&paths, "FIXED");
    for path in &paths {
        home.sh(&format!("mkdir -p $(dirname {path}); echo mine > {path}"));
    }
    let ran = home.gate(&["fix", "--yes"]);
    for path in paths {
        assert_eq!(home.read(path), "mine\n");
        assert!(
            ran.stderr.contains(&format!("note: a fix for `{path}` was not tried: {SETTINGS}\n")),
            "{}",
            ran.stderr
        );
    }
}

/// Hooks in the root of the work are hooks; the other files there are not.
#[test]
fn no_fix_changes_hooks_in_the_root() {
    let home = home(&["pre-commit", "plain.txt"], "FIXED ");
    home.sh("git config core.hooksPath .; echo mine > pre-commit; chmod +x pre-commit");
    let ran = home.gate(&["fix", "--yes"]);
    assert_eq!((home.read("pre-commit").as_str(), home.read("plain.txt").as_str()), ("mine\n", "FIXED change\n"));
    assert!(
        ran.stderr.contains(&format!("note: a fix for `pre-commit` was not tried: {SETTINGS}\n")),
        "{}",
        ran.stderr
    );
}

/// Asserts that `gate fix` refuses a fix of each of these files for this reason, and fixes `plain.txt`.
fn refuse(paths: &[&str], setup: &str, gate: &str, why: &str) {
    let home = home(&[paths, &["plain.txt"]].concat(), "FIXED ");
    home.write("gate.toml", &(gate.to_owned() + &home.read("gate.toml")));
    home.sh("git commit -qam gate");
    for path in paths {
        home.sh(&format!("mkdir -p \"$(dirname '{path}')\"; echo mine > '{path}'; chmod +x '{path}'"));
    }
    home.sh(setup);
    let ran = home.gate(&["fix", "--yes"]);
    for path in paths {
        assert_eq!(home.read(path), "mine\n", "{path}: {}", ran.stderr);
        let note = format!("note: a fix for `{path}` was not tried: {why}\n");
        assert!(ran.stderr.contains(&note), "{path}: {}", ran.stderr);
    }
    assert_eq!(home.read("plain.txt"), "FIXED change\n", "{}{}", ran.stdout, ran.stderr);
}

/// Whatever has a name of settings is settings, through one symlink or several.
#[test]
fn no_fix_changes_settings_behind_a_symlink() {
    let paths = ["cfg/claude/settings.json", "cfg/gemini.json", "cfg/mcp.json", "docs/guide.md", "cfg/deep/rule.md"];
    let setup = "ln -s cfg/claude .cursor; mkdir .gemini; ln -s ../cfg/gemini.json .gemini/settings.json; \
                 ln -s \"$PWD/cfg/mcp.json\" .mcp.json; ln -s GUIDE.md CLAUDE.md; ln -s docs/guide.md GUIDE.md; \
                 ln -s ../deep cfg/claude/rules";
    refuse(&paths, setup, "", SETTINGS);
}

#[test]
fn no_fix_changes_hooks_behind_a_symlink() {
    let setup = "ln -s ../../scripts/one.sh .git/hooks/pre-commit; ln -s ../scripts/two.sh hooks/pre-push; \
                 mkdir .git/hooks/pre-commit.d; ln -s ../../../scripts/three.sh .git/hooks/pre-commit.d/10";
    refuse(&["scripts/one.sh", "scripts/two.sh", "scripts/three.sh"], setup, "", SETTINGS);
    let setup = "git config --unset core.hooksPath; rm -r .git/hooks; ln -s ../tools/git-hooks .git/hooks";
    refuse(&["tools/git-hooks/pre-commit", "tools/git-hooks/lib/all.sh"], setup, "", SETTINGS);
    let setup = "git init -q --separate-git-dir ../data; ln -s \"$PWD/scripts/one.sh\" ../data/hooks/pre-commit; \
                 mkdir ../hooks; git config core.hooksPath ../hooks; ln -s ../work/scripts/two.sh ../hooks/pre-push";
    refuse(&["scripts/one.sh", "scripts/two.sh"], setup, "", SETTINGS);
    let setup = "git init -q ..; git -C .. config core.hooksPath work/tools/git-hooks; \
                 ln -s ../../work/scripts/one.sh ../.git/hooks/pre-commit; git -C .. config alias.x '!sh work/two.sh'";
    refuse(&["scripts/one.sh", "two.sh", "tools/git-hooks/pre-commit"], setup, "", SETTINGS);
}

#[test]
fn no_fix_changes_protected_files_behind_a_symlink() {
    let setup = "mkdir tests; ln -s ../spec tests/spec; ln -s kept/golden golden; ln -s ../../deep kept/golden/more";
    let protected = "protected = [\"tests/**\", \"golden/*/*.txt\"]\n";
    refuse(&["spec/a.txt", "kept/golden/x/b.txt", "deep/c.txt"], setup, protected, POLICY);
}

/// Programs find their settings in the home, which may consist of symlinks into a repository.
#[test]
fn no_fix_changes_settings_that_the_home_links_to() {
    let setup = "ln -s \"$PWD/dot/bashrc\" ../.bashrc; ln -s work/dot/claude ../.claude; mkdir -p ../.codex/rules ../bin; \
                 ln -s ../../work/dot/rule.md ../.codex/rules/rule.md; ln -s ../work/plain.txt ../bin/plain";
    refuse(&["dot/bashrc", "dot/claude/settings.json", "dot/claude/agents/a.md", "dot/rule.md"], setup, "", SETTINGS);
    let home = home(&["plain.txt"], "FIXED ");
    home.sh("git init -q ../.claude; cp gate.toml ../.claude; cd ../.claude; git add -A; git commit -qm a; echo mine > plain.txt");
    let ran = home.gate(&["-C", "../.claude", "fix", "--yes"]);
    assert_eq!(home.read("../.claude/plain.txt"), "mine\n", "{}", ran.stderr);
    assert!(ran.stderr.contains(SETTINGS), "{}", ran.stderr);
}

/// A check that runs commands may have patterns although its verifier judges the change.
#[test]
fn no_fix_changes_what_its_check_excludes() {
    let home = home(&["plain.txt", "sub/a.txt"], "FIXED ");
    let gate = home.read("gate.toml");
    let patterns = "grants = [\"command:none\"]\nexclude = [\"sub/**\"]\n[command.none]\nrun = [\"true\"]\n";
    home.write("gate.toml", &(gate + patterns));
    home.sh("git commit -qam gate; echo change > sub/a.txt");
    let ran = home.gate(&["fix", "--yes"]);
    let note = "note: a fix for `sub/a.txt` was not tried: its check did not judge this file\n";
    assert!(ran.stderr.contains(note), "{}{}", ran.stdout, ran.stderr);
    assert_eq!((home.read("plain.txt").as_str(), home.read("sub/a.txt").as_str()), ("FIXED change\n", "change\n"));
}

/// An executor may tick a task, and no verifier may.
#[test]
fn no_fix_changes_the_tasks() {
    let gate = "[plan]\nfile = \"docs/tasks.md\"\n[progress]\nfile = \"STATE.md\"\n";
    refuse(&["docs/tasks.md", "STATE.md"], "true", gate, POLICY);
    let home = home(&["tasks.md", "plain.txt"], "FIXED ");
    home.sh("printf '%s\\n' '- [ ] 1.1 Go on' > tasks.md; git add tasks.md; git commit -qm tasks");
    let flags = ["--plan", "tasks.md", "--task", "1.1", "--fix", "--max-bounces", "0"];
    let looped = home.script(&flags, "sed -i 's/ ]/x]/' tasks.md");
    assert_eq!(home.read("tasks.md"), "- [x] 1.1 Go on\n", "{}", looped.stderr);
    assert_eq!(home.read("plain.txt"), "FIXED change\n", "{}", looped.stderr);
}

/// Git runs a shell, so a program or its file may be anywhere in a value.
#[test]
fn no_fix_changes_what_git_is_told_to_run() {
    let setup = "git config filter.tidy.clean 'python3 clean.py %f'; git config core.fsmonitor 'sh fsmon.sh'; \
                 git config alias.zz '!sh alias.sh'; git config credential.helper '!sh cred.sh'; \
                 git config core.sshCommand 'ssh -F ssh_config'; git config core.editor \"'./sp ace.sh'\"; \
                 git config filter.y.smudge 'cd t && sh c.sh'; git config filter.q.process '$PWD/d/e.sh'; \
                 git config init.templateDir tpl; git config diff.x.textconv 'make -C tasks text'; \
                 git config merge.x.driver 'python3 -m merges.driver'";
    let paths = ["clean.py", "fsmon.sh", "alias.sh", "cred.sh", "ssh_config", "sp ace.sh", "t/c.sh", "d/e.sh"];
    let folders = ["tpl/hooks/pre-commit", "tasks/Makefile", "merges/driver.py"];
    refuse(&[&paths[..], &folders].concat(), setup, "", SETTINGS);
}

/// A file with a second name outside the work is replaced only inside.
#[test]
fn the_other_name_of_a_file_stays_as_it_is() {
    let home = home(&["hard.txt"], "FIXED ");
    home.sh("ln ../elsewhere/victim.txt hard.txt");
    let ran = home.gate(&["fix", "--yes"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(home.read("hard.txt"), "FIXED untouched\n");
    assert_eq!(fs::read_to_string(home.path().join("elsewhere/victim.txt")).expect("text"), "untouched\n");
}

/// An agent applies what the tool `fix` lists, so it lists only what `gate fix` would try.
#[test]
fn the_tool_of_mcp_lists_no_other_fixes() {
    let home = home(&[FORBIDDEN, &["plain.txt"]].concat(), "FIXED ");
    let before = content(&home.path());
    let call = json!({ "name": "fix", "arguments": {} });
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call }),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(home.path().join("state-input"), input).expect("written");
    let mut gate = std::process::Command::new("bash");
    let script = r#"{ cat ../state-input; while ! grep -q '"id":2' ../state-output; do sleep 0.1; done; } | "$GATE" mcp > ../state-output"#;
    crate::support::isolate(gate.args(["-euc", script]), &home.work(), &home.path());
    gate.env("GATE", env!("CARGO_BIN_EXE_gate")).env("GATE_STATE_DIR", home.path().join("state"));
    fs::write(home.path().join("state-output"), "").expect("written");
    let ran = gate.output().expect("bash runs");
    let output = fs::read_to_string(home.path().join("state-output")).expect("text");
    let answer = output.lines().last().expect("an answer");
    let answer: Value = serde_json::from_str(answer).unwrap_or_else(|error| panic!("{error}: {output} {ran:?}"));
    let fixes = answer["result"]["structuredContent"]["fixes"].as_array().expect("fixes");
    let paths: Vec<&str> = fixes.iter().filter_map(|fix| fix["path"].as_str()).collect();
    assert_eq!(paths, ["plain.txt"], "{answer}");
    let mut after = content(&home.path());
    after.retain(|path, _| !path.contains("/state-"));
    assert_eq!(differences(&before, &after), Vec::<String>::new());
}

/// Parts of paths that a verdict may contain, and others that make it malformed.
const PARTS: &[&str] = &[
    "config",
    "hooks",
    "pre-commit",
    "assets",
    "above",
    "back",
    "chain",
    "circle",
    "data",
    "real-data",
    "inside",
    "dangling",
    "victim.txt",
    "file.txt",
    "plain.txt",
    "sub",
    "gate.toml",
    "bare",
    "HEAD",
    ".claude",
    "settings.json",
    "elsewhere",
    "git~1",
    ".git.",
    ".g\u{200c}it",
    "\u{202e}",
    "~",
    " ",
    "a.json",
    "tools",
    "clean",
    "more.ini",
    "AGENTS.md",
    ".github",
    "workflows",
    "ci.yml",
];
const BAD_PARTS: &[&str] = &["..", ".", "", ".git", ".GIT", "/", "/etc", "\0", "\\"];

fn finding(parts: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let number = || prop_oneof![4 => 1..3_u32, 1 => any::<u32>()];
    let edit = (number(), number(), number(), number(), prop_oneof![Just("FIXED".to_owned()), ".{0,20}"]);
    let edit = edit.prop_map(|(start_line, start_column, end_line, end_column, replacement)| {
        json!({
            "start_line": start_line, "start_column": start_column, "end_line": end_line, "end_column": end_column,
            "replacement": replacement,
        })
    });
    let path = prop::collection::vec(proptest::sample::select(parts), 1..4).prop_map(|parts| parts.join("/"));
    (path, prop::collection::vec(edit, 0..4)).prop_map(|(path, edits)| {
        let (place, fix) = (json!({ "path": path }), json!({ "description": "", "edits": edits }));
        json!({ "code": "bad", "level": "error", "message": "bad", "place": place, "fix": fix })
    })
}

fn findings() -> impl Strategy<Value = Vec<Value>> {
    let of = |parts: &'static [&'static str], most| prop::collection::vec(finding(parts), 0..most);
    (of(PARTS, 12), prop_oneof![4 => of(BAD_PARTS, 1), 1 => of(BAD_PARTS, 3)])
        .prop_map(|(good, bad)| good.into_iter().chain(bad).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, max_shrink_iters: 20, ..ProptestConfig::default() })]

    /// One home serves all documents: what changes in it would be found after the next.
    #[test]
    fn arbitrary_fixes_change_only_judged_files(findings in findings()) {
        use std::sync::OnceLock;
        static HOME: OnceLock<(Home, String)> = OnceLock::new();
        let (home, component) = HOME.get_or_init(|| {
            let home = home(&["plain.txt"], "FIXED");
            let gate = home.read("gate.toml");
            let component = gate.split('"').nth(3).expect("a path").to_owned();
            (home, component)
        });
        let before = content(&home.path());
        fs::write(component, verifier(&json!({ "status": "fail", "findings": findings }))).expect("written");
        let ran = home.gate(&["fix", "--yes"]);
        prop_assert!((0..=3).contains(&ran.exit), "{}", ran.stderr);
        let differ = differences(&before, &content(&home.path()));
        prop_assert!(differ.is_empty(), "{differ:?}");
        home.write("plain.txt", "change\n");
    }
}
