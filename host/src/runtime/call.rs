//! Calls a verifier once: a fresh instance, one input, and an answer or the reason why there is none.

use super::bindings::exports::gatehost::verifier::about;
use super::bindings::exports::gatehost::verifier::file_verifier::{Content, File};
use super::bindings::gatehost::verifier::types;
use super::capability::Capabilities;
use super::capability::commands::Runner;
use super::capability::models::Asker;
use super::checked::checked;
use super::ending::{self, GuestEnded};
use super::load::{CheckExport, Verifier};
use super::log::LogLine;
use super::processor_time;
use super::sandbox::{self, Sandbox};
use super::source::ComponentSource;
use super::wasi::Wasi;
use super::{Bundled, Description, PreparedSubmission, Rule, Runtime, cache, convert, program};
use crate::commands::CommandResult;
use crate::config::show_duration;
use crate::limits::Limits;
use crate::outcome::ModelUse;
use crate::submission::Submission;
use crate::text::{clean, clean_line, link};
use crate::verdict::{ErrorKind, Failure, Level, Verdict};
use std::sync::Arc;
use std::time::Duration;
use wasmtime::Store;
use wasmtime_wasi::p2::bindings::exports::wasi::cli::run;

/// The inputs that all calls of a check share.
#[derive(Clone, Copy, Debug)]
pub struct CallContext<'a> {
    /// The settings, as JSON text.
    pub settings: &'a str,
    /// The limits of the call.
    pub limits: &'a Limits,
    /// The granted capabilities.
    pub capabilities: Option<&'a Capabilities>,
}

impl<'a> CallContext<'a> {
    /// Returns a context without grants.
    pub fn new(settings: &'a str, limits: &'a Limits) -> Self {
        Self { settings, limits, capabilities: None }
    }
}

/// A file to check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileInput {
    /// The path relative to the root of the workspace.
    pub path: String,
    /// The content.
    pub content: Vec<u8>,
    /// Whether the file is executable.
    pub executable: bool,
    /// For a symlink: its target, as it is stored.
    pub link_target: Option<String>,
    /// Whether there is no content because the path is a broken symlink.
    pub missing: bool,
}

impl FileInput {
    /// Returns a regular file.
    pub fn new(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), content: content.into(), executable: false, link_target: None, missing: false }
    }
}

/// The most rules of a description; more are dropped.
const MAX_RULES: usize = 1_000;

/// The most patterns of a description, and the most bytes of all of them: each check compiles them.
const MAX_PATTERNS: usize = 1_000;
const MAX_PATTERN_BYTES: usize = 64 << 10;

/// Returns the patterns of a description. They are not shortened, because a shortened pattern is another pattern.
fn patterns(files: &[String]) -> Result<Vec<String>, Failure> {
    let (count, bytes) = (files.len(), files.iter().map(String::len).sum::<usize>());
    if count > MAX_PATTERNS || bytes > MAX_PATTERN_BYTES {
        let message = format!(
            "the verifier describes {count} patterns of files with {bytes} bytes; at most {MAX_PATTERNS} with \
             {MAX_PATTERN_BYTES} bytes are compiled"
        );
        return Err(Failure::new(ErrorKind::LimitTransfer, message).hint("describe fewer patterns, or broader ones"));
    }
    Ok(files.iter().map(|glob| clean_line(glob, glob.len())).collect())
}

fn rule(rule: about::Rule) -> Rule {
    Rule {
        code: clean_line(&rule.code, 100),
        level: match rule.level {
            types::Level::Error => Level::Error,
            types::Level::Warning => Level::Warning,
            types::Level::Note => Level::Note,
        },
        summary: clean_line(&rule.summary, 500),
        help: clean(&rule.help, 4_000),
        url: rule.url.as_deref().and_then(link).map(str::to_owned),
    }
}

/// Whether a failure to describe itself that is remembered counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remembered {
    /// It counts.
    Used,
    /// The component is asked again.
    Ignored,
}

const ENDLESS: &str = "check `describe` and start functions for an endless loop";

/// Returns the failure of a component that did not describe itself.
fn undescribed(failure: Failure, limits: &Limits) -> Failure {
    if failure.kind != ErrorKind::LimitTime {
        return failure;
    }
    let message = format!("the verifier did not describe itself within {}", show_duration(limits.time));
    Failure::new(ErrorKind::LimitTime, message)
        .hint(format!("{ENDLESS}; to allow more time, raise the shorter of `limits.time` and `timeout` of its check"))
}

