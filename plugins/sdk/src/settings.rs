//! Settings: one declaration makes the type, reads it from JSON, and says its JSON Schema.
//!
//! The schema is written as text when the verifier describes itself. A library for schemas would make every component
//! larger than most verifiers are.

use serde::Deserialize;

/// A type that settings can be made of. Use [`settings!`](crate::settings) to make one.
pub trait Setting: Sized {
    /// The members of its JSON Schema without braces; `own` and `each` are further members, for itself and for its
    /// elements, each starting with a comma where there is one.
    fn members(own: &str, each: &str) -> String;

    /// The value as JSON.
    fn json(&self) -> String;

    /// The value where nothing is said: `None` where something must be said.
    fn unsaid() -> Option<Self> {
        None
    }
}

/// Settings as a whole, with the schema that the host checks them against.
pub trait Settings: for<'de> Deserialize<'de> {
    /// The JSON Schema; empty for none.
    fn schema() -> String;
}

/// No settings.
impl Settings for () {
    fn schema() -> String {
        String::new()
    }
}

impl Setting for String {
    fn members(own: &str, _each: &str) -> String {
        format!("\"type\": \"string\"{own}")
    }

    fn json(&self) -> String {
        quoted(self)
    }
}

impl Setting for bool {
    fn members(own: &str, _each: &str) -> String {
        format!("\"type\": \"boolean\"{own}")
    }

    fn json(&self) -> String {
        self.to_string()
    }
}

