//! Checks the bytes of a component before they are compiled: is it a component, small enough, and valid?
//!
//! Compiling has no time limit of its own, so everything that could make it slow is bounded here first.

mod adapters;
mod types;
mod work;

use super::program;
use crate::verdict::{ErrorKind, Failure};
use types::Counted;
use wasmparser::{ComponentInstance, Encoding, Parser, Payload, Validator, WasmFeatures};
use work::CompileWork;

/// The largest component that is read at all. Python's runtime makes components of 18 MB.
pub(super) const MAX_COMPONENT_BYTES: u64 = 64 << 20;
/// The most functions in all modules of a component. Python's runtime has 13,000.
const MAX_FUNCTIONS: u64 = 100_000;
/// The most imports, exports, types, instances and aliases together.
const MAX_ITEMS: u64 = 100_000;
/// The most of these if every inner component is counted as often as it is instantiated. The engine expands each instance,
/// so a component of 2 KB that instantiates another twice, which instantiates another twice, and so on, would fill all
/// memory.
const MAX_EXPANDED_ITEMS: u64 = 1_000_000;
/// The deepest nesting of components and modules. A runtime's component is 2 deep, a composed component 3 or 4. At 10,000
/// levels, the state of all levels would fill memory.
const MAX_DEPTH: usize = 32;
/// The most imports of the component itself.
const MAX_IMPORTS: u64 = 1_000;
/// The longest name of an import or an export.
const MAX_NAME_BYTES: usize = 4 << 10;

/// Returns the features that wasmtime accepts under `super::config`. The types of the GC proposal, such as `externref`, are
/// not compiled into this program.
fn features() -> WasmFeatures {
    let all = WasmFeatures::WASM2 | WasmFeatures::COMPONENT_MODEL | WasmFeatures::EXTENDED_CONST;
    all.difference(WasmFeatures::GC_TYPES)
}

/// Checks whether these bytes are a component that may be compiled.
pub(super) fn scan(bytes: &[u8]) -> Result<(), Failure> {
    recognise(bytes)?;
    let mut work = bound(bytes)?;
    validate(bytes)?;
    work.add(adapters::micros(bytes, Validator::new_with_features(features())))
}

/// Checks whether these bytes are a core module that may be converted to a component.
pub(super) fn scan_module(bytes: &[u8]) -> Result<(), Failure> {
    bound(bytes)?;
    validate(bytes)
}

fn recognise(bytes: &[u8]) -> Result<(), Failure> {
    if wasmtime::Engine::detect_precompiled(bytes).is_some() {
        return Err(Failure::new(
            ErrorKind::LoadPrecompiledRefused,
            "this is precompiled machine code, which `gate` never loads from a file",
        )
        .hint("use the component (.wasm) that it was compiled from"));
    }
    if Parser::is_component(bytes) {
        return Ok(());
    }
    let not_component = |what: &str, hint: &str| Err(Failure::new(ErrorKind::LoadNotComponent, what).hint(hint));
    if Parser::is_core_wasm(bytes) {
        let for_contract = program::exports(bytes).iter().any(|name| name.starts_with("gatehost:verifier/"));
        return if for_contract {
            not_component(
                "this is a core WebAssembly module; expected a component",
                "convert it to a component with `gate build`, or with `wasm-tools component new`",
            )
        } else {
            not_component(
                "this is a core WebAssembly module without a `_start`; expected a component, or a program",
                "build a component (`gate new`, `gate build`), or a WASI program that has a `main`",
            )
        };
    }
    let is_comment = |line: &&[u8]| line.is_empty() || line.starts_with(b";;");
    let first = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).find(|line| !is_comment(line));
    if first.is_some_and(|line| line.starts_with(b"(")) {
        return not_component(
            "this is WebAssembly text; expected a binary component",
            "convert it with `wasm-tools parse`",
        );
    }
    Err(Failure::new(ErrorKind::LoadMalformed, "this is not WebAssembly"))
}

/// Counts before anything is compiled. Format errors are left to `validate`, whose messages are better.
fn bound(bytes: &[u8]) -> Result<CompileWork, Failure> {
    let mut parts = ScanState { bytes, ..ScanState::default() };
    for payload in Parser::new(0).parse_all(bytes) {
        let Ok(payload) = payload else { break };
        parts.add(&payload)?;
    }
    Ok(parts.work)
}

