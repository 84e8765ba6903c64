//! Checks the grammar event by event, and each key and value.

use crate::older::Older;
use crate::{MOST_FINDINGS, MOST_NESTING, Problem, Version};
use std::borrow::Cow;
use toml_parser::decoder::{Encoding, ScalarKind};
use toml_parser::parser::{EventReceiver, RecursionGuard, ValidateWhitespace, parse_document};
use toml_parser::{ErrorSink, Expected, ParseError, Source, Span};

/// What is wrong with the parts of a document, in the order of the text up to a bound.
pub(crate) fn problems(text: &str, version: Version) -> Vec<Problem> {
    let source = Source::new(text);
    let tokens = source.lex().into_vec();
    let mut found: Vec<Problem> = Vec::new();
    let mut receiver = Values { source, older: (version == Version::V1_0).then(Older::default) };
    let mut receiver = ValidateWhitespace::new(&mut receiver, source);
    let mut receiver = RecursionGuard::new(&mut receiver, MOST_NESTING);
    parse_document(&tokens, &mut receiver, &mut |error: ParseError| {
        if found.len() < MOST_FINDINGS {
            found.push(problem(&error));
        }
    });
    found
}

fn problem(error: &ParseError) -> Problem {
    let code = match error.description() {
        deep if deep.contains("recurs") => "too-deep",
        older if older.starts_with("TOML 1.0") => "toml-1-0",
        _ => "syntax",
    };
    let span = error.unexpected().or(error.context());
    let message = match expected(error.expected().unwrap_or_default()) {
        Some(expected) => format!("{}; expected {expected}", error.description()),
        None => error.description().to_owned(),
    };
    Problem { code, message, at: span.map_or(0, |span| span.start()) }
}

fn expected(choices: &[Expected]) -> Option<String> {
    let choices: Vec<Cow<str>> = choices
        .iter()
        .map(|choice| match choice {
            Expected::Literal("\n") => "a line break".into(),
            Expected::Literal(literal) => format!("`{}`", literal.escape_debug()).into(),
            Expected::Description(description) => (*description).into(),
            _ => "something else".into(),
        })
        .collect();
    (!choices.is_empty()).then(|| choices.join(" or "))
}

/// Decodes keys and values, for the errors that come of it.
struct Values<'a> {
    source: Source<'a>,
    older: Option<Older>,
}

impl EventReceiver for Values<'_> {
    fn simple_key(&mut self, span: Span, encoding: Option<Encoding>, errors: &mut dyn ErrorSink) {
        let Some(raw) = self.source.get(span) else { return };
        let raw = toml_parser::Raw::new_unchecked(raw.as_str(), encoding, span);
        raw.decode_key(&mut (), errors);
        if let Some(older) = &mut self.older {
            older.key(raw.as_str(), encoding, span, errors);
        }
    }

    fn scalar(&mut self, span: Span, encoding: Option<Encoding>, errors: &mut dyn ErrorSink) {
        let Some(raw) = self.source.get(span) else { return };
        let raw = toml_parser::Raw::new_unchecked(raw.as_str(), encoding, span);
        let mut decoded = Cow::Borrowed("");
        let kind = raw.decode_scalar(&mut decoded, errors);
        // How large a number may be is for its reader to say.
        if let ScalarKind::Integer(radix) = kind
            && !crate::are_digits(&decoded, radix.value())
        {
            errors.report_error(ParseError::new("a number must consist of digits").with_unexpected(span));
        }
        if let Some(older) = &mut self.older {
            older.scalar(raw.as_str(), encoding, kind, span, errors);
        }
    }

    fn inline_table_open(&mut self, _span: Span, _errors: &mut dyn ErrorSink) -> bool {
        if let Some(older) = &mut self.older {
            older.open(true);
        }
        true
    }

    fn inline_table_close(&mut self, _span: Span, errors: &mut dyn ErrorSink) {
        if let Some(older) = &mut self.older {
            older.close_table(errors);
        }
    }

    fn array_open(&mut self, _span: Span, _errors: &mut dyn ErrorSink) -> bool {
        if let Some(older) = &mut self.older {
            older.open(false);
        }
        true
    }

    fn array_close(&mut self, _span: Span, _errors: &mut dyn ErrorSink) {
        if let Some(older) = &mut self.older {
            older.close();
        }
    }

    fn value_sep(&mut self, span: Span, _errors: &mut dyn ErrorSink) {
        if let Some(older) = &mut self.older {
            older.comma = Some(span);
        }
    }

    fn newline(&mut self, span: Span, errors: &mut dyn ErrorSink) {
        if let Some(older) = &mut self.older {
            older.newline(span, errors);
        }
    }
}
