//! The expectations are those of `bash -n` (5.2) and `dash -n`.

use super::*;
use gatehost_sdk::Status;

fn verdict(text: &str, dialect: Dialect) -> Verdict {
    let verdict = ShellSyntax::check(&File::new("a.sh", text), Settings { dialect, strict: false });
    assert!(ShellSyntax::ABOUT.undeclared(&verdict).is_empty());
    verdict
}

fn first(text: &str, dialect: Dialect) -> Option<(String, u32, u32)> {
    let finding = verdict(text, dialect).findings.into_iter().next()?;
    Some(finding.spot().expect("every finding has its place"))
}

/// Scripts, and whether bash and dash take them.
const SCRIPTS: &[(&str, bool, bool)] = &[
    ("", true, true),
    ("#!/bin/sh\n# if (\nset -eu\n", true, true),
    ("if a; then b; elif c; then d; else e; fi\n", true, true),
    ("while :\ndo\n  a && b || c\ndone < in > out 2>&1\n", true, true),
    ("for x in a b; do echo \"$x\"; done\nfor y; do :; done\nfor z\nin a; do :; done\n", true, true),
    ("case $x in\n  (a|b) echo ;;\n  'c d') ;;\n  *) if a; then b; fi\nesac\n", true, true),
    ("f() { a; }\ng () (\n b\n)\n", true, true),
    ("a \\\n  b | c |\n\n d && # e\n e\n", true, true),
    ("echo \"$(echo \"$(a \"b\" 'c')\")\" ${x:-\"$y\"} $((1 + (2))) `a \\`b\\``\n", true, true),
    ("cat <<E <<-'F' >out\n$x ' \"\nE\n\t\"\n\tF\necho\n", true, true),
    ("cat <<E\nno end\n", true, true),
    ("x=1 y='a b' > z\nif (a) then b; fi\n$( (a) )\n", true, true),
    ("a &\nb; c & d\n", true, true),
    ("echo a{b,c} } ] then fi done '#' a#b\n", true, true),
    ("a=(b 'c d' [1 + 2]=e\n# f\n $g)\ndeclare -a h=(i)\nj+=(k)\nl[1 + 2]=m\n", true, false),
    ("[[ -f a && ! ( b == @(c|d) || $e =~ ^(f|g)h$ ) ]] && (( i < 3 ))\n", true, false),
    ("[[ a\n|| b ]]\n", false, false),
    ("[[ -f a\n&& b ]]\n", true, false),
    ("function f { a; }\nfunction g() ( b )\n", true, false),
    ("for ((i = 0; i < 3; i++)); do a; done\nfor ((;;)) { b; }\n", true, false),
    ("diff <(a) <(b | c) &> d\na |& b\ncat <<< \"$x\"\n", true, false),
    ("select x in a b; do echo; done\ncoproc c { d; }\ntime -p a | b\n! a\n", true, false),
    ("case a in b) c ;& d) e ;;& *) ;; esac\n", true, false),
    ("exec {fd}>&1 2>/dev/null\nx=$'it\\'s'\necho $[1 + 2]\n", true, false),
    ("x=$(cat <<E\na ) b\nE\n)\ny=$(case a in b) c;; esac)\n", true, true),
    // `bash -n` does not, since it does not run `shopt`.
    ("shopt -s extglob\necho !(a|b) *.@(c|d)\n", true, false),
    ("a-b() { :; }\n", true, false),
    ("!\n", true, false),
    ("echo \"${x:-it's}\"\n", false, true),
    ("f() echo\n", false, true),
    ("if a; then\nfi\n", false, false),
    ("if a; then b\n", false, false),
    ("if a; b; fi\n", false, false),
    ("{ a }\n", false, false),
    ("{ }\n", false, false),
    ("( )\n", false, false),
    ("a)\n", false, false),
    ("}\n", false, false),
    ("fi\n", false, false),
    ("in\n", false, false),
    ("; a\n", false, false),
    ("a;;\n", false, false),
    ("a & ; b\n", false, false),
    ("a &&\n", false, false),
    ("a || | b\n", false, false),
    ("a | ! b\n", false, false),
    ("a >\n", false, false),
    ("echo 'a\n", false, false),
    ("echo \"a $(b\" c)\n", false, false),
    ("echo \"a\n", false, false),
    ("echo `a\n", false, false),
    ("echo ${a\n", false, false),
    ("echo $(a\n", false, false),
    ("x=$(if)\n", false, false),
    ("x=\"$(a; fi)\"\n", false, false),
    ("x=<(if)\n", false, false),
    ("echo $((1 + (2)\n", false, false),
    ("for x in a; b; done\n", false, false),
    ("for ((a; b)); do c; done\n", false, false),
    ("for in a; do :; done; x in\n", false, false),
    ("case x in a|) ;; esac\n", false, false),
    ("case x in a ;; esac\n", false, false),
    ("case x a) ;; esac\n", false, false),
    ("while a; done\n", false, false),
    ("while a; do b; done c\n", false, false),
    ("(a) b\n", false, false),
    ("echo a=(b)\n", false, false),
    ("a=(b;c)\n", false, false),
    ("a=(b\n", false, false),
    ("a=1 f() { :; }\n", false, false),
    ("echo f() { :; }\n", false, false),
    ("f( { :; }\n", false, false),
    ("[[ a b ]]\necho\n", false, true),
    ("[[ -z ]]\n", false, true),
    ("[[ a == ]]\n", false, true),
    ("[[ a && (b ]]\n", false, false),
    ("[[ a ]] b\n", false, true),
    ("if a; then\r\nb\r\nfi\r\n", false, false),
];

