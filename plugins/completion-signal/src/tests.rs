use super::*;
use gatehost_sdk::{Status, SubmissionVerifier};

#[test]
fn a_signal_on_its_own_line_passes() {
    for claim in [
        "TASK_COMPLETE",
        "All tests pass.\n\nTASK_COMPLETE\n",
        "  TASK_COMPLETE  ",
        "done\r\nTASK_COMPLETE\r\n",
        "**TASK_COMPLETE**",
        "`TASK_COMPLETE`.",
        "TASK_COMPLETE!",
        "```\ncargo test\n```\nTASK_COMPLETE",
        "```cargo test``` passes now.\n\nTASK_COMPLETE",
        "\u{FEFF}TASK_COMPLETE",
        "<!-- a note -->\nTASK_COMPLETE",
        "- the tests pass\n- it is documented\nTASK_COMPLETE",
        "All tests pass\n\nTASK_COMPLETE",
        "All tests pass\nTASK_COMPLETE",
        "- No lint errors\n- No regressions\n\nTASK_COMPLETE",
        "It takes ~30 % less\n\nTASK_COMPLETE",
        "See [1].\n\n[1] - https://example.com/5\n\nTASK_COMPLETE",
        "- No lint errors\nTASK_COMPLETE",
        "## No open points\n\nTASK_COMPLETE",
        "There were no failures\n\nTASK_COMPLETE",
        "## Status\n\nTASK_COMPLETE",
        "Status:\nTASK_COMPLETE",
        "**TASK\\_COMPLETE**",
        "All 5 tests pass ✅\nTASK_COMPLETE",
        "It did not work at first. It does now.\nTASK_COMPLETE",
        "| test | result |\n|---|---|\n| a | pass |\n\nTASK_COMPLETE",
    ] {
        assert_eq!(judge(Some(claim), "TASK_COMPLETE").status, Status::Pass, "{claim:?}");
    }
}

#[test]
fn anything_less_fails_with_its_code() {
    for (claim, code) in [
        (None, "no-claim"),
        (Some(""), "empty-claim"),
        (Some(" \n"), "empty-claim"),
        (Some("Everything is finished."), "no-signal"),
        (Some("task_complete"), "no-signal"),
        (Some("I will say TASK_COMPLETE when it is done."), "signal-not-alone"),
        (Some("TASK_COMPLETED"), "signal-not-alone"),
        (Some("NOT TASK_COMPLETE"), "signal-not-alone"),
        (Some("> TASK_COMPLETE"), "signal-not-alone"),
        (Some("TASK_COMPLETE?"), "signal-not-alone"),
        (Some("```\nTASK_COMPLETE\n```"), "signal-not-alone"),
        (Some("```\nTASK_COMPLETE"), "signal-not-alone"),
        (Some("````\n```\nTASK_COMPLETE\n```\n````\n"), "signal-not-alone"),
        (Some("```text\na\n```sh\nTASK_COMPLETE\n```"), "signal-not-alone"),
        (Some("<!--\nTASK_COMPLETE\n-->\nnot done"), "signal-not-alone"),
        (Some("<!--\nTASK_COMPLETE"), "signal-not-alone"),
        (Some("    TASK_COMPLETE"), "signal-not-alone"),
        (Some("This is not\nTASK_COMPLETE"), "signal-not-alone"),
        (Some("This is not\n\nTASK_COMPLETE"), "signal-not-alone"),
        (Some("This isn’t  \n**TASK_COMPLETE**"), "signal-not-alone"),
        (Some("This is _not_\\\nTASK_COMPLETE"), "signal-not-alone"),
        (Some("This is far from\nTASK_COMPLETE"), "signal-not-alone"),
        (Some("I would not call this work\nTASK_COMPLETE"), "signal-not-alone"),
        (Some("We are still working towards\n\nTASK_COMPLETE"), "signal-not-alone"),
        (Some("When the rest is done I will say:\n\nTASK_COMPLETE"), "signal-not-alone"),
        (Some("- this is not\nTASK_COMPLETE"), "signal-not-alone"),
        (Some("~~TASK_COMPLETE~~"), "signal-not-alone"),
        (Some("<del>\nTASK_COMPLETE\n</del>"), "signal-not-alone"),
        (Some("<div hidden>\n\nTASK_COMPLETE\n\n</div>"), "signal-not-alone"),
        (Some("[a]: /b '\nTASK_COMPLETE\n'\n\nnot done"), "signal-not-alone"),
        (Some("> the plan says\nTASK_COMPLETE"), "signal-not-alone"),
        (Some("TASK_COMPLETE\nis what I cannot say yet."), "signal-not-alone"),
        (Some("TASK_COMPLETE\n\nwould be a lie."), "signal-not-alone"),
        (Some("TASK_COMPLETE\n? I doubt it."), "signal-not-alone"),
        (Some("This is not…\nTASK_COMPLETE"), "signal-not-alone"),
        (Some("This is not...\n\nTASK_COMPLETE"), "signal-not-alone"),
        (Some("This is n\u{43e}t\nTASK_COMPLETE"), "signal-not-alone"),
        (Some("This is ｎｏｔ\nTASK_COMPLETE"), "signal-not-alone"),
    ] {
        let verdict = judge(claim, "TASK_COMPLETE");
        assert_eq!(<TheVerifier as SubmissionVerifier>::ABOUT.undeclared(&verdict), [""; 0]);
        assert_eq!(verdict.status, Status::Fail, "{claim:?}");
        assert_eq!(verdict.findings[0].code, code, "{claim:?}");
    }
}

