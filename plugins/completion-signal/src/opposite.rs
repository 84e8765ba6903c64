//! Sentences beside a signal that say of the work that it is not complete.
//!
//! Only the work itself counts as what such a sentence speaks about ("this task", "the implementation", "it", "I"), and only
//! the present: "the old parser was not complete" is history. A sentence about conditions ("if a task is not finished
//! …") describes the work. What is quoted, shown as code or crossed out is not the author's.

use crate::plain::has_no_word_of_it;
use gatehost_page::{Shown, Voice, words};
use gatehost_sdk::markdown::Visibility;
use std::borrow::Cow;

/// What a claim speaks about as the work.
const WORK: &[&str] = words!("task work job implementation feature change it this everything");
const IS: &[&str] = words!("is are remains isn't aren't");
/// What the work may not be.
const DONE: &[&str] = words!("complete completed done finished ready");
const UNDONE: &[&str] = words!("incomplete unfinished");
/// May stand between.
const BETWEEN: &[&str] = words!("not yet fully quite entirely really actually still");
/// Start a sentence that describes a case.
const CASES: &[&str] = words!("if when whenever where while until unless case cases that which");

/// What may not stand as an answer behind a label, and what denies by itself.
const LABELS: &[&str] = words!("status state result outcome progress");
const ANSWERS: &[&str] = words!("blocked failed failure failing partial partially");
const DENIALS: [&str; 6] = ["no", "nope", "not", "not really", "not yet", "just kidding"];

/// Words of which some must stand in a row that says the opposite, by what they are for.
pub(crate) const MATTERING: [(u16, &[&str]); 16] = [
    (DONE_WORD, words!("complete completed done finished ready finish do")),
    (NEGATION, words!("not cannot only half partly partially almost nearly mostly")),
    // "isn't" without what follows the apostrophe.
    (IS_WORD, words!("is are remains isn aren")),
    (PERSON, words!("i we")),
    (BETWEEN_WORD, BETWEEN),
    (WILL, words!("will")),
    (TOLD, words!("told asked instructed required")),
    (SAYING, words!("say print write output end finish")),
    (FAILING, words!("failed fail fails failing broken red missing yet")),
    (SUBJECT, words!("test tests build task work job implementation nothing")),
    (STILL, words!("still")),
    (FOLLOWING, words!("following")),
    (STRONG, words!("incomplete unfinished gave")),
    (IGNORING, words!("ignore")),
    (NEXT, words!("next following below line")),
    (DENIAL, words!("no nope not kidding blocked failed failure failing partial partially")),
];
pub(crate) const DONE_WORD: u16 = 1;
pub(crate) const NEGATION: u16 = 2;
pub(crate) const IS_WORD: u16 = 4;
pub(crate) const PERSON: u16 = 8;
pub(crate) const BETWEEN_WORD: u16 = 16;
pub(crate) const WILL: u16 = 32;
pub(crate) const TOLD: u16 = 64;
pub(crate) const SAYING: u16 = 128;
pub(crate) const FAILING: u16 = 256;
pub(crate) const SUBJECT: u16 = 512;
pub(crate) const STILL: u16 = 1024;
/// Says it with any other words.
pub(crate) const STRONG: u16 = 2048;
/// Stands in every row that denies as a whole.
pub(crate) const DENIAL: u16 = 4096;
pub(crate) const FOLLOWING: u16 = 8192;
pub(crate) const IGNORING: u16 = 16384;
pub(crate) const NEXT: u16 = 32768;

