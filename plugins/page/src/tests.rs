use super::*;

fn page(text: &str) -> Vec<(usize, String, Visibility)> {
    shown(text).into_iter().filter(|row| !row.is_blank()).map(|row| (row.number, row.text(), row.visibility)).collect()
}

#[test]
fn a_line_is_what_a_reader_sees() {
    use Visibility::{Plain, Quoted, Unclear};
    for (text, expected) in [
        ("", &[][..]),
        ("a **b** _c_ [d](e) <b>f</b>", &[(1, "a b c d f", Plain)]),
        ("F**AI**L &#70;AIL F&shy;AIL", &[(1, "FAIL FAIL FAIL", Plain)]),
        ("a\nb\\\nc<br>d", &[(1, "a", Plain), (2, "b", Plain), (3, "c", Plain), (3, "d", Plain)]),
        (
            "# a\n\n- b\n- [x] c\n\n1. d",
            &[(1, "# a", Plain), (3, "- b", Plain), (4, "- [x] c", Plain), (6, "1. d", Plain)],
        ),
        ("~~a~~ `b` <del>c</del> ![d](e)", &[(1, "~~a~~ `b` ~~c~~ ~~d~~", Plain)]),
        ("> a\nb\n\nc", &[(1, "a", Quoted), (2, "b", Unclear), (4, "c", Plain)]),
        ("```\na\nb\n```\nc", &[(2, "a", Quoted), (3, "b", Quoted), (5, "c", Plain)]),
        ("```\na", &[(2, "a", Unclear)]),
        ("    a", &[(1, "a", Unclear)]),
        ("<!-- a -->\nb", &[(2, "b", Plain)]),
        ("<!-- a --> b", &[(1, "b", Unclear)]),
        ("a <!-- b --> c", &[(1, "a  c", Plain)]),
        ("<!-- a\nb", &[(1, "a", Unclear), (2, "b", Unclear)]),
        ("<!--\na\n-->\nb", &[(4, "b", Plain)]),
        ("[//]: # (a)\n\nb", &[(3, "b", Plain)]),
        ("<div>\na &#98;\n</div>\n\nc", &[(2, "a b", Unclear), (5, "c", Plain)]),
        ("<div hidden>\n\na\n\n</div>\n\nb", &[(3, "<a>", Unclear), (7, "b", Plain)]),
        (
            "<details><summary>a</summary>b</details>\n\n<h1>c</h1>d",
            &[(1, "a", Unclear), (1, "b", Unclear), (3, "c", Unclear), (3, "d", Unclear)],
        ),
        ("| a | b |\n|---|---|\n| c | d |", &[(1, "| a | b ", Plain), (3, "| c | d ", Plain)]),
        ("\u{FEFF}a\rb\u{2028}c", &[(1, "a", Plain), (2, "b", Plain), (3, "c", Plain)]),
        ("\\*a\\* &lt;b&gt;", &[(1, "*a* <b>", Plain)]),
    ] {
        let expected: Vec<(usize, String, Visibility)> =
            expected.iter().map(|&(number, text, visibility)| (number, text.to_owned(), visibility)).collect();
        assert_eq!(page(text), expected, "{text:?}");
    }
}

