//! The JSON Schema of the settings that contain the rules.

/// Returns the JSON Schema of settings with `rules`. The verifiers differ in some parts: `each` and `one` describe the text that
/// `min` and `max` count in, `files` describes the setting `files`, and `required` and `own` add fields.
#[macro_export]
macro_rules! settings_schema {
    (each: $each:literal, one: $one:literal, files: $files:literal, required: $required:literal, own: $own:literal $(,)?) => {
        concat!(
            r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "rules": {
      "description": "The rules. Each is checked on its own.",
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
            "description": "A regular expression (Rust's `regex`, without look-around). `^` and `$` match at line boundaries, with LF and CRLF.",
            "type": "string",
            "minLength": 1,
            "maxLength": 1000
          },
          "kind": {
            "description": "Whether the pattern must occur or must not occur.",
            "enum": ["require", "forbid"]
          },
          "message": {
            "description": "The message when the rule is violated. Default: a sentence with the pattern.",
            "type": "string",
            "minLength": 1,
            "maxLength": 1000
          },
          "hint": {
            "description": "The hint when the rule is violated.",
            "type": "string",
            "minLength": 1,
            "maxLength": 1000
          },
          "level": {
            "description": "The level of a violation.",
            "enum": ["error", "warning", "note"],
            "default": "error"
          },
          "min": {
            "description": "For `require`: how often the pattern must occur"#,
            $each,
            r#".",
            "type": "integer",
            "minimum": 1,
            "maximum": 1000000,
            "default": 1
          },
          "max": {
            "description": "How often the pattern may occur"#,
            $one,
            r#". Default: 0 for `forbid`, unlimited for `require`.",
            "type": "integer",
            "minimum": 0,
            "maximum": 1000000
          },
          "ignore_case": {
            "description": "Whether to ignore case.",
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
