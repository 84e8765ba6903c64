//! Loops that work by a plan.

use super::{GATE, Home};
use std::fs;
use std::process::Command;

const PLAN: &str = "\
## Phase 1: Base
- [x] 1.1 Begin
  - **Files**: a.json
  - **Done when**: a.json is a list
  - **Verify**: `grep -q 1 a.json`
- [ ] 1.2 Go on
  - **Files**: b.json
  - **Done when**: b.json is a list of 2
  - **Verify**: `grep -q 2 b.json`
## Phase 2: End
- [ ] 2.1 End
  - **Files**: c.json
  - **Done when**: c.json is a list of 3
  - **Verify**: `grep -q 3 c.json`
";

#[test]
fn task_after_task_until_one_does_not_complete() {
    let home = Home::new(GATE);
    fs::write(home.work().join("tasks.md"), PLAN).expect("written");
    home.sh("git add -A; git commit -qm plan");
    let script = "echo \"$GATE_TASK_ID\" >> ../tasks; printf %s \"$1\" > ../task; echo '[2]' > $GATE_TASK_ID.json";
    let ran = home.run(&["--plan", "tasks.md"], &["sh", "-c", script, "sh", "{task}"]);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert_eq!(fs::read_to_string(home.path().join("tasks")).expect("tasks"), "1.2\n2.1\n");
    let told = fs::read_to_string(home.path().join("task")).expect("a task");
    assert!(told.starts_with("- [ ] 2.1 End\n") && told.contains("**Verify**"), "{told}");
    assert!(ran.stderr.contains("[loop] task 2.1: End\n"), "{}", ran.stderr);

    // The index has advanced: both tasks passed, whatever the file in the commit says.
    let ran = home.run(&["--plan", "tasks.md"], &["true"]);
    assert!(ran.exit == 2 && ran.stderr.contains("every task of the plan `tasks.md` is done"), "{}", ran.stderr);

    fs::remove_file(home.path().join("tasks")).expect("removed");
    let ran = home.run(
        &["--plan", "tasks.md", "--task", "1.2", "--max-bounces", "0", "--format", "json"],
        &["sh", "-c", "echo $GATE_TASK_ID >> ../tasks; echo '[' > x.json"],
    );
    assert_eq!(ran.exit, 1, "{}", ran.stderr);
    assert_eq!(fs::read_to_string(home.path().join("tasks")).expect("tasks"), "1.2\n");
    let record = ran.record();
    assert_eq!((&record["task"]["id"], &record["task"]["phase"]), (&"1.2".into(), &"Phase 1: Base".into()));
    assert_eq!(record["task"]["source"], "plan");
    home.sh("rm x.json");
    // It failed since, so it is open again; the next one is not reached before it passes.
    let ran = home.run(&["--plan", "--max-bounces", "0"], &["sh", "-c", "echo '[2]' > b.json"]);
    assert!(ran.exit == 2 && ran.stderr.contains("there is no plan"), "{}", ran.stderr);
    let ran = home.run(&["--plan", "tasks.md"], &["sh", "-c", "echo '[3]' > b.json"]);
    assert!(ran.exit == 0 && ran.stderr.contains("task 1.2") && !ran.stderr.contains("task 2.1"), "{}", ran.stderr);

    let ran = home.run(&["--plan", "tasks.md", "--task", "2.2"], &["true"]);
    assert!(ran.exit == 2 && ran.stderr.contains("its tasks are: 1.1, 1.2, 2.1"), "{}", ran.stderr);
}

