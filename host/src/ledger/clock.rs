//! The time of the chain: how much time has passed between entries, whatever happens to the clock of the machine.
//!
//! Every entry has the time that the clock showed when it was appended. A clock can be wrong, so three durations follow from the
//! entries. An override expires by the longest time that can have passed ([`longest_since_first`]): time never runs back, and every step
//! ahead counts. A person drops entries by the time that the chain has seen ([`ages`]): a jump ahead counts for [`MAX_STEP`], until
//! a person confirms the clock. Anybody else drops them by the time that the machine has run ([`ages_by_uptime`]): no clock counts.

use super::body::{StepStart, Uptime};
use super::{Entry, EntryKind, LedgerError};
use std::collections::BTreeMap;
use std::time::Duration;

/// The status of the note by which a person confirms that the clock is right.
pub const CONFIRMED: &str = "clock-confirmed";
/// The status of the note that an override has expired.
pub const EXPIRED: &str = "override-expired";
/// The status of the note that the clock shows an earlier time than the newest entry.
pub const SET_BACK: &str = "clock-set-back";

/// The most that the time between two entries counts for. It is less than a day, so that a repository that is used every day ages.
pub const MAX_STEP: Duration = Duration::from_hours(20);
/// Returns when an entry was appended, by the clock of the machine, in milliseconds since 1970.
pub fn millis(entry: &Entry) -> u64 {
    parsed(&entry.at).unwrap_or(0)
}

/// Parses what [`crate::text::timestamp`] writes.
fn parsed(at: &str) -> Option<u64> {
    // A clock far ahead shows years of more than four digits.
    let (year, at) = at.split_once('-')?;
    let number = |from: usize, to: usize| at.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (u64::from(year.parse::<u32>().ok()?), number(0, 2)?, number(3, 5)?);
    // Years start in March, so that a leap day is the last day of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    let seconds = days.checked_sub(719_469)? * 86_400 + number(6, 8)? * 3_600 + number(9, 11)? * 60 + number(12, 14)?;
    Some(seconds.saturating_mul(1_000).saturating_add(number(15, 18)?))
}

/// Returns the longest time that can have passed from the first of these entries, which follow each other in the chain, until
/// now: the sum of all steps ahead. All times are in milliseconds.
pub fn longest_since_first(entries: &[Entry], now: u64) -> u64 {
    let times = entries.iter().map(millis).chain([now]);
    let steps = times.clone().zip(times.skip(1)).map(|(before, after)| after.saturating_sub(before));
    steps.fold(0, u64::saturating_add)
}

/// Returns the latest time that the chain knows, in milliseconds since 1970. What it showed before a person confirmed the clock
/// does not count.
pub fn latest(entries: &[Entry]) -> u64 {
    entries.iter().fold(0, |latest, entry| if is_confirmed(entry) { millis(entry) } else { latest.max(millis(entry)) })
}

/// Returns for each entry of the chain how much time the chain has seen since, in milliseconds. With `now`, the time since the
/// newest entry counts too. Between two entries, at most [`MAX_STEP`] counts.
pub fn ages(entries: &[Entry], now: Option<u64>) -> Vec<u64> {
    // For each entry, the latest time that the clock had shown, and what of it was seen.
    let (mut shown, mut seen): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
    for entry in entries {
        let at = millis(entry);
        if is_confirmed(entry) {
            // The clock is right now: what it showed before counts in full, except what lies ahead.
            shown.iter_mut().for_each(|shown| *shown = at.min(*shown));
            seen.clone_from(&shown);
            shown.push(at);
            seen.push(at);
        } else {
            step(&mut shown, &mut seen, at);
        }
    }
    if let Some(now) = now {
        step(&mut shown, &mut seen, now);
    }
    let end = seen.last().copied().unwrap_or_default();
    seen.truncate(entries.len());
    seen.into_iter().map(|seen| end.saturating_sub(seen)).collect()
}

fn step(shown: &mut Vec<u64>, seen: &mut Vec<u64>, at: u64) {
    const MOST: u64 = MAX_STEP.as_secs() * 1_000;
    let (Some(latest), Some(until)) = (shown.last().copied(), seen.last().copied()) else {
        shown.push(at);
        return seen.push(at);
    };
    shown.push(latest.max(at));
    seen.push(until.saturating_add(at.saturating_sub(latest).min(MOST)));
}

