//! What depends on being watched by a person.

use clap::ValueEnum;
use std::io::IsTerminal;
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

/// Whether to colour what goes to this stream.
pub(crate) fn color(when: Color, stream: &impl IsTerminal) -> bool {
    match when {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}

/// A path as a person would write it: without the folders that stay where they are.
pub(crate) fn path(path: &Path) -> String {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts.collect::<PathBuf>().display().to_string()
}
