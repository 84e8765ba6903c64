//! Reads the words of a row, and finds out whether they can be a denial, or a sentence that says the opposite.

use super::words::{kinds, may_matter};
use crate::opposite::{
    BETWEEN_WORD, DENIAL, DONE_WORD, FAILING, FOLLOWING, IGNORING, IS_WORD, NEGATION, NEXT, PERSON, SAYING, STILL,
    STRONG, SUBJECT, TOLD, WILL,
};
use gatehost_sdk::words::{Hits, Words};

/// Bytes that need a look at what is around them.
static IS_SPECIAL: [bool; 256] = {
    let mut is_special = [true; 256];
    let mut byte = 0;
    while byte < 128 {
        is_special[byte] = matches!(
            byte as u8,
            b':' | b'.'
                | b'!'
                | b'?'
                | b';'
                | b'*'
                | b'`'
                | b'\''
                | b'['
                | b']'
                | b')'
                | b'&'
                | b'<'
                | b'~'
                | b'\\'
                | 0x7f
        ) || byte < 0x20 && byte != b'\t' as usize;
        byte += 1;
    }
    is_special
};

/// Whether the words of a row, in one piece or several, can be neither a denial nor a sentence that says the opposite.
pub(crate) fn has_no_word_of_it<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> bool {
    let mut row = Row::default();
    pieces.into_iter().all(|piece| row.read(piece)) && !row.may_say()
}

/// What is known of a sentence, or of several.
#[derive(Clone, Copy, Default)]
struct Sentence {
    /// The kinds of words that matter.
    kinds: u16,
    /// Whether it starts like "not fully done".
    is_elliptic: bool,
    /// Whether it may end with a word that fails.
    ends_failing: bool,
}

impl Sentence {
    /// Whether its words can say the opposite.
    fn may_say(self) -> bool {
        let has = |kinds: u16| self.kinds & kinds == kinds;
        let has_one = |kinds: u16| self.kinds & kinds != 0;
        let is_not_done = has(DONE_WORD | NEGATION) && (has_one(IS_WORD | PERSON) || self.is_elliptic);
        let will_say = has(SAYING) && has_one(WILL | TOLD);
        let fails = self.ends_failing && has_one(SUBJECT | PERSON) || has(FAILING | STILL);
        let is_retracted = has(FOLLOWING | IS_WORD) || has(IGNORING | NEXT);
        is_not_done || will_say || fails || has(STILL | PERSON) || is_retracted || has(STRONG)
    }

    fn and(self, other: Self) -> Self {
        Self {
            kinds: self.kinds | other.kinds,
            is_elliptic: self.is_elliptic || other.is_elliptic,
            ends_failing: self.ends_failing || other.ends_failing,
        }
    }
}

/// What is known of a row so far.
#[derive(Default)]
pub(super) struct Row {
    /// What is known of the sentence, and of those before it together.
    sentence: Sentence,
    before: Sentence,
    /// Whether one of those before it can say the opposite.
    may_have_said: bool,
    /// How many words there are, and how many before the last colon.
    words: usize,
    label: Option<usize>,
    /// How many words there are before what may be the start of a sentence.
    before_start: usize,
    /// The last word that matters: how many words there are up to it, and its kinds.
    last: (usize, u16),
    /// Whether only some of its words are shown.
    shown_in_part: bool,
    /// Whether code is not shown yet as such.
    is_markdown: bool,
    /// Whether it may define a link.
    pub(super) defines: bool,
    pub(super) backticks: usize,
    pub(super) has_double_backticks: bool,
}

impl Row {
    /// A row whose marks are yet to be read as Markdown.
    pub(super) fn of_markdown() -> Self {
        Self { is_markdown: true, ..Self::default() }
    }

    /// The row with the line below it, behind the end of the code that goes on there.
    pub(super) fn continued(self) -> Self {
        Self { before_start: self.words, backticks: self.backticks + 1, ..self }
    }

    /// Whether its words can deny, or say the opposite.
    pub(super) fn may_say(&self) -> bool {
        let all = self.before.and(self.sentence);
        // A word that denies does so alone, with one more word, or as an answer behind a colon.
        let is_answer = || self.label.is_some_and(|label| self.words <= label + 1);
        let denies = all.kinds & DENIAL != 0 && (self.words <= 2 || is_answer() || self.shown_in_part);
        // What is not shown may be the end of a sentence.
        let says = if self.shown_in_part { all.may_say() } else { self.may_have_said || self.sentence.may_say() };
        denies || says
    }

    /// Read a piece. Returns whether its words are known: no mark may join or hide some.
    pub(super) fn read(&mut self, piece: &[u8]) -> bool {
        let text = Words::new(piece);
        let mut at = 0;
        while let Some(byte) = text.byte(at) {
            let (bytes, mut length) = text.until(at, Hits::not_letters);
            if length > 0 {
                if length == 8 {
                    length = text.find(at + 8, Hits::not_letters) - at;
                }
                self.words += 1;
                if may_matter(bytes, length) {
                    let rest = length.saturating_sub(8);
                    self.word(kinds([(bytes, length), (text.start(at + 8, at + length.max(8)), rest)]));
                }
                at += length;
                // A space follows most words.
                at += usize::from(text.byte(at) == Some(b' '));
                continue;
            }
            at += 1;
            if IS_SPECIAL[usize::from(byte)] {
                match self.mark(byte, &piece[..at - 1], &piece[at..]) {
                    Some(length) => at += length,
                    None => return false,
                }
            }
        }
        self.end();
        true
    }

