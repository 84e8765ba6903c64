//! JUnit XML: a test case for each check. `failure`: the work is wrong; `error`: there is no judgement; `skipped`: it did
//! not run, or its answer does not count.

use super::view::{self, Member};
use crate::outcome::{NodeKind, Outcome};
use crate::record::Record;
use crate::text::clean;
use std::io::{self, Write};
use std::time::Duration;

/// Writes the report.
pub(super) fn junit(out: &mut dyn Write, record: &Record) -> io::Result<()> {
    let mut cases = view::checks(record);
    // Gates that blocked without any of their checks: the suite must not be green.
    cases.extend(view::blockers(record).into_iter().filter(|member| member.node.kind != NodeKind::Check));
    let count = |is: fn(&Member<'_>) -> bool| cases.iter().filter(|case| is(case)).count();
    let (failures, errors) = (count(is_failure), count(is_error));
    let skipped = count(is_skipped);
    let gate = escape(&record.gate.name);
    let time = seconds(record.duration);
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    let total = cases.len();
    writeln!(out, r#"<testsuites name="gate" tests="{total}" failures="{failures}" errors="{errors}" time="{time}">"#)?;
    let timestamp = record.started.split('.').next().unwrap_or_default();
    let timestamp = if timestamp.is_empty() { String::new() } else { format!(r#" timestamp="{}""#, escape(timestamp)) };
    writeln!(
        out,
        r#"  <testsuite name="{gate}" tests="{total}" failures="{failures}" errors="{errors}" skipped="{skipped}" time="{time}"{timestamp}>"#
    )?;
    for case in &cases {
        self::case(out, record, case)?;
    }
    writeln!(out, "  </testsuite>\n</testsuites>")
}

fn is_failure(case: &Member<'_>) -> bool {
    case.blocks() && case.node.outcome == Outcome::Fail
}

fn is_error(case: &Member<'_>) -> bool {
    case.blocks() && case.node.outcome != Outcome::Fail
}

fn is_skipped(case: &Member<'_>) -> bool {
    !case.blocks() && case.node.outcome != Outcome::Pass
}

fn case(out: &mut dyn Write, record: &Record, case: &Member<'_>) -> io::Result<()> {
    let node = case.node;
    let inside = case.path.strip_prefix(&format!("{}/", record.gate.name)).unwrap_or(&case.path);
    let head = format!(
        r#"    <testcase name="{}" classname="{}" time="{}""#,
        escape(inside),
        escape(&record.gate.name),
        seconds(node.duration)
    );
    let details = details(case);
    let message = escape(&case.noted_summary());
    let (element, kind) = match node.outcome {
        _ if is_failure(case) => ("failure", "fail"),
        _ if is_error(case) && node.outcome == Outcome::Abstain => ("error", "abstain"),
        _ if is_error(case) => ("error", "error"),
        Outcome::Pass if details.is_empty() => return writeln!(out, "{head}/>"),
        Outcome::Pass => {
            return writeln!(out, "{head}>\n      <system-out>{}</system-out>\n    </testcase>", escape(&details));
        }
        _ => {
            let why = match &case.moot {
                Some(why) => escape(&format!("{}, does not count: {why}", node.outcome.as_str())),
                None => message,
            };
            writeln!(out, "{head}>\n      <skipped message=\"{why}\"/>")?;
            if !details.is_empty() {
                writeln!(out, "      <system-out>{}</system-out>", escape(&details))?;
            }
            return writeln!(out, "    </testcase>");
        }
    };
    let details = escape(&details);
    writeln!(
        out,
        "{head}>\n      <{element} message=\"{message}\" type=\"{kind}\">{details}</{element}>\n    </testcase>"
    )
}

/// Returns the findings, one line each.
fn details(case: &Member<'_>) -> String {
    let lines = case.findings().map(|finding| {
        let place = finding.place.as_ref().map_or(String::new(), |place| format!("{place}: "));
        format!("{place}{}[{}] {}", finding.level, finding.code, view::text(finding))
    });
    let mut lines: Vec<String> = lines.collect();
    let omitted = case.node.verdict.as_ref().map_or(0, |verdict| verdict.findings_omitted);
    if omitted > 0 {
        lines.push(format!("and {}", crate::text::count(omitted, "more finding")));
    }
    lines.join("\n")
}

fn seconds(duration: Duration) -> String {
    format!("{:.3}", duration.as_secs_f64())
}

/// Escapes text for an element or an attribute of XML 1.0, and makes visible what hides in it.
fn escape(text: &str) -> String {
    let text = clean(text, usize::MAX);
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_breaks_out_of_an_attribute() {
        assert_eq!(super::escape("a\"<b>&\n\u{1}\u{ffff}"), "a&quot;&lt;b&gt;&amp;&#10;\\u{1}\u{fffd}");
    }
}
