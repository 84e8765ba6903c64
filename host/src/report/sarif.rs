//! SARIF 2.1.0: findings as results, verifiers that broke as notifications, and never the other way round.
//!
//! A finding that does not count (a check in shadow, a branch of a gate that passed) is a suppressed result. A result
//! always has a location, because code scanning refuses a whole file for one that has none.

use super::view::{self, Member};
use crate::error::Exit;
use crate::outcome::Outcome;
use crate::record::Record;
use crate::text;
use crate::verdict::{Finding, Level, Place, Rule};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Writes the report.
pub(super) fn sarif(out: &mut dyn Write, record: &Record) -> io::Result<()> {
    let mut rules = RuleIndex::default();
    let mut results = Vec::new();
    let mut notifications = Vec::new();
    for member in view::checks(record) {
        for finding in member.findings() {
            results.push(result(record, &member, finding, &mut rules));
        }
        if let Some(failure) = member.node.verdict.as_ref().and_then(|verdict| verdict.error.as_ref()) {
            notifications.push(json!({
                "level": if member.moot.is_some() || member.node.outcome == Outcome::Pass { "warning" } else { "error" },
                "descriptor": { "id": failure.kind.as_str() },
                "message": { "text": text::noted(text::clean(&failure.message, usize::MAX), 0) },
                "properties": { "check": member.path },
            }));
        }
    }
    for member in view::blockers(record) {
        let explained =
            member.findings().any(|finding| finding.level == Level::Error || member.node.outcome == Outcome::Abstain);
        if member.node.outcome != Outcome::Error && !explained {
            results.push(unexplained(record, &member, &mut rules));
        }
    }
    let gate = record.gate.verdict.as_ref().and_then(|verdict| verdict.error.as_ref());
    if let Some(failure) = gate.filter(|_| !record.gate.children.is_empty()) {
        notifications.push(json!({
            "level": "error",
            "descriptor": { "id": failure.kind.as_str() },
            "message": { "text": text::noted(text::clean(&failure.message, usize::MAX), 0) },
        }));
    }
    let broke = notifications.iter().any(|notification| notification["level"] == "error");
    let mut invocation = json!({
        "executionSuccessful": !broke,
        "exitCode": Exit::from(record.status).code(),
    });
    if !record.started.is_empty() {
        invocation["startTimeUtc"] = json!(record.started);
    }
    if !notifications.is_empty() {
        invocation["toolExecutionNotifications"] = json!(notifications);
    }
    let mut properties = Map::new();
    for (name, value) in [
        ("gate", json!(record.gate.name)),
        ("status", json!(record.status)),
        ("run", json!(record.run)),
        ("marks", json!(record.marks)),
        ("base", json!(record.base)),
        ("tree", json!(record.tree)),
        ("plan", json!(record.plan)),
    ] {
        if !(value.is_null() || value == "" || value == json!([])) {
            properties.insert(name.to_owned(), value);
        }
    }
    let mut driver = json!({ "name": "gate", "rules": rules.list });
    if !record.host.version.is_empty() {
        driver["semanticVersion"] = json!(record.host.version);
    }
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": driver },
            "automationDetails": { "id": format!("gate/{}/{}", record.gate.name, record.run) },
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": { "SRCROOT": { "description": { "text": "The root of the workspace." } } },
            "invocations": [invocation],
            "results": results,
            "properties": properties,
        }],
    });
    text::write_json(out, &log)
}

/// The rules of the results, each once.
#[derive(Default)]
struct RuleIndex {
    list: Vec<Value>,
    index: BTreeMap<String, usize>,
}

impl RuleIndex {
    /// Returns the number of a rule, and adds the rule if it is new.
    fn number(&mut self, id: &str, known: Option<&Rule>) -> usize {
        let list = &mut self.list;
        *self.index.entry(id.to_owned()).or_insert_with(|| {
            let mut rule = json!({ "id": id });
            if let Some(known) = known {
                rule["shortDescription"] = json!({ "text": text::noted(text::clean(&known.summary, usize::MAX), 0) });
                rule["defaultConfiguration"] = json!({ "level": known.level });
                if !known.help.is_empty() {
                    rule["help"] = json!({ "text": text::noted(text::clean(&known.help, usize::MAX), 0) });
                }
                if let Some(url) = known.url.as_deref().and_then(text::link) {
                    rule["helpUri"] = json!(url);
                }
            }
            list.push(rule);
            list.len() - 1
        })
    }
}

