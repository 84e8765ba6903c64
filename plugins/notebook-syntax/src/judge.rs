//! Compares a notebook with the tables of `shape.rs`.

use crate::NEWEST_MINOR;
use crate::shape::{self, Key, NOTEBOOK, Shape, ValueType};
use crate::value::{Members, elements, is_string, offset, string, whole_number};
use gatehost_sdk::{Finding, text::one_line};
use serde_json::value::RawValue;
use std::collections::HashSet;

/// Up to how many keys of an object each is compared with all before it.
const FEW: usize = 16;

/// What was found so far.
pub(crate) struct Judge<'a> {
    text: &'a str,
    /// Since 4.5 a cell has an `id`.
    has_ids: bool,
    /// What is unknown here may be known to a newer version.
    is_newer: bool,
    ids: HashSet<String>,
    found: Vec<(usize, Finding)>,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(text: &'a str, minor: u64) -> Self {
        let (has_ids, is_newer) = (minor >= 5, minor > NEWEST_MINOR);
        Self { text, has_ids, is_newer, ids: HashSet::new(), found: Vec::new() }
    }

    /// What is wrong with the whole, each beside its byte.
    pub(crate) fn notebook(mut self, whole: &RawValue, members: &Members) -> Vec<(usize, Finding)> {
        self.object(whole, members, "", NOTEBOOK);
        self.found
    }

    fn find(&mut self, at: &RawValue, finding: Finding) {
        self.found.push((offset(self.text, at), finding));
    }

    fn error(&mut self, at: &RawValue, code: &str, pointer: &str, message: &str) {
        let pointer = if pointer.is_empty() { "the notebook" } else { &one_line(pointer) };
        self.find(at, Finding::error(code, format!("{pointer}: {message}")));
    }

    fn object(&mut self, value: &RawValue, members: &Members, pointer: &str, shape: Shape) {
        self.duplicate_keys(members, pointer);
        for key in shape.keys {
            match members.get(key.name) {
                Some(member) => self.value(member, &format!("{pointer}/{}", key.name), key.kind),
                None if key.is_required => {
                    self.error(value, "missing-key", pointer, &format!("the key `{}` is missing", key.name));
                }
                None => {}
            }
        }
        if !shape.is_open && !self.is_newer {
            self.unknown_keys(members, pointer, shape.keys);
        }
    }

    /// The members of a value that must be an object.
    fn members<'v>(&mut self, value: &'v RawValue, pointer: &str) -> Option<Members<'v>> {
        let members = Members::of(value);
        if members.is_none() {
            self.wrong_type(value, pointer, "an object");
        }
        members
    }

    /// Warns of what occurs twice: readers take the last and drop the others.
    fn duplicate_keys(&mut self, members: &Members, pointer: &str) {
        let mut seen = HashSet::new();
        for (index, (key, name, _)) in members.0.iter().enumerate() {
            // A set is for many keys; for few, comparing them takes fewer instructions.
            let is_twice = match members.0.len() {
                ..=FEW => members.0[..index].iter().any(|(_, other, _)| other == name),
                _ => !seen.insert(name),
            };
            if is_twice {
                let message = format!(
                    "{}: the key occurs twice; most readers use the last one",
                    one_line(&format!("{pointer}/{name}"))
                );
                self.find(key, Finding::warning("duplicate-key", message));
            }
        }
    }

    fn unknown_keys(&mut self, members: &Members, pointer: &str, known: &[Key]) {
        for (key, name, _) in &members.0 {
            if !known.iter().any(|known| known.name == name) {
                let expected: Vec<String> = known.iter().map(|known| format!("`{}`", known.name)).collect();
                let message = format!("unknown key; expected {}", expected.join(", "));
                self.error(key, "unknown-key", &format!("{pointer}/{name}"), &message);
            }
        }
    }

    fn wrong_type(&mut self, value: &RawValue, pointer: &str, expected: &str) {
        self.error(value, "wrong-type", pointer, &format!("expected {expected}"));
    }

    fn value(&mut self, value: &RawValue, pointer: &str, kind: ValueType) {
        let raw = value.get();
        let (is_right, expected) = match kind {
            ValueType::Boolean => (matches!(raw, "true" | "false"), "true or false"),
            ValueType::String => (is_string(value), "a string"),
            ValueType::Name => (is_string(value) && raw != "\"\"", "a string that is not empty"),
            ValueType::Mode => (raw.starts_with(['"', '{']), "a string or an object"),
            ValueType::Scrolled => (matches!(raw, "true" | "false" | "\"auto\""), "true, false or \"auto\""),
            ValueType::Number(least) => (whole_number(value).is_some_and(|number| number >= least), "a whole number"),
            ValueType::Count => (raw == "null" || whole_number(value).is_some(), "a whole number from 0, or null"),
            ValueType::Text => (is_string(value) || are_strings(value), "a string or a list of strings"),
            ValueType::Strings => (are_strings(value), "a list of strings"),
            ValueType::Tags => (are_tags(value), "a list of distinct strings without commas"),
            ValueType::Id => (is_id(value), "1 to 64 letters, digits, `-` and `_`"),
            ValueType::Bundle => return self.bundle(value, pointer),
            ValueType::Attachments => return self.each_member(value, pointer, Self::bundle),
            ValueType::Cells => return self.each_element(value, pointer, Self::cell),
            ValueType::Outputs => return self.each_element(value, pointer, Self::output),
            ValueType::Object(shape) => {
                if let Some(members) = self.members(value, pointer) {
                    self.object(value, &members, pointer, shape);
                }
                return;
            }
        };
        if !is_right {
            self.wrong_type(value, pointer, expected);
        }
    }

    fn each_element(&mut self, list: &RawValue, pointer: &str, each: fn(&mut Self, &RawValue, &str)) {
        let Some(elements) = elements(list) else { return self.wrong_type(list, pointer, "a list") };
        for (index, element) in elements.into_iter().enumerate() {
            each(self, element, &format!("{pointer}/{index}"));
        }
    }

    fn each_member(&mut self, object: &RawValue, pointer: &str, each: fn(&mut Self, &RawValue, &str)) {
        let Some(members) = self.members(object, pointer) else { return };
        self.duplicate_keys(&members, pointer);
        for (_, name, member) in members.0 {
            each(self, member, &format!("{pointer}/{name}"));
        }
    }

    fn bundle(&mut self, bundle: &RawValue, pointer: &str) {
        self.each_member(bundle, pointer, |judge, data, pointer| {
            // The pointer ends in the media type, which has a slash in it.
            if !is_json(pointer) {
                judge.value(data, pointer, ValueType::Text);
            }
        });
    }

    fn cell(&mut self, cell: &RawValue, pointer: &str) {
        const TYPES: &str = "`code`, `markdown` or `raw`";
        let Some(members) = self.members(cell, pointer) else { return };
        let Some(shape) = self.shape(cell, &members, pointer, "cell_type", TYPES, shape::cell) else { return };
        self.object(cell, &members, pointer, shape);
        match members.get("id") {
            Some(id) if self.has_ids => self.unique(id, pointer),
            Some(id) => self.error(
                id,
                "unknown-key",
                &format!("{pointer}/id"),
                "a cell must not have an `id` before nbformat 4.5",
            ),
            None if self.has_ids => {
                let message = format!("{pointer}: the cell has no `id`, which nbformat 4.5 requires");
                self.find(cell, Finding::warning("missing-id", message));
            }
            None => {}
        }
    }

    /// Jupyter changes an id that occurs twice, and so it is no error.
    fn unique(&mut self, id: &RawValue, pointer: &str) {
        if string(id).is_some_and(|id| !self.ids.insert(id)) {
            self.find(id, Finding::warning("duplicate-id", format!("{pointer}/id: another cell has the same id")));
        }
    }

    fn output(&mut self, output: &RawValue, pointer: &str) {
        const TYPES: &str = "`execute_result`, `display_data`, `stream` or `error`";
        let Some(members) = self.members(output, pointer) else { return };
        if let Some(shape) = self.shape(output, &members, pointer, "output_type", TYPES, shape::output) {
            self.object(output, &members, pointer, shape);
        }
    }

    /// The shape that an object says it has.
    fn shape(
        &mut self,
        value: &RawValue,
        members: &Members,
        pointer: &str,
        key: &str,
        types: &str,
        shape: fn(&str) -> Option<Shape>,
    ) -> Option<Shape> {
        let Some(named) = members.get(key) else {
            self.error(value, "missing-key", pointer, &format!("the key `{key}` is missing; expected {types}"));
            return None;
        };
        let found = string(named).and_then(|name| shape(&name));
        if found.is_none() && !(self.is_newer && is_string(named)) {
            self.error(named, "unknown-type", &format!("{pointer}/{key}"), &format!("expected {types}"));
        }
        found
    }
}

fn are_strings(value: &RawValue) -> bool {
    elements(value).is_some_and(|elements| elements.into_iter().all(is_string))
}

fn are_tags(value: &RawValue) -> bool {
    let tags = elements(value).filter(|tags| tags.iter().all(|tag| is_string(tag)));
    let Some(tags) = tags else { return false };
    let mut seen = HashSet::new();
    // One that cannot be decoded has half of a surrogate pair, and no reader minds.
    tags.into_iter().filter_map(string).all(|tag| !tag.is_empty() && !tag.contains(',') && seen.insert(tag))
}

fn is_id(value: &RawValue) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    string(value).is_some_and(|id| (1..=64).contains(&id.len()) && id.bytes().all(is_part))
}

/// Whether a media type at the end of a pointer is JSON: `application/json`, `application/vnd.plotly.v1+json`.
fn is_json(pointer: &str) -> bool {
    let Some((_, kind)) = pointer.rsplit_once("/application/") else { return false };
    kind == "json" || kind.ends_with("+json")
}