/// The counts so far.
#[derive(Default)]
struct ScanState<'a> {
    bytes: &'a [u8],
    /// The open components and modules, outermost first.
    open: Vec<OpenComponent>,
    /// The items of the largest completed component, with everything that it instantiates.
    largest: u64,
    items: u64,
    imports: u64,
    functions: u64,
    work: CompileWork,
}

#[derive(Default)]
struct OpenComponent {
    is_component: bool,
    items: u64,
    instantiations: u64,
}

impl ScanState<'_> {
    fn add(&mut self, payload: &Payload<'_>) -> Result<(), Failure> {
        match payload {
            Payload::Version { encoding, .. } => {
                self.open
                    .push(OpenComponent { is_component: *encoding == Encoding::Component, ..OpenComponent::default() });
                if self.open.len() > MAX_DEPTH {
                    let message = format!("components are nested more than {MAX_DEPTH} deep");
                    return Err(Failure::new(ErrorKind::LoadLimit, message));
                }
                self.work.begin_module();
            }
            Payload::End(_) => self.end()?,
            Payload::ComponentImportSection(section) => {
                self.add_items(section.count())?;
                if self.open.len() == 1 {
                    self.imports += u64::from(section.count());
                    at_most(MAX_IMPORTS, self.imports, "imports")?;
                }
                section.clone().into_iter().flatten().try_for_each(|import| bound_name(import.name.name))?;
            }
            Payload::ComponentExportSection(section) => {
                self.add_items(section.count())?;
                section.clone().into_iter().flatten().try_for_each(|export| bound_name(export.name.name))?;
            }
            Payload::ImportSection(section) => {
                self.add_items(section.count())?;
                for import in section.clone().into_imports().flatten() {
                    bound_name(import.module)?;
                    bound_name(import.name)?;
                    self.work.import(&import);
                }
            }
            Payload::ExportSection(section) => {
                self.add_items(section.count())?;
                section.clone().into_iter().flatten().try_for_each(|export| bound_name(export.name))?;
            }
            Payload::TypeSection(section) => {
                self.add_items(section.count())?;
                self.work.types(section);
            }
            Payload::ComponentInstanceSection(section) => {
                self.add_items(section.count())?;
                let instances = section.clone().into_iter().flatten();
                let instantiated = instances.filter(|it| matches!(it, ComponentInstance::Instantiate { .. })).count();
                if let Some(open) = self.open.last_mut() {
                    open.instantiations += instantiated as u64;
                }
            }
            Payload::CoreTypeSection(section) => {
                let inside: u64 = section.clone().into_iter().flatten().map(|ty| types::of_core(&ty)).sum();
                self.add_items(u64::from(section.count()) + inside)?;
            }
            Payload::ComponentTypeSection(section) => {
                let range = section.range();
                match types::count(&self.bytes[range.clone()], range.start) {
                    Ok(Counted::Items(items)) => self.add_items(items)?,
                    Ok(Counted::TooDeep) => {
                        let most = types::MAX_DEPTH;
                        return Err(Failure::new(
                            ErrorKind::LoadLimit,
                            format!("types are nested more than {most} deep"),
                        ));
                    }
                    // Do not leave the rest to another reader.
                    Err(why) => {
                        let message = format!("the component is not valid: {why}");
                        return Err(Failure::new(ErrorKind::LoadMalformed, message));
                    }
                }
            }
            Payload::ComponentAliasSection(section) => self.add_items(section.count())?,
            Payload::InstanceSection(section) => self.add_items(section.count())?,
            Payload::ComponentCanonicalSection(section) => self.add_items(section.count())?,
            Payload::GlobalSection(section) => self.add_items(section.count())?,
            Payload::FunctionSection(section) => {
                self.functions += u64::from(section.count());
                if self.functions > MAX_FUNCTIONS {
                    return Err(Failure::new(
                        ErrorKind::CompileLimit,
                        format!("the component has {} functions; at most {MAX_FUNCTIONS} are compiled", self.functions),
                    ));
                }
                self.work.functions(section);
            }
            Payload::CodeSectionEntry(body) => self.work.body(body)?,
            _ => {}
        }
        Ok(())
    }

    fn add_items(&mut self, count: impl Into<u64>) -> Result<(), Failure> {
        let count = count.into();
        self.items += count;
        if let Some(open) = self.open.last_mut() {
            open.items += count;
        }
        at_most(MAX_ITEMS, self.items, "imports, exports and types")
    }

    /// Completes a component. It can only instantiate components that were completed before it: at worst, the largest each
    /// time.
    fn end(&mut self) -> Result<(), Failure> {
        let Some(OpenComponent { is_component: true, items, instantiations }) = self.open.pop() else { return Ok(()) };
        let expanded = instantiations.saturating_mul(self.largest).saturating_add(items + 1);
        self.largest = self.largest.max(expanded);
        if expanded > MAX_EXPANDED_ITEMS {
            return Err(Failure::new(
                ErrorKind::CompileLimit,
                format!(
                    "its components instantiate each other into {expanded} items; at most {MAX_EXPANDED_ITEMS} are compiled"
                ),
            ));
        }
        Ok(())
    }
}