    fn word(&mut self, kinds: u16) {
        self.sentence.kinds |= kinds;
        self.sentence.is_elliptic |= self.before_start + 1 == self.words && kinds & BETWEEN_WORD != 0;
        self.last = (self.words, kinds);
    }

    /// What is read may be all that is shown.
    fn end(&mut self) {
        let (words, kinds) = self.last;
        self.sentence.ends_failing |= words == self.words && kinds & FAILING != 0;
    }

    /// A sentence ends here, in what is shown as well, unless that is not all.
    fn end_of_sentence(&mut self) {
        self.may_have_said |= self.sentence.may_say();
        self.before = self.before.and(std::mem::take(&mut self.sentence));
    }

    /// Read a mark. Returns how many bytes behind it belong to it; `None` if it may join or hide words.
    fn mark(&mut self, byte: u8, before: &[u8], behind: &[u8]) -> Option<usize> {
        let follows_letter = before.last().is_some_and(u8::is_ascii_alphabetic);
        let next = behind.first().copied().unwrap_or(b' ');
        // What stands behind it may not be shown.
        self.end();
        let is_harmless = match byte {
            b':' => {
                (self.label, self.before_start) = (Some(self.words), self.words);
                if next == b' ' {
                    self.end_of_sentence();
                }
                true
            }
            b'.' | b'!' | b'?' | b';' => {
                self.before_start = self.words;
                if next == b' ' {
                    self.end_of_sentence();
                }
                true
            }
            // A link that is defined elsewhere has no brackets.
            b']' => {
                self.defines |= next == b':';
                !next.is_ascii_alphabetic()
            }
            b'[' if !follows_letter || is_number(behind) => {
                self.shown_in_part = true;
                true
            }
            // The words inside are not read, or only some of them, and a sentence may start behind it.
            b'`' => {
                self.before_start = self.words;
                self.backticks += 1;
                self.has_double_backticks |= next == b'`';
                if let Some(length) = self.code(before, behind) {
                    self.backticks += 1;
                    return Some(length);
                }
                self.shown_in_part = true;
                true
            }
            b'~' => {
                (self.shown_in_part, self.before_start) = (true, self.words);
                true
            }
            // It is shown, or the mark behind it is.
            b'\\' => next != b'`',
            // "isn't"
            b'\'' => {
                self.sentence.kinds |= if matches!(next, b't' | b'T') { NEGATION } else { 0 };
                true
            }
            // Marks that vanish between letters, links and tags. An address between angle brackets is shown.
            b'*' => !follows_letter || !next_letter(behind),
            b')' => !next.is_ascii_alphabetic(),
            b'&' => !gatehost_page::starts_entity(behind),
            b'<' => {
                !follows_letter
                    && (!next.is_ascii_alphabetic() && !matches!(next, b'/' | b'!' | b'?')
                        || behind.starts_with(b"http://")
                        || behind.starts_with(b"https://"))
            }
            // A space and signs such as `°`.
            0xC2 => match behind {
                [0xA0..=0xA9 | 0xAB | 0xAC | 0xAE..=0xB1 | 0xB4 | 0xB6..=0xB8 | 0xBB | 0xBF, ..] => return Some(1),
                _ => false,
            },
            // Dashes, quotation marks, arrows and symbols, of which none looks like a letter.
            0xE2 => match behind {
                [0x80, 0x99, ..] => {
                    self.sentence.kinds |= NEGATION;
                    return Some(2);
                }
                [0x80, 0x90..=0xA7, ..] | [0x86..=0x90 | 0x94..=0xAE, _, ..] => return Some(2),
                _ => false,
            },
            _ => false,
        };
        is_harmless.then_some(0)
    }
}

impl Row {
    /// The length of code and the mark at its end, if it ends on the same line.
    fn code(&self, before: &[u8], behind: &[u8]) -> Option<usize> {
        let end = behind.iter().position(|byte| *byte == b'`').filter(|end| *end > 0)?;
        let is_code = self.is_markdown && !self.has_double_backticks && behind.get(end + 1) != Some(&b'`');
        // Indented text, also that of an item, may be shown as it is.
        let is_indented = || {
            let marks = before.iter().position(u8::is_ascii_alphabetic).map_or(before, |start| &before[..start]);
            marks.contains(&b'\t') || marks.windows(4).any(|spaces| spaces == b"    ")
        };
        (is_code && !is_indented()).then_some(end + 1)
    }
}

/// Whether a number and a bracket follow, as in `[1]`.
fn is_number(behind: &[u8]) -> bool {
    let digits = behind.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && behind.get(digits) == Some(&b']')
}

/// Whether a letter follows a run of marks.
fn next_letter(behind: &[u8]) -> bool {
    behind.iter().find(|byte| !matches!(byte, b'*' | b'_')).is_some_and(u8::is_ascii_alphabetic)
}
