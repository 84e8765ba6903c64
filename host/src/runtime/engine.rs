//! The engine, and the thread that interrupts guests.

use super::config;
use std::time::Duration;
use wasmtime::{Config, Engine, EngineWeak};

/// How often running guests check their time limit.
const TICK: Duration = Duration::from_millis(10);

/// The address space that an instance with one memory needs: what the engine reserves for the memory with its guards, and a stack.
const INSTANCE_SPACE: u64 = (4 << 30) + (128 << 20);
/// The address space for everything else.
const OTHER_SPACE: u64 = 1 << 30;

/// Returns how many component instances may exist at the same time with this limit of the address space.
pub(super) fn slots(address_space: Option<u64>) -> u32 {
    let instances = |space: u64| u32::try_from(space.saturating_sub(OTHER_SPACE) / INSTANCE_SPACE);
    address_space.map_or(config::SLOTS, |space| instances(space).unwrap_or(config::SLOTS)).clamp(1, config::SLOTS)
}

/// Creates an engine with a pool, or without one if the address space is too small. A metered engine counts instructions,
/// which costs time.
pub(super) fn start(metered: bool) -> wasmtime::Result<Engine> {
    let engine = Engine::new(&config::pooled(settings(metered)?)).or_else(|_| Engine::new(&settings(metered)?))?;
    let weak = engine.weak();
    std::thread::Builder::new().name("gate-epoch".to_owned()).stack_size(64 << 10).spawn(move || tick(&weak))?;
    Ok(engine)
}

fn settings(metered: bool) -> wasmtime::Result<Config> {
    let mut config = config::config(config::TARGET)?;
    config.consume_fuel(metered);
    Ok(config)
}

/// Advances the epoch until the engine is gone.
fn tick(engine: &EngineWeak) {
    loop {
        std::thread::sleep(TICK);
        match engine.upgrade() {
            Some(engine) => engine.increment_epoch(),
            None => return,
        }
    }
}
