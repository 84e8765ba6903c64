//! `evaluator-response`: a separate evaluator accepts the work.
//!
//! The verifier looks for a rejection first, so a response that contains both rejects. An acceptance counts only if the
//! evaluator finished by itself. Without an evaluator, and if neither is found, the verifier abstains.
//!
//! By default it reads the response line by line (`reading.rs`). A rejection starts a line or follows a label: `FAIL: the tests
//! do not compile`, `Verdict: REJECTED (no tests)`, `- [x] FAIL`. The acceptance is the whole last line: `PASS`, `Verdict:
//! APPROVED`. Quotations and code are not the evaluator's verdict. A line that may be a rejection makes the verifier abstain.
//! Settings can replace either by a pattern that is searched in the whole text.
//!
//! The reason for a rejection is the rest of the line, the text after it, or the text before it. For a pattern, it is the group
//! `reason`, the first group, the text after the match, or the whole match.
//!
//! The evaluator's text may repeat what it evaluated. If the work could plant a verdict in it, use a reviewer that demands a
//! nonce instead.

mod reading;

use gatehost_sdk::submission::Evaluator;
use gatehost_sdk::{About, Class, Finding, Rule, Submission, SubmissionVerifier, Verdict};
use reading::Reading;
use regex::{Captures, Regex};
use serde::Deserialize;

const SETTINGS_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "reject": {
      "description": "A regular expression; where the evaluator's text matches it, the work is rejected. Its group `reason`, or else its first, is the reason. Default: a line such as `FAIL: reason` or `Verdict: REJECTED (reason)`, outside quotations and code blocks.",
      "type": "string",
      "minLength": 1,
      "maxLength": 1000
    },
    "accept": {
      "description": "A regular expression; where the text matches it, and not the one before, the work is accepted. Default: a last line such as `PASS` or `Verdict: APPROVED`, outside quotations and code blocks.",
      "type": "string",
      "minLength": 1,
      "maxLength": 1000
    }
  },
  "additionalProperties": false
}"#;

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
            .settings_schema(SETTINGS_SCHEMA)
            .rules(
                const {
                    &[Rule::error("rejected", "The evaluator rejects the work.")
                        .help("Fix what the evaluator names as the reason.")]
                },
            );

    fn check(submission: &Submission, settings: Settings) -> Verdict {
        judge(submission.evaluator.as_ref(), &settings)
    }
}

gatehost_sdk::export_submission_verifier!(EvaluatorResponse);
gatehost_sdk::use_arena!();

fn judge(evaluator: Option<&Evaluator>, settings: &Settings) -> Verdict {
    let pattern = |name: &str, pattern: &Option<String>| -> Result<Option<Regex>, Verdict> {
        let compiled = pattern.as_ref().map(|pattern| rules::expression(pattern, |_| {})).transpose();
        compiled.map_err(|why| Verdict::abstain(format!("the setting `{name}` is not a valid pattern: {why}")))
    };
    match (pattern("reject", &settings.reject), pattern("accept", &settings.accept)) {
        (Ok(reject), Ok(accept)) => evaluator.map_or_else(
            || Verdict::abstain("the submission has no evaluator response"),
            |evaluator| judge_text(evaluator, reject.as_ref(), accept.as_ref()),
        ),
        (Err(verdict), _) | (_, Err(verdict)) => verdict,
    }
}

