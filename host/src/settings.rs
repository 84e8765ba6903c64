//! Validates settings against the schema of a verifier, before anything runs.

mod bounded;

use crate::config::did_you_mean;
use crate::text::clean_line;
use serde_json::{Map, Value};

/// Longer schemas are refused, because they are not trusted.
const MAX_SCHEMA_BYTES: usize = 64 << 10;
/// The most memory of a compiled pattern.
const MAX_PATTERN_BYTES: usize = 4 << 20;
/// The most problems that are reported.
const MAX_PROBLEMS: usize = 20;
/// The most characters of one problem.
const MAX_MESSAGE: usize = 1_000;

/// One problem of settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsProblem {
    /// The place: the keys from the top, joined by `.`; empty for the settings as a whole.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// Whether the schema itself is invalid.
    pub of_schema: bool,
}

/// Returns whether empty settings are surely valid, because nothing at the top of the schema could require one. Building a
/// validator takes longer than many verifiers, and most checks have no settings. Only for a valid schema; `false` means
/// nothing.
pub(crate) fn surely_fits_none(schema: &str) -> bool {
    const HARMLESS: [&str; 6] = ["$schema", "title", "description", "type", "properties", "additionalProperties"];
    schema.is_empty()
        || serde_json::from_str::<Map<String, Value>>(schema).is_ok_and(|schema| {
            schema.get("type").is_none_or(|kind| kind == "object")
                && schema.keys().all(|key| HARMLESS.contains(&key.as_str()))
        })
}

