//! Where `break` and `continue` lead. Every function ends the search, arrows included, which oxc looks through.

use crate::walk::FoundError;
use oxc_ast::AstKind;
use oxc_ast::ast::{BreakStatement, ContinueStatement, LabelIdentifier, Statement};

/// What is open around a statement: everything that a jump may lead to, and everything that it cannot leave.
#[derive(Default)]
pub(crate) struct Jumps<'a> {
    open: Vec<AstKind<'a>>,
}

impl<'a> Jumps<'a> {
    pub(crate) fn enter(&mut self, kind: AstKind<'a>) -> Option<FoundError> {
        if may_be_open(kind) {
            self.open.push(kind);
        }
        match kind {
            AstKind::BreakStatement(statement) => self.of_break(statement),
            AstKind::ContinueStatement(statement) => self.of_continue(statement),
            _ => None,
        }
    }

    pub(crate) fn leave(&mut self, kind: AstKind<'a>) {
        if may_be_open(kind) {
            self.open.pop();
        }
    }

    /// What is open in the same function, the innermost first.
    fn within_reach(&self) -> impl Iterator<Item = AstKind<'a>> {
        self.open.iter().rev().copied().take_while(|&kind| !is_border(kind))
    }

    fn of_break(&self, statement: &BreakStatement) -> Option<FoundError> {
        if let Some(label) = &statement.label {
            return self.labelled(label).is_none().then(|| nowhere("break", label));
        }
        let leads_out = self.within_reach().any(|kind| !matches!(kind, AstKind::LabeledStatement(_)));
        (!leads_out).then(|| (statement.span.start, "`break` outside a loop or a `switch`".to_owned()))
    }

    fn of_continue(&self, statement: &ContinueStatement) -> Option<FoundError> {
        let Some(label) = &statement.label else {
            let loops = self.within_reach().any(is_loop_itself);
            return (!loops).then(|| (statement.span.start, "`continue` outside a loop".to_owned()));
        };
        match self.labelled(label) {
            Some(AstKind::LabeledStatement(target)) if !is_loop(&target.body) => {
                Some((target.label.span.start, format!("`continue {}` does not name a loop", label.name)))
            }
            Some(_) => None,
            None => Some(nowhere("continue", label)),
        }
    }

    fn labelled(&self, label: &LabelIdentifier) -> Option<AstKind<'a>> {
        self.within_reach()
            .find(|kind| matches!(kind, AstKind::LabeledStatement(target) if target.label.name == label.name))
    }
}

fn nowhere(word: &str, label: &LabelIdentifier) -> FoundError {
    (label.span.start, format!("`{word} {}` names no label of the same function", label.name))
}

/// Whether a jump may lead to such a node, or cannot leave it.
#[inline(always)]
pub(crate) fn may_be_open(kind: AstKind) -> bool {
    is_border(kind)
        || is_loop_itself(kind)
        || matches!(kind, AstKind::SwitchStatement(_) | AstKind::LabeledStatement(_))
}

#[inline(always)]
fn is_border(kind: AstKind) -> bool {
    matches!(kind, AstKind::Function(_) | AstKind::ArrowFunctionExpression(_) | AstKind::StaticBlock(_))
}

#[inline(always)]
fn is_loop_itself(kind: AstKind) -> bool {
    matches!(
        kind,
        AstKind::DoWhileStatement(_)
            | AstKind::WhileStatement(_)
            | AstKind::ForStatement(_)
            | AstKind::ForInStatement(_)
            | AstKind::ForOfStatement(_)
    )
}

/// A loop may have several labels.
fn is_loop(statement: &Statement) -> bool {
    match statement {
        Statement::LabeledStatement(inner) => is_loop(&inner.body),
        Statement::DoWhileStatement(_)
        | Statement::WhileStatement(_)
        | Statement::ForStatement(_)
        | Statement::ForInStatement(_)
        | Statement::ForOfStatement(_) => true,
        _ => false,
    }
}
