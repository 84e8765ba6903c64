//! `gate resume`: a person's answer to an escalation.

use crate::args::Global;
use crate::error::Error;
use crate::{Exit, evidence, person};
use clap::Args;
use gatehost::ledger::body::Resume as Answer;
use gatehost::ledger::history;
use gatehost::ledger::{EntryKind, Labels, Ledger, NewEntry};
use std::io::{self, Write};

#[derive(Debug, Args)]
#[command(after_help = "\
While a project is halted, every gate exits with 3. `--retry` and `--skip` end the halt; with `--investigate`, \
somebody looks at it, and it stays halted.

Examples:
  gate resume --retry --reason 'the registry is back'
  gate resume --skip --reason 'task t7 is no longer needed'")]
#[group(skip)]
pub(crate) struct Resume {
    /// Try again; the count of attempts starts over
    #[arg(long, required_unless_present_any = ["skip", "investigate"], conflicts_with_all = ["skip", "investigate"])]
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
}

pub(crate) fn run(global: &Global, command: &Resume) -> Result<Exit, Error> {
    let (ledger, project) = evidence::open(global)?;
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
    let mut out = io::stdout().lock();
    for waiting in waiting {
        let labels = Labels { status: choice.to_owned(), ..waiting.entry.labels.clone() };
        let seq = waiting.entry.seq;
        let answer = Answer {
            escalation: if choice == "investigate" { 0 } else { seq },
            choice: choice.to_owned(),
            by: person::name(),
            reason: command.reason.clone(),
        };
        // Looking into something answers nothing, and does not count attempts again.
        let kind = if choice == "investigate" { EntryKind::Note } else { EntryKind::Resume };
        let entry = match kind {
            EntryKind::Note => {
                let text = format!("{} is investigating the escalation of entry {seq}: {}", answer.by, answer.reason);
                NewEntry::new(kind, labels, &gatehost::ledger::body::Note { text, ..Default::default() })?
            }
            _ => NewEntry::new(kind, labels, &answer)?,
        };
        let entry = ledger.append_one(&project, entry)?;
        writeln!(out, "entry {}: {choice} of the escalation of entry {seq}", entry.seq)?;
    }
    Ok(Exit::Pass)
}
