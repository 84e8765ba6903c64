//! Embeds the bundled verifiers, compiled ahead for the target (`bundled/`), and the SDK for `gate new`. Beside that, it
//! digests the host's own sources: what was cached by a program that was built from others is not to be believed
//! (`src/cache_store.rs`).
#![allow(clippy::print_stdout, reason = "how a build script talks to cargo")]
#![allow(clippy::unwrap_used, reason = "a build stops at the first problem")]

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// What decides how the host judges, besides the bundled verifiers, which have digests of their own.
const SOURCES: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "bundled/Cargo.toml",
    "bundled/src",
    "host/Cargo.toml",
    "host/build.rs",
    "host/src",
    "wit",
];
/// The SDK of verifiers in Rust.
const SDK: &str = "plugins/sdk/src";

fn main() {
    // Asked when it runs: a target folder that was moved or copied keeps this program as it was compiled elsewhere.
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let root = manifest.parent().unwrap();
    for changed in SOURCES.iter().chain(&[SDK]) {
        println!("cargo::rerun-if-changed={}", root.join(changed).display());
    }
    println!("cargo::rustc-env=GATEHOST_BUILD={}", sources_digest(root));
    if env::var("PROFILE").unwrap() == "release" && env::var("CARGO_CFG_TARGET_OS").unwrap() == "linux" {
        // Without symbols; see `[profile.release]`.
        println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
    }
    let is_gnu =
        env::var("CARGO_CFG_TARGET_OS").unwrap() == "linux" && env::var("CARGO_CFG_TARGET_ENV").unwrap() == "gnu";
    if env::var("PROFILE").unwrap() == "debug" && is_gnu {
        // At a fixed address, so that nothing is relocated at each start: the tests start `gate` and themselves thousands of
        // times, and half the time of a start was that.
        for kind in ["bins", "tests"] {
            println!("cargo::rustc-link-arg-{kind}=-no-pie");
        }
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    bundle(&out);
    fs::write(out.join("sdk.rs"), sdk(root)).unwrap();
}

#[cfg(feature = "bundled")]
fn bundle(out: &Path) {
    let [arch, os, profile] =
        ["CARGO_CFG_TARGET_ARCH", "CARGO_CFG_TARGET_OS", "PROFILE"].map(|name| env::var(name).unwrap());
    // What is built to be tried is built fast; what is built to be kept is small.
    let level = if profile == "release" { 19 } else { 1 };
    if let Some(why) = gatehost_bundled::write(out, gatehost_bundled::Target { arch: &arch, os: &os }, level) {
        println!(
            "cargo::warning=the bundled verifiers are not compiled ahead, but by the first run that uses them: {why}"
        );
        println!("cargo::warning=the feature `cross` compiles them for another architecture than that of this machine");
    }
}

#[cfg(not(feature = "bundled"))]
fn bundle(out: &Path) {
    let none = "static WASM: Packed = Packed::Plain(&[]);\n/// None: the feature `bundled` is off.\npub static ALL: &[Bundled] = &[];\n";
    fs::write(out.join("bundled.rs"), none).unwrap();
}

/// The sources of the SDK, each with its path, for the projects that `gate new` writes.
fn sdk(root: &Path) -> String {
    let sources = root.join(SDK);
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
    digest.finalize().iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}
