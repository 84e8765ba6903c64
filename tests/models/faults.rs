//! A server that fails in every way: the answer is bounded, never invented, and asked for again only where that may help.

use super::server::{Act, Server};
use super::*;
use std::time::{Duration, Instant};

fn status(status: u16) -> Act {
    Act::Status(status, "", r#"{"error": {"message": "busy just now"}}"#.to_owned())
}

fn text(answer: Result<Answer, NoAnswer>) -> String {
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
        (status(500), "the model could not be asked: HTTP 500: busy just now (after 2 requests)"),
        (Act::Cut, "(after 2 requests)"),
        (Act::Drip, "the model could not be asked: no answer within 600 ms"),
        (
            Act::Status(429, "retry-after: 30\r\n", String::new()),
            "the model could not be asked: HTTP 429 (after 1 request)",
        ),
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
    let refused = |code: u16| format!("the model could not be asked: HTTP {code}: the key in `{KEY}` is refused");
    for (act, expected) in [
        (status(400), "the model could not be asked: HTTP 400: busy just now".to_owned()),
        (status(404), "the model could not be asked: HTTP 404: busy just now".to_owned()),
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
            assert_eq!((used.requests, used.ended), (1, "malformed"), "{shown}");
        }
    }
}

#[test]
fn a_server_that_is_not_there_is_unreachable() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let (used, answer) = ask("openai", &format!("http://127.0.0.1:{port}"), "timeout = \"400ms\"");
    assert!(matches!(answer, Err(NoAnswer::Unreachable(_))), "{answer:?}");
    assert!(used.requests >= 1);
}

#[test]
fn no_word_of_it_holds_the_key() {
    let key = std::env::var(KEY).expect("cargo sets it");
    let echo = format!(r#"{{"error": {{"message": "wrong key {key}"}}}}"#);
    let server = Server::doing(vec![Act::Status(401, "", echo)]);
    let models = models(model("openai", &server.url, ""), Executor::default(), None);
    let (used, answer) = ask_all(&models, 1).remove(0);
    assert!(!format!("{models:?} {used:?} {answer:?}").contains(&key));
}
