//! `gate schema`: prints JSON Schemas and examples.

use crate::error::{Error, Make as _};
use crate::{Exit, terminal};
use anyhow::anyhow;
use clap::{Args, ValueEnum};
use gatehost::schema;
use std::io::Write;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gate schema gate > gate.schema.json
  gate schema submission --example > done.json
  gate schema review-prompt --example > review.md")]
pub(crate) struct SchemaArgs {
    /// The document
    #[arg(value_enum)]
    pub(crate) of: SchemaOf,
    /// Print an example to start from instead
    #[arg(long)]
    pub(crate) example: bool,
}

/// A document with a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// gate.toml
    Gate,
    /// The document of `gate run --submission`
    Submission,
    /// The document that `gate run --format json` prints
    Record,
    /// The document that it prints instead after a usage, configuration or input error
    Mistake,
    /// The document that `gate loop --format json` prints
    Loop,
    /// One line of `gate run --events`
    Event,
    /// The input of a program that is used as a verifier
    ProgramInput,
    /// The output of such a program
    ProgramOutput,
    /// The document of `gate run --evaluator`; only with `--example`
    Transcript,
    /// The prompt of a reviewer; only with `--example`
    ReviewPrompt,
}

pub(crate) fn run(command: &SchemaArgs) -> Result<Exit, Error> {
    let mut out = terminal::stdout();
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
