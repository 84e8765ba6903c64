//! `secrets`: no file contains a credential of a well-known shape.
//!
//! Only shapes that their issuers made recognisable are looked for (`shapes.rs`): a prefix, a length, an alphabet. A word
//! such as `password` beside any value is not, because most of those are no secrets. What is plainly a placeholder, with
//! `EXAMPLE` in it or hardly a different character, does not count. A finding names the kind, the place and the length,
//! and never the secret itself: reports travel further than files.
//!
//! Files that are not UTF-8 are searched too: UTF-16 as the text that it is, and of others what is legible.

mod shapes;

use gatehost_sdk::{About, File, FileVerifier, Finding, Place, TextPosition, Verdict};
use regex::Regex;
use serde::Deserialize;
use shapes::{SHAPES, Shape};

const SETTINGS_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "allow": {
      "description": "Regular expressions; what matches one of them, whole or in part, is known not to be a secret.",
      "type": "array",
      "items": { "type": "string", "minLength": 1, "maxLength": 1000 },
      "maxItems": 200,
      "default": []
    },
    "skip": {
      "description": "Kinds that are not looked for, by the code of their findings, such as `jwt`.",
      "type": "array",
      "items": { "type": "string", "minLength": 1, "maxLength": 100 },
      "default": []
    }
  },
  "additionalProperties": false
}"#;

/// How many findings of one kind a file is reported with.
const MOST_FINDINGS: usize = 50;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    allow: Vec<String>,
    skip: Vec<String>,
}

struct Secrets;

impl FileVerifier for Secrets {
    type Settings = Settings;
    const ABOUT: About =
        About::new("secrets", env!("CARGO_PKG_VERSION"), "No file contains a credential of a well-known shape.")
            .files(&["**/*"])
            .settings_schema(SETTINGS_SCHEMA);

    fn check(file: &File, settings: Settings) -> Verdict {
        judge(file, &settings)
    }
}

gatehost_sdk::export_file_verifier!(Secrets);

fn judge(file: &File, settings: &Settings) -> Verdict {
    if let Some(unknown) = settings.skip.iter().find(|code| !SHAPES.iter().any(|shape| shape.code == code.as_str())) {
        return Verdict::abstain(format!("`skip` names `{unknown}`, which is not a kind of secret"));
    }
    let mut allow = Vec::new();
    for pattern in &settings.allow {
        match rules::expression(pattern, |_| {}) {
            Ok(pattern) => allow.push(pattern),
            Err(why) => return Verdict::abstain(format!("`allow` has `{pattern}`: {why}")),
        }
    }
    let searched = |text: &str, has_lines: bool| {
        let place = |at: usize| {
            let TextPosition { line, column } = TextPosition::of(text, at);
            let place = Place::file(&file.path);
            if has_lines { place.position(line, column) } else { place }
        };
        search(text, settings, &allow, place)
    };
    let legible = file.readable();
    let mut found = legible.as_ref().map_or(Ok(Vec::new()), |text| searched(text, true));
    // What starts like UTF-16 need not be it.
    if file.text().is_none() && found.as_ref().is_ok_and(Vec::is_empty) {
        found = searched(&String::from_utf8_lossy(file.bytes()), false);
    }
    match found {
        Ok(findings) if findings.is_empty() => Verdict::pass(),
        Ok(findings) => Verdict::fail("", findings),
        Err(why) => Verdict::abstain(why),
    }
}

/// What is found in a text, in its order; or why one of the shapes cannot be looked for.
fn search(
    text: &str,
    settings: &Settings,
    allow: &[Regex],
    place: impl Fn(usize) -> Place,
) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for shape in SHAPES.iter().filter(|shape| !settings.skip.iter().any(|code| code == shape.code)) {
        // Compiling a pattern costs more than looking for its mark, and most files have none.
        if !shape.marks.iter().any(|mark| text.contains(mark)) {
            continue;
        }
        let pattern = rules::expression(shape.pattern, |_| {})
            .map_err(|why| format!("the pattern for `{}` cannot be used: {why}", shape.code))?;
        findings.extend(found(text, shape, &pattern, allow).take(MOST_FINDINGS));
    }
    findings.sort_by_key(|&(at, _)| at);
    Ok(findings.into_iter().map(|(at, finding)| finding.at(place(at))).collect())
}

/// The findings of one shape, each with where it starts.
fn found<'a>(
    text: &'a str,
    shape: &'a Shape,
    pattern: &'a Regex,
    allow: &'a [Regex],
) -> impl Iterator<Item = (usize, Finding)> + 'a {
    pattern.captures_iter(text).filter_map(move |captures| {
        let secret = captures.name("secret").or_else(|| captures.get(0))?;
        let random = captures.name("random").unwrap_or(secret);
        if is_placeholder(random.as_str()) || allow.iter().any(|allow| allow.is_match(secret.as_str())) {
            return None;
        }
        let start = if shape.shown.is_empty() { String::new() } else { format!(" that start with `{}`", shape.shown) };
        let message = format!("found what looks like {}: {} characters{start}", shape.name, secret.len());
        let hint = "remove it, revoke it where it was ever shared, and read it from the environment or a secret store";
        Some((secret.start(), Finding::error(shape.code, message).hint(hint)))
    })
}