#[test]
fn what_is_read_without_the_parser_reads_as_rendered() {
    for text in [
        "",
        "\n\n",
        "All tests pass.\n\nTASK_COMPLETE\n",
        "All tests pass. This is not\nTASK_COMPLETE",
        "a  \nb \n\n\n\nc's \"d\" (e): f/g, 100 % - h; i!\n",
        "see http://example.com/a_b and me@example.com: it's - fine",
        "a --\nb ---\nc",
        "x\n  \ny",
        "# a\n\nb\n## c `d`\ne",
        "a\n- b\n- c\nd\n\ne",
        "- a\n\n- b\n* c\n1. d\n2. e\n\nf\n1. g",
        "- a\n  - b\n    - c\n- d\n",
        "- a\n  b\n- c\n   d\n\ne\n      f",
        "a\n\n---\n\n---\nb\n\n- c\n\n------",
        "- [x] a\n- [ ] `b` **c** [d](e/f.rs#L1)\n",
        "**a:** b (**c**), **d**.",
        "a [`b.rs`](src/b.rs) [c] d",
        "```sh\na\n\n  b <c> &amp; **\n```\nd\n```\n```",
        "| a | b |\n|---|:-:|\n| `c` |  |\n\nd",
        "It’s done – “all” → ✅ 🎉 ö",
        "a < b & c > d! e] [f] {g} = #1 ^",
    ] {
        assert_eq!(quick::page(text).as_deref(), Some(&*rendered(text)), "{text:?}");
    }
    // And whatever else is read without the parser.
    let marks = [
        "a",
        "b",
        "T1",
        " ",
        " ",
        "_",
        "-",
        ".",
        ":",
        "(",
        ")",
        "\n",
        "\n",
        "\n",
        "\n\n",
        "+",
        "/",
        "!",
        "**",
        "`",
        "- ",
        "* ",
        "1. ",
        "2. ",
        "# ",
        "## ",
        "```",
        "```\n",
        "|",
        "| ",
        "|---|\n",
        "[",
        "](c)",
        "]",
        "  ",
        "é",
        "✅",
        "<",
        "&",
        ">",
        "=",
        "\n- a\n",
        "\n| a |\n|---|\n",
        "*a*",
        " *b",
        "c* ",
        "_d_",
        "``",
        "**`e`**",
        "&f;",
        "(",
    ];
    let lines = [
        "\n- a",
        "\n* b",
        "\n1. c",
        "\n2. d",
        "\n  - e",
        "\n   - f",
        "\n    - g",
        "\n  * h",
        "\n\n",
        "\n",
        "\ntext",
        " more",
        "\n# t",
        "\n```\ncode\n```",
        "\n\n| a | b |\n|---|---|\n| c | d |",
        " **b**",
        " `c`",
        " [l](u)",
        "\n10. x",
        ":",
        "\n**B:** y",
        "\n3 z",
        " [x]",
        " *e*",
        "\n*f g*: h",
        " _i_.",
        " ``j``",
        "\n- **`k`**: l",
        " * ",
        " m&n",
    ];
    let mut state: u32 = 7;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize
    };
    let mut compared = 0;
    for pieces in [&marks[..], &lines].repeat(RANDOM) {
        let length = next() % 24;
        let text: String = (0..length).map(|_| pieces[next() % pieces.len()]).collect();
        if let Some(quick) = quick::page(&text) {
            assert_eq!(quick, rendered(&text), "{text:?}");
            compared += 1;
        }
    }
    assert!(compared > RANDOM / 10, "{compared}");
    for other in [
        "a\n---",
        "a\n===",
        " a",
        "a\tb",
        "a_ b",
        "_a",
        "*a *b*",
        "a*b*c",
        "**a *b* c**",
        "_a*b_*",
        "a\\b",
        "&lt;",
        "a\r\nb",
        "+ a",
        "> a",
        "<b>",
        "~~a~~",
        "```\na",
        "- a\n  - b\n\n- c",
        "a\u{ad}b",
        "a\u{2028}b",
        "[a]: b",
        "![a](b)",
        "**a",
        "``a`",
        "``` a ```",
        "a\n2. b",
        "- # a",
        "| a |\n| b |",
        "    a",
    ] {
        assert_eq!(quick::page(other), None, "{other:?}");
    }
}

/// How many random texts of either kind are compared. Millions were, once.
const RANDOM: usize = 10_000;

#[test]
fn a_line_begins_or_goes_on() {
    let begins =
        |text: &str| shown(text).iter().filter(|row| !row.is_blank()).map(|row| row.begins).collect::<Vec<_>>();
    assert_eq!(begins("a\nb\n\nc"), [true, false, true]);
    assert_eq!(begins("- a\nb\n- c"), [true, false, true]);
}

#[test]
fn a_long_text_of_marks_takes_no_longer_than_its_length() {
    for mark in ["[", "> ", "`", "<b>", "&", "~~a", "| "] {
        let text = mark.repeat(100_000);
        assert!(shown(&text).len() <= 100_001, "{mark}");
    }
}
