//! Which command runs the tests of a repository.

use gatehost::workspace::Workspace;

/// A command and the check that it passes.
pub(super) struct Tests {
    /// As gate.toml has it.
    pub(super) command: String,
    /// Why it is this one.
    pub(super) reason: String,
}

/// A way to run tests.
struct Way {
    run: &'static [&'static str],
    /// What it may do beyond reading the work, as gate.toml has it.
    rights: &'static str,
    /// Whether what it prints is a report that is understood.
    report: bool,
}

const CARGO: Way = Way { run: &["cargo", "test", "--quiet"], rights: "write = [\"target\"]\n", report: true };
/// Where there is no Cargo.lock yet, or where it is not kept.
const CARGO_UNLOCKED: Way = Way { rights: "workspace = \"read-write\" # cargo writes Cargo.lock\n", ..CARGO };
const NPM: Way = Way { run: &["npm", "test"], rights: "", report: false };
const PYTEST: Way = Way { run: &["pytest", "-q"], rights: "", report: true };
const GO: Way = Way { run: &["go", "test", "-json", "./..."], rights: "", report: true };
const MAKE: Way = Way { run: &["make", "test"], rights: "", report: false };

/// The files of a repository say how it is tested, the surest first.
pub(super) fn detect(work: &Workspace, paths: &[&str]) -> Option<Tests> {
    let has = |name: &str| paths.contains(&name);
    let text = |name: &str| {
        let bytes = work.read(name, 1 << 20).ok().filter(|_| has(name))?;
        String::from_utf8(bytes).ok()
    };
    let script = |text: String| {
        let package: serde_json::Value = serde_json::from_str(&text).ok()?;
        // What `npm init` writes says only that there are no tests.
        package["scripts"]["test"].as_str().filter(|script| !script.contains("no test specified")).map(str::to_owned)
    };
    let is_python_test =
        |path: &&str| path.rsplit('/').next().is_some_and(|name| name.starts_with("test_") && name.ends_with(".py"));
    if has("Cargo.toml") {
        let way = if has("Cargo.lock") { &CARGO } else { &CARGO_UNLOCKED };
        return Some(tests(way, "there is a `Cargo.toml`"));
    }
    if text("package.json").and_then(script).is_some() {
        return Some(tests(&NPM, "`package.json` has a script `test`"));
    }
    if has("go.mod") {
        return Some(tests(&GO, "there is a `go.mod`"));
    }
    let set_up = ["pyproject.toml", "setup.cfg", "tox.ini"]
        .into_iter()
        .find(|name| text(name).is_some_and(|text| text.contains("pytest")));
    if let Some(reason) = ["pytest.ini", "conftest.py"].into_iter().find(|name| has(name)).or(set_up) {
        return Some(tests(&PYTEST, &format!("`{reason}` is about pytest")));
    }
    if let Some(path) = paths.iter().find(|path| is_python_test(path)) {
        return Some(tests(&PYTEST, &format!("`{path}` looks like a test")));
    }
    let target = |text: String| text.lines().any(|line| line.starts_with("test:"));
    text("Makefile").is_some_and(target).then(|| tests(&MAKE, "`Makefile` has a target `test`"))
}

fn tests(way: &Way, reason: &str) -> Tests {
    let verifier = if way.report { "test-report" } else { "command" };
    let command = format!(
        "\n# The tests pass. They run in a sandbox; the guide on commands explains what they see.\n\
         [check.tests]\nverifier = \"{verifier}\"\ngrants = [\"command:tests\"]\n\n[command.tests]\nrun = {:?}\n{}",
        way.run, way.rights
    );
    Tests { command, reason: format!("`{}`, since {reason}", way.run.join(" ")) }
}