#[test]
fn words_before_the_signal_that_say_the_opposite_leave_it_in_doubt() {
    for before in [
        "This task is not complete.",
        "The work isn't finished yet.",
        "It is **not** done.",
        "- [ ] The work is not d&#111;ne yet.",
        "I have not finished the second half.",
        "I did not complete step 3.",
        "The implementation is incomplete.",
        "The task remains unfinished.",
        "Nothing works yet.",
        "The tests are still failing.",
        "Two of the tests still fail.",
        "I will say the word below when I am done.",
        "I was told to end with the line below.",
        "> This task is not complete.\nthis is not done.",
        "Not complete.",
        "`parse` not done.",
        "- `a` and `b`: not finished.",
        "~~Done~~ not done",
        "NOT DONE",
        "- Not yet finished!",
        "Status: incomplete",
        "**Status:** not complete",
        "Status: blocked",
        "Result: failed",
        "I gave up.",
        "I have failed.",
        "The task failed.",
        "I could not do it.",
        "Nope.",
        "Not really.",
        "The work is only half done.",
        "I still need to fix the tests.",
        "Tests fail.",
        "2 tests are failing.",
        "The following is a lie:",
        "The following is not true.",
        "Ignore the next line.",
        "All tests pass.\nNope.",
    ] {
        for claim in [format!("{before}\n\nTASK_COMPLETE\n"), format!("TASK_COMPLETE\n\n{before}\n")] {
            let verdict = judge(Some(&claim), "TASK_COMPLETE");
            assert_eq!(verdict.status, Status::Abstain, "{claim}: {verdict:?}");
        }
    }
    for before in [
        "The old parser was not complete. The new one is.",
        "The tests failed at first; they pass now.",
        "> This task is not complete.",
        "```\nThis task is not complete.\n```",
        "The cache is not done twice any more.",
        "Incomplete lines are read as well.",
        "The check no longer fails on unfinished input.",
        "Handles the case where the upload is not complete: it is resumed.",
        "If a task is not finished in time, the scheduler restarts it.",
        "It still fails closed without a token.",
        "I did not finish early: all twelve cases are covered.",
        "Added a state `incomplete` for orders that are not complete.",
        "Passed: 12\nFailed: 0",
        "Failed: none",
        "Without the fix, two tests fail; with it, all pass.",
        "I gave up on the first approach and wrote a parser instead.",
        "The new compiler caused\nthe build to fail.",
        "The status of a blocked job is `blocked`.",
        "No tests fail.",
        "I checked that the tests fail without the change.",
        "The job is marked as failed after three tries.",
        "Ignore files are read first.",
        "Jobs that fail are retried, and the following is logged.",
        "The users still need to log in once.",
        "Not only done, but documented.",
        "It says whether the pointer is valid or\nnot. It exits with 1 if it is\nnot.",
    ] {
        let verdict = judge(Some(&format!("{before}\n\nTASK_COMPLETE\n")), "TASK_COMPLETE");
        assert_eq!(verdict.status, Status::Pass, "{before}: {verdict:?}");
    }
    let after = "TASK_COMPLETE\n\nThe old parser was not complete.";
    assert_eq!(judge(Some(after), "TASK_COMPLETE").status, Status::Pass);
}

