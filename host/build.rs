//! Builds the bundled verifiers and compiles them ahead, so that a run never pays for a compiler.
//!
//! Three steps: cargo builds every package under `plugins/` that is a component (all in one go, so in parallel, and
//! only what changed); each component is compiled with the settings of `src/runtime/config.rs` and asked to describe
//! itself; `bundled.rs` embeds the lot. Beside that, it digests the host's own sources: what was remembered by a program
//! that was built from others is not to be believed (`src/cache_store.rs`).
//!
//! The target is `wasm32-unknown-unknown` linked by rustup's own `wasm-component-ld`: a component that imports nothing
//! but what it uses of `gatehost:verifier`, so that its type shows that it can do nothing else.
#![allow(clippy::print_stdout, reason = "how a build script talks to cargo")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a build stops at the first problem")]

#[path = "src/runtime/config.rs"]
#[allow(dead_code, unreachable_pub)]
mod config;

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};
use wasmtime::component::{Component, Linker, Val};
use wasmtime::{Engine, Store};

const TARGET: &str = "wasm32-unknown-unknown";
const LINKER: &str = "wasm-component-ld";
/// Memory and stack of a bundled verifier, sized so that an ordinary call never grows its memory.
const RUSTFLAGS: &[&str] = &["-Clink-arg=--initial-memory=4194304", "-Clink-arg=-zstack-size=1048576"];

/// What decides how the host judges, besides the bundled verifiers, which have digests of their own.
const SOURCES: &[&str] = &["Cargo.lock", "Cargo.toml", "host/Cargo.toml", "host/build.rs", "host/src", "wit"];

fn main() {
    // Asked when it runs: a target folder that was moved or copied keeps this program as it was compiled elsewhere.
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let root = manifest.parent().unwrap();
    for changed in SOURCES.iter().chain(&["plugins"]) {
        println!("cargo::rerun-if-changed={}", root.join(changed).display());
    }
    println!("cargo::rustc-env=GATEHOST_BUILD={}", sources_digest(root));
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let names = component_packages(root);
    have_target();
    let built = build(root, &out, &names);

    let config = config::config().unwrap();
    let engine = Engine::new(&config).unwrap();
    let mut rust = String::from("/// The bundled verifiers, ordered by name.\npub static ALL: &[Bundled] = &[\n");
    for name in &names {
        let wasm = built.join(format!("{}.wasm", name.replace('-', "_")));
        rust += &bundle(&engine, name, &wasm, &out);
    }
    rust += "];\n";
    fs::write(out.join("bundled.rs"), rust).unwrap();
    fs::write(out.join("sdk.rs"), sdk(root)).unwrap();
}

/// The sources of the SDK, each with its path, for the projects that `gate new` writes.
fn sdk(root: &Path) -> String {
    let sources = root.join("plugins/sdk/src");
    let mut rust = String::from("&[\n");
    for file in files_below(vec![sources.clone()]) {
        let name = file.strip_prefix(&sources).unwrap().display();
        writeln!(rust, "    (\"vendor/gatehost-sdk/src/{name}\", include_bytes!({file:?})),").unwrap();
    }
    rust + "]\n"
}

