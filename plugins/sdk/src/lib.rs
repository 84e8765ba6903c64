//! Write a Gatehost verifier in Rust: one function and one macro line.
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
//! [`settings!`] declares settings, from which the schema is made that the host checks them against. Where more is
//! needed, implement [`FileVerifier`] or [`SubmissionVerifier`] and export it.
//!
//! The answer types are the contract's own (`wit/types.wit`) with constructors added here. What this crate leaves
//! to others: everything about running verifiers; it knows nothing of the host.

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

pub use arena::Arena;
pub use bindings::file::exports::gatehost::verifier::file_verifier::{Content, File};
pub use bindings::imports::gatehost::verifier::{commands, log, models, submission, types, workspace};
pub use settings::{DefaultFor, Setting, Settings};
pub use submission::Submission;
pub use types::{Category, Edit, FailureClass as Class, Finding, Fix, Level, Metric, Place, Status, Verdict};
pub use verdict::TextPosition;

#[doc(hidden)]
pub use bindings::{about as __about, file as __file, submission as __submission};
#[doc(hidden)]
pub use serde as __serde;
#[doc(hidden)]
pub use settings::{member as __member, object as __object, property as __property, quoted as __quoted};

use serde::de::DeserializeOwned;

/// What a verifier says of itself; see `wit/about.wit`.
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
    /// The code of its findings; `*` for all that come from the settings.
    pub code: &'static str,
    /// The level that its findings usually have.
    pub level: Level,
    /// What it means, in one line.
    pub summary: &'static str,
    /// How to repair it, and why it matters; may be empty.
    pub help: &'static str,
}

impl Rule {
    /// A rule whose findings must not pass.
    pub const fn error(code: &'static str, summary: &'static str) -> Self {
        Self { code, level: Level::Error, summary, help: "" }
    }

    /// A rule whose findings are worth repairing.
    pub const fn warning(code: &'static str, summary: &'static str) -> Self {
        Self { code, level: Level::Warning, summary, help: "" }
    }

    /// A rule whose findings are information.
    pub const fn note(code: &'static str, summary: &'static str) -> Self {
        Self { code, level: Level::Note, summary, help: "" }
    }

    /// How to repair it, and why it matters.
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
    /// A description without file patterns and without settings.
    pub const fn new(name: &'static str, version: &'static str, summary: &'static str) -> Self {
        Self { name, version, summary, files: &[], settings_schema: Schema::Written(""), rules: &[] }
    }

    /// The globs of the files that a file verifier wants by default.
    pub const fn files(self, files: &'static [&'static str]) -> Self {
        Self { files, ..self }
    }

    /// The settings, as [`settings!`] declared them.
    pub const fn settings<S: Settings>(self) -> Self {
        Self { settings_schema: Schema::Declared(S::schema), ..self }
    }

    /// A JSON Schema of the settings, where it is written by hand.
    pub const fn settings_schema(self, settings_schema: &'static str) -> Self {
        Self { settings_schema: Schema::Written(settings_schema), ..self }
    }

    /// Every kind of finding that the verifier can report.
    pub const fn rules(self, rules: &'static [Rule]) -> Self {
        Self { rules, ..self }
    }

    /// The codes of a verdict that [`rules`](Self::rules) does not list: none, as the tests of a verifier demand.
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
    /// What the verifier says of itself.
    const ABOUT: About;
    /// Whether it judges links that lead nowhere too. Otherwise it abstains from them.
    const JUDGES_BROKEN_LINKS: bool = false;
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

/// What a file verifier says before it looks at a file.
#[doc(hidden)]
pub fn file_verifier<V: FileVerifier>(file: &File) -> Option<Verdict> {
    let is_missing = matches!(file.content, Content::Missing) && !V::JUDGES_BROKEN_LINKS;
    is_missing.then(|| Verdict::abstain("the path is a link that leads nowhere"))
}

/// What a submission verifier says before it looks at a submission.
#[doc(hidden)]
pub fn submission_verifier<V: SubmissionVerifier>(_: &Submission) -> Option<Verdict> {
    None
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

/// Make a function the file verifier that this component exports, under the package's name and version.
///
/// `file_verifier!(check, summary: "…", files: ["**/*.txt"], settings: Settings, rules: [Rule::error(…)])`, where `check`
/// is `fn(&File, Settings) -> Verdict`; without settings, they are `()`.
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

/// Make a function the submission verifier that this component exports, under the package's name and version.
///
/// `submission_verifier!(check, summary: "…", settings: Settings, rules: [Rule::error(…)])`, where `check` is
/// `fn(&Submission, Settings) -> Verdict`; without settings, they are `()`.
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
