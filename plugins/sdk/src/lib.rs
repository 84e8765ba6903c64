//! The SDK for Gatehost verifiers in Rust: one function and one macro call.
//!
//! ```ignore
//! use gatehost_sdk::{File, Finding, Verdict};
//!
//! fn no_tabs(file: &File, _settings: ()) -> Verdict {
//!     match file.text().and_then(|text| text.find('\t')) {
//!         Some(at) => Finding::error("tab", "found a tab").at(file.place_of(at)).into(),
//!         None => Verdict::pass(),
//!     }
//! }
//!
//! gatehost_sdk::file_verifier!(no_tabs, summary: "No file contains a tab.", files: ["**/*.txt"]);
//! ```
//!
//! [`settings!`] declares settings together with the schema that the host validates them against. For more control,
//! implement [`FileVerifier`] or [`SubmissionVerifier`] and export it.
//!
//! The result types are those of the contract (`wit/types.wit`); this crate adds constructors. It does not run verifiers and
//! does not depend on the host.

// The macros name the crate as the packages that use it do.
extern crate self as gatehost_sdk;

mod arena;
mod bindings;
pub mod command;
pub mod foreign;
pub mod glob;
pub mod markdown;
pub mod nesting;
mod settings;
mod syntax;
pub mod text;
pub mod vacuous;
mod verdict;
pub mod words;

pub use arena::Arena;
pub use bindings::file::exports::gatehost::verifier::file_verifier::{Content, File};
pub use bindings::imports::gatehost::verifier::{commands, log, models, submission, types, workspace};
pub use settings::{DefaultFor, Setting, Settings, Severity};
pub use submission::Submission;
pub use types::{Category, Edit, FailureClass as Class, Finding, Fix, Level, Metric, Place, Status, Verdict};
pub use verdict::TextPosition;

#[doc(hidden)]
pub use bindings::{about as __about, file as __file, submission as __submission};
#[doc(hidden)]
pub use serde as __serde;
#[doc(hidden)]
pub use settings::{
    defaults as __defaults, member as __member, object as __object, property as __property, quoted as __quoted,
};

use serde::de::DeserializeOwned;

/// The description of a verifier; see `wit/about.wit`.
#[derive(Clone, Copy, Debug)]
pub struct About {
    name: &'static str,
    version: &'static str,
    summary: &'static str,
    files: &'static [&'static str],
    settings_schema: Schema,
    rules: &'static [Rule],
}

/// A kind of finding that a verifier can report; see `wit/about.wit`.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The code of its findings; `*` for codes that come from the settings.
    pub code: &'static str,
    /// The usual level of its findings.
    pub level: Level,
    /// Its meaning, in one line.
    pub summary: &'static str,
    /// How to fix it, and why it matters; may be empty.
    pub help: &'static str,
}

impl Rule {
    /// Returns a rule of level `error`: the work must not pass with its findings.
    pub const fn error(code: &'static str, summary: &'static str) -> Self {
        Self { code, level: Level::Error, summary, help: "" }
    }

    /// Returns a rule of level `warning`: its findings are worth fixing.
    pub const fn warning(code: &'static str, summary: &'static str) -> Self {
        Self { code, level: Level::Warning, summary, help: "" }
    }

    /// Returns a rule of level `note`: its findings are information.
    pub const fn note(code: &'static str, summary: &'static str) -> Self {
        Self { code, level: Level::Note, summary, help: "" }
    }

    /// Sets the help: how to fix a finding, and why it matters.
    pub const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }
}

/// Where the schema of the settings comes from.
#[derive(Clone, Copy, Debug)]
enum Schema {
    Written(&'static str),
    Declared(fn() -> String),
}

impl About {
    /// Returns a description without file patterns, settings and rules.
    pub const fn new(name: &'static str, version: &'static str, summary: &'static str) -> Self {
        Self { name, version, summary, files: &[], settings_schema: Schema::Written(""), rules: &[] }
    }

    /// Sets the default file patterns of a file verifier.
    pub const fn files(self, files: &'static [&'static str]) -> Self {
        Self { files, ..self }
    }

    /// Sets the settings, declared with [`settings!`].
    pub const fn settings<S: Settings>(self) -> Self {
        Self { settings_schema: Schema::Declared(S::schema), ..self }
    }

    /// Sets a handwritten JSON Schema of the settings.
    pub const fn settings_schema(self, settings_schema: &'static str) -> Self {
        Self { settings_schema: Schema::Written(settings_schema), ..self }
    }

    /// Sets the rules: every kind of finding that the verifier can report.
    pub const fn rules(self, rules: &'static [Rule]) -> Self {
        Self { rules, ..self }
    }

    /// Returns the codes of a verdict that [`rules`](Self::rules) does not list. For tests of a verifier.
    pub fn undeclared<'v>(&self, verdict: &'v Verdict) -> Vec<&'v str> {
        let codes = verdict.findings.iter().map(|finding| finding.code.as_str());
        codes.filter(|code| !self.rules.iter().any(|rule| rule.code == *code || rule.code == "*")).collect()
    }

    #[doc(hidden)]
    pub fn into_parts(self) -> (String, String, String, Vec<String>, String, &'static [Rule]) {
        (
            self.name.into(),
            self.version.into(),
            self.summary.into(),
            self.files.iter().map(|&glob| glob.into()).collect(),
            match self.settings_schema {
                Schema::Written(schema) => schema.into(),
                Schema::Declared(schema) => schema(),
            },
            self.rules,
        )
    }
}

