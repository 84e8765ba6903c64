//! Asks the person at the terminal.

use crate::error::Error;
use crate::terminal;
use gatehost::ledger::body::Note;
use gatehost::ledger::{EntryKind, Labels, Ledger, NewEntry, Project};
use gatehost::text::clean_line;
use std::io::{self, BufRead, IsTerminal, Write};

/// Returns whether stdin and stderr are a terminal.
pub(crate) fn is_here() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Returns the name of the user, with the user id.
pub(crate) fn name() -> String {
    let name = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()));
    let user = rustix::process::getuid().as_raw();
    clean_line(&name.map_or_else(|| format!("user {user}"), |name| format!("{name} (user {user})")), 200)
}

/// Asks for a word, and returns whether it was typed.
pub(crate) fn confirms(question: &str, word: &str) -> io::Result<bool> {
    terminal::say(question.trim_end_matches('\n'));
    terminal::note_invisible();
    let mut stderr = io::stderr().lock();
    write!(stderr, "Type `{word}` to confirm: ")?;
    stderr.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']) == word)
}

/// Records a refused attempt.
pub(crate) fn note_refusal(ledger: &dyn Ledger, project: &Project, what: &str, why: &str) -> Result<(), Error> {
    let text = format!("`gate {what}` was refused: {why}");
    let labels = Labels { status: "refused".to_owned(), ..Labels::default() };
    ledger.append_one(project, NewEntry::new(EntryKind::Note, labels, &Note { text, ..Note::default() })?)?;
    Ok(())
}
