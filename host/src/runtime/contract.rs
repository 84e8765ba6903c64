//! The functions and types of the contract, read from `wit/`, to describe how a component differs from them.
//!
//! Only for messages: wasmtime decides whether a component fits, by the bindings from the same files. This is read only if
//! it does not fit.

mod difference;
mod types;

pub(super) use types::Func;

use std::collections::BTreeMap;
use types::Ty;
use wit_parser::{Resolve, SourceMap, TypeOwner};

/// The files of `wit/`, with their names.
pub const WIT: &[(&str, &str)] = &[
    ("about.wit", include_str!("../../../wit/about.wit")),
    ("commands.wit", include_str!("../../../wit/commands.wit")),
    ("file-verifier.wit", include_str!("../../../wit/file-verifier.wit")),
    ("log.wit", include_str!("../../../wit/log.wit")),
    ("models.wit", include_str!("../../../wit/models.wit")),
    ("submission-verifier.wit", include_str!("../../../wit/submission-verifier.wit")),
    ("submission.wit", include_str!("../../../wit/submission.wit")),
    ("types.wit", include_str!("../../../wit/types.wit")),
    ("workspace.wit", include_str!("../../../wit/workspace.wit")),
    ("worlds.wit", include_str!("../../../wit/worlds.wit")),
];

/// The contract.
#[derive(Default)]
pub(super) struct Contract {
    /// The functions of each interface, by their names in it.
    interfaces: BTreeMap<String, BTreeMap<String, Func>>,
    /// The types, with their names.
    named: Vec<(String, Ty)>,
}

/// How a function differs from that of the contract.
pub(super) struct FunctionDifference {
    /// The place and kind of the difference.
    pub(super) what: String,
    /// The function of the contract.
    pub(super) expected: String,
    /// The function of the component.
    pub(super) found: String,
}

impl Contract {
    /// Reads the contract. It is part of this program, and a test reads it; if it ever cannot be read, it is empty.
    pub(super) fn read() -> Self {
        Self::try_read().unwrap_or_default()
    }

    fn try_read() -> Option<Self> {
        let mut map = SourceMap::default();
        for (name, text) in WIT {
            map.push_str(name, *text);
        }
        let mut resolve = Resolve::default();
        let package = resolve.push_group(map.parse().ok()?).ok()?;
        let mut contract = Self::default();
        for (name, id) in &resolve.packages[package].interfaces {
            let functions = &resolve.interfaces[*id].functions;
            let functions = functions.iter().map(|(name, function)| (name.clone(), Func::of_wit(&resolve, function)));
            contract.interfaces.insert(name.clone(), functions.collect());
        }
        for (id, definition) in resolve.types.iter() {
            if let (Some(name), TypeOwner::Interface(_)) = (&definition.name, definition.owner) {
                contract.named.push((name.clone(), Ty::of_wit(&resolve, &wit_parser::Type::Id(id))));
            }
        }
        Some(contract)
    }

    /// Returns the names of the functions of an interface.
    pub(super) fn functions(&self, interface: &str) -> Vec<&str> {
        self.interfaces.get(interface).into_iter().flatten().map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the signature of a function in WIT.
    pub(super) fn signature(&self, interface: &str, function: &str) -> Option<String> {
        Some(self.show(function, self.interfaces.get(interface)?.get(function)?))
    }

    /// Returns how a function of this name differs from the contract's.
    pub(super) fn differs(&self, interface: &str, function: &str, found: &Func) -> Option<FunctionDifference> {
        let expected = self.interfaces.get(interface)?.get(function)?;
        let what = difference::of_functions(expected, found, &|ty| self.type_text(ty, 1))?;
        Some(FunctionDifference { what, expected: self.show(function, expected), found: self.show(function, found) })
    }

    fn show(&self, name: &str, function: &Func) -> String {
        let params: Vec<String> =
            function.params.iter().map(|(name, ty)| format!("{name}: {}", self.type_text(ty, 2))).collect();
        let result = function.result.as_ref().map_or(String::new(), |ty| format!(" -> {}", self.type_text(ty, 2)));
        format!("{name}: func({}){result}", params.join(", "))
    }

    /// Returns the name of a type of the contract; for any other type, its definition up to this depth.
    fn type_text(&self, ty: &Ty, depth: usize) -> String {
        match self.named.iter().find(|(_, named)| named == ty) {
            Some((name, _)) => name.clone(),
            None => ty.show(depth, &|ty, depth| self.type_text(ty, depth)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_can_be_read() {
        let contract = Contract::try_read().expect("readable");
        let signature = |interface, function| contract.signature(interface, function).expect("a function");
        assert_eq!(signature("file-verifier", "check"), "check: func(file: file, settings: string) -> verdict");
        assert_eq!(signature("about", "describe"), "describe: func() -> description");
        assert_eq!(signature("commands", "run"), "run: func(name: string) -> result<list<output>, error>");
        assert_eq!(contract.functions("workspace"), ["list", "read", "read-range", "stat"]);
    }

    #[test]
    fn every_file_of_the_contract_is_here() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .expect("the contract")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .filter(|name| name.ends_with(".wit"))
            .collect();
        names.sort();
        assert_eq!(WIT.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
    }
}
