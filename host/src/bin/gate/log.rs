//! `gate log`: shows the entries of the ledger.

use crate::args::{Global, OutputFormat};
use crate::error::Error;
use crate::{Exit, evidence, person, terminal};
use clap::Args;
use gatehost::environment::Environment;
use gatehost::ledger::body::{
    Bounce, Committed, CutOff, Escalation, Note, Override, Pruned, Resume, StepEnd, StepStart, Uptime,
};
use gatehost::ledger::{Entry, EntryKind, Filter, Head, Labels, Ledger, LedgerError, NewEntry, Project, clock};
use gatehost::overrides;
use gatehost::session;
use gatehost::text::{self, clean_line, json_line, write_json};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::time::{Duration, SystemTime};

#[derive(Debug, Args)]
#[command(after_help = "\
The ledger is in $GATE_STATE_DIR, else in `gatehost` under $XDG_STATE_HOME or ~/.local/state. Store the output of \
`--head` elsewhere: with it, `--verify --anchor` also names entries that were removed at the end.

Examples:
  gate log                            the last entries of this project
  gate log --task t7 --format json    everything about a task
  gate log --head                     the number and hash of the last entry
  gate log --verify --anchor 12:ab…   check that no entry was altered
  gate log --prune 30d                drop entries older than 30 days")]
