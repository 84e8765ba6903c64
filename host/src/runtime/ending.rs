//! Every way in which a guest can end without an answer, mapped to its kind. The one place that knows.

use crate::text;
use crate::verdict::{ErrorKind, Failure};
use std::fmt;
use wasmtime::component::ResourceTableError;
use wasmtime::{PoolConcurrencyLimitError, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

/// How many frames of a guest's stack are shown.
const MAX_FRAMES: usize = 8;

/// The host ended the guest, for this reason.
#[derive(Debug)]
pub(super) struct Ended {
    kind: ErrorKind,
    message: String,
}

impl Ended {
    pub(super) fn error(kind: ErrorKind, message: impl Into<String>) -> wasmtime::Error {
        wasmtime::Error::new(Self { kind, message: message.into() })
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Ended {}

/// Name what happened.
pub(super) fn failure(error: &wasmtime::Error) -> Failure {
    let (kind, message) = classify(error);
    let failure = Failure::new(kind, text::clean_line(&message, 500));
    match error.downcast_ref::<WasmBacktrace>().and_then(frames) {
        Some(frames) if error.downcast_ref::<Trap>().is_some() => failure.hint(format!("the guest was in {frames}")),
        _ => failure,
    }
}

fn classify(error: &wasmtime::Error) -> (ErrorKind, String) {
    if let Some(Ended { kind, message }) = error.downcast_ref() {
        return (*kind, message.clone());
    }
    if let Some(I32Exit(code)) = error.downcast_ref() {
        return (ErrorKind::GuestExited, format!("the guest exited with code {code} instead of answering"));
    }
    if let Some(trap) = error.downcast_ref() {
        return (of_trap(*trap), trap.to_string());
    }
    let root = error.root_cause();
    let message = root.to_string();
    let kind = if root.is::<std::str::Utf8Error>() || root.is::<std::string::FromUtf8Error>() {
        ErrorKind::AbiUtf8
    } else if let Some(ResourceTableError::Full) = root.downcast_ref() {
        ErrorKind::LimitHandles
    } else if root.is::<PoolConcurrencyLimitError>() {
        ErrorKind::HostFailed
    } else {
        of_message(&message)
    };
    (kind, message)
}

fn of_trap(trap: Trap) -> ErrorKind {
    match trap {
        Trap::StackOverflow => ErrorKind::TrapStack,
        Trap::UnreachableCodeReached => ErrorKind::TrapUnreachable,
        Trap::MemoryOutOfBounds | Trap::TableOutOfBounds | Trap::HeapMisaligned => ErrorKind::TrapOutOfBounds,
        Trap::IntegerDivisionByZero | Trap::IntegerOverflow | Trap::BadConversionToInteger => ErrorKind::TrapArithmetic,
        Trap::IndirectCallToNull | Trap::BadSignature => ErrorKind::TrapBadCall,
        Trap::CannotLeaveComponent | Trap::CannotEnterComponent => ErrorKind::TrapReentry,
        Trap::Interrupt => ErrorKind::LimitTime,
        Trap::InvalidChar => ErrorKind::AbiUtf8,
        _ => ErrorKind::TrapOther,
    }
}

/// wasmtime words what it finds in a guest's values and has no types for it. The wasmtime version is pinned, and the
/// catalogue of hostile guests fails if a text changes; an unknown text is an error of no particular kind.
fn of_message(message: &str) -> ErrorKind {
    const TEXTS: &[(&str, ErrorKind)] = &[
        ("hostcall fuel", ErrorKind::LimitTransfer),
        ("hostcall", ErrorKind::LimitTransfer),
        ("store handle limit exceeded", ErrorKind::LimitHandles),
        ("handle: index overflow", ErrorKind::LimitHandles),
        ("exceeds limit", ErrorKind::LimitRandom),
        ("discriminant", ErrorKind::AbiDiscriminant),
        ("unexpected case", ErrorKind::AbiDiscriminant),
        ("out of bounds", ErrorKind::AbiOutOfBounds),
        ("not aligned", ErrorKind::AbiOutOfBounds),
        ("beyond end of memory", ErrorKind::AbiOutOfBounds),
        ("overflow", ErrorKind::AbiOutOfBounds),
        ("utf-8", ErrorKind::AbiUtf8),
        ("utf-16", ErrorKind::AbiUtf8),
        ("memory", ErrorKind::LimitMemory),
        ("table", ErrorKind::LimitMemory),
    ];
    let message = message.to_ascii_lowercase();
    TEXTS.iter().find(|(text, _)| message.contains(text)).map_or(ErrorKind::TrapOther, |(_, kind)| *kind)
}

fn frames(backtrace: &WasmBacktrace) -> Option<String> {
    let names: Vec<String> = backtrace
        .frames()
        .iter()
        .filter_map(|frame| frame.func_name())
        .map(|name| text::clean_line(&wasmtime_demangle(name), 120))
        .take(MAX_FRAMES)
        .collect();
    (!names.is_empty()).then(|| names.join(" ← "))
}

fn wasmtime_demangle(name: &str) -> String {
    name.to_owned()
}
