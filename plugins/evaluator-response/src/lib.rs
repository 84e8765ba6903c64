//! `evaluator-response`: what a separate evaluator said of the work, read by two patterns.
//!
//! The pattern for a rejection is tested first, so a text that matches both rejects. An acceptance counts only when
//! the evaluator came to an end by itself. Without an evaluator, and where neither pattern matches, the verifier
//! abstains. The default patterns want the verdict on a line of its own, and the acceptance on the last one:
//! `PASS`, `Verdict: APPROVED`; `FAIL: the tests do not compile`, `**REJECTED**`.
//!
//! The reason for a rejection is the pattern's group `reason`, or its first group, or the text after the match, or
//! else the whole text.
//!
//! The evaluator's text may repeat what it evaluated. Where the work could plant a verdict in it, use a reviewer that
//! demands a nonce instead.

use gatehost_sdk::submission::Evaluator;
use gatehost_sdk::{About, Finding, Submission, SubmissionVerifier, Verdict};
use regex::{Captures, Regex, RegexBuilder};
use serde::Deserialize;

const SETTINGS_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "reject": {
      "description": "A regular expression; where the evaluator's text matches it, the work is rejected. Its group `reason`, or else its first, is the reason. Default: a line such as `FAIL: reason` or `Verdict: REJECTED`.",
      "type": "string",
      "minLength": 1,
      "maxLength": 1000
    },
    "accept": {
      "description": "A regular expression; where the text matches it, and not the one before, the work is accepted. Default: a last line such as `PASS` or `Verdict: APPROVED`.",
      "type": "string",
      "minLength": 1,
      "maxLength": 1000
    }
  },
  "additionalProperties": false
}"#;

const REJECT: &str = r"(?im)^[\W_]*(?:(?:final\s+)?(?:verdict|result|status|evaluation|decision|review)[\W_]+)?(?:fail(?:ed|ure|s)?|review_fail|reject(?:ed|s)?|not[ _](?:pass(?:ed)?|accepted|approved))\b(?:\W*$|[\s*_`]*[:.,;–—-]+[ \t*_`]*(?P<reason>.*)$)";
const ACCEPT: &str = r"(?i)(?:\A|\n)[^\w\n]*(?:(?:final\s+)?(?:verdict|result|status|evaluation|decision|review)[^\w\n]+)?(?:pass(?:ed|es)?|review_pass|accept(?:ed|s)?|approved?)[^\w?]*\z";
/// What a compiled pattern may take, so that none exhausts the sandbox.
const PATTERN_SIZE: usize = 1 << 20;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    reject: Option<String>,
    accept: Option<String>,
}

struct EvaluatorResponse;

impl SubmissionVerifier for EvaluatorResponse {
    type Settings = Settings;
    const ABOUT: About =
        About::new("evaluator-response", env!("CARGO_PKG_VERSION"), "A separate evaluator accepts the work.")
            .settings_schema(SETTINGS_SCHEMA);

    fn check(submission: &Submission, settings: Settings) -> Verdict {
        judge(submission.evaluator.as_ref(), &settings)
    }
}

gatehost_sdk::export_submission_verifier!(EvaluatorResponse);

fn judge(evaluator: Option<&Evaluator>, settings: &Settings) -> Verdict {
    let compiled = |name: &str, pattern: &str| {
        RegexBuilder::new(pattern).size_limit(PATTERN_SIZE).build().map_err(|why| {
            Verdict::abstain(format!("`{name}` is not a pattern that can be used: {}", last_line(&why.to_string())))
        })
    };
    let patterns: Result<(Regex, Regex), Verdict> = (|| {
        let reject = compiled("reject", settings.reject.as_deref().unwrap_or(REJECT))?;
        Ok((reject, compiled("accept", settings.accept.as_deref().unwrap_or(ACCEPT))?))
    })();
    let (reject, accept) = match patterns {
        Ok(patterns) => patterns,
        Err(verdict) => return verdict,
    };
    let Some(evaluator) = evaluator else {
        return Verdict::abstain("the submission carries no evaluator's response");
    };
    let text = evaluator.text.as_str();
    if text.trim().is_empty() {
        return Verdict::abstain("the evaluator said nothing");
    }
    if let Some(found) = reject.captures(text) {
        let finding = Finding::error("rejected", format!("the evaluator rejects the work: {}", reason(&found, text)));
        let verdict = Verdict::fail("rejected by the evaluator", vec![finding]);
        return Verdict { class: Some("review-rejection".to_owned()), ..verdict };
    }
    match (accept.is_match(text), evaluator.completed) {
        (true, true) => Verdict::pass(),
        (true, false) => Verdict::abstain("the evaluator accepts, and was stopped before it came to an end"),
        (false, _) => Verdict::abstain("the evaluator neither rejects nor accepts in words that the patterns know"),
    }
}

