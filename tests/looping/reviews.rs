//! Seed 001's review loop: findings go back as fix tasks, a bounded number of times; what the work cannot repair does not.

use super::{Home, Ran};
use std::fs;

/// A gate with a reviewer, whose answer is made by this script of the shell; `$nonce` is the word that it must repeat.
pub(super) fn gate(script: &str, settings: &str) -> String {
    format!(
        "[gate.main]\nall = [\"review\"]\n\
         [check.review]\nverifier = \"review-signal\"\ngrants = [\"workspace\", \"model:reviewer\"]\nsettings = {{ exclude = [\"tasks.md\", \".progress.md\"] }}\n\
         [model.reviewer]\napi = \"command\"\ncommand = \"reviewer\"\n\
         [command.reviewer]\nrun = [\"sh\", \"-c\", '''nonce=$(sed -n \"s/.*code word of this review is: //p\" | tail -1); {script}''']\n{settings}"
    )
}

const PLAN: &str = "\
- [ ] 1.1 Read a file
  - **Files**: app.py
  - **Done when**: a missing file is reported
  - **Verify**: `python3 app.py`
  - **Commit**: `feat(app): read a file`
- [ ] 1.2 Write a file
";

fn home(script: &str, settings: &str) -> Home {
    let home = Home::new(&gate(script, settings));
    home.write("tasks.md", PLAN);
    home.sh("git add -A; git commit -qm plan");
    home
}

fn run(home: &Home, flags: &[&str], script: &str) -> Ran {
    home.script(&[&["--plan", "tasks.md", "--task", "1.1"], flags].concat(), script)
}

const REJECTS: &str = "printf \"%s\\n\" \"Feedback for Revision\" \"\" \"- app.py:1: attempt $(cat app.py) is not handled\" \"\" \"REVIEW_FAIL $nonce\"";

#[test]
fn findings_go_back_as_tasks_of_the_plan() {
    let script = format!("grep -q handled app.py && echo \"REVIEW_PASS $nonce\" || {{ {REJECTS}; }}");
    let home = home(&script, "[progress]\nfile = \".progress.md\"\n");
    let work =
        "printf %s \"$GATE_FIX_TASK\" > ../fix; [ $GATE_ATTEMPT = 2 ] && echo handled > app.py || echo 1 > app.py";
    let ran = run(&home, &["--insert-fix-tasks", "tasks.md"], work);
    let attempts = vec!["success fail review-rejection retry".to_owned(), "success pass done".to_owned()];
    assert_eq!(ran.told(), ("completed".to_owned(), 0, attempts), "{}{}", ran.stdout, ran.stderr);
    let expected = "\
- [ ] 1.1.1 [FIX 1.1] Fix: attempt 1 is not handled
  - **Do**: Address reviewer finding: app.py:1: attempt 1 is not handled
    1. Review the finding details
    2. Implement the suggested fix
    3. Verify alignment with design.md
  - **Files**: app.py
  - **Done when**: Reviewer finding \"attempt 1 is not handled\" addressed
  - **Verify**: `python3 app.py`
  - **Commit**: `fix(app): address review finding from task 1.1`
";
    assert_eq!(ran.record()["attempts"][0]["fix_tasks"][0], expected);
    assert_eq!(fs::read_to_string(home.path().join("fix")).expect("a task"), expected);
    let plan = home.read("tasks.md");
    assert!(
        plan.contains(&format!("add\n{expected}- [ ] 1.2")) || plan.contains(&format!("`\n{expected}- [ ] 1.2")),
        "{plan}"
    );
    let progress = home.read(".progress.md");
    let expected = "\n### Review: execution (Task 0, Iteration 1)\n- Status: REVIEW_FAIL\n- Findings: ";
    assert!(progress.starts_with(expected) && progress.contains("\n- Action: fix task added\n"), "{progress}");
    let second =
        "### Review: execution (Task 0, Iteration 2)\n- Status: REVIEW_PASS\n- Findings: none\n- Action: proceeded\n";
    assert!(progress.ends_with(second), "{progress}");
}

/// The executor may put anything in the place of these files.
#[test]
fn tasks_and_progress_lead_nowhere_else() {
    for (work, why) in [
        ("ln -sf ../outside.md tasks.md", "cannot insert tasks into"),
        ("rm tasks.md; mkfifo tasks.md", "cannot insert tasks into"),
        ("truncate -s 5M tasks.md", "it has 5242880 bytes, which is too large"),
        ("ln -s .git/config tasks.new; mv tasks.new tasks.md", "has no Markdown block"),
        ("ln -s ../outside.md .progress.md", "cannot write the progress file"),
        ("ln -s .git/config .progress.md", "cannot write the progress file"),
        ("mkfifo .progress.md", "cannot write the progress file"),
    ] {
        let home = home(REJECTS, "[progress]\nfile = \".progress.md\"\n");
        let outside = home.path().join("outside.md");
        fs::write(&outside, PLAN).expect("written");
        let config = home.read(".git/config");
        let ran = run(&home, &["--insert-fix-tasks", "tasks.md"], &format!("echo 1 > app.py; {work}"));
        assert!(ran.exit >= 2 && ran.stderr.contains(why), "{work}: {}{}", ran.stdout, ran.stderr);
        assert_eq!((fs::read_to_string(&outside).expect("text").as_str(), home.read(".git/config")), (PLAN, config));
    }
}

