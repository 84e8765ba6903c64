//! Recognises most claims that say the signal and nothing against it, without taking them apart: the signal is the last line,
//! after a blank one, and no word in the text can belong to a sentence that takes it back.
//!
//! [`is_said`] answers yes only where the reader of pages would, which the tests compare. Otherwise it says nothing, and the
//! page is read.

use crate::opposite::{
    BETWEEN_WORD, DENIAL, DONE_WORD, FAILING, FOLLOWING, IGNORING, IS_WORD, MATTERING, NEGATION, NEXT, PERSON, SAYING,
    STILL, STRONG, SUBJECT, TOLD, WILL, is_denied, is_said_in, words_of,
};
use gatehost_sdk::words::{Hits, Words};

/// Whether a claim ends with the signal, and clearly says nothing against it.
pub(crate) fn is_said(text: &str, signal: &str) -> bool {
    let is_plain = |signal: &[u8]| match signal {
        [first, .., last] => {
            first.is_ascii_alphabetic()
                && last.is_ascii_alphanumeric()
                && signal.windows(2).all(|pair| pair[0].is_ascii_alphanumeric() || pair[0] == b'_' && pair[1] != b'_')
        }
        _ => false,
    };
    let end = text.trim_end_matches(['\n', ' ']);
    let Some(body) = end.strip_suffix(signal).filter(|_| is_plain(signal.as_bytes())) else { return false };
    (body.is_empty() || body.ends_with("\n\n")) && is_clear(body)
}

/// Whether nothing in a text hides what follows it, takes it back, or introduces it.
fn is_clear(body: &str) -> bool {
    // Links are defined at the end, mostly.
    let may_define = body.trim_end().rsplit('\n').next().is_some_and(|last| last.starts_with('[') && defines(last));
    is_clear_with(body, may_define).or_else(|| is_clear_with(body, true)).unwrap_or(false)
}

/// Whether a line may define a link.
fn defines(line: &str) -> bool {
    line.as_bytes().windows(2).any(|two| two == b"]:")
}

fn has_brackets(line: &str) -> bool {
    line.bytes().any(|byte| matches!(byte, b'[' | b']'))
}

/// Like [`is_clear`], for a text that may define links (`[1]: https://example.com`) or does not. Returns `None` if it does.
fn is_clear_with(body: &str, may_define: bool) -> Option<bool> {
    let mut in_code = false;
    // Whether code may have started on a line above of the same paragraph.
    let mut may_be_code = false;
    // The line above, if code started in it that may end on the next one. Both are then shown as one line.
    let mut open: Option<Row> = None;
    let mut in_comment = false;
    let mut above = Above { may_define, ..Above::default() };
    for line in body.split('\n') {
        let line = line.trim_end_matches([' ', '\t']);
        let start = line.trim_start_matches(' ');
        let opened = open.take();
        if in_comment || !in_code && start.starts_with("<!--") {
            // It is not shown. A browser shows what is behind it on the same line.
            let end = line.find("-->");
            let is_indented = !in_comment && start.len() + 3 < line.len();
            let is_odd = line.contains("--!") || start.starts_with("<!-->") || start.starts_with("<!--->");
            if is_indented || is_odd || end.is_some_and(|end| end + 3 < line.len()) {
                return Some(false);
            }
            (in_comment, may_be_code) = (end.is_none(), false);
            above.end();
        } else if let Some(rest) = start.strip_prefix("```") {
            let is_fence = if in_code { rest.bytes().all(|byte| byte == b'`') } else { !rest.contains('`') };
            if start.len() < line.len() || !is_fence {
                return Some(false);
            }
            in_code = !in_code;
            above.end();
        } else if start.is_empty() || !in_code && line.len() > 2 && line.bytes().all(|byte| byte == b'-') {
            // A ruler shows nothing, and makes a heading of the line above at most.
            may_be_code = false;
            above.end();
        } else if in_code {
            above.see(line, false);
        } else {
            let continued = opened.and_then(|row| continued_code(start).map(|length| (row, length)));
            let is_continuation = continued.is_some();
            let (mut row, text) = match continued {
                Some((row, length)) => {
                    may_be_code = false;
                    (Row { before_start: row.words, backticks: row.backticks + 1, ..row }, &start[length..])
                }
                None => (Row { is_markdown: true, ..Row::default() }, line),
            };
            let is_read = row.read(text.as_bytes());
            let defines = row.defines || !is_read && defines(line);
            if defines && !may_define {
                return None;
            }
            let is_self_contained = !may_be_code || !line.contains('`');
            let may_be_linked = may_define && has_brackets(line);
            let is_harmless = is_read && !row.may_say() && !(may_be_linked && line.contains("[]"))
                || !may_be_linked && !is_continuation && says_nothing(line);
            if start.starts_with("~~~") || !is_self_contained || !is_harmless {
                return Some(false);
            }
            above.see(line, defines);
            let is_odd = row.backticks % 2 == 1;
            let may_end_below = is_odd && !may_be_code && !row.has_double_backticks && is_read && is_continued(line);
            may_be_code |= is_odd || row.has_double_backticks;
            open = may_end_below.then_some(row);
        }
    }
    above.end();
    Some(!in_code && !in_comment && above.is_clear())
}

