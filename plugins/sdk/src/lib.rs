//! Write a Gatehost verifier in Rust: one function and one macro line.
//!
//! ```ignore
//! use gatehost_sdk::{About, File, FileVerifier, Finding, Verdict};
//!
//! struct NoTabs;
//!
//! impl FileVerifier for NoTabs {
//!     type Settings = ();
//!     const ABOUT: About = About::new("no-tabs", "0.1.0", "No file contains a tab.").files(&["**/*.txt"]);
//!
//!     fn check(file: &File, _settings: ()) -> Verdict {
//!         match file.text().and_then(|text| text.find('\t')) {
//!             Some(at) => Finding::error("tab", "found a tab").at(file.place_of(at)).into(),
//!             None => Verdict::pass(),
//!         }
//!     }
//! }
//!
//! gatehost_sdk::export_file_verifier!(NoTabs);
//! ```
//!
//! The answer types are the contract's own (`wit/types.wit`) with constructors added here. What this crate leaves
//! to others: everything about running verifiers; it knows nothing of the host.

mod arena;
mod bindings;
pub mod glob;
pub mod markdown;
pub mod nesting;
mod syntax;
pub mod text;
mod verdict;

pub use arena::Arena;
pub use bindings::file::exports::gatehost::verifier::file_verifier::{Content, File};
pub use bindings::imports::gatehost::verifier::{log, submission, types, workspace};
pub use submission::Submission;
pub use types::{Finding, Level, Place, Status, Verdict};
pub use verdict::TextPosition;

#[doc(hidden)]
pub use bindings::{about as __about, file as __file, submission as __submission};

use serde::de::DeserializeOwned;

/// What a verifier says of itself; see `wit/about.wit`.
#[derive(Clone, Copy, Debug)]
pub struct About {
    name: &'static str,
    version: &'static str,
    summary: &'static str,
    files: &'static [&'static str],
    settings_schema: &'static str,
}

impl About {
    /// A description without file patterns and without settings.
    pub const fn new(name: &'static str, version: &'static str, summary: &'static str) -> Self {
        Self { name, version, summary, files: &[], settings_schema: "" }
    }

    /// The globs of the files that a file verifier wants by default.
    pub const fn files(self, files: &'static [&'static str]) -> Self {
        Self { files, ..self }
    }

    /// A JSON Schema of the settings.
    pub const fn settings_schema(self, settings_schema: &'static str) -> Self {
        Self { settings_schema, ..self }
    }

    #[doc(hidden)]
    pub fn into_parts(self) -> (String, String, String, Vec<String>, String) {
        (
            self.name.into(),
            self.version.into(),
            self.summary.into(),
            self.files.iter().map(|&glob| glob.into()).collect(),
            self.settings_schema.into(),
        )
    }
}

/// A verifier of single files. Export it with [`export_file_verifier!`].
pub trait FileVerifier {
    /// The settings, read from JSON; `()` for none.
    type Settings: DeserializeOwned;
    /// What the verifier says of itself.
    const ABOUT: About;
    /// Judge one file.
    fn check(file: &File, settings: Self::Settings) -> Verdict;
}

/// A verifier of whole submissions. Export it with [`export_submission_verifier!`].
pub trait SubmissionVerifier {
    /// The settings, read from JSON; `()` for none.
    type Settings: DeserializeOwned;
    /// What the verifier says of itself.
    const ABOUT: About;
    /// Judge one submission.
    fn check(submission: &Submission, settings: Self::Settings) -> Verdict;
}

/// Read settings that the host has already validated against the schema.
///
/// Where schema and type still disagree, the verifier abstains: a verifier must not judge by settings that it did
/// not understand.
#[doc(hidden)]
pub fn with_settings<S: DeserializeOwned>(json: &str, check: impl FnOnce(S) -> Verdict) -> Verdict {
    // `{}` stands for "no settings", which for `()` is written `null`.
    let settings = match serde_json::from_str(json) {
        Err(_) if json == "{}" => serde_json::from_str("null"),
        other => other,
    };
    match settings {
        Ok(settings) => check(settings),
        Err(why) => Verdict::abstain(format!("cannot read the settings: {why}")),
    }
}

/// Make a [`FileVerifier`] the verifier that this component exports.
#[macro_export]
macro_rules! export_file_verifier {
    ($verifier:ty) => {
        $crate::__export!($verifier, __file, FileVerifier, file_verifier, $crate::File);
    };
}

/// Make a [`SubmissionVerifier`] the verifier that this component exports.
#[macro_export]
macro_rules! export_submission_verifier {
    ($verifier:ty) => {
        $crate::__export!($verifier, __submission, SubmissionVerifier, submission_verifier, $crate::Submission);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    ($verifier:ty, $world:ident, $shape:ident, $interface:ident, $input:ty) => {
        // Where there is no component, as in tests, the verifier still counts as used.
        #[cfg(not(target_family = "wasm"))]
        const _: fn(&$input, <$verifier as $crate::$shape>::Settings) -> $crate::Verdict =
            <$verifier as $crate::$shape>::check;

        #[cfg(target_family = "wasm")]
        const _: () = {
            use $crate::__about::exports::gatehost::verifier::about;
            use $crate::$world::exports::gatehost::verifier::$interface as shape;

            struct Export;

            impl about::Guest for Export {
                fn describe() -> about::Description {
                    let (name, version, summary, files, settings_schema) =
                        <$verifier as $crate::$shape>::ABOUT.into_parts();
                    about::Description { name, version, summary, files, settings_schema }
                }
            }

            impl shape::Guest for Export {
                fn check(input: $input, settings: String) -> $crate::Verdict {
                    $crate::with_settings(&settings, |settings| <$verifier as $crate::$shape>::check(&input, settings))
                }
            }

    $crate::__about::export!(Export with_types_in $crate::__about);
    $crate::$world::export!(Export with_types_in $crate::$world);
        };
    };
}