/// Three iterations, and then an end with a name: without a pass, unless a setting says to go on.
#[test]
fn reviews_are_bounded_and_their_end_is_explicit() {
    let work = "echo $GATE_ATTEMPT > app.py";
    for (settings, state, exit, attempts) in [
        // The gate protocol's two rejections come first where nobody asks for more.
        ("", "escalated rejections", 3, 2),
        ("[loop]\nreview_iterations = 3\n", "verification_failed review_iterations", 1, 3),
        ("[loop]\nreview_iterations = 3\non_review_limit = \"proceed\"\n", "completed on_review_limit", 0, 3),
        ("[loop]\nreview_iterations = 1\n", "verification_failed review_iterations", 1, 1),
    ] {
        let home = home(REJECTS, settings);
        let ran = run(&home, &["--commit"], work);
        let (told, code, all) = ran.told();
        assert_eq!(
            (told.as_str(), code, all.len()),
            (state, exit, attempts),
            "{settings}: {}{}",
            ran.stdout,
            ran.stderr
        );
        let warnings = ran.record()["warnings"].as_array().map_or(0, Vec::len);
        assert_eq!(warnings, usize::from(exit == 0), "{settings}");
        assert_eq!(ran.record()["commit"], serde_json::Value::Null, "what did not pass is not committed");
    }
}

/// What earlier reviews found is handed on, with fingerprints, and the number of the review.
#[test]
fn prior_findings_are_handed_on() {
    let script = format!("cat > /dev/null; {REJECTS}");
    let script = script.replace("cat > /dev/null; ", "");
    let home = home(&script, "[loop]\nreview_iterations = 2\n");
    let tape = home.path().join("models");
    let ran =
        run(&home, &["--no-ledger", "--record-models", tape.to_str().expect("a path")], "echo $GATE_ATTEMPT > app.py");
    assert_eq!(ran.told().0, "verification_failed review_iterations", "{}{}", ran.stdout, ran.stderr);
    let tape = fs::read_to_string(&tape).expect("one tape for all runs");
    let question =
        |line: &str| serde_json::from_str::<serde_json::Value>(line).expect("an exchange")["question"].to_string();
    let questions: Vec<String> = tape.lines().map(question).collect();
    assert_eq!(questions.len(), 2);
    assert!(!questions[0].contains("attempt 1 is not handled"), "{}", questions[0]);
    assert!(questions[1].contains("attempt 1 is not handled"), "{}", questions[1]);
    // The same loop without the reviewer.
    home.sh("git checkout -q .; git clean -qfd");
    let path = home.path().join("models");
    let ran =
        run(&home, &["--no-ledger", "--replay-models", path.to_str().expect("a path")], "echo $GATE_ATTEMPT > app.py");
    assert_eq!(ran.told().0, "verification_failed review_iterations", "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn what_the_work_cannot_repair_is_not_sent_back() {
    let says =
        |points: &str| format!("printf \"%s\\n\" \"Feedback for Revision\" \"\" {points} \"\" \"REVIEW_FAIL $nonce\"");
    let spec = says("\"- specification: 2 contradicts 3\"");
    let manual = says("\"- manual: a person must sign\"");
    let mixed = says("\"- specification: 2 contradicts 3\" \"- no tests $(cat app.py)\"");
    for (script, settings, state, attempts) in [
        (&spec, "", "escalated specification", 1),
        (&manual, "", "escalated specification", 1),
        (&spec, "[loop]\non_spec_finding = \"block\"\n", "escalated specification", 1),
        (&spec, "[loop]\non_spec_finding = \"suggest\"\n", "completed on_spec_finding", 1),
        (&mixed, "[loop]\non_spec_finding = \"suggest\"\nmax_bounces = 1\n", "verification_failed max_bounces", 2),
    ] {
        let home = home(script, &format!("[progress]\nfile = \".progress.md\"\n{settings}"));
        let ran = run(&home, &["--commit"], "echo $GATE_ATTEMPT > app.py");
        let (told, _, all) = ran.told();
        assert_eq!((told.as_str(), all.len()), (state, attempts), "{settings}: {}{}", ran.stdout, ran.stderr);
        let progress = home.read(".progress.md");
        assert_eq!(progress.contains("\n## Review Suggestions\n\n- "), attempts == 1, "{progress}");
        assert_eq!(ran.record()["commit"], serde_json::Value::Null);
    }
}
