//! The Test Anything Protocol, versions 12 to 14. Subtests are indented; their parent sums them up.

use crate::report::{Failed, Report};

pub(super) fn read(text: &str) -> Option<Report> {
    let mut report = Report::default();
    let (mut planned, mut seen, mut bailed) = (None, 0usize, None);
    let mut last_failed = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some((good, rest)) = result(line) {
            seen += 1;
            let (name, directive) = rest.split_once(" # ").unwrap_or((rest, ""));
            let directive = directive.trim().to_ascii_lowercase();
            last_failed = false;
            if directive.starts_with("skip") {
                report.skipped += 1;
            } else if good {
                report.passed += 1;
            } else if directive.starts_with("todo") {
                report.skipped += 1;
            } else {
                last_failed = true;
                report.failed.push(Failed::new(title(name, seen)));
            }
        } else if line == "  ---" {
            let said: Vec<&str> = lines.by_ref().take_while(|line| *line != "  ...").map(str::trim_end).collect();
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
            planned = Some(count);
        } else if let Some(why) = line.strip_prefix("Bail out!") {
            bailed = Some(why.trim().to_owned());
        }
    }
    if planned.is_none() && seen == 0 {
        return None;
    }
    report.problem = match (bailed, planned) {
        (Some(why), _) => Some(format!("the tests gave up: {why}")),
        (None, None) => Some("the report has no plan, so tests may be missing".to_owned()),
        (None, Some(planned)) if planned != seen => Some(format!("{planned} tests were planned and {seen} reported")),
        _ => None,
    };
    Some(report)
}

/// `ok 1 - name`, `not ok 2`: whether it is good, and the rest.
fn result(line: &str) -> Option<(bool, &str)> {
    let (good, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    (rest.is_empty() || rest.starts_with(' ')).then_some((good, rest))
}

fn title(rest: &str, number: usize) -> String {
    let name = rest.trim().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches([' ', '-']).trim();
    if name.is_empty() { format!("test {number}") } else { name.to_owned() }
}
