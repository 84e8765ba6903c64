//! Finds the test commands of a repository, by its lock files and manifests.

use gatehost::workspace::Workspace;

/// A command that runs tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tests {
    /// The name of its check.
    pub(super) name: String,
    /// The program and its arguments.
    pub(super) run: Vec<String>,
    /// What the command may write in the workspace.
    pub(super) write: Vec<String>,
    /// Why it may write everywhere in the workspace, if so.
    pub(super) read_write: Option<&'static str>,
    /// Whether it needs the network.
    pub(super) network: bool,
    /// Whether `test-report` understands its output.
    pub(super) report: bool,
    /// Why this command was chosen.
    pub(super) reason: String,
    /// The command that installs its dependencies.
    pub(super) install: &'static str,
}

impl Tests {
    fn new(run: &[&str], reason: impl Into<String>, install: &'static str) -> Self {
        Self {
            name: "tests".to_owned(),
            run: run.iter().map(|word| (*word).to_owned()).collect(),
            write: Vec::new(),
            read_write: None,
            network: false,
            report: false,
            reason: reason.into(),
            install,
        }
    }

    fn report(self) -> Self {
        Self { report: true, ..self }
    }

    fn writes(self, paths: &[&str]) -> Self {
        Self { write: paths.iter().map(|path| (*path).to_owned()).collect(), ..self }
    }
}

/// The files of a repository, and what is in them.
struct Files<'a> {
    work: &'a Workspace,
    paths: &'a [&'a str],
}

impl Files<'_> {
    fn has(&self, name: &str) -> bool {
        self.paths.contains(&name)
    }

    /// Returns the first of these that is there.
    fn first<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().find(|name| self.has(name)).copied()
    }

    fn text(&self, name: &str) -> Option<String> {
        let bytes = self.work.read(name, 1 << 20).ok().filter(|_| self.has(name))?;
        String::from_utf8(bytes).ok()
    }

    fn json(&self, name: &str) -> Option<serde_json::Value> {
        serde_json::from_str(&self.text(name)?).ok()
    }

    fn mentions(&self, name: &str, word: &str) -> bool {
        self.text(name).is_some_and(|text| text.contains(word))
    }
}

/// Returns all test commands of the repository. `just` and `make` are used only if nothing else is found.
pub(super) fn detect(work: &Workspace, paths: &[&str]) -> Vec<Tests> {
    let files = Files { work, paths };
    let special = [cargo(&files), node(&files), go(&files), python(&files), ruby(&files)];
    let mut found: Vec<Tests> = special.into_iter().flatten().collect();
    if found.is_empty() {
        found.extend(just(&files).or_else(|| make(&files)));
    }
    if found.len() > 1 {
        for tests in &mut found {
            tests.name = format!("tests-{}", tests.run[0]);
        }
    }
    found
}

fn cargo(files: &Files<'_>) -> Option<Tests> {
    files.has("Cargo.toml").then(|| {
        let tests = |reason| Tests::new(&["cargo", "test", "--quiet"], reason, "cargo fetch").report();
        match files.has("Cargo.lock") {
            true => tests("there is a `Cargo.lock`").writes(&["target"]),
            false => Tests { read_write: Some("cargo writes Cargo.lock"), ..tests("there is a `Cargo.toml`") },
        }
    })
}

fn node(files: &Files<'_>) -> Option<Tests> {
    let package = files.json("package.json")?;
    // The default of `npm init`, which says that there are no tests.
    package["scripts"]["test"].as_str().filter(|script| !script.contains("no test specified"))?;
    let named = package["packageManager"].as_str().and_then(|text| text.split('@').next().map(str::to_owned));
    let locks = [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
        ("package-lock.json", "npm"),
        ("npm-shrinkwrap.json", "npm"),
    ];
    let (manager, reason) = match (locks.iter().find(|(lock, _)| files.has(lock)), named.as_deref()) {
        (Some((lock, manager)), _) => {
            (*manager, format!("there is a `{lock}`, and `package.json` has a script `test`"))
        }
        (None, Some(named @ ("pnpm" | "yarn" | "bun"))) => {
            let manager = ["pnpm", "yarn", "bun"].into_iter().find(|known| *known == named).unwrap_or("npm");
            (manager, format!("`package.json` names `{named}` and has a script `test`"))
        }
        (None, _) => ("npm", "`package.json` has a script `test`".to_owned()),
    };
    let (run, install): (&[&str], _) = match manager {
        "pnpm" => (&["pnpm", "test"], "pnpm install"),
        "yarn" => (&["yarn", "test"], "yarn install"),
        "bun" => (&["bun", "run", "test"], "bun install"),
        _ => (&["npm", "test"], "npm install"),
    };
    Some(Tests::new(run, reason, install))
}

fn go(files: &Files<'_>) -> Option<Tests> {
    let run = ["go", "test", "-json", "./..."];
    files.has("go.mod").then(|| Tests::new(&run, "there is a `go.mod`", "go mod download").report())
}