/// Returns for each entry of the chain how long the machine has run since, in milliseconds: at least, and whatever the clock
/// showed. Only the time between two starts of steps in the same boot counts, and from the last of them until now. If several
/// machines share the ledger and run at the same time, that time counts once.
pub fn ages_by_uptime(entries: &[Entry], now: Option<&Uptime>) -> Result<Vec<u64>, LedgerError> {
    let (mut boots, mut passed) = (BTreeMap::new(), 0u64);
    let mut see = |uptime: Uptime| {
        let latest = boots.entry(uptime.boot).or_insert((uptime.seconds, passed));
        if uptime.seconds >= latest.0 {
            passed = passed.max(latest.1.saturating_add(uptime.seconds - latest.0));
            *latest = (uptime.seconds, passed);
        }
        passed
    };
    // An entry between two starts is not older than the later one.
    let (mut at, mut newest) = (Vec::new(), 0);
    for entry in entries {
        at.push(None);
        if entry.kind == EntryKind::StepStarted
            && let Some(uptime) = entry.read::<StepStart>()?.uptime
        {
            newest = see(uptime);
            at.iter_mut().rev().take_while(|at| at.is_none()).for_each(|at| *at = Some(newest));
        }
    }
    let now = now.map_or(newest, |now| see(now.clone()));
    Ok(at.into_iter().map(|at| (now - at.unwrap_or(now)).saturating_mul(1_000)).collect())
}

