//! What a file says about its own language: the interpreter in its first line, and modelines of Vim and Emacs.

/// Interpreters whose scripts are in one language.
const INTERPRETERS: &[&str] = &[
    "ash",
    "awk",
    "bash",
    "bun",
    "csh",
    "dash",
    "deno",
    "elixir",
    "escript",
    "expect",
    "fish",
    "gawk",
    "groovy",
    "guile",
    "jq",
    "julia",
    "ksh",
    "lua",
    "make",
    "node",
    "nodejs",
    "osascript",
    "perl",
    "php",
    "pwsh",
    "pypy",
    "python",
    "racket",
    "rscript",
    "ruby",
    "scala",
    "sh",
    "swift",
    "tclsh",
    "ts-node",
    "tsx",
    "wish",
    "zsh",
];

/// Languages that a modeline can name, none of which shares its extension with another language.
const LANGUAGES: &[&str] = &[
    "awk",
    "bash",
    "c",
    "c++",
    "cmake",
    "cpp",
    "css",
    "django",
    "eruby",
    "erb",
    "go",
    "gohtmltmpl",
    "gotexttmpl",
    "gotmpl",
    "groovy",
    "haskell",
    "helm",
    "html",
    "htmldjango",
    "java",
    "javascript",
    "jinja",
    "jinja2",
    "js",
    "json",
    "lisp",
    "liquid",
    "lua",
    "make",
    "makefile",
    "markdown",
    "mustache",
    "perl",
    "php",
    "python",
    "ruby",
    "rust",
    "scheme",
    "sh",
    "shell-script",
    "sql",
    "tcl",
    "toml",
    "twig",
    "typescript",
    "xml",
    "yaml",
    "zsh",
];

/// The interpreter that the first line names, in lower case and without its version; `None` if it is unknown.
pub(super) fn interpreter(text: &str) -> Option<String> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let line = text.strip_prefix("#!")?.lines().next()?;
    let mut words = line.split_ascii_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let mut name = words.next()?;
    if name == "env" {
        name = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
    }
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_ascii_lowercase();
    INTERPRETERS.contains(&&*name).then_some(name)
}

/// The language that a modeline names, in lower case, and the line of the modeline; `None` if it is unknown.
pub(super) fn language(text: &str) -> Option<(usize, String)> {
    let count = text.lines().count();
    // Vim reads the first and the last five lines, Emacs the first, or the second after an interpreter.
    let lines = text.lines().enumerate().filter(|(at, _)| *at < 5 || at + 5 >= count);
    let mut named = lines.filter_map(|(at, line)| {
        let name = of_vim(line).or_else(|| of_emacs(line).filter(|_| at < 2))?;
        Some((at + 1, name.to_ascii_lowercase()))
    });
    named.next().filter(|(_, name)| LANGUAGES.contains(&&**name))
}

/// `vim: set ft=ruby :`
fn of_vim(line: &str) -> Option<&str> {
    let at = ["vim:", "vi:", "ex:"].iter().find_map(|mark| {
        let at = line.find(mark)?;
        line[..at].ends_with([' ', '\t']).then_some(at)
    })?;
    let mut options = line[at..].split([' ', '\t', ':']);
    let value = options.find_map(|option| {
        let (name, value) = option.split_once('=')?;
        matches!(name, "ft" | "filetype" | "syn" | "syntax").then_some(value)
    })?;
    // `yaml.ansible` is YAML first.
    value.split('.').next()
}

/// `-*- ruby -*-` or `-*- mode: ruby; coding: utf-8 -*-`
fn of_emacs(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("-*-")?;
    let (inside, _) = rest.split_once("-*-")?;
    if !inside.contains(':') {
        return Some(inside.trim());
    }
    let mut variables = inside.split(';').filter_map(|variable| variable.split_once(':'));
    variables.find(|(name, _)| name.trim().eq_ignore_ascii_case("mode")).map(|(_, value)| value.trim())
}
