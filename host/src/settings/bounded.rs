//! Refuses schemas that would make a validator run without bound, before one is built.
//!
//! The work of a validator is bounded by the size of the schema with all references expanded, so that size is measured here,
//! each definition once. A schema that refers to itself has no such size and is refused, because telling harmless ones apart
//! is harder than doing without.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The most bytes of a schema with its references expanded.
const MOST_BYTES: u64 = 256 << 10;
/// The deepest nesting then. Validators recurse.
const MOST_DEPTH: usize = 128;
/// The most regular expressions: each is compiled and kept.
const MOST_PATTERNS: usize = 50;
/// A validator evaluates everything below these keywords again, once for each of them around.
const AGAIN: [&str; 2] = ["unevaluatedProperties", "unevaluatedItems"];
const TIMES: u64 = 4;
/// Keywords that make a part of a schema a separate document, or a dynamic reference.
const ELSEWHERE: [&str; 4] = ["$id", "$schema", "$dynamicRef", "$recursiveRef"];

/// Refuses a schema that is too large for a validator, and says why.
pub(super) fn check(schema: &Value) -> Result<(), String> {
    let patterns = patterns(schema);
    if patterns > MOST_PATTERNS {
        return Err(format!("it has {patterns} patterns; at most {MOST_PATTERNS} are compiled"));
    }
    // In old drafts, a plain `id`, which may as well be data, makes a separate document.
    if schema.get("$schema").and_then(Value::as_str).is_some_and(|draft| draft.contains("draft-04")) {
        return Err("it uses draft 4; expected a newer one, such as 2020-12".to_owned());
    }
    let mut survey = SchemaSurvey { root: schema, known: BTreeMap::new() };
    let extent = match schema {
        // At the top, these describe the whole schema.
        Value::Object(map) => survey.object(map, &["$id", "$schema"], 0),
        other => survey.extent(other, 0),
    }?;
    if extent.bytes > MOST_BYTES {
        return Err(format!("with its references written out, it has more than {MOST_BYTES} bytes"));
    }
    Ok(())
}

/// The size and depth of a part with its references expanded.
#[derive(Clone, Copy, Default)]
struct Extent {
    bytes: u64,
    depth: usize,
}

impl Extent {
    fn add(&mut self, below: Self) {
        self.bytes = self.bytes.saturating_add(below.bytes);
        self.depth = self.depth.max(below.depth + 1);
    }
}

struct SchemaSurvey<'s> {
    root: &'s Value,
    /// The targets of references; `None` while one is being measured.
    known: BTreeMap<&'s str, Option<Extent>>,
}

impl<'s> SchemaSurvey<'s> {
    fn extent(&mut self, value: &'s Value, depth: usize) -> Result<Extent, String> {
        let bytes = |bytes: usize| Ok(Extent { bytes: bytes as u64, depth: 0 });
        match value {
            Value::Object(map) => self.object(map, &[], depth),
            Value::Array(items) => {
                let mut extent = Extent { bytes: 2, depth: 0 };
                for item in items {
                    extent.add(self.below(item, depth)?);
                }
                Ok(extent)
            }
            Value::String(text) => bytes(text.len() + 2),
            Value::Null | Value::Bool(_) | Value::Number(_) => bytes(4),
        }
    }

    /// Measures an object. It may be a schema or anything else in one; all are treated alike, so that none is missed.
    fn object(&mut self, map: &'s Map<String, Value>, allowed: &[&str], depth: usize) -> Result<Extent, String> {
        let mut extent = Extent { bytes: 2, depth: 0 };
        for (key, value) in map {
            extent.add(Extent { bytes: key.len() as u64 + 4, depth: 0 });
            extent.add(self.below(value, depth)?);
            match value {
                Value::String(reference) if key == "$ref" => extent.add(self.target(reference, depth)?),
                Value::String(_) if ELSEWHERE.contains(&key.as_str()) && !allowed.contains(&key.as_str()) => {
                    return Err(format!("it contains `{key}`, which is not supported"));
                }
                _ => {}
            }
        }
        if AGAIN.iter().any(|key| map.contains_key(*key)) {
            extent.bytes = extent.bytes.saturating_mul(TIMES);
        }
        Ok(extent)
    }

    fn below(&mut self, value: &'s Value, depth: usize) -> Result<Extent, String> {
        if depth >= MOST_DEPTH {
            return Err(too_deep());
        }
        self.extent(value, depth + 1)
    }

