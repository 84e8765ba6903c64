use super::*;
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

type Meanwhile = (usize, Box<dyn FnOnce()>);

thread_local! {
    /// The number of the step that fails, counted down.
    static FAILS_IN: Cell<Option<usize>> = const { Cell::new(None) };
    /// How many steps fail after that one.
    static THEN: Cell<usize> = const { Cell::new(0) };
    /// What somebody else does right before a step, whose number is counted down.
    static MEANWHILE: RefCell<Option<Meanwhile>> = const { RefCell::new(None) };
    /// With which errors the file system refuses to rename with flags, and to link.
    static LACKS: Cell<&'static [Errno]> = const { Cell::new(&[]) };
}

/// What file systems lack: nothing, flags of renames (NFS), links as well (exFAT).
const FILE_SYSTEMS: &[&[Errno]] = &[&[], &[Errno::INVAL], &[Errno::INVAL, Errno::PERM]];

pub(super) fn missing(errno: Errno) -> Result<(), Errno> {
    if LACKS.get().contains(&errno) { Err(errno) } else { Ok(()) }
}

/// Fails at the steps that the test of this thread chose.
pub(super) fn fault() -> io::Result<()> {
    match MEANWHILE.take() {
        Some((0, act)) => act(),
        Some((left, act)) => MEANWHILE.set(Some((left - 1, act))),
        None => {}
    }
    FAILS_IN.with(|left| match left.get() {
        Some(0) => {
            left.set(THEN.get().checked_sub(1).inspect(|then| THEN.set(*then)).map(|_| 0));
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
        Some(more) => {
            left.set(Some(more - 1));
            Ok(())
        }
        None => Ok(()),
    })
}

/// Returns every file below a folder with its content, and every symlink with its target.
fn content(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(folder).expect("inside").to_string_lossy().into_owned();
            if let Ok(target) = fs::read_link(&path) {
                found.insert(name, format!("-> {}", target.display()));
            } else if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(name, fs::read_to_string(&path).expect("text"));
            }
        }
    }
    found
}

fn files(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn mode_attributes_and_links_stay() {
    for lacks in FILE_SYSTEMS {
        LACKS.set(lacks);
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("dotfiles")).expect("a folder");
        fs::write(at("dotfiles/real"), "old").expect("written");
        fs::set_permissions(at("dotfiles/real"), fs::Permissions::from_mode(0o640)).expect("a mode");
        let attribute =
            rustix::fs::setxattr(at("dotfiles/real"), "user.note", b"kept", rustix::fs::XattrFlags::empty());
        symlink("dotfiles/real", at("first")).expect("a link");
        symlink("first", at("settings")).expect("a link");
        symlink("dotfiles/later", at("dangling")).expect("a link");
        replace(&at("settings"), Expected::Content(b"old"), b"new", PLAIN).expect("replaced");
        replace(&at("dangling"), Expected::Absent, b"made", PLAIN).expect("created");
        let expected = [
            ("dangling", "-> dotfiles/later"),
            ("dotfiles/later", "made"),
            ("dotfiles/real", "new"),
            ("first", "-> dotfiles/real"),
            ("settings", "-> first"),
        ];
        assert_eq!(content(folder.path()), files(&expected));
        assert_eq!(fs::metadata(at("settings")).expect("there").mode() & 0o7777, 0o640);
        if attribute.is_ok() {
            let mut value = [0; 16];
            let length = rustix::fs::getxattr(at("dotfiles/real"), "user.note", &mut value).expect("an attribute");
            assert_eq!(&value[..length], b"kept");
        }
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(at("dotfiles/real"), Some(1234), Some(4321)).expect("an owner");
            fs::set_permissions(at("dotfiles/real"), fs::Permissions::from_mode(0o4750)).expect("a mode");
            replace(&at("settings"), Expected::Any, b"newer", PLAIN).expect("replaced");
            let about = fs::metadata(at("settings")).expect("there");
            assert_eq!((about.uid(), about.gid(), about.mode() & 0o7777), (1234, 4321, 0o4750));
        }
        symlink("circle", at("circle")).expect("a link");
        assert!(matches!(replace(&at("circle"), Expected::Any, b"", PLAIN), Err(WriteError::Io(_))));
    }
}

