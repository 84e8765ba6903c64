//! A walk over a tree for what oxc lets through: jumps (`jumps.rs`), members (`members.rs`) and functions
//! (`functions.rs`).

use crate::functions::{self, Functions};
use crate::jumps::{self, Jumps};
use crate::members;
use gatehost_sdk::Finding;
use oxc_ast::AstKind;
use oxc_ast::ast::Program;
use oxc_ast_visit::Visit;

/// An error, and the byte that it is at.
pub(crate) type FoundError = (u32, String);

/// After how many errors no more are kept: memory is bounded, and no more are reported.
const MOST: usize = 1_000;

/// What is wrong with a tree that oxc's parser took.
pub(crate) fn errors(program: &Program, text: &str, typescript: bool) -> Vec<(usize, Finding)> {
    let mut walk =
        Walk { text, typescript, jumps: Jumps::default(), functions: Functions::default(), errors: Vec::new() };
    walk.visit_program(program);
    walk.errors
}

struct Walk<'a, 't> {
    text: &'t str,
    typescript: bool,
    jumps: Jumps<'a>,
    functions: Functions,
    errors: Vec<(usize, Finding)>,
}

impl<'a> Walk<'a, '_> {
    fn report(&mut self, code: &str, found: Option<FoundError>) {
        if let Some((at, message)) = found
            && self.errors.len() < MOST
        {
            self.errors.push((at as usize, Finding::error(code, message)));
        }
    }

    fn enter(&mut self, kind: AstKind<'a>) {
        let jump = self.jumps.enter(kind);
        self.report("early-error", jump);
        let awaiting = self.functions.enter(kind);
        self.report("early-error", awaiting);
        self.report("expected-token", functions::incomplete(kind, self.text));
        if self.typescript {
            self.report("early-error", functions::old_octal(kind, self.text));
            self.report("expected-token", members::not_separated(kind, self.text));
        } else {
            self.report("unexpected-token", members::only_of_typescript(kind));
        }
    }

    fn leave(&mut self, kind: AstKind<'a>) {
        self.jumps.leave(kind);
        self.functions.leave(kind);
    }
}

// The walk knows the kind of each node, so inlined, the nodes that no rule is about cost nothing.
impl<'a> Visit<'a> for Walk<'a, '_> {
    #[inline(always)]
    fn enter_node(&mut self, kind: AstKind<'a>) {
        if jumps::may_be_open(kind) || is_judged(kind) {
            self.enter(kind);
        }
    }

    #[inline(always)]
    fn leave_node(&mut self, kind: AstKind<'a>) {
        if jumps::may_be_open(kind) {
            self.leave(kind);
        }
    }
}

/// Whether a rule is about nodes of this kind, besides those that jumps lead to.
#[inline(always)]
fn is_judged(kind: AstKind) -> bool {
    matches!(
        kind,
        AstKind::AccessorProperty(_)
            | AstKind::BreakStatement(_)
            | AstKind::Class(_)
            | AstKind::ContinueStatement(_)
            | AstKind::ExportNamedDeclaration(_)
            | AstKind::MethodDefinition(_)
            | AstKind::NumericLiteral(_)
            | AstKind::PropertyDefinition(_)
            | AstKind::TSInterfaceBody(_)
            | AstKind::TSTypeLiteral(_)
            | AstKind::VariableDeclaration(_)
    )
}
