//! The sandbox of one guest: its limits, and what it can reach.
//!
//! A sandbox is created for one call and dropped after it. By default a guest
//! - has no more time, memory, handles, host calls or transferred bytes than its [`Limits`];
//! - can write log lines, bounded, and nothing else;
//! - reads the files of the workspace only if it was granted `workspace`;
//! - sees of WASI: a constant clock, random numbers seeded from the inputs of the call, an empty environment, no arguments,
//!   no preopened folder, a closed stdin, and outputs that become log lines. Only a program reads its input from stdin and
//!   prints its verdict.

use super::allowance::Allowance;
use super::call::Used;
use super::capability::commands::Runner;
use super::capability::models::Asker;
use super::capability::{Capabilities, ReadFiles};
use super::ending::{self, GuestEnded};
use super::log::CallLog;
use super::wasi::Wasi;
use crate::limits::Limits;
use crate::verdict::ErrorKind;
use std::sync::Arc;
use wasmtime::{CallHook, Engine, ResourceLimiter, Store, UpdateDeadline};

/// The state of one call.
pub(super) struct Sandbox {
    /// The guest's time.
    pub(super) time: Arc<Allowance>,
    hostcalls_left: u64,
    space: Space,
    /// The instructions executed so far, if they are counted; known at the end.
    pub(super) instructions: Option<u64>,
    pub(super) log: CallLog,
    pub(super) wasi: Wasi,
    pub(super) workspace: Option<Arc<dyn ReadFiles>>,
    pub(super) commands: Option<Runner>,
    pub(super) models: Option<Asker>,
}

/// Creates the store for one call, with every limit on.
pub(super) fn store(
    engine: &Engine,
    limits: &Limits,
    wasi: Wasi,
    capabilities: Option<&Capabilities>,
) -> Store<Sandbox> {
    let Capabilities { workspace, commands, models } = capabilities.cloned().unwrap_or_default();
    let sandbox = Sandbox {
        time: Arc::new(Allowance::new(limits.time)),
        hostcalls_left: limits.hostcalls,
        space: Space { memory: 0, memory_left: limits.memory, table_left: limits.table_elements },
        instructions: None,
        log: CallLog::new(limits.log),
        wasi,
        workspace,
        commands: commands.map(Runner::new),
        models: models.map(Asker::new),
    };
    let mut store = Store::new(engine, sandbox);
    store.limiter(|sandbox| &mut sandbox.space);
    store.set_hostcall_fuel(limits.transfer);
    store.set_max_component_handles(limits.handles);
    store.set_epoch_deadline(1);
    // The clock is compared, because ticks are not counted reliably under load.
    store.epoch_deadline_callback(|store| {
        if store.data().time.left().is_zero() {
            Err(GuestEnded::error(ErrorKind::LimitTime, "the call timed out"))
        } else {
            Ok(UpdateDeadline::Yield(1))
        }
    });
    store.call_hook(|mut store, hook| {
        if let CallHook::CallingHost = hook {
            let sandbox = store.data_mut();
            match sandbox.hostcalls_left.checked_sub(1) {
                Some(left) => sandbox.hostcalls_left = left,
                None => {
                    return Err(GuestEnded::error(ErrorKind::LimitHostcalls, "the verifier made too many host calls"));
                }
            }
        }
        Ok(())
    });
    store
}

impl Sandbox {
    /// Returns the resources that the guest used.
    pub(super) fn used(&self) -> Used {
        Used { memory: self.space.memory, instructions: self.instructions }
    }
}

/// The space that all memories and all tables of a guest may still use together.
struct Space {
    /// The size of all memories.
    memory: usize,
    memory_left: usize,
    table_left: usize,
}

impl ResourceLimiter for Space {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let grows = take(&mut self.memory_left, current, desired, "bytes of memory")?;
        self.memory += desired.saturating_sub(current);
        Ok(grows)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        take(&mut self.table_left, current, desired, "table elements")
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        // The guest could take it for its own failure. Other errors are about the type of the memory.
        ending::shortage(&error).map_or(Ok(()), |shortage| Err(GuestEnded::failure(shortage)))
    }
}

/// Ends the guest instead of telling it that growing failed, so that it cannot hide the reason.
fn take(left: &mut usize, current: usize, desired: usize, what: &str) -> wasmtime::Result<bool> {
    let more = desired.saturating_sub(current);
    match left.checked_sub(more) {
        Some(rest) => {
            *left = rest;
            Ok(true)
        }
        None => Err(GuestEnded::error(
            ErrorKind::LimitMemory,
            format!("the verifier asked for {more} more {what}; its limit leaves {left}"),
        )),
    }
}
