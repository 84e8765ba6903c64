//! The result of a run as an in-toto statement with a test-result predicate (v0.1).

use crate::ledger::Entry;
use crate::outcome::{NodeKind, Outcome};
use crate::record::{Mark, Record};
use crate::verdict::Status;
use serde_json::{Value, json};

/// The type of the predicate.
pub const PREDICATE: &str = "https://in-toto.io/attestation/test-result/v0.1";
/// The prefix of field names that only `gate` writes.
const OWN: &str = "urn:gatehost:attestation:v1";

/// Returns the statement of a run; `None` if the checked tree is unknown. `commits` are the commits that contain exactly the
/// checked change. The predicate has no error: everything but a pass is `FAILED`, and the status has the details.
///
/// The base commit is no subject: consumers match subjects by their digests, and the run says nothing about the base.
pub fn of_run(record: &Record, entry: &Entry, commits: &[String]) -> Option<Value> {
    let tree = record.tree.as_ref()?.strip_prefix("sha256:")?;
    let result = match record.status {
        Status::Pass if record.marks.contains(&Mark::Weak) => "WARNED",
        Status::Pass => "PASSED",
        Status::Fail | Status::Abstain | Status::Error | Status::NotApplicable => "FAILED",
    };
    let checks = || record.gate.walk().filter(|node| node.kind == NodeKind::Check && !node.shadow);
    let names = |wanted: &dyn Fn(Outcome) -> bool| -> Vec<&str> {
        checks().filter(|node| wanted(node.outcome)).map(|node| node.name.as_str()).collect()
    };
    let mut configuration = Vec::new();
    if let Some(digest) = record.policy.digest.as_deref().and_then(sha256) {
        configuration.push(json!({ "name": record.policy.name, "digest": digest }));
    }
    if let Some(digest) = sha256(&record.plan) {
        configuration.push(json!({ "name": format!("plan of gate {}", record.gate.name), "digest": digest }));
    }
    let mut seen = std::collections::BTreeSet::new();
    for verifier in record.gate.walk().filter_map(|node| node.verifier.as_ref()) {
        if let Some(digest) = sha256(&verifier.digest).filter(|_| seen.insert((&verifier.name, &verifier.digest))) {
            configuration.push(json!({ "name": verifier.name, "digest": digest }));
        }
    }
    let mut subject = vec![json!({ "name": "change", "digest": { "sha256": tree } })];
    subject.extend(commits.iter().map(|commit| json!({ "name": "commit", "digest": { "gitCommit": commit } })));
    Some(json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subject,
        "predicateType": PREDICATE,
        "predicate": {
            "result": result,
            "configuration": configuration,
            "passedTests": names(&|outcome| outcome == Outcome::Pass),
            "warnedTests": [],
            "failedTests": names(&|outcome| matches!(outcome, Outcome::Fail | Outcome::Abstain | Outcome::Error)),
            (format!("{OWN}:run")): record.run,
            (format!("{OWN}:status")): record.status,
            (format!("{OWN}:marks")): record.marks,
            (format!("{OWN}:started")): record.started,
            (format!("{OWN}:base")): record.base,
            (format!("{OWN}:host")): record.host,
            (format!("{OWN}:ledger")): { "seq": entry.seq, "hash": entry.hash },
        },
    }))
}

fn sha256(digest: &str) -> Option<Value> {
    Some(json!({ "sha256": digest.strip_prefix("sha256:")? }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{EntryKind, Hash, Labels, Project};
    use crate::outcome::Node;

    fn statement(status: Status) -> Value {
        let mut record = Record::of(Node::new("g", NodeKind::All, status.into()));
        record.tree = Some(format!("sha256:{}", "0".repeat(64)));
        record.plan = format!("sha256:{}", "1".repeat(64));
        record.base = Some("ba5e".to_owned());
        let entry = Entry {
            seq: 7,
            at: String::new(),
            project: Project::at(std::path::Path::new("/p")),
            kind: EntryKind::Run,
            labels: Labels::default(),
            prev: Hash::ZERO,
            hash: Hash::ZERO,
            body: Vec::new(),
        };
        of_run(&record, &entry, &["c0ffee".to_owned()]).expect("a statement")
    }

    #[test]
    fn nothing_but_a_pass_is_stated_as_one() {
        for (status, result) in
            [(Status::Pass, "PASSED"), (Status::Fail, "FAILED"), (Status::Abstain, "FAILED"), (Status::Error, "FAILED")]
        {
            assert_eq!(statement(status)["predicate"]["result"], result, "{status}");
        }
    }

    #[test]
    fn a_statement_names_what_was_judged_and_by_what() {
        let statement = statement(Status::Pass);
        assert_eq!(statement["subject"][0]["digest"]["sha256"], "0".repeat(64));
        assert_eq!(statement["predicate"]["configuration"][0]["digest"]["sha256"], "1".repeat(64));
        assert_eq!(statement["predicateType"], PREDICATE);
        assert_eq!(statement["subject"][1]["digest"]["gitCommit"], "c0ffee");
        assert_eq!(statement["subject"].as_array().map(Vec::len), Some(2), "the base was not checked");
        assert_eq!(statement["predicate"]["urn:gatehost:attestation:v1:base"], "ba5e");
    }
}
