//! Limits the size of the findings of a check, and of all checks of a record.
//!
//! The first findings are kept, in the order of the files and of the gate, whatever the order in which they arrive. The status of a
//! verdict is decided before any finding is dropped.

use crate::outcome::Node;
use crate::verdict::{Finding, Fix, Verdict};
use std::collections::BTreeMap;

/// The bytes of the findings of a check without their fixes, and of the fixes, as JSON has them.
const MAX_CHECK: usize = 8 << 20;
/// The same for all checks of a record.
const MAX_RECORD: usize = 32 << 20;
/// About what the names of the fields take.
const FINDING: usize = 200;
const EDIT: usize = 100;

/// What may still be kept.
#[derive(Debug)]
pub(crate) struct FindingBudget {
    count: usize,
    texts: usize,
    fixes: usize,
}

impl FindingBudget {
    /// Returns the budget of a check that keeps at most `count` findings.
    pub(crate) fn of_check(count: usize) -> Self {
        Self { count, texts: MAX_CHECK, fixes: MAX_CHECK }
    }

    /// Drops what does not fit, and counts it: first fixes, then findings. Once something does not fit, nothing after it does.
    pub(crate) fn apply(&mut self, verdict: &mut Verdict) {
        let found = verdict.findings.len();
        let fits = verdict
            .findings
            .iter()
            .take_while(|finding| take(&mut self.count, 1) && take(&mut self.texts, text_size(finding)));
        let kept = fits.count();
        verdict.findings.truncate(kept);
        if kept < found {
            self.count = 0;
            verdict.findings_omitted += (found - kept) as u64;
        }
        for finding in &mut verdict.findings {
            if finding.fix.as_ref().is_some_and(|fix| !take(&mut self.fixes, fix_size(fix))) {
                finding.fix = None;
                verdict.fixes_omitted += 1;
            }
        }
    }
}

/// Drops the findings of a gate that do not fit into its record, in the order of its members.
pub(crate) fn limit(gate: &mut Node) {
    fn apply(node: &mut Node, left: &mut FindingBudget) {
        if let Some(verdict) = &mut node.verdict {
            left.apply(verdict);
        }
        node.children.iter_mut().for_each(|child| apply(child, left));
    }
    apply(gate, &mut FindingBudget { count: usize::MAX, texts: MAX_RECORD, fixes: MAX_RECORD });
}

fn take(left: &mut usize, size: usize) -> bool {
    let rest = left.checked_sub(size);
    *left = rest.unwrap_or(0);
    rest.is_some()
}

/// The findings of the files of a check, until all files are checked. Whatever [`FindingBudget::apply`] drops in any case is dropped
/// at once: otherwise a verifier with much to say about each file would fill the memory.
#[derive(Debug, Default)]
pub(crate) struct HeldFindings {
    files: BTreeMap<usize, HeldFile>,
    count: usize,
    texts: usize,
    fixes: usize,
    /// How many findings were dropped.
    omitted: u64,
}

#[derive(Debug)]
struct HeldFile {
    findings: Vec<Finding>,
    texts: usize,
    fixes: usize,
}

impl HeldFindings {
    /// Adds the findings of the file with this number, of which a check keeps at most `most`.
    pub(crate) fn add(&mut self, number: usize, findings: Vec<Finding>, most: usize) {
        let texts = findings.iter().map(text_size).sum();
        let fixes = findings.iter().filter_map(|finding| finding.fix.as_ref()).map(fix_size).sum();
        (self.count, self.texts, self.fixes) = (self.count + findings.len(), self.texts + texts, self.fixes + fixes);
        self.files.insert(number, HeldFile { findings, texts, fixes });
        while let Some(last) = self.files.last_entry() {
            let HeldFile { findings, texts, fixes } = last.get();
            let (found, texts, fixes) = (findings.len(), self.texts - texts, self.fixes - fixes);
            if texts < MAX_CHECK && self.count - found < most {
                break;
            }
            last.remove();
            self.omitted += found as u64;
            (self.count, self.texts, self.fixes) = (self.count - found, texts, fixes);
        }
        let mut before = self.fixes;
        for file in self.files.values_mut().rev() {
            before -= file.fixes;
            if before < MAX_CHECK {
                break;
            }
            // An empty fix stays, to be counted.
            let fixes = file.findings.iter_mut().filter_map(|finding| finding.fix.as_mut());
            fixes.for_each(|fix| *fix = Fix { description: String::new(), edits: Vec::new() });
            self.fixes -= std::mem::take(&mut file.fixes);
        }
    }

    /// Returns the findings of a file.
    pub(crate) fn take(&mut self, number: usize) -> Vec<Finding> {
        self.files.remove(&number).map(|file| file.findings).unwrap_or_default()
    }

