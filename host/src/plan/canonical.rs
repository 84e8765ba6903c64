//! Canonical JSON, for digests.
//!
//! RFC 8785 (the crate `serde_json_canonicalizer`) writes every number as a double, so two settings above 2^53 could have
//! the same digest. Here such numbers keep all digits.

use serde_json::Value;

/// The largest integer that all JSON parsers read exactly. RFC 8785 writes numbers as doubles.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// Writes a value as canonical JSON (RFC 8785). If the value contains an integer that a double cannot represent, all digits
/// are written, so that no two values have the same text.
pub fn canonical(value: &Value) -> String {
    if !is_exact(value) {
        return value.to_string();
    }
    // Serialising fails only for keys that are not text and for numbers that are not finite. A `Value` contains neither.
    serde_json_canonicalizer::to_string(value).unwrap_or_else(|_| value.to_string())
}

/// Returns whether a double can represent every integer of a value.
fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(number) if number.is_f64() => true,
        Value::Number(number) => {
            let size = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            size.is_some_and(|size| size <= MAX_EXACT)
        }
        Value::Array(values) => values.iter().all(is_exact),
        Value::Object(entries) => entries.values().all(is_exact),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn it_is_that_of_rfc_8785() {
        // The example of its section 3.2.3, and keys that differ in UTF-8 and UTF-16 order.
        let value: Value = serde_json::from_str(
            r#"{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
                "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}"#,
        )
        .expect("JSON");
        let expected = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
                        \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        assert_eq!(canonical(&value), expected);
        assert_eq!(canonical(&json!({ "\u{fb33}": 1, "\u{1f600}": 2 })), "{\"\u{1f600}\":2,\"\u{fb33}\":1}");
        assert_eq!(canonical(&json!({ "b": [1.0, 2.5], "a": {} })), r#"{"a":{},"b":[1,2.5]}"#);
    }

    #[test]
    fn numbers_that_readers_would_round_are_not_exact() {
        for (value, exact) in [
            (json!(9_007_199_254_740_991_u64), true),
            (json!(9_007_199_254_740_992_u64), false),
            (json!({ "a": [-9_007_199_254_740_992_i64] }), false),
            (json!(u64::MAX), false),
            (json!(1e300), true),
            (json!({ "a": [1, "x", null, true] }), true),
        ] {
            assert_eq!(is_exact(&value), exact, "{value}");
        }
    }

    #[test]
    fn large_numbers_stay_apart() {
        let written = [(1_u64 << 53), (1 << 53) + 1, u64::MAX, u64::MAX - 1].map(|number| canonical(&number.into()));
        assert_eq!(written.iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "{written:?}");
    }
}