/// Returns a remembered failure.
fn again(failure: Failure, age: Duration) -> Failure {
    let hint = failure.hint.unwrap_or_default();
    let message = format!("{}; it was last asked {} s ago", failure.message, age.as_secs());
    let asked = format!(
        "`gate run --no-cache` asks it again; otherwise this is remembered for {} minutes",
        cache::REMEMBERED.as_secs() / 60
    );
    Failure::new(failure.kind, message).hint(format!("{asked}; {hint}"))
}

/// The result of one call.
#[derive(Debug)]
#[non_exhaustive]
pub struct CallResult {
    /// The verdict; an error is one too.
    pub verdict: Verdict,
    /// What the guest logged.
    pub log: Vec<LogLine>,
    /// How many lines of log were dropped.
    pub log_dropped: u64,
    /// The commands that ran for the call.
    pub ran: Vec<CommandResult>,
    /// The models that were asked for the call.
    pub asked: Vec<ModelUse>,
    /// How many more commands ran and models were asked.
    pub unlisted: u64,
    /// The resources that the call used.
    pub used: Used,
}

/// The resources that a call used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Used {
    /// The bytes of all linear memories together. Memories do not shrink, so this is the maximum.
    pub memory: usize,
    /// The executed instructions, if the runtime counts them.
    pub instructions: Option<u64>,
}

impl From<Verdict> for CallResult {
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            log: Vec::new(),
            log_dropped: 0,
            ran: Vec::new(),
            asked: Vec::new(),
            unlisted: 0,
            used: Used::default(),
        }
    }
}

impl From<Failure> for CallResult {
    fn from(failure: Failure) -> Self {
        Verdict::from(failure).into()
    }
}

impl Runtime {
    /// Returns the description of a component, from the cache if possible. A failure is never remembered from before.
    pub async fn describe(&self, source: &ComponentSource) -> Result<Description, Failure> {
        let about = self.describe_within(source, &Limits::default(), Remembered::Ignored, 1).await;
        // Without a check, no key of a configuration allows more time.
        about.map_err(|failure| if failure.kind == ErrorKind::LimitTime { failure.hint(ENDLESS) } else { failure })
    }

    /// Returns the description of a component that need not be asked, because it is bundled or cached.
    pub(crate) fn known_description(&self, source: &ComponentSource) -> Option<Description> {
        source
            .as_bundled()
            .map(Bundled::description)
            .or_else(|| self.cache.as_ref().and_then(|cache| cache.description(source.digest())))
    }

    /// Returns the description of a component, which it must give within these limits. If it computed until its time was over, that
    /// is remembered for a while. `guests` is how many components describe themselves at the same time.
    pub(crate) async fn describe_within(
        &self,
        source: &ComponentSource,
        limits: &Limits,
        remembered: Remembered,
        guests: usize,
    ) -> Result<Description, Failure> {
        if let Some(about) = self.known_description(source) {
            return Ok(about);
        }
        // The processor time that shows that the component, and not a busy machine, is slow. Guests do not share the cores evenly,
        // so half of a share is enough.
        let own_time = processor_time::share(limits.time, 2 * guests).min(limits.time / 4 * 3);
        let known = self.cache.as_ref().filter(|_| remembered == Remembered::Used);
        if let Some((failure, age)) = known.and_then(|cache| cache.failure(source.digest(), limits, own_time)) {
            return Err(again(failure, age));
        }
        let verifier = &self.prepare_to_describe(source)?;
        let Some(about) = &verifier.about else { return Ok(program::description()) };
        let store = self.store(verifier, &CallContext::new("{}", limits), &[]);
        let answer = self.call(store, async |store| {
            let instance = verifier.pre.instantiate_async(&mut *store).await?;
            about.load(&mut *store, &instance)?.call_describe(&mut *store).await
        });
        let ((_sandbox, answer), computed) = processor_time::of(answer).await;
        let about = answer.map_err(|failure| {
            let failure = undescribed(failure, limits);
            if failure.kind == ErrorKind::LimitTime
                && computed >= own_time
                && let Some(cache) = &self.cache
            {
                cache.put_failure(source.digest(), limits, computed, &failure);
            }
            failure
        })?;
        let about = Description {
            name: clean_line(&about.name, 100),
            version: clean_line(&about.version, 100),
            summary: clean_line(&about.summary, 500),
            files: patterns(&about.files)?,
            // It must stay valid JSON. Whoever prints it escapes it.
            settings_schema: about.settings_schema,
            rules: about.rules.into_iter().take(MAX_RULES).map(rule).collect(),
            url: about.url.as_deref().and_then(link).map(str::to_owned),
        };
        if let Some(cache) = &self.cache {
            cache.put_description(source.digest(), &about);
        }
        Ok(about)
    }

