//! The default reading of an evaluator's text, line by line as a renderer of CommonMark shows it.
//!
//! **A rejection** is a line that starts with its word, perhaps after a label (`Verdict:`) or in a box that is checked.
//! A count of none, `Failed: 0`, is no rejection. Where the word may belong to a sentence about something else, the
//! line is in doubt, and so is a row that ends in `FAIL`, a rejection that is quoted, a cross, and a sentence that says of
//! the work that it is rejected, or not acceptable, or not to be merged, or that the evaluator was told what to say.
//!
//! **The acceptance** is the whole of the last line, with nothing around its word but marks, and starts something new:
//! `accepted.` at the end of "so this work is not / accepted." does not.

use gatehost_sdk::markdown::Visibility;
use regex_lite::Regex;
use std::cell::{LazyCell, OnceCell};

const LABEL_WORD: &str =
    "verdict|result|status|evaluation|decision|review|outcome|conclusion|assessment|recommendation|overall";
const REJECTS: &str = r"review_fail|fail(?:ed|ures?|s)?|reject(?:ed|ing|s|ion)?|disapprov(?:ed?|ing)|unsatisfactory|(?:(?:do|did|does|is|was) +)?not[ _]+(?:pass(?:ed)?|accept(?:ed|able)?|approved?)|unacceptable|changes[ _]requested|request[ _]changes";
const ACCEPTS: &str = "review_pass|pass(?:ed|es)?|accept(?:ed|s)?|approve[ds]?";
/// What may stand around an acceptance; a cross, a line through it or quotation marks may not.
const MARKS: &str = r"[ \t*_`#=\[\]+•–—✅✓✔☑🟢👍🎉-]*";
/// ` tests: 0`, `: none`, `: 0 of 12 tests`: nothing failed.
const NONE: &str = r"(?i)^(?: +(?:tests?|cases?|checks?|criteria))?[^a-z0-9]*(?:0|none|zero|nil|n/?a)(?: *(?:/|of) *[0-9]+)?(?: +(?:tests?|cases?|checks?|criteria))?[^a-z0-9]*$";
/// A row of a list or a table that says of something that it failed.
const ROW: &str = "[:|=→–—.)>-][^A-Za-z0-9]*(?:FAIL|FAILED|REJECTED)[^A-Za-z0-9]*(?:</[A-Za-z0-9]+>)?[^A-Za-z0-9]*$";
/// Sentences that reject the work without the words of a verdict, or say that somebody else chose it: the words of which each
/// such sentence contains one, and the pattern. Most lines have none of the words, and so need no pattern.
const OPPOSITES: &[(&[&str], &str)] = &[
    (
        &["reject", "refuse", "decline", "disapprove", "veto"],
        r"(?:i|we)\b[a-z ,;'’-]*\b(?:reject|refuse|decline|disapprove|veto)|reject +(?:this|it|the +(?:work|changes?|submission|patch|pr|implementation))",
    ),
    (
        &[" not", "n't", "n’t", "cannot"],
        r"(?:it|this|work|task|changes?|submission|patch|pr|request|implementation|result|solution|code|criteri(?:a|on)|requirements?|tests?|build)(?: +[0-9]+)? +(?:(?:is|are|was|were|do|does|did|has|have|can|could|should|will|would)(?: +not|n['’]t)|cannot)(?: +[a-z]+){0,2}? +(?:(?:pass|compile|build|work)(?: *[.,;!]|$)|accept|approv|meet|met\b|satisf|ready|sufficient|enough|correct|complete(?: *[.,;!]|$)|implemented(?: *[.,;!]|$))",
    ),
    (
        &[
            "t pass",
            "t be",
            "t accept",
            "t approv",
            "t merg",
            "t ship",
            "t releas",
            "t commit",
            "t recommend",
            "t sign",
        ],
        r"(?:(?:must|should|may|can|do) +not|cannot|can['’]t|don['’]t|won['’]t) +(?:be +)?(?:pass|accept|approv|merg|ship|releas|commit|recommend|sign)",
    ),
    (
        &["rejected", "refused", "denied", "declined", "incomplete", "broken", "wrong"],
        r"(?:work|changes?|submission|patch|implementation|it|this) +(?:is|are|was|were|has +been|must +be|should +be) +(?:hereby +)?(?:rejected|refused|denied|declined|incomplete|broken|wrong)",
    ),
    (
        &["acceptable", "inadequate", "good", "anything", "opposite", "nack"],
        r"unacceptable|inadequate|not +acceptable|not +good +enough|anything +but|the +opposite +of|nack",
    ),
    (
        &["fail", "falls", "fall ", "needs", "need "],
        r"(?:work|task|changes?|submission|patch|pr|implementation|solution|it|this) +(?:still +)?(?:fails? +to +(?:meet|satisfy|implement|compile|build|pass|work)|falls? +short|needs? +(?:more +work|rework|to +be +(?:redone|rejected|reworked)))",
    ),
    (
        &["send", "sent ", "a no", "a fail", "a rejection", "a hard", "a clear", "a definite"],
        r"(?:send|sent|sending) +(?:it|this) +back|(?:is|are|was) +a +(?:hard +|clear +|definite +)?(?:no|fail|rejection)(?: *[.,;!]|$)",
    ),
    (
        &["would", "'d ", "’d "],
        r"(?:i|we)(?: +would|['’]d) +(?:only +|never +|not +)?(?:have +)?(?:say|said|pass|passed|approve|approved|accept|accepted|give|given)\b",
    ),
    (
        &[" once", "provided", "as soon", "unless", " after", " if"],
        r"(?:this|it|work|change|patch|pr|implementation|i|we) +(?:can|could|will|would|may) +(?:only +)?(?:be +)?(?:pass|passed|approve|approved|accept|accepted|merged) +(?:once|provided|as +soon|unless|after|if)",
    ),
    (
        &[
            " to say",
            " to write",
            " to answer",
            " to output",
            " to print",
            " to reply",
            " to pass",
            " to approve",
            " to accept",
        ],
        r"(?:(?:asked|told|tells?|asks?|wants?|wanted|instructed|ordered|expects?|forced) +(?:me|us)|(?:i|we) +(?:was|were|am|are|have +been) +(?:asked|told|instructed|ordered|forced|required|supposed)) +to +(?:say|write|answer|output|print|reply|pass|approve|accept)",
    ),
    (
        &["not met", "not satisf", "not fulfil", "unmet", "unsatisfied"],
        r"(?:criteri(?:a|on)|requirements?)(?: +[0-9]+)?[: ]+(?:(?:is|are|was|were) +)?(?:not +(?:met|satisfied|fulfill?ed)|unmet|unsatisfied)",
    ),
    (
        &["fail", "crash", "hangs", "segfault"],
        r"(?:^|[.;!] )[^a-z0-9]*(?:(?:the|some|all|two|three|several|many|most|these|unit|integration|[1-9][0-9]*) +)*(?:tests?|build|suite|criteri(?:a|on)|checks?) +(?:[0-9]+ +)?(?:still +|is +|are +)?(?:fails?|failing|failed)(?: *[.,;!]|$)|(?:it|this|program|app|application|server|code|build) +(?:still +)?(?:crashes|hangs|segfaults)(?: *[.,;!]|$)",
    ),
    (
        &["critical", "severe", "serious", "major", "blocking"],
        r"(?:there +(?:is|are)|has|have|with|contains?|found|introduces?) +(?:an? +|several +|some +|many +|two +|three +|[1-9][0-9]* +)?(?:critical|severe|serious|major|blocking) +(?:bug|issue|problem|flaw|defect|error|vulnerabilit)",
    ),
    (
        &["missing"],
        r"(?:^|[.;!] )[^a-z0-9]*missing +(?:[a-z]+ +)?(?:tests?|coverage|implementation|documentation|error +handling)(?: *[.,;!]|$)|(?:tests?|coverage|implementation|documentation|error +handling) +(?:is|are) +(?:still +)?missing",
    ),
    (
        &["be fixed", "be correct", "be rework", "be redone", "be rewritten", "be repair", "be chang"],
        r"(?:must|has +to|have +to|needs? +to|should) +be +(?:fixed|corrected|reworked|redone|rewritten|repaired|changed) *(?:[.,;!]|$|before|first)",
    ),
    (
        &["needs ", "need ", "requires "],
        r"(?:^|[.;!] )[^a-z0-9]*(?:it +|this +|still +)*(?:needs?|requires?) +(?:more +|some +|further +)?(?:changes|work|fixes|revisions?|rework|improvements?)(?: *[.,;!]|$)",
    ),
    (
        &["ignore"],
        r"ignore +(?:everything|anything|what|the +(?:next|following|last)) |ignore +(?:all|any|every|the|previous|prior|earlier|my)[a-z ]* +(?:instructions?|rules?|criteria|prompt)",
    ),
];
/// Lines that are nothing else.
const DENIALS: &[&str] = &["no", "nope", "negative", "denied", "declined", "refused"];
/// A word of rejection in capitals in the middle of a sentence, and what may stand before it that says that there is none.
const SHOUTED: &str = r#"(?:^|[^A-Za-z0-9_"'`“‘/.-])(?:(?P<none>(?i:no|0|zero|without|never|any|not)) +)?(?:FAIL|FAILED|REJECT|REJECTED)(?:[^A-Za-z0-9_"'`”’/-]|$)"#;
const CROSSES: &[char] = &['❌', '✗', '✘', '❎', '👎', '🚫', '⛔', '🛑'];
const NEGATION: &str = r"(?i)\b(?:not?|never|cannot|hardly)\b|n['’]t\b";

