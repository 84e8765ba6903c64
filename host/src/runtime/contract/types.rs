//! Types, as far as they matter for a comparison: from WIT text, or from a component.

use wasmtime::component::types::{ComponentFunc, Type};
use wit_parser::{Handle, Resolve, TypeDefKind};

/// The type of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Func {
    pub(super) params: Vec<(String, Ty)>,
    pub(super) result: Option<Ty>,
}

/// A type by its structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    /// A type without parts.
    Plain(&'static str),
    List(Box<Ty>),
    Option(Box<Ty>),
    Result(Option<Box<Ty>>, Option<Box<Ty>>),
    Tuple(Vec<Ty>),
    Record(Vec<(String, Ty)>),
    Variant(Vec<(String, Option<Ty>)>),
    Enum(Vec<String>),
    Flags(Vec<String>),
}

impl Func {
    /// Returns the type of a function of a component.
    pub(crate) fn of_component(function: &ComponentFunc) -> Self {
        let params = function.params().map(|(name, ty)| (name.to_owned(), Ty::of_component(&ty)));
        Self { params: params.collect(), result: function.results().next().map(|ty| Ty::of_component(&ty)) }
    }

    pub(super) fn of_wit(resolve: &Resolve, function: &wit_parser::Function) -> Self {
        let params = function.params.iter().map(|param| (param.name.clone(), Ty::of_wit(resolve, &param.ty)));
        Self { params: params.collect(), result: function.result.as_ref().map(|ty| Ty::of_wit(resolve, ty)) }
    }
}

impl Ty {
    fn of_component(ty: &Type) -> Self {
        let boxed = |ty: Type| Box::new(Self::of_component(&ty));
        match ty {
            Type::Bool => Self::Plain("bool"),
            Type::S8 => Self::Plain("s8"),
            Type::U8 => Self::Plain("u8"),
            Type::S16 => Self::Plain("s16"),
            Type::U16 => Self::Plain("u16"),
            Type::S32 => Self::Plain("s32"),
            Type::U32 => Self::Plain("u32"),
            Type::S64 => Self::Plain("s64"),
            Type::U64 => Self::Plain("u64"),
            Type::Float32 => Self::Plain("f32"),
            Type::Float64 => Self::Plain("f64"),
            Type::Char => Self::Plain("char"),
            Type::String => Self::Plain("string"),
            Type::List(list) => Self::List(boxed(list.ty())),
            Type::Option(option) => Self::Option(boxed(option.ty())),
            Type::Result(result) => Self::Result(result.ok().map(boxed), result.err().map(boxed)),
            Type::Tuple(tuple) => Self::Tuple(tuple.types().map(|ty| Self::of_component(&ty)).collect()),
            Type::Record(record) => {
                let field = |name: &str, ty: &Type| (name.to_owned(), Self::of_component(ty));
                Self::Record(record.fields().map(|it| field(it.name, &it.ty)).collect())
            }
            Type::Variant(variant) => {
                let case = |name: &str, ty: Option<Type>| (name.to_owned(), ty.map(|ty| Self::of_component(&ty)));
                Self::Variant(variant.cases().map(|it| case(it.name, it.ty)).collect())
            }
            Type::Enum(names) => Self::Enum(names.names().map(str::to_owned).collect()),
            Type::Flags(names) => Self::Flags(names.names().map(str::to_owned).collect()),
            Type::Own(_) => Self::Plain("own<resource>"),
            Type::Borrow(_) => Self::Plain("borrow<resource>"),
            Type::Map(_) => Self::Plain("map"),
            Type::Future(_) => Self::Plain("future"),
            Type::Stream(_) => Self::Plain("stream"),
            Type::ErrorContext => Self::Plain("error-context"),
            Type::FixedLengthList(_) => Self::Plain("list of a fixed length"),
        }
    }

