//! Builds the bundled verifiers: every package under `plugins/` that is a component, all in one go, so in parallel, and only
//! what changed.
//!
//! The target is `wasm32-unknown-unknown` linked by rustup's own `wasm-component-ld`: a component that imports nothing
//! but what it uses of `gatehost:verifier`, so that its type shows that it can do nothing else.
#![allow(clippy::print_stdout, reason = "how a build script talks to cargo")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a build stops at the first problem")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const TARGET: &str = "wasm32-unknown-unknown";
const LINKER: &str = "wasm-component-ld";
/// Memory and stack of a bundled verifier, sized so that an ordinary call never grows its memory.
const RUSTFLAGS: &[&str] = &["-Clink-arg=--initial-memory=4194304", "-Clink-arg=-zstack-size=1048576"];

/// What the outer cargo says about where crates come from. Nothing else that it sets for the host reaches the components.
const KEPT: &[&str] = &[
    "CARGO_HOME",
    "CARGO_HTTP_",
    "CARGO_MAKEFLAGS",
    "CARGO_NET_",
    "CARGO_REGISTRIES_",
    "CARGO_REGISTRY_",
    "CARGO_SOURCE_",
];

fn main() {
    // Asked when it runs: a target folder that was moved or copied keeps this program as it was compiled elsewhere.
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let root = manifest.ancestors().nth(2).unwrap();
    for changed in ["plugins", "wit"] {
        println!("cargo::rerun-if-changed={}", root.join(changed).display());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let names = component_packages(root);
    have_target();
    let built = build(root, &out, &names);
    let mut rust = String::from("/// All of them, ordered by name.\npub static ALL: &[Component] = &[\n");
    for name in &names {
        // A copy: the folder that they are built in is shared by all profiles.
        let file = format!("{name}.wasm");
        fs::copy(built.join(format!("{}.wasm", name.replace('-', "_"))), out.join(&file)).unwrap();
        writeln!(
            rust,
            "    Component {{ name: {name:?}, wasm: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{file}\")) }},"
        )
        .unwrap();
    }
    rust += "];\n";
    fs::write(out.join("components.rs"), rust).unwrap();
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
    // Without a warning of cargo, which would be repeated at every build from now on.
    let added = Command::new("rustup").args(["target", "add", TARGET]).status();
    assert!(
        added.as_ref().is_ok_and(std::process::ExitStatus::success),
        "the bundled verifiers need the Rust target {TARGET}: install it with `rustup target add {TARGET}` ({added:?})"
    );
}

/// Build the components and return the folder that they are in.
fn build(root: &Path, out: &Path, names: &[String]) -> PathBuf {
    // A target folder of its own: cargo holds a lock on the outer one. It is shared by the profiles of the outer
    // build (`…/target/PROFILE/build/PACKAGE-HASH/out`), since the components are the same for all.
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
        let ours = name.starts_with("CARGO_") && !KEPT.iter().any(|kept| name.starts_with(kept));
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
    let mut paths = vec![
        (root.to_owned(), "/gatehost".to_owned()),
        // `cargo vendor --versioned-dirs`: the same names as in a registry.
        (root.join("vendor"), "/registry".to_owned()),
        (target_dir.to_owned(), "/target".to_owned()),
    ];
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
