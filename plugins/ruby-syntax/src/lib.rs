//! `ruby-syntax`: every matching file is Ruby.
//!
//! The parser is lib-ruby-parser: the grammar of Ruby 3.1 as tables, so nesting needs no stack. If the first error is at syntax
//! of a later version, the verifier abstains.

use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::text::one_line;
use gatehost_sdk::{About, File, FileVerifier, Finding, Rule, Verdict};
use lib_ruby_parser::{Parser, ParserOptions};

/// The size limit of a file: the parser needs fifty times as much.
const MOST_BYTES: usize = 2 << 20;

const FORMAT: Format = Format {
    name: "Ruby",
    known_as: &["ruby", "jruby", "rake"],
    comments: &["#"],
    quotes: &['"', '\'', '`'],
    has_braces: true,
    reading: Reading::AtMark,
};

const RULES: &[Rule] = &[
    Rule::error("syntax", "The file is not valid Ruby."),
    Rule::error("unexpected-end", "The file ends within a definition, a block or a string."),
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

gatehost_sdk::syntax_settings! {
    struct Settings {}
}

struct RubySyntax;

impl FileVerifier for RubySyntax {
    type Settings = Settings;
    const ABOUT: About = About::new("ruby-syntax", env!("CARGO_PKG_VERSION"), "Every file is valid Ruby.")
        .files(&["**/*.rb", "**/*.rake", "**/*.gemspec", "**/*.ru", "**/Gemfile", "**/Rakefile"])
        .settings::<Settings>()
        .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        match file.utf8("Ruby") {
            Ok(text) => file.unless_foreign(text, &FORMAT, settings.strict, judge(file, text)),
            Err(_) if names_encoding(file.bytes()) => {
                Verdict::abstain("the file declares an encoding other than UTF-8, which this verifier does not support")
            }
            Err(finding) => finding.into(),
        }
    }
}

gatehost_sdk::export_file_verifier!(RubySyntax);
// Trees are built once and never freed.
gatehost_sdk::use_arena!();

/// `# encoding: euc-jp`, in one of the first two lines.
fn names_encoding(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|&byte| byte == b'\n').take(2);
    lines.any(|line| {
        let line = String::from_utf8_lossy(line).to_ascii_lowercase();
        line.trim_start().starts_with('#') && line.contains("coding") && !line.contains("utf-8")
    })
}

