//! Whether a phrase is negated. These are rules of thumb of English, on the safe side: a phrase that no rule excuses is an
//! admission. Every word below is needed by a sentence of `sentences.rs`.
//!
//! **Before the phrase**, back to the start of its clause and at most eight words. A clause starts at
//! punctuation, at a conjunction (`because`, `but`, `and` …), and at another subject: "with no database
//! available *the* migration requires manual work" is not negated. An odd number of negations negates.
//! A phrase that starts with a verb ("requires manual") is negated by its subject (`no step`, `nothing`, `none of the
//! steps`), by `never` and by `no longer`; any other phrase ("manual intervention") also by `not`, `without`, `avoids`
//! and their like.
//!
//! **After the phrase**, by its predicate (`… was not needed`, `… is unnecessary`) or by a short answer (`…: none`).

use crate::prose::{Token, TokenKind};
use std::ops::Range;

const REACH: usize = 8;

/// Start a clause.
const CONJUNCTIONS: &str = "because but since so and although though while until unless if when however yet except then means \
    meaning hence therefore thus due pending despite as";
const RELATIVES: &str = "that";
/// Start another subject, unless they belong to the word before them.
const ARTICLES: &str = "the a an";
const SUBJECTS: &str = "it this these they we i you each every everything all our my your its their some one";
const PREPOSITIONS: &str = "of in";
/// Negate whatever follows.
const NO: &str = "no none nothing nobody zero";
const NOT: &str = "not never cannot";
/// Negate a thing that follows, but not a verb.
const AWAY: &str = "without avoid avoids eliminates replaces instead rather";
/// A negation before them does not reach the phrase: "no way around", "no alternative to", "nothing short of".
const BARRIERS: &str = "around round past alternative alternatives substitute replacement short beyond besides before";
/// The same, unless they are negated themselves: "did not finish awaiting", but "without waiting for".
const WAITING: &str = "awaiting waiting";
/// Cancel a negation after them: "impossible without".
const FAILING: &str = "impossible unable fails fail failed stuck blocked incomplete";
/// Make a following `no …` something that is lacking, and not the subject: "a host *with no agent* requires manual setup".
const LACKING: &str = "with given had has have having is was are were by found";
const ANY: &str = "a one";
const ANYTHING: &str = "anything something";
const FINITE: &str = "cannot could can must should would will may might are were did do";
const AUXILIARIES: &str = "is was were are will has";
const NEEDED: &str = "needed required necessary need";
const UNNEEDED: &str = "unnecessary avoided";
/// May stand between a negation and what it denies: "has never been required", "is no longer needed".
const BETWEEN: &str = "been be longer";
const ANSWERS: &str = "no none not never zero false";

/// Whether a word is one of a list.
fn has(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split(' ').any(|known| known == word)
}

/// Whether the words at `place` are negated.
pub(crate) fn is_negated(tokens: &[Token], place: Range<usize>) -> bool {
    let first = tokens[place.start].word().unwrap_or_default();
    let finite = has(FINITE, first) || (first.ends_with('s') && !first.ends_with("ss"));
    negated_before(&tokens[..place.start], finite)
        || (!finite && negated_by_predicate(&tokens[place.end..]))
        || answered_with_no(&tokens[place.end..])
}

/// A quotation counts as a word without meaning.
fn word(token: &Token) -> Option<&str> {
    match &token.kind {
        TokenKind::Word(word) => Some(word),
        TokenKind::Quoted => Some(""),
        TokenKind::Label | TokenKind::Mark | TokenKind::Break => None,
    }
}

