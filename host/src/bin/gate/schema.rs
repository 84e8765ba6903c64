//! `gate schema`: the JSON Schemas.

use crate::Exit;
use crate::args::{Schema, SchemaOf};
use crate::error::Error;
use gatehost::schema;
use std::io::Write;

pub(crate) fn run(command: &Schema) -> Result<Exit, Error> {
    let schema = match command.of {
        SchemaOf::Gate => schema::gate_toml(),
        SchemaOf::Submission => schema::submission(),
        SchemaOf::Record => schema::record(),
        SchemaOf::Mistake => schema::mistake(),
        SchemaOf::Loop => schema::loop_record(),
        SchemaOf::Event => schema::event(),
        SchemaOf::ProgramInput => schema::program_input(),
        SchemaOf::ProgramOutput => schema::program_output(),
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{schema:#}")?;
    Ok(Exit::Pass)
}
