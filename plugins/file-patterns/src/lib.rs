//! `file-patterns`: regular expressions that must or must not match in a file.
//!
//! Works like `patterns`, but on whole files, each on its own, without a grant. UTF-16 is decoded by its byte order mark. In
//! other files that are not UTF-8, the UTF-8 parts are searched, so a foreign byte disables no rule; if a required pattern is
//! not found in such a file, the verifier abstains. A file with a NUL is binary and has no text in which a pattern could be
//! forbidden.

use gatehost_sdk::{About, File, FileVerifier, Place, Verdict};
use rules::{Rule, RuleKind, Text, Texts};
use serde::Deserialize;

const SETTINGS_SCHEMA: &str = rules::settings_schema! {
    each: " in each file",
    one: " in one file",
    files: "Patterns of the files that the rule applies to. Empty: all files of the check.",
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
        "Files match every required pattern and no forbidden one.",
    )
    .files(&["**/*"])
    .settings_schema(SETTINGS_SCHEMA)
    .rules(
        const {
            &[gatehost_sdk::Rule::error(
                "*",
                "A rule in the settings is violated. The code of the finding is the rule's `id`.",
            )]
        },
    );

    fn check(file: &File, settings: Settings) -> Verdict {
        judge(file, &settings.rules)
    }
}

gatehost_sdk::export_file_verifier!(FilePatterns);

fn judge(file: &File, rules: &[Rule]) -> Verdict {
    let (path, text) = (file.path.as_str(), file.readable());
    let whole = file.text().is_some() || text.as_ref().is_some_and(|text| !text.contains('\u{FFFD}'));
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
            known: text.iter().map(|text| Text { text, from: Some((path, 1)) }).collect(),
            unknown: (!whole && rule.kind == RuleKind::Require).then(|| "the file is not UTF-8".to_owned()),
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
    use gatehost_sdk::{Content, Status};

    fn outcome(path: &str, content: Content, rule: &str) -> (Status, Vec<(u32, u32)>) {
        let settings = format!(r#"{{"rules": [{{"id": "r", {rule}}}]}}"#);
        let settings: Settings = serde_json::from_str(&settings).expect(rule);
        let verdict = judge(&File { content, ..File::new(path, "") }, &settings.rules);
        let places = verdict.findings.into_iter().filter_map(|finding| finding.place);
        let places = places.map(|place| (place.line.unwrap_or(0), place.column.unwrap_or(0)));
        (verdict.status, places.collect())
    }

    #[test]
    fn a_file_is_judged_by_what_is_in_it() {
        use Status::{Abstain, Fail, Pass};
        let text = |text: &str| Content::Text(text.to_owned());
        let binary = |bytes: &[u8]| Content::Binary(bytes.to_vec());
        let code = text("// Copyright\nfn main() {}\n// é TODO, TODO\n");
        let latin = binary(b"// caf\xE9\nTODO\n");
        let wide: Vec<u8> = "\u{FEFF}a\r\nTODO\r\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (path, content, rule, expected) in [
            ("a.rs", &code, r#""pattern": "TODO", "kind": "forbid""#, (Fail, vec![(3, 6), (3, 12)])),
            ("a.rs", &code, r#""pattern": "TODO", "kind": "forbid", "max": 1"#, (Fail, vec![(3, 12)])),
            ("a.rs", &code, r#""pattern": "TODO", "kind": "forbid", "files": ["*.md"]"#, (Pass, vec![])),
            ("a.rs", &code, r#""pattern": "\\A// Copyright", "kind": "require""#, (Pass, vec![])),
            ("a.rs", &text(""), r#""pattern": "Copyright", "kind": "require""#, (Fail, vec![(0, 0)])),
            ("a.rs", &text("// MIT\r\na();\r\n"), r#""pattern": "\\A// MIT$", "kind": "require""#, (Pass, vec![])),
            ("a.rs", &text("a();\r\nb;\r\n"), r#""pattern": "^b;$", "kind": "forbid""#, (Fail, vec![(2, 1)])),
            ("a.png", &binary(b"\x89\0TODO"), r#""pattern": "TODO", "kind": "forbid""#, (Pass, vec![])),
            ("a.png", &binary(b"\x89\0"), r#""pattern": "Copyright", "kind": "require""#, (Abstain, vec![])),
            ("a.c", &latin, r#""pattern": "TODO", "kind": "forbid""#, (Fail, vec![(2, 1)])),
            ("a.c", &latin, r#""pattern": "TODO", "kind": "require""#, (Pass, vec![])),
            ("a.c", &latin, r#""pattern": "café", "kind": "require""#, (Abstain, vec![])),
            ("a.txt", &binary(&wide), r#""pattern": "^TODO$", "kind": "forbid""#, (Fail, vec![(2, 1)])),
            ("a.txt", &binary(&wide), r#""pattern": "Copyright", "kind": "require""#, (Fail, vec![(0, 0)])),
            ("a.rs", &code, r#""pattern": "(", "kind": "forbid""#, (Abstain, vec![])),
        ] {
            let (status, places) = outcome(path, content.clone(), rule);
            assert_eq!((status, places), expected, "{rule}");
        }
    }
}
