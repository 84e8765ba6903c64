//! What a command can reach: the network, sockets, other processes.

use super::stage::*;
use gatehost::commands::CommandEnding;
use gatehost::config::SandboxLevel;
use std::io::BufRead;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::{process, thread};

#[test]
fn e9_there_is_no_network_unless_granted() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a server");
    let tcp = format!("tcp {}", server.local_addr().expect("an address"));
    let elsewhere = tempfile::tempdir().expect("a folder");
    let path = elsewhere.path().join("socket");
    let _socket = UnixListener::bind(&path).expect("a server");
    let unix = format!("unix {}", path.display());
    for &level in levels() {
        let free = level == SandboxLevel::None;
        let granted = || TestBed::new(level).with(|command| command.network = true);
        assert_eq!(was_possible(&TestBed::new(level).inside(&tcp)), free, "{level}");
        assert!(was_possible(&granted().inside(&tcp)), "{level}");
        assert_eq!(was_possible(&TestBed::new(level).inside(&unix)), free, "{level}");
        assert_eq!(was_possible(&granted().inside(&unix)), free, "{level}");
        // In a network of its own, a test may talk to itself.
        let itself = was_possible(&TestBed::new(level).inside("loopback itself"));
        assert_eq!(itself, level != SandboxLevel::Landlock, "{level}");
    }
}

#[test]
fn e9_a_pair_of_sockets_leads_nowhere_else() {
    for &level in levels() {
        for (kind, harmless) in [("stream", true), ("seqpacket", true), ("dgram", false), ("raw", false)] {
            let possible = was_possible(&TestBed::new(level).inside(&format!("pair {kind}")));
            assert_eq!(possible, harmless || level != SandboxLevel::Landlock, "{level}: {kind}");
        }
    }
}

#[test]
fn e9_no_family_of_sockets_leads_past_the_namespaces() {
    for level in confined() {
        for network in [false, true] {
            let bed = || TestBed::new(level).with(|command| command.network = network);
            for family in [libc::AF_VSOCK, libc::AF_ALG, libc::AF_PACKET, libc::AF_BLUETOOTH, libc::AF_TIPC, 44] {
                assert!(!was_possible(&bed().inside(&format!("family {family}"))), "{level}, {network}: {family}");
            }
            for family in [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK] {
                let possible = was_possible(&bed().inside(&format!("family {family}")));
                // A machine may have none of the newer internet.
                let expected = (network || level == SandboxLevel::Namespaces) && (possible || family != libc::AF_INET6);
                assert_eq!(possible, expected, "{level}, {network}: {family}");
            }
        }
        // A pair of any other kind than that of paths could be sent to elsewhere.
        assert!(!was_possible(&TestBed::new(level).inside(&format!("pair-of {}", libc::AF_TIPC))), "{level}");
    }
}

#[test]
fn e10_memory_and_messages_of_others_are_not_reached() {
    let key = 0x6761_0000 | (process::id() & 0xffff) as i32;
    let shared = Shared::new(key).expect("memory");
    for level in confined() {
        assert!(!was_possible(&TestBed::new(level).inside(&format!("shared {key}"))), "{level}");
        assert!(!was_possible(&TestBed::new(level).inside(&format!("messages {key}"))), "{level}");
        // Where it has a namespace of its own, it may share with itself.
        let itself = was_possible(&TestBed::new(level).inside("shared 0"));
        assert_eq!(itself, level == SandboxLevel::Namespaces, "{level}");
    }
    drop(shared);
}

/// Shared memory and message queues.
struct Shared {
    memory: i32,
    messages: i32,
}

#[expect(unsafe_code, reason = "std has none of that")]
impl Shared {
    fn new(key: i32) -> std::io::Result<Self> {
        // SAFETY: no memory of this process is involved.
        let (memory, messages) =
            unsafe { (libc::shmget(key, 4096, libc::IPC_CREAT | 0o666), libc::msgget(key, libc::IPC_CREAT | 0o666)) };
        if memory < 0 || messages < 0 { Err(std::io::Error::last_os_error()) } else { Ok(Self { memory, messages }) }
    }
}

#[expect(unsafe_code, reason = "std has none of that")]
impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the request takes no memory.
        unsafe {
            libc::shmctl(self.memory, libc::IPC_RMID, std::ptr::null_mut());
            libc::msgctl(self.messages, libc::IPC_RMID, std::ptr::null_mut());
        }
    }
}

#[test]
fn e10_others_are_neither_traced_nor_signalled() {
    let mut other = process::Command::new("sleep").arg("600").spawn().expect("started");
    for level in confined() {
        for pid in [other.id(), process::id()] {
            assert!(!was_possible(&TestBed::new(level).inside(&format!("trace {pid}"))), "{level}");
            let ran = TestBed::new(level).sh(&format!("kill -TERM {pid}; kill -KILL $PPID; kill -KILL -1; exit 3"));
            assert_ne!(ran.ending, CommandEnding::Exited(0), "{level}");
        }
        assert!(other.try_wait().expect("known").is_none(), "{level}: it was ended");
    }
    other.kill().expect("killed");
    other.wait().expect("ended");
}

