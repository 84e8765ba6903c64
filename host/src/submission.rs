//! The submission: the task, the claim, the tool calls, the changes. Data only; `wit/submission.wit` explains each field.

mod evidence;

pub use evidence::{CommandEvidence, Evidence, ModelEvidence, Printed};

use crate::verdict::Finding;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// The whole submission.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "an object with a submission")]
pub struct Submission {
    /// The task.
    pub task: Option<Task>,
    /// What the executor says it did.
    pub claim: Option<Claim>,
    /// The tool calls of the executor, in order.
    pub tool_calls: Vec<ToolCall>,
    /// The files that changed, ordered by path.
    pub changes: Vec<Change>,
    /// The attempt number, from 1; 0 stands for "not set" and is passed on as 1.
    pub attempt: u32,
    /// The executor that did the work.
    pub executor: Executor,
    /// The findings of earlier attempts, oldest first.
    pub prior_findings: Vec<PriorFinding>,
    /// The evidence from earlier checks of this run. Set by the host, and refused in a document.
    #[serde(deserialize_with = "refuse_evidence")]
    #[schemars(skip)]
    pub evidence: Vec<Evidence>,
    /// The answer of a separate evaluator.
    pub evaluator: Option<Evaluator>,
    /// The base commit of the changes.
    pub base: Option<String>,
    /// How many attempts the task may take.
    pub attempts_allowed: Option<u32>,
    /// The number of the review, and how many there may be.
    pub review: Option<ReviewRound>,
    /// The digest of the checked tree. Computed by the host, and refused in a document.
    #[serde(deserialize_with = "refuse_tree_digest", skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub tree_digest: Option<String>,
}

fn refuse_tree_digest<'de, D: Deserializer<'de>>(_: D) -> Result<Option<String>, D::Error> {
    Err(D::Error::custom("`tree_digest` is computed by `gate`; remove it from the submission"))
}

fn refuse_evidence<'de, D: Deserializer<'de>>(_: D) -> Result<Vec<Evidence>, D::Error> {
    Err(D::Error::custom("`evidence` is established by `gate`; remove it from the submission"))
}

/// The number of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with the number of a review")]
pub struct ReviewRound {
    /// The number of this review, from 1.
    pub number: u32,
    /// How many there may be.
    pub allowed: u32,
}

/// Where a task or an evaluator's answer comes from, which decides who vouches for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskSource {
    /// From the submission, which the author of the change may have written.
    #[default]
    Author,
    /// From the flags of the caller.
    Caller,
    /// From a plan in the base commit.
    Plan,
}

impl TaskSource {
    /// Returns the source with this name; the author if there is none, because nobody else vouches for it.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "caller" => Self::Caller,
            "plan" => Self::Plan,
            _ => Self::Author,
        }
    }
}

fn author_only<'de, D: Deserializer<'de>>(_: D) -> Result<TaskSource, D::Error> {
    Err(D::Error::custom("`source` is set by `gate`; remove it from the submission"))
}

/// The work that was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "an object with a task")]
pub struct Task {
    /// Its identifier.
    pub id: String,
    /// The title, on one line.
    pub title: String,
    /// The full text.
    pub description: String,
    /// What the result must satisfy.
    pub acceptance_criteria: Vec<String>,
    /// When the task counts as done.
    pub done_criteria: Vec<String>,
    /// The command that proves it, as the author of the task wrote it.
    pub verify: Option<String>,
    /// The phase that it belongs to.
    pub phase: Option<String>,
    /// The phase of the task that was completed before it.
    pub previous_phase: Option<String>,
    /// Its position in the plan, from 0.
    pub index: Option<u32>,
    /// How many tasks the plan has.
    pub total: Option<u32>,
    /// Files that must exist afterwards.
    pub expected_outputs: Vec<String>,
    /// Files that the task may change; empty for no restriction.
    pub files: Vec<String>,
    /// The highest tier that the task asks for.
    pub tier: Option<u32>,
    /// Where the task comes from. Set by the host, and refused in a document.
    #[serde(deserialize_with = "author_only")]
    #[schemars(skip)]
    pub source: TaskSource,
    /// The group, or wave, of tasks that run in parallel.
    pub group: Option<String>,
    /// The identifiers of the tasks that must be done before it.
    pub depends_on: Vec<String>,
    /// For a batch that is checked as one: how many tasks it has.
    pub size: Option<u32>,
    /// The commit message of the task.
    pub commit: Option<String>,
    /// The positions of later tasks that start a phase. Known only if there is a plan, and not passed to verifiers.
    #[serde(skip)]
    #[schemars(skip)]
    pub boundaries: Vec<u32>,
}

