//! `contradiction`: the claim does not say both that the task is complete and that it is not.
//!
//! If the claim contains the completion signal, it must not contain a phrase that admits failure. Without a claim, or without
//! the signal, no completion is claimed, and the verifier is not applicable.
//!
//! ## What counts as an admission
//!
//! A phrase is a sequence of words as a CommonMark renderer shows them. Markup, entities, case, line breaks, hyphens, invisible
//! characters and look-alike letters do not matter, `couldn't` equals `could not`, and the last word may be longer (`requires
//! manually`). An occurrence does **not** count if it is
//!
//! - **quoted**: in a closed fenced code block, in inline code, crossed out, on a line of a blockquote, or between quotation
//!   marks of one paragraph (`prose.rs`); or
//! - **negated**: in its own clause, a word before it negates it ("no manual intervention was needed", "ran without manual
//!   intervention"), or its predicate or answer does ("manual intervention was not needed", "Manual intervention: none"). Two
//!   negations cancel out: "does not work without manual intervention" is an admission (`negation.rs`).
//!
//! Everything else counts, including conditions and plans ("if it fails, it requires manual work"): an executor that is done
//! does not need the phrase. In doubt, the verifier fails.

mod negation;
mod prose;

#[cfg(test)]
mod sentences;

use gatehost_sdk::{Finding, Rule, Submission, Verdict, markdown};

gatehost_sdk::settings! {
    struct Settings {
        /// The text with which a claim says that the task is complete. If it is empty, every claim says so.
        signal: String = "TASK_COMPLETE" => { maxLength: 200 },
        /// The phrases that admit failure. They replace the default phrases.
        phrases: Vec<String> = DEFAULT_PHRASES
            => { minItems: 1, maxItems: 200 } each { minLength: 1, maxLength: 200, pattern: r"[\p{L}\p{N}]" },
        /// Phrases to add to `phrases` or to the default phrases.
        more_phrases: Vec<String> = []
            => { maxItems: 200 } each { minLength: 1, maxLength: 200, pattern: r"[\p{L}\p{N}]" },
    }
}

const DEFAULT_PHRASES: [&str; 5] =
    ["requires manual", "cannot be automated", "could not complete", "needs human", "manual intervention"];

gatehost_sdk::submission_verifier!(
    check,
    summary: "The claim does not both claim completion and admit failure.",
    settings: Settings,
    rules: [
        Rule::error("contradiction", "The claim says that the task is complete, but also admits that it is not.")
            .help("Finish what is left, or do not claim completion. If the words are a quotation, put them in quotes."),
    ],
);
gatehost_sdk::use_arena!();

fn check(submission: &Submission, settings: Settings) -> Verdict {
    judge(submission.claim.as_ref().map(|claim| claim.text.as_str()), &settings)
}

fn judge(claim: Option<&str>, settings: &Settings) -> Verdict {
    let signal = &settings.signal;
    let Some(text) = claim.filter(|text| !text.trim().is_empty()) else {
        return Verdict::not_applicable("the submission has no claim");
    };
    if !claims(text, signal) {
        return Verdict::not_applicable(format!("the claim does not say `{signal}`, so it does not claim completion"));
    }
    let claimed = if signal.is_empty() { "claims completion".to_owned() } else { format!("says `{signal}`") };
    let findings: Vec<Finding> = admissions(text, settings.phrases.iter().chain(&settings.more_phrases))
        .into_iter()
        .map(|(phrase, line)| {
            let excerpt = excerpt(text, line);
            Finding::error(
                "contradiction",
                format!("the claim {claimed}, but admits failure on line {line} (`{phrase}`): {excerpt}"),
            )
            .hint("finish what is left, or do not claim completion; if the words are a quotation, put them in quotes")
        })
        .collect();
    if findings.is_empty() {
        Verdict::pass()
    } else {
        Verdict::fail("the claim says that the task is complete, but admits failure", findings)
    }
}

/// Whether the signal stands in a text, or in what a reader sees of it.
fn claims(text: &str, signal: &str) -> bool {
    let shown = || {
        gatehost_page::shown(text).into_iter().any(|row| {
            let words: String = row.spans.iter().map(|(_, words)| &**words).collect();
            words.contains(signal)
        })
    };
    text.contains(signal) || shown()
}

