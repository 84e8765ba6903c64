//! Converts the hooks of pre-commit and lefthook to checks of a gate.toml.
//!
//! Hooks that a bundled verifier can replace become that verifier. Commands that check the whole workspace become sandboxed
//! commands. Hooks that cannot be converted, such as those that change files or need a list of files, are reported with the
//! reason, never silently dropped.

mod lefthook;
mod patterns;
mod pre_commit;
mod tools;

use crate::config;
use crate::error::Error;
use crate::text::toml_string;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The result of converting a hook file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// A gate.toml.
    pub text: String,
    /// The converted hooks, and what they became.
    pub taken: Vec<String>,
    /// The hooks that were not converted, and why.
    pub left: Vec<String>,
}

/// Reads a hook file, recognised by its name.
pub fn import(path: &Path, text: &str) -> Result<Imported, Error> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let mut draft = ImportDraft::default();
    match name.trim_start_matches('.') {
        "pre-commit-config.yaml" | "pre-commit-config.yml" => pre_commit::read(text, &mut draft)?,
        "lefthook.yml" | "lefthook.yaml" | "lefthook-local.yml" => lefthook::read(text, &mut draft)?,
        _ => {
            let message = format!("expected `.pre-commit-config.yaml` or `lefthook.yml`, found `{}`", path.display());
            return Err(Error::usage(message));
        }
    }
    draft.finish(name)
}

/// What a check runs.
#[derive(Clone, Debug, PartialEq)]
enum CheckAction {
    /// A bundled verifier, with these settings.
    Verifier(&'static str, BTreeMap<&'static str, Value>),
    /// A command.
    Command(Vec<String>),
}

/// The files of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Scope {
    files: Vec<String>,
    exclude: Vec<String>,
}

/// A check to write.
#[derive(Clone, Debug, PartialEq)]
struct ImportedCheck {
    what: CheckAction,
    scope: Scope,
}

/// The gate.toml being written.
#[derive(Debug, Default)]
struct ImportDraft {
    /// The checks of each stage, by name.
    stages: BTreeMap<&'static str, Vec<String>>,
    checks: BTreeMap<String, ImportedCheck>,
    taken: Vec<String>,
    left: Vec<String>,
}

