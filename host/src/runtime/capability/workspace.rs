//! The `workspace` interface: reads of the work, bounded and traced.

use crate::runtime::bindings::gatehost::verifier::workspace as wit;
use crate::runtime::ending::Ended;
use crate::runtime::sandbox::Sandbox;
use crate::text;
use crate::verdict::ErrorKind;
use crate::workspace::{Entry, Error, Kind, Workspace};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The largest file that is handed over at once.
const MAX_READ: u64 = 16 << 20;

/// What a guest looked at: for each path, a digest of what it was told. A verdict is only as good as these.
pub type Trace = BTreeMap<String, blake3::Hash>;

/// A guest's view of the work.
pub(crate) struct Reader {
    workspace: Arc<Workspace>,
    trace: Trace,
}

impl Reader {
    pub(crate) fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace, trace: Trace::new() }
    }

    pub(crate) fn into_trace(self) -> Trace {
        self.trace
    }
}

impl Sandbox {
    /// Only linked where it was granted; should that ever be wrong, the guest ends and gets nothing.
    fn reader(&mut self) -> wasmtime::Result<&mut Reader> {
        self.workspace
            .as_mut()
            .ok_or_else(|| Ended::error(ErrorKind::LinkCapabilityDenied, "the check has no grant `workspace`"))
    }

    fn traced<T>(
        &mut self,
        question: String,
        ask: impl FnOnce(&Workspace) -> Result<T, Error>,
        digest: impl FnOnce(&T) -> blake3::Hash,
    ) -> wasmtime::Result<Result<T, wit::Error>> {
        let reader = self.reader()?;
        let answer = ask(&reader.workspace).map_err(refusal);
        let digest = match &answer {
            Ok(answer) => digest(answer),
            Err(error) => blake3::hash(format!("{error:?}").as_bytes()),
        };
        reader.trace.insert(question, digest);
        Ok(answer)
    }
}

impl wit::Host for Sandbox {
    fn read(&mut self, path: String) -> wasmtime::Result<Result<Vec<u8>, wit::Error>> {
        self.traced(format!("read {path}"), |work| work.read(&path, MAX_READ), |bytes| blake3::hash(bytes))
    }

    fn read_range(&mut self, path: String, offset: u64, length: u32) -> wasmtime::Result<Result<Vec<u8>, wit::Error>> {
        let length = length.min(u32::try_from(MAX_READ).unwrap_or(u32::MAX));
        let question = format!("read {offset}+{length} {path}");
        self.traced(question, |work| work.read_range(&path, offset, length), |bytes| blake3::hash(bytes))
    }

    fn stat(&mut self, path: String) -> wasmtime::Result<Result<wit::Entry, wit::Error>> {
        self.traced(format!("stat {path}"), |work| work.stat(&path).map(entry), |entry| digest(&[entry]))
    }

    fn list(&mut self, path: String, after: Option<String>) -> wasmtime::Result<Result<wit::Page, wit::Error>> {
        let question = format!("list {} {path}", after.as_deref().unwrap_or_default());
        self.traced(
            question,
            |work| {
                let page = work.list(&path, after.as_deref())?;
                let entries = page.entries.into_iter().map(entry).collect();
                Ok(wit::Page { entries, next: page.next, unnamable: page.unnamable })
            },
            |page| digest(&page.entries.iter().collect::<Vec<_>>()),
        )
    }
}

fn digest(entries: &[&wit::Entry]) -> blake3::Hash {
    blake3::hash(format!("{entries:?}").as_bytes())
}

fn entry(entry: Entry) -> wit::Entry {
    wit::Entry { path: entry.path, kind: kind(entry.kind), size: entry.size }
}

fn kind(kind: Kind) -> wit::Kind {
    match kind {
        Kind::File => wit::Kind::File,
        Kind::Directory => wit::Kind::Directory,
        Kind::Link => wit::Kind::Link,
        Kind::Other => wit::Kind::Other,
    }
}

fn refusal(error: Error) -> wit::Error {
    match error {
        Error::NotFound => wit::Error::NotFound,
        Error::BadPath => wit::Error::BadPath,
        Error::WrongKind(found) => wit::Error::WrongKind(kind(found)),
        Error::TooLarge(size) => wit::Error::TooLarge(size),
        Error::Changed => wit::Error::Changed,
        Error::TooManyEntries | Error::Astray { .. } | Error::Io(_) => {
            wit::Error::Unreadable(text::clean_line(&error.to_string(), 200))
        }
    }
}
