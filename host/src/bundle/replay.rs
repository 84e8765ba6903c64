//! Repeats a run from a bundle, and compares the records.

use super::{Bundle, BundledFile, VERSION, submission};
use crate::commands::CommandTape;
use crate::environment::Environment;
use crate::error::Error;
use crate::record::Record;
use crate::session::{Checks, Host, Policy, Recording, Repeat, Request, TouchedPath, Unread, WorkState};
use crate::submission::Submission;
use crate::writer::Beneath;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// The result of a replay.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The record of the run in the bundle.
    pub recorded: Record,
    /// The record of the replay.
    pub record: Record,
    /// The differences; empty if both records are the same.
    pub differences: Vec<RecordDifference>,
}

/// A difference between two records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordDifference {
    /// The place, as a JSON pointer.
    pub at: String,
    /// The recorded value.
    pub recorded: Value,
    /// The value of the replay.
    pub replayed: Value,
}

/// Fields that differ between any two runs, or that only say how a run got its answers.
const VOLATILE: [&str; 18] = [
    "run",
    "started",
    "started_ms",
    "duration_ms",
    "cached",
    "established",
    "replayed",
    "requests",
    "sandbox",
    "question_sha256",
    "answer_sha256",
    "host",
    "selection",
    "policy",
    "retry",
    "blocked_by",
    "attempts",
    "advice",
];

/// Runs the gate of a bundle again, on its files. No command runs and no model is asked.
pub async fn replay(host: &Host, bundle: &Bundle, environment: &Environment) -> Result<Replayed, Error> {
    if bundle.version != VERSION {
        return Err(Error::input(format_args!("expected a bundle of version {VERSION}, found {}", bundle.version)));
    }
    let recorded = bundle.entry.entry()?.record()?;
    if !recorded.not_stored.is_empty() {
        let missing: Vec<String> = recorded.not_stored.iter().map(ToString::to_string).collect();
        let message = format!("run {} cannot be replayed: not stored were {}", recorded.run, missing.join(", "));
        let hint = "raise `stored` or `stored_per_check` in `[limits]` of gate.toml, and run the gate again";
        return Err(Error::input(message).hint(hint.to_owned()));
    }
    let failed = |error: io::Error| Error::host("cannot put the bundle into a temporary folder").because(error);
    let folder = tempfile::tempdir().map_err(failed)?;
    let root = folder.path().canonicalize().map_err(failed)?;
    let request = request(bundle, &recorded, &root, environment)?;
    let record = host.run(request, ()).await?;
    let mut differences = Vec::new();
    compare("", &stable(&recorded), &stable(&record), &mut differences);
    if record.policy.digest != recorded.policy.digest {
        let of = |record: &Record| serde_json::json!(record.policy.digest);
        differences.push(RecordDifference {
            at: "/policy/digest".to_owned(),
            recorded: of(&recorded),
            replayed: of(&record),
        });
    }
    Ok(Replayed { recorded, record, differences })
}

fn request(bundle: &Bundle, recorded: &Record, root: &Path, environment: &Environment) -> Result<Request, Error> {
    let failed = |error: io::Error| Error::host("cannot put the bundle into a temporary folder").because(error);
    let (work, policy) = (root.join("work"), root.join("policy"));
    let open = |folder: &Path| fs::create_dir(folder).and_then(|()| Beneath::open(folder)).map_err(failed);
    let files = open(&work)?;
    for (path, file) in &bundle.work {
        put(&files, path, file)?;
    }
    let said: Submission = submission(&bundle.given.submission)?;
    let mut request = Request::new(&work, environment.clone());
    request.policy = if bundle.policy.is_empty() {
        Policy::Nearest
    } else {
        let files = open(&policy)?;
        for (path, content) in &bundle.policy {
            put(&files, path, &BundledFile { kind: "file".to_owned(), content: content.clone() })?;
        }
        Policy::File(policy.join(crate::session::POLICY_FILE))
    };
    request.gate = Some(recorded.gate.name.clone());
    // An absent tape is an empty one: no model is asked and no command runs, whatever the bundle leaves out.
    let tape = |name: &str, text: &Option<String>| {
        let path = root.join(name);
        fs::write(&path, text.as_deref().unwrap_or_default()).map(|()| path).map_err(failed)
    };
    request.models = Recording::Replay(tape("models.jsonl", &bundle.models)?);
    let commands = CommandTape::replay(&tape("commands.jsonl", &bundle.commands)?);
    request.commands = Some(Arc::new(commands.map_err(|error| Error::input(&error))?));
    let given = &bundle.given;
    request.work = match given.work.as_str() {
        "asked" => WorkState::Asked,
        "not-done" => WorkState::NotDone,
        _ => WorkState::Unknown,
    };
    request.fail_fast = given.fail_fast;
    request.checks = match given.left_out.is_empty() {
        true => Checks::All,
        false => Checks::Except(given.left_out.iter().cloned().collect()),
    };
    request.unread = Unread::Ignore;
    request.use_cache = false;
    let findings = recorded.gate.walk().flat_map(|node| &node.verdict).flat_map(|verdict| &verdict.findings);
    let touched = findings.filter_map(TouchedPath::of).collect();
    request.repeat = Some(Arc::new(Repeat {
        changes: said.changes.clone(),
        base: given.base.clone(),
        from_git: given.from_git,
        paths: given.paths.clone(),
        predecessor_unpassed: given.predecessor_unpassed,
        touched,
    }));
    request.submission = said;
    Ok(request)
}

/// Writes a file of a bundle below a folder. A path that leaves the folder is refused.
fn put(folder: &Beneath, path: &str, file: &BundledFile) -> Result<(), Error> {
    let bad = || {
        Error::input(format_args!(
            "the bundle contains `{}`, which is not a path inside its folder",
            crate::text::clean_line(path, 200)
        ))
    };
    let bytes = STANDARD.decode(&file.content).map_err(|_| bad())?;
    let written = match file.kind.as_str() {
        "link" => folder.link(path, OsStr::from_bytes(&bytes)),
        "program" => folder.put(path, &bytes, 0o755),
        _ => folder.put(path, &bytes, 0o644),
    };
    written.map_err(|error| bad().because(error))
}

/// Returns a record without the fields that differ between runs.
fn stable(record: &Record) -> Value {
    let mut value = serde_json::to_value(record).unwrap_or_default();
    strip(&mut value);
    value
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !VOLATILE.contains(&name.as_str()));
            if let Some(Value::Array(marks)) = fields.get_mut("marks") {
                marks.retain(|mark| mark != "replayed");
            }
            if fields.get("marks").is_some_and(|marks| marks.as_array().is_some_and(Vec::is_empty)) {
                fields.remove("marks");
            }
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

fn compare(at: &str, recorded: &Value, replayed: &Value, found: &mut Vec<RecordDifference>) {
    match (recorded, replayed) {
        (Value::Object(one), Value::Object(two)) => {
            let names: std::collections::BTreeSet<&String> = one.keys().chain(two.keys()).collect();
            for name in names {
                let (one, two) = (one.get(name).unwrap_or(&Value::Null), two.get(name).unwrap_or(&Value::Null));
                compare(&format!("{at}/{name}"), one, two, found);
            }
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            for (index, (one, two)) in one.iter().zip(two).enumerate() {
                compare(&format!("{at}/{index}"), one, two, found);
            }
        }
        _ if recorded == replayed => {}
        _ => found.push(RecordDifference { at: at.to_owned(), recorded: recorded.clone(), replayed: replayed.clone() }),
    }
}
