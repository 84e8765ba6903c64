//! Tests of the code itself: the direction of imports, which module uses the engine, the licences of dependencies.

use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The modules of the library in the order in which data passes through them. Each imports only those before it.
const PIPELINE: &[&str] = &[
    "text",
    "limits",
    "environment",
    "compression",
    "cores",
    "json_values",
    "own_folder",
    "process_limits",
    "random",
    "regular_file",
    "run_id",
    "search_path",
    "temporary",
    "cache_store",
    "verdict",
    "fingerprint",
    "submission",
    "outcome",
    "event",
    "record",
    "finding_budget",
    "tape_files",
    "retry",
    "config",
    "plan",
    "deadline",
    "gate",
    "feedback",
    "workspace",
    "writer",
    "input",
    "transcript",
    "taskplan",
    "changes",
    "error",
    "commands",
    "shutdown",
    "models",
    "runtime",
    "cached_passes",
    "settings",
    "resolver",
    "runner",
    "ledger",
    "overrides",
    "proof",
    "session",
    "bundle",
    "fix",
    "looping",
    "author",
    "report",
    "schema",
    "hook",
    "install",
    "import",
    "component",
];

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// Returns the files of the library, each with its module.
fn library() -> Vec<(String, PathBuf)> {
    let root = sources();
    let files = files_below(&root).into_iter().filter(|file| !file.starts_with(root.join("bin")));
    files
        .map(|file| {
            let inside = file.strip_prefix(&root).expect("inside");
            let first = inside.components().next().expect("a name").as_os_str().to_string_lossy().into_owned();
            (first.trim_end_matches(".rs").to_owned(), file)
        })
        .filter(|(module, _)| module != "lib")
        .collect()
}

#[test]
fn modules_know_only_what_is_before_them() {
    let position = |module: &str| PIPELINE.iter().position(|name| *name == module);
    let mention = Regex::new(r"\bcrate::(\w+)").expect("a pattern");
    for (module, file) in library() {
        let own = position(&module).unwrap_or_else(|| panic!("`{module}` has no place in the pipeline of this test"));
        let text = fs::read_to_string(&file).expect("text");
        for found in mention.captures_iter(&text) {
            // What is not a module is a re-export of the crate root, of which there are none, or a macro.
            let Some(other) = position(&found[1]) else { continue };
            assert!(other <= own, "{}: `{module}` must not know `{}`", file.display(), &found[1]);
        }
    }
}

#[test]
fn the_guide_lists_every_module_in_this_order() {
    let guide = fs::read_to_string(sources().join("../docs/architecture.md")).expect("the guide");
    let start = guide.find("| module |").expect("a table");
    let table = &guide[start..start + guide[start..].find("\n\n").expect("its end")];
    let rows = table.lines().skip(2).filter_map(|row| row.split('|').nth(1));
    let name = Regex::new(r"`(\w+)`").expect("a pattern");
    let listed: Vec<&str> =
        rows.flat_map(|cell| name.captures_iter(cell)).map(|found| found.get(1).expect("a name").as_str()).collect();
    assert_eq!(listed, PIPELINE);
}

#[test]
fn only_the_runtime_touches_the_engine() {
    for (module, file) in library() {
        let text = fs::read_to_string(&file).expect("text");
        let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        assert!(module == "runtime" || !code.contains("wasmtime"), "{} mentions wasmtime", file.display());
    }
    for file in files_below(&sources().join("bin")) {
        assert!(!fs::read_to_string(&file).expect("text").contains("wasmtime"), "{} mentions wasmtime", file.display());
    }
}

#[test]
fn verifiers_never_use_the_host() {
    for file in files_below(&sources().join("../../plugins")) {
        if file.file_name().is_some_and(|name| name == "Cargo.toml") {
            let text = fs::read_to_string(&file).expect("text");
            assert!(!text.contains("gatehost.workspace") && !text.contains("host\""), "{}", file.display());
        }
    }
}

