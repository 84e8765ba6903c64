//! Access to the workspace, behind a trait, so that the verifier can be tested without a host.

use gatehost_sdk::glob::Glob;
use gatehost_sdk::workspace;
use std::fmt;

/// How many entries a search looks at before it gives up.
const MOST_ENTRIES: usize = 100_000;

pub(crate) trait Files {
    fn stat(&self, path: &str) -> Result<Entry, Problem>;
    fn list(&self, path: &str, after: Option<&str>) -> Result<Page, Problem>;
    /// The first bytes of a file.
    fn start(&self, path: &str) -> Result<Vec<u8>, Problem>;
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) path: String,
    pub(crate) kind: EntryType,
    pub(crate) size: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryType {
    File,
    Folder,
    Link,
    Other,
}

impl EntryType {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Link => "a symlink",
            Self::Other => "neither a file nor a folder",
        }
    }
}

pub(crate) struct Page {
    pub(crate) entries: Vec<Entry>,
    pub(crate) next: Option<String>,
}

#[derive(Debug)]
pub(crate) enum Problem {
    NotFound,
    BadPath,
    /// There is, or may be, something: why it cannot be looked at.
    Unreadable(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFound => "the path does not exist",
            Self::BadPath => "the path is outside the workspace",
            Self::Unreadable(why) => why,
        })
    }
}

/// The work itself.
pub(crate) struct Workspace;

impl Files for Workspace {
    fn stat(&self, path: &str) -> Result<Entry, Problem> {
        workspace::stat(path).map(entry).map_err(problem)
    }

    fn list(&self, path: &str, after: Option<&str>) -> Result<Page, Problem> {
        let page = workspace::list(path, after).map_err(problem)?;
        Ok(Page { entries: page.entries.into_iter().map(entry).collect(), next: page.next })
    }

    fn start(&self, path: &str) -> Result<Vec<u8>, Problem> {
        workspace::read_range(path, 0, 16).map_err(problem)
    }
}

fn entry(entry: workspace::Entry) -> Entry {
    let kind = match entry.kind {
        workspace::Kind::File => EntryType::File,
        workspace::Kind::Directory => EntryType::Folder,
        workspace::Kind::Link => EntryType::Link,
        workspace::Kind::Other => EntryType::Other,
    };
    Entry { path: entry.path, kind, size: entry.size }
}

fn problem(error: workspace::Error) -> Problem {
    match error {
        workspace::Error::NotFound => Problem::NotFound,
        workspace::Error::BadPath => Problem::BadPath,
        workspace::Error::WrongKind(_) => {
            Problem::Unreadable("the path, or a part of it, is not a file or folder as expected".to_owned())
        }
        workspace::Error::TooLarge(size) => {
            Problem::Unreadable(format!("the file has {size} bytes, which is too large"))
        }
        workspace::Error::Changed => Problem::Unreadable("the file changed while it was read".to_owned()),
        workspace::Error::Unreadable(why) => Problem::Unreadable(why),
    }
}

/// The files that match, in the order of their paths, from the deepest folder that the pattern names outright.
pub(crate) fn matching(files: &dyn Files, pattern: &str, glob: &Glob) -> Result<Vec<Entry>, String> {
    let parts: Vec<&str> = pattern.split('/').collect();
    let plain =
        parts[..parts.len() - 1].iter().take_while(|part| !part.contains(['*', '?', '[', '{', '}', '\\', ','])).count();
    let mut folders = vec![parts[..plain].join("/")];
    let mut found = Vec::new();
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        let mut after = None;
        loop {
            let page = match files.list(&folder, after.as_deref()) {
                Ok(page) => page,
                // The folder that the pattern starts in need not be there.
                Err(Problem::NotFound) => break,
                Err(problem) => return Err(format!("`{folder}`: {problem}")),
            };
            for entry in page.entries {
                seen += 1;
                if seen > MOST_ENTRIES {
                    return Err(format!("it matches more than {MOST_ENTRIES} files and folders"));
                }
                match entry.kind {
                    EntryType::Folder => folders.push(entry.path),
                    _ if glob.matches(&entry.path) => found.push(entry),
                    _ => {}
                }
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

type Starts = &'static [(usize, &'static [u8])];

/// How files of a suffix start, any of these: an offset and the bytes there.
const SIGNATURES: &[(&str, Starts)] = &[
    (".png", &[(0, b"\x89PNG\r\n\x1a\n")]),
    (".jpg", &[(0, b"\xFF\xD8\xFF")]),
    (".jpeg", &[(0, b"\xFF\xD8\xFF")]),
    (".gif", &[(0, b"GIF87a"), (0, b"GIF89a")]),
    (".webp", &[(8, b"WEBP")]),
    (".pdf", &[(0, b"%PDF-")]),
    (".zip", &[(0, b"PK\x03\x04"), (0, b"PK\x05\x06")]),
    (".docx", &[(0, b"PK\x03\x04")]),
    (".xlsx", &[(0, b"PK\x03\x04")]),
    (".pptx", &[(0, b"PK\x03\x04")]),
    (".jar", &[(0, b"PK\x03\x04")]),
    (".whl", &[(0, b"PK\x03\x04")]),
    (".gz", &[(0, b"\x1F\x8B")]),
    (".tgz", &[(0, b"\x1F\x8B")]),
    (".xz", &[(0, b"\xFD7zXZ\0")]),
    (".zst", &[(0, b"\x28\xB5\x2F\xFD")]),
    (".wasm", &[(0, b"\0asm")]),
    (".sqlite", &[(0, b"SQLite format 3\0")]),
    (".parquet", &[(0, b"PAR1")]),
    (".woff2", &[(0, b"wOF2")]),
];

/// How a file of this name starts, where its suffix says so.
pub(crate) fn signature(path: &str) -> Option<(&'static str, Starts)> {
    let path = path.to_ascii_lowercase();
    SIGNATURES.iter().copied().find(|(suffix, _)| path.ends_with(suffix))
}
