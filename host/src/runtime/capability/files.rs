//! The `workspace` interface: bounded reads.

use super::ReadFiles;
use crate::runtime::bindings::gatehost::verifier::workspace as wit;
use crate::runtime::ending::GuestEnded;
use crate::runtime::sandbox::Sandbox;
use crate::text;
use crate::verdict::ErrorKind;
use crate::workspace::{FileKind, WorkspaceEntry, WorkspaceError};

/// The largest file that is returned at once.
const MAX_READ: u64 = 16 << 20;

impl Sandbox {
    /// Returns the workspace of the check. The import is linked only if it is granted; if that should ever be wrong, the
    /// guest ends.
    fn work(&self) -> wasmtime::Result<&dyn ReadFiles> {
        self.workspace
            .as_deref()
            .ok_or_else(|| GuestEnded::error(ErrorKind::LinkCapabilityDenied, "the check has no grant `workspace`"))
    }
}

impl wit::Host for Sandbox {
    fn read(&mut self, path: String) -> wasmtime::Result<Result<Vec<u8>, wit::Error>> {
        Ok(self.work()?.read(&path, MAX_READ).map_err(refusal))
    }

    fn read_range(&mut self, path: String, offset: u64, length: u32) -> wasmtime::Result<Result<Vec<u8>, wit::Error>> {
        let length = length.min(u32::try_from(MAX_READ).unwrap_or(u32::MAX));
        Ok(self.work()?.read_range(&path, offset, length).map_err(refusal))
    }

    fn stat(&mut self, path: String) -> wasmtime::Result<Result<wit::Entry, wit::Error>> {
        Ok(self.work()?.stat(&path).map(entry).map_err(refusal))
    }

    fn list(&mut self, path: String, after: Option<String>) -> wasmtime::Result<Result<wit::Page, wit::Error>> {
        let page = self.work()?.list(&path, after.as_deref()).map_err(refusal);
        Ok(page.map(|page| wit::Page {
            entries: page.entries.into_iter().map(entry).collect(),
            next: page.next,
            unnamable: page.unnamable,
        }))
    }
}

fn entry(entry: WorkspaceEntry) -> wit::Entry {
    wit::Entry { path: entry.path, kind: kind(entry.kind), size: entry.size }
}

fn kind(kind: FileKind) -> wit::Kind {
    match kind {
        FileKind::File => wit::Kind::File,
        FileKind::Directory => wit::Kind::Directory,
        FileKind::Link => wit::Kind::Link,
        FileKind::Other => wit::Kind::Other,
    }
}

fn refusal(error: WorkspaceError) -> wit::Error {
    match error {
        WorkspaceError::NotFound => wit::Error::NotFound,
        WorkspaceError::BadPath => wit::Error::BadPath,
        WorkspaceError::WrongKind(found) => wit::Error::WrongKind(kind(found)),
        WorkspaceError::TooLarge(size) => wit::Error::TooLarge(size),
        WorkspaceError::Changed => wit::Error::Changed,
        WorkspaceError::TooManyEntries | WorkspaceError::BadLink { .. } | WorkspaceError::Io(_) => {
            wit::Error::Unreadable(text::clean_line(&error.to_string(), 200))
        }
    }
}