fn python(files: &Files<'_>) -> Option<Tests> {
    let is_test = |path: &&&str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))
    };
    let settings = ["pyproject.toml", "setup.cfg", "tox.ini", "requirements-dev.txt", "requirements/tests.txt"];
    let about = files.first(&["pytest.ini", "conftest.py", "tests/conftest.py"]);
    let about = about.or_else(|| settings.into_iter().find(|name| files.mentions(name, "pytest")));
    let reason = match (about, files.paths.iter().find(is_test)) {
        (Some(about), _) => format!("`{about}` is about pytest"),
        (None, Some(path)) => format!("`{path}` looks like a test"),
        (None, None) => return None,
    };
    // A cache would be written into the workspace for nothing.
    let pytest = ["pytest", "-q", "-p", "no:cacheprovider"];
    let with = |runner: &[&str], lock: &str, install| {
        let run: Vec<&str> = runner.iter().chain(&pytest).copied().collect();
        Tests::new(&run, format!("there is a `{lock}`, and {reason}"), install).report()
    };
    Some(if files.has("uv.lock") {
        with(&["uv", "run", "--no-sync"], "uv.lock", "uv sync")
    } else if files.has("poetry.lock") {
        with(&["poetry", "run"], "poetry.lock", "poetry install")
    } else if files.has("pdm.lock") {
        with(&["pdm", "run"], "pdm.lock", "pdm install")
    } else if files.has("Pipfile.lock") {
        with(&["pipenv", "run"], "Pipfile.lock", "pipenv install --dev")
    } else {
        Tests::new(&pytest, reason, "pip install").report()
    })
}

fn ruby(files: &Files<'_>) -> Option<Tests> {
    let lock = files.first(&["Gemfile.lock", "gems.locked"]);
    let manifest = files.first(&["Gemfile", "gems.rb"])?;
    let has_specs = files.has(".rspec") || files.has("spec/spec_helper.rb");
    let task = files.mentions("Rakefile", "test");
    let run: &[&str] = match (has_specs, task) {
        (true, _) => &["bundle", "exec", "rspec"],
        (false, true) => &["bundle", "exec", "rake", "test"],
        (false, false) => return None,
    };
    let tests = Tests::new(run, format!("there is a `{}`", lock.unwrap_or(manifest)), "bundle install");
    // Without a lock file, bundler writes one.
    Some(Tests { read_write: lock.is_none().then_some("bundler writes Gemfile.lock"), ..tests })
}

fn just(files: &Files<'_>) -> Option<Tests> {
    let file = files.first(&["justfile", "Justfile", ".justfile"])?;
    has_target(&files.text(file)?)
        .then(|| Tests::new(&["just", "test"], format!("`{file}` has a recipe `test`"), "just"))
}

fn make(files: &Files<'_>) -> Option<Tests> {
    let file = files.first(&["GNUmakefile", "makefile", "Makefile"])?;
    has_target(&files.text(file)?)
        .then(|| Tests::new(&["make", "test"], format!("`{file}` has a target `test`"), "make"))
}

/// Returns whether a line begins the target or recipe `test`, with or without parameters.
fn has_target(text: &str) -> bool {
    let is_target = |line: &str| {
        let rest = line.strip_prefix("test").or_else(|| line.strip_prefix("@test"));
        rest.is_some_and(|rest| rest.starts_with([':', ' ']) && rest.contains(':') && !rest.contains(":="))
    };
    text.lines().any(is_target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let work = Workspace::open(folder.path()).expect("a workspace");
        let paths: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
        detect(&work, &paths).iter().map(|tests| format!("{}: {}", tests.name, tests.run.join(" "))).collect()
    }

    #[test]
    fn the_lock_file_names_the_package_manager() {
        let package = ("package.json", r#"{"scripts": {"test": "vitest"}}"#);
        let pytest = ("pyproject.toml", "[tool.pytest.ini_options]");
        let gems = [("Gemfile", ""), (".rspec", "")];
        for (files, expected) in [
            (&[package, ("package-lock.json", "{}")][..], "tests: npm test"),
            (&[package, ("pnpm-lock.yaml", "")], "tests: pnpm test"),
            (&[package, ("yarn.lock", "")], "tests: yarn test"),
            (&[package, ("bun.lock", "")], "tests: bun run test"),
            (&[package], "tests: npm test"),
            (&[("package.json", r#"{"packageManager": "pnpm@9.1.0", "scripts": {"test": "x"}}"#)], "tests: pnpm test"),
            (&[pytest, ("uv.lock", "")], "tests: uv run --no-sync pytest -q -p no:cacheprovider"),
            (&[pytest, ("poetry.lock", "")], "tests: poetry run pytest -q -p no:cacheprovider"),
            (&[pytest], "tests: pytest -q -p no:cacheprovider"),
            (&[("pkg/test_a.py", "")], "tests: pytest -q -p no:cacheprovider"),
            (&[("Cargo.toml", ""), ("Cargo.lock", "")], "tests: cargo test --quiet"),
            (&[("go.mod", "")], "tests: go test -json ./..."),
            (&[gems[0], gems[1], ("Gemfile.lock", "")], "tests: bundle exec rspec"),
            (&[("justfile", "test *args:\n  x\n")], "tests: just test"),
            (&[("Makefile", "test: all\n\tx\n")], "tests: make test"),
        ] {
            assert_eq!(found(files), [expected], "{files:?}");
        }
    }

    #[test]
    fn what_is_no_test_is_not_taken_for_one() {
        for files in [
            &[("package.json", r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#)][..],
            &[("package.json", "{")],
            &[("Makefile", "test := x\ntests:\n\tx\n")],
            &[("Gemfile", "")],
            &[("a.py", "")],
        ] {
            assert_eq!(found(files), [""; 0], "{files:?}");
        }
    }

    #[test]
    fn several_languages_have_a_check_each() {
        let files = [("Cargo.toml", ""), ("Cargo.lock", ""), ("go.mod", ""), ("Makefile", "test:\n")];
        assert_eq!(found(&files), ["tests-cargo: cargo test --quiet", "tests-go: go test -json ./..."]);
    }
}
