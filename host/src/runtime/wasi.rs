//! The part of WASI that language runtimes need to start. Nothing in it reaches outside.
//!
//! The interfaces are those of wasmtime-wasi, with fixed implementations. Sockets and HTTP are not linked.

use super::ending::GuestEnded;
use super::log::{CallLog, LogLevel};
use super::sandbox::Sandbox;
use crate::verdict::ErrorKind;
use bytes::Bytes;
use parking_lot::Mutex;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::AsyncWrite;
use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi::cli::{IsTerminal, StdoutStream, WasiCli, WasiCliView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView};
use wasmtime_wasi::p2::bindings::{cli, filesystem, random};
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::p2::{self, OutputStream, Pollable, StreamError, StreamResult};
use wasmtime_wasi::random::WasiRandom;
use wasmtime_wasi::{Deterministic, HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxView, WasiView, async_trait};

/// 2026-01-01T00:00:00Z. Not zero, because some runtimes take zero for a broken clock.
const NOW: Duration = Duration::from_secs(1_767_225_600);

/// The offered WASI interfaces. Every other import is refused by name.
const OFFERED: &[&str] = &[
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
];

/// Returns whether this interface, named without its version, is offered.
pub(super) fn is_offered(interface: &str) -> bool {
    OFFERED.contains(&interface)
}

/// The WASI state of a guest, created on first use.
pub(super) struct Wasi {
    seed: blake3::Hash,
    handles: usize,
    random: u64,
    /// For a program: its stdin and its stdout.
    program: Option<(Bytes, CapturedOutput)>,
    parts: Option<Box<WasiState>>,
}

struct WasiState {
    context: WasiCtx,
    table: ResourceTable,
    printed: CapturedOutput,
}

impl Wasi {
    pub(super) fn new(seed: blake3::Hash, handles: usize, random: u64) -> Self {
        Self { seed, handles, random, program: None, parts: None }
    }

    /// Makes the guest a program with this stdin and at most so many bytes of stdout.
    pub(super) fn is_program(&mut self, input: Vec<u8>, max_output: usize) {
        self.program = Some((input.into(), CapturedOutput::at_most(max_output)));
    }

    /// Returns the stdout of a program.
    pub(super) fn output(&self) -> Vec<u8> {
        let output = self.program.as_ref().map(|(_, output)| output.0.lock());
        output.map(|text| text.kept.clone()).unwrap_or_default()
    }

    /// Adds the guest's output to its log.
    pub(super) fn log_printed(self, log: &mut CallLog) {
        let Some(parts) = self.parts else { return };
        let printed = parts.printed.0.lock();
        for line in String::from_utf8_lossy(&printed.kept).lines() {
            log.write(LogLevel::Printed, line);
        }
        log.drop_lines(printed.lost_lines);
    }

    fn parts(&mut self) -> &mut WasiState {
        let Self { seed, handles, random, program, parts } = self;
        parts.get_or_insert_with(|| {
            let printed = CapturedOutput::default();
            let mut bytes = vec![0; 4 << 10];
            blake3::Hasher::new_keyed(seed.as_bytes()).finalize_xof().fill(&mut bytes);
            let mut first = [0; 16];
            first.copy_from_slice(&bytes[..16]);
            let mut table = ResourceTable::new();
            table.set_max_capacity(*handles);
            let mut builder = WasiCtx::builder();
            builder.stdout(printed.clone());
            if let Some((input, output)) = program {
                // Some runtimes fail without a program name.
                builder.arg("verifier").stdin(MemoryInputPipe::new(input.clone())).stdout(output.clone());
            }
            let context = builder
                .stderr(printed.clone())
                .secure_random(Deterministic::new(bytes.clone()))
                .insecure_random(Deterministic::new(bytes))
                .insecure_random_seed(u128::from_le_bytes(first))
                .max_random_size(*random)
                .wall_clock(FixedClock)
                .monotonic_clock(FixedClock)
                .build();
            Box::new(WasiState { context, table, printed })
        })
    }
}

