//! The golden vectors: what each host sends, and what it must get back.

use super::budget::{BOUNCES, HookVerdict};
use super::job::{HookResult, Job, Work};
use super::state::GateRun;
use super::{AgentHost, Call, Decision, HookEvent};
use serde_json::Value;

const CLAUDE: &str = r#"{"session_id":"s","transcript_path":"/t","cwd":"/w","permission_mode":"default","hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"done","background_tasks":[],"session_crons":[]}"#;
const CODEX: &str = r#"{"session_id":"s","turn_id":"u","transcript_path":null,"cwd":"/w","hook_event_name":"Stop","model":"m","permission_mode":"default","stop_hook_active":false,"last_assistant_message":null}"#;
const GEMINI: &str = r#"{"session_id":"s","transcript_path":"/t","cwd":"/w","hook_event_name":"AfterAgent","timestamp":"2026-01-01T00:00:00Z","prompt":"p","prompt_response":"done","stop_hook_active":false}"#;
const QWEN: &str = r#"{"session_id":"s","transcript_path":"/t","cwd":"/w","hook_event_name":"Stop","timestamp":"2026-11-16T16:44:13.084Z","stop_hook_active":true,"last_assistant_message":"done"}"#;
const COPILOT: &str = r#"{"sessionId":"s","timestamp":1,"cwd":"/w","transcriptPath":"/t","stopReason":"end_turn","stop_hook_active":false}"#;
const COPILOT_PASCAL: &str = r#"{"hook_event_name":"Stop","session_id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/w","transcript_path":"/t","stop_reason":"end_turn","stop_hook_active":false}"#;
const CURSOR: &str = r#"{"conversation_id":"c","generation_id":"g","hook_event_name":"stop","workspace_roots":["/w"],"status":"completed","loop_count":0}"#;

fn fail() -> HookVerdict {
    failed("d")
}

fn failed(digest: &str) -> HookVerdict {
    HookVerdict::Fail { digest: digest.to_owned(), reason: "R".to_owned(), unfinished: false }
}

/// A state folder and a place to work, in which calls follow each other.
struct Talk(tempfile::TempDir);

impl Talk {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn work(&self, call: &Call) -> Work {
        let environment = [("GATE_STATE_DIR", self.0.path().join("state"))].into_iter().collect();
        let limit = std::time::Duration::from_secs(60);
        Work::open(Job { call: call.clone(), folder: self.0.path().to_owned(), limit, fault: None }, environment)
    }

    /// What is answered to a call, where the gate came to this.
    fn answered(&self, stdin: &str, judged: &HookVerdict) -> (u8, String, String) {
        let call = Call::read(stdin.as_bytes(), None).expect("a host");
        let ran = GateRun { gate: "g".to_owned(), allowed: BOUNCES, ..GateRun::default() };
        let found = HookResult { judged: judged.clone(), ran, start: None };
        let decision = if call.aborted { Decision::Allow } else { self.work(&call).conclude(Some(found)) };
        let answer = call.answer(&decision);
        (answer.exit, answer.stdout, answer.stderr)
    }

    /// Let something happen at which nothing is verified.
    fn note(&self, stdin: &str, host: AgentHost) {
        let call = Call::read(stdin.as_bytes(), Some(host)).expect("a call");
        assert_eq!(self.work(&call).conclude(None), Decision::Allow);
    }
}

