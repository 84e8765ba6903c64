//! Reads objects and the last commit's id from the files of a repository, without a git process.
//!
//! A git process costs more than everything else that a small run does. So the usual cases are read here: loose objects,
//! packed objects with their deltas, and a branch in a file or in `packed-refs`. Anything else is `None`, and git is asked
//! instead. Nothing that is read here is trusted: `objects.rs` hashes every object, and asks git for one that does not match.

use super::id::{Id, ObjectFormat, ObjectKind};
use crate::regular_file::{self, Symlinks};
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use std::cell::OnceCell;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Larger objects are left to git, which returns them in pieces.
const MAX_OBJECT: usize = 16 << 20;
/// Repositories with more packs are left to git, which has an index of all of them.
const MAX_PACKS: usize = 64;
/// The longest chain of deltas that git makes by default is 50.
const MAX_DELTAS: usize = 250;
/// The longest file of one reference.
const MAX_REF: u64 = 1 << 10;
/// A longer list of references is left to git, which does not read all of it.
const MAX_REFS: u64 = 4 << 20;

/// The object files of a repository.
pub(super) struct ObjectFiles {
    folder: PathBuf,
    packs: OnceCell<Option<Vec<Pack>>>,
}

/// A pack and its index, both open.
struct Pack {
    index: File,
    pack: File,
    /// The number of objects.
    count: u32,
    /// The size of the pack.
    size: u64,
}

/// An object as a pack stores it.
enum PackedObject {
    Whole(ObjectKind, Vec<u8>),
    /// A delta from an object that is stored at another place of the same pack.
    Delta(u64, Vec<u8>),
    /// A delta from an object with this id.
    DeltaOf(Id, Vec<u8>),
}

impl ObjectFiles {
    /// Returns the object files in the folder `objects` of a repository.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, packs: OnceCell::new() }
    }

    /// Returns the type and the bytes of an object, which are not compared with its id.
    pub(super) fn read(&self, id: &Id) -> Option<(ObjectKind, Vec<u8>)> {
        self.loose(id).or_else(|| self.packed(id))
    }

    fn loose(&self, id: &Id) -> Option<(ObjectKind, Vec<u8>)> {
        let hex = id.to_string();
        let path = self.folder.join(&hex[..2]).join(&hex[2..]);
        let compressed = read(&path, Symlinks::Follow, MAX_OBJECT as u64)?;
        let bytes = decompress_to_vec_zlib_with_limit(&compressed, MAX_OBJECT).ok()?;
        let end = bytes.iter().position(|&byte| byte == 0)?;
        let (kind, size) = str::from_utf8(&bytes[..end]).ok()?.split_once(' ')?;
        let kind = ObjectKind::from_name(kind.as_bytes())?;
        let content = &bytes[end + 1..];
        (size.parse() == Ok(content.len())).then(|| (kind, content.to_vec()))
    }

    fn packed(&self, id: &Id) -> Option<(ObjectKind, Vec<u8>)> {
        let packs = self.packs.get_or_init(|| packs(&self.folder.join("pack"))).as_ref()?;
        let find = |id: &Id| packs.iter().find_map(|pack| Some((pack, pack.find(id)?)));
        let (mut pack, mut offset) = find(id)?;
        let mut deltas = Vec::new();
        let (kind, mut bytes) = loop {
            match pack.read(offset, ObjectFormat::of(id))? {
                PackedObject::Whole(kind, bytes) => break (kind, bytes),
                _ if deltas.len() == MAX_DELTAS => return None,
                PackedObject::Delta(base, delta) => {
                    deltas.push(delta);
                    offset = base;
                }
                PackedObject::DeltaOf(base, delta) => {
                    deltas.push(delta);
                    (pack, offset) = find(&base)?;
                }
            }
        };
        for delta in deltas.iter().rev() {
            bytes = apply(&bytes, delta)?;
        }
        Some((kind, bytes))
    }
}

/// Reads a regular file whole, if it has at most `most` bytes.
fn read(path: &Path, symlinks: Symlinks, most: u64) -> Option<Vec<u8>> {
    let file = regular_file::open(path, symlinks).ok()?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}

/// Opens all packs of a folder; `None` if there are too many, or if one cannot be read.
fn packs(folder: &Path) -> Option<Vec<Pack>> {
    let mut packs = Vec::new();
    for entry in folder.read_dir().ok()? {
        let path = entry.ok()?.path();
        if path.extension().is_some_and(|extension| extension == "idx") {
            packs.push(Pack::open(&path)?);
        }
        if packs.len() > MAX_PACKS {
            return None;
        }
    }
    Some(packs)
}

