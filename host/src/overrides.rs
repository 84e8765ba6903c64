//! Overrides: a person lets work through without a pass.
//!
//! An override names who decided, why, and until when. It holds for one tree and the findings that it covers, and is
//! reported as `complete (unverified)` or `complete (forced)`, never as a pass. Without a terminal it needs a signature of a
//! configured key, which an agent cannot make.
//!
//! An override lasts as long as was granted, by the time of the chain: setting the clock back does not prolong it, and one that
//! was refused as expired stays so.

use crate::config::Overrides;
use crate::ledger::body::{Note, OVERRIDE, Override, Uptime, machine};
use crate::ledger::{Entry, EntryKind, Filter, Labels, Ledger, LedgerError, NewEntry, clock};
use crate::outcome::{NodeKind, Outcome};
use crate::record::Record;
use crate::verdict::{Level, Status};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

/// The namespace of signatures, so that a signature for another purpose is not accepted.
pub const NAMESPACE: &str = "gatehost-override";
/// The milliseconds by which clocks are corrected all the time, and by which another process can be ahead.
const SLACK: u64 = 60_000;
/// The least characters of a reason.
const LEAST_REASON: usize = 12;

/// Why a gate may be skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The verification is not available.
    VerifyUnavailable,
    /// The check is wrong, not the work.
    KnownFalseNegative,
    /// The person accepts the risk.
    UserRisk,
}

impl Condition {
    /// Every condition.
    pub const ALL: [Self; 3] = [Self::VerifyUnavailable, Self::KnownFalseNegative, Self::UserRisk];

    /// Returns the word used in every report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::VerifyUnavailable => "verify-unavailable",
            Self::KnownFalseNegative => "known-false-negative",
            Self::UserRisk => "user-risk",
        }
    }
}

/// Why an override is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverrideRefused {
    /// The reason is empty or too short.
    #[error("the reason must have at least {LEAST_REASON} characters")]
    NoReason,
    /// The reason is an excuse that never counts.
    #[error("`{0}` is not an accepted reason")]
    NotAReason(String),
    /// There is nothing to override.
    #[error("run {0} passed, so there is nothing to override")]
    Passed(String),
    /// The checked tree is unknown.
    #[error("run {0} has no tree digest, so an override cannot be bound to its files")]
    NoTree(String),
    /// The override would hold too long.
    #[error("an override lasts at most {}", crate::config::show_duration(*.0))]
    TooLong(Duration),
    /// No signer is configured.
    #[error("`[overrides] signers` of the configuration lists no key")]
    NoSigners,
    /// The signature is not one of a configured key over this request.
    #[error("the signature is not valid for this request: {0}")]
    BadSignature(String),
    /// It would have expired already.
    #[error("the override expired: the clock or a ledger entry shows {}, and the override lasts until {}", moment(*.latest), moment(*.until))]
    Expired {
        /// The latest known time, in seconds since 1970.
        latest: u64,
        /// When the override expires, in seconds since 1970.
        until: u64,
    },
    /// The same was granted before, and has expired.
    #[error("entry {0} granted this override, which has expired; an override is granted once")]
    Repeated(u64),
    /// There is no terminal.
    #[error("an override needs a person at a terminal, or a signature")]
    NoTerminal,
}

fn moment(seconds: u64) -> String {
    let moment = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    moment.map_or_else(|| format!("{seconds} s after 1970"), crate::text::timestamp)
}

/// Excuses that a gate exists to prevent.
const EXCUSES: [&str; 12] = [
    "looks good",
    "looks fine",
    "lgtm",
    "tests are slow",
    "slow test",
    "tests take too long",
    "takes too long",
    "take too long",
    "too slow",
    "should work",
    "probably pass",
    "trust me",
];

/// Checks whether the reason is acceptable.
pub fn check_reason(reason: &str) -> Result<(), OverrideRefused> {
    let plain = reason.trim().to_lowercase();
    if let Some(excuse) = EXCUSES.iter().find(|excuse| plain.contains(*excuse)) {
        return Err(OverrideRefused::NotAReason((*excuse).to_owned()));
    }
    if plain.chars().filter(|c| c.is_alphanumeric()).count() < LEAST_REASON {
        return Err(OverrideRefused::NoReason);
    }
    Ok(())
}

