//! The type of a component, read from its imports and exports: its shape, its contract version and its capabilities.

use super::capability::{Capability, Grants};
use super::wasi;
use crate::config::Grant;
use crate::plan::Shape;
use crate::text::clean_line;
use crate::verdict::{ErrorKind, Failure};
use std::collections::BTreeSet;
use wasmparser::{Parser, Payload};

const PACKAGE: &str = "gatehost:verifier";
/// The version of the contract. Components for the same minor version are compatible.
pub const CONTRACT: &str = "0.1.0";
const COMPATIBLE: &str = "0.1.";
/// Characters of a name that are shown.
const MAX_NAME: usize = 500;

/// The names of the imports and exports of a component. Characters that could hide something are escaped; no known name has
/// any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComponentType {
    /// What it imports.
    pub imports: Vec<String>,
    /// What it exports.
    pub exports: Vec<String>,
}

/// The parts of a name such as `gatehost:verifier/log@0.1.0`.
struct Name<'a> {
    package: &'a str,
    interface: &'a str,
    version: Option<&'a str>,
}

impl<'a> Name<'a> {
    fn new(name: &'a str) -> Self {
        let (path, version) = name.split_once('@').map_or((name, None), |(path, version)| (path, Some(version)));
        let (package, interface) = path.split_once('/').unwrap_or(("", path));
        Self { package, interface, version }
    }

    fn fits(&self) -> bool {
        self.package == PACKAGE && self.version.is_some_and(|version| version.starts_with(COMPATIBLE))
    }
}

impl ComponentType {
    /// Returns the type with these names, sorted: a linker may order them in any way, and no report should depend on that.
    pub(super) fn new(imports: &[&str], exports: &[&str]) -> Self {
        let sorted = |names: &[&str]| {
            let mut names: Vec<String> = names.iter().map(|name| clean_line(name, MAX_NAME)).collect();
            names.sort();
            names
        };
        Self { imports: sorted(imports), exports: sorted(exports) }
    }

