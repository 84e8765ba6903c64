//! `go-syntax`: every matching file is Go that gofmt's parser accepts.
//!
//! The parser is gosyn, which stops at the first error. Before it runs, `depth.rs` scans the tokens for nesting that is too deep
//! for its recursion, and for invalid tokens, on which the parser would panic.

mod adjacent;
mod depth;
mod joined;

use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::text::one_line;
use gatehost_sdk::{About, File, FileVerifier, Finding, Place, Rule, Verdict};
use gosyn::token::{LitKind, TokenKind};
use gosyn::{Error, Parser};

/// The size limit of a file: in the worst case the parser needs fifty times as much.
const MOST_BYTES: usize = 2 << 20;

const FORMAT: Format = Format {
    name: "Go",
    known_as: &["go"],
    comments: &["//"],
    quotes: &['"', '\'', '`'],
    has_braces: true,
    reading: Reading::AtMark,
};

const RULES: &[Rule] = &[
    Rule::error("expected-token", "A token is missing or unexpected."),
    Rule::error("unexpected-end", "The file ends within a declaration."),
    Rule::error("invalid-token", "A character or a literal is not a Go token."),
    Rule::error("syntax", "The file is not valid Go."),
    Rule::TOO_DEEP,
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

gatehost_sdk::syntax_settings! {
    struct Settings {}
}

struct GoSyntax;

impl FileVerifier for GoSyntax {
    type Settings = Settings;
    const ABOUT: About =
        About::new("go-syntax", env!("CARGO_PKG_VERSION"), "Every file is valid Go (as gofmt parses it).")
            .files(&["**/*.go"])
            .settings::<Settings>()
            .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        file.judged_as(&FORMAT, settings.strict, |text| judge(file, text))
    }
}

gatehost_sdk::export_file_verifier!(GoSyntax);
// Trees are built once and never freed.
gatehost_sdk::use_arena!();

fn judge(file: &File, whole: &str) -> Verdict {
    if whole.len() > MOST_BYTES {
        return Verdict::abstain("the file is larger than 2 MiB, the limit of this verifier");
    }
    let text = whole.strip_prefix('\u{FEFF}').unwrap_or(whole);
    let place = |character: usize| {
        let at = text.char_indices().nth(character).map_or(text.len(), |(at, _)| at);
        whole.len() - text.len() + at
    };
    // With a line before it, an error's line is told from the one above.
    let tokens = match gosyn::tokenize_source(format!("\n{text}")) {
        Ok(tokens) => tokens.into_iter().map(depth::Token::of).collect::<Vec<_>>(),
        Err(error) => {
            let (line, column, _, message) = described(error.downcast().ok());
            let place = Place::file(&file.path).position(line, column);
            return Finding::error("invalid-token", message).at(place).into();
        }
    };
    if let Some(character) = depth::first_beyond(text, &tokens) {
        return file.too_deep(place(character));
    }
    let error = match Parser::from(text).parse_file() {
        Ok(parsed) => {
            // Dropping a deep tree recurses; the memory goes with the instance.
            std::mem::forget(parsed);
            let Some(token) = adjacent::first_error(text, &tokens) else { return Verdict::pass() };
            let found = format!("{:?}", token.kind);
            let message = format!("expected `,`, `;` or an operator, found `{}`", one_line(found.trim_matches('\'')));
            return Finding::error("expected-token", message).at(file.place_of(place(token.start))).into();
        }
        Err(error) if error.to_string().contains("too many depth") => {
            return Verdict::abstain("an expression is nested deeper than this verifier supports");
        }
        Err(error) => error,
    };
    // Where the parser goes back it counts lines twice, so the place is that of the same error in one long line.
    let (code, message, at) = match Parser::from(joined::joined(text, &tokens)).parse_file() {
        Ok(_) => {
            let (line, column, code, message) = described(error.downcast().ok());
            return Finding::error(code, message).at(Place::file(&file.path).position(line, column)).into();
        }
        Err(error) => {
            let (_, column, code, message) = described(error.downcast().ok());
            (code, message, place(column as usize - 1))
        }
    };
    Finding::error(code, message).at(file.place_of(at)).into()
}

/// The line, the column, the code and the text of an error.
fn described(error: Option<Error>) -> (u32, u32, &'static str, String) {
    let (location, code, message) = match error {
        Some(Error::UnexpectedToken { location, expect, actual, .. }) => {
            let mut expected: Vec<String> = expect.iter().map(in_plain_words).collect();
            expected.dedup();
            let expected = match &expected[..] {
                [] => "something else".to_owned(),
                [one] => one.clone(),
                many => format!("one of {}", many.join(", ")),
            };
            match actual {
                Some(token) => {
                    let found = format!("{token:?}");
                    let found = one_line(found.trim_matches('\''));
                    (location, "expected-token", format!("expected {expected}, found `{found}`"))
                }
                None => (location, "unexpected-end", format!("expected {expected}, found the end of the file")),
            }
        }
        Some(Error::Else { location, reason, .. }) => (location, "syntax", one_line(&reason)),
        _ => ((1, 0), "syntax", "the file is not valid Go".to_owned()),
    };
    let bounded = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    (bounded(location.0.max(1)), bounded(location.1.saturating_add(1)), code, message)
}

fn in_plain_words(kind: &TokenKind) -> String {
    match kind {
        TokenKind::Literal(LitKind::Ident) => "a name".to_owned(),
        TokenKind::Literal(LitKind::String) => "a string".to_owned(),
        TokenKind::Literal(_) => "a literal".to_owned(),
        TokenKind::Comment => "a comment".to_owned(),
        TokenKind::Keyword(word) => format!("`{}`", <&str>::from(*word)),
        TokenKind::Operator(operator) => format!("`{}`", <&str>::from(*operator)),
    }
}

#[cfg(test)]
mod tests;
