//! The verifiers that are part of this program: built from `plugins/` and compiled ahead by `host/build.rs`.

use super::{ComponentType, Description, Rule};
use crate::verdict::Level;

/// One bundled verifier.
#[derive(Debug)]
pub struct Bundled {
    /// Its name.
    pub name: &'static str,
    /// The component's digest.
    pub digest: &'static str,
    /// The component.
    pub wasm: &'static [u8],
    /// Machine code for it, compiled by the settings of `runtime/config.rs`.
    pub(super) compiled: &'static [u8],
    /// What it says of itself, asked when it was built, so that a run need not load what it does not use.
    description: Text,
    imports: &'static [&'static str],
    exports: &'static [&'static str],
}

#[derive(Debug)]
struct Text {
    version: &'static str,
    summary: &'static str,
    files: &'static [&'static str],
    settings_schema: &'static str,
    rules: &'static [(&'static str, &'static str, &'static str, &'static str, &'static str)],
    url: &'static str,
}

impl Bundled {
    /// Its imports and exports.
    pub fn component_type(&self) -> ComponentType {
        ComponentType::new(self.imports, self.exports)
    }

    /// What it says of itself.
    pub fn description(&self) -> Description {
        Description {
            name: self.name.to_owned(),
            version: self.description.version.to_owned(),
            summary: self.description.summary.to_owned(),
            files: self.description.files.iter().map(|&glob| glob.to_owned()).collect(),
            settings_schema: self.description.settings_schema.to_owned(),
            rules: self.description.rules.iter().map(|rule| stored(*rule)).collect(),
            url: Some(self.description.url.to_owned()).filter(|url| !url.is_empty()),
        }
    }
}

/// A rule as `host/build.rs` stores it: code, level, summary, help, address.
fn stored((code, level, summary, help, url): (&str, &str, &str, &str, &str)) -> Rule {
    let level = match level {
        "warning" => Level::Warning,
        "note" => Level::Note,
        _ => Level::Error,
    };
    let url = Some(url.to_owned()).filter(|url| !url.is_empty());
    Rule { code: code.to_owned(), level, summary: summary.to_owned(), help: help.to_owned(), url }
}

/// The bundled verifier of this name.
pub(super) fn find(name: &str) -> Option<&'static Bundled> {
    ALL.iter().find(|bundled| bundled.name == name)
}

include!(concat!(env!("OUT_DIR"), "/bundled.rs"));
