//! `[model.*]`: models that a check can be granted by name.

use super::DEADLINE;
use super::check::must_be_declared;
use super::command::{CommandConfig, timeout, variable};
use super::read::{Table, TomlValue};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The default and the longest time limit of a model.
pub(crate) const MODEL_TIMEOUT: (Duration, Duration) = (Duration::from_secs(3 * 60), Duration::from_secs(10 * 60));

/// The API of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// The Anthropic API.
    Anthropic,
    /// The OpenAI API, or a compatible server.
    Openai,
    /// A command of the configuration.
    Command,
}

/// A model that checks can be granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelConfig {
    /// The API.
    pub api: Api,
    /// The name of the model; required unless the API is a command.
    pub model: Option<String>,
    /// The name of the environment variable that holds the key.
    pub key_env: Option<String>,
    /// The address of the API, if it is not the usual one.
    pub url: Option<String>,
    /// The name of the command; set only if the API is a command.
    pub command: Option<String>,
    /// The most tokens of one answer.
    pub max_tokens: u32,
    /// The most requests of one run.
    pub max_requests: u32,
    /// The most tokens of one run, in requests and answers together.
    pub max_run_tokens: u64,
    /// The most bytes of one run, sent and received together.
    pub max_run_bytes: u64,
    /// The most time of one run, for all requests together.
    #[serde(rename = "max_run_time_ms", serialize_with = "crate::config::milliseconds")]
    pub max_run_time: Duration,
    /// The time limit of an answer, including all retries.
    #[serde(rename = "timeout_ms", serialize_with = "crate::config::milliseconds")]
    pub timeout: Duration,
    /// Whether the model must differ from the one that did the work.
    pub distinct: bool,
    /// The family that it belongs to.
    pub family: Option<String>,
    /// The price.
    pub price: Option<Price>,
}

/// The price of a million tokens, in thousandths of a currency unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Price {
    /// The price of input tokens.
    pub input: u64,
    /// The price of output tokens.
    pub output: u64,
}

impl ModelConfig {
    /// Returns the cost of a request with so many tokens, if the price is configured.
    pub fn cost(&self, input: u64, output: u64) -> Option<f64> {
        let price = self.price?;
        let milli = u128::from(input) * u128::from(price.input) + u128::from(output) * u128::from(price.output);
        // Rounded to a millionth of a currency unit.
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52 after the division")]
        Some((milli / 1_000) as f64 / 1e6)
    }

    /// Returns whether the key would be sent unencrypted.
    pub(crate) fn sends_key_in_clear(&self) -> bool {
        let Some(rest) = self.url.as_deref().and_then(|url| url.strip_prefix("http://")) else { return false };
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let bare = match host.strip_prefix('[') {
            Some(v6) => v6.split(']').next().unwrap_or_default(),
            None => host.rsplit_once(':').map_or(host, |(host, _)| host),
        };
        let loopback = bare == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
        self.key_env.is_some() && !loopback
    }
}

pub(super) fn read(mut table: Table<'_>, commands: &BTreeMap<String, CommandConfig>) -> ModelConfig {
    let apis = [("anthropic", Api::Anthropic), ("openai", Api::Openai), ("command", Api::Command)];
    let api = table.need("api", "`anthropic`, `openai` or `command`").and_then(|value| value.word(&apis));
    let by_command = api == Some(Api::Command);
    let [model, key_env, url, command] = ["model", "key_env", "url", "command"].map(|key| table.get(key));
    match (by_command, &command) {
        (true, None) => table.here.problem("expected `command`: the name of a `[command.NAME]`"),
        (false, Some(command)) if api.is_some() => {
            command.problem("`command` is allowed only with `api = \"command\"`")
        }
        _ => {}
    }
    if by_command {
        for (key, value) in [("key_env", &key_env), ("url", &url)] {
            if let Some(value) = value {
                value.problem(format!("`{key}` is not allowed with `api = \"command\"`"));
            }
        }
    } else if api.is_some() && model.is_none() {
        table.here.problem("expected `model`: the name that the API gives it");
    }
    let place_of_url = url.clone();
    let model = ModelConfig {
        api: api.unwrap_or(Api::Command),
        model: model.and_then(|value| value.text("the name that the API gives the model")),
        key_env: key_env.and_then(|value| variable(&value)),
        url: url.and_then(|value| address(&value)),
        command: command.filter(|_| by_command).and_then(|value| {
            let name = value.text("the name of a `[command.NAME]`")?;
            must_be_declared(&value, "command", &name, commands);
            if commands.get(&name).is_some_and(|command| command.takes_files() || command.fixes) {
                value.problem("expected a command that answers questions, found one with `{files}` or `fixes`");
            }
            Some(name)
        }),
        max_tokens: table.get("max_tokens").and_then(|value| value.small(1..=1_000_000)).unwrap_or(4_096),
        max_requests: table.get("max_requests").and_then(|value| value.small(1..=1_000)).unwrap_or(16),
        max_run_tokens: table
            .get("max_run_tokens")
            .and_then(|value| value.number(1..=1_000_000_000))
            .unwrap_or(1_000_000),
        max_run_bytes: table.get("max_run_bytes").and_then(|value| value.size()).unwrap_or(16 << 20),
        max_run_time: table.get("max_run_time").and_then(|value| value.duration_up_to(DEADLINE)).unwrap_or(DEADLINE),
        timeout: timeout(&mut table, MODEL_TIMEOUT),
        distinct: table.get("distinct").and_then(|value| value.flag()).unwrap_or(true),
        family: table.get("family").and_then(|value| value.text("the family that the model belongs to")),
        price: table
            .get("price")
            .and_then(|value| read_price(value.table("a table such as `{ input = 3.0, output = 15.0 }`")?)),
    };
    if let Some(url) = place_of_url.filter(|_| !by_command && model.sends_key_in_clear()) {
        url.problem("expected `https://`: a key is never sent unencrypted, except to this machine");
    }
    table.finish();
    model
}

fn read_price(mut table: Table<'_>) -> Option<Price> {
    let input = table.need("input", "the price of a million input tokens").and_then(|value| value.price());
    let output = table.need("output", "the price of a million output tokens").and_then(|value| value.price());
    table.finish();
    Some(Price { input: input?, output: output? })
}

fn address(value: &TomlValue<'_>) -> Option<String> {
    let Some(url) = value.as_str().filter(|url| url.starts_with("https://") || url.starts_with("http://")) else {
        return value.expected("an address that starts with `https://` or `http://`");
    };
    if url.contains(['@', '?', '#']) || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        // Not shown, because it may contain a password.
        value.problem(
            "expected an address without `@`, `?`, `#` and spaces; put a key into the variable that `key_env` names",
        );
        return None;
    }
    Some(url.to_owned())
}
