//! JUnit's XML, which most test runners can write.

use crate::printed::{Marks, Printed};
use crate::report::{FailedTest, Report};
use gatehost_sdk::command;
use roxmltree::{Document, Node, ParsingOptions};

pub(super) fn read(text: &Printed<'_>) -> Option<Report> {
    // Several documents may stand below each other, each with its declaration.
    let declared: Vec<usize> = text.match_indices("<?xml").map(|(at, _)| at).collect();
    let ends = declared.iter().skip(1).copied().chain([text.len()]);
    if declared.is_empty() {
        return document(text);
    }
    // Before the first declaration, there may be one without.
    let parts = declared.iter().copied().zip(ends).chain([(0, declared[0])]);
    parts.filter_map(|(start, end)| document(&text[start..end])).reduce(Report::and)
}

/// The text without what tests printed, if a whole report quotes it. Between its first and last tag, a report that is
/// not well-formed was refused already.
pub(crate) fn without_output(text: &Printed<'_>) -> Option<String> {
    if !text.marks().has(Marks::JUNIT) {
        return None;
    }
    let (start, end) = (text.find("<testsuite")?, text.rfind("</testsuite")?);
    let mut kept = text.get(..start).unwrap_or_default().to_owned();
    let mut rest = text.get(start..end).unwrap_or_default();
    while let Some((at, close)) = ["out", "err"]
        .into_iter()
        .filter_map(|name| Some((rest.find(&format!("<system-{name}>"))?, format!("</system-{name}>"))))
        .min_by_key(|(at, _)| *at)
    {
        let Some(length) = rest[at..].find(&close) else { break };
        kept.push_str(&rest[..at]);
        rest = &rest[at + length..];
    }
    Some(kept + rest + text.get(end..).unwrap_or_default())
}

fn document(text: &str) -> Option<Report> {
    // Other things may be printed before and after it.
    let start = ["<?xml", "<testsuites", "<testsuite"].iter().filter_map(|start| text.find(start)).min()?;
    if !text.contains("<testsuite") {
        return None;
    }
    let end = ["</testsuites>", "</testsuite>"].iter().filter_map(|end| Some(text.rfind(end)? + end.len())).max();
    let end = end.or_else(|| Some(start + text[start..].rfind("/>")? + 2)).filter(|end| *end > start);
    let text = &text[start..end.unwrap_or(text.len())];
    let options = ParsingOptions { nodes_limit: 1_000_000, ..ParsingOptions::default() };
    let document = match Document::parse_with_options(text, options) {
        Ok(document) => document,
        Err(error) => {
            return Some(Report { problem: Some(format!("the report is not XML: {error}")), ..Report::default() });
        }
    };
    let root = document.root_element();
    if !matches!(root.tag_name().name(), "testsuites" | "testsuite") {
        return None;
    }
    let mut report = Report::default();
    for case in root.descendants().filter(|node| node.has_tag_name("testcase")) {
        match ending(case) {
            End::Failed(why) => report.failed.push(failed(case, why)),
            End::Skipped => report.skipped += 1,
            End::Passed => report.passed += 1,
        }
    }
    // An error of the suite itself, such as a fixture that broke.
    let suites = root.descendants().filter(|node| matches!(node.tag_name().name(), "testsuites" | "testsuite"));
    for suite in suites {
        let own = suite.children().filter(|node| node.has_tag_name("failure") || node.has_tag_name("error"));
        report.failed.extend(own.map(|why| failed(suite, Some(why))));
    }
    report.expect_failures(counted(root, &|suite| number(suite, "failures") + number(suite, "errors")));
    // Some list what they skip, and some only count it; what ran is listed by all.
    let ran = |suite: Node<'_, '_>| {
        let left_out = ["skipped", "disabled", "ignored"].map(|name| number(suite, name));
        number(suite, "tests").saturating_sub(left_out.iter().sum())
    };
    let (claimed, listed) = (counted(root, &ran), report.passed + report.skipped + report.failed.len());
    if claimed > listed {
        report.problem = Some(format!("the suites count {claimed} tests that ran, but list {listed}"));
    }
    Some(report)
}