    pub(super) fn of_wit(resolve: &Resolve, ty: &wit_parser::Type) -> Self {
        use wit_parser::Type as Wit;
        let id = match ty {
            Wit::Bool => return Self::Plain("bool"),
            Wit::U8 => return Self::Plain("u8"),
            Wit::U16 => return Self::Plain("u16"),
            Wit::U32 => return Self::Plain("u32"),
            Wit::U64 => return Self::Plain("u64"),
            Wit::S8 => return Self::Plain("s8"),
            Wit::S16 => return Self::Plain("s16"),
            Wit::S32 => return Self::Plain("s32"),
            Wit::S64 => return Self::Plain("s64"),
            Wit::F32 => return Self::Plain("f32"),
            Wit::F64 => return Self::Plain("f64"),
            Wit::Char => return Self::Plain("char"),
            Wit::String => return Self::Plain("string"),
            Wit::ErrorContext => return Self::Plain("error-context"),
            Wit::Id(id) => *id,
        };
        let of = |ty: &Wit| Self::of_wit(resolve, ty);
        let boxed = |ty: &Wit| Box::new(of(ty));
        match &resolve.types[id].kind {
            TypeDefKind::Type(other) => of(other),
            TypeDefKind::List(ty) => Self::List(boxed(ty)),
            TypeDefKind::Option(ty) => Self::Option(boxed(ty)),
            TypeDefKind::Result(result) => Self::Result(result.ok.as_ref().map(boxed), result.err.as_ref().map(boxed)),
            TypeDefKind::Tuple(tuple) => Self::Tuple(tuple.types.iter().map(of).collect()),
            TypeDefKind::Record(record) => {
                Self::Record(record.fields.iter().map(|field| (field.name.clone(), of(&field.ty))).collect())
            }
            TypeDefKind::Variant(variant) => {
                let case = |case: &wit_parser::Case| (case.name.clone(), case.ty.as_ref().map(of));
                Self::Variant(variant.cases.iter().map(case).collect())
            }
            TypeDefKind::Enum(names) => Self::Enum(names.cases.iter().map(|case| case.name.clone()).collect()),
            TypeDefKind::Flags(names) => Self::Flags(names.flags.iter().map(|flag| flag.name.clone()).collect()),
            TypeDefKind::Handle(Handle::Own(_)) | TypeDefKind::Resource => Self::Plain("own<resource>"),
            TypeDefKind::Handle(Handle::Borrow(_)) => Self::Plain("borrow<resource>"),
            TypeDefKind::Map(..) => Self::Plain("map"),
            TypeDefKind::Future(_) => Self::Plain("future"),
            TypeDefKind::Stream(_) => Self::Plain("stream"),
            TypeDefKind::FixedLengthList(..) => Self::Plain("list of a fixed length"),
            TypeDefKind::Unknown => Self::Plain("unknown"),
        }
    }

    /// Renders the type up to this depth; `part` renders its parts.
    pub(super) fn show(&self, depth: usize, part: &dyn Fn(&Ty, usize) -> String) -> String {
        let below = |ty: &Ty| part(ty, depth.saturating_sub(1));
        let all = |word: &str, parts: Vec<String>| match depth {
            0 => format!("{word} {{ … }}"),
            _ => format!("{word} {{ {} }}", parts.join(", ")),
        };
        match self {
            Self::Plain(name) => (*name).to_owned(),
            Self::List(ty) => format!("list<{}>", part(ty, depth)),
            Self::Option(ty) => format!("option<{}>", part(ty, depth)),
            Self::Result(None, None) => "result".to_owned(),
            Self::Result(Some(ok), None) => format!("result<{}>", part(ok, depth)),
            Self::Result(ok, Some(err)) => {
                let ok = ok.as_ref().map_or("_".to_owned(), |ok| part(ok, depth));
                format!("result<{ok}, {}>", part(err, depth))
            }
            Self::Tuple(types) => {
                format!("tuple<{}>", types.iter().map(|ty| part(ty, depth)).collect::<Vec<_>>().join(", "))
            }
            Self::Record(fields) => {
                all("record", fields.iter().map(|(name, ty)| format!("{name}: {}", below(ty))).collect())
            }
            Self::Variant(cases) => {
                let case = |(name, ty): &(String, Option<Ty>)| match ty {
                    Some(ty) => format!("{name}({})", below(ty)),
                    None => name.clone(),
                };
                all("variant", cases.iter().map(case).collect())
            }
            Self::Enum(names) => all("enum", names.clone()),
            Self::Flags(names) => all("flags", names.clone()),
        }
    }
}
