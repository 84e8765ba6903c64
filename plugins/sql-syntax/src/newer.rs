//! Rewrites the syntax that PostgreSQL 18 added to syntax of 17.
//!
//! The parser has the tables of 17. The grammar of 18 has about a dozen additions, and for each there is syntax of 17 that is
//! allowed in the same place: `STORED` for `VIRTUAL`, `DEFERRABLE` for `ENFORCED`. If 17 refuses a statement, its additions are
//! replaced and it is parsed once more. The meaning does not matter, because nothing is ever run.

use crate::words::{Word, words};

/// A statement as 17 writes it, and where each of its parts comes from.
pub(crate) struct Rewritten {
    pub(crate) text: String,
    /// The length up to which the new text is the same as the old, shifted: (in the new text, in the old one).
    places: Vec<(usize, usize)>,
}

impl Rewritten {
    /// The place in the original for one in the new text.
    pub(crate) fn original(&self, at: usize) -> usize {
        let (new, old) = self.places.iter().rev().find(|(new, _)| *new <= at).copied().unwrap_or_default();
        old + (at - new)
    }
}

/// A replacement of some bytes.
type Edit = (std::ops::Range<usize>, &'static str);

/// The statement as 17 writes it, if it has anything of 18.
pub(crate) fn as_17(statement: &str) -> Option<Rewritten> {
    let words = words(statement);
    let mut edits: Vec<Edit> =
        (0..words.len()).filter_map(|at| WordCursor { words: &words, at }.edits()).flatten().collect();
    edits.sort_by_key(|(range, _)| range.start);
    edits.dedup_by(|one, before| one.0.start < before.0.end);
    if edits.is_empty() {
        return None;
    }
    let mut rewritten = Rewritten { text: String::with_capacity(statement.len() + 32), places: vec![(0, 0)] };
    let mut from = 0;
    for (range, instead) in edits {
        rewritten.text.push_str(&statement[from..range.start]);
        rewritten.text.push_str(instead);
        from = range.end;
        rewritten.places.push((rewritten.text.len(), from));
    }
    rewritten.text.push_str(&statement[from..]);
    Some(rewritten)
}

/// A place among the words of a statement.
struct WordCursor<'w, 's> {
    words: &'w [Word<'s>],
    at: usize,
}