impl Pack {
    /// The offset of the table of counts in an index of version 2.
    const COUNTS: u64 = 8;
    /// The offset of the table of ids.
    const IDS: u64 = Self::COUNTS + 256 * 4;

    fn open(index: &Path) -> Option<Self> {
        let pack = regular_file::open(&index.with_extension("pack"), Symlinks::Follow).ok()?;
        let index = regular_file::open(index, Symlinks::Follow).ok()?;
        let mut head = [0; 8];
        index.read_exact_at(&mut head, 0).ok()?;
        if head != *b"\xfftOc\0\0\0\x02" {
            return None;
        }
        let size = pack.metadata().ok()?.len();
        let mut this = Self { index, pack, count: 0, size };
        this.count = this.number(Self::COUNTS + 255 * 4)?;
        Some(this)
    }

    fn number(&self, offset: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.index.read_exact_at(&mut bytes, offset).ok()?;
        Some(u32::from_be_bytes(bytes))
    }

    /// Returns the offset of an object in the pack.
    fn find(&self, id: &Id) -> Option<u64> {
        let id = id.as_bytes();
        let length = id.len() as u64;
        let first = u64::from(id[0]);
        let mut low = if first == 0 { 0 } else { self.number(Self::COUNTS + (first - 1) * 4)? };
        let mut high = self.number(Self::COUNTS + first * 4)?.min(self.count);
        let mut found = [0; 32];
        let found = &mut found[..id.len()];
        while low < high {
            let middle = low + (high - low) / 2;
            self.index.read_exact_at(found, Self::IDS + u64::from(middle) * length).ok()?;
            match (*found).cmp(id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.offset(middle, length),
            }
        }
        None
    }

    /// Returns the offset of the object with a number. After the ids come checksums, then offsets, then long offsets.
    fn offset(&self, number: u32, length: u64) -> Option<u64> {
        let count = u64::from(self.count);
        let offsets = Self::IDS + count * (length + 4);
        let offset = self.number(offsets + u64::from(number) * 4)?;
        if offset & 1 << 31 == 0 {
            return Some(u64::from(offset));
        }
        let long = offsets + count * 4 + u64::from(offset & !(1 << 31)) * 8;
        Some(u64::from(self.number(long)?) << 32 | u64::from(self.number(long + 4)?))
    }

    /// Returns the object at an offset: its type and size, the base of a delta, and the compressed bytes.
    fn read(&self, offset: u64, format: ObjectFormat) -> Option<PackedObject> {
        let mut head = [0; 64];
        let available = usize::try_from(self.size.checked_sub(offset)?).unwrap_or(usize::MAX).min(head.len());
        self.pack.read_exact_at(&mut head[..available], offset).ok()?;
        let mut rest = &head[..available];
        let first = take(&mut rest)?;
        let mut size = usize::from(first & 0xf);
        let (mut shift, mut more) = (4, first & 0x80 != 0);
        while more {
            let byte = take(&mut rest)?;
            size |= usize::from(byte & 0x7f).checked_shl(shift)?;
            (shift, more) = (shift + 7, byte & 0x80 != 0);
        }
        let inflate = |rest: &[u8]| self.inflate(offset + (available - rest.len()) as u64, size);
        let kind = match first >> 4 & 7 {
            1 => ObjectKind::Commit,
            2 => ObjectKind::Tree,
            3 => ObjectKind::Blob,
            4 => ObjectKind::Tag,
            6 => {
                let mut byte = take(&mut rest)?;
                let mut distance = u64::from(byte & 0x7f);
                while byte & 0x80 != 0 {
                    byte = take(&mut rest)?;
                    distance = distance.checked_add(1)?.checked_mul(128)? | u64::from(byte & 0x7f);
                }
                let base = offset.checked_sub(distance).filter(|base| *base < offset)?;
                return Some(PackedObject::Delta(base, inflate(rest)?));
            }
            7 => {
                let (id, rest) = rest.split_at_checked(format.length())?;
                return Some(PackedObject::DeltaOf(Id::from_bytes(id)?, inflate(rest)?));
            }
            _ => return None,
        };
        Some(PackedObject::Whole(kind, inflate(rest)?))
    }

