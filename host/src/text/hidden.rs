//! Which characters a reader does not see, by the properties of Unicode.
//!
//! Text in which characters are hidden says more to a program than to a person: variation selectors and tags encode any byte,
//! and directional controls show a text in another order. Ordinary text is left alone: emoji sequences, and joiners where a
//! script needs them.

use std::sync::LazyLock;

/// Why a character is not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hidden {
    /// A control character. Output of programs has many, such as those of colours.
    Control,
    /// A character for private use, which only some fonts have, such as those of icons.
    Private,
    /// A character without a shape, or one that changes the direction of text.
    Invisible,
}

/// A set of characters.
type Class = LazyLock<Vec<(char, char)>>;

/// What has no shape of its own, and what changes the direction. The format characters that are excluded are visible.
static INVISIBLE: Class = LazyLock::new(|| {
    class(r"[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Zl}\p{Zp}[\p{Cf}--\p{Prepended_Concatenation_Mark}]]")
});
/// Emoji, of later versions of Unicode too.
static EMOJI: Class = LazyLock::new(|| class(r"[\p{Emoji}\p{Extended_Pictographic}--\p{ASCII}]"));
static PICTOGRAPHIC: Class = LazyLock::new(|| class(r"\p{Extended_Pictographic}"));
/// Characters that have a shape as text and one as emoji: those that are text by default, and the others for which Unicode lists
/// both (emoji-variation-sequences.txt).
static TWO_SHAPES: Class = LazyLock::new(|| {
    let others: String = EMOJI_WITH_TWO_SHAPES
        .split_whitespace()
        .map(|range| match range.split_once('-') {
            Some((start, end)) => format!(r"\x{{{start}}}-\x{{{end}}}"),
            None => format!(r"\x{{{range}}}"),
        })
        .collect();
    class(&format!(r"[[\p{{Emoji}}--\p{{Emoji_Presentation}}--\p{{ASCII}}]{others}]"))
});
/// Letters and marks of scripts in which joiners decide about the shape of a word.
static JOINING: Class = LazyLock::new(|| of_scripts(JOINING_SCRIPTS, r"\p{L}\p{M}"));
static JOINING_MARKS: Class = LazyLock::new(|| of_scripts(JOINING_SCRIPTS, r"\p{M}"));
/// Letters and marks of scripts that separate words by a space without a width.
static UNSPACED: Class = LazyLock::new(|| of_scripts("Thai Laoo Khmr Mymr Lana Talu Tavt Java Bali", r"\p{L}\p{M}"));
static MONGOLIAN: Class = LazyLock::new(|| of_scripts("Mong", r"\p{L}\p{M}"));
static LETTERS: Class = LazyLock::new(|| class(r"[[\p{L}\p{Nd}]--\p{Default_Ignorable_Code_Point}]"));

const JOINING_SCRIPTS: &str = "Arab Syrc Mand Nkoo Mong Phag Adlm Rohg Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh \
    Tibt Khmr Mymr Java Bali Sund Cakm Newa Tirh Gran Modi Mtei Lepc";
const EMOJI_WITH_TWO_SHAPES: &str = "231A-231B 23E9-23EA 23F3 25FD-25FE 2614-2615 2648-2653 267F 2693 26A1 26AA-26AB 26BD-26BE \
    26C4-26C5 26D4 26EA 26F2-26F3 26F5 26FA 26FD 2753 2757 2B1B-2B1C 2B50 2B55 1F004 1F21A 1F22F 1F30D-1F30F 1F315 1F31C 1F378 \
    1F393 1F3A7 1F3AC-1F3AE 1F3C2 1F3C4 1F3C6 1F3CA 1F3E0 1F3ED 1F408 1F415 1F41F 1F426 1F442 1F446-1F449 1F44D-1F44E 1F453 \
    1F46A 1F47D 1F4A3 1F4B0 1F4B3 1F4BB 1F4BF 1F4CB 1F4DA 1F4DF 1F4E4-1F4E6 1F4EA-1F4ED 1F4F7 1F4F9-1F4FB 1F508 1F50D \
    1F512-1F513 1F550-1F567 1F610 1F687 1F68D 1F691 1F694 1F698 1F6AD 1F6B2 1F6B9-1F6BA 1F6BC";

/// The flags of England, Scotland and Wales: the only sequences of tags in general use.
const FLAGS: [&str; 3] = [
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0077}\u{E006C}\u{E0073}\u{E007F}",
];

/// Returns the characters of a text, and for each whether and why a reader does not see it.
pub(super) fn characters(text: &str) -> impl Iterator<Item = (char, Option<Hidden>)> + '_ {
    let mut before = Before::default();
    // Where the flag ends that is being read.
    let mut flag = 0;
    text.char_indices().map(move |(at, c)| {
        if c == '\u{1F3F4}' {
            flag = FLAGS.iter().find(|flag| text[at..].starts_with(**flag)).map_or(flag, |flag| at + flag.len());
        }
        let hidden = of(c).filter(|why| {
            let after = || text[at + c.len_utf8()..].chars().next();
            *why != Hidden::Invisible || !(at < flag || before.allows(c, after))
        });
        before.follow(c, hidden.is_some());
        (c, hidden)
    })
}

