//! `gate`: arguments, terminal and exit code. The library does the work.

mod args;
mod attest;
mod bench;
mod build;
mod bundle;
mod caller_limits;
mod check_plan;
mod compile;
mod error;
mod completions;
mod doctor;
mod evidence;
mod explain;
mod fix;
mod git_hook;
mod hook;
mod init;
mod inspect;
mod install;
mod interrupt;
mod languages;
mod list;
mod log;
mod loop_;
mod mcp;
mod new;
mod person;
mod plan;
mod setup;
mod progress;
mod project;
mod recording;
mod report;
mod resume;
mod run;
mod submission_args;
mod suggest;
mod tasks;
mod schema;
mod skip;
mod stats;
mod status;
mod templates;
mod terminal;
mod test;
mod verify;

use args::{Arguments, Command};
use clap::{CommandFactory, FromArgMatches};
use error::{Error, Make as _};
use gatehost::error::Exit;
use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    caller_limits::run(|| {
        let exit = program();
        terminal::note_invisible();
        exit
    })
}

fn program() -> ExitCode {
    interrupt::watch();
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(said) => {
            if !said.use_stderr() {
                let printed = said.print().and_then(|()| std::io::stdout().flush());
                let failed = printed.err().filter(|error| error.kind() != std::io::ErrorKind::BrokenPipe);
                let failed = failed.map(|error| Error::host("cannot write to stdout").because(error));
                failed.iter().for_each(|error| error.print(false));
                return ExitCode::from(failed.map_or(Exit::Pass, |error| error.exit()).code());
            }
            let stderr = std::io::IsTerminal::is_terminal(&std::io::stderr());
            let color = match terminal::color_of_help(std::env::args_os()) {
                clap::ColorChoice::Always => true,
                clap::ColorChoice::Auto => stderr,
                clap::ColorChoice::Never => false,
            };
            if let Some(error) = suggest::instead(&said, &Arguments::command()) {
                error.print(color);
                document(&error);
                return ExitCode::from(Exit::Mistake.code());
            }
            let shown = said.render();
            let shown = if color { shown.ansi().to_string() } else { shown.to_string() };
            terminal::say(shown.trim_end_matches('\n'));
            // The first line follows `error: `; the rest is the usage.
            let message = said.render().to_string();
            let message = message.lines().next().unwrap_or_default();
            document(&Error::usage(message.strip_prefix("error: ").unwrap_or(message)));
            return ExitCode::from(Exit::Mistake.code());
        }
    };
    let global = &arguments.global;
    // The call of a hook has told it already.
    if !global.quiet && !matches!(arguments.command, Command::HookRun) {
        for name in gatehost::environment::Environment::of_process().ignored() {
            terminal::say(format_args!("warning: `{name}` is ignored: expected an absolute path"));
        }
    }
    // A hook answers whatever happens, in the format of its host.
    if !matches!(arguments.command, Command::Hook(_))
        && let Err(error) = caller_limits::check()
    {
        return ExitCode::from(print_error(global, &error).code());
    }
    let exit = match &arguments.command {
        Command::Loop(command) => return end_of_loop(global, loop_::run(global, command)),
        Command::Resume(command) => return end_of_loop(global, resume::run(global, command)),
        Command::Run(command) => run::run(global, command),
        Command::Fix(command) => fix::run(global, command),
        Command::CheckPlan(command) => check_plan::run(global, command),
        Command::Plan(command) => plan::run(global, command),
        Command::List(command) => list::run(global, command),
        Command::Hook(command) => return hook::run(global, command),
        Command::HookRun => return hook::child(),
        Command::GitHook(command) => git_hook::run(global, command),
        Command::Install(command) => install::install(global, command),
        Command::Uninstall(command) => install::uninstall(global, command),
        Command::Doctor(command) => doctor::run(global, command),
        Command::Mcp => mcp::run(global),
        Command::Report(command) => report::run(global, command),
        Command::Init(command) => init::run(global, command),
        Command::Schema(command) => schema::run(command),
        Command::Inspect(command) => inspect::run(global, command),
        Command::Compile(command) => compile::run(global, command),
        Command::New(command) => new::run(global, command),
        Command::Build(command) => build::run(global, command),
        Command::Test(command) => test::run(global, command),
        Command::Bench(command) => bench::run(global, command),
        Command::Log(command) => log::run(global, command),
        Command::Status(command) => status::run(global, command),
        Command::Explain(command) => explain::run(global, command),
        Command::Stats(command) => stats::run(global, command),
        Command::Skip(command) => skip::skip(global, command),
        Command::Force(command) => skip::force(global, command),
        Command::Verify(command) => verify::run(global, command),
        Command::Attest(command) => attest::run(global, command),
        Command::Bundle(command) => bundle::bundle(global, command),
        Command::Replay(command) => bundle::replay(global, command),
        Command::Completions(command) => completions::run(command),
    };
    interrupt::give_way();
    let exit = exit.inspect(|exit| caller_limits::mention_after(*exit));
    let exit = exit.unwrap_or_else(|error: Error| print_error(global, &error));
    ExitCode::from(exit.code())
}

/// Returns the exit code of a loop. If there is no verdict, prints the limits of the process that are low.
fn end_of_loop(global: &args::Global, ended: Result<ExitCode, Error>) -> ExitCode {
    interrupt::give_way();
    let no_verdict = ExitCode::from(Exit::NoVerdict.code());
    let ended = ended.inspect(|code| {
        if *code == no_verdict {
            caller_limits::mention()
        }
    });
    ended.unwrap_or_else(|error| ExitCode::from(print_error(global, &error).code()))
}

/// Prints an error.
fn print_error(global: &args::Global, error: &Error) -> Exit {
    error.print(terminal::color(global.color, &std::io::stderr()));
    if error.exit() == Exit::NoVerdict && error.problems().next().is_some() {
        caller_limits::mention();
    }
    document(error);
    error.exit()
}

/// Prints an error as a JSON document, if JSON was requested.
fn document(error: &Error) {
    if asks_for_json(std::env::args_os().skip(1)) {
        // If it cannot be written, there is nobody to tell.
        let _ = gatehost::report::mistake(&mut std::io::stdout().lock(), error);
    }
}

/// Returns whether the arguments before `--` contain `--format json`. Arguments that cannot be parsed are searched as text.
fn asks_for_json(arguments: impl Iterator<Item = OsString>) -> bool {
    let arguments: Vec<OsString> = arguments.take_while(|argument| argument != "--").collect();
    let pairs = arguments.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json");
    pairs || arguments.iter().any(|argument| argument == "--format=json")
}

/// Parses the arguments. Colours are decided first, because help and errors are printed while parsing.
fn arguments() -> Result<Arguments, clap::Error> {
    let mut command = Arguments::command().color(terminal::color_of_help(std::env::args_os()));
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}
