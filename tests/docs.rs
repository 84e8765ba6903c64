//! Tests README and the guides: one test per file, named after its path.
//!
//! | block | test |
//! |---|---|
//! | `console` | every `$ ` line runs, in one shell for the whole guide; its output must be the lines below it |
//! | `sh` | a list of examples: every `gate` line must name a command and flags that exist |
//! | `toml` | it is a gate.toml, or a part of one, that `gate plan` accepts |
//! | `json` | it is JSON |
//!
//! Two comments that readers do not see prepare a guide: `<!-- run` … `-->` is a script that runs at that point, and
//! `<!-- file: NAME -->` before a block writes the block to that file. `BLESS=1` writes the output of commands into the guide.

use crate::support::{self, repository};
use crate::{VARYING, guests};
use libtest_mimic::{Failed, Trial};
use regex::Regex;
use similar::TextDiff;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// Returns a test for each guide.
pub(crate) fn trials() -> impl Iterator<Item = Trial> {
    guides().into_iter().map(|guide| {
        let name = guide.strip_prefix(repository()).unwrap_or(&guide).display().to_string();
        Trial::test(format!("docs/{name}"), move || {
            let text = fs::read_to_string(&guide)?;
            links(&guide, &text)?;
            let parts = parts(&text)?;
            documents(&parts)?;
            examples(&parts)?;
            console(&guide, &text, &parts)
        })
    })
}

/// Returns every Markdown file for readers, without fixtures and templates.
fn guides() -> Vec<PathBuf> {
    let mut guides = Vec::new();
    for folder in ["", "host/docs", "plugins", "wit", "tests", "fixtures"] {
        let folder = repository().join(folder);
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())).flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "md") {
                guides.push(entry.path());
            }
        }
    }
    guides.sort();
    guides
}

/// A part of a guide that is tested.
enum Part<'a> {
    /// A script that readers do not see.
    Run(&'a str),
    /// A fenced block, with the name of the file that it is written to.
    Block { language: &'a str, body: &'a str, file: Option<&'a str> },
}

fn parts(text: &str) -> Result<Vec<Part<'_>>, Failed> {
    static MARKS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?ms)^<!-- run\n(?<run>.*?)^-->|^<!-- file: (?<file>\S+) -->\n|^```(?<language>\w*)\n(?<body>.*?)^```$",
        )
        .expect("a pattern")
    });
    let mut parts = Vec::new();
    let mut file = None;
    for found in MARKS.captures_iter(text) {
        let group = |name| found.name(name).map(|group| group.as_str());
        match (group("run"), group("file"), group("language"), group("body")) {
            (Some(script), ..) => parts.push(Part::Run(script)),
            (_, Some(name), ..) => file = Some(name),
            (_, _, Some(language), Some(body)) => parts.push(Part::Block { language, body, file: file.take() }),
            _ => {}
        }
    }
    let fences = text.lines().filter(|line| line.starts_with("```")).count();
    let blocks = parts.iter().filter(|part| matches!(part, Part::Block { .. })).count();
    if fences == 2 * blocks { Ok(parts) } else { Err("a fenced block is not closed".into()) }
}

/// Checks that every link leads to a file, and every anchor to a heading.
fn links(guide: &Path, text: &str) -> Result<(), Failed> {
    static LINK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)").expect("a pattern"));
    let mut broken = String::new();
    for found in LINK.captures_iter(text).filter(|found| !found[1].contains("://")) {
        let folder = guide.parent().unwrap_or(guide);
        let target = if found[1].is_empty() { guide.to_owned() } else { folder.join(&found[1]) };
        let anchored =
            |anchor: &str| fs::read_to_string(&target).is_ok_and(|text| headings(&text).any(|it| it == anchor));
        if !target.exists() || found.get(2).is_some_and(|anchor| !anchored(anchor.as_str())) {
            writeln!(broken, "`{}` leads nowhere", &found[0][1..])?;
        }
    }
    if broken.is_empty() { Ok(()) } else { Err(broken.into()) }
}

