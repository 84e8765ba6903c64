//! The JSON Schema of a reviewer's settings, built at compile time with the default prompt in it.

/// The schema before the reviewer's own settings.
pub const START: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "model": {
      "description": "The granted model to ask. Required if several are granted.",
      "type": "string",
      "minLength": 1
    },
    "criteria": {
      "description": "Criteria besides those of the task.",
      "type": "array",
      "items": { "type": "string", "minLength": 1 },
      "default": []
    },
    "documents": {
      "description": "Files of the workspace that the result must agree with, such as a design. They are shown in full.",
      "type": "array",
      "items": { "type": "string", "minLength": 1 },
      "default": []
    },
    "exclude": {
      "description": "Patterns of changed files that the prompt lists but does not show. If any other changed file cannot be shown in full, no model is asked.",
      "type": "array",
      "items": { "type": "string", "minLength": 1, "maxLength": 1000 },
      "default": []
    },
    "show_claim": {
      "description": "Whether to show the executor's claim, report and tool calls.",
      "type": "boolean",
      "default": false
    },
    "max_bytes": {
      "description": "The size limit of the prompt's material. Beyond it, no model is asked.",
      "type": "integer",
      "minimum": 1000,
      "maximum": 2000000,
      "default": 200000
    },
    "#;

/// The part between the reviewer's own settings and the default prompt.
pub const PROMPT: &str = r#""prompt": {
      "description": "The template of the prompt. {{task}}, {{criteria}}, {{changes}}, {{documents}}, {{evidence}}, {{prior_findings}}, {{claim}}, {{tool_calls}} and {{attempt}} are replaced. The task, the criteria, the documents and the answer format are appended if the template omits them.",
      "type": "string",
      "minLength": 1,
      "default": ""#;

/// The part after the default prompt.
pub const END: &str = "\"\n    }\n  }\n}";

/// The schema of a reviewer: its template, and its own settings as JSON members that end with a comma.
#[macro_export]
macro_rules! settings_schema {
    ($template:expr, $own:expr) => {{
        const PARTS: [&str; 3] = [$crate::schema::START, $own, $crate::schema::PROMPT];
        const LENGTH: usize = $crate::schema::length(&PARTS, $template);
        const TEXT: [u8; LENGTH] = $crate::schema::text(&PARTS, $template);
        match core::str::from_utf8(&TEXT) {
            Ok(text) => text,
            Err(_) => panic!("UTF-8"),
        }
    }};
}

/// The length of the schema.
pub const fn length(parts: &[&str; 3], template: &str) -> usize {
    let mut length = parts[0].len() + parts[1].len() + parts[2].len() + template.len() + END.len();
    let bytes = template.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if matches!(bytes[at], b'"' | b'\\' | b'\n') {
            length += 1;
        }
        at += 1;
    }
    length
}

/// Joins the parts, with the template as the content of a JSON string.
pub const fn text<const N: usize>(parts: &[&str; 3], template: &str) -> [u8; N] {
    let mut text = [0; N];
    let mut to = 0;
    let all = [parts[0], parts[1], parts[2], template, END];
    let mut part = 0;
    while part < all.len() {
        let bytes = all[part].as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            if part == 3 && matches!(byte, b'"' | b'\\' | b'\n') {
                text[to] = b'\\';
                to += 1;
            }
            text[to] = if part == 3 && byte == b'\n' { b'n' } else { byte };
            to += 1;
            at += 1;
        }
        part += 1;
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_template_is_its_default() {
        const TEMPLATE: &str = "Say \"{{task}}\" \\ ü\nand more\n";
        const SCHEMA: &str = crate::settings_schema!(TEMPLATE, r#""own": { "type": "string" }, "#);
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).expect("JSON");
        assert_eq!(schema["properties"]["prompt"]["default"], TEMPLATE);
        assert_eq!(schema["properties"]["own"]["type"], "string");
        let default = crate::Settings::default();
        assert_eq!(schema["properties"]["max_bytes"]["default"], default.max_bytes);
        assert_eq!(schema["properties"]["show_claim"]["default"], default.show_claim);
    }
}
