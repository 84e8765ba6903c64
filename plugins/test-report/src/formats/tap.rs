//! The Test Anything Protocol, versions 12 to 14. Subtests are indented; their parent sums them up, and where it says that
//! it passed although one of them failed, the failure counts.

use crate::printed::{Printed, bare};
use crate::report::{FailedTest, Report};

pub(super) fn read(text: &Printed<'_>) -> Option<Report> {
    let mut report = Report::default();
    let (mut planned, mut seen, mut bailed, mut numbered) = (None, 0usize, None, false);
    let mut last_failed = false;
    // Subtests that failed, until their parent tells.
    let mut below: Vec<FailedTest> = Vec::new();
    let (mut levels, mut missing) = (Vec::new(), None);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let bare = bare(line);
        missing = missing.or_else(|| short(&mut levels, line, bare));
        // `prove -v` ends each file with `ok`, behind as many results as were planned.
        if line == "ok" && planned == Some(seen) {
            continue;
        }
        if let Some((good, rest)) = result(line) {
            seen += 1;
            numbered |= rest.trim_start().starts_with(|c: char| c.is_ascii_digit());
            let (name, directive) = directive(rest);
            last_failed = false;
            let excused = directive.is_some();
            if directive == Some("skip") || (directive == Some("todo") && !good) {
                report.skipped += 1;
            } else if good {
                report.passed += 1;
            } else {
                last_failed = true;
                report.failed.push(FailedTest::new(title(name, seen)));
            }
            let hidden = std::mem::take(&mut below);
            if good && !excused && !hidden.is_empty() {
                report.passed -= 1;
                report.failed.extend(hidden);
            }
        } else if let Some((false, rest)) = result(bare).filter(|_| line.len() > bare.len()) {
            if let (name, None) = directive(rest) {
                below.push(FailedTest::new(title(name, below.len() + 1)));
            }
        } else if line == "  ---" {
            let inside = |line: &&str| *line != "  ..." && (line.is_empty() || line.starts_with("  "));
            let said: Vec<&str> = lines.clone().take_while(inside).map(str::trim_end).collect();
            lines = said.iter().fold(lines, |mut lines, _| {
                lines.next();
                lines
            });
            if let (true, Some(failed)) = (last_failed, report.failed.last_mut()) {
                let brief = said.iter().find_map(|line| {
                    let line = line.trim();
                    line.strip_prefix("error: ").or_else(|| line.strip_prefix("message: "))
                });
                let said = brief.map_or(said.join("\n"), |brief| brief.trim_matches(['\'', '"']).to_owned());
                *failed = failed.clone().saying(&said);
            }
        } else if let Some(count) =
            line.strip_prefix("1..").and_then(|rest| rest.split([' ', '#']).next()?.parse::<usize>().ok())
        {
            planned = Some(planned.unwrap_or(0) + count);
        } else if is_bail_out(bare) {
            bailed = bailed.or_else(|| Some(bare[9..].trim().to_owned()));
        }
    }
    report.failed.extend(below);
    // A line that only starts with `ok` may be anything.
    if planned.is_none() && !numbered && bailed.is_none() {
        return None;
    }
    report.problem = match (bailed, planned) {
        (Some(why), _) => Some(format!("the tests bailed out: {why}")),
        _ if missing.is_some() => missing,
        (None, None) => Some("the report has no plan, so tests may be missing".to_owned()),
        (None, Some(planned)) if planned != seen => {
            Some(format!("{planned} tests were planned, but {seen} were reported"))
        }
        _ => None,
    };
    Some(report)
}

/// Why subtests that end before this line are not all there: each level of indentation has a plan and results of its own.
fn short(levels: &mut Vec<(usize, Option<usize>, usize)>, line: &str, bare: &str) -> Option<String> {
    let plan = bare.strip_prefix("1..").and_then(|rest| rest.split([' ', '#']).next()?.parse::<usize>().ok());
    let result = result(bare).filter(|(_, rest)| rest.trim_start().starts_with(|c: char| c.is_ascii_digit()));
    if plan.is_none() && result.is_none() {
        return None;
    }
    let depth = line.len() - bare.len();
    let mut missing = None;
    while let Some((_, planned, seen)) = levels.pop_if(|(level, ..)| *level > depth) {
        if let Some(planned) = planned.filter(|planned| *planned != seen) {
            missing = Some(format!("{planned} subtests were planned, but {seen} were reported"));
        }
    }
    if depth > 0 {
        if levels.last().is_none_or(|(level, ..)| *level < depth) {
            levels.push((depth, None, 0));
        }
        if let Some((_, planned, seen)) = levels.last_mut() {
            *planned = plan.or(*planned);
            *seen += usize::from(result.is_some());
        }
    }
    missing
}

/// The name of a test, and the directive after it: `# SKIP why`, `# TODO`. A directive is a whole word.
fn directive(rest: &str) -> (&str, Option<&'static str>) {
    let Some((at, _)) = rest.match_indices('#').find(|(at, _)| rest[..*at].ends_with([' ', '\t'])) else {
        return (rest, None);
    };
    let said = rest[at + 1..].trim_start();
    let word: String = said.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let known = ["skip", "todo"].into_iter().find(|known| word.eq_ignore_ascii_case(known));
    // `# skipped: why` is what some write.
    let known = known.or(word.eq_ignore_ascii_case("skipped").then_some("skip"));
    (&rest[..at], known)
}

/// `ok 1 - name`, `not ok 2`: whether it is good, and the rest.
fn result(line: &str) -> Option<(bool, &str)> {
    let (good, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    (rest.is_empty() || rest.starts_with(' ')).then_some((good, rest))
}

/// Whether a line is a result with its number. A line that only starts with `ok` may be anything.
pub(super) fn is_numbered_result(line: &str) -> bool {
    result(line).is_some_and(|(_, rest)| rest.trim_start().starts_with(|c: char| c.is_ascii_digit()))
}

/// `Bail out! why`, in any case.
pub(super) fn is_bail_out(bare: &str) -> bool {
    bare.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("bail out!"))
}

fn title(rest: &str, number: usize) -> String {
    let name = rest.trim().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches([' ', '-']).trim();
    if name.is_empty() { format!("test {number}") } else { name.to_owned() }
}
