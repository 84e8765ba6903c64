//! Colours, paths and messages for a person at a terminal.

use clap::{ColorChoice, ValueEnum};
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::path::{Component, Path, PathBuf};

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

/// Prints a line to stderr. If it cannot be written, there is nobody to tell.
pub(crate) fn say(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Returns a count such as `1 file` or `2 files`.
pub(crate) fn count(number: usize, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

/// Returns a path in `directory`, relative to the folder where the program was started.
pub(crate) fn from_start(directory: &Path, path: &Path) -> PathBuf {
    if directory == Path::new(".") { path.to_owned() } else { directory.join(path) }
}

/// Returns a path without unnecessary `.` parts.
pub(crate) fn path(path: &Path) -> String {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts.collect::<PathBuf>().display().to_string()
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
