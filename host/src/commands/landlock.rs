//! Landlock: the files that a command may access, and the processes that it may signal or trace.

use super::mounts::{MountAccess, MountedPath};
use super::sys::{self, RulesetAttr};
use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_BLOCK: u64 = 1 << 11;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;
/// The first version that allows moving files between folders, which most builds need.
const REFERS: u32 = 2;
/// The first version that confines abstract sockets and signals.
const SCOPES: u32 = 6;

/// A ruleset that a child creates and enforces.
#[derive(Debug)]
pub(super) struct Landlock {
    version: u32,
    rules: Vec<(CString, u64)>,
}

impl Landlock {
    /// Returns the rules for these paths. `None` if the kernel has no Landlock, or one that is too old.
    pub(super) fn new(places: &[MountedPath]) -> io::Result<Option<Self>> {
        let version = sys::landlock_version();
        if version < REFERS {
            return Ok(None);
        }
        let rule = |place: &MountedPath| Ok((path(&place.path)?, rights(place) & handled(version)));
        let rules = places.iter().map(rule).collect::<io::Result<_>>()?;
        Ok(Some(Self { version, rules }))
    }

    /// Returns whether `kill(-1)` reaches only processes inside the sandbox.
    pub(super) fn keeps_signals_inside(&self) -> bool {
        self.version >= SCOPES
    }

    /// Enforces the rules.
    pub(super) fn enter(&self) -> io::Result<()> {
        let attr = RulesetAttr { handled_fs: handled(self.version), handled_net: 0, scoped: self.scopes() };
        let ruleset = sys::landlock_ruleset(&attr, self.version)?;
        for (path, access) in &self.rules {
            match sys::landlock_allow(&ruleset, path, *access) {
                // A path that does not exist needs no rule.
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EACCES)) => {}
                other => other?,
            }
        }
        sys::landlock_enter(&ruleset)
    }

    /// Enforces a second ruleset, so that processes with only the first one can be neither traced nor signalled from within.
    pub(super) fn enter_deeper(&self) -> io::Result<()> {
        let attr = RulesetAttr { handled_fs: MAKE_CHAR | MAKE_BLOCK | REFER, handled_net: 0, scoped: self.scopes() };
        let ruleset = sys::landlock_ruleset(&attr, self.version)?;
        // Every ruleset denies moves between folders unless it allows them.
        sys::landlock_allow(&ruleset, c"/", REFER)?;
        sys::landlock_enter(&ruleset)
    }

    fn scopes(&self) -> u64 {
        if self.version >= SCOPES { 0b11 } else { 0 }
    }
}

/// Returns every right that this version knows. Rights that are not granted are denied.
fn handled(version: u32) -> u64 {
    let rights = match version {
        0..=2 => 14,
        3 | 4 => 15,
        _ => 16,
    };
    (1 << rights) - 1
}

fn rights(place: &MountedPath) -> u64 {
    let of_files = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
    let rights = match place.access {
        MountAccess::Read => EXECUTE | READ_FILE | READ_DIR,
        MountAccess::Write => !(MAKE_CHAR | MAKE_BLOCK),
        MountAccess::Device => READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV,
    };
    if place.folder { rights } else { rights & of_files }
}

/// Returns a path for the kernel.
pub(super) fn path(path: &Path) -> io::Result<CString> {
    text(path.as_os_str())
}

pub(super) fn text(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(io::Error::other)
}
