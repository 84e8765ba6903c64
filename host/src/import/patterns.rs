//! Converts the regular expressions of pre-commit to file patterns of gate.toml, where that is possible.

/// Returns patterns that match the same paths as a regular expression; `None` if that is not certain.
///
/// Supported are alternatives of literal text, with `^`, `$`, `.*`, escaped characters and one group around all of it, also
/// in verbose form (`(?x)`). pre-commit searches: without anchors, anything may come before and after.
pub(super) fn of_regex(regex: &str) -> Option<Vec<String>> {
    let regex = match regex.trim().strip_prefix("(?x)") {
        Some(verbose) => verbose.lines().map(without_comment).collect::<String>().split_whitespace().collect(),
        None => regex.trim().to_owned(),
    };
    let (mut inner, mut from_start, mut to_end) = (regex.as_str(), false, false);
    // `^(?: … )$`: the anchors hold for every alternative.
    let grouped = inner.trim_start_matches('^').trim_end_matches('$');
    if let Some(group) = grouped.strip_prefix('(').and_then(|group| group.strip_suffix(')')) {
        let group = group.strip_prefix("?:").unwrap_or(group);
        if group.contains(['(', ')']) {
            return None;
        }
        (from_start, to_end) = (inner.starts_with('^'), inner.ends_with('$'));
        inner = group;
    }
    let mut patterns = Vec::new();
    for alternative in inner.split('|').filter(|alternative| !alternative.is_empty()) {
        patterns.extend(alternative_patterns(alternative, from_start, to_end)?);
    }
    (!patterns.is_empty()).then_some(patterns)
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or_default()
}

fn alternative_patterns(text: &str, from_start: bool, to_end: bool) -> Option<Vec<String>> {
    let anchored_start = from_start || text.starts_with('^');
    let anchored_end = to_end || (text.ends_with('$') && !text.ends_with("\\$"));
    let text = text.strip_prefix('^').unwrap_or(text);
    let text = if anchored_end { text.strip_suffix('$').unwrap_or(text) } else { text };
    // `.*` at either end is the same as no anchor.
    let (text, anchored_end) = match text.strip_suffix(".*") {
        Some(rest) => (rest, false),
        None => (text, anchored_end),
    };
    let (text, anchored_start) = match text.strip_prefix(".*") {
        Some(rest) => (rest, false),
        None => (text, anchored_start),
    };
    let parts: Vec<String> = text.split(".*").map(literal).collect::<Option<_>>()?;
    let body = match parts.as_slice() {
        [only] if !only.is_empty() => only.clone(),
        // Anything may be between two parts, including folders.
        [first, second] if first.ends_with('/') && !second.is_empty() && !second.contains('/') => {
            format!("{first}**/*{second}")
        }
        _ => return None,
    };
    let starts = if anchored_start {
        body
    } else if body.trim_end_matches('/').contains('/') {
        // The text could start in the middle of a name, which a pattern with a folder cannot express.
        return None;
    } else {
        format!("**/*{body}")
    };
    Some(match (anchored_end, starts.ends_with('/')) {
        (true, false) => vec![starts],
        (true, true) => return None,
        (false, true) => vec![format!("{starts}**")],
        (false, false) => vec![format!("{starts}*"), format!("{starts}*/**")],
    })
}

/// Returns literal text without the escapes of regular expressions; `None` if it is not literal.
fn literal(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                c @ ('.' | '-' | '/' | '_' | '+') => plain.push(c),
                _ => return None,
            },
            // Special characters of regular expressions or patterns.
            '.' | '^' | '$' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '!' => return None,
            c => plain.push(c),
        }
    }
    Some(plain)
}

/// Converts a pattern of lefthook, whose `*` also matches folders.
pub(super) fn of_lefthook(pattern: &str) -> String {
    match pattern.rsplit_once('/') {
        _ if pattern.contains("**") => pattern.to_owned(),
        None => format!("**/{pattern}"),
        Some((folder, name)) if name.starts_with('*') => format!("{folder}/**/{name}"),
        Some(_) => pattern.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_regular_expression_says_is_said_by_patterns_or_not_at_all() {
        for (regex, expected) in [
            (r"\.py$", Some("**/*.py")),
            (r"^src/", Some("src/**")),
            (r"^src/.*\.py$", Some("src/**/*.py")),
            (r"^(vendor|third_party)/", None),
            (r"^(vendor/|third_party/)", Some("vendor/** third_party/**")),
            (r"^package-lock\.json$", Some("package-lock.json")),
            (r"fixtures/", Some("**/*fixtures/**")),
            (r"\.(js|ts)$", None),
            (r"(\.js|\.ts)$", Some("**/*.js **/*.ts")),
            (r"\.js$|\.ts$", Some("**/*.js **/*.ts")),
            ("(?x)^(\n  docs/.*|  # all\n  a\\.md\n)$", Some("docs/** a.md")),
            (r"^docs", Some("docs* docs*/**")),
            (r"[a-z]+", None),
            (r"a/b", None),
            ("", None),
        ] {
            assert_eq!(of_regex(regex).map(|patterns| patterns.join(" ")).as_deref(), expected, "{regex}");
        }
        for (pattern, expected) in
            [("*.py", "**/*.py"), ("src/*.js", "src/**/*.js"), ("a/**/b", "a/**/b"), ("a/b.c", "a/b.c")]
        {
            assert_eq!(of_lefthook(pattern), expected);
        }
    }
}