#[test]
fn links_escapes_and_marks_are_read_as_shown() {
    for (claim, status) in [
        ("It works[1].\n\n[1]: https://example.com/a#b\n\nTASK_COMPLETE", Status::Pass),
        (
            "It works, see [the guide][1]\n\n[1]: https://example.com\n[2]: https://example.com/b\n\nTASK_COMPLETE",
            Status::Pass,
        ),
        ("This is not do[ne]\n\n[ne]: /a\n\nIt works.\n\nTASK_COMPLETE", Status::Abstain),
        ("This is not [do]ne\n\n[do]: /a\n\nIt works.\n\nTASK_COMPLETE", Status::Abstain),
        ("[][a] Not yet done.\n\n[a]: /a\n\nIt works.\n\nTASK_COMPLETE", Status::Abstain),
        ("This is not\n\n[1]: https://example.com\n\nTASK_COMPLETE", Status::Fail),
        ("This is not\n\n[1]: https://example.com\n'title'\n\nTASK_COMPLETE", Status::Fail),
        ("# This is not\n[1]: https://example.com\n\nTASK_COMPLETE", Status::Fail),
        ("~~It works.~~ Not yet done.\n\nTASK_COMPLETE", Status::Abstain),
        ("Reads \\r\\n as one line end, in ~10 ms.\n\nTASK_COMPLETE", Status::Pass),
        ("ignore/types: add *.cjs, *.mjs\n\nTASK_COMPLETE", Status::Pass),
        ("It is not *do*ne.\n\nTASK_COMPLETE", Status::Abstain),
    ] {
        let verdict = judge(Some(claim), "TASK_COMPLETE");
        assert_eq!(verdict.status, status, "{claim:?}: {verdict:?}");
    }
}

#[test]
fn the_signal_can_be_another() {
    assert_eq!(judge(Some("DONE"), "DONE").status, Status::Pass);
    assert_eq!(judge(Some("__DONE__"), "__DONE__").status, Status::Pass);
    assert_eq!(judge(Some("TASK_COMPLETE"), "DONE").status, Status::Fail);
}

/// Whatever is settled without reading the page is what the page says.
#[test]
fn what_is_plainly_said_is_what_the_page_says() {
    let pieces = [
        "a",
        "It works",
        "No",
        "not",
        "done",
        "do",
        "ne",
        "**",
        "*",
        "_",
        "`",
        " ",
        " ",
        " ",
        "\n",
        "\n",
        "\n\n",
        "```\n",
        "\n```\n",
        "- ",
        "# ",
        "> ",
        "  ",
        ".",
        ":",
        "!",
        "Status: ",
        "blocked",
        "(",
        ")",
        "[",
        "](b)",
        "<!--",
        "<b>",
        "&#111;",
        "&",
        ";",
        "<https://a.b>",
        "\t",
        "*not*",
        "`done`",
        "_not_ ",
        "    ",
        "[x]",
        " -> ",
        "[a]: b",
        "—",
        "✅",
        "ⓓ",
        "\\",
        "\\r",
        "\\b",
        "~",
        " ~",
        "[1] - ",
        "](b) ",
        ": ",
        ". ",
        "; ",
        " below",
        "\u{a0}",
        "°",
        "·",
        "«no»",
        "`a` not done",
        "~~",
        "*.a",
        "__a__",
        "[ne]",
        "[1]",
        "[do]",
        "[1]: https://a.b\n",
        "-->",
        "<!-- a -->\n",
        "\n<!--\n",
        "-->\n",
        "--a",
        "`a\nb` ",
        "\n\n[ne]: /a\n",
        "\n\n[do]: /a\n",
        "`a` ",
        "'title'\n",
        "|",
        "TASK_COMPLETE",
        "still",
        "fails",
        "This is",
        "tests",
        "Tests pass.\n",
        "I will say",
        " the",
        "isn",
        "'t",
        "’t",
        "We did ",
        "finish",
        " it is ",
        "half ",
        "not fully ",
        "really ",
        "I have not ",
        "the task ",
        "implementation ",
        "build ",
        "failed",
        "missing",
        "still ",
        "following is ",
        "told to say",
        "nothing works yet",
        "ignore the next line",
        "    ",
        " to ",
    ];
    let mut state: u32 = 11;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize
    };
    let mut settled = 0;
    for _ in 0..RANDOM {
        let length = next() % 12;
        let text: String = (0..length).map(|_| pieces[next() % pieces.len()]).collect();
        // Whatever is not looked at closely says nothing.
        let words = opposite::words_of(&[(Voice::Plain, text.as_str().into())]);
        if plain::has_no_word_of_it([text.as_bytes()]) {
            assert!(!opposite::is_denied(&words), "{text:?}");
            assert!(!opposite::sentences(&words).any(opposite::is_opposite), "{text:?}");
        }
        let text = format!("{text}\n\nTASK_COMPLETE\n");
        if plain::is_said(&text, "TASK_COMPLETE") {
            let page = gatehost_page::shown(&text);
            assert_eq!(says(&page, "TASK_COMPLETE"), Some(Ok(())), "{text:?}");
            assert_eq!(opposite::said(&page), None, "{text:?}");
            settled += 1;
        }
    }
    assert!(settled > RANDOM / 20, "{settled}");
}

/// How many random claims are compared. Six million were, once.
const RANDOM: usize = 30_000;
