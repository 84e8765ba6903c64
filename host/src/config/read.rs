//! Reads TOML entry by entry. Missing, mistyped and unknown entries are reported with their places, and reading continues,
//! so that all problems are reported at once.

use super::files;
use super::problem::{ConfigProblem, Position, Positions, did_you_mean, nearest, one_of};
use super::units;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::time::Duration;
use toml::de::{DeTable, DeValue};

/// The text of the file, and the problems found so far.
pub(super) struct TomlSource<'s> {
    text: &'s str,
    lines: Vec<usize>,
    problems: RefCell<Vec<ConfigProblem>>,
    places: RefCell<Positions>,
}

impl<'s> TomlSource<'s> {
    pub(super) fn new(text: &'s str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(index, _)| index + 1);
        Self {
            text,
            lines: std::iter::once(0).chain(ends).collect(),
            problems: RefCell::default(),
            places: RefCell::default(),
        }
    }

    /// Returns the position of a byte.
    pub(super) fn position(&self, byte: usize) -> Position {
        let line = self.lines.partition_point(|start| *start <= byte).max(1);
        let before = self.text.get(self.lines[line - 1]..byte).unwrap_or_default();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Position { line: count(line), column: count(before.chars().count() + 1) }
    }

    pub(super) fn note(&self, problem: ConfigProblem) {
        self.problems.borrow_mut().push(problem);
    }

    pub(super) fn into_notes(self) -> (Vec<ConfigProblem>, Positions) {
        (self.problems.into_inner(), self.places.into_inner())
    }
}

/// A value and its place.
#[derive(Clone)]
pub(super) struct TomlValue<'s> {
    source: &'s TomlSource<'s>,
    value: &'s DeValue<'s>,
    pub(super) place: String,
    position: Position,
}

impl<'s> TomlValue<'s> {
    fn new(source: &'s TomlSource<'s>, value: &'s toml::Spanned<DeValue<'s>>, place: String) -> Self {
        let position = source.position(value.span().start);
        source.places.borrow_mut().insert(&place, position);
        Self { source, value: value.get_ref(), place, position }
    }

    /// Notes a problem here.
    pub(super) fn problem(&self, message: impl AsRef<str>) {
        self.problem_with(message, None);
    }

    /// Notes a problem here, with what to do about it.
    pub(super) fn problem_with(&self, message: impl AsRef<str>, hint: impl Into<Option<String>>) {
        let problem = ConfigProblem { position: Some(self.position), ..ConfigProblem::new(&self.place, message) };
        self.source.note(problem.hint(hint));
    }

    /// Reports what was expected here, and returns `None`.
    pub(super) fn expected<T>(&self, what: &str) -> Option<T> {
        self.problem(format!("expected {what}, found {}", self.found()));
        None
    }

    /// Returns what was found here, as messages show it.
    pub(super) fn found(&self) -> String {
        match self.value {
            DeValue::String(text) => format!("`\"{}\"`", crate::text::clean_line(text, 60)),
            DeValue::Integer(number) => format!("`{number}`"),
            DeValue::Float(number) => format!("`{number}`"),
            DeValue::Boolean(flag) => format!("`{flag}`"),
            DeValue::Datetime(_) => "a date".to_owned(),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        }
    }

