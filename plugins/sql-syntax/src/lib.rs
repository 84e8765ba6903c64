//! `sql-syntax`: every matching file is SQL of a dialect: PostgreSQL's, SQLite's, or whichever of them takes it.
//!
//! PostgreSQL is read by its own grammar (`postgresql-cst-parser`: the tables of PostgreSQL 17's `gram.y`, and what 18
//! added in `newer.rs`), SQLite by `turso_parser`. What they cannot read for a reason of their own makes the verifier abstain. Without a dialect in the
//! settings, a file that neither takes may be of a third: then it fails only for what is wrong in all of them
//! (`lexed.rs`).

mod actions;
mod dialects;
mod lexed;
mod newer;
mod postgresql;
mod psql;
mod sqlite;
mod words;

use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::{About, File, FileVerifier, Finding, Rule, Verdict};
use lexed::Fault;
use serde::Deserialize;

const SETTINGS_SCHEMA: &str = concat!(
    r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "dialect": {
      "description": "Whose SQL it is. `auto`: it passes if either takes it, and fails only for what is wrong in every dialect.",
      "enum": ["auto", "postgresql", "sqlite"],
      "default": "auto"
    },
    "version": {
      "description": "The version of PostgreSQL whose syntax is taken.",
      "enum": ["17", "18"],
      "default": "18"
    },
    "#,
    gatehost_sdk::strict_schema!(),
    r#"
  },
  "additionalProperties": false
}"#
);

/// How many findings are reported.
const MOST_FINDINGS: usize = 50;
/// How deep brackets may be nested: what both parsers' stacks are sure to hold.
const MOST_NESTING: usize = 200;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    dialect: Dialect,
    version: Version,
    strict: bool,
}

/// A version of PostgreSQL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
enum Version {
    #[serde(rename = "17")]
    Seventeen,
    #[default]
    #[serde(rename = "18")]
    Eighteen,
}

const FORMAT: Format = Format {
    name: "SQL",
    known_as: &["sql"],
    comments: &["--"],
    quotes: &['"', '\''],
    has_braces: false,
    reading: Reading::AtMark,
};

const RULES: &[Rule] = &[
    Rule::error("syntax", "a statement is not SQL of the dialect"),
    Rule::error("unbalanced-bracket", "a bracket is not closed, or closes nothing"),
    Rule::error("unclosed-string", "a string or a quoted name is not closed"),
    Rule::error("unclosed-comment", "a comment is not closed"),
    Rule::error("unexpected-end", "the file ends within a statement"),
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Dialect {
    #[default]
    Auto,
    Postgresql,
    Sqlite,
}

struct SqlSyntax;

impl FileVerifier for SqlSyntax {
    type Settings = Settings;
    const ABOUT: About =
        About::new("sql-syntax", env!("CARGO_PKG_VERSION"), "Every file is valid SQL (PostgreSQL's or SQLite's).")
            .files(&["**/*.sql", "**/*.psql", "**/*.pgsql"])
            .settings_schema(SETTINGS_SCHEMA)
            .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        match file.utf8("SQL here") {
            Ok(text) => file.unless_foreign(text, &FORMAT, settings.strict, judge(file, text, &settings)),
            Err(finding) => finding.into(),
        }
    }
}

gatehost_sdk::export_file_verifier!(SqlSyntax);

/// What a parser says of a text.
#[derive(Debug)]
enum Answer {
    Right,
    Wrong(Vec<Fault>),
    /// Not a matter that this parser can judge.
    Unsure(String),
    /// Not SQL before it is rendered, for this reason.
    Template(String),
}

fn judge(file: &File, text: &str, settings: &Settings) -> Verdict {
    match settings.dialect {
        Dialect::Postgresql => verdict(file, postgresql::answer(text, settings.version), "PostgreSQL", settings.strict),
        Dialect::Sqlite => verdict(file, sqlite::answer(text), "SQLite", settings.strict),
        Dialect::Auto => of_any_dialect(file, text, settings),
    }
}

fn verdict(file: &File, answer: Answer, dialect: &str, strict: bool) -> Verdict {
    match answer {
        Answer::Template(reason) if !strict => Verdict::not_applicable(reason),
        Answer::Template(why) => Verdict::abstain(format!("cannot be judged as {dialect}: {why}")),
        Answer::Right => Verdict::pass(),
        Answer::Wrong(faults) => findings(file, faults),
        Answer::Unsure(why) => Verdict::abstain(format!("cannot be judged as {dialect}: {why}")),
    }
}

fn findings(file: &File, faults: Vec<Fault>) -> Verdict {
    let findings = faults.into_iter().take(MOST_FINDINGS);
    findings
        .map(|fault| Finding::error(fault.code, fault.message).at(file.place_of(fault.at)))
        .collect::<Vec<_>>()
        .into()
}

fn of_any_dialect(file: &File, text: &str, settings: &Settings) -> Verdict {
    let strict = settings.strict;
    let postgresql = postgresql::answer(text, settings.version);
    if matches!(postgresql, Answer::Right) || matches!(sqlite::answer_in_doubt(text), Answer::Right) {
        return Verdict::pass();
    }
    if let Some(other) = dialects::recognised(text).filter(|_| !strict) {
        return Verdict::not_applicable(format!("the file is SQL of {other}, which this verifier does not read"));
    }
    if let Answer::Template(reason) = postgresql {
        return verdict(file, Answer::Template(reason), "SQL", strict);
    }
    let lexed = lexed::lexed(text);
    // In MySQL a backslash escapes a quote, and so everything behind it would be read wrongly here.
    let is_read_rightly = lexed.unknown_command.is_none() && !text.contains("\\'") && !text.contains("\\\"");
    if is_read_rightly && !lexed.faults.is_empty() {
        return findings(file, lexed.faults);
    }
    let why = match postgresql {
        Answer::Wrong(faults) => faults.first().map_or_else(String::new, |fault| {
            let line = text[..fault.at].matches('\n').count() + 1;
            format!("PostgreSQL has a {} in line {line}", fault.message)
        }),
        Answer::Unsure(why) | Answer::Template(why) => why,
        Answer::Right => String::new(),
    };
    Verdict::abstain(format!("neither PostgreSQL nor SQLite takes it, and no `dialect` is set ({why})"))
}

#[cfg(test)]
mod tests;
