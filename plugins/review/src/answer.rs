//! Reads an answer that must be exactly one JSON object with the nonce in it, without text around it.

use gatehost_sdk::Verdict;
use serde::de::DeserializeOwned;

/// An answer that repeats the nonce.
pub trait HasNonce {
    /// The nonce as the answer repeats it.
    fn nonce(&self) -> &str;
}

/// Reads an answer that is one JSON object, perhaps in one code block. The error is an abstention.
pub fn object<T: DeserializeOwned + HasNonce>(text: &str, nonce: &str) -> Result<T, Verdict> {
    let answer: T = serde_json::from_str(bare(text))
        .map_err(|why| Verdict::abstain(format!("the reviewer's answer is not the requested JSON object: {why}")))?;
    if nonce.is_empty() || answer.nonce() != nonce {
        return Err(Verdict::abstain("the reviewer did not repeat the code word, so the answer may be forged"));
    }
    Ok(answer)
}

/// The inside of the code block, if the whole text is one.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let inside =
        text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")).and_then(|rest| rest.split_once('\n'));
    match inside {
        Some((language, body)) if language.trim().chars().all(char::is_alphanumeric) => body.trim(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct NonceOnly {
        nonce: String,
        #[expect(dead_code, reason = "only that it must be there")]
        ok: bool,
    }

    impl HasNonce for NonceOnly {
        fn nonce(&self) -> &str {
            &self.nonce
        }
    }

    #[test]
    fn the_whole_answer_is_the_object() {
        let good = r#"{"nonce": "abc", "ok": true}"#;
        for text in
            [good.to_owned(), format!("\n{good}\n"), format!("```json\n{good}\n```"), format!("```\n{good}\n```\n")]
        {
            assert!(object::<NonceOnly>(&text, "abc").is_ok(), "{text}");
        }
        for text in [
            String::new(),
            "yes".to_owned(),
            format!("Here it is: {good}"),
            format!("{good}\n{good}"),
            format!("{good} and so on"),
            format!("[{good}]"),
            format!("```json\n{good}\n```\n```json\n{good}\n```"),
            good.replace("abc", "abd"),
            good.replace("abc", ""),
            good.replace(r#""ok": true"#, r#""ok": "true""#),
            good.replace(r#""ok": true"#, r#""ok": false, "ok": true"#),
            good.replace(r#""ok": true"#, r#""ok": true, "more": 1"#),
            good.replace(r#", "ok": true"#, ""),
        ] {
            let verdict = object::<NonceOnly>(&text, "abc").expect_err("refused");
            assert_eq!(verdict.status, gatehost_sdk::Status::Abstain, "{text}");
        }
        assert!(object::<NonceOnly>(r#"{"nonce": "", "ok": true}"#, "").is_err());
    }
}
