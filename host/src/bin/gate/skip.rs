//! `gate skip` and `gate force`: a person lets work through without a pass.

use crate::args::Global;
use crate::error::Error;
use crate::run::Watcher;
use crate::{Exit, evidence, log, person, setup, terminal};
use clap::{Args, ValueEnum};
use gatehost::config::Overrides;
use gatehost::environment::Environment;
use gatehost::ledger::body::{Override, Uptime, machine};
use gatehost::ledger::{EntryKind, Filter, Labels, Ledger, NewEntry, clock};
use gatehost::overrides::{self, Condition, OverrideRefused};
use gatehost::search_path;
use gatehost::session::Request;
use gatehost::text::clean_line;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = "\
The override covers the files and the findings of the task's last run; any other change needs a new decision. \
The task is reported as `complete (unverified)`, never as a pass. Slow tests and \"looks good\" are not accepted as reasons.

Without a terminal, sign the request with a key that `[overrides] signers` lists:
  gate skip --task t7 --condition user-risk --reason '…' --until 1790000000 --request > request
  ssh-keygen -Y sign -n gatehost-override -f ~/.ssh/id_ed25519 request
  gate skip --task t7 --condition user-risk --reason '…' --until 1790000000 --signature request.sig")]
pub(crate) struct SkipArgs {
    #[command(flatten)]
    common: OverrideArgs,
    /// The kind of reason
    #[arg(long, value_enum)]
    condition: ConditionOf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
For emergencies. The task is reported as `complete (forced)`, never as a pass. At a terminal, the word OVERRIDE must be \
typed; elsewhere, a signature is needed, as for `gate skip`.")]
pub(crate) struct ForceArgs {
    #[command(flatten)]
    common: OverrideArgs,
}

#[derive(Debug, Args)]
struct OverrideArgs {
    /// The task
    #[arg(long, value_name = "ID", required_unless_present = "run")]
    task: Option<String>,
    /// The run to override [default: the last run of the task]
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// The reason, in words
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// How long the override lasts, such as `8h`
    #[arg(long = "for", value_name = "TIME", value_parser = log::age, default_value = "8h", conflicts_with = "until")]
    holds: Duration,
    /// When the override expires, in seconds since 1970
    #[arg(long, value_name = "SECONDS")]
    until: Option<u64>,
    /// Print the request to sign, and record nothing
    #[arg(long, requires = "until")]
    request: bool,
    /// The signature of the request
    #[arg(long, value_name = "FILE", requires = "until", conflicts_with = "request")]
    signature: Option<PathBuf>,
}

/// Why a gate may be skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ConditionOf {
    /// A check cannot run, for example because a service is down
    VerifyUnavailable,
    /// The check is wrong, not the work
    KnownFalseNegative,
    /// You accept the risk
    UserRisk,
}

impl From<ConditionOf> for Condition {
    fn from(condition: ConditionOf) -> Self {
        match condition {
            ConditionOf::VerifyUnavailable => Self::VerifyUnavailable,
            ConditionOf::KnownFalseNegative => Self::KnownFalseNegative,
            ConditionOf::UserRisk => Self::UserRisk,
        }
    }
}

pub(crate) fn skip(global: &Global, command: &SkipArgs) -> Result<Exit, Error> {
    let what = OverrideKind { kind: "skip", word: "skip", condition: Some(command.condition.into()) };
    decide(global, &command.common, &what)
}

pub(crate) fn force(global: &Global, command: &ForceArgs) -> Result<Exit, Error> {
    decide(global, &command.common, &OverrideKind { kind: "force", word: "OVERRIDE", condition: None })
}

struct OverrideKind {
    kind: &'static str,
    /// The word to type.
    word: &'static str,
    condition: Option<Condition>,
}

