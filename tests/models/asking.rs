//! What is sent, what is made of the answer, and what keeps a question from being asked at all.

use super::server::{Act, Server};
use super::*;
use crate::guests;
use gatehost::environment::Environment;
use gatehost::limits::Limits;
use gatehost::models::Stop;
use gatehost::runtime::{AskModels, CallContext, Capabilities, ComponentSource, Granted, Grants, Runtime};
use gatehost::submission::Submission;
use gatehost::verdict::{ErrorKind, Status};

fn say(text: &str) -> Act {
    Act::Say(text.to_owned())
}

#[test]
fn both_apis_are_asked_as_they_want_to_be() {
    let key = std::env::var(KEY).expect("cargo sets it");
    for api in APIS {
        let server = Server::doing(vec![say("It is good.")]);
        let (used, answer) = ask(api, &format!("{}/", server.url), "max_tokens = 77");
        let answer = answer.unwrap_or_else(|why| panic!("{api}: {why}"));
        assert_eq!((answer.text.as_str(), answer.stop), ("It is good.", Stop::End), "{api}");
        assert_eq!((used.input_tokens, used.output_tokens, used.requests), (Some(100), Some(10), 1));
        assert_eq!((used.model.as_deref(), used.ended.as_str()), (Some("small-1"), "end"));
        let asked = &server.asked()[0];
        assert_eq!((asked.system(), asked.prompt()), ("You are a reviewer.", "Is it good?"));
        assert_eq!((asked.body["model"].as_str(), asked.body["max_tokens"].as_u64()), (Some("small"), Some(77)));
        assert!(asked.body["stream"].is_null());
        match api {
            "anthropic" => {
                assert_eq!(asked.path, "/v1/messages");
                assert_eq!(asked.header("x-api-key"), Some(&*key));
                assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
                assert_eq!(asked.header("authorization"), None);
            }
            _ => {
                assert_eq!(asked.path, "/chat/completions");
                assert_eq!(asked.header("authorization"), Some(&*format!("Bearer {key}")));
                assert_eq!(asked.header("x-api-key"), None);
            }
        }
    }
}

