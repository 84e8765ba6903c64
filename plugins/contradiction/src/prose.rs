//! A claim as words and the breaks between them, without what it quotes.

use gatehost_page::{Shown, Voice};
use gatehost_sdk::markdown::Visibility;
use std::ops::Range;

/// A word, or something that ends a row of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    /// The line that it is on, from 1.
    pub(crate) line: usize,
    /// Whether it is a word set in code: part of a longer phrase, and not a phrase by itself.
    pub(crate) code: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A word, in lower case.
    Word(String),
    /// Something quoted: it takes part in its sentence, and its words do not count.
    Quoted,
    /// What may introduce an answer: a colon, a question mark, a dash, the bar of a table.
    Label,
    /// A bracket or a backslash: it ends a clause, and stands between words without parting a phrase.
    Mark,
    /// Any other end of a clause.
    Break,
}

impl Token {
    fn new(kind: TokenKind, line: usize) -> Self {
        Self { kind, line, code: false }
    }

    pub(crate) fn word(&self) -> Option<&str> {
        if let TokenKind::Word(word) = &self.kind { Some(word) } else { None }
    }
}

/// Where the words stand in a row, brackets between them or not. The last of them may go on: `manual` finds `manually`.
pub(crate) fn occurrences<'a>(tokens: &'a [Token], words: &'a [String]) -> impl Iterator<Item = Range<usize>> + 'a {
    (0..tokens.len()).filter_map(move |start| {
        let (last, before) = words.split_last()?;
        let mut rest = (start..).zip(&tokens[start..]).filter(|(_, token)| token.kind != TokenKind::Mark);
        let fits = before.iter().all(|word| rest.next().is_some_and(|(_, token)| token.word() == Some(word)));
        let (end, token) = rest.next().filter(|_| fits)?;
        // A mark is not where a phrase starts.
        let starts = tokens[start].kind != TokenKind::Mark && !(start..=end).all(|at| tokens[at].code);
        (starts && token.word()?.starts_with(last.as_str())).then_some(start..end + 1)
    })
}

/// Stands in a text for something quoted. No text has it: it is for private use, and taken out of what is read.
const QUOTED: char = '\u{E000}';
/// Stands before and after a word that is set in code.
const CODE: char = '\u{E001}';

/// The words of a phrase. Most phrases are plain words, which need no renderer.
pub(crate) fn phrase_words(phrase: &str) -> Vec<String> {
    if phrase.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b' ') {
        return phrase.split(' ').filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect();
    }
    rendered_words(phrase)
}

fn rendered_words(phrase: &str) -> Vec<String> {
    tokens(phrase).iter().filter_map(Token::word).map(str::to_owned).collect()
}

/// Take a text apart, as a reader sees it.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut paragraph: Vec<(usize, String)> = Vec::new();
    for row in gatehost_page::shown(text) {
        if row.begins {
            flush(&mut paragraph, &mut tokens);
        }
        if row.visibility == Visibility::Quoted {
            flush(&mut paragraph, &mut tokens);
            tokens.push(Token::new(TokenKind::Quoted, row.number));
            tokens.push(Token::new(TokenKind::Break, row.number));
        } else if !row.is_blank() {
            paragraph.push((row.number, words(&row)));
        }
    }
    flush(&mut paragraph, &mut tokens);
    with_long_forms(tokens)
}

/// The words of a row, with a mark for each piece that its author does not say.
fn words(row: &Shown<'_>) -> String {
    let words = row.spans.iter().map(|(voice, words)| match voice {
        Voice::Plain | Voice::Styled => gatehost_page::folded(words).replace([QUOTED, CODE], " "),
        // One word in code does not take a phrase apart: "requires `manual` approval".
        Voice::Code if words.chars().all(char::is_alphabetic) => {
            format!("{CODE}{}{CODE}", gatehost_page::folded(words))
        }
        Voice::Code | Voice::Struck => QUOTED.to_string(),
    });
    words.collect()
}

fn flush(paragraph: &mut Vec<(usize, String)>, tokens: &mut Vec<Token>) {
    let (numbers, lines): (Vec<usize>, Vec<String>) = paragraph.drain(..).unzip();
    let Some(&last) = numbers.last() else { return };
    let characters: Vec<char> = lines.join("\n").chars().collect();
    read(&characters, &numbers, tokens);
    tokens.push(Token::new(TokenKind::Break, last));
}

/// Read the rows of a paragraph, of which the source has these lines.
fn read(text: &[char], numbers: &[usize], tokens: &mut Vec<Token>) {
    let at_or = |at: usize| text.get(at).copied().unwrap_or(' ');
    let mut row = 0;
    let mut at = 0;
    let mut code = false;
    while at < text.len() {
        let character = text[at];
        let before = if at == 0 { ' ' } else { text[at - 1] };
        let line = numbers.get(row).copied().unwrap_or_default();
        if let Some(end) = quotation_end(text, at, before) {
            tokens.push(Token::new(TokenKind::Quoted, line));
            row += text[at..end].iter().filter(|&&inside| inside == '\n').count();
            at = end;
            continue;
        }
        if character.is_alphanumeric() {
            let mut end = at;
            while end < text.len() && (text[end].is_alphanumeric() || joins(text, end)) {
                end += 1;
            }
            let word: String = text[at..end].iter().map(|&letter| if letter == '’' { '\'' } else { letter }).collect();
            tokens.push(Token { code, ..Token::new(TokenKind::Word(word.to_lowercase()), line) });
            at = end;
            continue;
        }
        let kind = match character {
            '\n' => {
                row += 1;
                let next = text[at..].iter().find(|next| !next.is_whitespace());
                // A line that goes on in lower case is wrapped; any other starts something new.
                if next.is_some_and(|next| next.is_lowercase()) { None } else { Some(TokenKind::Break) }
            }
            QUOTED => Some(TokenKind::Quoted),
            CODE => {
                code = !code;
                None
            }
            '*' | '_' | '~' | '\'' | '’' => None,
            '(' | ')' | '[' | ']' | '{' | '}' | '\\' | '^' => Some(TokenKind::Mark),
            // Within a word, as in `needs-human`, `and/or`, `config.yml`.
            '-' | '/' | '.' if before.is_alphanumeric() && at_or(at + 1).is_alphanumeric() => None,
            '-' | '–' | '—' | ':' | '?' | '=' | '|' => Some(TokenKind::Label),
            space if space.is_whitespace() => None,
            _ => Some(TokenKind::Break),
        };
        tokens.extend(kind.map(|kind| Token::new(kind, line)));
        at += 1;
    }
}

