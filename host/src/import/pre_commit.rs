//! `.pre-commit-config.yaml`.

use super::{Draft, command, tools};
use crate::error::Error;
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    repos: Vec<Repository>,
}

#[derive(Deserialize)]
struct Repository {
    repo: String,
    #[serde(default)]
    hooks: Vec<Hook>,
}

#[derive(Deserialize)]
struct Hook {
    id: String,
    #[serde(default)]
    entry: Option<String>,
    #[serde(default)]
    language: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    pass_filenames: Option<bool>,
    #[serde(default)]
    stages: Vec<String>,
}

/// Reads the file.
pub(super) fn read(text: &str, draft: &mut Draft) -> Result<(), Error> {
    let file: File = serde_saphyr::from_str(text)
        .map_err(|error| Error::input("this is not a configuration of pre-commit").because(error.to_string()))?;
    for repository in file.repos {
        for hook in repository.hooks {
            let stage = match hook.stages.first().map(String::as_str) {
                None | Some("commit" | "pre-commit") => "pre-commit",
                Some("push" | "pre-push") => "pre-push",
                Some(other) => {
                    draft.leave(&hook.id, &format!("there is no gate for the stage `{}`", super::shown(other)));
                    continue;
                }
            };
            take(&repository.repo, &hook, stage, draft);
        }
    }
    Ok(())
}

fn take(repository: &str, hook: &Hook, stage: &'static str, draft: &mut Draft) {
    if let Some(check) = tools::of_hook(&hook.id).filter(|_| repository != "local") {
        return draft.take(stage, &hook.id, check);
    }
    let Some(entry) = hook.entry.as_deref().filter(|_| repository == "local") else {
        return draft.leave(&hook.id, "no bundled verifier does the same, and pre-commit installs its program");
    };
    if !matches!(hook.language.as_deref(), Some("system" | "script" | "unsupported" | "unsupported_script")) {
        return draft
            .leave(&hook.id, "pre-commit installs its program: install it yourself, and write a `[command]` for it");
    }
    let arguments: Vec<String> = hook.args.iter().map(|word| crate::install::quoted(word)).collect();
    let line = [entry.to_owned(), arguments.join(" ")].join(" ");
    if hook.pass_filenames == Some(false) {
        return draft.take(stage, &hook.id, command(line.trim()));
    }
    match tools::of_command(entry) {
        Some(check) => draft.take(stage, &hook.id, check),
        None => draft.leave(&hook.id, "it takes a list of files, but a command in a gate runs on the whole workspace"),
    }
}
