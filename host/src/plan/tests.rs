//! What configurations come to.

use super::*;
use crate::config::{ConfigProblems, PassIf, parse};

/// Knows verifiers by their first letter: `f` for files, `n` for files without patterns, `s` for submissions, `p` for a
/// program; refuses the others. The digest is the name up to a `-`, so that `s-1` and `s-2` are the same component.
struct Letters;

impl Resolver for Letters {
    fn verifier(&self, check: &config::CheckConfig) -> Result<ResolvedVerifier, Vec<Refusal>> {
        let name = check.verifier.rsplit('/').next().unwrap_or_default();
        let resolved = |shape, files: &[&str]| ResolvedVerifier {
            digest: format!("sha256:{}", name.split('-').next().unwrap_or_default()),
            shape,
            files: files.iter().map(|text| (*text).to_owned()).collect(),
            working_tree: false,
            reads: SubmissionParts::ALL,
        };
        let refusal = |at: &str, message: &str| Refusal { at: at.to_owned(), message: message.to_owned(), hint: None };
        match name.as_bytes().first() {
            Some(b'f') => Ok(resolved(Some(Shape::File), &["**/*.f"])),
            Some(b'n') => Ok(resolved(Some(Shape::File), &[])),
            Some(b's') => Ok(resolved(Some(Shape::Submission), &[])),
            Some(b'p') => Ok(resolved(None, &[])),
            Some(b'b') => Ok(resolved(Some(Shape::File), &["["])),
            Some(b'x') => Err(vec![refusal("settings.max", "too small"), refusal("settings.other", "unknown")]),
            _ => Err(vec![
                Failure::new(ErrorKind::LoadUnreadable, "there is no such verifier").hint("look again").into(),
            ]),
        }
    }
}

fn plan_of(file: &str, gate: Option<&str>) -> Result<Plan, ConfigProblems> {
    resolve(&parse(file.as_bytes()).expect("a valid file"), gate, &Letters)
}

fn plan(file: &str) -> Plan {
    plan_of(file, None).expect("a plan")
}

fn problems(file: &str, gate: Option<&str>) -> String {
    plan_of(file, gate).expect_err("problems").to_string()
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.root.walk().map(|node| node.name.as_str()).collect()
}

fn check<'p>(plan: &'p Plan, member: &str) -> &'p Check {
    plan.checks().find(|check| check.member == member).expect(member)
}

#[test]
fn the_gate_is_the_only_or_the_default_or_the_outermost() {
    const CHECK: &str = "[check.c]\nverifier = \"s\"\n";
    for (gates, expected) in [
        ("gate.a.all = [\"c\"]", "a"),
        ("gate.a.all = [\"c\"]\ngate.default.all = [\"c\"]", "default"),
        ("gate.a.all = [\"b\"]\ngate.b.all = [\"c\"]", "a"),
        ("gate.a.all = [{ not = { any = [\"b\"] } }]\ngate.b.all = [\"c\"]", "a"),
    ] {
        assert_eq!(plan(&format!("{gates}\n{CHECK}")).root.name, expected);
    }
    let two = format!("gate.a.all = [\"c\"]\ngate.b.all = [\"c\"]\n{CHECK}");
    assert_eq!(plan_of(&two, Some("b")).expect("a plan").root.name, "b");
    for (name, expected) in [
        (None, "name a gate: there are several\nhint: name `a` or `b`"),
        (Some("zzz"), "expected the name of a gate, found `zzz`\nhint: expected `a` or `b`"),
        (
            Some("c"),
            "expected the name of a gate, found `c`\nhint: `c` is a check; run it by a gate with `all = [\"c\"]`",
        ),
    ] {
        assert_eq!(problems(&two, name), expected);
    }
}