#[test]
fn every_dependency_has_a_licence_that_permits() {
    const PERMITTED: &[&str] = &[
        "MIT",
        "MIT-0",
        "Apache-2.0",
        "Apache-2.0 WITH LLVM-exception",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "ISC",
        "MPL-2.0",
        "Zlib",
        "0BSD",
        "CC0-1.0",
        "Unlicense",
        "BSL-1.0",
        "Unicode-3.0",
        "Unicode-DFS-2016",
    ];
    // Said in a file of the package and not in its manifest.
    const READ_BY_US: &[(&str, &str)] = &[("postgresql-cst-parser", "MIT")];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // What is built for the platforms that gate runs on, and what the verifiers are built of.
    let metadata = |manifest: &str, platform: &str| -> serde_json::Value {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", platform, "--manifest-path"])
            .arg(root.join(manifest))
            .output()
            .expect("cargo runs");
        serde_json::from_slice(&output.stdout).expect("cargo's metadata")
    };
    let host = metadata("Cargo.toml", "x86_64-unknown-linux-gnu");
    let plugins = metadata("plugins/Cargo.toml", "wasm32-unknown-unknown");
    let packages =
        [&host, &plugins].into_iter().flat_map(|metadata| metadata["packages"].as_array().expect("packages"));
    let mut refused = BTreeMap::new();
    for package in packages {
        let read = READ_BY_US.iter().find(|(name, _)| package["name"] == *name).map(|(_, licence)| *licence);
        let licence = package["license"].as_str().or(read).unwrap_or("none");
        // `A OR B` needs one, `A AND B` both; `/` is an old spelling of OR.
        let permitted = licence
            .replace('/', " OR ")
            .replace(['(', ')'], "")
            .split(" AND ")
            .all(|part| part.split(" OR ").any(|licence| PERMITTED.contains(&licence.trim())));
        if !permitted {
            refused.insert(package["name"].to_string(), licence.to_owned());
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

/// The build script and the host both use wasmtime. Cargo compiles a crate twice if the two ask for different features of
/// it, or of one of its dependencies.
#[test]
fn no_crate_is_compiled_twice() {
    let arguments = "tree --locked --package gatehost --edges normal,build --prefix none --no-dedupe --format {p}|{f}";
    let output = Command::new(env!("CARGO"))
        .args(arguments.split(' '))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .output()
        .expect("cargo runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let mut features: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (package, of) in text.lines().filter_map(|line| line.split_once('|')) {
        features.entry(package).or_default().insert(of);
    }
    assert!(features.len() > 100, "{} packages: {}", features.len(), String::from_utf8_lossy(&output.stderr));
    features.retain(|_, sets| sets.len() > 1);
    assert!(features.is_empty(), "give `bundled/Cargo.toml` the same features of these: {features:#?}");
}

/// The lock files choose versions without ICU: `idna_adapter` 1.0 on the host, where no guest can look up names, and an
/// older `textwrap` in the verifiers. After `cargo update`, run `cargo update -p idna_adapter --precise 1.0.0`.
#[test]
fn no_crate_of_icu_is_compiled() {
    for lock in ["../Cargo.lock", "../plugins/Cargo.lock"] {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(lock)).expect("a lock file");
        assert!(text.contains("name = \"serde\""), "{lock} is a lock file");
        let icu: Vec<&str> = text.lines().filter(|line| line.starts_with("name = \"icu_")).collect();
        assert!(icu.is_empty(), "{lock} has {icu:?}");
    }
}

#[test]
fn the_library_reads_no_environment_variable_by_itself() {
    for (module, file) in library() {
        let text = fs::read_to_string(&file).expect("text");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let is_test = file.file_name().is_some_and(|name| name == "tests.rs");
        let reads = code.contains("env::var") && module != "environment" && !is_test;
        assert!(!reads, "{} reads the environment: take an `Environment`", file.display());
    }
}

/// Matches what opens a file for writing, or creates, renames, copies, links, removes or changes an entry.
const WRITES: &str = r"\bfs::(write|copy|rename)\b|File::create|create_new\(|\.(write|append|truncate)\((true|\w+: bool)|OpenOptions::|File::options|\bO_(WRONLY|RDWR|CREAT|TRUNC|APPEND)\b|\brename\(|renameat|hard_link\(|\blinkat\(|\.persist|NamedTempFile|OFlags::(WRONLY|RDWR|CREATE|TRUNC|APPEND)|set_len\(|ftruncate|fallocate|copy_file_range|sendfile|\bremove_(file|dir|dir_all)\b|\bunlink(at)?\(|set_permissions\(|\bf?chmod(at)?\(|\bf?chown(at)?\(|setxattr|removexattr|\bsymlink(at)?\(|\bcreate_dir(_all)?\b|\bmkdir(at)?\(|DirBuilder::|\bfs::\{.*\b(write|copy|rename)\b|\btempfile_in\(";

/// Files of people are written by one module, as a whole or not at all. Every other file says on how many lines it does such a
/// thing, and whose file that is.
#[test]
fn files_of_people_are_written_in_one_place() {
    const OTHERS: &[(&str, usize, &str)] = &[
        ("bin/gate/build.rs", 1, "the folder of a build"),
        ("bin/gate/doctor.rs", 1, "a temporary project"),
        ("bin/gate/doctor/git.rs", 4, "a temporary project"),
        ("bin/gate/doctor/hosts.rs", 2, "a temporary project"),
        ("bin/gate/init/trial.rs", 1, "a temporary file"),
        ("bin/gate/report.rs", 1, "the job summary of GitHub, a log"),
        ("bin/gate/run.rs", 1, "the stream of events, which replaces only such a stream"),
        ("bundle/replay.rs", 2, "a temporary folder"),
        ("cache_store.rs", 8, "the cache"),
        ("changes/git/snapshot.rs", 4, "a temporary folder"),
        ("commands/granted_paths.rs", 1, "a folder that a command may write"),
        ("commands/scratch.rs", 5, "the temporary home of a command"),
        ("commands/sys.rs", 5, "the root of a sandbox"),
        ("commands/work_copy.rs", 11, "a temporary copy"),
        ("fix.rs", 1, "the folder that is tried in a temporary copy"),
        ("hook/sessions.rs", 4, "the state folder"),
        ("install.rs", 1, "an empty folder"),
        ("install/git.rs", 4, "an earlier hook gets its name back"),
        ("ledger/sqlite/folder.rs", 2, "the state folder"),
        ("looping/executor.rs", 1, "a temporary file"),
        ("overrides.rs", 2, "a temporary file"),
        ("own_folder.rs", 1, "the state folder"),
        ("runner/red_green.rs", 1, "a temporary copy"),
        ("session/stored_inputs.rs", 1, "the state folder"),
        ("session/trusted.rs", 2, "a temporary folder"),
        ("tape_files.rs", 2, "a new recording, a log"),
        ("temporary.rs", 10, "a temporary folder that is deleted"),
        ("writer.rs", 11, "the place"),
        ("writer/attributes.rs", 4, "the place"),
        ("writer/beneath.rs", 5, "the place"),
        ("writer/entries.rs", 6, "the place"),
        ("writer/staged.rs", 4, "the place"),
        ("writer/taken.rs", 7, "the place"),
    ];
    let writes = Regex::new(WRITES).expect("a pattern");
    let mut found = BTreeMap::new();
    for file in files_below(&sources()).iter().filter(|file| !file.ends_with("tests.rs")) {
        let text = fs::read_to_string(file).unwrap_or_default();
        let code = text.split("\nmod tests {").next().unwrap_or_default();
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let lines = code.lines().filter(is_code).filter(|line| writes.is_match(line)).count();
        if lines > 0 {
            found.insert(file.strip_prefix(sources()).expect("inside").to_string_lossy().into_owned(), lines);
        }
    }
    let listed: BTreeMap<String, usize> = OTHERS.iter().map(|(file, lines, _)| ((*file).to_owned(), *lines)).collect();
    assert_eq!(found, listed, "write a person's file with `writer`");
}

#[test]
fn every_way_to_write_a_file_is_known() {
    let writes = Regex::new(WRITES).expect("a pattern");
    for line in [
        "fs::write(path, text)",
        "std::fs::write(path, text)",
        "tokio::fs::write(path, text)",
        "File::create(path)",
        "File::create_new(path)",
        "File::options().read(true)",
        "OpenOptions::new()",
        "options.write(true)",
        "options.append(true)",
        "options.truncate(true)",
        "fs::rename(a, b)",
        "rustix::fs::rename(a, b)",
        "rustix::fs::renameat(a, b, c, d)",
        "renameat_with(a, b, c, d, flags)",
        "fs::copy(a, b)",
        "fs::hard_link(a, b)",
        "rustix::fs::linkat(a, b, c, d, flags)",
        "tempfile::NamedTempFile::new_in(folder)",
        "file.persist(path)",
        "openat(folder, name, OFlags::WRONLY | OFlags::CLOEXEC, mode)",
        "let flags = OFlags::RDWR;",
        "let flags = OFlags::CREATE;",
        "file.set_len(0)",
        "rustix::fs::ftruncate(file, 0)",
        "use std::fs::{self, write};",
        "use std::{fs::write, io};",
        "use std::fs::write as put;",
        "files.try_for_each(|(path, text)| put(fs::write, path, text))",
        "libc::open(path, libc::O_WRONLY)",
        "tempfile::Builder::new().tempfile_in(folder)",
        "fs::remove_file(path)",
        "fs::remove_dir_all(path)",
        "unlinkat(folder, name, AtFlags::empty())",
        "file.set_permissions(mode)",
        "rustix::fs::fchmod(file, mode)",
        "std::os::unix::fs::chown(path, None, None)",
        "rustix::fs::fsetxattr(file, name, value, flags)",
        "symlink(target, path)",
        "fs::create_dir_all(path)",
        "rustix::fs::mkdirat(folder, name, mode)",
    ] {
        assert!(writes.is_match(line), "{line}");
    }
    for line in [
        "fs::read(path)",
        "read_link(path)",
        "is_symlink()",
        "File::open(path)",
        "out.write(bytes)",
        "path.symlink_metadata()",
        "lines.truncate(9)",
    ] {
        assert!(!writes.is_match(line), "{line}");
    }
}
