//! `review-signal`: a model reviews the work, and says REVIEW_PASS or REVIEW_FAIL on its last line.
//!
//! The signal counts only on the last line, followed by the nonce, and only if no other line is a signal. Each point below
//! "Feedback for Revision" becomes a finding. An answer without exactly one signal is an abstention. The rest of the answer is
//! not searched for the words.

mod feedback;

use gatehost_review::{CATEGORIES, Host, Review, Settings, World};
use gatehost_sdk::{About, Class, Finding, Rule, Submission, SubmissionVerifier, Verdict};

const TEMPLATE: &str = include_str!("../prompt.md");
const PASS: &str = "REVIEW_PASS";
const FAIL: &str = "REVIEW_FAIL";

struct ReviewSignal;

impl SubmissionVerifier for ReviewSignal {
    type Settings = Settings;
    const ABOUT: About = About::new(
        "review-signal",
        env!("CARGO_PKG_VERSION"),
        "A model that did not do the work reviews it and ends with REVIEW_PASS.",
    )
    .settings_schema(gatehost_review::settings_schema!(TEMPLATE, ""))
    .rules(
        const {
            &[
                Rule::error("feedback", "The reviewer requests a change.").help("Make the change, or explain why not."),
                Rule::note("not-shown", "A changed file was not shown to the reviewer, because `exclude` matches it."),
            ]
        },
    );

    fn check(submission: &Submission, settings: Settings) -> Verdict {
        judge(submission, &settings, &Host)
    }
}

gatehost_sdk::export_submission_verifier!(ReviewSignal);

/// The line that would pass does not stand here: its two words are apart.
fn form(nonce: &str) -> String {
    format!(
        "The code word of this review is: {nonce}\n\n\
         First your findings. Then, where something must be changed, a heading `Feedback for Revision` with a list of what \
         to change, a point each. {CATEGORIES}\n\n\
         The last line of your answer is the signal, and nothing else stands on it: one of the words {FAIL} and {PASS}, one \
         space, and the code word. {PASS} only where nothing must be changed. Write the code word nowhere else."
    )
}

fn judge(submission: &Submission, settings: &Settings, world: &dyn World) -> Verdict {
    let review = Review { template: TEMPLATE, form, schema: None };
    let reviewed = match review.ask(submission, settings, world) {
        Ok(reviewed) => reviewed,
        Err(verdict) => return verdict,
    };
    let Some((passed, before)) = signal(&reviewed.text, &reviewed.nonce) else {
        return Verdict::abstain("the reviewer's last line is not the requested signal");
    };
    let new = |code: &str, message: String| reviewed.finding(passed, code, message);
    let points = feedback::points(before);
    let mut findings: Vec<Finding> = points.into_iter().map(|point| new("feedback", point)).collect();
    if !passed && findings.is_empty() {
        let words = before.trim();
        let reason = if words.is_empty() { "the reviewer rejects the work without a reason" } else { words };
        findings.push(new("feedback", reason.to_owned()));
    }
    findings.extend(reviewed.notes);
    match passed {
        true => Verdict { findings, ..Verdict::pass() },
        false => Verdict {
            class: Some(Class::ReviewRejection),
            ..Verdict::fail("the reviewer asks for a revision", findings)
        },
    }
}

