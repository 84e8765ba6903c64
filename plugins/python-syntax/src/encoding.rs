//! Decodes a file by its declared encoding (PEP 263), as CPython's tokenizer does.

use gatehost_sdk::{Content, File, Finding, Verdict};

const MARK: &[u8] = b"\xEF\xBB\xBF";

/// The file as text where it must be decoded, nothing where it is UTF-8, or the verdict where it is neither.
pub(crate) fn decoded(file: &File) -> Result<Option<File>, Box<Verdict>> {
    let bytes = file.bytes();
    let has_mark = bytes.starts_with(MARK);
    let Some(name) = declared(bytes.strip_prefix(MARK).unwrap_or(bytes)) else { return as_utf8(file) };
    let is_utf8 = name == "utf-8" || name.starts_with("utf-8-");
    if has_mark && !is_utf8 {
        let message = format!("the file declares the encoding `{name}` but starts with a UTF-8 byte order mark");
        return Err(wrong(file, &message, "declare `utf-8`, or remove the byte order mark"));
    }
    match &*name {
        _ if is_utf8 => as_utf8(file),
        "utf8" | "u8" | "utf" | "cp65001" => as_utf8(file),
        // Whether there is such an encoding is not known here; all that there are have ASCII in common.
        _ if bytes.is_ascii() => Ok(None),
        "ascii" | "us-ascii" | "646" => Err(wrong(
            file,
            "the file declares ASCII but contains other characters",
            "declare `utf-8`, or remove the declaration",
        )),
        // Every byte is the character of that number.
        name if is_latin_1(name) => {
            let text = bytes.iter().map(|&byte| char::from(byte)).collect();
            Ok(Some(File { content: Content::Text(text), ..file.clone() }))
        }
        name if is_above_ascii(name) => Ok(Some(of_letters(file, bytes.iter().copied().map(letter)))),
        name if is_shift_jis(name) => {
            Ok(Some(of_letters(file, pairs(bytes, |first| matches!(first, 0x81..=0x9F | 0xE0..=0xFC)))))
        }
        name if has_ascii_behind(name) => Ok(Some(of_letters(file, pairs(bytes, |first| first > 0x80)))),
        other => {
            let why = format!("the file declares the encoding `{other}`, which this verifier does not support");
            Err(Box::new(Verdict::abstain(why)))
        }
    }
}

fn as_utf8(file: &File) -> Result<Option<File>, Box<Verdict>> {
    match file.utf8("Python") {
        Ok(_) => Ok(None),
        Err(finding) => Err(Box::new(finding.into())),
    }
}

fn wrong(file: &File, message: &str, hint: &str) -> Box<Verdict> {
    Box::new(Finding::error("encoding", message).at(file.place_of(0)).hint(hint).into())
}

fn is_latin_1(name: &str) -> bool {
    let with_ending = ["latin-1", "iso-8859-1", "iso-latin-1"];
    with_ending.iter().any(|known| name.strip_prefix(known).is_some_and(|end| end.is_empty() || end.starts_with('-')))
        || matches!(name, "latin1" | "latin" | "iso8859-1" | "8859" | "cp819" | "l1")
}

/// Whether an encoding has ASCII below 0x80 and nothing of it above. Which letter a byte above is does not matter: it
/// stands in a string, a comment or a name.
fn is_above_ascii(name: &str) -> bool {
    let name = name.strip_prefix("windows-").map_or_else(|| name.to_owned(), |number| format!("cp{number}"));
    let families = ["iso-8859-", "iso8859-", "koi8-", "cp125", "euc-", "mac-", "latin-", "cp85", "cp86"];
    families.iter().any(|family| name.starts_with(family))
        || matches!(
            &*name,
            "cp437"
                | "cp737"
                | "cp775"
                | "cp874"
                | "tis-620"
                | "gb2312"
                | "eucjp"
                | "euckr"
                | "koi8r"
                | "macroman"
                | "latin2"
        )
}

fn is_shift_jis(name: &str) -> bool {
    matches!(name, "shift-jis" | "shiftjis" | "sjis" | "s-jis" | "cp932" | "932" | "ms932")
}

/// Whether an encoding has characters of two bytes, of which the second may look like ASCII.
fn has_ascii_behind(name: &str) -> bool {
    matches!(name, "gbk" | "cp936" | "936" | "ms936" | "big5" | "big5-tw" | "cp950" | "950" | "cp949" | "949" | "uhc")
}

fn letter(byte: u8) -> char {
    if byte.is_ascii() { char::from(byte) } else { 'é' }
}

/// A letter for every character of one or two bytes.
fn pairs(bytes: &[u8], is_first: fn(u8) -> bool) -> impl Iterator<Item = char> {
    let mut rest = bytes.iter().copied();
    std::iter::from_fn(move || {
        let first = rest.next()?;
        if is_first(first) {
            rest.next();
        }
        Some(letter(first))
    })
}

fn of_letters(file: &File, text: impl Iterator<Item = char>) -> File {
    File { content: Content::Text(text.collect()), ..file.clone() }
}

/// What `# -*- coding: NAME -*-` says, in lower case with `-`: in the first line, or in the second if there is nothing
/// but a comment in the first.
fn declared(bytes: &[u8]) -> Option<String> {
    let (first, second) = line(bytes);
    let comment = of_comment(first)?;
    name_in(comment).or_else(|| name_in(of_comment(line(second).0)?))
}

/// The first line, and what comes after it.
fn line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(bytes.len());
    let (line, rest) = bytes.split_at(end);
    let rest = rest.strip_prefix(b"\r\n").or_else(|| rest.get(1..)).unwrap_or_default();
    (line, rest)
}

/// What stands in a line's comment, which may be none; nothing for a line with anything else.
fn of_comment(line: &[u8]) -> Option<&[u8]> {
    let start = line.iter().position(|byte| !matches!(byte, b' ' | b'\t' | 0x0C)).unwrap_or(line.len());
    let rest = &line[start..];
    (rest.is_empty() || rest.starts_with(b"#")).then_some(rest)
}

/// Any `coding` may be the one that is followed by a name.
fn name_in(comment: &[u8]) -> Option<String> {
    const WORD: &[u8] = b"coding";
    comment.windows(WORD.len()).enumerate().filter(|(_, word)| *word == WORD).find_map(|(at, _)| {
        let [b':' | b'=', after @ ..] = &comment[at + WORD.len()..] else { return None };
        let after = &after[after.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?..];
        let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let name: String = after.iter().copied().take_while(is_of_name).map(char::from).collect();
        (!name.is_empty()).then(|| name.to_ascii_lowercase().replace('_', "-"))
    })
}
