//! Core modules become components that reach nothing, whatever their language runtime imports from WASI.

use crate::asking::{Question, TestHost};
use gatehost::component::{Bindings, ComponentError, ContractSource};
use gatehost::plan::Shape;
use gatehost::runtime::{CONTRACT, ComponentType};
use gatehost::verdict::Status;

/// A file verifier from a C compiler: it prints its input, reads the clock, random numbers, its environment and a file, and
/// passes if all of them are as expected.
const MODULE: &str = r#"(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (global $free (mut i32) (i32.const 65536))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
    (global.set $free (i32.add (local.get $at) (local.get 3)))
    (local.get $at))
  (func (export "gatehost:verifier/about@0.1.0#describe") (result i32) (i32.const 1024))
  (func (export "gatehost:verifier/file-verifier@0.1.0#check")
    (param $path i32) (param i32) (param $kind i32) (param $text i32) (param $length i32)
    (param i32 i32 i32 i32) (param i32 i32) (result i32)
    (i32.store (i32.const 0) (local.get $text))
    (i32.store (i32.const 4) (local.get $length))
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
    (drop (call $clock (i32.const 0) (i64.const 0) (i32.const 16)))
    (drop (call $random (i32.const 24) (i32.const 8)))
    (i32.store (i32.const 32) (i32.const 7))
    (drop (call $environ (i32.const 32) (i32.const 36)))
    (i32.store8 (i32.const 2048) (i32.and (i32.and (i32.and (i32.and
      (i32.eq (i32.load (i32.const 8)) (local.get $length))
      (i64.ne (i64.load (i32.const 16)) (i64.const 0)))
      (i64.ne (i64.load (i32.const 24)) (i64.const 0)))
      (i32.eqz (i32.load (i32.const 32))))
      (i32.eq (call $open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0)
        (i64.const 0) (i32.const 0) (i32.const 40)) (i32.const 8))))
    (i32.const 2048)))"#;

fn contract() -> ContractSource {
    ContractSource::of_this_host().expect("the contract")
}

#[test]
fn what_wants_wasi_gets_nothing_of_it() {
    let component = contract().component(&wat::parse_str(MODULE).expect("a module")).expect("a component");
    let component_type = ComponentType::read(&component).expect("a component");
    let log = format!("gatehost:verifier/log@{CONTRACT}");
    let functions: Vec<_> =
        component_type.imports.iter().filter(|import| !ComponentType::is_types_only(import)).collect();
    assert_eq!(functions, [&log]);
    let question = Question { content: "one\ntwo ä three\n".into(), ..Question::default() };
    let answer = TestHost::new().ask(&component, question).expect("an answer");
    assert_eq!(answer.verdict.status, Status::Pass);
    let lines: Vec<_> = answer.log.iter().map(|line| &*line.message).collect();
    assert_eq!(lines, ["one", "two ", " three"]);
}

#[test]
fn what_is_not_used_is_not_imported() {
    let silent = MODULE.replace("(drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))", "");
    let silent = silent.lines().filter(|line| !line.contains("fd_write")).collect::<Vec<_>>().join("\n");
    let component = contract().component(&wat::parse_str(silent).expect("a module")).expect("a component");
    let imports = ComponentType::read(&component).expect("a component").imports;
    assert!(imports.iter().all(|import| ComponentType::is_types_only(import)), "{imports:?}");
}

#[test]
fn a_module_that_is_no_verifier_is_refused() {
    let refused = |text: &str| contract().component(&wat::parse_str(text).expect("a module")).expect_err("refused");
    assert!(matches!(refused("(module)"), ComponentError::NoVerifier { .. }));
    let wrong = r#"(module (func (export "gatehost:verifier/file-verifier@0.1.0#check")))"#;
    assert!(matches!(refused(wrong), ComponentError::DoesNotFit(_)));
    assert!(matches!(contract().component(b"no module"), Err(ComponentError::NotAModule(_))));
}

#[test]
fn bindings_name_the_functions_of_the_shape() {
    for (shape, function) in [(Shape::File, "file_verifier_check"), (Shape::Submission, "submission_verifier_check")] {
        let files = contract().bindings(Bindings::C, shape).expect("bindings");
        let (_, header) = files.iter().find(|(path, _)| path == "verifier.h").expect("a header");
        assert!(String::from_utf8_lossy(header).contains(function));
        let files = contract().bindings(Bindings::Go, shape).expect("bindings");
        assert!(files.iter().any(|(path, _)| path == "wit_exports.go"));
    }
}