/// Whether the mark at `at` holds a word together: an apostrophe between letters.
fn joins(text: &[char], at: usize) -> bool {
    matches!(text[at], '\'' | '’')
        && at > 0
        && text[at - 1].is_alphanumeric()
        && text.get(at + 1).is_some_and(|next| next.is_alphanumeric())
}

/// The end of the quotation that opens at `at`, if one does and it is closed.
fn quotation_end(text: &[char], at: usize, before: char) -> Option<usize> {
    let opens_word = !before.is_alphanumeric() && text.get(at + 1).is_some_and(|next| !next.is_whitespace());
    let closes_word =
        |end: usize| !text[end - 1].is_whitespace() && text.get(end + 1).is_none_or(|next| !next.is_alphanumeric());
    let find = |closing: char, closes: &dyn Fn(usize) -> bool| {
        (at + 2..text.len()).find(|&end| text[end] == closing && closes(end)).map(|end| end + 1)
    };
    match text[at] {
        '"' if opens_word => find('"', &closes_word),
        '\'' if opens_word => find('\'', &closes_word),
        '‘' => find('’', &closes_word),
        '“' | '„' => find('”', &|_| true).or_else(|| find('“', &|_| true)),
        '«' => find('»', &|_| true),
        _ => None,
    }
}

/// Short forms without their apostrophe.
const WITHOUT_APOSTROPHE: &[&str] = &["couldnt", "wouldnt", "shouldnt", "didnt", "doesnt", "dont", "isnt", "wasnt"];

/// `couldn't` and `couldnt` become `could not`, and `can not` and `can't` become `cannot`.
fn with_long_forms(tokens: Vec<Token>) -> Vec<Token> {
    let mut long: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let Token { line, code, .. } = token;
        let mut push = |word: &str| {
            let kind = TokenKind::Word(word.to_owned());
            match long.last_mut() {
                Some(last) if word == "not" && last.word() == Some("can") => {
                    last.kind = TokenKind::Word("cannot".to_owned())
                }
                _ => long.push(Token { kind, line, code }),
            }
        };
        match token.word() {
            Some("can't" | "cant") => push("cannot"),
            Some(word) if WITHOUT_APOSTROPHE.contains(&word) => {
                [&word[..word.len() - 2], "not"].into_iter().for_each(&mut push)
            }
            Some("won't") => ["will", "not"].into_iter().for_each(&mut push),
            Some(word) => match word.strip_suffix("n't") {
                Some(stem) => [stem, "not"].into_iter().for_each(&mut push),
                None => push(word),
            },
            None => long.push(token),
        }
    }
    long
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let shown = tokens(text).into_iter().map(|token| match token.kind {
            TokenKind::Word(word) => word,
            TokenKind::Quoted => "\"\"".to_owned(),
            TokenKind::Label => ":".to_owned(),
            TokenKind::Mark => "(".to_owned(),
            TokenKind::Break => "/".to_owned(),
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_words_of_a_plain_phrase_are_the_rendered_ones() {
        for phrase in ["requires manual", "cannot be automated", "could not  complete", "Needs human", ""] {
            assert_eq!(phrase_words(phrase), rendered_words(phrase), "{phrase}");
        }
    }

    #[test]
    fn a_text_is_words_and_breaks() {
        for (text, expected) in [
            ("It needs **human** eyes.", "it needs human eyes / /"),
            ("needs-human, can’t, don't", "needs human / cannot / do not /"),
            ("can not; won't", "cannot / will not /"),
            ("no\nmanual\nSteps", "no manual / steps /"),
            ("a\n\nb", "a / b /"),
            ("- a\n- b", ": a / : b /"),
            ("x: none", "x : none /"),
            ("say `a b` and ``c ` d`` now", "say \"\" and \"\" now /"),
            ("say \"a b\" and 'c d' now", "say \"\" and \"\" now /"),
            ("the 5\" disk and the users' a", "the 5 / disk and the users a /"),
            ("“a” «b» „c“ ‘d’", "\"\" \"\" \"\" \"\" /"),
            ("an \"open quotation", "an / open quotation /"),
            ("> a\nb", "\"\" / b /"),
            ("```\na\n```\nb", "\"\" / b /"),
            ("TASK_COMPLETE", "task complete /"),
            ("couldnt (a) b\\c", "could not ( a ( b ( c /"),
            ("man\u{AD}u\u{200B}al", "manual /"),
            ("> a\rb\u{2028}c", "\"\" / b c /"),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }
}
