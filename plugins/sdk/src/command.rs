//! Shared code of verifiers that run a command: choosing the command, and reporting its exit code.

use crate::commands::{self, Captured, Ending, Error, Output, Rewrite};
use crate::{Class, Finding, Place, Status, Verdict};

/// Runs the command of this name, or the only granted command. Returns one output, or several if the files do not fit on one
/// command line. The error is an abstention.
pub fn run(name: Option<&str>) -> Result<Vec<Output>, Verdict> {
    let name = choose(&commands::granted(), name).map_err(Verdict::abstain)?;
    let outputs = commands::run(&name).map_err(|error| match error {
        Error::NotGranted => Verdict::abstain(format!("the command `{name}` is not granted to this check")),
    })?;
    // Nothing that ran is nothing that passed.
    if outputs.is_empty() { Err(Verdict::abstain(format!("the command `{name}` was not run"))) } else { Ok(outputs) }
}

/// Runs the command of this name, or the only granted command, and judges each output. The worst verdict counts, and all
/// findings are kept.
pub fn judge(name: Option<&str>, judge: impl Fn(&Output) -> Verdict) -> Verdict {
    let outputs = match run(name) {
        Ok(outputs) => outputs,
        Err(verdict) => return verdict,
    };
    let severity = |verdict: &Verdict| match verdict.status {
        Status::Fail => 0,
        Status::Abstain => 1,
        Status::Pass => 2,
        Status::NotApplicable => 3,
    };
    let mut verdicts: Vec<Verdict> = outputs.iter().map(|output| repaired(output, judge(output))).collect();
    let Some(worst) = (0..verdicts.len()).min_by_key(|index| severity(&verdicts[*index])) else {
        return Verdict::abstain("the command was not run");
    };
    let mut verdict = verdicts.remove(worst);
    for other in verdicts {
        verdict.findings.extend(other.findings);
        verdict.metrics.extend(other.metrics);
    }
    verdict
}

/// Adds the changes that a fixer would make to a verdict. A verdict with such a change is a failure.
fn repaired(output: &Output, verdict: Verdict) -> Verdict {
    if output.rewrites.is_empty() {
        return verdict;
    }
    let line = line(output);
    let finding = |rewrite: &Rewrite| {
        let finding = Finding::error("would-change", format!("`{line}` would change this file")).key("would-change");
        let Some(place) = Place::inside(&rewrite.path) else { return finding };
        match rewrite.edits.first() {
            None => finding.at(place),
            Some(first) => finding
                .at(Place { line: Some(first.start_line), ..place })
                .fix(format!("apply the changes of `{line}`"), rewrite.edits.clone()),
        }
    };
    let mut findings = verdict.findings;
    findings.extend(output.rewrites.iter().map(finding));
    let files = output.rewrites.len();
    let summary = format!("{files} file{} would be changed", if files == 1 { "" } else { "s" });
    let summary = if verdict.summary.is_empty() { summary } else { format!("{}; {summary}", verdict.summary) };
    let class = verdict.class.or(Some(Class::VerifyFailure));
    Verdict { status: Status::Fail, summary, findings, class, ..verdict }
}

/// Returns the name of the command to run.
pub fn choose(granted: &[String], name: Option<&str>) -> Result<String, String> {
    let names = granted.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match (name, granted) {
        (Some(name), _) if granted.iter().any(|granted| granted == name) => Ok(name.to_owned()),
        (Some(name), _) => Err(format!("the setting `command` names `{name}`, which is not granted; granted: {names}")),
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(format!("several commands are granted ({names}); name one in the setting `command`")),
    }
}

/// Returns the command line as typed in a shell.
pub fn line(output: &Output) -> String {
    let quoted = |part: &String| {
        let special = |c: char| c.is_whitespace() || "'\"\\$`;&|<>*?(){}[]~#".contains(c);
        let plain = !part.is_empty() && !part.contains(special);
        if plain { part.clone() } else { format!("'{}'", part.replace('\'', r"'\''")) }
    };
    output.argv.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Returns the finding for an unsuccessful command, or `None` for exit code 0.
pub fn failure(output: &Output) -> Option<Finding> {
    let line = line(output);
    Some(match output.ending {
        Ending::Exited(0) => return None,
        Ending::Exited(code) => {
            let finding = Finding::error("exit-nonzero", format!("`{line}` exited with code {code}"));
            match code {
                126 => finding.hint("code 126 means that the shell could not execute a program"),
                127 => finding.hint("code 127 means that the shell did not find a program"),
                _ => finding,
            }
        }
        Ending::Signalled(signal) => Finding::error("signalled", format!("`{line}` was killed by signal {signal}")),
        Ending::TimedOut => Finding::error("timed-out", format!("`{line}` timed out"))
            .hint("make the command faster, or raise its `timeout`"),
    })
}

/// Returns the failure class of a command, which decides whether to retry.
pub fn class(output: &Output) -> Class {
    match output.ending {
        Ending::TimedOut => Class::Timeout,
        Ending::Exited(_) | Ending::Signalled(_) => Class::VerifyFailure,
    }
}

/// Returns whether the host kept the whole output.
pub fn is_whole(captured: &Captured) -> bool {
    captured.length == captured.head.len() as u64
}

/// Returns an output as text, without escape sequences.
pub fn text(captured: &Captured) -> String {
    let decoded = |bytes: &[u8]| match str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    };
    let mut text = decoded(&captured.head);
    if !is_whole(captured) {
        text.push_str("\n[…]\n");
        text.push_str(&decoded(&captured.tail));
    }
    if text.contains('\u{1b}') { without_colours(&text) } else { text }
}