    /// Checks one file.
    pub async fn check_file(&self, verifier: &Verifier, terms: &CallContext<'_>, file: FileInput) -> CallResult {
        self.check_file_keeping(verifier, terms, file).await.0
    }

    /// Checks one file, and also returns its content.
    pub(crate) async fn check_file_keeping(
        &self,
        verifier: &Verifier,
        terms: &CallContext<'_>,
        file: FileInput,
    ) -> (CallResult, Vec<u8>) {
        if file.content.len() as u64 > terms.limits.input {
            return (too_large(file.content.len() as u64, terms.limits).into(), file.content);
        }
        let path = &*file.path.clone();
        let indices = match &verifier.check {
            CheckExport::File(indices) => indices,
            CheckExport::Program(run) => {
                let input = program::about_file(terms.settings, &file);
                return (self.run_program(verifier, run, terms, input, Some(path)).await, file.content);
            }
            CheckExport::Submission(_) => {
                let failure = Failure::new(ErrorKind::LinkWorldMismatch, "the verifier does not check files");
                return (failure.into(), file.content);
            }
        };
        let target = file.link_target.as_deref().unwrap_or_default().as_bytes();
        let store =
            self.store(verifier, terms, &[path.as_bytes(), &file.content, &[u8::from(file.executable)], target]);
        let FileInput { path: named, content, executable, link_target, missing } = file;
        let content = if missing { Content::Missing } else { self::content(content) };
        let file = File { path: named, content, executable, link_target };
        let (sandbox, answer) = self
            .call(store, async |store| {
                let instance = verifier.pre.instantiate_async(&mut *store).await?;
                indices.load(&mut *store, &instance)?.call_check(&mut *store, &file, terms.settings).await
            })
            .await;
        let answer = answered(sandbox, answer.and_then(|it| checked(convert::received(it), terms.limits, Some(path))));
        let content = match file.content {
            Content::Text(text) => text.into_bytes(),
            Content::Binary(bytes) => bytes,
            Content::Missing => Vec::new(),
        };
        (answer, content)
    }

    /// Checks a submission.
    pub async fn check_submission(
        &self,
        verifier: &Verifier,
        terms: &CallContext<'_>,
        submission: Submission,
    ) -> CallResult {
        match PreparedSubmission::new(submission, &[]) {
            Ok(prepared) => self.check_prepared(verifier, terms, &prepared).await,
            Err(failure) => failure.into(),
        }
    }

    /// Checks a submission that was prepared for several checks.
    pub async fn check_prepared(
        &self,
        verifier: &Verifier,
        terms: &CallContext<'_>,
        prepared: &PreparedSubmission,
    ) -> CallResult {
        if prepared.size > terms.limits.input {
            return too_large(prepared.size, terms.limits).into();
        }
        let indices = match &verifier.check {
            CheckExport::Submission(indices) => indices,
            CheckExport::Program(run) => {
                let input = program::about_submission(terms.settings, &prepared.submission);
                let fits = |input: &Vec<u8>| input.len() as u64 <= terms.limits.input;
                let input = match input {
                    Ok(input) if !fits(&input) => Err(too_large(input.len() as u64, terms.limits)),
                    input => input,
                };
                return self.run_program(verifier, run, terms, input, None).await;
            }
            CheckExport::File(_) => {
                return Failure::new(ErrorKind::LinkWorldMismatch, "the verifier does not check submissions").into();
            }
        };
        let store = self.store(verifier, terms, &[prepared.digest.as_bytes()]);
        let submission = prepared.given();
        let (sandbox, answer) = self
            .call(store, async |store| {
                let instance = verifier.pre.instantiate_async(&mut *store).await?;
                indices.load(&mut *store, &instance)?.call_check(&mut *store, submission, terms.settings).await
            })
            .await;
        answered(sandbox, answer.and_then(|it| checked(convert::received(it), terms.limits, None)))
    }

