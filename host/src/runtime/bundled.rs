//! The verifiers that are part of this program: built from `plugins/` and compiled ahead by `bundled/`.

use super::{ComponentType, Description, Rule};
use crate::verdict::Level;
use std::sync::OnceLock;

/// One bundled verifier.
#[derive(Debug)]
pub struct Bundled {
    /// Its name.
    pub name: &'static str,
    /// The component's digest.
    pub digest: &'static str,
    wasm: &'static Packed,
    /// Machine code for it, compiled by the settings of `runtime/config.rs`; empty where the build had no compiler for it.
    code: &'static Packed,
    /// What it says of itself, asked when it was built, so that a run need not load what it does not use.
    description: Text,
    imports: &'static [&'static str],
    exports: &'static [&'static str],
}

/// Bytes as `bundled/` compresses them: their length, and a deflate stream.
#[derive(Debug)]
struct Packed {
    packed: &'static [u8],
    /// Kept where somebody borrows them.
    unpacked: OnceLock<Vec<u8>>,
}

impl Packed {
    #[cfg_attr(not(feature = "bundled"), expect(dead_code, reason = "nothing is packed"))]
    const fn new(packed: &'static [u8]) -> Self {
        Self { packed, unpacked: OnceLock::new() }
    }

    /// Returns the bytes. What this program carries is what its build packed: were it not, there would be no bytes, and so
    /// no verifier.
    #[cfg(feature = "bundled")]
    fn unpack(&self) -> Vec<u8> {
        let Some((length, stream)) = self.packed.split_first_chunk() else { return Vec::new() };
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or_default();
        let unpacked = miniz_oxide::inflate::decompress_to_vec_with_limit(stream, length).unwrap_or_default();
        if unpacked.len() == length { unpacked } else { Vec::new() }
    }

    #[cfg(not(feature = "bundled"))]
    fn unpack(&self) -> Vec<u8> {
        self.packed.to_vec()
    }
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
    /// Returns the component.
    pub fn wasm(&self) -> &[u8] {
        self.wasm.unpacked.get_or_init(|| self.wasm.unpack())
    }

    /// Machine code for it; empty where there is none.
    pub(super) fn code(&self) -> Vec<u8> {
        self.code.unpack()
    }

    /// Returns its imports and exports.
    pub fn component_type(&self) -> ComponentType {
        ComponentType::new(self.imports, self.exports)
    }

    /// Returns whether it is about what is not committed, whatever is judged: of two commits, or of named files, it would
    /// see nothing.
    pub(crate) fn is_about_the_working_tree(&self) -> bool {
        self.name == "clean-tree"
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

/// Returns a rule as `bundled/` stores it: code, level, summary, help, address.
fn stored((code, level, summary, help, url): (&str, &str, &str, &str, &str)) -> Rule {
    let level = match level {
        "warning" => Level::Warning,
        "note" => Level::Note,
        _ => Level::Error,
    };
    let url = Some(url.to_owned()).filter(|url| !url.is_empty());
    Rule { code: code.to_owned(), level, summary: summary.to_owned(), help: help.to_owned(), url }
}

/// Returns the bundled verifier of this name.
pub(super) fn find(name: &str) -> Option<&'static Bundled> {
    ALL.iter().find(|bundled| bundled.name == name)
}

include!(concat!(env!("OUT_DIR"), "/bundled.rs"));
