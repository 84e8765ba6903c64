//! Prints errors: what failed, why, and what to do.

use crate::terminal::say;
use anstyle::AnsiColor;
pub(crate) use gatehost::error::Error;
use gatehost::error::is_of_the_machine;
use gatehost::text;

/// Makes errors from those of the program's own parts.
pub(crate) trait Make {
    /// Returns an error that the caller must fix.
    fn mistake(error: impl Into<anyhow::Error>) -> Self;
    /// Returns an error of `gate` itself.
    fn broken(error: impl Into<anyhow::Error>) -> Self;
    /// Prints the error to stderr.
    fn print(&self, color: bool);
}

impl Make for Error {
    fn mistake(error: impl Into<anyhow::Error>) -> Self {
        let error = error.into();
        if error.chain().any(is_of_the_machine) {
            return Self::broken(error);
        }
        let made = Self::usage(&error);
        if error.source().is_some() { made.because(Chain(error)) } else { made }
    }

    fn broken(error: impl Into<anyhow::Error>) -> Self {
        let error = error.into();
        let made = Self::host(&error);
        if error.source().is_some() { made.because(Chain(error)) } else { made }
    }

    fn print(&self, color: bool) {
        let paint = |word: &str, colour: AnsiColor| text::paint(color, colour.on_default(), word);
        // What is quoted cannot begin a line as an error of its own.
        let line = |word: &str, colour, text: &str| {
            say(format_args!("{} {}", paint(word, colour), text.replace('\n', "\n  ")))
        };
        for (message, causes, hint) in self.problems() {
            line("error:", AnsiColor::Red, message);
            causes.iter().for_each(|cause| line("caused by:", AnsiColor::Yellow, cause));
            hint.iter().for_each(|hint| line("hint:", AnsiColor::Cyan, hint));
        }
    }
}

/// The causes of an error, without its own message.
#[derive(Debug)]
struct Chain(anyhow::Error);

impl std::fmt::Display for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.source() {
            Some(source) => std::fmt::Display::fmt(source, f),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Chain {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source().and_then(std::error::Error::source)
    }
}