    /// Reads the names from the bytes without compiling them. `None` if the bytes are not a component, or one that cannot be
    /// read to its end, because half of the names would mislead.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        if !Parser::is_component(bytes) {
            return None;
        }
        let (mut imports, mut exports) = (Vec::new(), Vec::new());
        let mut depth = 0u32;
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.ok()? {
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(section) if depth == 0 => {
                    for import in section {
                        imports.push(import.ok()?.name.name);
                    }
                }
                Payload::ComponentExportSection(section) if depth == 0 => {
                    for export in section {
                        exports.push(export.ok()?.name.name);
                    }
                }
                _ => {}
            }
        }
        Some(Self::new(&imports, &exports))
    }

    /// Returns whether this import has only types and no functions.
    pub fn is_types_only(import: &str) -> bool {
        let name = Name::new(import);
        name.package == PACKAGE && matches!(name.interface, "types" | "submission")
    }

    /// Returns whether the component is a program: it has a `main` and is no verifier of this contract.
    pub fn is_program(&self) -> bool {
        self.exports.iter().any(|name| name.starts_with("wasi:cli/run@0.2."))
            && !self.exports.iter().any(|name| Name::new(name).package == PACKAGE)
    }

    /// Returns the interface of this contract that a name refers to, if its version is compatible.
    pub(super) fn interface(name: &str) -> Option<&str> {
        let name = Name::new(name);
        name.fits().then_some(name.interface)
    }

    /// Returns the shape, if the component exports a verifier of this contract.
    pub fn shape(&self) -> Result<Shape, Failure> {
        let ours = || self.exports.iter().map(|name| Name::new(name)).filter(|name| name.package == PACKAGE);
        if let Some(other) = ours().find(|name| !name.fits()) {
            return Err(version(other.version));
        }
        let has = |interface: &str| ours().any(|name| name.interface == interface);
        let mismatch =
            |message: String| Err(Failure::new(ErrorKind::LinkWorldMismatch, message).hint(self.world_hint()));
        let shape = match (has("file-verifier"), has("submission-verifier")) {
            (true, false) => Shape::File,
            (false, true) => Shape::Submission,
            (true, true) => {
                return mismatch(
                    "the component exports both `file-verifier` and `submission-verifier`; expected one".into(),
                );
            }
            (false, false) => {
                return mismatch(format!(
                    "the component exports neither `{PACKAGE}/file-verifier` nor `{PACKAGE}/submission-verifier`"
                ));
            }
        };
        if has("about") { Ok(shape) } else { mismatch(format!("the component does not export `{PACKAGE}/about`")) }
    }

    /// Returns a hint for a component that does not export a verifier.
    fn world_hint(&self) -> String {
        let names = || self.exports.iter().map(|name| Name::new(name));
        let ours = |name: &Name<'_>| matches!(name.interface, "about" | "file-verifier" | "submission-verifier");
        let seen = if self.exports.is_empty() {
            "it exports nothing: is the export of its functions missing in the source, or was another file built? "
                .to_owned()
        } else if let Some(bare) =
            names().find(|name| name.package.is_empty() && matches!(name.interface, "check" | "describe"))
        {
            format!("it exports `{}` as a plain function, but the contract has it in an interface; ", bare.interface)
        } else if let Some(other) = names().find(|name| name.package != PACKAGE && ours(name)) {
            format!("it exports `{}/{}`, which is from another package; ", other.package, other.interface)
        } else {
            let exports: Vec<String> = self.exports.iter().take(5).map(|name| format!("`{name}`")).collect();
            format!("it exports {}; ", exports.join(", "))
        };
        format!(
            "{seen}build it for the world `file` or `submission-only` of `{PACKAGE}@{CONTRACT}`, as the projects of `gate new` do"
        )
    }

    /// Returns the version of the contract that the component was built for.
    pub fn contract(&self) -> Option<&str> {
        let names = self.exports.iter().chain(&self.imports).map(|name| Name::new(name));
        names.filter(|name| name.package == PACKAGE).find_map(|name| name.version)
    }

    /// Returns the capabilities that it imports.
    pub fn capabilities(&self) -> BTreeSet<Capability> {
        self.imports.iter().filter_map(|import| Self::capability(import)).collect()
    }

    /// Returns the capability of an import, if it is one.
    pub(super) fn capability(import: &str) -> Option<Capability> {
        let name = Name::new(import);
        Capability::of_interface(name.interface).filter(|_| name.package == PACKAGE)
    }

    /// Returns whether the component imports anything of WASI.
    pub fn uses_wasi(&self) -> bool {
        self.imports.iter().any(|name| name.starts_with("wasi:"))
    }

    /// Returns whether the component imports randomness.
    pub(super) fn uses_random(&self) -> bool {
        self.imports.iter().any(|name| name.starts_with("wasi:random/"))
    }

    /// Refuses a component that imports something unknown, or something that its check was not granted.
    pub fn permit(&self, grants: &Grants) -> Result<(), Failure> {
        self.imports.iter().try_for_each(|import| permit(import, grants))
    }

    /// Returns whether the component could use a grant.
    pub fn uses(&self, grant: &Grant) -> bool {
        let only = Grants::from_iter([grant.clone()]);
        let wanted = self.imports.iter().map(|import| Name::new(import)).filter(|name| name.package == PACKAGE);
        wanted.filter_map(|name| Capability::of_interface(name.interface)).any(|wanted| wanted.is_granted(&only))
    }

    /// Returns every import because of which the component is refused.
    pub(super) fn refusals(&self, grants: &Grants) -> Vec<Failure> {
        self.imports.iter().filter_map(|import| permit(import, grants).err()).collect()
    }
}

fn permit(import: &str, grants: &Grants) -> Result<(), Failure> {
    let name = Name::new(import);
    match name.package {
        PACKAGE if !name.fits() => Err(version(name.version)),
        PACKAGE if name.interface == "log" || ComponentType::is_types_only(import) => Ok(()),
        PACKAGE => match Capability::of_interface(name.interface) {
            Some(capability) => capability.permit(import, grants),
            None => Err(unknown(import)),
        },
        package if wasi::is_offered(&format!("{package}/{}", name.interface)) => match name.version {
            Some(version) if !version.starts_with("0.2.") => {
                Err(unknown(import).hint("this host supports WASI 0.2: build it for `wasm32-wasip2`, for example"))
            }
            _ => Ok(()),
        },
        _ => Err(unknown(import)),
    }
}

fn version(found: Option<&str>) -> Failure {
    let found = found.unwrap_or("none");
    Failure::new(
        ErrorKind::LinkVersion,
        format!("the component was built for version {found} of the contract; this host has {CONTRACT} and accepts {COMPATIBLE}x"),
    )
    .hint("build the component for a supported version of the contract, or use another version of `gate`")
}