fn reason(found: &Captures<'_>, text: &str) -> String {
    let whole = found.get(0).map_or(0..0, |whole| whole.range());
    let group = found.name("reason").or_else(|| found.get(1)).map_or("", |group| group.as_str());
    [group, &text[whole.end..], &text[whole], text]
        .into_iter()
        .map(shortened)
        .find(|reason| !reason.is_empty())
        .unwrap_or_default()
}

/// On one line, without marks around it, and no longer than an executor needs.
fn shortened(text: &str) -> String {
    const MOST: usize = 2_000;
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let bare = joined.trim_matches(['*', '_', '`', ' ', '#']);
    let mut short: String = bare.chars().take(MOST).collect();
    if short.len() < bare.len() {
        short.push('…');
    }
    short
}

/// regex explains over several lines, and the last says what is wrong.
fn last_line(error: &str) -> &str {
    error.lines().last().unwrap_or_default().trim_start_matches("error: ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::Status;

    fn said(text: &str) -> Evaluator {
        Evaluator { completed: true, text: text.to_owned() }
    }

    #[test]
    fn an_acceptance_on_the_last_line_passes() {
        for text in [
            "PASS",
            "All criteria are met.\n\nPASS",
            "Passed.",
            "**PASS**\n",
            "Verdict: APPROVED",
            "I looked at everything.\n## Verdict: ACCEPT",
            "Final verdict: pass!",
            "No failures were found.\r\n\r\nREVIEW_PASS\r\n",
        ] {
            assert_eq!(judge(Some(&said(text)), &Settings::default()).status, Status::Pass, "{text:?}");
        }
    }

    #[test]
    fn a_rejection_fails_with_its_reason() {
        for (text, reason) in [
            ("FAIL: the tests do not compile", "the tests do not compile"),
            ("FAIL", "FAIL"),
            ("**REJECTED** - two endpoints are missing.", "two endpoints are missing."),
            ("Verdict: REJECTED\n\nThe parser drops the last line.", "The parser drops the last line."),
            ("FAILED — no tests\nPASS", "no tests"),
            ("PASS\nVerdict: fail", "Verdict: fail"),
            ("Not approved: see line 3", "see line 3"),
        ] {
            let verdict = judge(Some(&said(text)), &Settings::default());
            assert_eq!(verdict.status, Status::Fail, "{text:?}");
            assert_eq!(verdict.findings[0].message, format!("the evaluator rejects the work: {reason}"), "{text:?}");
            assert_eq!(verdict.class.as_deref(), Some("review-rejection"));
        }
    }

    #[test]
    fn anything_else_abstains() {
        for text in [
            "",
            " \n",
            "Looks good to me.",
            "I would say PASS if the tests ran.",
            "PASS\n\nOn second thought, I am not sure.",
            "PASS?? Not at all sure\n...",
            "The tests pass",
            "Does it pass?",
            "PASS?",
        ] {
            let verdict = judge(Some(&said(text)), &Settings::default());
            assert_eq!(verdict.status, Status::Abstain, "{text:?}: {:?}", verdict.findings);
        }
        assert_eq!(judge(None, &Settings::default()).status, Status::Abstain);
    }

    #[test]
    fn an_evaluator_that_was_stopped_can_reject_and_not_accept() {
        let stopped =
            |text: &str| judge(Some(&Evaluator { completed: false, text: text.to_owned() }), &Settings::default());
        assert_eq!(stopped("PASS").status, Status::Abstain);
        assert_eq!(stopped("FAIL: half of it").status, Status::Fail);
    }

    #[test]
    fn patterns_can_be_others() {
        let settings: Settings =
            serde_json::from_str(r#"{"reject": "NO because (.+)", "accept": "YES"}"#).expect("settings");
        assert_eq!(judge(Some(&said("well, YES")), &settings).status, Status::Pass);
        let verdict = judge(Some(&said("YES and NO because of that")), &settings);
        assert_eq!(verdict.findings[0].message, "the evaluator rejects the work: of that");
    }

    #[test]
    fn a_pattern_that_cannot_be_used_never_passes() {
        for pattern in ["(", "(a{1000}){1000}", "a(?=b)"] {
            for settings in [
                Settings { reject: Some(pattern.to_owned()), accept: None },
                Settings { reject: None, accept: Some(pattern.to_owned()) },
            ] {
                assert_eq!(judge(Some(&said("PASS")), &settings).status, Status::Abstain, "{pattern}");
            }
        }
    }
}