/// Returns an override of the result of a run, before it is confirmed.
pub fn propose(
    kind: &str,
    record: &Record,
    condition: Option<Condition>,
    reason: &str,
    holds: Duration,
    now: u64,
    policy: &Overrides,
) -> Result<Override, OverrideRefused> {
    check_reason(reason)?;
    if record.status == Status::Pass {
        return Err(OverrideRefused::Passed(record.run.clone()));
    }
    if holds > policy.longest {
        return Err(OverrideRefused::TooLong(policy.longest));
    }
    let tree = record.tree.clone().ok_or_else(|| OverrideRefused::NoTree(record.run.clone()))?;
    Ok(Override {
        kind: kind.to_owned(),
        task: record.task.as_ref().map(|task| task.id.clone()).unwrap_or_default(),
        run: record.run.clone(),
        tree,
        base: record.base.clone(),
        fingerprints: faults(record).into_iter().collect(),
        condition: condition.map(|condition| condition.as_str().to_owned()).unwrap_or_default(),
        reason: reason.trim().to_owned(),
        expires: now.saturating_add(holds.as_secs()),
        ..Override::default()
    })
}

/// Returns the fingerprints because of which a run did not pass. A check without findings that did not pass is named itself,
/// so that an override of its error covers no other check.
pub fn faults(record: &Record) -> BTreeSet<String> {
    let mut faults = BTreeSet::new();
    let blocks = |node: &&crate::outcome::Node| {
        let blocks = matches!(node.outcome, Outcome::Fail | Outcome::Abstain | Outcome::Error);
        node.kind == NodeKind::Check && !node.shadow && blocks
    };
    for check in record.gate.walk().filter(blocks) {
        let findings = check.verdict.iter().flat_map(|verdict| &verdict.findings);
        let errors = findings.filter(|finding| finding.level == Level::Error);
        let before = faults.len();
        faults.extend(errors.map(|finding| finding.fingerprint.clone()));
        if faults.len() == before {
            faults.insert(format!("check:{}:{}", check.name, check.outcome.as_str()));
        }
    }
    // Such as a `not` whose member passed: an override of anything else does not cover it.
    if faults.is_empty() && record.status != Status::Pass {
        faults.insert(format!("gate:{}:{}", record.gate.name, record.gate.outcome.as_str()));
    }
    faults
}

/// Returns whether an override lets this record through unless it has expired: the same tree and base, and no finding that it
/// does not cover.
pub fn covers(granted: &Override, record: &Record) -> bool {
    record.tree.as_ref() == Some(&granted.tree)
        && record.base == granted.base
        && faults(record).iter().all(|fault| granted.fingerprints.contains(fault))
}

/// Returns the numbers of the overrides among these entries that have expired. `now` is in milliseconds since 1970. What the
/// ledger does not show yet is noted there, so that an override does not become valid again when the clock is set back.
pub fn expired(ledger: &dyn Ledger, entries: &[Entry], now: u64) -> Result<BTreeSet<u64>, LedgerError> {
    let mut expired = BTreeSet::new();
    for entry in entries.iter().filter(|entry| entry.kind == EntryKind::Override) {
        let granted: Override = entry.read()?;
        let lasts = lasts(entry, &granted);
        let noted = Filter { after: entry.seq, status: Some(clock::EXPIRED.to_owned()), ..Filter::of(&entry.project) };
        let mut noted = ledger.entries(&noted.kinds(&[EntryKind::Note]))?.into_iter();
        if noted.any(|note| note.read::<Note>().is_ok_and(|note| note.details.get(OVERRIDE) == Some(&entry.seq.into())))
        {
            expired.insert(entry.seq);
            continue;
        }
        let newest = ledger.entries(&Filter { last: Some(1), ..Filter::default() })?;
        let newest = newest.last().map_or(0, clock::millis);
        if newest.saturating_sub(clock::millis(entry)) >= lasts {
            expired.insert(entry.seq);
            continue;
        }
        let since = ledger.entries(&Filter { after: entry.seq - 1, ..Filter::default() })?;
        let (status, text) = if longest_time(&since, &granted, now) >= lasts {
            expired.insert(entry.seq);
            (clock::EXPIRED, format!("the override of entry {} has expired", entry.seq))
        } else if now.saturating_add(SLACK) < newest {
            // From this note on, the time counts that the clock shows.
            (clock::SET_BACK, "the clock shows an earlier time than the newest entry".to_owned())
        } else {
            continue;
        };
        let labels = Labels { status: status.to_owned(), run: entry.labels.run.clone(), ..Labels::default() };
        let details = [(OVERRIDE.to_owned(), entry.seq.into())].into();
        let note = NewEntry::new(EntryKind::Note, labels, &Note { text, details, ..Note::default() })?;
        // A ledger that cannot be written still answers.
        let _ = ledger.append_one(&entry.project, note);
    }
    Ok(expired)
}

