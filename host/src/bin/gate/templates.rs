//! The files of a new project. The program contains those of `host/templates`.

use crate::languages::Language;
use gatehost::plan::Shape;

/// A file of a project: its path and its content.
type Template = (&'static str, &'static [u8]);

macro_rules! templates {
    ($($path:literal: $file:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!("../../../templates/", $file)))),*]
    };
}

/// Cases that the sample of every language passes.
const FILE_CASES: &[Template] = templates![
    "cases/another-word/expected.json": "cases/file/another-word/expected.json",
    "cases/another-word/input/notes.txt": "cases/file/another-word/input/notes.txt",
    "cases/another-word/settings.json": "cases/file/another-word/settings.json",
    "cases/clean/expected.json": "cases/file/clean/expected.json",
    "cases/clean/input/notes.txt": "cases/file/clean/input/notes.txt",
    "cases/not-text/expected.json": "cases/file/not-text/expected.json",
    "cases/not-text/input/data.txt": "cases/file/not-text/input/data.txt",
    "cases/words-are-found/expected.json": "cases/file/words-are-found/expected.json",
    "cases/words-are-found/input/notes.md": "cases/file/words-are-found/input/notes.md",
];

const SUBMISSION_CASES: &[Template] = templates![
    "cases/a-file-is-not-mentioned/expected.json": "cases/submission/a-file-is-not-mentioned/expected.json",
    "cases/a-file-is-not-mentioned/submission.json": "cases/submission/a-file-is-not-mentioned/submission.json",
    "cases/an-ignored-folder/expected.json": "cases/submission/an-ignored-folder/expected.json",
    "cases/an-ignored-folder/settings.json": "cases/submission/an-ignored-folder/settings.json",
    "cases/an-ignored-folder/submission.json": "cases/submission/an-ignored-folder/submission.json",
    "cases/every-file-is-mentioned/expected.json": "cases/submission/every-file-is-mentioned/expected.json",
    "cases/every-file-is-mentioned/submission.json": "cases/submission/every-file-is-mentioned/submission.json",
    "cases/no-claim/expected.json": "cases/submission/no-claim/expected.json",
    "cases/no-claim/submission.json": "cases/submission/no-claim/submission.json",
    "cases/nothing-changed/expected.json": "cases/submission/nothing-changed/expected.json",
    "cases/nothing-changed/submission.json": "cases/submission/nothing-changed/submission.json",
];

/// The sources of the SDK, two folders below the project, as in this repository, so that they find `wit/` in both. Written
/// by `host/build.rs`.
const SDK: &[Template] = include!(concat!(env!("OUT_DIR"), "/sdk.rs"));

const RUST: &[Template] = templates![
    ".cargo/config.toml": "rust/config.toml",
    ".gitignore": "rust/gitignore",
    "Cargo.toml": "rust/Cargo.toml.in",
    "vendor/gatehost-sdk/Cargo.toml": "rust/sdk/Cargo.toml.in",
];

const PYTHON: &[Template] = templates![".gitignore": "python/gitignore", "gatehost.py": "python/gatehost.py"];

const JAVASCRIPT: &[Template] = templates![
    ".gitignore": "javascript/gitignore",
    "gatehost.d.ts": "javascript/gatehost.d.ts",
    "gatehost.js": "javascript/gatehost.js",
    "package.json": "javascript/package.json",
];

const TYPESCRIPT: &[Template] = templates![
    ".gitignore": "typescript/gitignore",
    "package.json": "typescript/package.json",
    "src/gatehost.d.ts": "javascript/gatehost.d.ts",
    "src/gatehost.js": "javascript/gatehost.js",
    "tsconfig.json": "typescript/tsconfig.json",
];

const C: &[Template] = templates![
    ".gitignore": "c/gitignore",
    "compile_flags.txt": "c/compile_flags.txt",
    "src/gatehost.c": "c/gatehost.c",
    "src/gatehost.h": "c/gatehost.h",
];

const CPP: &[Template] = templates![
    ".gitignore": "c/gitignore",
    "compile_flags.txt": "cpp/compile_flags.txt",
    "src/gatehost.cpp": "c/gatehost.c",
    "src/gatehost.h": "c/gatehost.h",
    "src/gatehost.hpp": "cpp/gatehost.hpp",
];

const ZIG: &[Template] = templates![".gitignore": "zig/gitignore", "src/gatehost.zig": "zig/gatehost.zig"];

const GO: &[Template] = templates![
    ".gitignore": "go/gitignore",
    "gatehost/gatehost.go": "go/gatehost.go",
    "go.mod": "go/go.mod.in",
    "runtime/go.mod": "go/runtime/go.mod.in",
    "runtime/wit/runtime/runtime.go": "go/runtime/runtime.go",
    "runtime/wit/types/types.go": "go/runtime/types.go",
];

