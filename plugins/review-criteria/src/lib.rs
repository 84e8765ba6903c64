//! `review-criteria`: a model decides whether the result satisfies the task and its criteria.
//!
//! The answer is one JSON object: `passed`, `issues`, `confidence`, `suggestion`, and the nonce. With a pass, issues are
//! warnings. With a failure, they are errors, and the suggestion is the hint of the first. Only `passed` and the nonce are
//! required; the default confidence is 0.5. After any other answer (text around the object, another nonce, a confidence outside
//! 0 to 1) the model is asked once more, and then the verifier abstains.

use gatehost_review::answer::{self, HasNonce};
use gatehost_review::{CATEGORIES, Host, Review, ReviewOutcome, Settings, World};
use gatehost_sdk::{About, Class, Finding, Rule, Submission, SubmissionVerifier, Verdict};
use serde::Deserialize;

const TEMPLATE: &str = include_str!("../prompt.md");
const ANSWER_SCHEMA: &str = r#"{"type":"object","properties":{"nonce":{"type":"string"},"passed":{"type":"boolean"},"issues":{"type":"array","items":{"type":"string"}},"confidence":{"type":"number"},"suggestion":{"type":"string"}},"required":["nonce","passed","issues","confidence","suggestion"],"additionalProperties":false}"#;

struct ReviewCriteria;

impl SubmissionVerifier for ReviewCriteria {
    type Settings = Settings;
    const ABOUT: About = About::new(
        "review-criteria",
        env!("CARGO_PKG_VERSION"),
        "A model that did not do the work judges that it satisfies the task and its criteria.",
    )
    .settings_schema(gatehost_review::settings_schema!(TEMPLATE, ""))
    .rules(
        const {
            &[
                Rule::error("issue", "The reviewer names a problem with the work.").help("Fix it."),
                Rule::note("not-shown", "A changed file was not shown to the reviewer, because `exclude` matches it."),
            ]
        },
    );

    fn check(submission: &Submission, settings: Settings) -> Verdict {
        judge(submission, &settings, &Host)
    }
}

gatehost_sdk::export_submission_verifier!(ReviewCriteria);