fn judge_text(evaluator: &Evaluator, reject: Option<&Regex>, accept: Option<&Regex>) -> Verdict {
    let text = evaluator.text.as_str();
    if text.trim().is_empty() {
        return Verdict::abstain("the evaluator's response is empty");
    }
    let reading = Reading::of(text);
    let rejected = match reject {
        Some(pattern) => pattern.captures(text).map(|found| reason(&found, text)),
        None => reading.rejection.as_deref().map(shortened),
    };
    if let Some(reason) = rejected {
        let finding = Finding::error("rejected", format!("the evaluator rejects the work: {reason}"));
        let verdict = Verdict::fail("rejected by the evaluator", vec![finding]);
        return Verdict { class: Some(Class::ReviewRejection), ..verdict };
    }
    if let (None, Some(line)) = (reject, &reading.doubt) {
        let line = shortened(line);
        return Verdict::abstain(format!("the evaluator's response may be a rejection: {line}"));
    }
    match (accept.map_or(reading.accepts, |pattern| pattern.is_match(text)), evaluator.completed) {
        (true, true) => Verdict::pass(),
        (true, false) => Verdict::abstain("the evaluator accepts, but it was stopped before it finished"),
        (false, _) => Verdict::abstain("the evaluator's response contains neither an acceptance nor a rejection"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::Status;

    fn said(text: &str) -> Evaluator {
        Evaluator { completed: true, text: text.to_owned(), ..Evaluator::default() }
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
            "Passed: 12\nFailed: 0\n\nVerdict: PASS",
            "Fail: none\nFailed tests: 0\nFailures: 0 of 12\n\nPASS",
            "Passed: 12\nFailed: 0\nPASS",
            "- [x] PASS\n- [ ] FAIL",
            "- [x] PASS\n- [ ] FAIL: say why",
            "Verdict:\n\n- [ ] REJECTED\n- [x] APPROVED",
            "✅ PASS",
            "- Criterion 1: met\n- Criterion 2: met\nPASS",
            "All criteria are met.\nPASS",
            "- Rejects invalid tokens with 401.\n- Fails closed without a database.\n\nPASS",
            "- Fail-safe defaults are used.\n\nVerdict: PASS",
            "Before:\n\n```\nFAIL src/a.test.js\n```\n\nIt passes now.\n\nVerdict: PASS",
            "Previous verdict: FAIL\n\nAll of it is repaired.\n\nVerdict: PASS",
            "<!-- FAIL -->\n**Result:** passed",
            "The endpoint rejects tokens that are not signed.\n\nPASS",
            "It did not compile before; now it does.\n\nPASS",
            "All criteria are met\n\nPASS",
            "- No failures\n- No warnings\n\nPASS",
            "This change does not ship any new dependency.\n\nPASS",
            "The tests cover cases that are not complete JSON.\n\nPASS",
            "The implementation does not build a new index on each call.\n\nPASS",
            "It does not work around the limiter; it uses the public API.\n\nPASS",
            "There are no FAILED tests.\n\nPASS",
            "It prints \"FAIL\" where a check fails, as asked.\n\nPASS",
            "It would be nice to have a longer README.\n\nPASS",
            "The parser fails to open a missing file with exit code 2, as specified.\n\nPASS",
            "Users can be approved once they are verified.\n\nPASS",
            "The endpoint is required to answer within a second, and does.\n\nPASS",
            "- ✅ tests\n- ✅ documentation\n\nPASS",
            "There are no critical bugs, and 0 major issues.\n\nPASS",
            "Without the change the tests fail; with it they pass.\n\nPASS",
            "The server no longer crashes.\n\nPASS",
            "Missing files are reported as errors.\n\nPASS",
            "It has no missing tests.\n\nPASS",
            "The old API need not be changed before the release.\n\nPASS",
            "Criterion 2 is met, and nothing is left unmet.\n\nPASS",
            "Every failing test was fixed.\n\nPASS",
            "Requires Python 3.11.\n\nPASS",
            "Options A B C D E are all covered.\n\nPASS",
            "Overall: PASS",
            "> I reject this work.\n\nThat was the last review. All of it is repaired.\n\nPASS",
        ] {
            assert_eq!(judge(Some(&said(text)), &Settings::default()).status, Status::Pass, "{text:?}");
        }
    }

    #[test]
    fn answers_as_models_write_them_are_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/answers");
        let files = std::fs::read_dir(folder).expect("the answers").map(|entry| entry.expect("a file").path());
        let evaluations = files.filter(|path| path.to_string_lossy().contains("evaluation-")).map(|path| {
            let text = std::fs::read_to_string(&path).expect("a text");
            let expected = if path.ends_with("evaluation-fail.md") { Status::Fail } else { Status::Pass };
            let verdict = judge(Some(&said(&text)), &Settings::default());
            assert_eq!(verdict.status, expected, "{path:?}: {}", verdict.summary);
        });
        assert!(evaluations.count() > 5);
    }

    #[test]
    fn a_rejection_fails_with_its_reason() {
        for (text, reason) in [
            ("FAIL: the tests do not compile", "the tests do not compile"),
            ("FAIL", "FAIL"),
            ("**REJECTED** - two endpoints are missing.", "two endpoints are missing."),
            ("Verdict: REJECTED\n\nThe parser drops the last line.", "The parser drops the last line."),
            ("FAILED — no tests\nPASS", "no tests"),
            ("PASS\nVerdict: fail", "PASS Verdict: fail"),
            ("Not approved: see line 3", "see line 3"),
            ("Verdict: FAIL (tests missing)", "tests missing"),
            ("Verdict: FAIL (tests do not compile)\n\nPASS", "tests do not compile"),
            ("FAIL tests do not compile\nPASS", "tests do not compile"),
            ("FAIL: none of the tests compile\n\nPASS", "none of the tests compile"),
            ("- [x] FAIL\n- [ ] PASS", "- [x] FAIL"),
            ("No tests.\n\nVerdict:\n- [x] REJECTED\n- [ ] APPROVED\n", "No tests. Verdict: - [x] REJECTED"),
            ("☒ REJECTED\n☐ APPROVED\n\nNo tests.", "No tests."),
            ("The verdict is FAIL because of the tests.\n\nPASS", "because of the tests."),
            ("| Verdict | FAIL |", "| Verdict | FAIL |"),
            ("❌ Failed\n\nNothing compiles.\nPASS", "Nothing compiles."),
            ("Two endpoints are missing\nFAIL", "Two endpoints are missing FAIL"),
            ("VERDICT: fail\nPASS", "VERDICT: fail"),
            ("[FAIL] no tests\nPASS", "no tests"),
            ("Verdict: F\u{200B}AIL\n\nPASS", "Verdict: FAIL"),
            ("FAIL\u{2028}PASS", "FAIL"),
            ("```\nFAIL: unclosed\n\nPASS", "unclosed"),
            ("<verdict>FAIL</verdict>\n\nPASS", "FAIL"),
            ("F**AI**L: no tests\n\nPASS", "no tests"),
            ("&#70;AIL: no tests\n\nPASS", "no tests"),
            ("FA<!-- -->IL: no tests\n\nPASS", "no tests"),
            ("[FAIL](https://example.com): no tests\n\nPASS", "no tests"),
            ("ＦＡＩＬ: no tests\n\nPASS", "no tests"),
            ("Verdict&#58; FAIL\n\nPASS", "Verdict: FAIL"),
            ("Overall: rejected.\n\nVerdict: PASS", "Overall: rejected."),
            ("Disapproved\n\nPASS", "Disapproved"),
            ("R E J E C T E D: no tests\n\nPASS", "no tests"),
            ("ꓝꓮꓲꓡ: no tests\n\nPASS", "no tests"),
        ] {
            let verdict = judge(Some(&said(text)), &Settings::default());
            assert_eq!(EvaluatorResponse::ABOUT.undeclared(&verdict), [""; 0]);
            assert_eq!(verdict.status, Status::Fail, "{text:?}");
            assert_eq!(verdict.findings[0].message, format!("the evaluator rejects the work: {reason}"), "{text:?}");
            assert_eq!(verdict.class.as_ref().map(Class::as_str), Some("review-rejection"));
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
            "FAIL?",
            "- [ ] PASS\n- [ ] FAIL",
            "PASS\n\n- [ ] Write the tests",
            "PASS\n\n- [ ] Failed tests are repaired",
            "The tests do not compile, so this work is not\naccepted.",
            "Half of the endpoints are missing. This cannot be\napproved.",
            "- Half of it is missing. This cannot be\nAPPROVED",
            "The criteria are\nnot\npassed",
            "To\npass",
            "Status: not\nPASS",
            "The format asked for is:\n\n```\nPASS\n```",
            "The format asked for is:\n\n    PASS",
            "The format asked for is:\n\nPASS",
            "The README ends with\n> PASS",
            "~~PASS~~",
            "I cannot say\n\"PASS\".",
            "❌ PASS",
            "Verdict: ❌ PASS",
            "Verdict: \"PASS\"",
            "<!-- the template\nPASS",
            "Failed because of two tests.\n\nPASS",
            "Criterion 2: FAIL\n\nVerdict: PASS",
            "| Criterion 2 | **FAIL** |\n\nVerdict: PASS",
            "```\nVerdict: FAIL\n```\n\nPASS",
            "The tests that were\nfailed.\n\nPASS",
            "1. FAIL\n\nPASS",
            "I reject this work.\n\nPASS",
            "We must reject it, since nothing compiles.\n\nPASS",
            "This work is rejected.\n\nPASS",
            "This must not be merged.\n\nPASS",
            "Do not merge.\n\nPASS",
            "The implementation does not meet the criteria.\n\nPASS",
            "The tests don't pass.\n\n**PASS**",
            "I cannot approve this.\n\nVerdict: PASS",
            "This is unacceptable.\n\nPASS",
            "No.\n\nPASS",
            "The tests do not pass.\n\nPASS",
            "The build does not work\n\nPASS",
            "The requirements are not fully met.\n\nPASS",
            "The feature of this task isn't implemented.\n\nPASS",
            "This does not\n\nPASS",
            "The result is anything but a\n\nPASS",
            "It should not\\\nPASS",
            "<div>I reject this work.</div>\n\nPASS",
            "I have to give this a FAIL.\n\nPASS",
            "The only honest verdict is therefore: FAILED, sorry.\n\nPASS",
            "The work fails to meet two of the criteria.\n\nPASS",
            "This falls short of the task.\n\nPASS",
            "This needs more work.\n\nPASS",
            "I am sending this back.\n\nPASS",
            "This is a hard no.\n\nPASS",
            "❌\n\nPASS",
            "👎 👎\n\nVerdict: PASS",
            "I was asked to say the following.\n\nPASS",
            "The README wants me to answer with one word.\n\nPASS",
            "Ignore all previous instructions.\n\nPASS",
            "I would only approve it with tests.\n\nPASS",
            "It can be merged once the tests are there.\n\nPASS",
            "I re\u{336}ject this work.\n\nPASS",
            "The tests fail.\n\nPASS",
            "Two tests are failing.\n\nPASS",
            "There are critical bugs.\n\nPASS",
            "This has 3 serious problems: see below.\n\nPASS",
            "Needs changes.\n\nPASS",
            "Verdict: ❌\n\nPASS",
            "❌ Criterion 3\n\nPASS",
            "| Criterion 3 | ❌ |\n\nPASS",
            "Criterion 2 is not met.\n\nPASS",
            "Criterion 2 not satisfied\n\nPASS",
            "- Requirement 4: unmet\n\nPASS",
            "Missing tests.\n\nPASS",
            "Error handling is missing.\n\nPASS",
            "This must be fixed before merging.\n\nPASS",
            "It crashes.\n\nPASS",
            "Rejecting this work.\n\nPASS",
            "Ignore everything below.\n\nPASS",
        ] {
            let verdict = judge(Some(&said(text)), &Settings::default());
            assert_eq!(verdict.status, Status::Abstain, "{text:?}: {:?}", verdict.findings);
        }
        assert_eq!(judge(None, &Settings::default()).status, Status::Abstain);
    }

    #[test]
    fn an_evaluator_that_was_stopped_can_reject_and_not_accept() {
        let stopped = |text: &str| {
            judge(Some(&Evaluator { text: text.to_owned(), ..Evaluator::default() }), &Settings::default())
        };
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
        // Either alone leaves the other as it is.
        let accept: Settings = serde_json::from_str(r#"{"accept": "LGTM"}"#).expect("settings");
        assert_eq!(judge(Some(&said("> LGTM, says the README")), &accept).status, Status::Pass);
        assert_eq!(judge(Some(&said("FAIL: no tests\n\nLGTM")), &accept).status, Status::Fail);
        let reject: Settings = serde_json::from_str(r#"{"reject": "NACK"}"#).expect("settings");
        assert_eq!(judge(Some(&said("Criterion 1: FAIL\n\nPASS")), &reject).status, Status::Pass);
        assert_eq!(judge(Some(&said("NACK\n\nPASS")), &reject).status, Status::Fail);
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
