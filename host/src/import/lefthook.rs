//! Reads `lefthook.yml`.

use super::{ImportDraft, Scope, command, patterns, tools};
use crate::error::Error;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Templates that lefthook replaces by a list of files.
const TEMPLATES: &[&str] = &["{staged_files}", "{push_files}", "{all_files}", "{files}"];

#[derive(Default, Deserialize)]
#[serde(default)]
struct LefthookFile {
    #[serde(rename = "pre-commit")]
    pre_commit: Option<LefthookStage>,
    #[serde(rename = "pre-push")]
    pre_push: Option<LefthookStage>,
    #[serde(rename = "commit-msg")]
    commit_msg: Option<LefthookStage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LefthookStage {
    commands: BTreeMap<String, LefthookJob>,
    jobs: Vec<LefthookJob>,
    scripts: BTreeMap<String, serde_json::Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LefthookJob {
    name: Option<String>,
    run: Option<String>,
    root: Option<String>,
    stage_fixed: Option<bool>,
    glob: Option<OneOrMore>,
    exclude: Option<OneOrMore>,
    env: BTreeMap<String, serde_json::Value>,
    group: Option<LefthookGroup>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LefthookGroup {
    jobs: Vec<LefthookJob>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn list(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::More(more) => more,
        }
    }
}

/// Reads the file.
pub(super) fn read(text: &str, draft: &mut ImportDraft) -> Result<(), Error> {
    let file: LefthookFile = serde_saphyr::from_str(text)
        .map_err(|error| Error::input("this is not a configuration of lefthook").because(error.to_string()))?;
    for (name, stage) in [("pre-commit", file.pre_commit), ("pre-push", file.pre_push)] {
        let Some(stage) = stage else { continue };
        for (job_name, job) in &stage.commands {
            take(name, job_name, job, draft);
        }
        take_all(name, name, &stage.jobs, draft);
        for script in stage.scripts.keys() {
            draft.leave(script, "it is a lefthook script: write a `[command]` for it");
        }
    }
    for job in file.commit_msg.iter().flat_map(|stage| stage.commands.keys()) {
        draft.leave(job, "commit messages are checked through `[hook] commit_msg`");
    }
    Ok(())
}

/// Converts jobs, and those of their groups.
fn take_all(stage: &'static str, above: &str, jobs: &[LefthookJob], draft: &mut ImportDraft) {
    for (number, job) in jobs.iter().enumerate() {
        let name = job.name.clone().unwrap_or_else(|| format!("{above}-job-{}", number + 1));
        match &job.group {
            Some(group) => take_all(stage, &name, &group.jobs, draft),
            None => take(stage, &name, job, draft),
        }
    }
}

/// Returns the files of a job. A filter without an equivalent pattern is reported and left out.
fn scope(name: &str, job: &LefthookJob, draft: &mut ImportDraft) -> Scope {
    let files = job.glob.iter().flat_map(OneOrMore::list).map(|pattern| patterns::of_lefthook(pattern)).collect();
    let exclude = match &job.exclude {
        None => Vec::new(),
        Some(OneOrMore::More(list)) => list.iter().map(|pattern| patterns::of_lefthook(pattern)).collect(),
        // A plain text is a regular expression.
        Some(OneOrMore::One(regex)) => patterns::of_regex(regex).unwrap_or_else(|| {
            draft.leave(name, "its `exclude` has no equivalent pattern, so the check matches more files than the hook");
            Vec::new()
        }),
    };
    Scope { files, exclude }
}

fn take(stage: &'static str, name: &str, job: &LefthookJob, draft: &mut ImportDraft) {
    let Some(line) = job.run.as_deref() else { return draft.leave(name, "it runs no command") };
    if job.root.is_some() {
        return draft.leave(name, "it runs in another folder: write a `[command]` for it");
    }
    if !job.env.is_empty() {
        return draft.leave(name, "it sets variables: write a `[command]` for it, with `env`");
    }
    let listed = TEMPLATES.iter().any(|template| line.contains(template));
    if listed || job.stage_fixed == Some(true) {
        return match tools::of_command(line) {
            Some(what) => {
                let scope = scope(name, job, draft);
                draft.take(stage, name, what, scope);
            }
            None if listed => {
                draft.leave(name, "it takes a list of files, but a command in a gate runs on the whole workspace")
            }
            None => draft.leave(name, "it changes files, which a gate never does"),
        };
    }
    let scope = scope(name, job, draft);
    draft.take(stage, name, command(line), scope);
}
