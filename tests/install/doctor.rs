//! `gate doctor`: what it proves, and what it finds.

use super::Work;
use crate::support::CLOSED_PORT;
use gatehost::hook::AgentHost;
use gatehost::install;
use std::fs;
use std::io::Write;
use std::path::Path;

#[test]
fn the_doctor_proves_what_works_and_finds_what_does_not() {
    let work = Work::new();
    let (code, said) = work.run("gate", &["doctor"]);
    assert!(code == Some(1) && said.contains("no hook is installed"), "{said}");
    work.must("gate", &["install", "claude", "git"]);
    let said = work.must("gate", &["doctor"]);
    for line in [
        "ok    claude Stop: blocks the sample",
        "ok    claude SubagentStop: blocks the sample",
        "ok    claude TaskCompleted: blocks the sample",
        "ok    claude TeammateIdle: blocks the sample",
        "ok    git pre-commit: refuses the sample",
        "ok    git commit-msg: refuses the sample",
        "ok    claude PostToolUse: blocks the sample",
        "ok    git pre-push: refuses the sample",
        "note  ledger: `gate run` creates one in ",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    // A path that leads nowhere, a deadline that is too late, a typo.
    let settings = install::settings_file(AgentHost::Claude);
    let good = work.read(settings);
    for (old, new, expected) in [
        (env!("CARGO_BIN_EXE_gate"), "/no/such/gate", "exit code 127"),
        ("--deadline 570", "--deadline 900", "but the hook may take 900 s"),
        ("--deadline 570", "--deadlin 570", "exit code 2"),
    ] {
        work.write(settings, &good.replace(old, new));
        let (code, said) = work.run("gate", &["doctor"]);
        // A mistake on the command line exits with 2, which Claude Code takes for a block without the sample's mistake.
        let found = said.contains(expected) || said.contains("did not find the mistake");
        assert!(code == Some(1) && found, "{new}: {said}");
        work.must("gate", &["doctor", "--fix"]);
        assert_eq!(work.read(settings), good, "{new}");
    }
    work.write(settings, "{ nonsense");
    let (code, said) = work.run("gate", &["doctor"]);
    assert!(code == Some(1) && said.contains("not valid JSON"), "{said}");
    // Codex skips a hook that it does not trust.
    work.write(settings, "{}");
    work.must("gate", &["install", "codex"]);
    let (code, said) = work.run("gate", &["doctor"]);
    assert!(code == Some(1) && said.contains("skips it silently"), "{said}");
    assert!(Path::new(env!("CARGO_BIN_EXE_gate")).is_absolute());
}

#[test]
fn the_doctor_finds_what_switches_hooks_off() {
    let work = Work::new();
    work.must("gate", &["install", "claude", "gemini"]);
    for (file, text, setting) in [
        (".claude/settings.json", "{ \"disableAllHooks\": true }", "disableAllHooks"),
        ("../.claude/settings.json", "{ \"disableAllHooks\": true }", "disableAllHooks"),
        ("../.gemini/settings.json", "{ \"hooksConfig\": { \"enabled\": false } }", "hooksConfig.enabled"),
        ("../.gemini/settings.json", "{ \"hooksConfig\": { \"disabled\": [\"gate\"] } }", "hooksConfig.disabled"),
    ] {
        work.write(file, text);
        let (code, said) = work.run("gate", &["doctor"]);
        assert!(code == Some(1) && said.contains(&format!("`{setting}` in")), "{file}: {said}");
        fs::remove_file(work.folder().join(file)).expect("removed");
    }
    work.must("gate", &["doctor"]);
}

#[test]
fn the_doctor_asks_models_whether_they_are_there() {
    let work = Work::new();
    work.must("gate", &["install", "claude"]);
    let gate = |port: u16, second: &str| {
        format!(
            "[gate.default]\nvote = [\"a\", \"b\"]\n\
             [check.a]\nverifier = \"review-verdict\"\ngrants = [\"workspace\", \"model:one\"]\n\
             [check.b]\nverifier = \"review-verdict\"\ngrants = [\"workspace\", \"model:two\"]\n\
             [model.one]\napi = \"openai\"\nmodel = \"large-4\"\nurl = \"http://127.0.0.1:{port}/v1\"\n\
             [model.two]\napi = \"openai\"\nmodel = \"{second}\"\nurl = \"http://127.0.0.1:{port}/v1\"\n"
        )
    };
    // A server that says that nothing was asked, and a port at which nobody listens.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            answer_nothing_was_asked(stream);
        }
    });
    work.write("gate.toml", &gate(port, "small-1"));
    let said = work.must("gate", &["doctor"]);
    assert!(said.contains("ok    model one: can be reached") && said.contains("ok    model two"), "{said}");
    work.write("gate.toml", &gate(port, "vendor/large-4-20260101"));
    let (code, said) = work.run("gate", &["doctor"]);
    assert!(code == Some(1) && said.contains("`one` and `two` are the same model"), "{said}");
    work.write("gate.toml", &gate(CLOSED_PORT, "small-1"));
    let (code, said) = work.run("gate", &["doctor"]);
    assert!(code == Some(1) && said.contains("fail  model one: "), "{said}");
}

fn answer_nothing_was_asked(mut stream: std::net::TcpStream) {
    use std::io::{BufRead, BufReader, Read};
    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).is_ok_and(|read| read > 2) {
            let value = line.to_ascii_lowercase().strip_prefix("content-length:").map(|value| value.trim().to_owned());
            length = value.and_then(|value| value.parse().ok()).unwrap_or(length);
        } else {
            break;
        }
    }
    let _ = reader.read_exact(&mut vec![0; length]);
    let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
}
