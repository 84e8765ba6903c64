//! `gate test`: runs a verifier's own cases, and tests the rules that every verifier must follow.

use crate::args::{Global, OutputFormat};
use crate::error::Error;
use crate::{Exit, setup, terminal};
use anstyle::AnsiColor;
use clap::Args;
use gatehost::author::{self, Case, CaseOutcome, Promise, Trial, VerifierProject};
use gatehost::runtime::{ComponentSource, LogLine};
use gatehost::text::{self, write_json};
use gatehost::verdict::Status;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Args)]
#[command(after_help = "\
A case is a folder below `cases/`. It has `input/` with files (a file verifier checks each; for a submission verifier they \
are the workspace) or `submission.json`, and `expected.json` with the verdict. Optional are `settings.json`, `commands.json` \
and `models.json` (the answers of commands and models). A verifier is granted what it imports.

Examples:
  gate test                               the project in this folder
  gate test --bless                       write the current verdicts as expected
  gate test . comma                       the cases with `comma` in their names
  gate test ./mine.wasm --cases ./cases   a component that was built elsewhere")]
pub(crate) struct TestArgs {
    /// A folder with a gate-verifier.toml, or a component
    #[arg(default_value = ".", hide_default_value = true)]
    pub(crate) path: String,
    /// Run only the cases with this text in their names
    pub(crate) name: Option<String>,
    /// The folder of the cases [default: `cases` in the project, or next to the component]
    #[arg(long, value_name = "DIR")]
    pub(crate) cases: Option<PathBuf>,
    /// Write the current verdict into each expected.json
    #[arg(long)]
    pub(crate) bless: bool,
    /// Run only the cases, not the rules for every verifier
    #[arg(long)]
    pub(crate) no_conformance: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

pub(crate) fn run(global: &Global, command: &TestArgs) -> Result<Exit, Error> {
    let project = VerifierProject::find(&command.path, &global.directory, command.cases.as_deref())?;
    let cases = author::read_all(&project.cases, command.name.as_deref())?;
    let source = ComponentSource::named(&project.component, &global.directory)?;
    let runtime = Arc::new(setup::runtime(global));
    let tried = setup::block_on(async {
        let trial = Trial::load(runtime, &source).await?;
        try_all(&trial, &cases, command).await
    })??;
    let mut out = terminal::stdout();
    let color = terminal::color(global.color, &std::io::stdout());
    match command.format {
        OutputFormat::Human => terminal::noted(&mut out, |out| tried.human(out, color, global))?,
        OutputFormat::Json => write_json(&mut out, &tried.json(&source))?,
    }
    Ok(tried.status().into())
}

async fn try_all(trial: &Trial, cases: &[Case], command: &TestArgs) -> Result<Tried, Error> {
    trial.suits(cases)?;
    let mut tried = Tried { name: trial.about.name.clone(), cases: Vec::new(), promises: Vec::new() };
    for case in cases {
        let name = case.name.clone();
        tried.cases.push(match trial.judge(case).await {
            Ok(judged) => {
                let (verdicts, outcome) = (judged.verdicts(), judged.compare(case, command.bless)?);
                let log = judged.answers.into_iter().flat_map(|(_, answer)| answer.log).collect();
                TriedCase { name, verdicts, outcome, log }
            }
            Err(failure) => {
                TriedCase { name, verdicts: Value::Null, outcome: CaseOutcome::Error(failure), log: Vec::new() }
            }
        });
    }
    if !command.no_conformance {
        tried.promises = author::conformance(trial, cases).await;
    }
    Ok(tried)
}

/// The result of one case.
struct TriedCase {
    name: String,
    verdicts: Value,
    outcome: CaseOutcome,
    log: Vec<LogLine>,
}

impl TriedCase {
    fn passed(&self) -> bool {
        self.outcome.status() == Status::Pass
    }

