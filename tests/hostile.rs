//! tmp
use crate::guests;
use gatehost::limits::Limits;
use gatehost::runtime::*;
use gatehost::submission::Submission;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
#[allow(clippy::print_stderr)]
fn dump() {
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    let runtime = Arc::new(Runtime::new(None).unwrap());
    let mut names = guests::names();
    names.sort();
    for name in names {
        if let Ok(only) = std::env::var("ONLY") {
            if !name.contains(&only) {
                continue;
            }
        }
        let bytes = guests::component(&name);
        let runtime = runtime.clone();
        let start = Instant::now();
        let answer = tokio.block_on(async {
            tokio::time::timeout(
                Duration::from_secs(10),
                tokio::spawn(async move {
                    let source = Source::from_bytes(bytes);
                    let verifier = runtime
                        .load(&source, &Grants::default())
                        .map_err(|f| format!("load {} {f} {:?}", f.kind, f.hint))?;
                    let load = start.elapsed();
                    let limits = Limits { time: Duration::from_millis(200), ..Limits::default() };
                    let terms = Terms { settings: "{}", limits: &limits, workspace: None };
                    let t = Instant::now();
                    let answer = match verifier.shape() {
                        gatehost::plan::Shape::File => {
                            runtime.check_file(&verifier, &terms, "main.rs", b"fn main() {}".to_vec()).await
                        }
                        gatehost::plan::Shape::Submission => {
                            runtime.check_submission(&verifier, &terms, &Submission::default()).await
                        }
                    };
                    let v = answer.verdict;
                    Ok::<_, String>(format!(
                        "{} {:?} summary {:?} findings {} +{} log {} dropped {} [load {load:?} call {:?}]",
                        v.status,
                        v.error,
                        v.summary,
                        v.findings.len(),
                        v.findings_omitted,
                        answer.log.len(),
                        answer.log_dropped,
                        t.elapsed()
                    ))
                }),
            )
            .await
        });
        let s = match answer {
            Ok(Ok(Ok(s))) => s,
            Ok(Ok(Err(s))) => s,
            other => format!("{other:?}"),
        };
        eprintln!("{name}: {s}\n");
    }
}

#[test]
#[allow(clippy::print_stderr, clippy::unwrap_used)]
fn bombs() {
    let runtime = Runtime::new(None).unwrap();
    let which = std::env::var("BOMB").unwrap();
    let n: usize = std::env::var("N").unwrap().parse().unwrap();
    let m: usize = std::env::var("M").unwrap_or("0".into()).parse().unwrap();
    let text = match &*which {
        "instances" => {
            let mut t = String::from("(component $c0)");
            for i in 1..=n {
                t += &format!(
                    "(component $c{i} (alias outer $root $c{} (component $x)) (instance (instantiate $x)) (instance (instantiate $x)))",
                    i - 1
                );
            }
            format!("(component $root {t} (instance (instantiate $c{n})))")
        }
        "loops" => {
            let mut t = String::from("(component (core module (func (local ");
            t += &"i32 ".repeat(m);
            t += ")";
            t += &"loop ".repeat(n);
            for i in 0..m {
                t += &format!("local.get {i} i32.const 1 i32.add local.set {i} ");
            }
            t += &"i32.const 0 br_if 0 end ".repeat(n);
            t + ")))"
        }
        "brtable" => {
            let mut t = String::from("(component (core module (func (param i32) ");
            t += &"block ".repeat(n);
            for _ in 0..m {
                t += "block ";
                t += "local.get 0 br_table ";
                for j in 0..n {
                    t += &format!("{j} ");
                }
                t += "end ";
            }
            t += &"end ".repeat(n);
            t + ")))"
        }
        "blocks" => {
            let mut t = String::from("(component (core module (func (param i32) (result i32) (local ");
            t += &"i32 ".repeat(m);
            t += ")"; t += &"block ".repeat(n);
            for i in 0..m { t += &format!("local.get 0 i32.const {i} i32.add local.set {} local.get 0 br_if {} ", i+1, i % n); }
            t += &"end ".repeat(n);
            t += "i32.const 0 ";
            for i in 0..m { t += &format!("local.get {} i32.add ", i+1); }
            t + ")))"
        }
        "ifs" => {
            let mut t = String::from("(component (core module (func (param i32) (result i32) (local ");
            t += &"i32 ".repeat(m);
            t += ")";
            for _ in 0..n { t += "local.get 0 if "; for i in 0..m { t += &format!("local.get {} i32.const 1 i32.add local.set {} ", i+1, i+1); } t += "end "; }
            t += "i32.const 0 ";
            for i in 0..m { t += &format!("local.get {} i32.add ", i+1); }
            t + ")))"
        }
        "inloop" => { // one loop per local set, sequential loops with all the locals live
            let mut t = String::from("(component (core module (func (param i32) (result i32) (local ");
            t += &"i32 ".repeat(m);
            t += ")";
            for _ in 0..n { t += "loop "; for i in 0..m { t += &format!("local.get {} i32.const 1 i32.add local.set {} ", i+1, i+1); } t += "local.get 0 br_if 0 end "; }
            t += "i32.const 0 ";
            for i in 0..m { t += &format!("local.get {} i32.add ", i+1); }
            t + ")))"
        }
        "stack" => {
            // deep operand stack with many br_if carrying values
            let mut t = String::from("(component (core module (func (param i32) (result i32) ");
            t += &"block (result i32) ".repeat(n);
            t += "i32.const 1 ";
            t += &"local.get 0 br_if 0 i32.const 3 i32.add end ".repeat(n);
            t + ")))"
        }
        "tuple" => {
            // fused adapters: record with many fields nested
            String::new()
        }
        "params" => {
            // blocks with many results
            let k = 1000.min(m);
            let mut t = format!(
                "(component (core module (type $b (func (param {p}) (result {p}))) (func ",
                p = "i32 ".repeat(k)
            );
            t += &"i32.const 0 ".repeat(k);
            t += &"loop (type $b) ".repeat(n);
            t += &"i32.const 0 br_if 0 end ".repeat(n);
            t += &"drop ".repeat(k);
            t + ")))"
        }
        _ => panic!(),
    };
    let bytes = wat::parse_str(&text).unwrap();
    let start = Instant::now();
    let r = runtime.compile(&Source::from_bytes(bytes.clone()));
    let rss = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = rss.lines().find(|l| l.starts_with("VmHWM")).unwrap().to_owned();
    eprintln!(
        "{which} {n} {m}: {} bytes: {:?} in {:?} {peak}",
        bytes.len(),
        r.map_err(|f| f.to_string().chars().take(200).collect::<String>()),
        start.elapsed()
    );
}