/// Returns the anchors of headings, as GitHub makes them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let titles = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    titles.map(|title| {
        let kept = title
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .collect::<String>();
        kept.replace(' ', "-")
    })
}

/// Checks that TOML and JSON blocks are valid.
fn documents(parts: &[Part<'_>]) -> Result<(), Failed> {
    for part in parts {
        match part {
            Part::Block { language: "json", body, .. } => {
                serde_json::from_str::<serde_json::Value>(body).map_err(|error| format!("{error}:\n{body}"))?;
            }
            Part::Block { language: "toml", body, file: None | Some("gate.toml") } => plan(body)?,
            _ => {}
        }
    }
    Ok(())
}

/// Checks that `gate plan` accepts a gate.toml. For a part of one, the missing entries are added.
fn plan(body: &str) -> Result<(), Failed> {
    static CHECK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)^\[check\.([\w-]+)\]").expect("a pattern"));
    static HOOK: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?m)^(?:stop|task_completed|post_tool_use|pre_commit|commit_msg|pre_push) = "([\w-]+)""#)
            .expect("a pattern")
    });
    static GRANT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#""(command|model):([\w-]+)""#).expect("a pattern"));
    let home = crate::support::tempdir()?;
    let work = home.path().join("work");
    fs::create_dir_all(work.join("checks"))?;
    let mut text = body.to_owned();
    if !body.contains("[gate.") {
        let checks: Vec<String> = CHECK.captures_iter(body).map(|found| format!("{:?}", &found[1])).collect();
        text += "\n[gate.default]\n";
        if checks.is_empty() {
            text += "all = [\"json\"]\n\n[check.json]\nverifier = \"json-syntax\"\n";
        } else {
            writeln!(text, "all = [{}]", checks.join(", "))?;
        }
    }
    for name in HOOK.captures_iter(body).map(|found| found[1].to_owned()).collect::<BTreeSet<_>>() {
        writeln!(text, "\n[gate.{name}]\nall = [\"json\"]")?;
    }
    for found in GRANT.captures_iter(body) {
        let table = format!("[{}.{}]", &found[1], &found[2]);
        if !text.contains(&table) {
            let keys = if &found[1] == "command" {
                "run = [\"true\"]"
            } else {
                "api = \"anthropic\"\nmodel = \"m\"\nkey_env = \"KEY\""
            };
            writeln!(text, "\n{table}\n{keys}")?;
        }
    }
    for name in text.split('"').filter(|word| word.ends_with(".wasm") || word.ends_with(".md")) {
        let (path, component) = (work.join(name), name.ends_with(".wasm"));
        fs::create_dir_all(path.parent().unwrap_or(&work))?;
        fs::write(
            path,
            if component { guests::assemble("scripted", support::SCRIPTED) } else { b"Review it.".to_vec() },
        )?;
    }
    fs::write(work.join("gate.toml"), &text)?;
    let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
    gate.arg("plan");
    if !body.contains("[gate.") {
        gate.arg("default");
    }
    let output = support::isolate(gate.arg("--quiet"), &work, home.path()).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("`gate plan` refuses this:\n{text}\n{}", String::from_utf8_lossy(&output.stderr)).into())
}

