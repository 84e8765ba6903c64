//! The text of a JSON Schema, for what [`settings!`](crate::settings) expands to.

/// Returns a text as JSON.
#[doc(hidden)]
pub fn quoted(text: &str) -> String {
    let mut json = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => json.extend(['\\', character]),
            '\n' => json.push_str("\\n"),
            control if control < ' ' => json.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => json.push(other),
        }
    }
    json + "\""
}

/// Returns one property of an object schema.
#[doc(hidden)]
pub fn property(name: &str, documentation: &[&str], members: &str, default: Option<String>) -> String {
    let words: Vec<&str> = documentation.iter().flat_map(|line| line.split_whitespace()).collect();
    let default = default.map_or_else(String::new, |json| format!(", \"default\": {json}"));
    format!("    {}: {{ \"description\": {}, {members}{default} }}", quoted(name), quoted(&words.join(" ")))
}

/// Returns the schema of an object with these properties.
#[doc(hidden)]
pub fn object(properties: &[String], required: &[&str]) -> String {
    let required = match required {
        [] => String::new(),
        names => {
            let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            format!("  \"required\": [{}],\n", names.join(", "))
        }
    };
    let properties = properties.join(",\n");
    format!(
        "{{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n  \"type\": \"object\",\n  \
         \"properties\": {{\n{properties}\n  }},\n{required}  \"additionalProperties\": false\n}}"
    )
}

/// Returns a further member of a schema, after a comma.
#[doc(hidden)]
pub fn member(key: &str, value: &impl Member) -> String {
    format!(", {}: {}", quoted(key), value.json())
}

/// A value that a further member of a schema can have.
#[doc(hidden)]
pub trait Member {
    /// Returns the value as JSON.
    fn json(&self) -> String;
}

impl Member for &str {
    fn json(&self) -> String {
        quoted(self)
    }
}

impl<const N: usize> Member for [&str; N] {
    fn json(&self) -> String {
        format!("[{}]", self.map(quoted).join(", "))
    }
}

impl Member for bool {
    fn json(&self) -> String {
        self.to_string()
    }
}

impl Member for i32 {
    fn json(&self) -> String {
        self.to_string()
    }
}
