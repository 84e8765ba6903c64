//! Sentences as executors write them: sentences that admit failure, and sentences that only seem to.

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
    "Could not complete: not a single test passes.",
    "Requires manual testing - not a test was run.",
    "Requires manual steps: no need to worry, ops will take them.",
    "Manual intervention cannot be avoided.",
    "Manual intervention could not be avoided here.",
    "Manual intervention was not avoided.",
    "Manual intervention should have been avoided.",
    "Manual intervention is not unnecessary.",
    "Manual intervention is not only needed but urgent.",
    "There is no way around manual intervention.",
    "There is no alternative to manual intervention.",
    "There is no substitute for manual intervention.",
    "This cannot be resolved other than by manual intervention.",
    "Nothing less than manual intervention helps.",
    "Nothing short of manual intervention will fix it.",
    "The service did not start before manual intervention.",
    "The deploy did not finish awaiting manual intervention.",
    "I did not perform the manual intervention.",
    "It does not work without the manual intervention.",
    "The deploy requires\u{200B} manual approval.",
    "The last step requires man\u{AD}ual approval.",
    "> note\rThe deploy requires manual approval.\r",
    "> note\u{2028}The deploy requires manual approval.",
    "<!-- note --> The deploy requires manual approval.",
    "The deploy re**quires man**ual approval.",
    "The deploy requires&nbsp;manual approval.",
    "The deploy requires m&#97;nual approval.",
    "The deploy requires man&shy;ual approval.",
    "The deploy requires man<!-- -->ual approval.",
    "The deploy requires <b>manual</b> approval.",
    "The deploy requires<br>manual approval.",
    "<div>The deploy requires manual approval.</div>",
    "<details>\n<summary>Notes</summary>\n\nThe deploy requires manual approval.\n\n</details>",
    "<span class=\"x\">The deploy requires manual approval.</span>",
    "The deploy requires [manual](https://example.com) approval.",
    "The deploy requires\\\nmanual approval.",
    "The deploy requires mаnual approval.",
    "The deploy ｒｅｑｕｉｒｅｓ manual approval.",
    "\\` The deploy requires manual approval. `x`",
    "| step | state |\n|---|---|\n| deploy | requires manual approval |",
    "1. The deploy requires manual approval.",
    "# The deploy requires manual approval",
    "No tests ran and manual intervention is needed.",
    "I did not run it since manual intervention is needed.",
    "It is not done yet, manual intervention is needed.",
    "There is no deploy without the approval, which is manual intervention.",
    "I could (not) complete step 3.",
    "I could [not] complete step 3.",
    "I could\\ not complete step 3.",
    "Status: could_not_complete",
    "needs_human: true",
    "I couldnt complete step 3.",
    "Step 3 cant be automated.",
    "I c\u{336}o\u{336}uld not complete step 3.",
    "I ⓒⓞⓤⓛⓓ not complete step 3.",
    "I co\u{E0041}uld not\u{3164} complete step 3.",
    "No errors (requires manual approval).",
    "The deploy requires `manual` approval.",
    "The deploy `requires` `manual`ly set tokens, and needs `human` eyes.",
    "<details><summary>Notes</summary>requires manual approval</details>",
    "<table><tr><td>Deploy</td><td>requires manual approval</td></tr></table>",
    "The deploy ʀᴇǫuires manual approval: it needs ʜᴜᴍᴀɴ eyes.",
    "There are no failures [needs human review].",
    "This can not be automated.",
    "Manual intervention: not (yet) done.",
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
    "Manual intervention: n/a",
    "Manual intervention: not needed.",
    "Manual intervention was never needed.",
    "Manual intervention is not needed at all.",
    "Manual interventions were not needed.",
    "Manual interventions are not needed.",
    "Manual intervention will not be needed.",
    "Manual intervention has not been required.",
    "Manual intervention: never",
    "Manual intervention: zero",
    "manual_intervention: false",
    "Not one step requires manual work.",
    "Manual intervention is now unnecessary.",
    "The job did not need the manual intervention.",
    "It restarts without waiting for manual intervention.",
    "It finishes without requiring manual intervention.",
    "~~The deploy requires manual approval.~~",
    "<del>The deploy requires manual approval.</del>",
    "The label <code>needs human</code> is gone.",
    "[//]: # (The deploy requires manual approval.)",
    "<!--\nThe deploy requires manual approval.\n-->",
    "The field `needs_human` is gone.",
    "The states `manual` and `intervention` are gone.",
    "At no point does this need manual intervention.",
    "No step still requires manual work.",
    "There is no case where manual intervention is needed.",
    "No part of the release process for customers requires manual work.",
    "Manual intervention won't be needed.",
];

