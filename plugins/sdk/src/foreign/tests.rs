use super::*;
use crate::Finding;

const PYTHON: Format = Format {
    name: "Python",
    known_as: &["python", "pypy"],
    comments: &["#"],
    quotes: &['"', '\''],
    has_braces: true,
    reading: Reading::AtMark,
};
const JAVASCRIPT: Format = Format { name: "JavaScript", comments: &["//"], quotes: &['"', '\'', '`'], ..PYTHON };
const JSON: Format = Format { name: "JSON", comments: &[], quotes: &['"'], has_braces: false, ..PYTHON };
const XML: Format = Format { name: "XML", quotes: &[], reading: Reading::BehindMark, ..JSON };
const YAML: Format = Format { name: "YAML", comments: &["#"], reading: Reading::BehindLine, ..JSON };

/// Where the error is, is marked by `¦`.
fn is_foreign(marked: &str, format: &Format) -> bool {
    let error = marked.find('¦').expect("a mark");
    reason(&marked.replacen('¦', "", 1), format, error).is_some()
}

#[test]
fn an_error_at_a_mark_is_a_template() {
    for (text, format) in [
        ("from {¦{ cookiecutter.package }} import x\n", &PYTHON),
        ("class {¦{cookiecutter.name|title}}(Base):\n", &PYTHON),
        ("x = 1\n¦{% if a %}\ny = 2\n{% endif %}\n", &PYTHON),
        ("x = 1\n{¦%- if a == 'b' -%}\n", &PYTHON),
        ("use {{project-name}}¦::x;", &PYTHON),
        ("const a = ¦<%= b %>;", &JAVASCRIPT),
        ("import x from {{ .Path¦ }}", &JAVASCRIPT),
        ("{¦{#if x}}a{{/if}}", &JAVASCRIPT),
        ("{\"a\": {¦{ b }}}", &JSON),
        ("{\"a\": \"{{ b[\"¦c\"] }}\"}", &JSON),
        ("{\n  \"a\": 1,\n  ¦{% for b in c %}\n", &JSON),
        ("<a ¦{{ b }}/>", &XML),
        ("<a>{% if b %}<c>{% else %}<c d=''>{% endif %}</c>¦</a>", &XML),
        ("<a>¦<% if b %></a>", &XML),
        ("{{- if .Values.a }}\n¦b: c\n{{- end }}\n", &YAML),
        ("a:\n  {{ include \"a\" . | nindent 4 }}\n  b¦: c\n", &YAML),
        ("{% for x in y %}¦\n", &YAML),
        ("a: {{ .b }}\nc: {{ .d }}¦ e\n", &YAML),
        ("- a: {{ b }}¦: c\n", &YAML),
        ("a: \"{{ .b | default \"¦c\" }}\"\n", &YAML),
    ] {
        assert!(is_foreign(text, format), "{text}");
    }
}

#[test]
fn an_error_elsewhere_is_an_error() {
    for (text, format) in [
        ("x = ¦= 1\n# {{ a }}\n", &PYTHON),
        ("x = ¦= 1 # {{ a }}\n", &PYTHON),
        ("x = ¦= '{% if %}'\n", &PYTHON),
        ("x = ¦= 1\n{% if a %}\n", &PYTHON),
        ("{% if a %}\nx = ¦= 1\n", &PYTHON),
        ("x = {{1: 2}¦}", &PYTHON),
        ("f'{{ x }}' = ¦= 1", &PYTHON),
        ("<A style={{ color }} b¦=>", &JAVASCRIPT),
        ("<A b={{ ...c }} d¦=>", &JAVASCRIPT),
        ("function f() {{ return 1; }}¦}", &JAVASCRIPT),
        ("const a = `{{ b }}` ¦c", &JAVASCRIPT),
        ("a = {{ b: c }}¦", &JAVASCRIPT),
        ("{\"a\": \"{{ b }}\" ¦1}", &JSON),
        ("{{ }¦", &JSON),
        ("<a><b>{{ c }}</a>¦", &XML),
        ("<a><b></a¦>{% if c %}", &XML),
        ("a: ${{ b¦\n", &YAML),
        ("a: ${{ b }}\nc: d¦: e\n", &YAML),
        ("a: b¦: c\nd: {{ e }}\n", &YAML),
        ("run: |\n  {{ a }}\nb: c¦: d\n", &YAML),
        ("run: |-\n  a\n    {{ a }}\n\n  {{ b }}\nb: c¦: d\n", &YAML),
        ("a: \"{{ b }}\"\nc: d¦: e\n", &YAML),
        ("# {{ a }}\nc: d¦: e\n", &YAML),
        ("run: echo {{ x }}\nc: d¦: e\n", &YAML),
    ] {
        assert!(!is_foreign(text, format), "{text}");
    }
}

#[test]
fn a_first_line_and_a_modeline_name_a_language() {
    for (text, expected) in [
        ("#!/usr/bin/env ruby\n¦x", true),
        ("#!/usr/bin/env -S FOO=1 ruby3.2 -w\n¦x", true),
        ("#! /bin/bash -e\n¦x", true),
        ("\u{FEFF}#!/usr/bin/perl\n¦x", true),
        ("# vim: set ft=ruby :\n¦x", true),
        ("¦x\n\n\n\n\n\n\n# vim: ft=ruby\n", true),
        ("# -*- ruby -*-\n¦x", true),
        ("# -*- coding: utf-8; mode: Ruby -*-\n¦x", true),
        ("#!/usr/bin/env python3.11\n¦x", false),
        ("#!/usr/bin/env -S uv run --script\n¦x", false),
        ("#!/opt/tool\n¦x", false),
        ("# vim: ft=python.django\n¦x", false),
        ("# vim: set ts=4 :\n¦x", false),
        ("# the vim:ft=ruby\n¦x", true),
        ("# -*- coding: utf-8 -*-\n¦x", false),
        ("x = '#!/usr/bin/ruby'\n¦x", false),
        ("\n#!/usr/bin/ruby\n¦x", false),
        ("# vim: ft=anything\n¦x", false),
    ] {
        assert_eq!(is_foreign(text, &PYTHON), expected, "{text}");
    }
}

#[test]
fn a_verdict_is_replaced_only_where_it_fails_and_may_be() {
    let file = File::new("a.py", "ö\n{% if a %}\n");
    let text = file.text().expect("text");
    let failed = |at| Verdict::from(Finding::error("e", "").at(file.place_of(at)));
    for (verdict, strict, expected) in [
        (failed(3), false, Status::NotApplicable),
        (failed(3), true, Status::Fail),
        (failed(0), false, Status::Fail),
        (Verdict::pass(), false, Status::Pass),
        (Verdict::abstain("deep"), false, Status::Abstain),
        (Finding::warning("w", "").at(file.place_of(3)).into(), false, Status::Pass),
    ] {
        assert_eq!(file.unless_foreign(text, &PYTHON, strict, verdict).status, expected);
    }
    let verdict = file.unless_foreign(text, &PYTHON, false, failed(3));
    assert_eq!(
        verdict.summary,
        "line 2 contains template syntax (`{% … %}`), so the file becomes Python only after rendering"
    );
}

#[test]
fn an_offset_is_the_inverse_of_a_position() {
    let text = "ö\nab\n";
    for (line, column, expected) in [(1, 1, 0), (1, 2, 2), (2, 2, 4), (3, 1, 6), (9, 9, 6)] {
        assert_eq!(offset(text, line, column), expected);
    }
}
