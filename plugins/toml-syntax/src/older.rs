//! Reports the syntax that TOML 1.1 added to 1.0.

use toml_parser::decoder::{Encoding, ScalarKind};
use toml_parser::{ErrorSink, ParseError, Span};

/// What is open, and the last comma in it.
#[derive(Default)]
pub(crate) struct Older {
    /// Whether each open bracket is that of an inline table.
    open: Vec<bool>,
    pub(crate) comma: Option<Span>,
}

impl Older {
    pub(crate) fn open(&mut self, is_table: bool) {
        self.open.push(is_table);
        self.comma = None;
    }

    pub(crate) fn close(&mut self) {
        self.open.pop();
        self.comma = None;
    }

    pub(crate) fn close_table(&mut self, errors: &mut dyn ErrorSink) {
        if let Some(comma) = self.comma {
            refuse("TOML 1.0 does not allow a comma after the last key of an inline table", comma, errors);
        }
        self.close();
    }

    pub(crate) fn newline(&mut self, span: Span, errors: &mut dyn ErrorSink) {
        if self.open.last() == Some(&true) {
            refuse("TOML 1.0 does not allow a line break in an inline table", span, errors);
        }
    }

    pub(crate) fn key(&mut self, raw: &str, encoding: Option<Encoding>, span: Span, errors: &mut dyn ErrorSink) {
        self.comma = None;
        escapes(raw, encoding, span, errors);
    }

    pub(crate) fn scalar(
        &mut self,
        raw: &str,
        encoding: Option<Encoding>,
        kind: ScalarKind,
        span: Span,
        errors: &mut dyn ErrorSink,
    ) {
        self.comma = None;
        escapes(raw, encoding, span, errors);
        if kind == ScalarKind::DateTime && lacks_seconds(raw) {
            refuse("TOML 1.0 does not allow a time without seconds", span, errors);
        }
    }
}

fn refuse(message: &'static str, span: Span, errors: &mut dyn ErrorSink) {
    errors.report_error(ParseError::new(message).with_unexpected(span));
}

fn escapes(raw: &str, encoding: Option<Encoding>, span: Span, errors: &mut dyn ErrorSink) {
    if !matches!(encoding, Some(Encoding::BasicString | Encoding::MlBasicString)) {
        return;
    }
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        let mut after = rest[at + 1..].chars();
        if let Some('e' | 'x') = after.next() {
            return refuse("TOML 1.0 does not have the escapes `\\e` and `\\x`", span, errors);
        }
        rest = after.as_str();
    }
}

/// `07:32`, and not `07:32:00`, which an offset may follow.
fn lacks_seconds(raw: &str) -> bool {
    raw.find(':').is_some_and(|colon| raw.as_bytes().get(colon + 3) != Some(&b':'))
}