/// Validates settings. `schema` is JSON text; empty means that the verifier takes no settings.
pub fn validate(schema: &str, settings: &Value) -> Result<(), Vec<SettingsProblem>> {
    let about = |message: String, of_schema| Err(vec![SettingsProblem { place: String::new(), message, of_schema }]);
    let whole = |message| about(message, false);
    let unusable = |message| about(message, true);
    let Some(object) = settings.as_object() else {
        return whole(format!("expected a table of settings, found {settings}"));
    };
    if schema.is_empty() {
        return match object.keys().next() {
            None => Ok(()),
            Some(key) => whole(format!("this verifier takes no settings, found `{key}`")),
        };
    }
    if schema.len() > MAX_SCHEMA_BYTES {
        return unusable(format!(
            "the verifier's schema has {} bytes; at most {MAX_SCHEMA_BYTES} are read",
            schema.len()
        ));
    }
    let schema: Value = match serde_json::from_str(schema) {
        Ok(schema) => schema,
        Err(error) => return unusable(format!("the verifier's schema is not JSON: {error}")),
    };
    if let Err(why) = bounded::check(&schema) {
        return unusable(format!("the verifier's schema cannot be used: {why}"));
    }
    // The linear pattern engine, because a pattern of an untrusted schema could backtrack forever.
    let patterns = jsonschema::PatternOptions::regex().size_limit(MAX_PATTERN_BYTES);
    let options = jsonschema::options().with_pattern_options(patterns);
    let validator = match options.build(&schema) {
        Ok(validator) => validator,
        Err(error) => {
            return unusable(clean_line(&format!("the verifier's schema is not a JSON Schema: {error}"), MAX_MESSAGE));
        }
    };
    let problems: Vec<SettingsProblem> = validator
        .iter_errors(settings)
        .take(MAX_PROBLEMS)
        .map(|error| SettingsProblem {
            place: error.instance_path().to_string().trim_start_matches('/').replace('/', "."),
            message: message(&error),
            of_schema: false,
        })
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Returns what is wrong, with the nearest valid word or key. The text quotes the schema.
fn message(error: &jsonschema::ValidationError<'_>) -> String {
    use jsonschema::error::ValidationErrorKind as Kind;
    let near = match error.kind() {
        Kind::Enum { options } => {
            let words: Vec<&str> = options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            error.instance().as_str().and_then(|text| did_you_mean(text, &words))
        }
        _ => None,
    };
    let text = clean_line(&error.to_string(), MAX_MESSAGE);
    match near {
        Some(hint) => format!("{text}; {hint}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "bundled")]
    use crate::runtime::BUNDLED;
    use serde_json::json;

    const SCHEMA: &str = r#"{"type": "object", "properties": {"signal": {"type": "string", "minLength": 1},
        "list": {"type": "array", "items": {"type": "integer"}}}, "additionalProperties": false}"#;

    #[test]
    fn settings_that_fit_are_accepted() {
        assert_eq!(validate("", &json!({})), Ok(()));
        assert_eq!(validate(SCHEMA, &json!({})), Ok(()));
        assert_eq!(validate(SCHEMA, &json!({"signal": "DONE", "list": [1]})), Ok(()));
    }

    #[cfg(feature = "bundled")]
    #[test]
    fn a_glance_is_never_wrong() {
        let schemas = BUNDLED.iter().map(|bundled| bundled.description().settings_schema);
        let odd = [r#"{"type": "array"}"#, r#"{"minProperties": 1}"#, r#"{"required": ["a"]}"#, "{", "[]", SCHEMA, ""];
        let mut sure = 0;
        for schema in schemas.chain(odd.map(str::to_owned)) {
            if surely_fits_none(&schema) {
                sure += 1;
                assert_eq!(validate(&schema, &json!({})), Ok(()), "{schema}");
            }
        }
        assert!(sure > BUNDLED.len() / 2, "most of them");
    }

    #[test]
    fn all_problems_are_told_with_their_places() {
        let places = |schema: &str, settings: Value| -> Vec<String> {
            validate(schema, &settings).expect_err("a problem").into_iter().map(|problem| problem.place).collect()
        };
        assert_eq!(places("", json!({"a": 1})), [""]);
        assert_eq!(places(SCHEMA, json!([])), [""]);
        assert_eq!(places(SCHEMA, json!({"signal": 1, "list": [1, "x"]})), ["list.1", "signal"]);
        assert_eq!(places("{", json!({})), [""]);
        assert_eq!(places(r#"{"type": 5}"#, json!({})), [""]);
    }

    #[test]
    fn a_word_that_is_nearly_right_is_named() {
        let schema = r#"{"properties": {"dialect": {"enum": ["json", "jsonc", "json5"]}}}"#;
        let told =
            |word: &str| validate(schema, &json!({ "dialect": word })).expect_err("a problem")[0].message.clone();
        assert!(told("jsonn").ends_with("; did you mean `json`?"), "{}", told("jsonn"));
        assert!(!told("yaml").contains("did you mean"), "{}", told("yaml"));
    }

    #[test]
    fn a_strangers_schema_is_measured_before_it_is_used() {
        let told =
            |schema: &str, settings: Value| validate(schema, &settings).expect_err("a problem")[0].message.clone();
        assert_eq!(
            told(r##"{"$ref": "#"}"##, json!({})),
            "the verifier's schema cannot be used: it refers to itself, by `#`"
        );
        let wide = r#"{"properties": {"a": {"pattern": "\\p{L}{100}{100}"}}}"#;
        assert!(told(wide, json!({})).contains("is not a JSON Schema"));
        // As deep as is accepted: the validator does not run out of stack.
        let definitions: Map<String, Value> =
            (0..60).map(|n| (format!("d{n}"), json!({ "$ref": format!("#/$defs/d{}", n + 1) }))).collect();
        let mut deep = json!({ "$defs": definitions, "$ref": "#/$defs/d0" });
        deep["$defs"]["d60"] = json!({ "required": ["a"] });
        assert_eq!(told(&deep.to_string(), json!({})), "\"a\" is a required property");
        let forged = "{\"enum\": [\"\u{202e}\u{9b}2J\"]}";
        assert!(told(forged, json!({})).contains("⟨U+202E⟩\\u{9b}2J"));
    }

    #[test]
    fn a_strangers_pattern_cannot_run_for_ever() {
        let schema = r#"{"properties": {"a": {"pattern": "^(a+)+$"}}}"#;
        let long = "a".repeat(100_000) + "!";
        assert!(validate(schema, &json!({"a": long})).is_err());
    }
}