    /// Returns how many findings were dropped.
    pub(crate) fn omitted(&self) -> u64 {
        self.omitted
    }
}

/// Returns about how many bytes a finding takes as JSON, without its fix.
fn text_size(finding: &Finding) -> usize {
    let Finding { code, message, place, hint, key, url, .. } = finding;
    let path = place.as_ref().map(|place| &place.path);
    let texts = [Some(code), Some(message), path, hint.as_ref(), key.as_ref(), url.as_ref()];
    FINDING + texts.into_iter().flatten().map(|text| json_size(text)).sum::<usize>()
}

fn fix_size(fix: &Fix) -> usize {
    let edits = fix.edits.iter().map(|edit| EDIT + json_size(&edit.replacement));
    EDIT + json_size(&fix.description) + edits.sum::<usize>()
}

fn json_size(text: &str) -> usize {
    let size = |byte| match byte {
        b'\n' | b'\t' | b'\r' | b'"' | b'\\' => 2,
        0..=0x1f => 6,
        _ => 1,
    };
    text.bytes().map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{NodeKind, Outcome};
    use crate::verdict::{Edit, Level, Status};

    fn finding(number: usize, text: usize, fix: usize) -> Finding {
        let edit = |replacement| Edit { start_line: 1, start_column: 1, end_line: 1, end_column: 1, replacement };
        let fix = (fix > 0).then(|| Fix { description: "f".to_owned(), edits: vec![edit("\0".repeat(fix / 6))] });
        Finding { fix, ..Finding::new(number.to_string(), Level::Error, "m".repeat(text)) }
    }

    fn all(findings: Vec<Finding>) -> Verdict {
        Verdict { findings, ..Verdict::of(Status::Fail) }
    }

    #[test]
    fn the_first_findings_that_fit_are_kept_and_the_others_are_counted() {
        for (count, text, fix, kept, fixes) in [
            (1_000, 10, 0, 1_000, 0),
            (10, 10, 60, 10, 10),
            // Each fix is as large as it is in JSON, and fixes go before findings do.
            (1_000, 10, 64 << 10, 1_000, 127),
            (1_000, 64 << 10, 60, 127, 127),
            (1_000, 9 << 20, 60, 0, 0),
        ] {
            let mut verdict = all((0..1_000).map(|number| finding(number, text, fix)).collect());
            FindingBudget::of_check(count).apply(&mut verdict);
            let left = verdict.findings.iter().filter(|finding| finding.fix.is_some()).count();
            assert_eq!((verdict.findings.len(), left), (kept, fixes), "{text} {fix}");
            let lost = if fix > 0 { kept - fixes } else { 0 };
            assert_eq!((verdict.findings_omitted, verdict.fixes_omitted), ((1_000 - kept) as u64, lost as u64));
            assert_eq!(verdict.status, Status::Fail);
        }
    }

    #[test]
    fn a_record_holds_the_first_findings_of_all_checks() {
        let mut gate = Node::new("g", NodeKind::All, Outcome::Fail);
        for check in 0..6 {
            let mut node = Node::new(check.to_string(), NodeKind::Check, Outcome::Fail);
            node.verdict = Some(all((0..100).map(|number| finding(number, 64 << 10, 0)).collect()));
            gate.children.push(node);
        }
        limit(&mut gate);
        let kept: Vec<usize> =
            gate.walk().flat_map(|node| &node.verdict).map(|verdict| verdict.findings.len()).collect();
        assert_eq!(kept, [100, 100, 100, 100, 100, 10]);
    }

    #[test]
    fn what_is_kept_does_not_depend_on_the_order_in_which_files_are_checked() {
        for (text, fix, most) in [(300_000, 0, 1_000), (10, 300_000, 1_000), (10, 0, 25), (200_000, 400_000, 30)] {
            let of = |number: usize| vec![finding(2 * number, text, fix), finding(2 * number + 1, text / 3, fix)];
            let mut expected = all((0..60).flat_map(of).collect());
            FindingBudget::of_check(most).apply(&mut expected);
            // 7 and 60 have no common factor.
            for step in [1, 7, 59] {
                let mut held = HeldFindings::default();
                for number in (0..60).map(|at| at * step % 60) {
                    held.add(number, of(number), most);
                    assert!(held.texts < MAX_CHECK + 2 * text + 1_000 && held.fixes < MAX_CHECK + 2 * fix + 1_000);
                }
                let mut verdict = all((0..60).flat_map(|number| held.take(number)).collect());
                verdict.findings_omitted = held.omitted();
                FindingBudget::of_check(most).apply(&mut verdict);
                assert!(verdict == expected, "{text} {fix} {step}");
            }
        }
    }
}
