//! Compiles the bundled verifiers ahead, so that a run never pays for a compiler. Used by the build script of `gatehost`.
//!
//! Each component is compiled for the *target* of the build with the settings of `host/src/runtime/config.rs`, and asked to
//! describe itself. Machine code and components are compressed, and [`write`] makes the Rust that embeds them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a build stops at the first problem"
)]

#[path = "../../host/src/runtime/config.rs"]
#[allow(dead_code, unreachable_pub, reason = "the host uses the rest")]
mod config;
mod describe;

use gatehost_bundled_wasm::{ALL, Component};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use wasmtime::Engine;
use zstd_safe::{CCtx, CParameter};

/// What the components are compiled for.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The architecture, in the words of `CARGO_CFG_TARGET_ARCH`.
    pub arch: &'a str,
    /// The operating system, in the words of `CARGO_CFG_TARGET_OS`.
    pub os: &'a str,
}

/// Write `bundled.rs`, and the files that it embeds, to the folder `out`. `level` is that of the compression, from 1 to 22.
///
/// Where this build of wasmtime has no compiler for the target, the components alone are embedded, and the reason is
/// returned: they are then compiled by the first run, and kept in its cache.
pub fn write(out: &Path, target: Target<'_>, level: i32) -> Option<String> {
    let here = Engine::new(&config::config(config::TARGET).unwrap()).unwrap();
    let there = match config::triple(target.arch, target.os) {
        Some(config::TARGET) => Ok(here.clone()),
        Some(triple) => {
            config::config(triple).and_then(|config| Engine::new(&config)).map_err(|error| error.to_string())
        }
        None => Err(format!("there is no compiler for {} on {}", target.arch, target.os)),
    };
    let verifiers: Vec<Verifier> =
        ALL.iter().map(|component| compile(&here, there.as_ref().ok(), component, out)).collect();

    let mut rust = String::new();
    for verifier in &verifiers {
        rust += &code(verifier, &verifiers, out, level);
    }
    let wasm: Vec<u8> = ALL.iter().flat_map(|component| component.wasm.iter().copied()).collect();
    let digests: Vec<&str> = verifiers.iter().map(|verifier| &*verifier.digest).collect();
    rust += &packed("WASM", "all.wasm", &digests.join(" "), None, &wasm, out, level);
    rust += "/// The bundled verifiers, ordered by name.\npub static ALL: &[Bundled] = &[\n";
    let mut start = 0;
    for (Component { name, wasm }, Verifier { digest, about, .. }) in ALL.iter().zip(&verifiers) {
        let (end, code) = (start + wasm.len(), constant(name));
        writeln!(
            rust,
            "    Bundled {{ name: {name:?}, digest: {digest:?}, wasm: {start}..{end}, code: &{code}, {about} }},"
        )
        .unwrap();
        start = end;
    }
    rust += "];\n";
    fs::write(out.join("bundled.rs"), rust).unwrap();
    there.err()
}

/// A compiled component.
struct Verifier {
    name: &'static str,
    digest: String,
    /// What the machine code was made from.
    stamp: String,
    /// The machine code; empty if there is no compiler for the target.
    code: Vec<u8>,
    /// The description as fields of Rust.
    about: String,
}

/// Compile one component ahead, unless the last build did.
fn compile(here: &Engine, there: Option<&Engine>, component: &Component, out: &Path) -> Verifier {
    let Component { name, wasm } = *component;
    let digest = format!("sha256:{}", hex(&Sha256::digest(wasm)));
    let file = |suffix: &str| out.join(format!("{name}.{suffix}"));
    let mut compatibility = DefaultHasher::new();
    if let Some(engine) = there {
        engine.precompile_compatibility_hash().hash(&mut compatibility);
    }
    let stamp = format!("{digest} {:x}", compatibility.finish());
    if fs::read_to_string(file("stamp")).ok().as_deref() != Some(&stamp) {
        // Also what it is asked by: it runs here, wherever it will run.
        let code = here.precompile_component(wasm).unwrap();
        fs::write(file("about"), describe::describe(here, name, &code)).unwrap();
        let code = match there {
            Some(there) if Engine::same(here, there) => code,
            Some(there) => there.precompile_component(wasm).unwrap(),
            None => Vec::new(),
        };
        fs::write(file("code"), code).unwrap();
        fs::write(file("stamp"), &stamp).unwrap();
    }
    let (code, about) = (fs::read(file("code")).unwrap(), fs::read_to_string(file("about")).unwrap());
    Verifier { name, digest, stamp, code, about }
}

/// Returns the verifier whose machine code the code of another is compressed against. Verifiers share much code: the standard
/// library, the SDK, and some the regular expressions. The first of a chain is embedded as it is.
fn prefix(name: &str) -> Option<&'static str> {
    match name {
        "json-syntax" => None,
        "evaluator-response" | "file-patterns" | "secrets" => Some("patterns"),
        _ => Some("json-syntax"),
    }
}

/// Writes the machine code of one verifier, and returns the Rust that embeds it.
fn code(verifier: &Verifier, verifiers: &[Verifier], out: &Path, level: i32) -> String {
    let Verifier { name, stamp, code, .. } = verifier;
    let file = format!("{name}.packed");
    let Some(prefix) = prefix(name) else {
        return format!("static {}: Packed = Packed::Plain({});\n", constant(name), embedded(&format!("{name}.code")));
    };
    let prefix = verifiers.iter().find(|other| other.name == prefix).expect("a bundled verifier");
    let stamp = format!("{stamp} {}", prefix.stamp);
    packed(&constant(name), &file, &stamp, Some(prefix), code, out, level)
}

/// Compresses bytes to a file, unless the last build did, and returns the Rust that embeds it.
fn packed(
    constant_name: &str,
    file: &str,
    stamp: &str,
    prefix: Option<&Verifier>,
    bytes: &[u8],
    out: &Path,
    level: i32,
) -> String {
    let (stamp, stamp_file) = (format!("{stamp} {level}"), out.join(format!("{file}.stamp")));
    if fs::read_to_string(&stamp_file).ok().as_deref() != Some(&stamp) {
        let mut compressor = CCtx::create();
        // The window must reach from the last byte to the first of the prefix.
        let reach = bytes.len() + prefix.map_or(0, |prefix| prefix.code.len());
        let window = reach.next_power_of_two().ilog2().clamp(10, 27);
        let parameters = [
            CParameter::CompressionLevel(level),
            CParameter::WindowLog(window),
            CParameter::EnableLongDistanceMatching(true),
        ];
        for parameter in parameters {
            compressor.set_parameter(parameter).unwrap();
        }
        if let Some(prefix) = prefix {
            compressor.ref_prefix(&prefix.code).unwrap();
        }
        let mut frame = Vec::with_capacity(zstd_safe::compress_bound(bytes.len()));
        compressor.compress2(&mut frame, bytes).unwrap();
        fs::write(out.join(file), frame).unwrap();
        fs::write(stamp_file, stamp).unwrap();
    }
    let prefix = prefix.map_or("None".to_owned(), |prefix| format!("Some(&{})", constant(prefix.name)));
    let (length, frame) = (bytes.len(), embedded(file));
    format!(
        "static {constant_name}: Packed = Packed::Frame {{ length: {length}, prefix: {prefix}, frame: {frame} }};\n"
    )
}

/// Returns the name of the constant for the machine code of a verifier.
fn constant(name: &str) -> String {
    format!("CODE_OF_{}", name.replace('-', "_").to_uppercase())
}

fn embedded(file: &str) -> String {
    format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{file}\"))")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}
