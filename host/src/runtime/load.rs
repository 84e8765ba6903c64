//! Loads a component: finds or compiles its code, checks its imports, and links it.

use super::bindings::exports::gatehost::verifier as exports;
use super::bindings::gatehost::verifier as imports;
use super::capability::{Capability, Grants};
use super::component_type::ComponentType;
use super::ending;
use super::sandbox::Sandbox;
use super::scan;
use super::source::ComponentSource;
use super::{Runtime, contract_diff, program, wasi};
use crate::plan::Shape;
use crate::verdict::{ErrorKind, Failure};
use std::panic::{AssertUnwindSafe, catch_unwind};

use wasmtime::Engine;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, ComponentNamedList, HasSelf, InstancePre, Lift, Linker, Lower};
use wasmtime_wasi::p2::bindings::exports::wasi::cli::run;

/// A component that is ready to be called, for checks with certain grants.
pub struct Verifier {
    pub(super) digest: String,
    pub(super) component_type: ComponentType,
    pub(super) pre: InstancePre<Sandbox>,
    /// `None` for a program, which has no description.
    pub(super) about: Option<exports::about::GuestIndices>,
    pub(super) check: CheckExport,
}

/// The export that is called.
pub(super) enum CheckExport {
    File(exports::file_verifier::GuestIndices),
    Submission(exports::submission_verifier::GuestIndices),
    Program(run::GuestIndices),
}

impl Verifier {
    /// Returns the component's digest.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the shape; `None` for a program, which can have either.
    pub fn shape(&self) -> Option<Shape> {
        match self.check {
            CheckExport::File(_) => Some(Shape::File),
            CheckExport::Submission(_) => Some(Shape::Submission),
            CheckExport::Program(_) => None,
        }
    }

    /// Returns its imports and exports.
    pub fn component_type(&self) -> &ComponentType {
        &self.component_type
    }
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verifier").field("digest", &self.digest).finish_non_exhaustive()
    }
}

/// Where the machine code of a component came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// It is part of this program.
    Bundled,
    /// It was in the cache.
    Cached,
    /// It was compiled now.
    Compiled,
    /// It was compiled now but could not be cached: the next run compiles it again.
    Unkept,
}

impl Runtime {
    /// Returns whether a run would have to compile this component first.
    pub fn needs_compiling(&self, source: &ComponentSource) -> bool {
        if source.as_bundled().is_some() {
            return false;
        }
        let mut components = self.components.lock();
        if components.contains_key(source.digest()) {
            return false;
        }
        match self.cached(source) {
            // The cached code is authentic, so the run uses it.
            Some(component) => components.insert(source.digest().to_owned(), component).is_some(),
            None => true,
        }
    }

    /// Returns the imports and exports of a component that may be a verifier.
    pub fn read_type(&self, source: &ComponentSource) -> Result<ComponentType, Failure> {
        match source.as_bundled() {
            Some(bundled) => Ok(bundled.component_type()),
            None => self.code(source).map(|(component, _)| self.component_type(&component)),
        }
    }

    /// Compiles a component ahead, so that no run has to.
    pub fn compile(&self, source: &ComponentSource) -> Result<Code, Failure> {
        self.code(source).map(|(_, code)| code)
    }

    pub(super) fn component(&self, source: &ComponentSource) -> Result<Component, Failure> {
        self.code(source).map(|(component, _)| component)
    }

    fn code(&self, source: &ComponentSource) -> Result<(Component, Code), Failure> {
        let components = || self.components.lock();
        if let Some(component) = components().get(source.digest()) {
            return Ok((component.clone(), Code::Cached));
        }
        let (component, code) = self.find_or_compile(source)?;
        components().insert(source.digest().to_owned(), component.clone());
        Ok((component, code))
    }

    /// Returns the cached component.
    fn cached(&self, source: &ComponentSource) -> Option<Component> {
        self.cache.as_ref()?.get(self.engine().ok()?, source.digest())
    }

    fn find_or_compile(&self, source: &ComponentSource) -> Result<(Component, Code), Failure> {
        let engine = self.engine()?;
        if let Some(bundled) = source.as_bundled() {
            #[expect(unsafe_code, reason = "machine code that this program's own build made")]
            // SAFETY: `bundled/` made these bytes with `Engine::precompile_component`, and they are part of this program.
            match unsafe { Component::deserialize(engine, bundled.code()) } {
                Ok(component) => return Ok((component, Code::Bundled)),
                Err(error) => ending::shortage(&error).map_or(Ok(()), Err)?,
            }
            // There is none, or this engine counts instructions: compile it as any other component.
        }
        if let Some(component) = self.cached(source) {
            return Ok((component, Code::Cached));
        }
        let bytes = program::component(source.bytes())?;
        scan::scan(&bytes)?;
        // If the compiler panics, only this component fails.
        let compiled = catch_unwind(AssertUnwindSafe(|| Component::from_binary(engine, &bytes)));
        let component = match compiled {
            Ok(compiled) => compiled.map_err(|error| ending::refusal(&error))?,
            Err(_) => {
                return Err(Failure::new(
                    ErrorKind::LoadMalformed,
                    "cannot compile the component: the compiler panicked",
                ));
            }
        };
        let kept = self.cache.as_ref().is_some_and(|cache| cache.put(engine, source.digest(), &component));
        Ok((component, if kept { Code::Compiled } else { Code::Unkept }))
    }

