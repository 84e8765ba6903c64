//! Object ids, computed by hashing and never trusted.

use sha2::digest::Digest;
use std::fmt;

/// The hash function of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectFormat {
    Sha1,
    Sha256,
}

impl ObjectFormat {
    /// Returns the hash function that an id was made with.
    pub(super) fn of(id: &Id) -> Self {
        if id.as_bytes().len() == Self::Sha256.length() { Self::Sha256 } else { Self::Sha1 }
    }

    /// Returns the length of an id, in bytes.
    pub(super) fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }
}

/// The type of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Blob,
    Tree,
    Commit,
    Tag,
}

impl ObjectKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Blob => "blob",
            Self::Tree => "tree",
            Self::Commit => "commit",
            Self::Tag => "tag",
        }
    }

    pub(super) fn from_name(name: &[u8]) -> Option<Self> {
        [Self::Blob, Self::Tree, Self::Commit, Self::Tag].into_iter().find(|kind| kind.name().as_bytes() == name)
    }
}

/// The id of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id {
    bytes: [u8; 32],
    length: u8,
}

impl Id {
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let length = u8::try_from(bytes.len()).ok().filter(|length| matches!(length, 20 | 32))?;
        let mut id = Self { bytes: [0; 32], length };
        id.bytes[..bytes.len()].copy_from_slice(bytes);
        Some(id)
    }

    pub(super) fn from_hex(hex: &[u8]) -> Option<Self> {
        let digit = |byte: u8| (byte as char).to_digit(16);
        let (pairs, []) = hex.as_chunks::<2>() else { return None };
        let bytes: Option<Vec<u8>> =
            pairs.iter().map(|&[high, low]| u8::try_from(digit(high)? * 16 + digit(low)?).ok()).collect();
        Self::from_bytes(&bytes?)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Hashes an object in pieces.
pub(super) struct Hasher(HasherState);

enum HasherState {
    /// Detects the known collision attacks and changes the hash, as git does.
    Sha1(Box<sha1_checked::Sha1>),
    Sha256(Box<sha2::Sha256>),
}

impl Hasher {
    /// Returns a hasher for an object of `size` bytes.
    pub(super) fn new(format: ObjectFormat, kind: ObjectKind, size: u64) -> Self {
        let mut hasher = Self(match format {
            ObjectFormat::Sha1 => HasherState::Sha1(Box::default()),
            ObjectFormat::Sha256 => HasherState::Sha256(Box::default()),
        });
        hasher.update(format!("{} {size}\0", kind.name()).as_bytes());
        hasher
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            HasherState::Sha1(hasher) => hasher.update(bytes),
            HasherState::Sha256(hasher) => hasher.update(bytes),
        }
    }

    pub(super) fn finish(self) -> Id {
        let mut id = Id { bytes: [0; 32], length: 0 };
        let mut set = |bytes: &[u8]| {
            id.bytes[..bytes.len()].copy_from_slice(bytes);
            id.length = bytes.len() as u8;
        };
        match self.0 {
            HasherState::Sha1(hasher) => set(&hasher.finalize()),
            HasherState::Sha256(hasher) => set(&hasher.finalize()),
        }
        id
    }
}

/// Returns the id of an object.
pub(super) fn hash(format: ObjectFormat, kind: ObjectKind, bytes: &[u8]) -> Id {
    let mut hasher = Hasher::new(format, kind, bytes.len() as u64);
    hasher.update(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_git() {
        for (format, kind, bytes, expected) in [
            (ObjectFormat::Sha1, ObjectKind::Blob, &b""[..], "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
            (ObjectFormat::Sha1, ObjectKind::Tree, b"", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"),
            (ObjectFormat::Sha1, ObjectKind::Blob, b"hello\n", "ce013625030ba8dba906f756967f9e9ca394464a"),
            (
                ObjectFormat::Sha256,
                ObjectKind::Tree,
                b"",
                "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
            ),
        ] {
            let id = hash(format, kind, bytes);
            assert_eq!(id.to_string(), expected);
            assert_eq!(Id::from_hex(expected.as_bytes()), Some(id));
        }
        for bad in
            [&b""[..], b"e69", b"e69de29bb2d1d6434b8b29ae775ad8c2e48c539", b"x69de29bb2d1d6434b8b29ae775ad8c2e48c5391"]
        {
            assert_eq!(Id::from_hex(bad), None);
        }
    }
}
