//! What several commands need first: the engine, the configuration, the plan.

use crate::args::{Global, Run};
use crate::complaint::Complaint;
use anyhow::{Context, anyhow};
use gatehost::catalogue::Verifiers;
use gatehost::config::{self, Config};
use gatehost::plan::{self, Plan};
use gatehost::runtime::{BUNDLED, Runtime, Source};
use gatehost::vault::Vault;
use std::fs;
use std::future::Future;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const FILE: &str = "gate.toml";

/// The runtime with the user's vault, or without one where it cannot be made.
pub(crate) fn runtime() -> Result<Runtime, Complaint> {
    let vault = Vault::default_folder().and_then(|folder| Vault::open(&folder).ok());
    Runtime::new(vault.map(Arc::new)).map_err(Complaint::broken)
}

pub(crate) fn tokio() -> Result<tokio::runtime::Runtime, Complaint> {
    // Guests that compute keep every worker busy, and yield only from tick to tick: after each of them the timers are
    // looked at, and not, as usual, after every sixty-first.
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.enable_time().event_interval(1).build().map_err(Complaint::broken)
}

/// Run a future to its end; what it left behind is not waited for.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Complaint> {
    let tokio = tokio()?;
    let result = tokio.block_on(future);
    tokio.shutdown_timeout(Duration::ZERO);
    Ok(result)
}

/// A configuration, and where it came from.
pub(crate) struct Configured {
    pub(crate) config: Config,
    /// What it is called in messages.
    pub(crate) name: String,
    /// The file, if it was read from one.
    pub(crate) path: Option<PathBuf>,
    /// What its paths are relative to.
    folder: PathBuf,
    /// Whether nobody wrote it.
    pub(crate) is_default: bool,
}

/// The configuration that was named, or the nearest one, or the default.
pub(crate) fn configuration(global: &Global) -> Result<Configured, Complaint> {
    let path = match &global.config {
        Some(path) => Some(global.directory.join(path)),
        None => nearest(&global.directory)?,
    };
    let Some(path) = path else {
        return written(default_gate(), "the default gate", &global.directory, true);
    };
    let name = global.config.as_deref().unwrap_or(Path::new(FILE)).display().to_string();
    let folder = path.parent().unwrap_or(&global.directory);
    let file = fs::File::open(&path).with_context(|| format!("cannot read `{name}`")).map_err(Complaint::mistake)?;
    // One byte more than is accepted, so that what is too long is seen to be.
    let mut bytes = Vec::new();
    let read = file.take(config::MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read `{name}`")).map_err(Complaint::mistake)?;
    Ok(Configured { path: Some(path.clone()), ..written(bytes, &name, folder, false)? })
}

fn written(bytes: Vec<u8>, name: &str, folder: &Path, is_default: bool) -> Result<Configured, Complaint> {
    let mut config = config::parse(&bytes).map_err(|problems| Complaint::problems(name, &problems))?;
    config.read_settings_files(folder).map_err(|problems| Complaint::problems(name, &problems))?;
    Ok(Configured { config, name: name.to_owned(), path: None, folder: folder.to_owned(), is_default })
}

/// `gate.toml` here or above, not beyond the repository.
fn nearest(folder: &Path) -> Result<Option<PathBuf>, Complaint> {
    let folder = folder
        .canonicalize()
        .with_context(|| format!("cannot open the folder `{}`", folder.display()))
        .map_err(Complaint::mistake)?;
    for folder in folder.ancestors() {
        let path = folder.join(FILE);
        if path.exists() {
            return Ok(Some(path));
        }
        if folder.join(".git").exists() {
            break;
        }
    }
    Ok(None)
}

/// Every bundled syntax verifier over the files that it is for.
fn default_gate() -> Vec<u8> {
    let names: Vec<&str> =
        BUNDLED.iter().map(|bundled| bundled.name).filter(|name| name.ends_with("-syntax")).collect();
    let checks: String = names.iter().map(|name| format!("[check.{name}]\nverifier = \"{name}\"\n")).collect();
    format!("[gate.default]\nall = {names:?}\n{checks}").into_bytes()
}

/// A gate of the verifiers that were named on the command line.
pub(crate) fn ad_hoc(global: &Global, command: &Run) -> Result<Configured, Complaint> {
    let settings = match &command.settings {
        None => serde_json::json!({}),
        Some(text) => serde_json::from_str(text)
            .context("expected `--settings` to be a JSON object")
            .map_err(Complaint::mistake)?,
    };
    if !settings.is_object() {
        return Err(Complaint::mistake(anyhow!("expected `--settings` to be a JSON object, found `{settings}`")));
    }
    let config = config::of_verifiers(&command.verifier, &settings, &command.grant);
    let folder = global.directory.clone();
    Ok(Configured { config, name: "the command line".to_owned(), path: None, folder, is_default: false })
}

/// A plan, and everything that is needed to run it.
pub(crate) struct Prepared {
    pub(crate) plan: Plan,
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) verifiers: Verifiers,
    pub(crate) tokio: tokio::runtime::Runtime,
}

/// Resolve a gate of the configuration.
pub(crate) fn plan(configured: &Configured, gate: Option<&str>) -> Result<Prepared, Complaint> {
    let runtime = Arc::new(runtime()?);
    let tokio = tokio()?;
    let watched = std::io::stderr().is_terminal();
    let compiling = move |name: &str, source: &Source| {
        if watched {
            let size = source.bytes().len() / 1024;
            eprintln!("compiling {name} ({size} KiB), this once; `gate compile` does it ahead");
        }
    };
    let verifiers = Verifiers::new(Arc::clone(&runtime), tokio.handle().clone(), configured.folder.clone(), compiling);
    let plan = plan::resolve(&configured.config, gate, &verifiers)
        .map_err(|problems| Complaint::problems(&configured.name, &problems))?;
    Ok(Prepared { plan, runtime, verifiers, tokio })
}
