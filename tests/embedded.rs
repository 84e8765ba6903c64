//! The library with any features: `cargo test --no-default-features` runs these tests too.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use gatehost::changes::Selection;
use gatehost::environment::Environment;
use gatehost::record::Record;
use gatehost::session::{Host, Request};
use gatehost::verdict::{ErrorKind, Status};
use std::fs;
use std::path::Path;

/// Returns a component that passes every file.
fn trivial() -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut module = wat::parse_file(root.join("fixtures/bench/trivial.wat")).unwrap();
    let mut resolve = wit_parser::Resolve::default();
    let (package, _) = resolve.push_dir(root.join("wit")).unwrap();
    let world = resolve.select_world(&[package], Some("file")).unwrap();
    wit_component::embed_component_metadata(&mut module, &resolve, world, wit_component::StringEncoding::UTF8).unwrap();
    wit_component::ComponentEncoder::default().module(&module).unwrap().encode().unwrap()
}

fn run(gate: &str) -> Record {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("gate.toml"), gate).unwrap();
    fs::write(folder.path().join("a.txt"), "a").unwrap();
    fs::write(folder.path().join("trivial.wasm"), trivial()).unwrap();
    let environment: Environment = [("PATH", "/usr/bin:/bin")].into_iter().collect();
    let host = Host::new(&environment).unwrap();
    let mut request = Request::new(folder.path(), environment);
    request.selection = Selection::Files(vec!["a.txt".into()]);
    let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
    tokio.block_on(host.run(request, ())).unwrap()
}

const TRIVIAL: &str = "[gate.main]\nall = [\"a\"]\n[check.a]\nverifier = \"./trivial.wasm\"\nfiles = [\"*.txt\"]\n";

#[test]
fn a_component_from_a_file_judges() {
    let record = run(TRIVIAL);
    assert_eq!(record.status, Status::Pass, "{:?}", record.feedback);
    assert_eq!(record.checks().flat_map(|check| check.files.iter().flatten()).count(), 1);
}

#[test]
fn what_is_not_built_in_is_an_error_and_never_a_pass() {
    use gatehost::commands::{Commands, NoResult};
    use gatehost::models::{ModelQuestion, Models, NoAnswer};
    use std::collections::BTreeMap;
    use std::sync::Arc;
    let config = gatehost::config::parse(
        format!("{TRIVIAL}[command.c]\nrun = [\"true\"]\n[model.m]\napi = \"openai\"\nmodel = \"m\"\nurl = \"http://127.0.0.1:1\"\ntimeout = \"60s\"\n").as_bytes(),
    )
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let commands = Arc::new(Commands::new(config.commands.clone(), folder.path().to_owned()));
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_time().build().unwrap();
    let ran: Result<_, NoResult> = tokio.block_on(commands.run("c", Vec::new()));
    if cfg!(not(feature = "commands")) {
        let failure: gatehost::verdict::Failure = ran.unwrap_err().into();
        assert_eq!(failure.kind, ErrorKind::CommandNotStarted);
        assert!(failure.message.contains("the feature `commands`"), "{failure:?}");
    }
    let models: BTreeMap<_, _> = config.models.clone();
    let models = Models::new(models, commands, gatehost::submission::Executor::default(), None);
    let question = ModelQuestion {
        system: String::new(),
        prompt: Vec::new(),
        answer_schema: None,
        max_tokens: None,
        nonce: "n".into(),
    };
    let (_, answer) = tokio.block_on(models.ask("m", question));
    let why = answer.unwrap_err();
    assert!(matches!(why, NoAnswer::Unreachable(_)), "{why}");
    assert_eq!(why.to_string().contains("the feature `models`"), cfg!(not(feature = "models")), "{why}");
}

#[test]
fn the_bundled_verifiers_are_there_with_their_feature_only() {
    assert_eq!(gatehost::runtime::BUNDLED.is_empty(), cfg!(not(feature = "bundled")));
    for bundled in gatehost::runtime::BUNDLED {
        assert!(bundled.wasm().starts_with(b"\0asm"), "{}", bundled.name);
    }
}
