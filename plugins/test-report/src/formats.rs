//! The formats of reports. Each reader gets a whole output, which may contain other text, and returns `None` if the output
//! has no report in its format. Several reports of one format are merged into one.

mod cargo;
mod ctest;
mod dotnet;
mod go;
mod go_text;
mod jest;
mod junit;
mod mocha;
mod nextest;
mod phpunit;
mod pytest;
mod rspec;
mod tap;
mod unittest;
mod vitest;

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
    /// `cargo nextest`.
    Nextest,
    /// `pytest`.
    Pytest,
    /// Python's `unittest`.
    Unittest,
    /// `jest`, also with `--json`.
    Jest,
    /// `mocha`.
    Mocha,
    /// `vitest`.
    Vitest,
    /// `go test`, also with `-json`.
    Go,
    /// `ctest`.
    Ctest,
    /// `phpunit`.
    Phpunit,
    /// `rspec`.
    Rspec,
    /// `dotnet test`.
    Dotnet,
}

type Reader = fn(&str) -> Option<Report>;

const READERS: [(Format, Reader); 16] = [
    (Format::Junit, junit::read),
    (Format::Go, go::read),
    (Format::Go, go_text::read),
    (Format::Nextest, nextest::read),
    (Format::Cargo, cargo::read),
    (Format::Pytest, pytest::read),
    (Format::Unittest, unittest::read),
    (Format::Jest, jest::json),
    (Format::Jest, jest::printed),
    (Format::Vitest, vitest::read),
    (Format::Mocha, mocha::read),
    (Format::Ctest, ctest::read),
    (Format::Phpunit, phpunit::read),
    (Format::Rspec, rspec::read),
    (Format::Dotnet, dotnet::read),
    (Format::Tap, tap::read),
];

/// What each reader finds in what a command printed.
pub(crate) fn read(format: Format, text: &str) -> Vec<Report> {
    let fits = |known: Format| format == Format::Auto || format == known;
    let text = &*nextest::without_earlier_tries(text);
    READERS.into_iter().filter(|(known, _)| fits(*known)).filter_map(|(_, read)| read(text)).collect()
}

/// A text without what its reports quote from tests: the output in JUnit's XML, and that of tries that nextest repeated.
pub(crate) fn without_captured_output(text: &str) -> String {
    junit::without_output(&nextest::without_earlier_tries(text))
}
