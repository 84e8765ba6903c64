//! `graphql-syntax`: every matching file is a GraphQL document: operations, fragments, or a schema.
//!
//! The parser is that of apollo-rs. It continues after an error, and stops at a depth that fits the stack of the sandbox.

mod descriptions;

use apollo_parser::cst::CstNode;
use apollo_parser::{Error, Parser, SyntaxKind, SyntaxNode};
use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::text::one_line;
use gatehost_sdk::{About, File, FileVerifier, Finding, Rule, Verdict};

/// How deep selections, lists and types may be nested. The stack holds several times as much.
const MOST_NESTING: usize = 200;
/// More tokens than this are more memory than a sandbox has.
const MOST_TOKENS: usize = 500_000;

gatehost_sdk::syntax_settings! {
    struct Settings {}
}

const FORMAT: Format = Format {
    name: "GraphQL",
    known_as: &["graphql"],
    comments: &["#"],
    quotes: &['"'],
    has_braces: true,
    reading: Reading::AtMark,
};

const RULES: &[Rule] = &[
    Rule::error("syntax", "The file is not valid GraphQL."),
    Rule::error("unexpected-end", "The file ends within a definition, or has none."),
    Rule::note("draft", "The file uses syntax of a draft; it was not checked."),
    Rule::TOO_DEEP,
    Rule::TOO_LONG,
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

struct GraphqlSyntax;

impl FileVerifier for GraphqlSyntax {
    type Settings = Settings;
    const ABOUT: About = About::new(
        "graphql-syntax",
        env!("CARGO_PKG_VERSION"),
        "Every file is a GraphQL document: operations, fragments, or a schema.",
    )
    .files(&["**/*.graphql", "**/*.gql", "**/*.graphqls"])
    .settings::<Settings>()
    .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        file.judged_as(&FORMAT, settings.strict, |text| judge(file, text))
    }
}

gatehost_sdk::export_file_verifier!(GraphqlSyntax);
gatehost_sdk::use_arena!();

fn judge(file: &File, text: &str) -> Verdict {
    let errors = errors(text);
    let errors = match descriptions::blanked(text).filter(|_| !errors.is_empty()) {
        Some(blanked) => self::errors(&blanked),
        None => errors,
    };
    // What follows a limit was not read, and what stands before it is wrong in any case.
    if let Some(first) = errors.first().filter(|error| error.is_limit()) {
        return match first.message().contains("token") {
            true => file.too_long(first.index(), MOST_TOKENS),
            false => file.too_deep(first.index()),
        };
    }
    if let Some(first) = errors.first().filter(|error| is_draft(text, error)) {
        let message = "directives on directives are draft syntax of GraphQL, which this verifier does not support";
        let note = Finding::note("draft", message).at(file.place_of(first.index()));
        return Verdict { findings: vec![note], ..Verdict::abstain(message) };
    }
    let errors = errors.iter().filter(|error| !error.is_limit());
    file.verdict(errors.map(|error| finding(text, error)).collect())
}

fn errors(text: &str) -> Vec<Error> {
    let tree = Parser::new(text).recursion_limit(MOST_NESTING).token_limit(MOST_TOKENS).parse();
    let mut errors: Vec<Error> = tree.errors().cloned().collect();
    if errors.is_empty() {
        errors.extend(
            tree.document()
                .syntax()
                .descendants()
                .filter_map(|node| missing_colon(&node).or_else(|| missing_operations(&node))),
        );
    }
    errors
}

/// The parser accepts `a(b C)` for two arguments, and `{b C}` for two fields, that are only names.
fn missing_colon(node: &SyntaxNode) -> Option<Error> {
    let has_colon = || node.children_with_tokens().any(|part| part.kind() == SyntaxKind::COLON);
    if !matches!(node.kind(), SyntaxKind::ARGUMENT | SyntaxKind::OBJECT_FIELD) || has_colon() {
        return None;
    }
    let name = node.to_string();
    let message = "expected a colon and a value after the name";
    Some(Error::with_loc(message, name.trim().to_owned(), node.text_range().start().into()))
}

/// The parser accepts `schema` without its operations, and an operation of a schema without its type.
fn missing_operations(node: &SyntaxNode) -> Option<Error> {
    let has = |wanted: SyntaxKind| node.children_with_tokens().any(|part| part.kind() == wanted);
    let message = match node.kind() {
        SyntaxKind::SCHEMA_DEFINITION if !has(SyntaxKind::L_CURLY) => "expected `{` and the operations of the schema",
        SyntaxKind::ROOT_OPERATION_TYPE_DEFINITION if !has(SyntaxKind::NAMED_TYPE) => {
            "expected the type of the operation"
        }
        _ => return None,
    };
    Some(Error::with_loc(message, String::new(), node.text_range().start().into()))
}

/// `directive @a @b on C`, `on DIRECTIVE_DEFINITION` and `extend directive`: some readers take them already.
fn is_draft(text: &str, error: &Error) -> bool {
    match error.data() {
        "DIRECTIVE_DEFINITION" => error.message().contains("Directive Location"),
        "@" => error.message().contains("Directive Locations"),
        "extend" => text[error.index()..].split_whitespace().nth(1) == Some("directive"),
        _ => false,
    }
}

fn finding(text: &str, error: &Error) -> (usize, Finding) {
    let at = text.floor_char_boundary(error.index().min(text.len()));
    let code = if error.is_eof() { "unexpected-end" } else { "syntax" };
    let message = match error.data() {
        "" | "EOF" => error.message().to_owned(),
        found => format!("{}; found `{}`", error.message(), one_line(found)),
    };
    (at, Finding::error(code, message))
}

#[cfg(test)]
mod tests;
