//! Rows of counts, with which runners summarise a run.

/// What runners count besides failures. A row of counts is one of tests only if it has one of these.
const COUNTED: &[&str] = &[
    "test",
    "tests",
    "example",
    "examples",
    "assertion",
    "assertions",
    "spec",
    "specs",
    "scenarios",
    "pass",
    "passed",
    "passes",
    "passing",
    "skipped",
    "pending",
    "ignored",
    "success",
    "successes",
    "succeeded",
];

const BAD: &[&str] = &["fail", "fails", "failed", "failing", "failure", "failures", "error", "errors", "errored"];

/// `3 runs, 5 assertions, 1 failures, 0 errors`, `Tests run: 3, Failures: 1`, ` 1 fail`, `1 of 3 tests failed`
pub(super) fn count_failures(line: &str) -> bool {
    let line = line.trim_start_matches("ℹ ").replace(" / ", ",").replace(". ", ",");
    let pieces: Vec<Vec<&str>> =
        line.split([',', ';', '|', '(']).map(words).filter(|piece| !piece.is_empty()).collect();
    let bad = pieces.iter().any(|piece| piece.len() <= 12 && beside(piece, BAD).is_some_and(|number| number > 0));
    let counted = |piece: &Vec<&str>| {
        piece.len() <= 5 && piece.iter().any(|word| is(COUNTED, word)) && piece.iter().any(|word| is_number(word))
    };
    // `1 failures, 0 errors.`
    let only_bad = |piece: &Vec<&str>| piece.len() == 2 && beside(piece, BAD).is_some();
    let row = pieces.len() > 1 && (pieces.iter().any(counted) || pieces.iter().all(only_bad));
    let first = pieces.first().map_or(&[][..], Vec::as_slice);
    let is_error = |word: &&str| is(&["error", "errors"], word);
    // ` 1 fail`, and `Failed: 1 (33.33%)`
    let rest_is_share =
        pieces[1.min(pieces.len())..].iter().flatten().all(|word| is_number(word)) && line.contains('%');
    let alone = first.len() == 2 && !first.iter().any(is_error) && (pieces.len() == 1 || rest_is_share);
    bad && (row || alone) || says(first) || line.contains(" FAILED)") && bad && line.starts_with(char::is_uppercase)
}

/// `1 test failed`, `error: 1 test failed`, `1 out of 3 tests failed`, `1 assertions of 3 failed`
fn says(piece: &[&str]) -> bool {
    let piece = match piece {
        [first, rest @ ..] if is(&["error"], first) => rest,
        all => all,
    };
    let some = |number: &str| number.parse::<u64>().is_ok_and(|number| number > 0);
    match *piece {
        [number, counted, bad] => some(number) && is(COUNTED, counted) && is(BAD, bad),
        [number, "of", all, counted, bad]
        | [number, "out", "of", all, counted, bad]
        | [number, counted, "of", all, bad] => some(number) && is_number(all) && is(COUNTED, counted) && is(BAD, bad),
        _ => false,
    }
}

/// The number beside one of these words, on either side.
fn beside(piece: &[&str], list: &[&str]) -> Option<u64> {
    // `expected failures=1` of unittest is none.
    let piece = if piece.contains(&"expected") { &[] } else { piece };
    piece.windows(2).find_map(|pair| match (pair[0].parse(), pair[1].parse()) {
        (Ok(number), Err(_)) if is(list, pair[1]) => Some(number),
        (Err(_), Ok(number)) if is(list, pair[0]) => Some(number),
        _ => None,
    })
}

fn is(list: &[&str], word: &str) -> bool {
    list.iter().any(|known| word.eq_ignore_ascii_case(known))
}

fn is_number(word: &str) -> bool {
    word.parse::<u64>().is_ok()
}

fn words(piece: &str) -> Vec<&str> {
    piece.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(14).collect()
}
