use super::*;
use gatehost_sdk::{Edit, Fix, Level, Status};

fn checks(file: &File, settings: &str) -> Verdict {
    let settings: Settings = serde_json::from_str(settings).expect("settings");
    let verdict = judge(file, &settings);
    assert_eq!(Hygiene::ABOUT.undeclared(&verdict), [""; 0]);
    verdict
}

fn codes(file: &File) -> Vec<String> {
    checks(file, "{}").findings.into_iter().map(|finding| finding.code).collect()
}

/// A text after all repairs, as the contract says that edits are meant.
fn repaired(path: &str, text: &str) -> String {
    let findings = checks(&File::new(path, text), "{}").findings;
    let mut edits: Vec<Edit> =
        findings.into_iter().filter_map(|finding| finding.fix).flat_map(|Fix { edits, .. }| edits).collect();
    edits.sort_by_key(|edit| (edit.start_line, edit.start_column));
    let at = |line: u32, column: u32| {
        let start: usize = text.split_inclusive('\n').take(line as usize - 1).map(str::len).sum();
        start + text[start..].chars().take(column as usize - 1).map(char::len_utf8).sum::<usize>()
    };
    let (mut result, mut done) = (String::new(), 0);
    for edit in edits {
        let (start, end) = (at(edit.start_line, edit.start_column), at(edit.end_line, edit.end_column));
        assert!(done <= start && start <= end, "edits overlap in {text:?}");
        result += &text[done..start];
        result += &edit.replacement;
        done = end;
    }
    result + &text[done..]
}

#[test]
fn whitespace_is_found_and_repaired() {
    for (text, expected, good) in [
        ("", &[][..], ""),
        ("a\nb\n", &[], "a\nb\n"),
        ("a\r\nb\r\n", &[], "a\r\nb\r\n"),
        ("a \nb\t\n", &["trailing-whitespace"], "a\nb\n"),
        ("ö \r\nb\r\n", &["trailing-whitespace"], "ö\r\nb\r\n"),
        ("a\n  \nb\n", &["trailing-whitespace"], "a\n\nb\n"),
        ("a", &["end-of-file"], "a\n"),
        ("a\r\nb", &["end-of-file"], "a\r\nb\r\n"),
        ("a\n\n\n", &["end-of-file"], "a\n"),
        ("a\n \n\t", &["end-of-file"], "a\n"),
        ("a \n \n", &["trailing-whitespace", "end-of-file"], "a\n"),
        ("\n\n", &["end-of-file"], ""),
        ("  ", &["end-of-file"], ""),
        ("a\r\nb\nc\n", &["mixed-line-endings"], "a\nb\nc\n"),
        ("a\r\nb\r\nc\n", &["mixed-line-endings"], "a\r\nb\r\nc\r\n"),
        ("ö \r\nb\nc\n\r\n", &["trailing-whitespace", "mixed-line-endings", "end-of-file"], "ö\nb\nc\n"),
        ("\u{FEFF}a\n", &["byte-order-mark"], "a\n"),
        ("\u{FEFF}a ", &["byte-order-mark", "trailing-whitespace", "end-of-file"], "a\n"),
    ] {
        assert_eq!(codes(&File::new("a.txt", text)), expected, "{text:?}");
        assert_eq!(repaired("a.txt", text), good, "{text:?}");
        assert!(codes(&File::new("a.txt", good)).is_empty(), "{good:?}");
    }
}

#[test]
fn formats_in_which_whitespace_means_something_are_let_be() {
    for (path, text) in [
        ("a.md", "a  \nb\n"),
        ("a.patch", "+a \n \n-b\n"),
        ("a.csproj", "\u{FEFF}<Project/>\n"),
        ("Deploy.PS1", "\u{FEFF}x\n"),
    ] {
        assert!(codes(&File::new(path, text)).is_empty(), "{path}");
    }
    assert_eq!(codes(&File::new("a.md", "a   \nb \n  \nc\n")), ["trailing-whitespace"]);
    assert_eq!(repaired("a.md", "a  \nb \n"), "a  \nb\n");
}

#[test]
fn many_lines_are_one_finding() {
    let verdict = checks(&File::new("a.txt", "a \n".repeat(7)), "{}");
    assert_eq!(verdict.findings[0].message, "7 lines end in whitespace: 1, 2, 3, 4, 5 …");
    assert_eq!(verdict.findings[0].place.as_ref().and_then(|place| place.line), Some(1));
    assert_eq!(verdict.findings[0].key.as_deref(), Some("trailing-whitespace"));
}

#[test]
fn a_repair_is_bounded() {
    for text in ["a \n".repeat(5_000), "a\n".repeat(5_000) + &"b\r\n".repeat(4_000)] {
        let fix = checks(&File::new("a.txt", text), "{}").findings.remove(0).fix.expect("a fix");
        assert_eq!(fix.edits.len(), 1_000);
    }
}

