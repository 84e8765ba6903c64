//! Finds the verifiers of a plan: bundled ones, and components in files.

use crate::config;
use crate::deadline::Deadline;
use crate::limits::Limits;
use crate::plan::{Plan, Refusal, ResolvedVerifier, Resolver, SubmissionParts};
use crate::runtime::{Bundled, ComponentSource, ComponentType, Description, Grants, Remembered, Runtime};
use crate::settings;
use crate::verdict::{ErrorKind, Failure, Rule};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};

/// Called with the name of a verifier that must be compiled.
type Compiling = dyn Fn(&str, &ComponentSource) + Send + Sync;

/// Finds verifiers, and keeps them for the run.
pub(crate) struct Verifiers {
    runtime: Arc<Runtime>,
    /// The folder that paths are relative to.
    folder: PathBuf,
    /// The deadline of the run.
    deadline: Deadline,
    /// Called before a component is compiled, which can take long.
    compiling: Arc<Compiling>,
    /// The verifiers, by the name in the check. Many checks may use one verifier, which is read and described once.
    known: Mutex<BTreeMap<String, Result<Arc<KnownVerifier>, Failure>>>,
}

/// A verifier and its description.
struct KnownVerifier {
    source: Arc<ComponentSource>,
    component_type: ComponentType,
    about: Description,
    /// Why the verifier did not describe itself in time, or its description was not looked at in time. Then its checks are errors.
    late: OnceLock<Failure>,
}

impl Verifiers {
    /// Returns a resolver for a configuration in `folder`. `compiling` is called for components that must be compiled.
    pub(crate) fn new(
        runtime: Arc<Runtime>,
        folder: PathBuf,
        deadline: Deadline,
        compiling: impl Fn(&str, &ComponentSource) + Send + Sync + 'static,
    ) -> Self {
        Self { runtime, folder, deadline, compiling: Arc::new(compiling), known: Mutex::default() }
    }

    /// Returns the component with this digest, if a check of the plan uses it.
    pub(crate) fn source(&self, digest: &str) -> Option<Arc<ComponentSource>> {
        let known = self.verifiers();
        let mut sources = known.values().flatten().map(|known| &known.source);
        sources.find(|source| source.digest() == digest).cloned()
    }

    /// Returns the rule for findings with this code, as the verifier with this digest declares it.
    pub(crate) fn rule(&self, digest: &str, code: &str) -> Option<Rule> {
        let known = self.verifiers();
        let known = known.values().flatten().find(|known| known.source.digest() == digest)?;
        known.about.rule(code).map(|rule| Rule { code: code.to_owned(), ..rule.clone() })
    }

    /// Returns the grants of a plan that their verifiers never use.
    pub(crate) fn unused_grants(&self, plan: &Plan) -> Vec<String> {
        let mut warnings = BTreeSet::new();
        for check in plan.checks() {
            let known = self.verifiers();
            let Some(known) = known.values().flatten().find(|known| known.source.digest() == check.digest) else {
                continue;
            };
            if known.component_type.is_program() {
                continue;
            }
            for grant in check.grants.iter().filter(|grant| !known.component_type.uses(grant)) {
                let (name, verifier) = (&check.check, &check.verifier);
                warnings.insert(format!(
                    "`check.{name}` grants `{grant}`, which the verifier `{verifier}` does not use; remove it from `grants`"
                ));
            }
        }
        warnings.into_iter().collect()
    }

    /// Returns why the time was over before the verifier with this digest was described and looked at, if so.
    pub(crate) fn late(&self, digest: &str) -> Option<Failure> {
        let known = self.verifiers();
        known.values().flatten().find(|known| known.source.digest() == digest)?.late.get().cloned()
    }

