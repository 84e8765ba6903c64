//! A server that fails in every way: the answer is bounded, never invented, and asked for again only where that may help.

use super::server::{Act, Server};
use super::*;
use crate::support::CLOSED_PORT;
use std::time::{Duration, Instant};

fn status(status: u16) -> Act {
    Act::Status(status, "", r#"{"error": {"message": "busy just now"}}"#.to_owned())
}

fn text(answer: Result<ModelAnswer, NoAnswer>) -> String {
    answer.map_or_else(|why| why.to_string(), |answer| answer.text)
}

#[test]
fn what_may_pass_is_tried_again() {
    for api in APIS {
        for first in [
            vec![Act::Status(429, "retry-after: 0\r\n", String::new())],
            vec![status(529), Act::Cut],
            vec![Act::HangUp],
        ] {
            let requests = first.len() + 1;
            let server = Server::doing([first, vec![Act::Say("yes".to_owned())]].concat());
            let (used, answer) = ask(api, &server.url, "");
            assert_eq!((text(answer).as_str(), used.requests as usize), ("yes", requests), "{api}");
            assert_eq!(server.asked().len(), requests);
        }
    }
}

#[test]
fn what_does_not_pass_ends_in_time() {
    for (act, expected) in [
        (status(500), "cannot reach the model: HTTP 500: busy just now (after 2 requests)"),
        (Act::Cut, "(after 2 requests)"),
        (Act::Drip, "the model did not answer within 600 ms"),
        (Act::Status(429, "retry-after: 30\r\n", String::new()), "cannot reach the model: HTTP 429 (after 1 request)"),
    ] {
        let server = Server::doing(vec![act.clone()]);
        let start = Instant::now();
        let said = text(ask("anthropic", &server.url, "timeout = \"600ms\"").1);
        assert!(said.ends_with(expected), "{act:?}: {said}");
        assert!(start.elapsed() < Duration::from_secs(5), "{act:?}");
    }
}

#[test]
fn a_mistake_of_ours_is_told_once() {
    let refused = |code: u16| format!("cannot reach the model: HTTP {code}: the server rejected the key in `{KEY}`");
    for (act, expected) in [
        (status(400), "cannot reach the model: HTTP 400: busy just now".to_owned()),
        (status(404), "cannot reach the model: HTTP 404: busy just now".to_owned()),
        (status(401), refused(401)),
        (status(403), refused(403)),
    ] {
        let server = Server::doing(vec![act]);
        assert_eq!(text(ask("openai", &server.url, "").1), expected);
        assert_eq!(server.asked().len(), 1);
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let other = Server::doing(vec![Act::Say("yes".to_owned())]);
    let headers = format!("location: {}/v1/messages\r\n", other.url);
    for code in [301, 302, 307, 308] {
        let server = Server::doing(vec![Act::Status(code, headers.clone().leak(), String::new())]);
        let said = text(ask("anthropic", &server.url, "").1);
        assert!(said.contains("which is not followed; set `url`"), "{said}");
    }
    assert!(other.asked().is_empty());
}

#[test]
fn what_is_not_an_answer_is_not_read_as_one() {
    let body = |text: &str| Act::Body(text.as_bytes().to_vec());
    for act in [
        body(""),
        body("<!doctype html><html><body>REVIEW_PASS</body></html>"),
        body("REVIEW_PASS"),
        body("{}"),
        body("[]"),
        body(r#"{"content": "yes", "choices": "yes"}"#),
        body(r#"{"content": [], "choices": []}"#),
        body(
            r#"{"content": [{"type": "text"}], "stop_reason": "end_turn", "choices": [{"finish_reason": "stop", "message": {}}]}"#,
        ),
        body(
            r#"{"content": [{"type": "text", "text": "no"}], "content": [{"type": "text", "text": "yes"}], "choices": [{"message": {"content": "no", "content": "yes"}}]}"#,
        ),
        body(
            r#"{"content": [{"type": "tool_use", "name": "answer", "input": {}}, {"type": "tool_use", "name": "answer", "input": {}}], "choices": [{}, {}]}"#,
        ),
        Act::Say(String::new()),
        Act::Say(" \n".to_owned()),
        Act::Body(vec![b'x'; 10 << 20]),
        Act::Body([&br#"{"content": [{"type": "text", "text": ""#[..], &vec![b'x'; 10 << 20], br#""}]}"#].concat()),
        Act::Body(b"{\"content\": [{\"type\": \"text\", \"text\": \"\xff\"}]}".to_vec()),
    ] {
        for api in APIS {
            let server = Server::doing(vec![act.clone()]);
            let (used, answer) = ask(api, &server.url, "");
            let shown = format!("{api} {:.100}", format!("{act:?}"));
            assert!(matches!(answer, Err(NoAnswer::Malformed(_))), "{shown}: {answer:?}");
            assert_eq!((used.requests, used.ended.as_str()), (1, "malformed"), "{shown}");
        }
    }
}

#[test]
fn a_server_that_is_not_there_is_unreachable() {
    let (used, answer) = ask("openai", &format!("http://127.0.0.1:{CLOSED_PORT}"), "timeout = \"400ms\"");
    assert!(matches!(answer, Err(NoAnswer::Unreachable(_))), "{answer:?}");
    assert!(used.requests >= 1);
}

#[test]
fn no_word_of_it_holds_the_key() {
    let key = std::env::var(KEY).expect("cargo sets it");
    // As JSON may write it, too.
    let slashes = key.replace('/', "\\/");
    let numbers: String = key.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    let mut acts = Vec::new();
    for written in [&key, &slashes, &numbers] {
        let error = format!(r#"{{"error": {{"message": "wrong key {written}"}}}}"#);
        acts.extend([400, 401, 404, 429, 500].map(|status| Act::Status(status, "retry-after: 61\r\n", error.clone())));
        let answer = format!(
            r#"{{"model": "{written}", "stop_reason": "end_turn", "content": [{{"type": "text", "text": "It is {written}."}}],
                "choices": [{{"finish_reason": "stop", "message": {{"content": "It is {written}."}}}}]}}"#
        );
        acts.push(Act::Body(answer.into_bytes()));
        acts.push(Act::Body(format!("<p>{written}</p>").into_bytes()));
        acts.push(Act::Body(format!(r#"{{"{written}": 1, "{written}": 2}}"#).into_bytes()));
    }
    // Long enough to be cut within the key.
    let long = format!(r#"{{"error": {{"message": "{}{key}"}}}}"#, "x".repeat(202 - key.len()));
    acts.push(Act::Status(400, "", long));
    acts.push(Act::Status(302, format!("location: https://elsewhere/?key={key}\r\n").leak(), String::new()));
    let folder = crate::support::tempdir().expect("a folder");
    for (number, act) in acts.into_iter().enumerate() {
        for api in APIS {
            let server = Server::doing(vec![act.clone()]);
            let tape = folder.path().join(format!("{api}{number}"));
            let recorded = Some(ModelTape::record(&tape).expect("a tape"));
            let models = models(model(api, &server.url, ""), Executor::default(), recorded);
            let (used, answer) = ask_all(&models, 1).remove(0);
            let tape = std::fs::read_to_string(tape).expect("a tape");
            let told = format!("{models:?} {used:?} {answer:?} {tape}");
            assert!(!told.contains(&key[..key.len() - 3]), "{api} {act:?}: {told}");
            assert_eq!(answer.is_ok(), told.contains("It is [key]."), "{api} {act:?}: {told}");
        }
    }
}

#[test]
fn any_number_of_tokens_is_only_a_number() {
    let most = u64::MAX;
    let usage = format!(
        r#"{{"input_tokens": {most}, "cache_creation_input_tokens": {most}, "cache_read_input_tokens": 1, "output_tokens": {most},
            "prompt_tokens": {most}, "completion_tokens": {most}}}"#
    );
    let body = format!(
        r#"{{"usage": {usage}, "stop_reason": "end_turn", "content": [{{"type": "text", "text": "yes"}}],
            "choices": [{{"finish_reason": "stop", "message": {{"content": "yes"}}}}]}}"#
    );
    for api in APIS {
        let server = Server::doing(vec![Act::Body(body.clone().into_bytes())]);
        let models = models(model(api, &server.url, ""), Executor::default(), None);
        let answers = ask_all(&models, 2);
        assert_eq!((answers[0].0.input_tokens, answers[0].0.output_tokens), (Some(most), Some(most)), "{api}");
        // It is believed: nothing is left for the second.
        assert_eq!(answers[1].1, Err(NoAnswer::Budget("tokens".to_owned())), "{api}");
    }
}
