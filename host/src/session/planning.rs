//! Before the gate runs: finds the configuration, loads its verifiers, resolves the gate, and collects the changes.

use super::emit::RunEvents;
use super::policy::{self, FoundPolicy};
use super::request::{Request, WorkState};
use super::run::Session;
use super::trusted::{self, PolicyComparison, PolicyStatus};
use super::{blocked, blocking};
use crate::cache_store::CacheStore;
use crate::changes::{self, ChangesError, Needs};
use crate::config::Inapplicable;
use crate::error::Error;
use crate::event::EventKind;
use crate::plan::{self, Plan, Shape};
use crate::resolver::Verifiers;
use crate::runtime::{ComponentSource, Remembered};
use std::cell::OnceCell;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use tokio::task::JoinHandle;

/// Changes that are being collected. What they must contain depends on the plan, which is made meanwhile.
pub(super) struct Collecting {
    needs: mpsc::Sender<Needs>,
    found: JoinHandle<Result<changes::Changes, Error>>,
}

impl Collecting {
    /// Waits for the changes, with the details that the checks of a plan need.
    pub(super) async fn finish(self, plan: &Plan) -> Result<changes::Changes, Error> {
        let needs = Needs {
            hunks: plan.checks().any(|check| check.shape == Shape::Submission),
            unchanged: plan.checks().any(|check| !check.grants.is_empty()),
        };
        // If collecting has failed already, nobody receives it.
        let _ = self.needs.send(needs);
        blocked(self.found.await)
    }
}

impl Session {
    /// Finds the configuration, loads its verifiers, and resolves the gate.
    pub(super) async fn plan(&self, emitter: &Arc<RunEvents>) -> Result<(Arc<FoundPolicy>, Plan, Verifiers), Error> {
        let (found, plan, verifiers, _) = self.plan_and_collect(emitter, false).await?;
        let late = plan.checks().find_map(|check| verifiers.late(&check.digest).map(|late| (check, late)));
        if let Some((check, late)) = late {
            let what = format!("cannot use the verifier `{}` of `check.{}`", check.verifier, check.check);
            return Err(Error::from(late).context(&what));
        }
        Ok((Arc::new(found), plan, verifiers))
    }

    /// Finds the configuration, and also collects the changes at the same time if `collecting`. The configuration is compared
    /// with that of the base commit meanwhile, because they are mostly the same. If they differ, no changes are returned.
    pub(super) async fn plan_and_collect(
        &self,
        emitter: &Arc<RunEvents>,
        collecting: bool,
    ) -> Result<(FoundPolicy, Plan, Verifiers, Option<changes::Changes>), Error> {
        let changes = collecting.then(|| self.start_collecting());
        let request = self.request.clone();
        let found = blocking(move || policy::find(&request)).await?;
        let comparison = PolicyComparison::new(&self.request, &found)?;
        let standing = comparison.map(|comparison| tokio::task::spawn_blocking(move || comparison.standing()));
        let standing = async {
            match standing {
                Some(standing) => blocked(standing.await),
                None => Ok(PolicyStatus::New),
            }
        };
        let (mut resolving, mut standing) = (pin!(self.resolve(found, emitter)), pin!(standing));
        // The author of the change chose a configuration that differs, and so must not choose how long its verifiers may take.
        let (resolved, standing) = tokio::select! {
            biased;
            standing = &mut standing => (None, standing?),
            resolved = &mut resolving => (Some(resolved), standing.await?),
        };
        if let PolicyStatus::Other(commit) = standing {
            let (work, environment) = (self.request.work_folder()?, self.request.environment.clone());
            let found = blocking(move || trusted::find(work, &commit, &environment)).await?;
            let (found, plan, verifiers) = self.resolve(found, emitter).await?;
            return Ok((found, plan, verifiers, None));
        }
        let (mut found, plan, verifiers) = match resolved {
            Some(resolved) => resolved?,
            None => resolving.await?,
        };
        let collected = match changes {
            Some(changes) => Some(changes.finish(&plan).await?),
            None => None,
        };
        if let PolicyStatus::Same(trusted) = standing {
            found.trusted = Some(trusted);
        }
        Ok((found, plan, verifiers, collected))
    }

    /// Returns the store of the ids of unchanged files, unless the caller disabled the cache.
    pub(super) fn store(&self) -> Option<Arc<CacheStore>> {
        self.runtime.cache_store().filter(|_| self.request.use_cache).cloned()
    }

    /// Starts to collect the changes, on a thread of its own.
    pub(super) fn start_collecting(&self) -> Collecting {
        let (tell, told) = mpsc::channel();
        let (store, request) = (self.store(), self.request.clone());
        let found = tokio::task::spawn_blocking(move || match &request.repeat {
            Some(known) => {
                let (changes, base) = (known.changes.clone(), known.base.clone());
                Ok(changes::Changes::again(&request.folder, changes, base, known.from_git)?)
            }
            None => {
                let Request { selection, environment, .. } = &request;
                let needs = OnceCell::new();
                // Without a plan, nobody waits for the changes.
                let needs = || *needs.get_or_init(|| told.recv().unwrap_or_default());
                let work = request.work_folder()?;
                match changes::collect_at(&work, selection, &needs, environment, store.as_ref()) {
                    // No check runs any more.
                    Err(ChangesError::Late(_)) => Ok(changes::Changes::again(&work.folder, Vec::new(), None, false)?),
                    found => Ok(found?),
                }
            }
        });
        Collecting { needs: tell, found }
    }

    async fn resolve(
        &self,
        mut found: FoundPolicy,
        emitter: &Arc<RunEvents>,
    ) -> Result<(FoundPolicy, Plan, Verifiers), Error> {
        if self.request.work != WorkState::Unknown {
            for gate in found.config.gates.values_mut() {
                gate.terms.on_nothing.get_or_insert(Inapplicable::Block);
            }
        }
        let compiling = {
            let emitter = Arc::clone(emitter);
            move |name: &str, source: &ComponentSource| {
                emitter.emit(EventKind::Compiling { verifier: name.to_owned(), bytes: source.bytes().len() });
            }
        };
        let (gate, deadline) = (self.request.gate.as_deref(), &self.request.deadline);
        let verifiers = Verifiers::new(Arc::clone(&self.runtime), found.folder.clone(), deadline.clone(), compiling);
        let compiled = |compiling| {
            let gate = plan::gate_of(&found.config, gate).unwrap_or_default();
            deadline.set(gate, found.config.deadline, compiling);
        };
        let remembered = if self.request.use_cache { Remembered::Used } else { Remembered::Ignored };
        verifiers.load(&found.config, plan::checks_of(&found.config, gate), remembered, compiled).await;
        let plan = plan::resolve(&found.config, gate, &verifiers)
            .map_err(|problems| Error::configuration(&found.name, &problems))?;
        Ok((found, plan, verifiers))
    }
}
