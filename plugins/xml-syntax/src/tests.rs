use super::*;
use gatehost_sdk::Status;

fn verdict(bytes: &[u8]) -> Verdict {
    let verdict = XmlSyntax::check(&File::new("a.xml", bytes), Settings::default());
    assert!(XmlSyntax::ABOUT.undeclared(&verdict).is_empty());
    verdict
}

fn places(bytes: &[u8]) -> Vec<(String, u32, u32)> {
    let findings = verdict(bytes).findings.into_iter();
    findings.map(|finding| finding.spot().expect("every finding has its place")).collect()
}

const DOCTYPE: &str = r#"<!DOCTYPE a [
  <!-- a comment --> <?target data?>
  <!ELEMENT a (b, (c | d)*, e?)+> <!ELEMENT b (#PCDATA)> <!ELEMENT c (#PCDATA | b)*> <!ELEMENT d EMPTY>
  <!ATTLIST a id ID #REQUIRED kind (x | 1y) "x" n NOTATION (gif) #IMPLIED f CDATA #FIXED "v">
  <!ENTITY e "text &#62; &f;"> <!ENTITY f 'more'> <!ENTITY g PUBLIC "-//X//Y" "g.xml">
  <!ENTITY u SYSTEM "u.gif" NDATA gif> <!ENTITY % p "q"> <!NOTATION gif PUBLIC "image/gif">
]>
<a id="1" f="&e;">&e;&g;</a>"#;