/// A verifier of single files. Export it with [`export_file_verifier!`].
pub trait FileVerifier {
    /// The settings, read from JSON; `()` for none.
    type Settings: DeserializeOwned;
    /// The description of the verifier.
    const ABOUT: About;
    /// Whether the verifier checks broken symlinks too. By default it abstains on them.
    const JUDGES_BROKEN_LINKS: bool = false;
    /// Checks one file.
    fn check(file: &File, settings: Self::Settings) -> Verdict;
}

/// A verifier of whole submissions. Export it with [`export_submission_verifier!`].
pub trait SubmissionVerifier {
    /// The settings, read from JSON; `()` for none.
    type Settings: DeserializeOwned;
    /// The description of the verifier.
    const ABOUT: About;
    /// Checks one submission.
    fn check(submission: &Submission, settings: Self::Settings) -> Verdict;
}

/// The verdict of a file verifier that does not depend on the content of the file.
#[doc(hidden)]
pub fn file_verifier<V: FileVerifier>(file: &File) -> Option<Verdict> {
    let is_missing = matches!(file.content, Content::Missing) && !V::JUDGES_BROKEN_LINKS;
    is_missing.then(|| Verdict::abstain("the path is a broken symlink"))
}

/// The verdict of a submission verifier that does not depend on the submission.
#[doc(hidden)]
pub fn submission_verifier<V: SubmissionVerifier>(_: &Submission) -> Option<Verdict> {
    None
}

/// Parses settings that the host has already validated against the schema.
///
/// If schema and type disagree, the verifier abstains.
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

/// Exports a function as the file verifier of this component, with the package's name and version.
///
/// `file_verifier!(check, summary: "…", files: ["**/*.txt"], settings: Settings, rules: [Rule::error(…)])`, where `check`
/// is `fn(&File, Settings) -> Verdict`. Without `settings:`, the type is `()`.
#[macro_export]
macro_rules! file_verifier {
    (
        $check:path, summary: $summary:expr, files: $files:expr
        $(, settings: $settings:ty)? $(, rules: $rules:expr)? $(,)?
    ) => {
        $crate::__verifier!(
            FileVerifier, $crate::File, $check, $summary, &$files, $crate::__or_none!($($settings)?), [$($rules)?]
        );
        $crate::export_file_verifier!(TheVerifier);
    };
}

/// Exports a function as the submission verifier of this component, with the package's name and version.
///
/// `submission_verifier!(check, summary: "…", settings: Settings, rules: [Rule::error(…)])`, where `check` is
/// `fn(&Submission, Settings) -> Verdict`. Without `settings:`, the type is `()`.
#[macro_export]
macro_rules! submission_verifier {
    ($check:path, summary: $summary:expr $(, settings: $settings:ty)? $(, rules: $rules:expr)? $(,)?) => {
        $crate::__verifier!(
            SubmissionVerifier, $crate::Submission, $check, $summary, &[], $crate::__or_none!($($settings)?), [$($rules)?]
        );
        $crate::export_submission_verifier!(TheVerifier);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __or_none {
    () => {
        ()
    };
    ($settings:ty) => {
        $settings
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __verifier {
    ($shape:ident, $input:ty, $check:path, $summary:expr, $files:expr, $settings:ty, [$($rules:expr)?]) => {
        struct TheVerifier;

        impl $crate::$shape for TheVerifier {
            type Settings = $settings;
            const ABOUT: $crate::About =
                $crate::About::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), $summary)
                    .files($files)
                    .settings::<$settings>()
                    $(.rules(const { &$rules }))?;

            fn check(input: &$input, settings: $settings) -> $crate::Verdict {
                $check(input, settings)
            }
        }
    };
}

/// Exports a [`FileVerifier`] as the verifier of this component.
#[macro_export]
macro_rules! export_file_verifier {
    ($verifier:ty) => {
        $crate::__export!($verifier, __file, FileVerifier, file_verifier, $crate::File);
    };
}

/// Exports a [`SubmissionVerifier`] as the verifier of this component.
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
                    let (name, version, summary, files, settings_schema, rules) =
                        <$verifier as $crate::$shape>::ABOUT.into_parts();
                    let rule = |rule: &$crate::Rule| about::Rule {
                        code: rule.code.into(),
                        level: rule.level,
                        summary: rule.summary.into(),
                        help: rule.help.into(),
                        url: None,
                    };
                    let rules = rules.iter().map(rule).collect();
                    about::Description { name, version, summary, files, settings_schema, rules, url: None }
                }
            }

            impl shape::Guest for Export {
                fn check(input: $input, settings: String) -> $crate::Verdict {
                    if let Some(verdict) = $crate::$interface::<$verifier>(&input) {
                        return verdict;
                    }
                    $crate::with_settings(&settings, |settings| <$verifier as $crate::$shape>::check(&input, settings))
                }
            }

    $crate::__about::export!(Export with_types_in $crate::__about);
    $crate::$world::export!(Export with_types_in $crate::$world);
        };
    };
}
