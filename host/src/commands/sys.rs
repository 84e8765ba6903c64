//! The system calls that are made between `fork` and `exec`, each behind a safe function.
//!
//! In a child of a process with several threads, nothing may be allocated and no lock may be taken, because another thread
//! may have held it. So every function is a bare system call on values that the parent prepared, and errors are numbers.
#![expect(unsafe_code, reason = "system calls that neither std nor our crates offer for a child before `exec`")]

use libc::{c_int, c_long, c_uint, c_ulong, c_void, pid_t};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

fn done(result: c_long) -> io::Result<c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The parent or the child after a fork.
pub(super) enum Fork {
    Child,
    Parent(pid_t),
}

/// Forks, with these flags of `clone`. Only for a process that has a single thread and will call nothing but this
/// module until it ends or calls `exec`.
pub(super) fn fork(flags: c_int) -> io::Result<Fork> {
    // SAFETY: without CLONE_VM and without a stack this is a fork: the child gets a copy of everything.
    let pid = unsafe { libc::syscall(libc::SYS_clone, c_long::from(flags | libc::SIGCHLD), 0, 0, 0, 0) };
    Ok(match done(pid)? {
        0 => Fork::Child,
        pid => Fork::Parent(pid as pid_t),
    })
}

/// Exits this process without running anything else.
pub(super) fn exit(code: c_int) -> ! {
    // SAFETY: it runs no handler and does not return.
    unsafe { libc::_exit(code) }
}

/// Starts a new session without a terminal.
pub(super) fn new_session() {
    // SAFETY: no memory is involved. It fails only where the process leads a group, and so has its own already.
    unsafe { libc::setsid() };
}

/// Calls `prctl` with one number.
pub(super) fn prctl(option: c_int, value: c_ulong) -> io::Result<()> {
    // SAFETY: all options used here take numbers only.
    done(c_long::from(unsafe { libc::prctl(option, value, 0, 0, 0) })).map(drop)
}

/// Sends a signal. A missing process is not an error.
pub(super) fn kill(pid: pid_t, signal: c_int) {
    // SAFETY: no memory is involved.
    unsafe { libc::kill(pid, signal) };
}

/// Reaps one child that has ended, and returns its id and wait status. `Ok(None)` if none has ended; an error if there is no
/// child.
pub(super) fn reap(wait: bool) -> io::Result<Option<(pid_t, c_int)>> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is ours.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, if wait { 0 } else { libc::WNOHANG }) };
        match done(c_long::from(pid)) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some((pid, status))),
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns a descriptor that becomes readable when a child ends.
pub(super) fn children_as_descriptor() -> io::Result<OwnedFd> {
    // SAFETY: the set is ours and initialised by `sigemptyset`; the descriptor is new and nobody else's.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut());
        let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        done(c_long::from(fd))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Unblocks all signals.
pub(super) fn unblock_signals() {
    // SAFETY: the set is ours and initialised by `sigemptyset`.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, ptr::null_mut());
    }
}

/// Restores the default handlers of the signals that end a program.
pub(super) fn forget_handlers() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGXCPU, libc::SIGXFSZ] {
        // SAFETY: no memory is involved.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Ignores the signals of the terminal, or restores their defaults.
pub(super) fn ignore_terminal(ignored: bool) {
    let action = if ignored { libc::SIG_IGN } else { libc::SIG_DFL };
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGTSTP] {
        // SAFETY: no memory is involved.
        unsafe { libc::signal(signal, action) };
    }
}

/// Waits until a descriptor is ready. A negative time means no limit.
pub(super) fn poll(fds: &mut [libc::pollfd], milliseconds: c_int) -> io::Result<()> {
    let count = fds.len() as libc::nfds_t;
    // SAFETY: pointer and length are those of a slice.
    match done(c_long::from(unsafe { libc::poll(fds.as_mut_ptr(), count, milliseconds) })) {
        Err(error) if error.raw_os_error() != Some(libc::EINTR) => Err(error),
        _ => Ok(()),
    }
}

pub(super) fn read(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: pointer and length are those of a slice.
    let read = unsafe { libc::read(fd, buffer.as_mut_ptr().cast::<c_void>(), buffer.len()) };
    done(read as c_long).map(|read| read as usize)
}

/// Reads a file of `/proc` from the start.
pub(super) fn read_from_start(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: pointer and length are those of a slice.
    let read = unsafe { libc::pread(fd, buffer.as_mut_ptr().cast::<c_void>(), buffer.len(), 0) };
    done(read as c_long).map(|read| read as usize)
}

pub(super) fn write(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: pointer and length are those of a slice.
    let written = unsafe { libc::write(fd, bytes.as_ptr().cast::<c_void>(), bytes.len()) };
    done(written as c_long).map(|written| written as usize)
}

