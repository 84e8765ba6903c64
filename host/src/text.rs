//! Making foreign text safe to show: bounded, and without characters that could forge or hide something.

/// Bound `text` to `max` characters, and escape what must not reach a terminal, a log or a report as it is.
///
/// Escaped are control characters (so no colour, no cursor movement, no NUL) except line feed and tab, and the
/// characters that turn the direction of text or are invisible. Whoever prints several lines must indent them.
pub fn clean(text: &str, max: usize) -> String {
    let mut clean = String::with_capacity(text.len().min(max));
    for (count, c) in text.chars().enumerate() {
        if count == max {
            clean.push('…');
            break;
        }
        match c {
            '\n' | '\t' => clean.push(c),
            _ if hides(c) => clean.extend(c.escape_unicode()),
            _ => clean.push(c),
        }
    }
    clean
}

/// As [`clean`], in one line.
pub fn clean_line(text: &str, max: usize) -> String {
    let mut line = clean(text, max);
    for (what, instead) in [('\n', "\\n"), ('\t', " ")] {
        if line.contains(what) {
            line = line.replace(what, instead);
        }
    }
    line
}

fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_forge_or_hide() {
        for (text, expected) in [
            ("plain", "plain"),
            ("two\nlines\ttab", "two\nlines\ttab"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("a\r\nb\0", "a\\u{d}\nb\\u{0}"),
            ("\u{202e}txt.exe", "\\u{202e}txt.exe"),
            ("\u{85}\u{9b}", "\\u{85}\\u{9b}"),
            ("zero\u{200b}width", "zero\\u{200b}width"),
        ] {
            assert_eq!(clean(text, 100), expected);
        }
        assert_eq!(clean_line("a\nb", 100), "a\\nb");
    }

    #[test]
    fn length_is_bounded_in_characters() {
        assert_eq!(clean("äöü", 3), "äöü");
        assert_eq!(clean("äöüß", 3), "äöü…");
    }
}
