//! Tools for authors of verifiers: cases with scripted answers, the rules for every verifier, the cost of a call.

use crate::guests;
use gatehost::author::{self, Case, CaseOutcome, TRIVIAL, Trial};
use gatehost::runtime::{BUNDLED, ComponentSource, Runtime};
use gatehost::verdict::Status;
use serde_json::{Value, json};
use std::fs;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("tokio").block_on(future)
}

fn trial(component: Vec<u8>) -> Trial {
    let runtime = Arc::new(Runtime::new(None));
    block_on(Trial::load(runtime, &ComponentSource::from_bytes(component))).expect("loaded")
}

/// Returns a folder of cases with these files.
fn cases(files: &[(&str, &str)]) -> (tempfile::TempDir, Vec<Case>) {
    let folder = crate::support::tempdir().expect("a folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }
    let cases = author::read_all(folder.path(), None).expect("cases");
    (folder, cases)
}

#[test]
fn the_trivial_verifier_is_what_its_text_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("../fixtures/bench/trivial.wat")).expect("the text");
    let component = guests::assemble("trivial", &text);
    if std::env::var_os("BLESS").is_some() {
        fs::write(root.join("../fixtures/bench/trivial.wasm"), &component).expect("written");
    }
    assert!(component == TRIVIAL, "BLESS=1 cargo test rewrites it");
}

