//! Walks the syntax tree and keeps the scopes that Ruff's checks need: functions, classes, comprehensions and loops.

use crate::bindings::{DeclaredNames, bound_in, captured_by};
use ruff_python_ast::visitor::{Visitor, walk_except_handler, walk_expr, walk_pattern, walk_stmt};
use ruff_python_ast::{
    Comprehension, ExceptHandler, Expr, Identifier, Parameters, Pattern, PythonVersion, Stmt, StmtClassDef,
    StmtFunctionDef,
};
use ruff_python_parser::semantic_errors::{
    LazyImportContext, SemanticSyntaxChecker, SemanticSyntaxContext, SemanticSyntaxError, SemanticSyntaxErrorKind,
};
use ruff_text_size::{Ranged, TextRange};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;

/// The errors that no grammar tells.
pub(crate) fn errors(body: &[Stmt], source: &str, version: PythonVersion, is_stub: bool) -> Vec<SemanticSyntaxError> {
    let future_annotations = body.iter().any(|stmt| {
        stmt.as_import_from_stmt().is_some_and(|import| {
            import.module.as_deref() == Some("__future__")
                && import.names.iter().any(|name| &name.name == "annotations")
        })
    });
    let facts = ScopeContext {
        source,
        version,
        future_annotations_or_stub: future_annotations || is_stub,
        scopes: vec![Scope::new(ScopeKind::Module, body)],
        errors: RefCell::default(),
    };
    let mut walk = Walk { checker: SemanticSyntaxChecker::new(), facts, lambdas: Vec::new() };
    walk.visit_body(body);
    let lambdas = walk.lambdas;
    let mut errors = walk.facts.errors.into_inner();
    // A lambda in an annotation is a function like any other; Ruff looks through it.
    errors.retain(|error| {
        !matches!(error.kind, SemanticSyntaxErrorKind::InvalidExpression(..))
            || !lambdas.iter().any(|lambda| lambda.contains_range(error.range))
    });
    errors
}

enum ScopeKind<'a> {
    Module,
    Class,
    Function { is_async: bool, parameters: Option<&'a Parameters> },
    Lambda { parameters: Option<&'a Parameters> },
    Comprehension { is_async: bool, is_generator: bool },
}

struct Scope<'a> {
    kind: ScopeKind<'a>,
    body: &'a [Stmt],
    declared: DeclaredNames<'a>,
    /// Only made where something asks.
    parameters: OnceCell<BTreeSet<&'a str>>,
    bound: OnceCell<BTreeSet<&'a str>>,
    loops: usize,
    tries: usize,
}

impl<'a> Scope<'a> {
    fn new(kind: ScopeKind<'a>, body: &'a [Stmt]) -> Self {
        let declared = DeclaredNames::in_body(body);
        Self { kind, body, declared, parameters: OnceCell::new(), bound: OnceCell::new(), loops: 0, tries: 0 }
    }

    fn is_function(&self) -> bool {
        matches!(self.kind, ScopeKind::Function { .. } | ScopeKind::Lambda { .. })
    }

    fn has_parameter(&self, name: &str) -> bool {
        let (ScopeKind::Function { parameters, .. } | ScopeKind::Lambda { parameters }) = self.kind else {
            return false;
        };
        let names = || parameters.into_iter().flatten().map(|parameter| parameter.name().as_str()).collect();
        self.parameters.get_or_init(names).contains(name)
    }

    fn binds(&self, name: &str) -> bool {
        self.has_parameter(name) || self.bound.get_or_init(|| bound_in(self.body)).contains(name)
    }
}

/// What the checker may ask.
struct ScopeContext<'a> {
    source: &'a str,
    version: PythonVersion,
    future_annotations_or_stub: bool,
    /// Never empty: the module is the first.
    scopes: Vec<Scope<'a>>,
    errors: RefCell<Vec<SemanticSyntaxError>>,
}

impl<'a> ScopeContext<'a> {
    fn current(&self) -> Option<&Scope<'a>> {
        self.scopes.last()
    }

    fn report(&self, kind: SemanticSyntaxErrorKind, range: TextRange) {
        self.report_semantic_error(SemanticSyntaxError { kind, range, python_version: self.version });
    }

    /// A name that is bound here may not be declared later. Ruff looks at names in expressions only, and Python does not
    /// mind imports.
    fn bind(&self, name: &str, range: TextRange) {
        // What a comprehension binds with `:=` is of the scope around.
        let scope = self.scopes.iter().rfind(|scope| !matches!(scope.kind, ScopeKind::Comprehension { .. }));
        if let Some(declared) = scope.and_then(|scope| scope.declared.of(name))
            && range.start() < declared.start()
        {
            let (name, start) = (name.to_owned(), declared.start());
            self.report(SemanticSyntaxErrorKind::LoadBeforeGlobalDeclaration { name, start }, range);
        }
    }

    /// What `:=` binds. Not inlined: the frame of a walk over expressions is there as often as they are nested.
    #[inline(never)]
    fn bind_named(&self, expr: &Expr) {
        if let Expr::Named(named) = expr
            && let Expr::Name(name) = &*named.target
        {
            self.bind(&name.id, name.range);
        }
    }

    fn declare_nonlocal(&self, names: &[Identifier], range: TextRange) {
        let declared = self.current().map(|scope| &scope.declared.global);
        for name in names.iter().filter(|name| declared.is_some_and(|global| global.contains_key(name.as_str()))) {
            self.report(SemanticSyntaxErrorKind::NonlocalAndGlobal(name.to_string()), range);
        }
    }
}

