//! JSON values as slices of the text.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The members of an object, in their order, with those that occur twice.
pub(crate) struct Members<'a>(pub(crate) Vec<(&'a RawValue, Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// `None` where the value is no object.
    pub(crate) fn of(value: &'a RawValue) -> Option<Self> {
        serde_json::from_str(value.get()).ok()
    }

    /// As every reader does: of two values of one key, the last.
    pub(crate) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(_, name, _)| name == key).map(|(_, _, value)| *value)
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            members.push((key, name(key), value));
        }
        Ok(Members(members))
    }
}

/// The text of a key.
fn name(key: &RawValue) -> Cow<'_, str> {
    let quoted = key.get();
    match quoted.get(1..quoted.len() - 1) {
        Some(plain) if !plain.contains('\\') => plain.into(),
        _ => string(key).map_or(quoted.into(), Cow::Owned),
    }
}

/// The elements of an array; `None` where the value is none.
pub(crate) fn elements(value: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(value.get()).ok()
}

/// The text of a string; `None` where the value is none, or is half of a surrogate pair.
pub(crate) fn string(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

pub(crate) fn is_string(value: &RawValue) -> bool {
    value.get().starts_with('"')
}

/// A number from 0 without a fraction. JSON Schema takes `1.0` for one as well.
pub(crate) fn whole_number(value: &RawValue) -> Option<u64> {
    let number: f64 = serde_json::from_str(value.get()).ok()?;
    (number >= 0.0 && number.fract() == 0.0).then_some(number as u64)
}

/// Where in the text a piece of it starts.
pub(crate) fn offset(text: &str, piece: &RawValue) -> usize {
    piece.get().as_ptr().addr().saturating_sub(text.as_ptr().addr())
}
