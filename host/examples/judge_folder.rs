//! Judge what changed in a folder by its own gate: `cargo run --example judge_folder -- FOLDER`.

use gatehost::environment::Environment;
use gatehost::session::{Host, Request};
use std::process::ExitCode;

fn main() -> ExitCode {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let tokio = match tokio::runtime::Builder::new_current_thread().build() {
        Ok(tokio) => tokio,
        Err(_) => return ExitCode::from(3),
    };
    tokio.block_on(async {
        // Made once; it serves many requests, at the same time too.
        let host = match Host::new(&Environment::of_process()) {
            Ok(host) => host,
            Err(error) => return told(&error.to_string(), error.exit().code()),
        };
        match host.run(Request::new(folder, Environment::of_process()), ()).await {
            Ok(record) => {
                let exit = gatehost::error::Exit::from(record.status).code();
                told(&format!("{}: {} ({} files)", record.gate.name, record.status, record.files), exit)
            }
            Err(error) => told(&error.to_string(), error.exit().code()),
        }
    })
}

#[expect(clippy::print_stdout, reason = "an example")]
fn told(what: &str, exit: u8) -> ExitCode {
    println!("{what}");
    ExitCode::from(exit)
}
