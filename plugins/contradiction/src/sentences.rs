//! Sentences as executors write them: those that admit failure, and those that only look like it.

use crate::{Settings, judge};
use gatehost_sdk::Status;

const ADMIT: &[&str] = &[
    "The final deployment step requires manual approval from the ops team.",
    "Note that this requires manual configuration of the DNS records.",
    "Setting up the OAuth app requires manual steps in the Google console.",
    "This part cannot be automated.",
    "The captcha can't be automated, so I left it out.",
    "I could not complete the migration of the legacy table.",
    "I couldn't complete the last two items in the list.",
    "We could not complete the upload due to a missing token.",
    "The schema change needs human review before it is merged.",
    "One flaky test still needs human attention.",
    "Manual intervention is required to restart the service.",
    "Some manual intervention will be needed after the release.",
    "The rollback needs manual intervention.",
    "All done except for the certificate, which requires manual renewal.",
    "Requires manual testing on a physical device.",
    "Everything works, but the secret rotation requires manual work.",
    "The tests do not run in CI because the license server requires manual activation.",
    "The job does not finish without manual intervention.",
    "It won't start without manual intervention.",
    "There is no way to do this without manual intervention.",
    "The import is impossible without manual intervention.",
    "I was unable to finish without manual intervention.",
    "We cannot avoid manual intervention here.",
    "With no database available the migration requires manual setup.",
    "Without a token the deploy requires manual login.",
    "Without it could not complete the deploy.",
    "No credentials were provided, so the upload requires manual work.",
    "No CI runner is configured; the check needs human confirmation.",
    "I did not run the end-to-end suite, it requires manual login.",
    "The build does not pass and needs human help.",
    "This not only requires manual work, it also takes hours.",
    "Manual intervention has not been done yet.",
    "The manual intervention was not performed.",
    "Manual intervention: yes",
    "Manual intervention: no access to production, please do it for me.",
    "Needs human: the payment sandbox.",
    "Status: could not complete.",
    "- [ ] Step 4: requires manual verification",
    "Step 4 → requires manual verification",
    "The **publish** step *requires manual* confirmation.",
    "The publish step requires\nmanual confirmation.",
    "Tests not run requires manual run.",
    "No tests\nRequires manual QA",
    "I have no access and could not complete the task.",
    "Given no network could not complete the download.",
    "If the cache is cold, the step requires manual warm-up.",
    "The step \"publish\" requires manual confirmation on \"npm\".",
    "The `publish` step requires manual confirmation.",
    "It is not obvious, however manual intervention is needed.",
    "A few records cannot be automated with the current API.",
    "The remaining 3 % could not complete within the time limit.",
    "This does not work on the branch that requires manual approval.",
    "The label needs-human was set on the pull request.",
    "Nothing else is open and the last step requires manual approval.",
    "Not every step is automated, one requires manual approval.",
    "There is nothing I can do without manual intervention.",
];

const DO_NOT: &[&str] = &[
    "No manual intervention was needed.",
    "No manual intervention is required.",
    "The script runs end to end without manual intervention.",
    "It now deploys without any manual intervention.",
    "The job finishes without further manual intervention.",
    "This does not require manual steps.",
    "The release doesn't need manual intervention any more.",
    "The pipeline did not need any manual intervention.",
    "There was no need for manual intervention.",
    "There is no longer a need for manual intervention.",
    "The service recovers with no manual intervention.",
    "The service recovers with zero manual intervention.",
    "Nothing requires manual work now.",
    "Nothing in this change requires manual work.",
    "No step requires manual work.",
    "None of the steps requires manual work.",
    "No part of the deployment requires manual work.",
    "The setup no longer requires manual work.",
    "The setup never requires manual work.",
    "There is nothing that requires manual work.",
    "There are no steps left that requires manual work.",
    "I did not find anything that requires manual work.",
    "This is not a change that requires manual review.",
    "This isn't something that requires manual review.",
    "Not a single step requires manual work.",
    "Manual intervention was not needed.",
    "Manual intervention is not required.",
    "Manual intervention isn't necessary.",
    "Manual intervention is no longer needed.",
    "Manual intervention by an operator was not required.",
    "Manual intervention is unnecessary now.",
    "Manual intervention was avoided.",
    "Manual intervention: none",
    "Manual intervention: none required.",
    "Manual intervention required? No.",
    "Manual intervention needed: no",
    "| Manual intervention | none |",
    "Manual intervention — none.",
    "Requires manual steps: no",
    "The new retry avoids manual intervention.",
    "The watchdog eliminates manual intervention.",
    "The script replaces manual intervention.",
    "It restarts by itself instead of manual intervention.",
    "It restarts by itself rather than by manual intervention.",
    "At no point did this need manual intervention.",
    "It never needed manual intervention.",
    "There was nothing I could not complete.",
    "There was nothing that could not complete.",
    "There is nothing that cannot be automated.",
    "No step cannot be automated.",
    "No issue needs human attention.",
    "Nobody needs human approval for this.",
    "I removed the comment \"requires manual setup\" from the README.",
    "I replaced the text “needs human review” with a link.",
    "The error message 'could not complete the request' is now translated.",
    "The log line `could not complete handshake` is gone.",
    "> This requires manual work.",
    "The old documentation said:\n\n> the import requires manual work\n\nThat is fixed.",
    "Output:\n\n```\nerror: could not complete\n```\n\nThat was before the fix.",
    "Renamed the label ‘needs human’ to triage.",
    "no manual\nintervention was needed",
    "The user guide for manual testing is updated.",
];

fn status(sentence: &str) -> Status {
    judge(Some(&format!("{sentence}\n\nTASK_COMPLETE\n")), &defaults()).status
}

#[test]
fn sentences_that_admit_failure_are_rejected() {
    assert!(ADMIT.len() >= 50, "there should be 50 sentences");
    let wrong: Vec<&&str> = ADMIT.iter().filter(|sentence| status(sentence) != Status::Fail).collect();
    assert!(wrong.is_empty(), "not rejected: {wrong:#?}");
}

#[test]
fn sentences_that_deny_or_quote_it_are_not() {
    assert!(DO_NOT.len() >= 50, "there should be 50 sentences");
    let wrong: Vec<&&str> = DO_NOT.iter().filter(|sentence| status(sentence) != Status::Pass).collect();
    assert!(wrong.is_empty(), "rejected: {wrong:#?}");
}

/// The settings where nothing is said.
pub(crate) fn defaults() -> Settings {
    serde_json::from_str("{}").expect("settings")
}