impl SemanticSyntaxContext for ScopeContext<'_> {
    fn future_annotations_or_stub(&self) -> bool {
        self.future_annotations_or_stub
    }

    fn lazy_import_context(&self) -> Option<LazyImportContext> {
        let scope = self.current()?;
        match scope.kind {
            ScopeKind::Function { .. } | ScopeKind::Lambda { .. } => Some(LazyImportContext::Function),
            ScopeKind::Class => Some(LazyImportContext::Class),
            _ => (scope.tries > 0).then_some(LazyImportContext::TryExceptBlocks),
        }
    }

    fn python_version(&self) -> PythonVersion {
        self.version
    }

    fn source(&self) -> &str {
        self.source
    }

    /// A `nonlocal` counts too: what Python says of names before their declaration holds for both.
    fn global(&self, name: &str) -> Option<TextRange> {
        self.current()?.declared.of(name)
    }

    fn has_nonlocal_binding(&self, name: &str) -> bool {
        let Some((_, enclosing)) = self.scopes.split_last() else { return true };
        for scope in enclosing.iter().rev() {
            match scope.kind {
                ScopeKind::Class if name == "__class__" => return true,
                ScopeKind::Function { .. } | ScopeKind::Lambda { .. } => {
                    if scope.declared.global.contains_key(name) {
                        return false;
                    }
                    if scope.binds(name) {
                        return true;
                    }
                }
                _ => {}
            }
        }
        false
    }

    fn in_async_context(&self) -> bool {
        let decisive = self.scopes.iter().rev().find(|scope| !matches!(scope.kind, ScopeKind::Comprehension { .. }));
        decisive.is_some_and(|scope| matches!(scope.kind, ScopeKind::Function { is_async: true, .. }))
    }

    fn in_await_allowed_context(&self) -> bool {
        // With an `await` in it, a generator is an asynchronous one, wherever it is made.
        let is_generator = |scope: &Scope| matches!(scope.kind, ScopeKind::Comprehension { is_generator: true, .. });
        let decisive = self
            .scopes
            .iter()
            .rev()
            .find(|scope| scope.is_function() || is_generator(scope) || matches!(scope.kind, ScopeKind::Class));
        decisive.is_some_and(|scope| scope.is_function() || is_generator(scope))
    }

    fn in_yield_allowed_context(&self) -> bool {
        self.current().is_some_and(Scope::is_function)
    }

    fn in_sync_comprehension(&self) -> bool {
        self.scopes
            .iter()
            .any(|scope| matches!(scope.kind, ScopeKind::Comprehension { is_async: false, is_generator: false }))
    }

    fn in_class_body_comprehension(&self) -> bool {
        let decisive = self.scopes.iter().rev().find(|scope| !matches!(scope.kind, ScopeKind::Comprehension { .. }));
        decisive.is_some_and(|scope| matches!(scope.kind, ScopeKind::Class))
    }

    fn in_module_scope(&self) -> bool {
        self.scopes.len() == 1
    }

    fn in_function_scope(&self) -> bool {
        self.current().is_some_and(Scope::is_function)
    }

    fn in_generator_context(&self) -> bool {
        self.scopes.iter().any(|scope| matches!(scope.kind, ScopeKind::Comprehension { is_generator: true, .. }))
    }

    fn in_notebook(&self) -> bool {
        false
    }

    fn report_semantic_error(&self, mut error: SemanticSyntaxError) {
        let is_nonlocal = |name: &str| self.current().is_some_and(|scope| scope.declared.nonlocal.contains_key(name));
        error.kind = match error.kind {
            SemanticSyntaxErrorKind::LoadBeforeGlobalDeclaration { name, start } if is_nonlocal(&name) => {
                SemanticSyntaxErrorKind::LoadBeforeNonlocalDeclaration { name, start }
            }
            SemanticSyntaxErrorKind::AnnotatedGlobal(name) if is_nonlocal(&name) => {
                SemanticSyntaxErrorKind::AnnotatedNonlocal(name)
            }
            other => other,
        };
        self.errors.borrow_mut().push(error);
    }

    fn in_loop_context(&self) -> bool {
        self.current().is_some_and(|scope| scope.loops > 0)
    }

    fn is_bound_parameter(&self, name: &str) -> bool {
        self.current().is_some_and(|scope| scope.has_parameter(name))
    }
}

