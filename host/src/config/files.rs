//! File patterns such as `**/*.rs`, and exclusions from them.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// Why a text is not a valid pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a pattern such as `**/*.rs`, found `{pattern}`: {why}")]
pub struct BadPattern {
    pattern: String,
    why: String,
}

/// The set of files that match a pattern of `files` (any file if there is none) and no pattern of `exclude`.
///
/// Patterns match the whole path relative to the root of the workspace. `*` stays within a folder, `**` does not. So `*.rs`
/// matches only in the root, and `**/*.rs` in every folder.
#[derive(Clone, Debug)]
pub struct FileSet {
    files: Option<AnyPattern>,
    exclude: AnyPattern,
}

impl FileSet {
    /// Returns the set of these patterns.
    pub fn new(files: &[String], exclude: &[String]) -> Result<Self, BadPattern> {
        let files = if files.is_empty() { None } else { Some(AnyPattern::new(files)?) };
        Ok(Self { files, exclude: AnyPattern::new(exclude)? })
    }

    /// Returns whether a file is in the set.
    pub fn contains(&self, path: &str) -> bool {
        self.files.as_ref().is_none_or(|files| files.is_match(path)) && !self.exclude.is_match(path)
    }
}

/// Reads one pattern.
pub(crate) fn pattern(pattern: &str) -> Result<Glob, BadPattern> {
    let bad = |why: String| BadPattern { pattern: crate::text::clean_line(pattern, 60), why };
    if pattern.is_empty() {
        return Err(bad("it is empty".to_owned()));
    }
    if pattern.starts_with('/') || pattern.split('/').any(|part| part == "." || part == "..") {
        return Err(bad("paths are relative to the root of the workspace, without `.` and `..`".to_owned()));
    }
    GlobBuilder::new(pattern).literal_separator(true).build().map_err(|error| bad(error.kind().to_string()))
}

/// The most patterns of one automaton, and the bytes after which another begins: with too many patterns, searching takes
/// gigabytes.
const MAX_PATTERNS: usize = 200;
const MAX_BYTES: usize = 8 << 10;

/// Patterns of which any may match.
#[derive(Clone, Debug)]
struct AnyPattern(Vec<GlobSet>);

impl AnyPattern {
    fn new(patterns: &[String]) -> Result<Self, BadPattern> {
        let mut sets = Vec::new();
        let mut rest = patterns;
        while !rest.is_empty() {
            let mut bytes = 0;
            let starts_here = |text: &&String| {
                let starts = bytes < MAX_BYTES;
                bytes += text.len();
                starts
            };
            let (now, later) = rest.split_at(rest.iter().take(MAX_PATTERNS).take_while(starts_here).count());
            sets.push(automaton(now)?);
            rest = later;
        }
        Ok(Self(sets))
    }

    fn is_match(&self, path: &str) -> bool {
        self.0.iter().any(|set| set.is_match(path))
    }
}

fn automaton(patterns: &[String]) -> Result<GlobSet, BadPattern> {
    let mut set = GlobSetBuilder::new();
    for text in patterns {
        set.add(pattern(text)?);
    }
    let too_large = |error: globset::Error| BadPattern { pattern: patterns.join(", "), why: error.to_string() };
    set.build().map_err(too_large)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_file_is_in_the_set_when_a_pattern_matches_and_none_excludes() {
        for (files, exclude, path, expected) in [
            ("**/*.rs", "", "main.rs", true),
            ("**/*.rs", "", "src/deep/main.rs", true),
            ("*.rs", "", "src/main.rs", false),
            ("src/*.rs", "", "src/deep/main.rs", false),
            ("**/*.{js,ts}", "", "a/b.ts", true),
            ("**/*.rs", "fixtures/**", "fixtures/a.rs", false),
            ("**/*.rs", "fixtures/**", "src/fixtures/a.rs", true),
            ("", "fixtures/**", "README.md", true),
            ("", "", "anything", true),
        ] {
            let set = FileSet::new(&words(files), &words(exclude)).expect("patterns");
            assert_eq!(set.contains(path), expected, "{files} without {exclude}: {path}");
        }
    }

    #[test]
    fn many_patterns_are_several_automata() {
        let patterns: Vec<String> = (0..3_000).map(|number| format!("**/*{number}*x*{number}/**")).collect();
        let set = FileSet::new(&patterns, &[]).expect("patterns");
        assert_eq!(set.files.as_ref().map(|files| files.0.len()), Some(15));
        assert!(set.contains("a/7x7/b") && set.contains("a/2999x2999/b") && !set.contains("a/7/b"));
        let long: Vec<String> = (0..10).map(|number| format!("{}/{number}", "a".repeat(6_000))).collect();
        let set = FileSet::new(&[], &long).expect("patterns");
        assert_eq!(set.exclude.0.len(), 5);
        assert!(!set.contains(&long[9]) && set.contains("a"));
    }

    #[test]
    fn a_pattern_that_can_never_match_is_refused() {
        for text in ["", "/src/*.rs", "./a", "a/../b", "[", "a{b"] {
            assert!(pattern(text).is_err(), "{text}");
        }
    }
}
