//! Tests the hooks of coding agents: whether each blocks, in time, and is not disabled.

use super::DoctorLine;
use super::fire::{finish, version};
use gatehost::config::HookConfig;
use gatehost::environment::Environment;
use gatehost::hook::{AgentHost, Answer, sample};
use gatehost::install::{self, Handler, Target, Trust};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the results for a host.
pub(super) fn lines(host: AgentHost, root: &Path, hook: &HookConfig) -> Vec<DoctorLine> {
    let target = Target::Host(host);
    let file = root.join(install::settings_file(host));
    let again = format!("run `gate install {}`, or `gate doctor --fix`", host.as_str());
    let Ok(text) = fs::read_to_string(&file) else {
        let detail =
            format!("this project uses it, but `gate` is not installed there; run `gate install {}`", host.as_str());
        return if target.is_used(root) { vec![DoctorLine::note(host.as_str(), detail)] } else { Vec::new() };
    };
    let Some(settings) = install::settings_value(&text) else {
        let detail = format!("`{}` is not valid JSON, so the host ignores it", file.display());
        return vec![DoctorLine::bad(host.as_str(), detail, "repair it, then install again")];
    };
    let handlers = install::handlers(host, &settings);
    if handlers.is_empty() {
        let detail = format!("`gate` is not installed there; run `gate install {}`", host.as_str());
        return vec![DoctorLine::note(host.as_str(), detail)];
    }
    let mut lines = Vec::new();
    lines.extend(client(host));
    lines.extend(switched_off(host, root));
    if !handlers.iter().any(|handler| handler.event == install::stop_event(host)) {
        let detail =
            format!("no hook in `{}` calls `gate`, so the agent can stop at any time", install::stop_event(host));
        lines.push(DoctorLine::bad(host.as_str(), detail, again.clone()).of(target));
    }
    for handler in handlers.iter().filter(|handler| install::verifies(&handler.event)) {
        let what = format!("{} {}", host.as_str(), handler.event);
        lines.push(match fire(host, handler) {
            Err(why) => DoctorLine::bad(&what, why, again.clone()).of(target),
            Ok(()) if handler.event == "PostToolUse" && hook.post_tool_use.is_none() => {
                let detail = "blocks the sample, but this project names no gate for it in `[hook] post_tool_use`";
                DoctorLine::good(&what, detail).of(target)
            }
            Ok(()) => DoctorLine::good(&what, "blocks the sample").of(target),
        });
        let (waits, takes) = (install::timeout(host, handler), install::deadline(host, &handler.command));
        if takes >= waits {
            let detail = format!("the host waits {waits} s, but the hook may take {takes} s");
            lines.push(DoctorLine::bad(&what, detail, again.clone()).of(target));
        }
        if host == AgentHost::Codex {
            lines.push(trust(&what, &file, handler));
        }
    }
    lines.extend(other_version(host, &handlers).map(|line| DoctorLine { fix: Some(again), ..line }.of(target)));
    lines
}

/// Returns the version of the client, if it is in PATH.
fn client(host: AgentHost) -> Option<DoctorLine> {
    let (program, tried) = install::client(host);
    let tried = tried.map_or(String::new(), |tried| format!("; its hooks were tried with {tried}"));
    Some(DoctorLine::note(host.as_str(), format!("`{program} --version` is `{}`{tried}", version(program).ok()?)))
}

/// Returns a result if a hook calls another version of `gate`.
fn other_version(host: AgentHost, handlers: &[Handler]) -> Option<DoctorLine> {
    let ours = format!("gate {}", env!("CARGO_PKG_VERSION"));
    let programs = handlers.iter().filter_map(|handler| install::program(&handler.command));
    let fix = format!("run `gate install {}`", host.as_str());
    // The sample finds a hook that cannot be started.
    let found = programs.filter_map(|program| version(&program).ok()).find(|found| *found != ours)?;
    Some(DoctorLine::bad(host.as_str(), format!("its hooks call `{found}`, but this is `{ours}`"), fix))
}

/// Returns settings that silently disable hooks.
fn switched_off(host: AgentHost, root: &Path) -> Vec<DoctorLine> {
    let mut lines = Vec::new();
    for file in install::settings_files(host, root, &Environment::of_process()) {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        if let Some(setting) = install::switched_off(host, &text) {
            let detail = format!("`{setting}` in `{}` makes the host skip hooks silently", file.display());
            lines.push(DoctorLine::bad(host.as_str(), detail, format!("remove `{setting}`")));
        }
    }
    lines
}

fn trust(what: &str, file: &Path, handler: &Handler) -> DoctorLine {
    let config = codex_home().and_then(|home| fs::read_to_string(home.join("config.toml")).ok()).unwrap_or_default();
    let what = format!("{what} trust");
    let fix = "open Codex in this folder and trust the hook with `/hooks`";
    match install::trust_of(&config, file, handler) {
        Trust::Trusted => DoctorLine::good(what, "Codex trusts this hook"),
        Trust::Changed => {
            DoctorLine::bad(what, "the hook was changed since it was trusted: Codex skips it silently", fix)
        }
        Trust::Unknown => DoctorLine::bad(what, "the hook is not trusted: Codex skips it silently", fix),
        Trust::Off => {
            DoctorLine::bad(what, "the hook is trusted but switched off", "switch it on with `/hooks` in Codex")
        }
        Trust::Project => DoctorLine::bad(
            what,
            "the hook is trusted but the project is not: Codex skips it silently",
            "open Codex in this folder and trust it",
        ),
    }
}

fn codex_home() -> Option<PathBuf> {
    let environment = Environment::of_process();
    environment.path("CODEX_HOME").or_else(|| Some(environment.home()?.join(".codex")))
}

/// Sends the sample through a hook as the host would: with its command line, `sh -c`, and an empty PATH.
fn fire(host: AgentHost, handler: &Handler) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot prepare the sample: {error}");
    let temporary = tempfile::tempdir().map_err(failed)?;
    let work = temporary.path().join("work");
    fs::create_dir(&work).and_then(|()| fs::write(work.join(sample::BAD.0), sample::BAD.1)).map_err(failed)?;
    if handler.event == "PostToolUse" {
        fs::write(work.join("gate.toml"), sample::GATE).map_err(failed)?;
    }
    let message = sample::message(host, &handler.event, &work, "gate-doctor");
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &handler.command]).current_dir(&work).env_clear().env("PATH", "");
    shell.env("HOME", temporary.path()).env("GATE_STATE_DIR", temporary.path().join("state"));
    if let Some(cache) = Environment::of_process().cache_folder() {
        shell.env("GATE_CACHE_DIR", cache);
    }
    let output = finish(shell, message.as_bytes()).map_err(|why| format!("it {why}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let exit = output.status.code().and_then(|code| u8::try_from(code).ok());
    let exit = exit.ok_or_else(|| format!("it ended with {}", output.status))?;
    sample::proves(host, &Answer { stdout: text(&output.stdout), stderr: text(&output.stderr), exit })
}