/// Not a test: does one thing in a command, as its input says.
#[test]
#[ignore = "part of other tests"]
fn inside() {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).expect("a line");
    let (what, about) = line.trim().split_once(' ').expect("two words");
    let done = match what {
        "tcp" => TcpStream::connect(about).map(drop),
        "unix" => UnixStream::connect(about).map(drop),
        "pair" => pair(about),
        "loopback" => {
            TcpListener::bind("127.0.0.1:0").and_then(|listener| TcpStream::connect(listener.local_addr()?)).map(drop)
        }
        "family" => family(about.parse().expect("a number")),
        "pair-of" => pair_of(about.parse().expect("a number"), libc::SOCK_STREAM),
        "shared" => shared(about.parse().expect("a number")),
        "messages" => messages(about.parse().expect("a number")),
        "nest" => nest(about.parse().expect("a number")),
        "threads" => threads(about.parse().expect("a number")),
        "trace" => trace(about.parse().expect("a number")),
        other => panic!("{other}"),
    };
    #[expect(clippy::print_stdout, reason = "how it says what came of it")]
    match done {
        Ok(()) => println!("\nit was possible"),
        Err(error) => println!("\nit was denied: {error}"),
    }
}

/// Creates so many nested folders in the home, the last without permissions.
fn nest(depth: usize) -> std::io::Result<()> {
    std::env::set_current_dir(std::env::var_os("HOME").expect("a home"))?;
    for _ in 0..depth {
        std::fs::create_dir("d")?;
        std::env::set_current_dir("d")?;
    }
    std::fs::create_dir("closed")?;
    std::fs::set_permissions("closed", std::os::unix::fs::PermissionsExt::from_mode(0o000))
}

/// Starts so many threads, if possible.
fn threads(count: usize) -> std::io::Result<()> {
    let gate = std::sync::Arc::new(std::sync::Mutex::new(()));
    let closed = gate.lock().expect("a gate");
    let one = |_| {
        let gate = std::sync::Arc::clone(&gate);
        thread::Builder::new().stack_size(64 << 10).spawn(move || drop(gate.lock()))
    };
    let all: std::io::Result<Vec<_>> = (0..count).map(one).collect();
    drop(closed);
    all.map(drop)
}

/// Creates two connected sockets of a type, if possible.
fn pair(kind: &str) -> std::io::Result<()> {
    let kind = match kind {
        "stream" => libc::SOCK_STREAM,
        "seqpacket" => libc::SOCK_SEQPACKET,
        "dgram" => libc::SOCK_DGRAM,
        "raw" => libc::SOCK_RAW | libc::SOCK_CLOEXEC,
        other => panic!("{other}"),
    };
    pair_of(libc::AF_UNIX, kind)
}

fn pair_of(family: i32, kind: i32) -> std::io::Result<()> {
    let mut ends = [0; 2];
    #[expect(unsafe_code, reason = "std has no pairs of every type")]
    // SAFETY: there is room for both.
    let result = unsafe { libc::socketpair(family, kind, 0, ends.as_mut_ptr()) };
    done(result)
}

/// Creates a socket of a family, if possible. A family that the kernel does not have is not denied by us.
fn family(family: i32) -> std::io::Result<()> {
    let kind = match family {
        libc::AF_ALG => libc::SOCK_SEQPACKET,
        libc::AF_PACKET | libc::AF_BLUETOOTH | libc::AF_NETLINK => libc::SOCK_RAW,
        _ => libc::SOCK_STREAM,
    };
    #[expect(unsafe_code, reason = "std has sockets of few families")]
    // SAFETY: no memory is involved.
    let result = unsafe { libc::socket(family, kind, 0) };
    done(result)
}

/// Returns the memory of an existing key; new memory for the key 0.
fn shared(key: i32) -> std::io::Result<()> {
    #[expect(unsafe_code, reason = "std has no shared memory")]
    // SAFETY: no memory of this process is involved.
    done(unsafe { libc::shmget(key, 4096, 0o600) })
}

fn messages(key: i32) -> std::io::Result<()> {
    #[expect(unsafe_code, reason = "std has no queues of messages")]
    // SAFETY: no memory is involved.
    done(unsafe { libc::msgget(key, 0) })
}

fn done(result: i32) -> std::io::Result<()> {
    if result >= 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

fn trace(pid: i32) -> std::io::Result<()> {
    #[expect(unsafe_code, reason = "std cannot trace")]
    // SAFETY: the request takes no memory.
    let result = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