const ASSEMBLYSCRIPT: &[Template] = templates![
    ".gitignore": "assemblyscript/gitignore",
    "asconfig.json": "assemblyscript/asconfig.json",
    "package.json": "assemblyscript/package.json",
    "src/gatehost.ts": "assemblyscript/gatehost.ts.in",
    "transform.mjs": "assemblyscript/transform.mjs",
    "tsconfig.json": "assemblyscript/tsconfig.json",
];

/// Returns the files of a project besides its verifier.
fn common(language: Language) -> &'static [Template] {
    match language {
        Language::Rust => RUST,
        Language::Python => PYTHON,
        Language::Javascript => JAVASCRIPT,
        Language::Typescript => TYPESCRIPT,
        Language::C => C,
        Language::Cpp => CPP,
        Language::Zig => ZIG,
        Language::Go => GO,
        Language::Assemblyscript => ASSEMBLYSCRIPT,
    }
}

/// Returns the verifier itself.
fn verifier(language: Language, shape: Shape) -> &'static [Template] {
    match (language, shape) {
        (Language::Rust, Shape::File) => templates!["src/lib.rs": "rust/file/lib.rs"],
        (Language::Rust, Shape::Submission) => templates!["src/lib.rs": "rust/submission/lib.rs"],
        (Language::Python, Shape::File) => templates!["verifier.py": "python/file/verifier.py"],
        (Language::Python, Shape::Submission) => templates!["verifier.py": "python/submission/verifier.py"],
        (Language::Javascript, Shape::File) => templates!["verifier.js": "javascript/file/verifier.js"],
        (Language::Javascript, Shape::Submission) => templates!["verifier.js": "javascript/submission/verifier.js"],
        (Language::Typescript, Shape::File) => templates!["src/verifier.ts": "typescript/file/verifier.ts"],
        (Language::Typescript, Shape::Submission) => templates!["src/verifier.ts": "typescript/submission/verifier.ts"],
        (Language::C, Shape::File) => templates!["src/verifier.c": "c/file/verifier.c"],
        (Language::C, Shape::Submission) => templates!["src/verifier.c": "c/submission/verifier.c"],
        (Language::Cpp, Shape::File) => templates!["src/verifier.cpp": "cpp/file/verifier.cpp"],
        (Language::Cpp, Shape::Submission) => templates!["src/verifier.cpp": "cpp/submission/verifier.cpp"],
        (Language::Zig, Shape::File) => templates!["src/verifier.zig": "zig/file/verifier.zig"],
        (Language::Zig, Shape::Submission) => templates!["src/verifier.zig": "zig/submission/verifier.zig"],
        (Language::Go, Shape::File) => templates![
            "export_gatehost_verifier_about/about.go": "go/file/about.go",
            "export_gatehost_verifier_file_verifier/verifier.go": "go/file/verifier.go",
        ],
        (Language::Go, Shape::Submission) => templates![
            "export_gatehost_verifier_about/about.go": "go/submission/about.go",
            "export_gatehost_verifier_submission_verifier/verifier.go": "go/submission/verifier.go",
        ],
        (Language::Assemblyscript, Shape::File) => {
            templates!["src/verifier.ts": "assemblyscript/file/verifier.ts.in"]
        }
        (Language::Assemblyscript, Shape::Submission) => {
            templates!["src/verifier.ts": "assemblyscript/submission/verifier.ts.in"]
        }
    }
}

/// Returns all files of a new project, except those that are generated from the contract.
pub(crate) fn files(language: Language, shape: Shape, name: &str) -> Vec<(String, Vec<u8>)> {
    let cases = match shape {
        Shape::File => FILE_CASES,
        Shape::Submission => SUBMISSION_CASES,
    };
    let sdk = if language == Language::Rust { SDK } else { &[] };
    let written = common(language).iter().chain(sdk).chain(verifier(language, shape)).chain(cases);
    let mut files: Vec<_> = written.map(|(path, content)| ((*path).to_owned(), named(content, name))).collect();
    files.push(("gate-verifier.toml".to_owned(), manifest(language, shape, name).into_bytes()));
    files
}

/// Returns the `gate-verifier.toml` of a project.
fn manifest(language: Language, shape: Shape, name: &str) -> String {
    let world = match shape {
        Shape::File => "file",
        Shape::Submission => "submission-only",
    };
    format!(
        "# What `gate build` builds, and where it puts it.\n\
         lang = \"{}\"\ncomponent = \"{name}.wasm\"\n\
         # One of `wit/worlds.wit`: what it may import.\nworld = \"{world}\"\n",
        language.name()
    )
}

/// Inserts the name of the verifier into a text.
fn named(content: &[u8], name: &str) -> Vec<u8> {
    match str::from_utf8(content) {
        Ok(text) => text.replace("{{name}}", name).into_bytes(),
        Err(_) => content.to_vec(),
    }
}
