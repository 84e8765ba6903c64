//! The settings that rules are written in.

/// The JSON Schema of a table with `rules`. What differs between verifiers is given: `each` and `one` say of how much of
/// the text `min` and `max` speak, `files` what the files of a rule are, `required` and `own` which fields it has besides.
#[macro_export]
macro_rules! settings_schema {
    (each: $each:literal, one: $one:literal, files: $files:literal, required: $required:literal, own: $own:literal $(,)?) => {
        concat!(
            r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "rules": {
      "description": "The rules, each judged by itself.",
      "type": "array",
      "minItems": 1,
      "maxItems": 200,
      "items": {
        "type": "object",
        "properties": {
          "id": {
            "description": "The rule's name, which is the code of its findings: lower-case words joined by `-`.",
            "type": "string",
            "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$",
            "maxLength": 100
          },
          "pattern": {
            "description": "A regular expression (Rust's `regex`, without look-around). `^` and `$` are those of a line, whichever way it ends.",
            "type": "string",
            "minLength": 1,
            "maxLength": 1000
          },
          "kind": {
            "description": "Whether the pattern must be found or must not.",
            "enum": ["require", "forbid"]
          },
          "message": {
            "description": "What to say when the rule is broken. Default: a sentence with the pattern.",
            "type": "string",
            "minLength": 1,
            "maxLength": 1000
          },
          "hint": {
            "description": "What to do about it.",
            "type": "string",
            "minLength": 1,
            "maxLength": 1000
          },
          "level": {
            "description": "How much a broken rule weighs.",
            "enum": ["error", "warning", "note"],
            "default": "error"
          },
          "min": {
            "description": "For `require`: how often it must be found"#,
            $each,
            r#".",
            "type": "integer",
            "minimum": 1,
            "maximum": 1000000,
            "default": 1
          },
          "max": {
            "description": "How often it may be found"#,
            $one,
            r#". For `forbid` 0, for `require` without bound, unless said.",
            "type": "integer",
            "minimum": 0,
            "maximum": 1000000
          },
          "ignore_case": {
            "description": "Whether upper and lower case are the same.",
            "type": "boolean",
            "default": false
          },
          "files": {
            "description": ""#,
            $files,
            r#"",
            "type": "array",
            "items": { "type": "string", "minLength": 1, "maxLength": 1000 },
            "default": []
          }"#,
            $own,
            r#"
        },
        "required": ["id", "pattern", "kind""#,
            $required,
            r#"],
        "additionalProperties": false
      }
    }
  },
  "required": ["rules"],
  "additionalProperties": false
}"#,
        )
    };
}