#[test]
fn a_failure_at_any_step_leaves_every_old_file() {
    for lacks in FILE_SYSTEMS {
        LACKS.set(lacks);
        let folder = tempfile::tempdir().expect("a folder");
        let beneath = Beneath::open(folder.path()).expect("a folder");
        let old = files(&[("a", "old a"), ("sub/b", "old b")]);
        fs::create_dir(folder.path().join("sub")).expect("a folder");
        old.iter().for_each(|(path, text)| fs::write(folder.path().join(path), text).expect("written"));
        let write = || {
            let staged = vec![
                beneath.stage("a", Expected::Content(b"old a"), b"new a", PLAIN)?,
                beneath.stage("sub/b", Expected::Content(b"old b"), b"new b", PLAIN)?,
                beneath.stage("c", Expected::Absent, b"new c", PLAIN)?,
            ];
            commit(staged).map_err(|(_, error)| error)
        };
        let mut failures = 0;
        loop {
            FAILS_IN.set(Some(failures));
            let done = write();
            FAILS_IN.set(None);
            if done.is_ok() {
                break;
            }
            assert_eq!(content(folder.path()), old, "step {failures}");
            failures += 1;
        }
        // Three files: each is created, written and synced, takes its place, and its folder is synced.
        assert_eq!(failures, 3 * 5);
        assert_eq!(content(folder.path()), files(&[("a", "new a"), ("c", "new c"), ("sub/b", "new b")]));
    }
}

#[test]
fn what_cannot_be_put_back_is_not_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let beneath = Beneath::open(folder.path()).expect("a folder");
    ["a", "b"].iter().for_each(|name| fs::write(folder.path().join(name), "old").expect("written"));
    let stage = |name| beneath.stage(name, Expected::Content(b"old"), b"new", PLAIN).expect("staged");
    let staged = vec![stage("a"), stage("b")];
    // The first file takes its place. The second does not, and the first cannot be put back.
    FAILS_IN.set(Some(1));
    THEN.set(1);
    let done = commit(staged);
    FAILS_IN.set(None);
    let Err((0, WriteError::NotRestored(kept))) = done else { panic!("{done:?}") };
    let kept = kept.display().to_string();
    assert_eq!(content(folder.path()), files(&[("a", "new"), ("b", "old"), (&kept, "old")]));
}

/// Every way in which somebody can write a file while the write of another one fails.
#[test]
fn an_undo_keeps_what_others_wrote_meanwhile() {
    for lacks in FILE_SYSTEMS {
        LACKS.set(lacks);
        let rename = |path: &Path| {
            fs::write(path.with_extension("tmp"), "newer").and_then(|()| fs::rename(path.with_extension("tmp"), path))
        };
        let in_place = |path: &Path| fs::write(path, "newer");
        let unlinked = |path: &Path| fs::remove_file(path).and_then(|()| fs::write(path, "newer"));
        for write in [rename, in_place, unlinked] {
            let folder = tempfile::tempdir().expect("a folder");
            let beneath = Beneath::open(folder.path()).expect("a folder");
            ["a", "c"].iter().for_each(|name| fs::write(folder.path().join(name), "old").expect("written"));
            let staged = vec![
                beneath.stage("a", Expected::Content(b"old"), b"mine", PLAIN).expect("staged"),
                beneath.stage("b", Expected::Absent, b"mine", PLAIN).expect("staged"),
                beneath.stage("c", Expected::Content(b"old"), b"mine", PLAIN).expect("staged"),
            ];
            let paths = ["a", "b"].map(|name| folder.path().join(name));
            MEANWHILE.set(Some((2, Box::new(move || paths.iter().for_each(|path| write(path).expect("written"))))));
            FAILS_IN.set(Some(2));
            let done = commit(staged);
            FAILS_IN.set(None);
            assert!(matches!(done, Err((2, WriteError::Io(_)))), "{done:?}");
            assert_eq!(content(folder.path()), files(&[("a", "newer"), ("b", "newer"), ("c", "old")]));
        }
    }
}

