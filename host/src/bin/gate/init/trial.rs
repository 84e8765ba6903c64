//! Runs the gates that `gate init` is about to write, and adapts them until they give a verdict about the repository.

use super::draft::{DEFAULT, Draft, PUSH};
use super::places;
use super::tools::Tests;
use crate::args::Global;
use crate::error::{Error, Make as _};
use crate::run::Watcher;
use crate::setup;
use crate::terminal::count;
use anyhow::Context;
use gatehost::changes::Selection;
use gatehost::config::FileSet;
use gatehost::environment::Environment;
use gatehost::outcome::{Node, NodeKind, Outcome};
use gatehost::record::Record;
use gatehost::session::{Checks, Host, Policy, Request};
use gatehost::text::clean_line;
use gatehost::verdict::{ErrorKind, Status};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// How often a gate is changed and tried again.
const MOST_ROUNDS: usize = 5;
/// The time limit of a test command during `gate init`.
const PATIENCE: &str = "3m";
/// The most files that are named one by one.
const MOST_NAMED: usize = 5;

/// The decisions: one line each.
pub(super) struct TrialReport<'a> {
    pub(super) global: &'a Global,
    pub(super) root: &'a Path,
    host: Host,
    /// The folder of the file while it is tried, outside the workspace.
    folder: tempfile::TempDir,
    pub(super) told: Vec<String>,
}

impl<'a> TrialReport<'a> {
    pub(super) fn new(global: &'a Global, root: &'a Path) -> Result<Self, Error> {
        let host = setup::host(global, &Environment::of_process())?;
        let folder = tempfile::tempdir().context("cannot make a temporary folder").map_err(Error::broken)?;
        Ok(Self { global, root, host, folder, told: Vec::new() })
    }

    /// Tries all gates.
    pub(super) fn run(&mut self, draft: &mut Draft) -> Result<(), Error> {
        for _ in 0..MOST_ROUNDS {
            let record = self.record(draft, DEFAULT, Checks::All)?;
            if !self.adapt(draft, &record) {
                self.verdict(&record);
                break;
            }
        }
        for tests in std::mem::take(&mut draft.tests) {
            self.tests(draft, tests)?;
        }
        Ok(())
    }

    fn record(&self, draft: &Draft, gate: &str, checks: Checks) -> Result<Record, Error> {
        let path = self.folder.path().join("gate.toml");
        fs::write(&path, draft.text(Some(PATIENCE))).context("cannot write a temporary file").map_err(Error::broken)?;
        let mut request = Request::new(self.root, Environment::of_process());
        request.selection = Selection::All;
        request.policy = Policy::File(path);
        request.gate = Some(gate.to_owned());
        request.checks = checks;
        let watcher = Watcher::silent(self.global);
        setup::wait(self.host.run(request, watcher))
    }

    /// Excludes files that do not pass on purpose. Returns whether there were any.
    fn adapt(&mut self, draft: &mut Draft, record: &Record) -> bool {
        let mut changed = false;
        for node in checks(&record.gate) {
            let Some(check) = draft.checks.iter_mut().find(|check| check.name == node.name) else { continue };
            let mut left_out: Vec<(String, String)> = Vec::new();
            for file in node.files.iter().flatten() {
                let excuse = match file.status {
                    Status::Pass | Status::NotApplicable => None,
                    Status::Fail => places::excuse(&file.path).map(|(pattern, why)| (pattern, why.to_owned())),
                    // It can never be checked, such as a broken symlink.
                    Status::Abstain | Status::Error => {
                        Some((places::escaped(&file.path), clean_line(&file.reason, 120)))
                    }
                };
                left_out.extend(excuse);
            }
            let new: BTreeSet<(String, String)> =
                left_out.into_iter().filter(|(pattern, _)| !check.exclude.contains_key(pattern)).collect();
            for (pattern, why) in &new {
                check.exclude.insert(pattern.clone(), why.clone());
            }
            changed |= !new.is_empty();
            for (pattern, why) in new.iter().take(MOST_NAMED) {
                self.told.push(format!("{}: leaves out `{pattern}`: {why}", check.name));
            }
            if new.len() > MOST_NAMED {
                self.told.push(format!(
                    "{}: leaves out {} more, for similar reasons",
                    check.name,
                    new.len() - MOST_NAMED
                ));
            }
        }
        // A check that excludes most of its files is useless.
        let is_hollow = |check: &super::draft::DraftCheck| {
            let patterns: Vec<String> = check.exclude.keys().cloned().collect();
            let node = checks(&record.gate).into_iter().find(|node| node.name == check.name);
            let files: Vec<&str> =
                node.iter().flat_map(|node| node.files.iter().flatten()).map(|file| file.path.as_str()).collect();
            let kept =
                FileSet::new(&[], &patterns).map_or(0, |set| files.iter().filter(|path| set.contains(path)).count());
            !check.exclude.is_empty() && !files.is_empty() && kept * 2 < files.len() && kept < 10
        };
        let hollow: Vec<&str> = draft.checks.iter().filter(|check| is_hollow(check)).map(|check| check.name).collect();
        for name in &hollow {
            self.told.push(format!(
                "{name}: not added, since most of its files are test data or generated, and do not pass"
            ));
        }
        draft.checks.retain(|check| !hollow.contains(&check.name));
        changed
    }

