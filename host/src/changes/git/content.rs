//! Hashes the working tree as git would, and compares it with stored objects.
//!
//! A checkout can write other bytes than are stored: with CRLF for LF, with the id of the file in `$Id$`, or, with Git LFS,
//! the file that a stored pointer names. Such a file counts as unchanged only if the attributes of the base commit ask for
//! the conversion, and only if undoing it gives exactly the stored bytes. Attributes in `.git` and in the working tree are
//! ignored, and no filter is run.

use super::attributes::{Attributes, TextConversion};
use super::id::{Hasher, Id, ObjectFormat, ObjectKind, hash};
use super::objects::Objects;
use super::program::Git;
use super::stats::{ContentIds, Conversion, StatCache};
use super::tree::{EntryMode, TreeEntry};
use super::walk::TrackedFile;
use super::worktree_changes::Live;
use crate::changes::{ChangesError, shown_text};
use crate::cores;
use crate::deadline::Deadline;
use crate::workspace::{self, FileKind, FileStamp, Workspace};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const PIECE: usize = 128 << 10;
/// Larger files are compared without conversion.
const MAX_CONVERTED: u64 = 64 << 20;
/// Git LFS does not accept larger pointers either.
const MAX_POINTER: usize = 1 << 10;

/// Returns the digests of the working tree, by the number of each path. Regular files that have changed since they were
/// hashed are hashed again, on all cores.
pub(super) fn digests<'p>(
    live: &Live<'_>,
    stats: &mut StatCache<'p>,
    paths: &[&'p [u8]],
    present: &[Option<TrackedFile>],
) -> Result<Vec<Option<ContentIds>>, ChangesError> {
    let (work, format, deadline) = (live.work, live.git.format, &live.git.deadline);
    let mut known = vec![None; paths.len()];
    let mut unknown = Vec::new();
    for (number, (path, present)) in paths.iter().zip(present).enumerate() {
        let Some(present) = present else { continue };
        match present.kind {
            FileKind::File => match stats.get(path, &present.mark) {
                Some(digests) => known[number] = Some(digests),
                None => unknown.push(number),
            },
            FileKind::Link => {
                deadline.check()?;
                let target = work.read_listed_link(path).map_err(|error| unreadable(path, &error))?;
                known[number] = Some(ContentIds { id: hash(format, ObjectKind::Blob, &target), other: None });
            }
            FileKind::Directory | FileKind::Other => {}
        }
    }
    let next = AtomicUsize::new(0);
    let hashed = Mutex::new(Vec::with_capacity(unknown.len()));
    let work_on = || {
        while let Some(&number) = unknown.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = file(work, format, paths[number], deadline);
            hashed.lock().push((number, result));
        }
    };
    let workers = cores::count().min(unknown.len().div_ceil(16));
    thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(work_on);
        }
        work_on();
    });
    deadline.check()?;
    let mut hashed = hashed.into_inner();
    hashed.sort_unstable_by_key(|(number, _)| *number);
    for (number, result) in hashed {
        match result {
            Ok((mark, digests)) => {
                stats.learn(paths[number], &mark, digests);
                known[number] = Some(digests);
            }
            // The check reports why the file cannot be read; until then it counts as changed.
            Err(
                workspace::WorkspaceError::NotFound
                | workspace::WorkspaceError::WrongKind(_)
                | workspace::WorkspaceError::Changed,
            ) => {}
            Err(error) => return Err(unreadable(paths[number], &error)),
        }
    }
    Ok(known)
}

fn unreadable(path: &[u8], error: &workspace::WorkspaceError) -> ChangesError {
    ChangesError::Unreadable { path: shown_text(&String::from_utf8_lossy(path)), why: error.to_string() }
}

