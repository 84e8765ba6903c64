//! Estimates the compile time of the adapters between the inner components of a component.
//!
//! If one component calls another, the engine generates an adapter that copies the values between their memories. Twenty
//! bytes that lower a function with a record of 990 fields become thousands of instructions. Calls of the host need no
//! adapter, but which calls these are is known only after linking, so every lowered function counts.

use std::collections::HashMap;
use wasmparser::component_types::{ComponentDefinedType, ComponentDefinedTypeId, ComponentValType};
use wasmparser::types::TypesRef;
use wasmparser::{CanonicalFunction, ComponentInstance, Encoding, Parser, Payload, Validator};

/// Microseconds per adapter, and per value that it copies; measured on two loaded cores.
const FUNCTION: u64 = 2_000;
const VALUE: u64 = 16;

/// An open component.
#[derive(Default)]
struct AdapterComponent {
    is_component: bool,
    micros: u64,
    instantiations: u64,
}

/// Estimates the microseconds for all adapters of a valid component.
pub(super) fn micros(bytes: &[u8], mut validator: Validator) -> u64 {
    let mut open: Vec<AdapterComponent> = Vec::new();
    let mut sizes = Sizes::default();
    let (mut largest, mut whole) = (0u64, 0u64);
    for payload in Parser::new(0).parse_all(bytes) {
        let Ok(payload) = payload else { break };
        if validator.payload(&payload).is_err() {
            break;
        }
        match &payload {
            Payload::Version { encoding, .. } => {
                open.push(AdapterComponent {
                    is_component: *encoding == Encoding::Component,
                    ..AdapterComponent::default()
                });
            }
            Payload::ComponentCanonicalSection(section) => {
                let (Some(open), Some(types)) = (open.last_mut(), validator.types(0)) else { continue };
                for function in section.clone().into_iter().flatten() {
                    if let CanonicalFunction::Lower { func_index, .. } = function {
                        let values = sizes.function(types, func_index);
                        open.micros = open.micros.saturating_add(values.saturating_mul(VALUE).saturating_add(FUNCTION));
                    }
                }
            }
            Payload::ComponentInstanceSection(section) => {
                let instances = section.clone().into_iter().flatten();
                let instantiated = instances.filter(|it| matches!(it, ComponentInstance::Instantiate { .. })).count();
                if let Some(open) = open.last_mut() {
                    open.instantiations += instantiated as u64;
                }
            }
            Payload::End(_) => {
                let Some(AdapterComponent { is_component: true, micros, instantiations }) = open.pop() else {
                    continue;
                };
                // Each instance is generated again: at worst, the largest each time.
                whole = instantiations.saturating_mul(largest).saturating_add(micros);
                largest = largest.max(whole);
            }
            _ => {}
        }
    }
    whole
}

/// The number of values in each type, including nested ones.
#[derive(Default)]
struct Sizes(HashMap<ComponentDefinedTypeId, u64>);

impl Sizes {
    fn function(&mut self, types: TypesRef<'_>, index: u32) -> u64 {
        let function = &types[types.component_function_at(index)];
        let values = function.params.iter().map(|(_, ty)| ty).chain(&function.result);
        values.fold(0, |sum: u64, ty| sum.saturating_add(self.value(types, ty)))
    }

    /// Returns the number of values in a type. The validator bounds how deeply types are nested.
    fn value(&mut self, types: TypesRef<'_>, ty: &ComponentValType) -> u64 {
        let id = match ty {
            ComponentValType::Primitive(_) => return 1,
            ComponentValType::Type(id) => *id,
        };
        if let Some(known) = self.0.get(&id) {
            return *known;
        }
        let mut sum = |parts: &mut dyn Iterator<Item = &ComponentValType>| {
            parts.fold(1, |sum: u64, ty| sum.saturating_add(self.value(types, ty)))
        };
        let size = match &types[id] {
            ComponentDefinedType::Record(record) => sum(&mut record.fields.values()),
            ComponentDefinedType::Variant(variant) => {
                sum(&mut variant.cases.values().filter_map(|case| case.ty.as_ref())) + variant.cases.len() as u64
            }
            ComponentDefinedType::Tuple(tuple) => sum(&mut tuple.types.iter()),
            ComponentDefinedType::List { element, .. } => sum(&mut [element].into_iter()),
            ComponentDefinedType::FixedLengthList { element, length, .. } => {
                sum(&mut [element].into_iter()).saturating_mul(u64::from(*length))
            }
            ComponentDefinedType::Map { key, value, .. } => sum(&mut [key, value].into_iter()),
            ComponentDefinedType::Option { ty, .. } => sum(&mut [ty].into_iter()),
            ComponentDefinedType::Result { ok, err, .. } => sum(&mut ok.iter().chain(err)),
            ComponentDefinedType::Flags(names) => 1 + names.len() as u64 / 32,
            _ => 1,
        };
        self.0.insert(id, size);
        size
    }
}
