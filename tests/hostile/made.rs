//! Components that no text could say, or only at great length.

use crate::asking::json_syntax;
use crate::guests;

/// A1: no bytes at all.
pub(super) fn nothing() -> Vec<u8> {
    Vec::new()
}

/// A1: bytes without a meaning, always the same.
pub(super) fn noise() -> Vec<u8> {
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..512).flat_map(|_| next()).collect()
}

/// A1: the first half of a component.
pub(super) fn half() -> Vec<u8> {
    let whole = json_syntax().wasm;
    whole[..whole.len() / 2].to_vec()
}

/// A1: a component with something behind it.
pub(super) fn too_much() -> Vec<u8> {
    [json_syntax().wasm, b"and more"].concat()
}

/// A2: a core module.
pub(super) fn module() -> Vec<u8> {
    assemble("(module)")
}

/// A2: a component as text.
pub(super) fn text() -> Vec<u8> {
    b"  (component)".to_vec()
}

/// A3: machine code, made from a component.
pub(super) fn precompiled() -> Vec<u8> {
    wasmtime::Engine::default().precompile_component(json_syntax().wasm).expect("compiled")
}

/// A3: machine code, made from a core module.
pub(super) fn precompiled_module() -> Vec<u8> {
    wasmtime::Engine::default().precompile_module(&module()).expect("compiled")
}

/// A5: 200,000 functions.
pub(super) fn many_functions() -> Vec<u8> {
    core(&"(func)".repeat(200_000))
}

/// A5: a function of 7 MB.
pub(super) fn long_function() -> Vec<u8> {
    let twelve_bytes = "i64.const 0x7fffffffffffffff drop ";
    core(&format!("(func {})", twelve_bytes.repeat(600_000)))
}

/// A5: 100,000 blocks inside each other.
pub(super) fn nested_blocks() -> Vec<u8> {
    core(&format!("(func {} {})", "block ".repeat(100_000), "end ".repeat(100_000)))
}

/// A5: 4 KB in which 1,000 locals change in each of 500 loops inside each other, which would take hours.
pub(super) fn meeting_locals() -> Vec<u8> {
    let set: String = (0..1_000).map(|local| format!("i32.const 1 local.set {local} ")).collect();
    let (begin, end) = ("loop ".repeat(500), "local.get 0 br_if 0 end ".repeat(500));
    core(&format!("(func (local {}) {begin} {set} {end})", "i32 ".repeat(1_000)))
}

/// A5: 1,000 blocks that hand 1,000 values to each other, which would take 4 GB.
pub(super) fn wide_blocks() -> Vec<u8> {
    let (wide, values) = ("i32 ".repeat(1_000), "i32.const 0 ".repeat(1_000));
    let blocks = format!("{} {}", "loop (type $wide) ".repeat(1_000), "end ".repeat(1_000));
    core(&format!(
        "(type $wide (func (param {wide}) (result {wide}))) (func {values} {blocks} {})",
        "drop ".repeat(1_000)
    ))
}

/// A5: 1,000 calls with 1,000 values each.
pub(super) fn wide_calls() -> Vec<u8> {
    let (wide, values) = ("i32 ".repeat(1_000), "i32.const 0 ".repeat(1_000));
    let calls = "call $wide ".repeat(1_000);
    core(&format!("(func $wide (param {wide}) (result {wide}) {values} {calls})"))
}

/// A5: 2 KB of components, each of which instantiates the one before it twice: 2^30 instances.
pub(super) fn doubling_instances() -> Vec<u8> {
    let mut text = String::from("(component $root (component $c0)");
    for number in 1..=30 {
        let before = number - 1;
        text += &format!("(component $c{number} (alias outer $root $c{before} (component $it))");
        text += "(instance (instantiate $it)) (instance (instantiate $it)))";
    }
    assemble(&(text + "(instance (instantiate $c30)))"))
}

/// A9: a verifier whose enum `status` begins with `pass`, so that its 0 would be our `fail` and its 1 our `pass`.
pub(super) fn pass_before_fail() -> Vec<u8> {
    let ours = r#"(enum "fail" "pass" "abstain" "not-applicable")"#;
    let text = guests::text("import-env").replace("(import \"launch-missiles\" (func))", "");
    assert!(text.contains(ours), "the contract has changed");
    assemble(&text.replace(ours, r#"(enum "pass" "fail" "abstain" "not-applicable")"#))
}

/// A12: 10,000 imports.
pub(super) fn many_imports() -> Vec<u8> {
    let imports: String = (0..10_000).map(|number| format!("(import \"i{number}\" (func))")).collect();
    assemble(&format!("(component {imports})"))
}

/// A12: a name of 64 KB.
pub(super) fn long_name() -> Vec<u8> {
    assemble(&format!("(component (import \"{}\" (func)))", "a".repeat(64 << 10)))
}

/// A12: a name of 1 MB.
pub(super) fn longer_name() -> Vec<u8> {
    assemble(&format!("(component (import \"{}\" (func)))", "a".repeat(1 << 20)))
}

/// A12: 100 core instances.
pub(super) fn many_instances() -> Vec<u8> {
    assemble(&format!("(component (core module $m) {})", "(core instance (instantiate $m))".repeat(100)))
}

/// A12: a type that is made of two of the type before it: 2^30 parts.
pub(super) fn doubling_types() -> Vec<u8> {
    let types: String = (1..=30).map(|n| format!("(type $t{n} (tuple $t{0} $t{0}))", n - 1)).collect();
    assemble(&format!("(component (type $t0 (tuple u8 u8)) {types})"))
}

/// A component with this core module, which nothing instantiates.
fn core(module: &str) -> Vec<u8> {
    assemble(&format!("(component (core module {module}))"))
}

fn assemble(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("text")
}
