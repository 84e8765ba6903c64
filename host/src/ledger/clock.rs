//! The time of the chain: how much time has passed between entries, whatever happens to the clock of the machine.
//!
//! Every entry has the time that the clock showed when it was appended. A clock can be wrong, so two durations follow from the
//! entries. An override expires by the longest time that can have passed ([`longest_since_first`]): time never runs back, and every step
//! ahead counts. Entries are dropped by the time that the chain has seen ([`ages`]): a jump ahead counts for [`max_step`], until
//! a person confirms the clock.

use super::{Entry, EntryKind};
use std::time::Duration;

/// The status of the note by which a person confirms that the clock is right.
pub const CONFIRMED: &str = "clock-confirmed";
/// The status of the note that an override has expired.
pub const EXPIRED: &str = "override-expired";
/// The status of the note that the clock shows an earlier time than the newest entry.
pub const SET_BACK: &str = "clock-set-back";

/// The most that the time between two entries counts for. It is less than a day, so that a repository that is used every day ages.
pub const MAX_STEP: Duration = Duration::from_hours(20);
/// How many times the time between two entries must count before entries are old enough, so that a few wrong times never make
/// them old.
const LEAST_STEPS: u32 = 30;

/// Returns the most that the time between two entries counts for, where entries of this age are dropped.
pub fn max_step(age: Duration) -> Duration {
    MAX_STEP.min(age / LEAST_STEPS)
}

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
    times.clone().zip(times.skip(1)).map(|(before, after)| after.saturating_sub(before)).sum()
}

/// Returns the latest time that the chain knows, in milliseconds since 1970. What it showed before a person confirmed the clock
/// does not count.
pub fn latest(entries: &[Entry]) -> u64 {
    entries.iter().fold(0, |latest, entry| if is_confirmed(entry) { millis(entry) } else { latest.max(millis(entry)) })
}

/// Returns for each entry of the chain how much time the chain has seen since, in milliseconds. With `now`, the time since the
/// newest entry counts too. Between two entries, at most `max_step` counts.
pub fn ages(entries: &[Entry], now: Option<u64>, max_step: Duration) -> Vec<u64> {
    let most = u64::try_from(max_step.as_millis()).unwrap_or(u64::MAX);
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
            step(&mut shown, &mut seen, at, most);
        }
    }
    if let Some(now) = now {
        step(&mut shown, &mut seen, now, most);
    }
    let end = seen.last().copied().unwrap_or_default();
    seen.truncate(entries.len());
    seen.into_iter().map(|seen| end.saturating_sub(seen)).collect()
}

fn step(shown: &mut Vec<u64>, seen: &mut Vec<u64>, at: u64, most: u64) {
    let (Some(latest), Some(until)) = (shown.last().copied(), seen.last().copied()) else {
        shown.push(at);
        return seen.push(at);
    };
    shown.push(latest.max(at));
    seen.push(until + at.saturating_sub(latest).min(most));
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
            assert_eq!(ages(&entries(&times), now, MAX_STEP)[0], oldest, "{what}");
        }
        assert_eq!(ages(&[], Some(1), MAX_STEP), Vec::<u64>::new());
        let ahead = entries(&[(0, false), (60 * D, false), (H, true), (2 * H, false)]);
        assert_eq!(ages(&ahead, None, MAX_STEP), [2 * HOUR, HOUR, HOUR, 0]);
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