#[test]
fn a_script_is_judged_as_its_shell_does() {
    for &(text, bash, posix) in SCRIPTS {
        for (dialect, takes) in [(Dialect::Bash, bash), (Dialect::Posix, posix)] {
            let expected = if takes { Status::Pass } else { Status::Fail };
            assert_eq!(verdict(text, dialect).status, expected, "{dialect:?} {text:?}: {:?}", first(text, dialect));
        }
    }
}

#[test]
fn the_first_error_has_its_code_and_place() {
    for (text, code, line, column) in [
        ("if a; then\n  b\n", "unexpected-end", 3, 1),
        ("a\nfi\n", "unexpected-token", 2, 1),
        ("ö=1; a | | b\n", "unexpected-token", 1, 10),
        ("echo ö 'a\nb\n", "unclosed-string", 1, 8),
        ("a\necho \"$(b\n", "unclosed-expansion", 2, 8),
        ("x=${a\n", "unclosed-expansion", 1, 3),
        ("for x in a; b; done\n", "unexpected-token", 1, 13),
        ("[[ a b ]]\n", "syntax", 1, 6),
        ("\u{FEFF}a)\n", "unexpected-token", 1, 3),
    ] {
        assert_eq!(first(text, Dialect::Bash), Some((code.to_owned(), line, column)), "{text:?}");
    }
    assert_eq!(first("1a() { b; }\n", Dialect::Posix), Some(("bad-name".to_owned(), 1, 1)));
    let crlf = verdict("if a; then\r\nb\r\nfi\r\n", Dialect::Bash);
    assert!(crlf.findings[0].hint.as_ref().is_some_and(|hint| hint.contains("CRLF")));
}

#[test]
fn bytes_above_ascii_are_only_bytes() {
    let judged = |bytes: &[u8]| ShellSyntax::check(&File::new("a.sh", bytes), Settings::default());
    assert_eq!(judged(b"echo '\xE9'\n").status, Status::Pass);
    assert_eq!(judged(b"echo '\xE9\n").findings[0].code, "unclosed-string");
    assert_eq!(judged(b"\xFF\xFEa\0").findings[0].code, "utf-16");
    assert_eq!(judged(b"a\0b\xFF").status, Status::Fail);
}

#[test]
fn a_template_and_another_language_are_not_applicable() {
    for (text, expected) in [
        ("#!/usr/bin/env zsh\nfor x (a b) echo $x\n", Status::NotApplicable),
        ("#!/usr/bin/env python3\nprint('a' if b else (c))\n", Status::NotApplicable),
        ("for x in {% for a in b %}({{ a }}){% endfor %}; do :; done\n", Status::NotApplicable),
        ("x={{ cookiecutter.a | default('b') }}\n", Status::NotApplicable),
        ("#!/bin/bash\nfor x (a b) echo $x\n", Status::Fail),
        ("if a # {{ b }}\n", Status::Fail),
    ] {
        assert_eq!(verdict(text, Dialect::Bash).status, expected, "{text}");
        let settings = Settings { strict: true, ..Settings::default() };
        assert_eq!(ShellSyntax::check(&File::new("a.sh", text), settings).status, Status::Fail, "{text}");
    }
}

/// What would overflow the stack of a guest is not read, and what is looked at twice at every level is read once.
#[test]
fn depth_has_an_end_and_takes_no_time() {
    for part in
        ["$(", "\"$(", "( ", "{ ", "((", "$((", "$((a) ", "${a:-", "if ", "[[ ( ", "x=$(f() { ", "<(", "case a in b) "]
    {
        for count in [90, 5_000] {
            assert_ne!(verdict(&part.repeat(count), Dialect::Bash).status, Status::Pass, "{part} {count}");
        }
    }
    let nested = |depth: usize| "$(a ".repeat(depth) + &")".repeat(depth);
    assert_eq!(verdict(&nested(90), Dialect::Bash).status, Status::Pass);
    assert_eq!(verdict(&nested(101), Dialect::Bash).status, Status::Abstain);
    let long = "if a; then b \"$(c)\"; fi; x=(d e); [[ f == g ]]\n".repeat(5_000);
    assert_eq!(verdict(&long, Dialect::Bash).status, Status::Pass);
}

/// Whatever is cut out of a script or doubled in it, there is an answer.
#[test]
fn nothing_makes_it_panic() {
    let text = "f() { local a=(b \"$c\" [1]=d); case ${e:-'g'} in h|i) j <<-K ;; esac; }\n\tl $(m `n`)\n\tK\nfor ((o=0; p; q)); do [[ r =~ (s|t) && ! -f u ]]; done > v 2>&1 &\n";
    for dialect in [Dialect::Bash, Dialect::Posix] {
        for at in 0..text.len() {
            for end in at + 1..text.len().min(at + 5) {
                drop(verdict(&(text[..at].to_owned() + &text[end..]), dialect));
                drop(verdict(&(text[..end].to_owned() + &text[at..]), dialect));
            }
            drop(verdict(&text[..at], dialect));
        }
        drop(verdict("echo \\", dialect));
        drop(verdict("\"\\", dialect));
        drop(verdict("$'\\", dialect));
    }
}
