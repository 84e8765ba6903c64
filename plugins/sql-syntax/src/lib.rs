//! `sql-syntax`: every matching file is SQL for PostgreSQL, for SQLite, or for either of them.
//!
//! `postgresql-cst-parser` parses PostgreSQL with the tables of PostgreSQL 17's `gram.y`; `newer.rs` adds version 18.
//! `turso_parser` parses SQLite. If a parser does not support a statement, the verifier abstains. Without the setting `dialect`,
//! a file that neither accepts may be for another database, so it fails only for errors in every dialect (`lexed.rs`).

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

/// The limit of findings.
const MOST_FINDINGS: usize = 50;
/// How deep brackets may be nested: what both parsers' stacks are sure to hold.
const MOST_NESTING: usize = 200;

gatehost_sdk::syntax_settings! {
    struct Settings {
        /// The dialect of the files. With `auto`, a file passes if PostgreSQL or SQLite accepts it, and fails only if it is
        /// invalid in every dialect.
        dialect: Dialect = Dialect::Auto,
        /// The version of PostgreSQL.
        version: Version = Version::Eighteen,
    }
}

gatehost_sdk::settings! {
    /// A version of PostgreSQL.
    enum Version {
        Seventeen = "17",
        Eighteen = "18",
    }
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
    Rule::error("syntax", "A statement is not valid in the dialect."),
    Rule::error("unbalanced-bracket", "A bracket is not closed, or has no opening bracket."),
    Rule::error("unclosed-string", "A string or a quoted name is not closed."),
    Rule::error("unclosed-comment", "A comment is not closed."),
    Rule::error("unexpected-end", "The file ends within a statement."),
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

gatehost_sdk::settings! {
    /// A dialect of SQL.
    enum Dialect {
        Auto = "auto",
        Postgresql = "postgresql",
        Sqlite = "sqlite",
    }
}

struct SqlSyntax;

impl FileVerifier for SqlSyntax {
    type Settings = Settings;
    const ABOUT: About =
        About::new("sql-syntax", env!("CARGO_PKG_VERSION"), "Every file is valid SQL (PostgreSQL's or SQLite's).")
            .files(&["**/*.sql", "**/*.psql", "**/*.pgsql"])
            .settings::<Settings>()
            .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        file.judged_as(&FORMAT, settings.strict, |text| judge(file, text, &settings))
    }
}

gatehost_sdk::export_file_verifier!(SqlSyntax);

/// What a parser says of a text.
#[derive(Debug)]
enum Outcome {
    Valid,
    Invalid(Vec<Fault>),
    /// Not a matter that this parser can judge.
    Unknown(String),
    /// Not SQL before it is rendered, for this reason.
    Template(String),
}

fn judge(file: &File, text: &str, settings: &Settings) -> Verdict {
    match settings.dialect {
        Dialect::Postgresql => {
            verdict(file, postgresql::answer(text, settings.version, MOST_FINDINGS), "PostgreSQL", settings.strict)
        }
        Dialect::Sqlite => verdict(file, sqlite::answer(text), "SQLite", settings.strict),
        Dialect::Auto => of_any_dialect(file, text, settings),
    }
}

fn verdict(file: &File, answer: Outcome, dialect: &str, strict: bool) -> Verdict {
    match answer {
        Outcome::Template(reason) if !strict => Verdict::not_applicable(reason),
        Outcome::Template(why) => Verdict::abstain(format!("the file cannot be checked as {dialect}: {why}")),
        Outcome::Valid => Verdict::pass(),
        Outcome::Invalid(faults) => findings(file, faults),
        Outcome::Unknown(why) => Verdict::abstain(format!("the file cannot be checked as {dialect}: {why}")),
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
    // One fault is enough to know that it is not PostgreSQL.
    let postgresql = postgresql::answer(text, settings.version, 1);
    if matches!(postgresql, Outcome::Valid) || matches!(sqlite::answer_in_doubt(text), Outcome::Valid) {
        return Verdict::pass();
    }
    if let Some(other) = dialects::recognised(text).filter(|_| !strict) {
        return Verdict::not_applicable(format!("the file is SQL for {other}, which this verifier does not support"));
    }
    if let Outcome::Template(reason) = postgresql {
        return verdict(file, Outcome::Template(reason), "SQL", strict);
    }
    let lexed = lexed::lexed(text);
    // In MySQL a backslash escapes a quote, and so everything after it would be read wrongly here.
    let is_read_rightly = lexed.unknown_command.is_none() && !text.contains("\\'") && !text.contains("\\\"");
    if is_read_rightly && !lexed.faults.is_empty() {
        return findings(file, lexed.faults);
    }
    let why = match postgresql {
        Outcome::Invalid(faults) => faults.first().map_or_else(String::new, |fault| {
            let line = text[..fault.at].matches('\n').count() + 1;
            format!("PostgreSQL: {} on line {line}", fault.message)
        }),
        Outcome::Unknown(why) | Outcome::Template(why) => why,
        Outcome::Valid => String::new(),
    };
    Verdict::abstain(format!("neither PostgreSQL nor SQLite accepts the file; set `dialect` ({why})"))
}

#[cfg(test)]
mod tests;
