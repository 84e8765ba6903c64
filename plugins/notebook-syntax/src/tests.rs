use super::*;
use gatehost_sdk::Status;

fn verdict_of(bytes: &[u8]) -> Verdict {
    let verdict = NotebookSyntax::check(&File::new("a.ipynb", bytes), Settings::default());
    assert!(NotebookSyntax::ABOUT.undeclared(&verdict).is_empty());
    verdict
}

fn places(text: &str) -> Vec<(String, u32, u32)> {
    let findings = verdict_of(text.as_bytes()).findings.into_iter();
    findings.map(|finding| finding.spot().expect("every finding has its place")).collect()
}

/// A notebook of 4.`minor` with these cells, which stand on line 2.
fn notebook(minor: u32, cells: &str) -> String {
    format!("{{\"cells\": [\n{cells}\n],\n\"metadata\": {{}}, \"nbformat\": 4, \"nbformat_minor\": {minor}}}")
}

fn code(outputs: &str) -> String {
    notebook(
        4,
        &format!(r#"{{"cell_type":"code","metadata":{{}},"source":[],"execution_count":null,"outputs":[{outputs}]}}"#),
    )
}

#[test]
fn a_notebook_passes() {
    for text in [
        notebook(4, ""),
        notebook(4, "").replace('\n', "\r\n"),
        notebook(0, r#"{"cell_type": "markdown", "metadata": {"tags": ["a", "b"]}, "source": "ö"}"#),
        notebook(5, r#"{"id": "a-1", "cell_type": "raw", "metadata": {}, "source": ["\ud800"]}"#),
        notebook(6, r#"{"id": "a", "cell_type": "chart", "new": 1}"#),
        code(r#"{"output_type":"stream","name":"stdout","text":["a\n"]}"#),
        code(r#"{"output_type":"display_data","metadata":{},"data":{"text/plain":"a","application/a+json":{"b":1}}}"#),
        code(r#"{"output_type":"error","ename":"E","evalue":"","traceback":[]}"#),
    ] {
        assert_eq!(places(&text), [], "{text}");
    }
}

#[test]
fn every_error_has_its_place() {
    let cell = |cell: &str| notebook(4, cell);
    for (text, code, line, column) in [
        (String::new(), "empty", 1, 1),
        ("\u{FEFF}{}".into(), "byte-order-mark", 1, 1),
        ("{\"cells\": \0}".into(), "syntax", 1, 11),
        ("{\r\n\"ö\": 1,\r\n}".into(), "syntax", 3, 1),
        ("{\"cells\": [".into(), "unexpected-end", 1, 11),
        (" []".into(), "wrong-type", 1, 2),
        (notebook(4, "").replace("\"nbformat\"", "\"nbforma\""), "missing-key", 1, 1),
        (notebook(4, "").replace("{}", "{}, \"more\": 1"), "unknown-key", 4, 17),
        (notebook(4, "").replace("{}", "{\"kernelspec\": {\"name\": 1, \"display_name\": \"\"}}"), "wrong-type", 4, 37),
        (cell("1"), "wrong-type", 2, 1),
        (cell("{}"), "missing-key", 2, 1),
        (cell(r#"{"cell_type": "cod"}"#), "unknown-type", 2, 15),
        (cell(r#"{"cell_type": "raw", "metadata": {}}"#), "missing-key", 2, 1),
        (cell(r#"{"cell_type": "raw", "metadata": {}, "source": [1]}"#), "wrong-type", 2, 48),
        (cell(r#"{"cell_type": "raw", "metadata": {"tags": ["a", "a"]}, "source": ""}"#), "wrong-type", 2, 43),
        (cell(r#"{"cell_type": "raw", "metadata": {}, "source": "", "id": "a"}"#), "unknown-key", 2, 58),
        (notebook(5, r#"{"cell_type": "raw", "metadata": {}, "source": "", "id": ""}"#), "wrong-type", 2, 58),
        (code("{\"output_type\":\"stream\",\"name\":\"a\"}"), "missing-key", 2, 81),
        (code("{\"output_type\":\"strea\"}"), "unknown-type", 2, 96),
        (code("{\"output_type\":\"display_data\",\"metadata\":{},\"data\":{\"a\":1}}"), "wrong-type", 2, 137),
    ] {
        assert_eq!(places(&text).first(), Some(&(code.to_owned(), line, column)), "{text}");
        assert_eq!(verdict_of(text.as_bytes()).status, Status::Fail, "{text}");
    }
    assert_eq!(verdict_of(b"{\"cells\": \"\xFF\"}").findings[0].code, "not-utf-8");
}

#[test]
fn what_jupyter_repairs_or_reads_is_a_warning() {
    let twice = r#"{"id":"a","cell_type":"raw","metadata":{},"source":""}"#;
    for (text, code, line, column) in [
        (notebook(5, r#"{"cell_type":"raw","metadata":{},"source":""}"#), "missing-id", 2, 1),
        (notebook(5, &format!("{twice},\n{twice}")), "duplicate-id", 3, 7),
        (notebook(4, "").replace("{}", "{\"a\": 1, \"a\": NaN}"), "not-json-number", 4, 27),
        (notebook(4, "").replace("{}", "{\"a\": [-Infinity, \"NaN\"]}"), "not-json-number", 4, 21),
        (notebook(4, "").replace(": 4,", ": 3, \"nbformat\": 4,"), "duplicate-key", 4, 32),
    ] {
        assert!(places(&text).contains(&(code.to_owned(), line, column)), "{:?} {text}", places(&text));
        assert_eq!(verdict_of(text.as_bytes()).status, Status::Pass, "{text}");
    }
    for wrong in ["-NaN", "1NaN", "NaN1", "Infinit"] {
        let text = notebook(4, "").replace("{}", &format!("{{\"a\": {wrong}}}"));
        assert_eq!(verdict_of(text.as_bytes()).findings[0].code, "syntax", "{wrong}");
    }
}

#[test]
fn other_versions_are_not_judged() {
    for version in ["3", "5"] {
        let text = notebook(0, "").replace("\"nbformat\": 4", &format!("\"nbformat\": {version}"));
        assert_eq!(verdict_of(text.as_bytes()).status, Status::Abstain, "{version}");
    }
}

#[test]
fn depth_needs_no_stack() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    assert_eq!(places(&notebook(4, "").replace("{}", &format!("{{\"a\": {deep}}}"))), []);
    assert_eq!(places(&"{\"cells\":".repeat(100_000))[0].0, "unexpected-end");
}

#[test]
fn a_template_is_not_applicable() {
    let text = "{\"cells\": {{ cells }}}";
    assert_eq!(verdict_of(text.as_bytes()).status, Status::NotApplicable);
    let strict = NotebookSyntax::check(&File::new("a.ipynb", text), Settings { strict: true });
    assert_eq!(strict.status, Status::Fail);
}