fn result(record: &Record, member: &Member<'_>, finding: &Finding, rules: &mut RuleIndex) -> Value {
    let id = member.rule(&finding.code);
    let known = member.node.rules.iter().find(|rule| rule.code == finding.code);
    let kind = match member.node.outcome {
        _ if member.needs_person(finding) => "review",
        Outcome::Abstain => "open",
        _ => "fail",
    };
    let level = if kind == "fail" { json!(finding.level) } else { json!("none") };
    let mut result = json!({
        "ruleId": id,
        "ruleIndex": rules.number(&id, known),
        "kind": kind,
        "level": level,
        "message": { "text": view::text(finding) },
        "locations": [location(record, member, finding.place.as_ref())],
        "properties": { "check": member.path },
    });
    if !finding.fingerprint.is_empty() {
        result["partialFingerprints"] = json!({ "gatehost/v1": finding.fingerprint });
    }
    if let Some(why) = &member.moot {
        let justification = format!("does not count: {why}");
        result["suppressions"] = json!([{ "kind": "external", "justification": justification }]);
    }
    if let (Some(fix), Some(place)) = (&finding.fix, &finding.place) {
        let replacement = |edit: &crate::verdict::Edit| {
            json!({
                "deletedRegion": {
                    "startLine": edit.start_line, "startColumn": edit.start_column,
                    "endLine": edit.end_line, "endColumn": edit.end_column,
                },
                "insertedContent": { "text": edit.replacement },
            })
        };
        result["fixes"] = json!([{
            "description": { "text": fix.description },
            "artifactChanges": [{
                "artifactLocation": artifact(&place.path),
                "replacements": fix.edits.iter().map(replacement).collect::<Vec<_>>(),
            }],
        }]);
    }
    result
}

/// Returns the result for a member that blocks without a finding that says why.
fn unexplained(record: &Record, member: &Member<'_>, rules: &mut RuleIndex) -> Value {
    let (code, kind, level) = match member.node.outcome {
        Outcome::Abstain => ("no-judgement", "open", "none"),
        _ => ("failed", "fail", "error"),
    };
    let id = member.rule(code);
    json!({
        "ruleId": id,
        "ruleIndex": rules.number(&id, None),
        "kind": kind,
        "level": level,
        "message": { "text": format!("`{}`: {}", member.node.name, member.noted_summary()) },
        "locations": [location(record, member, None)],
        "properties": { "check": member.path },
    })
}

fn location(record: &Record, member: &Member<'_>, place: Option<&Place>) -> Value {
    let logical = json!([{ "fullyQualifiedName": member.path, "kind": "module" }]);
    let Some(place) = place else {
        let physical = json!({ "artifactLocation": artifact(view::fallback_path(record)) });
        return json!({ "physicalLocation": physical, "logicalLocations": logical });
    };
    let mut physical = json!({ "artifactLocation": artifact(&place.path) });
    if let Some(line) = place.line.filter(|line| *line > 0) {
        let mut region = json!({ "startLine": line });
        let optional = [("startColumn", place.column), ("endLine", place.end_line), ("endColumn", place.end_column)];
        for (name, number) in optional {
            if let Some(number) = number.filter(|number| *number > 0) {
                region[name] = json!(number);
            }
        }
        physical["region"] = region;
    }
    json!({ "physicalLocation": physical, "logicalLocations": logical })
}

fn artifact(path: &str) -> Value {
    json!({ "uri": uri(path), "uriBaseId": "SRCROOT" })
}

/// Returns a relative path as a URI reference, with special characters escaped.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_escaped_as_addresses() {
        assert_eq!(uri("src/a b#c?%.py"), "src/a%20b%23c%3F%25.py");
        assert_eq!(uri("ü:x"), "%C3%BC%3Ax");
    }
}