/// Checks that every `gate` line of a list of examples names a command and flags that exist.
fn examples(parts: &[Part<'_>]) -> Result<(), Failed> {
    for part in parts {
        let Part::Block { language: "sh", body, .. } = part else { continue };
        for line in body.lines() {
            // Without the comment, the executor and the rest of a pipe.
            let words = [" #", " -- ", " | "].iter().fold(line, |line, end| line.split(end).next().unwrap_or(line));
            let mut words = words.split_whitespace();
            if words.next() != Some("gate") {
                continue;
            }
            let command = words.next().ok_or("a line says `gate` alone")?;
            let help = Command::new(env!("CARGO_BIN_EXE_gate")).args([command, "--help"]).output()?;
            let help = String::from_utf8_lossy(&help.stdout).into_owned();
            let known = |flag: &str| help.split([' ', ',', '\n']).any(|word| word == flag);
            for flag in words.filter(|word| word.starts_with('-') && word.len() > 1) {
                let flag = flag.split('=').next().unwrap_or(flag);
                if !known(flag) {
                    return Err(format!("`{line}`: `gate {command}` has no `{flag}`").into());
                }
            }
            if help.is_empty() {
                return Err(format!("`{line}`: there is no `gate {command}`").into());
            }
        }
    }
    Ok(())
}

/// The mark that the shell prints before the output of a command.
const MARK: &str = "\u{1}command\n";

/// Runs the commands of all console blocks, and compares their output.
fn console(guide: &Path, text: &str, parts: &[Part<'_>]) -> Result<(), Failed> {
    let mut script = String::from("set -u\n");
    let mut expected = Vec::new();
    for part in parts {
        match part {
            Part::Run(hidden) => script += &format!("{{ {hidden} }} > /dev/null 2>&1\n"),
            Part::Block { file: Some(name), body, .. } => {
                script += &format!("cat > {name} <<'END OF FILE'\n{body}END OF FILE\n");
            }
            Part::Block { language: "console", body, .. } => {
                for command in body.split_inclusive('\n').fold(Vec::new(), by_command) {
                    let (line, output) = command.split_once('\n').unwrap_or((&command, ""));
                    let line = line.strip_prefix("$ ").ok_or("a console block starts with a command")?;
                    script += &format!("printf '\\1command\\n'\n{line}\n");
                    expected.push((line.to_owned(), output.to_owned()));
                }
            }
            Part::Block { .. } => {}
        }
    }
    if expected.is_empty() {
        return Ok(());
    }
    let home = crate::support::tempdir()?;
    let work = home.path().canonicalize()?.join("work");
    fs::create_dir(&work)?;
    let gate = Path::new(env!("CARGO_BIN_EXE_gate"));
    let mut path = std::ffi::OsString::from(gate.parent().unwrap_or(gate));
    path.push(":");
    path.push(support::search_path());
    // One stream, in the order in which a terminal would show it.
    let mut bash = Command::new("bash");
    let bash = support::isolate(bash.args(["-c", &format!("exec 2>&1\n{script}")]), &work, home.path());
    let output = bash.env("PATH", path).env("REPOSITORY", repository()).stdin(Stdio::null()).output()?;
    let printed = String::from_utf8_lossy(&output.stdout).replace(&*work.to_string_lossy(), "~/work");
    let found: Vec<&str> = printed.split(MARK).skip(1).collect();
    if found.len() != expected.len() {
        return Err(format!("{} of {} commands ran:\n{printed}", found.len(), expected.len()).into());
    }
    let mut updated = text.to_owned();
    let mut differences = String::new();
    for ((line, expected), found) in expected.iter().zip(found) {
        if normal(expected) != normal(found) {
            updated = updated.replacen(&format!("$ {line}\n{expected}"), &format!("$ {line}\n{found}"), 1);
            let diff = TextDiff::from_lines(expected.as_str(), found).unified_diff().to_string();
            write!(differences, "$ {line}\n{diff}")?;
        }
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(guide, updated)?;
        return Ok(());
    }
    if differences.is_empty() { Ok(()) } else { Err(differences.into()) }
}

/// Groups the lines of a console block: a command, and its output.
fn by_command(mut commands: Vec<String>, line: &str) -> Vec<String> {
    match commands.last_mut() {
        Some(command) if !line.starts_with("$ ") => command.push_str(line),
        _ => commands.push(line.to_owned()),
    }
    commands
}

fn normal(text: &str) -> String {
    VARYING.iter().fold(text.to_owned(), |text, (pattern, instead)| pattern.replace_all(&text, *instead).into_owned())
}