    pub(super) fn prepare(&self, source: &ComponentSource, grants: &Grants) -> Result<Verifier, Failure> {
        let (component, _) = self.code(source)?;
        let component_type = self.component_type(&component);
        component_type.permit(grants)?;
        let linker = linker(component.engine(), &component_type).map_err(mismatch)?;
        self.link(source, &component, component_type, linker)
    }

    /// Prepares a component to describe itself, which needs no grants: every capability that it imports is linked, and
    /// calling one ends the guest.
    pub(super) fn prepare_to_describe(&self, source: &ComponentSource) -> Result<Verifier, Failure> {
        let (component, _) = self.code(source)?;
        let component_type = self.component_type(&component);
        component_type.permit(&Grants::everything())?;
        let linker = linker(component.engine(), &component_type).map_err(mismatch)?;
        self.link(source, &component, component_type, linker)
    }

    pub(super) fn component_type(&self, component: &Component) -> ComponentType {
        let (types, engine) = (component.component_type(), component.engine());
        let imports: Vec<&str> = types.imports(engine).map(|(name, _)| name).collect();
        let exports: Vec<&str> = types.exports(engine).map(|(name, _)| name).collect();
        ComponentType::new(&imports, &exports)
    }

    fn link(
        &self,
        source: &ComponentSource,
        component: &Component,
        component_type: ComponentType,
        linker: Linker<Sandbox>,
    ) -> Result<Verifier, Failure> {
        let shape = if component_type.is_program() { None } else { Some(component_type.shape()?) };
        let pre = linker.instantiate_pre(component).map_err(|error| {
            contract_diff::import(component).unwrap_or_else(|| {
                Failure::new(
                    ErrorKind::LinkUnknownImport,
                    format!("the host lacks an import of the component: {error:#}"),
                )
            })
        })?;
        let (about, check) = match shape {
            Some(shape) => called(&pre, shape).map(|(about, check)| (Some(about), check))?,
            None => (None, CheckExport::Program(run::GuestIndices::new(&pre).map_err(mismatch)?)),
        };
        Ok(Verifier { digest: source.digest().to_owned(), component_type, pre, about, check })
    }
}

/// Links only what the component imports; `permit` has already refused what is not granted.
fn linker(engine: &Engine, component_type: &ComponentType) -> wasmtime::Result<Linker<Sandbox>> {
    let mut linker = Linker::new(engine);
    imports::log::add_to_linker::<_, HasSelf<_>>(&mut linker, |sandbox| sandbox)?;
    if component_type.capabilities().contains(&Capability::Workspace) {
        imports::workspace::add_to_linker::<_, HasSelf<_>>(&mut linker, |sandbox| sandbox)?;
    }
    if component_type.capabilities().contains(&Capability::Commands) {
        imports::commands::add_to_linker::<_, HasSelf<_>>(&mut linker, |sandbox| sandbox)?;
    }
    if component_type.capabilities().contains(&Capability::Models) {
        imports::models::add_to_linker::<_, HasSelf<_>>(&mut linker, |sandbox| sandbox)?;
    }
    if component_type.uses_wasi() {
        wasi::add_to_linker(&mut linker)?;
    }
    Ok(linker)
}

fn mismatch(error: wasmtime::Error) -> Failure {
    Failure::new(ErrorKind::LinkWorldMismatch, format!("the component does not fit the contract: {error:#}"))
}

/// Returns the exported functions, if they have the types of the contract.
fn called(pre: &InstancePre<Sandbox>, shape: Shape) -> Result<(exports::about::GuestIndices, CheckExport), Failure> {
    use exports::{about, file_verifier, submission_verifier};
    fits::<(), (about::Description,)>(pre, "gatehost:verifier/about@0.1.0", "describe")?;
    let check = match shape {
        Shape::File => {
            let interface = "gatehost:verifier/file-verifier@0.1.0";
            fits::<(&file_verifier::File, &str), (file_verifier::Verdict,)>(pre, interface, "check")?;
            CheckExport::File(file_verifier::GuestIndices::new(pre).map_err(mismatch)?)
        }
        Shape::Submission => {
            let interface = "gatehost:verifier/submission-verifier@0.1.0";
            fits::<(&submission_verifier::Submission, &str), (submission_verifier::Verdict,)>(pre, interface, "check")?;
            CheckExport::Submission(submission_verifier::GuestIndices::new(pre).map_err(mismatch)?)
        }
    };
    Ok((about::GuestIndices::new(pre).map_err(mismatch)?, check))
}

/// Refuses an export of another type before anything of the component runs: the generated bindings check types only on an
/// instance.
fn fits<Params, Results>(pre: &InstancePre<Sandbox>, interface: &str, function: &str) -> Result<(), Failure>
where
    Params: ComponentNamedList + Lower,
    Results: ComponentNamedList + Lift,
{
    let component = pre.component();
    let instance = component.get_export_index(None, interface);
    match instance.and_then(|instance| component.get_export(Some(&instance), function)) {
        Some((ComponentItem::ComponentFunc(found), _)) => found
            .typecheck::<Params, Results>(&pre.instance_type())
            .map_err(|error| contract_diff::wrong_type(interface, function, &found, &error)),
        _ => Err(contract_diff::no_function(interface, function)),
    }
}