impl WordCursor<'_, '_> {
    fn word(&self, ahead: usize) -> Option<&Word<'_>> {
        self.words.get(self.at + ahead)
    }

    /// Whether these words stand here; `_` is any name.
    fn has(&self, wanted: &[&str]) -> bool {
        wanted.iter().enumerate().all(|(ahead, wanted)| {
            self.word(ahead).is_some_and(|word| if *wanted == "_" { word.is_name() } else { word.is(wanted) })
        })
    }

    fn is_behind(&self, back: usize, wanted: &[&str]) -> bool {
        let word = self.at.checked_sub(back).and_then(|at| self.words.get(at));
        word.is_some_and(|word| wanted.iter().any(|wanted| word.is(wanted)))
    }

    fn starts(&self, wanted: &[&str]) -> bool {
        WordCursor { words: self.words, at: 0 }.has(wanted)
    }

    fn range(&self, first: usize, last: usize) -> std::ops::Range<usize> {
        let (first, last) = (self.words[self.at + first], self.words[self.at + last]);
        first.at..last.at + last.text.len()
    }

    /// The bracket that closes the one here.
    fn closing(&self, ahead: usize) -> Option<usize> {
        let depth = self.word(ahead)?.depth;
        (ahead + 1..self.words.len() - self.at).find(|&next| {
            let word = self.words[self.at + next];
            word.text == ")" && word.depth == depth
        })
    }

    fn edits(&self) -> Option<Vec<Edit>> {
        let one = |range, instead| Some(vec![(range, instead)]);
        let after = |ahead: usize| self.range(ahead, ahead).end;
        let defines = self.starts(&["create"]) || self.starts(&["alter"]);
        match self.word(0)?.text.to_ascii_lowercase().as_str() {
            // GENERATED ALWAYS AS (…) [VIRTUAL]
            "generated" if defines => {
                let bracket = if self.has(&["generated", "always", "as", "("]) { 3 } else { 4 };
                if bracket == 4 && !self.has(&["generated", "by", "default", "as", "("]) {
                    return None;
                }
                let end = self.closing(bracket)?;
                match self.word(end + 1) {
                    Some(word) if word.is("stored") => None,
                    Some(word) if word.is("virtual") => one(self.range(end + 1, end + 1), "stored"),
                    _ => one(after(end)..after(end), " stored"),
                }
            }
            // [NOT] ENFORCED
            "enforced" if defines => {
                let named = [",", "(", ".", "column", "add", "set", "drop", "alter", "on", "rename", "to", "table"];
                (!self.is_behind(1, &named)).then(|| vec![(self.range(0, 0), "deferrable")])
            }
            // NOT NULL NO INHERIT, of a column; [CONSTRAINT c] NOT NULL a, of a table
            "not" if defines && self.has(&["not", "null"]) => {
                let starts = |back| self.is_behind(back, &[",", "(", "add"]);
                if self.has(&["not", "null", "_"]) && (starts(1) || self.is_behind(2, &["constraint"]) && starts(3)) {
                    let check = [(self.range(0, 0), "check"), (self.range(1, 1), "("), (after(2)..after(2), ")")];
                    return Some(check.into());
                }
                self.has(&["not", "null", "no", "inherit"]).then(|| vec![(self.range(2, 3), "")])
            }
            // (a, b WITHOUT OVERLAPS), (a, PERIOD b)
            "without" if defines && self.has(&["without", "overlaps", ")"]) => one(self.range(0, 1), ""),
            "," if defines && self.has(&[",", "period", "_", ")"]) => one(self.range(1, 1), ""),
            // ALTER CONSTRAINT c INHERIT
            "inherit" if self.is_behind(2, &["constraint"]) && self.is_behind(3, &["alter"]) => {
                one(self.range(0, 0), "")
            }
            // RETURNING WITH (OLD AS a, NEW AS b)
            "returning" if self.has(&["returning", "with", "("]) => {
                let end = self.closing(2)?;
                let mut next = 3;
                loop {
                    let option = WordCursor { words: self.words, at: self.at + next };
                    if !option.has(&["old", "as", "_"]) && !option.has(&["new", "as", "_"]) {
                        return None;
                    }
                    next += 3;
                    if next == end {
                        return one(self.range(1, end), "");
                    }
                    if self.word(next)?.text != "," {
                        return None;
                    }
                    next += 1;
                }
            }
            // VACUUM ONLY a, ANALYZE a *
            "only" | "*" if ["vacuum", "analyze", "analyse"].iter().any(|start| self.starts(&[start])) => {
                one(self.range(0, 0), "")
            }
            // ALTER DEFAULT PRIVILEGES … ON LARGE OBJECTS
            "large" if self.starts(&["alter", "default", "privileges"]) && self.has(&["large", "objects"]) => {
                one(self.range(0, 1), "tables")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_18_added_is_written_as_17_does() {
        for (statement, expected) in [
            (
                "create table a (b int generated always as (c * 2) virtual)",
                "create table a (b int generated always as (c * 2) stored)",
            ),
            (
                "create table a (b int generated always as (f(c)), d int)",
                "create table a (b int generated always as (f(c)) stored, d int)",
            ),
            ("alter table a add check (b > 0) not enforced", "alter table a add check (b > 0) not deferrable"),
            ("create table a (b int not null no inherit)", "create table a (b int not null )"),
            (
                "create table a (b int, constraint c not null b no inherit)",
                "create table a (b int, constraint c check ( b) no inherit)",
            ),
            ("alter table a add not null \"b c\" not valid", "alter table a add check ( \"b c\") not valid"),
            ("create table a (primary key (b, c without overlaps))", "create table a (primary key (b, c ))"),
            (
                "alter table a add foreign key (b, period c) references d (e, period f)",
                "alter table a add foreign key (b,  c) references d (e,  f)",
            ),
            ("alter table a alter constraint b inherit", "alter table a alter constraint b "),
            (
                "update a set b = 1 returning with (old as o, new as n) o.b, n.b",
                "update a set b = 1 returning  o.b, n.b",
            ),
            ("vacuum (analyze) only a, b *", "vacuum (analyze)  a, b "),
            (
                "alter default privileges grant select on large objects to a",
                "alter default privileges grant select on tables to a",
            ),
        ] {
            assert_eq!(as_17(statement).map(|rewritten| rewritten.text).as_deref(), Some(expected), "{statement}");
        }
        for same in [
            "create table a (b int generated always as (c) stored, enforced int)",
            "create table a (b int generated always as identity)",
            "create table a (b int not null, c int constraint d not null)",
            "select enforced, period from a where b is not null",
            "update a set b = 1 returning with (c)",
        ] {
            assert!(as_17(same).is_none(), "{same}");
        }
    }

    #[test]
    fn a_place_is_that_of_the_original() {
        let rewritten = as_17("alter table a add not null b nonsense").expect("rewritten");
        let at = rewritten.text.find("nonsense").expect("there");
        assert_eq!(rewritten.original(at), "alter table a add not null b ".len());
    }
}
