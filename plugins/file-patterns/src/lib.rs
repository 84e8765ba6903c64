//! `file-patterns`: regular expressions that must, or must not, be found in a file.
//!
//! As `patterns`, for whole files: each is judged by itself, and needs no grant. A file that is not UTF-8 has no text in
//! which anything could be forbidden; where something is required, it is an abstention.

use gatehost_sdk::{About, File, FileVerifier, Place, Verdict};
use rules::{Kind, Rule, Text, Texts};
use serde::Deserialize;

const SETTINGS_SCHEMA: &str = rules::settings_schema! {
    each: " in each file",
    one: " in one file",
    files: "Patterns of the files that the rule is about. Empty: all that the check is given.",
    required: "",
    own: "",
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    rules: Vec<Rule>,
}

struct FilePatterns;

impl FileVerifier for FilePatterns {
    type Settings = Settings;
    const ABOUT: About = About::new(
        "file-patterns",
        env!("CARGO_PKG_VERSION"),
        "Files match what they must, and nothing that they must not.",
    )
    .files(&["**/*"])
    .settings_schema(SETTINGS_SCHEMA);

    fn check(file: &File, settings: Settings) -> Verdict {
        judge(&file.path, file.text(), &settings.rules)
    }
}

gatehost_sdk::export_file_verifier!(FilePatterns);

fn judge(path: &str, text: Option<&str>, rules: &[Rule]) -> Verdict {
    let mut judged = Vec::new();
    for rule in rules {
        let compiled = match rule.compile() {
            Ok(compiled) => compiled,
            Err(why) => return Verdict::abstain(format!("rule `{}`: {why}", rule.id)),
        };
        if !compiled.applies_to(path) {
            continue;
        }
        let texts = Texts {
            name: "the file",
            known: text.map(|text| Text { text, from: Some((path, 1)) }).into_iter().collect(),
            unknown: (text.is_none() && rule.kind == Kind::Require).then(|| "the file is not UTF-8".to_owned()),
            missing: None,
        };
        judged.push((rule.id.as_str(), compiled.broken_by(&texts)));
    }
    let mut verdict = rules::verdict(judged);
    for finding in verdict.findings.iter_mut().filter(|finding| finding.place.is_none()) {
        finding.place = Some(Place::file(path));
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::Status;

    fn outcome(path: &str, text: Option<&str>, rule: &str) -> (Status, Vec<(u32, u32)>) {
        let settings = format!(r#"{{"rules": [{{"id": "r", {rule}}}]}}"#);
        let settings: Settings = serde_json::from_str(&settings).expect(rule);
        let verdict = judge(path, text, &settings.rules);
        let places = verdict.findings.into_iter().filter_map(|finding| finding.place);
        let places = places.map(|place| (place.line.unwrap_or(0), place.column.unwrap_or(0)));
        (verdict.status, places.collect())
    }

    #[test]
    fn a_file_is_judged_by_what_is_in_it() {
        use Status::{Abstain, Fail, Pass};
        let text = Some("// Copyright\nfn main() {}\n// é TODO, TODO\n");
        for (path, text, rule, expected) in [
            ("a.rs", text, r#""pattern": "TODO", "kind": "forbid""#, (Fail, vec![(3, 6), (3, 12)])),
            ("a.rs", text, r#""pattern": "TODO", "kind": "forbid", "max": 1"#, (Fail, vec![(3, 12)])),
            ("a.rs", text, r#""pattern": "TODO", "kind": "forbid", "files": ["*.md"]"#, (Pass, vec![])),
            ("a.rs", text, r#""pattern": "\\A// Copyright", "kind": "require""#, (Pass, vec![])),
            ("a.rs", Some(""), r#""pattern": "Copyright", "kind": "require""#, (Fail, vec![(0, 0)])),
            ("a.png", None, r#""pattern": "TODO", "kind": "forbid""#, (Pass, vec![])),
            ("a.png", None, r#""pattern": "Copyright", "kind": "require""#, (Abstain, vec![])),
            ("a.rs", text, r#""pattern": "(", "kind": "forbid""#, (Abstain, vec![])),
        ] {
            let (status, places) = outcome(path, text, rule);
            assert_eq!((status, places), expected, "{rule}");
        }
    }
}
