//! Settings at the limits of what a schema allows.

use crate::settings;
use serde_json::{Map, Value, json};

/// The most settings that are tried.
const MAX: usize = 200;
/// How deep below a setting values are varied.
const MAX_DEPTH: usize = 4;

/// Returns odd settings that the schema allows. Each changes one of the ordinary ones.
pub(super) fn of(schema: &str, ordinary: &Value) -> Vec<Value> {
    // A schema that no gate would accept may be unbounded.
    if settings::validate(schema, ordinary).is_err() {
        return Vec::new();
    }
    let Ok(root) = serde_json::from_str::<Value>(schema) else { return Vec::new() };
    let Some(properties) = root.get("properties").and_then(Value::as_object) else { return Vec::new() };
    let mut odd = Vec::new();
    for (name, property) in properties {
        for value in values(&root, property, MAX_DEPTH) {
            let mut settings = ordinary.as_object().cloned().unwrap_or_default();
            settings.insert(name.clone(), value);
            let settings = Value::Object(settings);
            if odd.len() < MAX && settings != *ordinary && settings::validate(schema, &settings).is_ok() {
                odd.push(settings);
            }
        }
    }
    odd
}

/// Returns values near the limits of a schema. Some are beyond them: the schema decides.
fn values(root: &Value, schema: &Value, depth: usize) -> Vec<Value> {
    if depth == 0 {
        return Vec::new();
    }
    let mut values: Vec<Value> = ["default", "const"].iter().filter_map(|key| schema.get(*key).cloned()).collect();
    let listed = |key: &str| schema.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    values.extend(listed("enum"));
    values.extend(listed("examples"));
    for part in ["anyOf", "oneOf", "allOf"].iter().flat_map(|key| listed(key)) {
        values.extend(self::values(root, &part, depth - 1));
    }
    if let Some(part) =
        schema.get("$ref").and_then(Value::as_str).and_then(|path| root.pointer(path.strip_prefix('#')?))
    {
        values.extend(self::values(root, part, depth - 1));
    }
    let types = match schema.get("type") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    for kind in types {
        match &*kind {
            "null" => values.push(Value::Null),
            "boolean" => values.extend([json!(true), json!(false)]),
            "integer" | "number" => {
                let bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
                let bounds = bounds.iter().filter_map(|key| schema.get(*key)?.as_i64());
                values.extend(
                    bounds.flat_map(|bound| [bound, bound.saturating_sub(1), bound.saturating_add(1)]).map(Value::from),
                );
                values.extend([json!(0), json!(-1), json!(i64::MAX), json!(u64::MAX)]);
                values.extend((kind == "number").then(|| json!(1e300)));
            }
            "string" => {
                values.extend(["", "a", "(", "\\", "\0", "\u{202e}\u{1f600}", "**/*"].map(Value::from));
                values.push(Value::from("x".repeat(10_000)));
            }
            "array" => {
                values.push(json!([]));
                let items = schema.get("items").map(|items| self::values(root, items, depth - 1)).unwrap_or_default();
                values.extend(items.iter().map(|item| json!([item])));
                values.push(Value::Array(items));
            }
            "object" => values.extend(objects(root, schema, depth)),
            _ => {}
        }
    }
    values
}

/// Returns objects with the first value of every required key, and each key in turn with another.
fn objects(root: &Value, schema: &Value, depth: usize) -> Vec<Value> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return vec![json!({})] };
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let of: Vec<(&String, Vec<Value>)> =
        properties.iter().map(|(name, property)| (name, values(root, property, depth - 1))).collect();
    let usual = |values: &[Value]| values.iter().find(|value| value.as_str() != Some("")).cloned();
    let base: Map<String, Value> = of
        .iter()
        .filter(|(name, _)| required.iter().any(|key| key.as_str() == Some(name)))
        .filter_map(|(name, values)| Some(((*name).clone(), usual(values)?)))
        .collect();
    let mut objects = vec![Value::Object(base.clone())];
    for (name, values) in of {
        for value in values {
            let mut object = base.clone();
            object.insert(name.clone(), value);
            objects.push(Value::Object(object));
        }
    }
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_schema_allows_is_tried() {
        let schema = json!({
            "type": "object",
            "properties": {
                "word": { "type": "string", "minLength": 1 },
                "count": { "type": "integer", "minimum": 1, "maximum": 3 },
                "level": { "enum": ["error", "note"] },
                "rules": { "type": "array", "items": { "$ref": "#/$defs/rule" } },
            },
            "additionalProperties": false,
            "$defs": { "rule": {
                "type": "object",
                "properties": { "id": { "type": "string" }, "min": { "type": "integer", "minimum": 0 } },
                "required": ["id"],
                "additionalProperties": false,
            } },
        });
        let odd = of(&schema.to_string(), &json!({}));
        assert!(odd.iter().all(|settings| settings::validate(&schema.to_string(), settings).is_ok()));
        let all =
            |name: &str| -> Vec<Value> { odd.iter().filter_map(|settings| settings.get(name).cloned()).collect() };
        assert!(!all("word").contains(&json!("")) && all("word").contains(&json!("(")));
        let mut counts: Vec<i64> = all("count").iter().filter_map(Value::as_i64).collect();
        counts.sort_unstable();
        counts.dedup();
        assert_eq!(counts, [1, 2, 3]);
        assert_eq!(all("level"), [json!("error"), json!("note")]);
        assert!(all("rules").contains(&json!([])));
        assert!(all("rules").contains(&json!([{ "id": "a", "min": 0 }])));
        assert_eq!(of("", &json!({})), Vec::<Value>::new());
    }
}
