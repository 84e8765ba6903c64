//! Maps every way in which a guest can end without an answer to an error kind.

use crate::process_limits::{self, ProcessLimit};
use crate::text;
use crate::verdict::{ErrorKind, Failure};
use std::char::DecodeUtf16Error;
use std::fmt;
use std::str::Utf8Error;
use wasmtime::component::ResourceTableError;
use wasmtime::{OutOfMemory, PoolConcurrencyLimitError, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

/// How many frames of a guest's stack are shown.
const MAX_FRAMES: usize = 8;

/// The reason for which the host ended the guest.
#[derive(Debug)]
pub(super) struct GuestEnded {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
}

impl GuestEnded {
    pub(super) fn error(kind: ErrorKind, message: impl Into<String>) -> wasmtime::Error {
        wasmtime::Error::new(Self { kind, message: message.into(), hint: None })
    }

    /// Returns an error for a reason that is known as a failure.
    pub(super) fn failure(Failure { kind, message, hint }: Failure) -> wasmtime::Error {
        wasmtime::Error::new(Self { kind, message, hint })
    }
}

impl fmt::Display for GuestEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for GuestEnded {}

/// Returns the exit code of a program, if it exited.
pub(super) fn exit_code(error: wasmtime::Error) -> wasmtime::Result<i32> {
    match error.downcast_ref() {
        Some(I32Exit(code)) => Ok(*code),
        None => Err(error),
    }
}

/// Returns the failure for an error of a guest.
pub(super) fn failure(error: &wasmtime::Error) -> Failure {
    if let Some(shortage) = shortage(error) {
        return shortage;
    }
    let (kind, message) = classify(error);
    let failure = Failure::new(kind, text::clean_line(&message, 500));
    match error.downcast_ref::<WasmBacktrace>().and_then(frames) {
        Some(frames) if error.downcast_ref::<Trap>().is_some() => failure.hint(format!("the verifier was in {frames}")),
        _ => {
            let given = error.downcast_ref::<GuestEnded>().and_then(|ended| ended.hint.clone());
            Failure { hint: given.or_else(|| advice(kind).map(str::to_owned)), ..failure }
        }
    }
}

/// Returns a hint for the author of the component.
fn advice(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::LimitTime => {
            "check for an endless loop, or for waiting on the clock, which does not advance; to allow more time, raise `limits.time` of its check"
        }
        ErrorKind::LimitMemory => "to allow more memory, raise `limits.memory` of its check",
        ErrorKind::LimitTransfer => "report fewer and shorter findings, or raise `limits.transfer` of its check",
        ErrorKind::GuestExited => "a verifier returns its verdict; it never calls `exit`",
        ErrorKind::AbiUtf8 => "strings must be UTF-8: replace invalid bytes before returning them",
        ErrorKind::AbiDiscriminant => "generate its bindings from this version of the contract",
        _ => return None,
    })
}

/// Returns the failure for an error of the machine: it has no memory to map. No guest can cause that, because the reservation
/// for its memory does not depend on the guest.
pub(super) fn shortage(error: &wasmtime::Error) -> Option<Failure> {
    let root = error.root_cause();
    if !root.is::<rustix::io::Errno>() && !root.is::<std::io::Error>() && !root.is::<OutOfMemory>() {
        return None;
    }
    let why = text::clean_line(&format!("the machine has no memory for the verifier: {error:#}"), 500);
    let advised = match process_limits::of_memory() {
        Some(low) if low.limit == ProcessLimit::AddressSpace => {
            format!("raise the limit: {low}; each verifier that runs needs 4.1 GiB of it, mostly unused")
        }
        Some(low) => format!("raise the limit: {low}"),
        None => "free some memory of the machine".to_owned(),
    };
    Some(Failure::new(ErrorKind::HostFailed, why).hint(advised))
}

/// Returns the failure for a valid component that the engine refuses.
pub(super) fn refusal(error: &wasmtime::Error) -> Failure {
    if let Some(shortage) = shortage(error) {
        return shortage;
    }
    let kind = kind_of(&error.root_cause().to_string(), REFUSALS).unwrap_or(ErrorKind::LoadMalformed);
    Failure::new(kind, text::clean_line(&format!("cannot compile the component: {error:#}"), 500))
}

fn classify(error: &wasmtime::Error) -> (ErrorKind, String) {
    if let Some(GuestEnded { kind, message, .. }) = error.downcast_ref() {
        return (*kind, message.clone());
    }
    if let Some(I32Exit(code)) = error.downcast_ref() {
        return (
            ErrorKind::GuestExited,
            format!("the verifier exited with code {code} instead of returning a verdict"),
        );
    }
    if let Some(trap) = error.downcast_ref() {
        return (of_trap(*trap), trap.to_string());
    }
    let root = error.root_cause();
    let message = root.to_string();
    let kind = if root.is::<Utf8Error>() || root.is::<DecodeUtf16Error>() {
        ErrorKind::AbiUtf8
    } else if let Some(ResourceTableError::Full) = root.downcast_ref() {
        ErrorKind::LimitHandles
    } else if root.is::<PoolConcurrencyLimitError>() {
        ErrorKind::HostFailed
    } else {
        kind_of(&message, ENDINGS).unwrap_or(ErrorKind::TrapOther)
    };
    (kind, message)
}

