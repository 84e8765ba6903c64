use super::*;
use crate::changes::git::id::{ObjectKind, hash};
use proptest::prelude::*;

/// Returns an entry of version 2 as git writes it.
fn written(path: &str, mode: u32, flags: u16) -> Vec<u8> {
    let id = hash(ObjectFormat::Sha1, ObjectKind::Blob, path.as_bytes());
    let length = u16::try_from(path.len()).expect("a short path");
    let mut bytes = [&[0; 24][..], &mode.to_be_bytes(), &[0; 12], id.as_bytes()].concat();
    bytes.extend((length | flags).to_be_bytes());
    bytes.extend(path.as_bytes());
    bytes.resize((bytes.len() + 1).next_multiple_of(8), 0);
    bytes
}

fn file(version: u32, entries: &[Vec<u8>], parts: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let count = u32::try_from(entries.len()).expect("few entries");
    let mut bytes = [&b"DIRC"[..], &version.to_be_bytes(), &count.to_be_bytes(), &entries.concat()].concat();
    for (name, content) in parts {
        let size = u32::try_from(content.len()).expect("a short part");
        bytes.extend([&name[..], &size.to_be_bytes(), content].concat());
    }
    bytes.extend([0; 20]);
    bytes
}

fn read(bytes: &[u8]) -> Result<Index, ChangesError> {
    let file = IndexFile::parse(ObjectFormat::Sha1, bytes)?;
    Index::of(ObjectFormat::Sha1, file.expanded.unwrap_or_else(|| bytes.to_vec()), file.items, file.cached)
}

fn two() -> Vec<Vec<u8>> {
    vec![written("a", 0o100_644, 0), written("dir/b", 0o100_755, 0)]
}

#[test]
fn entries_have_their_path_and_their_id() {
    let index = read(&file(2, &two(), &[(b"FSMN", vec![1, 2, 3])])).expect("an index");
    let found: Vec<_> = index.paths().map(|(path, known)| (path, known.entry)).collect();
    let entry =
        |path: &str, mode| Some(TreeEntry { mode, id: hash(ObjectFormat::Sha1, ObjectKind::Blob, path.as_bytes()) });
    assert_eq!(found, [(&b"a"[..], entry("a", EntryMode::File)), (b"dir/b", entry("dir/b", EntryMode::Program))]);
    let conflict = read(&file(2, &[written("a", 0o100_644, 1 << 12), written("a", 0o100_644, 2 << 12)], &[]));
    let conflict = conflict.expect("an index");
    let known = conflict.get(b"a").expect("there");
    assert!(known.is_unmerged && known.entry.is_none());
}

#[test]
fn what_git_would_not_read_is_refused() {
    let mut long = written("a", 0o100_644, 0);
    long[61] = 2;
    for (bytes, why) in [
        (b"".to_vec(), "ends too early"),
        (file(2, &two(), &[])[..70].to_vec(), "ends too early"),
        (file(5, &two(), &[]), "its version is 5"),
        (file(2, &[two(), two()].concat(), &[]), "out of order"),
        (file(2, &[long], &[]), "length of a path is wrong"),
        (file(2, &[written("a", 0o100_644, 0x4000)], &[]), "flags"),
        (file(2, &two(), &[(b"evil", Vec::new())]), "unknown part `evil`"),
        (file(2, &two(), &[(b"TREE", b"\0x 0\n".to_vec())]), "a number is not one"),
    ] {
        let refused = read(&bytes).expect_err(why).to_string();
        assert!(refused.contains(why), "{refused}");
    }
    let clash = read(&file(2, &[written("a", 0o100_644, 0), written("a/b", 0o100_644, 0)], &[]));
    assert!(matches!(clash, Err(ChangesError::Clash(path)) if path == "a"));
    assert!(matches!(read(&file(2, &[written("a//b", 0o100_644, 0)], &[])), Err(ChangesError::BadPath(_))));
}

#[test]
fn cached_folders_must_be_those_of_the_entries() {
    let index = read(&file(2, &two(), &[])).expect("an index");
    let (dir, count) = index.top().below(b"dir").expect("a folder");
    let top = index.top().folder;
    let cached = |top: &Id, dir: &Id, count: usize| {
        let folder = format!("dir\0{count} 0\n");
        let content = [b"\x002 1\n", top.as_bytes(), folder.as_bytes(), dir.as_bytes()];
        read(&file(2, &two(), &[(b"TREE", content.concat())])).expect("an index").refuse_forged_folders()
    };
    assert!(cached(&top.id, &dir, count).is_ok());
    for (top, dir, count, place) in
        [(&top.id, &top.id, count, "dir"), (&dir, &dir, count, ""), (&top.id, &dir, 2, "dir")]
    {
        assert!(matches!(cached(top, dir, count), Err(ChangesError::ForgedIndex(folder)) if folder == place));
    }
    // What is marked as not valid says nothing.
    let invalid = read(&file(2, &two(), &[(b"TREE", b"\0-1 0\n".to_vec())])).expect("an index");
    assert!(invalid.refuse_forged_folders().is_ok() && invalid.cached.is_empty());
}

#[test]
fn threads_of_git_must_find_the_same_entries() {
    let plain = file(2, &two(), &[]);
    let end = u32::try_from(plain.len() - 20).expect("short");
    let starts = [12, 12 + u32::try_from(two()[0].len()).expect("short")];
    let eoie = |end: u32| [&end.to_be_bytes()[..], &[7; 20]].concat();
    let ieot = |version: u32, blocks: &[(u32, u32)]| {
        let blocks = blocks.iter().flat_map(|(start, count)| [start.to_be_bytes(), count.to_be_bytes()].concat());
        version.to_be_bytes().into_iter().chain(blocks).collect::<Vec<u8>>()
    };
    let good = ieot(1, &[(starts[0], 1), (starts[1], 1)]);
    let ok = |parts: &[(&[u8; 4], Vec<u8>)]| read(&file(2, &two(), parts)).is_ok();
    assert!(ok(&[(b"IEOT", good.clone()), (b"EOIE", eoie(end))]) && ok(&[(b"IEOT", ieot(1, &[(starts[0], 2)]))]));
    for blocks in [
        ieot(1, &[(starts[1], 1), (starts[0], 1)]),
        ieot(1, &[(starts[0], 1)]),
        ieot(1, &[(starts[0], 3)]),
        ieot(1, &[(end + 8, 2)]),
        ieot(1, &[]),
        ieot(2, &[(starts[0], 2)]),
        good[..10].to_vec(),
    ] {
        assert!(!ok(&[(b"IEOT", blocks)]));
    }
    assert!(!ok(&[(b"EOIE", eoie(end + 8))]) && !ok(&[(b"EOIE", eoie(end)), (b"IEOT", good)]), "not at the end");
    // In the last bytes of another part, where git finds it all the same.
    let hidden = [b"EOIE\0\0\0\x18".to_vec(), eoie(end + 8)].concat();
    assert!(!ok(&[(b"XXXX", hidden)]));
}

proptest! {
    #[test]
    fn no_bytes_make_it_fall(at in 0_usize..400, byte: u8, version in 2_u32..5, cut in 0_usize..400) {
        let tree = [b"\x002 1\n", &[7; 20][..], b"dir\x001 0\n", &[7; 20]].concat();
        let mut bytes = file(version, &two(), &[(b"TREE", tree), (b"sdir", Vec::new())]);
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        bytes.truncate(bytes.len().saturating_sub(cut));
        let _ = read(&bytes);
    }
}
