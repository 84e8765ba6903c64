//! Proof for others: whether this policy passed this tree, and signed statements of results.

pub mod dsse;
mod passed;
pub mod statement;

pub use passed::{Verification, VerificationRequest, answer};
