//! What the sandbox costs, as ratios to the same work without it.
//!
//! `cargo bench` prints the figures that README quotes. Both sides of every ratio are measured in turns within one
//! run, because machines are noisy and the noise falls on both; each figure is a median.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs, reason = "a program for people who measure")]

use gatehost::changes::Selection;
use gatehost::environment::Environment;
use gatehost::limits::Limits;
use gatehost::outcome::{JudgedFile, Node};
use gatehost::runtime::{CallContext, ComponentSource, FileInput, Grants, Runtime, Verifier};
use gatehost::session::{Host, Policy, Request};
use gatehost::verdict::{Status, Verdict};
use serde::de::IgnoredAny;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() {
    // `cargo test --benches` only wants to know that this starts.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let runtime = Arc::new(Runtime::new(None));
    trivial_call(&runtime);
    json_files(&runtime);
    cold_start();
    listed_files();
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The median time of each side, taken in turns.
fn in_turns<const N: usize>(rounds: usize, mut sides: [&mut dyn FnMut(); N]) -> [Duration; N] {
    let mut times = [const { Vec::new() }; N];
    for _ in 0..rounds {
        for (side, times) in sides.iter_mut().zip(&mut times) {
            let start = Instant::now();
            side();
            times.push(start.elapsed());
        }
    }
    times.map(median)
}

fn tokio(threads: usize) -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_time().build().unwrap()
}

const CALLS: u32 = 2_000;

fn trivial_call(runtime: &Arc<Runtime>) {
    let verifier = runtime.load(&ComponentSource::from_bytes(trivial_component()), &Grants::default()).unwrap();
    let limits = Limits::default();
    let terms = CallContext::new("{}", &limits);
    let tokio = tokio(1);
    let mut sandboxed = || {
        tokio.block_on(async {
            for _ in 0..CALLS {
                let answer = runtime.check_file(&verifier, &terms, FileInput::new("a.txt", Vec::new())).await;
                assert_eq!(answer.verdict.status, Status::Pass);
            }
        });
    };
    let mut native = || {
        for _ in 0..CALLS {
            assert_eq!(
                black_box(native_trivial as fn(&str, &[u8]) -> Verdict)(black_box("a.txt"), &[]).status,
                Status::Pass
            );
        }
    };
    let [sandboxed, native] = in_turns(21, [&mut sandboxed, &mut native]);
    println!("trivial verifier, one call, fresh instance, all limits on");
    println!("  sandbox {:8.2} µs", sandboxed.as_secs_f64() * 1e6 / f64::from(CALLS));
    println!("  native  {:8.2} µs", native.as_secs_f64() * 1e6 / f64::from(CALLS));
    println!("  ratio   {:8.0} (bar: at most 25 µs)", sandboxed.as_secs_f64() / native.as_secs_f64());
}

fn native_trivial(_path: &str, _content: &[u8]) -> Verdict {
    Verdict::of(Status::Pass)
}

fn trivial_component() -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut module = wat::parse_file(root.join("fixtures/bench/trivial.wat")).unwrap();
    let mut resolve = wit_parser::Resolve::default();
    let (package, _) = resolve.push_dir(root.join("wit")).unwrap();
    let world = resolve.select_world(&[package], Some("file")).unwrap();
    wit_component::embed_component_metadata(&mut module, &resolve, world, wit_component::StringEncoding::UTF8).unwrap();
    wit_component::ComponentEncoder::default().module(&module).unwrap().encode().unwrap()
}

fn json_files(runtime: &Arc<Runtime>) {
    let files: Arc<Vec<Vec<u8>>> = Arc::new((0..1_000).map(json_file).collect());
    let bytes: usize = files.iter().map(Vec::len).sum();
    let verifier =
        runtime.load(&ComponentSource::named("json-syntax", Path::new(".")).unwrap(), &Grants::default()).unwrap();
    let one = tokio(1);
    let two = tokio(2);
    // Each side starts with a copy of its own, as if it had read the file.
    let mut native = || {
        for file in files.iter() {
            serde_json::from_slice::<IgnoredAny>(black_box(&file.clone())).unwrap();
        }
    };
    let mut sandboxed = || one.block_on(check_every(runtime, &verifier, &files));
    // Each of the two does all files, so that a thread that is not slowed down takes as long as one alone.
    let mut doubled = || {
        two.block_on(async {
            let both = [0, 1].map(|_| {
                let (runtime, verifier, files) = (Arc::clone(runtime), Arc::clone(&verifier), Arc::clone(&files));
                tokio::spawn(async move { check_every(&runtime, &verifier, &files).await })
            });
            for thread in both {
                thread.await.unwrap();
            }
        });
    };
    let mut native_doubled = || {
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for file in files.iter() {
                        serde_json::from_slice::<IgnoredAny>(black_box(&file.clone())).unwrap();
                    }
                });
            }
        });
    };
    let [native, sandboxed, doubled, native_doubled] =
        in_turns(9, [&mut native, &mut sandboxed, &mut doubled, &mut native_doubled]);
    let rate = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    let (ratio, per_thread) = (rate(sandboxed) / rate(native), rate(doubled) / rate(native_doubled));
    println!("JSON syntax of 1,000 files ({} MB) from memory, fresh instance for each", bytes / 1_000_000);
    println!("  serde_json in-process   {:6.0} MB/s", rate(native));
    println!("  through the sandbox     {:6.0} MB/s", rate(sandboxed));
    println!("  ratio, one thread       {ratio:6.2} (bar: at least 0.5)");
    println!("  two threads, each       {:6.0} MB/s ({:.0} without the sandbox)", rate(doubled), rate(native_doubled));
    let (scaled, native_scaled) = (rate(doubled) / rate(sandboxed), rate(native_doubled) / rate(native));
    println!("  two threads against one {scaled:6.2} ({native_scaled:.2} without the sandbox)");
    // Two cores that share a cache, or a machine with neighbours, slow the native side down too.
    println!("  of what the cores give  {:6.2} (bar: at least 0.9)", scaled / native_scaled);
    println!("  ratio, two threads      {per_thread:6.2}");
}

