//! A look at a component's bytes before they are compiled: is it one, is it small enough, what does it want?
//!
//! Compiling has no time limit of its own, so everything that could make it long is bounded here first.

use crate::verdict::{ErrorKind, Failure};
use wasmparser::{Operator, Parser, Payload, Validator, WasmFeatures};

/// The largest component that is read at all. Python's runtime makes components of 18 MB.
pub(super) const MAX_COMPONENT_BYTES: u64 = 64 << 20;
/// The most functions in all modules of a component.
const MAX_FUNCTIONS: u64 = 200_000 - 1;
/// The largest body of one function.
const MAX_FUNCTION_BYTES: usize = 1 << 20;
/// The deepest nesting of blocks in one function.
const MAX_BLOCK_DEPTH: u32 = 5_000;
/// The most imports, exports, types, instances and aliases together.
const MAX_ITEMS: u64 = 100_000;
/// The most imports of the component itself.
const MAX_IMPORTS: u32 = 1_000;
/// The longest name of an import or an export.
const MAX_NAME_BYTES: usize = 4 << 10;

/// What wasmtime would accept under `super::config`.
fn features() -> WasmFeatures {
    WasmFeatures::WASM2 | WasmFeatures::COMPONENT_MODEL | WasmFeatures::EXTENDED_CONST
}

/// Look whether these bytes are a component that may be compiled.
pub(super) fn scan(bytes: &[u8]) -> Result<(), Failure> {
    recognise(bytes)?;
    bound(bytes)?;
    validate(bytes)
}

fn recognise(bytes: &[u8]) -> Result<(), Failure> {
    if wasmtime::Engine::detect_precompiled(bytes).is_some() {
        return Err(Failure::new(
            ErrorKind::LoadPrecompiledRefused,
            "this is precompiled machine code, which is never loaded from outside",
        )
        .hint("use the component (.wasm) that it was made from"));
    }
    if Parser::is_component(bytes) {
        return Ok(());
    }
    let not_component = |what: &str, hint: &str| Err(Failure::new(ErrorKind::LoadNotComponent, what).hint(hint));
    if Parser::is_core_wasm(bytes) {
        return not_component(
            "this is a core WebAssembly module; expected a component",
            "build for `wasm32-wasip2`, or turn the module into a component with `wasm-tools component new`",
        );
    }
    if bytes.trim_ascii_start().starts_with(b"(") {
        return not_component(
            "this is WebAssembly text; expected a binary component",
            "turn it into a binary with `wasm-tools parse`",
        );
    }
    Err(Failure::new(ErrorKind::LoadMalformed, "this is not WebAssembly"))
}

/// Count before anything is compiled. Errors of the format itself are left to `validate`, which words them better.
fn bound(bytes: &[u8]) -> Result<(), Failure> {
    let mut functions = 0u64;
    let mut items = 0u64;
    let mut depth_of_components = 0u32;
    for payload in Parser::new(0).parse_all(bytes) {
        let Ok(payload) = payload else { return Ok(()) };
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth_of_components += 1,
            Payload::End(_) => depth_of_components = depth_of_components.saturating_sub(1),
            Payload::ComponentImportSection(section) => {
                items += u64::from(section.count());
                if depth_of_components == 0 && section.count() > MAX_IMPORTS {
                    return Err(too_many("imports", section.count().into(), MAX_IMPORTS.into()));
                }
                for import in section.into_iter().flatten() {
                    bound_name(import.name.name)?;
                }
            }
            Payload::ComponentExportSection(section) => {
                items += u64::from(section.count());
                for export in section.into_iter().flatten() {
                    bound_name(export.name.name)?;
                }
            }
            Payload::ImportSection(section) => {
                items += u64::from(section.count());
                for import in section.into_imports().flatten() {
                    bound_name(import.module)?;
                    bound_name(import.name)?;
                }
            }
            Payload::ExportSection(section) => {
                items += u64::from(section.count());
                for export in section.into_iter().flatten() {
                    bound_name(export.name)?;
                }
            }
            Payload::TypeSection(section) => items += u64::from(section.count()),
            Payload::CoreTypeSection(section) => items += u64::from(section.count()),
            Payload::ComponentTypeSection(section) => items += u64::from(section.count()),
            Payload::ComponentAliasSection(section) => items += u64::from(section.count()),
            Payload::ComponentInstanceSection(section) => items += u64::from(section.count()),
            Payload::InstanceSection(section) => items += u64::from(section.count()),
            Payload::ComponentCanonicalSection(section) => items += u64::from(section.count()),
            Payload::GlobalSection(section) => items += u64::from(section.count()),
            Payload::FunctionSection(section) => {
                functions += u64::from(section.count());
                if functions > MAX_FUNCTIONS {
                    return Err(Failure::new(
                        ErrorKind::CompileLimit,
                        format!(
                            "the component has {functions} functions or more; at most {MAX_FUNCTIONS} are compiled"
                        ),
                    ));
                }
            }
            Payload::CodeSectionEntry(body) => bound_body(&body)?,
            _ => {}
        }
        if items > MAX_ITEMS {
            return Err(too_many("imports, exports and types", items, MAX_ITEMS));
        }
    }
    Ok(())
}

fn too_many(what: &str, found: u64, most: u64) -> Failure {
    Failure::new(ErrorKind::LoadLimit, format!("the component has {found} {what}; at most {most} are accepted"))
}

fn bound_name(name: &str) -> Result<(), Failure> {
    if name.len() <= MAX_NAME_BYTES {
        return Ok(());
    }
    let (found, most) = (name.len(), MAX_NAME_BYTES);
    Err(Failure::new(ErrorKind::LoadLimit, format!("a name of {found} bytes; at most {most} are accepted")))
}

fn bound_body(body: &wasmparser::FunctionBody<'_>) -> Result<(), Failure> {
    let limit = |message: String| Err(Failure::new(ErrorKind::CompileLimit, message));
    let size = body.range().len();
    if size > MAX_FUNCTION_BYTES {
        return limit(format!("a function of {size} bytes; at most {MAX_FUNCTION_BYTES} are compiled"));
    }
    let Ok(mut operators) = body.get_operators_reader() else { return Ok(()) };
    let mut depth = 0u32;
    while !operators.eof() {
        match operators.read() {
            Ok(Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. }) => depth += 1,
            Ok(Operator::End) => depth = depth.saturating_sub(1),
            Ok(_) => {}
            Err(_) => return Ok(()),
        }
        if depth > MAX_BLOCK_DEPTH {
            return limit(format!("blocks nested more than {MAX_BLOCK_DEPTH} deep"));
        }
    }
    Ok(())
}

fn validate(bytes: &[u8]) -> Result<(), Failure> {
    let Err(why) = Validator::new_with_features(features()).validate_all(bytes) else { return Ok(()) };
    let disabled = Validator::new_with_features(WasmFeatures::all()).validate_all(bytes).is_ok();
    Err(if disabled {
        Failure::new(
            ErrorKind::LoadFeatureDisabled,
            format!("the component uses a WebAssembly feature that is switched off here: {}", why.message()),
        )
        .hint("build it for the plain WebAssembly 2.0 feature set, without GC, threads, 64-bit memory or async")
    } else {
        Failure::new(ErrorKind::LoadMalformed, format!("the component is not valid: {why}"))
    })
}
