//! `{{name}}`: the claim mentions every file that changed.

use gatehost_sdk::{Finding, Place, Rule, Submission, Verdict};

gatehost_sdk::settings! {
    struct Settings {
        /// Paths that start with this need no mention.
        ignore: Option<String> => { minLength: 1 },
    }
}

gatehost_sdk::submission_verifier!(
    check,
    summary: "The claim mentions every file that changed.",
    settings: Settings,
    rules: [
        Rule::error("no-claim", "There is no claim."),
        Rule::error("not-mentioned", "The claim does not mention a changed file."),
    ],
);

fn check(submission: &Submission, settings: Settings) -> Verdict {
    if submission.changes.is_empty() {
        return Verdict::not_applicable("no file changed");
    }
    let Some(claim) = &submission.claim else {
        return Finding::error("no-claim", "there is no claim").hint("say what was done").into();
    };
    let paths = submission.changes.iter().map(|change| change.path.as_str());
    let ignored = |path: &str| settings.ignore.as_ref().is_some_and(|start| path.starts_with(start));
    let missing = paths.filter(|path| !ignored(path) && !claim.text.contains(path)).map(|path| {
        Finding::error("not-mentioned", format!("the claim does not mention `{path}`"))
            .at(Place::file(path))
            .hint("say what was done to it, or take the change back")
    });
    Verdict::of(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_change_there_is_nothing_to_judge() {
        let verdict = check(&Submission::default(), Settings { ignore: None });
        assert_eq!(verdict.status, gatehost_sdk::Status::NotApplicable);
    }
}
