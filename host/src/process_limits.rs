//! The limits that the caller has set on this process, as `ulimit` does.

use rustix::process::{Resource, getrlimit};
use std::fmt;

/// A limit that can end `gate`, or keep it from working.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessLimit {
    /// Of the address space.
    AddressSpace,
    /// Of the memory that can be written.
    Data,
    /// Of each file that is written.
    FileSize,
    /// Of the files that are open at the same time.
    OpenFiles,
    /// Of the processes and threads of the user.
    Processes,
    /// Of the processor time.
    ProcessorTime,
    /// Of the stack of the first thread.
    Stack,
}

impl ProcessLimit {
    /// Every limit.
    pub const ALL: [Self; 7] = [
        Self::AddressSpace,
        Self::Data,
        Self::FileSize,
        Self::OpenFiles,
        Self::Processes,
        Self::ProcessorTime,
        Self::Stack,
    ];

    /// Returns the limit as it is now, in bytes, seconds or pieces; `None` if there is none.
    pub fn value(self) -> Option<u64> {
        getrlimit(match self {
            Self::AddressSpace => Resource::As,
            Self::Data => Resource::Data,
            Self::FileSize => Resource::Fsize,
            Self::OpenFiles => Resource::Nofile,
            Self::Processes => Resource::Nproc,
            Self::ProcessorTime => Resource::Cpu,
            Self::Stack => Resource::Stack,
        })
        .current
    }

    /// Returns the value below which `gate` looks before it starts, and mentions the limit when something fails.
    fn usual(self) -> u64 {
        match self {
            Self::AddressSpace | Self::Data | Self::FileSize | Self::ProcessorTime => u64::MAX,
            Self::OpenFiles => 256,
            Self::Processes => 512,
            Self::Stack => 8 << 20,
        }
    }

    /// Returns the value, if it is unusually low.
    pub fn low(self) -> Option<LowLimit> {
        self.value().filter(|value| *value < self.usual()).map(|value| LowLimit { limit: self, value })
    }
}

/// Returns the limits that are unusually low.
pub fn low() -> impl Iterator<Item = LowLimit> {
    ProcessLimit::ALL.into_iter().filter_map(ProcessLimit::low)
}

/// Returns the limit because of which there can be too little memory.
pub fn of_memory() -> Option<LowLimit> {
    ProcessLimit::AddressSpace.low().or_else(|| ProcessLimit::Data.low())
}

/// An unusually low limit. Displaying it does not allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowLimit {
    /// The limit.
    pub limit: ProcessLimit,
    /// Its value.
    pub value: u64,
}

impl fmt::Display for LowLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value;
        match self.limit {
            ProcessLimit::AddressSpace => {
                write!(f, "the address space is limited to {} KiB (`ulimit -v`)", value >> 10)
            }
            ProcessLimit::Data => write!(f, "memory is limited to {} KiB (`ulimit -d`)", value >> 10),
            ProcessLimit::FileSize => write!(f, "each file is limited to {value} bytes (`ulimit -f`)"),
            ProcessLimit::OpenFiles => write!(f, "open files are limited to {value} (`ulimit -n`)"),
            ProcessLimit::Processes => write!(f, "processes and threads are limited to {value} (`ulimit -u`)"),
            ProcessLimit::ProcessorTime => write!(f, "processor time is limited to {value} s (`ulimit -t`)"),
            ProcessLimit::Stack => write!(f, "the stack is limited to {} KiB (`ulimit -s`)", value >> 10),
        }
    }
}
