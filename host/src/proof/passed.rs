//! Looks up in the ledger whether this policy passed this tree. Nothing runs.

use crate::ledger::body::Override;
use crate::ledger::{Entry, EntryKind, LedgerError};
use crate::overrides;
use crate::record::{Mark, Record};
use crate::verdict::Status;
use std::collections::BTreeSet;

/// The question.
#[derive(Clone, Debug)]
pub struct VerificationRequest {
    /// The digest of the change.
    pub tree: String,
    /// The base commit of the change.
    pub base: Option<String>,
    /// The digest of the plan that must have passed it.
    pub plan: String,
    /// Whether overrides are accepted.
    pub accept_overrides: bool,
    /// The entries of overrides that have expired: see [`overrides::expired`].
    pub expired: BTreeSet<u64>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Verification {
    /// The tree passed in this run.
    Passed(Box<Entry>),
    /// The tree did not pass, but a person let it through, which the policy accepts.
    Overridden(Box<Entry>, Box<Override>),
    /// The tree did not pass.
    NotPassed {
        /// Why.
        why: String,
        /// The nearest run, if there is one.
        nearest: Option<Box<Entry>>,
    },
}

/// Searches the entries about this tree, in order, for a pass by this plan. A later run that did not pass outranks an
/// earlier pass.
pub fn answer(entries: &[Entry], question: &VerificationRequest) -> Result<Verification, LedgerError> {
    let mut nearest: Option<(String, &Entry)> = None;
    for entry in entries.iter().rev().filter(|entry| entry.kind == EntryKind::Run) {
        let record = entry.record()?;
        match fault(&record, question) {
            None => return Ok(Verification::Passed(Box::new(entry.clone()))),
            Some((why, decides)) => {
                if decides {
                    nearest = Some((why, entry));
                    break;
                }
                nearest.get_or_insert((why, entry));
            }
        }
    }
    let last = entries.iter().rev().find(|entry| entry.kind == EntryKind::Run);
    let mut expired = None;
    for entry in entries.iter().rev().filter(|entry| entry.kind == EntryKind::Override) {
        let granted: Override = entry.read()?;
        let covered = match last {
            Some(last) => overrides::covers(&granted, &last.record()?) && granted.base == question.base,
            None => false,
        };
        if covered && question.expired.contains(&entry.seq) {
            expired.get_or_insert(entry.seq);
            continue;
        }
        if covered && question.accept_overrides {
            return Ok(Verification::Overridden(Box::new(entry.clone()), Box::new(granted)));
        }
        if covered {
            let why = format!("it is {}, which `[overrides] accept` does not allow", granted.word());
            return Ok(Verification::NotPassed { why, nearest: Some(Box::new(entry.clone())) });
        }
    }
    Ok(match nearest {
        None => Verification::NotPassed { why: "no run checked this change".to_owned(), nearest: None },
        Some((mut why, entry)) => {
            if let Some(granted) = expired {
                why = format!("{why}, and the override of entry {granted} has expired");
            }
            Verification::NotPassed { why, nearest: Some(Box::new(entry.clone())) }
        }
    })
}

/// Returns why a run is no proof, and whether earlier runs no longer count.
fn fault(record: &Record, question: &VerificationRequest) -> Option<(String, bool)> {
    let run = &record.run;
    if record.plan != question.plan {
        return Some((format!("run {run} checked it with another plan ({})", record.plan), false));
    }
    if record.base != question.base {
        let base = record.base.as_deref().unwrap_or("no commit");
        return Some((format!("run {run} checked it on another base ({base})"), false));
    }
    if record.status != Status::Pass {
        return Some((format!("the result of run {run} is `{}`", record.status), true));
    }
    if let Some(mark) =
        record.marks.iter().find(|mark| matches!(mark, Mark::Replayed | Mark::LeftOut | Mark::AuthorsWord))
    {
        return Some((format!("run {run} passed, and is marked `{}`", mark.as_str()), false));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Ledger, NewEntry, Project, SqliteLedger};
    use crate::outcome::{Node, NodeKind};

    fn record(status: Status, plan: &str, base: &str) -> Record {
        let mut record = Record::of(Node::new("g", NodeKind::All, status.into()));
        record.run = format!("{status}-{plan}-{base}");
        record.tree = Some("sha256:t".to_owned());
        record.plan = plan.to_owned();
        record.base = Some(base.to_owned());
        record
    }

    fn question() -> VerificationRequest {
        VerificationRequest {
            tree: "sha256:t".to_owned(),
            base: Some("b".to_owned()),
            plan: "p".to_owned(),
            accept_overrides: false,
            expired: BTreeSet::new(),
        }
    }

    fn ask(records: &[Record], question: &VerificationRequest) -> Verification {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = SqliteLedger::open(folder.path()).expect("a ledger");
        let project = Project::at(std::path::Path::new("/p"));
        for record in records {
            ledger.append_one(&project, NewEntry::run(record, "").expect("JSON")).expect("appended");
        }
        let survey = ledger.survey(None, &question.tree).expect("looked at");
        assert_eq!(survey.damages, []);
        answer(&survey.entries, question).expect("an answer")
    }

    #[test]
    fn only_a_pass_of_this_tree_on_this_base_by_this_plan_is_one() {
        let pass = || record(Status::Pass, "p", "b");
        let replayed = Record { marks: vec![Mark::Replayed], ..pass() };
        for (records, passed) in [
            (vec![pass()], true),
            (vec![], false),
            (vec![record(Status::Fail, "p", "b")], false),
            (vec![record(Status::Error, "p", "b")], false),
            (vec![record(Status::Pass, "other", "b")], false),
            (vec![record(Status::Pass, "p", "other")], false),
            (vec![pass(), record(Status::Fail, "p", "b")], false),
            (vec![record(Status::Fail, "p", "b"), pass()], true),
            (vec![pass(), record(Status::Fail, "other", "b")], true),
            (vec![replayed], false),
            (vec![Record { tree: Some("sha256:u".to_owned()), ..pass() }], false),
        ] {
            let found = ask(&records, &question());
            assert_eq!(matches!(found, Verification::Passed(_)), passed, "{records:#?}\n{found:?}");
        }
    }

    #[test]
    fn the_run_that_decides_is_named() {
        let (failed, elsewhere) = (record(Status::Fail, "p", "b"), record(Status::Pass, "p", "other"));
        for (records, expected) in [
            (vec![failed.clone(), elsewhere.clone()], "the result of run fail-p-b is `fail`"),
            (vec![elsewhere], "run pass-p-other checked it on another base (other)"),
        ] {
            let Verification::NotPassed { why, nearest } = ask(&records, &question()) else { panic!("it passed") };
            assert_eq!(why, expected);
            assert!(nearest.is_some_and(|entry| why.contains(&entry.labels.run)));
        }
    }

    #[test]
    fn an_override_expires_whatever_the_clock_shows() {
        use crate::ledger::body::{Uptime, machine};
        use crate::ledger::{Filter, clock};
        // Shorter than any machine has run that has built this.
        const MINUTE: u64 = 60;
        let failed = record(Status::Fail, "p", "b");
        let uptime = |ago: u64| Uptime::now().map(|now| Uptime { seconds: now.seconds.saturating_sub(ago), ..now });
        let other_boot = || Some(Uptime { boot: "another".to_owned(), seconds: 0 });
        // Each is asked at these seconds after the override; `true` if it still lasts.
        for (uptime, machine, asked) in [
            (None, machine(), vec![(0, true), (MINUTE - 1, true), (MINUTE, false), (0, false), (MINUTE - 1, false)]),
            // This boot alone is longer, if the machine is known to be the same.
            (other_boot(), machine(), vec![(0, machine().is_empty())]),
            (other_boot(), "another".to_owned(), vec![(0, true), (MINUTE, false)]),
            (other_boot(), String::new(), vec![(0, true), (MINUTE, false)]),
            (uptime(0), machine(), vec![(0, true), (MINUTE - 1, true)]),
            // The clock was set back before anybody asked.
            (uptime(MINUTE + 1), machine(), vec![(0, false), (1, false)]),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            let ledger = SqliteLedger::open(folder.path()).expect("a ledger");
            let project = Project::at(std::path::Path::new("/p"));
            ledger.append_one(&project, NewEntry::run(&failed, "").expect("JSON")).expect("appended");
            let labels = crate::ledger::Labels { tree: "sha256:t".to_owned(), ..Default::default() };
            let append = |granted: &Override| {
                let entry = NewEntry::new(EntryKind::Override, labels.clone(), granted).expect("JSON");
                ledger.append_one(&project, entry).expect("appended")
            };
            let at = clock::millis(&append(&Override::default())) / 1_000;
            let granted = Override {
                tree: "sha256:t".to_owned(),
                base: Some("b".to_owned()),
                fingerprints: overrides::faults(&failed).into_iter().collect(),
                expires: at + 1 + MINUTE,
                uptime,
                machine,
                ..Override::default()
            };
            let start = clock::millis(&append(&granted));
            for (after, lasts) in asked {
                let entries = ledger.survey(None, "sha256:t").expect("looked at").entries;
                let now = if after == MINUTE { (at + 1 + MINUTE) * 1_000 } else { start + after * 1_000 };
                let expired = overrides::expired(&ledger, &entries, now).expect("an answer");
                let question = VerificationRequest { accept_overrides: true, expired, ..question() };
                let answer = answer(&entries, &question).expect("an answer");
                assert_eq!(matches!(answer, Verification::Overridden(..)), lasts, "{granted:?} after {after} s");
            }
            let notes = ledger.entries(&Filter { status: Some(clock::EXPIRED.to_owned()), ..Filter::default() });
            assert!(notes.expect("entries").len() <= 2, "one for each override");
        }
    }
}