#[test]
fn two_versions_that_others_wrote_are_both_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a");
    fs::write(&path, "old").expect("written");
    let beneath = Beneath::open(folder.path()).expect("a folder");
    let staged = beneath.stage("a", Expected::Content(b"old"), b"mine", PLAIN).expect("staged");
    fs::write(&path, "first").expect("written");
    let second = path.clone();
    MEANWHILE.set(Some((1, Box::new(move || fs::write(second, "second").expect("written")))));
    let done = commit(vec![staged]);
    let Err((0, WriteError::NotRestored(kept))) = done else { panic!("{done:?}") };
    assert_eq!(content(folder.path()), files(&[("a", "second"), (&kept.display().to_string(), "first")]));
}

/// An access control list for new files of a folder: user 1234 may read and write.
const DEFAULT_ACL: &[u8] =
    b"\x02\0\0\0\x01\0\x07\0\xff\xff\xff\xff\x02\0\x07\0\xd2\x04\0\0\x04\0\x07\0\xff\xff\xff\xff\
\x10\0\x07\0\xff\xff\xff\xff\x20\0\x07\0\xff\xff\xff\xff";

#[test]
fn a_folder_gives_no_access_to_a_replaced_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a");
    fs::write(&path, "old").expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a mode");
    let flags = rustix::fs::XattrFlags::empty();
    if rustix::fs::setxattr(folder.path(), "system.posix_acl_default", DEFAULT_ACL, flags).is_err() {
        // This file system has no access control lists.
        return;
    }
    replace(&path, Expected::Content(b"old"), b"new", PLAIN).expect("replaced");
    let access = rustix::fs::getxattr(&path, "system.posix_acl_access", &mut [0; 256][..]);
    assert_eq!(access, Err(Errno::NODATA));
    assert_eq!(fs::metadata(&path).expect("there").mode() & 0o7777, 0o640);
}

#[test]
fn a_folder_is_taken_over_as_a_whole_or_not_at_all() {
    for lacks in FILE_SYSTEMS {
        LACKS.set(lacks);
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let put = |name: &str, text: &str| {
            fs::create_dir_all(at(name).parent().expect("a folder")).expect("a folder");
            fs::write(at(name), text).expect("written");
        };
        [
            ("work/a", "old a"),
            ("work/gone", "old"),
            ("work/file", "old"),
            ("work/sub/b", "old b"),
            ("work/other", "other"),
        ]
        .into_iter()
        .for_each(|(name, text)| put(name, text));
        [("from/a", "new a"), ("from/file/inner", "new"), ("from/sub", "new sub"), ("from/deep/new", "new")]
            .into_iter()
            .for_each(|(name, text)| put(name, text));
        symlink("a", at("work/link")).expect("a link");
        symlink("../elsewhere", at("from/link")).expect("a link");
        fs::set_permissions(at("from/a"), fs::Permissions::from_mode(0o755)).expect("a mode");
        let paths = ["a", "deep/new", "file", "file/inner", "gone", "link", "missing", "sub", "sub/b"];
        let paths = paths.into_iter().map(str::to_owned).collect();
        let (from, work) = (crate::workspace::Workspace::open(&at("from")), Beneath::open(&at("work")));
        let (from, work) = (from.expect("a folder"), work.expect("a folder"));
        let old = content(&at("work"));
        // What a kill at a step leaves at the paths where no file takes the place of a folder.
        let seen = std::rc::Rc::new(RefCell::new(Vec::new()));
        let mut failures = 0;
        loop {
            let (seen, folder) = (seen.clone(), at("work"));
            MEANWHILE.set(Some((failures, Box::new(move || seen.borrow_mut().push(content(&folder))))));
            FAILS_IN.set(Some(failures));
            let done = work.take_over(&from, &paths);
            FAILS_IN.set(None);
            if done.is_ok() {
                break;
            }
            assert_eq!(content(&at("work")), old, "step {failures}");
            failures += 1;
        }
        assert!(failures > 20, "{failures} steps");
        let new = content(&at("work"));
        // Without exchanges and links, all old files are taken away before the new ones are added.
        for (step, found) in seen.borrow().iter().enumerate().filter(|_| lacks.len() < 2) {
            for path in ["a", "deep/new", "gone", "link", "other"] {
                assert!([old.get(path), new.get(path)].contains(&found.get(path)), "step {step}: {path}");
            }
        }
        let new = [
            ("a", "new a"),
            ("deep/new", "new"),
            ("file/inner", "new"),
            ("link", "-> ../elsewhere"),
            ("other", "other"),
            ("sub", "new sub"),
        ];
        assert_eq!(content(&at("work")), files(&new));
        assert_eq!(fs::metadata(at("work/a")).expect("there").mode() & 0o777, 0o755);
        assert_eq!(fs::read_dir(at("work")).expect("a folder").count(), 6);
    }
}

