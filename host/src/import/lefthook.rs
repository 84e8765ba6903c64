//! `lefthook.yml`.

use super::{Draft, command, tools};
use crate::error::Error;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What lefthook replaces by a list of files.
const TEMPLATES: &[&str] = &["{staged_files}", "{push_files}", "{all_files}", "{files}"];

#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    #[serde(rename = "pre-commit")]
    pre_commit: Option<Stage>,
    #[serde(rename = "pre-push")]
    pre_push: Option<Stage>,
    #[serde(rename = "commit-msg")]
    commit_msg: Option<Stage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Stage {
    commands: BTreeMap<String, Job>,
    jobs: Vec<Job>,
    scripts: BTreeMap<String, serde_json::Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Job {
    name: Option<String>,
    run: Option<String>,
    root: Option<String>,
    stage_fixed: Option<bool>,
}

/// Reads the file.
pub(super) fn read(text: &str, draft: &mut Draft) -> Result<(), Error> {
    let file: File = serde_saphyr::from_str(text)
        .map_err(|error| Error::input("this is not a configuration of lefthook").because(error.to_string()))?;
    for (name, stage) in [("pre-commit", file.pre_commit), ("pre-push", file.pre_push)] {
        let Some(stage) = stage else { continue };
        for (job_name, job) in &stage.commands {
            take(name, job_name, job, draft);
        }
        for (number, job) in stage.jobs.iter().enumerate() {
            let job_name = job.name.clone().unwrap_or_else(|| format!("{name}-job-{}", number + 1));
            take(name, &job_name, job, draft);
        }
        for script in stage.scripts.keys() {
            draft.leave(script, "it is a lefthook script: write a `[command]` for it");
        }
    }
    for job in file.commit_msg.iter().flat_map(|stage| stage.commands.keys()) {
        draft.leave(job, "commit messages are checked through `[hook] commit_msg`");
    }
    Ok(())
}

fn take(stage: &'static str, name: &str, job: &Job, draft: &mut Draft) {
    let Some(line) = job.run.as_deref() else { return draft.leave(name, "it runs no command of its own") };
    if job.root.is_some() {
        return draft.leave(name, "it runs in another folder: write a `[command]` for it");
    }
    let listed = TEMPLATES.iter().any(|template| line.contains(template));
    if listed || job.stage_fixed == Some(true) {
        return match tools::of_command(line) {
            Some(check) => draft.take(stage, name, check),
            None if listed => {
                draft.leave(name, "it takes a list of files, but a command in a gate runs on the whole workspace")
            }
            None => draft.leave(name, "it changes files, which a gate never does"),
        };
    }
    draft.take(stage, name, command(line));
}
