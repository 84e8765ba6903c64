//! How a file may be read, by its suffix.

use crate::scan::Dialect;
use oxc_span::SourceType;

/// One way of reading a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt(SourceType);

impl Attempt {
    pub(crate) fn source_type(self) -> SourceType {
        self.0
    }

    /// Whether the file is no module.
    pub(crate) fn is_script(self) -> bool {
        !self.0.is_module()
    }

    pub(crate) fn dialect(self) -> Dialect {
        Dialect { typescript: self.0.is_typescript(), jsx: self.0.is_jsx() }
    }
}

/// The ways of reading a file, of which one must succeed; none where the suffix is unknown.
///
/// `.mjs` and `.mts` say that a file is a module, `.cjs` and `.cts` that it is a body of Node's: what else it is, no
/// suffix says, so either will do.
pub(crate) fn attempts(path: &str, jsx_in_js: bool) -> Vec<Attempt> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((stem, suffix)) = name.rsplit_once('.') else { return Vec::new() };
    let declares = stem.ends_with(".d") || (suffix == "ts" && stem.contains(".d."));
    let (base, is_module, is_body) = match suffix {
        "js" => (SourceType::mjs().with_jsx(jsx_in_js), true, true),
        "mjs" => (SourceType::mjs().with_jsx(jsx_in_js), true, false),
        "cjs" => (SourceType::mjs().with_jsx(jsx_in_js), false, true),
        "jsx" => (SourceType::jsx(), true, true),
        "ts" if declares => (SourceType::d_ts(), true, true),
        "mts" if declares => (SourceType::d_ts(), true, false),
        "cts" if declares => (SourceType::d_ts(), false, true),
        "ts" => (SourceType::ts(), true, true),
        "mts" => (SourceType::ts(), true, false),
        "cts" => (SourceType::ts(), false, true),
        "tsx" => (SourceType::tsx(), true, true),
        _ => return Vec::new(),
    };
    let module = is_module.then(|| base.with_module(true));
    let body = is_body.then(|| base.with_commonjs(true));
    module.into_iter().chain(body).map(Attempt).collect()
}