#[test]
fn a_failed_takeover_keeps_what_others_wrote_meanwhile() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    ["from", "work"].iter().for_each(|name| fs::create_dir(at(name)).expect("a folder"));
    [("from/a", "mine"), ("from/b", "mine"), ("work/a", "old")]
        .iter()
        .for_each(|(name, text)| fs::write(at(name), text).expect("written"));
    let (from, work) = (crate::workspace::Workspace::open(&at("from")), Beneath::open(&at("work")));
    let newer = [at("work/a"), at("work/b")];
    // The folder beside, two copies, and two files that take their places; then the folder is synced.
    MEANWHILE
        .set(Some((5, Box::new(move || newer.iter().for_each(|path| fs::write(path, "newer").expect("written"))))));
    FAILS_IN.set(Some(5));
    let done = work.expect("a folder").take_over(&from.expect("a folder"), &["a", "b"].map(str::to_owned).into());
    FAILS_IN.set(None);
    let Err((_, WriteError::NotRestored(kept))) = done else { panic!("{done:?}") };
    let kept = kept.file_name().expect("a name").to_string_lossy().into_owned();
    let found = content(&at("work"));
    assert_eq!(found, files(&[("a", "newer"), ("b", "newer"), (&format!("{kept}/new/a"), "old")]));
}

#[test]
fn a_takeover_keeps_owner_and_attributes() {
    for lacks in FILE_SYSTEMS {
        LACKS.set(lacks);
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        ["from", "work"].iter().for_each(|name| fs::create_dir(at(name)).expect("a folder"));
        ["from/a", "work/a"].iter().for_each(|name| fs::write(at(name), *name).expect("written"));
        fs::set_permissions(at("from/a"), fs::Permissions::from_mode(0o711)).expect("a mode");
        let flags = rustix::fs::XattrFlags::empty();
        let attribute = rustix::fs::setxattr(at("work/a"), "user.note", b"kept", flags);
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(at("work/a"), Some(1234), Some(4321)).expect("an owner");
        }
        let before = fs::metadata(at("work/a")).expect("there");
        let (from, work) = (crate::workspace::Workspace::open(&at("from")), Beneath::open(&at("work")));
        work.expect("a folder").take_over(&from.expect("a folder"), &["a".to_owned()].into()).expect("taken over");
        let after = fs::metadata(at("work/a")).expect("there");
        assert_eq!((after.uid(), after.gid(), after.mode() & 0o777), (before.uid(), before.gid(), 0o711));
        assert_eq!(rustix::fs::getxattr(at("work/a"), "user.note", &mut [0; 16][..]).ok(), attribute.ok().map(|()| 4));
        assert_eq!(fs::read_to_string(at("work/a")).expect("text"), "from/a");
    }
}

