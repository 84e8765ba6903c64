//! What may stand in which function, and what a declaration must have: rules that oxc does not know.

use crate::walk::FoundError;
use oxc_ast::AstKind;
use oxc_ast::ast::VariableDeclarationKind;

/// The functions that are open, and whether each is asynchronous.
#[derive(Default)]
pub(crate) struct Functions {
    open: Vec<bool>,
}

impl Functions {
    pub(crate) fn enter(&mut self, kind: AstKind) -> Option<FoundError> {
        match kind {
            AstKind::Function(function) => self.open.push(function.r#async),
            AstKind::ArrowFunctionExpression(arrow) => self.open.push(arrow.r#async),
            AstKind::VariableDeclaration(declaration) => {
                let is_awaiting = declaration.kind == VariableDeclarationKind::AwaitUsing;
                if is_awaiting && self.open.last() == Some(&false) {
                    return Some((declaration.span.start, "`await using` outside an asynchronous function".to_owned()));
                }
            }
            _ => {}
        }
        None
    }

    pub(crate) fn leave(&mut self, kind: AstKind) {
        if matches!(kind, AstKind::Function(_) | AstKind::ArrowFunctionExpression(_)) {
            self.open.pop();
        }
    }
}

/// What a declaration lacks: in TypeScript a name after `declare`, and a module after `from`.
pub(crate) fn incomplete(kind: AstKind, text: &str) -> Option<FoundError> {
    match kind {
        AstKind::Function(function) if function.declare && function.id.is_none() => {
            Some((function.span.start, "expected a name after `function`".to_owned()))
        }
        AstKind::Class(class) if class.declare && class.id.is_none() => {
            Some((class.span.start, "expected a name after `class`".to_owned()))
        }
        AstKind::ExportNamedDeclaration(export) => {
            let start = export.span.start as usize;
            let close = start + text[start..].find('}')? + 1;
            let behind = text[close..].trim_start_matches([' ', '\t']);
            let end = behind.strip_prefix("from")?.trim_start();
            let is_bare = end.is_empty() || end.starts_with(';');
            is_bare
                .then(|| (u32::try_from(close).unwrap_or(u32::MAX), "expected a module name after `from`".to_owned()))
        }
        _ => None,
    }
}

/// A number that starts with `0` and a digit is octal in old JavaScript, and nothing in TypeScript.
pub(crate) fn old_octal(kind: AstKind, text: &str) -> Option<FoundError> {
    let AstKind::NumericLiteral(number) = kind else { return None };
    let written = text.get(number.span.start as usize..number.span.end as usize)?.as_bytes();
    let is_old = matches!(written, [b'0', b'0'..=b'9' | b'_', ..]);
    is_old.then(|| (number.span.start, "a number cannot start with `0`; octal numbers start with `0o`".to_owned()))
}
