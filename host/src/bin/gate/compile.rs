//! `gate compile`: compiles components ahead of time.

use crate::args::Global;
use crate::error::{Error, Make as _};
use crate::{Exit, setup, terminal};
use anyhow::anyhow;
use clap::Args;
use gatehost::runtime::{Code, ComponentSource, Runtime};
use gatehost::text;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Instant;

#[derive(Debug, Args)]
#[command(after_help = "\
The result is cached in $GATE_CACHE_DIR, else in `gatehost` under $XDG_CACHE_HOME or ~/.cache.

Example:
  gate compile checks/*.wasm")]
pub(crate) struct CompileArgs {
    /// The components
    #[arg(required = true, value_name = "COMPONENT")]
    pub(crate) components: Vec<String>,
}

/// Compiles every component, even if one fails; the worst result is the exit code.
pub(crate) fn run(global: &Global, command: &CompileArgs) -> Result<Exit, Error> {
    // Without a cache, the compiled code would be lost.
    let store = setup::store().map_err(Error::broken)?;
    let runtime = Runtime::new(Some(Arc::new(store)));
    let mut out = terminal::stdout();
    let mut worst = Exit::Pass;
    for (number, name) in command.components.iter().enumerate() {
        let progress = CompileProgress { number: number + 1, total: command.components.len(), name };
        match compile(global, &runtime, &progress) {
            Ok(_) if global.quiet => {}
            Ok(what) => terminal::noted(&mut out, |out| writeln!(out, "{}: {what}", text::clean_line(name, 1_000)))?,
            Err(error) => {
                let error = error.context(&format!("cannot compile `{name}`"));
                error.print(terminal::color(global.color, &std::io::stderr()));
                worst = worst.max(error.exit());
            }
        }
    }
    Ok(worst)
}

/// The current component.
struct CompileProgress<'a> {
    number: usize,
    total: usize,
    name: &'a str,
}

fn compile(global: &Global, runtime: &Runtime, progress: &CompileProgress) -> Result<String, Error> {
    let CompileProgress { number, total, name } = progress;
    let source = ComponentSource::named(name, &global.directory)?;
    let watched = std::io::stderr().is_terminal() && !global.quiet;
    let show = |text: &str| {
        if watched {
            let _ = write!(std::io::stderr(), "\r\x1b[K{}", text::clean_line(text, 1_000));
        }
    };
    show(&format!("compiling [{number}/{total}] {name} ({} KiB) …", source.bytes().len() / 1024));
    let start = Instant::now();
    let code = runtime.compile(&source);
    show("");
    match code? {
        Code::Bundled => Ok("bundled, already compiled".to_owned()),
        Code::Cached => Ok("already compiled".to_owned()),
        Code::Compiled => Ok(format!("compiled in {} ms", start.elapsed().as_millis())),
        Code::Unkept => Err(Error::broken(anyhow!("the compiled code could not be cached"))
            .hint("check that the cache folder is writable and the disk is not full".to_owned())),
    }
}
