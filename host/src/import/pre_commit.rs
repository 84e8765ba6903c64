//! Reads `.pre-commit-config.yaml`.

use super::{ImportDraft, Scope, command, patterns, tools};
use crate::error::Error;
use serde::Deserialize;

#[derive(Deserialize)]
struct PreCommitFile {
    #[serde(default)]
    repos: Vec<HookRepository>,
    #[serde(default)]
    files: Option<String>,
    #[serde(default)]
    exclude: Option<String>,
}

#[derive(Deserialize)]
struct HookRepository {
    repo: String,
    #[serde(default)]
    hooks: Vec<PreCommitHook>,
}

#[derive(Deserialize)]
struct PreCommitHook {
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
    #[serde(default)]
    files: Option<String>,
    #[serde(default)]
    exclude: Option<String>,
}

/// Reads the file.
pub(super) fn read(text: &str, draft: &mut ImportDraft) -> Result<(), Error> {
    let file: PreCommitFile = serde_saphyr::from_str(text)
        .map_err(|error| Error::input("this is not a configuration of pre-commit").because(error.to_string()))?;
    for repository in &file.repos {
        for hook in &repository.hooks {
            let stage = match hook.stages.first().map(String::as_str) {
                None | Some("commit" | "pre-commit") => "pre-commit",
                Some("push" | "pre-push") => "pre-push",
                Some(other) => {
                    draft.leave(&hook.id, &format!("there is no gate for the stage `{}`", super::shown(other)));
                    continue;
                }
            };
            let scope = Scope {
                files: scope(draft, &hook.id, "files", [&file.files, &hook.files]),
                exclude: scope(draft, &hook.id, "exclude", [&file.exclude, &hook.exclude]),
            };
            take(&repository.repo, hook, stage, scope, draft);
        }
    }
    Ok(())
}

/// Returns the patterns of a hook and of the whole file. A filter without an equivalent pattern is reported and left out.
fn scope(draft: &mut ImportDraft, hook: &str, key: &str, regexes: [&Option<String>; 2]) -> Vec<String> {
    let given: Vec<&String> = regexes.into_iter().flatten().collect();
    // Paths must match both, which a list of patterns cannot express.
    let is_both = key == "files" && given.len() > 1;
    let known: Vec<Option<Vec<String>>> = given.iter().map(|regex| patterns::of_regex(regex)).collect();
    if is_both || known.iter().any(Option::is_none) {
        draft.leave(
            hook,
            &format!("its `{key}` has no equivalent pattern, so the check matches more files than the hook"),
        );
        return Vec::new();
    }
    known.into_iter().flatten().flatten().collect()
}

fn take(repository: &str, hook: &PreCommitHook, stage: &'static str, scope: Scope, draft: &mut ImportDraft) {
    if let Some(what) = tools::of_hook(&hook.id, &hook.args).filter(|_| repository != "local") {
        return draft.take(stage, &hook.id, what, scope);
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
        return draft.take(stage, &hook.id, command(line.trim()), scope);
    }
    match tools::of_command(entry) {
        Some(what) => draft.take(stage, &hook.id, what, scope),
        None => draft.leave(&hook.id, "it takes a list of files, but a command in a gate runs on the whole workspace"),
    }
}
