//! Reads the changes that a reviewer requests: the points under the heading "Feedback for Revision".

const HEADING: &str = "feedback for revision";

/// The points of the section; without a list in it, its whole text as one.
pub(crate) fn points(text: &str) -> Vec<String> {
    let Some(start) = text.lines().position(|line| bare(line).eq_ignore_ascii_case(HEADING)) else { return Vec::new() };
    let section = text.lines().skip(start + 1).take_while(|line| !line.trim_start().starts_with('#'));
    let mut points: Vec<String> = Vec::new();
    let mut words = String::new();
    for line in section.map(str::trim).filter(|line| !matches!(*line, "" | "-" | "*")) {
        match (point(line), points.last_mut()) {
            (Some(text), _) => points.push(text.to_owned()),
            (None, Some(last)) => {
                last.push(' ');
                last.push_str(line);
            }
            (None, None) => {
                if !words.is_empty() {
                    words.push(' ');
                }
                words.push_str(line);
            }
        }
    }
    if points.is_empty() && !words.is_empty() { vec![words] } else { points }
}

/// A line without the marks of a heading.
fn bare(line: &str) -> &str {
    line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '#' | '*' | ':' | '_'))
}

/// The text of a point of a list.
fn point(line: &str) -> Option<&str> {
    let text = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)).or_else(|| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < line.len()).then(|| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))).flatten()
    })?;
    let text = text.trim();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_stand_under_the_heading() {
        for (text, expected) in [
            ("nothing", &[][..]),
            ("- a\n", &[]),
            ("**Feedback for Revision:**\n- a\n* b\n1. c\n2) d\n", &["a", "b", "c", "d"]),
            ("### feedback for revision\n\nAll of it\nis wrong.\n", &["All of it is wrong."]),
            ("Feedback for Revision\n- a\n  more\n## Notes\n- b\n", &["a more"]),
            ("Feedback for Revision\n- \n", &[]),
        ] {
            assert_eq!(points(text), expected, "{text}");
        }
    }
}
