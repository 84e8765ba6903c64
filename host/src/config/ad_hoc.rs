//! Makes configurations without a file: some verifiers or one command, all of which must pass.

use super::command::COMMAND_TIMEOUT;
use super::problem::Positions;
use super::terms::MemberTerms;
use super::{
    Access, CheckConfig, CommandConfig, Config, DEADLINE, GateConfig, Grant, HookConfig, LoopConfig, MemberConfig,
    MemberTarget, Overrides, RuleConfig, SandboxLevel,
};
use crate::limits::{Limits, StoredLimits};
use crate::retry::{EscalationPolicy, RetryPolicy};
use std::collections::BTreeMap;
use std::path::Path;

/// Returns a gate of these verifiers, all with the same settings and grants. The plan checks whether the verifiers exist and
/// accept them.
pub fn of_verifiers(verifiers: &[String], settings: &serde_json::Value, grants: &[Grant]) -> Config {
    let mut checks = BTreeMap::new();
    let mut members = Vec::new();
    for verifier in verifiers {
        let name = unused_name(verifier, &checks);
        let check = CheckConfig {
            name: name.clone(),
            verifier: verifier.clone(),
            settings: settings.clone(),
            settings_files: BTreeMap::new(),
            grants: grants.iter().cloned().collect(),
            limits: Limits::default(),
            time: None,
            red_green: false,
            terms: MemberTerms::default(),
        };
        checks.insert(name.clone(), check);
        let place = format!("gate.all[{}]", members.len());
        members.push(MemberConfig {
            place,
            name: None,
            target: MemberTarget::Named(name),
            weight: 1,
            terms: MemberTerms::default(),
        });
    }
    let gate =
        GateConfig { rule: RuleConfig::All(members), terms: MemberTerms::default(), looping: LoopConfig::default() };
    Config {
        deadline: DEADLINE,
        require_trusted: false,
        gates: BTreeMap::from([("command-line".to_owned(), gate)]),
        checks,
        commands: BTreeMap::new(),
        models: BTreeMap::new(),
        retry: RetryPolicy::default(),
        escalation: EscalationPolicy::default(),
        overrides: Overrides::default(),
        protected: Vec::new(),
        progress: None,
        stored: StoredLimits::default(),
        files: Vec::new(),
        exclude: Vec::new(),
        hook: HookConfig::default(),
        looping: LoopConfig::default(),
        plan_file: None,
        evaluator: None,
        places: Positions::default(),
    }
}

/// Returns a gate `verify` of one command, which must exit with code 0. The command line has no flag for what the command
/// may write, so it may write to the workspace; the checked files must be unchanged afterwards.
pub fn of_command(argv: &[String]) -> Config {
    let name = "verify".to_owned();
    let mut config = of_verifiers(&["command".to_owned()], &serde_json::json!({}), &[Grant::Command(name.clone())]);
    let command = CommandConfig {
        run: argv.to_vec(),
        from_task: None,
        timeout: COMMAND_TIMEOUT.0,
        env: Vec::new(),
        cwd: None,
        network: false,
        workspace: Access::ReadWrite,
        read: Vec::new(),
        write: Vec::new(),
        min_sandbox: SandboxLevel::None,
        fixes: false,
    };
    config.commands.insert(name.clone(), command);
    config.checks =
        config.checks.into_values().map(|check| (name.clone(), CheckConfig { name: name.clone(), ..check })).collect();
    for gate in config.gates.values_mut() {
        if let RuleConfig::All(members) = &mut gate.rule {
            members.iter_mut().for_each(|member| member.target = MemberTarget::Named(name.clone()));
        }
    }
    config.named("command-line")
}

/// Splits a command line into words as a shell would: at spaces, with quotes and backslashes. Refuses what only a shell can
/// do.
pub fn words(line: &str) -> Result<Vec<String>, BadCommandLine> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (_, '\\') => {
                let next = characters.next().ok_or(BadCommandLine::Unfinished)?;
                if quote == Some('"') && !"\"\\$`".contains(next) {
                    word.get_or_insert_default().push('\\');
                }
                word.get_or_insert_default().push(next);
            }
            (_, '$' | '`') => return Err(BadCommandLine::Shell(c)),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '|' | '&' | ';' | '<' | '>' | '(' | ')' | '\n' | '*' | '?') => return Err(BadCommandLine::Shell(c)),
            // At the start of a word, a shell expands the one and skips the other.
            (None, '~' | '#') if word.is_none() => return Err(BadCommandLine::Shell(c)),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match (quote, words.first()) {
        (Some(_), _) => Err(BadCommandLine::Unfinished),
        (None, None) => Err(BadCommandLine::Nothing),
        (None, Some(_)) => Ok(words),
    }
}

/// Why a line is not a command that can be run without a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCommandLine {
    /// The command line needs a shell.
    #[error("`{}` needs a shell, and `gate` runs commands without one; use a script, or `sh -c \"…\"`", .0.escape_default())]
    Shell(char),
    /// A quote or a backslash is left open.
    #[error("a quote is not closed")]
    Unfinished,
    /// The command line is empty.
    #[error("it is empty")]
    Nothing,
}

impl Config {
    /// Renames the only gate of this configuration.
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.gates = self.gates.into_values().map(|gate| (name.to_owned(), gate)).collect();
        self
    }
}

/// Returns the file name without its extension, with a number appended if that name is taken.
fn unused_name(verifier: &str, taken: &BTreeMap<String, CheckConfig>) -> String {
    let path = verifier.split("@sha256:").next().unwrap_or(verifier);
    let stem = Path::new(path).file_stem().and_then(|stem| stem.to_str()).unwrap_or("verifier");
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let name: String = stem.chars().map(plain).take(50).collect();
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains_key(name)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_as_a_shell_would_and_never_run_by_one() {
        for (line, expected) in [
            ("npm test -- PlannerId", Ok(vec!["npm", "test", "--", "PlannerId"])),
            ("  a  'b c' \"d \\\" e\" f\\ g '' ", Ok(vec!["a", "b c", "d \" e", "f g", ""])),
            ("sh -c 'a && b; $c'", Ok(vec!["sh", "-c", "a && b; $c"])),
            ("tsc --noEmit && npm test", Err(BadCommandLine::Shell('&'))),
            ("echo $HOME", Err(BadCommandLine::Shell('$'))),
            ("echo \"`id`\"", Err(BadCommandLine::Shell('`'))),
            ("ls *", Err(BadCommandLine::Shell('*'))),
            ("ls ~/a", Err(BadCommandLine::Shell('~'))),
            ("make # all", Err(BadCommandLine::Shell('#'))),
            ("a~b c#d", Ok(vec!["a~b", "c#d"])),
            ("a 'b", Err(BadCommandLine::Unfinished)),
            ("a\\", Err(BadCommandLine::Unfinished)),
            (" ", Err(BadCommandLine::Nothing)),
        ] {
            let expected = expected.map(|words| words.into_iter().map(str::to_owned).collect());
            assert_eq!(words(line), expected, "{line}");
        }
    }
}
