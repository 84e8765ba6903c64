//! Where the verifiers of a plan come from: bundled ones, and components in files.

use crate::config;
use crate::plan::{Catalogue, Refusal, Resolved};
use crate::runtime::{Description, Grants, Runtime, Source};
use crate::settings;
use crate::verdict::Failure;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Handle;

/// Told of a verifier, by its name, that has to be compiled.
type Compiling = dyn Fn(&str, &Source) + Send + Sync;

/// Finds verifiers, and keeps what it found for whoever runs the plan.
pub struct Verifiers {
    runtime: Arc<Runtime>,
    /// Where components describe themselves.
    tokio: Handle,
    /// What paths are relative to.
    folder: PathBuf,
    /// Told before something is compiled, which can take long.
    compiling: Box<Compiling>,
    /// By digest.
    found: Mutex<BTreeMap<String, Arc<Source>>>,
}

impl Verifiers {
    /// A catalogue for a configuration in `folder`. Components that it has to ask, it asks on `tokio`; `compiling` is
    /// told of those that have to be compiled first.
    pub fn new(
        runtime: Arc<Runtime>,
        tokio: Handle,
        folder: PathBuf,
        compiling: impl Fn(&str, &Source) + Send + Sync + 'static,
    ) -> Self {
        Self { runtime, tokio, folder, compiling: Box::new(compiling), found: Mutex::default() }
    }

    /// The component with this digest, if a check of the plan uses it.
    pub fn source(&self, digest: &str) -> Option<Arc<Source>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).get(digest).cloned()
    }

    fn find(&self, check: &config::Check) -> Result<(Source, Resolved, Description), Failure> {
        let source = Source::named(&check.verifier, &self.folder)?;
        if self.runtime.needs_compiling(&source) {
            (self.compiling)(&check.verifier, &source);
        }
        let about = self.tokio.block_on(self.runtime.describe(&source))?;
        let anatomy = self.runtime.anatomy_of(&source)?;
        anatomy.permit(&Grants::from_iter(check.grants.iter().cloned()))?;
        let shape = if anatomy.is_program() { None } else { Some(anatomy.shape()?) };
        let resolved = Resolved { digest: source.digest().to_owned(), shape, files: about.files.clone() };
        Ok((source, resolved, about))
    }

    fn validate(check: &config::Check, about: &Description) -> Result<(), Vec<Refusal>> {
        settings::validate(&about.settings_schema, &check.settings).map_err(|problems| {
            let refusal = |problem: settings::Problem| {
                let at = if problem.place.is_empty() {
                    "settings".to_owned()
                } else {
                    format!("settings.{}", problem.place)
                };
                let hint = Some(format!("`gate inspect {}` shows its settings", check.verifier));
                Refusal { at, message: problem.message, hint }
            };
            problems.into_iter().map(refusal).collect()
        })
    }
}

impl Catalogue for Verifiers {
    fn verifier(&self, check: &config::Check) -> Result<Resolved, Vec<Refusal>> {
        let (source, resolved, about) = self.find(check).map_err(|failure| vec![failure.into()])?;
        let without = check.settings.as_object().is_some_and(serde_json::Map::is_empty);
        // The schemas of the bundled ones are known to be schemas.
        if !(without && source.is_bundled() && settings::surely_fits_none(&about.settings_schema)) {
            Self::validate(check, &about)?;
        }
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.insert(resolved.digest.clone(), Arc::new(source));
        Ok(resolved)
    }
}