/// What a text says.
pub(crate) struct Reading {
    /// The reason for the first rejection.
    pub(crate) rejection: Option<String>,
    /// The first line that may be a rejection, and may be something else.
    pub(crate) doubt: Option<String>,
    /// Whether the last line accepts.
    pub(crate) accepts: bool,
}

/// What a line says against the work.
#[derive(PartialEq)]
enum Objection<'a> {
    Nothing,
    Doubt,
    /// With the reason, if it has one.
    Rejection(&'a str),
}

/// Compiling a pattern costs more than all the rest, so each is compiled when a line may match it.
struct Patterns {
    reject: LazyCell<Regex>,
    accept: LazyCell<Regex>,
    label_word: LazyCell<Regex>,
    offered: LazyCell<Regex>,
    none: LazyCell<Regex>,
    row: LazyCell<Regex>,
    negation: LazyCell<Regex>,
    shouted: LazyCell<Regex>,
    /// Those of [`OPPOSITES`].
    opposites: Vec<OnceCell<Regex>>,
}

/// `My final verdict`
fn label() -> String {
    format!("(?:(?:my|our|the|final|overall) +){{0,3}}(?:{LABEL_WORD})")
}

/// One of the patterns above.
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the tests compile every pattern")
}

/// A line as a reader sees it; an empty one parts blocks.
struct Line {
    text: String,
    visibility: Visibility,
}