async fn check_every(runtime: &Runtime, verifier: &Verifier, files: &[Vec<u8>]) {
    let limits = Limits::default();
    let terms = CallContext::new("{}", &limits);
    for file in files {
        let answer = runtime.check_file(verifier, &terms, FileInput::new("a.json", file.clone())).await;
        assert_eq!(answer.verdict.status, Status::Pass);
    }
}

/// Between 1 and 200 KB of objects as programs write them; the same in every run.
fn json_file(number: usize) -> Vec<u8> {
    let size = 1_000 + (number * 7_919) % 199_000;
    let mut random = number as u64 + 1;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut text = String::from("[\n");
    while text.len() < size {
        let (id, price) = (next() % 1_000_000, (next() % 100_000) as f64 / 100.0);
        let words =
            ["alpha", "beta \\\"quoted\\\"", "gämma", "delta \\u00e9", "a rather longer text, as people write them"];
        let (name, tag) = (words[(next() % 5) as usize], words[(next() % 5) as usize]);
        text += &format!(
            "  {{\"id\": {id}, \"price\": {price}, \"name\": \"{name}\", \"tags\": [\"{tag}\", null, true], \"nested\": {{\"a\": {{}}}}}},\n"
        );
    }
    text.truncate(text.len() - 2);
    text += "\n]\n";
    text.into_bytes()
}

/// What it costs that a record lists every judged file.
fn listed_files() {
    const FILES: usize = 10_000;
    let folder = tempfile::tempdir().unwrap();
    for number in 0..FILES {
        let below = folder.path().join(format!("part-{}", number % 100));
        std::fs::create_dir_all(&below).unwrap();
        std::fs::write(below.join(format!("{number:05}.json")), format!("{{\"n\": [{number}]}}\n")).unwrap();
    }
    let environment = Environment::default();
    let host = Host::new(&environment).unwrap();
    let mut request = Request::new(folder.path(), environment);
    request.selection = Selection::All;
    request.policy = Policy::Verifiers {
        verifiers: vec!["json-syntax".to_owned()],
        settings: serde_json::json!({}),
        grants: vec![],
    };
    let tokio = tokio(1);
    let run = || tokio.block_on(host.run(request.clone(), ())).unwrap();
    let mut listed = || {
        black_box(serde_json::to_vec(&run()).unwrap());
    };
    fn forget(node: &mut Node) {
        node.files = None;
        node.children.iter_mut().for_each(forget);
    }
    let mut unlisted = || {
        let mut record = run();
        forget(&mut record.gate);
        black_box(serde_json::to_vec(&record).unwrap());
    };
    let record = run();
    let files: Vec<JudgedFile> = record.gate.walk().flat_map(|node| node.files.iter().flatten()).cloned().collect();
    assert_eq!(files.len(), FILES);
    // Both sides make the list, so what that takes is measured by itself, and taken off the side without one.
    let mut made = || drop(black_box(files.clone()));
    let [listed, unlisted, made] = in_turns(9, [&mut listed, &mut unlisted, &mut made]);
    let without = unlisted.saturating_sub(made);
    println!("a run of {FILES} files, and its record as JSON");
    println!("  every file listed   {:6.1} ms", listed.as_secs_f64() * 1e3);
    println!("  without the list    {:6.1} ms", without.as_secs_f64() * 1e3);
    println!("  ratio               {:6.3} (bar: at most 1.05)", listed.as_secs_f64() / without.as_secs_f64());
}

fn cold_start() {
    let folder = tempfile::tempdir().unwrap();
    // Of its own: what earlier runs left must not be measured, nor this leave anything to later ones.
    let cache = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.json"), "{\"a\": [1, 2, 3]}").unwrap();
    let spawn = |program: &str, arguments: &[&str]| {
        let status = Command::new(program)
            .args(arguments)
            .current_dir(folder.path())
            .env("GATE_CACHE_DIR", cache.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
    };
    let mut judging = || spawn(env!("CARGO_BIN_EXE_gate"), &["run", "--no-cache", "--files", "a.json"]);
    let mut remembering = || spawn(env!("CARGO_BIN_EXE_gate"), &["run", "--files", "a.json"]);
    let mut nothing = || spawn("/bin/true", &[]);
    // The first run remembers what it passed.
    remembering();
    let [judging, remembering, nothing] = in_turns(51, [&mut judging, &mut remembering, &mut nothing]);
    let more = |time: Duration| time.saturating_sub(nothing).as_secs_f64() * 1e3;
    println!("cold `gate run` of one file");
    println!("  gate run --no-cache {:6.2} ms", judging.as_secs_f64() * 1e3);
    println!("  /bin/true           {:6.2} ms", nothing.as_secs_f64() * 1e3);
    println!("  more                {:6.2} ms (bar: at most 10 ms)", more(judging));
    println!("  more, remembered    {:6.2} ms", more(remembering));
    println!("  ratio               {:6.1}", judging.as_secs_f64() / nothing.as_secs_f64());
}