#[test]
fn commands_and_models_answer_as_the_case_says() {
    let trial = trial(guests::component("author/asks"));
    let passed = r#"{"tests": [{"exit": 0}]}"#;
    let said = r#"{"nonce": "N1", "answers": {"reviewer": [{"text": "fine {nonce}"}]}}"#;
    for (commands, models, status, summary) in [
        (passed, said, Status::Pass, "fine N1"),
        (r#"{"tests": [{"exit": 1, "stdout": "1 failed"}]}"#, said, Status::Fail, ""),
        (r#"{"tests": [{"signal": 9}]}"#, said, Status::Fail, ""),
        (r#"{"tests": [{"timed_out": true}]}"#, said, Status::Fail, ""),
        // What has no answer is the host's to tell, whatever the guest makes of it.
        (r#"{"tests": [{"not_started": "gone"}]}"#, said, Status::Error, ""),
        // Nothing is scripted for it.
        (r#"{"tests": []}"#, said, Status::Error, ""),
        ("{}", said, Status::Fail, ""),
        (passed, r#"{"answers": {"reviewer": [{"unreachable": "offline"}]}}"#, Status::Error, ""),
        (passed, r#"{"answers": {"reviewer": [{"text": "fi", "stop": "length"}]}}"#, Status::Abstain, "fi"),
        (passed, r#"{"answers": {"reviewer": [{"timeout": "30 s"}]}}"#, Status::Error, ""),
        (passed, r#"{"answers": {}}"#, Status::Error, ""),
    ] {
        let (_folder, cases) =
            cases(&[("a/submission.json", "{}"), ("a/commands.json", commands), ("a/models.json", models)]);
        // Twice: a script starts again for every call.
        for _ in 0..2 {
            let judged = block_on(trial.judge(&cases[0])).expect("asked");
            let verdict = &judged.answers[0].1.verdict;
            assert_eq!((verdict.status, &*verdict.summary), (status, summary), "{commands} {models}");
        }
    }
}

#[test]
fn what_is_blessed_is_expected_and_an_error_is_not() {
    let trial = trial(guests::assemble("scripted", include_str!("../fixtures/scripted.wat")));
    let (folder, before) = cases(&[
        ("a/input/a.txt", "a"),
        ("a/settings.json", "{\"say\": \"fail\"}"),
        ("b/input/a.txt", "a"),
        ("b/settings.json", "{\"say\": \"trap\"}"),
    ]);
    let outcomes = |cases: &[Case], bless: bool| -> Vec<CaseOutcome> {
        let outcome = |case| block_on(trial.judge(case)).expect("asked").compare(case, bless).expect("compared");
        cases.iter().map(outcome).collect()
    };
    assert!(matches!(outcomes(&before, false)[..], [CaseOutcome::Unexpected, CaseOutcome::Error(_)]));
    assert!(matches!(outcomes(&before, true)[..], [CaseOutcome::Blessed, CaseOutcome::Error(_)]));
    assert!(!folder.path().join("b/expected.json").exists());
    let after = author::read_all(folder.path(), None).expect("cases");
    assert!(matches!(outcomes(&after, false)[..], [CaseOutcome::Pass, CaseOutcome::Error(_)]));
    fs::write(folder.path().join("a/settings.json"), "{\"say\": \"abstain\"}").expect("written");
    let changed = author::read_all(folder.path(), Some("a")).expect("cases");
    let [CaseOutcome::Differs(difference)] = &outcomes(&changed, false)[..] else { panic!("the same") };
    assert!(difference.contains("-    \"status\": \"fail\"") && difference.contains("+    \"status\": \"abstain\""));
}

#[test]
fn an_expected_verdict_has_every_field_that_the_contract_has() {
    let trial = trial(guests::component("released/0.1.0-file"));
    let (folder, before) = cases(&[("a/input/a.txt", "a"), ("a/settings.json", "{}")]);
    let judged = block_on(trial.judge(&before[0])).expect("asked");
    assert!(matches!(judged.compare(&before[0], true), Ok(CaseOutcome::Blessed)));
    let expected = fs::read(folder.path().join("a/expected.json")).expect("written");
    let expected: Value = serde_json::from_slice(&expected).expect("JSON");
    let verdict = json!({
        "status": "abstain", "confidence": 0.5, "summary": "{}", "class": "waiting", "needs_person": true,
        "metrics": [{ "name": "tests-run", "value": 3.0 }],
        "findings": [{
            "code": "the-code", "level": "warning", "message": "found a thing", "hint": "mend that",
            "place": { "path": "a.txt", "line": 1, "column": 2, "end_line": 3, "end_column": 4 },
            "category": "specification", "key": "the key", "url": "https://a.example/the-code",
            "fix": {
                "description": "mend it",
                "edits": [{
                    "start_line": 1, "start_column": 2, "end_line": 3, "end_column": 4, "replacement": "other",
                }],
            },
        }],
    });
    assert_eq!(expected, json!({ "a.txt": verdict }));
    let after = author::read_all(folder.path(), None).expect("cases");
    assert!(matches!(judged.compare(&after[0], false), Ok(CaseOutcome::Pass)));
}

#[test]
fn a_code_without_a_rule_breaks_a_promise() {
    let scripted = include_str!("../fixtures/scripted.wat");
    // The list of rules, and the code of the only one.
    let (list, code) = (r#""\90\01\00\00\01\00\00\00""#, r#""\80\00\00\00\07\00\00\00" "\00\00\00\00""#);
    assert!(scripted.contains(list) && scripted.contains(code));
    let none = scripted.replace(list, r#""\90\01\00\00\00\00\00\00""#);
    let all = scripted.replace(code, r#""\32\00\00\00\01\00\00\00" "\00\00\00\00""#);
    let (_folder, cases) = cases(&[("a/input/a.txt", "a"), ("a/settings.json", "{\"say\": \"fail\"}")]);
    for (text, kept) in [(scripted, true), (&*all, true), (&*none, false)] {
        let promises = block_on(author::conformance(&trial(guests::assemble("scripted", text)), &cases));
        let promise = promises.iter().find(|promise| promise.name.starts_with("declares")).expect("the promise");
        assert_eq!(promise.kept, kept, "{promise:?}");
        if !kept {
            assert_eq!(promise.seen, "it reports `told-so` on case `a`");
            let hint = "add a rule with the code `told-so` to `rules` of what `describe` returns";
            assert_eq!(promise.hint.as_deref(), Some(hint));
        }
    }
}

#[test]
fn the_bundled_verifiers_keep_their_promises() {
    let (_files, of_files) = cases(&[("a/input/a.json", "{\n  \"a\": [1, 2]\n}\n")]);
    let rules = r#"{"rules": [{"id": "no-todo", "pattern": "TODO", "in": "claim", "kind": "forbid"}]}"#;
    let submission = r#"{"task": {"id": "1", "files": ["src/**"]}, "claim": {"text": "TASK_COMPLETE"}, "base": "a"}"#;
    let (_plain, of_submissions) = cases(&[("a/submission.json", submission)]);
    let (_ruled, with_rules) = cases(&[("a/submission.json", submission), ("a/settings.json", rules)]);
    let runtime = Arc::new(Runtime::new(None));
    let mut broken = Vec::new();
    for name in ["json-syntax", "completion-signal", "patterns"] {
        let bundled = BUNDLED.iter().find(|bundled| bundled.name == name).expect("bundled");
        let trial = block_on(Trial::load(Arc::clone(&runtime), &ComponentSource::bundled(bundled))).expect("loaded");
        let cases = match name {
            "patterns" => &with_rules,
            _ if trial.suits(&of_files).is_ok() => &of_files,
            _ => &of_submissions,
        };
        let promises = block_on(author::conformance(&trial, cases));
        assert!(promises.len() > 20, "{name}: {}", promises.len());
        broken.extend(promises.into_iter().filter(|promise| !promise.kept).map(|promise| (name, promise)));
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn a_call_is_measured() {
    let (_folder, cases) = cases(&[("a/input/a.txt", "a"), ("a/input/b.txt", "b")]);
    let scripted = guests::assemble("scripted", include_str!("../fixtures/scripted.wat"));
    let counting = Arc::new(Runtime::metered());
    let counting = block_on(Trial::load(counting, &ComponentSource::from_bytes(scripted.clone()))).expect("loaded");
    let (trivial, other) = (trial(TRIVIAL.to_vec()), trial(scripted.clone()));
    let measured = block_on(author::measure(&trial(scripted), &counting, &trivial, Some(&other), &cases));
    let [measured] = &measured.expect("measured")[..] else { panic!("one case") };
    assert_eq!((measured.calls, measured.memory), (2, 2 << 16));
    assert!((10..10_000).contains(&measured.instructions), "{}", measured.instructions);
    assert!(measured.rounds >= 20);
    for estimate in [measured.time_us, measured.to_trivial, measured.to_other.expect("compared")] {
        assert!(0.0 < estimate.low && estimate.low <= estimate.median && estimate.median <= estimate.high);
    }
}
