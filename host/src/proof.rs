//! Proof for others: was this tree passed by this policy, and a signed statement of the result of a run.

pub mod dsse;
mod passed;
pub mod statement;

pub use passed::{Verification, VerificationRequest, answer};
