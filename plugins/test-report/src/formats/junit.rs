//! XML as JUnit writes it, and most runners can.

use crate::report::{Failed, Report};
use gatehost_sdk::command;
use roxmltree::{Document, Node, ParsingOptions};

pub(super) fn read(text: &str) -> Option<Report> {
    // Other things may be printed before and after it.
    let start = ["<?xml", "<testsuites", "<testsuite"].iter().filter_map(|start| text.find(start)).min()?;
    let end = ["</testsuites>", "</testsuite>"].iter().filter_map(|end| Some(text.rfind(end)? + end.len())).max();
    let end = end.or_else(|| Some(start + text[start..].rfind("/>")? + 2))?;
    let text = text.get(start..end)?;
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
        let child = |name: &str| case.children().find(|node| node.has_tag_name(name));
        if let Some(why) = child("failure").or_else(|| child("error")) {
            report.failed.push(failed(case, why));
        } else if child("skipped").is_some() {
            report.skipped += 1;
        } else {
            report.passed += 1;
        }
    }
    report.expect_failures(counted(root));
    Some(report)
}

/// What the suites count as failures, those inside others only once.
fn counted(root: Node<'_, '_>) -> usize {
    let number =
        |node: Node<'_, '_>, name: &str| node.attribute(name).and_then(|n| n.parse::<usize>().ok()).unwrap_or(0);
    let own = number(root, "failures") + number(root, "errors");
    let below: usize = root.children().filter(|node| node.has_tag_name("testsuite")).map(counted).sum();
    own.max(below)
}

fn failed(case: Node<'_, '_>, why: Node<'_, '_>) -> Failed {
    let name = case.attribute("name").unwrap_or("a test without a name");
    let name = match case.attribute("classname").filter(|class| !class.is_empty()) {
        Some(class) => format!("{class} {name}"),
        None => name.to_owned(),
    };
    let message = why.attribute("message").filter(|message| !message.is_empty()).or(why.text()).unwrap_or_default();
    let line = case.attribute("line").and_then(|line| line.parse().ok()).unwrap_or(0);
    Failed::new(name).saying(message).at(case.attribute("file").and_then(|file| command::place(file, line, None)))
}
