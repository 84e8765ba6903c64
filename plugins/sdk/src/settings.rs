//! Settings: one declaration defines the type, its deserialization and its JSON Schema.
//!
//! The schema is generated as text when the verifier describes itself. A schema library would be larger than most
//! verifiers.

mod schema;

#[doc(hidden)]
pub use schema::{member, object, property, quoted};

use crate::Level;
use serde::Deserialize;

/// A type that a setting can have. [`settings!`](crate::settings) defines further ones.
pub trait Setting: Sized {
    /// Returns the members of the type's JSON Schema, without braces. `own` has further members to add, and `each` those to
    /// add to the schema of the elements. Each of the two is empty or starts with a comma.
    fn members(own: &str, each: &str) -> String;

    /// Returns the value as JSON.
    fn json(&self) -> String;

    /// Returns the value of an absent setting, or `None` if the setting is required.
    fn default() -> Option<Self> {
        None
    }
}

/// The settings of a verifier, with the schema that the host validates them against.
pub trait Settings: for<'de> Deserialize<'de> {
    /// Returns the JSON Schema, or an empty string if there are no settings.
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

/// An optional setting without a default.
impl<T: Setting> Setting for Option<T> {
    fn members(own: &str, each: &str) -> String {
        T::members(own, each)
    }

    fn json(&self) -> String {
        self.as_ref().map_or_else(|| "null".to_owned(), Setting::json)
    }

    fn default() -> Option<Self> {
        Some(None)
    }
}

/// A value that can be written as a default in [`settings!`](crate::settings).
pub trait DefaultFor<T> {
    /// Returns the default.
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

/// Declares the settings of a verifier, or an enumeration for one of them.
///
/// ```ignore
/// gatehost_sdk::settings! {
///     struct Settings {
///         /// The word that no file may contain.
///         word: String = "TODO" => { minLength: 1 },
///         /// Files that may contain it.
///         except: Vec<String> = [] => {} each { minLength: 1 },
///         /// The level of a finding.
///         level: Severity = Severity::Error,
///         /// The owner of the rule.
///         owner: Option<String>,
///         /// Which files to search.
///         scope: Scope = Scope::All,
///     }
/// }
///
/// gatehost_sdk::settings! {
///     enum Scope { All = "all", Tests = "tests" }
/// }
/// ```
///
/// A field consists of:
///
/// - a doc comment, which becomes the description in the schema
/// - a type
/// - after `=`, the default. A field without a default is required, unless its type is an `Option`
/// - after `=>`, further members of its schema, and after `each` those of the schema of its elements
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
                struct Given {
                    $( #[serde(default)] $field: Option<$type>, )*
                }
                let given = <Given as $crate::__serde::Deserialize>::deserialize(from)?;
                Ok(Self {$(
                    $field: match given.$field.or_else(|| $crate::__default!($type $(, $default)?)) {
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
                    let default: Option<$type> = $crate::__default!($type $(, $default)?);
                    if default.is_none() {
                        required.push(stringify!($field));
                    }
                    let own = String::new() $( $(+ &$crate::__member(stringify!($key), &$value))* )?;
                    let each = String::new() $( $( $(+ &$crate::__member(stringify!($each_key), &$each_value))* )? )?;
                    let default = default.map(|value| $crate::Setting::json(&value)).filter(|json| json != "null");
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

/// Declares the settings of a syntax verifier: the given fields and `strict`, the same in every syntax verifier.
///
/// `gatehost_sdk::syntax_settings! { struct Settings {} }`, with fields as in [`settings!`].
#[macro_export]
macro_rules! syntax_settings {
    ($(#[$meta:meta])* struct $name:ident { $($fields:tt)* }) => {
        $crate::settings! {
            $(#[$meta])*
            struct $name {
                $($fields)*
                /// Whether templates and files in another language are checked like all other files. By default, such a file is
                /// not applicable if it does not parse.
                strict: bool = false,
            }
        }

        #[cfg(test)]
        impl Default for $name {
            fn default() -> Self {
                $crate::__defaults()
            }
        }
    };
}

/// The settings of a verifier when none are set.
#[doc(hidden)]
pub fn defaults<S: for<'de> Deserialize<'de>>() -> S {
    serde_json::from_str("{}").expect("every setting has a default")
}

crate::settings! {
    /// The level of findings as a setting.
    pub enum Severity {
        /// The verdict is `fail`.
        Error = "error",
        /// The findings are warnings.
        Warning = "warning",
        /// The findings are notes.
        Note = "note",
        /// The findings are not reported.
        Ignore = "ignore",
    }
}

impl Severity {
    /// Returns the level of the findings; `None` if they are not reported.
    pub fn level(self) -> Option<Level> {
        match self {
            Self::Error => Some(Level::Error),
            Self::Warning => Some(Level::Warning),
            Self::Note => Some(Level::Note),
            Self::Ignore => None,
        }
    }
}

#[doc(hidden)]
#[macro_export]
macro_rules! __default {
    ($type:ty) => {
        <$type as $crate::Setting>::default()
    };
    ($type:ty, $default:expr) => {
        Some($crate::DefaultFor::<$type>::value($default))
    };
}

#[cfg(test)]
mod tests {
    use crate::Settings as _;

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
