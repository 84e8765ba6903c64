//! `javascript-syntax`: every matching file is JavaScript, JSX, TypeScript or TSX, by its extension.
//!
//! The parser is oxc. For JavaScript, oxc's semantic pass finds early errors (a name declared twice, `break` outside a loop).
//! For TypeScript, only what its own parser refuses counts, because the rest depends on types and configuration. `walk.rs` finds
//! errors that oxc accepts. Before the parser runs, `scan.rs` scans for nesting that is too deep for its recursion.

mod codes;
mod dialect;
mod functions;
mod jumps;
mod level;
mod members;
mod scan;
mod sloppy;
mod walk;

use dialect::Attempt;
use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::{About, File, FileVerifier, Finding, Rule, Verdict};
use oxc_allocator::Allocator;
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::SemanticBuilder;

/// Up to how many tokens early errors are searched: every second may be one, and all must fit the memory of a call
/// (`let a,a,a…`: 250,000 do, 370,000 do not). A longer file that parses is not known to be right.
const EARLY_ERRORS_TOKENS: usize = 500_000;

struct JavascriptSyntax;

gatehost_sdk::syntax_settings! {
    struct Settings {
        /// Whether files that end in `.js`, `.mjs` and `.cjs` may contain JSX.
        jsx_in_js: bool = true,
    }
}

const FORMAT: Format = Format {
    name: "JavaScript or TypeScript",
    known_as: &["javascript", "typescript", "js", "ts", "jsx", "tsx", "node", "nodejs", "deno", "bun", "ts-node"],
    comments: &["//"],
    quotes: &['"', '\'', '`'],
    has_braces: true,
    reading: Reading::AtMark,
};

const RULES: &[Rule] = &[
    Rule::error("expected-token", "A token is missing or unexpected."),
    Rule::error("unexpected-token", "A token is unexpected."),
    Rule::error("unterminated", "A string, a template, a comment or a regular expression is not closed."),
    Rule::error("invalid-character", "A character is not allowed."),
    Rule::error("invalid-target", "The target of an assignment is not assignable."),
    Rule::error("regular-expression", "A regular expression is malformed."),
    Rule::error("redeclared", "A name is declared twice in one scope."),
    Rule::error("early-error", "The code violates a rule of the language that its grammar does not express."),
    Rule::error("syntax", "The file is not JavaScript or TypeScript."),
    Rule::TOO_DEEP,
    Rule::TOO_LONG,
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

impl FileVerifier for JavascriptSyntax {
    type Settings = Settings;
    const ABOUT: About = About::new(
        "javascript-syntax",
        env!("CARGO_PKG_VERSION"),
        "Every file is valid JavaScript, JSX, TypeScript or TSX, by its extension.",
    )
    .files(&["**/*.{js,mjs,cjs,jsx,ts,mts,cts,tsx}"])
    .settings::<Settings>()
    .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        file.judged_as(&FORMAT, settings.strict, |text| judge(file, text, &settings))
    }
}

gatehost_sdk::export_file_verifier!(JavascriptSyntax);
gatehost_sdk::use_arena!();

fn judge(file: &File, text: &str, settings: &Settings) -> Verdict {
    let attempts = dialect::attempts(&file.path, settings.jsx_in_js);
    let Some(first) = attempts.first() else {
        return Verdict::abstain("the file extension is neither JavaScript's nor TypeScript's");
    };
    let tokens = match scan::tokens(text, first.dialect()) {
        Ok(tokens) => tokens,
        Err((at, scan::LimitExceeded::Stack)) => return file.too_deep(at),
        Err((at, scan::LimitExceeded::Tokens)) => return file.too_long(at, scan::MOST_TOKENS),
    };
    let mut found: Option<Vec<(usize, Finding)>> = None;
    for attempt in attempts {
        match errors(text, attempt, tokens <= EARLY_ERRORS_TOKENS) {
            Outcome::Flow if settings.strict => {
                return Verdict::abstain("the file is Flow, which this verifier does not support");
            }
            Outcome::Flow => return Verdict::not_applicable("the file is Flow (`@flow`), not JavaScript"),
            Outcome::TooLong => return file.too_long(0, EARLY_ERRORS_TOKENS),
            Outcome::Errors(errors) if errors.is_empty() => return Verdict::pass(),
            // The way of reading it that gets further is the one that was meant.
            Outcome::Errors(errors) if found.as_ref().is_none_or(|before| start(before) < start(&errors)) => {
                found = Some(errors);
            }
            Outcome::Errors(_) => {}
        }
    }
    if is_sloppy(text, settings, &file.path) {
        return Verdict::pass();
    }
    file.verdict(found.unwrap_or_default())
}

/// Whether a file with errors is a script in which `let` is a name.
fn is_sloppy(text: &str, settings: &Settings, path: &str) -> bool {
    let scripts = dialect::attempts(path, settings.jsx_in_js).into_iter().filter(|attempt| attempt.is_script());
    let mut scripts = scripts.filter(|attempt| !attempt.dialect().typescript);
    let Some(script) = scripts.next() else { return false };
    let Some(renamed) = sloppy::renamed(text) else { return false };
    matches!(errors(&renamed, script, true), Outcome::Errors(errors) if errors.is_empty())
}

fn start(errors: &[(usize, Finding)]) -> Option<usize> {
    errors.iter().map(|(at, _)| *at).min()
}

enum Outcome {
    /// Everything that is wrong, each beside its byte.
    Errors(Vec<(usize, Finding)>),
    /// Types that are not TypeScript's.
    Flow,
    /// It parses, and was not looked through for early errors.
    TooLong,
}

fn errors(text: &str, attempt: Attempt, early_errors: bool) -> Outcome {
    let allocator = Allocator::default();
    let options = ParseOptions { parse_regular_expression: true, ..ParseOptions::default() };
    let parsed = Parser::new(&allocator, text, attempt.source_type()).with_options(options).parse();
    if !parsed.diagnostics.is_empty() {
        if parsed.is_flow_language {
            return Outcome::Flow;
        }
        return Outcome::Errors(parsed.diagnostics.iter().map(codes::of_parse_error).collect());
    }
    let typescript = attempt.dialect().typescript;
    let mut errors = walk::errors(&parsed.program, text, typescript);
    if !typescript && early_errors {
        let analysed = SemanticBuilder::new().with_check_syntax_error(true).build(&parsed.program);
        errors.extend(analysed.diagnostics.iter().map(codes::of_early_error));
    } else if !typescript && errors.is_empty() {
        return Outcome::TooLong;
    }
    Outcome::Errors(errors)
}

#[cfg(test)]
mod tests;
