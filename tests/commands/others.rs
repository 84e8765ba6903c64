//! Whom a command can reach: the network, sockets, other processes.

use super::stage::*;
use gatehost::commands::Ending;
use gatehost::config::Sandbox;
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
        let free = level == Sandbox::None;
        let granted = || Bed::new(level).with(|command| command.network = true);
        assert_eq!(was_possible(&Bed::new(level).inside(&tcp)), free, "{level}");
        assert!(was_possible(&granted().inside(&tcp)), "{level}");
        assert_eq!(was_possible(&Bed::new(level).inside(&unix)), free, "{level}");
        assert_eq!(was_possible(&granted().inside(&unix)), free, "{level}");
        // In a network of its own, a test may talk to itself.
        let itself = was_possible(&Bed::new(level).inside("loopback itself"));
        assert_eq!(itself, level != Sandbox::Landlock, "{level}");
    }
}

#[test]
fn e9_a_pair_of_sockets_leads_nowhere_else() {
    for &level in levels() {
        for (kind, harmless) in [("stream", true), ("seqpacket", true), ("dgram", false), ("raw", false)] {
            let possible = was_possible(&Bed::new(level).inside(&format!("pair {kind}")));
            assert_eq!(possible, harmless || level != Sandbox::Landlock, "{level}: {kind}");
        }
    }
}

#[test]
fn e10_others_are_neither_traced_nor_signalled() {
    let mut other = process::Command::new("sleep").arg("600").spawn().expect("started");
    for level in confined() {
        for pid in [other.id(), process::id()] {
            assert!(!was_possible(&Bed::new(level).inside(&format!("trace {pid}"))), "{level}");
            let ran = Bed::new(level).sh(&format!("kill -TERM {pid}; kill -KILL $PPID; kill -KILL -1; exit 3"));
            assert_ne!(ran.ending, Ending::Exited(0), "{level}");
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

/// So many at once, if they can be had.
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

/// Two connected sockets of a type, if they can be had.
fn pair(kind: &str) -> std::io::Result<()> {
    let kind = match kind {
        "stream" => libc::SOCK_STREAM,
        "seqpacket" => libc::SOCK_SEQPACKET,
        "dgram" => libc::SOCK_DGRAM,
        "raw" => libc::SOCK_RAW | libc::SOCK_CLOEXEC,
        other => panic!("{other}"),
    };
    let mut ends = [0; 2];
    #[expect(unsafe_code, reason = "std has no pairs of every type")]
    // SAFETY: there is room for both.
    let result = unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

fn trace(pid: i32) -> std::io::Result<()> {
    #[expect(unsafe_code, reason = "std cannot trace")]
    // SAFETY: the request takes no memory.
    let result = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
