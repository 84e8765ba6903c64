//! A submission in the form that verifiers get, made once for all checks with the same evidence.

use super::bindings::exports::gatehost::verifier::submission_verifier::Submission as Given;
use super::convert;
use crate::submission::{Evidence, Submission};
use crate::verdict::{ErrorKind, Failure};
use std::io::{self, Write};
use std::sync::OnceLock;

/// A submission, measured and converted.
pub struct PreparedSubmission {
    /// The submission, for programs.
    pub(super) submission: Submission,
    /// The length of its JSON.
    pub(super) size: u64,
    /// The digest of its JSON.
    pub(super) digest: blake3::Hash,
    given: OnceLock<Given>,
}

impl std::fmt::Debug for PreparedSubmission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("size", &self.size).finish_non_exhaustive()
    }
}

impl PreparedSubmission {
    /// Returns the submission with the evidence of earlier checks added.
    pub fn new(mut submission: Submission, evidence: &[Evidence]) -> Result<Self, Failure> {
        submission.evidence.extend_from_slice(evidence);
        let mut measure = Measure { size: 0, digest: blake3::Hasher::new() };
        let broken = |error: serde_json::Error| Failure::new(ErrorKind::HostFailed, error.to_string());
        serde_json::to_writer(io::BufWriter::with_capacity(64 << 10, &mut measure), &submission).map_err(broken)?;
        let Measure { size, digest } = measure;
        Ok(Self { submission, size, digest: digest.finalize(), given: OnceLock::new() })
    }

    /// Returns the submission.
    pub fn submission(&self) -> &Submission {
        &self.submission
    }

    /// Returns the digest of the whole submission.
    pub fn digest(&self) -> &blake3::Hash {
        &self.digest
    }

    pub(super) fn given(&self) -> &Given {
        self.given.get_or_init(|| convert::submission(self.submission.clone()))
    }
}

/// Counts and hashes the written bytes.
struct Measure {
    size: u64,
    digest: blake3::Hasher,
}

impl Write for Measure {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.size += bytes.len() as u64;
        self.digest.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