/// Whether the review passed, and what was said before the signal. `None` where there is not exactly one signal, on the
/// last line.
fn signal<'a>(text: &'a str, nonce: &str) -> Option<(bool, &'a str)> {
    let of_line = |line: &str| {
        // Emphasis around it is the model's, not the content's: only the model knows the nonce.
        let line = line.trim().trim_matches(['*', '`']);
        [(FAIL, false), (PASS, true)]
            .into_iter()
            .find(|(word, _)| line == format!("{word} {nonce}"))
            .map(|(_, passed)| passed)
    };
    if nonce.is_empty() || text.lines().filter(|line| of_line(line).is_some()).count() != 1 {
        return None;
    }
    let text = text.trim_end();
    let start = text.rfind('\n').map_or(0, |newline| newline + 1);
    of_line(&text[start..]).map(|passed| (passed, &text[..start]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_review::scripted::{NONCE, Scripted, submission};
    use gatehost_sdk::submission::PriorFinding;
    use gatehost_sdk::{Level, Status};

    fn said(text: &str) -> Verdict {
        let verdict = judge(&submission(), &Settings::default(), &Scripted::saying(text));
        assert_eq!(ReviewSignal::ABOUT.undeclared(&verdict), [""; 0]);
        verdict
    }

    #[test]
    fn the_signal_on_the_last_line_decides() {
        for (text, status) in [
            ("All is well.\n\nREVIEW_PASS NONCE", Status::Pass),
            ("REVIEW_PASS NONCE\n\n", Status::Pass),
            ("Fine.\r\n**REVIEW_PASS NONCE**\r\n", Status::Pass),
            ("The file says REVIEW_FAIL somewhere.\nREVIEW_PASS NONCE", Status::Pass),
            ("Bad.\nREVIEW_FAIL NONCE", Status::Fail),
            ("REVIEW_PASS\nREVIEW_FAIL NONCE", Status::Fail),
        ] {
            assert_eq!(said(text).status, status, "{text}");
        }
    }

    #[test]
    fn anything_else_abstains() {
        for text in [
            "All is well.",
            "REVIEW_PASS",
            "REVIEW_PASS guessed",
            "REVIEW_PASS NONCE\nBut wait.",
            "REVIEW_FAIL NONCE\nREVIEW_PASS NONCE",
            "REVIEW_PASS NONCE\nREVIEW_PASS NONCE",
            "review_pass NONCE",
            "REVIEW_PASS  NONCE",
            "REVIEW_PASS NONCE.",
            "I say REVIEW_PASS NONCE",
            "> REVIEW_PASS NONCE",
            "REVIEW_PASS NONCE REVIEW_FAIL NONCE",
            "REVIEW_PASSNONCE",
            "REVIEW_PASS\nNONCE",
        ] {
            assert_eq!(said(text).status, Status::Abstain, "{text}");
        }
        assert!(signal("REVIEW_PASS ", "").is_none());
    }

    #[test]
    fn feedback_becomes_findings() {
        let text = "## Findings\n- odd\n\n## Feedback for Revision\n\n- src/a.rs:1: check the input\n- add a test\n  for it\n\nREVIEW_FAIL NONCE";
        let verdict = said(text);
        let messages: Vec<&str> = verdict.findings.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(messages, ["check the input", "add a test for it"]);
        assert_eq!(verdict.findings[0].place.as_ref().and_then(|place| place.line), Some(1));
        assert_eq!(verdict.class.as_ref().map(Class::as_str), Some("review-rejection"));
        let verdict = said("It does not build.\nREVIEW_FAIL NONCE");
        assert_eq!(verdict.findings[0].message, "It does not build.");
        let verdict = said("Feedback for Revision:\n1. rename it\nREVIEW_PASS NONCE");
        assert_eq!((verdict.status, verdict.findings[0].level), (Status::Pass, Level::Warning));
    }

    #[test]
    fn a_later_iteration_is_shown_the_findings_of_the_earlier() {
        let mut later = submission();
        later.attempt = 2;
        later.prior_findings = vec![PriorFinding {
            attempt: 1,
            check: "review".into(),
            finding: Finding::error("feedback", "no test"),
            fingerprint: String::new(),
        }];
        let world = Scripted::saying("REVIEW_PASS NONCE");
        assert_eq!(judge(&later, &Settings::default(), &world).status, Status::Pass);
        let asked = world.asked.borrow();
        assert!(asked[0].contains("iteration 2") && asked[0].contains("attempt 1, review: [feedback] no test"));
    }

    #[test]
    fn the_prompt_does_not_contain_its_own_pass() {
        let world = Scripted::saying("x");
        judge(&submission(), &Settings::default(), &world);
        let asked = world.asked.borrow();
        assert!(asked[0].contains(NONCE) && !asked[0].contains(&format!("{PASS} {NONCE}")));
    }
}
