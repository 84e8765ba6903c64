//! Problems of a configuration: each has a place and a hint.

use crate::text::clean_line;
use std::collections::BTreeMap;
use std::fmt;

/// A position in the file. Lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// One problem of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The entry, such as `gate.review.voters`. Empty if the problem is the whole file or the choice of a gate.
    pub place: String,
    /// The position in the file; `None` if the problem is not in the file.
    pub position: Option<Position>,
    /// What was expected, and what was found.
    pub message: String,
    /// What to do about it, or the nearest valid name.
    pub hint: Option<String>,
}

impl ConfigProblem {
    /// Returns a problem without a position or a hint. The texts may quote the file, so they are escaped.
    pub fn new(place: impl AsRef<str>, message: impl AsRef<str>) -> Self {
        let (place, message) = (clean_line(place.as_ref(), 300), clean_line(message.as_ref(), 2_000));
        Self { place, position: None, message, hint: None }
    }

    /// Adds what to do about it.
    pub fn hint(self, hint: impl Into<Option<String>>) -> Self {
        Self { hint: hint.into().map(|hint| clean_line(&hint, 2_000)), ..self }
    }
}

/// Writes position, place and message, so that a file name and a colon before it make a link that terminals follow.
impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(position) = self.position {
            write!(f, "{position}: ")?;
        }
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.message)
    }
}

/// All problems of a file, at least one, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblems(Vec<ConfigProblem>);

impl ConfigProblems {
    /// Returns `Err` with these problems in order, or `Ok` if there are none.
    pub(crate) fn none_of(mut problems: Vec<ConfigProblem>) -> Result<(), Self> {
        if problems.is_empty() {
            return Ok(());
        }
        problems.sort_by(|a, b| (a.position, &a.place).cmp(&(b.position, &b.place)));
        problems.dedup();
        Err(Self(problems))
    }

    /// Returns the problems, in the order of the file.
    pub fn iter(&self) -> std::slice::Iter<'_, ConfigProblem> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a ConfigProblems {
    type Item = &'a ConfigProblem;
    type IntoIter = std::slice::Iter<'a, ConfigProblem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl From<ConfigProblem> for ConfigProblems {
    fn from(problem: ConfigProblem) -> Self {
        Self(vec![problem])
    }
}

/// Writes a line for each problem and each hint.
impl fmt::Display for ConfigProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
            if let Some(hint) = &problem.hint {
                write!(f, "\nhint: {hint}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConfigProblems {}

/// The position of each entry of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Positions(BTreeMap<String, Position>);

impl Positions {
    /// Remembers an entry.
    pub(crate) fn insert(&mut self, place: &str, position: Position) {
        self.0.insert(place.to_owned(), position);
    }

    /// Returns a problem at this entry, with the position of the entry or of the nearest entry around it.
    pub(crate) fn problem<'p>(&self, place: &'p str, message: impl AsRef<str>) -> ConfigProblem {
        let around = |inner: &&'p str| {
            let inner: &'p str = inner;
            inner.rfind(['.', '[']).map(|end| &inner[..end])
        };
        let position = std::iter::successors(Some(place), around).find_map(|place| self.0.get(place).copied());
        ConfigProblem { position, ..ConfigProblem::new(place, message) }
    }
}

/// Returns a hint with the valid name nearest to this one, or with all valid names if they are few.
pub(crate) fn nearest<'n>(name: &str, valid: impl IntoIterator<Item = &'n str>) -> Option<String> {
    const FEW: usize = 16;
    let valid: Vec<&str> = valid.into_iter().collect();
    did_you_mean(name, &valid)
        .or_else(|| (1..=FEW).contains(&valid.len()).then(|| format!("expected {}", one_of(&valid))))
}

/// Returns a hint with the valid name nearest to this one, if one is near.
pub(crate) fn did_you_mean(name: &str, valid: &[&str]) -> Option<String> {
    // Comparing long names, or very many, costs more than the hint is worth.
    if name.len() > 64 || valid.len() > 1_000 {
        return None;
    }
    let word = name.to_lowercase();
    let distance = |other: &str| strsim::damerau_levenshtein(&word, &other.to_lowercase());
    let rank = |other: &str| (distance(other), !other.starts_with(&word));
    let (rank, best) = valid.iter().map(|other| (rank(other), *other)).min()?;
    (rank.0 <= name.chars().count().div_ceil(3)).then(|| format!("did you mean `{best}`?"))
}

/// Returns the names in backticks: `a`, `b` or `c`.
pub(crate) fn one_of(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_the_nearest_name_or_the_few_that_there_are() {
        for (name, valid, expected) in [
            ("voter", &["vote", "voters"][..], Some("did you mean `voters`?")),
            ("Timeout", &["timeout", "tier"], Some("did you mean `timeout`?")),
            ("xyz", &["timeout", "tier"], Some("expected `timeout` or `tier`")),
            ("xyz", &["timeout"], Some("expected `timeout`")),
            ("xyz", &[], None),
        ] {
            assert_eq!(nearest(name, valid.iter().copied()).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn a_problem_has_the_position_of_the_nearest_known_entry() {
        let mut places = Positions::default();
        let position = Position { line: 3, column: 1 };
        places.insert("gate.a", position);
        assert_eq!(places.problem("gate.a.all[0].timeout", "").position, Some(position));
        assert_eq!(places.problem("gate.b", "").position, None);
    }
}
