//! The engine, and the thread that interrupts guests.

use super::config;
use std::time::Duration;
use wasmtime::{Config, Engine, EngineWeak};

/// How often running guests check their time limit.
const TICK: Duration = Duration::from_millis(10);

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