#[test]
fn each_host_is_blocked_and_let_go_in_its_dialect() {
    let task = CLAUDE
        .replace("\"Stop\"", "\"TaskCompleted\"")
        .replace("\"stop_hook_active\":false", "\"task_id\":\"t1\",\"task_subject\":\"x\"");
    let idle = CLAUDE.replace("\"Stop\"", "\"TeammateIdle\"");
    let aborted = CURSOR.replace("completed", "aborted");
    let block = r#"{"decision":"block","reason":"R"}"#;
    for (name, stdin, judged, exit, stdout, stderr) in [
        ("C1", CLAUDE, fail(), 0, block, ""),
        ("C2", CLAUDE, HookVerdict::Pass, 0, "", ""),
        ("C5", task.as_str(), fail(), 2, "", "R"),
        ("C5 pass", task.as_str(), HookVerdict::Pass, 0, "", ""),
        ("idle", idle.as_str(), fail(), 2, "", "R"),
        ("X1", CODEX, fail(), 0, block, ""),
        ("X2", CODEX, HookVerdict::Pass, 0, "{}", ""),
        ("G1", GEMINI, fail(), 0, r#"{"decision":"deny","reason":"R"}"#, ""),
        ("G2", GEMINI, HookVerdict::Pass, 0, "{}", ""),
        ("Q1", QWEN, fail(), 0, block, ""),
        ("Q2", QWEN, HookVerdict::Pass, 0, "{}", ""),
        ("P1", COPILOT, fail(), 0, block, ""),
        ("P1 pascal", COPILOT_PASCAL, fail(), 0, block, ""),
        ("P2", COPILOT, HookVerdict::Pass, 0, "{}", ""),
        ("U1", CURSOR, fail(), 0, r#"{"followup_message":"R"}"#, ""),
        ("U2", aborted.as_str(), fail(), 0, "{}", ""),
        ("U3", CURSOR, HookVerdict::Pass, 0, "{}", ""),
    ] {
        let expected = (exit, stdout.to_owned(), stderr.to_owned());
        assert_eq!(Talk::new().answered(stdin, &judged), expected, "{name}");
    }
}

#[test]
fn a_host_is_recognised_by_what_it_sends() {
    for (stdin, host) in [
        (CLAUDE, AgentHost::Claude),
        (CODEX, AgentHost::Codex),
        (GEMINI, AgentHost::Gemini),
        (QWEN, AgentHost::Qwen),
        (COPILOT, AgentHost::Copilot),
        (COPILOT_PASCAL, AgentHost::Copilot),
        (CURSOR, AgentHost::Cursor),
    ] {
        let call = Call::read(stdin.as_bytes(), None).expect("a host");
        assert_eq!((call.host, call.event), (host, HookEvent::Stop), "{stdin}");
        assert_eq!(call.folder.as_deref(), Some(std::path::Path::new("/w")), "{stdin}");
    }
    for other in ["", "{}", "[]", "null", "3", "{\"session_id\":\"s\"}", "not json", "{\"hook_event_name\":\"Stop\"}"] {
        assert_eq!(Call::read(other.as_bytes(), None), None, "{other}");
        assert_eq!(
            Call::read(other.as_bytes(), Some(AgentHost::Claude)).map(|call| call.event),
            Some(HookEvent::Stop),
            "{other}"
        );
    }
}

#[test]
fn the_budget_is_ours_and_is_spent_once() {
    let active = CLAUDE.replace("\"stop_hook_active\":false", "\"stop_hook_active\":true");
    let talk = Talk::new();
    assert!(talk.answered(CLAUDE, &failed("1")).1.contains("\"block\""));
    // C3: the host says that the agent was sent back already, and there is budget left.
    assert!(talk.answered(&active, &failed("2")).1.contains("\"block\""));
    // C4: the budget is spent.
    for digest in ["3", "4"] {
        let (exit, stdout, _) = talk.answered(&active, &failed(digest));
        assert!(exit == 0 && stdout.contains("systemMessage") && stdout.contains("verification_failed"), "{stdout}");
        assert!(!stdout.contains("decision"), "{stdout}");
    }
    // A new request of the user has a budget of its own.
    assert!(talk.answered(CLAUDE, &failed("5")).1.contains("\"block\""));
}

#[test]
fn each_gate_has_a_budget_of_its_own_and_a_tool_renews_none() {
    let talk = Talk::new();
    let active = CLAUDE.replace("\"stop_hook_active\":false", "\"stop_hook_active\":true");
    let tool = active.replace("\"Stop\"", "\"PostToolUse\"");
    let blocks = |stdin: &str, judged: &HookVerdict| talk.answered(stdin, judged).1.contains("\"block\"");
    for digest in ["1", "2"] {
        assert!(blocks(&active, &failed(digest)));
        // What passes after an edit is not the work.
        assert_eq!(talk.answered(&tool, &HookVerdict::Pass).1, "");
        assert!(blocks(&tool, &failed("edit")), "an edit that fails is told, and counts for nothing");
    }
    assert!(!blocks(&active, &failed("3")));
    let call = Call::read(active.as_bytes(), None).expect("a host");
    let ran = GateRun { gate: "another".to_owned(), allowed: BOUNCES, ..GateRun::default() };
    let found = HookResult { judged: failed("4"), ran, start: None };
    assert!(matches!(talk.work(&call).conclude(Some(found)), Decision::Block(_)));
}

#[test]
fn a_helper_of_the_agent_has_a_budget_of_its_own() {
    let talk = Talk::new();
    let helper = CODEX.replace("\"Stop\"", "\"SubagentStop\",\"agent_id\":\"h\"");
    for (stdin, digest, blocks) in [(CODEX, "1", true), (CODEX, "2", true), (CODEX, "3", false), (&helper, "1", true)] {
        assert_eq!(talk.answered(stdin, &failed(digest)).1.contains("\"block\""), blocks, "{stdin} {digest}");
    }
}

#[test]
fn a_pass_renews_the_budget() {
    let talk = Talk::new();
    for _ in 0..3 {
        assert!(talk.answered(CODEX, &failed("1")).1.contains("\"block\""));
        assert!(talk.answered(CODEX, &failed("2")).1.contains("\"block\""));
        assert_eq!(talk.answered(CODEX, &HookVerdict::Pass).1, "{}");
    }
}

#[test]
fn the_same_failure_twice_ends_the_bounces() {
    let talk = Talk::new();
    assert!(talk.answered(CODEX, &fail()).1.contains("\"block\""));
    assert!(talk.answered(CODEX, &fail()).1.contains("same failures remain"));
}

#[test]
fn gemini_is_counted_although_it_forgets_and_qwen_although_it_never_does() {
    for stdin in [GEMINI, QWEN] {
        let talk = Talk::new();
        let rounds: Vec<bool> =
            (0..5).map(|round| talk.answered(stdin, &failed(&round.to_string())).1.contains("\"reason\"")).collect();
        assert_eq!(rounds, [true, true, false, false, false], "{stdin}");
    }
}

#[test]
fn only_the_user_renews_the_budget_and_not_what_the_agent_was_told() {
    let talk = Talk::new();
    let prompt = |text: &str| {
        let message = serde_json::json!({
            "session_id": "s", "cwd": "/w", "hook_event_name": "UserPromptSubmit", "timestamp": "t", "prompt": text,
        });
        talk.note(&message.to_string(), AgentHost::Qwen);
    };
    let failed = |digest: &str| HookVerdict::Fail {
        digest: digest.into(),
        reason: "The gate failed.\n- x".into(),
        unfinished: false,
    };
    for round in 0..2 {
        prompt("Stop hook: The gate failed.\n- x");
        assert!(talk.answered(QWEN, &failed(&round.to_string())).1.contains("\"block\""));
    }
    prompt("The gate failed.\n- x");
    assert!(talk.answered(QWEN, &failed("2")).1.contains("verification_failed"));
    prompt("Please try once more.");
    assert!(talk.answered(QWEN, &failed("3")).1.contains("\"block\""));
}

#[test]
fn a_fault_of_the_gate_is_told_once() {
    // E1 and E3: a hang, a broken configuration.
    let fault = HookVerdict::Fault { reason: "`slow` did not answer".to_owned() };
    let talk = Talk::new();
    assert!(talk.answered(CLAUDE, &fault).1.contains("\"block\""));
    for _ in 0..3 {
        let active = CLAUDE.replace("\"stop_hook_active\":false", "\"stop_hook_active\":true");
        let (_, stdout, _) = talk.answered(&active, &fault);
        assert!(stdout.contains("verification_failed") && !stdout.contains("decision"), "{stdout}");
    }
    // An agent that says that it is blocked may stop at once, and nothing is verified.
    let blocked = HookVerdict::Blocked { reason: "no access".to_owned() };
    assert!(Talk::new().answered(CLAUDE, &blocked).1.contains("verification_failed"));
}

#[test]
fn unfinished_work_may_pause_while_something_runs_in_the_background() {
    // C6.
    let running = CLAUDE.replace(
        "\"background_tasks\":[]",
        r#""background_tasks":[{"id":"b","type":"shell","status":"running","description":"d"}]"#,
    );
    let unfinished = HookVerdict::Fail { digest: "d".into(), reason: "R".into(), unfinished: true };
    assert_eq!(Talk::new().answered(&running, &unfinished), (0, String::new(), String::new()));
    assert!(Talk::new().answered(&running, &fail()).1.contains("\"block\""));
    assert!(Talk::new().answered(CLAUDE, &unfinished).1.contains("\"block\""));
}

#[test]
fn where_nobody_can_count_the_word_of_the_host_is_taken() {
    for (stdin, host, blocks) in [
        (CLAUDE.to_owned(), AgentHost::Claude, true),
        (CLAUDE.replace("\"stop_hook_active\":false", "\"stop_hook_active\":true"), AgentHost::Claude, false),
        // It always says so, and has a limit of its own.
        (QWEN.to_owned(), AgentHost::Qwen, true),
    ] {
        let call = Call::read(stdin.as_bytes(), Some(host)).expect("a call");
        assert_eq!(matches!(super::budget::uncounted(&call, "R"), Decision::Block(_)), blocks, "{stdin}");
    }
}

#[test]
fn a_reason_is_never_empty_too_long_or_able_to_hide_something() {
    let long = "x".repeat(5_000) + "\u{1b}[31m";
    for reason in ["", "  \n", "\u{1b}[31m\u{7}", long.as_str(), "ü\u{202e}\n\"quoted\""] {
        for host in AgentHost::ALL {
            for decision in [Decision::Block(reason.to_owned()), Decision::Release(reason.to_owned()), Decision::Allow]
            {
                let answer = Call::of(*host).answer(&decision);
                assert!(!answer.stdout.contains('\u{1b}') && !answer.stderr.contains('\u{1b}'));
                if answer.stdout.is_empty() {
                    continue;
                }
                let value: Value = serde_json::from_str(&answer.stdout).expect("one JSON object");
                for text in value.as_object().expect("an object").values().filter_map(Value::as_str) {
                    assert!(!text.trim().is_empty() && text.chars().count() <= 2_000);
                    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
                }
            }
        }
    }
}

#[test]
fn whatever_is_sent_is_a_call_or_nothing_and_never_a_panic() {
    let deep = "[".repeat(100_000);
    let long = format!("{{\"session_id\":\"{}\"}}", "s".repeat(20 << 20));
    let wrong = r#"{"session_id":[1],"cwd":7,"hook_event_name":{"a":1},"stop_hook_active":"yes","background_tasks":"x","tool_input":[],"transcript_path":"relative","workspace_roots":[null]}"#;
    for text in
        [deep.as_str(), long.as_str(), wrong, "\u{0}", "{\"hook_event_name\":\"Stop\",\"hook_event_name\":\"Stop\"}"]
    {
        for host in AgentHost::ALL {
            let call = Call::read(text.as_bytes(), Some(*host)).expect("a call");
            assert_eq!((call.event, call.session), (HookEvent::Stop, None));
        }
    }
    assert!(Call::read(&[0xff, 0xfe][..], Some(AgentHost::Codex)).is_some());
}