fn files_below(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    while let Some(path) = folders.pop() {
        if path.is_dir() {
            folders.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.exists() {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// A digest of the names and bytes of the host's sources, the same wherever they are.
fn sources_digest(root: &Path) -> String {
    let mut digest = Sha256::new();
    for file in files_below(SOURCES.iter().map(|source| root.join(source)).collect()) {
        let name = file.strip_prefix(root).unwrap().to_str().unwrap();
        for part in [name.as_bytes(), &fs::read(&file).unwrap()] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
    }
    hex(&digest.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

/// The packages under `plugins/` that make a component, ordered by name.
fn component_packages(root: &Path) -> Vec<String> {
    let folders = fs::read_dir(root.join("plugins")).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = folders
        .filter(|folder| fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.contains("\"cdylib\"")))
        .map(|folder| folder.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// Automatic installation of targets may be switched off, so it is asked for here.
fn have_target() {
    let rustc = env::var("RUSTC").unwrap();
    let folder = Command::new(&rustc).args(["--print", "target-libdir", "--target", TARGET]).output().unwrap();
    if Path::new(String::from_utf8(folder.stdout).unwrap().trim()).exists() {
        return;
    }
    println!("cargo::warning=the Rust target {TARGET} is missing; running `rustup target add {TARGET}`");
    let added = Command::new("rustup").args(["target", "add", TARGET]).status();
    assert!(
        added.as_ref().is_ok_and(std::process::ExitStatus::success),
        "the bundled verifiers need the Rust target {TARGET}: install it with `rustup target add {TARGET}` ({added:?})"
    );
}

/// Build the components and return the folder that they are in.
fn build(root: &Path, out: &Path, names: &[String]) -> PathBuf {
    // A target folder of its own: cargo holds a lock on the outer one. It is shared by the profiles of the outer
    // build (`…/target/PROFILE/build/gatehost-HASH/out`), since the components are the same for all.
    let target_dir = out.ancestors().nth(4).unwrap().join("plugins");
    let mut cargo = Command::new(env::var("CARGO").unwrap());
    cargo.current_dir(root.join("plugins")).args([
        "build",
        "--locked",
        "--release",
        "--target",
        TARGET,
        "--target-dir",
    ]);
    cargo.arg(&target_dir);
    for name in names {
        cargo.args(["--package", name]);
    }
    // What the outer cargo, or a wrapper around it, set for the host must not reach the components. The job server
    // stays, so that both builds together use the cores that there are.
    for (variable, _) in env::vars_os() {
        let name = variable.to_string_lossy();
        let ours =
            name.starts_with("CARGO_") && !matches!(&*name, "CARGO_HOME" | "CARGO_MAKEFLAGS" | "CARGO_NET_OFFLINE");
        if ours
            || matches!(&*name, "RUSTFLAGS" | "RUSTC_WRAPPER" | "RUSTC_WORKSPACE_WRAPPER" | "TARGET" | "CLIPPY_ARGS")
        {
            cargo.env_remove(&variable);
        }
    }
    cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", LINKER);
    let flags: Vec<String> = RUSTFLAGS.iter().map(|&flag| flag.to_owned()).chain(remapped(root, &target_dir)).collect();
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    let status = cargo.status().expect("cargo runs");
    assert!(status.success(), "the bundled verifiers could not be built (see above)");
    target_dir.join(TARGET).join("release")
}

/// Flags by which rustc writes other paths into a component than those of this machine (they are in the places of
/// panics), so that the same sources make the same bytes, and so the same digest, wherever they are built.
fn remapped(root: &Path, target_dir: &Path) -> Vec<String> {
    // Of several that fit, rustc takes the last.
    let mut paths = vec![(root.to_owned(), "/gatehost".to_owned()), (target_dir.to_owned(), "/target".to_owned())];
    let home = env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    if let Some(home) = env::var_os("CARGO_HOME").map(PathBuf::from).or(home) {
        // These are called after the index that was used, which may be a mirror.
        let registries = fs::read_dir(home.join("registry/src")).into_iter().flatten().flatten();
        let mut registries: Vec<PathBuf> = registries.map(|registry| registry.path()).collect();
        registries.sort();
        paths.push((home, "/cargo".to_owned()));
        paths.extend(registries.into_iter().map(|registry| (registry, "/registry".to_owned())));
    }
    // Where the sources of the standard library are installed, they are named by where that is.
    let rustc = |arguments: &[&str]| {
        let output = Command::new(env::var("RUSTC").unwrap()).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    if let Some(commit) = rustc(&["-vV"]).lines().find_map(|line| line.strip_prefix("commit-hash: ")) {
        let sources = Path::new(rustc(&["--print", "sysroot"]).trim()).join("lib/rustlib/src/rust");
        paths.push((sources, format!("/rustc/{commit}")));
    }
    paths.iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display())).collect()
}

/// Compile one component ahead and write the Rust that embeds it.
fn bundle(engine: &Engine, name: &str, wasm: &Path, out: &Path) -> String {
    let bytes = fs::read(wasm).unwrap();
    let digest = format!("sha256:{}", hex(&Sha256::digest(&bytes)));
    let embedded = out.join(format!("{name}.wasm"));
    let compiled = out.join(format!("{name}.compiled"));
    let stamp_file = out.join(format!("{name}.stamp"));
    let mut compatibility = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut compatibility);
    let stamp = format!("{digest} {:x}", compatibility.finish());
    if fs::read_to_string(&stamp_file).ok().as_deref() != Some(&stamp) {
        fs::write(&embedded, &bytes).unwrap();
        fs::write(&compiled, engine.precompile_component(&bytes).unwrap()).unwrap();
        fs::write(&stamp_file, stamp).unwrap();
    }
    let (about, imports, exports) = describe(engine, &compiled);
    let text = |field: &str| match about.iter().find(|(name, _)| name == field) {
        Some((_, Val::String(text))) => text.clone(),
        other => panic!("{name} describes its {field} as {other:?}"),
    };
    let files = match about.iter().find(|(name, _)| name == "files") {
        Some((_, Val::List(globs))) => globs.clone(),
        other => panic!("{name} describes its files as {other:?}"),
    };
    let files: Vec<&str> = files
        .iter()
        .map(|glob| if let Val::String(glob) = glob { glob.as_str() } else { panic!("{glob:?}") })
        .collect();
    assert_eq!(text("name"), name, "a bundled verifier has the name of its package");
    let rules = match about.iter().find(|(name, _)| name == "rules") {
        Some((_, Val::List(rules))) => rules.iter().map(rule).collect::<Vec<_>>(),
        other => panic!("{name} describes its rules as {other:?}"),
    };
    let url = match about.iter().find(|(name, _)| name == "url") {
        Some((_, Val::Option(Some(url)))) => string(url),
        _ => String::new(),
    };
    format!(
        "Bundled {{ name: {name:?}, digest: {digest:?}, wasm: include_bytes!({embedded:?}), compiled: include_bytes!({compiled:?}), \
         description: Text {{ version: {:?}, summary: {:?}, files: &{files:?}, settings_schema: {:?}, rules: &{rules:?}, url: {url:?} }}, imports: &{imports:?}, exports: &{exports:?} }},\n",
        text("version"),
        text("summary"),
        text("settings-schema"),
    )
}

fn string(value: &Val) -> String {
    match value {
        Val::String(text) | Val::Enum(text) => text.clone(),
        other => panic!("expected text, found {other:?}"),
    }
}

/// A rule of a description: code, level, summary, help, address.
fn rule(rule: &Val) -> (String, String, String, String, String) {
    let Val::Record(fields) = rule else { panic!("a rule is described as {rule:?}") };
    let field = |name: &str| match fields.iter().find(|(field, _)| field == name) {
        Some((_, Val::Option(None))) => String::new(),
        Some((_, Val::Option(Some(text)))) => string(text),
        Some((_, text)) => string(text),
        None => panic!("a rule has no {name}"),
    };
    (field("code"), field("level"), field("summary"), field("help"), field("url"))
}

/// Ask a component to describe itself, and look at its imports and exports. It gets nothing: whatever it imports traps.
fn describe(engine: &Engine, compiled: &Path) -> (Vec<(String, Val)>, Vec<String>, Vec<String>) {
    #[expect(unsafe_code, reason = "machine code that this build made a moment ago")]
    // SAFETY: the file was written by `bundle` from `precompile_component`.
    let component = unsafe { Component::deserialize_file(engine, compiled) }.unwrap();
    let types = component.component_type();
    let imports = types.imports(engine).map(|(name, _)| name.to_owned()).collect();
    let exports = types.exports(engine).map(|(name, _)| name.to_owned()).collect();
    let mut linker = Linker::new(engine);
    linker.define_unknown_imports_as_traps(&component).unwrap();
    let mut store = Store::new(engine, ());
    store.set_epoch_deadline(u64::MAX / 2);
    let instance = linker.instantiate(&mut store, &component).unwrap();
    let interface =
        instance.get_export_index(&mut store, None, "gatehost:verifier/about@0.1.0").expect("exports `about`");
    let function = instance.get_export_index(&mut store, Some(&interface), "describe").expect("exports `describe`");
    let mut results = [Val::Bool(false)];
    instance.get_func(&mut store, function).unwrap().call(&mut store, &[], &mut results).unwrap();
    match results {
        [Val::Record(fields)] => (fields, imports, exports),
        other => panic!("describes itself as {other:?}"),
    }
}
