//! What readers of words need besides the page: lists of words, letters by what they look like, and sentences that break off.

use std::borrow::Cow;

/// A list of words that is written as one text, and taken apart when the verifier is compiled.
#[macro_export]
macro_rules! words {
    ($text:expr) => {{
        const LIST: [&str; $crate::count_words($text)] = $crate::split_words($text);
        &LIST
    }};
}

/// The number of words in a text, each of which a single space ends.
pub const fn count_words(text: &str) -> usize {
    let (mut count, mut at) = (1, 0);
    while at < text.len() {
        count += (text.as_bytes()[at] == b' ') as usize;
        at += 1;
    }
    count
}

/// The words of a text.
pub const fn split_words<const N: usize>(text: &'static str) -> [&'static str; N] {
    let mut words = [""; N];
    let (mut rest, mut word, mut at) = (text, 0, 0);
    while at < rest.len() {
        if rest.as_bytes()[at] == b' ' {
            let (before, behind) = rest.split_at(at);
            words[word] = before;
            rest = behind.split_at(1).1;
            (word, at) = (word + 1, 0);
        } else {
            at += 1;
        }
    }
    words[word] = rest;
    words
}

/// Letters that look like Latin ones, and what they look like: Cyrillic, Greek, others, Lisu and small capitals. Ordered.
static LOOK_ALIKES: [(char, char); COUNT] = {
    const SETS: [(&str, &str); 5] = [
        ("АаВЕеКМНОоРрСсТУуХхІіЈјЅѕԁԛԝһ", "AaBEeKMHOoPpCcTYyXxIiJjSsdqwh"),
        ("ıſɡℓⅰⅴⅹⅼⅽⅾⅿℯℴԌӏ\u{212A}", "isglivxlcdmeoGlK"),
        ("ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ", "ABCDEFGHIJKLMNOPRSTUVWXYZ"),
        ("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz"),
        ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοανρι", "ABEZHIKMNOPTYXoavpi"),
    ];
    let mut all = [('\0', '\0'); COUNT];
    let (mut set, mut count) = (0, 0);
    while set < SETS.len() {
        let (mut from, to) = (SETS[set].0.as_bytes(), SETS[set].1.as_bytes());
        let mut at = 0;
        while at < to.len() {
            let (letter, length) = decode(from);
            let mut place = count;
            while place > 0 && all[place - 1].0 > letter {
                all[place] = all[place - 1];
                place -= 1;
            }
            all[place] = (letter, to[at] as char);
            from = from.split_at(length).1;
            (at, count) = (at + 1, count + 1);
        }
        set += 1;
    }
    assert!(count == COUNT);
    all
};
const COUNT: usize = 113;

/// The first character of a text, and its length.
const fn decode(text: &[u8]) -> (char, usize) {
    let (first, length) = match text[0] {
        0xF0.. => (text[0] & 0x07, 4),
        0xE0.. => (text[0] & 0x0F, 3),
        _ => (text[0] & 0x1F, 2),
    };
    let (mut code, mut at) = (first as u32, 1);
    while at < length {
        code = code << 6 | (text[at] & 0x3F) as u32;
        at += 1;
    }
    (char::from_u32(code).expect("UTF-8"), length)
}

/// Look-alikes of Latin letters as the letters that they look like: wide, circled and mathematical ones, Cyrillic, Greek,
/// Lisu, small capitals and Roman numerals. Strokes and accents that stand after a letter as characters of their own are left out.
pub fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let folded = |character: char| -> char {
        let code = u32::from(character);
        let ascii = match code {
            0xFF01..=0xFF5E => char::from_u32(code - 0xFEE0),
            // Thirteen alphabets of 52 letters, and then five times ten digits.
            0x1D400..=0x1D6A3 => {
                let letter = (code - 0x1D400) % 52;
                char::from_u32(if letter < 26 { 65 + letter } else { 97 + letter - 26 })
            }
            0x1D7CE..=0x1D7FF => char::from_u32(48 + (code - 0x1D7CE) % 10),
            0x24B6..=0x24CF => char::from_u32(code - 0x24B6 + 65),
            0x24D0..=0x24E9 => char::from_u32(code - 0x24D0 + 97),
            0x1F130..=0x1F149 => char::from_u32(code - 0x1F130 + 65),
            0x1F150..=0x1F169 => char::from_u32(code - 0x1F150 + 65),
            0x1F170..=0x1F189 => char::from_u32(code - 0x1F170 + 65),
            _ => LOOK_ALIKES.binary_search_by_key(&character, |known| known.0).ok().map(|at| LOOK_ALIKES[at].1),
        };
        ascii.unwrap_or(character)
    };
    let is_stroke = |character: &char| matches!(character, '\u{300}'..='\u{36F}' | '\u{20D0}'..='\u{20FF}');
    let letters = text.chars().filter(|character| !is_stroke(character));
    Cow::Owned(letters.map(|character| if character.is_ascii() { character } else { folded(character) }).collect())
}

