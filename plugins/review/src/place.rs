//! Finds places that a reviewer names in its sentences, if they are in files that it was shown.

use gatehost_sdk::{Finding, Place, Submission};

/// The paths that a reviewer may name.
#[derive(Clone, Debug, Default)]
pub struct Paths(Vec<String>);

impl Paths {
    /// The changed files of a submission, and these documents.
    pub fn of(submission: &Submission, documents: &[String]) -> Self {
        let mut paths: Vec<String> = submission.changes.iter().map(|change| change.path.clone()).collect();
        paths.extend_from_slice(documents);
        // The longest first: `src/a.rs` also stands in `lib/src/a.rs`.
        paths.sort_by_key(|path| std::cmp::Reverse(path.len()));
        Self(paths)
    }

    /// Sets the place of a finding to the first place that its message names.
    pub fn locate(&self, finding: Finding) -> Finding {
        let Some(place) = self.0.iter().find_map(|path| named(&finding.message, path)) else { return finding };
        let message = without(&finding.message, &place).unwrap_or(&finding.message).to_owned();
        Finding { message, ..finding }.at(place)
    }
}

/// Removes the place from the start of a message, because reports show the place anyway.
fn without<'m>(message: &'m str, place: &Place) -> Option<&'m str> {
    let numbers: String = [place.line, place.column].iter().flatten().map(|number| format!(":{number}")).collect();
    let rest = message.trim_start_matches('`').strip_prefix(&*place.path)?.strip_prefix(&*numbers)?;
    let rest = rest.trim_start_matches(['`', ':', ' ', '-']);
    (!rest.is_empty()).then_some(rest)
}

/// The place of a path in a text: `path`, `path:12` or `path:12:3`.
fn named(text: &str, path: &str) -> Option<Place> {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '/' | '_' | '-' | '.');
    let (at, _) = text.match_indices(path).find(|(at, _)| {
        let behind = text[at + path.len()..].trim_start_matches('.');
        !text[..*at].ends_with(inside) && !behind.starts_with(inside)
    })?;
    let mut numbers = text[at + path.len()..].split(':').skip(1).map(|number| {
        let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok().filter(|number| (1..=10_000_000).contains(number))
    });
    let place = Place::file(path);
    let starts = text[at + path.len()..].starts_with(':');
    Some(match (starts.then(|| numbers.next().flatten()).flatten(), numbers.next().flatten()) {
        (Some(line), Some(column)) => place.position(line, column),
        (Some(line), None) => Place { line: Some(line), ..place },
        (None, _) => place,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_not_said_twice() {
        let paths = Paths(vec!["src/a.rs".to_owned()]);
        for (message, expected) in [
            ("src/a.rs:12: no check", "no check"),
            ("`src/a.rs:12:3` - no check", "no check"),
            ("no check in src/a.rs:12", "no check in src/a.rs:12"),
            ("src/a.rs:12", "src/a.rs:12"),
        ] {
            let finding = paths.locate(Finding::error("x", message));
            assert_eq!((finding.message.as_str(), finding.place.is_some()), (expected, true));
        }
    }

    #[test]
    fn a_path_that_was_shown_becomes_a_place() {
        for (text, expected) in [
            ("src/a.rs:12: no check", Some((Some(12), None))),
            ("in `src/a.rs:12:3` it", Some((Some(12), Some(3)))),
            ("see src/a.rs.", Some((None, None))),
            ("src/a.rs:0 is odd", Some((None, None))),
            ("src/a.rs: line 3: odd", Some((None, None))),
            ("lib/src/a.rs:12", None),
            ("src/a.rst", None),
            ("nothing", None),
        ] {
            let found = named(text, "src/a.rs").map(|place| (place.line, place.column));
            assert_eq!(found, expected, "{text}");
        }
    }
}
