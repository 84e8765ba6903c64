//! Sends a question over HTTP, and retries where that may help: too many requests, a server error, a broken connection.
//! There is no retry after an answer, whatever it says.

use super::budget::Spending;
use super::http::{self, Client, HttpError, HttpRequest, HttpResponse};
use super::key::ApiKey;
use super::prompt::Rendered;
use super::{ModelExchange, NoAnswer, Reply, anthropic, no_answer_within, openai, random, strict};
use crate::config::{Api, ModelConfig};
use crate::environment::Environment;
use crate::text::clean_line;
use serde_json::Value;
use std::time::{Duration, Instant};

/// The most bytes of one answer.
const MAX_BODY: u64 = 4 << 20;
/// The most requests for one question.
const MAX_ATTEMPTS: u32 = 5;
/// The wait before the second request; each further one is twice as long.
const BACKOFF: Duration = Duration::from_millis(250);
/// The longest wait between two requests that a server can ask for.
const MAX_WAIT: Duration = Duration::from_secs(60);

pub(super) async fn ask(
    client: &Client,
    environment: &Environment,
    model: &ModelConfig,
    question: &Rendered,
    within: Duration,
    spending: &Spending<'_>,
) -> ModelExchange {
    let deadline = Instant::now() + within;
    let mut attempts = 0;
    let came = async {
        let key = ApiKey::of(model, environment)?;
        let body = body(model, question);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(no_answer_within(within));
            }
            spending.sent(body.len() as u64)?;
            attempts += 1;
            let limit = spending.bytes_left().min(MAX_BODY);
            let headers = headers(model, key.as_ref());
            let request = HttpRequest { url: url(model), headers, body: body.clone(), timeout: left, limit };
            let agent = client.agent();
            let sent = tokio::task::spawn_blocking(move || http::send(&agent, request)).await;
            let sent = sent.map_err(|error| NoAnswer::Unreachable(error.to_string()))?;
            if let Ok(response) = &sent {
                spending.received(response.body.len() as u64);
            }
            // Before anything reads the response.
            let sent = match &key {
                Some(key) => key.taken_out(sent),
                None => sent,
            };
            let (why, wait) = match understood(model, sent, within, limit) {
                ResponseAction::Done(came) => return came,
                ResponseAction::Again(why, wait) => (why, wait),
            };
            let wait = wait.unwrap_or_else(|| backoff(attempts));
            let left = deadline.saturating_duration_since(Instant::now());
            if attempts >= MAX_ATTEMPTS || wait > MAX_WAIT || wait >= left {
                let requests = if attempts == 1 { "1 request".to_owned() } else { format!("{attempts} requests") };
                return Err(NoAnswer::Unreachable(format!("{why} (after {requests})")));
            }
            tokio::time::sleep(wait).await;
        }
    }
    .await;
    ModelExchange { came, attempts }
}

/// Sends an empty question, which costs nothing, to find out whether the server accepts the key. Blocks.
pub(super) fn reach(environment: &Environment, model: &ModelConfig, within: Duration) -> Result<(), NoAnswer> {
    let key = ApiKey::of(model, environment)?;
    let headers = headers(model, key.as_ref());
    let request = HttpRequest { url: url(model), headers, body: b"{}".to_vec(), timeout: within, limit: MAX_BODY };
    let sent = http::send(&Client::default().agent(), request);
    let sent = match &key {
        Some(key) => key.taken_out(sent),
        None => sent,
    };
    // The server understood that the question is empty.
    if matches!(&sent, Ok(response) if matches!(response.status, 400 | 422)) {
        return Ok(());
    }
    match understood(model, sent, within, MAX_BODY) {
        ResponseAction::Done(Ok(_) | Err(NoAnswer::Malformed(_))) => Ok(()),
        ResponseAction::Done(Err(why)) => Err(why),
        ResponseAction::Again(why, _) => Err(NoAnswer::Unreachable(why)),
    }
}

/// How a response is handled.
enum ResponseAction {
    Done(Result<Reply, NoAnswer>),
    /// Retry, for this reason, after the time that the server asked for.
    Again(String, Option<Duration>),
}

