//! Stable codes for the parser's many kinds of errors.

use granit_parser::ErrorKind;

const TAB: &str = "indent with spaces; YAML does not allow tabs there";
/// The code and the hint of a tab that the parser lets through.
pub(crate) const TAB_AS_INDENTATION: (&str, &str) = ("tab", TAB);
const QUOTE: &str = "put the value in quotes if it contains `: ` or ` #`, or starts with a special character";

/// Whether an error is that a string in quotes goes on in a line that is not indented, which libyaml does not mind.
pub(crate) fn is_continued(kind: &ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidQuotedScalarIndent)
}

/// The code of a kind of error, and what to do about it.
pub(crate) fn code(kind: &ErrorKind) -> (&'static str, Option<&'static str>) {
    use ErrorKind as K;
    match kind {
        K::UnexpectedEofFlowSequence
        | K::UnexpectedEofFlowMapping
        | K::UnexpectedEofImplicitFlowMapping
        | K::UnclosedFlowCollection { .. } => ("unclosed-bracket", None),
        K::MismatchedFlowCollectionEnd { .. } | K::MisplacedFlowCollectionEnd => ("unexpected-bracket", None),
        // A string goes on until it meets a line that it cannot contain.
        K::UnclosedQuotedScalar | K::DocumentIndicatorInQuotedScalar | K::InvalidQuotedScalarIndent => {
            ("unclosed-string", Some("close the string, or indent its further lines"))
        }
        K::UnexpectedEof | K::UnexpectedEofBlockSequence | K::UnexpectedEofBlockMapping => ("unexpected-end", None),
        K::TabNotAllowed
        | K::TabInBlockIndentation
        | K::TabAtBlockScalarStart
        | K::TabInIndentation
        | K::TabInPlainScalar => ("tab", Some(TAB)),
        K::InvalidIndentation | K::InvalidBlockScalarIndent | K::InvalidFlowScalarIndent | K::ZeroBlockScalarIndent => {
            ("indentation", None)
        }
        K::ExpectedBlockMappingKey | K::SimpleKeyExpected | K::InvalidSimpleKey | K::MappingKeyNotAllowed => {
            ("expected-key", None)
        }
        K::MappingValueNotAllowed | K::InvalidColonPlacement => ("unexpected-colon", Some(QUOTE)),
        K::UnknownAnchor => ("unknown-anchor", Some("define the anchor (`&name`) before the alias (`*name`)")),
        K::UndeclaredTagHandle => ("unknown-tag-handle", None),
        K::RecursionLimitExceeded => ("too-deep", None),
        K::UnexpectedCharacter { character } if character.is_control() => ("control-character", None),
        K::UnexpectedCharacter { .. } => ("unexpected-character", Some(QUOTE)),
        K::UnknownQuotedScalarEscape
        | K::InvalidQuotedScalarHexEscape
        | K::InvalidLowSurrogateHexEscape
        | K::InvalidLowSurrogate
        | K::MissingLowSurrogate
        | K::UnpairedLowSurrogate
        | K::InvalidUnicodeEscape => ("bad-escape", Some("use single quotes if the backslash is meant literally")),
        _ => ("syntax", None),
    }
}