    /// Runs a program: `input` is its stdin, `only` the one path that it may report.
    async fn run_program(
        &self,
        verifier: &Verifier,
        run: &run::GuestIndices,
        terms: &CallContext<'_>,
        input: Result<Vec<u8>, Failure>,
        only: Option<&str>,
    ) -> CallResult {
        let input = match input {
            Ok(input) => input,
            Err(failure) => return failure.into(),
        };
        let mut store = self.store(verifier, terms, &[&input]);
        store.data_mut().wasi.is_program(input, terms.limits.transfer);
        let (sandbox, ended) = self
            .call(store, async |store| {
                let instance = verifier.pre.instantiate_async(&mut *store).await?;
                let ended = run.load(&mut *store, &instance)?.call_run(&mut *store).await;
                ended.map(|ended| i32::from(ended.is_err())).or_else(ending::exit_code)
            })
            .await;
        let verdict = ended.and_then(|code| program::verdict(code, &sandbox.wasi.output()));
        answered(sandbox, verdict.and_then(|verdict| checked(verdict, terms.limits, only)))
    }

    fn store(&self, verifier: &Verifier, terms: &CallContext<'_>, inputs: &[&[u8]]) -> Store<Sandbox> {
        let mut seed = blake3::Hasher::new();
        if verifier.component_type.uses_random() {
            for input in [verifier.digest.as_bytes(), terms.settings.as_bytes()].iter().chain(inputs) {
                seed.update(&(input.len() as u64).to_le_bytes()).update(input);
            }
        }
        let wasi = Wasi::new(seed.finalize(), terms.limits.handles, terms.limits.random);
        let mut store = sandbox::store(verifier.pre.engine(), terms.limits, wasi, terms.capabilities);
        if self.metered {
            // Only for counting: the limit is time. An engine that does not count refuses the call, which is fine.
            let _ = store.set_fuel(u64::MAX);
        }
        store
    }

    /// Runs a guest to its end, at most as long as its time limit.
    ///
    /// Epochs interrupt a guest that computes; the timer interrupts one that waits in a host call. In both cases its store
    /// is never used again.
    async fn call<T>(
        &self,
        store: Store<Sandbox>,
        guest: impl AsyncFnOnce(&mut Store<Sandbox>) -> wasmtime::Result<T>,
    ) -> (Sandbox, Result<T, Failure>) {
        let place = self.slots.acquire().await;
        // Declared after `place` and so dropped before it: a slot is free only when its instance is gone.
        let mut store = store;
        let time = Arc::clone(&store.data().time);
        // The clock starts only when the guest has a slot: waiting for one is not its fault.
        time.start();
        let answer = match &place {
            Ok(_) => tokio::select! {
                biased;
                answer = guest(&mut store) => answer,
                () = time.used_up() => Err(GuestEnded::error(ErrorKind::LimitTime, "the call timed out")),
            },
            Err(closed) => Err(GuestEnded::error(ErrorKind::HostFailed, closed.to_string())),
        };
        // Asking an engine that does not count creates an error with a backtrace, which costs more than the rest of a call.
        let left = self.metered.then(|| store.get_fuel().ok()).flatten();
        let mut sandbox = store.into_data();
        sandbox.instructions = left.map(|left| u64::MAX - left);
        (sandbox, answer.map_err(|error| ending::failure(&error)))
    }
}

/// Returns text if the bytes are UTF-8. Validation is most of the host's work on a large file, so it does not use std.
fn content(bytes: Vec<u8>) -> Content {
    match simdutf8::basic::from_utf8(&bytes) {
        #[expect(unsafe_code, reason = "std has no way to take another's word for it")]
        // SAFETY: these very bytes were just found to be UTF-8.
        Ok(_) => Content::Text(unsafe { String::from_utf8_unchecked(bytes) }),
        Err(_) => Content::Binary(bytes),
    }
}

fn too_large(size: u64, limits: &Limits) -> Failure {
    Failure::new(ErrorKind::InputLimit, format!("the input has {size} bytes; the limit is {}", limits.input))
}

fn answered(sandbox: Sandbox, verdict: Result<Verdict, Failure>) -> CallResult {
    let used = sandbox.used();
    let Sandbox { mut log, wasi, commands, models, .. } = sandbox;
    wasi.log_printed(&mut log);
    let (log, log_dropped) = log.into_parts();
    let (asked, unlisted_models, unanswered) = models.map(Asker::into_uses).unwrap_or_default();
    let (ran, unlisted_commands) = commands.map(Runner::into_ran).unwrap_or_default();
    // Whatever the guest concluded: if a model did not answer, the result is an error. Even a failure would not do, because
    // `not` would turn it into a pass.
    let verdict = verdict.and_then(|verdict| unanswered.map_or(Ok(verdict), Err));
    CallResult {
        verdict: verdict.unwrap_or_else(Verdict::from),
        log,
        log_dropped,
        ran,
        asked,
        unlisted: unlisted_commands + unlisted_models,
        used,
    }
}