/// How a case ended.
enum End<'a, 'i> {
    Passed,
    Skipped,
    /// With the element that says why, if there is one.
    Failed(Option<Node<'a, 'i>>),
}

/// By the elements in it, and else by the attributes that some write instead: `status="notrun"`, `result="suppressed"`.
fn ending<'a, 'i>(case: Node<'a, 'i>) -> End<'a, 'i> {
    let child = |name: &str| {
        let named = |node: &Node<'_, '_>| node.tag_name().name().eq_ignore_ascii_case(name);
        case.descendants().skip(1).find(|node| named(node) && own(*node, case))
    };
    // Surefire writes `rerunFailure` for a test that failed in every try.
    const FAILED: [&str; 5] = ["failure", "error", "rerunFailure", "rerunError", "timeout"];
    if let Some(why) = FAILED.into_iter().find_map(child) {
        return End::Failed(Some(why));
    }
    if ["success", "passed"]
        .into_iter()
        .filter_map(|name| case.attribute(name))
        .any(|said| said.eq_ignore_ascii_case("false"))
    {
        return End::Failed(None);
    }
    let says = |words: &[&str]| {
        let mut said = ["status", "result"].into_iter().filter_map(|name| case.attribute(name));
        said.any(|said| words.iter().any(|word| said.eq_ignore_ascii_case(word)))
    };
    if says(&["failed", "fail", "failure", "error", "errored", "broken", "aborted", "crashed", "timeout", "timedout"]) {
        End::Failed(None)
    } else if child("skipped").or_else(|| child("disabled")).is_some()
        || says(&["notrun", "not run", "suppressed", "skipped", "skip", "disabled", "ignored", "pending", "todo"])
        || case.attribute("disabled").is_some_and(|disabled| disabled == "true" || disabled == "1")
    {
        End::Skipped
    } else {
        End::Passed
    }
}

/// A count: `1`, ` 1 `, `1.0`. What is no number at all is one failure at least.
fn number(suite: Node<'_, '_>, name: &str) -> usize {
    let Some(said) = suite.attribute(name).map(str::trim).filter(|said| !said.is_empty()) else { return 0 };
    let as_decimal = || said.parse::<f64>().ok().filter(|number| (0.0..1e9).contains(number));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 1e9")]
    said.parse().ok().or_else(|| as_decimal().map(|number| number.ceil() as usize)).unwrap_or(1)
}

/// What the suites count, those inside others only once.
fn counted(suite: Node<'_, '_>, own: &dyn Fn(Node<'_, '_>) -> usize) -> usize {
    let below = suite.children().filter(|node| node.has_tag_name("testsuite")).map(|suite| counted(suite, own));
    own(suite).max(below.sum())
}

/// Whether an element is of this case, and not of one within it.
fn own(node: Node<'_, '_>, case: Node<'_, '_>) -> bool {
    node.ancestors().skip(1).find(|above| above.has_tag_name("testcase")) == Some(case)
}

fn failed(case: Node<'_, '_>, why: Option<Node<'_, '_>>) -> FailedTest {
    let name = case.attribute("name").unwrap_or("a test without a name");
    let name = match case.attribute("classname").filter(|class| !class.is_empty()) {
        Some(class) => format!("{class} {name}"),
        None => name.to_owned(),
    };
    let message = why.and_then(|why| why.attribute("message").filter(|message| !message.is_empty()).or(why.text()));
    let line = case.attribute("line").and_then(|line| line.parse().ok()).unwrap_or(0);
    FailedTest::new(name)
        .saying(message.unwrap_or_default())
        .at(case.attribute("file").and_then(|file| command::place(file, line, None)))
}