    fn verifiers(&self) -> MutexGuard<'_, BTreeMap<String, Result<Arc<KnownVerifier>, Failure>>> {
        self.known.lock()
    }

    /// Finds and describes the verifiers of these checks. The plan reports verifiers that cannot be found, at the check that
    /// names them.
    ///
    /// Components are compiled one after the other; `compiled` gets the time that this took, and sets the deadline. Then all
    /// describe themselves at the same time, each within the limits of its check. If not all can run at the same time, each gets
    /// only a part of its time, so that endless components do not delay the others.
    pub(crate) async fn load(
        &self,
        config: &config::Config,
        checks: impl IntoIterator<Item = &config::CheckConfig>,
        remembered: Remembered,
        compiled: impl FnOnce(Duration),
    ) {
        let mut wanted: BTreeMap<&str, Limits> = BTreeMap::new();
        for check in checks {
            let limits = limits_to_describe(config, check);
            let known = wanted.entry(&check.verifier).or_insert_with(|| limits.clone());
            known.time = known.time.max(limits.time);
        }
        let mut compiling = Duration::ZERO;
        let mut opened = Vec::new();
        for (name, limits) in wanted {
            let (source, component_type) = match self.open(name, &mut compiling).await {
                Ok((source, component_type)) => (Arc::new(source), component_type),
                Err(failure) => {
                    self.verifiers().insert(name.to_owned(), Err(failure));
                    continue;
                }
            };
            match self.runtime.known_description(&source) {
                Some(about) => {
                    let known = Arc::new(KnownVerifier { source, component_type, about, late: OnceLock::new() });
                    self.verifiers().insert(name.to_owned(), Ok(known));
                }
                None => opened.push((name.to_owned(), source, component_type, limits)),
            }
        }
        compiled(compiling);
        let (mut describing, alone) = (JoinSet::new(), Arc::<tokio::sync::Mutex<()>>::default());
        let guests = opened.len().min(self.runtime.slots());
        let rounds = opened.len().div_ceil(self.runtime.slots());
        for (name, source, component_type, mut limits) in opened {
            limits.time = part(limits.time, rounds);
            let (runtime, alone, deadline) = (Arc::clone(&self.runtime), Arc::clone(&alone), self.deadline.clone());
            let describe = async move {
                let about = describe(&runtime, &source, &limits, (remembered, guests), &alone, &deadline).await;
                let (about, late) = match about {
                    Ok(about) => (Ok(about), OnceLock::new()),
                    Err(failure) if failure.kind == ErrorKind::LimitTime => (Ok(unknown(&name)), failure.into()),
                    Err(failure) => (Err(failure), OnceLock::new()),
                };
                (name, about.map(|about| Arc::new(KnownVerifier { source, component_type, about, late })))
            };
            describing.spawn(describe);
        }
        while let Some(described) = describing.join_next().await {
            if let Ok((name, known)) = described {
                self.verifiers().insert(name, known);
            }
        }
    }

    fn find(&self, name: &str) -> Result<Arc<KnownVerifier>, Failure> {
        let not_loaded = || Failure::new(ErrorKind::HostFailed, format!("the verifier `{name}` was not loaded"));
        self.verifiers().get(name).cloned().unwrap_or_else(|| Err(not_loaded()))
    }

    /// Reads a component, and compiles it if it must be.
    async fn open(&self, name: &str, compiling: &mut Duration) -> Result<(ComponentSource, ComponentType), Failure> {
        let (runtime, folder, tell) = (Arc::clone(&self.runtime), self.folder.clone(), Arc::clone(&self.compiling));
        let named = name.to_owned();
        // Reading a component needs the disk, and compiling it takes seconds.
        let loaded = tokio::task::spawn_blocking(move || {
            let source = match ComponentSource::named(&named, &folder) {
                Ok(source) => source,
                Err(failure) => return (Err(failure), Duration::ZERO),
            };
            let is_new = runtime.needs_compiling(&source);
            if is_new {
                tell(&named, &source);
            }
            let start = Instant::now();
            let component_type = runtime.read_type(&source);
            let took = if is_new { start.elapsed() } else { Duration::ZERO };
            (component_type.map(|component_type| (source, component_type)), took)
        });
        let ended = |error: tokio::task::JoinError| Failure::new(ErrorKind::HostFailed, error.to_string());
        let (opened, took) = loaded.await.map_err(ended)?;
        *compiling += took;
        opened
    }

    fn resolve(check: &config::CheckConfig, known: &KnownVerifier) -> Result<ResolvedVerifier, Failure> {
        let KnownVerifier { source, component_type, about, late } = known;
        component_type.permit(&Grants::from_iter(check.grants.iter().cloned()))?;
        let shape = if component_type.is_program() { None } else { Some(component_type.shape()?) };
        let working_tree = source.as_bundled().is_some_and(Bundled::is_about_the_working_tree);
        let reads = source.as_bundled().map_or(SubmissionParts::ALL, |bundled| reads(bundled.name));
        Ok(ResolvedVerifier {
            digest: source.digest().to_owned(),
            shape,
            // Whatever the patterns are, the checks of a verifier that was late are errors if there is a file.
            files: if late.get().is_some() { vec!["**".to_owned()] } else { about.files.clone() },
            working_tree,
            reads,
        })
    }

    fn validate(check: &config::CheckConfig, about: &Description) -> Result<(), Vec<Refusal>> {
        settings::validate(&about.settings_schema, &check.settings).map_err(|problems| {
            let refusal = |problem: settings::SettingsProblem| {
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

impl Resolver for Verifiers {
    fn verifier(&self, check: &config::CheckConfig) -> Result<ResolvedVerifier, Vec<Refusal>> {
        let refused = |failure: Failure| vec![failure.into()];
        let known = self.find(&check.verifier).map_err(refused)?;
        let without = check.settings.as_object().is_some_and(serde_json::Map::is_empty);
        // The schemas of bundled verifiers are known to be valid.
        let surely_fits =
            without && known.source.is_bundled() && settings::surely_fits_none(&known.about.settings_schema);
        // The schema and the patterns of a stranger take time.
        if !surely_fits && let Err(late) = self.deadline.check() {
            let _ = known.late.get_or_init(|| late.into());
        }
        let resolved = Self::resolve(check, &known).map_err(refused)?;
        if known.late.get().is_none() && !surely_fits {
            Self::validate(check, &known.about)?;
        }
        Ok(resolved)
    }
}

/// Returns the limits within which the verifier of a check must describe itself: those of the check.
fn limits_to_describe(config: &config::Config, check: &config::CheckConfig) -> Limits {
    let timeout = check.terms.timeout.unwrap_or(config.timeouts(check).0);
    let time = check.time.unwrap_or(check.limits.time).min(timeout);
    Limits { time, ..Limits::default() }
}

/// Returns the time for each of so many components that describe themselves one after another, in whole milliseconds.
fn part(time: Duration, count: usize) -> Duration {
    let part = u32::try_from(count).map_or(Duration::ZERO, |count| time / count.max(1));
    Duration::from_millis(u64::try_from(part.as_millis()).unwrap_or(u64::MAX).max(1))
}

/// The memory in which a component describes itself at the same time as others. One that needs more does it again, alone.
const SMALL: usize = 32 << 20;

/// Returns the description of a component, if it gives it in time.
async fn describe(
    runtime: &Runtime,
    source: &ComponentSource,
    limits: &Limits,
    (remembered, guests): (Remembered, usize),
    alone: &tokio::sync::Mutex<()>,
    deadline: &Deadline,
) -> Result<Description, Failure> {
    let describing = async {
        let small = Limits { memory: limits.memory.min(SMALL), ..limits.clone() };
        match runtime.describe_within(source, &small, remembered, guests).await {
            Err(failure) if failure.kind == ErrorKind::LimitMemory => {
                let again = async {
                    let _alone = alone.lock().await;
                    runtime.describe_within(source, limits, remembered, guests).await
                };
                let late = || Failure::new(ErrorKind::LimitTime, "the verifier did not describe itself in time");
                timeout(limits.time, again).await.unwrap_or_else(|_| Err(late()))
            }
            described => described,
        }
    };
    let Some(at) = deadline.at() else { return describing.await };
    tokio::select! {
        // Once the time is over, no guest computes until its next tick.
        biased;
        () = sleep_until(at.into()) => {
            deadline.check().map_err(Failure::from).and(Err(Failure::new(ErrorKind::LimitTime, "the time is over")))
        }
        about = describing => about,
    }
}

/// Returns the description of a verifier that did not describe itself in time.
fn unknown(name: &str) -> Description {
    Description {
        name: name.to_owned(),
        version: String::new(),
        summary: String::new(),
        files: Vec::new(),
        settings_schema: String::new(),
        rules: Vec::new(),
        url: None,
    }
}

/// Returns the parts of a submission that the bundled verifier of this name reads; it is given no others.
fn reads(name: &str) -> SubmissionParts {
    match name {
        "completion-signal" | "contradiction" | "executor-report" => SubmissionParts::CLAIM,
        "evaluator-response" => SubmissionParts::EVALUATOR,
        "expected-files" | "files-in-scope" | "tool-calls" => SubmissionParts::TOOL_CALLS,
        "patterns" => SubmissionParts::CLAIM.and(SubmissionParts::TOOL_CALLS),
        "review-criteria" | "review-signal" | "review-verdict" => {
            SubmissionParts::CLAIM.and(SubmissionParts::TOOL_CALLS).and(SubmissionParts::HISTORY)
        }
        "case-conflicts" | "checklist" | "clean-tree" | "command" | "test-report" => SubmissionParts::NONE,
        _ => SubmissionParts::ALL,
    }
}

#[cfg(all(test, feature = "bundled"))]
mod tests {
    use super::*;
    use crate::plan::Shape;
    use crate::runtime::BUNDLED;

    #[test]
    fn what_bundled_verifiers_look_at_is_what_their_sources_name() {
        let plugins = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins");
        let source = |name: &str| -> String {
            let files = std::fs::read_dir(plugins.join(name).join("src")).expect("a folder").flatten();
            let files = files.filter(|file| file.file_name() != "tests.rs");
            files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect()
        };
        for bundled in BUNDLED.iter().filter(|bundled| bundled.component_type().shape() == Ok(Shape::Submission)) {
            let mut text = source(bundled.name);
            if std::fs::read_to_string(plugins.join(bundled.name).join("Cargo.toml"))
                .expect("text")
                .contains("gatehost-review")
            {
                text += &source("review");
            }
            let named = |(field, part): (&str, SubmissionParts)| {
                if text.contains(field) { part } else { SubmissionParts::NONE }
            };
            let parts = [
                (".claim", SubmissionParts::CLAIM),
                (".evaluator", SubmissionParts::EVALUATOR),
                (".tool_calls", SubmissionParts::TOOL_CALLS),
                (".attempt", SubmissionParts::HISTORY),
                (".attempts_allowed", SubmissionParts::HISTORY),
                (".prior_findings", SubmissionParts::HISTORY),
                (".review", SubmissionParts::HISTORY),
                (".executor", SubmissionParts::HISTORY),
            ];
            let named = parts.map(named).into_iter().fold(SubmissionParts::NONE, SubmissionParts::and);
            assert_eq!(reads(bundled.name), named, "{}", bundled.name);
        }
    }

    #[test]
    fn many_checks_of_one_verifier_read_it_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("one.wasm");
        let json = BUNDLED.iter().find(|bundled| bundled.name == "json-syntax").expect("bundled");
        std::fs::write(&file, json.wasm()).expect("written");
        let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a thread");
        let runtime = Arc::new(Runtime::new(None));
        let verifiers = Verifiers::new(runtime, folder.path().to_owned(), Deadline::default(), |_, _| {});
        let text = "[gate.g]\nall = [\"a\", \"b\", \"c\"]\n[check.a]\nverifier = \"./one.wasm\"\n\
                    [check.b]\nverifier = \"./one.wasm\"\n[check.c]\nverifier = \"./two.wasm\"\n";
        let config = config::parse(text.as_bytes()).expect("a configuration");
        let load = verifiers.load(&config, config.checks.values(), Remembered::Used, |_| {});
        tokio.block_on(load);
        let first = verifiers.verifier(&config.checks["a"]).expect("found");
        std::fs::remove_file(file).expect("removed");
        assert_eq!(verifiers.verifier(&config.checks["b"]).expect("known"), first);
        assert!(verifiers.verifier(&config.checks["c"]).is_err(), "another");
        assert!(verifiers.source(&first.digest).is_some());
    }
}