/// The plan counts as the commit has it: whoever does the work cannot rewrite the tasks, nor the commands that prove them.
#[test]
fn a_plan_is_read_from_the_base() {
    let home = Home::new(&format!("[plan]\nfile = \"tasks.md\"\n{GATE}"));
    fs::write(home.work().join("tasks.md"), PLAN).expect("written");
    let ran = home.run(&["--plan"], &["true"]);
    assert!(
        ran.exit == 2 && ran.stderr.contains("is not in the commit that the work is compared with"),
        "{}",
        ran.stderr
    );
    home.sh(
        "git add -A; git commit -qm plan; sed -i 's/2.1 End/2.1 Something else/; s/1.2 Go on/1.2 Nothing/' tasks.md",
    );
    let ran = home.run(&["--plan"], &["sh", "-c", "echo '- [ ] 9 More' >> tasks.md; echo '[2]' > $GATE_TASK_ID.json"]);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("[loop] task 1.2: Go on\n[loop] attempt 1\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("[loop] task 2.1: End\n") && !ran.stderr.contains("task 9"), "{}", ran.stderr);
    // An id of the configured plan, a file, and words.
    let ran = home.script(&["--task", "2.1"], "echo \"[\\\"$GATE_TASK_ID\\\"]\" > a.json");
    assert_eq!((&ran.record()["task"]["title"], &ran.record()["task"]["source"]), (&"End".into(), &"plan".into()));
    home.sh("printf 'Write it down.\n' > ../task.txt");
    let ran = home.script(&["--task", "../task.txt"], "echo '[7]' > a.json; printf %s \"$GATE_TASK\" > ../told");
    assert_eq!((ran.exit, &ran.record()["task"]["source"]), (0, &"caller".into()), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(home.path().join("told")).expect("told"), "Write it down.\n");
    let ran = home.script(&["--task", "Do it."], "echo '[8]' > a.json; printf %s \"$GATE_TASK\" > ../told");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert_eq!(fs::read_to_string(home.path().join("told")).expect("told"), "Do it.");
}

/// The verify command of the task decides, if the plan of the base has it and the configuration allows it.
#[test]
fn the_verify_command_of_the_task_is_run() {
    let gate = "[plan]\nfile = \"tasks.md\"\n[gate.main]\nall = [\"verify\"]\n[check.verify]\nverifier = \"command\"\ngrants = [\"command:verify\"]\n\
        [command.verify]\nfrom = \"task\"\nallow = [\"grep -q * *.json\"]\n";
    let home = Home::new(gate);
    let plan = PLAN.replace("`grep -q 3 c.json`", "`sh -c true`");
    fs::write(home.work().join("tasks.md"), plan).expect("written");
    home.sh("git add -A; git commit -qm plan");
    // The executor rewrites its own verify command, to no avail.
    let script = "sed -i 's/grep -q 2 b.json/true/' tasks.md; echo \"[$GATE_ATTEMPT]\" > b.json";
    let ran = home.script(&["--plan", "--task", "1.2"], script);
    let attempts = vec!["success fail verify-failure retry".to_owned(), "success pass done".to_owned()];
    assert_eq!(ran.told(), ("completed".to_owned(), 0, attempts), "{}", ran.stderr);
    let ran = ran.record()["record"]["gate"]["children"][0]["commands"][0]["argv"].clone();
    assert_eq!(ran, serde_json::json!(["grep", "-q", "2", "b.json"]));
    let no_wait = format!("{gate}[retry]\ninfra = {{ times = 0 }}\n");
    let home = Home::new(&no_wait);
    fs::write(home.work().join("tasks.md"), PLAN.replace("`grep -q 3 c.json`", "`sh -c true`")).expect("written");
    home.sh("git add -A; git commit -qm plan");
    let ran = home.script(&["--plan", "--task", "2.1"], "echo '[3]' > c.json");
    assert_eq!(ran.exit, 3, "{}", ran.stderr);
    assert!(ran.stdout.contains("no pattern of `allow` matches the verify command `sh -c true`"), "{}", ran.stdout);
    let ran = home.script(&["--task", "grep -q 3 c.json"], "echo '[4]' > c.json");
    assert!(ran.exit == 3 && ran.stdout.contains("does not come from a plan"), "{}", ran.stdout);
}

/// Tasks that run side by side are judged as one: all blocks, all files, the first position, and how many there are.
#[test]
fn a_batch_is_one_task() {
    let plan =
        PLAN.replace("1.2 Go on", "1.2 [P] Go on").replace("## Phase 2: End\n- [ ] 2.1 End", "- [ ] 1.3 [P] Beside");
    let home = Home::new(&format!("[plan]\nfile = \"tasks.md\"\n{GATE}"));
    fs::write(home.work().join("tasks.md"), plan).expect("written");
    home.sh("git add -A; git commit -qm plan");
    for flags in [&["--batch"][..], &["--plan", "tasks.md", "--batch", "1.2,1.3"]] {
        let ran = home.script(flags, "printf %s \"$GATE_TASK\" > ../told; date +%s%N | sed 's/.*/[&]/' > b.json");
        let record = ran.record();
        assert_eq!(
            (ran.exit, &record["task"]["id"], &record["task"]["index"]),
            (0, &"1.2+1.3".into(), &1.into()),
            "{}",
            ran.stderr
        );
        let told = fs::read_to_string(home.path().join("told")).expect("told");
        assert!(told.contains("1.2 [P] Go on") && told.contains("1.3 [P] Beside"), "{told}");
    }
    let ran = home.run(&["--batch", "1.2,9"], &["true"]);
    assert!(ran.exit == 2 && ran.stderr.contains("expected one task `9`"), "{}", ran.stderr);
}

#[test]
fn a_plan_is_looked_at_before_anybody_works_by_it() {
    let home = Home::new(GATE);
    let check = |plan: &str| {
        fs::write(home.work().join("tasks.md"), plan).expect("written");
        let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
        crate::support::isolate(gate.args(["check-plan", "tasks.md"]), &home.work(), &home.path());
        let output = gate.output().expect("gate runs");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert_eq!(check(PLAN), (Some(0), "tasks.md: 3 tasks, 0 problems\n".to_owned()));
    let vague = PLAN.replace("c.json is a list of 3", "It works").replace("grep -q 3 c.json", "echo done");
    let expected = "\
tasks.md:11: error [vacuous-verify] task 2.1: expected a command that fails when the work is wrong, found `echo done`
tasks.md:11: error [vague-done] task 2.1: expected a measurable criterion, such as `all 5 tests pass`, found `It works`
tasks.md: 3 tasks, 2 problems
";
    assert_eq!(check(&vague), (Some(1), expected.to_owned()));
    assert_eq!(check("# Nothing\n").0, Some(2));
}
