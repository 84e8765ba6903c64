//! `completion-signal`: the executor says explicitly that it is done.
//!
//! The signal must be on a line of its own in the claim, as a CommonMark renderer shows it. Emphasis or code marks around it
//! and a full stop or exclamation mark after it are allowed. The signal does not count
//!
//! - in a sentence that mentions it ("I will say TASK_COMPLETE when it is done"),
//! - as the continuation of the previous line ("This is not", then the signal) or below an introduction ("Do not read this
//!   as:"),
//! - at the start of a longer sentence ("is what I will say tomorrow"),
//! - in a code block, a quotation, an HTML element or a comment.
//!
//! If the claim says before or after the signal that the work is not complete, the verifier abstains (`opposite.rs`).

mod opposite;
mod plain;

use gatehost_page::{Shown, Voice, words};
use gatehost_sdk::markdown::Visibility;
use gatehost_sdk::text::one_line;
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
        Rule::error("no-claim", "There is no claim.").help("Pass the executor's final message as the claim."),
        Rule::error("empty-claim", "The claim is empty.").help("Pass the executor's final message as the claim."),
        Rule::error("no-signal", "The claim does not contain the signal.")
            .help("When the task is complete, end the claim with a line that is exactly the signal."),
        Rule::error("signal-not-alone", "The claim mentions the signal, but not on a line of its own.")
            .help("When the task is complete, end the claim with a line that is exactly the signal."),
    ],
);
gatehost_sdk::use_arena!();

fn check(submission: &Submission, settings: Settings) -> Verdict {
    judge(submission.claim.as_ref().map(|claim| claim.text.as_str()), &settings.signal)
}

fn judge(claim: Option<&str>, signal: &str) -> Verdict {
    let finding = match claim {
        None => Finding::error(
            "no-claim",
            format!("the submission has no claim; expected a claim with the line `{signal}`"),
        ),
        Some(text) if text.trim().is_empty() => {
            Finding::error("empty-claim", format!("the claim is empty; expected the line `{signal}`"))
        }
        Some(text) if plain::is_said(text, signal) => return Verdict::pass(),
        Some(text) => {
            let page = gatehost_page::shown(text);
            match says(&page, signal) {
                Some(Ok(())) => {
                    return match opposite::said(&page) {
                        Some(line) => Verdict::abstain(format!(
                            "the claim says `{signal}`, but also that the work may not be complete: {}",
                            one_line(&line)
                        )),
                        None => Verdict::pass(),
                    };
                }
                Some(Err(before)) => Finding::error(
                    "signal-not-alone",
                    format!("the claim says `{signal}` next to words that contradict it: {}", one_line(&before)),
                ),
                None if text.contains(signal) => Finding::error(
                    "signal-not-alone",
                    format!(
                        "the claim mentions `{signal}`, but not on a line of its own outside quotations and code blocks"
                    ),
                ),
                None => Finding::error("no-signal", format!("the claim does not say `{signal}`")),
            }
        }
    };
    let hint = format!("when the task is complete, end with a line that is exactly `{signal}`");
    Verdict::fail("no explicit completion signal", vec![finding.hint(hint)])
}

