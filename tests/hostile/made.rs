//! Components that cannot be written as text, or only at great length.

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
    let whole = json_syntax().wasm();
    whole[..whole.len() / 2].to_vec()
}

/// A1: a component with something behind it.
pub(super) fn too_much() -> Vec<u8> {
    [json_syntax().wasm(), b"and more"].concat()
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
    wasmtime::Engine::default().precompile_component(json_syntax().wasm()).expect("compiled")
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

/// A5: 11 KB in which 2,000 locals are read in 500 loops inside each other.
pub(super) fn read_in_loops() -> Vec<u8> {
    let (begin, end) = ("loop ".repeat(500), "local.get 0 br_if 0 end ".repeat(500));
    core(&format!("(func (local {}) {begin} {} {end})", "i32 ".repeat(2_000), reads(2_000)))
}

/// A5: 20,000 locals that are read after 20,000 branches, which would take 26 GB.
pub(super) fn read_after_branches() -> Vec<u8> {
    let branches = "local.get 0 if nop end ".repeat(20_000);
    core(&format!("(func (local {}) {branches} {})", "i32 ".repeat(20_000), reads(20_000)))
}

/// A5: 33 KB in which 1,000 locals are set three times each, behind branches, and then read: half a minute.
pub(super) fn set_behind_branches() -> Vec<u8> {
    let set = |number: usize| format!("local.get 0 if i32.const 1 local.set {} end ", number % 1_000);
    let branches: String = (0..3_000).map(set).collect();
    core(&format!("(func (local {}) {branches} {})", "i32 ".repeat(1_000), reads(1_000)))
}

/// A5: 10,000 functions of 6 bytes, each of which declares 49,990 locals.
pub(super) fn declared_locals() -> Vec<u8> {
    const FUNCTIONS: usize = 10_000;
    let body = [1, 0x86, 0x87, 3, 0x7f, 0x0b];
    let code = [leb(FUNCTIONS), [&leb(body.len()), &body[..]].concat().repeat(FUNCTIONS)].concat();
    let functions = [leb(FUNCTIONS), vec![0; FUNCTIONS]].concat();
    let module =
        [b"\0asm\x01\0\0\0", &*section(1, &[1, 0x60, 0, 0]), &section(3, &functions), &section(10, &code)].concat();
    [COMPONENT, &section(1, &module)].concat()
}

/// A5: 12 pairs of components, in each of which one calls 500 functions of the other with 990 values.
pub(super) fn wide_adapters() -> Vec<u8> {
    let fields: String = (0..990).map(|number| format!("(field \"f{number}\" u8)")).collect();
    let each = |text: &dyn Fn(usize) -> String| (0..500).map(text).collect::<String>();
    let memory = "(memory (export \"m\") 1) (func (export \"r\") (param i32 i32 i32 i32) (result i32) i32.const 0)";
    let options = "(memory $i \"m\") (realloc (func $i \"r\"))";
    let lifted =
        each(&|n| format!("(func (export \"f{n}\") (param \"x\" $x) (canon lift (core func $i \"f{n}\") {options}))"));
    let callee = format!(
        "(component $callee (core module $m {memory} {}) (core instance $i (instantiate $m))
        (type $t (record {fields})) (export $x \"t\" (type $t)) {lifted})",
        each(&|n| format!("(func (export \"f{n}\") (param i32))")),
    );
    let caller = format!(
        "(component $caller (core module $m {memory}) (core instance $i (instantiate $m))
        (import \"a\" (instance $a (type $t (record {fields})) (export \"t\" (type $x (eq $t))) {})) {})",
        each(&|n| format!("(export \"f{n}\" (func (param \"x\" $x)))")),
        each(&|n| format!("(core func (canon lower (func $a \"f{n}\") {options}))")),
    );
    let pair = |n: usize| {
        format!("(instance $a{n} (instantiate $callee)) (instance (instantiate $caller (with \"a\" (instance $a{n}))))")
    };
    let pairs: String = (0..12).map(pair).collect();
    assemble(&format!("(component {callee} {caller} {pairs})"))
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

/// A12: 9 KB of 3,000 instance types inside each other, which would overflow the stack of whoever reads them.
pub(super) fn nested_instance_types() -> Vec<u8> {
    nested_types(0x42, 3_000)
}

/// A12: 300 KB of 100,000 component types inside each other.
pub(super) fn nested_component_types() -> Vec<u8> {
    nested_types(0x41, 100_000)
}

/// A type with one declaration, which is a type with one declaration, and so on.
fn nested_types(kind: u8, depth: usize) -> Vec<u8> {
    let types = [&[1][..], &[kind, 1, 1].repeat(depth - 1), &[kind, 0]].concat();
    [COMPONENT, &section(7, &types)].concat()
}

/// A12: one type with 200,000 types inside.
pub(super) fn many_declarations() -> Vec<u8> {
    let one = [&[0x42][..], &leb(100_000), &[1, 0x7d].repeat(100_000)].concat();
    [COMPONENT, &section(7, &[&[2][..], &one, &one].concat())].concat()
}

/// A12: 118 KB of 10,000 components inside each other, which would take 3 GB.
pub(super) fn nested_components() -> Vec<u8> {
    // From the innermost, and back to front: the lengths are known then.
    let mut reversed: Vec<u8> = COMPONENT.iter().rev().copied().collect();
    for _ in 0..10_000 {
        let length = leb(reversed.len());
        reversed.extend(length.iter().rev());
        reversed.push(4);
        reversed.extend(COMPONENT.iter().rev());
    }
    reversed.reverse();
    reversed
}

/// How every component begins.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

fn section(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number][..], &leb(content.len()), content].concat()
}

/// A number as the format writes it.
fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// So many locals, read one after the other.
fn reads(locals: usize) -> String {
    (0..locals).map(|local| format!("local.get {local} drop ")).collect()
}

/// A component with this core module, which nothing instantiates.
fn core(module: &str) -> Vec<u8> {
    assemble(&format!("(component (core module {module}))"))
}

fn assemble(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("text")
}
