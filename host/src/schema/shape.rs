//! Explains where a document differs from its schema, field by field, to the person who wrote it.
//!
//! Supports only the JSON Schema features of our own schemas. It explains a refusal and decides nothing.

use serde_json::Value;

/// The most differences that are shown.
const MOST: usize = 5;

/// Returns the fields of a document that do not match the schema, each with the expected shape.
pub fn differences(schema: &Value, document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    SchemaWalk { root: schema, found: &mut found }.value(schema, document, "");
    found.truncate(MOST);
    found
}

struct SchemaWalk<'a> {
    root: &'a Value,
    found: &'a mut Vec<String>,
}

impl<'a> SchemaWalk<'a> {
    fn value(&mut self, schema: &'a Value, value: &Value, place: &str) {
        let schema = resolved(self.root, schema);
        if let Some(ways) = alternatives(schema) {
            let ways: Vec<&'a Value> = ways.iter().map(|way| resolved(self.root, way)).collect();
            if let Some(way) = ways.iter().find(|way| has_type(way, value) && is_allowed(way, value)) {
                return self.value(way, value, place);
            }
            let shapes: Vec<String> = ways.iter().map(|way| shape(way)).filter(|shape| shape != "null").collect();
            return self.note(place, &one_of(shapes.into_iter()), value);
        }
        if !has_type(schema, value) || !is_allowed(schema, value) {
            return self.note(place, &shape(schema), value);
        }
        match value {
            Value::Object(fields) => {
                let known = schema["properties"].as_object();
                for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                    if !fields.contains_key(required) {
                        let of = known.and_then(|known| known.get(required)).map(|of| shape(resolved(self.root, of)));
                        let of = of.unwrap_or_else(|| "a value".to_owned());
                        self.found.push(format!("`{}` is missing: expected {of}", join(place, required)));
                    }
                }
                for (name, field) in fields {
                    match known.and_then(|known| known.get(name)) {
                        Some(schema) => self.value(schema, field, &join(place, name)),
                        None if schema["additionalProperties"] == false => {
                            let names: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
                            let hint = crate::config::nearest(name, names.iter().copied()).unwrap_or_default();
                            let name = crate::text::clean_line(&join(place, name), 80);
                            self.found.push(
                                format!("`{name}` is not a field here; {hint}").trim_end_matches("; ").to_owned(),
                            );
                        }
                        None => {}
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(&schema["items"], item, &format!("{place}[{index}]"));
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, place: &str, expected: &str, value: &Value) {
        let found = crate::text::clean_line(&value.to_string(), 60);
        let place =
            if place.is_empty() { String::new() } else { format!("`{}`: ", crate::text::clean_line(place, 80)) };
        self.found.push(format!("{place}expected {expected}, found `{found}`"));
    }
}

/// Returns the target of a reference.
fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let target = schema["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
    target.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

fn alternatives(schema: &Value) -> Option<&Vec<Value>> {
    schema["anyOf"].as_array().or(schema["oneOf"].as_array())
}

fn has_type(schema: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    };
    match &schema["type"] {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}

fn is_allowed(schema: &Value, value: &Value) -> bool {
    let at_least = schema["minimum"].as_f64().is_none_or(|least| value.as_f64().is_none_or(|value| value >= least));
    let is_const = schema.get("const").is_none_or(|only| only == value);
    at_least && is_const && schema["enum"].as_array().is_none_or(|values| values.contains(value))
}

/// Describes a schema in words.
fn shape(schema: &Value) -> String {
    if let Some(only) = schema.get("const") {
        return literal(only);
    }
    if let Some(values) = schema["enum"].as_array() {
        return one_of(values.iter().map(literal));
    }
    if let Some(ways) = alternatives(schema) {
        return one_of(ways.iter().map(shape).filter(|shape| shape != "null"));
    }
    let word = |name: &str| match name {
        "null" => "null",
        "boolean" => "`true` or `false`",
        "integer" => "a whole number from 0",
        "number" => "a number",
        "string" => "a string",
        "array" => "a list",
        _ => "an object",
    };
    match &schema["type"] {
        Value::String(name) => word(name).to_owned(),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            names.map(word).collect::<Vec<_>>().join(" or ")
        }
        _ => "another value".to_owned(),
    }
}

/// Returns a value as it is written, a string without its quotes.
fn literal(value: &Value) -> String {
    value.as_str().map_or_else(|| format!("`{value}`"), |word| format!("`{word}`"))
}

/// Returns a list such as `a, b or c`.
fn one_of(shapes: impl Iterator<Item = String>) -> String {
    let mut shapes: Vec<String> = shapes.collect();
    match shapes.pop() {
        Some(last) if shapes.is_empty() => last,
        Some(last) => format!("{} or {last}", shapes.join(", ")),
        None => String::new(),
    }
}

fn join(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_wrong_field_is_named_with_its_shape() {
        let schema = crate::schema::submission();
        let told = |document: Value| differences(&schema, &document);
        assert_eq!(told(json!({"task": {"id": 3}})), ["`task.id`: expected a string, found `3`"]);
        assert_eq!(told(json!({"taks": {}})), ["`taks` is not a field here; did you mean `task`?"]);
        assert_eq!(told(json!([])), ["expected an object, found `[]`"]);
        assert_eq!(told(json!({"attempt": -1})), ["`attempt`: expected a whole number from 0, found `-1`"]);
        let kind = told(json!({"changes": [{"path": "a", "kind": "mod", "state": "staged"}]}));
        let kinds = "expected `added`, `modified`, `deleted` or `renamed`";
        assert_eq!(kind, [format!("`changes[0].kind`: {kinds}, found `\"mod\"`")]);
        let missing = told(json!({"changes": [{"path": "a", "state": "staged"}]}));
        assert_eq!(missing, [format!("`changes[0].kind` is missing: {kinds}")]);
    }

    #[test]
    fn what_is_right_has_no_difference() {
        let document = serde_json::from_str(crate::schema::EXAMPLE_SUBMISSION).expect("JSON");
        assert_eq!(differences(&crate::schema::submission(), &document), [""; 0]);
    }
}
