//! `rust-syntax`: every matching file is Rust that rustc's parser accepts, in any edition or in the configured one.
//!
//! The parser is rust-analyzer's, which recovers from every error. `rules.rs` finds errors that it accepts and rustc does not,
//! and `soft.rs` rewrites syntax that it refuses and rustc accepts. Before the parser runs, `depth.rs` scans for nesting that is
//! too deep for its recursion.

mod codes;
mod depth;
mod rules;
mod soft;

use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::{About, File, FileVerifier, Finding, Rule, Verdict};
use ra_ap_parser::Edition;
use ra_ap_syntax::SourceFile;

struct RustSyntax;

gatehost_sdk::syntax_settings! {
    struct Settings {
        /// The edition of the files. Without it, a file passes if any edition accepts it.
        edition: Option<String> => { enum: ["2015", "2018", "2021", "2024"] },
    }
}

const FORMAT: Format = Format {
    name: "Rust",
    known_as: &["rust", "rs"],
    comments: &["//"],
    quotes: &['"'],
    has_braces: true,
    reading: Reading::AtMark,
};

const RULES: &[Rule] = &[
    Rule::error("expected", "A token or an expression is missing or unexpected."),
    Rule::error("unterminated", "A string, a character or a comment is not closed."),
    Rule::error("literal", "A literal is malformed."),
    Rule::error("syntax", "The file is not Rust."),
    Rule::TOO_DEEP,
    Rule::TOO_LONG,
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

impl FileVerifier for RustSyntax {
    type Settings = Settings;
    const ABOUT: About =
        About::new("rust-syntax", env!("CARGO_PKG_VERSION"), "Every file is valid Rust (as rustc parses it).")
            .files(&["**/*.rs"])
            .settings::<Settings>()
            .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        file.judged_as(&FORMAT, settings.strict, |text| {
            let editions = editions(settings.edition.as_deref());
            // rustc drops a carriage return before a line feed. Lines and columns stay the same.
            match soft::with_line_feeds(text).or_else(|| soft::with_plain_attribute(text)) {
                Some(text) => judge(&File::new(&file.path, &*text), &text, editions),
                None => judge(file, text, editions),
            }
        })
    }
}

gatehost_sdk::export_file_verifier!(RustSyntax);
gatehost_sdk::use_arena!();

/// The editions of which one must do, the newest first. No file says which is meant; `Cargo.toml` does.
fn editions(set: Option<&str>) -> &'static [Edition] {
    match set {
        Some("2015") => &[Edition::Edition2015],
        Some("2018") => &[Edition::Edition2018],
        Some("2021") => &[Edition::Edition2021],
        Some("2024") => &[Edition::Edition2024],
        _ => &[Edition::Edition2024, Edition::Edition2021, Edition::Edition2018, Edition::Edition2015],
    }
}

fn judge(file: &File, whole: &str, editions: &[Edition]) -> Verdict {
    // rustc accepts a byte order mark, and rust-analyzer's lexer does not.
    let text = whole.strip_prefix('\u{FEFF}').unwrap_or(whole);
    let mark = whole.len() - text.len();
    match depth::first_beyond(text) {
        None => {}
        Some((at, depth::LimitExceeded::Stack)) => return file.too_deep(mark + at),
        Some((at, depth::LimitExceeded::Tokens)) => return file.too_long(mark + at, depth::MOST_TOKENS),
    }
    let mut found = Vec::new();
    for &edition in editions {
        let errors = errors(text, edition);
        if errors.is_empty() || soft::is_right(text, edition) {
            return Verdict::pass();
        }
        // The newest edition speaks for all.
        if found.is_empty() {
            found = errors;
        }
    }
    file.verdict(found.into_iter().map(|(at, finding)| (mark + at, finding)).collect())
}

/// Everything that is wrong, each beside its byte.
fn errors(text: &str, edition: Edition) -> Vec<(usize, Finding)> {
    let parsed = SourceFile::parse(text, edition);
    let errors = parsed.errors();
    let found = if errors.is_empty() {
        rules::errors(&parsed.syntax_node())
    } else {
        errors.iter().map(|error| (usize::from(error.range().start()), codes::of(&error.to_string()))).collect()
    };
    // The memory goes with the instance; dropping a tree would only cost time and stack.
    std::mem::forget(parsed);
    found
}

#[cfg(test)]
mod tests;