/// Whether a person wrote it to be recognised as none: it says `EXAMPLE`, or is nearly all one character.
fn is_placeholder(secret: &str) -> bool {
    let upper = secret.to_ascii_uppercase();
    if ["EXAMPLE", "PLACEHOLDER", "REDACTED", "XXXXXX", "000000", "ABCDEFGHIJ", "YOUR_", "YOUR-"]
        .iter()
        .any(|word| upper.contains(word))
    {
        return true;
    }
    let mut seen = [false; 256];
    secret.bytes().for_each(|byte| seen[usize::from(byte)] = true);
    seen.iter().filter(|&&seen| seen).count() < 9
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::Status;

    /// Characters without any meaning, the same each time, so that no secret stands in this file.
    fn noise(alphabet: &str, length: usize) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        let mut state: u32 = 12_345;
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            alphabet[(state >> 16) as usize % alphabet.len()]
        };
        (0..length).map(next).collect()
    }

    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    const CAPITALS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    const HEX: &str = "0123456789abcdef";

    fn file(text: &str) -> File {
        File::new("a.txt", text)
    }

    fn codes(text: &str) -> Vec<String> {
        judge(&file(text), &Settings::default()).findings.into_iter().map(|finding| finding.code).collect()
    }

    fn samples() -> Vec<(&'static str, String)> {
        let letters = |length| noise(LETTERS, length);
        vec![
            ("private-key", format!("-----BEGIN RSA {} KEY-----\n{}\n", "PRIVATE", letters(64))),
            ("private-key", format!("\"-----BEGIN {} KEY-----\\n{}\\n\"", "PRIVATE", letters(64))),
            ("private-key", format!("-----BEGIN OPENSSH {} KEY-----\r\n{}\r\n", "PRIVATE", letters(70))),
            ("aws-access-key", format!("AKIA{}", noise(CAPITALS, 16))),
            ("aws-access-key", format!("ASIA{}", noise(CAPITALS, 16))),
            ("aws-secret-key", format!("aws_secret_access_key = {}", letters(40))),
            ("github-token", format!("ghp_{}", letters(36))),
            ("github-token", format!("ghs_{}", letters(36))),
            ("github-fine-grained-token", format!("github_pat_{}_{}", letters(22), letters(59))),
            ("gitlab-token", format!("glpat-{}", letters(20))),
            ("slack-token", format!("xoxb-{}-{}-{}", noise("0123456789", 12), noise("0123456789", 12), letters(24))),
            (
                "slack-webhook",
                format!(
                    "https://hooks.slack.com/services/T{}/B{}/{}",
                    noise(CAPITALS, 9),
                    noise(CAPITALS, 9),
                    letters(24)
                ),
            ),
            ("stripe-key", format!("sk_live_{}", letters(24))),
            ("stripe-key", format!("rk_live_{}", letters(24))),
            ("google-api-key", format!("AIza{}", letters(35))),
            ("google-oauth-secret", format!("GOCSPX-{}", letters(28))),
            ("jwt", format!("eyJ{}.eyJ{}.{}", letters(30), letters(40), letters(43))),
            ("openai-key", format!("sk-proj-{}T3BlbkFJ{}", letters(20), letters(20))),
            ("anthropic-key", format!("sk-ant-api03-{}", letters(95))),
            ("npm-token", format!("npm_{}", letters(36))),
            ("pypi-token", format!("pypi-AgEIcHlwaS5vcmc{}", letters(60))),
            ("sendgrid-key", format!("SG.{}.{}", letters(22), letters(43))),
            ("huggingface-token", format!("hf_{}", noise("abcdefghijklmnopqrstuvwxyzABCDEFGH", 34))),
            ("digitalocean-token", format!("dop_v1_{}", noise(HEX, 64))),
            ("azure-storage-key", format!("AccountKey={}==", letters(86))),
        ]
    }

    #[test]
    fn every_shape_is_found_and_never_repeated() {
        for (code, secret) in samples() {
            for text in [format!("x = \"{secret}\"\n"), format!("export KEY={secret}\n"), secret.clone()] {
                assert_eq!(codes(&text), [code], "{text}");
            }
            let verdict = judge(&file(&format!("a\nkey: {secret}")), &Settings::default());
            let shown = format!("{verdict:?}");
            let tail: String = secret.trim().chars().rev().take(20).collect::<Vec<_>>().into_iter().rev().collect();
            assert!(!shown.contains(tail.trim()), "{shown}");
            assert_eq!(verdict.findings[0].place.as_ref().and_then(|place| place.line), Some(2), "{code}");
        }
        let untested: Vec<&str> = SHAPES
            .iter()
            .map(|shape| shape.code)
            .filter(|code| !samples().iter().any(|(known, _)| known == code))
            .collect();
        assert!(untested.is_empty(), "without a sample: {untested:?}");
    }

    #[test]
    fn what_only_looks_like_one_passes() {
        let letters = |length| noise(LETTERS, length);
        for text in [
            String::new(),
            "password = \"hunter2\"".to_owned(),
            "if line.starts_with(\"-----BEGIN RSA PRIVATE KEY-----\") {".to_owned(),
            format!("-----BEGIN PUBLIC KEY-----\n{}\n", letters(64)),
            format!("-----BEGIN CERTIFICATE-----\n{}\n", letters(64)),
            "AKIAIOSFODNN7EXAMPLE".to_owned(),
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            "aws_secret_access_key = ${AWS_SECRET_ACCESS_KEY}".to_owned(),
            format!("xAKIA{}", noise(CAPITALS, 16)),
            format!("AKIA{}", noise(CAPITALS, 40)),
            format!("ghp_{}", "x".repeat(36)),
            "ghp_your_token_here".to_owned(),
            "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}".to_owned(),
            "xoxb-your-token".to_owned(),
            format!("sk_test_{}", letters(24)),
            format!("pk_live_{}", letters(24)),
            "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX".to_owned(),
            "eyJhbGciOiJIUzI1NiJ9".to_owned(),
            format!("sha256-{}", letters(44)),
            noise(HEX, 64),
            "AIzaSy...".to_owned(),
            "npm_config_registry=https://registry.example.com".to_owned(),
            "SG.short.key".to_owned(),
            "hf_hub_download(repo_id)".to_owned(),
            "risk-assessment-and-task-management-for-everybody-here".to_owned(),
        ] {
            assert_eq!(codes(&text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn what_stands_before_a_token_does_not_hide_it() {
        let token = format!("ghp_{}", noise(LETTERS, 36));
        let key = format!("AKIA{}", noise(CAPITALS, 16));
        for before in ["\\n", "a\\t", "TOKEN_", "token%3D", "\\u003d", "x="] {
            assert_eq!(codes(&format!("\"{before}{token}\"")), ["github-token"], "{before}");
            assert_eq!(codes(&format!("\"{before}{key}_\"")), ["aws-access-key"], "{before}");
        }
    }

    #[test]
    fn the_header_of_a_key_does_not_make_it_a_placeholder() {
        let key = format!(
            "-----BEGIN PGP {} KEY BLOCK-----\nComment: Alice <alice@example.com>\n\n{}\n",
            "PRIVATE",
            noise(LETTERS, 64)
        );
        assert_eq!(codes(&key), ["private-key"]);
        assert_eq!(codes(&key.replace(&noise(LETTERS, 64), &"EXAMPLE+".repeat(8))), Vec::<String>::new());
    }

    #[test]
    fn settings_allow_and_skip() {
        let token = format!("ghp_{}", noise(LETTERS, 36));
        let judged = |settings: &str| judge(&file(&token), &serde_json::from_str(settings).expect("settings"));
        assert_eq!(judged("{}").status, Status::Fail);
        assert_eq!(judged(&format!(r#"{{"allow": ["^{token}$"]}}"#)).status, Status::Pass);
        assert_eq!(judged(r#"{"allow": ["nothing"]}"#).status, Status::Fail);
        assert_eq!(judged(r#"{"skip": ["github-token"]}"#).status, Status::Pass);
        assert_eq!(judged(r#"{"skip": ["github"]}"#).status, Status::Abstain);
        assert_eq!(judged(r#"{"allow": ["("]}"#).status, Status::Abstain);
    }

    #[test]
    fn a_binary_file_is_searched() {
        let mut bytes = b"\xFF\xFE\0".to_vec();
        bytes.extend(format!(" ghp_{} ", noise(LETTERS, 36)).bytes());
        let file = File::new("a.bin", bytes);
        assert_eq!(judge(&file, &Settings::default()).status, Status::Fail);
    }

    #[test]
    fn utf16_is_searched_as_text() {
        let text = format!("a\r\nTOKEN=ghp_{}\r\n", noise(LETTERS, 36));
        let little: Vec<u8> = [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
        for bytes in [little, big] {
            let file = File::new("a.env", bytes);
            let place = judge(&file, &Settings::default()).findings.remove(0).place.expect("a place");
            assert_eq!((place.line, place.column), (Some(2), Some(7)));
        }
    }
}
