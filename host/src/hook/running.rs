//! Keeps track of the checks that have begun and not ended, to name what a run waited for.

use crate::event::{Event, EventKind};
use crate::outcome::NodeKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

/// How many checks are named.
const MOST: usize = 5;

/// The checks that are running, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Their names.
    pub running: BTreeSet<String>,
}

impl Running {
    /// Notes an event of a run, and returns whether it changed something.
    pub(super) fn note(&mut self, event: &Event) -> bool {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        match &event.what {
            EventKind::CheckStarted { path, kind: NodeKind::Check } => self.running.insert(name(path)),
            EventKind::CheckEnded { path, kind: NodeKind::Check, .. } => self.running.remove(&name(path)),
            _ => false,
        }
    }

    /// Returns what is known about a run from the lines that its process printed: the last of them that can be read.
    pub fn of(printed: &[u8]) -> Self {
        let lines = printed.split(|byte| *byte == b'\n').rev();
        lines.filter_map(|line| serde_json::from_slice(line).ok()).next().unwrap_or_default()
    }

    /// Returns the message that the run took too long.
    pub fn late(&self, limit: Duration) -> String {
        format!(
            "the run did not finish within {} s{}; use a faster gate for hooks, or raise the timeout of the host",
            limit.as_secs_f64().ceil(),
            self.what()
        )
    }

    /// Returns what the run waited for, as the end of a sentence.
    pub fn what(&self) -> String {
        let named: Vec<String> =
            self.running.iter().take(MOST).map(|name| format!("`{}`", crate::text::clean_line(name, 60))).collect();
        let rest = self.running.len().saturating_sub(MOST);
        match (named.as_slice(), rest) {
            ([], _) => String::new(),
            (named, 0) => format!(", and waited for {}", named.join(", ")),
            (named, rest) => format!(", and waited for {} and {rest} more", named.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_waited_for_is_known_from_what_it_printed() {
        let printed = b"{\"running\":[\"a\"]}\n{\"running\":[\"a\",\"b\"]}\n{\"runn";
        assert_eq!(Running::of(printed).what(), ", and waited for `a`, `b`");
        assert_eq!(Running::of(b"").what(), "");
        let many = Running { running: (0..7).map(|number| number.to_string()).collect() };
        assert!(
            many.late(Duration::from_millis(1_500))
                .contains("within 2 s, and waited for `0`, `1`, `2`, `3`, `4` and 2 more;")
        );
    }
}
