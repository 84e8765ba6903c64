//! The bytes of a component, and their digest.

use super::bundled::{self, Bundled};
use super::scan::MAX_COMPONENT_BYTES;
use crate::config::nearest;
use crate::verdict::{ErrorKind, Failure};
use crate::workspace::{self, Workspace};
use sha2::{Digest, Sha256};
use std::path::Path;

/// The bytes of a component and their digest. The bytes are read once, so the hashed bytes are the compiled ones.
#[derive(Debug)]
pub struct ComponentSource {
    bytes: Bytes,
    digest: String,
}

#[derive(Debug)]
enum Bytes {
    Bundled(&'static Bundled),
    Read(Vec<u8>),
}

impl ComponentSource {
    /// Returns a component that is in memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self { digest: sha256(&bytes), bytes: Bytes::Read(bytes) }
    }

    /// Returns a bundled verifier.
    pub fn bundled(bundled: &'static Bundled) -> Self {
        Self { digest: bundled.digest.to_owned(), bytes: Bytes::Bundled(bundled) }
    }

    /// Reads a component from a file. A file that is too large is not read.
    pub fn from_file(path: &Path) -> Result<Self, Failure> {
        Self::from_file_called(path, &path.display().to_string())
    }

    fn from_file_called(path: &Path, shown: &str) -> Result<Self, Failure> {
        let unreadable = |why: &dyn std::fmt::Display| {
            Failure::new(ErrorKind::LoadUnreadable, format!("cannot read the component `{shown}`: {why}"))
        };
        // A path that a person wrote may contain symlinks, so it is resolved first.
        let real = path.canonicalize().map_err(|error| unreadable(&error))?;
        let (folder, name) = real
            .parent()
            .zip(real.file_name().and_then(|name| name.to_str()))
            .ok_or_else(|| unreadable(&"not a file"))?;
        let folder = Workspace::open(folder).map_err(|error| unreadable(&error))?;
        match folder.read(name, MAX_COMPONENT_BYTES) {
            Ok(bytes) => Ok(Self::from_bytes(bytes)),
            Err(workspace::WorkspaceError::TooLarge(size)) => Err(Failure::new(
                ErrorKind::LoadLimit,
                format!("the component `{shown}` has {size} bytes; at most {MAX_COMPONENT_BYTES} are read"),
            )),
            Err(error) => Err(unreadable(&error)),
        }
    }

    /// Returns the component of this name: a bundled verifier, or else a file relative to `folder`. With `@sha256:HEX`
    /// appended, only these bytes are accepted.
    pub fn named(name: &str, folder: &Path) -> Result<Self, Failure> {
        if let Some((name, hex)) = name.rsplit_once("@sha256:") {
            let source = Self::named(name, folder)?;
            source.must_be(&format!("sha256:{hex}"))?;
            return Ok(source);
        }
        if name.contains("://") {
            let hint = "download it, check it, and name its path with the digest: `./NAME.wasm@sha256:HEX`";
            let message = format!("`{name}` is an address, and verifiers are not fetched");
            return Err(Failure::new(ErrorKind::LoadUnreadable, message).hint(hint));
        }
        match bundled::find(name) {
            Some(bundled) => Ok(Self::bundled(bundled)),
            None if name.contains(['/', '.']) => Self::from_file_called(&folder.join(name), name),
            None => {
                let near = nearest(name, bundled::ALL.iter().map(|bundled| bundled.name));
                let others = "`gate inspect` lists the bundled ones; name any other by its path, such as";
                let hint = [near.as_deref().unwrap_or_default(), others].join(" ");
                Err(Failure::new(ErrorKind::LoadUnreadable, format!("there is no bundled verifier `{name}`"))
                    .hint(format!("{} `./{name}.wasm`", hint.trim_start())))
            }
        }
    }

    /// Returns whether the component is bundled.
    pub fn is_bundled(&self) -> bool {
        self.as_bundled().is_some()
    }

    /// Refuses any bytes but these.
    pub fn must_be(&self, digest: &str) -> Result<(), Failure> {
        if self.digest.eq_ignore_ascii_case(digest) {
            return Ok(());
        }
        let found = &self.digest;
        Err(Failure::new(
            ErrorKind::TrustDigestMismatch,
            format!("the component's digest is {found}; expected {digest}"),
        )
        .hint("find out why the component changed before you use it"))
    }

    /// Returns the digest: `sha256:` and hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the bytes of the component.
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Bundled(bundled) => bundled.wasm(),
            Bytes::Read(bytes) => bytes,
        }
    }

    /// Returns the bundled verifier with these bytes, wherever they came from.
    pub fn as_bundled(&self) -> Option<&'static Bundled> {
        match &self.bytes {
            Bytes::Bundled(bundled) => Some(bundled),
            Bytes::Read(_) => bundled::ALL.iter().find(|bundled| bundled.digest == self.digest),
        }
    }
}

fn sha256(bytes: &[u8]) -> String {
    let hex = crate::text::hex(&Sha256::digest(bytes));
    format!("sha256:{hex}")
}
