//! `gate compile`: compile components ahead.

use crate::args::{Compile, Global};
use crate::complaint::Complaint;
use crate::{Exit, prepare};
use gatehost::runtime::{Code, Source};
use std::io::{IsTerminal, Write};
use std::time::Instant;

pub(crate) fn run(global: &Global, command: &Compile) -> Result<Exit, Complaint> {
    let runtime = prepare::runtime()?;
    let mut out = std::io::stdout().lock();
    let watched = std::io::stderr().is_terminal() && !global.quiet;
    let total = command.components.len();
    for (number, name) in command.components.iter().enumerate() {
        let source = Source::named(name, &global.directory)?;
        if watched {
            eprint!("\r\x1b[Kcompiling [{}/{total}] {name} ({} KiB) …", number + 1, source.bytes().len() / 1024);
        }
        let start = Instant::now();
        let code = runtime.compile(&source);
        if watched {
            eprint!("\r\x1b[K");
        }
        let what = match code? {
            Code::Bundled => "bundled, already compiled".to_owned(),
            Code::Cached => "already compiled".to_owned(),
            Code::Compiled => format!("compiled in {} ms", start.elapsed().as_millis()),
        };
        if !global.quiet {
            writeln!(out, "{name}: {what}")?;
        }
    }
    Ok(Exit::Pass)
}
