//! `gate doctor`: proves that every installed hook blocks, and finds what keeps gates from working.

use crate::args::{Doctor, Global};
use crate::error::Error;
use crate::install::{program, root};
use crate::{Exit, setup, terminal};
use anstyle::AnsiColor;
use gatehost::environment::Environment;
use gatehost::hook::{Answer, Host, sample};
use gatehost::install::{self, Handler, Target, Trust, git};
use gatehost::ledger::SqliteLedger;
use gatehost::search_path;
use gatehost::session::{Policy, Request};
use gatehost::text;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// How long a hook may take for the sample.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was found about one thing.
struct Line {
    /// Whether it works; `None` where there is nothing to say for or against it.
    works: Option<bool>,
    what: String,
    detail: String,
    /// What to do about it.
    fix: Option<String>,
    /// What `--fix` installs again.
    target: Option<Target>,
}

impl Line {
    fn good(what: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { works: Some(true), what: what.into(), detail: detail.into(), fix: None, target: None }
    }

    fn bad(what: impl Into<String>, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { works: Some(false), fix: Some(fix.into()), ..Self::good(what, detail) }
    }

    fn note(what: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { works: None, ..Self::good(what, detail) }
    }

    fn of(self, target: Target) -> Self {
        Self { target: Some(target), ..self }
    }
}

pub(crate) fn run(global: &Global, command: &Doctor) -> Result<Exit, Error> {
    let root = root(&global.directory)?;
    let mut lines = examine(global, &root)?;
    if command.fix {
        let mut broken: Vec<Target> =
            lines.iter().filter(|line| line.works == Some(false)).filter_map(|line| line.target).collect();
        broken.sort();
        broken.dedup();
        for target in &broken {
            install::install(*target, &root, &program()?)?;
        }
        if !broken.is_empty() {
            lines = examine(global, &root)?;
        }
    }
    let mut out = std::io::stdout().lock();
    let color = terminal::color(global.color, &out);
    let paint = |word: &str, colour: AnsiColor| text::paint(color, colour.on_default(), word);
    for line in &lines {
        let word = match line.works {
            Some(true) if global.quiet => continue,
            Some(true) => paint("ok  ", AnsiColor::Green),
            Some(false) => paint("fail", AnsiColor::Red),
            None if global.quiet => continue,
            None => paint("note", AnsiColor::Cyan),
        };
        writeln!(out, "{word}  {}: {}", line.what, line.detail)?;
        if let Some(fix) = &line.fix {
            writeln!(out, "      fix: {fix}")?;
        }
    }
    out.flush()?;
    let broken = lines.iter().any(|line| line.works == Some(false));
    Ok(if broken { Exit::Fail } else { Exit::Pass })
}

fn examine(global: &Global, root: &Path) -> Result<Vec<Line>, Error> {
    let mut lines = vec![Line::note("gate", format!("{} at {}", env!("CARGO_PKG_VERSION"), program()?.display()))];
    lines.push(configuration(global, root));
    let mut installed = false;
    for host in Host::ALL {
        let found = host_lines(*host, root);
        installed |= found.iter().any(|line| line.target.is_some());
        lines.extend(found);
    }
    let git = git_lines(root);
    installed |= git.iter().any(|line| line.target.is_some());
    lines.extend(git);
    if !installed {
        let fix = "`gate install` finds what is used here";
        lines.push(Line::bad("hooks", "no hook is installed, so nothing stops an agent or a commit", fix));
    }
    lines.push(ledger());
    lines.push(match setup::store() {
        Ok(_) => Line::good("cache", "can be used"),
        Err(error) => Line::bad(
            "cache",
            format!("{error:#}"),
            "set `GATE_CACHE_DIR` to a folder that you own; without a cache, gates are slower",
        ),
    });
    lines.push(sandbox(global));
    Ok(lines)
}

/// Whether the configuration can be used, and what its models need.
fn configuration(global: &Global, root: &Path) -> Line {
    let planned =
        setup::host(global, &Environment::of_process()).and_then(|host| setup::wait(host.plan(Request::new(root), ())));
    match planned {
        Err(error) => Line::bad("configuration", error.to_string(), "`gate plan` shows all of it"),
        Ok(planned) => {
            let keyless: Vec<&str> = planned
                .plan
                .models
                .iter()
                .filter(|(_, model)| model.key_env.as_ref().is_some_and(|name| std::env::var_os(name).is_none()))
                .map(|(name, _)| name.as_str())
                .collect();
            if !keyless.is_empty() {
                let detail = format!("the key of {} is not in the environment", keyless.join(", "));
                return Line::bad("models", detail, "set the variable that `key_env` names");
            }
            Line::good("configuration", format!("the gate `{}` of {}", planned.plan.root.name, planned.policy.name))
        }
    }
}

