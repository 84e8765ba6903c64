//! What was recorded is repeated without a model, and nothing else is.

use super::server::{Act, Server};
use super::*;
use crate::ledger::Stage;
use gatehost::models::BadModelTape;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn echo_nonce(server_number: usize) -> Server {
    // Says the nonce that stands in the prompt, and which answer this is.
    Server::start(move |number, asked| Act::Say(format!("{server_number}.{number} {}", asked.prompt())))
}

fn play(models: &Models, words: &str) -> Result<String, NoAnswer> {
    let question = question(models, "");
    let nonce = question.nonce.clone();
    let question = ModelQuestion { prompt: vec![PromptPart::Text(format!("{words} {nonce}"))], ..question };
    let answer = tokio().block_on(models.ask("m", question)).1?;
    // Whatever nonce it was: what comes back has that of this run.
    assert!(answer.text.ends_with(&nonce), "{}", answer.text);
    Ok(answer.text.replace(&nonce, "NONCE"))
}

#[test]
fn a_tape_repeats_the_run() {
    let folder = crate::support::tempdir().expect("a folder");
    let path = folder.path().join("tape.jsonl");
    let server = echo_nonce(1);
    let asked = model("openai", &server.url, "");
    let tape = ModelTape::record(&path).expect("a new file");
    let recording = models(asked.clone(), Executor::default(), Some(tape));
    let said: Vec<_> = ["one", "two", "one"].iter().map(|words| play(&recording, words)).collect();
    assert_eq!(said[2], Ok("1.2 one NONCE".to_owned()));

    let text = fs::read_to_string(&path).expect("text");
    assert_eq!(text.lines().count(), 3);
    assert!(!text.contains(&std::env::var(KEY).expect("cargo sets it")), "the key is on the tape");
    assert!(matches!(ModelTape::record(&path), Err(BadModelTape::Exists(_))), "a tape is not overwritten");

    // Another address and no key: what counts is the question.
    let elsewhere = ModelConfig { url: None, key_env: Some("GATEHOST_NO_SUCH_KEY".to_owned()), ..asked.clone() };
    let replaying = models(elsewhere, Executor::default(), Some(ModelTape::replay(&path).expect("a tape")));
    let again: Vec<_> = ["one", "two", "one"].iter().map(|words| play(&replaying, words)).collect();
    assert_eq!(again, said);
    assert_eq!(server.asked().len(), 3);

    let none = |why: &str| Err(NoAnswer::Unreachable(why.to_owned()));
    assert_eq!(play(&replaying, "one"), none("the recording has no further answer to this question"));
    assert_eq!(play(&replaying, "three"), none("the recording has no answer to this question"));
    let other = ModelConfig { model: Some("large".to_owned()), ..asked };
    let replaying = models(other, Executor::default(), Some(ModelTape::replay(&path).expect("a tape")));
    assert_eq!(play(&replaying, "one"), none("the recording has no answer to this question"));
}

#[test]
fn no_answer_is_repeated_too_and_limits_still_hold() {
    let folder = crate::support::tempdir().expect("a folder");
    let path = folder.path().join("tape.jsonl");
    let server = Server::doing(vec![Act::Status(400, "", String::new()), Act::Say("yes".to_owned())]);
    let asked = model("anthropic", &server.url, "");
    let recording = models(asked.clone(), Executor::default(), Some(ModelTape::record(&path).expect("a new file")));
    let said: Vec<_> = ask_all(&recording, 2).into_iter().map(|(_, answer)| answer).collect();
    let replaying = models(asked.clone(), Executor::default(), Some(ModelTape::replay(&path).expect("a tape")));
    let again = ask_all(&replaying, 2);
    assert!(again.iter().all(|(used, _)| used.replayed && used.requests == 0));
    assert_eq!(again.into_iter().map(|(_, answer)| answer).collect::<Vec<_>>(), said);

    let own = Executor { model: Some("small".to_owned()), ..Executor::default() };
    let replaying = models(asked.clone(), own, Some(ModelTape::replay(&path).expect("a tape")));
    assert_eq!(ask_all(&replaying, 1).remove(0).1, Err(NoAnswer::NotDistinct));
    let few = ModelConfig { max_requests: 1, ..asked };
    let replaying = models(few, Executor::default(), Some(ModelTape::replay(&path).expect("a tape")));
    assert_eq!(ask_all(&replaying, 2).remove(1).1, Err(NoAnswer::Budget("requests".to_owned())));
}

#[test]
fn a_tape_that_was_changed_is_refused() {
    let folder = crate::support::tempdir().expect("a folder");
    let path = folder.path().join("tape.jsonl");
    let server = Server::doing(vec![Act::Say("yes".to_owned())]);
    let recording = models(
        model("openai", &server.url, ""),
        Executor::default(),
        Some(ModelTape::record(&path).expect("a new file")),
    );
    ask_all(&recording, 1).remove(0).1.expect("an answer");
    let good = fs::read_to_string(&path).expect("text");
    let refused = |text: &str| {
        fs::write(&path, text).expect("written");
        match ModelTape::replay(Path::new(&path)) {
            Err(BadModelTape::Invalid { line, message, .. }) => format!("{line}: {message}"),
            other => panic!("{other:?}"),
        }
    };
    for (text, expected) in [
        (good.replace("Is it good?", "Is it bad?"), "1: the digest does not match the question"),
        (good.replace(r#""version":1"#, r#""version":2"#), "1: expected version 1, found 2"),
        (good.replace(r#""answer":"#, r#""reply":"#), "1: not an exchange: unknown field `reply`"),
        (format!("{good}\n{{}}\n"), "3: not an exchange: missing field `version`"),
        (good[..good.len() / 2].to_owned(), "1: not an exchange: EOF"),
    ] {
        let found = refused(&text);
        assert!(found.starts_with(expected), "{found}");
    }
    assert!(matches!(ModelTape::replay(Path::new("/nowhere/tape")), Err(BadModelTape::Unusable { .. })));
}

/// Whoever made the bundle chose the address, and which tapes are in it.
#[test]
fn the_replay_of_a_bundle_asks_no_model() {
    let server = echo_nonce(0);
    let gate = format!(
        "[gate.main]\nall = [\"arch\"]\n[check.arch]\nverifier = \"review-verdict\"\ngrants = [\"workspace\", \"model:r\"]\n\
         settings = {{ verify_evidence = false, criteria = [\"good\"] }}\n[model.r]\napi = \"openai\"\nmodel = \"m\"\nurl = \"{}\"\nkey_env = \"PATH\"\n",
        server.url
    );
    let stage = Stage::new();
    fs::write(stage.work().join("gate.toml"), gate).expect("written");
    let run = stage.run(&["run"]);
    let asked = server.asked().len();
    assert!(asked > 0, "{run:?}");
    let made = stage.run(&["bundle"]);
    let bundle: Value = serde_json::from_slice(&made.stdout).expect("a bundle");
    let elsewhere = Stage::new();
    let replay = |bundle: &Value| {
        fs::write(elsewhere.work().join("bundle"), bundle.to_string()).expect("written");
        elsewhere.run(&["replay", "bundle"]).status.code()
    };
    assert_eq!(replay(&bundle), Some(0));
    for models in [None, Some(Value::Null), Some(json!(""))] {
        let mut cut = bundle.clone();
        cut.as_object_mut().expect("an object").remove("models");
        cut.as_object_mut().expect("an object").extend(models.map(|models| ("models".to_owned(), models)));
        assert_eq!(replay(&cut), Some(1), "the record is another");
    }
    assert_eq!(server.asked().len(), asked);
}