/// Hashes a file. A file that changes meanwhile has no digests.
fn file(
    work: &Workspace,
    format: ObjectFormat,
    path: &[u8],
    deadline: &Deadline,
) -> Result<(FileStamp, ContentIds), workspace::WorkspaceError> {
    // After the deadline, nobody needs the result.
    let changed = |_| workspace::WorkspaceError::Changed;
    deadline.check().map_err(changed)?;
    let (mut file, stat) = work.open_listed_file(path)?;
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let mut hasher = Hasher::new(format, ObjectKind::Blob, size);
    let mut other = None;
    if size <= MAX_CONVERTED {
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        file.by_ref().take(size + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != size {
            return Err(workspace::WorkspaceError::Changed);
        }
        hasher.update(&bytes);
        other = without_carriage_returns(&bytes)
            .map(|bytes| (Conversion::LineEnds, hash(format, ObjectKind::Blob, &bytes)));
    } else {
        let mut piece = vec![0; PIECE];
        let mut left = size;
        loop {
            deadline.check().map_err(changed)?;
            let count = file.read(&mut piece)?;
            hasher.update(&piece[..count]);
            match (count, left.checked_sub(count as u64)) {
                (0, _) => break,
                (_, Some(rest)) => left = rest,
                (_, None) => return Err(workspace::WorkspaceError::Changed),
            }
        }
        if left > 0 {
            return Err(workspace::WorkspaceError::Changed);
        }
    }
    let mark = FileStamp::of(&stat);
    if FileStamp::of(&rustix::fs::fstat(&file)?) != mark {
        return Err(workspace::WorkspaceError::Changed);
    }
    Ok((mark, ContentIds { id: hasher.finish(), other }))
}

/// Returns the bytes with LF for every CRLF; `None` if there is none.
fn without_carriage_returns(bytes: &[u8]) -> Option<Vec<u8>> {
    bytes.windows(2).any(|pair| pair == b"\r\n").then(|| {
        let mut found = Vec::with_capacity(bytes.len());
        for (at, &byte) in bytes.iter().enumerate() {
            if byte != b'\r' || bytes.get(at + 1) != Some(&b'\n') {
                found.push(byte);
            }
        }
        found
    })
}

/// Compares files of the working tree with stored objects.
pub(super) struct ContentComparison<'a, 'p> {
    pub(super) git: &'a Git,
    pub(super) work: &'a Workspace,
    pub(super) stats: &'a mut StatCache<'p>,
    pub(super) attributes: Attributes<'a>,
    /// Whether the file system has executable bits.
    pub(super) has_modes: bool,
    /// Whether the user's git configuration asks for CRLF; read on first use.
    pub(super) converts: Option<bool>,
}

impl<'p> ContentComparison<'_, 'p> {
    /// Returns whether the file at `path` is what a checkout of `stored` would write.
    pub(super) fn is_stored(
        &mut self,
        objects: &mut Objects<'_>,
        path: &'p [u8],
        present: &TrackedFile,
        digests: Option<&ContentIds>,
        stored: &TreeEntry,
    ) -> Result<bool, ChangesError> {
        let has_kind = match (present.kind, stored.mode) {
            (FileKind::File, EntryMode::File) => !self.has_modes || !present.is_program,
            (FileKind::File, EntryMode::Program) => !self.has_modes || present.is_program,
            (FileKind::Link, EntryMode::Link) => true,
            _ => false,
        };
        let Some(digests) = digests.filter(|_| has_kind) else { return Ok(false) };
        if digests.id == stored.id {
            return Ok(true);
        }
        if present.kind != FileKind::File {
            return Ok(false);
        }
        let wanted = self.attributes.of(objects, path)?;
        match digests.other.filter(|(_, id)| *id == stored.id) {
            Some((Conversion::LineEnds, _)) => {
                let is_text = match wanted.text {
                    TextConversion::Yes => true,
                    TextConversion::No => false,
                    TextConversion::Unsaid => self.converts(),
                };
                if is_text {
                    return Ok(true);
                }
            }
            Some((Conversion::Pointer, _)) if wanted.is_large => return Ok(true),
            _ => {}
        }
        if wanted.is_large && self.is_named_by_pointer(objects, path, present, stored)? {
            let other = Some((Conversion::Pointer, stored.id));
            self.stats.learn(path, &present.mark, ContentIds { other, ..*digests });
            return Ok(true);
        }
        Ok(wanted.has_id && present.size <= MAX_CONVERTED && self.is_with_its_id(objects.git_format(), path, stored))
    }

    fn converts(&mut self) -> bool {
        *self.converts.get_or_insert_with(|| {
            // The user's own configuration, not that of the repository.
            let answer = self.git.ask(&["config", "--global", "--get", "core.autocrlf"]);
            answer.is_ok_and(|answer| matches!(answer.stdout.trim_ascii(), b"true" | b"input"))
        })
    }

    /// Returns whether the stored object is a Git LFS pointer to the file of the working tree.
    fn is_named_by_pointer(
        &self,
        objects: &mut Objects<'_>,
        path: &[u8],
        present: &TrackedFile,
        stored: &TreeEntry,
    ) -> Result<bool, ChangesError> {
        let what = format!("the base of `{}`", String::from_utf8_lossy(path));
        let pointer = objects.read_at_most(&stored.id, MAX_POINTER as u64, &what)?;
        let Some((digest, size)) = pointer.as_deref().and_then(pointer_of) else { return Ok(false) };
        let Ok((mut file, stat)) = self.work.open_listed_file(path) else { return Ok(false) };
        if u64::try_from(stat.st_size) != Ok(size) || FileStamp::of(&stat) != present.mark {
            return Ok(false);
        }
        let mut hasher = Sha256::new();
        let mut copied = 0;
        loop {
            objects.deadline().check()?;
            match io::copy(&mut file.by_ref().take(MAX_CONVERTED), &mut hasher) {
                Ok(0) | Err(_) => break,
                Ok(count) => copied += count,
            }
        }
        let is_whole = copied == size;
        let is_still = rustix::fs::fstat(&file).is_ok_and(|stat| FileStamp::of(&stat) == present.mark);
        Ok(is_whole && is_still && hasher.finalize().as_slice() == digest.as_bytes())
    }

    /// Returns whether the file differs only in the id that git writes into `$Id$`.
    fn is_with_its_id(&self, format: ObjectFormat, path: &[u8], stored: &TreeEntry) -> bool {
        let Ok((file, _)) = self.work.open_listed_file(path) else { return false };
        let mut bytes = Vec::new();
        if file.take(MAX_CONVERTED).read_to_end(&mut bytes).is_err() {
            return false;
        }
        let written = format!("$Id: {} $", stored.id);
        let mut plain = Vec::with_capacity(bytes.len());
        let mut rest = bytes.as_slice();
        while let Some((first, tail)) = rest.split_first() {
            match rest.strip_prefix(written.as_bytes()) {
                Some(tail) => {
                    plain.extend_from_slice(b"$Id$");
                    rest = tail;
                }
                None => {
                    plain.push(*first);
                    rest = tail;
                }
            }
        }
        hash(format, ObjectKind::Blob, &plain) == stored.id
    }
}

