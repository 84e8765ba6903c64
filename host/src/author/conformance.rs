//! The rules that every verifier must follow: it always answers, and always the same.
//!
//! Each rule is one line: kept, or broken and why. The sandbox keeps a guest from hanging or harming the host.
//! These rules test whether people get an answer for ordinary and for odd inputs.

mod edges;
mod inputs;
mod rules;

use super::case::{Case, CaseInput};
use super::trial::{Trial, TrialInput, TrialRun};
use crate::config;
use crate::limits::Limits;
use crate::plan::Shape;
use crate::runtime::LogLevel;
use crate::settings;
use crate::text::{clean_line, count};
use crate::verdict::{ErrorKind, Failure};
use rules::Undeclared;
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Duration;

/// One rule, and whether it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Promise {
    /// The rule.
    pub name: String,
    /// Whether it is kept.
    pub kept: bool,
    /// What was observed; for a broken rule, what broke it.
    pub seen: String,
    /// What to do about a broken rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Promise {
    fn kept(name: impl Into<String>, seen: impl Into<String>) -> Self {
        Self { name: name.into(), kept: true, seen: seen.into(), hint: None }
    }

    fn broken(name: impl Into<String>, seen: impl Into<String>, hint: impl Into<Option<String>>) -> Self {
        Self { name: name.into(), kept: false, seen: seen.into(), hint: hint.into() }
    }

    /// Returns a rule that is kept, unless something breaks it.
    fn of(name: &str, seen: impl Into<String>, broken: Option<String>, hint: &str) -> Self {
        match broken {
            None => Self::kept(name, seen),
            Some(broken) => Self::broken(name, broken, hint.to_owned()),
        }
    }

    fn by(name: impl Into<String>, failure: &Failure) -> Self {
        Self::broken(name, message_of(failure), failure.hint.clone())
    }
}

fn message_of(failure: &Failure) -> String {
    format!("{}: {}", failure.kind, failure.message)
}

const SCHEMA: &str = "the settings schema is a JSON Schema";

/// Tests a verifier against all rules. The first usable case is the ordinary input.
pub async fn conformance(trial: &Trial, cases: &[Case]) -> Vec<Promise> {
    let mut promises = vec![imports(trial), description(trial), patterns(trial), schema(trial)];
    promises.push(rules::well_formed(&trial.about));
    if promises.iter().any(|promise| !promise.kept && promise.name == SCHEMA) {
        return promises;
    }
    promises.push(no_settings(trial, cases));
    let fits = |case: &&Case| settings::validate(&trial.about.settings_schema, &case.settings).is_ok();
    let Some(first) = cases.iter().find(fits) else { return promises };
    let mut undeclared = Undeclared::new(&trial.about);
    promises.extend(of_cases(trial, cases, &mut undeclared).await);
    let ordinary = answers(trial, first, &format!("case `{}`", first.name), &first.given, &mut undeclared).await;
    let answered = ordinary.kept;
    promises.push(ordinary);
    // If it cannot answer for an ordinary input, odd ones show nothing.
    if !answered {
        promises.push(undeclared.promise());
        return promises;
    }
    for (name, given) in inputs::odd(&first.given) {
        promises.push(answers(trial, first, &name, &given, &mut undeclared).await);
    }
    promises.push(edges(trial, first, &mut undeclared).await);
    promises.push(undeclared.promise());
    for (name, kind, limits) in few() {
        promises.push(within(trial, first, name, kind, &limits).await);
    }
    promises
}

fn imports(trial: &Trial) -> Promise {
    // A component with other imports would not have been loaded.
    let wasi = trial.component_type.imports.iter().filter(|import| import.starts_with("wasi:")).count();
    let needs: Vec<&str> =
        trial.component_type.capabilities().into_iter().map(|capability| capability.needs()).collect();
    let needs = if needs.is_empty() { "no grant".to_owned() } else { format!("the grants {}", needs.join(", ")) };
    let wasi = if wasi == 0 { String::new() } else { format!("; {wasi} WASI imports, which grant nothing") };
    Promise::kept("imports nothing undeclared", format!("needs {needs}{wasi}"))
}

fn description(trial: &Trial) -> Promise {
    let about = &trial.about;
    let broken = if !is_kebab(&about.name) {
        Some(format!("its name is `{}`; expected lower-case words joined by `-`", about.name))
    } else if !is_version(&about.version) {
        Some(format!("its version is `{}`; expected one such as `1.0.0`", about.version))
    } else if about.summary.trim().is_empty() {
        Some("its summary is empty; expected what it verifies, in one sentence".to_owned())
    } else {
        None
    };
    let seen = format!("{} {}", about.name, about.version);
    Promise::of("describes itself", seen, broken, "change what `describe` returns")
}

fn is_kebab(name: &str) -> bool {
    let word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.split('-').all(word)
}

