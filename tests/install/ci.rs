//! The jobs for continuous integration, run as their runners would run them.

use super::Work;
use std::path::Path;

/// The commands of the job, as its runner would run them.
fn script(settings: &str, of_github: bool) -> String {
    let document: serde_json::Value = serde_saphyr::from_str(settings).expect("YAML");
    if of_github {
        let steps = document["jobs"]["gate"]["steps"].as_array().expect("steps");
        let step = steps.iter().find(|step| step["name"] == "Run the gate").expect("a step");
        return step["run"].as_str().expect("a script").to_owned();
    }
    let lines = document["gate"]["script"].as_array().expect("lines");
    lines.iter().filter_map(serde_json::Value::as_str).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_jobs_for_continuous_integration_refuse_bad_work_and_a_weaker_gate() {
    for (target, file, variable) in [
        ("github", ".github/workflows/gate.yml", "BASE"),
        ("gitlab", ".gitlab/gate.yml", "CI_MERGE_REQUEST_DIFF_BASE_SHA"),
    ] {
        let work = Work::new();
        work.write("gate.toml", "[gate.default]\nall = [\"json\"]\n[check.json]\nverifier = \"json-syntax\"\n");
        work.write("a.json", "{}");
        work.must("git", &["add", "."]);
        work.must("git", &["commit", "-qm", "gate"]);
        work.must("gate", &["install", target]);
        let script = script(&work.read(file), target == "github");
        let run = |base: &str| {
            let gate = Path::new(env!("CARGO_BIN_EXE_gate")).parent().expect("a folder");
            let path = format!("PATH={}:$PATH", gate.display());
            work.run("sh", &["-ec", &format!("{path}; {variable}={base}; export {variable}\n{script}")])
        };
        let head = |work: &Work| work.must("git", &["rev-parse", "HEAD"]).trim().to_owned();
        let base = head(&work);
        assert_eq!(run(&base).0, Some(0), "{target}: {}", run(&base).1);
        work.write("a.json", "{,}");
        work.must("git", &["commit", "-qam", "bad"]);
        assert_eq!(run(&base).0, Some(1), "{target}: {}", run(&base).1);
        // A weaker gate does not help, and needs a person even where the work is good.
        work.write("gate.toml", "[gate.default]\nall = [\"yaml\"]\n[check.yaml]\nverifier = \"yaml-syntax\"\n");
        work.must("git", &["commit", "-qam", "weak"]);
        assert_eq!(run(&base).0, Some(1), "{target}: {}", run(&base).1);
        work.write("a.json", "{}");
        work.must("git", &["commit", "-qam", "good"]);
        let (code, said) = run(&base);
        assert!(code == Some(3) && said.contains("policy"), "{target}: {said}");
        if target == "github" {
            // A branch that is new.
            work.write("a.json", "{,}");
            work.write("gate.toml", "[gate.default]\nall = [\"json\"]\n[check.json]\nverifier = \"json-syntax\"\n");
            work.must("git", &["commit", "-qam", "new"]);
            assert_eq!(run(&"0".repeat(40)).0, Some(1));
        }
    }
}

#[test]
fn a_first_push_is_judged_by_what_is_pushed() {
    let work = Work::new();
    let remote = work.home.path().join("remote.git");
    let remote = remote.to_string_lossy();
    work.must("git", &["init", "-q", "--bare", &remote]);
    work.write("a.json", "{,}");
    work.must("git", &["add", "."]);
    work.must("git", &["commit", "-qm", "bad"]);
    work.must("gate", &["install", "git"]);
    let push = || work.run("git", &["push", "-q", &remote, "HEAD:refs/heads/new"]);
    assert!(push().1.contains("a.json:1:2: error[syntax]"), "{}", push().1);
    // Repaired, but not in what is pushed.
    work.write("a.json", "{}");
    let (code, said) = push();
    assert!(code != Some(0) && said.contains("differs from the pushed commit"), "{said}");
    work.must("git", &["commit", "-qam", "repaired"]);
    work.must("git", &["push", "-q", &remote, "HEAD:refs/heads/new"]);
}

#[test]
fn what_went_past_the_hooks_is_not_verified() {
    let work = Work::new();
    work.must("gate", &["install", "git"]);
    work.write("a.json", "{}");
    work.must("git", &["add", "."]);
    work.must("git", &["commit", "-qm", "good"]);
    assert!(work.must("gate", &["verify", "HEAD"]).starts_with("verified"));
    work.write("a.json", "{,}");
    work.must("git", &["commit", "-qam", "bad", "--no-verify"]);
    let (code, said) = work.run("gate", &["verify", "HEAD"]);
    assert!(code == Some(1) && said.contains("not verified"), "{said}");
    // An amended commit is another one, also where the hooks passed the amendment: what it contains is judged as a whole.
    work.write("a.json", "[]");
    work.must("git", &["commit", "-qam", "good again", "--amend"]);
    assert_eq!(work.run("gate", &["verify", "HEAD"]).0, Some(1));
    work.must("gate", &["run", "--from-ref", "HEAD~1", "--to-ref", "HEAD"]);
    assert!(work.must("gate", &["verify", "HEAD"]).starts_with("verified"));
    work.write("a.json", "[,]");
    work.must("git", &["commit", "-qam", "bad again", "--amend", "--no-verify"]);
    assert_eq!(work.run("gate", &["verify", "HEAD"]).0, Some(1));
}
