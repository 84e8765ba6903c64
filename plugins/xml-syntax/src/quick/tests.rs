use super::*;
use gatehost_sdk::{Severity, Status};
use mutations::Random;

#[path = "../../../sdk/testing/mutations.rs"]
mod mutations;

const TEXTS: &[&str] = &[
    r#"<?xml version="1.0" encoding="UTF-8"?>
<!-- a project -->
<project xmlns="http://maven.apache.org/POM/4.0.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
         xsi:schemaLocation="a b">
  <modelVersion>4.0.0</modelVersion>
  <name>a &amp; b ö ] ]] ></name>
  <a.b-c_d e='1' f="&lt;&quot;'"/>
  <script><![CDATA[ if (a < b && c]] > d) ]]></script>
  <xsi:a xsi:b="" xml:lang="en"></xsi:a >
</project>
<!-- end -->
"#,
    "<rows>\r\n <row id=\"1\"><name>item</name></row>\r\n <row/>\r\n</rows>\r\n",
    "<?xml version='1.0' standalone=\"no\" ?><a:b c='d' xmlns:a='e' a:c=\"f\"><g/></a:b>",
    "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0//EN\" 'http://a/b.dtd'>\n<!-- a --><html></html>",
    "<!DOCTYPE a SYSTEM 'a_b.dtd' ><a/>",
    "<!DOCTYPE a><a/>",
];

const ALPHABET: &[&str] = &[
    " ",
    "\n",
    "\t",
    "\r",
    "<",
    ">",
    "/",
    "/>",
    "</",
    "=",
    "\"",
    "'",
    "&",
    "&amp;",
    "&lt",
    "&#10;",
    "&#x20;",
    "&a;",
    ";",
    "<!--",
    "-->",
    "--",
    "-",
    "<![CDATA[",
    "]]>",
    "]",
    "<?a b?>",
    "<?xml",
    "<!DOCTYPE a>",
    "<!DOCTYPE a SYSTEM 'b'>",
    "<!DOCTYPE a PUBLIC 'b' 'c'>",
    "PUBLIC",
    "SYSTEM",
    ":",
    "a:",
    "xml:",
    "xmlns:",
    "xmlns:a='b' ",
    " a='b'",
    " b='c'",
    "<a>",
    "</a>",
    "<b/>",
    "a",
    "b",
    "1",
    ".",
    "_",
    "ö",
    "😀",
    "\u{0}",
    "\u{1f}",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "\u{fffe}",
];

/// Elements in each other, with a few mistakes.
fn document(random: &mut Random) -> String {
    let mut text = random
        .one_of(&[
            "",
            "",
            "<?xml version=\"1.0\"?>",
            "<?xml version='1' encoding='utf-8'?>\n",
            "<!-- a -->",
            " ",
            "<?xml version=''?>",
            "<?xml encoding='1'?>",
        ])
        .to_owned();
    let mut open: Vec<&str> = Vec::new();
    for _ in 0..2 + random.below(10) {
        match random.below(5) {
            0 | 1 => {
                let name = random.one_of(&[
                    "a", "b", "a", "b", "c", "p:a", "q:a", "xml:a", "xmlns:a", "a:b:c", "ö", "1", ":a", "a.b",
                ]);
                text += &format!("<{name}");
                for _ in 0..random.below(4) {
                    text += random.one_of(&[" ", " ", " ", "\n", "", "  "]);
                    text += random.one_of(&[
                        "a",
                        "b",
                        "c",
                        "d",
                        "e",
                        "p:a",
                        "p:b",
                        "q:a",
                        "xmlns",
                        "xmlns:p",
                        "xmlns:q",
                        "xmlns:p",
                        "xml:lang",
                        "xmlns:",
                        "xmlns:xml",
                        "a b",
                    ]);
                    text += random.one_of(&["=", "=", "=", " = ", "", "=="]);
                    text += random
                        .one_of(&["''", "'a'", "\"b\"", "'&amp;'", "'&a;'", "'<'", "'>'", "'a\nb'", "a", "'\"'", "'a"]);
                }
                if random.below(3) == 0 {
                    text += "/>";
                } else {
                    text += random.one_of(&[">", ">", ">", " >", "", "/ >"]);
                    open.push(name);
                }
            }
            2 | 3 => {
                let name =
                    if random.below(8) == 0 { random.one_of(&["a", "b", "", " a"]) } else { open.pop().unwrap_or("a") };
                text += &format!("</{name}{}", random.one_of(&[">", ">", ">", " >", "\n>", ""]));
            }
            _ => {
                text += random.one_of(&[
                    "a",
                    " ",
                    "\n",
                    "&amp;",
                    "&gt;",
                    "&#1;",
                    "]]>",
                    "]]",
                    "<!-- a -->",
                    "<!-- -- -->",
                    "<!--->",
                    "<![CDATA[a]]>",
                    "<![CDATA[]]]]>",
                    "<?a?>",
                    ">",
                    "ö",
                ])
            }
        }
    }
    for name in open.into_iter().rev() {
        text += &format!("</{name}>");
    }
    text
}

/// Whether the quick reader accepts a text. It must not if the checker finds anything.
fn checked(text: &str) -> bool {
    let is_xml = is_xml(text);
    if is_xml {
        let verdict = crate::parsed("a.xml", text, Severity::Warning);
        assert!(verdict.status == Status::Pass && verdict.findings.is_empty(), "{text:?}: {:?}", verdict.findings);
    }
    is_xml
}

#[test]
fn the_checker_finds_nothing_in_what_is_recognised() {
    mutations::compare(50_000, TEXTS, ALPHABET, document, checked);
}

#[test]
fn ordinary_texts_are_recognised() {
    for text in TEXTS {
        assert!(checked(text), "{text}");
    }
}

#[test]
fn the_rest_is_left_to_the_checker() {
    for text in [
        "",
        "a",
        "<a>",
        "<a/><b/>",
        "<a></b>",
        "<a b='c' b='d'/>",
        "<a:b/>",
        "<a><b xmlns:c='d'/></a>",
        "<!DOCTYPE a []><a/>",
        "<a>&b;</a>",
        "<a>]]></a>",
        "<a>\u{1}</a>",
        "<a><?b?></a>",
        "<a/>b",
        " <?xml version='1.0'?><a/>",
        "<a b='<'/>",
        "<a><!-- -- --></a>",
    ] {
        assert!(!is_xml(text), "{text:?}");
    }
    let deep = "<a>".repeat(100_000) + &"</a>".repeat(100_000);
    assert!(checked(&deep));
}
