//! The chain: what the hash of an entry covers, and what can be wrong with it.

use super::{Entry, Labels};
use crate::text::hex;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// The prefix of the hashed bytes, so that no hash is also that of something else.
const DOMAIN: &[u8] = b"gatehost ledger entry v1\0";

/// A SHA-256 hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// The hash before the first entry.
    pub const ZERO: Self = Self([0; 32]);
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex(&self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hash {
    type Err = BadHash;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let bytes: Option<Vec<u8>> = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
        let bytes = bytes.filter(|_| rest.is_empty()).ok_or(BadHash)?;
        bytes.try_into().map(Self).map_err(|_| BadHash)
    }
}

/// A text that is not a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected 64 hexadecimal digits")]
pub struct BadHash;

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Everything that the hash of an entry covers.
pub(super) struct HashedEntry<'a> {
    pub(super) prev: &'a [u8],
    pub(super) seq: u64,
    /// The time, the project, the kind and the labels.
    pub(super) parts: [&'a [u8]; 12],
    /// SHA-256 of the body, so that the chain can be checked without reading every body.
    pub(super) body: &'a [u8],
}

impl HashedEntry<'_> {
    /// Returns the hash. The buffer is overwritten: hashing one slice is several times faster than hashing 27 small ones.
    pub(super) fn hash(&self, buffer: &mut Vec<u8>) -> Hash {
        buffer.clear();
        buffer.extend_from_slice(DOMAIN);
        buffer.extend_from_slice(self.prev);
        buffer.extend_from_slice(&self.seq.to_be_bytes());
        // Each with its length before it, so that no two entries are the same bytes.
        for part in self.parts {
            buffer.extend_from_slice(&(part.len() as u64).to_be_bytes());
            buffer.extend_from_slice(part);
        }
        buffer.extend_from_slice(self.body);
        digest(buffer)
    }
}

/// Returns the parts of an entry in the order in which they are hashed.
pub(super) fn parts<'a>(at: &'a str, project: &'a str, kind: &'a str, labels: &'a Labels) -> [&'a [u8]; 12] {
    let Labels { run, task, group, session, gate, status, class, tree, plan } = labels;
    [at, project, kind, run, task, group, session, gate, status, class, tree, plan].map(str::as_bytes)
}

/// Returns the hash of some bytes.
pub(super) fn digest(bytes: &[u8]) -> Hash {
    Hash(Sha256::digest(bytes).into())
}

impl Entry {
    /// Returns whether its hash matches its content.
    pub fn is_intact(&self) -> bool {
        let Self { seq, at, project, kind, labels, prev, hash, body } = self;
        let parts = parts(at, project.as_str(), kind.as_str(), labels);
        HashedEntry { prev: &prev.0, seq: *seq, parts, body: &digest(body).0 }.hash(&mut Vec::new()) == *hash
    }
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DamageKind {
    /// An entry differs from what was appended.
    Altered,
    /// Entries are missing.
    Removed,
    /// An entry does not follow the one before it: an entry was inserted, removed or moved.
    Unlinked,
    /// Entries are missing at the end.
    Truncated,
    /// The file differs from what the store wrote.
    File,
}

/// Something that is wrong with the ledger.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Damage {
    /// The number of the entry, if the damage is in one.
    pub seq: Option<u64>,
    /// What is wrong.
    pub kind: DamageKind,
    /// A description for people.
    pub message: String,
}

impl Damage {
    pub(super) fn new(seq: impl Into<Option<u64>>, kind: DamageKind, message: impl Into<String>) -> Self {
        Self { seq: seq.into(), kind, message: message.into() }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
