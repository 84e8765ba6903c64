//! Measures the time, memory and instructions of each call, compared with a verifier that only returns pass.

use super::case::{Case, CaseInput};
use super::trial::{Trial, TrialRun};
use crate::runtime::FileInput;
use crate::verdict::Failure;
use serde::Serialize;
use std::time::{Duration, Instant};

/// `fixtures/bench/trivial.wat` as a component; a test keeps them the same.
pub const TRIVIAL: &[u8] = include_bytes!("../../../fixtures/bench/trivial.wasm");

/// A median with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The median of what was measured.
    pub median: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Estimate {
    /// Uses order statistics, which assume nothing about the distribution.
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let count = values.len() as f64;
        let reach = 1.96 * count.sqrt() / 2.0;
        let at = |rank: f64| values[(rank.max(0.0) as usize).min(values.len() - 1)];
        Self { median: at(count / 2.0), low: at((count / 2.0 - reach).floor()), high: at((count / 2.0 + reach).ceil()) }
    }
}

/// The cost of all calls of one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The case.
    pub case: String,
    /// How many calls it takes: one for each file, or one for a submission.
    pub calls: usize,
    /// How often it was measured.
    pub rounds: usize,
    /// Microseconds.
    pub time_us: Estimate,
    /// The time as a multiple of the trivial verifier's time for as many calls, measured alternately.
    pub to_trivial: Estimate,
    /// The time as a multiple of the time of another build of the verifier, measured alternately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_other: Option<Estimate>,
    /// The most bytes of linear memory of one call.
    pub memory: usize,
    /// The WebAssembly instructions that all calls executed.
    pub instructions: u64,
}

/// The work of all calls of one case. It depends on neither the machine nor its load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counted {
    /// The case.
    pub case: String,
    /// How many calls it takes: one for each file, or one for a submission.
    pub calls: usize,
    /// The most bytes of linear memory of one call.
    pub memory: usize,
    /// The WebAssembly instructions that all calls executed.
    pub instructions: u64,
    /// The instructions of another build of the verifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_instructions: Option<u64>,
}

/// How long a case is measured, and the least and most rounds.
const TIME: Duration = Duration::from_secs(1);
const ROUNDS: (usize, usize) = (20, 1_000);

/// Measures all cases. `other` is another build to compare with, and `counting` is the same verifier in a runtime that counts
/// instructions.
pub async fn measure(
    trial: &Trial,
    counting: &Trial,
    trivial: &Trial,
    other: Option<&Trial>,
    cases: &[Case],
) -> Result<Vec<Measured>, Failure> {
    let mut measured = Vec::new();
    for case in cases {
        let mut all = measure_case(trial, trivial, other, case).await?;
        all.instructions = instructions(&judge(counting, case).await?);
        measured.push(all);
    }
    Ok(measured)
}

/// Counts the instructions of all cases, with one call per file or submission. Both verifiers are in a runtime that counts.
pub async fn count(counting: &Trial, other: Option<&Trial>, cases: &[Case]) -> Result<Vec<Counted>, Failure> {
    let mut counted = Vec::new();
    for case in cases {
        let judged = judge(counting, case).await?;
        let other_instructions = match other {
            Some(other) => Some(instructions(&judge(other, case).await?)),
            None => None,
        };
        counted.push(Counted {
            case: case.name.clone(),
            calls: judged.answers.len(),
            memory: memory(&judged),
            instructions: instructions(&judged),
            other_instructions,
        });
    }
    Ok(counted)
}

/// Runs a case. An error of the verifier is an error here, since a call that broke off says nothing about the cost.
async fn judge(trial: &Trial, case: &Case) -> Result<TrialRun, Failure> {
    let of_case =
        |failure: Failure| Failure { message: format!("case `{}`: {}", case.name, failure.message), ..failure };
    let judged = trial.judge(case).await.map_err(of_case)?;
    judged.error().map_or(Ok(judged), |failure| Err(of_case(failure)))
}

fn instructions(judged: &TrialRun) -> u64 {
    judged.answers.iter().map(|(_, answer)| answer.used.instructions.unwrap_or_default()).sum()
}

fn memory(judged: &TrialRun) -> usize {
    judged.answers.iter().map(|(_, answer)| answer.used.memory).max().unwrap_or_default()
}

async fn measure_case(trial: &Trial, trivial: &Trial, other: Option<&Trial>, case: &Case) -> Result<Measured, Failure> {
    let judged = judge(trial, case).await?;
    let (calls, memory) = (judged.answers.len(), memory(&judged));
    let baseline = Case { settings: serde_json::json!({}), given: as_files(&case.given), ..case.clone() };
    let (mut times, mut ratios, mut to_other) = (Vec::new(), Vec::new(), Vec::new());
    let start = Instant::now();
    while times.len() < ROUNDS.0 || (start.elapsed() < TIME && times.len() < ROUNDS.1) {
        // Alternately, so that disturbances affect both.
        let of_trivial = time(trivial, &baseline).await?;
        // And each first in half of the rounds: the first one finds colder caches.
        let is_first = times.len().is_multiple_of(2);
        let other_first = match other.filter(|_| !is_first) {
            Some(other) => Some(time(other, case).await?),
            None => None,
        };
        let own = time(trial, case).await?;
        times.push(own * 1e6);
        ratios.push(own / of_trivial);
        if let Some(other) = other {
            let of_other = match other_first {
                Some(time) => time,
                None => time(other, case).await?,
            };
            to_other.push(own / of_other);
        }
    }
    let rounds = times.len();
    let (time_us, to_trivial) = (Estimate::of(times), Estimate::of(ratios));
    let to_other = other.map(|_| Estimate::of(to_other));
    Ok(Measured { case: case.name.clone(), calls, rounds, time_us, to_trivial, to_other, memory, instructions: 0 })
}

async fn time(trial: &Trial, case: &Case) -> Result<f64, Failure> {
    Ok(judge(trial, case).await?.time.as_secs_f64())
}

/// Returns files of the same size instead of a submission, because the trivial verifier checks files.
fn as_files(given: &CaseInput) -> CaseInput {
    match given {
        CaseInput::Files(_) => given.clone(),
        CaseInput::Submission(submission) => {
            let bytes = serde_json::to_vec(submission).unwrap_or_default();
            CaseInput::Files(vec![FileInput::new("submission.json", bytes)])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_lies_in_its_interval() {
        let estimate = Estimate::of((1..=100).rev().map(f64::from).collect());
        assert_eq!((estimate.low, estimate.median, estimate.high), (41.0, 51.0, 61.0));
        let one = Estimate::of(vec![7.0]);
        assert_eq!((one.low, one.median, one.high), (7.0, 7.0, 7.0));
    }
}