impl ImportDraft {
    /// Converts a hook to a check of a stage.
    fn take(&mut self, stage: &'static str, hook: &str, what: CheckAction, scope: Scope) {
        let shown_what = match &what {
            CheckAction::Verifier(verifier, _) => format!("the bundled verifier `{verifier}`"),
            CheckAction::Command(command) => format!("the command `{}`", shown(&command.join(" "))),
        };
        self.taken.push(format!("{}: {shown_what}", shown(hook)));
        let wanted = match &what {
            CheckAction::Verifier(verifier, _) => (*verifier).to_owned(),
            CheckAction::Command(_) => plain_name(hook),
        };
        let known = self
            .checks
            .iter_mut()
            .find_map(|(name, known)| (known.scope == scope && known.what.takes_in(&what)).then(|| name.clone()));
        let name = known.unwrap_or_else(|| {
            let taken = |name: &String| self.checks.contains_key(name) || STAGES.iter().any(|(stage, _)| stage == name);
            let numbered = (2..).map(|number| format!("{wanted}-{number}"));
            let name = std::iter::once(wanted.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or(wanted);
            self.checks.insert(name.clone(), ImportedCheck { what, scope });
            name
        });
        let members = self.stages.entry(stage).or_default();
        if !members.contains(&name) {
            members.push(name);
        }
    }

    /// Reports a hook that was not converted.
    fn leave(&mut self, hook: &str, why: &str) {
        self.left.push(format!("{}: {why}", shown(hook)));
    }

    fn finish(self, source: &str) -> Result<Imported, Error> {
        if self.checks.is_empty() {
            let hooks = self.left.join("; ");
            let message = format!("no hook of `{source}` can be converted ({hooks})");
            return Err(Error::input(message).hint("`gate init` writes a gate.toml without it".to_owned()));
        }
        let mut text = format!("# Converted from {source} by `gate init --from`. `gate plan` shows what this means.\n");
        for left in &self.left {
            let _ = writeln!(text, "# not converted: {left}");
        }
        for (stage, members) in &self.stages {
            let members: Vec<String> = members.iter().map(|name| toml_string(name)).collect();
            let _ = write!(text, "\n[gate.{stage}]\nall = [{}]\n", members.join(", "));
        }
        text.push_str("\n[hook]\n");
        for (stage, key) in STAGES.iter().filter(|(stage, _)| self.stages.contains_key(stage)) {
            let _ = writeln!(text, "{key} = {}", toml_string(stage));
        }
        // An agent that wants to stop must pass the gate of a commit.
        let stop = if self.stages.contains_key("pre-commit") { Some(&"pre-commit") } else { self.stages.keys().next() };
        if let Some(stop) = stop {
            let _ = writeln!(text, "stop = {}", toml_string(stop));
        }
        for (name, check) in &self.checks {
            check.write(name, &mut text);
        }
        // The result must be valid, whatever names the file has.
        config::parse(text.as_bytes()).map_err(|problems| Error::configuration("the converted hooks", &problems))?;
        Ok(Imported { text, taken: self.taken, left: self.left })
    }
}

impl CheckAction {
    /// Merges another hook into this one, if it does the same; returns whether it did.
    fn takes_in(&mut self, other: &Self) -> bool {
        match (self, other) {
            (Self::Verifier(name, settings), Self::Verifier(other, more)) if name == other => {
                for (key, value) in more {
                    match (settings.get_mut(key), value) {
                        (Some(Value::Array(list)), Value::Array(more)) => {
                            list.extend(more.iter().filter(|item| !list.contains(item)).cloned().collect::<Vec<_>>());
                        }
                        _ => drop(settings.insert(key, value.clone())),
                    }
                }
                true
            }
            (this, other) => this == other,
        }
    }
}

impl ImportedCheck {
    fn write(&self, name: &str, text: &mut String) {
        match &self.what {
            CheckAction::Verifier(verifier, settings) => {
                let _ = write!(text, "\n[check.{name}]\nverifier = {}\n", toml_string(verifier));
                if !settings.is_empty() {
                    // Numbers and lists of texts are the same in JSON and TOML.
                    let settings: Vec<String> =
                        settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
                    let _ = writeln!(text, "settings = {{ {} }}", settings.join(", "));
                }
            }
            CheckAction::Command(_) => {
                let grant = toml_string(&format!("command:{name}"));
                let _ = write!(text, "\n[check.{name}]\nverifier = \"command\"\ngrants = [{grant}]\n");
            }
        }
        for (key, patterns) in [("files", &self.scope.files), ("exclude", &self.scope.exclude)] {
            if !patterns.is_empty() {
                let patterns: Vec<String> = patterns.iter().map(|pattern| toml_string(pattern)).collect();
                let _ = writeln!(text, "{key} = [{}]", patterns.join(", "));
            }
        }
        if let CheckAction::Command(command) = &self.what {
            let words: Vec<String> = command.iter().map(|word| toml_string(word)).collect();
            let _ = write!(text, "\n[command.{name}]\nrun = [{}]\n", words.join(", "));
        }
    }
}

/// The stages that become gates, each with its key in `[hook]`.
const STAGES: &[(&str, &str)] = &[("pre-commit", "pre_commit"), ("pre-push", "pre_push")];

/// Returns a name as gate.toml allows it.
fn plain_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let name: String = name.chars().map(plain).take(50).collect();
    let name = name.trim_matches('-').to_owned();
    if name.is_empty() { "hook".to_owned() } else { name }
}

/// Returns a TOML string: as in JSON, except for one character.
fn shown(text: &str) -> String {
    crate::text::clean_line(text, 120)
}