/// Whether a line of text goes on in the next one, so that code that starts in it may end there.
fn is_continued(line: &str) -> bool {
    let is_text = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'*' | b'`' | b'(' | b' ');
    let is_indented = line.starts_with("    ") || line.as_bytes().windows(5).any(|spaces| spaces == b"     ");
    line.as_bytes().first().is_some_and(is_text)
        && !is_indented
        && !line.bytes().any(|byte| matches!(byte, b'<' | b'|' | b'\t'))
}

/// The length of code that started on the line above, with the mark at its end, if the line clearly continues a paragraph.
fn continued_code(start: &str) -> Option<usize> {
    let is_text = match start.as_bytes() {
        [b'-', b'-', third, ..] => third.is_ascii_alphabetic(),
        [first, ..] => first.is_ascii_alphabetic() || matches!(first, b'"' | b'\'' | b'='),
        [] => false,
    };
    let end = start.bytes().position(|byte| byte == b'`')?;
    (is_text && !start.contains('|') && start.as_bytes().get(end + 1) != Some(&b'`')).then_some(end + 1)
}

/// The lines that may be shown last.
#[derive(Default)]
struct Above<'t> {
    /// Whether the text may define links. A definition is not shown.
    may_define: bool,
    /// The last line of the current block of lines, and if the text may define links, all of them and whether one does.
    last: Option<&'t str>,
    block: Vec<&'t str>,
    defines: bool,
    /// The last line of the last block that is shown, and the lines below it that may be definitions or shown.
    shown: Option<&'t str>,
    below: Vec<&'t str>,
}

impl<'t> Above<'t> {
    fn see(&mut self, line: &'t str, defines: bool) {
        self.last = Some(line);
        if self.may_define {
            self.block.push(line);
            self.defines |= defines;
        }
    }

    /// A block of lines ends.
    fn end(&mut self) {
        let Some(line) = self.last.take() else { return };
        if std::mem::take(&mut self.defines) {
            self.below.append(&mut self.block);
        } else {
            self.shown = Some(line);
            self.block.clear();
            self.below.clear();
        }
    }

    /// Whether no line introduces what follows, or is taken for something else than it is written as.
    fn is_clear(&self) -> bool {
        self.shown.iter().chain(&self.below).all(|line| self.is_clear_end(line))
    }

    fn is_clear_end(&self, line: &str) -> bool {
        // What is shown of the line must end as it is written.
        let end = line.trim_end_matches(['*', '_', '`', ')', '"', ' ']);
        let is_whole = end.ends_with(['.', '!', '?']) && !end.ends_with("..");
        let is_open = || end.ends_with(['#', '.', ':', ']']) || gatehost_page::breaks_off(end);
        let is_shown = || is_shown(line) && !(self.may_define && has_brackets(line));
        (is_shown() || self.may_define && is_definition(line)) && (is_whole || !is_open())
    }
}

/// `[1]: https://example.com`, which defines a link or is shown as it is.
fn is_definition(line: &str) -> bool {
    let is_label = |byte: u8| byte.is_ascii_alphanumeric() || b" -_.'^#".contains(&byte);
    let is_address = |byte: u8| byte.is_ascii_alphanumeric() || b"/.:-_#?=%+,@".contains(&byte);
    let parts = line.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
    parts.is_some_and(|(label, address)| {
        label.bytes().all(is_label) && !address.is_empty() && address.bytes().all(is_address)
    })
}