fn judge(file: &File, whole: &str) -> Verdict {
    if whole.len() > MOST_BYTES {
        return Verdict::abstain("the file is larger than 2 MiB, the limit of this verifier");
    }
    if names_encoding(whole.as_bytes()) && !whole.is_ascii() {
        return Verdict::abstain(
            "the file declares an encoding other than UTF-8, which this verifier does not support",
        );
    }
    let text = whole.strip_prefix('\u{FEFF}').unwrap_or(whole);
    let skipped = whole.len() - text.len();
    // The declaration of an encoding in a file of ASCII says nothing, and the parser knows only some.
    let source = if names_encoding(text.as_bytes()) { text.replacen("coding", "c_ding", 2) } else { text.to_owned() };
    let options = ParserOptions { buffer_name: String::new(), record_tokens: false, ..ParserOptions::default() };
    let parsed = Parser::new(source.into_bytes(), options).do_parse();
    let errors = parsed.diagnostics.iter().filter(|found| found.is_error());
    let errors: Vec<(usize, String)> =
        errors.map(|error| (error.loc.begin.min(text.len()), one_line(&error.render_message()))).collect();
    // Dropping a deep tree recurses; the memory goes with the instance.
    std::mem::forget(parsed);
    let Some((first, _)) = errors.iter().min_by_key(|(at, _)| *at) else { return Verdict::pass() };
    if let Some(what) = newer(text, *first) {
        return Verdict::abstain(format!("the parser supports Ruby up to 3.1, and the file may contain {what}"));
    }
    let finding = |(at, message): &(usize, String)| {
        let at = (0..=*at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let code = if text[at..].trim().is_empty() { "unexpected-end" } else { "syntax" };
        (skipped + at, Finding::error(code, message.clone()))
    };
    file.verdict(errors.iter().map(finding).collect())
}

/// What a later version of Ruby added, where the first error stands at it.
fn newer(text: &str, at: usize) -> Option<&'static str> {
    let (before, behind) = (text.get(..at)?.trim_end(), text.get(at..)?);
    if before.ends_with('*') && behind.starts_with([')', ',', ']']) {
        return Some("anonymous arguments (Ruby 3.2)");
    }
    let line = &text[text[..at].rfind('\n').map_or(0, |end| end + 1)..at];
    let joins = ["&&", "||", "and ", "or "].iter().any(|operator| behind.starts_with(operator));
    (line.trim().is_empty() && joins && !before.is_empty()).then_some("a line that starts with an operator (Ruby 4.0)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::Status;

    fn verdict(text: &str) -> Verdict {
        let verdict = RubySyntax::check(&File::new("a.rb", text), Settings::default());
        assert!(RubySyntax::ABOUT.undeclared(&verdict).is_empty());
        verdict
    }

    #[test]
    fn valid_ruby_passes() {
        for text in [
            "",
            "\u{FEFF}# frozen_string_literal: true\r\nputs 'ö'\r\n",
            "class A < B\n  attr_reader :a\n  def initialize(a, *b, c: 1, **d, &e) = @a = a\nend\n",
            "x = <<~EOS\n  a #{b(\"c\")}\nEOS\ny = %w[a b].map(&:to_s)\n",
            "case [1, {a: 2}]\nin [Integer => n, {a:}] if n > 0 then p a\nelse nil\nend\n",
            "def f(...) = g(...)\nh = {x:, y:}\nbegin; a; rescue B => e; ensure c; end\n",
            "__END__\n(((\n",
            "# encoding: us-ascii\nputs 1\n",
        ] {
            assert_eq!(verdict(text).status, Status::Pass, "{text:?}: {:?}", verdict(text));
        }
    }

    #[test]
    fn the_first_error_has_its_code_and_place() {
        for (text, code, line) in [
            ("def f\n  1 +\nend\n", "syntax", 3),
            ("class A\n  def b\n  end\n", "unexpected-end", 4),
            ("x = [1, 2\ny = 3\n", "syntax", 2),
            ("ö = 'a\n", "unexpected-end", 2),
            ("end\n", "syntax", 1),
            ("1 = x\n", "syntax", 1),
            ("def f(a, a); end\n", "syntax", 1),
            ("break if\n", "unexpected-end", 2),
        ] {
            let finding = verdict(text).findings.into_iter().next().expect(text);
            let (found, at, _) = finding.spot().expect("every finding has its place");
            assert_eq!((found.as_str(), at), (code, line), "{text:?}: {finding:?}");
        }
    }

    #[test]
    fn what_later_versions_added_is_not_judged() {
        for text in ["def f(*) = g(*)\n", "def f(**) = g(**)\n", "a = b\n  && c\n"] {
            assert_ne!(verdict(text).status, Status::Fail, "{text}");
        }
        assert_eq!(verdict("a = b *\n\nend)\n").status, Status::Fail);
    }

    #[test]
    fn a_template_and_another_language_are_not_applicable() {
        for (text, expected) in [
            ("class <%= name %>\nend\n", Status::NotApplicable),
            ("#!/usr/bin/env python3\ndef f(): pass\n", Status::NotApplicable),
            ("def f # <%= a %>\n  (\nend\n", Status::Fail),
        ] {
            assert_eq!(verdict(text).status, expected, "{text}");
            let strict = RubySyntax::check(&File::new("a.rb", text), Settings { strict: true });
            assert_eq!(strict.status, Status::Fail, "{text}");
        }
    }

    #[test]
    fn depth_takes_no_stack() {
        for part in
            ["(", "[", "{a: ", "f(", "!", "-", "a ? b : ", "if a\n", "def f\n", "\"#{", "->{ ", "a = ", "a + ", "not "]
        {
            assert_ne!(verdict(&part.repeat(3_000)).status, Status::Pass, "{part}");
        }
        let nested = |depth: usize| format!("x = {}1{}\n", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(verdict(&nested(500)).status, Status::Pass);
        assert_eq!(verdict(&"def f(a) = [a, \"#{b}\"]\n".repeat(5_000)).status, Status::Pass);
    }
}