/// Not one word of an answer stands here as it would have to be given.
fn form(nonce: &str) -> String {
    format!(
        "Answer with one JSON object and with nothing before or after it. It has exactly these fields:\n\n\
         - `nonce`: a text, the code word of this review. It is: {nonce}\n\
         - `passed`: true where the task and every criterion are satisfied, and false otherwise\n\
         - `issues`: a list of texts, one for each problem; empty where there is none\n\
         - `confidence`: a number from 0 to 1, how sure you are\n\
         - `suggestion`: a text, what should be changed; empty where nothing should\n\n\
         {CATEGORIES}"
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Assessment {
    nonce: String,
    passed: bool,
    issues: Option<Vec<String>>,
    confidence: Option<f64>,
    suggestion: Option<String>,
}

impl HasNonce for Assessment {
    fn nonce(&self) -> &str {
        &self.nonce
    }
}

/// How sure a reviewer is that does not say so.
const UNSAID_CONFIDENCE: f64 = 0.5;

fn assessment(reviewed: &ReviewOutcome) -> Result<Assessment, Verdict> {
    let assessment: Assessment = answer::object(&reviewed.text, &reviewed.nonce)?;
    match assessment.confidence {
        Some(confidence) if !(0.0..=1.0).contains(&confidence) => {
            Err(Verdict::abstain(format!("the reviewer gave a confidence of {confidence}; expected 0 to 1")))
        }
        _ => Ok(assessment),
    }
}

fn judge(submission: &Submission, settings: &Settings, world: &dyn World) -> Verdict {
    let review = Review { template: TEMPLATE, form, schema: Some(ANSWER_SCHEMA) };
    let (assessment, reviewed) = match review.ask_for(submission, settings, world, assessment) {
        Ok(answered) => answered,
        Err(verdict) => return verdict,
    };
    let Assessment { passed, issues, confidence, suggestion, .. } = assessment;
    let (issues, confidence) = (issues.unwrap_or_default(), confidence.unwrap_or(UNSAID_CONFIDENCE));
    let suggestion = suggestion.as_deref().unwrap_or_default().trim();
    let new = |code: &str, message: String| reviewed.finding(passed, code, message);
    let mut findings: Vec<Finding> = issues.into_iter().map(|issue| new("issue", issue)).collect();
    if !passed && findings.is_empty() {
        findings.push(new("issue", "the reviewer rejects the result without naming an issue".to_owned()));
    }
    if let (Some(first), false) = (findings.first_mut(), suggestion.is_empty()) {
        first.hint = Some(suggestion.to_owned());
    }
    findings.extend(reviewed.notes);
    let verdict = match passed {
        true => Verdict { findings, ..Verdict::pass() },
        false => Verdict {
            class: Some(Class::ReviewRejection),
            ..Verdict::fail("the reviewer finds that the criteria are not met", findings)
        },
    };
    Verdict { confidence: Some(confidence), ..verdict }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_review::scripted::{Scripted, added, submission};
    use gatehost_sdk::models::Stop;
    use gatehost_sdk::{Category, Level, Status};

    const GOOD: &str = r#"{"nonce": "NONCE", "passed": true, "issues": [], "confidence": 0.9, "suggestion": ""}"#;

    fn said(text: &str) -> Verdict {
        let verdict = judge(&submission(), &Settings::default(), &Scripted::saying(text));
        assert_eq!(ReviewCriteria::ABOUT.undeclared(&verdict), [""; 0]);
        verdict
    }

    #[test]
    fn an_assessment_becomes_a_verdict() {
        let verdict = said(GOOD);
        assert_eq!((verdict.status, verdict.confidence, verdict.findings.len()), (Status::Pass, Some(0.9), 0));
        let bad = r#"{"nonce": "NONCE", "passed": false, "issues": ["src/a.rs:1: a does nothing", "no test"],
            "confidence": 0.8, "suggestion": "write it"}"#;
        let verdict = said(bad);
        assert_eq!(
            (verdict.status, verdict.class.as_ref().map(Class::as_str)),
            (Status::Fail, Some("review-rejection"))
        );
        let place = verdict.findings[0].place.as_ref().expect("a place");
        assert_eq!((place.path.as_str(), place.line), ("src/a.rs", Some(1)));
        assert_eq!(verdict.findings[0].hint.as_deref(), Some("write it"));
        assert_eq!(verdict.findings[1].level, Level::Error);
    }

    #[test]
    fn only_the_decision_must_be_said() {
        let verdict = said(r#"{"nonce": "NONCE", "passed": true}"#);
        assert_eq!((verdict.status, verdict.confidence), (Status::Pass, Some(0.5)));
        let verdict = said(r#"{"nonce": "NONCE", "passed": false, "issues": ["manual: no key"], "suggestion": null}"#);
        assert_eq!((verdict.status, verdict.findings[0].category), (Status::Fail, Category::Manual));
        assert_eq!((&*verdict.findings[0].message, &verdict.findings[0].hint), ("no key", &None));
    }

    #[test]
    fn a_malformed_answer_is_asked_for_once_more() {
        for (first, then, status, asked) in [
            ("It is fine.", GOOD, Status::Pass, 2),
            ("", &*GOOD.replace("true", "false"), Status::Fail, 2),
            ("It is fine.", "It is fine.", Status::Abstain, 2),
            (GOOD, "It is not.", Status::Pass, 1),
            (&*GOOD.replace("0.9", "7"), GOOD, Status::Pass, 2),
        ] {
            let world = Scripted { then: Some(then.to_owned()), ..Scripted::saying(first) };
            assert_eq!(judge(&submission(), &Settings::default(), &world).status, status, "{first} {then}");
            assert_eq!(world.asked.borrow().len(), asked, "{first} {then}");
        }
        let world = Scripted::saying("It is fine.");
        judge(&submission(), &Settings::default(), &world);
        assert!(!world.asked.borrow()[1].contains("It is fine."), "what is under review may have said it");
    }

    #[test]
    fn issues_beside_a_pass_are_warnings() {
        let verdict = said(&GOOD.replace("[]", r#"["slow"]"#));
        assert_eq!((verdict.status, verdict.findings[0].level), (Status::Pass, Level::Warning));
    }

    #[test]
    fn a_rejection_without_a_reason_is_one() {
        let verdict = said(&GOOD.replace("true", "false"));
        assert_eq!((verdict.status, verdict.findings.len()), (Status::Fail, 1));
    }

    #[test]
    fn anything_else_abstains() {
        for text in [
            GOOD.replace("NONCE", "guessed"),
            GOOD.replace("0.9", "1.1"),
            GOOD.replace("0.9", "-1"),
            GOOD.replace("0.9", "\"HIGH\""),
            GOOD.replace("true", "1"),
            GOOD.replace(r#""passed": true, "#, ""),
            format!("It is fine.\n{GOOD}"),
            format!("{GOOD}{GOOD}"),
            "{}".to_owned(),
        ] {
            assert_eq!(said(&text).status, Status::Abstain, "{text}");
        }
        for stop in [Stop::Length, Stop::Refusal, Stop::Other] {
            let world = Scripted { stop, ..Scripted::saying(GOOD) };
            assert_eq!(judge(&submission(), &Settings::default(), &world).status, Status::Abstain, "{stop:?}");
        }
    }

    #[test]
    fn what_cannot_be_shown_whole_is_not_asked_about() {
        let settings = |json: &str| serde_json::from_str::<Settings>(json).expect("settings");
        let mut binary = submission();
        binary.changes.push(added("logo.png"));
        let world = || {
            let mut world = Scripted::saying(GOOD);
            world.files.insert("logo.png".to_owned(), vec![0x89, 0xff]);
            world.files.insert("large.txt".to_owned(), vec![b'x'; 3_000]);
            world
        };
        let mut large = submission();
        large.changes.push(added("large.txt"));
        let mut gone = submission();
        gone.changes.push(added("gone.txt"));
        for (submission, settings, status) in [
            (&binary, settings("{}"), Status::Abstain),
            (&binary, settings(r#"{"exclude": ["*.png"]}"#), Status::Pass),
            (&large, settings(r#"{"max_bytes": 1000}"#), Status::Abstain),
            (&large, settings("{}"), Status::Pass),
            (&gone, settings("{}"), Status::Abstain),
            (&large, settings(r#"{"documents": ["none.md"]}"#), Status::Abstain),
            (&large, settings(r#"{"documents": ["src/a.rs"]}"#), Status::Pass),
            (&large, settings(r#"{"prompt": "Is it good?"}"#), Status::Abstain),
            (&large, settings(r#"{"prompt": "{{changes}} {{nothing}}"}"#), Status::Abstain),
            (&large, settings(r#"{"prompt": "Is {{changes}} good?"}"#), Status::Pass),
            (&large, settings(r#"{"model": "other"}"#), Status::Abstain),
        ] {
            let world = world();
            let verdict = judge(submission, &settings, &world);
            assert_eq!(verdict.status, status, "{settings:?}: {}", verdict.summary);
            assert_eq!(world.asked.borrow().len(), usize::from(status == Status::Pass), "{settings:?}");
        }
    }

    #[test]
    fn no_template_loses_what_the_work_is_reviewed_against() {
        let settings = |prompt: &str| Settings {
            prompt: Some(prompt.to_owned()),
            criteria: vec!["no panics".to_owned()],
            documents: vec!["src/a.rs".to_owned()],
            ..Settings::default()
        };
        for prompt in ["{{changes}}", "{{changes}} {{documents}}", "{{task}} {{criteria}} {{changes}} {{documents}}"] {
            let world = Scripted::saying(GOOD);
            assert_eq!(judge(&submission(), &settings(prompt), &world).status, Status::Pass);
            let asked = &world.asked.borrow()[0];
            for shown in ["Add the function a.", "no panics", "a exists", "<the document src/a.rs>"] {
                assert_eq!(asked.matches(shown).count(), 1, "{shown}: {asked}");
            }
        }
    }

    #[test]
    fn nothing_to_review_or_to_review_against_is_no_pass() {
        let mut empty = submission();
        empty.changes.clear();
        assert_eq!(judge(&empty, &Settings::default(), &Scripted::saying(GOOD)).status, Status::Abstain);
        let mut aimless = submission();
        aimless.task = None;
        assert_eq!(judge(&aimless, &Settings::default(), &Scripted::saying(GOOD)).status, Status::Abstain);
        let settings = Settings { criteria: vec!["no panics".to_owned()], ..Settings::default() };
        assert_eq!(judge(&aimless, &settings, &Scripted::saying(GOOD)).status, Status::Pass);
    }

    #[test]
    fn the_executors_words_are_shown_only_when_asked_for() {
        let mut submission = submission();
        let claim = gatehost_sdk::submission::Claim { text: "It is perfect.".to_owned(), report: None };
        submission.claim = Some(claim);
        for (show_claim, shown) in [(false, false), (true, true)] {
            let world = Scripted::saying(GOOD);
            let settings = Settings { show_claim, ..Settings::default() };
            assert_eq!(judge(&submission, &settings, &world).status, Status::Pass);
            assert_eq!(world.asked.borrow()[0].contains("It is perfect."), shown);
        }
    }
}
