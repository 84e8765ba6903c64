//! Use a component that is in memory as a verifier of single files: `cargo run --example verifier_from_bytes -- a.wasm FILE`.
//!
//! This is the layer below a gate: one component, one file, one verdict.

use gatehost::limits::Limits;
use gatehost::runtime::{CallContext, ComponentSource, FileInput, Grants, Runtime};
use gatehost::verdict::Status;

#[expect(clippy::print_stdout, reason = "an example")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(component), Some(file)) = (arguments.next(), arguments.next()) else {
        return Err("expected a component and a file".into());
    };
    let source = ComponentSource::from_bytes(std::fs::read(component)?);
    // No cache: the component is compiled for this run alone.
    let runtime = Runtime::new(None);
    // No grants: a component that imports a capability is refused here, by name.
    let verifier = runtime.load(&source, &Grants::default())?;
    let limits = Limits::default();
    let terms = CallContext::new("{}", &limits);
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
    let input = FileInput::new(&file, std::fs::read(&file)?);
    let answer = tokio.block_on(runtime.check_file(&verifier, &terms, input));
    for finding in &answer.verdict.findings {
        println!("{}: {}", finding.code, finding.message);
    }
    println!("{file}: {}", answer.verdict.status);
    if answer.verdict.status == Status::Pass { Ok(()) } else { Err("it did not pass".into()) }
}