    pub(super) fn as_str(&self) -> Option<&'s str> {
        self.value.as_str()
    }

    pub(super) fn is_list(&self) -> bool {
        self.value.is_array()
    }

    pub(super) fn is_empty_table(&self) -> bool {
        self.value.as_table().is_some_and(|table| table.is_empty())
    }

    /// Reads a text that is not empty.
    pub(super) fn text(&self, what: &str) -> Option<String> {
        match self.as_str() {
            Some(text) if !text.is_empty() && !text.contains('\0') => Some(text.to_owned()),
            _ => self.expected(what),
        }
    }

    pub(super) fn flag(&self) -> Option<bool> {
        self.value.as_bool().or_else(|| self.expected("`true` or `false`"))
    }

    fn integer(&self) -> Option<i128> {
        self.value.as_integer().and_then(|number| i128::from_str_radix(number.as_str(), number.radix()).ok())
    }

    /// Returns a number in this range, or `None` if it is not a number.
    pub(super) fn as_number(&self, range: RangeInclusive<u64>) -> Option<u64> {
        self.integer().and_then(|number| u64::try_from(number).ok()).filter(|number| range.contains(number))
    }

    pub(super) fn number(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let what = || format!("a whole number from {} to {}", range.start(), range.end());
        self.as_number(range.clone()).or_else(|| self.expected(&what()))
    }

    pub(super) fn small(&self, range: RangeInclusive<u32>) -> Option<u32> {
        let range = u64::from(*range.start())..=u64::from(*range.end());
        self.number(range).and_then(|number| u32::try_from(number).ok())
    }

    /// Reads a number from 0 to 1.
    /// A price, in thousandths.
    pub(super) fn price(&self) -> Option<u64> {
        let number = match self.value {
            DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
            DeValue::Integer(number) => number.as_str().parse::<f64>().ok(),
            _ => None,
        };
        match number.filter(|number| (0.0..=1e6).contains(number)) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the range above")]
            Some(number) => Some((number * 1e3).round() as u64),
            None => self.expected("a price from 0 to 1000000"),
        }
    }

    pub(super) fn fraction(&self) -> Option<f64> {
        let number = match self.value {
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => self.as_number(0..=1).map(|number| number as f64),
        };
        number.filter(|number| (0.0..=1.0).contains(number)).or_else(|| self.expected("a number from 0 to 1"))
    }

    /// Returns a duration above zero.
    pub(super) fn duration(&self) -> Option<Duration> {
        let read = self.as_str().and_then(units::duration).filter(|duration| !duration.is_zero());
        read.or_else(|| self.expected("a positive duration such as `500ms`, `2m` or `1h30m`"))
    }

    /// Returns a duration above zero and not above this.
    pub(super) fn duration_up_to(&self, max: Duration) -> Option<Duration> {
        let duration = self.duration()?;
        if duration <= max {
            Some(duration)
        } else {
            self.expected(&format!("at most `{}`", units::show_duration(max)))
        }
    }

    /// Returns a number of bytes.
    pub(super) fn size(&self) -> Option<u64> {
        let range = 1..=4 << 30;
        let read = self.as_str().and_then(units::size).filter(|size| range.contains(size));
        let read = read.or_else(|| self.as_number(range));
        read.or_else(|| self.expected("a size from `1B` to `4GiB`, such as `64MiB`, `10MB` or a number of bytes"))
    }

    /// Reads one of these words.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let found = self.as_str().and_then(|text| words.iter().find(|(word, _)| *word == text));
        if let Some((_, value)) = found {
            return Some(*value);
        }
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let hint = self.as_str().and_then(|text| did_you_mean(text, &names));
        self.problem_with(format!("expected {}, found {}", one_of(&names), self.found()), hint);
        None
    }

    /// Reads the values of a list. An empty list is a problem.
    pub(super) fn list(&self, what: &str) -> Option<Vec<TomlValue<'s>>> {
        let list = self.list_or_empty(what)?;
        if list.is_empty() {
            self.problem(format!("expected {what}, found an empty list"));
            return None;
        }
        Some(list)
    }

    /// Returns the values of a list that may be empty.
    pub(super) fn list_or_empty(&self, what: &str) -> Option<Vec<TomlValue<'s>>> {
        let Some(values) = self.value.as_array() else { return self.expected(what) };
        let value = |(index, value)| TomlValue::new(self.source, value, format!("{}[{index}]", self.place));
        Some(values.iter().enumerate().map(value).collect())
    }

    /// Reads file patterns.
    pub(super) fn patterns(&self, may_be_empty: bool) -> Option<Vec<String>> {
        let what = "a list of patterns such as `[\"**/*.rs\"]`";
        let list = if may_be_empty { self.list_or_empty(what) } else { self.list(what) }?;
        let pattern = |value: &TomlValue<'_>| {
            let Some(text) = value.as_str() else { return value.expected("a pattern such as `**/*.rs`") };
            match files::pattern(text) {
                Ok(_) => Some(text.to_owned()),
                Err(error) => {
                    value.problem(error.to_string());
                    None
                }
            }
        };
        Some(list.iter().filter_map(pattern).collect())
    }

    pub(super) fn table(&self, what: &str) -> Option<Table<'s>> {
        let Some(table) = self.value.as_table() else { return self.expected(what) };
        Some(Table { here: self.clone(), table, asked: Vec::new() })
    }

    /// Returns the value as JSON. Dates become text.
    pub(super) fn json(&self) -> Option<serde_json::Value> {
        Some(match self.value {
            DeValue::String(text) => text.as_ref().into(),
            DeValue::Boolean(flag) => (*flag).into(),
            DeValue::Datetime(date) => date.to_string().into(),
            DeValue::Integer(_) => match self.integer().and_then(|number| i64::try_from(number).ok()) {
                Some(number) => number.into(),
                None => return self.expected("a whole number of 64 bits"),
            },
            DeValue::Float(number) => match number.as_str().parse().ok().and_then(serde_json::Number::from_f64) {
                Some(number) => number.into(),
                None => return self.expected("a finite number"),
            },
            DeValue::Array(_) => {
                self.list_or_empty("a list")?.iter().filter_map(TomlValue::json).collect::<Vec<_>>().into()
            }
            DeValue::Table(_) => {
                let entries = self.table("a table")?.entries();
                let json = |(name, value): (&str, TomlValue<'_>)| Some((name.to_owned(), value.json()?));
                entries.into_iter().filter_map(json).collect::<serde_json::Map<_, _>>().into()
            }
        })
    }
}