fn of_trap(trap: Trap) -> ErrorKind {
    match trap {
        Trap::StackOverflow => ErrorKind::TrapStack,
        Trap::UnreachableCodeReached => ErrorKind::TrapUnreachable,
        Trap::MemoryOutOfBounds | Trap::TableOutOfBounds => ErrorKind::TrapOutOfBounds,
        Trap::IntegerDivisionByZero | Trap::IntegerOverflow | Trap::BadConversionToInteger => ErrorKind::TrapArithmetic,
        Trap::IndirectCallToNull | Trap::BadSignature => ErrorKind::TrapBadCall,
        Trap::CannotLeaveComponent | Trap::CannotEnterComponent => ErrorKind::TrapReentry,
        Trap::Interrupt => ErrorKind::LimitTime,
        // What the parts of a composed component pass to each other.
        Trap::InvalidChar => ErrorKind::AbiUtf8,
        Trap::InvalidDiscriminant => ErrorKind::AbiDiscriminant,
        Trap::StringOutOfBounds | Trap::ListOutOfBounds | Trap::UnalignedPointer => ErrorKind::AbiOutOfBounds,
        _ => ErrorKind::TrapOther,
    }
}

// wasmtime has no types for these errors, only texts. Its version is pinned, and `tests/hostile.rs` has a guest for every
// line that a guest can reach, so a changed text fails a test. Unknown texts are errors without a particular kind.

/// Prefixes of the texts of errors that end a guest.
const ENDINGS: &[(&str, ErrorKind)] = &[
    ("too much data is being copied between the host and the guest", ErrorKind::LimitTransfer),
    ("cannot allocate another handle: ", ErrorKind::LimitHandles),
    ("cannot lend resource: ", ErrorKind::LimitHandles),
    ("requested len ", ErrorKind::LimitRandom),
    ("unexpected discriminant: ", ErrorKind::AbiDiscriminant),
    ("invalid option discriminant", ErrorKind::AbiDiscriminant),
    ("invalid expected discriminant", ErrorKind::AbiDiscriminant),
    ("return pointer not aligned", ErrorKind::AbiOutOfBounds),
    ("pointer not aligned", ErrorKind::AbiOutOfBounds),
    ("pointer size overflow", ErrorKind::AbiOutOfBounds),
    ("pointer out of bounds", ErrorKind::AbiOutOfBounds),
    ("string pointer", ErrorKind::AbiOutOfBounds),
    ("list pointer", ErrorKind::AbiOutOfBounds),
    ("realloc return: ", ErrorKind::AbiOutOfBounds),
    ("invalid utf8 encoding", ErrorKind::AbiUtf8),
    ("invalid utf16 encoding", ErrorKind::AbiUtf8),
    ("memory minimum size of ", ErrorKind::LimitMemory),
    ("table minimum size of ", ErrorKind::LimitMemory),
];

/// Prefixes of the texts of errors that refuse a component. `#` stands for a number.
const REFUSALS: &[(&str, ErrorKind)] = &[
    ("memory has a minimum byte size of ", ErrorKind::LimitMemory),
    ("table index # has a minimum element size of ", ErrorKind::LimitMemory),
    ("defined tables count of ", ErrorKind::LimitMemory),
    ("The component transitively contains # Wasm linear memories, ", ErrorKind::LimitMemory),
    ("The component transitively contains # tables, ", ErrorKind::LimitMemory),
    ("The component transitively contains # core module instances, ", ErrorKind::LoadLimit),
    ("instance allocation for this ", ErrorKind::LoadLimit),
    ("Compilation error: ", ErrorKind::CompileLimit),
    ("Implementation limit exceeded", ErrorKind::CompileLimit),
];

fn kind_of(message: &str, texts: &[(&str, ErrorKind)]) -> Option<ErrorKind> {
    let begins = |text: &str| match text.split_once('#') {
        None => message.starts_with(text),
        Some((before, after)) => message
            .strip_prefix(before)
            .is_some_and(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(after)),
    };
    texts.iter().find(|(text, _)| begins(text)).map(|(_, kind)| *kind)
}

/// Returns the functions on the guest's stack, innermost first, if it has names. They are parsed from wasmtime's output,
/// which demangles them.
fn frames(backtrace: &WasmBacktrace) -> Option<String> {
    let printed = backtrace.to_string();
    let frames = printed.lines().filter_map(|line| line.split_once('!'));
    let named = frames.map(|(_, name)| name).filter(|name| !name.starts_with("<wasm function "));
    let names: Vec<String> = named.map(|name| text::clean_line(name, 120)).take(MAX_FRAMES).collect();
    (!names.is_empty()).then(|| names.join(" ← "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_known_by_their_beginning() {
        for (message, kind) in [
            (
                "The component transitively contains 21 Wasm linear memories, which exceeds",
                Some(ErrorKind::LimitMemory),
            ),
            ("The component transitively contains 65 core module instances, which", Some(ErrorKind::LoadLimit)),
            ("The component transitively contains many tables, which", None),
            ("table index 0 has a minimum element size of 10000000 which", Some(ErrorKind::LimitMemory)),
            ("a memory has a minimum byte size of", None),
            ("", None),
        ] {
            assert_eq!(kind_of(message, REFUSALS), kind, "{message}");
        }
    }
}