/// Returns whether a text has no character that could be hidden.
pub(super) fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
}

/// Returns whether and why a reader does not see a character, whatever is beside it.
pub(super) fn of(c: char) -> Option<Hidden> {
    match c {
        ' '..='~' => None,
        _ if c.is_control() => Some(Hidden::Control),
        '\u{E000}'..='\u{F8FF}' | '\u{F0000}'..='\u{FFFFD}' | '\u{100000}'..='\u{10FFFD}' => Some(Hidden::Private),
        _ => contains(&INVISIBLE, c).then_some(Hidden::Invisible),
    }
}

/// What comes before a character.
#[derive(Clone, Copy, Default)]
struct Before {
    /// The last character; none at the start, and after one that is hidden.
    last: Option<char>,
    /// Whether an emoji ends there, to which others can be joined.
    emoji: bool,
    /// Whether there is a letter or a digit after the last invisible character: each allows one.
    letter: bool,
}

impl Before {
    /// Returns whether an invisible character is a part of ordinary text.
    fn allows(self, c: char, after: impl Fn() -> Option<char>) -> bool {
        let Some(last) = self.last else { return false };
        let is_last = |class: &Class| contains(class, last);
        let is_next = |class: &Class| after().is_some_and(|after| contains(class, after));
        match c {
            // The shape of an emoji, or of the base of a keycap.
            '\u{FE0E}' | '\u{FE0F}' if is_last(&TWO_SHAPES) => true,
            '\u{FE0F}' => matches!(last, '0'..='9' | '#' | '*') && after() == Some('\u{20E3}'),
            '\u{200D}' if self.emoji => is_next(&PICTOGRAPHIC),
            // Between letters or digits. One of them may be of another script, as in the plural of a foreign word.
            '\u{200C}' | '\u{200D}' => {
                let joins = is_last(&JOINING) && (is_next(&JOINING) || is_next(&LETTERS));
                self.letter && (is_last(&JOINING_MARKS) || joins || is_last(&LETTERS) && is_next(&JOINING))
            }
            // Beside digits and words of other scripts, too.
            '\u{200B}' => is_last(&UNSPACED) && self.letter || is_next(&UNSPACED) && of(last).is_none(),
            '\u{180B}'..='\u{180D}' | '\u{180F}' => self.letter && is_last(&MONGOLIAN),
            '\u{180E}' => self.letter && is_last(&MONGOLIAN) && is_next(&MONGOLIAN),
            _ => false,
        }
    }

    fn follow(&mut self, c: char, is_hidden: bool) {
        let is_invisible = of(c).is_some();
        self.emoji = match c {
            _ if is_hidden => false,
            '\u{FE0F}' => self.emoji,
            // Modifiers of the skin are emoji, too.
            _ => contains(&EMOJI, c),
        };
        self.letter = !is_invisible && (self.letter || contains(&LETTERS, c));
        self.last = (!is_hidden).then_some(c);
    }
}

fn contains(class: &Class, c: char) -> bool {
    let at = class.partition_point(|(_, end)| *end < c);
    class.get(at).is_some_and(|(start, _)| *start <= c)
}

/// Returns the characters that a pattern matches.
fn class(pattern: &str) -> Vec<(char, char)> {
    use regex_syntax::hir::{Class, HirKind};
    match regex_syntax::parse(pattern).map(|parsed| parsed.into_kind()) {
        Ok(HirKind::Class(Class::Unicode(class))) => {
            class.ranges().iter().map(|range| (range.start(), range.end())).collect()
        }
        // Cannot be: the patterns are those above, and tests use each.
        _ => Vec::new(),
    }
}