/// Returns a place that a program printed, if it is inside the workspace.
pub fn place(path: &str, line: u32, column: Option<u32>) -> Option<Place> {
    let path = path.strip_prefix("./").unwrap_or(path);
    let line = Some(line).filter(|line| *line > 0);
    let column = line.and(column).filter(|column| *column > 0);
    Some(Place { line, column, ..Place::inside(path)? })
}

/// A text without ANSI escape sequences.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        plain.push_str(&rest[..at]);
        let sequence = &rest[at + 1..];
        let end = match sequence.chars().next() {
            // `ESC [ 1 ; 31 m`
            Some('[') => sequence[1..].find(|c: char| ('@'..='~').contains(&c)).map(|end| end + 2),
            // `ESC ] 8 ; ; https://… BEL`, or `ESC \\` at its end; on one line.
            Some(']') => {
                let line = sequence.find('\n').unwrap_or(sequence.len());
                let end = sequence[..line].find(['\u{7}', '\u{1b}']);
                end.map(|end| end + if sequence[end..].starts_with("\u{1b}\\") { 2 } else { 1 }).or(Some(1))
            }
            // `ESC ( B`
            Some('(' | ')' | '#' | '%') => sequence.char_indices().nth(2).map(|(end, _)| end),
            Some(other) if other.is_ascii_graphic() => Some(1),
            _ => Some(0),
        };
        rest = &sequence[end.unwrap_or(sequence.len())..];
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(text: &str) -> Captured {
        Captured { head: text.into(), tail: Vec::new(), length: text.len() as u64, sha256: String::new() }
    }

    fn ended(ending: Ending) -> Output {
        let argv = vec!["make".to_owned(), "test".to_owned()];
        Output {
            argv,
            ending,
            stdout: captured("out\n"),
            stderr: captured("\u{1b}[1;31merr\u{1b}[0m\n"),
            rewrites: Vec::new(),
            replayed: false,
        }
    }

    #[test]
    fn one_command_must_be_meant() {
        let [a, b] = ["a", "b"].map(str::to_owned);
        for (granted, name, chosen) in [
            (&[a.clone()][..], None, Some("a")),
            (&[a.clone(), b.clone()], Some("b"), Some("b")),
            (&[a.clone(), b], None, None),
            (&[a], Some("c"), None),
            (&[], None, None),
        ] {
            assert_eq!(choose(granted, name).ok().as_deref(), chosen, "{granted:?} {name:?}");
        }
    }

    #[test]
    fn nothing_but_exit_0_is_a_success() {
        for (ending, code) in [
            (Ending::Exited(0), None),
            (Ending::Exited(1), Some("exit-nonzero")),
            (Ending::Exited(-1), Some("exit-nonzero")),
            (Ending::Exited(127), Some("exit-nonzero")),
            (Ending::Signalled(9), Some("signalled")),
            (Ending::TimedOut, Some("timed-out")),
        ] {
            assert_eq!(failure(&ended(ending)).map(|finding| finding.code).as_deref(), code);
        }
    }

    #[test]
    fn nothing_passes_that_a_repair_would_change() {
        let edit =
            crate::Edit { start_line: 3, start_column: 1, end_line: 4, end_column: 1, replacement: "b\n".into() };
        let rewrites = vec![
            Rewrite { path: "src/a.rs".to_owned(), edits: vec![edit] },
            Rewrite { path: "logo.png".to_owned(), edits: Vec::new() },
        ];
        let output = Output { rewrites, ..ended(Ending::Exited(0)) };
        let verdict = repaired(&output, Verdict::pass());
        assert_eq!((verdict.status, &*verdict.summary), (Status::Fail, "2 files would be changed"));
        let fixes: Vec<bool> = verdict.findings.iter().map(|finding| finding.fix.is_some()).collect();
        assert_eq!(fixes, [true, false]);
        assert_eq!(verdict.findings[0].place.as_ref().and_then(|place| place.line), Some(3));
        assert_eq!(repaired(&ended(Ending::Exited(0)), Verdict::pass()).status, Status::Pass);
    }

    #[test]
    fn what_was_printed_is_read_plain_and_what_is_missing_is_marked() {
        let output = ended(Ending::Exited(1));
        assert_eq!((text(&output.stderr), is_whole(&output.stderr)), ("err\n".to_owned(), true));
        let coloured = |text: &str| super::text(&captured(text));
        assert_eq!(coloured("\u{1b}]8;;http://a\u{1b}\\a\u{1b}]8;;\u{7}b\u{1b}(Bc\u{1b}7d\u{1b}"), "abcd");
        assert_eq!(coloured("\u{1b}]never closed\nFAILED"), "never closed\nFAILED");
        let cut = Captured { tail: b"end".to_vec(), length: 100, ..captured("start") };
        assert_eq!((text(&cut), is_whole(&cut)), ("start\n[…]\nend".to_owned(), false));
    }

    #[test]
    fn only_places_inside_the_work_are_named() {
        assert_eq!(place("./src/a.rs", 3, Some(0)).map(|place| place.path).as_deref(), Some("src/a.rs"));
        for outside in ["/etc/passwd", "../a", "a//b", "", ".git/config", "a\\b"] {
            assert!(place(outside, 1, None).is_none(), "{outside}");
        }
    }
}
