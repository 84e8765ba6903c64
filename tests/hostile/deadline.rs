//! How long a guest runs beyond its time limit.
//!
//! The promise is a quarter of a second. It can be measured only on an idle machine, so that test is ignored by default. The
//! test that always runs is patient, and finds a guest that is not stopped at all.

use super::*;
use std::time::Instant;

const PROMISED: Duration = Duration::from_millis(250);
const PATIENT: Duration = Duration::from_secs(5);

/// For each guest that must run out of time: its name, and the longest that it went on of so many calls.
fn overtime(time: Duration, calls: usize) -> Vec<(&'static str, Duration)> {
    let host = TestHost::new();
    let endless = CATALOGUE.iter().filter(|(.., expected)| *expected == Ended(LimitTime));
    endless
        .map(|(_, guest, _)| {
            let Wat(name) = guest else { panic!("only files are endless") };
            let component = guest.component();
            // The first call compiles it.
            let calls = (0..=calls).map(|_| {
                let start = Instant::now();
                host.ask(&component, guest.question(time)).expect("loaded");
                start.elapsed().saturating_sub(time)
            });
            (*name, calls.skip(1).max().unwrap_or_default())
        })
        .collect()
}

#[test]
fn no_guest_goes_on_and_on_after_its_time() {
    let overtime = overtime(Duration::from_millis(50), 1);
    assert!(overtime.len() >= 8, "{overtime:?}");
    assert!(overtime.iter().all(|(_, more)| *more < PATIENT), "{overtime:?}");
}

#[test]
#[ignore = "measures time: to be run when nothing else does"]
fn no_guest_goes_on_for_longer_than_is_promised() {
    let overtime = overtime(Duration::from_millis(200), 5);
    assert!(overtime.iter().all(|(_, more)| *more <= PROMISED), "{overtime:?}");
}
