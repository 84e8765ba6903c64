//! JSON that is the same wherever it is written, to be digested.
//!
//! RFC 8785 (the crate `serde_json_canonicalizer`) writes every number as a double, so that two settings beyond 2^53 would
//! have the same digest. Here numbers stay as they are.

use serde_json::Value;

/// Writes a value without spaces and with the keys of every object in the order of their bytes.
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Array(values) => {
            text.push('[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(value, text);
            }
            text.push(']');
        }
        Value::Object(entries) => {
            // The order that the map happens to have depends on features of serde_json that any crate can switch on.
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(&Value::from(key.as_str()), text);
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_and_nothing_is_between() {
        let value: Value =
            serde_json::from_str(r#"{ "b": [1, 2.5, null], "a": { "é": "\n\"", "d": true } }"#).expect("JSON");
        assert_eq!(canonical(&value), r#"{"a":{"d":true,"é":"\n\""},"b":[1,2.5,null]}"#);
    }

    #[test]
    fn large_numbers_stay_apart() {
        let written = [(1_u64 << 53), (1 << 53) + 1, u64::MAX, u64::MAX - 1].map(|number| canonical(&number.into()));
        assert_eq!(written.iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "{written:?}");
    }
}