/// What the executor says it did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "an object with a claim")]
pub struct Claim {
    /// The text.
    pub text: String,
    /// The structured report.
    pub report: Option<serde_json::Value>,
}

/// One call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with a tool call")]
pub struct ToolCall {
    /// The tool's name.
    pub tool: String,
    /// Whether it succeeded.
    pub success: bool,
    /// The error message.
    #[serde(default)]
    pub error: Option<String>,
    /// The arguments.
    #[serde(default)]
    pub input: Option<serde_json::Value>,
    /// The result.
    #[serde(default)]
    pub output: Option<String>,
    /// The paths that it changed.
    #[serde(default)]
    pub files_changed: Vec<String>,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// The file is new.
    Added,
    /// The content or the mode changed.
    Modified,
    /// The file was deleted.
    Deleted,
    /// The file was renamed.
    Renamed,
}

/// The state of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeState {
    /// In a commit.
    Committed,
    /// In the index.
    Staged,
    /// In the working tree.
    Unstaged,
    /// Not tracked by git.
    Untracked,
}

/// The kind of a diff line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LineKind {
    /// Unchanged.
    Context,
    /// Only in the new file.
    Added,
    /// Only in the old file.
    Removed,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with a line of a diff")]
pub struct DiffLine {
    /// What it is.
    pub kind: LineKind,
    /// Its text without the line end.
    pub text: String,
}

/// One contiguous piece of a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with a hunk of a diff")]
pub struct Hunk {
    /// The first old line, from 1; 0 for none.
    pub old_start: u32,
    /// The first new line, from 1; 0 for none.
    pub new_start: u32,
    /// The lines.
    pub lines: Vec<DiffLine>,
}

/// One changed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with a changed file")]
pub struct Change {
    /// The path relative to the root of the workspace.
    pub path: String,
    /// What happened.
    pub kind: ChangeKind,
    /// Its state in git.
    pub state: ChangeState,
    /// The path before a rename.
    #[serde(default)]
    pub old_path: Option<String>,
    /// The current size.
    #[serde(default)]
    pub size: Option<u64>,
    /// The changed lines, if they are known.
    #[serde(default)]
    pub hunks: Option<Vec<Hunk>>,
    /// The mode before, as in git: `0o100644`, `0o100755`, `0o120000`, `0o160000`.
    #[serde(default)]
    pub old_mode: Option<u32>,
    /// The mode now.
    #[serde(default)]
    pub new_mode: Option<u32>,
}

/// How an executor ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExecutorEnd {
    /// With an error.
    Error,
    /// It was killed.
    Killed,
    /// It timed out.
    TimedOut,
    /// It used up its turns or its budget.
    OutOfTurns,
    /// It finished by itself.
    Finished,
}

/// Who did the work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "an object with an executor")]
pub struct Executor {
    /// A name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model's family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How it ended, if somebody observed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<ExecutorEnd>,
}

/// A finding of an earlier attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with an earlier finding")]
pub struct PriorFinding {
    /// The attempt, from 1.
    pub attempt: u32,
    /// The check.
    pub check: String,
    /// The finding, with its fingerprint if it is known.
    pub finding: Finding,
}

/// The answer of a separate evaluator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with an evaluator's answer")]
pub struct Evaluator {
    /// Whether the evaluator finished by itself.
    pub completed: bool,
    /// Its final text.
    pub text: String,
    /// A name for it.
    #[serde(default)]
    pub name: Option<String>,
    /// The model that it used.
    #[serde(default)]
    pub model: Option<String>,
    /// The session in which it worked.
    #[serde(default)]
    pub session: Option<String>,
    /// Where it comes from. Set by the host, and refused in a document.
    #[serde(default, deserialize_with = "author_only", skip_serializing)]
    #[schemars(skip)]
    pub source: TaskSource,
}
