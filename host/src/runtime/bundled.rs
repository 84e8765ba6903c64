//! The bundled verifiers: built from `plugins/` and compiled ahead by `bundled/`.

use super::{ComponentType, Description, Rule};
use crate::verdict::Level;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

/// One bundled verifier.
#[derive(Debug)]
pub struct Bundled {
    /// Its name.
    pub name: &'static str,
    /// The component's digest.
    pub digest: &'static str,
    /// Where the component is in [`WASM`].
    wasm: Range<usize>,
    /// The machine code, compiled with the settings of `runtime/config.rs`; empty if the build could not compile for this
    /// target.
    code: &'static Packed,
    /// The description, read at build time, so that a run does not load verifiers that it does not use.
    description: Text,
    imports: &'static [&'static str],
    exports: &'static [&'static str],
}

/// Bytes as `bundled/` embeds them.
#[derive(Debug)]
#[cfg_attr(not(feature = "bundled"), expect(dead_code, reason = "nothing is compressed"))]
enum Packed {
    Plain(&'static [u8]),
    /// A frame of Zstandard, compressed against other bytes.
    Frame {
        length: usize,
        prefix: Option<&'static Packed>,
        frame: &'static [u8],
    },
}

impl Packed {
    /// Returns the bytes. The build packed them; if they were damaged, there would be no bytes, and so no verifier.
    fn unpack(&self) -> Cow<'static, [u8]> {
        match self {
            Self::Plain(bytes) => Cow::Borrowed(bytes),
            #[cfg(feature = "bundled")]
            Self::Frame { length, prefix, frame } => {
                let prefix = prefix.map(Self::unpack).unwrap_or_default();
                let mut bytes = Vec::with_capacity(*length);
                let mut context = zstd_safe::DCtx::create();
                let unpacked = context.ref_prefix(&prefix).and_then(|_| context.decompress(&mut bytes, frame));
                Cow::Owned(if unpacked == Ok(*length) { bytes } else { Vec::new() })
            }
            #[cfg(not(feature = "bundled"))]
            Self::Frame { .. } => Cow::Borrowed(&[]),
        }
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
    /// Returns the component. The components are one stream, so the first call unpacks all of them; a run does not need them.
    pub fn wasm(&self) -> &[u8] {
        static UNPACKED: OnceLock<Cow<'static, [u8]>> = OnceLock::new();
        UNPACKED.get_or_init(|| WASM.unpack()).get(self.wasm.clone()).unwrap_or_default()
    }

    /// Returns the machine code; empty if there is none.
    pub(super) fn code(&self) -> Cow<'static, [u8]> {
        self.code.unpack()
    }

    /// Returns its imports and exports.
    pub fn component_type(&self) -> ComponentType {
        ComponentType::new(self.imports, self.exports)
    }

    /// Returns whether the verifier judges uncommitted changes, whatever the selection is.
    pub(crate) fn is_about_the_working_tree(&self) -> bool {
        self.name == "clean-tree"
    }

    /// Returns the description.
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

/// Returns a rule that `bundled/` stored: code, level, summary, help, url.
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

#[cfg(all(test, feature = "bundled"))]
mod tests {
    use super::super::config;

    /// Wasmtime stores the compiler's settings in front of the code. A switch is its name, the byte 2, and 0 or 1.
    #[test]
    fn bundled_code_needs_no_feature_of_the_building_machine() {
        for bundled in super::ALL {
            let code = bundled.code();
            let head = code.get(..4096).unwrap_or(&code);
            let target = config::TARGET.as_bytes();
            assert!(head.windows(target.len()).any(|bytes| bytes == target), "{}: {}", bundled.name, config::TARGET);
            let starts = (0..head.len()).filter(|&at| head[at..].starts_with(b"has_"));
            let features: Vec<(String, &[u8])> = starts
                .map(|at| {
                    let name = head[at..].split(|&byte| byte == 2).next().unwrap_or_default();
                    let value = &head[at + name.len()..][..2];
                    (String::from_utf8_lossy(name).into_owned(), value)
                })
                .collect();
            assert!(!features.is_empty(), "{} says no feature", bundled.name);
            let needed: Vec<_> = features.iter().filter(|(_, value)| *value != [2, 0]).collect();
            assert!(needed.is_empty(), "{} needs {needed:?}", bundled.name);
        }
    }
}