#[test]
fn a_file_that_changed_meanwhile_is_not_replaced() {
    for lacks in FILE_SYSTEMS {
        LACKS.set(lacks);
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let beneath = Beneath::open(folder.path()).expect("a folder");
        fs::write(at("outside"), "outside").expect("written");
        for change in ["other", "longer than before", "gone", "link", "folder"] {
            fs::write(at("a"), "a").expect("written");
            fs::write(at("b"), "b").expect("written");
            let staged = vec![
                beneath.stage("a", Expected::Content(b"a"), b"A", PLAIN).expect("staged"),
                beneath.stage("b", Expected::Content(b"b"), b"B", PLAIN).expect("staged"),
            ];
            fs::remove_file(at("b")).expect("removed");
            match change {
                "gone" => {}
                "link" => symlink("outside", at("b")).expect("a link"),
                "folder" => fs::create_dir(at("b")).expect("a folder"),
                text => fs::write(at("b"), text).expect("written"),
            }
            let before = (fs::read_link(at("b")).ok(), fs::read_to_string(at("b")).ok());
            assert!(matches!(commit(staged), Err((1, WriteError::Changed))), "{change}");
            assert_eq!(before, (fs::read_link(at("b")).ok(), fs::read_to_string(at("b")).ok()), "{change}");
            assert_eq!(fs::read_to_string(at("a")).expect("text"), "a", "{change}");
            assert_eq!(fs::read_to_string(at("outside")).expect("text"), "outside", "{change}");
            let _ = fs::remove_file(at("b")).or_else(|_| fs::remove_dir(at("b")));
        }
        assert_eq!(content(folder.path()), files(&[("a", "a"), ("outside", "outside")]));
        let staged = beneath.stage("new", Expected::Absent, b"mine", PLAIN).expect("staged");
        fs::write(at("new"), "theirs").expect("written");
        assert!(matches!(commit(vec![staged]), Err((0, WriteError::Exists))));
        assert_eq!(fs::read_to_string(at("new")).expect("text"), "theirs");
    }
}