    /// Returns `size` bytes that are stored compressed at an offset.
    fn inflate(&self, offset: u64, size: usize) -> Option<Vec<u8>> {
        if size > MAX_OBJECT {
            return None;
        }
        // Bytes that cannot be compressed take little more than their size.
        let most = size + size / 512 + 128;
        let available = usize::try_from(self.size.checked_sub(offset)?).unwrap_or(usize::MAX).min(most);
        let mut compressed = vec![0; available];
        self.pack.read_exact_at(&mut compressed, offset).ok()?;
        let bytes = decompress_to_vec_zlib_with_limit(&compressed, size).ok()?;
        (bytes.len() == size).then_some(bytes)
    }
}

fn take(rest: &mut &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    Some(*first)
}

/// Returns a size of a delta: seven bits per byte, the lowest first.
fn size(rest: &mut &[u8]) -> Option<usize> {
    let (mut size, mut shift) = (0_usize, 0);
    loop {
        let byte = take(rest)?;
        size |= usize::from(byte & 0x7f).checked_shl(shift)?;
        shift += 7;
        if byte & 0x80 == 0 {
            return Some(size);
        }
    }
}

/// Returns what a delta makes of its base: ranges of the base, and bytes of its own.
fn apply(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut rest = delta;
    let (before, after) = (size(&mut rest)?, size(&mut rest)?);
    if before != base.len() || after > MAX_OBJECT {
        return None;
    }
    let mut made = Vec::with_capacity(after);
    while let Some(command) = take(&mut rest) {
        let part = if command & 0x80 == 0 {
            let (part, after) = rest.split_at_checked(usize::from(command))?;
            rest = after;
            part
        } else {
            let mut number = |bits: std::ops::Range<u8>| {
                let mut number = 0;
                for (place, bit) in bits.enumerate() {
                    if command & 1 << bit != 0 {
                        number |= usize::from(take(&mut rest)?) << (8 * place);
                    }
                }
                Some(number)
            };
            let (start, length) = (number(0..4)?, number(4..7)?);
            let length = if length == 0 { 0x1_0000 } else { length };
            base.get(start..start.checked_add(length)?)?
        };
        // The command 0 is reserved.
        if part.is_empty() || made.len() + part.len() > after {
            return None;
        }
        made.extend_from_slice(part);
    }
    (made.len() == after).then_some(made)
}