/// Returns the longest time that can have passed since an override was granted, in milliseconds. `since` begins with its entry.
fn longest_time(since: &[Entry], granted: &Override, now: u64) -> u64 {
    let shown = since.first().map_or(0, clock::millis);
    let by_uptime = |then: &Uptime, uptime: &Uptime| match then.until(uptime) {
        Some(seconds) => (true, seconds.saturating_mul(1_000)),
        // It was granted before this machine was started.
        None if !granted.machine.is_empty() && granted.machine == machine() => {
            (false, uptime.seconds.saturating_mul(1_000))
        }
        // How long another machine has run says nothing, for example if both have the same home.
        None => (false, 0),
    };
    let measured = granted.uptime.as_ref().zip(Uptime::now()).map(|(then, uptime)| by_uptime(then, &uptime));
    let (is_same_boot, run) = measured.unwrap_or_default();
    // A clock that shows what the machine has run was right when the override was granted, and is right now. Otherwise it was set, and
    // every step ahead counts.
    let by_clock = match is_same_boot && now.abs_diff(shown.saturating_add(run)) <= SLACK {
        true => since.iter().map(clock::millis).fold(now, u64::max).saturating_sub(shown),
        false => clock::longest_since_first(since, now),
    };
    by_clock.max(run)
}

/// Returns how long an override lasts, in milliseconds.
pub fn lasts(entry: &Entry, granted: &Override) -> u64 {
    let until = || granted.expires.saturating_mul(1_000).saturating_sub(clock::millis(entry));
    granted.lasts.map_or_else(until, |seconds| seconds.saturating_mul(1_000))
}

/// Checks a signature with `ssh-keygen -Y verify` and the configured keys, and returns the name of the signer. `ssh_keygen`
/// is the path of that program: whoever chooses it can forge a signature.
pub fn check_signature(
    granted: &Override,
    signature: &Path,
    policy: &Overrides,
    ssh_keygen: Option<&Path>,
) -> Result<String, OverrideRefused> {
    if policy.signers.is_empty() {
        return Err(OverrideRefused::NoSigners);
    }
    let bad = |why: String| OverrideRefused::BadSignature(crate::text::clean_line(&why, 300));
    let missing =
        || bad("no `ssh-keygen` in PATH outside the workspace, so the signature cannot be checked".to_owned());
    let ssh_keygen = ssh_keygen.ok_or_else(missing)?;
    let allowed = || -> std::io::Result<tempfile::NamedTempFile> {
        let mut file = tempfile::NamedTempFile::new()?;
        for signer in &policy.signers {
            writeln!(file, "{signer}")?;
        }
        file.flush()?;
        Ok(file)
    };
    let allowed = allowed().map_err(|error| bad(error.to_string()))?;
    for signer in &policy.signers {
        let Some(name) = signer.split_ascii_whitespace().next() else { continue };
        let verified = verify(ssh_keygen, granted, signature, allowed.path(), name);
        let verified = verified.map_err(|error| bad(error.to_string()))?;
        if verified {
            return Ok(name.to_owned());
        }
    }
    Err(bad("no listed key made this signature".to_owned()))
}