/// Every kind of path and every kind of symlink: nothing outside the folder, and no data of a repository, is ever written.
#[test]
fn nothing_is_written_outside_or_into_a_repository() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("work");
    for inside in [
        "work/sub",
        "elsewhere",
        "work/.git/hooks",
        "work/bare/objects",
        "work/bare/refs",
        "work/bare/hooks",
        "work/linked",
    ] {
        fs::create_dir_all(folder.path().join(inside)).expect("a folder");
    }
    let texts = [
        "elsewhere/victim",
        "work/.git/config",
        "work/bare/HEAD",
        "work/bare/config",
        "work/linked/HEAD",
        "work/linked/commondir",
        "work/sub/.git",
        "work/file",
        "work/sub/file",
    ];
    texts.iter().for_each(|path| fs::write(folder.path().join(path), "old").expect("written"));
    for (link, target) in [
        ("absolute", folder.path().join("elsewhere").display().to_string().as_str()),
        ("above", "../elsewhere"),
        ("back", "../work/sub"),
        ("chain", "above"),
        ("circle", "circle"),
        ("dangling", "../elsewhere/new"),
        ("data", ".git"),
        ("inside", "sub"),
        ("sub/up", ".."),
        ("to-file", "../elsewhere/victim"),
        ("to-inner-file", "file"),
        ("proc", "/proc/self/cwd"),
    ] {
        symlink(target, root.join(link)).expect("a link");
    }
    let before = content(folder.path());
    let beneath = Beneath::open(&root).expect("a folder");
    let refused = [
        "absolute/victim",
        "above/victim",
        "back/file",
        "chain/victim",
        "circle",
        "circle/x",
        "dangling",
        "dangling/x",
        "data/config",
        "inside/file",
        "sub/up/file",
        "to-file",
        "to-inner-file",
        "proc/file",
        "../elsewhere/victim",
        "/etc/passwd",
        "sub/../../elsewhere/victim",
        "./file",
        "sub//file",
        "",
        ".",
        "..",
        "sub/",
        "a\0b",
        "a\\b",
        ".git/config",
        ".GIT/config",
        ".git",
        "sub/.git",
        "sub/.Git",
        "git~1/config",
        ".git./config",
        ".g\u{200c}it/config",
        "new/../../x",
        &format!("{}/victim", folder.path().join("elsewhere").display()),
    ];
    for path in refused {
        for expected in [Expected::Any, Expected::Absent, Expected::Content(b"old")] {
            assert!(beneath.replace(path, expected, b"bad", PLAIN).is_err(), "replace {path:?}");
        }
        assert!(beneath.append(path, "bad").is_err(), "append {path:?}");
        assert!(beneath.put(path, b"bad", 0o644).is_err(), "put {path:?}");
        let is_link = ["circle", "dangling", "to-file", "to-inner-file"].contains(&path);
        assert!(is_link || beneath.link(path, OsStr::new("x")).is_err(), "link {path:?}");
        if !is_link && !path.ends_with(['x', 'w']) {
            let _ = beneath.remove(path);
        }
        assert_eq!(content(folder.path()), before, "{path:?}");
    }
    for path in ["bare/config", "bare/hooks/x", "bare/HEAD", "linked/gitdir", "bare/objects/pack/x"] {
        assert!(
            beneath.replace(path, Expected::Any, b"bad", PLAIN).is_err() && beneath.append(path, "bad").is_err(),
            "{path}"
        );
        assert_eq!(content(folder.path()), before, "{path:?}");
    }
    // Folders that are missing are created, and ordinary files are written.
    beneath.replace("sub/file", Expected::Content(b"old"), b"new", PLAIN).expect("replaced");
    beneath.put("some/new/file", b"new", 0o600).expect("created");
    for (path, is_written) in [("out/built", true), ("out/built", true), ("above/victim", false), ("to-file", false)] {
        assert_eq!(replace_beneath(&root, path, b"built").is_ok(), is_written, "{path}");
    }
    beneath.append("log", "one\n").and_then(|()| beneath.append("log", "two\n")).expect("appended");
    beneath.link("some/link", OsStr::new("/anywhere")).expect("linked");
    beneath.remove("dangling").and_then(|()| beneath.remove("none/at/all")).expect("removed");
    let mut after = before;
    after.remove("work/dangling");
    after.extend(files(&[
        ("work/sub/file", "new"),
        ("work/some/new/file", "new"),
        ("work/out/built", "built"),
        ("work/log", "one\ntwo\n"),
        ("work/some/link", "-> /anywhere"),
    ]));
    assert_eq!(content(folder.path()), after);
}

#[test]
fn concurrent_appends_are_all_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let beneath = Beneath::open(folder.path()).expect("a folder");
            scope.spawn(move || {
                (0..8).for_each(|line| beneath.append("log", &format!("{writer} {line}\n")).expect("appended"))
            });
        }
    });
    let text = fs::read_to_string(folder.path().join("log")).expect("text");
    assert_eq!((text.lines().count(), fs::read_dir(folder.path()).expect("a folder").count()), (32, 1));
}

#[test]
fn appended_lines_end_as_those_of_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let beneath = Beneath::open(folder.path()).expect("a folder");
    for (before, after) in [("a\r\nb\r\n", "a\r\nb\r\nc\r\n"), ("a\nb\r\n", "a\nb\r\nc\n"), ("", "c\n")] {
        fs::write(folder.path().join("log"), before).expect("written");
        beneath.append("log", "c\n").expect("appended");
        assert_eq!(fs::read_to_string(folder.path().join("log")).expect("text"), after);
    }
}

#[test]
fn line_endings_are_those_of_the_file() {
    for (before, text, expected) in [
        ("a\r\nb\r\n", "x\ny\r\n", "x\r\ny\r\n"),
        ("a\r\nb\n", "x\ny\n", "x\ny\n"),
        ("a\nb\n", "x\r\ny\n", "x\r\ny\n"),
        ("a", "x\n", "x\n"),
        ("", "x\n", "x\n"),
    ] {
        assert_eq!(with_line_endings_of(before, text), expected, "{before:?}");
    }
}
