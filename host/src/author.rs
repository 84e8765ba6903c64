//! Tools for authors of verifiers: run the cases of a verifier, test the rules that every verifier must follow, and measure
//! it. Everything runs in the same sandbox, with the same limits, as in a gate.

mod bench;
mod case;
mod conformance;
mod project;
mod script;
mod trial;

pub use bench::{Counted, Estimate, Measured, TRIVIAL, count, measure};
pub use case::{Case, CaseInput, read_all};
pub use conformance::{Promise, conformance};
pub use project::{LANGUAGES, MANIFEST, Manifest, VerifierProject};
pub use trial::{CaseOutcome, Trial, TrialRun};

/// A mistake of the author that must be fixed before anything can run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Mistake {
    /// What is wrong, and where.
    pub message: String,
    /// What to do about it, if that is known.
    pub hint: Option<String>,
}

impl Mistake {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// A project has mistakes.
impl From<Vec<Mistake>> for crate::error::Error {
    fn from(mistakes: Vec<Mistake>) -> Self {
        let problems = mistakes.into_iter().map(|mistake| (mistake.message, mistake.hint));
        Self::several(crate::error::ErrorCategory::Input, problems)
    }
}

impl From<Mistake> for crate::error::Error {
    fn from(mistake: Mistake) -> Self {
        vec![mistake].into()
    }
}