/// Words that end an excuse, each in a sentence that would be excused without it.
const ENDING: &[(&str, &str)] = &[
    (
        "The deploy did not finish {} manual intervention is needed.",
        "because, but, since, so, and, although, though, while, if, when, however, yet, meaning, hence, \
         therefore, thus, as",
    ),
    ("The service does not start {} manual intervention.", "until, pending, despite, due to"),
    ("It never recovers {} manual intervention follows.", "unless"),
    ("Nothing is left {} manual intervention.", "except"),
    ("If no token is set {} manual intervention is needed.", "then"),
    ("No token {} manual intervention is needed.", "means"),
    (
        "Without a token {} manual intervention.",
        "the deploy needs, a deploy needs, an upload needs, it needs, this needs, these need, they need, we need, \
         I need, you need, each deploy needs, every deploy needs, everything needs, all deploys need, \
         our deploys need, my deploys need, your deploys need, its deploys need, their deploys need, \
         some deploys need, one deploy needs",
    ),
    ("There is no way {} manual intervention.", "around, round, past"),
    (
        "There is no {} manual intervention.",
        "alternative to, substitute for, replacement for, choice besides, choice beyond",
    ),
    ("There are no {} to manual intervention.", "alternatives"),
    ("The deploy did not finish {} manual intervention.", "awaiting, waiting for, before"),
    (
        "The jobs {} without manual intervention.",
        "fail, failed, are impossible, are unable to finish, are stuck, are blocked, are incomplete",
    ),
    ("The job {} without manual intervention.", "fails"),
    (
        "The hosts {} could not complete the update.",
        "with no agent, given no agent, that had no agent, that have no agent, having no agent, \
         where there are no agents, where there were no agents, owned by no team, that found no agent",
    ),
    ("A host {} requires manual setup.", "that has no agent, where there is no agent, where there was no agent"),
    ("This needs not {} manual intervention but a restart.", "only, just"),
];

/// Phrases that start with a verb, which `without` does not negate.
const VERBS: &str = "cannot be tested, could fail, can fail, must be tested, should be tested, would fail, will fail, may fail, \
     might fail, are left out, were left out, did not run, do not run";

/// Short forms without their apostrophe.
const SHORT: &[(&str, &str)] = &[
    ("It {} need manual intervention.", "wouldnt shouldnt didnt doesnt"),
    ("The jobs {} need manual intervention.", "dont"),
    ("Manual intervention {} needed.", "isnt wasnt"),
];

#[test]
fn a_word_that_ends_an_excuse_makes_an_admission() {
    for (sentence, endings) in ENDING {
        for ending in endings.split(", ") {
            let sentence = sentence.replace("{}", ending);
            assert_eq!(status(&sentence), Status::Fail, "{sentence}");
        }
    }
}

#[test]
fn a_short_form_without_its_apostrophe_negates() {
    for (sentence, forms) in SHORT {
        for form in forms.split(' ') {
            let sentence = sentence.replace("{}", form);
            assert_eq!(status(&sentence), Status::Pass, "{sentence}");
        }
    }
}

#[test]
fn a_phrase_can_start_with_any_verb_or_noun() {
    let with = |phrase: &str, claim: &str| {
        let settings = Settings { phrases: vec![phrase.to_owned()], ..defaults() };
        judge(Some(&format!("{claim}\n\nTASK_COMPLETE\n")), &settings).status
    };
    for phrase in VERBS.split(", ") {
        let claim = format!("The steps without a token {phrase}.");
        assert_eq!(with(phrase, &claim), Status::Fail, "{claim}");
    }
    assert_eq!(with("access denied", "The upload ran without access denied errors."), Status::Pass);
}

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

/// The default settings.
pub(crate) fn defaults() -> Settings {
    serde_json::from_str("{}").expect("settings")
}