impl Reading {
    /// Read a text.
    pub(crate) fn of(text: &str) -> Self {
        let rows = gatehost_page::shown(text).into_iter();
        let spelled = |text: &str| gatehost_page::unspaced(&gatehost_page::folded(text));
        let lines = rows.map(|row| Line { text: spelled(&row.text()), visibility: row.visibility });
        let mut lines: Vec<Line> = lines.collect();
        let patterns = Patterns::new();
        lines.retain(|line| !patterns.is_only_offered(&line.text));
        let mut reading = Self { rejection: None, doubt: None, accepts: patterns.accepts(&lines) };
        for (at, line) in lines.iter().enumerate() {
            match patterns.against(&lines, at) {
                Objection::Rejection(why) if reading.rejection.is_none() => {
                    reading.rejection = Some(patterns.reason(why, &lines, at));
                }
                Objection::Doubt if reading.doubt.is_none() => reading.doubt = Some(line.text.clone()),
                _ => {}
            }
        }
        reading
    }
}

impl Patterns {
    fn new() -> Self {
        Self {
            reject: LazyCell::new(|| {
                let label = label();
                compiled(&format!(
                    r"(?i)^[^a-z0-9]*(?:\[x\][^a-z0-9]*)?(?P<label>{label}(?: +is |[^a-z0-9]*?[:=|–—→*_-])[^a-z0-9]*)?(?P<word>{REJECTS})\b(?P<rest>.*)$"
                ))
            }),
            accept: LazyCell::new(|| {
                let label = label();
                compiled(&format!(
                    r"(?i)^{MARKS}(?:\[x\])?{MARKS}(?P<label>{label}(?: +is)?{MARKS}:?)?{MARKS}(?:{ACCEPTS}){MARKS}[.!]*{MARKS}$"
                ))
            }),
            label_word: LazyCell::new(|| compiled(&format!("(?i)(?:{LABEL_WORD})"))),
            offered: LazyCell::new(|| {
                compiled(&format!(r"(?i)^[^a-z0-9]*(?:{ACCEPTS}|{REJECTS})\b *(?:[^a-z0-9 ].*)?$"))
            }),
            none: LazyCell::new(|| compiled(NONE)),
            row: LazyCell::new(|| compiled(ROW)),
            negation: LazyCell::new(|| compiled(NEGATION)),
            shouted: LazyCell::new(|| compiled(SHOUTED)),
            opposites: OPPOSITES.iter().map(|_| OnceCell::new()).collect(),
        }
    }

