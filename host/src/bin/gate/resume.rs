//! `gate resume`: answers an escalation, or continues an interrupted loop.

use crate::args::{Arguments, Command, Global};
use crate::error::Error;
use crate::{evidence, loop_, person, terminal};
use clap::{Args, Parser as _};
use gatehost::ledger::body::Resume as Answer;
use gatehost::ledger::history;
use gatehost::ledger::{EntryKind, Labels, Ledger, NewEntry};
use gatehost::looping::{self, InterruptedLoop};
use std::io::Write;
use std::process::ExitCode;

#[derive(Debug, Args)]
#[command(after_help = "\
Without a choice, `gate resume` continues the last `gate loop` that was interrupted by a signal or a crash. Attempts that had \
started count, and nothing passes unchecked. While a project is halted, every gate exits with 3. `--retry` and `--skip` end \
the halt. `--investigate` only notes that somebody looks at it.

Examples:
  gate resume
  gate resume --retry --reason 'the registry is back'
  gate resume --skip --reason 'task t7 is no longer needed'")]
#[group(skip)]
pub(crate) struct ResumeArgs {
    /// Try again: attempts are counted anew
    #[arg(long, conflicts_with_all = ["skip", "investigate"])]
    retry: bool,
    /// Continue without the task; it stays without a pass
    #[arg(long, conflicts_with = "investigate")]
    skip: bool,
    /// Note that you are investigating; the state does not change
    #[arg(long)]
    investigate: bool,
    /// The reason
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
    /// The entry number of the escalation [default: all open ones]
    #[arg(long, value_name = "N")]
    entry: Option<u64>,
    /// The loop to continue [default: the last interrupted one]
    #[arg(long = "loop", value_name = "ID", conflicts_with_all = ["retry", "skip", "investigate"])]
    looping: Option<String>,
}

pub(crate) fn run(global: &Global, command: &ResumeArgs) -> Result<ExitCode, Error> {
    let (ledger, project) = evidence::open(global)?;
    if !command.retry && !command.skip && !command.investigate {
        let interrupted = looping::interrupted(&ledger, &project)?;
        return go_on(global, command, interrupted, history::waiting(&ledger, &project)?.is_empty());
    }
    let mut waiting = history::waiting(&ledger, &project)?;
    waiting.retain(|waiting| command.entry.is_none_or(|entry| entry == waiting.entry.seq));
    if waiting.is_empty() {
        return Err(Error::usage("no escalation is open in this project"));
    }
    let choice = match (command.retry, command.skip) {
        (true, _) => "retry",
        (_, true) => "skip",
        _ => "investigate",
    };
    if !person::is_here() {
        person::note_refusal(&ledger, &project, "resume", "there is no terminal")?;
        return Err(Error::usage("an escalation is answered by a person at a terminal"));
    }
    let mut out = terminal::stdout();
    for waiting in waiting {
        let labels = Labels { status: choice.to_owned(), ..waiting.entry.labels.clone() };
        let seq = waiting.entry.seq;
        let answer = Answer {
            escalation: if choice == "investigate" { 0 } else { seq },
            choice: choice.to_owned(),
            by: person::name(),
            reason: command.reason.clone(),
        };
        // Investigating answers nothing, and does not reset attempts.
        let kind = if choice == "investigate" { EntryKind::Note } else { EntryKind::Resume };
        let entry = match kind {
            EntryKind::Note => {
                let text = format!("{} is investigating the escalation of entry {seq}: {}", answer.by, answer.reason);
                NewEntry::new(kind, labels, &gatehost::ledger::body::Note { text, ..Default::default() })?
            }
            _ => NewEntry::new(kind, labels, &answer)?,
        };
        let entry = ledger.append_one(&project, entry)?;
        writeln!(out, "entry {}: answers the escalation of entry {seq} with `{choice}`", entry.seq)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Continues an interrupted loop: the named one, or the last one.
fn go_on(
    global: &Global,
    command: &ResumeArgs,
    mut interrupted: Vec<InterruptedLoop>,
    nobody_waits: bool,
) -> Result<ExitCode, Error> {
    interrupted.retain(|found| command.looping.as_ref().is_none_or(|id| found.id.starts_with(id.as_str())));
    let Some(found) = interrupted.pop() else {
        let hint = match nobody_waits {
            true => "`gate log` lists the entries",
            false => "an escalation waits: answer it with `--retry`, `--skip` or `--investigate`",
        };
        return Err(Error::usage("no loop of this project was interrupted").hint(hint.to_owned()));
    };
    if !found.is_latest && command.looping.is_none() {
        let earlier = format!("the last loop has ended; an earlier one, started at {}, was interrupted", found.started);
        return Err(Error::usage(earlier).hint(format!("continue it with `gate resume --loop {}`", found.id)));
    }
    if found.is_running {
        return Err(Error::usage(format_args!("the loop `{}` still runs", found.id)));
    }
    let cannot = |why: &str| Error::usage(format_args!("the loop `{}` cannot be resumed: {why}", found.id));
    if found.arguments.is_empty() {
        return Err(cannot("its arguments were not stored"));
    }
    let arguments = std::iter::once("gate".to_owned()).chain(found.arguments.iter().cloned());
    let parsed = Arguments::try_parse_from(arguments)
        .map_err(|_| cannot("its arguments were stored by another version of `gate`"))?;
    let Command::Loop(looped) = parsed.command else { return Err(cannot("it was not started by `gate loop`")) };
    let global = Global { directory: found.folder.clone(), color: global.color, ..parsed.global };
    loop_::resumed(&global, &looped, Some(&found))
}