/// Whether a line is shown, and its last word as it is written.
fn is_shown(line: &str) -> bool {
    let last_word = line.rsplit(' ').next().unwrap_or_default();
    let start = line.trim_start_matches(' ');
    let is_item = start.starts_with("- ") || start.starts_with("* ");
    let is_written = |(at, byte): (usize, u8)| {
        let (before, behind) = (&line.as_bytes()[..at], &line.as_bytes()[at + 1..]);
        match byte {
            b'<' | b'\\' => false,
            // It crosses nothing out: none follows that would close it, and behind a space it closes none.
            b'~' => {
                matches!(before.last(), None | Some(b' '))
                    && behind.first().is_some_and(u8::is_ascii_alphanumeric)
                    && !behind.contains(&b'~')
            }
            // An item is no row of a table.
            b'|' => is_item,
            b'&' => !gatehost_page::starts_entity(behind),
            // A quotation.
            b'>' => before.iter().any(u8::is_ascii_alphabetic),
            b']' if behind.starts_with(b"(") => is_link_before_words(behind),
            b']' => !matches!(behind.first(), Some(b'[' | b':')),
            _ => true,
        }
    };
    if !line.bytes().enumerate().all(|(at, byte)| !MARKS[usize::from(byte)] || is_written((at, byte))) {
        return false;
    }
    // Marks inside of it may vanish, as in `isn*'t*`.
    let inside = last_word.trim_matches(['*', '_', '`', '(', ')', '"']);
    let is_written = last_word.is_ascii() && !inside.contains('*') && !(inside.contains('_') && inside.contains('\''));
    is_written && line.bytes().any(|byte| byte.is_ascii_alphanumeric())
}

/// Whether what follows the words of a link, or of something that looks like one, is an address and then more words.
fn is_link_before_words(behind: &[u8]) -> bool {
    let is_address = |byte: &&u8| byte.is_ascii_alphanumeric() || b"/.:-_#?=%+,@".contains(byte);
    let length = behind[1..].iter().take_while(is_address).count();
    let words = behind[1 + length..].strip_prefix(b") ");
    length > 0 && words.is_some_and(|words| words.iter().any(u8::is_ascii_alphanumeric))
}

/// Bytes that may hide something.
static MARKS: [bool; 256] = {
    let mut marks = [false; 256];
    let all = b"<\\~|&>]";
    let mut at = 0;
    while at < all.len() {
        marks[all[at] as usize] = true;
        at += 1;
    }
    marks
};

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

/// The words of [`MATTERING`] with their kinds, by their first letters.
static WORDS: [(u128, u16); COUNT] = {
    let mut words = [(0, 0); COUNT];
    let (mut list, mut at, mut count) = (0, 0, 0);
    while list < MATTERING.len() {
        if at == MATTERING[list].1.len() {
            (list, at) = (list + 1, 0);
            continue;
        }
        let new = (packed(MATTERING[list].1[at].as_bytes()), MATTERING[list].0);
        let mut place = count;
        while place > 0 && words[place - 1].0 as u8 > new.0 as u8 {
            words[place] = words[place - 1];
            place -= 1;
        }
        words[place] = new;
        (at, count) = (at + 1, count + 1);
    }
    words
};
/// The longest word that fits a number.
const LONGEST: usize = 16;

/// The letters of a word in lower case, the first of them in the lowest byte.
const fn packed(word: &[u8]) -> u128 {
    assert!(word.len() <= LONGEST);
    let (mut packed, mut at) = (0, word.len());
    while at > 0 {
        at -= 1;
        packed = packed << 8 | (word[at] | 0x20) as u128;
    }
    packed
}

const COUNT: usize = {
    let (mut list, mut count) = (0, 0);
    while list < MATTERING.len() {
        count += MATTERING[list].1.len();
        list += 1;
    }
    count
};

/// What is known of the words that start with a letter.
#[derive(Clone, Copy)]
struct Start {
    /// Their lengths and their second letters, as bits. Few other words fit.
    lengths: u32,
    seconds: u32,
    /// Where they are in [`WORDS`].
    first: usize,
    count: usize,
}

static STARTS: [Start; 32] = {
    let mut starts = [Start { lengths: 0, seconds: 0, first: 0, count: 0 }; 32];
    let mut at = 0;
    while at < COUNT {
        let word = WORDS[at].0;
        let start = &mut starts[(word as u8 & 31) as usize];
        start.lengths |= 1 << (16 - word.leading_zeros() / 8);
        start.seconds |= 1 << ((word >> 8) as u8 & 31);
        start.first = if start.count == 0 { at } else { start.first };
        start.count += 1;
        at += 1;
    }
    starts
};

