//! Explains to the author of a component why it does not fit the contract.

use super::capability::Grants;
use super::component_type::ComponentType;
use super::contract::{Contract, Func, FunctionDifference};
use super::{ComponentSource, Runtime};
use crate::verdict::{ErrorKind, Failure};
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::{ComponentFunc, ComponentItem};

impl Runtime {
    /// Returns every difference between the type of a component and the contract. Grants are ignored.
    pub fn contract_differences(&self, source: &ComponentSource) -> Vec<Failure> {
        let component = match self.component(source) {
            Ok(component) => component,
            Err(failure) => return vec![failure],
        };
        let component_type = self.component_type(&component);
        let mut differences = component_type.refusals(&Grants::everything());
        differences.extend(component_type.shape().err().filter(|_| !component_type.is_program()));
        let contract = Contract::read();
        differences.extend(exports(&contract, &component));
        differences.extend(imports(&contract, &component));
        // A wrong version is reported once, not for every name.
        differences.dedup();
        differences
    }
}

/// Returns a failure for an exported function with another type.
pub(super) fn wrong_type(interface: &str, function: &str, found: &ComponentFunc, why: &wasmtime::Error) -> Failure {
    let contract = Contract::read();
    let name = ComponentType::interface(interface).unwrap_or(interface);
    match contract.differs(name, function, &Func::of_component(found)) {
        Some(differs) => mismatch(interface, function, &differs),
        // Wasmtime sees more than the structure.
        None => Failure::new(
            ErrorKind::LinkWorldMismatch,
            format!("the type of `{function}` in `{interface}` differs from the contract: {why:#}"),
        ),
    }
}

/// Returns a failure for an exported interface that lacks a function.
pub(super) fn no_function(interface: &str, function: &str) -> Failure {
    let failure = Failure::new(
        ErrorKind::LinkWorldMismatch,
        format!("`{interface}` is exported without its function `{function}`"),
    );
    let name = ComponentType::interface(interface).unwrap_or(interface);
    match Contract::read().signature(name, function) {
        Some(signature) => failure.hint(format!("expected `{signature}`")),
        None => failure,
    }
}

/// Returns the first import that the contract does not have, or has with another type.
pub(super) fn import(component: &Component) -> Option<Failure> {
    imports(&Contract::read(), component).into_iter().next()
}

fn mismatch(
    interface: &str,
    function: &str,
    FunctionDifference { what, expected, found }: &FunctionDifference,
) -> Failure {
    Failure::new(
        ErrorKind::LinkWorldMismatch,
        format!("the type of `{function}` in `{interface}` differs from the contract: {what}"),
    )
    .hint(format!("expected `{expected}`, found `{found}`"))
}

/// Returns the functions of an imported or exported interface of the contract, by name.
fn functions(engine: &Engine, item: ComponentItem) -> Vec<(String, Func)> {
    let ComponentItem::ComponentInstance(instance) = item else { return Vec::new() };
    let function = |item: ComponentItem| match item {
        ComponentItem::ComponentFunc(function) => Some(Func::of_component(&function)),
        _ => None,
    };
    instance.exports(engine).filter_map(|(name, item)| Some((name.to_owned(), function(item.ty)?))).collect()
}

fn exports(contract: &Contract, component: &Component) -> Vec<Failure> {
    let engine = component.engine();
    let mut differences = Vec::new();
    for (name, item) in component.component_type().exports(engine) {
        let Some(interface) = ComponentType::interface(name) else { continue };
        let found = functions(engine, item.ty);
        for function in contract.functions(interface) {
            match found.iter().find(|(name, _)| name == function) {
                None => differences.push(no_function(name, function)),
                Some((_, found)) => {
                    let differs = contract.differs(interface, function, found);
                    differences.extend(differs.map(|differs| mismatch(name, function, &differs)));
                }
            }
        }
    }
    differences
}

fn imports(contract: &Contract, component: &Component) -> Vec<Failure> {
    let engine = component.engine();
    let mut differences = Vec::new();
    for (name, item) in component.component_type().imports(engine) {
        let Some(interface) = ComponentType::interface(name) else { continue };
        let known = contract.functions(interface);
        // An interface that is not in the contract is refused by its name.
        if known.is_empty() {
            continue;
        }
        for (function, found) in functions(engine, item.ty) {
            let refused = |what: String| Failure::new(ErrorKind::LinkUnknownImport, what);
            if !known.contains(&&*function) {
                let what = format!("the component imports `{function}` from `{name}`, which has no such function");
                differences.push(refused(what).hint(format!("it has {}", list(&known))));
            } else if let Some(differs) = contract.differs(interface, &function, &found) {
                let FunctionDifference { what, expected, found } = differs;
                let what = format!("the component imports `{function}` from `{name}` with a different type: {what}");
                differences.push(refused(what).hint(format!("expected `{expected}`, found `{found}`")));
            }
        }
    }
    differences
}

fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
