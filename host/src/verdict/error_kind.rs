//! The kinds of errors: why there is no verdict.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Declares the kinds once: variant, stable name, meaning.
macro_rules! error_kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// The stable name of a reason why there is no answer. `gate` prints it, reports carry it, and people filter
        /// by it, so a name is never changed or given another meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind { $($(#[doc = $doc])+ $variant,)+ }

        impl ErrorKind {
            /// Every kind, in the order of this list.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the name.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

error_kinds! {
    /// The component could not be read.
    LoadUnreadable = "load.unreadable",
    /// The bytes are not WebAssembly, or not valid.
    LoadMalformed = "load.malformed",
    /// The bytes are a core module or text, and not a component.
    LoadNotComponent = "load.not-component",
    /// The bytes are precompiled machine code, which is never taken from outside.
    LoadPrecompiledRefused = "load.precompiled-refused",
    /// The component uses a WebAssembly feature that is switched off here.
    LoadFeatureDisabled = "load.feature-disabled",
    /// The component is too large, or has too many parts.
    LoadLimit = "load.limit",
    /// Compiling the component could take too long.
    CompileLimit = "compile.limit",
    /// The component's bytes are not the ones that were expected.
    TrustDigestMismatch = "trust.digest-mismatch",
    /// The component imports something that this host does not have.
    LinkUnknownImport = "link.unknown-import",
    /// The component imports a capability that its check was not granted.
    LinkCapabilityDenied = "link.capability-denied",
    /// The component was built for another version of the contract.
    LinkVersion = "link.version",
    /// The component does not export a verifier of this contract.
    LinkWorldMismatch = "link.world-mismatch",
    /// The settings are not valid under the verifier's schema.
    SettingsInvalid = "settings.invalid",
    /// The input is larger than a verifier may be given.
    InputLimit = "input.limit",
    /// A file of the workspace could not be read.
    FsUnreadable = "fs.unreadable",
    /// A path is not one that can be inside the workspace.
    FsBadPath = "fs.bad-path",
    /// A file changed after it was checked, or while it was read.
    SubjectChanged = "subject.changed",
    /// The call took too long.
    LimitTime = "limit.time",
    /// The guest wanted more memory or table space than its limit.
    LimitMemory = "limit.memory",
    /// The guest called the host too often.
    LimitHostcalls = "limit.hostcalls",
    /// The guest handed over, or made the host copy, too many bytes.
    LimitTransfer = "limit.transfer",
    /// The guest opened too many handles.
    LimitHandles = "limit.handles",
    /// The guest asked for too much randomness.
    LimitRandom = "limit.random",
    /// The guest recursed too deeply.
    TrapStack = "trap.stack",
    /// The guest reached an `unreachable` instruction: in most languages, a panic or an abort.
    TrapUnreachable = "trap.unreachable",
    /// The guest accessed memory or a table out of bounds.
    TrapOutOfBounds = "trap.out-of-bounds",
    /// The guest divided by zero, or an integer operation overflowed.
    TrapArithmetic = "trap.arithmetic",
    /// The guest called through a bad function reference.
    TrapBadCall = "trap.bad-call",
    /// The guest called the host when that is not allowed, such as from its allocator.
    TrapReentry = "trap.reentry",
    /// The guest trapped in another way.
    TrapOther = "trap.other",
    /// The guest ended its process instead of answering.
    GuestExited = "guest.exited",
    /// The guest is a program, and what it printed is not a verdict.
    GuestMalformed = "guest.malformed",
    /// The guest handed over a pointer or a length outside its memory.
    AbiOutOfBounds = "abi.oob",
    /// The guest handed over text that is not UTF-8.
    AbiUtf8 = "abi.utf8",
    /// The guest handed over a value that is no case of its type.
    AbiDiscriminant = "abi.discriminant",
    /// The guest handed over a number outside its range.
    AbiRange = "abi.range",
    /// The guest named a place that it may not name.
    AbiPlace = "abi.place",
    /// A command could not be started or confined.
    CommandNotStarted = "command.not-started",
    /// A command changed the policy, which it must not.
    CommandTampered = "command.tampered",
    /// A command failed and says that it could not write what it sees read-only.
    CommandReadOnly = "command.read-only",
    /// A command failed and says that it has no network.
    CommandOffline = "command.no-network",
    /// A command failed and says that a variable is not set; the command does not see that variable.
    CommandUnset = "command.no-variable",
    /// A command failed since a program was not found, or could not be executed.
    CommandNoProgram = "command.no-program",
    /// A command failed and says that a dependency is not installed.
    CommandNoDependency = "command.no-dependency",
    /// A model could not be reached, or answered with an error, after all retries.
    LlmUnreachable = "llm.unreachable",
    /// A model did not answer in time.
    LlmTimeout = "llm.timeout",
    /// The response of a model is not an answer.
    LlmMalformed = "llm.malformed",
    /// The budget of a model is used up.
    LlmBudget = "llm.budget",
    /// The model is the one that did the work.
    LlmNotDistinct = "llm.not-distinct",
    /// The host itself failed.
    HostFailed = "host.failed",
}

impl ErrorKind {
    /// Returns whether the error follows from the output or the exit code of a command. The author of the work may have
    /// chosen both, so such an error is never ignored, never retried, and counts as a vote against the work.
    pub fn is_by_output(self) -> bool {
        matches!(
            self,
            Self::CommandReadOnly
                | Self::CommandOffline
                | Self::CommandUnset
                | Self::CommandNoProgram
                | Self::CommandNoDependency
        )
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for ErrorKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ErrorKind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let kind = Self::ALL.iter().find(|kind| kind.as_str() == name).copied();
        kind.ok_or_else(|| serde::de::Error::custom(format!("`{name}` is not a kind of error")))
    }
}

impl JsonSchema for ErrorKind {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ErrorKind".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<&str> = Self::ALL.iter().map(|kind| kind.as_str()).collect();
        schemars::json_schema!({ "type": "string", "description": "Why there is no answer.", "examples": names })
    }
}
