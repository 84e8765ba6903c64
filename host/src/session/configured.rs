//! The configuration of a request, read without running anything.

use super::policy::FoundPolicy;
use super::trusted::PolicyComparison;
use super::{Request, policy, trusted};
use crate::config::{Config, HookConfig};
use crate::error::Error;
use crate::record::PolicyRecord;
use std::collections::BTreeMap;
use std::time::Duration;

/// The part of a configuration that a hook needs before anything runs.
#[derive(Clone, Debug)]
pub struct Configured {
    /// The settings for hooks.
    pub hook: HookConfig,
    /// Where the configuration came from.
    pub policy: PolicyRecord,
    /// The time limit of a gate.
    pub(crate) deadline: Duration,
    /// Whether the configuration is a single file: it names no other files and protects none.
    pub stands_alone: bool,
}

/// Reads the configuration of a request without running anything.
pub fn configured(request: &Request) -> Result<Configured, Error> {
    let found = settled(request)?;
    let is_bundled = |name: &str| !name.contains(['/', '.']);
    let checks = || found.config.checks.values();
    let stands_alone = found.config.protected.is_empty()
        && checks().all(|check| check.settings_files.is_empty() && is_bundled(&check.verifier));
    Ok(Configured { policy: found.record(), deadline: found.config.deadline, hook: found.config.hook, stands_alone })
}

/// Returns the configuration that applies to a request: in a repository, that of the base commit.
pub(super) fn settled(request: &Request) -> Result<FoundPolicy, Error> {
    let found = policy::find(request)?;
    match PolicyComparison::new(request, &found)? {
        Some(comparison) => {
            trusted::settle(found, comparison.standing()?, request.work_folder()?, &request.environment)
        }
        None => Ok(found),
    }
}

/// Returns the configuration of a request and where it came from. Files that the configuration names are not read.
pub fn configuration(request: &Request) -> Result<(Config, PolicyRecord), Error> {
    let found = policy::find(request)?;
    let record = found.record();
    Ok((found.config, record))
}

/// The files of a configuration.
pub(crate) struct PolicyFiles {
    /// The digest of gate.toml.
    pub(crate) digest: Option<String>,
    /// The bytes of every file of the configuration, by its path relative to gate.toml.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

/// Returns the files of the configuration of a request.
pub(crate) fn policy_files(request: &Request) -> Result<PolicyFiles, Error> {
    let found = policy::find(request)?;
    Ok(PolicyFiles { digest: found.record().digest, files: trusted::files(&found)? })
}