/// Makes a descriptor non-blocking.
pub(super) fn do_not_block(fd: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: no memory is involved.
    unsafe {
        let flags = libc::fcntl(fd.as_raw_fd(), libc::F_GETFL);
        done(c_long::from(libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK))).map(drop)
    }
}

pub(super) fn open(path: &CStr, flags: c_int) -> io::Result<OwnedFd> {
    // SAFETY: `path` ends with NUL; the descriptor is new and nobody else's.
    unsafe {
        let fd = libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, 0o600 as c_uint);
        done(c_long::from(fd))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Opens what is at a path, if no part of the path is a symlink: a path that was checked before may have become one.
pub(super) fn open_exactly(path: &CStr) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct OpenHow {
        flags: u64,
        mode: u64,
        resolve: u64,
    }
    let how = OpenHow { flags: (libc::O_PATH | libc::O_CLOEXEC) as u64, mode: 0, resolve: libc::RESOLVE_NO_SYMLINKS };
    // SAFETY: `path` ends with NUL and the size is that of the structure; the descriptor is new and nobody else's.
    unsafe {
        let (at, size) = (libc::AT_FDCWD, size_of_val(&how));
        let fd = done(libc::syscall(libc::SYS_openat2, at, path.as_ptr(), &raw const how, size))?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

/// Writes a file of `/proc` in one call.
pub(super) fn write_file(path: &CStr, text: &[u8]) -> io::Result<()> {
    let file = open(path, libc::O_WRONLY)?;
    write(file.as_raw_fd(), text).map(drop)
}

/// Closes every descriptor from 3 on except these, which must be sorted.
pub(super) fn close_all_but(keep: &[RawFd]) {
    let mut from: c_uint = 3;
    for end in keep.iter().map(|&fd| fd as c_uint).chain([c_uint::MAX]) {
        if end > from {
            // SAFETY: nobody uses the descriptors of this copy of the process any more.
            unsafe { libc::syscall(libc::SYS_close_range, from, end - 1, 0) };
        }
        from = end.saturating_add(1);
    }
}

/// Sets close-on-exec on every descriptor from 3 on.
pub(super) fn inherit_nothing() {
    // SAFETY: it only sets a flag.
    unsafe { libc::syscall(libc::SYS_close_range, 3 as c_uint, c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// Sets a resource limit, soft and hard.
pub(super) fn limit(resource: c_int, most: u64) {
    // SAFETY: both structures are ours. A limit that is lower already stays.
    unsafe {
        let mut now: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(resource as _, &raw mut now);
        let most = (most as libc::rlim_t).min(now.rlim_max);
        let new = libc::rlimit { rlim_cur: most.min(now.rlim_cur), rlim_max: most };
        libc::setrlimit(resource as _, &raw const new);
    }
}

pub(super) fn chdir(path: &CStr) -> io::Result<()> {
    // SAFETY: `path` ends with NUL.
    done(c_long::from(unsafe { libc::chdir(path.as_ptr()) })).map(drop)
}

/// Creates a folder. A failure shows when the folder is used.
pub(super) fn make_folder(path: &CStr, mode: libc::mode_t) {
    // SAFETY: `path` ends with NUL.
    unsafe { libc::mkdir(path.as_ptr(), mode) };
}

/// Creates an empty file. A failure shows when the file is used.
pub(super) fn make_file(path: &CStr) {
    let _ = open(path, libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY);
}

/// Creates a file with these bytes.
pub(super) fn make_file_with(path: &CStr, bytes: &[u8]) -> io::Result<()> {
    let file = open(path, libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY)?;
    let mut written = 0;
    while written < bytes.len() {
        written += write(file.as_raw_fd(), &bytes[written..])?;
    }
    Ok(())
}

/// Creates a symlink. A failure shows when it is used.
pub(super) fn make_link(path: &CStr, target: &CStr) {
    // SAFETY: both end with NUL.
    unsafe { libc::symlink(target.as_ptr(), path.as_ptr()) };
}

pub(super) fn mount(source: &CStr, target: &CStr, kind: &CStr, flags: c_ulong, data: &CStr) -> io::Result<()> {
    let data = data.as_ptr().cast::<c_void>();
    // SAFETY: all texts end with NUL.
    done(c_long::from(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, data) })).map(drop)
}

/// Bind-mounts a path, with all mounts below it, at another path. The source has no symlink in it.
pub(super) fn bind(source: &CStr, target: &CStr) -> io::Result<()> {
    let source = open_exactly(source)?;
    let flags = libc::OPEN_TREE_CLONE | (libc::AT_EMPTY_PATH | libc::AT_RECURSIVE) as c_uint;
    let (here, nothing) = (libc::AT_FDCWD, c"".as_ptr());
    // SAFETY: all texts end with NUL; the descriptor is new and nobody else's.
    unsafe {
        let tree = done(libc::syscall(libc::SYS_open_tree, source.as_raw_fd(), nothing, flags))?;
        let tree = OwnedFd::from_raw_fd(tree as RawFd);
        let flags = libc::MOVE_MOUNT_F_EMPTY_PATH;
        done(libc::syscall(libc::SYS_move_mount, tree.as_raw_fd(), nothing, here, target.as_ptr(), flags)).map(drop)
    }
}

/// Adds these attributes to a mount and to all below it.
pub(super) fn restrict_mount(path: &CStr, attributes: u64) -> io::Result<()> {
    let attr = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = libc::AT_RECURSIVE as c_uint;
    // SAFETY: `path` ends with NUL, and the size is that of the structure.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &raw const attr,
            size_of_val(&attr),
        )
    };
    done(result).map(drop)
}

/// Makes the current folder the root of the file system, and unmounts the old root.
pub(super) fn leave_old_root() -> io::Result<()> {
    // SAFETY: constant texts that end with NUL. The old root is put over the new one and taken away from there.
    unsafe {
        done(libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()))?;
        done(c_long::from(libc::umount2(c".".as_ptr(), libc::MNT_DETACH)))?;
    }
    chdir(c"/")
}