/// Returns a check for a command line: its words, or a shell that runs it.
fn command(line: &str) -> CheckAction {
    CheckAction::Command(
        config::words(line).unwrap_or_else(|_| vec!["sh".to_owned(), "-c".to_owned(), line.to_owned()]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_words_or_are_left_to_a_shell() {
        let of = |text: &str| match command(text) {
            CheckAction::Command(words) if words[0] != "sh" => Some(words.join("|")),
            _ => None,
        };
        assert_eq!(of("cargo test --quiet").as_deref(), Some("cargo|test|--quiet"));
        assert_eq!(of("a 'b c' \"d e\" f\\ g ''").as_deref(), Some("a|b c|d e|f g|"));
        for shell in ["a | b", "a && b", "echo $HOME", "ls *.py", "a > b", "", "'open", "`x`"] {
            assert_eq!(of(shell), None, "{shell}");
        }
    }

    #[test]
    fn hooks_of_pre_commit_become_verifiers_and_commands() {
        let text = r#"
repos:
  - repo: https://github.com/pre-commit/pre-commit-hooks
    rev: v5.0.0
    hooks:
      - id: check-json
        exclude: ^vendor/
      - id: check-yaml
        args: [--unsafe]
      - id: trailing-whitespace
      - id: end-of-file-fixer
      - id: check-added-large-files
        args: ["--maxkb=1000"]
      - id: check-merge-conflict
        files: "[a-z]+"
  - repo: https://github.com/astral-sh/ruff-pre-commit
    rev: v0.8.0
    hooks:
      - id: ruff
        args: [--fix]
      - id: ruff-format
  - repo: local
    hooks:
      - id: tests
        name: tests
        entry: pytest -q
        language: system
        pass_filenames: false
        stages: [pre-push]
      - id: each file
        entry: ./check.sh
        language: script
  - repo: https://example.com/unknown
    rev: "1"
    hooks:
      - id: unheard-of
"#;
        let imported = import(Path::new(".pre-commit-config.yaml"), text).expect("imported");
        for part in [
            "all = [\"json-syntax\", \"yaml-syntax\", \"hygiene\", \"merge-markers\", \"ruff\", \"ruff-format\"]",
            "verifier = \"json-syntax\"\nexclude = [\"vendor/**\"]\n",
            "settings = { checks = [\"trailing-whitespace\",\"end-of-file\",\"large-file\"], max_kilobytes = 1000 }",
            "[gate.pre-push]\nall = [\"tests\"]",
            "run = [\"ruff\", \"check\", \".\"]",
            "run = [\"pytest\", \"-q\"]",
            "pre_commit = \"pre-commit\"",
        ] {
            assert!(imported.text.contains(part), "{part}: {}", imported.text);
        }
        assert_eq!(imported.left.len(), 3, "{:?}", imported.left);
        assert!(imported.left.iter().any(|left| left.starts_with("each file: ")), "{:?}", imported.left);
    }

    #[test]
    fn hooks_of_lefthook_become_commands() {
        let text = "
pre-commit:
  parallel: true
  commands:
    lint:
      glob: '*.py'
      run: ruff check {staged_files}
    types:
      run: mypy .
    odd:
      run: ./x {staged_files}
pre-push:
  jobs:
    - name: tests
      run: cargo test && echo done
commit-msg:
  commands:
    words:
      run: ./words {1}
";
        let imported = import(Path::new("lefthook.yml"), text).expect("imported");
        for part in [
            "run = [\"ruff\", \"check\", \".\"]",
            "run = [\"mypy\", \".\"]",
            "run = [\"sh\", \"-c\", \"cargo test && echo done\"]",
        ] {
            assert!(imported.text.contains(part), "{part}: {}", imported.text);
        }
        assert_eq!(imported.left.len(), 2, "{:?}", imported.left);
    }

    #[test]
    fn what_is_not_such_a_file_is_refused() {
        for (path, text) in [
            ("x.yml", "a: 1"),
            ("lefthook.yml", "pre-commit: 3"),
            ("lefthook.yml", ""),
            (".pre-commit-config.yaml", "repos: []"),
            (".pre-commit-config.yaml", "[: nonsense"),
        ] {
            assert!(import(Path::new(path), text).is_err(), "{path}: {text}");
        }
    }
}
