//! The evidence that the host collects while checks run.

use crate::verdict::{Class, Finding, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A command that the host ran for a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CommandEvidence {
    /// Its name in the configuration.
    pub name: String,
    /// What was run.
    pub argv: Vec<String>,
    /// The exit code; `None` after a signal or a time-out.
    pub exit_code: Option<i32>,
    /// The signal that killed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether it timed out.
    #[serde(skip_serializing_if = "is_false")]
    pub timed_out: bool,
    /// The output, shortened: stdout, then stderr.
    pub output: String,
    /// Length and digest of stdout.
    pub stdout: Printed,
    /// Length and digest of stderr.
    pub stderr: Printed,
    /// When it began, in UTC.
    pub started: String,
    /// How long it ran.
    pub duration_ms: u64,
    /// The sandbox level: `none`, `landlock` or `namespaces`.
    pub sandbox: String,
    /// Whether it ran on the base commit.
    #[serde(skip_serializing_if = "is_false")]
    pub on_base: bool,
    /// Whether its result was replayed from another run.
    #[serde(skip_serializing_if = "is_false")]
    pub replayed: bool,
}

impl CommandEvidence {
    /// Returns the command line, as one would type it.
    pub fn line(&self) -> String {
        let quoted = |part: &String| {
            let plain =
                !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || "'\"\\$`;&|<>*?(){}[]~#".contains(c));
            if plain { part.clone() } else { format!("'{}'", part.replace('\'', r"'\''")) }
        };
        self.argv.iter().map(quoted).collect::<Vec<_>>().join(" ")
    }

    /// Returns how it ended, in words.
    pub fn ending(&self) -> String {
        match (self.timed_out, self.signal, self.exit_code) {
            (true, ..) => "timed out".to_owned(),
            (_, Some(signal), _) => format!("killed by signal {signal}"),
            (_, _, Some(code)) => format!("exit {code}"),
            _ => "unknown exit".to_owned(),
        }
    }
}

/// The length and digest of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Printed {
    /// How many bytes there were.
    pub length: u64,
    /// SHA-256 of all of them, in hexadecimal.
    pub sha256: String,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A question that a check asked a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelEvidence {
    /// The name of the model in the configuration.
    pub name: String,
    /// The model that answered, as it named itself.
    pub model: Option<String>,
    /// The family that the model belongs to.
    pub family: Option<String>,
    /// How the answer ended, or why there is none.
    pub ended: String,
    /// SHA-256 of the question, in hexadecimal.
    pub question_sha256: String,
    /// SHA-256 of the answer, in hexadecimal.
    pub answer_sha256: Option<String>,
    /// Whether the answer was replayed from another run.
    pub replayed: bool,
}

/// The evidence from an earlier check of the same run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The check.
    pub check: String,
    /// The verifier that it used.
    pub verifier: String,
    /// Its status.
    pub outcome: Status,
    /// Its summary.
    pub summary: String,
    /// Its findings.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The commands that ran for it.
    #[serde(default)]
    pub commands: Vec<CommandEvidence>,
    /// The digest of the verifier's component.
    #[serde(default)]
    pub digest: String,
    /// Which kind of failure it is.
    #[serde(default)]
    pub class: Option<Class>,
    /// How sure it is.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// The models that were asked for it.
    #[serde(default)]
    pub models: Vec<ModelEvidence>,
}