/// Enables the loopback interface.
pub(super) fn loopback_up() -> io::Result<()> {
    // SAFETY: the structure is ours and has the name of the interface; the union is written by the first call.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        done(c_long::from(socket))?;
        let socket = OwnedFd::from_raw_fd(socket);
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as _;
        request.ifr_name[1] = b'o' as _;
        done(c_long::from(libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut request)))?;
        request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short;
        done(c_long::from(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request))).map(drop)
    }
}

/// Drops every capability, also those that root would get with `exec`.
pub(super) fn drop_capabilities() -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: c_int,
    }
    const VERSION_3: u32 = 0x2008_0522;
    // Until there is no capability with that number. Without the right to drop one, there is none to get by `exec` either.
    for capability in 0..64 {
        if prctl(libc::PR_CAPBSET_DROP, capability).is_err() {
            break;
        }
    }
    let _ = prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as c_ulong);
    let header = Header { version: VERSION_3, pid: 0 };
    let none = [0u32; 6];
    // SAFETY: version 3 reads two structures of three numbers.
    done(unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) }).map(drop)
}

/// Installs a seccomp filter.
pub(super) fn filter(program: &[seccompiler::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr() as *mut libc::sock_filter };
    // SAFETY: both crates declare the kernel's structure; it only reads it.
    let result = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
    done(result).map(drop)
}

/// The access rights of a Landlock ruleset.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct RulesetAttr {
    pub(super) handled_fs: u64,
    pub(super) handled_net: u64,
    pub(super) scoped: u64,
}

/// Returns the Landlock version of the kernel; 0 if there is none.
pub(super) fn landlock_version() -> u32 {
    let nothing = ptr::null::<c_void>();
    // SAFETY: with this flag, no memory is involved.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0usize, 1 as c_uint) };
    u32::try_from(version).unwrap_or(0)
}

pub(super) fn landlock_ruleset(attr: &RulesetAttr, version: u32) -> io::Result<OwnedFd> {
    // Older kernels know the first fields only.
    let size: usize = match version {
        0..=3 => 8,
        4..=5 => 16,
        _ => 24,
    };
    // SAFETY: at least `size` bytes are there; the descriptor is new and nobody else's.
    unsafe {
        let fd = libc::syscall(libc::SYS_landlock_create_ruleset, ptr::from_ref(attr), size, 0 as c_uint);
        Ok(OwnedFd::from_raw_fd(done(fd)? as RawFd))
    }
}

/// Allows access below a path without symlinks.
pub(super) fn landlock_allow(ruleset: &OwnedFd, path: &CStr, access: u64) -> io::Result<()> {
    #[repr(C, packed)]
    struct Beneath {
        access: u64,
        parent: RawFd,
    }
    let parent = open_exactly(path)?;
    let rule = Beneath { access, parent: parent.as_raw_fd() };
    // SAFETY: 1 says that the structure is this one.
    let result = unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), 1 as c_int, &raw const rule, 0 as c_uint)
    };
    done(result).map(drop)
}

/// Enforces a ruleset for good.
pub(super) fn landlock_enter(ruleset: &OwnedFd) -> io::Result<()> {
    // SAFETY: no memory is involved.
    done(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0 as c_uint) }).map(drop)
}
