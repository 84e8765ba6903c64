//! Asks a component what it says of itself, so that a run need not load what it does not use.

use wasmtime::component::{Component, Linker, Val};
use wasmtime::{Engine, Store};

const ABOUT: &str = "gatehost:verifier/about@0.1.0";

/// The fields `description`, `imports` and `exports` of a `Bundled`, as Rust. `code` was compiled by this engine.
pub(crate) fn describe(engine: &Engine, name: &str, code: &[u8]) -> String {
    let (about, imports, exports) = ask(engine, code);
    let field = |field: &str| {
        let found = about.iter().find(|(name, _)| name == field);
        found.map(|(_, value)| value).unwrap_or_else(|| panic!("{name} does not describe its {field}"))
    };
    let list = |name: &str| match field(name) {
        Val::List(values) => values.clone(),
        other => panic!("{name} is described as {other:?}"),
    };
    assert_eq!(string(field("name")), name, "a bundled verifier has the name of its package");
    let files: Vec<String> = list("files").iter().map(string).collect();
    let rules: Vec<_> = list("rules").iter().map(rule).collect();
    format!(
        "description: Text {{ version: {:?}, summary: {:?}, files: &{files:?}, settings_schema: {:?}, rules: &{rules:?}, \
         url: {:?} }}, imports: &{imports:?}, exports: &{exports:?}",
        string(field("version")),
        string(field("summary")),
        string(field("settings-schema")),
        string(field("url")),
    )
}

/// A rule of a description: code, level, summary, help, address.
fn rule(rule: &Val) -> (String, String, String, String, String) {
    let Val::Record(fields) = rule else { panic!("a rule is described as {rule:?}") };
    let field = |name: &str| match fields.iter().find(|(field, _)| field == name) {
        Some((_, value)) => string(value),
        None => panic!("a rule has no {name}"),
    };
    (field("code"), field("level"), field("summary"), field("help"), field("url"))
}

/// A text; nothing where there is none.
fn string(value: &Val) -> String {
    match value {
        Val::String(text) | Val::Enum(text) => text.clone(),
        Val::Option(None) => String::new(),
        Val::Option(Some(text)) => string(text),
        other => panic!("expected text, found {other:?}"),
    }
}

/// The description, the imports and the exports. The component gets nothing: whatever it imports traps.
fn ask(engine: &Engine, code: &[u8]) -> (Vec<(String, Val)>, Vec<String>, Vec<String>) {
    #[expect(unsafe_code, reason = "machine code that this build made a moment ago")]
    // SAFETY: the bytes come from `precompile_component` of this very engine.
    let component = unsafe { Component::deserialize(engine, code) }.unwrap();
    let types = component.component_type();
    let imports = types.imports(engine).map(|(name, _)| name.to_owned()).collect();
    let exports = types.exports(engine).map(|(name, _)| name.to_owned()).collect();
    let mut linker = Linker::new(engine);
    linker.define_unknown_imports_as_traps(&component).unwrap();
    let mut store = Store::new(engine, ());
    store.set_epoch_deadline(u64::MAX / 2);
    let instance = linker.instantiate(&mut store, &component).unwrap();
    let interface = instance.get_export_index(&mut store, None, ABOUT).expect("exports `about`");
    let function = instance.get_export_index(&mut store, Some(&interface), "describe").expect("exports `describe`");
    let mut results = [Val::Bool(false)];
    instance.get_func(&mut store, function).unwrap().call(&mut store, &[], &mut results).unwrap();
    match results {
        [Val::Record(fields)] => (fields, imports, exports),
        other => panic!("describes itself as {other:?}"),
    }
}
