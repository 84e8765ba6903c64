//! Errors of CPython's compiler that Ruff does not report, as far as they concern a single node.

use gatehost_sdk::Finding;
use ruff_python_ast::visitor::{
    Visitor, walk_decorator, walk_expr, walk_f_string, walk_keyword, walk_pattern, walk_pattern_keyword, walk_stmt,
    walk_t_string, walk_type_param, walk_with_item,
};
use ruff_python_ast::{
    Decorator, ExceptHandler, Expr, FString, Identifier, InterpolatedElement, InterpolatedStringElement, Keyword,
    Pattern, PatternKeyword, PythonVersion, Stmt, StmtTry, StmtWith, TString, TypeParam, WithItem,
};
use ruff_text_size::{Ranged, TextRange};

/// Everything that these rules find, each beside its byte.
pub(crate) fn errors(body: &[Stmt], source: &str, version: PythonVersion) -> Vec<(usize, Finding)> {
    let mut rules = Rules { source, version, specifications: 0, errors: Vec::new() };
    rules.visit_body(body);
    rules.errors
}

struct Rules<'a> {
    source: &'a str,
    version: PythonVersion,
    /// How many format specifications of the same string are open.
    specifications: usize,
    errors: Vec<(usize, Finding)>,
}

impl Rules<'_> {
    fn report(&mut self, range: TextRange, code: &str, message: impl Into<String>) {
        self.errors.push((range.start().into(), Finding::error(code, message)));
    }

    fn newer(&mut self, range: TextRange, what: &str, since: PythonVersion) {
        let message = format!("cannot use {what} on Python {} (added in {since})", self.version);
        self.report(range, "version", message);
    }

    fn handlers(&mut self, inner: &StmtTry) {
        let Some((_, before)) = inner.handlers.split_last() else { return };
        for ExceptHandler::ExceptHandler(handler) in before {
            if handler.type_.is_none() {
                self.report(handler.range, "invalid", "an `except:` without a type must be the last `except`");
            }
        }
    }

    /// Before 3.9 what stands in parentheses is one expression.
    fn parenthesised(&mut self, with: &StmtWith) {
        let Some(first) = with.items.first() else { return };
        let is_open = self.source[TextRange::new(with.start(), first.start())].contains('(');
        if self.version < PythonVersion::PY39 && is_open && with.items.iter().any(|item| item.optional_vars.is_some()) {
            self.newer(with.range, "`as` within the parentheses of `with`", PythonVersion::PY39);
        }
    }

    /// Not inlined: the frame of a walk over expressions is there as often as they are nested.
    #[inline(never)]
    fn attribute(&mut self, expr: &Expr) {
        if let Expr::Attribute(attribute) = expr
            && attribute.ctx.is_store()
        {
            self.not_debug(&attribute.attr);
        }
    }

    fn not_debug(&mut self, name: &Identifier) {
        if name == "__debug__" {
            self.report(name.range, "invalid", "cannot assign to `__debug__`");
        }
    }

    fn no_literal(&mut self, expr: &Expr) {
        if matches!(expr, Expr::FString(_) | Expr::TString(_)) {
            self.report(expr.range(), "invalid", "a pattern cannot be an interpolated string");
        }
    }

    /// Ruff looks at names only, not at `(a as b)`.
    fn alternatives(&mut self, patterns: &[Pattern]) {
        let Some((_, before)) = patterns.split_last() else { return };
        for pattern in before.iter().filter(|pattern| pattern.is_irrefutable()) {
            self.report(
                pattern.range(),
                "invalid",
                "this alternative matches everything, so the alternatives after it are unreachable",
            );
        }
    }

    /// A starred expression is a part of a list, never a value. Not inlined, as every statement comes by.
    #[inline(never)]
    fn not_starred(&mut self, stmt: &Stmt) {
        let value = match stmt {
            Stmt::Expr(inner) => Some(&*inner.value),
            Stmt::AnnAssign(inner) => inner.value.as_deref(),
            Stmt::AugAssign(inner) => Some(&*inner.value),
            _ => None,
        };
        if let Some(starred) = value.filter(|value| value.is_starred_expr()) {
            self.report(starred.range(), "invalid", "a starred expression cannot stand alone here");
        }
    }

    /// Ruff accepts parentheses around a starred pattern, as if it could stand alone.
    fn not_parenthesised(&mut self, star: TextRange) {
        let before = self.source[..star.start().into()].trim_end();
        let behind = self.source[star.end().into()..].trim_start();
        if before.ends_with('(') && behind.starts_with(')') {
            self.report(star, "invalid", "a starred pattern is not allowed in parentheses");
        }
    }

    fn interpolation(&mut self, element: &InterpolatedElement) {
        if element.expression.is_starred_expr() {
            self.report(element.expression.range(), "invalid", "a starred expression cannot stand alone here");
        }
        if element.debug_text.is_some() && self.version < PythonVersion::PY38 {
            self.newer(element.range, "`=` in an f-string", PythonVersion::PY38);
        }
        let most = if self.version < PythonVersion::PY312 { 1 } else { 2 };
        if self.specifications > most {
            self.report(element.range, "interpolated-string", "format specifications are nested too deep");
        }
    }

    /// Another string counts anew.
    fn in_string(&mut self, walk: impl FnOnce(&mut Self)) {
        let around = std::mem::take(&mut self.specifications);
        walk(self);
        self.specifications = around;
    }
}

