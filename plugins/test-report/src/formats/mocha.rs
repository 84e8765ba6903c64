//! `mocha` with its usual reporter: `2 passing (5ms)`, `1 pending`, `1 failing`, and below it what failed.

use crate::printed::Printed;
use crate::report::{FailedTest, Report};
use gatehost_sdk::{Place, command};

pub(super) fn read(text: &Printed<'_>) -> Option<Report> {
    let numbered = |word: &str| -> Vec<usize> {
        let number = |line: &str| -> Option<usize> {
            let (number, rest) = line.trim().split_once(' ')?;
            rest.strip_prefix(word)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
                .then(|| number.parse().ok())
                .flatten()
        };
        text.lines().filter_map(number).collect()
    };
    let (passing, failing) = (numbered("passing"), numbered("failing"));
    if passing.is_empty() && failing.is_empty() {
        return None;
    }
    let mut report = Report {
        passed: passing.iter().sum(),
        skipped: numbered("pending").iter().sum(),
        failed: if failing.is_empty() { Vec::new() } else { failed(text) },
        problem: None,
    };
    report.expect_failures(failing.iter().sum());
    Some(report)
}

/// Below the sums: `  1) suite`, further titles down to one that ends with a colon, what it says, where.
fn failed(text: &Printed<'_>) -> Vec<FailedTest> {
    let mut failed: Vec<FailedTest> = Vec::new();
    let mut title: Option<Vec<&str>> = None;
    for line in text.lines().skip_while(|line| !line.trim_end().ends_with(" failing")) {
        let number = line.trim_start().split_once(") ").filter(|(number, _)| number.parse::<usize>().is_ok());
        let piece = match (number, &title) {
            (Some((_, piece)), _) if line.starts_with("  ") && !line.starts_with("   ") => {
                title = Some(Vec::new());
                piece
            }
            (_, Some(_)) => line.trim(),
            (_, None) => {
                let said = line.trim();
                if let Some(last) = failed.last_mut().filter(|_| !said.is_empty()) {
                    match place(said) {
                        Some(place) if last.place.is_none() => last.place = Some(place),
                        _ if last.message.is_none() => *last = last.clone().saying(said),
                        _ => {}
                    }
                }
                continue;
            }
        };
        if let Some(pieces) = &mut title {
            pieces.push(piece.trim_end_matches(':'));
            if piece.ends_with(':') {
                failed.push(FailedTest::new(pieces.join(" ")));
                title = None;
            }
        }
    }
    failed
}

/// `at Context.<anonymous> (m.spec.js:2:68)`
fn place(line: &str) -> Option<Place> {
    let inside = line.strip_prefix("at ")?.rsplit_once('(')?.1.strip_suffix(')')?;
    let mut parts = inside.rsplitn(3, ':');
    let (column, row) = (parts.next()?.parse().ok(), parts.next()?.parse().ok()?);
    command::place(parts.next()?, row, column).filter(|place| !place.path.starts_with("node_modules/"))
}