#[test]
fn well_formed_xml_has_no_error() {
    for text in [
        "<a/>",
        "\u{FEFF}<?xml version=\"1.0\" encoding='UTF-8' standalone = \"no\" ?>\r\n<!-- a --><a b='c' d=\"&lt;&#x20;>\"/>\n<?p?>",
        "<a><b>text > &amp;</b><![CDATA[ <&]] ]]><ö:x xmlns:ö='u' ö:y=''/></a>",
        "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0\" \"x.dtd\"><html>&nbsp;</html>",
        "<!DOCTYPE a [%p;]><a>&unknown;</a>",
        DOCTYPE,
    ] {
        assert_eq!(places(text.as_bytes()), [], "{text}");
    }
    let utf16: Vec<u8> =
        "\u{FEFF}<?xml version='1.0' encoding='UTF-16'?><a/>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(places(&utf16), []);
    assert_eq!(places(b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xE4</a>"), []);
    assert_eq!(places(b"\xEF\xBB\xBF<?xml version='1.0' encoding='us-ascii'?><a>b</a>"), []);
}

#[test]
fn every_error_has_its_place() {
    for (bytes, code, line, column) in [
        (&b""[..], "empty", 1, 1),
        (b"<!-- only -->\n", "empty", 2, 1),
        (b"<a>\n<b></a>", "mismatched-tag", 2, 4),
        (b"<a></b>", "mismatched-tag", 1, 4),
        (b"</a>", "mismatched-tag", 1, 1),
        (b"<a>\n <b>", "unclosed-element", 2, 2),
        (b"<a/><b/>", "second-root", 1, 5),
        (b"<a/>text", "syntax", 1, 5),
        (b"text<a/>", "syntax", 1, 1),
        (b"<a b='1' b='2'/>", "duplicate-attribute", 1, 10),
        (b"<a b=1/>", "syntax", 1, 6),
        (b"<a b/>", "syntax", 1, 5),
        (b"<a b='1'c='2'/>", "syntax", 1, 9),
        (b"<a b='<'/>", "bare-less-than", 1, 7),
        (b"<a b='1/>", "unclosed-value", 1, 6),
        (b"<a>1 < 2</a>", "bare-less-than", 1, 6),
        (b"<a>b & c</a>", "bare-ampersand", 1, 6),
        (b"<a>b &c d</a>", "bare-ampersand", 1, 6),
        (b"<a>&nbsp;</a>", "unknown-entity", 1, 4),
        (b"<a>&#0;</a>", "bad-character", 1, 4),
        (b"<a>]]></a>", "syntax", 1, 4),
        (b"<a><!-- b -- c --></a>", "syntax", 1, 11),
        (b"<a><!-- b", "unclosed-comment", 1, 4),
        (b"<a><![CDATA[ b", "unclosed-cdata", 1, 4),
        (b"\n<?xml version='1.0'?><a/>", "misplaced-declaration", 2, 1),
        (b"<?xml encoding='UTF-8'?><a/>", "syntax", 1, 7),
        (b"<?xml version='1.0' encoding='UTF-16'?><a/>", "wrong-encoding", 1, 1),
        (b"<?xml version='1.0' encoding='US-ASCII'?>\n<a>\xC3\xA9</a>", "wrong-encoding", 2, 4),
        (b"<?xml version='1.0' encoding='ascii'?>\n<a>\xE9</a>", "not-utf-8", 2, 4),
        ("<ö>\0</ö>".as_bytes(), "bad-character", 1, 4),
        (b"<a>\xE4</a>", "not-utf-8", 1, 4),
        (b"<x:a/>", "unbound-prefix", 1, 2),
        (b"<!DOCTYPE a [<!ENTITY b '&c;'><!ENTITY c '&b;'>]><a>&b;</a>", "entity-loop", 1, 53),
        (b"<!DOCTYPE a [<!ENTITY b '&c;'>]><a d='&b;'/>", "unknown-entity", 1, 39),
        (b"<!DOCTYPE a [<!ELEMENT a (b, c | d)>]><a/>", "syntax", 1, 32),
        (b"<!DOCTYPE a [<!ATTLIST a b WRONG #IMPLIED>]><a/>", "syntax", 1, 28),
        (b"<!DOCTYPE a><!DOCTYPE a><a/>", "syntax", 1, 13),
    ] {
        assert_eq!(places(bytes), [(code.to_owned(), line, column)], "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn it_goes_on_where_it_can() {
    let codes: Vec<String> = places(b"<a><b><c></b>&x;<d e='' e=''/></a>").into_iter().map(|found| found.0).collect();
    assert_eq!(codes, ["mismatched-tag", "unknown-entity", "duplicate-attribute"]);
}

#[test]
fn an_error_after_many_warnings_is_an_error() {
    let text = "<a>".to_owned() + &"<x:b/>".repeat(1_000) + "&";
    assert_eq!(verdict(text.as_bytes()).status, Status::Fail);
    assert_eq!(verdict(b"<x:a/>").status, Status::Pass);
    let late = "<a>".to_owned() + &"<x:b/>".repeat(1_000) + "<c></d></c></a>";
    assert_eq!(verdict(late.as_bytes()).status, Status::Fail);
    let later = "<a>".to_owned() + &"<x:b/>".repeat(1_000) + "&nbsp;</a>";
    assert_eq!(verdict(later.as_bytes()).status, Status::Fail);
}

#[test]
fn an_encoding_that_it_does_not_know_is_not_judged() {
    assert_eq!(verdict(b"<?xml version='1.0' encoding='Shift_JIS'?><a>\x83\x5C</a>").status, Status::Abstain);
    assert_eq!(verdict(b"<?xml version='1.0' encoding='uft-8'?><a/>").status, Status::Abstain);
}

#[test]
fn neither_depth_nor_entities_take_room() {
    let depth = 100_000;
    assert_eq!(places(("<a>".repeat(depth) + &"</a>".repeat(depth)).as_bytes()), []);
    assert_eq!(places("<a>".repeat(depth).as_bytes())[0].0, "unclosed-element");
    let mut bomb = String::from("<!DOCTYPE a [<!ENTITY e0 'x'>");
    for n in 1..1_000 {
        bomb += &format!("<!ENTITY e{n} '&e{m};&e{m};&e{m};&e{m};'>", m = n - 1);
    }
    assert_eq!(places((bomb + "]><a>&e999;</a>").as_bytes()), []);
    let groups = format!("<!DOCTYPE a [<!ELEMENT a {}b{}>]><a/>", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(places(groups.as_bytes()), []);
}

#[test]
fn a_template_is_not_applicable() {
    for (text, expected) in [
        ("<a {{ b }}/>", Status::NotApplicable),
        ("<a>{% if b %}<c>{% else %}<c d=''>{% endif %}</c></a>", Status::NotApplicable),
        ("<a><% if b %></a>", Status::NotApplicable),
        ("{% load x %}<a/>", Status::NotApplicable),
        ("<a>{{ b }}{% if c %}{% endif %}</a>", Status::Pass),
        ("<a><b>{{ c }}</a>", Status::Fail),
    ] {
        assert_eq!(verdict(text.as_bytes()).status, expected, "{text}");
        let settings = Settings { strict: true, ..Settings::default() };
        let strict = XmlSyntax::check(&File::new("a.xml", text), settings);
        assert_eq!(strict.status == Status::Pass, expected == Status::Pass, "{text}");
    }
}

/// As expat says.
#[test]
fn entities_are_judged_where_they_are_used() {
    for (text, expected) in [
        ("<!DOCTYPE a [<!ENTITY e '<![CDATA[ <b> &x; ]]>'>]><a>&e;</a>", None),
        ("<!DOCTYPE a [<!ENTITY e '<![CDATA[ &e; ]]>'>]><a>&e;</a>", None),
        ("<!DOCTYPE a [<!ENTITY e '<!-- &y; --><?p &y; ?>'>]><a>&e;</a>", None),
        ("<!DOCTYPE a [<!ENTITY e '<![CDATA[ & ]]>'>]><a>&e;</a>", Some("bare-ampersand")),
        ("<!DOCTYPE a [<!ENTITY x '<b>&y;</b>'>]><a>&x;</a>", Some("unknown-entity")),
        ("<!DOCTYPE a [<!ATTLIST a b CDATA '&x;'>]><a/>", Some("unknown-entity")),
        ("<!DOCTYPE a [<!ATTLIST a b CDATA '&x;'><!ENTITY x 'y'>]><a/>", Some("unknown-entity")),
        ("<!DOCTYPE a [<!ENTITY x 'y'><!ATTLIST a b CDATA '&x;&lt;'>]><a/>", None),
        ("<!DOCTYPE a SYSTEM 'q' [<!ATTLIST a b CDATA '&x;'>]><a/>", None),
        ("<!DOCTYPE a [<!ENTITY x SYSTEM 'y'><!ATTLIST a b CDATA '&x;'>]><a/>", Some("syntax")),
        ("<!DOCTYPE a [<!ENTITY x '<'><!ATTLIST a b CDATA '&x;'>]><a/>", Some("bare-less-than")),
        ("<!DOCTYPE a [<!ENTITY x '<'>]><a/>", None),
        ("<!DOCTYPE a [<!ENTITY x '<b/>'>]><a c='&x;'/>", Some("bare-less-than")),
        ("<!DOCTYPE a [<!ENTITY x '<b/>'>]><a>&x;</a>", None),
        ("<!DOCTYPE a [<!ENTITY x '&y;'><!ENTITY y '&#x3C;b/>'>]><a c='&x;'/>", Some("bare-less-than")),
        ("<!DOCTYPE a [<!ENTITY x '&lt;&#38;#60;'>]><a c='&x;'/>", None),
    ] {
        let codes: Vec<_> = places(text.as_bytes()).into_iter().map(|found| found.0).collect();
        assert_eq!(codes.first().map(String::as_str), expected, "{text}");
    }
    for (declared, expected) in [("utf-8", Status::Fail), ("iso-8859-1", Status::Fail), ("utf-16", Status::Pass)] {
        let text = "\u{FEFF}".to_owned() + &format!("<?xml version='1.0' encoding='{declared}'?><a/>");
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(verdict(&bytes).status, expected, "{declared}");
    }
}