/// A text in lower case, with one spelling of the apostrophe.
pub fn lowercase(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.to_lowercase().replace('’', "'") }
}

/// Words that are spelled with a space or a hyphen between their letters, without them: `R E J E C T`. Letters in the order
/// of the alphabet are a list of options.
pub fn unspaced(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let letter = |at: usize| characters.get(at).is_some_and(|character| character.is_alphabetic());
    let mut joined = String::new();
    let mut at = 0;
    while at < characters.len() {
        let alone = (at == 0 || !characters[at - 1].is_alphanumeric()) && letter(at);
        let separator = characters.get(at + 1).copied().filter(|separator| alone && matches!(separator, ' ' | '-'));
        let mut end = at;
        while separator.is_some()
            && characters.get(end + 1).copied() == separator
            && letter(end + 2)
            && !letter(end + 3)
        {
            end += 2;
        }
        let letters: Vec<char> = characters[at..=end].iter().step_by(2).copied().collect();
        let in_order = letters.windows(2).all(|pair| u32::from(pair[1]) == u32::from(pair[0]) + 1);
        if letters.len() >= 4 && !in_order {
            joined.extend(letters);
            at = end + 1;
        } else {
            joined.push(characters[at]);
            at += 1;
        }
    }
    joined
}

/// Whether a text of English breaks off: its last word demands another one, as in "this is not", "far from", "I say".
pub fn breaks_off(text: &str) -> bool {
    const DEMANDING: &[&str] = words!(
        "not never cannot no neither nor hardly barely almost nearly half partly partially mostly is are was \
        were be been being am will would should shall can could may might must do does did has have had a an the any some this \
        that these those my our your its to from of for in on at by with without into onto toward towards before after until \
        unless if when while once than but and or yet as like instead rather about call say says said print prints write writes \
        output outputs mean means still so very too only"
    );
    let end = text.trim_end().trim_end_matches(['*', '_', '`', '~', '"', '”', '’', ':', '-', '–', '—', ',', ' ']);
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '\'' | '’');
    let last = end.rsplit(|character| !is_part(character)).next().unwrap_or_default();
    let last = lowercase(last);
    last.ends_with("n't") || DEMANDING.contains(&&*last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_breaks_off_where_its_last_word_demands_another() {
        for text in ["This is not", "It isn’t", "I say:", "far *from*", "anything but a", "- we are still"] {
            assert!(breaks_off(text), "{text}");
        }
        for text in ["All tests pass", "- No lint errors", "Status:", "It is not.", "", "| a | pass |", "Done ✅"] {
            assert!(!breaks_off(text), "{text}");
        }
    }

    #[test]
    fn look_alikes_are_letters() {
        assert_eq!(folded("ＦＡＩＬ 𝐅𝐀𝐈𝐋 FАІL öß"), "FAIL FAIL FAIL öß");
        assert_eq!(folded("ⓕⓐⓘⓛ 🅕🅐🅘🅛 F\u{336}A\u{336}I\u{301}L ⅽoulⅾ ıs"), "fail FAIL FAIL could is");
        assert_eq!(folded("ꓝꓮꓲꓡ ꜰᴀɪʟ"), "FAIL fail");
        assert_eq!(unspaced("R E J E C T E D. r-e-j-e-c-t"), "REJECTED. reject");
        for plain in ["I a m", "a b c", "A B C D E F", "1 2 3 4", "x-y-z", "option a - b"] {
            assert_eq!(unspaced(plain), plain);
        }
    }
}