impl WasiView for Sandbox {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let WasiState { context, table, .. } = self.wasi.parts();
        WasiCtxView { ctx: context, table }
    }
}

/// Links the offered interfaces.
pub(super) fn add_to_linker(linker: &mut Linker<Sandbox>) -> wasmtime::Result<()> {
    p2::add_to_linker_proxy_interfaces_async(linker)?;
    random::insecure::add_to_linker::<_, WasiRandom>(linker, |sandbox: &mut Sandbox| sandbox.ctx().ctx.random())?;
    random::insecure_seed::add_to_linker::<_, WasiRandom>(linker, |sandbox: &mut Sandbox| sandbox.ctx().ctx.random())?;
    cli::exit::add_to_linker::<_, WasiCli>(linker, Sandbox::cli)?;
    cli::environment::add_to_linker::<_, WasiCli>(linker, Sandbox::cli)?;
    cli::terminal_input::add_to_linker::<_, WasiCli>(linker, Sandbox::cli)?;
    cli::terminal_output::add_to_linker::<_, WasiCli>(linker, Sandbox::cli)?;
    cli::terminal_stdin::add_to_linker::<_, WasiCli>(linker, Sandbox::cli)?;
    cli::terminal_stdout::add_to_linker::<_, WasiCli>(linker, Sandbox::cli)?;
    cli::terminal_stderr::add_to_linker::<_, WasiCli>(linker, Sandbox::cli)?;
    filesystem::types::add_to_linker::<_, WasiFilesystem>(linker, Sandbox::filesystem)?;
    filesystem::preopens::add_to_linker::<_, WasiFilesystem>(linker, Sandbox::filesystem)?;
    Ok(())
}

/// A clock that does not advance.
struct FixedClock;

impl HostWallClock for FixedClock {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        NOW
    }
}

impl HostMonotonicClock for FixedClock {
    fn resolution(&self) -> u64 {
        1_000_000
    }

    fn now(&self) -> u64 {
        1_000_000_000
    }
}

/// Stdout or stderr: accepts everything and keeps the beginning. The stdout of a program is its answer, so too much of it
/// ends the program.
#[derive(Clone, Default)]
struct CapturedOutput(Arc<Mutex<CapturedText>>);

#[derive(Default)]
struct CapturedText {
    kept: Vec<u8>,
    lost_lines: u64,
    /// The most bytes that may be written; more are an error.
    at_most: Option<usize>,
}

impl CapturedOutput {
    /// More than any log keeps.
    const MAX: usize = 1 << 20;

    fn at_most(bytes: usize) -> Self {
        Self(Arc::new(Mutex::new(CapturedText { at_most: Some(bytes), ..CapturedText::default() })))
    }

    fn keep(&self, bytes: &[u8]) -> wasmtime::Result<()> {
        let mut text = self.0.lock();
        let room = text.at_most.unwrap_or(Self::MAX) - text.kept.len();
        if let Some(most) = text.at_most.filter(|_| bytes.len() > room) {
            let message = format!("the program printed more than {most} bytes");
            return Err(GuestEnded::error(ErrorKind::LimitTransfer, message));
        }
        let (kept, lost) = bytes.split_at(bytes.len().min(room));
        text.kept.extend_from_slice(kept);
        text.lost_lines += lost.iter().filter(|&&byte| byte == b'\n').count() as u64;
        Ok(())
    }
}

impl IsTerminal for CapturedOutput {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for CapturedOutput {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl OutputStream for CapturedOutput {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.keep(&bytes).map_err(StreamError::Trap)
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}

#[async_trait]
impl Pollable for CapturedOutput {
    async fn ready(&mut self) {}
}

impl AsyncWrite for CapturedOutput {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        Poll::Ready(self.keep(bytes).map(|()| bytes.len()).map_err(std::io::Error::other))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