/// A table, and the keys that were read.
pub(super) struct Table<'s> {
    pub(super) here: TomlValue<'s>,
    table: &'s DeTable<'s>,
    asked: Vec<&'static str>,
}

impl<'s> Table<'s> {
    /// Returns the whole file.
    pub(super) fn root(source: &'s TomlSource<'s>, root: &'s toml::Spanned<DeValue<'s>>) -> Option<Self> {
        TomlValue::new(source, root, String::new()).table("a table")
    }

    /// Returns the place of a key of this table.
    fn place(&self, key: &str) -> String {
        if self.here.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.here.place) }
    }

    pub(super) fn get(&mut self, key: &'static str) -> Option<TomlValue<'s>> {
        self.asked.push(key);
        self.table.get(key).map(|value| TomlValue::new(self.here.source, value, self.place(key)))
    }

    /// Reads a key that must be present.
    pub(super) fn need(&mut self, key: &'static str, what: &str) -> Option<TomlValue<'s>> {
        let value = self.get(key);
        if value.is_none() {
            self.here.problem(format!("expected `{key}`: {what}"));
        }
        value
    }

    /// Returns all entries, in the order of their names.
    pub(super) fn entries(&self) -> Vec<(&'s str, TomlValue<'s>)> {
        let entry = |(key, value): (&'s toml::Spanned<_>, _)| {
            let key: &'s std::borrow::Cow<'s, str> = key.get_ref();
            (key.as_ref(), TomlValue::new(self.here.source, value, self.place(key)))
        };
        self.table.iter().map(entry).collect()
    }

    /// Refuses every key that was not read.
    pub(super) fn finish(self) {
        for (key, _) in self.table.iter() {
            let name = key.get_ref().as_ref();
            if !self.asked.contains(&name) {
                let shown = crate::text::clean_line(name, 60);
                let problem = ConfigProblem::new(self.place(&shown), format!("unknown key `{shown}`"));
                let position = Some(self.here.source.position(key.span().start));
                let hint = nearest(name, self.asked.iter().copied());
                self.here.source.note(ConfigProblem { position, ..problem.hint(hint) });
            }
        }
    }
}