#[test]
fn a_schema_is_sent_in_the_form_of_each_api() {
    let schema = r#"{"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": false}"#;
    for api in APIS {
        let server = Server::doing(vec![say(r#"{"ok": true}"#)]);
        let models = models(model(api, &server.url, ""), Executor::default(), None);
        let question = ModelQuestion { answer_schema: Some(schema.to_owned()), ..question(&models, "Well?") };
        let answer = tokio().block_on(models.ask("m", question)).1.expect("an answer");
        let json: serde_json::Value = serde_json::from_str(&answer.text).expect("JSON");
        assert_eq!((json, answer.stop), (serde_json::json!({ "ok": true }), Stop::End), "{api}");
        let body = &server.asked()[0].body;
        match api {
            "anthropic" => {
                assert_eq!(body["tool_choice"]["name"], body["tools"][0]["name"]);
                assert_eq!(body["tools"][0]["input_schema"]["required"][0], "ok");
            }
            _ => {
                assert_eq!(body["response_format"]["json_schema"]["schema"]["required"][0], "ok");
                assert_eq!(body["response_format"]["json_schema"]["strict"], true);
            }
        }
    }
}

#[test]
fn why_an_answer_ended_is_told() {
    for (api, why, stop) in [
        ("anthropic", "max_tokens", Stop::Length),
        ("anthropic", "refusal", Stop::Refusal),
        ("anthropic", "pause_turn", Stop::Other),
        ("openai", "length", Stop::Length),
        ("openai", "content_filter", Stop::Refusal),
        ("openai", "tool_calls", Stop::Other),
    ] {
        let server = Server::doing(vec![Act::Stop("I".to_owned(), why)]);
        let (used, answer) = ask(api, &server.url, "");
        assert_eq!(answer.expect("an answer").stop, stop, "{api}: {why}");
        assert_eq!(used.ended, stop.as_str());
    }
}

#[test]
fn the_executors_own_model_is_not_asked() {
    let executor = |model: &str| Executor { model: Some(model.to_owned()), ..Executor::default() };
    for (own, more, expected) in [
        ("small", "", Err(NoAnswer::NotDistinct)),
        ("vendor/Small-20260101", "", Err(NoAnswer::NotDistinct)),
        // What it was asked by was another name, and what it says that it is, is not.
        ("small-1", "", Err(NoAnswer::NotDistinct)),
        ("small", "distinct = false", Ok("yes")),
        ("large", "", Ok("yes")),
    ] {
        let server = Server::doing(vec![say("yes")]);
        let models = models(model("openai", &server.url, more), executor(own), None);
        let answer = ask_all(&models, 1).remove(0).1;
        assert_eq!(answer.as_ref().map(|answer| answer.text.as_str()), expected.as_ref().copied(), "{own}");
        if own == "small" && more.is_empty() {
            assert_eq!(server.asked().len(), 0);
        }
    }
}

#[test]
fn what_is_used_up_is_not_asked_for() {
    for (more, spent, answered) in [
        ("max_requests = 2", "requests", 2),
        // Each question is estimated at some 4,110 tokens and takes 110.
        ("max_run_tokens = 4200", "tokens", 1),
        ("max_run_tokens = 4000", "tokens", 0),
        ("max_run_bytes = 100", "bytes", 0),
        ("max_run_bytes = \"1KB\"", "bytes", 3),
    ] {
        let server = Server::doing(vec![say("yes")]);
        let answers = ask_all(&models(model("openai", &server.url, more), Executor::default(), None), 4);
        let good = answers.iter().take_while(|(_, answer)| answer.is_ok()).count();
        let last = answers[3].1.clone().expect_err("used up");
        assert_eq!((good, last), (answered, NoAnswer::Budget(spent.to_owned())), "{more}");
        assert!(server.asked().len() <= answered + 1, "{more}");
    }
}

#[test]
fn the_time_of_all_questions_together_is_bounded() {
    let server = Server::doing(vec![Act::Drip]);
    let models = models(model("openai", &server.url, "max_run_time = \"150ms\""), Executor::default(), None);
    let answers = ask_all(&models, 2);
    assert_eq!(answers[0].1, Err(NoAnswer::Timeout("150 ms".to_owned())));
    assert_eq!(answers[1].1, Err(NoAnswer::Budget("time".to_owned())));
}

#[test]
fn a_key_that_is_missing_or_would_travel_in_clear_is_not_sent() {
    let server = Server::doing(vec![say("yes")]);
    let missing = ModelConfig { key_env: Some("GATEHOST_NO_SUCH_KEY".to_owned()), ..model("openai", &server.url, "") };
    let answer = ask_all(&models(missing, Executor::default(), None), 1).remove(0).1;
    let expected = "set the environment variable `GATEHOST_NO_SUCH_KEY` to the key";
    assert_eq!(answer, Err(NoAnswer::Unreachable(expected.to_owned())));
    let clear = ModelConfig { url: Some("http://192.0.2.1:1".to_owned()), ..model("openai", &server.url, "") };
    let answer = ask_all(&models(clear, Executor::default(), None), 1).remove(0).1;
    assert_eq!(answer, Err(NoAnswer::Unreachable("a key is not sent over plain http".to_owned())));
    assert!(server.asked().is_empty());
}

/// Models behind a command that repeats its input.
fn behind_a_command(more: &str) -> (tempfile::TempDir, Models) {
    let file = format!(
        "[gate.g]\nall = [\"c\"]\n[check.c]\nverifier = \"x\"\n[command.ask]\nrun = [\"cat\"]\n[model.m]\napi = \"command\"\ncommand = \"ask\"\n{more}\n"
    );
    let config = config::parse(file.as_bytes()).expect("valid");
    let folder = crate::support::tempdir().expect("a folder");
    let commands = Commands::new(config.commands, folder.path().to_owned());
    let commands = Arc::new(commands.with_environment(Environment::of_process()));
    (folder, Models::new(config.models, commands, Executor::default(), None))
}

/// What repeats its input has been asked all of it.
#[test]
fn a_command_is_asked_by_its_standard_input() {
    let (_folder, models) = behind_a_command("");
    let (used, answer) = ask_all(&models, 1).remove(0);
    let answer = answer.expect("an answer");
    assert_eq!((answer.text.as_str(), answer.stop), ("You are a reviewer.\n\nIs it good?\n", Stop::End));
    assert_eq!(used.model.as_deref(), Some("ask"));
}

#[test]
fn the_bytes_of_a_command_are_counted_too() {
    // The question has 33 bytes, and so has the answer.
    for (most, answered) in [(32, 0), (50, 0), (66, 1), (98, 1), (131, 1), (132, 2)] {
        let (_folder, models) = behind_a_command(&format!("max_run_bytes = {most}"));
        let answers = ask_all(&models, 3);
        let good = answers.iter().take_while(|(_, answer)| answer.is_ok()).count();
        let last = answers[2].1.clone().expect_err("used up");
        assert_eq!((good, last), (answered, NoAnswer::Budget("bytes".to_owned())), "{most}");
    }
}

/// The guest asks, does not care, and passes: that counts only if there was an answer.
#[test]
fn a_guest_cannot_pass_on_a_question_without_an_answer() {
    let runtime = Runtime::new(None);
    let guest = ComponentSource::from_bytes(guests::component("models/pass-anyway"));
    for (act, granted, expected) in [
        (say("no"), "m", None),
        (Act::Status(400, "", String::new()), "m", Some(ErrorKind::LlmUnreachable)),
        (Act::Body(b"<html>".to_vec()), "m", Some(ErrorKind::LlmMalformed)),
        (say(" "), "m", Some(ErrorKind::LlmMalformed)),
        (say("no"), "other", Some(ErrorKind::LinkCapabilityDenied)),
    ] {
        let server = Server::doing(vec![act.clone()]);
        let by = Arc::new(models(model("openai", &server.url, ""), Executor::default(), None));
        let granted = Granted { names: vec![granted.to_owned()], by: by as Arc<dyn AskModels> };
        let capabilities = Capabilities { models: Some(granted), ..Capabilities::default() };
        let grants = Grants::from_iter(["model:m".parse().expect("a grant")]);
        let verifier = runtime.load(&guest, &grants).expect("loaded");
        let limits = Limits::default();
        let terms = CallContext { capabilities: Some(&capabilities), ..CallContext::new("{}", &limits) };
        let answer = tokio().block_on(runtime.check_submission(&verifier, &terms, Submission::default()));
        let expected_status = if expected.is_some() { Status::Error } else { Status::Pass };
        assert_eq!(answer.verdict.status, expected_status, "{act:?}");
        assert_eq!(answer.verdict.error.map(|failure| failure.kind), expected, "{act:?}");
    }
}