#[test]
fn every_member_has_a_name_and_only_what_is_reached_is_there() {
    let plan = plan_of(
        "[gate.g]
         tiers = [\"f\", { any = [\"f\", \"s\"] }, { not = \"s\", name = \"inverse\" }, \"v\"]
         [gate.v]
         vote = \"s\"
         voters = 2
         [gate.other]
         all = [\"unreached\"]
         [check.f]
         verifier = \"f\"
         [check.s]
         verifier = \"s\"
         grants = [\"command:used\", \"model:m\"]
         [check.unreached]
         verifier = \"?\"
         grants = [\"command:unused\"]
         [command.used]
         run = [\"x\"]
         [command.unused]
         run = [\"x\"]
         [command.asks]
         run = [\"x\"]
         [model.m]
         api = \"command\"
         command = \"asks\"",
        Some("g"),
    )
    .expect("a plan");
    assert_eq!(names(&plan), ["g", "f", "any#2", "f", "s", "inverse", "s", "v", "s#1", "s#2"]);
    assert_eq!(plan.commands.keys().collect::<Vec<_>>(), ["asks", "used"]);
    assert_eq!(plan.models.keys().collect::<Vec<_>>(), ["m"]);
    assert_eq!(check(&plan, "s#2").check, "s");
}

#[test]
fn what_a_member_says_goes_before_its_target_and_that_before_its_gate() {
    let plan = plan(
        "[gate.g]
         all = [\"a\", { use = \"a\", name = \"again\", timeout = \"1m\", files = [\"own\"], mode = \"shadow\" }, \"b\"]
         attempts = 3
         flaky = { runs = 2, pass_if = \"any\" }
         min_confidence = 0.5
         on_error = \"warn\"
         [check.a]
         verifier = \"f\"
         timeout = \"20s\"
         attempts = 2
         on_error = \"escalate\"
         [check.b]
         verifier = \"s\"
         min_confidence = 0.9",
    );
    let [a, again, b] = ["a", "again", "b"].map(|name| check(&plan, name));
    assert_eq!((a.attempts, again.attempts, b.attempts), (2, 2, 3));
    assert_eq!((a.min_confidence, b.min_confidence), (Some(0.5), Some(0.9)));
    assert_eq!(a.flaky, Some(Flaky { runs: 2, pass_if: PassIf::Any }));
    assert_eq!((a.timeout.as_secs(), again.timeout.as_secs(), b.timeout.as_secs()), (20, 60, 120));
    assert_eq!(
        (a.files.join(" "), again.files.join(" "), b.files.join(" ")),
        ("**/*.f".into(), "own".into(), "".into())
    );
    let lenient: Vec<_> = plan.root.walk().map(|node| node.on_error).collect();
    assert_eq!(lenient, [Leniency::Warn, Leniency::Escalate, Leniency::Escalate, Leniency::Block]);
    assert_eq!(plan.root.members()[1].mode, Enforcement::Shadow);
}

#[test]
fn one_call_may_take_as_long_as_the_check_only_if_it_waits_for_something() {
    let plan = plan(
        "[gate.g]
         all = [\"plain\", \"quick\", \"runs\", \"own\"]
         [check.plain]
         verifier = \"f\"
         timeout = \"1m\"
         [check.quick]
         verifier = \"f\"
         timeout = \"1s\"
         [check.runs]
         verifier = \"s\"
         grants = [\"command:c\"]
         [check.own]
         verifier = \"s\"
         grants = [\"command:c\"]
         limits = { time = \"7s\" }
         [command.c]
         run = [\"x\"]",
    );
    for (name, timeout, time) in [("plain", 60, 10), ("quick", 1, 1), ("runs", 130, 130), ("own", 130, 7)] {
        let check = check(&plan, name);
        assert_eq!((check.timeout.as_secs(), check.limits.time.as_secs()), (timeout, time), "{name}");
    }
}

#[test]
fn a_quorum_becomes_the_number_of_voices_that_may_be_missing() {
    const CHECKS: &str = "[check.a]\nverifier = \"s-1\"\n[check.b]\nverifier = \"s-2\"\n[check.c]\nverifier = \"f\"\n\
        [check.m]\nverifier = \"s\"\ngrants = [\"model:one\"]\n[check.n]\nverifier = \"s\"\ngrants = [\"model:same\"]\n\
        [gate.others]\nall = [\"a\", \"b\", \"c\", \"m\", \"n\"]\n\
        [model.one]\napi = \"openai\"\nmodel = \"x\"\n[model.same]\napi = \"openai\"\nmodel = \"x\"\n";
    for (gate, absences, voices) in [
        ("vote = [\"a\", \"b\", \"c\"]", 0, vec![0, 1, 2]),
        ("vote = [\"a\", \"b\", \"c\"]\nquorum = 1", 2, vec![0, 1, 2]),
        ("vote = [\"a\", \"b\", \"c\"]\nquorum = 1\nindependent = true", 1, vec![0, 0, 1]),
        ("vote = [\"a\", \"m\", \"n\"]\nindependent = true", 0, vec![0, 1, 1]),
        ("vote = [{ any = [\"a\", \"c\"] }, { all = [\"c\", \"b\"] }, \"a\"]\nindependent = true", 0, vec![0, 0, 1]),
        ("vote = \"a\"\nvoters = 3\nquorum = 2", 1, vec![0, 1, 2]),
        ("vote = [\"a\", \"b\", { use = \"c\", enabled = false }]\nquorum = 1", 1, vec![0, 1, 2]),
    ] {
        let plan = plan_of(&format!("[gate.g]\n{gate}\n{CHECKS}"), Some("g")).expect("a plan");
        let PlanNodeKind::Gate(Gate { rule: GateRule::Vote(vote), .. }) = &plan.root.what else { panic!("a vote") };
        assert_eq!((vote.absences, &vote.voices), (absences, &voices), "{gate}");
        assert_eq!(vote.gone_are_missing, gate.contains("quorum"), "{gate}");
    }
    for (gate, expected) in [
        (
            "vote = \"a\"\nvoters = 3\nquorum = 2\nindependent = true",
            "4:10: gate.g.quorum: expected at most the number of independent voices (1), found `2`",
        ),
        (
            "vote = [\"a\", \"b\"]\nthreshold = 2\nindependent = true",
            "3:13: gate.g.threshold: expected at most the total weight of the independent voices (1), found `2`",
        ),
        (
            "vote = [\"a\", { use = \"b\", mode = \"shadow\" }]\nquorum = 2",
            "3:10: gate.g.quorum: expected at most the number of voters that decide (1), found `2`",
        ),
    ] {
        assert_eq!(problems(&format!("[gate.g]\n{gate}\n{CHECKS}"), Some("g")), expected);
    }
}

#[test]
fn files_are_said_only_of_what_judges_files() {
    let program = plan(
        "[gate.g]
         all = [\"p\", { use = \"p\", name = \"of-files\", files = [\"*.txt\"], exclude = [\"x\"] }]
         [check.p]
         verifier = \"p\"",
    );
    assert_eq!(check(&program, "p").shape, Shape::Submission);
    assert_eq!(check(&program, "of-files").shape, Shape::File);
    let file = "[gate.g]
all = [{ use = \"s\", files = [\"*.a\"] }, \"t\"]
[check.s]
verifier = \"s\"
[check.t]
verifier = \"s\"
exclude = [\"*.b\"]
";
    let expected =
        "2:29: gate.g.all[0].files: `files` is not allowed: the verifier `s` checks the submission, not files
hint: on a gate, it decides whether the gate runs: `{ all = [\"s\"], files = […] }`
7:11: check.t.exclude: `exclude` is not allowed: the verifier `s` checks the submission, not files
hint: on a gate, it decides whether the gate runs: `{ all = [\"t\"], exclude = […] }`";
    assert_eq!(problems(file, None), expected);
}

#[test]
fn what_the_catalogue_refuses_is_a_problem_of_the_check_and_noted_once() {
    let file = "[gate.g]
all = [\"bad\", { use = \"bad\", name = \"again\" }, \"settings\", \"none\", \"glob\"]
[check.bad]
verifier = \"unknown\"
[check.settings]
verifier = \"x\"
settings = { other = 1, max = 0 }
[check.none]
verifier = \"n\"
[check.glob]
verifier = \"b\"
";
    let expected = "4:12: check.bad.verifier: there is no such verifier
hint: look again
7:22: check.settings.settings.other: unknown
7:31: check.settings.settings.max: too small
8:1: check.none: expected `files`: the verifier `n` has no default patterns
11:12: check.glob.verifier: expected a pattern such as `**/*.rs`, found `[`: unclosed character class; missing ']'";
    assert_eq!(problems(file, None), expected);
}

#[test]
fn a_gate_in_shadow_is_not_run_by_itself() {
    let file = "[gate.g]\nall = [\"c\"]\nmode = \"shadow\"\n[check.c]\nverifier = \"s\"";
    assert_eq!(
        problems(file, None),
        "3:8: gate.g.mode: a gate in shadow mode cannot be run by itself\n\
         hint: set `mode` on its members, or make it a member of another gate"
    );
}

#[test]
fn equal_meanings_have_equal_plans_and_other_meanings_other_digests() {
    let one = plan("[gate.g]\nall = [\"c\"]\n[check.c]\nverifier = \"/home/one/f.wasm\"\nsettings = { a = 1, b = 2 }");
    let two = plan(
        "# Elsewhere\n[check.c]\nsettings = { b = 2, a = 1 }\nverifier = \"/srv/f.wasm\"\ntimeout = \"2m\"\n\
         [gate.g]\nall = [\"c\"]\n[command.unused]\nrun = [\"x\"]",
    );
    assert_eq!(one, two);
    assert_eq!(one.digest(), two.digest());
    assert!(one.digest().starts_with("sha256:") && one.digest().len() == 71);
    for change in ["timeout = \"11s\"", "on_error = \"warn\"", "exclude = [\"x\"]", "attempts = 2", "mode = \"shadow\""]
    {
        let other = plan(&format!(
            "[gate.g]\nall = [\"c\"]\n[check.c]\nverifier = \"f.wasm\"\nsettings = {{ a = 1, b = 2 }}\n{change}"
        ));
        assert_ne!(one.digest(), other.digest(), "{change}");
    }
}

/// Machines compare plans by their digests, and ledgers keep them: the digest of the same file never changes by accident.
/// Whoever changes it on purpose raises the plan's `format`.
#[test]
fn the_digest_of_a_sample_is_frozen() {
    let sample = "[gate.g]\ntiers = [\"a\", \"v\"]\n[gate.a]\nall = [\"c\"]\n[gate.v]\nvote = \"d\"\nvoters = 3\nquorum = 2\n\
                  [check.c]\nverifier = \"f\"\nfiles = [\"**/*.rs\"]\nsettings = { b = 2, a = 1.5 }\ntimeout = \"1m\"\n\
                  [check.d]\nverifier = \"s\"\ngrants = [\"workspace\"]\nmin_confidence = 0.6\n";
    assert_eq!(plan(sample).digest(), "sha256:5b72c0534d07ce3b78fd798209322c06dd10a2e6a52b449186bba22b041058af");
}

#[test]
fn the_shape_of_a_plan_is_fixed() {
    let plan = plan("[gate.g]\nvote = [\"c\"]\nthreshold = 1\n[check.c]\nverifier = \"f\"");
    let json = serde_json::to_value(&plan).expect("JSON");
    let keys = |value: &serde_json::Value| {
        let keys: BTreeSet<String> = value.as_object().expect("an object").keys().cloned().collect();
        keys.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(keys(&json).join(" "), "commands deadline_ms format models require_trusted root");
    let root = &json["root"];
    assert_eq!(keys(root).join(" "), "enabled gate mode name on_abstain on_error on_nothing tier weight when");
    assert_eq!(keys(&root["gate"]).join(" "), "exclude files members rule timeout_ms");
    let vote = r#"{"vote":{"absences":0,"gone_are_missing":false,"on_divergence":"escalate","threshold":{"at-least":1},"voices":[0]}}"#;
    assert_eq!(canonical(&root["gate"]["rule"]), vote);
    let check = "attempts check digest exclude files flaky grants limits min_confidence on_not_applicable settings shape timeout_ms verifier";
    assert_eq!(keys(&root["gate"]["members"][0]["check"]).join(" "), check);
}