/// Whether a page says the signal; an error is the line that takes it back.
fn says(page: &[Shown<'_>], signal: &str) -> Option<Result<(), String>> {
    let lines = (0..page.len()).filter(|&at| is_signal(&page[at], signal));
    let said = lines.map(|at| {
        let taken_back = taken_back(&page[..at], &page[at]).or_else(|| gone_on(&page[at + 1..]));
        taken_back.map_or(Ok(()), Err)
    });
    said.reduce(|best, next| best.or(next))
}

/// Whether a line is the signal and nothing else, in the author's own words.
fn is_signal(line: &Shown<'_>, signal: &str) -> bool {
    if line.visibility != Visibility::Plain
        || line.spans.iter().any(|(voice, _)| matches!(voice, Voice::Struck | Voice::Styled))
    {
        return false;
    }
    // A signal such as `__DONE__` is emphasis to a renderer.
    let shown = signal.trim_matches(['*', '_', '`']);
    // Most lines do not start like it.
    let first = line.spans.first().map_or("", |(_, words)| without_prefix(words));
    let starts = |signal: &str| signal.as_bytes().first() == first.as_bytes().first();
    if first.starts_with(|first: char| first.is_ascii_graphic()) && !starts(signal) && !starts(shown) {
        return false;
    }
    let words: String = line.spans.iter().map(|(_, words)| &**words).collect();
    let words = without_prefix(&words).trim();
    let bare = words.trim_end_matches(['.', '!']);
    words == signal || bare == signal || bare == shown
}

/// The words of a line without what makes it an item or a heading.
fn without_prefix(words: &str) -> &str {
    let mut words = words;
    for prefix in ["- ", "# "] {
        while let Some(rest) = words.strip_prefix(prefix) {
            words = rest;
        }
    }
    words
}

/// Words that make of a signal in the same sentence something else than one.
const DOUBTS: &[&str] = words!(
    "not cannot never no nobody nothing nor without if when once until unless before will would should could \
    might say says print write output example instead hardly far anything false"
);

/// The line before, where it goes on in this one, or introduces it, and turns it into something else.
fn taken_back(before: &[Shown<'_>], line: &Shown<'_>) -> Option<String> {
    let last = before.iter().rfind(|row| !row.is_blank() && row.visibility != Visibility::Hidden)?;
    let text = last.text();
    let text = gatehost_page::folded(&text);
    let sentence = text.trim_end().trim_end_matches(['*', '_', '`', '~', ')', ']', '"', '”', '’']);
    // "This is not…" goes on.
    let sentence = sentence.trim_end_matches('…').trim_end_matches("...");
    if sentence.ends_with(['.', '!', '?', '|']) {
        return None;
    }
    // Below a list, a line that is not indented is meant to be none of it.
    let in_list = before.iter().rfind(|row| row.begins).is_some_and(|row| row.text().starts_with(['-', '1']));
    let goes_on = !line.begins && !in_list;
    let start = sentence.rfind(['.', '!', '?']).map_or(0, |end| end + 1);
    let is_doubt = |word: &str| word.ends_with("n't") || DOUBTS.contains(&word);
    let doubted = || {
        let words = gatehost_page::lowercase(&sentence[start..]);
        words.split(|part: char| !part.is_alphanumeric() && part != '\'').any(is_doubt)
    };
    let introduces = goes_on || sentence.ends_with(':');
    (gatehost_page::breaks_off(sentence) || introduces && doubted()).then(|| text.to_string())
}

/// The line after, where it goes on with the signal as with the beginning of a sentence: "is what I cannot say".
fn gone_on(behind: &[Shown<'_>]) -> Option<String> {
    let next = behind.iter().find(|row| !row.is_blank())?.text();
    next.starts_with(|first: char| first.is_lowercase() || matches!(first, ',' | ';' | '?' | '…')).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::{Status, SubmissionVerifier};

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
            "- the tests pass\n- it is documented\nTASK_COMPLETE",
            "All tests pass\n\nTASK_COMPLETE",
            "All tests pass\nTASK_COMPLETE",
            "- No lint errors\n- No regressions\n\nTASK_COMPLETE",
            "It takes ~30 % less\n\nTASK_COMPLETE",
            "See [1].\n\n[1] - https://example.com/5\n\nTASK_COMPLETE",
            "- No lint errors\nTASK_COMPLETE",
            "## No open points\n\nTASK_COMPLETE",
            "There were no failures\n\nTASK_COMPLETE",
            "## Status\n\nTASK_COMPLETE",
            "Status:\nTASK_COMPLETE",
            "**TASK\\_COMPLETE**",
            "All 5 tests pass ✅\nTASK_COMPLETE",
            "It did not work at first. It does now.\nTASK_COMPLETE",
            "| test | result |\n|---|---|\n| a | pass |\n\nTASK_COMPLETE",
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
            (Some("This is not\nTASK_COMPLETE"), "signal-not-alone"),
            (Some("This is not\n\nTASK_COMPLETE"), "signal-not-alone"),
            (Some("This isn’t  \n**TASK_COMPLETE**"), "signal-not-alone"),
            (Some("This is _not_\\\nTASK_COMPLETE"), "signal-not-alone"),
            (Some("This is far from\nTASK_COMPLETE"), "signal-not-alone"),
            (Some("I would not call this work\nTASK_COMPLETE"), "signal-not-alone"),
            (Some("We are still working towards\n\nTASK_COMPLETE"), "signal-not-alone"),
            (Some("When the rest is done I will say:\n\nTASK_COMPLETE"), "signal-not-alone"),
            (Some("- this is not\nTASK_COMPLETE"), "signal-not-alone"),
            (Some("~~TASK_COMPLETE~~"), "signal-not-alone"),
            (Some("<del>\nTASK_COMPLETE\n</del>"), "signal-not-alone"),
            (Some("<div hidden>\n\nTASK_COMPLETE\n\n</div>"), "signal-not-alone"),
            (Some("[a]: /b '\nTASK_COMPLETE\n'\n\nnot done"), "signal-not-alone"),
            (Some("> the plan says\nTASK_COMPLETE"), "signal-not-alone"),
            (Some("TASK_COMPLETE\nis what I cannot say yet."), "signal-not-alone"),
            (Some("TASK_COMPLETE\n\nwould be a lie."), "signal-not-alone"),
            (Some("TASK_COMPLETE\n? I doubt it."), "signal-not-alone"),
            (Some("This is not…\nTASK_COMPLETE"), "signal-not-alone"),
            (Some("This is not...\n\nTASK_COMPLETE"), "signal-not-alone"),
            (Some("This is n\u{43e}t\nTASK_COMPLETE"), "signal-not-alone"),
            (Some("This is ｎｏｔ\nTASK_COMPLETE"), "signal-not-alone"),
        ] {
            let verdict = judge(claim, "TASK_COMPLETE");
            assert_eq!(<TheVerifier as SubmissionVerifier>::ABOUT.undeclared(&verdict), [""; 0]);
            assert_eq!(verdict.status, Status::Fail, "{claim:?}");
            assert_eq!(verdict.findings[0].code, code, "{claim:?}");
        }
    }

    #[test]
    fn words_before_the_signal_that_say_the_opposite_leave_it_in_doubt() {
        for before in [
            "This task is not complete.",
            "The work isn't finished yet.",
            "It is **not** done.",
            "- [ ] The work is not d&#111;ne yet.",
            "I have not finished the second half.",
            "I did not complete step 3.",
            "The implementation is incomplete.",
            "The task remains unfinished.",
            "Nothing works yet.",
            "The tests are still failing.",
            "Two of the tests still fail.",
            "I will say the word below when I am done.",
            "I was told to end with the line below.",
            "> This task is not complete.\nthis is not done.",
            "Not complete.",
            "`parse` not done.",
            "- `a` and `b`: not finished.",
            "~~Done~~ not done",
            "NOT DONE",
            "- Not yet finished!",
            "Status: incomplete",
            "**Status:** not complete",
            "Status: blocked",
            "Result: failed",
            "I gave up.",
            "I have failed.",
            "The task failed.",
            "I could not do it.",
            "Nope.",
            "Not really.",
            "The work is only half done.",
            "I still need to fix the tests.",
            "Tests fail.",
            "2 tests are failing.",
            "The following is a lie:",
            "The following is not true.",
            "Ignore the next line.",
            "All tests pass.\nNope.",
        ] {
            for claim in [format!("{before}\n\nTASK_COMPLETE\n"), format!("TASK_COMPLETE\n\n{before}\n")] {
                let verdict = judge(Some(&claim), "TASK_COMPLETE");
                assert_eq!(verdict.status, Status::Abstain, "{claim}: {verdict:?}");
            }
        }
        for before in [
            "The old parser was not complete. The new one is.",
            "The tests failed at first; they pass now.",
            "> This task is not complete.",
            "```\nThis task is not complete.\n```",
            "The cache is not done twice any more.",
            "Incomplete lines are read as well.",
            "The check no longer fails on unfinished input.",
            "Handles the case where the upload is not complete: it is resumed.",
            "If a task is not finished in time, the scheduler restarts it.",
            "It still fails closed without a token.",
            "I did not finish early: all twelve cases are covered.",
            "Added a state `incomplete` for orders that are not complete.",
            "Passed: 12\nFailed: 0",
            "Failed: none",
            "Without the fix, two tests fail; with it, all pass.",
            "I gave up on the first approach and wrote a parser instead.",
            "The new compiler caused\nthe build to fail.",
            "The status of a blocked job is `blocked`.",
            "No tests fail.",
            "I checked that the tests fail without the change.",
            "The job is marked as failed after three tries.",
            "Ignore files are read first.",
            "Jobs that fail are retried, and the following is logged.",
            "The users still need to log in once.",
            "Not only done, but documented.",
            "It says whether the pointer is valid or\nnot. It exits with 1 if it is\nnot.",
        ] {
            let verdict = judge(Some(&format!("{before}\n\nTASK_COMPLETE\n")), "TASK_COMPLETE");
            assert_eq!(verdict.status, Status::Pass, "{before}: {verdict:?}");
        }
        let after = "TASK_COMPLETE\n\nThe old parser was not complete.";
        assert_eq!(judge(Some(after), "TASK_COMPLETE").status, Status::Pass);
    }

    #[test]
    fn links_escapes_and_marks_are_read_as_shown() {
        for (claim, status) in [
            ("It works[1].\n\n[1]: https://example.com/a#b\n\nTASK_COMPLETE", Status::Pass),
            (
                "It works, see [the guide][1]\n\n[1]: https://example.com\n[2]: https://example.com/b\n\nTASK_COMPLETE",
                Status::Pass,
            ),
            ("This is not do[ne]\n\n[ne]: /a\n\nIt works.\n\nTASK_COMPLETE", Status::Abstain),
            ("This is not [do]ne\n\n[do]: /a\n\nIt works.\n\nTASK_COMPLETE", Status::Abstain),
            ("[][a] Not yet done.\n\n[a]: /a\n\nIt works.\n\nTASK_COMPLETE", Status::Abstain),
            ("This is not\n\n[1]: https://example.com\n\nTASK_COMPLETE", Status::Fail),
            ("This is not\n\n[1]: https://example.com\n'title'\n\nTASK_COMPLETE", Status::Fail),
            ("# This is not\n[1]: https://example.com\n\nTASK_COMPLETE", Status::Fail),
            ("~~It works.~~ Not yet done.\n\nTASK_COMPLETE", Status::Abstain),
            ("Reads \\r\\n as one line end, in ~10 ms.\n\nTASK_COMPLETE", Status::Pass),
            ("ignore/types: add *.cjs, *.mjs\n\nTASK_COMPLETE", Status::Pass),
            ("It is not *do*ne.\n\nTASK_COMPLETE", Status::Abstain),
        ] {
            let verdict = judge(Some(claim), "TASK_COMPLETE");
            assert_eq!(verdict.status, status, "{claim:?}: {verdict:?}");
        }
    }

    #[test]
    fn the_signal_can_be_another() {
        assert_eq!(judge(Some("DONE"), "DONE").status, Status::Pass);
        assert_eq!(judge(Some("__DONE__"), "__DONE__").status, Status::Pass);
        assert_eq!(judge(Some("TASK_COMPLETE"), "DONE").status, Status::Fail);
    }

    /// Whatever is settled without reading the page is what the page says.
    #[test]
    fn what_is_plainly_said_is_what_the_page_says() {
        let pieces = [
            "a",
            "It works",
            "No",
            "not",
            "done",
            "do",
            "ne",
            "**",
            "*",
            "_",
            "`",
            " ",
            " ",
            " ",
            "\n",
            "\n",
            "\n\n",
            "```\n",
            "\n```\n",
            "- ",
            "# ",
            "> ",
            "  ",
            ".",
            ":",
            "!",
            "Status: ",
            "blocked",
            "(",
            ")",
            "[",
            "](b)",
            "<!--",
            "<b>",
            "&#111;",
            "&",
            ";",
            "<https://a.b>",
            "\t",
            "*not*",
            "`done`",
            "_not_ ",
            "    ",
            "[x]",
            " -> ",
            "[a]: b",
            "—",
            "✅",
            "ⓓ",
            "\\",
            "\\r",
            "\\b",
            "~",
            " ~",
            "[1] - ",
            "](b) ",
            ": ",
            ". ",
            "; ",
            " below",
            "\u{a0}",
            "°",
            "·",
            "«no»",
            "`a` not done",
            "~~",
            "*.a",
            "__a__",
            "[ne]",
            "[1]",
            "[do]",
            "[1]: https://a.b\n",
            "-->",
            "<!-- a -->\n",
            "\n<!--\n",
            "-->\n",
            "--a",
            "`a\nb` ",
            "\n\n[ne]: /a\n",
            "\n\n[do]: /a\n",
            "`a` ",
            "'title'\n",
            "|",
            "TASK_COMPLETE",
            "still",
            "fails",
            "This is",
            "tests",
            "Tests pass.\n",
            "I will say",
            " the",
            "isn",
            "'t",
            "’t",
            "We did ",
            "finish",
            " it is ",
            "half ",
            "not fully ",
            "really ",
            "I have not ",
            "the task ",
            "implementation ",
            "build ",
            "failed",
            "missing",
            "still ",
            "following is ",
            "told to say",
            "nothing works yet",
            "ignore the next line",
            "    ",
            " to ",
        ];
        let mut state: u32 = 11;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as usize
        };
        let mut settled = 0;
        for _ in 0..RANDOM {
            let length = next() % 12;
            let text: String = (0..length).map(|_| pieces[next() % pieces.len()]).collect();
            // Whatever is not looked at closely says nothing.
            let words = opposite::words_of(&[(Voice::Plain, text.as_str().into())]);
            if plain::has_no_word_of_it([text.as_bytes()]) {
                assert!(!opposite::is_denied(&words), "{text:?}");
                assert!(!opposite::sentences(&words).any(opposite::is_opposite), "{text:?}");
            }
            let text = format!("{text}\n\nTASK_COMPLETE\n");
            if plain::is_said(&text, "TASK_COMPLETE") {
                let page = gatehost_page::shown(&text);
                assert_eq!(says(&page, "TASK_COMPLETE"), Some(Ok(())), "{text:?}");
                assert_eq!(opposite::said(&page), None, "{text:?}");
                settled += 1;
            }
        }
        assert!(settled > RANDOM / 20, "{settled}");
    }

    /// How many random claims are compared. Six million were, once.
    const RANDOM: usize = 30_000;
}
