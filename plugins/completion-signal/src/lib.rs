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
mod tests;
