//! Runs a verifier on its cases, and compares its answers with the expected ones.

use super::Mistake;
use super::case::{Case, CaseInput};
use crate::config::Grant;
use crate::limits::Limits;
use crate::plan::{self, Shape};
use crate::runtime::{
    AskModels, CallContext, CallResult, Capabilities, Capability, ComponentSource, ComponentType, Description, Granted,
    Grants, ReadFiles, RunCommands, Runtime, Verifier,
};
use crate::settings;
use crate::text::clean_json;
use crate::verdict::{ErrorKind, Failure, Status};
use crate::workspace::Workspace;
use serde_json::Value;
use similar::TextDiff;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A verifier under test.
#[derive(Debug)]
pub struct Trial {
    pub(super) runtime: Arc<Runtime>,
    pub(super) verifier: Arc<Verifier>,
    /// Its imports and exports.
    pub component_type: ComponentType,
    /// Its description.
    pub about: Description,
    /// The workspace of cases without one.
    empty: tempfile::TempDir,
}

/// The input of a call.
pub(super) struct TrialInput<'a> {
    pub(super) given: &'a CaseInput,
    pub(super) settings: &'a Value,
    pub(super) limits: &'a Limits,
    pub(super) workspace: Option<&'a Path>,
    pub(super) commands: Granted<dyn RunCommands>,
    pub(super) models: Granted<dyn AskModels>,
}

/// The answers: one per file, or one for the submission.
#[derive(Debug)]
pub struct TrialRun {
    /// The answers, each with the path of the file; the path is empty for a submission.
    pub answers: Vec<(String, CallResult)>,
    /// The time of all calls, without their preparation.
    pub(super) time: Duration,
}

/// The result of a case.
#[derive(Debug)]
pub enum CaseOutcome {
    /// The answer is the expected one.
    Pass,
    /// The answer is the expected one from now on.
    Blessed,
    /// The answer differs: the difference, line by line.
    Differs(String),
    /// The case has no expected verdict.
    Unexpected,
    /// There is no verdict.
    Error(Failure),
}

impl CaseOutcome {
    /// Returns the status of the result.
    pub fn status(&self) -> Status {
        match self {
            Self::Pass | Self::Blessed => Status::Pass,
            Self::Differs(_) | Self::Unexpected => Status::Fail,
            Self::Error(_) => Status::Error,
        }
    }
}

impl Trial {
    /// Loads a component. It is granted everything that it imports.
    pub async fn load(runtime: Arc<Runtime>, source: &ComponentSource) -> Result<Self, Failure> {
        let about = runtime.describe(source).await?;
        let component_type = runtime.read_type(source)?;
        let any_name = || "scripted".to_owned();
        let grants = [Grant::Workspace, Grant::Command(any_name()), Grant::Model(any_name())];
        let verifier = runtime.load(source, &Grants::from_iter(grants))?;
        let empty = tempfile::tempdir()
            .map_err(|error| Failure::new(ErrorKind::HostFailed, format!("cannot create a folder: {error}")))?;
        Ok(Self { runtime, verifier, component_type, about, empty })
    }

    /// Refuses cases that do not fit the shape of the verifier.
    pub fn suits(&self, cases: &[Case]) -> Result<(), Mistake> {
        let Some(shape) = self.verifier.shape() else { return Ok(()) };
        match cases.iter().find(|case| case.given.shape() != shape) {
            None => Ok(()),
            Some(case) => {
                let expected = match shape {
                    Shape::File => "`input/` with files and no `submission.json`, since the verifier judges files",
                    Shape::Submission => "a `submission.json`, since the verifier judges submissions",
                };
                Err(Mistake::new(format!("case `{}`: expected {expected}", case.name)))
            }
        }
    }

    /// Runs a case.
    pub async fn judge(&self, case: &Case) -> Result<TrialRun, Failure> {
        self.judge_within(case, &Limits::default()).await
    }

    pub(super) async fn judge_within(&self, case: &Case, limits: &Limits) -> Result<TrialRun, Failure> {
        let folder = case.files();
        let asked = TrialInput {
            given: &case.given,
            settings: &case.settings,
            limits,
            workspace: folder.as_deref(),
            commands: case.commands.commands(),
            models: case.models.models(),
        };
        self.ask(&asked).await
    }