fn negated_before(before: &[Token], finite: bool) -> bool {
    // From the phrase backwards.
    let words: Vec<&str> = before.iter().rev().map_while(word).take_while(|word| !has(CONJUNCTIONS, word)).collect();
    let mut negations = 0;
    let mut in_relative_clause = false;
    let mut of_anything = false;
    let mut definite = false;
    for (at, &word) in words.iter().enumerate().take(REACH) {
        let earlier = words.get(at + 1).copied().unwrap_or_default();
        let later = at.checked_sub(1).map_or("", |later| words[later]);
        let negator = has(NO, earlier) || has(NOT, earlier) || has(AWAY, earlier);
        let waiting = has(WAITING, word) && !negator;
        if has(BARRIERS, word) || waiting || (word == "than" && earlier != "rather") {
            break;
        } else if has(RELATIVES, word) {
            in_relative_clause = true;
        } else if has(ARTICLES, word) || has(SUBJECTS, word) {
            let own_article = at == 0 && !finite && has(ARTICLES, word);
            let inverted = matches!(earlier, "do" | "does" | "did") && has(SUBJECTS, word);
            let claimed = negator || has(PREPOSITIONS, earlier) || has(RELATIVES, earlier) || earlier == "longer";
            if !(own_article || inverted || claimed) {
                break;
            }
            definite |= own_article && word == "the";
            // "nothing I could not complete": a relative clause without its pronoun.
            in_relative_clause |= has(NO, earlier) && has(SUBJECTS, word);
        } else if has(NO, word) {
            let lacking = finite && !in_relative_clause && has(LACKING, earlier);
            if !lacking {
                negations += 1;
            }
        } else if has(NOT, word) {
            let emphatic = matches!(later, "only" | "just");
            let of_any = of_anything || has(ANY, later);
            let reaches = if finite { of_any || (word == "never" && at == 0) } else { of_any || !in_relative_clause };
            // "did not perform the manual intervention": it is necessary, and it was left out.
            let left_out = definite && negations == 0 && !words[..at].iter().any(|word| has(NEEDED, word));
            if reaches && !emphatic && !left_out {
                negations += 1;
            }
        } else if has(ANYTHING, word) {
            of_anything = true;
        } else if has(AWAY, word) {
            if !finite {
                negations += 1;
            }
        } else if has(FAILING, word) && negations > 0 {
            negations += 1;
        }
    }
    negations % 2 == 1
}

/// "… from an operator was not needed"
fn negated_by_predicate(after: &[Token]) -> bool {
    let clause: Vec<&str> = after
        .iter()
        .map_while(word)
        .take_while(|word| !has(CONJUNCTIONS, word) && !has(RELATIVES, word))
        .take(REACH)
        .collect();
    let is_negation = |word: &&str| has(NOT, word) || *word == "no";
    let unneeded = clause.iter().position(|word| has(UNNEEDED, word));
    let Some(verb) = clause.iter().take(5).position(|word| has(AUXILIARIES, word)) else {
        return unneeded == Some(0);
    };
    // "cannot be avoided", "is not unnecessary"
    let denied = |at: usize| clause[..at].iter().any(is_negation);
    if unneeded.is_some_and(|at| (verb + 1..verb + 4).contains(&at) && !denied(at)) {
        return true;
    }
    let predicate = &clause[verb + 1..];
    let Some(negation) = predicate.iter().take(2).position(is_negation) else { return false };
    // "is not only needed but urgent"
    predicate[negation + 1..].iter().find(|word| !has(BETWEEN, word)).is_some_and(|word| has(NEEDED, word))
}

/// "…: none", "… required? No."
fn answered_with_no(after: &[Token]) -> bool {
    let label = after.iter().take(4).position(|token| token.kind == TokenKind::Label);
    let Some(label) = label.filter(|&label| after[..label].iter().all(|token| word(token).is_some())) else {
        return false;
    };
    let answer: Vec<Option<&str>> =
        after[label..].iter().skip_while(|token| token.kind == TokenKind::Label).take(3).map(word).collect();
    let end = |at: usize| answer.get(at).copied().flatten().is_none();
    match answer.first().copied().flatten() {
        // "no access" and "no need to worry" are other answers.
        Some(no) if has(ANSWERS, no) => {
            (no != "not" && end(1)) || (end(2) && answer[1].is_some_and(|word| has(NEEDED, word)))
        }
        // "n/a"
        Some("n") => end(1) || (answer[1] == Some("a") && end(2)),
        _ => false,
    }
}
