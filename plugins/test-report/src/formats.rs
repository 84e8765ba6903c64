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
mod signs;
mod tap;
mod unittest;
mod vitest;

use crate::printed::Printed;
use crate::report::Report;
use serde::Deserialize;
use signs::Signs;

pub(crate) use junit::without_output;
pub(crate) use nextest::without_earlier_tries;

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

/// The reader of a format.
struct Reader {
    format: Format,
    has_sign: fn(&Signs) -> bool,
    read: fn(&Printed<'_>) -> Option<Report>,
}

const fn reader(format: Format, has_sign: fn(&Signs) -> bool, read: fn(&Printed<'_>) -> Option<Report>) -> Reader {
    Reader { format, has_sign, read }
}

const READERS: [Reader; 16] = [
    reader(Format::Junit, |signs| signs.junit, junit::read),
    reader(Format::Go, |signs| signs.go, go::read),
    reader(Format::Go, |signs| signs.go_text, go_text::read),
    reader(Format::Nextest, |signs| signs.nextest, nextest::read),
    reader(Format::Cargo, |signs| signs.cargo, cargo::read),
    reader(Format::Pytest, |signs| signs.pytest, pytest::read),
    reader(Format::Unittest, |signs| signs.unittest, unittest::read),
    reader(Format::Jest, |signs| signs.jest_json, jest::json),
    reader(Format::Jest, |signs| signs.jest, jest::printed),
    reader(Format::Vitest, |signs| signs.vitest, vitest::read),
    reader(Format::Mocha, |signs| signs.mocha, mocha::read),
    reader(Format::Ctest, |signs| signs.ctest, ctest::read),
    reader(Format::Phpunit, |signs| signs.phpunit, phpunit::read),
    reader(Format::Rspec, |signs| signs.rspec, rspec::read),
    reader(Format::Dotnet, |signs| signs.dotnet, dotnet::read),
    reader(Format::Tap, |signs| signs.tap, tap::read),
];

/// What each reader finds in what a command printed.
pub(crate) fn read(format: Format, text: &Printed<'_>) -> Vec<Report> {
    let signs = Signs::of(text);
    let fits = |reader: &&Reader| (format == Format::Auto || format == reader.format) && (reader.has_sign)(&signs);
    READERS.iter().filter(fits).filter_map(|reader| (reader.read)(text)).collect()
}
