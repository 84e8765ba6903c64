//! `review-verdict`: a model approves or rejects the work as an architect.
//!
//! The answer is one JSON object: `verdict` (APPROVED, REJECTED), `confidence` (HIGH, MEDIUM, LOW), `findings`, `concerns`,
//! `recommendation` (commit, retry, manual_review), `feedback`, and the nonce. An approval that recommends a retry is an
//! abstention. If the architect recommends a manual review, a person must decide. After any other answer the model is asked once
//! more, and then the verifier abstains.
//!
//! By default, an approval needs proof: an earlier tier must have run the command that proves the work (`proof.rs`). Otherwise
//! the verifier fails, and no model is asked.

mod proof;

use gatehost_review::answer::{self, HasNonce};
use gatehost_review::{CATEGORIES, Host, Review, ReviewOutcome, Settings, World};
use gatehost_sdk::{About, Class, Finding, Rule, Submission, SubmissionVerifier, Verdict};
use serde::Deserialize;

const TEMPLATE: &str = include_str!("../prompt.md");
const ANSWER_SCHEMA: &str = r#"{"type":"object","properties":{"nonce":{"type":"string"},"verdict":{"enum":["REJECTED","APPROVED"]},"confidence":{"enum":["LOW","MEDIUM","HIGH"]},"findings":{"type":"array","items":{"type":"string"}},"concerns":{"type":"array","items":{"type":"string"}},"recommendation":{"enum":["commit","retry","manual_review"]},"feedback":{"type":"string"}},"required":["nonce","verdict","confidence","findings","concerns","recommendation","feedback"],"additionalProperties":false}"#;
const OWN_SETTINGS: &str = r#""verify_evidence": {
      "description": "Whether the command that proves the work must have exited with code 0 in an earlier tier.",
      "type": "boolean",
      "default": true
    },
    "proof": {
      "description": "The name of the command that proves the work. Default: the task's `verify`, if the caller or the plan provides the task.",
      "type": "string",
      "minLength": 1
    },
    "#;

#[derive(Deserialize)]
struct ArchitectSettings {
    #[serde(default = "yes")]
    verify_evidence: bool,
    proof: Option<String>,
    #[serde(flatten)]
    common: Settings,
}

fn yes() -> bool {
    true
}

struct ReviewVerdict;

impl SubmissionVerifier for ReviewVerdict {
    type Settings = ArchitectSettings;
    const ABOUT: About = About::new(
        "review-verdict",
        env!("CARGO_PKG_VERSION"),
        "A model that did not do the work approves it in the role of an architect.",
    )
    .settings_schema(gatehost_review::settings_schema!(TEMPLATE, OWN_SETTINGS))
    .rules(
        const {
            &[
                Rule::error("concern", "The architect names a problem with the work.").help("Fix it."),
                Rule::note("finding", "The evidence that the architect found for a criterion."),
                Rule::note("manual-review", "The architect recommends a manual review."),
                Rule::error(
                    "no-verify-evidence",
                    "No earlier tier ran the command that proves the work with exit code 0.",
                )
                .help("Run it in an earlier tier, and name it in `proof`."),
                Rule::error("vacuous-proof", "The command that should prove the work succeeds whatever the work is.")
                    .help("Run a command that fails when the work is wrong."),
                Rule::note("not-shown", "A changed file was not shown to the reviewer, because `exclude` matches it."),
            ]
        },
    );

    fn check(submission: &Submission, settings: ArchitectSettings) -> Verdict {
        judge(submission, &settings, &Host)
    }
}

gatehost_sdk::export_submission_verifier!(ReviewVerdict);

