//! The bundled verifiers as WebAssembly components, built from `plugins/` by the build script of this package.

/// One component.
#[derive(Debug)]
pub struct Component {
    /// The name of the verifier, and of its package.
    pub name: &'static str,
    /// Its bytes.
    pub wasm: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/components.rs"));