/// Returns the id that `HEAD` refers to, directly or by a branch. `folder` is that of the working tree, `common` that of the
/// repository.
pub(super) fn head(folder: &Path, common: &Path) -> Option<Id> {
    let text = |path: &Path| {
        let bytes = read(path, Symlinks::Refuse, MAX_REF)?;
        String::from_utf8(bytes.strip_suffix(b"\n")?.to_vec()).ok()
    };
    let line = text(&folder.join("HEAD"))?;
    let Some(name) = line.strip_prefix("ref: ") else { return Id::from_hex(line.as_bytes()) };
    let is_plain = |part: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_+.".contains(&byte);
        part.bytes().all(allowed) && !part.starts_with('.') && !part.ends_with(".lock") && !part.is_empty()
    };
    // Other references may belong to one working tree, or lead to another reference.
    if !name.strip_prefix("refs/heads/")?.split('/').all(is_plain) {
        return None;
    }
    match common.join(name).symlink_metadata() {
        Ok(about) if about.is_file() => Id::from_hex(text(&common.join(name))?.as_bytes()),
        Ok(about) if !about.is_dir() => None,
        _ => {
            let refs = read(&common.join("packed-refs"), Symlinks::Follow, MAX_REFS)?;
            let mut found = refs.split(|&byte| byte == b'\n').filter_map(|line| {
                let (id, other) = line.split_at_checked(line.iter().position(|&byte| byte == b' ')?)?;
                (other[1..] == *name.as_bytes()).then_some(id)
            });
            let id = Id::from_hex(found.next()?)?;
            // Git would search such a list in another way.
            found.next().is_none().then_some(id)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::git::id::hash;
    use proptest::prelude::*;
    use std::fmt::Write as _;
    use std::process::{Command, Stdio};

    /// Runs a script in a new repository, and returns its folder.
    fn repository(script: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let start = "git init -q -b main; git config user.name a; git config user.email a@example.com";
        let script = format!("set -e; {start}; {script}");
        let done = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).status().expect("a shell");
        assert!(done.success());
        folder
    }

    fn git(folder: &Path, arguments: &[&str]) -> String {
        let done = Command::new("git").args(arguments).current_dir(folder).stderr(Stdio::inherit()).output();
        String::from_utf8(done.expect("git").stdout).expect("text").trim_end().to_owned()
    }

    #[test]
    fn every_object_is_read_as_git_reads_it() {
        let mut script = String::new();
        for number in 0..30 {
            writeln!(
                script,
                "seq {number} 400 > a; mkdir -p d; seq 400 > d/{number}; git add -A; git commit -qm {number}"
            )
            .expect("written");
        }
        let all = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"];
        for pack in ["true", "git tag -a -m one one; git gc -q", "git -c pack.indexVersion=2 repack -qadf --depth=50"] {
            let folder = repository(&format!("{script}{pack}; echo new > b; git add b; git commit -qm last"));
            let git_folder = folder.path().join(".git");
            let files = ObjectFiles::new(git_folder.join("objects"));
            let listed = git(folder.path(), &all);
            assert!(listed.lines().count() > 90);
            for id in listed.lines().map(|line| Id::from_hex(line.as_bytes()).expect("an id")) {
                let (kind, bytes) = files.read(&id).expect("readable");
                assert_eq!(hash(ObjectFormat::Sha1, kind, &bytes), id);
            }
            assert!(files.read(&hash(ObjectFormat::Sha1, ObjectKind::Blob, b"missing")).is_none());
            let last = head(&git_folder, &git_folder).expect("a commit");
            assert_eq!(last.to_string(), git(folder.path(), &["rev-parse", "HEAD"]));
        }
    }

    #[test]
    fn the_last_commit_is_that_of_the_branch() {
        let folder = repository("echo 1 > a; git add a; git commit -qm first; git branch some/other");
        let place = folder.path().join(".git");
        let id = git(folder.path(), &["rev-parse", "HEAD"]);
        let found = || head(&place, &place).map(|id| id.to_string());
        for arguments in
            [&["pack-refs", "--all"][..], &["checkout", "-q", "some/other"], &["checkout", "-q", "--detach"]]
        {
            git(folder.path(), arguments);
            assert_eq!(found().as_ref(), Some(&id), "{arguments:?}");
        }
        for text in [
            "",
            "ref: refs/heads/none\n",
            "ref: refs/heads/../x\n",
            "ref: refs/tags/x\n",
            &id,
            "ref:  refs/heads/main\n",
        ] {
            std::fs::write(place.join("HEAD"), text).expect("written");
            assert_eq!(found(), None, "{text}");
        }
        std::fs::write(place.join("HEAD"), "ref: refs/heads/main\n").expect("written");
        assert_eq!(found().as_ref(), Some(&id));
        let refs = std::fs::read_to_string(place.join("packed-refs")).expect("packed");
        std::fs::write(place.join("packed-refs"), refs.repeat(2)).expect("written");
        assert_eq!(found(), None, "named twice");
    }

    #[test]
    fn a_delta_copies_and_inserts() {
        let base = b"0123456789";
        assert_eq!(apply(base, b"\x0a\x05\x91\x02\x03\x02xy").as_deref(), Some(&b"234xy"[..]));
        let bad: [&[u8]; 6] =
            [b"\x09\x01\x01x", b"\x0a\x02\x01x", b"\x0a\x01\x00", b"\x0a\x05\x91\x09\x05", b"\x0a\x05\x91", b""];
        for delta in bad {
            assert_eq!(apply(base, delta), None, "{delta:?}");
        }
    }

    proptest! {
        #[test]
        fn no_delta_makes_it_fall(delta: Vec<u8>) {
            let _ = apply(b"0123456789", &delta);
        }
    }

    #[test]
    fn no_pack_makes_it_fall() {
        let folder = repository("for i in 1 2 3 4; do seq $i 300 > a; git add a; git commit -qm $i; done; git gc -q");
        let objects = folder.path().join(".git/objects");
        let all = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"];
        let ids: Vec<Id> =
            git(folder.path(), &all).lines().map(|line| Id::from_hex(line.as_bytes()).expect("an id")).collect();
        for extension in ["idx", "pack"] {
            let entries = objects.join("pack").read_dir().expect("packs").map(|entry| entry.expect("an entry").path());
            let path = entries.into_iter().find(|path| path.extension().is_some_and(|found| found == extension));
            let path = path.expect("a pack");
            let good = std::fs::read(&path).expect("bytes");
            std::fs::remove_file(&path).expect("removed");
            for at in (0..good.len()).step_by(good.len() / 300 + 1) {
                let mut bad = good.clone();
                bad[at] ^= 0xff;
                std::fs::write(&path, &bad).expect("written");
                let files = ObjectFiles::new(objects.clone());
                ids.iter().for_each(|id| drop(files.read(id)));
                std::fs::write(&path, &good[..at]).expect("written");
                let files = ObjectFiles::new(objects.clone());
                ids.iter().for_each(|id| drop(files.read(id)));
            }
            std::fs::write(&path, &good).expect("written");
        }
    }
}
