//! Folders of one user, for state and caches: nobody else can replace what is in them.
//!
//! A home behind a symlink is ordinary, so the path is resolved once. The folder that it leads to must belong to this user and be
//! writable for nobody else. So must every folder above it, which may also belong to the administrator.

use rustix::io::Errno;
use rustix::process::geteuid;
use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Group and others may write.
const WRITABLE: u32 = 0o022;
const BY_OTHERS: u32 = 0o002;
/// Only the owner of an entry can rename or delete it.
const STICKY: u32 = 0o1000;
/// The administrator.
const ROOT: u32 = 0;

/// A folder that was created, and the folders that are new.
#[derive(Debug)]
pub(crate) struct OwnFolder {
    /// Its path without symlinks.
    pub(crate) path: PathBuf,
    /// The folders that got a new entry.
    pub(crate) grown: Vec<PathBuf>,
}

/// Creates a folder if it is missing, and resolves its path. Refuses a folder that others can replace.
pub(crate) fn open(folder: &Path) -> Result<OwnFolder, String> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !is_there(folder)).collect();
    if let Some(nearest) = missing.last() {
        // Looked at first: nothing is created in a folder of somebody else.
        resolved(nearest.parent().unwrap_or(nearest))?.ancestors().try_for_each(trusted)?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| why(folder, &error))?;
    }
    // Looked at again: in a sticky folder, somebody else could have put a symlink where nothing was.
    let path = find(folder)?;
    let grown = missing.iter().filter_map(|missing| missing.parent()?.canonicalize().ok()).collect();
    Ok(OwnFolder { path, grown })
}

/// Resolves the path of a folder. Refuses a folder that others can replace.
pub(crate) fn find(folder: &Path) -> Result<PathBuf, String> {
    let path = resolved(folder)?;
    path.ancestors().skip(1).try_for_each(trusted)?;
    own(&path)?;
    Ok(path)
}

fn resolved(folder: &Path) -> Result<PathBuf, String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let path = folder.canonicalize().map_err(|error| why(folder, &error))?;
    links_trusted(folder, &mut BTreeSet::new())?;
    Ok(path)
}

/// Refuses a symlink of another user in the path: it could lead elsewhere the next time. `seen` are the symlinks that were looked at.
fn links_trusted(path: &Path, seen: &mut BTreeSet<(u64, u64)>) -> Result<(), String> {
    for link in path.ancestors() {
        let Ok(found) = link.symlink_metadata() else { continue };
        if !found.is_symlink() || !seen.insert((found.dev(), found.ino())) {
            continue;
        }
        if !is_trusted_owner(found.uid()) {
            return Err(format!("the symlink `{}` in its path belongs to another user", link.display()));
        }
        let target = link.read_link().map_err(|error| why(link, &error))?;
        links_trusted(&link.parent().unwrap_or(link).join(target), seen)?;
    }
    Ok(())
}

/// Describes why there is no such folder.
fn why(folder: &Path, error: &io::Error) -> String {
    let shown = folder.display();
    match Errno::from_io_error(error) {
        Some(Errno::NOENT) if folder.is_symlink() => format!("`{shown}` is a symlink to nothing"),
        Some(Errno::NOTDIR) => format!("`{shown}`: a part of the path is not a folder"),
        Some(Errno::LOOP) => format!("`{shown}`: the symlinks in the path lead in a circle"),
        _ => format!("`{shown}`: {error}"),
    }
}

/// Refuses a folder that belongs to another user or that another user can write to.
pub(crate) fn own(folder: &Path) -> Result<(), String> {
    let found = fs::metadata(folder).map_err(|error| error.to_string())?;
    if !found.is_dir() {
        return Err("it is not a folder".to_owned());
    }
    if found.uid() != geteuid().as_raw() {
        return Err("it belongs to another user".to_owned());
    }
    if found.mode() & WRITABLE != 0 {
        return Err("it is writable by other users".to_owned());
    }
    Ok(())
}

/// Returns whether there is something, also a symlink to nothing.
fn is_there(path: &Path) -> bool {
    path.as_os_str().is_empty() || path.symlink_metadata().is_ok()
}

/// Refuses a folder above, if another user could replace what is in it.
fn trusted(folder: &Path) -> Result<(), String> {
    let shown = folder.display();
    let found = fs::symlink_metadata(folder).map_err(|error| format!("`{shown}` above it: {error}"))?;
    if !is_trusted_owner(found.uid()) {
        return Err(format!("`{shown}` above it belongs to another user"));
    }
    let is_sticky = found.mode() & STICKY != 0;
    let by_group = found.mode() & WRITABLE != 0 && (!is_own_group(&found) || has_access_list(folder));
    if !is_sticky && (found.mode() & BY_OTHERS != 0 || by_group) {
        return Err(format!("`{shown}` above it is writable by other users"));
    }
    Ok(())
}