    /// Reports the result of the gate on the repository.
    fn verdict(&mut self, record: &Record) {
        for node in checks(&record.gate) {
            let failed = || node.files.iter().flatten().filter(|file| file.status == Status::Fail);
            match node.outcome {
                Outcome::Fail if failed().next().is_some() => {
                    let named: Vec<&str> = failed().take(MOST_NAMED).map(|file| file.path.as_str()).collect();
                    let number = failed().count();
                    let more = if number > named.len() { " …" } else { "" };
                    let verb = if number == 1 { "does" } else { "do" };
                    self.told.push(format!(
                        "{}: {} {verb} not pass today: {}{more}; only changed files are checked",
                        node.name,
                        count(number, "file"),
                        clean_line(&named.join(", "), 300)
                    ));
                }
                Outcome::Fail | Outcome::Error | Outcome::Abstain => {
                    self.told.push(format!("{}: {} today{}", node.name, node.outcome.as_str(), why(node)));
                }
                _ => {}
            }
        }
    }

    /// Runs the tests, with more rights if they need them. Tests that cannot run here are left out.
    fn tests(&mut self, draft: &mut Draft, tests: Tests) -> Result<(), Error> {
        let (name, line) = (tests.name.clone(), tests.run.join(" "));
        self.told
            .push(format!("{name}: `{line}`, since {}; in the gate `{PUSH}`, since tests take longer", tests.reason));
        let mut tried = tests.clone();
        let mut given: Vec<String> = Vec::new();
        let mut reason = "it needs access that `gate` cannot grant".to_owned();
        for _ in 0..MOST_ROUNDS {
            let mut alone = draft.clone();
            alone.tests = vec![tried.clone()];
            let record = self.record(&alone, PUSH, Checks::Only(BTreeSet::from([name.clone()])))?;
            let Some(node) = checks(&record.gate).into_iter().find(|node| node.name == name) else { break };
            let error = node.verdict.as_ref().and_then(|verdict| verdict.error.as_ref());
            let printed = node.commands.iter().flat_map(|command| command.output.lines());
            let advice = printed.rev().find_map(|line| line.strip_prefix("[gate] "));
            match (node.outcome, error) {
                // Some tests use the network; the others are enough for a verdict.
                (Outcome::Fail, _)
                    if !tried.network && advice.is_some_and(|advice| advice.contains("network = true")) =>
                {
                    given.push(format!("{name}: gets `network = true`, since some tests fail without it"));
                    tried.network = true;
                }
                (Outcome::Pass | Outcome::Fail, _)
                    if !advice.is_some_and(|advice| advice.contains("is not installed")) =>
                {
                    let said = match node.outcome {
                        Outcome::Pass => format!("passes, in {} s", node.duration.as_secs()),
                        _ if node.commands.iter().any(|command| command.timed_out) => {
                            format!("did not end within {PATIENCE}")
                        }
                        _ => format!("fails today{}", why(node)),
                    };
                    self.told.append(&mut given);
                    self.told.push(format!("{name}: {said}"));
                    draft.tests.push(tried);
                    return Ok(());
                }
                (Outcome::Error, Some(error)) if error.kind == ErrorKind::CommandOffline && !tried.network => {
                    given.push(format!("{name}: gets `network = true`, since it fails without it"));
                    tried.network = true;
                }
                (Outcome::Error, Some(error))
                    if error.kind == ErrorKind::CommandReadOnly && tried.read_write.is_none() =>
                {
                    given.push(self.writable(&mut tried, &error.message));
                }
                (_, error) => {
                    let advice = advice.and_then(|advice| advice.split("; ").next()).map(str::to_owned);
                    let said = advice.or_else(|| error.map(|error| error.message.clone()));
                    reason = said.unwrap_or_else(|| format!("{}{}", node.outcome.as_str(), why(node)));
                    break;
                }
            }
        }
        let what = match tests.run.first().filter(|_| reason.contains("there is no program")) {
            Some(program) => format!("`{program}` is not installed here"),
            None => format!("{}; `{}` may help", clean_line(&reason, 160), tests.install),
        };
        self.told.push(format!("{name}: excluded for now: {what}"));
        draft.aside.push((tests, what));
        Ok(())
    }

    /// Allows tests to write a folder that the message names. Returns what was allowed, and why.
    fn writable(&self, tests: &mut Tests, message: &str) -> String {
        let named = message.split('`').find(|part| part.contains('/') || part.starts_with('.'));
        let inside = named.map(|path| Path::new(path).strip_prefix(self.root).unwrap_or(Path::new(path)));
        let folder = inside.filter(|path| path.is_relative()).and_then(|path| {
            let first = path.components().next()?.as_os_str().to_str()?;
            let is_folder = path.components().count() > 1 || self.root.join(first).is_dir();
            (is_folder && !tests.write.iter().any(|known| known == first)).then(|| first.to_owned())
        });
        match folder {
            Some(folder) => {
                let given = format!("{}: may write to `{folder}`, since it does", tests.name);
                tests.write.push(folder);
                given
            }
            None => {
                tests.read_write = Some("it writes to the workspace");
                format!("{}: may write to the workspace, because it does: {}", tests.name, clean_line(message, 120))
            }
        }
    }
}

/// Returns every check of a gate.
fn checks(gate: &Node) -> Vec<&Node> {
    gate.walk().filter(|node| node.kind == NodeKind::Check).collect()
}

/// Returns why a check says what it says, in a few words.
fn why(node: &Node) -> String {
    let verdict = node.verdict.as_ref();
    let error = verdict.and_then(|verdict| verdict.error.as_ref()).map(|error| error.message.as_str());
    let said = error.or(verdict.map(|verdict| verdict.summary.as_str())).filter(|text| !text.is_empty());
    said.map_or(String::new(), |text| format!(": {}", clean_line(text, 160)))
}
