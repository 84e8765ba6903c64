//! `completion-signal`: the executor says explicitly that it is done.
//!
//! The signal must stand on a line of its own in the claim. A line may wrap it in Markdown emphasis or code marks
//! and end it with a full stop or an exclamation mark, because executors write that; a sentence that merely
//! mentions the signal ("I will say TASK_COMPLETE when it is done") does not count, nor does a signal inside a
//! code block or a quotation, where the executor shows somebody else's words, or inside an HTML comment, where nobody
//! sees it. Silence is not a signal.

use gatehost_sdk::markdown::{self, Said};
use gatehost_sdk::{Finding, Rule, Submission, Verdict};

gatehost_sdk::settings! {
    struct Settings {
        /// What the claim must say on a line of its own.
        signal: String = "TASK_COMPLETE" => { minLength: 1, maxLength: 200, pattern: r"^\S(.*\S)?$" },
    }
}

gatehost_sdk::submission_verifier!(
    check,
    summary: "The claim says explicitly, on a line of its own, that the task is complete.",
    settings: Settings,
    rules: [
        Rule::error("no-claim", "There is no claim.").help("Hand over what the executor said when it was done."),
        Rule::error("empty-claim", "The claim is empty.").help("Hand over what the executor said when it was done."),
        Rule::error("no-signal", "The claim does not contain the signal.")
            .help("When the task is complete, end the claim with a line that is exactly the signal."),
        Rule::error("signal-not-alone", "The claim mentions the signal, and not on a line of its own.")
            .help("When the task is complete, end the claim with a line that is exactly the signal."),
    ],
);

fn check(submission: &Submission, settings: Settings) -> Verdict {
    judge(submission.claim.as_ref().map(|claim| claim.text.as_str()), &settings.signal)
}

fn judge(claim: Option<&str>, signal: &str) -> Verdict {
    let finding = match claim {
        None => Finding::error("no-claim", format!("there is no claim; expected one that says `{signal}`")),
        Some(text) if text.trim().is_empty() => {
            Finding::error("empty-claim", format!("the claim is empty; expected it to say `{signal}`"))
        }
        Some(text) if says(text, signal) => return Verdict::pass(),
        Some(text) if text.contains(signal) => Finding::error(
            "signal-not-alone",
            format!("the claim mentions `{signal}`, and not on a line of its own outside quotations and code blocks"),
        ),
        Some(_) => Finding::error("no-signal", format!("the claim does not say `{signal}`")),
    };
    let hint = format!("when the task is complete, end with a line that is exactly `{signal}`");
    Verdict::fail("no explicit completion signal", vec![finding.hint(hint)])
}

fn says(text: &str, signal: &str) -> bool {
    markdown::lines(text).iter().filter(|line| line.said == Said::Plainly).any(|line| {
        let line = line.text.trim();
        let bare = line.trim_matches(['*', '_', '`']).trim_end_matches(['.', '!']).trim_matches(['*', '_', '`']);
        line == signal || bare == signal.trim_matches('_') && line.contains(signal)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::Status;

    #[test]
    fn a_signal_on_its_own_line_passes() {
        for claim in [
            "TASK_COMPLETE",
            "All tests pass.\n\nTASK_COMPLETE\n",
            "  TASK_COMPLETE  ",
            "done\r\nTASK_COMPLETE\r\n",
            "**TASK_COMPLETE**",
            "`TASK_COMPLETE`.",
            "TASK_COMPLETE!",
            "```\ncargo test\n```\nTASK_COMPLETE",
            "```cargo test``` passes now.\n\nTASK_COMPLETE",
            "\u{FEFF}TASK_COMPLETE",
            "<!-- a note -->\nTASK_COMPLETE",
        ] {
            assert_eq!(judge(Some(claim), "TASK_COMPLETE").status, Status::Pass, "{claim:?}");
        }
    }

    #[test]
    fn anything_less_fails_with_its_code() {
        for (claim, code) in [
            (None, "no-claim"),
            (Some(""), "empty-claim"),
            (Some(" \n"), "empty-claim"),
            (Some("Everything is finished."), "no-signal"),
            (Some("task_complete"), "no-signal"),
            (Some("I will say TASK_COMPLETE when it is done."), "signal-not-alone"),
            (Some("TASK_COMPLETED"), "signal-not-alone"),
            (Some("NOT TASK_COMPLETE"), "signal-not-alone"),
            (Some("> TASK_COMPLETE"), "signal-not-alone"),
            (Some("TASK_COMPLETE?"), "signal-not-alone"),
            (Some("```\nTASK_COMPLETE\n```"), "signal-not-alone"),
            (Some("```\nTASK_COMPLETE"), "signal-not-alone"),
            (Some("````\n```\nTASK_COMPLETE\n```\n````\n"), "signal-not-alone"),
            (Some("```text\na\n```sh\nTASK_COMPLETE\n```"), "signal-not-alone"),
            (Some("<!--\nTASK_COMPLETE\n-->\nnot done"), "signal-not-alone"),
            (Some("<!--\nTASK_COMPLETE"), "signal-not-alone"),
            (Some("    TASK_COMPLETE"), "signal-not-alone"),
        ] {
            let verdict = judge(claim, "TASK_COMPLETE");
            assert_eq!(verdict.status, Status::Fail, "{claim:?}");
            assert_eq!(verdict.findings[0].code, code, "{claim:?}");
        }
    }

    #[test]
    fn the_signal_can_be_another() {
        assert_eq!(judge(Some("DONE"), "DONE").status, Status::Pass);
        assert_eq!(judge(Some("__DONE__"), "__DONE__").status, Status::Pass);
        assert_eq!(judge(Some("TASK_COMPLETE"), "DONE").status, Status::Fail);
    }
}
