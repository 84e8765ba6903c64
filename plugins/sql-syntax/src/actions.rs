//! What PostgreSQL refuses in the actions of its grammar and not by the grammar: options of roles, ways to partition.
//! Also what version 18 has and the grammar of 17 has not.

/// The options of a role that are names to the grammar.
const ROLE_OPTIONS: &[&str] = &[
    "superuser",
    "nosuperuser",
    "createrole",
    "nocreaterole",
    "replication",
    "noreplication",
    "createdb",
    "nocreatedb",
    "login",
    "nologin",
    "bypassrls",
    "nobypassrls",
    "inherit",
    "noinherit",
];

/// The first word of a statement that its grammar takes and its action does not, with its byte.
pub(crate) fn refused(statement: &str) -> Option<(usize, &str)> {
    let is_created = statement.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("create"));
    let is_altered = statement.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("alter"));
    if !is_created && !is_altered {
        return None;
    }
    let words: Vec<Word> = words(statement);
    match words.get(1)?.text.to_ascii_lowercase().as_str() {
        "user" if words.get(2)?.is("mapping") => None,
        "role" | "user" | "group" => role_option(&words),
        "table" | "unlogged" | "temp" | "temporary" if is_created => partition(&words),
        _ => None,
    }
}

#[derive(Clone, Copy)]
struct Word<'a> {
    at: usize,
    text: &'a str,
    /// How many brackets are open around it.
    depth: usize,
}

impl Word<'_> {
    fn is(&self, known: &str) -> bool {
        self.text.eq_ignore_ascii_case(known)
    }
}

/// Plain words, and everything else as single marks; strings, quoted names and comments are one mark each.
fn words(statement: &str) -> Vec<Word<'_>> {
    let (mut words, mut at, mut depth) = (Vec::new(), 0, 0_usize);
    while let Some(next) = statement[at..].chars().next() {
        let rest = &statement[at..];
        let until =
            |end: &str, skip: usize| rest[skip..].find(end).map_or(rest.len(), |found| skip + found + end.len());
        let length = match next {
            _ if rest.starts_with("--") => until("\n", 2),
            _ if rest.starts_with("/*") => until("*/", 2),
            '\'' => until("'", 1),
            '"' => until("\"", 1),
            _ if next.is_alphanumeric() || next == '_' => {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
            }
            _ => next.len_utf8(),
        };
        let is_comment = rest.starts_with("--") || rest.starts_with("/*");
        depth = if next == ')' { depth.saturating_sub(1) } else { depth };
        if !is_comment && !next.is_whitespace() {
            words.push(Word { at, text: &rest[..length], depth });
        }
        depth += usize::from(next == '(');
        at += length;
    }
    words
}

/// `CREATE ROLE name [WITH] option …`
fn role_option<'a>(words: &[Word<'a>]) -> Option<(usize, &'a str)> {
    // `ALTER ROLE name SET …`, `RENAME TO …`, `IN DATABASE …` and `ALTER GROUP … ADD USER` have no options.
    let is_other = |word: &Word| ["set", "reset", "rename", "in", "add", "drop"].iter().any(|known| word.is(known));
    if words.first()?.is("alter") && words.iter().skip(3).any(is_other) {
        return None;
    }
    let mut rest = words.iter().skip(3).peekable();
    while let Some(word) = rest.next() {
        let lower = word.text.to_ascii_lowercase();
        match &*lower {
            "with" | "encrypted" | "unencrypted" => {}
            // A value follows, or two words and a value.
            "password" | "sysid" | "limit" | "until" => drop(rest.next()),
            "connection" | "valid" => {}
            "in" => {}
            // Names follow.
            "role" | "admin" | "user" | "group" => {
                rest.next();
                while rest.next_if(|next| next.text == ",").is_some() {
                    rest.next();
                }
            }
            option if ROLE_OPTIONS.contains(&option) => {}
            option if option.starts_with(|c: char| c.is_ascii_alphabetic()) => return Some((word.at, word.text)),
            _ => {}
        }
    }
    None
}

/// `CREATE TABLE … PARTITION BY RANGE (…)`
fn partition<'a>(words: &[Word<'a>]) -> Option<(usize, &'a str)> {
    let strategy =
        words.windows(3).find(|three| three[0].depth == 0 && three[0].is("partition") && three[1].is("by"))?[2];
    let is_known =
        ["list", "range", "hash"].iter().any(|known| strategy.is(known) || strategy.text == format!("\"{known}\""));
    (!is_known).then_some((strategy.at, strategy.text))
}

/// What a wrong statement has that PostgreSQL 18 brought.
pub(crate) fn newer(statement: &str) -> Option<&'static str> {
    let words = words(statement);
    let has = |wanted: &[&str]| {
        words.windows(wanted.len()).any(|some| some.iter().zip(wanted).all(|(word, known)| word.is(known)))
    };
    let marks: &[(&[&str], &str)] = &[
        (&[")", "virtual"], "virtual generated columns"),
        (&["generated", "always", "as", "("], "virtual generated columns"),
        (&["without", "overlaps"], "`WITHOUT OVERLAPS`"),
        (&["period"], "`PERIOD`"),
        (&["enforced"], "`ENFORCED`"),
        (&["returning", "with", "("], "`RETURNING WITH`"),
        (&["only", "stats"], "`STATS`"),
    ];
    marks.iter().find(|(wanted, _)| has(wanted)).map(|(_, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_actions_refuse_is_found() {
        for (statement, expected) in [
            ("create role a superuser login", None),
            ("create role a with login password 'x' connection limit 3 valid until '2026' in role b, c admin d", None),
            ("create user \"a\" encrypted password null role b user c sysid 3", None),
            ("create role a nonsense", Some("nonsense")),
            ("create user a with login superduper", Some("superduper")),
            ("alter role a nologin", None),
            ("alter role a set search_path to b", None),
            ("alter user a nonsense", Some("nonsense")),
            ("alter group a add user b", None),
            ("create user mapping for a server b options (c 'd')", None),
            ("create table a (b int) partition by range (b)", None),
            ("create table a (b int) partition by magic (b)", Some("magic")),
            ("create table a as select rank() over (partition by magic (b)) from c", None),
            ("select 1", None),
        ] {
            assert_eq!(refused(statement).map(|(_, word)| word), expected, "{statement}");
        }
    }
}
