//! Runs the command of `[escalation] notify`, in the sandbox, when human review is needed.
//!
//! The command gets one JSON document on stdin. Its result does not change the run; a ledger entry records that it ran and
//! how it ended.

use crate::commands::{CommandEnding, Commands};
use crate::config::Config;
use crate::environment::Environment;
use crate::error::Error;
use crate::ledger::body::{Escalation, Note};
use crate::ledger::{Durability, Entry, EntryKind, Labels, Ledger, NewEntry};
use crate::text::{clean_line, clean_value, json_line};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Runs the command of `[escalation] notify`, if the configuration has one, for an escalation.
pub(crate) async fn notify(
    config: &Config,
    environment: &Environment,
    root: PathBuf,
    ledger: &dyn Ledger,
    asked: &Entry,
) -> Result<(), Error> {
    let Some(name) = &config.escalation.notify else { return Ok(()) };
    let Some(command) = config.commands.get(name) else { return Ok(()) };
    let Escalation { level, trigger, why, offers } = asked.read()?;
    let labels = &asked.labels;
    let mut told = json!({
        "entry": asked.seq, "at": asked.at, "project": asked.project, "run": labels.run, "task": labels.task,
        "group": labels.group, "gate": labels.gate, "status": labels.status, "class": labels.class,
        "level": level, "trigger": trigger, "why": why, "offers": offers,
        "answer_with": offers.iter().map(|offer| format!("gate resume --{offer} --entry {}", asked.seq)).collect::<Vec<_>>(),
    });
    clean_value(&mut told);
    let commands = Commands::new(BTreeMap::from([(name.clone(), command.clone())]), root);
    let ran = commands.with_environment(environment.clone()).run(name, json_line(&told)?.into_bytes()).await;
    let text = match ran {
        Ok(ran) => match ran.ending {
            CommandEnding::Exited(0) => format!("`{name}` notified a person about entry {}", asked.seq),
            CommandEnding::Exited(code) => format!("`{name}` exited with {code}, so perhaps nobody was notified"),
            CommandEnding::Signalled(signal) => {
                format!("`{name}` was killed by signal {signal}, so perhaps nobody was notified")
            }
            CommandEnding::TimedOut => {
                format!("`{name}` timed out, so perhaps nobody was notified")
            }
        },
        Err(error) => {
            format!("`{name}` could not be run, so nobody was notified: {}", clean_line(&error.to_string(), 300))
        }
    };
    let note = Note { text, ..Note::default() };
    let labels = Labels { status: "notify".to_owned(), ..labels.clone() };
    let entry = NewEntry::new(EntryKind::Note, labels, &note)?;
    ledger.append(&asked.project, vec![entry], Durability::Process)?;
    Ok(())
}