/// Returns the visible characters of these general categories that are used in one of these scripts.
fn of_scripts(scripts: &str, categories: &str) -> Vec<(char, char)> {
    let scripts: String = scripts.split_whitespace().map(|script| format!(r"\p{{scx={script}}}")).collect();
    class(&format!(r"[[[{scripts}]&&[{categories}]]--\p{{Default_Ignorable_Code_Point}}]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the characters of a text that a reader would not see.
    fn hidden(text: &str) -> Vec<char> {
        characters(text).filter(|(_, why)| *why == Some(Hidden::Invisible)).map(|(c, _)| c).collect()
    }

    #[test]
    fn ordinary_text_hides_nothing() {
        for text in [
            "plain ASCII, äöü, ж, 漢字, ✓ « » … –",
            "❤️ ☎︎ 1️⃣ #️⃣ 👍🏽 🇩🇪",
            "👩‍💻 👨‍👩‍👧‍👦 🏳️‍🌈 👩🏽‍🚀 ❤️‍🔥",
            "🏴󠁧󠁢󠁥󠁮󠁧󠁿 🏴󠁧󠁢󠁳󠁣󠁴󠁿 🏴󠁧󠁢󠁷󠁬󠁳󠁿",
            "می‌خواهم", // Persian: a joiner between letters of one word
            "PDF\u{200c}ها ۱۰\u{200c}ساله",
            "क्‍ष न्‌",            // Hindi: joiners after a virama
            "ភាសា\u{200b}ខ្មែរ", // Khmer: words without spaces
            "ខែ\u{200b}១០\u{200b}ថ្ងៃ ខ្មែរ\u{200b}។ ภาษา\u{200b}Python\u{200b}ดี",
            "ꦲ꧀\u{200c}ꦲ", // Javanese: a joiner after a virama
            "👨🏿\u{200d}\u{1faef}\u{200d}👨🏻",
            "⚡️ ⭐︎ 🌍️ 🔈︎",
            "ᠮᠣᠩᠭᠣᠯ\u{180e}ᠠ",
        ] {
            assert_eq!(hidden(text), [], "{text}");
        }
    }

    #[test]
    fn invisible_characters_are_found() {
        for text in [
            "\u{ad}",
            "\u{34f}",
            "\u{61c}",
            "\u{115f}",
            "\u{1160}",
            "\u{17b4}",
            "\u{180b}",
            "\u{180e}",
            "\u{200b}",
            "\u{200c}",
            "\u{200d}",
            "\u{200e}",
            "\u{2028}",
            "\u{2029}",
            "\u{202e}",
            "\u{2060}",
            "\u{2064}",
            "\u{2066}",
            "\u{206f}",
            "\u{3164}",
            "\u{fe00}",
            "\u{fe0f}",
            "\u{feff}",
            "\u{ffa0}",
            "\u{fff9}",
            "\u{1bca0}",
            "\u{1d173}",
            "\u{e0001}",
            "\u{e0041}",
            "\u{e0100}",
            "\u{e01ef}",
        ] {
            let expected: Vec<char> = text.chars().collect();
            assert_eq!(hidden(text), expected, "{text:?} alone");
            assert_eq!(hidden(&format!("a{text}b")), expected, "{text:?} between letters");
        }
    }

    #[test]
    fn ordinary_text_is_no_cover() {
        for (text, number) in [
            ("❤\u{fe0f}\u{fe0f}", 1),
            ("❤\u{fe0f}\u{fe0e}\u{fe00}", 2),
            ("👩\u{200d}\u{200d}💻", 2),
            ("👩\u{200d}a", 1),
            ("1\u{fe0f}2", 1),
            ("م\u{200c}\u{200d}\u{200c}ی", 3),
            ("م\u{200c} a\u{200c}", 2),
            ("\u{200d}💻", 1),
            // A flag of tags that spells something else, and tags after a flag.
            ("🏴\u{e0068}\u{e0069}\u{e007f}", 3),
            ("🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}\u{e0041}", 1),
            ("漢\u{e0100}", 1),
            // Each letter allows one invisible character.
            ("ᠮ\u{180b}\u{180c}\u{180d}\u{180f}", 3),
            ("ᠮ\u{180b}\u{200d}", 1),
            ("क्\u{200d}्\u{200c}्\u{200d}", 2),
            ("១\u{200b}០\u{200b}១", 2),
            ("ភា\u{200b}\u{200b}សា", 1),
            // Neither has a shape as text.
            ("😀\u{fe0f}😀\u{fe0e}", 2),
            ("👍🏽\u{fe0f}", 1),
        ] {
            assert_eq!(hidden(text).len(), number, "{text:?}");
        }
    }

    /// The properties of Unicode are those that the classes name, for every character.
    #[test]
    fn no_character_is_hidden_without_a_reason_or_shown_without_a_shape() {
        let ignorable = regex::Regex::new(r"^[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]$").expect("a pattern");
        let mut text = [0; 4];
        for c in '\0'..=char::MAX {
            let why = of(c);
            match c {
                '\0'..='\x1f' | '\x7f'..='\u{9f}' => assert_eq!(why, Some(Hidden::Control), "{c:?}"),
                _ if ignorable.is_match(c.encode_utf8(&mut text)) => assert_eq!(why, Some(Hidden::Invisible), "{c:?}"),
                _ => assert_ne!(why, Some(Hidden::Control), "{c:?}"),
            }
        }
        // Letters, numbers and punctuation are shown, except fillers, which have no shape.
        let shown =
            regex::Regex::new(r"^[\p{L}\p{N}\p{P}\p{S}--\p{Default_Ignorable_Code_Point}]$").expect("a pattern");
        for c in '\0'..=char::MAX {
            assert!(!shown.is_match(c.encode_utf8(&mut text)) || of(c).is_none(), "{c:?}");
        }
    }
}