    /// Returns `Err` if the verifier cannot be called.
    pub(super) async fn ask(&self, asked: &TrialInput<'_>) -> Result<TrialRun, Failure> {
        settings::validate(&self.about.settings_schema, asked.settings).map_err(|problems| invalid(&problems))?;
        let has = |capability| self.component_type.capabilities().contains(&capability);
        let workspace = match has(Capability::Workspace) {
            true => Some(Arc::new(Workspace::open(asked.workspace.unwrap_or(self.empty.path())).map_err(|error| {
                Failure::new(ErrorKind::FsUnreadable, format!("cannot open the case's files: {error}"))
            })?)),
            false => None,
        };
        let settings = plan::canonical(asked.settings);
        let capabilities = Capabilities {
            workspace: workspace.map(|workspace| workspace as Arc<dyn ReadFiles>),
            commands: has(Capability::Commands).then(|| asked.commands.clone()),
            models: has(Capability::Models).then(|| asked.models.clone()),
        };
        let terms = CallContext { capabilities: Some(&capabilities), ..CallContext::new(&settings, asked.limits) };
        let mut answers = Vec::new();
        let mut time = Duration::ZERO;
        match asked.given {
            CaseInput::Files(files) => {
                for file in files {
                    let start = Instant::now();
                    let answer = self.runtime.check_file(&self.verifier, &terms, file.clone()).await;
                    time += start.elapsed();
                    answers.push((file.path.clone(), answer));
                }
            }
            CaseInput::Submission(submission) => {
                let submission = (**submission).clone();
                let start = Instant::now();
                let answer = self.runtime.check_submission(&self.verifier, &terms, submission).await;
                time += start.elapsed();
                answers.push((String::new(), answer));
            }
        }
        Ok(TrialRun { answers, time })
    }
}

fn invalid(problems: &[settings::SettingsProblem]) -> Failure {
    let told = problems.iter().map(|problem| match &*problem.place {
        "" => problem.message.clone(),
        place => format!("`{place}`: {}", problem.message),
    });
    let told: Vec<String> = told.collect();
    Failure::new(ErrorKind::SettingsInvalid, format!("the settings do not match the schema: {}", told.join("; ")))
}

impl TrialRun {
    /// Returns the verdicts, as `expected.json` has them: the verdict, or for each file its verdict.
    pub fn verdicts(&self) -> Value {
        let value = |answer: &CallResult| serde_json::to_value(&answer.verdict).unwrap_or_default();
        match self.answers.as_slice() {
            [(path, answer)] if path.is_empty() => value(answer),
            files => Value::Object(files.iter().map(|(path, answer)| (path.clone(), value(answer))).collect()),
        }
    }

    /// Returns the first error.
    pub(super) fn error(&self) -> Option<Failure> {
        self.answers.iter().find_map(|(path, answer)| {
            let failure = answer.verdict.error.clone()?;
            let place = if path.is_empty() { String::new() } else { format!("{path}: ") };
            Some(Failure { message: format!("{place}{}", failure.message), ..failure })
        })
    }

    /// Compares the answer with the expected one; with `bless`, stores it. An error is never expected.
    pub fn compare(&self, case: &Case, bless: bool) -> Result<CaseOutcome, Mistake> {
        if let Some(failure) = self.error() {
            return Ok(CaseOutcome::Error(failure));
        }
        let found = self.verdicts();
        Ok(match &case.expected {
            Some(expected) if *expected == found => CaseOutcome::Pass,
            _ if bless => {
                case.bless(&found)?;
                CaseOutcome::Blessed
            }
            None => CaseOutcome::Unexpected,
            Some(expected) => CaseOutcome::Differs(difference(&document(expected), &document(&found))),
        })
    }
}

fn document(value: &Value) -> String {
    clean_json(format!("{value:#}\n"))
}

/// Returns the difference between two texts, line by line.
pub(super) fn difference(expected: &str, found: &str) -> String {
    TextDiff::from_lines(expected, found).unified_diff().context_radius(3).header("expected", "found").to_string()
}