struct Walk<'a> {
    checker: SemanticSyntaxChecker,
    facts: ScopeContext<'a>,
    /// The bodies of lambdas.
    lambdas: Vec<TextRange>,
}

impl<'a> Walk<'a> {
    fn within(&mut self, kind: ScopeKind<'a>, body: &'a [Stmt], walk: impl FnOnce(&mut Self)) {
        self.facts.scopes.push(Scope::new(kind, body));
        walk(self);
        self.facts.scopes.pop();
    }

    fn function(&mut self, function: &'a StmtFunctionDef) {
        self.facts.bind(&function.name, function.name.range);
        function.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
        function.type_params.iter().for_each(|params| self.visit_type_params(params));
        self.visit_parameters(&function.parameters);
        function.returns.iter().for_each(|returns| self.visit_annotation(returns));
        let kind = ScopeKind::Function { is_async: function.is_async, parameters: Some(&function.parameters) };
        self.within(kind, &function.body, |walk| walk.visit_body(&function.body));
    }

    fn class(&mut self, class: &'a StmtClassDef) {
        self.facts.bind(&class.name, class.name.range);
        class.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
        class.type_params.iter().for_each(|params| self.visit_type_params(params));
        class.arguments.iter().for_each(|arguments| self.visit_arguments(arguments));
        self.within(ScopeKind::Class, &class.body, |walk| walk.visit_body(&class.body));
    }

    fn looped(&mut self, body: &'a [Stmt]) {
        self.count(|scope| &mut scope.loops, |walk| walk.visit_body(body));
    }

    /// Walk with one more of something in the current scope.
    fn count(&mut self, counter: for<'s> fn(&'s mut Scope<'a>) -> &'s mut usize, walk: impl FnOnce(&mut Self)) {
        self.facts.scopes.last_mut().map(counter).into_iter().for_each(|count| *count += 1);
        walk(self);
        self.facts.scopes.last_mut().map(counter).into_iter().for_each(|count| *count -= 1);
    }

    /// The first iterable belongs to the scope around; all the rest is inside.
    fn comprehension(&mut self, generators: &'a [Comprehension], results: &[Option<&'a Expr>], is_generator: bool) {
        generators.first().into_iter().for_each(|first| self.visit_expr(&first.iter));
        let is_async = generators.iter().any(|generator| generator.is_async);
        self.within(ScopeKind::Comprehension { is_async, is_generator }, &[], |walk| {
            for (number, generator) in generators.iter().enumerate() {
                if number > 0 {
                    walk.visit_expr(&generator.iter);
                }
                walk.visit_expr(&generator.target);
                generator.ifs.iter().for_each(|condition| walk.visit_expr(condition));
            }
            results.iter().copied().flatten().for_each(|result| walk.visit_expr(result));
        });
    }
}

impl<'a> Visitor<'a> for Walk<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.checker.visit_stmt(stmt, &self.facts);
        match stmt {
            Stmt::Nonlocal(inner) => self.facts.declare_nonlocal(&inner.names, inner.range),
            Stmt::FunctionDef(function) => self.function(function),
            Stmt::ClassDef(class) => self.class(class),
            Stmt::For(inner) => {
                self.visit_expr(&inner.iter);
                self.visit_expr(&inner.target);
                self.looped(&inner.body);
                self.visit_body(&inner.orelse);
            }
            Stmt::While(inner) => {
                self.visit_expr(&inner.test);
                self.looped(&inner.body);
                self.visit_body(&inner.orelse);
            }
            Stmt::Try(_) => self.count(|scope| &mut scope.tries, |walk| walk_stmt(walk, stmt)),
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.checker.visit_expr(expr, &self.facts);
        self.facts.bind_named(expr);
        match expr {
            Expr::Lambda(lambda) => {
                self.lambdas.push(lambda.body.range());
                let parameters = lambda.parameters.as_deref();
                parameters.into_iter().for_each(|parameters| self.visit_parameters(parameters));
                self.within(ScopeKind::Lambda { parameters }, &[], |walk| walk.visit_expr(&lambda.body));
            }
            Expr::ListComp(inner) => self.comprehension(&inner.generators, &[Some(&inner.elt)], false),
            Expr::SetComp(inner) => self.comprehension(&inner.generators, &[Some(&inner.elt)], false),
            Expr::Generator(inner) => self.comprehension(&inner.generators, &[Some(&inner.elt)], true),
            Expr::DictComp(inner) => {
                self.comprehension(&inner.generators, &[inner.key.as_deref(), Some(&inner.value)], false);
            }
            _ => walk_expr(self, expr),
        }
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        inner.name.iter().for_each(|name| self.facts.bind(name, name.range));
        walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        captured_by(pattern).into_iter().for_each(|name| self.facts.bind(name, name.range));
        walk_pattern(self, pattern);
    }
}