fn decide(global: &Global, common: &OverrideArgs, what: &OverrideKind) -> Result<Exit, Error> {
    let (ledger, project) = evidence::open(global)?;
    let entry = match (&common.run, &common.task) {
        (Some(run), _) => evidence::find(&ledger, &project, Some(run))?,
        (None, task) => {
            let filter = Filter { task: task.clone(), last: Some(1), ..Filter::of(&project).kinds(&[EntryKind::Run]) };
            let task = task.as_deref().unwrap_or_default();
            ledger.entries(&filter)?.pop().ok_or_else(|| {
                Error::usage(format_args!("the ledger has no run of the task `{}`", clean_line(task, 200)))
                    .hint("an override covers the files of a run; run `gate run` first".to_owned())
            })?
        }
    };
    let record = entry.record()?;
    let policy = policy(global)?;
    let now = evidence::now();
    // A signature names a moment, so a time that the ledger has seen counts too: the same request could be sent again.
    let latest = match common.until {
        Some(_) => now.max(clock::latest(&ledger.entries(&Filter::default())?) / 1_000),
        None => now,
    };
    let holds = common.until.map_or(common.holds, |until| Duration::from_secs(until.saturating_sub(latest)));
    let refused = |why: OverrideRefused| -> Error {
        match person::note_refusal(&ledger, &project, what.kind, &why.to_string()) {
            Ok(()) => Error::usage(&why),
            Err(unrecorded) => unrecorded,
        }
    };
    let proposed = overrides::propose(what.kind, &record, what.condition, &common.reason, holds, now, &policy);
    let mut granted = proposed.map_err(&refused)?;
    if let Some(until) = common.until {
        if until <= latest {
            return Err(refused(OverrideRefused::Expired { latest, until })
                .hint("if an entry is from a wrong clock, run `gate log --confirm-clock` at a terminal".to_owned()));
        }
        granted.expires = until;
    }
    let mut out = terminal::stdout();
    if common.request {
        write!(out, "{}", granted.request())?;
        return Ok(Exit::Pass);
    }
    (granted.by, granted.proof) = match &common.signature {
        Some(file) => {
            let file = global.directory.join(file);
            let path = std::env::var_os("PATH").unwrap_or_default();
            let program = search_path::find_program("ssh-keygen", &path, &global.directory);
            let signer = overrides::check_signature(&granted, &file, &policy, program.as_deref()).map_err(&refused)?;
            granted.signature = std::fs::read_to_string(&file).unwrap_or_default();
            (signer, "signature".to_owned())
        }
        None if !person::is_here() => return Err(refused(OverrideRefused::NoTerminal)),
        None => {
            let question = format!("This bypasses quality checks.\n\n{}", granted.request());
            if !person::confirms(&question, what.word)? {
                person::note_refusal(&ledger, &project, what.kind, "not confirmed")?;
                return Err(Error::usage("not confirmed; no override was recorded"));
            }
            (person::name(), "terminal".to_owned())
        }
    };
    // The same request, sent again, is the same override, whatever the file of its signature looks like.
    let before = Filter { run: Some(granted.run.clone()), ..Filter::default().kinds(&[EntryKind::Override]) };
    for before in ledger.entries(&before)? {
        if before.read::<Override>()?.request() != granted.request() {
            continue;
        }
        if !overrides::expired(&ledger, std::slice::from_ref(&before), evidence::now_millis())?.is_empty() {
            return Err(refused(OverrideRefused::Repeated(before.seq)));
        }
        writeln!(out, "{}: run {} (entry {}, already recorded)", granted.word(), granted.run, before.seq)?;
        return Ok(Exit::Pass);
    }
    (granted.lasts, granted.uptime, granted.machine) = (Some(holds.as_secs()), Uptime::now(), machine());
    let labels = Labels { status: granted.word().to_owned(), ..entry.labels.clone() };
    let appended = ledger.append_one(&project, NewEntry::new(EntryKind::Override, labels, &granted)?)?;
    writeln!(out, "{}: run {} (entry {})", granted.word(), granted.run, appended.seq)?;
    Ok(Exit::Pass)
}

/// Returns who may override, by the configuration of this folder.
pub(crate) fn policy(global: &Global) -> Result<Overrides, Error> {
    let request = Request::new(&global.directory, Environment::of_process());
    let host = setup::host(global, &request.environment)?;
    Ok(setup::wait(host.plan(request, Watcher::silent(global)))?.overrides)
}
