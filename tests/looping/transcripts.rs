//! Agents that tell what they do: the end of their work is theirs to tell, a pass is not.

use super::Home;

const GATE: &str = "[gate.main]\nall = [\"signal\", \"calls\"]\n[check.signal]\nverifier = \"completion-signal\"\n[check.calls]\nverifier = \"tool-calls\"\n";
const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s1","model":"m1"}"#;
const CALL: &str = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"Write","input":{"file_path":"b","content":"x"}}]}}"#;

fn agent(lines: &[&str]) -> String {
    let lines = lines.iter().map(|line| format!("echo '{line}'\n")).collect::<String>();
    format!("echo x > b\n{lines}")
}

#[test]
fn the_claim_and_the_calls_come_from_the_transcript() {
    let answered = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","content":"ok"}]}}"#;
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"TASK_COMPLETE","total_cost_usd":0.5,"usage":{"input_tokens":7,"output_tokens":2}}"#;
    let home = Home::new(GATE);
    let ran = home.script(&[], &agent(&[INIT, CALL, answered, result]));
    assert_eq!(ran.told().0, "completed", "{}", ran.stderr);
    let record = ran.record();
    let executor = &record["attempts"][0]["executor"];
    assert_eq!(
        (&executor["agent"], &executor["model"], &executor["session"]),
        (&"claude-code".into(), &"m1".into(), &"s1".into())
    );
    assert_eq!((&executor["input_tokens"], &executor["cost_usd"]), (&7.into(), &0.5.into()));
    assert_eq!(record["record"]["executor"]["model"], "m1");
    // A call that was never answered did not succeed.
    let home = Home::new(GATE);
    let ran = home.script(&["--max-bounces", "0"], &agent(&[INIT, CALL, result]));
    assert_eq!(ran.told().0, "verification_failed max_bounces", "{}", ran.stderr);
}

#[test]
fn an_agent_that_did_not_end_by_itself_has_failed() {
    let home = Home::new(GATE);
    let said = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"TASK_COMPLETE"}]}}"#;
    let ran = home.script(&["--max-bounces", "0"], &agent(&[INIT, said]));
    let attempts = vec!["failure execution-failure stop".to_owned()];
    assert_eq!(ran.told(), ("verification_failed max_bounces".to_owned(), 1, attempts), "{}", ran.stderr);
    let turns = r#"{"type":"result","subtype":"error_max_turns","is_error":true}"#;
    let ran = home.script(&[], &agent(&[INIT, said, turns]));
    let attempts = vec!["out-of-turns execution-failure stop".to_owned()];
    assert_eq!(ran.told(), ("verification_failed turns".to_owned(), 1, attempts), "{}", ran.stderr);
}