fn host_lines(host: Host, root: &Path) -> Vec<Line> {
    let target = Target::Host(host);
    let file = root.join(install::settings_file(host));
    let again = format!("`gate install {}`, or `gate doctor --fix`", host.as_str());
    let Ok(text) = fs::read_to_string(&file) else {
        let unused = !target.is_used(root);
        let detail = format!("it is used here, but `gate` is not installed there; `gate install {}`", host.as_str());
        return if unused { Vec::new() } else { vec![Line::note(host.as_str(), detail)] };
    };
    let Some(settings) = install::settings_value(&text) else {
        let detail = format!("`{}` is not valid JSON, so the host ignores it", file.display());
        return vec![Line::bad(host.as_str(), detail, "repair it, then install again")];
    };
    let handlers = install::handlers(host, &settings);
    if handlers.is_empty() {
        let detail = format!("`gate` is not installed there; `gate install {}`", host.as_str());
        return vec![Line::note(host.as_str(), detail)];
    }
    let mut lines = Vec::new();
    if !handlers.iter().any(|handler| handler.event == install::stop_event(host)) {
        let detail =
            format!("no hook in `{}` calls `gate`, so the agent can stop at any time", install::stop_event(host));
        lines.push(Line::bad(host.as_str(), detail, again.clone()).of(target));
    }
    for handler in handlers.iter().filter(|handler| ends_something(&handler.event)) {
        let what = format!("{} {}", host.as_str(), handler.event);
        lines.push(match fire(host, handler) {
            Err(why) => Line::bad(&what, why, again.clone()).of(target),
            Ok(()) => Line::good(&what, "blocks the sample").of(target),
        });
        let (waits, takes) = (install::timeout(host, handler), install::deadline(host, &handler.command));
        if takes >= waits {
            let detail = format!("the host waits {waits} s, but the hook may take {takes} s");
            lines.push(Line::bad(&what, detail, again.clone()).of(target));
        }
        if host == Host::Codex {
            lines.push(trust(&what, &file, handler));
        }
    }
    lines
}

/// Whether something is verified at this event.
fn ends_something(event: &str) -> bool {
    !matches!(event, "SessionStart" | "sessionStart" | "UserPromptSubmit" | "PostToolUse")
}

fn trust(what: &str, file: &Path, handler: &Handler) -> Line {
    let environment = Environment::of_process();
    let home = environment.path("CODEX_HOME").or_else(|| Some(environment.path("HOME")?.join(".codex")));
    let config = home.and_then(|home| fs::read_to_string(home.join("config.toml")).ok()).unwrap_or_default();
    let what = format!("{what} trust");
    let fix = "open Codex in this folder and trust the hook with `/hooks`";
    match install::trust_of(&config, file, handler) {
        Trust::Trusted => Line::good(what, "Codex trusts this hook"),
        Trust::Changed => Line::bad(what, "the hook was changed since it was trusted: Codex skips it silently", fix),
        Trust::Unknown => Line::bad(what, "the hook is not trusted: Codex skips it silently", fix),
    }
}

/// Sends the sample through a hook as the host would.
fn fire(host: Host, handler: &Handler) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot prepare the sample: {error}");
    let temporary = tempfile::tempdir().map_err(failed)?;
    let work = temporary.path().join("work");
    fs::create_dir(&work).and_then(|()| fs::write(work.join(sample::BAD.0), sample::BAD.1)).map_err(failed)?;
    let message = sample::message(host, &handler.event, &work, "gate-doctor");
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &handler.command]).current_dir(&work).env_clear().env("PATH", "");
    shell.env("HOME", temporary.path()).env("GATE_STATE_DIR", temporary.path().join("state"));
    if let Some(cache) = Environment::of_process().cache_folder() {
        shell.env("GATE_CACHE_DIR", cache);
    }
    let output = finish(shell, message.as_bytes())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let exit = output.status.code().and_then(|code| u8::try_from(code).ok());
    let exit = exit.ok_or_else(|| format!("it ended with {}", output.status))?;
    sample::proves(host, &Answer { stdout: text(&output.stdout), stderr: text(&output.stderr), exit })
}

/// Runs a command to its end, for at most as long as is reasonable.
fn finish(mut command: Command, input: &[u8]) -> Result<Output, String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot start a shell: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A hook that reads nothing is judged by what it prints.
        let _ = stdin.write_all(input);
    }
    let id = child.id();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(child.wait_with_output()));
    match told.recv_timeout(PATIENCE) {
        Ok(output) => output.map_err(|error| format!("cannot wait for it: {error}")),
        Err(_) => {
            if let Some(id) = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
            }
            Err(format!("it timed out after {} s", PATIENCE.as_secs()))
        }
    }
}