    fn against<'a>(&self, lines: &'a [Line], at: usize) -> Objection<'a> {
        let (text, visibility) = (lines[at].text.as_str(), lines[at].visibility);
        if is_unchecked(text) {
            return Objection::Nothing;
        }
        let found = may_reject(text).then(|| self.reject.captures(text)).flatten();
        let Some(found) = found else {
            let shouts = text.contains("FAIL") || text.contains("REJECTED");
            let row = visibility == Visibility::Plain && shouts && self.row.is_match(text);
            let opposite = visibility != Visibility::Quoted
                && (self.says_opposite(text) || self.is_shouted(text) || is_crossed_out(text) || is_denial(text));
            return if (row || opposite) && !is_of_another_time(text) { Objection::Doubt } else { Objection::Nothing };
        };
        let group = |name: &str| found.name(name).map(|group| &text[group.range()]);
        let (word, rest) = (group("word").unwrap_or_default(), group("rest").unwrap_or_default());
        let labelled = group("label").is_some();
        let spoken = weight(word, rest, labelled, self.none.is_match(rest));
        match visibility {
            Visibility::Plain | Visibility::Unclear => {
                let wrapped = !labelled && is_lower(word) && self.continues(lines, at);
                if wrapped && spoken != Objection::Nothing { Objection::Doubt } else { spoken }
            }
            Visibility::Quoted if labelled => Objection::Doubt,
            Visibility::Quoted | Visibility::Hidden => Objection::Nothing,
        }
    }

    /// A sentence of [`OPPOSITES`].
    fn says_opposite(&self, text: &str) -> bool {
        // Each word with a space before it, as some of the marks have one.
        let words = text.split_whitespace().flat_map(|word| [" ", word]).collect::<String>().to_lowercase();
        OPPOSITES.iter().zip(&self.opposites).any(|((marks, pattern), compiled)| {
            let compiled = || compiled.get_or_init(|| self::compiled(&format!(r"(?i)\b(?:{pattern})")));
            marks.iter().any(|mark| words.contains(mark)) && compiled().is_match(text)
        })
    }

    /// "I have to give this a FAIL.", and not "no FAILED tests".
    fn is_shouted(&self, text: &str) -> bool {
        (text.contains("FAIL") || text.contains("REJECT"))
            && self.shouted.captures_iter(text).any(|found| found.name("none").is_none())
    }

    /// A verdict that was offered and not chosen: `- [ ] PASS`. A task that is still open is another thing.
    fn is_only_offered(&self, text: &str) -> bool {
        is_unchecked(text) && self.offered.is_match(text)
    }

    /// What the line at `at` says after its word, or what follows it, or what led up to it.
    fn reason(&self, why: &str, lines: &[Line], at: usize) -> String {
        let own = why.trim_start_matches([':', '.', ',', ';', '–', '—', '-', '→', '=', ' ', '*', '_', '`', ']']);
        let own = own.strip_prefix('(').map_or(own, |inside| inside.trim_end().trim_end_matches([')', '.']));
        let joined = |lines: &mut dyn Iterator<Item = &Line>| {
            lines.map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
        };
        let mut following = lines[at + 1..].iter().filter(|line| !self.accept.is_match(&line.text));
        let candidates = [own.to_owned(), joined(&mut following), joined(&mut lines[..=at].iter())];
        candidates.into_iter().find(|text| text.contains(char::is_alphanumeric)).unwrap_or_default()
    }

    /// Whether the last line with anything on it accepts.
    fn accepts(&self, lines: &[Line]) -> bool {
        let Some(last) = lines.iter().rposition(|line| !line.text.trim().is_empty()) else { return false };
        let (text, visibility) = (lines[last].text.as_str(), lines[last].visibility);
        let Some(found) = self.accept.captures(text).filter(|_| visibility == Visibility::Plain) else { return false };
        found.name("label").is_some() || (!self.continues(lines, last) && !self.is_introduced(&lines[..last]))
    }

    /// Whether a line goes on with the sentence of the one before it.
    fn continues(&self, lines: &[Line], at: usize) -> bool {
        let own = lines[at].text.as_str();
        let Some(before) =
            at.checked_sub(1).map(|before| &lines[before]).filter(|line| line.visibility == Visibility::Plain)
        else {
            return false;
        };
        let sentence = before.text.trim().trim_end_matches(['*', '_', '`', ')', '"']);
        if sentence.is_empty() || sentence.ends_with(['.', '!', '?', ':']) || starts_block(own) {
            return false;
        }
        // `Failed: 0` is no sentence that goes on.
        let value = sentence.rsplit_once(": ").map_or("", |(_, value)| value);
        if !value.is_empty() && !value.contains(' ') && !self.negation.is_match(value) {
            return false;
        }
        // Below a list, a verdict in capitals that is not indented is no part of it.
        let below = starts_block(&before.text) && !own.starts_with(' ') && !self.negation.is_match(sentence);
        !below || own.contains(char::is_lowercase)
    }

    /// Whether what stands before ends in a colon, and not for a verdict: "the format is:". Or whether it breaks off: "this
    /// does not".
    fn is_introduced(&self, before: &[Line]) -> bool {
        let last = before.iter().rfind(|line| !line.text.trim().is_empty());
        let last = last.map_or("", |line| line.text.trim_end().trim_end_matches(['*', '_']));
        (last.ends_with(':') && !self.label_word.is_match(last)) || gatehost_page::breaks_off(last)
    }
}

