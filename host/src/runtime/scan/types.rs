//! Counts the declarations of component types, and their nesting, without recursion.
//!
//! The parser and the validator recurse into nested types, and 9 KB of nested instance types would overflow the stack of the
//! host. So these are counted first.

use wasmparser::{
    BinaryReader, ComponentAlias, ComponentDefinedType, ComponentImport, ComponentType, CoreType, Result,
};

/// The deepest nesting of component and instance types. Those of the bundled verifiers and of the runtimes of Python and
/// JavaScript are nested 1 deep; a package of WIT that is encoded as a component, 3.
pub(super) const MAX_DEPTH: usize = 64;

/// The result of counting a type section.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// The number of declarations, fields, cases and parameters.
    Items(u64),
    /// The types are nested too deeply.
    TooDeep,
}

/// Counts the declarations of a component type section. An error is a format error.
pub(super) fn count(section: &[u8], offset: usize) -> Result<Counted> {
    let mut reader = BinaryReader::new(section, offset);
    // The declarations still to read of each open type; the section itself is the outermost.
    let mut open = vec![reader.read_var_u32()?];
    let mut items = 0u64;
    while let Some(left) = open.last_mut() {
        if *left == 0 {
            open.pop();
            continue;
        }
        *left -= 1;
        items += 1;
        // A section contains only types; in a type, each declaration says what it is.
        let kind = if open.len() == 1 { 0x01 } else { reader.read_u8()? };
        match kind {
            0x00 => items += of_core(&reader.read()?),
            0x01 => match begins(&mut reader)? {
                Some(count) if open.len() <= MAX_DEPTH => open.push(count),
                Some(_) => return Ok(Counted::TooDeep),
                None => items += of_type(&reader.read()?),
            },
            0x02 => {
                let _: ComponentAlias<'_> = reader.read()?;
            }
            // An import or an export: a name and a reference to an earlier declaration. Anything else is an error.
            _ => {
                let _: ComponentImport<'_> = reader.read()?;
            }
        }
    }
    Ok(Counted::Items(items))
}

/// Returns the number of declarations if a component or instance type comes next, and consumes its header.
fn begins(reader: &mut BinaryReader<'_>) -> Result<Option<u32>> {
    let mut ahead = reader.clone();
    if !matches!(ahead.read_u8()?, 0x41 | 0x42) {
        return Ok(None);
    }
    let count = ahead.read_var_u32()?;
    *reader = ahead;
    Ok(Some(count))
}

/// Returns the fields, cases and parameters of a type that has no types inside.
fn of_type(ty: &ComponentType<'_>) -> u64 {
    let count = match ty {
        ComponentType::Defined(defined) => match defined {
            ComponentDefinedType::Record(fields) => fields.len(),
            ComponentDefinedType::Variant(cases) => cases.len(),
            ComponentDefinedType::Tuple(types) => types.len(),
            ComponentDefinedType::Flags(names) | ComponentDefinedType::Enum(names) => names.len(),
            _ => 0,
        },
        ComponentType::Func(function) => function.params.len(),
        _ => 0,
    };
    count as u64
}

/// Returns the declarations of the type of a core module, which has no other inside.
pub(super) fn of_core(ty: &CoreType<'_>) -> u64 {
    if let CoreType::Module(declarations) = ty { declarations.len() as u64 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmparser::{Parser, Payload};

    /// Counts the types of a component, and checks that the parser reads each section to the same end.
    fn counted(text: &str) -> Vec<Counted> {
        let bytes = wat::parse_str(text).expect("text");
        let sections = Parser::new(0).parse_all(&bytes).map(|payload| payload.expect("valid"));
        let counted = sections.filter_map(|payload| match payload {
            Payload::ComponentTypeSection(section) => {
                let range = section.range();
                assert!(section.into_iter().all(|ty| ty.is_ok()));
                Some(count(&bytes[range.clone()], range.start).expect("counted"))
            }
            _ => None,
        });
        counted.collect()
    }

    #[test]
    fn every_kind_of_declaration_is_counted() {
        let text = r#"(component
            (type $r (record (field "a" u8) (field "b" string)))
            (type (component
                (alias outer 1 $r (type $r2))
                (core type (module (import "a" "b" (func)) (export "c" (func))))
                (type $e (enum "a" "b" "c"))
                (import "e" (type $e2 (eq $e)))
                (import "f" (func (param "x" $e2) (param "y" $r2) (result u8)))
                (export "i" (instance (type (tuple u8 u8)) (export "r" (type (sub resource)))))))
        )"#;
        // The record and its 2 fields; the component type; an alias; the module type with 4 declarations, since each
        // function has a type; an enum of 3; 2 imports, the second with a type of 2 parameters; an export of an instance
        // type of 2 declarations, the first with 2 parts.
        let total: u64 = counted(text).iter().map(|it| if let Counted::Items(items) = it { *items } else { 0 }).sum();
        assert_eq!(total, 3 + 1 + 1 + 5 + 4 + 1 + (1 + 3) + (1 + 1 + 4));
    }

    #[test]
    fn what_is_too_deep_is_not_read() {
        // A section with one type: an instance type with one declaration, which is a type, and so on.
        let nested = |depth: usize| [&[0x01][..], &[0x42, 0x01, 0x01].repeat(depth - 1), &[0x42, 0x00]].concat();
        assert_eq!(count(&nested(MAX_DEPTH), 0).expect("read"), Counted::Items(MAX_DEPTH as u64));
        assert_eq!(count(&nested(MAX_DEPTH + 1), 0).expect("read"), Counted::TooDeep);
        assert_eq!(count(&nested(1_000_000), 0).expect("read"), Counted::TooDeep);
        assert!(count(&nested(3)[..5], 0).is_err());
    }
}