fn is_confirmed(entry: &Entry) -> bool {
    entry.kind == EntryKind::Note && entry.labels.status == CONFIRMED
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Hash, Labels, Project};
    use crate::text::timestamp;
    use std::path::Path;
    use std::time::UNIX_EPOCH;

    const HOUR: u64 = 3_600_000;
    const DAY: u64 = 24 * HOUR;
    const START: u64 = 20_000 * DAY;

    /// An entry of so many milliseconds after the start; a confirmation if `confirmed`.
    fn entry(after: i64, confirmed: bool) -> Entry {
        let at = timestamp(UNIX_EPOCH + Duration::from_millis(START.saturating_add_signed(after)));
        let status = if confirmed { CONFIRMED } else { "" };
        Entry {
            seq: 1,
            at,
            project: Project::at(Path::new("/p")),
            kind: EntryKind::Note,
            labels: Labels { status: status.to_owned(), ..Labels::default() },
            prev: Hash::ZERO,
            hash: Hash::ZERO,
            body: Vec::new(),
        }
    }

    fn entries(times: &[(i64, bool)]) -> Vec<Entry> {
        times.iter().map(|(after, confirmed)| entry(*after, *confirmed)).collect()
    }

    #[test]
    fn timestamps_are_parsed_as_they_are_written() {
        for millis in [0, 1, 951_782_399_999, 951_782_400_000, 1_709_164_800_123, 1_790_000_000_000, 4_107_542_400_000]
            .into_iter()
            .chain([253_402_300_799_999, 253_402_300_800_000, 6_310_000_000_000_000])
        {
            assert_eq!(parsed(&timestamp(UNIX_EPOCH + Duration::from_millis(millis))), Some(millis));
        }
        for bad in ["", "2026", "0000-01-01T00:00:00.000Z", "2026-01-01T00:00:00", "x026-01-01T00:00:00.000Z", "ä"] {
            assert_eq!(parsed(bad), None, "{bad}");
        }
    }

    #[test]
    fn no_jump_makes_entries_old_until_a_person_confirms_the_clock() {
        const D: i64 = DAY as i64;
        const H: i64 = HOUR as i64;
        let plain = |times: &[i64]| times.iter().map(|time| (*time, false)).collect::<Vec<_>>();
        for (what, times, now, oldest) in [
            ("an hour", plain(&[0, H]), None, HOUR),
            ("what comes after the newest entry", plain(&[0, H]), Some(3 * H), 3 * HOUR),
            ("ahead, and nothing recorded", plain(&[0, H]), None, HOUR),
            ("ahead, with a person", plain(&[0]), Some(40 * D), 20 * HOUR),
            ("ahead and recorded", plain(&[0, 40 * D]), None, 20 * HOUR),
            ("ahead and back", plain(&[0, 40 * D, H]), None, 20 * HOUR),
            ("ahead and back again and again", plain(&[0, 40 * D, H, 40 * D, H, 40 * D]), None, 20 * HOUR),
            ("back", plain(&[0, -40 * D, H]), None, HOUR),
            ("back and on", plain(&[0, -40 * D, -39 * D, H]), None, HOUR),
            ("every day", plain(&(0..=40).map(|day| day * D).collect::<Vec<_>>()), None, 40 * 20 * HOUR),
            ("confirmed: the time has passed", vec![(0, false), (60 * D, true)], None, 60 * DAY),
            ("confirmed: it was ahead", vec![(0, false), (60 * D, false), (H, true)], None, HOUR),
            ("confirmed, and later ahead", vec![(0, false), (2 * D, true), (60 * D, false)], None, 2 * DAY + 20 * HOUR),
        ] {
            let now = now.map(|now: i64| START.saturating_add_signed(now));
            assert_eq!(ages(&entries(&times), now)[0], oldest, "{what}");
        }
        assert_eq!(ages(&[], Some(1)), Vec::<u64>::new());
        let ahead = entries(&[(0, false), (60 * D, false), (H, true), (2 * H, false)]);
        assert_eq!(ages(&ahead, None), [2 * HOUR, HOUR, HOUR, 0]);
    }

    #[test]
    fn without_a_person_only_the_time_that_the_machine_ran_makes_entries_old() {
        let uptime = |(boot, seconds): (&str, u64)| Uptime { boot: boot.to_owned(), seconds };
        let started = |at| {
            let started = StepStart { uptime: Some(uptime(at)), ..StepStart::default() };
            let body = serde_json::to_vec(&started).expect("JSON");
            Entry { kind: EntryKind::StepStarted, body, ..entry(0, false) }
        };
        for (what, chain, now, expected) in [
            ("never measured", vec![None, None], Some(("a", 100)), vec![0, 0]),
            ("until the last start", vec![Some(("a", 10)), Some(("a", 40))], None, vec![30, 0]),
            ("until now", vec![Some(("a", 10)), Some(("a", 40))], Some(("a", 45)), vec![35, 5]),
            ("between starts", vec![Some(("a", 10)), None, Some(("a", 40))], Some(("a", 45)), vec![35, 5, 5]),
            ("after the last start", vec![Some(("a", 10)), None], Some(("a", 45)), vec![35, 0]),
            ("another boot", vec![Some(("a", 10)), Some(("b", 40)), Some(("b", 60))], Some(("b", 61)), vec![21, 21, 1]),
            ("a boot without a start", vec![Some(("a", 10)), None], Some(("b", 90)), vec![0, 0]),
            ("backwards", vec![Some(("a", 90)), Some(("a", 10)), Some(("a", 95))], None, vec![5, 5, 0]),
            (
                "two machines at the same time",
                vec![Some(("a", 10)), Some(("b", 5)), Some(("a", 40)), Some(("b", 36))],
                Some(("a", 42)),
                vec![32, 32, 2, 1],
            ),
            (
                "absurd",
                vec![Some(("a", 0)), Some(("a", u64::MAX)), Some(("b", 0))],
                Some(("b", 9)),
                vec![u64::MAX, 0, 0],
            ),
        ] {
            let chain: Vec<Entry> = chain.into_iter().map(|at| at.map_or_else(|| entry(0, false), started)).collect();
            let ages = ages_by_uptime(&chain, now.map(uptime).as_ref()).expect("ages");
            let expected: Vec<u64> = expected.into_iter().map(|seconds: u64| seconds.saturating_mul(1_000)).collect();
            assert_eq!(ages, expected, "{what}");
        }
    }

    #[test]
    fn absurd_clocks_are_only_very_late() {
        let mut chain = entries(&[(0, false), (0, false), (0, false)]);
        chain[1].at = "4294967295-12-31T23:59:59.999Z".to_owned();
        let now = u64::MAX - 1;
        assert_eq!(longest_since_first(&chain, now), u64::MAX);
        assert_eq!(ages(&chain, Some(now)).len(), 3);
    }

    #[test]
    fn time_never_runs_back_for_what_expires() {
        const H: i64 = HOUR as i64;
        for (times, now, passed) in [
            (vec![0], 0, 0),
            (vec![0], H, HOUR),
            (vec![0], -H, 0),
            (vec![0, 9 * H], H, 9 * HOUR),
            (vec![0, 9 * H, H], 2 * H, 10 * HOUR),
            (vec![0, -H], 0, HOUR),
        ] {
            let entries: Vec<Entry> = times.iter().map(|after| entry(*after, false)).collect();
            assert_eq!(longest_since_first(&entries, START.saturating_add_signed(now)), passed, "{times:?} {now}");
        }
    }

    #[test]
    fn a_confirmed_clock_replaces_the_latest_time() {
        assert_eq!(latest(&[]), 0);
        assert_eq!(latest(&entries(&[(5, false), (1, false)])), START + 5);
        assert_eq!(latest(&entries(&[(5, false), (1, true)])), START + 1);
        assert_eq!(latest(&entries(&[(5, false), (1, true), (2, false)])), START + 2);
    }
}
