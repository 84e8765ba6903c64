//! Every mistake in a file, with the exact text that it gets (`problems.txt`); and what a valid file comes to.

use super::*;

/// What is wrong with a file: a line for each problem and each hint.
fn problems(text: &[u8]) -> String {
    parse(text).map(|_| String::new()).unwrap_or_else(|problems| problems.to_string())
}

fn position(problems: &ConfigProblems) -> Vec<Option<Position>> {
    problems.iter().map(|problem| problem.position).collect()
}

#[test]
fn every_mistake_gets_its_text() {
    // Checks to name, behind each of the files.
    const CHECKS: &str = "[check.a]\nverifier = \"a\"\n[check.b]\nverifier = \"b\"\n[check.c]\nverifier = \"c\"\n";
    for case in include_str!("problems.txt").split("\n====\n") {
        let (file, expected) = case.split_once("\n----\n").expect("a file, ---- and its problems");
        assert_eq!(problems(format!("{file}\n{CHECKS}").as_bytes()).trim(), expected.trim(), "\n{file}");
    }
}

#[test]
fn a_file_that_is_no_text_or_too_large_is_refused() {
    assert_eq!(problems(b"[gate.g]\nall = [\"\xff\"]"), "2:9: expected UTF-8, found other bytes");
    let large = vec![b'#'; MAX_BYTES + 1];
    assert_eq!(problems(&large), "expected at most 1048576 bytes, found 1048577");
}

#[test]
fn what_a_file_says_cannot_reach_the_terminal() {
    for file in [
        "[gate.\"\\u001b[31m\\n\"]\nall = [\"\\u001b[31m\"]\n\"\\u001b\" = 1",
        "gate.\"\\u001b\".all = [\"\\u001b\"]",
        "gate.g.all = [\"a\"]\n[check.a]\nverifier = \"\\u001b@\\u001b\"\nsettings = { \"\\u001b\" = inf }",
    ] {
        let problems = problems(file.as_bytes());
        assert!(!problems.is_empty() && !problems.contains('\u{1b}'), "{problems}");
    }
}

#[test]
fn a_byte_order_mark_is_no_mistake() {
    assert_eq!(problems("\u{feff}[gate.g]\nall = [\"a\"]\n[check.a]\nverifier = \"a\"".as_bytes()), "");
}

#[test]
fn a_file_that_ends_anywhere_is_valid_or_refused_and_never_more() {
    let whole = include_bytes!("example.toml");
    parse(whole).expect("the whole file");
    for end in 0..whole.len() {
        let _ = parse(&whole[..end]);
    }
}

#[test]
fn problems_come_in_the_order_of_the_file() {
    let file = b"[gate.z]\nall = [\"x\"]\n[gate.b]\nall = [\"y\"]\n[check.a]\n";
    let positions = position(&parse(file).expect_err("problems"));
    assert_eq!(positions.len(), 3);
    assert!(positions.is_sorted());
}

#[test]
fn gates_may_be_nested_deeply_but_not_too_deeply() {
    let chain = |gates: usize| {
        let gate = |n: usize| format!("[gate.g{n}]\nall = [\"g{}\"]\n", n + 1);
        let gates: String = (1..gates).map(gate).chain([format!("[gate.g{gates}]\nall = [\"a\"]\n")]).collect();
        format!("{gates}[check.a]\nverifier = \"x\"\n")
    };
    assert_eq!(problems(chain(MAX_DEPTH).as_bytes()), "");
    let found = "1:1: gate.g1: expected gates nested at most 64 deep, found 65";
    assert_eq!(problems(chain(MAX_DEPTH + 1).as_bytes()), found);
    // Deeper than a stack, and still noted once.
    let found = problems(chain(9_000).as_bytes());
    assert!(found.ends_with("17871:1: gate.g8936: expected gates nested at most 64 deep, found 65"), "{found}");

    let inline = |depth: usize| {
        format!("gate.g = {}\"a\"{}\ncheck.a.verifier = \"x\"", "{ not = ".repeat(depth), " }".repeat(depth))
    };
    assert_eq!(problems(inline(MAX_DEPTH).as_bytes()), "");
    let found = "1:10: gate.g: expected gates nested at most 64 deep, found 65";
    assert_eq!(problems(inline(MAX_DEPTH + 1).as_bytes()), found);
    assert!(problems(inline(1_000).as_bytes()).contains("not valid TOML"));
}

#[test]
fn a_gate_that_doubles_at_every_level_is_refused() {
    let gate = |n: usize| format!("[gate.g{n}]\nall = [\"g{m}\", {{ use = \"g{m}\", name = \"again\" }}]\n", m = n + 1);
    let gates: String = (1..40).map(gate).collect();
    let found = problems(format!("{gates}[gate.g40]\nall = [\"a\"]\n[check.a]\nverifier = \"x\"\n").as_bytes());
    assert_eq!(found, "61:1: gate.g31: expected at most 1000 members in all, found more");
}

