//! `gate`: arguments, terminal and exit code. What it does is the library's.

mod args;
mod attest;
mod bench;
mod build;
mod bundle;
mod check_plan;
mod compile;
mod error;
mod completions;
mod doctor;
mod evidence;
mod explain;
mod git_hook;
mod hook;
mod init;
mod inspect;
mod install;
mod interrupt;
mod languages;
mod log;
mod loop_;
mod mcp;
mod new;
mod person;
mod plan;
mod setup;
mod progress;
mod project;
mod report;
mod resume;
mod run;
mod submission_args;
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
use std::process::ExitCode;

fn main() -> ExitCode {
    interrupt::watch();
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(said) => {
            // Help, or a mistake. Where it cannot be written, there is nobody to tell.
            let _ = said.print();
            let exit = if said.use_stderr() { Exit::Mistake } else { Exit::Pass };
            return ExitCode::from(exit.code());
        }
    };
    let global = &arguments.global;
    let exit = match &arguments.command {
        Command::Loop(command) => {
            let ended = loop_::run(global, command);
            interrupt::give_way();
            return ended.unwrap_or_else(|error| ExitCode::from(told(global, &error).code()));
        }
        Command::Run(command) => run::run(global, command),
        Command::CheckPlan(command) => check_plan::run(global, command),
        Command::Plan(command) => plan::run(global, command),
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
        Command::Resume(command) => resume::run(global, command),
        Command::Skip(command) => skip::skip(global, command),
        Command::Force(command) => skip::force(global, command),
        Command::Verify(command) => verify::run(global, command),
        Command::Attest(command) => attest::run(global, command),
        Command::Bundle(command) => bundle::bundle(global, command),
        Command::Replay(command) => bundle::replay(global, command),
        Command::Completions(command) => completions::run(command),
    };
    interrupt::give_way();
    let exit = exit.unwrap_or_else(|error: Error| told(global, &error));
    ExitCode::from(exit.code())
}

/// Tells a person why the program cannot go on.
fn told(global: &args::Global, error: &Error) -> Exit {
    error.print(terminal::color(global.color, &std::io::stderr()));
    error.exit()
}

/// What the user said. Whether in colours is known before the rest: help and mistakes are printed while it is read.
fn arguments() -> Result<Arguments, clap::Error> {
    let mut command = Arguments::command().color(terminal::color_of_help(std::env::args_os()));
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}
