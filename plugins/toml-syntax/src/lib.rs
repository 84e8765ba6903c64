//! `toml-syntax`: every matching file is a TOML document.
//!
//! The parser is that of the `toml` crate (TOML 1.1). `quick.rs` recognises most valid files without it. Otherwise the document is
//! built, which is all that a valid file needs. If that fails, or for TOML 1.0, `events.rs` reads the text again: it checks the
//! grammar and every value, continues after an error, and knows what TOML 1.1 added.

mod events;
mod older;
mod quick;

use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::{About, File, FileVerifier, Finding, Rule, Verdict};
use toml::de::{DeTable, DeValue};

/// The limit of findings.
const MOST_FINDINGS: usize = 50;
/// How deep arrays and inline tables may be nested: what the parser's own document takes.
const MOST_NESTING: u32 = 80;

gatehost_sdk::syntax_settings! {
    struct Settings {
        /// The version of TOML. `1.0` refuses what TOML 1.1 added: line breaks and a last comma in inline tables, `\e` and
        /// `\x`, times without seconds.
        version: Version = Version::V1_1,
    }
}

const FORMAT: Format = Format {
    name: "TOML",
    known_as: &["toml"],
    comments: &["#"],
    quotes: &['"', '\''],
    has_braces: false,
    reading: Reading::AtMark,
};

const RULES: &[Rule] = &[
    Rule::error("syntax", "The file is not valid TOML."),
    Rule::error("duplicate-key", "A key or a table is defined twice."),
    Rule::error("toml-1-0", "The syntax was added in TOML 1.1."),
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

gatehost_sdk::settings! {
    /// A version of TOML.
    enum Version {
        V1_0 = "1.0",
        V1_1 = "1.1",
    }
}

/// The size limit of a file: in the worst case the parser needs forty times as much.
const MOST_BYTES: usize = 4 << 20;

struct TomlSyntax;

impl FileVerifier for TomlSyntax {
    type Settings = Settings;
    const ABOUT: About =
        About::new("toml-syntax", env!("CARGO_PKG_VERSION"), "Every file is valid TOML (1.1, or 1.0).")
            .files(&[
                "**/*.toml",
                "**/Cargo.lock",
                "**/poetry.lock",
                "**/uv.lock",
                "**/pdm.lock",
                "**/Pipfile",
                "**/Gopkg.lock",
            ])
            .settings::<Settings>()
            .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        file.judged_as(&FORMAT, settings.strict, |text| judge(file, text, settings.version))
    }
}

gatehost_sdk::export_file_verifier!(TomlSyntax);
gatehost_sdk::use_arena!();

fn judge(file: &File, text: &str, version: Version) -> Verdict {
    if text.len() > MOST_BYTES {
        return Verdict::abstain("the file is larger than 4 MiB, the limit of this verifier");
    }
    if quick::is_toml(text) { Verdict::pass() } else { parsed(file, text, version) }
}

/// Returns the verdict of the parser.
fn parsed(file: &File, text: &str, version: Version) -> Verdict {
    let document = DeTable::parse(text);
    if version == Version::V1_1
        && let Ok(table) = &document
        && table.get_ref().values().all(|value| has_digits(value.get_ref()))
    {
        return Verdict::pass();
    }
    let mut problems = events::problems(text, version);
    if let Err(error) = &document
        && problems.iter().all(|problem| problem.code != "syntax")
    {
        problems.push(document_problem(error));
    }
    problems.sort_by_key(|problem| problem.at);
    // What is said twice of one place is said once.
    problems.dedup_by_key(|problem| problem.at);
    if let Some(first) = problems.first()
        && first.code == "too-deep"
    {
        return Verdict::abstain(format!("{}; this verifier supports {MOST_NESTING} levels", first.message));
    }
    let findings = problems.into_iter().take(MOST_FINDINGS);
    findings
        .map(|problem| Finding::error(problem.code, problem.message).at(file.place_of(problem.at)))
        .collect::<Vec<_>>()
        .into()
}

/// What is wrong, and at which byte.
struct Problem {
    code: &'static str,
    message: String,
    at: usize,
}

/// Returns whether every integer in a value has digits of its radix. The document does not check that.
fn has_digits(value: &DeValue<'_>) -> bool {
    match value {
        DeValue::Integer(integer) => are_digits(integer.as_str(), integer.radix()),
        DeValue::Array(values) => values.iter().all(|value| has_digits(value.get_ref())),
        DeValue::Table(table) => table.values().all(|value| has_digits(value.get_ref())),
        _ => true,
    }
}

/// Returns whether a number has digits, and only digits of its radix. `0x` is a radix without a number.
fn are_digits(number: &str, radix: u32) -> bool {
    let digits = number.trim_start_matches(['+', '-']);
    !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix))
}

/// What only the whole document shows.
fn document_problem(error: &toml::de::Error) -> Problem {
    let code = match error.message() {
        deep if deep.contains("recurs") => "too-deep",
        twice if twice.contains("duplicate") || twice.contains("extend") => "duplicate-key",
        _ => "syntax",
    };
    Problem { code, message: error.message().to_owned(), at: error.span().map_or(0, |span| span.start) }
}

#[cfg(test)]
mod tests;
