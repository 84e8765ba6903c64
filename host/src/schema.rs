//! The JSON Schemas of the documents that people write and programs read: `gate.toml`, the submission, the record.

mod gate_toml;
mod shape;

pub use gate_toml::gate_toml;
pub use shape::differences;

use crate::event::Event;
use crate::looping::LoopRecord;
use crate::record::{MistakeDocument, Record};
use crate::runtime::{BUNDLED, ProgramInput, ProgramOutput};
use crate::submission::Submission;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// Returns the schema of the submission document.
pub fn submission() -> Value {
    let schema = schemars::schema_for!(Submission);
    let mut schema = schema.to_value();
    schema["title"] = json!("Gatehost submission");
    schema
}

/// An example of a submission document.
pub const EXAMPLE_SUBMISSION: &str = include_str!("schema/submission.example.json");

/// An example of an evaluator's transcript, as `--evaluator` reads it.
pub const EXAMPLE_TRANSCRIPT: &str = include_str!("schema/transcript.example.jsonl");

/// Returns the prompt of the bundled reviewer: a template to start from, for its setting `prompt`.
pub fn example_prompt() -> String {
    let reviewer = BUNDLED.iter().find(|bundled| bundled.name == "review-verdict");
    let schema = reviewer.map(|reviewer| reviewer.description().settings_schema);
    let schema = schema.and_then(|schema| serde_json::from_str::<Value>(&schema).ok()).unwrap_or_default();
    schema["properties"]["prompt"]["default"].as_str().unwrap_or_default().to_owned()
}

/// Returns the schema of the record that `--format json` prints.
pub fn record() -> Value {
    written::<Record>("Gatehost record")
}

/// Returns the schema of the document that `--format json` prints after an error.
pub fn mistake() -> Value {
    written::<MistakeDocument>("Gatehost mistake")
}

/// Returns the schema of one line of `--events`.
pub fn event() -> Value {
    written::<Event>("Gatehost event")
}

/// Returns the schema of the record that `gate loop --format json` prints.
pub fn loop_record() -> Value {
    written::<LoopRecord>("Gatehost loop")
}

/// Returns the schema of this serialised type.
fn written<T: schemars::JsonSchema>(title: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    schema["title"] = json!(title);
    schema
}

/// Returns the schema of the input of a program that is used as a verifier.
pub fn program_input() -> Value {
    written::<ProgramInput<'_>>("Gatehost program input")
}

/// Returns the schema of the output of such a program.
pub fn program_output() -> Value {
    let mut schema = schemars::schema_for!(ProgramOutput).to_value();
    schema["title"] = json!("Gatehost program output");
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_are_what_they_say() {
        let said = crate::input::parse(EXAMPLE_SUBMISSION.as_bytes()).expect("a submission");
        assert!(said.task.is_some() && said.claim.is_some() && !said.tool_calls.is_empty());
        assert!(crate::input::transcript(EXAMPLE_TRANSCRIPT.as_bytes()).expect("a transcript").completed);
        // It is a setting of a bundled verifier.
        #[cfg(feature = "bundled")]
        assert!(example_prompt().contains("{{changes}}"), "{}", example_prompt());
    }
}