    fn target(&mut self, reference: &'s str, depth: usize) -> Result<Extent, String> {
        let shown = crate::text::clean_line(reference, 60);
        match self.known.get(reference) {
            Some(Some(extent)) if depth + extent.depth < MOST_DEPTH => return Ok(*extent),
            Some(Some(_)) => return Err(too_deep()),
            Some(None) => return Err(format!("it refers to itself, by `{shown}`")),
            None => {}
        }
        let pointer = reference.strip_prefix('#').filter(|pointer| !pointer.contains('%'));
        let target = pointer.and_then(|pointer| self.root.pointer(pointer)).ok_or_else(|| {
            format!("it refers to `{shown}`; expected a part of the schema itself, such as `#/$defs/name`")
        })?;
        self.known.insert(reference, None);
        let extent = self.below(target, depth)?;
        self.known.insert(reference, Some(extent));
        Ok(extent)
    }
}

fn too_deep() -> String {
    format!("with its references written out, it is more than {MOST_DEPTH} levels deep")
}

/// Returns the number of regular expressions of a schema, and of everything that looks like one.
fn patterns(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(patterns).sum(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| match value {
                Value::String(_) if key == "pattern" => 1,
                Value::Object(named) if key == "patternProperties" => named.len() + patterns(value),
                _ => patterns(value),
            })
            .sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Definitions of which each refers to the next so many times, and a schema that refers to the first.
    fn doubling(definitions: usize, times: usize) -> Value {
        let mut all = Map::new();
        for n in 0..definitions {
            let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
            all.insert(format!("d{n}"), json!({ "allOf": vec![next; times] }));
        }
        all.insert(format!("d{definitions}"), json!({ "type": "object" }));
        json!({ "$defs": all, "$ref": "#/$defs/d0" })
    }

    fn nested(levels: usize, keyword: &str) -> Value {
        (0..levels).fold(json!({}), |schema, _| json!({ "allOf": [schema], keyword: false }))
    }

    #[test]
    fn ordinary_schemas_are_accepted() {
        let name = json!({ "type": "string", "pattern": "^[a-z]+$" });
        let uses: Map<String, Value> = (0..500).map(|n| (format!("p{n}"), json!({ "$ref": "#/$defs/name" }))).collect();
        for schema in [
            json!({}),
            json!(true),
            json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/a" }),
            json!({ "$defs": { "name": name }, "properties": uses }),
            json!({ "properties": { "$ref": { "type": "string" }, "id": { "type": "string" }, "pattern": {} } }),
            json!({ "properties": { "a/b": { "$ref": "#/properties/c" }, "c": {}, "d": { "$ref": "#/properties/a~1b" } } }),
            doubling(9, 2),
            doubling(30, 1),
            nested(3, "unevaluatedProperties"),
        ] {
            assert_eq!(check(&schema), Ok(()), "{schema}");
        }
    }

    #[test]
    fn work_without_end_is_refused_with_a_reason() {
        let many: Map<String, Value> =
            (0..60).map(|n| (format!("p{n}"), json!({ "pattern": format!("a{n}") }))).collect();
        for (schema, reason) in [
            (doubling(30, 2), "more than 262144 bytes"),
            (doubling(5, 60), "more than 262144 bytes"),
            (doubling(200, 1), "more than 128 levels deep"),
            (nested(12, "unevaluatedProperties"), "more than 262144 bytes"),
            (nested(12, "unevaluatedItems"), "more than 262144 bytes"),
            (json!({ "$ref": "#" }), "refers to itself"),
            (json!({ "properties": { "child": { "$ref": "#" } } }), "refers to itself"),
            (
                json!({ "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "allOf": [{ "$ref": "#/$defs/a" }] } } }),
                "refers to itself",
            ),
            (json!({ "$ref": "https://json-schema.org/draft/2020-12/schema" }), "a part of the schema itself"),
            (json!({ "$ref": "#name", "$anchor": "name" }), "a part of the schema itself"),
            (json!({ "$ref": "#/$defs/gone" }), "a part of the schema itself"),
            (json!({ "$dynamicRef": "#" }), "`$dynamicRef`"),
            (json!({ "$defs": { "a": { "$id": "a", "$ref": "#/b" } }, "b": {} }), "`$id`"),
            (json!({ "$schema": "http://json-schema.org/draft-04/schema#" }), "draft 4"),
            (json!({ "properties": many }), "60 patterns"),
            (json!({ "patternProperties": many }), "120 patterns"),
        ] {
            let found = check(&schema).expect_err(reason);
            assert!(found.contains(reason), "{found}: {schema}");
        }
    }
}