/// Returns the digest and the size of a Git LFS pointer.
fn pointer_of(bytes: &[u8]) -> Option<(Id, u64)> {
    let text = str::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_POINTER)?;
    let mut lines = text.lines();
    let version = lines.next()?;
    if version != "version https://git-lfs.github.com/spec/v1" {
        return None;
    }
    let mut digest = None;
    let mut size = None;
    for line in lines {
        match line.split_once(' ')? {
            ("oid", value) => digest = Id::from_hex(value.strip_prefix("sha256:")?.as_bytes()),
            ("size", value) => size = value.parse().ok(),
            _ => {}
        }
    }
    Some((digest.filter(|digest| digest.as_bytes().len() == 32)?, size?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_line_ends_are_converted() {
        assert_eq!(without_carriage_returns(b"a\r\nb\rc\n\r\n\r").as_deref(), Some(&b"a\nb\rc\n\n\r"[..]));
        assert_eq!(without_carriage_returns(b"a\rb\n"), None);
    }

    #[test]
    fn a_pointer_names_a_digest_and_a_size() {
        let digest = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
        let start = "version https://git-lfs.github.com/spec/v1\n";
        let good = format!("{start}oid sha256:{digest}\nsize 12345\n");
        let found = pointer_of(good.as_bytes()).expect("a pointer");
        assert_eq!((found.0.to_string(), found.1), (digest.to_owned(), 12_345));
        for bad in ["", start, &good.replace("sha256", "sha1"), &good.replace("v1", "v2"), &good.replace("size", "x")] {
            assert_eq!(pointer_of(bad.as_bytes()), None, "{bad}");
        }
    }
}
