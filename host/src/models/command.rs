//! A model behind a command of the configuration: the question on stdin, the answer on stdout.

use super::budget::Spending;
use super::prompt::Rendered;
use super::{ModelExchange, NoAnswer, Reply, Stop, no_answer_within};
use crate::commands::{CommandEnding, CommandResult, Commands, NoResult};
use crate::config::ModelConfig;
use crate::text::clean_line;
use std::time::Duration;

pub(super) async fn ask(
    commands: &Commands,
    check: &str,
    model: &ModelConfig,
    rendered: &Rendered,
    within: Duration,
    spending: &Spending<'_>,
) -> ModelExchange {
    let Some(name) = &model.command else {
        return ModelExchange::none(NoAnswer::Unreachable("it has no command".to_owned()));
    };
    let question = rendered.as_text().into_bytes();
    if let Err(why) = spending.sent(question.len() as u64) {
        return ModelExchange::none(why);
    }
    let running = commands.run_with(check, name, question);
    let came = match tokio::time::timeout(within, running).await {
        Ok(ran) => reply(ran, model.model.as_deref().unwrap_or(name), spending),
        Err(_) => Err(no_answer_within(within)),
    };
    ModelExchange { came, attempts: 1 }
}

/// Returns the stdout of a command that exited with 0 within the budgets.
fn reply(ran: Result<CommandResult, NoResult>, model: &str, spending: &Spending<'_>) -> Result<Reply, NoAnswer> {
    let ran = ran.map_err(|error| NoAnswer::Unreachable(error.to_string()))?;
    let limit = spending.bytes_left();
    spending.received(ran.stdout.length);
    match ran.ending {
        CommandEnding::Exited(0) => {}
        CommandEnding::Exited(code) => {
            let said = clean_line(String::from_utf8_lossy(&ran.stderr.head).trim(), 200);
            return Err(NoAnswer::Unreachable(format!("the command ended with code {code}: {said}")));
        }
        CommandEnding::Signalled(signal) => {
            return Err(NoAnswer::Unreachable(format!("the command was killed by signal {signal}")));
        }
        CommandEnding::TimedOut => return Err(NoAnswer::Timeout("the timeout of its command".to_owned())),
    }
    if ran.stdout.length > limit {
        return Err(NoAnswer::Budget("bytes".to_owned()));
    }
    if ran.stdout.length != ran.stdout.head.len() as u64 {
        return Err(NoAnswer::Malformed(format!("it has {} bytes, which is too much", ran.stdout.length)));
    }
    let text = String::from_utf8(ran.stdout.head).map_err(|_| NoAnswer::Malformed("it is not UTF-8".to_owned()))?;
    Ok(Reply { text, stop: Stop::End, model: model.to_owned(), tokens: None })
}

#[cfg(test)]
mod tests {
    use super::super::budget::ModelBudget;
    use super::*;
    use crate::commands::Captured;
    use crate::config::SandboxLevel;
    use std::time::SystemTime;

    fn ran(ending: CommandEnding, stdout: &[u8], length: u64) -> Result<CommandResult, NoResult> {
        let captured = |head: &[u8], length| Captured { head: head.to_vec(), length, ..Captured::default() };
        Ok(CommandResult {
            name: "ask".into(),
            argv: vec!["ask".into()],
            ending,
            stdout: captured(stdout, length),
            stderr: captured(b"no credit\n", 10),
            started: SystemTime::UNIX_EPOCH,
            duration: Duration::ZERO,
            sandbox: SandboxLevel::None,
            advice: None,
            rewrites: Vec::new(),
            replayed: false,
            on_base: false,
        })
    }

    /// Ten bytes, and plenty of everything else.
    fn budget() -> ModelBudget {
        let file = "[gate.g]\nall = [\"c\"]\n[check.c]\nverifier = \"x\"\n[command.ask]\nrun = [\"x\"]\n[model.m]\napi = \"command\"\ncommand = \"ask\"\nmax_run_bytes = 10\n";
        let config = crate::config::parse(file.as_bytes()).expect("valid");
        ModelBudget::of(&config.models["m"])
    }

    fn reply(ran: Result<CommandResult, NoResult>, model: &str) -> Result<Reply, NoAnswer> {
        let budget = budget();
        let (system, prompt, nonce) = (String::new(), String::new(), String::new());
        let question = Rendered { system, prompt, schema: None, max_tokens: 1, nonce };
        super::reply(ran, model, &budget.begin(&question).expect("enough"))
    }

    #[test]
    fn only_a_command_that_came_to_its_end_has_answered() {
        let answer = reply(ran(CommandEnding::Exited(0), b"yes\n", 4), "local").expect("an answer");
        assert_eq!((answer.text.as_str(), answer.stop, answer.model.as_str()), ("yes\n", Stop::End, "local"));
        for (ran, expected) in [
            (
                ran(CommandEnding::Exited(1), b"yes", 3),
                "cannot reach the model: the command ended with code 1: no credit",
            ),
            (ran(CommandEnding::Signalled(9), b"yes", 3), "cannot reach the model: the command was killed by signal 9"),
            (ran(CommandEnding::TimedOut, b"yes", 3), "the model did not answer within the timeout of its command"),
            (
                ran(CommandEnding::Exited(0), b"yes", 9),
                "the model's answer cannot be read: it has 9 bytes, which is too much",
            ),
            (ran(CommandEnding::Exited(0), b"yes", 11), "the budget of bytes is used up"),
            (ran(CommandEnding::Exited(0), b"\xff", 1), "the model's answer cannot be read: it is not UTF-8"),
            (Err(NoResult::not_started("no such program")), "cannot reach the model: no such program"),
        ] {
            assert_eq!(reply(ran, "local").expect_err("no answer").to_string(), expected);
        }
    }
}
