//! `gate verify` and `gate attest`: what shows that a change passed.

use super::Stage;
use super::commands::{git, in_git, normal, said};
use serde_json::{Value, json};

#[test]
fn only_what_was_passed_is_verified() {
    let stage = Stage::new();
    in_git(&stage);
    let write = |text: &str| std::fs::write(stage.work().join("a.json"), text).expect("written");
    let verify = |args: &[&str]| {
        let output = stage.run(&[&["verify"], args].concat());
        (output.status.code(), normal(&said(&output)))
    };
    write("{\"a\": 1}\n");
    stage.run(&["run"]);
    assert_eq!(verify(&[]), (Some(0), "verified: passed in run [RUN] (entry 2)\n".to_owned()));
    // Another byte is another tree.
    write("{\"a\": 2}\n");
    assert_eq!(verify(&[]), (Some(1), "not verified: no run checked this change\n".to_owned()));
    write("{\"a\": 1}\n");
    git(&stage, "git commit -qam second");
    assert_eq!(verify(&["HEAD"]).0, Some(0), "what was passed was committed");
    assert_eq!(verify(&[]).0, Some(0), "nothing differs from the last commit");
    // The same change on another base is not what was passed.
    write("{\"a\": 3}\n");
    git(&stage, "git commit -qam third");
    write("{\"a\": 1}\n");
    git(&stage, "git commit -qam fourth");
    assert_eq!(verify(&["HEAD"]).0, Some(1));
    // Committed without having been judged, as by `git commit --no-verify`.
    assert_eq!(verify(&["HEAD^"]).0, Some(1));
}

#[test]
fn a_pre_receive_hook_refuses_what_was_not_passed() {
    let stage = Stage::new();
    in_git(&stage);
    let gate = env!("CARGO_BIN_EXE_gate");
    let state = stage.state();
    git(
        &stage,
        &format!(
            "git init -q --bare -b main ../bare.git && git push -q ../bare.git HEAD:main\n\
             printf '#!/bin/sh\\nwhile read old new ref; do GATE_STATE_DIR={} {gate} verify $new || exit 1; done\\n' \
             > ../bare.git/hooks/pre-receive && chmod +x ../bare.git/hooks/pre-receive",
            state.display()
        ),
    );
    std::fs::write(stage.work().join("a.json"), "{\"a\": 1}\n").expect("written");
    stage.run(&["run"]);
    git(&stage, "git commit -qam passed && git push -q ../bare.git HEAD:main");
    std::fs::write(stage.work().join("a.json"), "{\"a\": 2}\n").expect("written");
    git(&stage, "git commit -qam unseen && ! git push -q ../bare.git HEAD:main 2> ../refused");
    let refused = std::fs::read_to_string(state.parent().expect("a folder").join("refused")).expect("a message");
    assert!(refused.contains("not verified: no run checked this change"), "{refused}");
    // Without a hook, about the last commit there.
    let output = stage.run(&["-C", "../bare.git", "verify"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

#[test]
fn a_run_is_attested_by_a_signed_statement() {
    use gatehost::proof::dsse::{Envelope, IN_TOTO, SigningKey};
    let stage = Stage::new();
    stage.run(&["run"]);
    let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    std::fs::write(stage.work().join("gate.key"), seed).expect("written");
    let output = stage.run(&["attest", "--key", "gate.key"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let envelope: Envelope = serde_json::from_slice(&output.stdout).expect("an envelope");
    let key = SigningKey::from_text(seed).expect("a key").public();
    let payload = envelope.verify(IN_TOTO, &[key], 1).expect("signed");
    let statement: Value = serde_json::from_slice(&payload).expect("a statement");
    assert_eq!(statement["predicate"]["result"], "PASSED");
    assert_eq!(statement["predicate"]["passedTests"], json!(["json-syntax"]));
    std::fs::write(stage.work().join("gate.key"), "no key").expect("written");
    assert_eq!(stage.run(&["attest", "--key", "gate.key"]).status.code(), Some(2));
    std::fs::write(stage.work().join("gate.key"), seed).expect("written");
    // The result of a run is signed only if nothing in the ledger was altered.
    let file = rusqlite::Connection::open(stage.ledger().path()).expect("open");
    file.execute("UPDATE entry SET status = 'fail' WHERE seq = 1", []).expect("altered");
    drop(file);
    let output = stage.run(&["attest", "--key", "gate.key"]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(output.stdout.is_empty() && said(&output).contains("entry 1 was altered"), "{}", said(&output));
}