#[test]
fn a_gate_has_at_most_1000_members_with_those_of_its_members() {
    let refused = "expected at most 1000 members in all, found more";
    let list = |count: usize| {
        let names: Vec<_> = (0..count).map(|n| format!("{{ use = \"a\", name = \"m{n}\" }}")).collect();
        names.join(", ")
    };
    let check = "[check.a]\nverifier = \"x\"\n";
    let flat = |count| problems(format!("[gate.g]\nall = [{}]\n{check}", list(count)).as_bytes());
    assert_eq!(flat(MAX_MEMBERS), "");
    assert_eq!(flat(MAX_MEMBERS + 1), format!("1:1: gate.g: {refused}"));
    let voters = |count| {
        let vote = format!("[gate.g]\nvote = \"inner\"\nvoters = 100\n[gate.inner]\nall = [{}]\n", list(count));
        problems(format!("{vote}{check}").as_bytes())
    };
    assert_eq!(voters(9), "", "each voter is a member, with nine members");
    assert_eq!(voters(10), format!("1:1: gate.g: {refused}"));
}

#[test]
fn a_check_that_no_gate_names_is_a_mistake() {
    let file = |terms: &str| {
        let gates = "[gate.g]\nall = [{ any = [\"a\"] }]\n[gate.alone]\nnot = \"b\"\n";
        let checks = "[check.a]\nverifier = \"x\"\n[check.b]\nverifier = \"x\"\n[check.c]\nverifier = \"x\"\n";
        problems(format!("{gates}{checks}{terms}").as_bytes())
    };
    let expected = "9:1: check.c: no gate uses this check\n\
        hint: add it to a gate, such as `all = [\"c\"]`, or disable it: `enabled = false`";
    assert_eq!(file(""), expected);
    assert_eq!(file("enabled = true"), expected);
    assert_eq!(file("enabled = false"), "");
}

#[test]
fn a_valid_file_says_what_is_written_in_it() {
    let config = parse(include_bytes!("example.toml")).expect("valid");
    assert_eq!(config.deadline, Duration::from_secs(20 * 60));
    assert_eq!(config.gates.keys().collect::<Vec<_>>(), ["commit", "deterministic", "review"]);

    let RuleConfig::Tiers(tiers) = &config.gates["commit"].rule else { panic!("tiers") };
    assert_eq!(tiers.len(), 4);
    assert_eq!(tiers[0].target, MemberTarget::Named("deterministic".to_owned()));
    assert_eq!(tiers[1].terms.flaky, Some(Flaky { runs: 2, pass_if: PassIf::Any }));
    assert_eq!(tiers[3].name.as_deref(), Some("lint"));
    let MemberTarget::Inline(RuleConfig::Any(any)) = &tiers[3].target else { panic!("any") };
    assert_eq!(any[1].place, "gate.commit.tiers[3].any[1]");

    let review = &config.gates["review"];
    assert_eq!(review.terms.when, Some(vec![When::PhaseBoundary, When::Every(5), When::Final]));
    assert_eq!(review.terms.tier, Some(2));
    let RuleConfig::Vote(vote) = &review.rule else { panic!("vote") };
    assert_eq!((vote.voters, vote.threshold, vote.quorum), (Some(3), Threshold::TwoThirds, Some(2)));
    assert_eq!((vote.independent, vote.on_divergence), (false, Divergence::Fail));

    let check = &config.checks["json"];
    assert_eq!(check.settings, serde_json::json!({ "max": 3, "names": ["a"], "deep": { "on": true } }));
    assert_eq!((check.limits.memory, check.limits.hostcalls, check.time), (64 << 20, 7, Some(Duration::from_secs(5))));
    let grants = config.checks["architect"].grants.iter().map(Grant::to_string).collect::<Vec<_>>();
    assert_eq!(grants, ["workspace", "model:reviewer"]);
    assert_eq!(config.commands["tests"].timeout, Duration::from_secs(240));
    assert_eq!(config.models["reviewer"].api, Api::Anthropic);
}

#[test]
fn a_gate_has_time_for_its_longest_command() {
    let deadline = |more: &str| {
        let file = format!("{more}[gate.g]\nall = [\"a\"]\n[check.a]\nverifier = \"a\"\n[command.t]\nrun = [\"t\"]\n");
        let long = format!("{file}timeout = \"1h\"\n");
        [file, long].map(|file| parse(file.as_bytes()).expect("valid").deadline.as_secs() / 60)
    };
    assert_eq!(deadline(""), [30, 70]);
    assert_eq!(deadline("deadline = \"2h\"\n"), [120, 120]);
    assert_eq!(deadline("deadline = \"1m\"\n"), [1, 1]);
}

#[test]
fn a_check_may_take_as_long_as_what_it_is_granted() {
    let config = parse(include_bytes!("example.toml")).expect("valid");
    for (check, default, max) in [("json", 120, 300), ("tests", 250, 3600), ("architect", 190, 600)] {
        let expected = (Duration::from_secs(default), Duration::from_secs(max));
        assert_eq!(config.timeouts(&config.checks[check]), expected, "{check}");
    }
}