#[test]
fn a_large_file_is_found_whatever_is_in_it() {
    for (bytes, status) in [
        (vec![b'\n'; 1], Status::Fail),
        ([vec![b'a'; 1023], vec![b'\n']].concat(), Status::Pass),
        ([vec![b'a'; 1024], vec![b'\n']].concat(), Status::Fail),
        (vec![0; 1024], Status::NotApplicable),
        (vec![0xFF; 1025], Status::Fail),
    ] {
        assert_eq!(checks(&File::new("a", bytes.clone()), r#"{"max_kilobytes": 1}"#).status, status, "{}", bytes.len());
    }
}

#[test]
fn scripts_are_executable_and_executables_are_scripts() {
    for (text, executable, expected) in [
        ("#!/bin/sh\n", true, &[][..]),
        ("#! /usr/bin/env python3\n", true, &[]),
        ("echo\n", false, &[]),
        ("#!/bin/sh\n", false, &["shebang-not-executable"]),
        ("#![allow(x)]\n", false, &[]),
        ("echo\n", true, &["executable-without-shebang"]),
        ("#![allow(x)]\n", true, &["executable-without-shebang"]),
    ] {
        assert_eq!(codes(&File { executable, ..File::new("a", text) }), expected, "{text:?}");
    }
    let verdict = checks(&File::new("a", "#!/bin/sh\n"), "{}");
    assert_eq!((verdict.status, verdict.findings[0].level), (Status::Pass, Level::Warning));
}

#[test]
fn a_link_is_judged_by_where_it_leads() {
    let link = |content| File { content, link_target: Some("../gone".to_owned()), ..File::new("a", "") };
    let verdict = checks(&link(Content::Missing), "{}");
    assert_eq!(verdict.findings[0].message, "the symlink points to `../gone`, which does not exist");
    assert_eq!(checks(&link(Content::Missing), r#"{"checks": ["end-of-file"]}"#).status, Status::NotApplicable);
    assert_eq!(checks(&link(Content::Text("a".to_owned())), "{}").status, Status::NotApplicable);
}

#[test]
fn debuggers_are_found_in_code_alone() {
    for (path, text, found) in [
        ("a.py", "import pdb\n", true),
        ("a.py", "import os, ipdb\n", true),
        ("a.py", "from pdb import set_trace\n", true),
        ("a.py", "x = 1; import pdb; pdb.set_trace()\n", true),
        ("a.py", "    breakpoint()\n", true),
        ("a.py", "if x: breakpoint ()\n", true),
        ("a.py", "# breakpoint()\n", false),
        ("a.py", "\"\"\"\nbreakpoint()\nimport pdb\n\"\"\"\n", false),
        ("a.py", "x = 'breakpoint()' # it's\n", false),
        ("a.py", "def breakpoint(): pass\n", false),
        ("a.py", "gdb.breakpoint()\n", false),
        ("a.py", "set_breakpoint()\n", false),
        ("a.py", "import pdbx\nfrom . import models\n", false),
        ("a.py", "x = 'it\\'s'\nbreakpoint()\n", true),
        ("a.js", "debugger;\n", true),
        ("a.ts", "  debugger\n", true),
        ("a.jsx", "if (x) { debugger; }\n", true),
        ("a.js", "if (x) debugger;\n", true),
        ("a.js", "// debugger;\n", false),
        ("a.js", "/*\ndebugger;\n*/\n", false),
        ("a.js", "const s = `\ndebugger;\n`;\n", false),
        ("a.js", "const debugger2 = 1; let x = options.debugger;\n", false),
        ("a.js", "log('debugger;')\n", false),
        ("a.js", "x.replace(/'/g, '')\ndebugger;\n", true),
        ("a.txt", "debugger;\n", false),
    ] {
        let expected: &[&str] = if found { &["debug-statement"] } else { &[] };
        assert_eq!(codes(&File::new(path, text)), expected, "{path}: {text:?}");
    }
    let verdict = checks(&File::new("a.py", "\nimport pdb\nbreakpoint()\n"), "{}");
    assert_eq!(verdict.findings[0].message, "found a debugger call: `import pdb`, and 1 more");
    assert_eq!(verdict.findings[0].place.as_ref().and_then(|place| place.line), Some(2));
}

#[test]
fn private_keys_are_found_with_their_keys() {
    let body = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgHcTz6sE2I2yPB";
    let head = format!("-----BEGIN RSA {} KEY-----", "PRIVATE");
    for (text, found) in [
        (format!("{head}\n{body}\n"), true),
        (format!("  {head}\n  Proc-Type: 4,ENCRYPTED\n\n  {body}\n"), true),
        (format!("PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nComment: x\nPublic-Lines: 6\n{body}\n"), true),
        (format!("if line == \"{head}\" {{\n"), false),
        (format!("{head}\n...\n"), false),
        (format!("{head}\n{}\n", "A".repeat(64)), false),
        (format!("# gate:allow-secret\n{head}\n{body}\n"), false),
    ] {
        let expected: &[&str] = if found { &["private-key"] } else { &[] };
        assert_eq!(codes(&File::new("a.pem", text.clone())), expected, "{text}");
    }
}

#[test]
fn every_check_can_be_chosen() {
    let file = File::new("a.py", "\u{FEFF}breakpoint() \r\nb\n\n");
    for check in ["trailing-whitespace", "end-of-file", "mixed-line-endings", "byte-order-mark", "debug-statement"] {
        let verdict = checks(&file, &format!(r#"{{"checks": ["{check}"]}}"#));
        let codes: Vec<&str> = verdict.findings.iter().map(|finding| &*finding.code).collect();
        assert_eq!(codes, [check]);
    }
}
