//! Colours, paths and messages for a person at a terminal.

use clap::{ColorChoice, ValueEnum};
use gatehost::text;
pub(crate) use gatehost::text::count;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, StdoutLock, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Returns whether output to this stream is coloured.
pub(crate) fn color(when: Color, stream: &impl IsTerminal) -> bool {
    match when {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}

/// Returns the value of `--color` before the arguments are parsed.
pub(crate) fn color_of_help(arguments: impl Iterator<Item = OsString>) -> ColorChoice {
    let mut words = arguments.map(|word| word.to_string_lossy().into_owned()).take_while(|word| word != "--");
    let mut choice = ColorChoice::Auto;
    while let Some(word) = words.next() {
        let value = match word.strip_prefix("--color") {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        // An invalid value is reported later, with all other errors.
        choice = value.and_then(|value| value.parse().ok()).unwrap_or(choice);
    }
    choice
}

/// The invisible characters that were shown as marks, and are not noted yet.
static INVISIBLE: AtomicU64 = AtomicU64::new(0);

/// Prints a line to stderr; of what it quotes, nothing is hidden. If it cannot be written, there is nobody to tell.
pub(crate) fn say(line: impl Display) {
    let line = text::clean_styled(&line.to_string());
    if !text::has_note(&line) {
        note_later(&line);
    }
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Counts the marks of a text that is printed, so that [`note_invisible`] notes them.
pub(crate) fn note_later(text: &str) {
    INVISIBLE.fetch_add(text::invisible(text), Ordering::Relaxed);
}

/// Notes on stderr the invisible characters that were shown as marks.
pub(crate) fn note_invisible() {
    if let Some(note) = text::invisible_note(INVISIBLE.swap(0, Ordering::Relaxed)) {
        let _ = writeln!(std::io::stderr(), "note: {note}");
    }
}

/// Prints a text for a person: nothing in it is hidden, and a note says how many characters are shown as marks.
pub(crate) fn noted<O: Write>(out: &mut O, print: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
    let mut text = Vec::new();
    print(&mut text)?;
    let text = text::clean_styled(&String::from_utf8_lossy(&text));
    out.write_all(text.as_bytes())?;
    match text::invisible_note(text::invisible(&text)) {
        Some(note) => writeln!(out, "note: {note}"),
        None => Ok(()),
    }
}

/// Returns stdout for the output of a command. A reader may close the pipe when it has seen enough, as `head` does: then the
/// rest is discarded, and the exit code is not affected.
pub(crate) fn stdout() -> Stdout {
    Stdout(io::stdout().lock())
}

/// The stdout of [`stdout`].
pub(crate) struct Stdout(StdoutLock<'static>);

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unless_closed(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        unless_closed(self.0.flush(), ())
    }
}

fn unless_closed<T>(written: io::Result<T>, instead: T) -> io::Result<T> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(instead),
        written => written,
    }
}

/// The most columns of a line.
const WIDTH: usize = 80;

/// Prints a line, wrapped between words within 80 columns. The lines that follow are indented by `indent`.
pub(crate) fn wrapped(out: &mut impl Write, text: &str, indent: usize) -> io::Result<()> {
    let start = text.len() - text.trim_start().len();
    let mut line = " ".repeat(start);
    for word in text.trim_start().split(' ') {
        let is_first = line.trim().is_empty();
        if !is_first && line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(out, "{line}")?;
            line = " ".repeat(indent) + word;
        } else {
            line += if is_first { "" } else { " " };
            line += word;
        }
    }
    writeln!(out, "{line}")
}

/// Returns a path in `directory`, relative to the folder where the program was started.
pub(crate) fn from_start(directory: &Path, path: &Path) -> PathBuf {
    if directory == Path::new(".") { path.to_owned() } else { directory.join(path) }
}

/// Returns a path without unnecessary `.` parts.
pub(crate) fn path(path: &Path) -> String {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    text::clean_line(&parts.collect::<PathBuf>().display().to_string(), usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_known_before_the_arguments_are() {
        for (arguments, expected) in [
            ("gate run", ColorChoice::Auto),
            ("gate --color never run --help", ColorChoice::Never),
            ("gate run --nope --color=always", ColorChoice::Always),
            ("gate --color pink", ColorChoice::Auto),
            ("gate --color", ColorChoice::Auto),
            ("gate --colour never", ColorChoice::Auto),
            ("gate run -- --color never", ColorChoice::Auto),
        ] {
            assert_eq!(color_of_help(arguments.split(' ').map(OsString::from)), expected, "{arguments}");
        }
    }
}
