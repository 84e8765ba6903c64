//! Compiles the bundled verifiers ahead, so that a run never pays for a compiler. Used by the build script of `gatehost`.
//!
//! Each component is compiled for the *target* of the build with the settings of `host/src/runtime/config.rs`, and asked to
//! describe itself. Machine code and component are compressed, and [`write`] makes the Rust that embeds them.
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

/// What the components are compiled for.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The architecture, in the words of `CARGO_CFG_TARGET_ARCH`.
    pub arch: &'a str,
    /// The operating system, in the words of `CARGO_CFG_TARGET_OS`.
    pub os: &'a str,
}

/// Write `bundled.rs`, and the files that it embeds, to the folder `out`. `level` is that of the compression, from 1 to 10.
///
/// Where this build of wasmtime has no compiler for the target, the components alone are embedded, and the reason is
/// returned: they are then compiled by the first run, and kept in its cache.
pub fn write(out: &Path, target: Target<'_>, level: u8) -> Option<String> {
    let here = Engine::new(&config::config(config::TARGET).unwrap()).unwrap();
    let there = match config::triple(target.arch, target.os) {
        Some(config::TARGET) => Ok(here.clone()),
        Some(triple) => {
            config::config(triple).and_then(|config| Engine::new(&config)).map_err(|error| error.to_string())
        }
        None => Err(format!("there is no compiler for {} on {}", target.arch, target.os)),
    };
    let mut rust = String::from("/// The bundled verifiers, ordered by name.\npub static ALL: &[Bundled] = &[\n");
    for component in ALL {
        rust += &bundle(&here, there.as_ref().ok(), component, out, level);
    }
    rust += "];\n";
    fs::write(out.join("bundled.rs"), rust).unwrap();
    there.err()
}

/// Compile one component ahead and write the Rust that embeds it.
fn bundle(here: &Engine, there: Option<&Engine>, component: &Component, out: &Path, level: u8) -> String {
    let Component { name, wasm } = component;
    let digest = format!("sha256:{}", hex(&Sha256::digest(wasm)));
    let (code_file, wasm_file) = (format!("{name}.code"), format!("{name}.wasm"));
    let (stamp_file, about_file) = (out.join(format!("{name}.stamp")), out.join(format!("{name}.about")));
    let mut compatibility = DefaultHasher::new();
    if let Some(engine) = there {
        engine.precompile_compatibility_hash().hash(&mut compatibility);
    }
    let stamp = format!("{digest} {:x} {level}", compatibility.finish());
    if fs::read_to_string(&stamp_file).ok().as_deref() != Some(&stamp) {
        // Also what it is asked by: it runs here, wherever it will run.
        let code = here.precompile_component(wasm).unwrap();
        fs::write(&about_file, describe::describe(here, name, &code)).unwrap();
        let code = match there {
            Some(there) if Engine::same(here, there) => code,
            Some(there) => there.precompile_component(wasm).unwrap(),
            None => Vec::new(),
        };
        fs::write(out.join(&code_file), pack(&code, level)).unwrap();
        fs::write(out.join(&wasm_file), pack(wasm, level)).unwrap();
        fs::write(&stamp_file, stamp).unwrap();
    }
    // A static of its own, for what is unpacked is kept in it.
    let embedded = |file: &str| {
        format!(
            "{{ static PACKED: Packed = Packed::new(include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{file}\"))); &PACKED }}"
        )
    };
    let mut rust = String::new();
    writeln!(
        rust,
        "    Bundled {{ name: {name:?}, digest: {digest:?}, wasm: {}, code: {}, {} }},",
        embedded(&wasm_file),
        embedded(&code_file),
        fs::read_to_string(about_file).unwrap(),
    )
    .unwrap();
    rust
}

/// The length of some bytes, and the bytes compressed: as `runtime/bundled.rs` unpacks them.
fn pack(bytes: &[u8], level: u8) -> Vec<u8> {
    let mut packed = u64::try_from(bytes.len()).unwrap().to_le_bytes().to_vec();
    packed.extend(miniz_oxide::deflate::compress_to_vec(bytes, level));
    packed
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}
