//! Behaviour as folders: each folder `fixtures/cases/GROUP/NAME` is one test with that name. It runs `gate` once and
//! compares what it prints. `fixtures/README.md` explains the files of a case.
//!
//! - `cargo test vote` runs the cases of votes, and every other test with `vote` in its name
//! - `cargo test --test cases git/all-files` runs the cases whose name contains that
//! - `BLESS=1 cargo test --test cases` accepts what `gate` prints now

mod docs;
#[allow(dead_code, reason = "the other test target uses all of it")]
mod guests;
mod records;
#[allow(dead_code, reason = "the other test target uses all of it")]
mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use regex::Regex;
use similar::TextDiff;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::LazyLock;
use support::{Case, Compiled};

fn main() -> ExitCode {
    let cases = support::cases().into_iter().map(|case| Trial::test(case.name.clone(), move || check(&case)));
    libtest_mimic::run(&Arguments::from_args(), cases.chain(docs::trials()).chain(records::trials()).collect())
        .exit_code()
}

/// The result of a case: the output and the exit code.
struct Played {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    exit: Option<i32>,
    /// The folder that it ran in.
    root: PathBuf,
}

/// Runs a case in its own folder.
fn play(folder: &Path) -> Result<Played, Failed> {
    let home = support::tempdir()?;
    let root = home.path().canonicalize()?.join("work");
    fs::create_dir(&root)?;
    let components = prepare(folder, &root, home.path())?;
    let cache = home.path().join("cache");
    // A case that shows how something is compiled starts without compiled code.
    let shared = !components.is_empty() && !folder.join("cold").exists() && !cache.exists();
    let compiled = shared.then(|| Compiled::of(&components));
    if let Some(compiled) = &compiled {
        compiled.lend(&cache)?;
    }
    let args = fs::read_to_string(folder.join("args"))?;
    let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
    let mut gate = support::isolate(gate.args(args.lines()), &root, home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = gate.stdin.take().ok_or("no stdin")?;
    // `gate` may end before it has read everything.
    let _ = stdin.write_all(&fs::read(folder.join("stdin")).unwrap_or_default());
    drop(stdin);
    let output = gate.wait_with_output()?;
    if let Some(compiled) = &compiled {
        compiled.take_back(&cache)?;
    }
    Ok(Played { stdout: output.stdout, stderr: output.stderr, exit: output.status.code(), root })
}

fn check(case: &Case) -> Result<(), Failed> {
    let folder = &case.folder;
    let Played { stdout, stderr, exit, root } = play(folder)?;
    let exit = exit.map_or("signal".to_owned(), |code| code.to_string());
    let found = [
        ("stdout", normalize(&stdout, &root)?),
        ("stderr", normalize(&stderr, &root)?),
        ("exit", if exit == "0" { String::new() } else { exit + "\n" }),
    ];
    let mut differences = String::new();
    for (file, found) in found {
        let path = folder.join(file);
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if expected == found {
            continue;
        }
        if std::env::var_os("BLESS").is_some() {
            if found.is_empty() { fs::remove_file(path)? } else { fs::write(path, found)? }
        } else {
            let diff = TextDiff::from_lines(&expected, &found);
            differences += &diff.unified_diff().header(&format!("{file}, expected"), "found").to_string();
        }
    }
    if differences.is_empty() { Ok(()) } else { Err(format!("{}\n{differences}", folder.display()).into()) }
}

/// Creates the folder that `gate` runs in, and returns the names of the components in it.
fn prepare(case: &Path, root: &Path, home: &Path) -> Result<Vec<String>, Failed> {
    let mut components = Vec::new();
    if case.join("workspace").exists() {
        support::copy(&case.join("workspace"), root);
    }
    if fs::read_to_string(root.join("gate.toml")).is_ok_and(|text| text.contains("scripted.wasm")) {
        fs::write(root.join("scripted.wasm"), &*SCRIPTED)?;
        components.push("scripted".to_owned());
    }
    for line in fs::read_to_string(case.join("guests")).unwrap_or_default().lines() {
        let (kind, guest) = line.split_once(' ').unwrap_or(("component", line));
        let file = root.join(Path::new(guest).file_name().ok_or("a guest has a name")?);
        let (bytes, ending) = match kind {
            "component" => (guests::component(guest), "wasm"),
            "module" => (guests::module(guest), "wasm"),
            "text" => (guests::text(guest).into_bytes(), "wat"),
            other => return Err(format!("`guests` says `{other}`; expected component, module or text").into()),
        };
        fs::write(file.with_extension(ending), bytes)?;
        components.push(line.replace(' ', "-"));
    }
    if case.join("before").exists() {
        let mut before = Command::new("bash");
        let output = support::isolate(before.arg("-eu").arg(case.join("before")), root, home).output()?;
        if !output.status.success() {
            return Err(format!("`before` failed: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
    }
    Ok(components)
}

static SCRIPTED: LazyLock<Vec<u8>> = LazyLock::new(|| guests::assemble("scripted", support::SCRIPTED));

/// What differs between runs, and its replacement.
static VARYING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        (r#""(duration_ms|started_ms|at_ms)": [0-9.]+"#, r#""$1": 0"#),
        (r#""(duration_ms|started_ms|at_ms)":[0-9.]+"#, r#""$1":0"#),
        (r#""run": ?"[0-9a-z]{26}""#, r#""run": "[RUN]""#),
        (r#""build": "[0-9a-f]{64}""#, r#""build": "[DIGEST]""#),
        (r"\b[0-9]+(\.[0-9]+)? (ms|s)\b", "[TIME]"),
        (r"sha256:[0-9a-f]{12,64}", "sha256:[DIGEST]"),
        (r"\b[0-9]+ bytes\n", "[SIZE] bytes\n"),
        (r#""size": [0-9]+"#, r#""size": 0"#),
        (r#""started": "[^"]+""#, r#""started": "[MOMENT]""#),
        (r#""sandbox": "[a-z]+""#, r#""sandbox": "[LEVEL]""#),
        (r"\((namespaces|landlock|none)\)\n", "([LEVEL])\n"),
        (r"the search path \([^)]+\)", "the search path ([PATH])"),
    ];
    patterns.map(|(pattern, instead)| (Regex::new(pattern).expect("a pattern"), instead)).into()
});

fn normalize(output: &[u8], root: &Path) -> Result<String, Failed> {
    let text = String::from_utf8(output.to_vec()).map_err(|_| "gate printed something that is not UTF-8")?;
    let text = text.replace(&*root.to_string_lossy(), "[ROOT]");
    Ok(VARYING.iter().fold(text, |text, (pattern, instead)| pattern.replace_all(&text, *instead).into_owned()))
}
