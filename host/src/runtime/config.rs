//! The settings of the engine. They decide how guests are compiled, so precompiled code must use the same settings.
//!
//! `bundled/src/lib.rs` includes this file too, so that bundled verifiers are compiled with the settings of the engine that
//! runs them. It must use nothing but wasmtime.

use std::env;
use wasmtime::{Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig};

/// How many component instances may exist at the same time. Further calls wait for a slot.
pub(crate) const SLOTS: u32 = 16;

/// How many memories, and how many tables, one component may have.
const MEMORIES_PER_COMPONENT: u32 = 4;
const TABLES_PER_COMPONENT: u32 = 8;

/// Returns the settings of every engine.
///
/// - Nothing is on that a verifier does not need: no 64-bit memories, relaxed SIMD, tail calls or stack switching, and
///   no component-model async. Threads, GC and exceptions are not even compiled into this program (see wasmtime's
///   features in `Cargo.toml`).
/// - Multiple memories are on for the adapters that wasmtime itself writes between the parts of a composed component,
///   and panics without. A guest's own modules may not use them: `scan` refuses that.
/// - Guests are interrupted by epochs; NaNs are canonical, so that floating point is the same everywhere.
/// - Code is compiled for the baseline of the architecture, so that what was built on one machine runs on another.
/// - Code carries neither a map to the places in the component nor tables for native debuggers: nobody reads them, and they
///   are an eighth of it.
pub(crate) fn config(target: &str) -> wasmtime::Result<Config> {
    let mut config = Config::new();
    config
        .target(target)?
        .generate_address_map(false)
        .native_unwind_info(false)
        .epoch_interruption(true)
        .concurrency_support(false)
        .wasm_memory64(false)
        .wasm_multi_memory(true)
        .wasm_relaxed_simd(false)
        .wasm_stack_switching(false)
        .wasm_tail_call(false)
        .cranelift_nan_canonicalization(true)
        .max_wasm_stack(512 << 10)
        .async_stack_size(2 << 20);
    Ok(config)
}

/// The target that this program runs on.
pub(crate) const TARGET: &str = match triple(env::consts::ARCH, env::consts::OS) {
    Some(triple) => triple,
    None => panic!("this architecture or operating system is not supported"),
};

/// Returns the targets that verifiers can be compiled for, by the names of the architecture and of the operating system.
pub(crate) const fn triple(arch: &str, os: &str) -> Option<&'static str> {
    match (arch.as_bytes(), os.as_bytes()) {
        (b"x86_64", b"linux") => Some("x86_64-unknown-linux-gnu"),
        (b"aarch64", b"linux") => Some("aarch64-unknown-linux-gnu"),
        (b"x86_64", b"macos") => Some("x86_64-apple-darwin"),
        (b"aarch64", b"macos") => Some("aarch64-apple-darwin"),
        _ => None,
    }
}

/// Returns the same settings with a pool of [`SLOTS`] instances.
///
/// A pool makes a fresh instance four times cheaper than mapping memory for each. It is safe here because wasmtime
/// clears a place before it is used again (pages that a guest wrote are zeroed or given back, found with the kernel's
/// page map), which `tests/hostile.rs` checks with a guest that fills its memory and one that looks for the rest; and
/// because a leak would stay small: a verifier without grants has no way out but its verdict.
pub(crate) fn pooled(mut config: Config) -> Config {
    let mut pool = PoolingAllocationConfig::new();
    // Keeping pages is cheap only if the kernel can say which were written; otherwise each reset would clear them all.
    let keep = if PoolingAllocationConfig::is_pagemap_scan_available() { 8 << 20 } else { 64 << 10 };
    pool.total_component_instances(SLOTS)
        .total_stacks(SLOTS)
        .total_core_instances(SLOTS * 64)
        .max_core_instances_per_component(64)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(4 << 20)
        .total_memories(SLOTS * MEMORIES_PER_COMPONENT)
        .max_memories_per_component(MEMORIES_PER_COMPONENT)
        .total_tables(SLOTS * TABLES_PER_COMPONENT)
        .max_tables_per_component(TABLES_PER_COMPONENT)
        .table_elements(100_000)
        .linear_memory_keep_resident(keep)
        .table_keep_resident(64 << 10)
        .async_stack_keep_resident(64 << 10)
        .pagemap_scan(Enabled::Auto);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}