/// The first line that says so.
pub(crate) fn said(page: &[Shown<'_>]) -> Option<String> {
    let says = |at: &usize| {
        let row = &page[*at];
        let own = matches!(row.visibility, Visibility::Plain | Visibility::Unclear) && !row.is_blank();
        // Code is a word of no sentence: "`a` not done".
        let spoken = row.spans.iter().filter(|(voice, _)| matches!(voice, Voice::Plain | Voice::Styled));
        if !own || has_no_word_of_it(spoken.map(|(_, words)| words.as_bytes())) {
            return false;
        }
        let text = words_of(&row.spans);
        // A line that continues a sentence denies nothing by itself: "whether it is valid or", "not."
        let continues = || at.checked_sub(1).is_some_and(|above| !ends_sentence(&page[above].text()));
        is_said_in(&text) || is_denied(&text) && (row.begins || !continues())
    };
    (0..page.len()).find(says).map(|at| page[at].text())
}

fn ends_sentence(text: &str) -> bool {
    let end = text.trim_end().trim_end_matches(['*', '_', '`', ')', '"', '”', '’']);
    end.is_empty()
        || end.ends_with(|last: char| !last.is_alphanumeric() && !matches!(last, ',' | ';' | '-' | '–' | '—'))
}

/// Whether a sentence of a row, in lower case, says so.
pub(crate) fn is_said_in(row: &str) -> bool {
    sentences(row).any(|sentence| !has_no_word_of_it([sentence.as_bytes()]) && is_opposite(sentence))
}

/// What the author says in a row, with a mark for what he only shows.
pub(crate) fn words_of(spans: &[(Voice, Cow<'_, str>)]) -> String {
    let spans = spans.iter().map(|(voice, words)| match voice {
        Voice::Plain | Voice::Styled => gatehost_page::lowercase(&gatehost_page::folded(words)),
        Voice::Code | Voice::Struck => "…".to_owned(),
    });
    spans.collect()
}

/// "Nope.", "Status: blocked"
pub(crate) fn is_denied(row: &str) -> bool {
    fn bare(text: &str) -> &str {
        text.trim_matches(|c: char| !c.is_alphanumeric())
    }
    let answered = row.split_once(':').is_some_and(|(label, answer)| {
        let is_label = LABELS.iter().any(|known| label.ends_with(known));
        is_label && ANSWERS.contains(&bare(answer))
    });
    answered || DENIALS.contains(&bare(row))
}

pub(crate) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let is_end = |byte: &u8| matches!(byte, b'.' | b'!' | b'?' | b';' | b':');
    let mut rest = text;
    let sentences = std::iter::from_fn(move || {
        let end = rest.as_bytes().iter().position(is_end);
        let (sentence, behind) = end.map_or((rest, ""), |end| (&rest[..end], &rest[end + 1..]));
        (!rest.is_empty()).then(|| std::mem::replace(&mut rest, behind)).map(|_| sentence)
    });
    sentences.filter(|sentence| !sentence.trim().is_empty())
}

pub(crate) fn is_opposite(sentence: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '\'';
    let words: Vec<&str> = sentence.split(|c: char| !is_part(c)).filter(|word| !word.is_empty()).collect();
    let has = |list: &[&str], word: &str| list.contains(&word);
    let at = |place: usize| words.get(place).copied().unwrap_or_default();
    if words.iter().take(3).any(|word| has(CASES, word)) {
        return false;
    }
    let is_not = |word: &str| word == "not" || word.ends_with("n't");
    let rest = words.iter().position(|word| !has(BETWEEN, word)).unwrap_or(0);
    // "Not yet done", "incomplete": a sentence of its own.
    let alone = (rest + 1 == words.len() || rest + 2 == words.len() && at(rest + 1) == "yet")
        && (words[..rest].contains(&"not") && has(DONE, at(rest)) || has(UNDONE, at(rest)));
    // "this task is not yet complete", "it is only half done"
    let not_done = (0..words.len()).filter(|&place| has(WORK, at(place)) && has(IS, at(place + 1))).any(|place| {
        let mut end = place + 2;
        while has(BETWEEN, at(end)) {
            end += 1;
        }
        let mut negated = words[place + 1..end].iter().any(|word| is_not(word));
        if has(words!("only half partly partially almost nearly mostly"), at(end)) {
            end += 1 + usize::from(at(end) == "only");
            negated = true;
        }
        let ends = end + 1 == words.len() || at(end + 1) == "yet";
        ends && (negated && has(DONE, at(end)) || !negated && has(UNDONE, at(end)))
    });
    // "I have not finished the second half", and not "I did not finish early"
    let i_did_not = words.iter().position(|word| *word == "i" || *word == "we").is_some_and(|place| {
        let auxiliary = at(place + 1);
        let short = ["haven't", "didn't", "couldn't", "can't", "cannot"].contains(&auxiliary);
        let long = ["have", "did", "could", "can"].contains(&auxiliary) && at(place + 2) == "not";
        let verb = if short { place + 2 } else { place + 3 };
        let object = at(verb + 1);
        (short || long)
            && (["complete", "completed", "finish", "finished"].contains(&at(verb))
                && (object.is_empty() || has(words!("the this it step all everything my our yet part any"), object))
                || at(verb) == "do" && has(words!("it this that"), object) && verb + 2 == words.len())
    });
    // "I have failed", "I gave up", "I still need to fix it", "the task failed"
    let of_me = has(words!("i we"), at(0));
    let after = 1 + usize::from(at(1) == "have");
    let gave_up = of_me && (at(after) == "failed" && after + 1 == words.len() || words[1..] == ["gave", "up"]);
    let still_to_do = of_me && at(1) == "still" && has(words!("need have"), at(2)) && at(3) == "to";
    let subject = usize::from(has(words!("the this my our"), at(0)));
    let verb = subject + 1 + usize::from(at(subject + 1) == "has");
    let work_failed =
        has(words!("task work job implementation"), at(subject)) && at(verb) == "failed" && verb + 1 == words.len();
    // "2 tests are failing": a short sentence, and not "no tests fail".
    let short =
        words.len() <= 5 && !words.iter().any(|word| has(words!("no none not without zero 0 if when that to"), word));
    let tests_fail = short
        && words.iter().any(|word| has(words!("test tests build"), word))
        && words.last().is_some_and(|last| has(words!("fail fails failing broken red"), last));
    // "the following is a lie", "ignore the next line"
    let is_retracted = words.windows(2).any(|two| two == ["following", "is"])
        && words.iter().any(|word| is_not(word) || has(words!("lie false untrue wrong"), word))
        || at(0) == "ignore" && words.iter().any(|word| has(words!("next following below line"), word));
    // "the tests are still failing", and not "it still fails closed"
    let still_fails = (0..words.len()).any(|place| {
        at(place) == "still"
            && has(words!("fail fails failing broken missing"), at(place + 1))
            && !has(words!("closed fast safely loudly early gracefully as if when for without"), at(place + 2))
    }) || words == ["nothing", "works", "yet"];
    // "I will say the word below", "I was told to end with"
    let only_says = words.windows(3).any(|three| {
        (three[0] == "will"
            && has(words!("say print write output"), three[1])
            && has(words!("the it this that"), three[2]))
            || (has(words!("told asked instructed required"), three[0])
                && three[1] == "to"
                && has(words!("say print write output end finish"), three[2]))
    });
    let about_me = i_did_not || gave_up || still_to_do;
    alone || not_done || about_me || work_failed || tests_fail || still_fails || only_says || is_retracted
}
