//! `review-verdict`: an architect approves or rejects the work.
//!
//! The answer is one JSON object: `verdict` (APPROVED, REJECTED), `confidence` (HIGH, MEDIUM, LOW), `findings`,
//! `concerns`, `recommendation` (commit, retry, manual_review), `feedback`, and the nonce. An approval that does not
//! recommend to commit contradicts itself and is an abstention, as is everything else that is not such an object.
//!
//! An approval without proof is none: unless the settings say otherwise, an earlier tier must have run a command that
//! ended with exit code 0, or the work fails before anybody is asked.

use gatehost_review::answer::{self, Repeats};
use gatehost_review::{Host, Review, Settings, World};
use gatehost_sdk::{About, Class, Finding, Submission, SubmissionVerifier, Verdict};
use serde::Deserialize;

const TEMPLATE: &str = include_str!("../prompt.md");
const ANSWER_SCHEMA: &str = r#"{"type":"object","properties":{"nonce":{"type":"string"},"verdict":{"enum":["REJECTED","APPROVED"]},"confidence":{"enum":["LOW","MEDIUM","HIGH"]},"findings":{"type":"array","items":{"type":"string"}},"concerns":{"type":"array","items":{"type":"string"}},"recommendation":{"enum":["commit","retry","manual_review"]},"feedback":{"type":"string"}},"required":["nonce","verdict","confidence","findings","concerns","recommendation","feedback"],"additionalProperties":false}"#;
const OWN_SETTINGS: &str = r#""verify_evidence": {
      "description": "Whether an earlier tier must have run a command that ended with exit code 0.",
      "type": "boolean",
      "default": true
    },
    "#;

#[derive(Deserialize)]
struct ArchitectSettings {
    #[serde(default = "yes")]
    verify_evidence: bool,
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
        "A model that did not do the work approves it as an architect would.",
    )
    .settings_schema(gatehost_review::settings_schema!(TEMPLATE, OWN_SETTINGS));

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
         - `feedback`: a text, what the executor should change; empty where nothing should"
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

impl Repeats for Architect {
    fn nonce(&self) -> &str {
        &self.nonce
    }
}

fn judge(submission: &Submission, settings: &ArchitectSettings, world: &dyn World) -> Verdict {
    let proven =
        submission.evidence.iter().flat_map(|check| &check.commands).any(|command| command.exit_code == Some(0));
    if settings.verify_evidence && !proven {
        let finding = Finding::error("no-verify-evidence", "no earlier tier ran a command that ended with exit code 0")
            .hint("put a check that runs the verify command into an earlier tier, or set `verify_evidence = false`");
        let verdict = Verdict::fail("there is no proof to approve", vec![finding]);
        return Verdict { class: Some(Class::VerifyFailure), ..verdict };
    }
    let review = Review { template: TEMPLATE, form, schema: Some(ANSWER_SCHEMA) };
    let reviewed = match review.ask(submission, &settings.common, world) {
        Ok(reviewed) => reviewed,
        Err(verdict) => return verdict,
    };
    let architect = match answer::object::<Architect>(&reviewed.text, &reviewed.nonce) {
        Ok(architect) => architect,
        Err(verdict) => return verdict,
    };
    let approved = architect.verdict == Decision::Approved;
    if approved && architect.recommendation != Recommendation::Commit {
        return Verdict::abstain("the architect approves, and does not recommend to commit: a person should look");
    }
    let new = |code: &str, message: String| reviewed.finding(approved, code, message);
    let mut findings: Vec<Finding> = architect.concerns.into_iter().map(|concern| new("concern", concern)).collect();
    if !approved && findings.is_empty() {
        findings.push(new("concern", "the architect rejects the work and names no concern".to_owned()));
    }
    let feedback = architect.feedback.trim();
    if let (Some(first), false) = (findings.first_mut(), feedback.is_empty()) {
        first.hint = Some(feedback.to_owned());
    }
    findings.extend(architect.findings.into_iter().map(|finding| Finding::note("finding", finding)));
    if architect.recommendation == Recommendation::ManualReview {
        findings.push(Finding::note("manual-review", "the architect recommends that a person looks at it"));
    }
    findings.extend(reviewed.notes);
    let verdict = match approved {
        true => Verdict { findings, ..Verdict::pass() },
        false => {
            Verdict { class: Some(Class::ReviewRejection), ..Verdict::fail("rejected by the architect", findings) }
        }
    };
    Verdict { confidence: Some(number(architect.confidence)), ..verdict }
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
    use gatehost_sdk::submission::{CommandEvidence, Evidence, Outcome};
    use gatehost_sdk::{Level, Status};

    const GOOD: &str = r#"{"nonce": "NONCE", "verdict": "APPROVED", "confidence": "HIGH", "findings": ["a exists"], "concerns": [], "recommendation": "commit", "feedback": ""}"#;

    fn said(text: &str) -> Verdict {
        let settings = serde_json::from_str(r#"{"verify_evidence": false}"#).expect("settings");
        judge(&submission(), &settings, &Scripted::saying(text))
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
            GOOD.replace("commit", "manual_review"),
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
    fn an_approval_needs_proof() {
        let settings = || serde_json::from_str("{}").expect("settings");
        let evidence = |exit_code| Evidence {
            check: "tests".into(),
            verifier: "command".into(),
            outcome: Outcome::Pass,
            commands: vec![CommandEvidence {
                name: "tests".into(),
                argv: vec!["test".into()],
                exit_code,
                timed_out: exit_code.is_none(),
                output: "5 tests passed".into(),
                ..CommandEvidence::default()
            }],
            ..Evidence::default()
        };
        for (exit_code, status, asked) in
            [(None, Status::Fail, 0), (Some(1), Status::Fail, 0), (Some(0), Status::Pass, 1)]
        {
            let mut submission = submission();
            submission.evidence = vec![evidence(exit_code)];
            let world = Scripted::saying(GOOD);
            assert_eq!(judge(&submission, &settings(), &world).status, status, "{exit_code:?}");
            assert_eq!(world.asked.borrow().len(), asked);
            assert!(asked == 0 || world.asked.borrow()[0].contains("5 tests passed"));
        }
    }
}
