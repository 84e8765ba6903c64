//! Watch what happens while a gate runs: `cargo run --example watch_events -- FOLDER`.

use gatehost::environment::Environment;
use gatehost::event::{Event, EventKind};
use gatehost::session::{Host, Request};

#[expect(clippy::print_stdout, reason = "an example")]
fn main() -> Result<(), gatehost::error::Error> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let tokio = tokio::runtime::Builder::new_current_thread().build()?;
    let host = Host::new(&Environment::of_process())?;
    // An observer is anything that takes events; a closure will do.
    let watch = |event: &Event| match &event.what {
        EventKind::CheckEnded { path, outcome, duration_ms, .. } => {
            println!("{path}: {} after {duration_ms} ms", outcome.as_str());
        }
        EventKind::RunEnded { status, .. } => println!("the run ended: {status}"),
        _ => {}
    };
    tokio.block_on(host.run(Request::new(folder, Environment::of_process()), watch))?;
    Ok(())
}
