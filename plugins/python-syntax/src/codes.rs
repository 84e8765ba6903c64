//! Turns errors of the parser into findings, with stable codes and the parser's messages.

use gatehost_sdk::Finding;
use ruff_python_parser::semantic_errors::{SemanticSyntaxError, SemanticSyntaxErrorKind as Meaning};
use ruff_python_parser::{LexicalErrorType, ParseError, ParseErrorType, UnsupportedSyntaxError};

/// An error of the grammar.
pub(crate) fn of_parse_error(error: &ParseError) -> Finding {
    use ParseErrorType as E;
    let code = match &error.error {
        E::ExpectedToken { .. } | E::ExpectedKeywordParam => "expected-token",
        E::ExpectedExpression | E::EmptySlice => "expected-expression",
        E::UnexpectedIndentation => "indentation",
        E::OtherError(text) if text.starts_with("Expected an indented block") => "indentation",
        E::InvalidAssignmentTarget
        | E::InvalidNamedAssignmentTarget
        | E::InvalidAnnotatedAssignmentTarget
        | E::InvalidAugmentedAssignmentTarget
        | E::InvalidDeleteTarget => "invalid-target",
        E::FStringError(_) | E::TStringError(_) => "interpolated-string",
        E::Lexical(error) => of_lexical(error),
        _ => "syntax",
    };
    Finding::error(code, lower(error.error.to_string()))
}

fn of_lexical(error: &LexicalErrorType) -> &'static str {
    use LexicalErrorType as E;
    match error {
        E::UnclosedStringError => "unclosed-string",
        E::IndentationError => "indentation",
        E::FStringError(_) | E::TStringError(_) => "interpolated-string",
        E::UnicodeError | E::MissingUnicodeLbrace | E::MissingUnicodeRbrace | E::InvalidByteLiteral => "string-escape",
        E::Eof => "unexpected-end",
        _ => "syntax",
    }
}

/// Syntax that is newer than the version.
pub(crate) fn of_version(error: &UnsupportedSyntaxError) -> Finding {
    Finding::error("version", lower(error.to_string()))
}

/// An error that no grammar tells.
pub(crate) fn of_meaning(error: &SemanticSyntaxError) -> Finding {
    let code = match error.kind {
        Meaning::ReturnOutsideFunction | Meaning::YieldOutsideFunction(_) | Meaning::AwaitOutsideAsyncFunction(_) => {
            "outside-function"
        }
        Meaning::BreakOutsideLoop | Meaning::ContinueOutsideLoop => "outside-loop",
        Meaning::DuplicateParameter(_) | Meaning::DuplicateKeywordArgument(_) | Meaning::DuplicateTypeParameter => {
            "duplicate-name"
        }
        Meaning::LoadBeforeGlobalDeclaration { .. }
        | Meaning::LoadBeforeNonlocalDeclaration { .. }
        | Meaning::NonlocalDeclarationAtModuleLevel
        | Meaning::NonlocalAndGlobal(_)
        | Meaning::AnnotatedGlobal(_)
        | Meaning::AnnotatedNonlocal(_)
        | Meaning::GlobalParameter(_)
        | Meaning::NonlocalParameter(_)
        | Meaning::NonlocalWithoutBinding(_) => "declaration",
        Meaning::LateFutureImport | Meaning::FutureFeatureNotDefined(_) => "future-import",
        _ => "invalid",
    };
    Finding::error(code, lower(error.to_string()))
}

/// The parser's sentences begin with a capital; a finding's message does not.
fn lower(mut text: String) -> String {
    let mut chars = text.chars();
    let is_word = chars.next().is_some_and(char::is_uppercase) && chars.next().is_some_and(char::is_lowercase);
    if is_word {
        text[..1].make_ascii_lowercase();
    }
    text
}