fn at_most(most: u64, found: u64, what: &str) -> Result<(), Failure> {
    if found <= most {
        return Ok(());
    }
    Err(Failure::new(ErrorKind::LoadLimit, format!("the component has {found} {what}; at most {most} are accepted")))
}

fn bound_name(name: &str) -> Result<(), Failure> {
    if name.len() <= MAX_NAME_BYTES {
        return Ok(());
    }
    let (found, most) = (name.len(), MAX_NAME_BYTES);
    Err(Failure::new(ErrorKind::LoadLimit, format!("a name has {found} bytes; at most {most} are accepted")))
}

fn validate(bytes: &[u8]) -> Result<(), Failure> {
    let Err(why) = Validator::new_with_features(features()).validate_all(bytes) else { return Ok(()) };
    let disabled = || Validator::new_with_features(WasmFeatures::all()).validate_all(bytes).is_ok();
    // The validator has limits of its own, which have only texts.
    let limits = ["string size out of bounds", " exceeds limit of ", " exceeds the limit of "];
    Err(if limits.iter().any(|limit| why.message().contains(limit)) {
        Failure::new(ErrorKind::LoadLimit, format!("the component is too large: {why}"))
    } else if disabled() {
        Failure::new(
            ErrorKind::LoadFeatureDisabled,
            format!("the component uses a WebAssembly feature that is switched off here: {}", why.message()),
        )
        .hint("build it for the plain WebAssembly 2.0 feature set, without GC, threads, 64-bit memory or async (componentize-qjs: `--sync`)")
    } else {
        Failure::new(ErrorKind::LoadMalformed, format!("the component is not valid: {why}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::bundled;

    /// Whoever changes a limit or a weight sees here whether real components still fit: not just, but by far.
    #[test]
    fn the_bundled_verifiers_are_far_below_every_limit() {
        for bundled in bundled::ALL {
            let mut parts = ScanState { bytes: bundled.wasm(), ..ScanState::default() };
            for payload in Parser::new(0).parse_all(bundled.wasm()) {
                parts.add(&payload.expect("valid")).expect("within the limits");
            }
            let adapters = adapters::micros(bundled.wasm(), Validator::new_with_features(features()));
            for (what, found, most, margin) in [
                ("items", parts.items, MAX_ITEMS, 100),
                ("expanded items", parts.largest, MAX_EXPANDED_ITEMS, 1_000),
                ("functions", parts.functions, MAX_FUNCTIONS, 50),
                ("work", parts.work.micros + adapters, work::MAX_WORK, 10),
                ("work of a function", parts.work.largest, work::MAX_FUNCTION_WORK, 2),
                ("adapters", adapters, work::MAX_WORK, 1_000),
                ("spread of locals", parts.work.spread, work::MAX_SPREAD, 30),
                ("chains of locals", parts.work.chained, work::MAX_CHAINED, 10),
                ("declared locals", parts.work.declared, work::MAX_DECLARED, 500),
            ] {
                assert!(found * margin <= most, "{}: {found} of {most} {what}", bundled.name);
            }
        }
    }
}