macro_rules! numbers {
    ($($type:ty: $name:literal),*) => {$(
        impl Setting for $type {
            fn members(own: &str, _each: &str) -> String {
                format!("\"type\": \"{}\"{own}", $name)
            }

            fn json(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

numbers!(u32: "integer", u64: "integer", i64: "integer", f64: "number");

impl<T: Setting> Setting for Vec<T> {
    fn members(own: &str, each: &str) -> String {
        format!("\"type\": \"array\", \"items\": {{ {} }}{own}", T::members(each, ""))
    }

    fn json(&self) -> String {
        let items: Vec<String> = self.iter().map(Setting::json).collect();
        format!("[{}]", items.join(", "))
    }
}

/// What need not be said, and has no default.
impl<T: Setting> Setting for Option<T> {
    fn members(own: &str, each: &str) -> String {
        T::members(own, each)
    }

    fn json(&self) -> String {
        self.as_ref().map_or_else(|| "null".to_owned(), Setting::json)
    }

    fn unsaid() -> Option<Self> {
        Some(None)
    }
}

/// How a default is written in [`settings!`](crate::settings).
pub trait DefaultFor<T> {
    /// The value.
    fn value(self) -> T;
}

impl<T: Setting> DefaultFor<T> for T {
    fn value(self) -> T {
        self
    }
}

impl DefaultFor<String> for &str {
    fn value(self) -> String {
        self.to_owned()
    }
}

impl<const N: usize> DefaultFor<Vec<String>> for [&str; N] {
    fn value(self) -> Vec<String> {
        self.map(str::to_owned).to_vec()
    }
}

/// A text as JSON.
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

/// One property of an object's schema: its name, what its documentation says, its members, its default.
#[doc(hidden)]
pub fn property(name: &str, documentation: &[&str], members: &str, default: Option<String>) -> String {
    let words: Vec<&str> = documentation.iter().flat_map(|line| line.split_whitespace()).collect();
    let default = default.map_or_else(String::new, |json| format!(", \"default\": {json}"));
    format!("    {}: {{ \"description\": {}, {members}{default} }}", quoted(name), quoted(&words.join(" ")))
}

/// The schema of an object with these properties.
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

/// Declare the settings of a verifier, or a choice among words for one of them.
///
/// ```ignore
/// gatehost_sdk::settings! {
///     struct Settings {
///         /// The word that no file may contain.
///         word: String = "TODO" => { minLength: 1 },
///         /// Files that may.
///         except: Vec<String> = [] => {} each { minLength: 1 },
///         /// What a finding weighs.
///         level: Weight = Weight::Error,
///         /// Who wants it so. Need not be said.
///         owner: Option<String>,
///     }
/// }
///
/// gatehost_sdk::settings! {
///     enum Weight { Error = "error", Note = "note" }
/// }
/// ```
///
/// A field has documentation, which is its description in the schema; a type; a default, without which it must be
/// said unless it is an `Option`; and what else its schema demands of it, or of each of its elements.
#[macro_export]
macro_rules! settings {
    (
        $(#[$meta:meta])* $visibility:vis struct $name:ident {$(
            $(#[doc = $doc:literal])*
            $field:ident : $type:ty $(= $default:expr)?
            $(=> { $($key:ident : $value:expr),* $(,)? } $(each { $($each_key:ident : $each_value:expr),* $(,)? })? )?
        ),* $(,)?}
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        $visibility struct $name {
            $( $(#[doc = $doc])* $field: $type, )*
        }

        impl<'de> $crate::__serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::__serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                #[derive($crate::__serde::Deserialize)]
                #[serde(crate = "gatehost_sdk::__serde", deny_unknown_fields)]
                struct Said {
                    $( #[serde(default)] $field: Option<$type>, )*
                }
                let said = <Said as $crate::__serde::Deserialize>::deserialize(from)?;
                Ok(Self {$(
                    $field: match said.$field.or_else(|| $crate::__unsaid!($type $(, $default)?)) {
                        Some(value) => value,
                        None => return Err($crate::__serde::de::Error::missing_field(stringify!($field))),
                    },
                )*})
            }
        }

        impl $crate::Settings for $name {
            fn schema() -> String {
                let mut required = Vec::new();
                let mut properties = Vec::new();
                $({
                    let unsaid: Option<$type> = $crate::__unsaid!($type $(, $default)?);
                    if unsaid.is_none() {
                        required.push(stringify!($field));
                    }
                    let own = String::new() $( $(+ &$crate::__member(stringify!($key), &$value))* )?;
                    let each = String::new() $( $( $(+ &$crate::__member(stringify!($each_key), &$each_value))* )? )?;
                    let default = unsaid.map(|value| $crate::Setting::json(&value)).filter(|json| json != "null");
                    let members = <$type as $crate::Setting>::members(&own, &each);
                    properties.push($crate::__property(stringify!($field), &[$($doc),*], &members, default));
                })*
                $crate::__object(&properties, &required)
            }
        }
    };
    (
        $(#[$meta:meta])* $visibility:vis enum $name:ident { $( $(#[$case_meta:meta])* $case:ident = $word:literal ),* $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, $crate::__serde::Deserialize)]
        #[serde(crate = "gatehost_sdk::__serde")]
        $visibility enum $name { $( $(#[$case_meta])* #[serde(rename = $word)] $case ),* }

        impl $crate::Setting for $name {
            fn members(own: &str, _each: &str) -> String {
                let words = [$($crate::__quoted($word)),*].join(", ");
                format!("\"enum\": [{words}]{own}")
            }

            fn json(&self) -> String {
                $crate::__quoted(match self { $( Self::$case => $word ),* })
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __unsaid {
    ($type:ty) => {
        <$type as $crate::Setting>::unsaid()
    };
    ($type:ty, $default:expr) => {
        Some($crate::DefaultFor::<$type>::value($default))
    };
}

/// A further member of a schema, with the comma before it.
#[doc(hidden)]
pub fn member(key: &str, value: &impl Member) -> String {
    format!(", {}: {}", quoted(key), value.json())
}

/// What a further member of a schema can be.
#[doc(hidden)]
pub trait Member {
    /// As JSON.
    fn json(&self) -> String;
}

impl Member for &str {
    fn json(&self) -> String {
        quoted(self)
    }
}

impl Member for i32 {
    fn json(&self) -> String {
        self.to_string()
    }
}

#[cfg(test)]
mod tests {
    use crate::Settings as _;
    // The macro names the crate as those who use it do.
    use crate as gatehost_sdk;

    crate::settings! {
        struct Settings {
            /// The word that no file
            /// may contain, "so to say".
            word: String = "TODO" => { minLength: 1, pattern: r"^\S+$" },
            /// Files that may.
            except: Vec<String> = ["a"] => { maxItems: 9 } each { minLength: 1 },
            /// What it weighs.
            weight: Weight = Weight::Note,
            /// How often.
            times: u32,
            /// Who wants it so.
            owner: Option<String>,
        }
    }

    crate::settings! {
        enum Weight { Error = "error", Note = "a-note" }
    }

    #[test]
    fn the_schema_says_what_the_declaration_says() {
        let schema: serde_json::Value = serde_json::from_str(&Settings::schema()).expect("JSON");
        let expected = serde_json::json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "word": {
                    "description": "The word that no file may contain, \"so to say\".",
                    "type": "string", "minLength": 1, "pattern": r"^\S+$", "default": "TODO",
                },
                "except": {
                    "description": "Files that may.", "type": "array", "maxItems": 9,
                    "items": { "type": "string", "minLength": 1 }, "default": ["a"],
                },
                "weight": { "description": "What it weighs.", "enum": ["error", "a-note"], "default": "a-note" },
                "times": { "description": "How often.", "type": "integer" },
                "owner": { "description": "Who wants it so.", "type": "string" },
            },
            "required": ["times"],
            "additionalProperties": false,
        });
        assert_eq!(schema, expected);
        assert_eq!(<()>::schema(), "");
    }

    #[test]
    fn what_is_not_said_has_its_default() {
        let settings: Settings = serde_json::from_str(r#"{"times": 3, "weight": "error"}"#).expect("settings");
        assert_eq!((&*settings.word, settings.except, settings.times), ("TODO", vec!["a".to_owned()], 3));
        assert_eq!((settings.weight, settings.owner), (Weight::Error, None));
    }

    #[test]
    fn what_must_be_said_and_what_is_unknown_are_refused() {
        for (json, expected) in [
            ("{}", "missing field `times`"),
            (r#"{"times": 1, "wrod": "x"}"#, "unknown field `wrod`"),
            (r#"{"times": 1, "weight": "heavy"}"#, "unknown variant `heavy`"),
            (r#"{"times": -1}"#, "invalid value"),
        ] {
            let error = serde_json::from_str::<Settings>(json).expect_err(json).to_string();
            assert!(error.starts_with(expected), "{json}: {error}");
        }
    }
}
