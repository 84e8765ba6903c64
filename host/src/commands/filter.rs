//! The seccomp filter: system calls that no test needs and that can do much harm.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    sock_filter,
};
use std::collections::BTreeMap;
use std::io;

/// Always denied: these calls change the machine, reach resources without a namespace, or run unfiltered work elsewhere.
const DENIED: &[libc::c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_umount2,
    libc::SYS_userfaultfd,
];

/// Message queues, semaphores and shared memory that all processes of the machine reach by a number or a name. Without its
/// own namespace, a command could reach those of others.
const SHARED: &[libc::c_long] = &[
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgctl,
    libc::SYS_msgget,
    libc::SYS_msgrcv,
    libc::SYS_msgsnd,
    libc::SYS_semctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmget,
];

/// Which sockets are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sockets {
    /// Internet and Unix sockets: the network namespace and the mounts keep them inside. No others: vsock, for example, has
    /// no namespace.
    Inside,
    /// Only internet sockets, because a Unix socket would lead to other programs on this machine.
    Internet,
    /// None.
    None,
}

/// Compiles the filter.
pub(super) fn program(sockets: Sockets) -> io::Result<BpfProgram> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = DENIED.iter().map(|&call| (call, Vec::new())).collect();
    const INTERNET: [libc::c_int; 3] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let socket = match sockets {
        Sockets::None => Vec::new(),
        Sockets::Internet => vec![none_of(&INTERNET)?],
        Sockets::Inside => vec![none_of(&[INTERNET.as_slice(), &[libc::AF_UNIX]].concat())?],
    };
    rules.insert(libc::SYS_socket, socket);
    if sockets == Sockets::Inside {
        rules.insert(libc::SYS_socketpair, vec![none_of(&[libc::AF_UNIX])?]);
    } else {
        rules.insert(libc::SYS_socketpair, pairs_to_refuse()?);
        rules.extend(SHARED.iter().map(|&call| (call, Vec::new())));
    }
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let here = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, here).map_err(io::Error::other)?;
    let program: BpfProgram = filter.try_into().map_err(io::Error::other)?;
    Ok([other_numbers().as_slice(), &program].concat())
}

/// Returns the rules that deny all socket families except these.
fn none_of(families: &[libc::c_int]) -> io::Result<SeccompRule> {
    let other =
        |family: &libc::c_int| SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, *family as u64);
    let others = families.iter().map(other).collect::<Result<_, _>>().map_err(io::Error::other)?;
    SeccompRule::new(others).map_err(io::Error::other)
}

/// Returns the rules for `socketpair`. Connected pairs are harmless, except datagram pairs, which can send elsewhere.
fn pairs_to_refuse() -> io::Result<Vec<SeccompRule>> {
    const TYPES: u64 = 0xf;
    let condition = |argument, operation, value| {
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value);
        condition.and_then(|condition| SeccompRule::new(vec![condition])).map_err(io::Error::other)
    };
    let bound = [libc::SOCK_STREAM as u64, libc::SOCK_SEQPACKET as u64];
    let types = (0..=TYPES).filter(|kind| !bound.contains(kind));
    let types = types.map(|kind| condition(1, SeccompCmpOp::MaskedEq(TYPES), kind));
    types.chain([condition(0, SeccompCmpOp::Ne, libc::AF_UNIX as u64)]).collect()
}

/// Returns instructions that deny the second system call numbers of x86-64 (x32), which would bypass the filter.
fn other_numbers() -> Vec<sock_filter> {
    if !cfg!(target_arch = "x86_64") {
        return Vec::new();
    }
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    const OTHERS: u32 = 0x4000_0000;
    let refuse = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    vec![
        sock_filter { code: LOAD, jt: 0, jf: 0, k: 0 },
        sock_filter { code: AT_LEAST, jt: 0, jf: 1, k: OTHERS },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: refuse },
    ]
}