/// Returns whether there is a list of more users and groups. The bits of the group then say only what all of these may do at most.
fn has_access_list(folder: &Path) -> bool {
    let found = rustix::fs::getxattr(folder, "system.posix_acl_access", &mut [0u8; 1]);
    matches!(found, Ok(_) | Err(Errno::RANGE))
}

/// Returns whether this user or the administrator owns something.
fn is_trusted_owner(owner: u32) -> bool {
    owner == ROOT || owner == geteuid().as_raw() || is_hidden_root(owner)
}

/// Returns whether the owner may be the administrator, who has no number of their own in the user namespace of this process.
fn is_hidden_root(owner: u32) -> bool {
    let number = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let overflow = number("/proc/sys/kernel/overflowuid").trim().parse().unwrap_or(65_534);
    let whole = |map: &str| map.split_ascii_whitespace().eq(["0", "0", "4294967295"]);
    owner == overflow && !whole(&number("/proc/self/uid_map"))
}

/// Returns whether nobody else writes as the group of this folder: the group of the administrator, or the private group that many
/// systems give each user.
fn is_own_group(found: &Metadata) -> bool {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    found.gid() == ROOT || is_private_group(found.gid(), geteuid().as_raw(), &read("/etc/passwd"), &read("/etc/group"))
}