fn is_version(version: &str) -> bool {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = core.split('.').collect();
    parts.len() == 3 && parts.iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn patterns(trial: &Trial) -> Promise {
    let files = &trial.about.files;
    let bad = files.iter().find_map(|text| config::pattern(text).err()).map(|error| error.to_string());
    let seen = match (files.as_slice(), trial.verifier.shape()) {
        ([], Some(Shape::File)) => "none: every check that uses it must have `files`".to_owned(),
        ([], _) => "none".to_owned(),
        (files, _) => files.join(", "),
    };
    Promise::of("file patterns can be read", seen, bad, "change `files` of what `describe` returns")
}

fn schema(trial: &Trial) -> Promise {
    let schema = &trial.about.settings_schema;
    if schema.is_empty() {
        return Promise::kept(SCHEMA, "none: it takes no settings");
    }
    let problems = settings::validate(schema, &json!({})).err().unwrap_or_default();
    let of_schema = problems.into_iter().find(|problem| problem.of_schema).map(|problem| problem.message);
    let strict = settings::validate(schema, &json!({ "no-such-setting-anywhere": true })).is_err();
    let seen = if strict { "unknown settings are refused" } else { "note: it accepts settings that do not exist" };
    Promise::of(SCHEMA, seen, of_schema, "change `settings-schema` of what `describe` returns")
}

fn no_settings(trial: &Trial, cases: &[Case]) -> Promise {
    let name = "settings are optional, or the schema lists the required ones";
    let schema = &trial.about.settings_schema;
    if settings::validate(schema, &json!({})).is_ok() {
        return Promise::kept(name, "empty settings match the schema");
    }
    let required = serde_json::from_str::<Value>(schema).ok().and_then(|schema| schema.get("required").cloned());
    let fits = |case: &&Case| settings::validate(schema, &case.settings).is_ok();
    match (required, cases.iter().find(fits)) {
        (Some(required), Some(_)) => {
            Promise::kept(name, format!("required: {}", clean_line(&required.to_string(), 200)))
        }
        (None, _) => Promise::broken(
            name,
            "empty settings do not match the schema, and it has no `required`",
            "add `required` to the schema, or accept empty settings".to_owned(),
        ),
        (_, None) => Promise::broken(
            name,
            "no case has settings that match the schema",
            "add a `settings.json` to a case".to_owned(),
        ),
    }
}

/// Runs the cases twice and compares.
async fn of_cases(trial: &Trial, cases: &[Case], undeclared: &mut Undeclared<'_>) -> Vec<Promise> {
    let (mut differs, mut misplaced, mut misnamed, mut printed) = (None, None, None, 0);
    for case in cases {
        let (Ok(once), Ok(twice)) = (trial.judge(case).await, trial.judge(case).await) else { continue };
        if differs.is_none() && visible(&once) != visible(&twice) {
            differs = Some(format!("case `{}` got two different verdicts", case.name));
        }
        undeclared.note(&once, &format!("case `{}`", case.name));
        misplaced = misplaced.or_else(|| misplaced_finding(case, &once));
        misnamed = misnamed.or_else(|| misnamed_finding(case, &once));
        let lines = once.answers.iter().flat_map(|(_, answer)| &answer.log);
        printed += lines.filter(|line| line.severity == LogLevel::Printed).count();
    }
    let prints = if printed == 0 {
        "prints nothing".to_owned()
    } else {
        format!("note: it printed {}, which became log lines; use `log` instead", count(printed, "line"))
    };
    vec![
        Promise::of(
            "the same input gets the same verdict",
            "each case ran twice",
            differs,
            "a verdict may depend only on the input and the settings",
        ),
        Promise::of("findings point to existing lines", "in every case", misplaced, "lines and columns count from 1"),
        Promise::of(
            "findings have a stable code",
            "in every case",
            misnamed,
            "a code is lower-case words joined by `-`, such as `trailing-comma`",
        ),
        Promise::kept("prints nothing", prints),
    ]
}

/// Returns everything that a caller sees of an answer.
fn visible(judged: &TrialRun) -> (Value, Vec<String>) {
    let lines = judged.answers.iter().flat_map(|(_, answer)| &answer.log);
    (judged.verdicts(), lines.map(|line| format!("{}: {}", line.severity, line.message)).collect())
}

fn misplaced_finding(case: &Case, judged: &TrialRun) -> Option<String> {
    let CaseInput::Files(files) = &case.given else { return None };
    judged.answers.iter().find_map(|(path, answer)| {
        let bytes = &files.iter().find(|file| file.path == *path)?.content;
        // The line after the last line break counts: missing text at the end is reported there.
        let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
        let mut findings = answer.verdict.findings.iter();
        let (code, line) = findings.find_map(|finding| {
            let line = finding.place.as_ref()?.line?;
            (u64::from(line) > lines).then_some((&finding.code, line))
        })?;
        Some(format!("case `{}`: `{code}` is on line {line} of `{path}`, which has {lines}", case.name))
    })
}

fn misnamed_finding(case: &Case, judged: &TrialRun) -> Option<String> {
    let mut findings = judged.answers.iter().flat_map(|(_, answer)| &answer.verdict.findings);
    let finding = findings.find(|finding| !is_kebab(&finding.code))?;
    Some(format!("case `{}`: the code `{}`", case.name, clean_line(&finding.code, 60)))
}

/// Tests that it answers with anything but an error.
async fn answers(
    trial: &Trial,
    like: &Case,
    input: &str,
    given: &CaseInput,
    undeclared: &mut Undeclared<'_>,
) -> Promise {
    let name = format!("answers for {input}");
    let judged = ask(trial, like, given, &like.settings, &Limits::default()).await;
    if let Ok(judged) = &judged {
        undeclared.note(judged, input);
    }
    match judged {
        Err(failure) => Promise::by(name, &failure),
        Ok(judged) => match judged.error() {
            Some(failure) => Promise::by(name, &failure),
            None => {
                let mut said: Vec<&str> =
                    judged.answers.iter().map(|(_, answer)| answer.verdict.status.as_str()).collect();
                said.sort_unstable();
                said.dedup();
                Promise::kept(name, said.join(", "))
            }
        },
    }
}

async fn ask(
    trial: &Trial,
    like: &Case,
    given: &CaseInput,
    settings: &Value,
    limits: &Limits,
) -> Result<TrialRun, Failure> {
    let folder = like.files();
    let commands = like.commands.commands();
    let models = like.models.models();
    trial.ask(&TrialInput { given, settings, limits, workspace: folder.as_deref(), commands, models }).await
}

/// Tests settings that the schema allows, however odd.
async fn edges(trial: &Trial, like: &Case, undeclared: &mut Undeclared<'_>) -> Promise {
    let name = "answers for unusual settings that its schema allows";
    let odd = edges::of(&trial.about.settings_schema, &like.settings);
    let count = odd.len();
    for settings in odd {
        let broken = match ask(trial, like, &like.given, &settings, &Limits::default()).await {
            Err(failure) => Some(failure),
            Ok(judged) => {
                undeclared.note(&judged, &format!("the settings {}", clean_line(&settings.to_string(), 100)));
                judged.error()
            }
        };
        if let Some(failure) = broken {
            let shown = clean_line(&settings.to_string(), 100);
            return Promise::broken(name, format!("with {shown}: {}", message_of(&failure)), failure.hint);
        }
    }
    Promise::kept(name, if count == 0 { "there are none".to_owned() } else { format!("{count} of them") })
}

/// Returns lower limits, and how a call ends that needs more.
fn few() -> [(&'static str, ErrorKind, Limits); 3] {
    let usual = Limits::default;
    [
        ("a millisecond", ErrorKind::LimitTime, Limits { time: Duration::from_millis(1), ..usual() }),
        ("1 MiB of memory", ErrorKind::LimitMemory, Limits { memory: 1 << 20, ..usual() }),
        ("10 host calls", ErrorKind::LimitHostcalls, Limits { hostcalls: 10, ..usual() }),
    ]
}

/// Tests that it ends with the right error below a limit, and answers with enough.
async fn within(trial: &Trial, case: &Case, name: &str, kind: ErrorKind, limits: &Limits) -> Promise {
    let name = format!("answers the same with {name}, or not at all");
    let (usual, less) = match (trial.judge(case).await, trial.judge_within(case, limits).await) {
        (Ok(usual), Ok(less)) => (usual, less),
        (Err(failure), _) | (_, Err(failure)) => return Promise::by(name, &failure),
    };
    match less.error() {
        Some(failure) if failure.kind != kind => Promise::by(name, &failure),
        // The same text for both, because whether a millisecond is enough differs between runs.
        Some(_) => Promise::kept(name, format!("ends with {kind} if it needs more")),
        None if less.verdicts() == usual.verdicts() => {
            Promise::kept(name, format!("ends with {kind} if it needs more"))
        }
        None => Promise::broken(name, format!("a different verdict for case `{}`", case.name), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lower_case_words() {
        for (name, good) in [
            ("json-syntax", true),
            ("a", true),
            ("a1-2", true),
            ("", false),
            ("JSON", false),
            ("a_b", false),
            ("a--b", false),
            ("-a", false),
            ("1a", false),
            ("my verifier", false),
        ] {
            assert_eq!(is_kebab(name), good, "{name}");
        }
        for (version, good) in [("1.0.0", true), ("0.1.0-rc.1", true), ("1.0", false), ("v1.0.0", false), ("", false)] {
            assert_eq!(is_version(version), good, "{version}");
        }
    }
}
