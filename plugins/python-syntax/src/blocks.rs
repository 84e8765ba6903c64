//! The limit of nested blocks in one function: loops, `with` and `try`.

use gatehost_sdk::Finding;
use ruff_python_ast::visitor::{Visitor, walk_stmt};
use ruff_python_ast::{ExceptHandler, Expr, PythonVersion, Stmt, StmtTry};
use ruff_text_size::Ranged;

/// Everything that is wrong of this kind, each beside its byte.
pub(crate) fn errors(body: &[Stmt], version: PythonVersion) -> Vec<(usize, Finding)> {
    // CPython's `CO_MAXBLOCKS`.
    let most = if version < PythonVersion::PY312 { 20 } else { 21 };
    let mut blocks = Blocks { open: 0, most, errors: Vec::new() };
    blocks.visit_body(body);
    blocks.errors
}

struct Blocks {
    open: usize,
    most: usize,
    errors: Vec<(usize, Finding)>,
}

impl Blocks {
    /// Walk with so many more blocks open.
    fn within(&mut self, more: usize, stmt: &Stmt, walk: impl FnOnce(&mut Self)) {
        self.open += more;
        if self.open > self.most {
            // What is inside is wrong for the same reason.
            let message = format!("more than {} nested loops, `with` and `try` blocks, the limit of Python", self.most);
            self.errors.push((stmt.start().into(), Finding::error("too-deep", message)));
        } else {
            walk(self);
        }
        self.open -= more;
    }

    fn of_try(&mut self, stmt: &Stmt, inner: &StmtTry) {
        // The body of a `finally` stands within a block, and so does all that goes before it.
        let finally = usize::from(!inner.finalbody.is_empty());
        let handled = usize::from(!inner.handlers.is_empty());
        self.within(finally + handled, stmt, |blocks| blocks.visit_body(&inner.body));
        for ExceptHandler::ExceptHandler(handler) in &inner.handlers {
            self.within(finally + 2, stmt, |blocks| blocks.visit_body(&handler.body));
        }
        self.within(finally, stmt, |blocks| {
            blocks.visit_body(&inner.orelse);
            blocks.visit_body(&inner.finalbody);
        });
    }
}

impl Visitor<'_> for Blocks {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {
                // Since 3.12 all of a coroutine stands in one block more.
                let is_coroutine = stmt.as_function_def_stmt().is_some_and(|function| function.is_async);
                let inner = usize::from(is_coroutine && self.most > 20);
                let around = std::mem::replace(&mut self.open, inner);
                walk_stmt(self, stmt);
                self.open = around;
            }
            Stmt::For(inner) => {
                self.within(1, stmt, |blocks| blocks.visit_body(&inner.body));
                self.visit_body(&inner.orelse);
            }
            Stmt::While(inner) => {
                self.within(1, stmt, |blocks| blocks.visit_body(&inner.body));
                self.visit_body(&inner.orelse);
            }
            Stmt::With(inner) => self.within(inner.items.len(), stmt, |blocks| blocks.visit_body(&inner.body)),
            Stmt::Try(inner) => self.of_try(stmt, inner),
            _ => walk_stmt(self, stmt),
        }
    }

    /// No expression has a statement in it.
    fn visit_expr(&mut self, _: &Expr) {}
}
