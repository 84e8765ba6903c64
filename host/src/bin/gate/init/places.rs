//! What a path says about a file: vendored, generated, a template, or broken on purpose.

use std::collections::{BTreeMap, BTreeSet};

/// Folders of other people's code.
const VENDORED: &[&str] =
    &["vendor", "vendored", "third_party", "third-party", "thirdparty", "node_modules", "bower_components"];
/// Folders of generated files.
const GENERATED: &[&str] = &["generated", "__generated__", "__snapshots__"];
/// Folders of test data.
const DATA: &[&str] = &[
    "fixtures",
    "__fixtures__",
    "fixture",
    "testdata",
    "test-data",
    "test_data",
    "testfiles",
    "samples",
    "corpus",
    "golden",
];
/// Words in names of files and folders that are broken on purpose.
const WRONG: &[&str] = &[
    "invalid",
    "bad",
    "broken",
    "malformed",
    "corrupt",
    "fail",
    "error",
    "wrong",
    "illegal",
    "unparsable",
    "not-valid",
];
/// Folders of tests: only the file itself is excluded.
const TESTS: &[&str] = &["test", "tests", "spec", "specs", "__tests__", "testing", "e2e", "examples"];
/// Folders of templates.
const TEMPLATES: &[&str] = &["templates", "template", "skeleton", "scaffold", "boilerplate", "stubs"];

/// Returns the folders of a repository that are not its own work, each with the reason.
pub(super) fn not_ours(paths: &[&str]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (names, why) in [(VENDORED, "vendored code"), (GENERATED, "generated files")] {
        let folders: BTreeSet<String> =
            paths.iter().filter_map(|path| folder_named(path, |name| names.contains(&name))).collect();
        found.extend(folders.into_iter().map(|folder| (format!("{}/**", escaped(&folder)), why.to_owned())));
    }
    found
}

/// Returns what to exclude because of a file that does not pass, if its path shows that this is intended.
pub(super) fn excuse(path: &str) -> Option<(String, &'static str)> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let below = |folder: String| format!("{}/**", escaped(&folder));
    let is_wrong = |name: &str| WRONG.iter().any(|word| words(name).any(|found| is_form(&found, word)));
    if path.contains("{{") || folder_named(path, |name| name.contains("cookiecutter")).is_some() {
        return Some((escaped(path), "a template"));
    }
    if let Some(folder) = folder_named(path, |name| is_wrong(name)) {
        return Some((below(folder), "files that are wrong on purpose, by the name of their folder"));
    }
    if let Some(folder) = folder_named(path, |name| DATA.contains(&name)) {
        return Some((below(folder), "data for tests"));
    }
    if let Some(folder) = folder_named(path, |name| TEMPLATES.contains(&name)) {
        return Some((below(folder), "templates"));
    }
    if is_wrong(name) {
        return Some((escaped(path), "wrong on purpose, by its name"));
    }
    if name.contains(".min.") || name.contains(".bundle.") {
        return Some((escaped(path), "a generated file"));
    }
    folder_named(path, |name| TESTS.contains(&name)).map(|_| (escaped(path), "a file of the tests that does not pass"))
}

/// Returns the first folder on a path with such a name, with the folders above it.
fn folder_named(path: &str, is_such: impl Fn(&str) -> bool) -> Option<String> {
    let (folders, _) = path.rsplit_once('/')?;
    let parts: Vec<&str> = folders.split('/').collect();
    let index = parts.iter().position(|part| is_such(&part.to_ascii_lowercase()))?;
    Some(parts[..=index].join("/"))
}

/// Returns the words of a name, such as `bad` and `case` of `bad_case.json`.
fn words(name: &str) -> impl Iterator<Item = String> {
    let words: Vec<String> = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    words.into_iter()
}

/// Returns whether a word is this one, or a form of it: `fail`, `fails`, `failed`, `failing`.
fn is_form(found: &str, word: &str) -> bool {
    found.strip_prefix(word).is_some_and(|end| ["", "s", "ed", "ing", "ure", "ures"].contains(&end))
}

/// Returns a pattern that only this path matches.
pub(super) fn escaped(path: &str) -> String {
    let mut pattern = String::with_capacity(path.len());
    for c in path.chars() {
        match c {
            '*' | '?' | '[' | ']' | '{' | '}' => {
                pattern.push('[');
                pattern.push(c);
                pattern.push(']');
            }
            '\\' => pattern.push_str("\\\\"),
            _ => pattern.push(c),
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost::config::FileSet;

    #[test]
    fn the_path_of_a_file_can_excuse_it() {
        for (path, expected) in [
            ("internal/tests/invalid/control/null.toml", Some("internal/tests/invalid/**")),
            ("test/fixtures/a.json", Some("test/fixtures/**")),
            ("src/testdata/x/y.yaml", Some("src/testdata/**")),
            ("tests/bad_syntax.py", Some("tests/bad_syntax.py")),
            ("tests/helper.py", Some("tests/helper.py")),
            ("charts/x/templates/a.yaml", Some("charts/x/templates/**")),
            ("{{cookiecutter.name}}/a.json", Some("[{][{]cookiecutter.name[}][}]/a.json")),
            ("static/jquery.min.js", Some("static/jquery.min.js")),
            ("src/app.json", None),
            ("src/badge.json", None),
            ("package.json", None),
        ] {
            let found = excuse(path).map(|(pattern, _)| pattern);
            assert_eq!(found.as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn what_is_not_ours_is_left_out_from_the_start() {
        let found =
            not_ours(&["vendor/a/b.go", "web/node_modules/x/y.js", "src/a.go", "api/generated/x.go", "vendor.json"]);
        let patterns: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(patterns, ["api/generated/**", "vendor/**", "web/node_modules/**"]);
    }

    #[test]
    fn a_pattern_of_a_path_matches_that_path_only() {
        for path in ["a[1].json", "a{b,c}.json", "what?.json", "st*r.json", "pl\\ain.json", "{{x}}/a.json"] {
            let set = FileSet::new(&[escaped(path)], &[]).expect("a pattern");
            assert!(set.contains(path), "{path}");
            assert!(!set.contains("a1.json") && !set.contains("ab.json") && !set.contains("star.json"), "{path}");
        }
    }
}