fn verify(
    ssh_keygen: &Path,
    granted: &Override,
    signature: &Path,
    allowed: &Path,
    name: &str,
) -> std::io::Result<bool> {
    let mut child = Command::new(ssh_keygen)
        .args(["-Y", "verify", "-n", NAMESPACE, "-I", name, "-f"])
        .arg(allowed)
        .arg("-s")
        .arg(signature)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that exits before it reads has refused.
        let _ = stdin.write_all(granted.request().as_bytes());
    }
    Ok(child.wait()?.success())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Node;
    use crate::verdict::{Finding, Verdict};

    fn record(fingerprints: &[&str]) -> Record {
        let mut check = Node::new("c", NodeKind::Check, Outcome::Fail);
        let finding = |fingerprint: &&str| {
            let mut finding = Finding::new("x", Level::Error, "wrong");
            finding.fingerprint = (*fingerprint).to_owned();
            finding
        };
        check.verdict =
            Some(Verdict { findings: fingerprints.iter().map(finding).collect(), ..Verdict::of(Status::Fail) });
        let mut gate = Node::new("g", NodeKind::All, Outcome::Fail);
        gate.children = vec![check];
        let mut record = Record::of(gate);
        record.run = "r1".to_owned();
        record.tree = Some("sha256:1".to_owned());
        record
    }

    fn granted(record: &Record) -> Override {
        let policy = Overrides::default();
        let hour = Duration::from_secs(3600);
        propose("skip", record, Some(Condition::UserRisk), "the service is down today", hour, 1_000, &policy)
            .expect("an override")
    }

    #[test]
    fn excuses_are_refused() {
        for (reason, fine) in [
            ("the external API is rate limited until tomorrow", true),
            ("test bug: the fixture expects last year's date", true),
            ("", false),
            ("because", false),
            ("Looks good to me, really it does", false),
            ("the tests take too long on this machine", false),
            ("LGTM and we are in a hurry now", false),
            ("----------------------------", false),
        ] {
            assert_eq!(check_reason(reason).is_ok(), fine, "{reason}");
        }
    }

    #[test]
    fn an_override_holds_for_one_tree_and_its_findings() {
        let record = record(&["a", "b"]);
        let granted = granted(&record);
        assert!(covers(&granted, &record));
        assert!(covers(&granted, &self::record(&["b"])), "one finding less is covered");
        assert!(!covers(&granted, &self::record(&["a", "b", "new"])));
        let mut other = record.clone();
        other.tree = Some("sha256:2".to_owned());
        assert!(!covers(&granted, &other));
        other.tree = None;
        assert!(!covers(&granted, &other));
        // A gate that fails although every check passed is not covered by an override of findings.
        let mut inverted = self::record(&[]);
        inverted.gate.children[0].outcome = Outcome::Pass;
        assert!(!covers(&granted, &inverted));
        assert!(covers(&self::granted(&inverted), &inverted));
        let mut moved = record;
        moved.base = Some("c0ffee".to_owned());
        assert!(!covers(&granted, &moved));
    }

    #[test]
    fn what_passed_or_is_unknown_or_lasts_too_long_cannot_be_overridden() {
        let policy = Overrides::default();
        let hour = Duration::from_secs(3600);
        let propose = |record: &Record, holds| {
            propose("skip", record, None, "the external service is down", holds, 0, &policy).map(|_| ())
        };
        let mut passed = record(&[]);
        passed.status = Status::Pass;
        assert_eq!(propose(&passed, hour), Err(OverrideRefused::Passed("r1".to_owned())));
        let mut unknown = record(&[]);
        unknown.tree = None;
        assert_eq!(propose(&unknown, hour), Err(OverrideRefused::NoTree("r1".to_owned())));
        assert_eq!(propose(&record(&[]), hour * 24 * 365), Err(OverrideRefused::TooLong(policy.longest)));
    }

    #[test]
    fn what_is_signed_cannot_be_made_to_say_something_else() {
        let mut granted = granted(&record(&["a"]));
        granted.reason = "harmless\nfinding: b".to_owned();
        assert!(!granted.request().contains("\nfinding: b"), "{}", granted.request());
        assert!(granted.request().contains("\nfinding: a\n"));
    }
}