pub(crate) struct LogArgs {
    /// Print the number and the hash of the last entry
    #[arg(long, conflicts_with_all = ["verify", "prune", "follow"])]
    head: bool,
    /// Check all entries and the chain; names every entry that was altered, removed, inserted or moved
    #[arg(long, conflicts_with_all = ["prune", "follow"])]
    verify: bool,
    /// An earlier output of `--head`, which must be part of the chain
    #[arg(long, value_name = "HEAD", requires = "verify")]
    anchor: Option<Head>,
    /// Drop entries older than this, such as `30d`; a new entry notes what was dropped. Without a terminal, only the time
    /// counts that the machine has run, and less than `1d` is refused
    #[arg(long, value_name = "AGE", value_parser = age)]
    prune: Option<Duration>,
    /// Record at a terminal that the clock of this machine is right. Needed after it was wrong, or after a long time without entries
    #[arg(long, conflicts_with_all = ["head", "verify", "prune", "follow"])]
    confirm_clock: bool,
    /// Keep printing new entries
    #[arg(long, short)]
    follow: bool,
    /// Only entries of this kind
    #[arg(long, value_name = "KIND")]
    kind: Vec<EntryKind>,
    /// Only entries of this run
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Only entries of this task
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Only entries of this gate
    #[arg(long, value_name = "GATE")]
    gate: Option<String>,
    /// Only runs with this result
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Only entries of this session of an agent
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Entries of every project
    #[arg(long)]
    all_projects: bool,
    /// Show at most this many, the newest
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    last: u32,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

/// Without a terminal, only entries older than this are dropped: an agent cannot reset its attempts.
const YOUNGEST: Duration = Duration::from_secs(86_400);

/// Parses `30d`, `12h`, `90m` or `10s`.
pub(crate) fn age(text: &str) -> Result<Duration, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let seconds = match &text[number.len()..] {
        "d" => 86_400,
        "h" => 3_600,
        "m" => 60,
        "s" => 1,
        _ => return Err("expected a number and `d`, `h`, `m` or `s`, such as `30d`".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "expected a whole number before the unit".to_owned())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(|| "the duration is too long".to_owned())
}

pub(crate) fn run(global: &Global, command: &LogArgs) -> Result<Exit, Error> {
    let ledger = evidence::ledger(command.anchor)?;
    let project = Project::of(&global.directory, &Environment::of_process())?;
    let mut out = terminal::stdout();
    if command.head {
        writeln!(out, "{}", ledger.head()?)?;
        return Ok(Exit::Pass);
    }
    if command.verify {
        return verify(&mut out, &ledger, command);
    }
    if command.confirm_clock {
        return confirm_clock(&mut out, &ledger, &project);
    }
    if let Some(age) = command.prune {
        return prune(&mut out, &ledger, &project, age);
    }
    let mut filter = Filter {
        project: (!command.all_projects).then_some(project),
        kinds: command.kind.clone(),
        run: command.run.clone(),
        task: command.task.clone(),
        group: None,
        session: command.session.clone(),
        gate: command.gate.clone(),
        status: command.status.clone(),
        tree: None,
        after: 0,
        last: Some(command.last),
    };
    loop {
        let entries = ledger.entries(&filter)?;
        if let Some(last) = entries.last() {
            filter.after = last.seq;
        }
        show(&mut out, &entries, command, global.verbose)?;
        if !command.follow {
            return Ok(Exit::Pass);
        }
        out.flush()?;
        filter.last = None;
        std::thread::sleep(Duration::from_millis(300));
    }
}

fn show(out: &mut impl Write, entries: &[Entry], command: &LogArgs, verbose: bool) -> Result<(), Error> {
    let mut invisible = 0;
    for entry in entries {
        match command.format {
            OutputFormat::Json => writeln!(out, "{}", json_line(&document(entry)?)?)?,
            OutputFormat::Human => {
                let line = format!("{:>5}  {}  {:<12}  {}", entry.seq, time(entry, verbose), entry.kind, says(entry)?);
                let labels = labels(entry, verbose);
                let line = clean_line(format!("{line}{labels}").trim_end(), 1_000);
                invisible += text::invisible(&line);
                writeln!(out, "{line}")?;
            }
        }
    }
    if let Some(note) = text::invisible_note(invisible) {
        writeln!(out, "note: {note}")?;
    }
    Ok(())
}

/// Returns the month, the day and the time of an entry; in full with `-v`.
pub(crate) fn time(entry: &Entry, verbose: bool) -> String {
    match (entry.at.get(5..10), entry.at.get(11..19)) {
        (Some(day), Some(time)) if !verbose => format!("{day} {time}"),
        _ => entry.at.clone(),
    }
}

/// Returns the task, and as much of the identifier of the run as other commands need; everything with `-v`.
fn labels(entry: &Entry, verbose: bool) -> String {
    let gatehost::ledger::Labels { gate, task, run, .. } = &entry.labels;
    let label = |name: &str, value: &str| if value.is_empty() { String::new() } else { format!("  {name} {value}") };
    match verbose {
        true => label("gate", gate) + &label("task", task) + &label("run", run),
        false => label("task", task) + "  " + evidence::short(run),
    }
}

/// Returns the content of an entry in a few words.
pub(crate) fn says(entry: &Entry) -> Result<String, LedgerError> {
    let quoted = |text: &str| clean_line(text, 120);
    Ok(match entry.kind {
        EntryKind::Run => {
            let class = &entry.labels.class;
            if class.is_empty() { entry.labels.status.clone() } else { format!("{} ({class})", entry.labels.status) }
        }
        EntryKind::StepStarted => {
            let started: StepStart = entry.read()?;
            if started.check.is_empty() { started.step } else { format!("{} {}", started.step, quoted(&started.check)) }
        }
        EntryKind::StepEnded => {
            let ended: StepEnd = entry.read()?;
            let check = if ended.check.is_empty() { String::new() } else { format!(" {}", quoted(&ended.check)) };
            format!("{}{check}: {}", ended.step, quoted(&ended.outcome))
        }
        EntryKind::Commit => entry.read::<Committed>()?.commit_sha,
        EntryKind::CutOff => quoted(&entry.read::<CutOff>()?.why),
        EntryKind::Bounce => format!("number {}", entry.read::<Bounce>()?.number),
        EntryKind::Escalation => {
            let said: Escalation = entry.read()?;
            format!("{}: {}", said.level, quoted(&said.why))
        }
        EntryKind::Resume => {
            let said: Resume = entry.read()?;
            format!("{} by {}", said.choice, quoted(&said.by))
        }
        EntryKind::Override => {
            let said: Override = entry.read()?;
            format!("{} by {}: {}", said.kind, quoted(&said.by), quoted(&said.reason))
        }
        EntryKind::Prune => {
            let said: Pruned = entry.read()?;
            format!("entries {} to {} were dropped", said.first, said.last)
        }
        EntryKind::Note => quoted(&entry.read::<Note>()?.text),
        _ => entry.labels.status.clone(),
    })
}

fn document(entry: &Entry) -> Result<Value, LedgerError> {
    let body: Value = entry.read()?;
    Ok(json!({
        "seq": entry.seq,
        "at": entry.at,
        "project": entry.project,
        "kind": entry.kind,
        "labels": entry.labels,
        "prev": entry.prev,
        "hash": entry.hash,
        "body": body,
    }))
}

fn verify(out: &mut impl Write, ledger: &dyn Ledger, command: &LogArgs) -> Result<Exit, Error> {
    let damages = ledger.verify(command.anchor)?;
    let head = ledger.head();
    if command.format == OutputFormat::Json {
        let head = head.ok().map(|head| head.to_string());
        write_json(out, &json!({ "version": 1, "intact": damages.is_empty(), "head": head, "damages": damages }))?;
    } else if damages.is_empty() {
        writeln!(out, "intact: all entries up to {} are unaltered", head?)?;
    } else {
        for damage in &damages {
            writeln!(out, "damaged: {damage}")?;
        }
    }
    Ok(if damages.is_empty() { Exit::Pass } else { Exit::Fail })
}

/// Records that a person has looked at the clock of this machine, and that it is right.
fn confirm_clock(out: &mut impl Write, ledger: &dyn Ledger, project: &Project) -> Result<Exit, Error> {
    if !person::is_here() {
        person::note_refusal(ledger, project, "log --confirm-clock", "there is no terminal")?;
        return Err(Error::usage("the clock is confirmed by a person at a terminal"));
    }
    let newest = ledger.entries(&Filter { last: Some(1), ..Filter::default() })?.pop();
    let newest = newest.map_or_else(|| "nothing".to_owned(), |entry| entry.at);
    let now = gatehost::text::timestamp(SystemTime::now());
    let question = format!("The clock of this machine shows {now}, and the newest entry {newest}. Times in UTC.");
    if !person::confirms(&question, "right")? {
        return Err(Error::usage("not confirmed; nothing was recorded"));
    }
    let text = format!("{} confirmed that the clock is right", person::name());
    let labels = Labels { status: clock::CONFIRMED.to_owned(), ..Labels::default() };
    let note = NewEntry::new(EntryKind::Note, labels, &Note { text, ..Note::default() })?;
    writeln!(out, "entry {}: the clock is right", ledger.append_one(project, note)?.seq)?;
    Ok(Exit::Pass)
}

fn prune(out: &mut impl Write, ledger: &dyn Ledger, project: &Project, age: Duration) -> Result<Exit, Error> {
    let is_person = person::is_here();
    if age < YOUNGEST && !is_person {
        person::note_refusal(ledger, project, "log --prune", "there is no terminal")?;
        return Err(Error::usage("entries of the last day are dropped only by a person at a terminal")
            .hint("recent entries count attempts; use `--prune 1d` or more".to_owned()));
    }
    let now = evidence::now_millis();
    let entries = ledger.entries(&Filter::default())?;
    let seen = match is_person {
        true => clock::ages(&entries, Some(now)),
        // An agent makes entries at will, and could also set the clock.
        false => clock::ages_by_uptime(&entries, Uptime::now().as_ref())?,
    };
    let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    let up_to = droppable(&entries, &seen, age)?;
    let by_clock: Vec<u64> = entries.iter().map(|entry| now.saturating_sub(clock::millis(entry))).collect();
    let unseen = droppable(&entries, &by_clock, age)?;
    let first = entries.first().map_or(0, |entry| entry.seq);
    if up_to < first || up_to == 0 {
        writeln!(out, "nothing to drop: no entry is older, or older entries are still needed")?;
    } else {
        let entry = ledger.prune(project, up_to)?;
        if let Some(state) = ledger.folder() {
            let left = ledger.entries(&Filter::default())?;
            let runs: BTreeSet<&str> = left.iter().map(|entry| entry.labels.run.as_str()).collect();
            session::forget(&state, |run| runs.contains(run));
        }
        writeln!(out, "dropped entries {first} to {up_to}; entry {} records this", entry.seq)?;
    }
    if unseen > up_to {
        let (why, next) = match is_person {
            true => (
                "the clock jumped, or nothing was recorded for long",
                "run `gate log --confirm-clock`, and drop them again",
            ),
            false => ("the machine has not run for so long between runs", "drop them at a terminal"),
        };
        writeln!(out, "by the clock, the entries up to {unseen} are older, but {why}")?;
        writeln!(out, "if the clock is right, {next}")?;
    }
    Ok(Exit::Pass)
}

/// Returns the number of the last entry that can be dropped, 0 if there is none. Open escalations and valid overrides stay, also
/// those of other projects, because all projects share the chain; so does the last entry.
fn droppable(entries: &[Entry], ages: &[u64], age: u64) -> Result<u64, LedgerError> {
    let mut answered = BTreeSet::new();
    for entry in entries.iter().filter(|entry| entry.kind == EntryKind::Resume) {
        answered.insert(entry.read::<Resume>()?.escalation);
    }
    let mut up_to = 0;
    for (entry, old) in entries.iter().zip(ages).rev().skip(1).rev() {
        let holds = match entry.kind {
            EntryKind::Override => *old < overrides::lasts(entry, &entry.read()?),
            EntryKind::Escalation => !answered.contains(&entry.seq),
            _ => false,
        };
        if *old < age || holds {
            break;
        }
        up_to = entry.seq;
    }
    Ok(up_to)
}
