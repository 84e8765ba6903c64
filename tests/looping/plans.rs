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

    fs::remove_file(home.path().join("tasks")).expect("removed");
    let ran = home.run(
        &["--plan", "tasks.md", "--max-bounces", "0", "--format", "json"],
        &["sh", "-c", "echo $GATE_TASK_ID >> ../tasks; echo '[' > x.json"],
    );
    assert_eq!(ran.exit, 1, "{}", ran.stderr);
    assert_eq!(fs::read_to_string(home.path().join("tasks")).expect("tasks"), "1.2\n");
    let record = ran.record();
    assert_eq!((&record["task"]["id"], &record["task"]["phase"]), (&"1.2".into(), &"Phase 1: Base".into()));
    home.sh("rm x.json");

    let ran = home.run(&["--plan", "tasks.md", "--task", "2.2"], &["true"]);
    assert!(ran.exit == 2 && ran.stderr.contains("its tasks are: 1.1, 1.2, 2.1"), "{}", ran.stderr);
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
tasks.md:11: error [vague-done] task 2.1: expected something that can be measured, such as `all 5 tests pass`, found `It works`
tasks.md: 3 tasks, 2 problems
";
    assert_eq!(check(&vague), (Some(1), expected.to_owned()));
    assert_eq!(check("# Nothing\n").0, Some(2));
}