fn git_lines(root: &Path) -> Vec<Line> {
    if !Target::Git.is_used(root) {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let again = "`gate install git`, or `gate doctor --fix`";
    for name in git::HOOKS {
        match git::installed(root, name) {
            Err(error) => return vec![Line::bad("git", error.to_string(), "repair the repository")],
            Ok(None) => {}
            Ok(Some(script)) => lines.push(match fire_git(name, &script) {
                Ok(detail) => Line::good(format!("git {name}"), detail).of(Target::Git),
                Err(why) => Line::bad(format!("git {name}"), why, again).of(Target::Git),
            }),
        }
    }
    if lines.is_empty() {
        return vec![Line::note("git", "no hook of this repository calls `gate`; `gate install git`")];
    }
    if lines.len() < git::HOOKS.len() {
        lines.push(Line::bad("git", "not all hooks are installed", again).of(Target::Git));
    }
    lines
}

/// Has the last line of our script judge a repository with the sample in its index.
fn fire_git(name: &str, script: &str) -> Result<&'static str, String> {
    let line = script.lines().last().unwrap_or_default();
    let line = line.rsplit(" | ").next().unwrap_or_default();
    let failed = |error: std::io::Error| format!("cannot prepare the sample: {error}");
    let temporary = tempfile::tempdir().map_err(failed)?;
    let work = temporary.path().join("work");
    fs::create_dir(&work).and_then(|()| fs::write(work.join(sample::BAD.0), sample::BAD.1)).map_err(failed)?;
    let git = which("git").ok_or("there is no `git` in PATH")?;
    for arguments in [&["init", "-q", "."][..], &["add", "."]] {
        let mut command = Command::new(&git);
        command.args(arguments).current_dir(&work).env_clear().env("HOME", temporary.path());
        finish(command, b"")?;
    }
    if name != "pre-commit" {
        // The others need a commit or a message, and call the same program.
        let program = line.split(" git-hook ").next().unwrap_or_default().trim_matches('\'');
        let there = Path::new(program).is_file();
        return if there {
            Ok("is installed")
        } else {
            Err(format!("`{program}` does not exist, so git refuses every commit"))
        };
    }
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", line, "gate-doctor"]).current_dir(&work).env_clear();
    // Git calls its hooks with the folder of its programs in PATH, and needs itself to be found.
    shell.env("PATH", git.parent().unwrap_or(Path::new("/usr/bin"))).env("HOME", temporary.path());
    shell.env("GATE_STATE_DIR", temporary.path().join("state"));
    let output = finish(shell, b"")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(1) if said.contains(sample::CODE) => Ok("refuses the sample"),
        Some(0) => Err("it let the sample through".to_owned()),
        _ => Err(format!("{}, and printed `{}`", output.status, gatehost::text::clean_line(said.trim(), 300))),
    }
}

fn which(name: &str) -> Option<PathBuf> {
    search_path::find_program(name, &std::env::var_os("PATH")?, &std::env::current_dir().ok()?)
}

fn ledger() -> Line {
    let fix = "set `GATE_STATE_DIR` to a folder that only you can write to";
    let Some(folder) = Environment::of_process().state_folder() else {
        return Line::bad("ledger", "there is no state folder", fix);
    };
    match SqliteLedger::open(&folder) {
        Ok(ledger) => Line::good("ledger", ledger.path().display().to_string()),
        Err(error) => Line::bad("ledger", error.to_string(), fix),
    }
}

/// Runs a command that does nothing, to see how far it is confined.
fn sandbox(global: &Global) -> Line {
    const GATE: &str = "[gate.g]\nall = [\"c\"]\n[check.c]\nverifier = \"command\"\ngrants = [\"command:c\"]\n\
                        [command.c]\nrun = [\"true\"]\n";
    let level = || -> Option<String> {
        let temporary = tempfile::tempdir().ok()?;
        fs::write(temporary.path().join("gate.toml"), GATE).ok()?;
        let mut request = Request::new(temporary.path());
        request.policy = Policy::File("gate.toml".into());
        let host = setup::host(global, &request.environment).ok()?;
        let record = setup::wait(host.run(request, ())).ok()?;
        record.checks().flat_map(|check| &check.commands).next().map(|command| command.sandbox.to_string())
    };
    match level().as_deref() {
        Some("namespaces") => Line::good("commands", "are confined by namespaces"),
        Some("none") => Line::bad(
            "commands",
            "are not confined",
            "allow unprivileged user namespaces, or use a kernel with Landlock",
        ),
        Some(other) => Line::note("commands", format!("are confined by {other} only")),
        None => {
            Line::bad("commands", "cannot run in a sandbox on this machine", "`gate run -v` with a command says why")
        }
    }
}
