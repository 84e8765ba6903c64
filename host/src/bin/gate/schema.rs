//! `gate schema`: the JSON Schemas.

use crate::Exit;
use crate::args::{SchemaArgs, SchemaOf};
use crate::error::{Error, Make as _};
use anyhow::anyhow;
use gatehost::schema;
use std::io::Write;

pub(crate) fn run(command: &SchemaArgs) -> Result<Exit, Error> {
    let mut out = std::io::stdout().lock();
    if command.example {
        let example = match command.of {
            SchemaOf::Submission => schema::EXAMPLE_SUBMISSION.to_owned(),
            SchemaOf::Transcript => schema::EXAMPLE_TRANSCRIPT.to_owned(),
            SchemaOf::ReviewPrompt => schema::example_prompt(),
            _ => {
                let none = anyhow!("there is no example of this document");
                let hint =
                    "examples: `submission`, `transcript`, `review-prompt`; `gate init --dry-run` prints a gate.toml";
                return Err(Error::mistake(none).hint(hint.to_owned()));
            }
        };
        writeln!(out, "{}", example.trim_end())?;
        return Ok(Exit::Pass);
    }
    let schema = match command.of {
        SchemaOf::Transcript | SchemaOf::ReviewPrompt => {
            let none = anyhow!("this document has no schema");
            return Err(Error::mistake(none).hint("`--example` prints one to start from".to_owned()));
        }
        SchemaOf::Gate => schema::gate_toml(),
        SchemaOf::Submission => schema::submission(),
        SchemaOf::Record => schema::record(),
        SchemaOf::Mistake => schema::mistake(),
        SchemaOf::Loop => schema::loop_record(),
        SchemaOf::Event => schema::event(),
        SchemaOf::ProgramInput => schema::program_input(),
        SchemaOf::ProgramOutput => schema::program_output(),
    };
    writeln!(out, "{schema:#}")?;
    Ok(Exit::Pass)
}
