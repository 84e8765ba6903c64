//! Tools for authors of verifiers: bindings for their language, and components from core modules.
//!
//! Some compilers produce components. Most produce core modules, in which the functions of the contract have flat names such
//! as `gatehost:verifier/file-verifier@0.1.0#check`. [`ContractSource::component`] makes a component of such a module.
//! Running compilers is left to others.

pub use crate::runtime::WIT;

use crate::plan::Shape;
use std::path::Path;
use wasmparser::{ExternalKind, Parser, Payload};
use wit_bindgen_core::{Files, WorldGenerator};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{PackageId, Resolve, SourceMap, WorldId};

/// The module that replaces WASI preview 1; `VERSION` is that of the contract.
const NULL_ADAPTER: &str = include_str!("component/null-adapter.wat");
const PREVIEW_1: &str = "wasi_snapshot_preview1";

/// Why there are no bindings, or no component.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ComponentError {
    /// The WIT files cannot be read.
    #[error("cannot read the contract: {0}")]
    Contract(String),
    /// The bytes are not a module.
    #[error("not a WebAssembly module: {0}")]
    NotAModule(#[from] wasmparser::BinaryReaderError),
    /// The module exports no verifier.
    #[error(
        "the module exports no verifier; expected `{package}/file-verifier@{version}#check` or `{package}/submission-verifier@{version}#check`",
        package = "gatehost:verifier"
    )]
    NoVerifier {
        /// The version of the contract.
        version: String,
    },
    /// The module does not fit the contract.
    #[error("the module does not fit the contract: {0}")]
    DoesNotFit(String),
}

/// A language with bindings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bindings {
    /// C and compatible languages: `verifier.h` and `verifier.c`.
    C,
    /// Go: `wit_exports.go` and a package for each interface.
    Go,
}

/// The contract of some version of `wit/`.
#[derive(Clone, Debug)]
pub struct ContractSource {
    resolve: Resolve,
    version: String,
}

impl ContractSource {
    /// Returns the contract of this host.
    pub fn of_this_host() -> Result<Self, ComponentError> {
        let mut sources = SourceMap::new();
        for (name, text) in WIT {
            sources.push_str(name, *text);
        }
        let group = sources.parse().map_err(|(_, error)| ComponentError::Contract(error.to_string()))?;
        let mut resolve = Resolve::default();
        let package = resolve.push_group(group).map_err(|error| ComponentError::Contract(error.to_string()))?;
        Ok(Self::new(resolve, package))
    }

    /// Reads the contract from the files of a folder.
    pub fn read(folder: &Path) -> Result<Self, ComponentError> {
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(folder).map_err(unreadable)?;
        Ok(Self::new(resolve, package))
    }

    fn new(resolve: Resolve, package: PackageId) -> Self {
        let version = resolve.packages[package].name.version.as_ref().map(ToString::to_string).unwrap_or_default();
        Self { resolve, version }
    }

    /// Returns the world of a verifier of this shape with all imports. Unused imports are left out of the component.
    fn world(&self, shape: Shape) -> Result<(Resolve, WorldId), ComponentError> {
        let (imports, export) = match shape {
            Shape::File => (&["log"][..], "file-verifier"),
            Shape::Submission => (&["log", "workspace", "commands", "models"][..], "submission-verifier"),
        };
        let imports = imports.iter().map(|name| ("import", *name));
        self.world_of("bindings", imports.chain([("export", "about"), ("export", export)]))
    }

    fn world_of<'a>(
        &self,
        package: &str,
        items: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<(Resolve, WorldId), ComponentError> {
        let items: String =
            items.map(|(way, name)| format!("{way} gatehost:verifier/{name}@{};\n", self.version)).collect();
        let mut resolve = self.resolve.clone();
        let text = format!("package gatehost:{package};\nworld verifier {{\n{items}}}\n");
        let package = resolve.push_source("world.wit", &text).map_err(unreadable)?;
        let world = resolve.select_world(&[package], Some("verifier")).map_err(unreadable)?;
        Ok((resolve, world))
    }

    /// Returns the bindings for a verifier of this shape: the files with their paths.
    pub fn bindings(&self, language: Bindings, shape: Shape) -> Result<Vec<(String, Vec<u8>)>, ComponentError> {
        let (mut resolve, world) = self.world(shape)?;
        let mut generator: Box<dyn WorldGenerator> = match language {
            Bindings::C => wit_bindgen_c::Opts::default().build(),
            Bindings::Go => wit_bindgen_go::Opts::default().build(),
        };
        let mut files = Files::default();
        generator.generate(&mut resolve, world, &mut files).map_err(unreadable)?;
        Ok(files.iter().map(|(path, bytes)| (path.to_owned(), bytes.to_vec())).collect())
    }

    /// Makes a component of a core module.
    ///
    /// If the module imports WASI preview 1, it gets a replacement that reaches nothing. The component imports only what it
    /// uses of the contract.
    pub fn component(&self, module: &[u8]) -> Result<Vec<u8>, ComponentError> {
        let names = Names::read(module)?;
        let (resolve, world) =
            self.world(names.shape.ok_or_else(|| ComponentError::NoVerifier { version: self.version.clone() })?)?;
        let mut module = module.to_vec();
        if !names.describes_itself {
            embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).map_err(does_not_fit)?;
        }
        let mut encoder = ComponentEncoder::default().validate(true).module(&module).map_err(does_not_fit)?;
        if names.wants_wasi {
            encoder = encoder.adapter(PREVIEW_1, &self.null_adapter()?).map_err(does_not_fit)?;
        }
        encoder.encode().map_err(does_not_fit)
    }

    fn null_adapter(&self) -> Result<Vec<u8>, ComponentError> {
        let (resolve, world) = self.world_of("adapter", [("import", "log")].into_iter())?;
        let text = NULL_ADAPTER.replace("VERSION", &self.version);
        let mut adapter = wat::parse_str(text).map_err(|error| ComponentError::DoesNotFit(error.to_string()))?;
        embed_component_metadata(&mut adapter, &resolve, world, StringEncoding::UTF8).map_err(does_not_fit)?;
        Ok(adapter)
    }
}

fn unreadable(error: anyhow::Error) -> ComponentError {
    ComponentError::Contract(format!("{error:#}"))
}

fn does_not_fit(error: anyhow::Error) -> ComponentError {
    ComponentError::DoesNotFit(format!("{error:#}"))
}

/// The names in a core module.
#[derive(Default)]
struct Names {
    shape: Option<Shape>,
    wants_wasi: bool,
    /// Whether it already has a description of its types.
    describes_itself: bool,
}

impl Names {
    fn read(module: &[u8]) -> Result<Self, ComponentError> {
        let mut names = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        names.wants_wasi |= import?.module == PREVIEW_1;
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        let export = export?;
                        if export.kind == ExternalKind::Func && export.name.ends_with("#check") {
                            names.shape = names.shape.or_else(|| shape_of(export.name));
                        }
                    }
                }
                Payload::CustomSection(section) => {
                    names.describes_itself |= section.name().starts_with("component-type");
                }
                _ => {}
            }
        }
        Ok(names)
    }
}

fn shape_of(export: &str) -> Option<Shape> {
    let interface = export.strip_prefix("gatehost:verifier/")?.split('@').next()?;
    match interface {
        "file-verifier" => Some(Shape::File),
        "submission-verifier" => Some(Shape::Submission),
        _ => None,
    }
}