/// Whether a line may contain a word of rejection: each of them has one of these parts.
fn may_reject(text: &str) -> bool {
    const PARTS: [&str; 8] = ["fail", "reject", "disapprov", "satisf", "not", "accept", "changes", "request"];
    let has = |part: &str| text.as_bytes().windows(part.len()).any(|word| word.eq_ignore_ascii_case(part.as_bytes()));
    PARTS.iter().any(|part| has(part))
}

/// How much a word of rejection at the start of a line weighs, by what follows it.
fn weight<'a>(word: &str, rest: &'a str, labelled: bool, none: bool) -> Objection<'a> {
    let bare = rest.trim_start_matches(['*', '_', '`', ']']);
    let separated = bare.trim_start().starts_with([':', '.', ',', ';', '–', '—', '(', '|', '→', '=', '!'])
        || bare.trim_start().starts_with("- ")
        || bare.trim_start().starts_with("-- ");
    let prose = bare.contains(char::is_alphanumeric);
    if none {
        Objection::Nothing
    } else if !prose && bare.contains('?') {
        Objection::Doubt
    } else if labelled || separated || !prose {
        Objection::Rejection(rest)
    } else if bare.starts_with('-') {
        // "Fail-safe"
        Objection::Nothing
    } else if !word.contains(char::is_lowercase) {
        Objection::Rejection(rest)
    } else if ["fails", "rejects", "failure", "failures", "rejection"].contains(&word.to_lowercase().as_str()) {
        // "Fails closed", "Rejects invalid tokens": of what the work does.
        Objection::Nothing
    } else {
        Objection::Doubt
    }
}

fn is_lower(word: &str) -> bool {
    !word.contains(char::is_uppercase)
}

/// "No."
fn is_denial(text: &str) -> bool {
    let word = text.trim_matches(|character: char| !character.is_ascii_alphanumeric());
    DENIALS.iter().any(|denial| word.eq_ignore_ascii_case(denial))
}

/// A cross before or after all words, or alone.
fn is_crossed_out(text: &str) -> bool {
    let is_mark = |character: char| !character.is_alphanumeric() && !CROSSES.contains(&character);
    let bare = text.trim_matches(is_mark);
    bare.starts_with(CROSSES) || bare.ends_with(CROSSES)
}

/// "Previous verdict: FAIL"
fn is_of_another_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    // "Ignore all previous instructions" is of now.
    if lower.contains("ignore") {
        return false;
    }
    // "Must be fixed before merging" is, too.
    let lower = lower.replace("before merg", "").replace("before it ", "").replace("before this ", "");
    ["previous", "earlier", "before", "prior", "last ", "old "].iter().any(|word| lower.contains(word))
}

/// A heading, an item of a list, a row of a table.
fn starts_block(text: &str) -> bool {
    let text = text.trim_start();
    let number = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
    text.starts_with(['#', '|'])
        || ["- ", "* ", "+ ", "• "].iter().any(|bullet| text.starts_with(bullet))
        || (number.len() < text.len() && (number.starts_with(". ") || number.starts_with(") ")))
}

/// A box without a mark.
fn is_unchecked(text: &str) -> bool {
    let bare = text.trim_start().trim_start_matches(['-', '*', '+', ' ', '|']);
    bare.starts_with("[ ]") || bare.starts_with("[]") || bare.starts_with(['☐', '⬜'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        let Patterns { reject, accept, label_word, offered, none, row, negation, shouted, opposites } = Patterns::new();
        for pattern in [reject, accept, label_word, offered, none, row, negation, shouted] {
            LazyCell::force(&pattern);
        }
        assert_eq!(opposites.len(), OPPOSITES.len());
        for (marks, pattern) in OPPOSITES {
            compiled(pattern);
            assert!(marks.iter().all(|mark| *mark == mark.to_lowercase()), "{marks:?}");
        }
    }
}
