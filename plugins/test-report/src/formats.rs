//! The formats of reports. Each reads a whole output, in which other things may stand, and says `None` where there is
//! nothing that it knows.

mod cargo;
mod go;
mod jest;
mod junit;
mod pytest;
mod tap;

use crate::report::Report;
use serde::Deserialize;

/// A format.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// Whichever it is.
    Auto,
    /// XML as JUnit writes it.
    Junit,
    /// The Test Anything Protocol.
    Tap,
    /// `cargo test`.
    Cargo,
    /// `pytest`.
    Pytest,
    /// `jest`, also with `--json`.
    Jest,
    /// `go test -json`.
    Go,
}

type Reader = fn(&str) -> Option<Report>;

/// From the one that is least likely to be mistaken.
const READERS: [(Format, Reader); 6] = [
    (Format::Junit, junit::read),
    (Format::Go, go::read),
    (Format::Cargo, cargo::read),
    (Format::Pytest, pytest::read),
    (Format::Jest, jest::read),
    (Format::Tap, tap::read),
];

/// Find the reports.
pub(crate) fn read(format: Format, text: &str) -> impl Iterator<Item = Report> {
    let fits = move |known: Format| format == Format::Auto || format == known;
    READERS.into_iter().filter(move |(known, _)| fits(*known)).filter_map(move |(_, read)| read(text))
}