fn unknown(import: &str) -> Failure {
    let failure = Failure::new(
        ErrorKind::LinkUnknownImport,
        format!("the component imports `{import}`, which is not available to verifiers"),
    );
    match Name::new(import).package {
        "wasi:http" | "wasi:sockets" => failure.hint(
            "a verifier has no network; build without it (componentize-py: `--stub-wasi`; jco: `-d http -d fetch-event`; Rust: no `std::net`)",
        ),
        _ => failure.hint("a verifier may import the interfaces of `gatehost:verifier` and the basic ones of WASI 0.2"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Grant;

    fn importing(import: &str) -> ComponentType {
        ComponentType { imports: vec![import.to_owned()], exports: Vec::new() }
    }

    fn exporting(exports: &[&str]) -> ComponentType {
        ComponentType { imports: Vec::new(), exports: exports.iter().map(|&name| name.to_owned()).collect() }
    }

    #[test]
    fn imports_are_refused_by_name_and_kind() {
        let none = Grants::default();
        for (import, kind) in [
            ("gatehost:verifier/workspace@0.1.0", ErrorKind::LinkCapabilityDenied),
            ("gatehost:verifier/commands@0.1.3", ErrorKind::LinkCapabilityDenied),
            ("gatehost:verifier/models@0.1.0", ErrorKind::LinkCapabilityDenied),
            ("gatehost:verifier/network@0.1.0", ErrorKind::LinkUnknownImport),
            ("gatehost:verifier/log@0.2.0", ErrorKind::LinkVersion),
            ("gatehost:verifier/log@0.10.0", ErrorKind::LinkVersion),
            ("gatehost:verifier/log", ErrorKind::LinkVersion),
            ("wasi:http/types@0.2.0", ErrorKind::LinkUnknownImport),
            ("wasi:sockets/tcp@0.2.0", ErrorKind::LinkUnknownImport),
            ("env", ErrorKind::LinkUnknownImport),
        ] {
            let failure = importing(import).permit(&none).expect_err(import);
            assert_eq!(failure.kind, kind, "{import}");
        }
        for import in ["gatehost:verifier/log@0.1.0", "gatehost:verifier/types@0.1.9", "wasi:cli/stdout@0.2.6"] {
            importing(import).permit(&none).expect(import);
        }
        importing("gatehost:verifier/workspace@0.1.0").permit(&Grants::from_iter([Grant::Workspace])).expect("granted");
    }

    #[cfg(feature = "bundled")]
    #[test]
    fn a_component_that_is_cut_off_has_no_type() {
        let whole = crate::runtime::BUNDLED.iter().find(|bundled| bundled.name == "command").expect("bundled");
        assert_eq!(ComponentType::read(whole.wasm()), Some(whole.component_type()));
        for length in [whole.wasm().len() / 2, whole.wasm().len() - 1, 20] {
            assert_eq!(ComponentType::read(&whole.wasm()[..length]), None, "the first {length} bytes");
        }
    }

    #[test]
    fn a_name_can_hide_nothing() {
        let hiding = "url=<\u{1b}[8m\u{202e}>";
        let component_type = ComponentType::new(&[hiding], &[hiding]);
        assert_eq!(component_type.imports, ["url=<\\u{1b}[8m⟨U+202E⟩>"]);
        assert_eq!(component_type.exports, component_type.imports);
    }

    #[test]
    fn the_shape_is_one_of_two() {
        let about = "gatehost:verifier/about@0.1.0";
        let file = "gatehost:verifier/file-verifier@0.1.0";
        let submission = "gatehost:verifier/submission-verifier@0.1.0";
        assert_eq!(exporting(&[about, file]).shape().expect("a shape"), Shape::File);
        assert_eq!(exporting(&[about, submission]).shape().expect("a shape"), Shape::Submission);
        for (exports, kind) in [
            (&[][..], ErrorKind::LinkWorldMismatch),
            (&[file], ErrorKind::LinkWorldMismatch),
            (&[about], ErrorKind::LinkWorldMismatch),
            (&[about, file, submission], ErrorKind::LinkWorldMismatch),
            (&["gatehost:verifier/about@0.2.0", "gatehost:verifier/file-verifier@0.2.0"], ErrorKind::LinkVersion),
        ] {
            assert_eq!(exporting(exports).shape().expect_err("no shape").kind, kind, "{exports:?}");
        }
    }
}
