//! `gate skip`, `gate force` and `gate resume`: what a person decides without a pass.

use super::Stage;
use super::commands::{at_terminal, in_git, now, said, submit, text};
use gatehost::ledger::body::Override;
use gatehost::ledger::{EntryKind, Filter, Ledger};
use serde_json::json;
use std::process::Command;

#[test]
fn what_a_person_lets_through_is_never_a_pass() {
    let stage = Stage::new();
    in_git(&stage);
    submit(&stage, json!({ "id": "t1" }), false);
    let arguments = "skip --task t1 --condition known-false-negative --reason 'the check expects an old dialect'";
    let refused =
        stage.run(&["skip", "--task", "t1", "--condition", "user-risk", "--reason", "the service is down today"]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("needs a person at a terminal"), "{}", said(&refused));
    let excuse =
        at_terminal(&stage, "skip --task t1 --condition user-risk --reason 'tests take too long here'", "skip");
    assert_eq!(excuse.status.code(), Some(2), "{}", said(&excuse));
    let unconfirmed = at_terminal(&stage, arguments, "no");
    assert_eq!(unconfirmed.status.code(), Some(2), "{}", said(&unconfirmed));
    let refusals =
        Filter { status: Some("refused".to_owned()), ..Filter::of(&stage.project()).kinds(&[EntryKind::Note]) };
    assert_eq!(stage.ledger().entries(&refusals).expect("entries").len(), 3);

    let granted = at_terminal(&stage, arguments, "skip");
    assert_eq!(granted.status.code(), Some(0), "{}", said(&granted));
    assert!(said(&granted).contains("complete (unverified)"), "{}", said(&granted));
    let entry = stage.ledger().entries(&Filter::of(&stage.project()).kinds(&[EntryKind::Override])).expect("entries");
    let granted: Override = entry[0].read().expect("an override");
    assert!(granted.by.starts_with("alice"), "{}", granted.by);
    assert_eq!((granted.fingerprints.len(), granted.proof.as_str()), (1, "terminal"));
    let output = stage.run(&["verify"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output).contains("complete (unverified), which `[overrides] accept` does not allow"),
        "{}",
        said(&output)
    );
    assert!(text(&stage.run(&["status"]).stdout).contains("Status: complete (unverified)"));
    let forced = at_terminal(&stage, "force --task t1 --reason 'production is down, fix follows'", "OVERRIDE");
    assert_eq!(forced.status.code(), Some(0), "{}", said(&forced));
    assert!(text(&stage.run(&["status"]).stdout).contains("Status: complete (forced)"));
}

#[test]
fn a_signature_of_a_listed_key_lets_something_through_without_a_terminal() {
    let stage = Stage::new();
    let home = stage.state().parent().expect("a folder").to_owned();
    let key = home.join("key");
    let made =
        Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-C", "alice", "-f"]).arg(&key).status();
    assert!(made.expect("ssh-keygen").success());
    let public = std::fs::read_to_string(home.join("key.pub")).expect("a key");
    let gate = format!(
        "[gate.default]\nall = [\"json\"]\n[check.json]\nverifier = \"json-syntax\"\n[overrides]\naccept = true\nsigners = [\"alice {}\"]\n",
        public.trim()
    );
    std::fs::write(stage.work().join("gate.toml"), gate).expect("written");
    in_git(&stage);
    submit(&stage, json!({ "id": "t1" }), false);
    let until = (now() + 3_600).to_string();
    let common = |reason: &'static str, until: &str| -> Vec<String> {
        ["skip", "--task", "t1", "--condition", "verify-unavailable", "--reason", reason, "--until", until]
            .map(str::to_owned)
            .to_vec()
    };
    let run = |mut args: Vec<String>, more: &[&str]| {
        args.extend(more.iter().map(|more| (*more).to_owned()));
        stage.run(&args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let reason = "the validator's service is down";
    let request = run(common(reason, &until), &["--request"]);
    assert_eq!(request.status.code(), Some(0), "{}", said(&request));
    let file = home.join("request");
    std::fs::write(&file, &request.stdout).expect("written");
    let sign = |namespace: &str| {
        let _ = std::fs::remove_file(home.join("request.sig"));
        let signed =
            Command::new("ssh-keygen").args(["-q", "-Y", "sign", "-n", namespace, "-f"]).arg(&key).arg(&file).output();
        assert!(signed.expect("ssh-keygen").status.success());
        home.join("request.sig").to_str().expect("UTF-8").to_owned()
    };
    let other = sign("file");
    let refused = run(common(reason, &until), &["--signature", &other]);
    assert_eq!(refused.status.code(), Some(2), "signed for something else: {}", said(&refused));
    let signature = sign("gatehost-override");
    let refused = run(common("something else was meant here", &until), &["--signature", &signature]);
    assert_eq!(refused.status.code(), Some(2), "another request: {}", said(&refused));
    let granted = run(common(reason, &until), &["--signature", &signature]);
    assert_eq!(granted.status.code(), Some(0), "{}", said(&granted));
    let output = stage.run(&["verify"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("complete (unverified): let through by alice"), "{}", said(&output));
    let again = run(common(reason, &until), &["--signature", &signature]);
    assert!(said(&again).contains("already recorded"), "{}", said(&again));
    // Neither another form of the signature nor the end of the override changes that.
    let text = std::fs::read_to_string(&signature).expect("a signature");
    std::fs::write(&signature, text + "\n").expect("written");
    let again = run(common(reason, &until), &["--signature", &signature]);
    assert!(said(&again).contains("already recorded"), "{}", said(&again));
    assert_eq!(stage.run_with_clock(&["verify"], 7_200).status.code(), Some(1));
    assert_eq!(at_terminal(&stage, "log --confirm-clock", "right").status.code(), Some(0));
    let again = run(common(reason, &until), &["--signature", &signature]);
    assert_eq!(again.status.code(), Some(2), "{}", said(&again));
    assert!(said(&again).contains("which has expired"), "{}", said(&again));
    let overrides = Filter::of(&stage.project()).kinds(&[EntryKind::Override]);
    assert_eq!(stage.ledger().entries(&overrides).expect("entries").len(), 1, "it applies once");
}