impl<'a> Visitor<'a> for Rules<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.not_starred(stmt);
        match stmt {
            Stmt::Try(inner) => self.handlers(inner),
            Stmt::With(inner) => self.parenthesised(inner),
            // Ruff knows that of most.
            Stmt::Match(_) if self.version < PythonVersion::PY310 => {
                self.newer(stmt.range(), "`match`", PythonVersion::PY310);
            }
            _ => {}
        }
        match stmt {
            // `x.__debug__ += 1` is the one assignment to it that CPython does not look at.
            Stmt::AugAssign(inner) if self.version >= PythonVersion::PY39 => {
                walk_expr(self, &inner.target);
                self.visit_expr(&inner.value);
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.attribute(expr);
        walk_expr(self, expr);
    }

    fn visit_keyword(&mut self, keyword: &'a Keyword) {
        keyword.arg.iter().for_each(|name| self.not_debug(name));
        walk_keyword(self, keyword);
    }

    fn visit_with_item(&mut self, item: &'a WithItem) {
        if let Some(target) = item.optional_vars.as_deref().filter(|target| target.is_starred_expr()) {
            self.report(target.range(), "invalid", "a starred target must be in a list or a tuple");
        }
        walk_with_item(self, item);
    }

    fn visit_decorator(&mut self, decorator: &'a Decorator) {
        let behind =
            self.source[decorator.range].trim_start_matches(|char: char| char.is_whitespace() || "@\\".contains(char));
        if self.version < PythonVersion::PY39 && behind.starts_with('(') {
            self.newer(decorator.range, "a decorator in parentheses", PythonVersion::PY39);
        }
        walk_decorator(self, decorator);
    }

    fn visit_type_param(&mut self, param: &'a TypeParam) {
        // Ruff looks at those of `T` only.
        let default = match param {
            TypeParam::TypeVar(_) => None,
            TypeParam::TypeVarTuple(tuple) => tuple.default.as_deref(),
            TypeParam::ParamSpec(spec) => spec.default.as_deref(),
        };
        if let Some(default) = default.filter(|_| self.version < PythonVersion::PY313) {
            self.newer(default.range(), "the default of a type parameter", PythonVersion::PY313);
        }
        walk_type_param(self, param);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        match pattern {
            Pattern::MatchValue(value) => self.no_literal(&value.value),
            Pattern::MatchOr(inner) => self.alternatives(&inner.patterns),
            Pattern::MatchStar(inner) => self.not_parenthesised(inner.range),
            _ => {}
        }
        walk_pattern(self, pattern);
    }

    fn visit_pattern_keyword(&mut self, keyword: &'a PatternKeyword) {
        self.not_debug(&keyword.attr);
        walk_pattern_keyword(self, keyword);
    }

    fn visit_f_string(&mut self, string: &'a FString) {
        self.in_string(|rules| walk_f_string(rules, string));
    }

    fn visit_t_string(&mut self, string: &'a TString) {
        self.in_string(|rules| walk_t_string(rules, string));
    }

    fn visit_interpolated_string_element(&mut self, element: &'a InterpolatedStringElement) {
        let InterpolatedStringElement::Interpolation(element) = element else { return };
        self.interpolation(element);
        self.visit_expr(&element.expression);
        self.specifications += 1;
        for inner in element.format_spec.iter().flat_map(|specification| &specification.elements) {
            self.visit_interpolated_string_element(inner);
        }
        self.specifications -= 1;
    }
}