/// Not one word of an answer stands here as it would have to be given.
fn form(nonce: &str) -> String {
    format!(
        "Answer with one JSON object and with nothing before or after it. It has exactly these fields:\n\n\
         - `nonce`: a text, the code word of this review. It is: {nonce}\n\
         - `verdict`: REJECTED or APPROVED\n\
         - `confidence`: LOW, MEDIUM or HIGH\n\
         - `findings`: a list of texts, one for each criterion with the evidence that you found\n\
         - `concerns`: a list of texts, one for each problem; empty where there is none\n\
         - `recommendation`: `commit`, `retry`, or `manual_review` where a person should decide\n\
         - `feedback`: a text, what the executor should change; empty where nothing should\n\n\
         {CATEGORIES}"
    )
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "UPPERCASE")]
enum Decision {
    Rejected,
    Approved,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Confidence {
    Low,
    Medium,
    High,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Recommendation {
    Commit,
    Retry,
    ManualReview,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Architect {
    nonce: String,
    verdict: Decision,
    confidence: Confidence,
    findings: Vec<String>,
    concerns: Vec<String>,
    recommendation: Recommendation,
    feedback: String,
}

impl HasNonce for Architect {
    fn nonce(&self) -> &str {
        &self.nonce
    }
}

fn judge(submission: &Submission, settings: &ArchitectSettings, world: &dyn World) -> Verdict {
    if settings.verify_evidence
        && let Some(finding) = proof::missing(submission, settings.proof.as_deref())
    {
        return Verdict::fail("no proof: the verify command did not run", vec![finding]).class(Class::VerifyFailure);
    }
    let review = Review { template: TEMPLATE, form, schema: Some(ANSWER_SCHEMA) };
    let read = |reviewed: &ReviewOutcome| answer::object::<Architect>(&reviewed.text, &reviewed.nonce);
    let (architect, reviewed) = match review.ask_for(submission, &settings.common, world, read) {
        Ok(answered) => answered,
        Err(verdict) => return verdict,
    };
    let approved = architect.verdict == Decision::Approved;
    if approved && architect.recommendation == Recommendation::Retry {
        return Verdict::abstain("the architect approves but recommends a retry; a person must decide");
    }
    let new = |code: &str, message: String| reviewed.finding(approved, code, message);
    let mut findings: Vec<Finding> = architect.concerns.into_iter().map(|concern| new("concern", concern)).collect();
    if !approved && findings.is_empty() {
        findings.push(new("concern", "the architect rejects the work without naming a concern".to_owned()));
    }
    let feedback = architect.feedback.trim();
    if let (Some(first), false) = (findings.first_mut(), feedback.is_empty()) {
        first.hint = Some(feedback.to_owned());
    }
    findings.extend(architect.findings.into_iter().map(|finding| Finding::note("finding", finding)));
    let needs_person = architect.recommendation == Recommendation::ManualReview;
    if needs_person {
        findings.push(Finding::note("manual-review", "the architect recommends a manual review"));
    }
    findings.extend(reviewed.notes);
    let verdict = match approved {
        true => Verdict { findings, ..Verdict::pass() },
        false => {
            Verdict { class: Some(Class::ReviewRejection), ..Verdict::fail("rejected by the architect", findings) }
        }
    };
    Verdict { confidence: Some(number(architect.confidence)), needs_person, ..verdict }
}

fn number(confidence: Confidence) -> f64 {
    match confidence {
        Confidence::Low => 0.3,
        Confidence::Medium => 0.6,
        Confidence::High => 0.9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_review::scripted::{Scripted, submission};
    use gatehost_sdk::submission::{CommandEvidence, Evidence};
    use gatehost_sdk::{Level, Status};

    const GOOD: &str = r#"{"nonce": "NONCE", "verdict": "APPROVED", "confidence": "HIGH", "findings": ["a exists"], "concerns": [], "recommendation": "commit", "feedback": ""}"#;

    fn said(text: &str) -> Verdict {
        let settings = serde_json::from_str(r#"{"verify_evidence": false}"#).expect("settings");
        let verdict = judge(&submission(), &settings, &Scripted::saying(text));
        assert_eq!(ReviewVerdict::ABOUT.undeclared(&verdict), [""; 0]);
        verdict
    }

    #[test]
    fn a_strong_and_a_weak_approval_pass() {
        let verdict = said(GOOD);
        assert_eq!((verdict.status, verdict.confidence), (Status::Pass, Some(0.9)));
        let weak = GOOD.replace("HIGH", "MEDIUM").replace(r#""concerns": []"#, r#""concerns": ["3 warnings"]"#);
        let verdict = said(&weak);
        assert_eq!((verdict.status, verdict.confidence), (Status::Pass, Some(0.6)));
        assert_eq!((verdict.findings[0].level, verdict.findings[0].message.as_str()), (Level::Warning, "3 warnings"));
    }

    #[test]
    fn a_rejection_fails_with_its_concerns() {
        let text = r#"{"nonce": "NONCE", "verdict": "REJECTED", "confidence": "LOW", "findings": [], "concerns": ["src/a.rs:1: no error handling"], "recommendation": "retry", "feedback": "handle null"}"#;
        let verdict = said(text);
        assert_eq!((verdict.status, verdict.confidence), (Status::Fail, Some(0.3)));
        assert_eq!(verdict.class.as_ref().map(Class::as_str), Some("review-rejection"));
        assert_eq!(verdict.findings[0].hint.as_deref(), Some("handle null"));
        assert!(verdict.findings[0].place.is_some());
        let verdict = said(&GOOD.replace("APPROVED", "REJECTED").replace("commit", "manual_review"));
        assert_eq!((verdict.status, verdict.findings[0].level), (Status::Fail, Level::Error));
    }

    #[test]
    fn anything_else_abstains() {
        for text in [
            GOOD.replace("commit", "retry"),
            GOOD.replace("APPROVED", "approved"),
            GOOD.replace("APPROVED", "APPROVED | REJECTED"),
            GOOD.replace("NONCE", "other"),
            GOOD.replace("HIGH", "VERY HIGH"),
            GOOD.replace(r#""verdict": "APPROVED""#, r#""verdict": "REJECTED", "verdict": "APPROVED""#),
            format!("APPROVED\n{GOOD}"),
            "verdict: APPROVED".to_owned(),
        ] {
            assert_eq!(said(&text).status, Status::Abstain, "{text}");
        }
    }

    #[test]
    fn a_person_decides_where_the_architect_says_so() {
        for (text, status) in [
            (GOOD.replace("commit", "manual_review"), Status::Pass),
            (GOOD.replace("commit", "manual_review").replace("APPROVED", "REJECTED"), Status::Fail),
        ] {
            let verdict = said(&text);
            assert_eq!((verdict.status, verdict.needs_person), (status, true), "{text}");
        }
        assert!(!said(GOOD).needs_person);
    }

    #[test]
    fn a_malformed_answer_is_asked_for_once_more() {
        let settings = serde_json::from_str(r#"{"verify_evidence": false}"#).expect("settings");
        let world = Scripted { then: Some(GOOD.to_owned()), ..Scripted::saying("Approved!") };
        assert_eq!(judge(&submission(), &settings, &world).status, Status::Pass);
    }

    #[test]
    fn without_proof_nobody_is_asked() {
        let settings = serde_json::from_str(r#"{"proof": "tests"}"#).expect("settings");
        for (exit_code, status, asked) in [(Some(1), Status::Fail, 0), (Some(0), Status::Pass, 1)] {
            let command = CommandEvidence {
                name: "tests".into(),
                argv: vec!["make".into(), "test".into()],
                exit_code,
                output: "5 tests passed".into(),
                ..CommandEvidence::default()
            };
            let mut submission = submission();
            submission.evidence = vec![Evidence { commands: vec![command], ..Evidence::default() }];
            let world = Scripted::saying(GOOD);
            let verdict = judge(&submission, &settings, &world);
            assert_eq!(ReviewVerdict::ABOUT.undeclared(&verdict), [""; 0]);
            assert_eq!(verdict.status, status, "{exit_code:?}");
            assert_eq!(world.asked.borrow().len(), asked);
            assert!(asked == 0 || world.asked.borrow()[0].contains("5 tests passed"));
        }
    }
}