fn understood(
    model: &ModelConfig,
    sent: Result<HttpResponse, HttpError>,
    within: Duration,
    limit: u64,
) -> ResponseAction {
    use ResponseAction::{Again, Done};
    let unreachable = |why: String| Done(Err(NoAnswer::Unreachable(why)));
    let response = match sent {
        Ok(response) => response,
        Err(HttpError::Late) => return Done(Err(no_answer_within(within))),
        Err(HttpError::TooLong) if limit < MAX_BODY => return Done(Err(NoAnswer::Budget("bytes".to_owned()))),
        Err(HttpError::TooLong) => {
            return Done(Err(NoAnswer::Malformed(format!("it has more than {MAX_BODY} bytes"))));
        }
        Err(HttpError::Connection(why)) => return Again(clean_line(&why, 200), None),
        Err(HttpError::Unsendable(why)) => return unreachable(why),
    };
    let status = response.status;
    match status {
        200..=299 => Done(read(model, &response.body)),
        300..=399 => {
            let to = clean_line(response.location.as_deref().unwrap_or("nowhere"), 100);
            unreachable(format!("HTTP {status}: a redirect to {to}, which is not followed; set `url`"))
        }
        // The body may contain a part of the key, which cannot be recognised.
        401 | 403 => match &model.key_env {
            Some(variable) => unreachable(format!("HTTP {status}: the server rejected the key in `{variable}`")),
            None => unreachable(format!("HTTP {status}: a key is needed; set `key_env`")),
        },
        408 | 429 | 500..=599 => Again(format!("HTTP {status}{}", error_message(&response.body)), response.retry_after),
        _ => unreachable(format!("HTTP {status}{}", error_message(&response.body))),
    }
}

fn read(model: &ModelConfig, body: &[u8]) -> Result<Reply, NoAnswer> {
    let json = strict::parse(body).map_err(|error| {
        let start = clean_line(&String::from_utf8_lossy(&body[..body.len().min(200)]), 60);
        NoAnswer::Malformed(format!("expected JSON, found `{start}` ({error})"))
    })?;
    let mut reply = match model.api {
        Api::Anthropic => anthropic::reply(&json),
        Api::Openai | Api::Command => openai::reply(&json),
    }?;
    if reply.model.is_empty() {
        reply.model = model.model.clone().unwrap_or_default();
    }
    Ok(reply)
}

/// Returns the error message of a response, in the format that both APIs use.
fn error_message(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let message = body["error"]["message"].as_str().or_else(|| body["error"].as_str()).unwrap_or_default();
    if message.is_empty() { String::new() } else { format!(": {}", clean_line(message, 200)) }
}

fn url(model: &ModelConfig) -> String {
    let (url, path) = match model.api {
        Api::Anthropic => (anthropic::URL, anthropic::PATH),
        Api::Openai | Api::Command => (openai::URL, openai::PATH),
    };
    format!("{}{path}", model.url.as_deref().unwrap_or(url).trim_end_matches('/'))
}

fn headers(model: &ModelConfig, key: Option<&ApiKey>) -> Vec<(&'static str, String)> {
    let mut headers = vec![("content-type", "application/json".to_owned()), ("accept", "application/json".to_owned())];
    match model.api {
        Api::Anthropic => {
            headers.push(("anthropic-version", anthropic::VERSION.to_owned()));
            headers.extend(key.map(|key| ("x-api-key", key.in_clear().to_owned())));
        }
        Api::Openai | Api::Command => {
            headers.extend(key.map(|key| ("authorization", format!("Bearer {}", key.in_clear()))))
        }
    }
    headers
}

fn body(model: &ModelConfig, question: &Rendered) -> Vec<u8> {
    let request = match model.api {
        Api::Anthropic => anthropic::request(model, question),
        Api::Openai | Api::Command => openai::request(model, question),
    };
    request.to_string().into_bytes()
}

/// Returns the wait before a retry: twice as long each time, plus up to half as much at random, so that clients do not retry
/// at the same moment.
fn backoff(attempts: u32) -> Duration {
    let wait = BACKOFF * 2u32.saturating_pow(attempts.saturating_sub(1));
    let [jitter] = random::<1>().unwrap_or_default();
    wait + wait * u32::from(jitter) / 512
}
