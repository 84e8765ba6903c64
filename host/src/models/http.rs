//! Sends one HTTP request, bounded in time and size. Redirects are not followed and no proxy is used, so that a key is sent
//! only to the configured address.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use ureq::Agent;
use ureq::http::header::{LOCATION, RETRY_AFTER};
use ureq::tls::{RootCerts, TlsConfig};

/// A client that is created on first use, because its TLS setup costs more than a whole run without models.
#[derive(Debug, Default)]
pub(super) struct Client(OnceLock<Agent>);

/// A request.
pub(super) struct HttpRequest {
    pub(super) url: String,
    /// Names and values. Values are never shown.
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
    pub(super) timeout: Duration,
    /// The most bytes of the response.
    pub(super) limit: u64,
}

/// A response.
#[derive(Debug)]
pub(super) struct HttpResponse {
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    pub(super) location: Option<String>,
    pub(super) body: Vec<u8>,
}

/// Why there is no complete response.
#[derive(Debug)]
pub(super) enum HttpError {
    /// The request timed out.
    Late,
    /// The response is too long.
    TooLong,
    /// The connection failed.
    Connection(String),
    /// The request is invalid.
    Unsendable(String),
}

impl Client {
    /// Returns the client for another thread.
    pub(super) fn agent(&self) -> Agent {
        self.0.get_or_init(make).clone()
    }
}

fn make() -> Agent {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).unversioned_rustls_crypto_provider(provider);
    Agent::config_builder()
        .tls_config(tls.build())
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .max_idle_connections(0)
        .user_agent(concat!("gatehost/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent()
}

/// Sends a request and reads the whole response.
pub(super) fn send(agent: &Agent, request: HttpRequest) -> Result<HttpResponse, HttpError> {
    let mut builder = agent.post(&request.url).config().timeout_global(Some(request.timeout)).build();
    for (name, value) in &request.headers {
        builder = builder.header(*name, value);
    }
    let mut response = builder.send(&request.body[..]).map_err(trouble)?;
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let retry_after = header(RETRY_AFTER).and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
    let location = header(LOCATION).map(str::to_owned);
    let status = response.status().as_u16();
    let body = response.body_mut().with_config().limit(request.limit).read_to_vec().map_err(trouble)?;
    Ok(HttpResponse { status, retry_after, location, body })
}

fn trouble(error: ureq::Error) -> HttpError {
    match error {
        ureq::Error::Timeout(_) => HttpError::Late,
        ureq::Error::BodyExceedsLimit(_) => HttpError::TooLong,
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut => HttpError::Late,
        // Not shown, because a header contains a secret.
        ureq::Error::Http(_) => HttpError::Unsendable("the address or the key cannot be sent".to_owned()),
        ureq::Error::BadUri(why) => HttpError::Unsendable(why),
        other => HttpError::Connection(other.to_string()),
    }
}