/// Each phrase that is admitted, with the line of its first occurrence, in the order of the lines.
fn admissions<'a>(text: &str, phrases: impl Iterator<Item = &'a String>) -> Vec<(&'a str, usize)> {
    let tokens = prose::tokens(text);
    let mut found: Vec<(&str, usize)> = Vec::new();
    for phrase in phrases {
        let words = prose::phrase_words(phrase);
        if found.iter().any(|(known, _)| known == phrase) {
            continue;
        }
        let line = prose::occurrences(&tokens, &words)
            .find(|place| !negation::is_negated(&tokens, place.clone()))
            .map(|place| tokens[place.start].line);
        found.extend(line.map(|line| (phrase.as_str(), line)));
    }
    found.sort_by_key(|&(_, line)| line);
    found
}

/// The line, for the reader to recognise it.
fn excerpt(text: &str, line: usize) -> String {
    const MOST: usize = 160;
    let lines = markdown::lines(text);
    let line = lines.iter().find(|known| known.number == line).map_or("", |line| line.text.trim());
    let mut short: String = line.chars().take(MOST).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::{Status, SubmissionVerifier};

    fn codes(claim: Option<&str>, settings: &str) -> (Status, Vec<String>) {
        let settings: Settings = serde_json::from_str(settings).expect("settings");
        let verdict = judge(claim, &settings);
        assert_eq!(<TheVerifier as SubmissionVerifier>::ABOUT.undeclared(&verdict), [""; 0]);
        (verdict.status, verdict.findings.into_iter().map(|finding| finding.code).collect())
    }

    #[test]
    fn a_signal_beside_an_admission_fails() {
        for claim in [
            "The deploy requires manual approval.\n\nTASK_COMPLETE",
            "TASK_COMPLETE\n\nNote: I could not complete step 3.",
            "I couldn’t complete step 3. TASK_COMPLETE",
            "**Requires** *manual* steps. TASK_COMPLETE",
            "It requires\nmanual steps. TASK_COMPLETE",
            "```\nrequires manual work\nTASK_COMPLETE",
            "label: needs-human\nTASK_COMPLETE",
            "It requires manual work.\n\nTASK\\_COMPLETE",
            "It requires manual work.\n\nTASK_**COMPLETE**",
        ] {
            assert_eq!(codes(Some(claim), "{}"), (Status::Fail, vec!["contradiction".to_owned()]), "{claim:?}");
        }
    }

    #[test]
    fn a_clean_claim_passes_and_a_claim_of_nothing_is_not_judged() {
        assert_eq!(codes(Some("All 5 tests pass.\nTASK_COMPLETE"), "{}"), (Status::Pass, vec![]));
        assert_eq!(codes(Some("This requires manual work."), "{}"), (Status::NotApplicable, vec![]));
        assert_eq!(codes(None, "{}"), (Status::NotApplicable, vec![]));
        assert_eq!(codes(Some(" \n"), "{}"), (Status::NotApplicable, vec![]));
    }

    #[test]
    fn signal_and_phrases_can_be_others() {
        let contradiction = (Status::Fail, vec!["contradiction".to_owned()]);
        assert_eq!(
            codes(Some("DONE, but it is half-finished"), r#"{"signal":"DONE","phrases":["half finished"]}"#),
            contradiction
        );
        assert_eq!(codes(Some("It needs human eyes."), r#"{"signal":""}"#), contradiction);
        assert_eq!(
            codes(Some("TASK_COMPLETE. Left as a TODO."), r#"{"more_phrases":["left as a todo"]}"#),
            contradiction
        );
        assert_eq!(codes(Some("TASK_COMPLETE, needs human eyes"), r#"{"phrases":["todo"]}"#), (Status::Pass, vec![]));
        assert_eq!(codes(Some("TASK_COMPLETE, `todo` is gone"), r#"{"phrases":["todo"]}"#), (Status::Pass, vec![]));
        assert!(serde_json::from_str::<Settings>(r#"{"phrase":[]}"#).is_err());
    }

    #[test]
    fn every_phrase_is_reported_once_with_its_line() {
        let claim = "TASK_COMPLETE\nIt needs human eyes.\nIt requires manual work, and needs human eyes.";
        let verdict = judge(Some(claim), &sentences::defaults());
        let lines: Vec<&str> =
            verdict.findings.iter().map(|finding| finding.message.split(" on ").nth(1).expect("a line")).collect();
        assert_eq!(
            lines,
            [
                "line 2 (`needs human`): It needs human eyes.",
                "line 3 (`requires manual`): It requires manual work, and needs human eyes."
            ]
        );
    }
}