/// Returns whether a group has the name of the user and no other member.
fn is_private_group(group: u32, user: u32, passwd: &str, groups: &str) -> bool {
    let fields = |line: &'_ str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
    let number = |fields: &[String], at: usize| fields.get(at).and_then(|field| field.parse::<u32>().ok());
    let users: Vec<_> = passwd.lines().map(fields).collect();
    let Some(me) = users.iter().find(|line| number(line, 2) == Some(user)) else { return false };
    let is_alone = !users.iter().any(|line| number(line, 3) == Some(group) && number(line, 2) != Some(user));
    let is_mine = |line: &Vec<String>| {
        let members = line.get(3).map_or("", String::as_str);
        line[0] == me[0] && members.split(',').all(|member| member.is_empty() || member == me[0])
    };
    let mut named = groups.lines().map(fields).filter(|line| number(line, 2) == Some(group)).peekable();
    is_alone && named.peek().is_some() && named.all(|line| is_mine(&line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn with_mode(path: &Path, mode: u32) {
        fs::create_dir_all(path).expect("a folder");
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("allowed");
    }

    #[test]
    fn a_folder_behind_symlinks_is_found_and_held_to_the_same_rules() {
        let place = tempfile::tempdir().expect("a folder");
        let at = |name: &str| place.path().canonicalize().expect("a folder").join(name);
        with_mode(&at("disk/home"), 0o755);
        symlink("disk/home", at("home")).expect("a link");
        symlink(at("home"), at("chain")).expect("a link");
        for folder in ["home/state", "chain/state", "chain/./state/.", "home/a/b"] {
            let opened = open(&at(folder)).expect(folder);
            assert!(opened.path.starts_with(at("disk/home")), "{folder}: {opened:?}");
        }
        symlink("nowhere", at("dangling")).expect("a link");
        symlink("loop", at("loop")).expect("a link");
        fs::write(at("file"), "").expect("written");
        symlink("file", at("to-a-file")).expect("a link");
        with_mode(&at("shared"), 0o777);
        with_mode(&at("shared/inside"), 0o700);
        symlink("shared/inside", at("to-shared")).expect("a link");
        with_mode(&at("open"), 0o770);
        symlink("open", at("to-open")).expect("a link");
        for (folder, why) in [
            ("dangling", "is a symlink to nothing"),
            ("dangling/state", "is a symlink to nothing"),
            ("loop", "the symlinks in the path lead in a circle"),
            ("loop/state", "the symlinks in the path lead in a circle"),
            ("file", "it is not a folder"),
            ("file/state", "a part of the path is not a folder"),
            ("file/state/deep", "a part of the path is not a folder"),
            ("to-a-file", "it is not a folder"),
            ("to-shared", "shared` above it is writable by other users"),
            ("to-shared/state", "shared` above it is writable by other users"),
            ("shared/new", "shared` above it is writable by other users"),
            ("to-open", "it is writable by other users"),
        ] {
            let refused = open(&at(folder)).expect_err(folder);
            assert!(refused.contains(why), "{folder}: {refused}");
        }
        assert!(!at("shared/new").exists() && !at("shared/inside/state").exists(), "nothing is created there");
        // Others may add to a sticky folder, such as `/tmp`, and replace nothing.
        with_mode(&at("sticky"), 0o1777);
        assert!(open(&at("sticky/state")).is_ok());
    }

    #[test]
    fn a_symlink_that_somebody_puts_where_nothing_was_is_followed_by_another_look() {
        let place = tempfile::tempdir().expect("a folder");
        let at = |name: &str| place.path().canonicalize().expect("a folder").join(name);
        with_mode(&at("theirs"), 0o777);
        with_mode(&at("theirs/state"), 0o700);
        with_mode(&at("sticky"), 0o1777);
        symlink("../theirs", at("sticky/mine")).expect("a link");
        let refused = find(&at("sticky/mine/state")).expect_err("refused");
        assert!(refused.contains("theirs` above it is writable by other users"), "{refused}");
    }

    #[test]
    fn a_symlink_of_another_user_is_refused_wherever_it_is_in_the_path() {
        let place = tempfile::tempdir().expect("a folder");
        let at = |name: &str| place.path().canonicalize().expect("a folder").join(name);
        with_mode(&at("disk/state"), 0o700);
        symlink("disk", at("theirs")).expect("a link");
        symlink("theirs/state", at("mine")).expect("a link");
        let theirs = rustix::fs::chownat(
            rustix::fs::CWD,
            at("theirs"),
            Some(rustix::fs::Uid::from_raw(1234)),
            None,
            rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
        );
        symlink("../disk", at("disk/self")).expect("a link");
        let around = format!("disk{}/state", "/self".repeat(30));
        assert!(open(&at(&around)).is_ok(), "each symlink is looked at once");
        for folder in ["theirs/state", "theirs/state/deep", "mine", "mine/deep"] {
            let opened = open(&at(folder));
            // Only the administrator can give a symlink away.
            let expected = if theirs.is_ok() {
                opened.is_err_and(|why| why.contains("theirs` in its path belongs to another user"))
            } else {
                opened.is_ok()
            };
            assert!(expected, "{folder}");
        }
    }

    #[test]
    fn a_group_that_stands_for_an_access_list_is_not_private() {
        let place = tempfile::tempdir().expect("a folder");
        let home = place.path().canonicalize().expect("a folder").join("home");
        with_mode(&home.join("state"), 0o700);
        with_mode(&home, 0o770);
        rustix::fs::chown(&home, None, Some(rustix::fs::Gid::from_raw(ROOT))).ok();
        // Version 2; the owner, the user 1234, the group, the mask and others, each with what they may do.
        let list = [(1u16, 7u16, u32::MAX), (2, 7, 1234), (4, 7, u32::MAX), (16, 7, u32::MAX), (32, 5, u32::MAX)];
        let mut bytes = 2u32.to_le_bytes().to_vec();
        for (tag, may, id) in list {
            bytes.extend([tag.to_le_bytes(), may.to_le_bytes()].concat());
            bytes.extend(id.to_le_bytes());
        }
        let set = rustix::fs::setxattr(&home, "system.posix_acl_access", &bytes, rustix::fs::XattrFlags::empty());
        // Not every file system has access lists.
        assert!(set.is_err() || find(&home.join("state")).is_err_and(|why| why.contains("writable by other users")));
    }

    #[test]
    fn a_group_is_private_if_the_user_alone_is_in_it() {
        let passwd =
            "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nbob:x:1001:100::/home/bob:/bin/sh\n";
        for (group, user, groups, expected) in [
            (1000, 1000, "ann:x:1000:\n", true),
            (1000, 1000, "ann:x:1000:ann\n", true),
            (1000, 1000, "ann:x:1000:bob\n", false),
            (1000, 1000, "ann:x:1000:\nteam:x:1000:bob\n", false),
            (100, 1001, "users:x:100:\n", false),
            (1000, 1001, "ann:x:1000:\n", false),
            (1000, 1000, "", false),
            (1000, 4242, "ann:x:1000:\n", false),
        ] {
            assert_eq!(is_private_group(group, user, passwd, groups), expected, "{group} {user} {groups}");
        }
        let shared = format!("{passwd}eve:x:1002:1000::/home/eve:/bin/sh\n");
        assert!(!is_private_group(1000, 1000, &shared, "ann:x:1000:\n"), "another user has it too");
    }
}