    fn human(&self, out: &mut impl Write, color: bool, width: usize, log: bool) -> std::io::Result<()> {
        let (word, detail) = match &self.outcome {
            CaseOutcome::Pass => ("pass", String::new()),
            CaseOutcome::Blessed => ("blessed", "expected.json was written".to_owned()),
            CaseOutcome::Differs(_) => ("fail", "the verdict differs from expected.json".to_owned()),
            CaseOutcome::Unexpected => ("fail", "no expected.json; `--bless` writes one".to_owned()),
            CaseOutcome::Error(failure) => ("error", format!("{}: {}", failure.kind, failure.message)),
        };
        line(out, color, word, &format!("{:width$}  {detail}", text::clean_line(&self.name, 200)))?;
        match &self.outcome {
            CaseOutcome::Differs(difference) => indented(out, difference)?,
            CaseOutcome::Error(failure) => hint(out, failure.hint.as_deref())?,
            CaseOutcome::Pass | CaseOutcome::Blessed | CaseOutcome::Unexpected => {}
        }
        let lines = self.log.iter().filter(|_| log || !self.passed());
        lines.take(MAX_LOG).try_for_each(|line| writeln!(out, "      log: {}: {}", line.severity, line.message))
    }

    fn json(&self) -> Value {
        let mut case = json!({
            "name": self.name, "status": self.outcome.status().as_str(), "found": self.verdicts, "log": self.log,
        });
        match &self.outcome {
            CaseOutcome::Differs(difference) => case["difference"] = json!(difference),
            CaseOutcome::Error(failure) => case["error"] = json!(failure),
            CaseOutcome::Unexpected => case["error"] = json!({ "message": "no expected.json" }),
            CaseOutcome::Pass | CaseOutcome::Blessed => {}
        }
        case
    }
}

/// The most log lines that are shown for a case.
const MAX_LOG: usize = 50;

/// The result of all cases and rules.
struct Tried {
    name: String,
    cases: Vec<TriedCase>,
    promises: Vec<Promise>,
}

impl Tried {
    /// Returns the status of all cases: any failure fails; otherwise any error is an error.
    fn status(&self) -> Status {
        let cases = self.cases.iter().map(|case| case.outcome.status());
        let promises = self.promises.iter().map(|promise| if promise.kept { Status::Pass } else { Status::Fail });
        let all: Vec<Status> = cases.chain(promises).collect();
        [Status::Fail, Status::Error].into_iter().find(|status| all.contains(status)).unwrap_or(Status::Pass)
    }

    fn human(&self, out: &mut impl Write, color: bool, global: &Global) -> std::io::Result<()> {
        let width = self.cases.iter().map(|case| case.name.chars().count()).max().unwrap_or(0);
        for case in self.cases.iter().filter(|case| !global.quiet || !case.passed()) {
            case.human(out, color, width, global.verbose)?;
        }
        for promise in &self.promises {
            if promise.kept && !global.verbose {
                continue;
            }
            let word = if promise.kept { "kept" } else { "broken" };
            line(out, color, word, &format!("{}: {}", promise.name, promise.seen))?;
            hint(out, promise.hint.as_deref())?;
        }
        let passed = self.cases.iter().filter(|case| case.passed()).count();
        let kept = self.promises.iter().filter(|promise| promise.kept).count();
        let promises = match self.promises.len() {
            0 => String::new(),
            all => format!(", {kept} of {all} rules kept"),
        };
        let status = paint(color, self.status().as_str());
        let cases = terminal::count(self.cases.len(), "case");
        writeln!(out, "test {}: {status} ({passed} of {cases} passed{promises})", self.name)
    }

    fn json(&self, source: &ComponentSource) -> Value {
        json!({
            "version": 1,
            "verifier": { "name": self.name, "digest": source.digest() },
            "status": self.status().as_str(),
            "cases": self.cases.iter().map(TriedCase::json).collect::<Vec<_>>(),
            "promises": self.promises,
        })
    }
}

fn line(out: &mut impl Write, color: bool, word: &str, text: &str) -> std::io::Result<()> {
    // Padded by hand: colours have no width.
    let padding = " ".repeat(12usize.saturating_sub(word.len()));
    writeln!(out, "{}{padding}{}", paint(color, word), text.trim_end())
}

fn hint(out: &mut impl Write, hint: Option<&str>) -> std::io::Result<()> {
    hint.map_or(Ok(()), |hint| writeln!(out, "      hint: {hint}"))
}

fn indented(out: &mut impl Write, text: &str) -> std::io::Result<()> {
    text.lines().try_for_each(|line| writeln!(out, "    {line}"))
}

fn paint(color: bool, word: &str) -> String {
    let colour = match word {
        "pass" | "kept" | "blessed" => AnsiColor::Green,
        "fail" | "broken" => AnsiColor::Red,
        _ => AnsiColor::Magenta,
    };
    text::paint(color, colour.on_default(), word)
}
