//! `break`, `continue` and `return` cannot leave an `except*` block.

use gatehost_sdk::Finding;
use ruff_python_ast::visitor::{Visitor, walk_except_handler, walk_stmt};
use ruff_python_ast::{Expr, Stmt, StmtTry};
use ruff_text_size::Ranged;

/// Everything that is wrong of this kind, each beside its byte.
pub(crate) fn errors(body: &[Stmt]) -> Vec<(usize, Finding)> {
    let mut jumps = Jumps::default();
    jumps.visit_body(body);
    jumps.errors
}

#[derive(Default)]
struct Jumps {
    around: EnclosingBlocks,
    errors: Vec<(usize, Finding)>,
}

/// What is around a statement, within its function.
#[derive(Clone, Copy, Default)]
struct EnclosingBlocks {
    except_star: bool,
    /// A loop that is inside the `except*`, if there is one.
    is_looped: bool,
}

impl Jumps {
    fn within(&mut self, around: EnclosingBlocks, walk: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.around, around);
        walk(self);
        self.around = before;
    }

    fn try_star(&mut self, inner: &StmtTry) {
        self.visit_body(&inner.body);
        let around = EnclosingBlocks { except_star: true, is_looped: false };
        self.within(around, |jumps| inner.handlers.iter().for_each(|handler| walk_except_handler(jumps, handler)));
        self.visit_body(&inner.orelse);
        self.visit_body(&inner.finalbody);
    }

    fn looped(&mut self, body: &[Stmt], orelse: &[Stmt]) {
        let around = EnclosingBlocks { is_looped: true, ..self.around };
        self.within(around, |jumps| jumps.visit_body(body));
        self.visit_body(orelse);
    }
}

impl Visitor<'_> for Jumps {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        let leaves = match stmt {
            Stmt::Return(_) => self.around.except_star,
            Stmt::Break(_) | Stmt::Continue(_) => self.around.except_star && !self.around.is_looped,
            _ => false,
        };
        if leaves {
            let message = "`break`, `continue` and `return` cannot leave an `except*` block";
            self.errors.push((stmt.start().into(), Finding::error("invalid", message)));
        }
        match stmt {
            Stmt::FunctionDef(function) => {
                self.within(EnclosingBlocks::default(), |jumps| jumps.visit_body(&function.body))
            }
            Stmt::ClassDef(class) => self.within(EnclosingBlocks::default(), |jumps| jumps.visit_body(&class.body)),
            Stmt::For(inner) => self.looped(&inner.body, &inner.orelse),
            Stmt::While(inner) => self.looped(&inner.body, &inner.orelse),
            Stmt::Try(inner) if inner.is_star => self.try_star(inner),
            _ => walk_stmt(self, stmt),
        }
    }

    /// No expression has a statement in it.
    fn visit_expr(&mut self, _: &Expr) {}
}
