//! Places in the work that compilers and linters name: `path:line:column: …`, `path(line,column): …`, and rustc's
//! arrows, whose message stands in the line above.

use gatehost_sdk::{Place, command};

/// The first places of a text, each with what is said of it. Each is named once, and reading ends with the last that is
/// wanted: a compiler can name a hundred thousand.
pub(crate) fn named(text: &str, most: usize) -> Vec<(Place, String)> {
    let mut found: Vec<(Place, String)> = Vec::new();
    let mut before = "";
    for line in text.lines() {
        if found.len() >= most {
            break;
        }
        let this = match line.trim_start().strip_prefix("--> ") {
            Some(place) => colons(place).map(|(place, _)| (place, before.trim().to_owned())),
            None => colons(line).or_else(|| brackets(line)).map(|(place, said)| (place, said.trim().to_owned())),
        };
        before = line;
        if let Some((place, said)) = this
            && !said.is_empty()
            && !found.iter().any(|(known, _)| (&known.path, known.line) == (&place.path, place.line))
        {
            found.push((place, said));
        }
    }
    found
}

/// `path:line:column: message`, the message perhaps empty. Without a column it could be anything, such as a time.
fn colons(text: &str) -> Option<(Place, &str)> {
    let mut parts = text.splitn(4, ':');
    let (path, line, column) = (parts.next()?, parts.next()?, parts.next()?);
    let column = column.trim_end();
    is_path(path).then_some(())?;
    Some((command::place(path, line.parse().ok()?, Some(column.parse().ok()?))?, parts.next().unwrap_or("")))
}

/// `path(line,column): message`, as the TypeScript compiler writes it.
fn brackets(text: &str) -> Option<(Place, &str)> {
    let (path, rest) = text.split_once('(')?;
    let (position, said) = rest.split_once("): ")?;
    let (line, column) = position.split_once(',')?;
    is_path(path).then_some(())?;
    Some((command::place(path, line.parse().ok()?, Some(column.parse().ok()?))?, said))
}

/// A file with an ending; not a sentence.
fn is_path(path: &str) -> bool {
    !path.contains(char::is_whitespace) && path.rsplit('/').next().is_some_and(|name| name.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_understood() {
        for (text, expected) in [
            ("src/a.c:3:7: error: expected ';'", &["src/a.c:3:7 error: expected ';'"][..]),
            ("error[E0425]: no `x`\n  --> src/lib.rs:4:5\n   |\n", &["src/lib.rs:4:5 error[E0425]: no `x`"]),
            ("src/a.ts(3,7): error TS2304: no name", &["src/a.ts:3:7 error TS2304: no name"]),
            ("./pkg/a.go:9:2: undefined: y\n./pkg/a.go:9:2: undefined: y", &["pkg/a.go:9:2 undefined: y"]),
            ("/usr/include/a.h:1:2: error: x\n../a.c:1:2: y", &[]),
            ("at 12:30:45: done\nhttp://a.b:80:90: x\nok", &[]),
        ] {
            let found = named(text, 20).into_iter().map(|(place, said)| {
                let number = |n: Option<u32>| n.map_or(0, |n| n);
                format!("{}:{}:{} {said}", place.path, number(place.line), number(place.column))
            });
            assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn no_more_are_read_than_are_wanted() {
        let text: String = (1..=60_000).map(|n| format!("src/f{n}.ts:{n}:3: error\n")).collect();
        assert_eq!(named(&text, 20).len(), 20);
        assert!(named(&text, 0).is_empty());
    }
}
