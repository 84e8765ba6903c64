//! The findings of errors: their codes, which are stable, and their texts, which are the parser's.

use gatehost_sdk::Finding;
use oxc_diagnostics::OxcDiagnostic;

/// An error of the grammar.
pub(crate) fn of_parse_error(error: &OxcDiagnostic) -> (usize, Finding) {
    let message = error.message.to_ascii_lowercase();
    let code = [
        ("expected ", "expected-token"),
        ("unexpected token", "unexpected-token"),
        ("unterminated ", "unterminated"),
        ("invalid regular expression", "regular-expression"),
        ("invalid character", "invalid-character"),
        ("cannot assign", "invalid-target"),
    ];
    let code = code.iter().find(|(start, _)| message.starts_with(start)).map_or("syntax", |(_, code)| code);
    finding(error, code)
}

/// An error that no grammar tells.
pub(crate) fn of_early_error(error: &OxcDiagnostic) -> (usize, Finding) {
    let is_redeclared = error.message.contains("already been declared");
    finding(error, if is_redeclared { "redeclared" } else { "early-error" })
}

fn finding(error: &OxcDiagnostic, code: &str) -> (usize, Finding) {
    // Where a name is declared twice, the second is the mistake; elsewhere the first label is the place.
    let places = error.labels.iter().map(|label| label.offset() as usize);
    let at = if code == "redeclared" { places.max() } else { places.take(1).next() };
    let finding = Finding::error(code, lower(&error.message));
    let finding = match &error.help {
        Some(help) => finding.hint(lower(help)),
        None => finding,
    };
    (at.unwrap_or(0), finding)
}

/// The parser's sentences begin with a capital and may end in a full stop; a finding's do not.
fn lower(text: &str) -> String {
    let text = text.strip_suffix('.').unwrap_or(text);
    let mut chars = text.chars();
    let is_word = chars.next().is_some_and(char::is_uppercase) && !chars.next().is_some_and(char::is_uppercase);
    let mut text = text.to_owned();
    if is_word {
        text[..1].make_ascii_lowercase();
    }
    text
}
