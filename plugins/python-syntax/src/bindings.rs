//! The names that a function binds, and those that it declares `global` or `nonlocal`.

use ruff_python_ast::visitor::{Visitor, walk_except_handler, walk_expr, walk_pattern, walk_stmt};
use ruff_python_ast::{Comprehension, ExceptHandler, Expr, ExprContext, Identifier, Pattern, Stmt, TypeParams};
use ruff_text_size::TextRange;
use std::collections::{BTreeMap, BTreeSet};

/// The names of the `global` and `nonlocal` statements of one scope.
#[derive(Debug, Default)]
pub(crate) struct DeclaredNames<'a> {
    pub(crate) global: BTreeMap<&'a str, TextRange>,
    pub(crate) nonlocal: BTreeMap<&'a str, TextRange>,
}

impl<'a> DeclaredNames<'a> {
    /// What the statements of a scope declare, without those of the scopes inside.
    pub(crate) fn in_body(body: &'a [Stmt]) -> Self {
        let mut declared = Self::default();
        declared.visit_body(body);
        declared
    }

    /// Where a name is declared to be somebody else's.
    pub(crate) fn of(&self, name: &str) -> Option<TextRange> {
        self.global.get(name).or_else(|| self.nonlocal.get(name)).copied()
    }
}

impl<'a> Visitor<'a> for DeclaredNames<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Global(global) => last_of_each(&mut self.global, &global.names, global.range),
            Stmt::Nonlocal(nonlocal) => last_of_each(&mut self.nonlocal, &nonlocal.names, nonlocal.range),
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            _ => walk_stmt(self, stmt),
        }
    }

    /// No expression declares anything.
    fn visit_expr(&mut self, _: &'a Expr) {}
}

/// Whatever stands before any declaration of a name is wrong, so the last counts.
fn last_of_each<'a>(declared: &mut BTreeMap<&'a str, TextRange>, names: &'a [Identifier], range: TextRange) {
    for name in names {
        declared.insert(name, range);
    }
}

/// The name that a pattern itself binds.
pub(crate) fn captured_by(pattern: &Pattern) -> Option<&Identifier> {
    match pattern {
        Pattern::MatchAs(inner) => inner.name.as_ref(),
        Pattern::MatchStar(inner) => inner.name.as_ref(),
        Pattern::MatchMapping(inner) => inner.rest.as_ref(),
        _ => None,
    }
}

/// The names that the statements of a function bind. In doubt it is one more: that only makes a `nonlocal` acceptable.
pub(crate) fn bound_in(body: &[Stmt]) -> BTreeSet<&str> {
    let mut bound = BoundNames(BTreeSet::new());
    bound.visit_body(body);
    bound.0
}

struct BoundNames<'a>(BTreeSet<&'a str>);

impl<'a> BoundNames<'a> {
    fn saw(&mut self, name: &'a str) {
        self.0.insert(name);
    }
}

impl<'a> Visitor<'a> for BoundNames<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            // The bodies are scopes of their own; what is evaluated before them is not.
            Stmt::FunctionDef(function) => {
                self.saw(&function.name);
                function.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                self.visit_parameters(&function.parameters);
                function.returns.iter().for_each(|returns| self.visit_annotation(returns));
            }
            Stmt::ClassDef(class) => {
                self.saw(&class.name);
                class.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                class.arguments.iter().for_each(|arguments| self.visit_arguments(arguments));
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    // `import a.b` binds `a`.
                    let whole = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.saw(whole.split('.').next().unwrap_or_default());
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    self.saw(alias.asname.as_ref().unwrap_or(&alias.name));
                }
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if name.ctx != ExprContext::Load => self.saw(&name.id),
            // Its body is a scope of its own.
            Expr::Lambda(lambda) => lambda.parameters.iter().for_each(|parameters| self.visit_parameters(parameters)),
            _ => walk_expr(self, expr),
        }
    }

    /// The target is the comprehension's own; what `:=` binds in there is not.
    fn visit_comprehension(&mut self, comprehension: &'a Comprehension) {
        self.visit_expr(&comprehension.iter);
        comprehension.ifs.iter().for_each(|condition| self.visit_expr(condition));
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        inner.name.iter().for_each(|name| self.saw(name));
        walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        captured_by(pattern).into_iter().for_each(|name| self.saw(name));
        walk_pattern(self, pattern);
    }

    fn visit_type_params(&mut self, params: &'a TypeParams) {
        params.iter().for_each(|param| self.saw(param.name()));
    }
}
