//! The key of a model: read when the model is asked, sent in one header, and never shown.
//!
//! A server knows the key and may repeat it: in an error, in a redirect, as the name of its model. So the key is removed
//! from every response before anything reads it.

use super::NoAnswer;
use super::http::{HttpError, HttpResponse};
use crate::config::ModelConfig;
use crate::environment::Environment;

/// The replacement for the key.
const SHOWN: &str = "[key]";
/// A shorter value is not a secret but a placeholder for a server without keys, and may well occur in an answer.
const SHORTEST: usize = 8;

/// A key. It cannot be printed.
pub(super) struct ApiKey(String);

impl ApiKey {
    /// Returns the key of a model, if it has one.
    pub(super) fn of(model: &ModelConfig, environment: &Environment) -> Result<Option<Self>, NoAnswer> {
        let Some(variable) = &model.key_env else { return Ok(None) };
        let unreachable = |why: String| Err(NoAnswer::Unreachable(why));
        match environment.text(variable).map(|key| key.trim().to_owned()) {
            Some(key) if key.is_empty() => {
                unreachable(format!("the environment variable `{variable}` is empty; set it to the key"))
            }
            Some(key) if !key.bytes().all(|byte| byte.is_ascii_graphic()) => {
                unreachable(format!("the value of the environment variable `{variable}` is not a key"))
            }
            Some(_) if model.sends_key_in_clear() => unreachable("a key is not sent over plain http".to_owned()),
            Some(key) => Ok(Some(Self(key))),
            None => unreachable(format!("set the environment variable `{variable}` to the key")),
        }
    }

    /// Returns the key as it is sent.
    pub(super) fn in_clear(&self) -> &str {
        &self.0
    }

    /// Returns a response without the key.
    pub(super) fn taken_out(&self, sent: Result<HttpResponse, HttpError>) -> Result<HttpResponse, HttpError> {
        match sent {
            Ok(response) => Ok(HttpResponse {
                location: response.location.map(|location| self.without(&location)),
                body: self.without_bytes(&response.body),
                ..response
            }),
            Err(HttpError::Connection(why)) => Err(HttpError::Connection(self.without(&why))),
            Err(HttpError::Unsendable(why)) => Err(HttpError::Unsendable(self.without(&why))),
            Err(trouble @ (HttpError::Late | HttpError::TooLong)) => Err(trouble),
        }
    }

    fn without(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.without_bytes(text.as_bytes())).into_owned()
    }

    fn without_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        if self.0.len() < SHORTEST {
            return bytes.to_vec();
        }
        let mut without = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some((first, others)) = rest.split_first() {
            if let Some(after) = self.at_start_of(rest) {
                without.extend_from_slice(SHOWN.as_bytes());
                rest = after;
            } else {
                without.push(*first);
                rest = others;
            }
        }
        without
    }

    /// Returns the rest after the key, if these bytes start with it, in any form that JSON allows.
    fn at_start_of<'b>(&self, bytes: &'b [u8]) -> Option<&'b [u8]> {
        self.0.bytes().try_fold(bytes, |rest, expected| {
            escaped(rest, expected).or_else(|| numbered(rest, expected)).or_else(|| rest.strip_prefix(&[expected]))
        })
    }
}

fn escaped(bytes: &[u8], expected: u8) -> Option<&[u8]> {
    if matches!(expected, b'"' | b'\\' | b'/') { bytes.strip_prefix(&[b'\\', expected]) } else { None }
}

fn numbered(bytes: &[u8], expected: u8) -> Option<&[u8]> {
    let (digits, rest) = bytes.strip_prefix(b"\\u")?.split_first_chunk::<4>()?;
    let number = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (number == u16::from(expected)).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_found_however_it_is_written() {
        let key = ApiKey(r#"sk/a"b\u-1"#.to_owned());
        for (text, expected) in [
            (r#"wrong key sk/a"b\u-1!"#, "wrong key [key]!"),
            (r#""sk/a\"b\\u-1""#, r#""[key]""#),
            (r#""sk\/a\u0022b\u005Cu\u002d1 and \u0073k/a\"b\\u-1""#, r#""[key] and [key]""#),
            (r#"sk/a"b\u-2 sk/a"b\u-"#, r#"sk/a"b\u-2 sk/a"b\u-"#),
            (r#"sk/sk/a"b\u-1"#, "sk/[key]"),
            ("", ""),
        ] {
            assert_eq!(key.without(text), expected, "{text}");
        }
        assert_eq!(key.without_bytes(b"\xffsk/a\"b\\u-1\xfe"), b"\xff[key]\xfe");
    }

    #[test]
    fn a_word_that_is_no_secret_is_left_alone() {
        assert_eq!(ApiKey("none".to_owned()).without("there is none"), "there is none");
    }
}