/// Whether a word of this length that starts with these bytes may be one of [`MATTERING`].
#[inline(always)]
fn may_matter(bytes: u64, length: usize) -> bool {
    let start = &STARTS[(bytes & 31) as usize];
    length <= LONGEST
        && start.lengths >> length & 1 != 0
        && (length == 1 || start.seconds >> (bytes >> 8 & 31) & 1 != 0)
}

/// Whether no sentence of a line says that the work is not complete, however the line is shown.
fn says_nothing(line: &str) -> bool {
    let words = line.trim_start_matches(' ');
    let read = if is_raw(words.as_bytes()) {
        Some(gatehost_page::lowercase(words))
    } else if !line.as_bytes().windows(4).any(|spaces| spaces == b"    ") {
        gatehost_page::line(words.strip_prefix("* ").unwrap_or(words)).map(|spans| words_of(&spans))
    } else {
        // It may be code.
        None
    };
    // Emphasis is not shown.
    let is_denied_so = |words: &str| words.contains(['*', '_']) && is_denied(&words.replace(['*', '_'], ""));
    read.is_some_and(|words| !is_said_in(&words) && !is_denied(&words) && !is_denied_so(&words))
}

/// Whether the words of a line are shown as they are written, whatever else is shown: no mark joins or hides some.
fn is_raw(line: &[u8]) -> bool {
    let at = |at: usize| line.get(at).copied().unwrap_or(b' ');
    (0..line.len()).all(|place| match line[place] {
        b'*' | b'_' => keeps_words_apart(line, place),
        b']' => !matches!(at(place + 1), b'(' | b'[' | b':'),
        // Before a letter, it is shown.
        b'\\' => at(place + 1).is_ascii_alphanumeric(),
        byte => RAW[usize::from(byte)],
    })
}

/// Whether no word is joined if the marks around a place vanish as emphasis.
fn keeps_words_apart(line: &[u8], place: usize) -> bool {
    let is_mark = |byte: &u8| matches!(byte, b'*' | b'_');
    let start = place - line[..place].iter().rev().take_while(|byte| is_mark(byte)).count();
    let end = place + line[place..].iter().take_while(|byte| is_mark(byte)).count();
    let before = line[..start].last().copied().unwrap_or(b' ');
    let behind = line.get(end).copied().unwrap_or(b' ');
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'\'';
    // Inside a word, `_` is no emphasis.
    let is_inside = before.is_ascii_alphanumeric() && behind.is_ascii_alphanumeric();
    !is_part(before) || !is_part(behind) || is_inside && line[start..end].iter().all(|byte| *byte == b'_')
}

static RAW: [bool; 256] = {
    let mut raw = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        raw[byte] = !matches!(byte as u8, b'`' | b'&' | b'<' | b'~' | 0..0x20 | 0x7f);
        byte += 1;
    }
    raw
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
struct Row {
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
    defines: bool,
    backticks: usize,
    has_double_backticks: bool,
}

impl Row {
    /// Whether its words can deny, or say the opposite.
    fn may_say(&self) -> bool {
        let all = self.before.and(self.sentence);
        // A word that denies does so alone, with one more word, or as an answer behind a colon.
        let is_answer = || self.label.is_some_and(|label| self.words <= label + 1);
        let denies = all.kinds & DENIAL != 0 && (self.words <= 2 || is_answer() || self.shown_in_part);
        // What is not shown may be the end of a sentence.
        let says = if self.shown_in_part { all.may_say() } else { self.may_have_said || self.sentence.may_say() };
        denies || says
    }

    /// Read a piece. Returns whether its words are known: no mark may join or hide some.
    fn read(&mut self, piece: &[u8]) -> bool {
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

/// The kinds of a word that may matter, by up to eight bytes of its start and of its rest.
fn kinds([first, rest]: [(u64, usize); 2]) -> u16 {
    let lower = |(bytes, length): (u64, usize)| match length {
        0 => 0,
        _ => (bytes | 0x2020_2020_2020_2020) & (u64::MAX >> (64 - 8 * length.min(8))),
    };
    let (first, rest) = (lower(first), lower(rest));
    let start = &STARTS[(first & 31) as usize];
    let words = &WORDS[start.first..start.first + start.count];
    let is_it = |known: u128| known as u64 == first && (known >> 64) as u64 == rest;
    words.iter().filter(|(known, _)| is_it(*known)).fold(0, |kinds, (_, kind)| kinds | kind)
}
