//! Tests the git hooks: each is called by git, in a repository with the sample.

use super::DoctorLine;
use super::fire::finish;
use gatehost::environment::Environment;
use gatehost::hook::sample;
use gatehost::install::{Target, git};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the results for the hooks of a repository.
pub(super) fn lines(root: &Path) -> Vec<DoctorLine> {
    if !Target::Git.is_used(root) {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let again = "run `gate install git`, or `gate doctor --fix`";
    for name in git::HOOKS {
        match git::installed(root, name, &Environment::of_process()) {
            Err(error) => return vec![DoctorLine::bad("git", error.to_string(), "repair the repository")],
            Ok(None) => {}
            Ok(Some(script)) => lines.push(match fire(name, &script) {
                Ok(detail) => DoctorLine::good(format!("git {name}"), detail).of(Target::Git),
                Err(why) => DoctorLine::bad(format!("git {name}"), why, again).of(Target::Git),
            }),
        }
    }
    if lines.is_empty() {
        return vec![DoctorLine::note("git", "no hook of this repository calls `gate`; run `gate install git`")];
    }
    if lines.len() < git::HOOKS.len() {
        lines.push(DoctorLine::bad("git", "not all hooks are installed", again).of(Target::Git));
    }
    lines
}

/// Installs the script, without an earlier hook, into a repository with the sample, and has git call it.
fn fire(name: &str, script: &str) -> Result<&'static str, String> {
    let failed = |error: std::io::Error| format!("cannot prepare the sample: {error}");
    let temporary = tempfile::tempdir().map_err(failed)?;
    let work = temporary.path().join("work");
    fs::create_dir(&work).and_then(|()| fs::write(work.join(sample::BAD.0), sample::BAD.1)).map_err(failed)?;
    let program = which("git").ok_or("there is no `git` in PATH")?;
    let run = |arguments: &[&str]| -> Result<Output, String> {
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(&work).env_clear().env("HOME", temporary.path());
        // Hooks find only git itself.
        command.env("PATH", program.parent().unwrap_or(Path::new("/usr/bin"))).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("GATE_STATE_DIR", temporary.path().join("state"));
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "gate doctor").env(format!("GIT_{who}_EMAIL"), "doctor@localhost");
        }
        finish(command, b"").map_err(|why| format!("git {why}"))
    };
    let must = |arguments: &[&str]| match run(arguments) {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("cannot prepare the sample: {}", output_text(&output))),
        Err(why) => Err(why),
    };
    if name == "commit-msg" {
        fs::write(work.join("gate.toml"), sample::GATE).map_err(failed)?;
    }
    must(&["init", "-q", "."])?;
    must(&["add", "."])?;
    if name == "pre-push" {
        must(&["commit", "-q", "-m", "sample"])?;
        must(&["init", "-q", "--bare", "../remote.git"])?;
    }
    let hook = work.join(".git/hooks").join(name);
    fs::create_dir_all(work.join(".git/hooks")).and_then(|()| fs::write(&hook, script)).map_err(failed)?;
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).map_err(failed)?;
    let output = match name {
        "pre-push" => run(&["push", "-q", "../remote.git", "HEAD:refs/heads/sample"])?,
        _ => run(&["commit", "-q", "-m", "sample"])?,
    };
    let text = output_text(&output);
    let code = if name == "commit-msg" { sample::MESSAGE_CODE } else { sample::CODE };
    if output.status.success() {
        return Err("it let the sample through".to_owned());
    }
    if !text.contains(code) {
        return Err(format!("it refuses everything: `{text}`"));
    }
    if name == "commit-msg" {
        must(&["commit", "-q", "-m", sample::GOOD_MESSAGE])
            .map_err(|why| format!("it refuses a good message: {why}"))?;
    }
    Ok("refuses the sample")
}

fn output_text(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    gatehost::text::clean_line(text.trim(), 1_000)
}

fn which(name: &str) -> Option<PathBuf> {
    gatehost::search_path::find_program(name, &std::env::var_os("PATH")?, &std::env::current_dir().ok()?)
}
