//! The hostile catalogue, A to C: the worst that guests can do, and how each must end.
//!
//! A guest is a file of `fixtures/components`, or built by `hostile/made.rs` if it cannot be written as text. The table has
//! the expected end of each; `hostile/closer.rs` tests the answers of some, and `hostile/deadline.rs` the time.

mod closer;
mod deadline;
mod made;

use crate::asking::{Question, TestHost, json_syntax};
use crate::guests;
use gatehost::limits::Limits;
use gatehost::runtime::CallResult;
use gatehost::verdict::{ErrorKind, Failure, Status, Verdict};
use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use ErrorKind::*;
use Expected::*;
use Guest::*;

/// A guest of the catalogue: its number, the guest, and how it must end.
type Row = (&'static str, Guest, Expected);

enum Guest {
    /// A file of `fixtures/components`.
    Wat(&'static str),
    /// A file that gets this input.
    Given(&'static str, [u8; 8]),
    /// Bytes that are built here.
    Made(fn() -> Vec<u8>),
}

#[derive(Debug, PartialEq)]
enum Expected {
    /// Refused before anything of it runs.
    Refused(ErrorKind),
    /// Ended without an answer.
    Ended(ErrorKind),
    /// Answered.
    Said(Status),
    /// Answered, with a status that follows from its own digest.
    SaidAny,
}

const CATALOGUE: &[Row] = &[
    // Load.
    ("A1", Made(made::nothing), Refused(LoadMalformed)),
    ("A1", Made(made::noise), Refused(LoadMalformed)),
    ("A1", Made(made::half), Refused(LoadMalformed)),
    ("A1", Made(made::too_much), Refused(LoadMalformed)),
    ("A2", Made(made::module), Refused(LoadNotComponent)),
    ("A2", Made(made::text), Refused(LoadNotComponent)),
    ("A3", Made(made::precompiled), Refused(LoadPrecompiledRefused)),
    ("A3", Made(made::precompiled_module), Refused(LoadPrecompiledRefused)),
    ("A5", Made(made::many_functions), Refused(CompileLimit)),
    ("A5", Made(made::long_function), Refused(CompileLimit)),
    ("A5", Made(made::nested_blocks), Refused(CompileLimit)),
    ("A5", Made(made::meeting_locals), Refused(CompileLimit)),
    ("A5", Made(made::wide_blocks), Refused(CompileLimit)),
    ("A5", Made(made::wide_calls), Refused(CompileLimit)),
    ("A5", Made(made::doubling_instances), Refused(CompileLimit)),
    ("A5", Made(made::read_in_loops), Refused(CompileLimit)),
    ("A5", Made(made::read_after_branches), Refused(CompileLimit)),
    ("A5", Made(made::set_behind_branches), Refused(CompileLimit)),
    ("A5", Made(made::declared_locals), Refused(CompileLimit)),
    ("A5", Made(made::wide_adapters), Refused(CompileLimit)),
    ("A6", Wat("import-env"), Refused(LinkUnknownImport)),
    ("A6", Wat("import-network"), Refused(LinkUnknownImport)),
    ("A6", Wat("import-newer-wasi"), Refused(LinkUnknownImport)),
    ("A6", Wat("import-unknown-function"), Refused(LinkUnknownImport)),
    ("A7", Wat("import-workspace"), Refused(LinkCapabilityDenied)),
    ("A7", Wat("import-commands"), Refused(LinkCapabilityDenied)),
    ("A7", Wat("import-models"), Refused(LinkCapabilityDenied)),
    ("A8", Wat("version-older"), Refused(LinkVersion)),
    ("A8", Wat("version-newer"), Refused(LinkVersion)),
    ("A8", Wat("version-newer-import"), Refused(LinkVersion)),
    ("A9", Wat("export-nothing"), Refused(LinkWorldMismatch)),
    ("A9", Wat("export-empty"), Refused(LinkWorldMismatch)),
    ("A9", Wat("export-both-shapes"), Refused(LinkWorldMismatch)),
    ("A9", Wat("export-wrong-type"), Refused(LinkWorldMismatch)),
    ("A9", Made(made::pass_before_fail), Refused(LinkWorldMismatch)),
    ("A11", Wat("feature-async"), Refused(LoadFeatureDisabled)),
    ("A11", Wat("feature-async-builtin"), Refused(LoadFeatureDisabled)),
    ("A11", Wat("feature-custom-page-sizes"), Refused(LoadFeatureDisabled)),
    ("A11", Wat("feature-error-context"), Refused(LoadFeatureDisabled)),
    ("A11", Wat("feature-exceptions"), Refused(LoadFeatureDisabled)),
    ("A11", Wat("feature-externref"), Refused(LoadFeatureDisabled)),
    ("A11", Wat("feature-function-references"), Refused(LoadFeatureDisabled)),
    ("A11", Wat("feature-gc"), Refused(LoadFeatureDisabled)),
    ("A11", Wat("feature-memory64"), Refused(LoadFeatureDisabled)),
    ("A11", Wat("feature-multi-memory"), Refused(LoadFeatureDisabled)),
    ("A11", Wat("feature-relaxed-simd"), Refused(LoadFeatureDisabled)),
    ("A11", Wat("feature-stack-switching"), Refused(LoadFeatureDisabled)),
    ("A11", Wat("feature-tail-call"), Refused(LoadFeatureDisabled)),
    ("A11", Wat("feature-threads"), Refused(LoadFeatureDisabled)),
    ("A11", Wat("feature-values"), Refused(LoadFeatureDisabled)),
    ("A12", Made(made::many_imports), Refused(LoadLimit)),
    ("A12", Made(made::long_name), Refused(LoadLimit)),
    ("A12", Made(made::longer_name), Refused(LoadLimit)),
    ("A12", Made(made::many_instances), Refused(LoadLimit)),
    ("A12", Made(made::doubling_types), Refused(LoadLimit)),
    ("A12", Made(made::nested_instance_types), Refused(LoadLimit)),
    ("A12", Made(made::nested_component_types), Refused(LoadLimit)),
    ("A12", Made(made::many_declarations), Refused(LoadLimit)),
    ("A12", Made(made::nested_components), Refused(LoadLimit)),
    // Run.
    ("B1", Wat("spin-in-check"), Ended(LimitTime)),
    ("B1", Wat("spin-in-describe"), Said(Status::Pass)),
    ("B2", Wat("spin-in-start"), Ended(LimitTime)),
    ("B3", Wat("spin-in-realloc"), Ended(LimitTime)),
    ("B4", Wat("spin-in-post-return"), Ended(LimitTime)),
    ("B4", Wat("trap-in-post-return"), Ended(TrapUnreachable)),
    ("B5", Wat("sleep"), Ended(LimitTime)),
    ("B5", Wat("sleep-for-ever"), Ended(LimitTime)),
    ("B5", Wat("read-stdin"), Said(Status::Pass)),
    ("B5", Wat("wait-on-stdin"), Said(Status::Pass)),
    ("B6", Wat("endless-host-calls"), Ended(LimitHostcalls)),
    ("B6", Wat("wait-for-the-clock"), Ended(LimitHostcalls)),
    ("B7", Wat("copy-512-mib"), Ended(LimitMemory)),
    ("B7", Wat("copy-for-ever"), Ended(LimitTime)),
    ("B7", Wat("fill-for-ever"), Ended(LimitTime)),
    ("B8", Wat("recursion"), Ended(TrapStack)),
    ("B8", Wat("recursion-into-the-host"), Ended(TrapStack)),
    ("B9", Wat("unreachable"), Ended(TrapUnreachable)),
    ("B9", Wat("load-out-of-bounds"), Ended(TrapOutOfBounds)),
    ("B9", Wat("data-out-of-bounds"), Ended(TrapOutOfBounds)),
    ("B9", Wat("divide-by-zero"), Ended(TrapArithmetic)),
    ("B9", Wat("divide-overflow"), Ended(TrapArithmetic)),
    ("B9", Wat("convert-nan"), Ended(TrapArithmetic)),
    ("B9", Wat("call-null"), Ended(TrapBadCall)),
    ("B9", Wat("call-wrong-type"), Ended(TrapBadCall)),
    ("B9", Wat("call-beyond-the-table"), Ended(TrapOutOfBounds)),
    ("B10", Wat("grow-memory"), Ended(LimitMemory)),
    ("B10", Wat("grow-three-memories"), Ended(LimitMemory)),
    ("B10", Wat("grow-table"), Ended(LimitMemory)),
    ("B10", Wat("twenty-memories"), Refused(LimitMemory)),
    ("B10", Wat("greedy-description"), Said(Status::Pass)),
    ("B11", Wat("minimum-memory"), Ended(LimitMemory)),
    ("B11", Wat("minimum-table"), Refused(LimitMemory)),
    ("B12", Wat("exit-0"), Ended(GuestExited)),
    ("B12", Wat("exit-1"), Ended(GuestExited)),
    ("B12", Wat("exit-in-start"), Ended(GuestExited)),
    ("B13", Wat("pass-at-the-second-call"), Ended(TrapUnreachable)),
    ("B14", Wat("fail-at-the-second-call"), Said(Status::Pass)),
    ("B14", Wat("clock-and-random"), SaidAny),
    ("B15", Wat("log-flood"), Said(Status::Pass)),
    ("B15", Wat("log-forging"), Said(Status::Pass)),
    ("B15", Wat("log-100-mb"), Ended(LimitTransfer)),
    ("B15", Wat("print-flood"), Said(Status::Pass)),
    ("B16", Wat("open-streams"), Ended(LimitHandles)),
    ("B16", Wat("open-timers"), Ended(LimitHandles)),
    ("B16", Wat("forged-handle"), Ended(TrapOther)),
    ("B17", Wat("random-1-gib"), Ended(LimitRandom)),
    ("B17", Wat("write-zeroes"), Ended(TrapOther)),
    ("B18", Wat("host-call-in-realloc"), Ended(TrapReentry)),
    ("B18", Wat("host-call-in-post-return"), Ended(TrapReentry)),
    ("B18", Wat("composed-reentry"), Ended(TrapReentry)),
    // Values.
    ("C1", Wat("list-out-of-bounds"), Ended(AbiOutOfBounds)),
    ("C1", Wat("list-unaligned"), Ended(AbiOutOfBounds)),
    ("C1", Wat("string-out-of-bounds"), Ended(AbiOutOfBounds)),
    ("C1", Wat("verdict-out-of-bounds"), Ended(AbiOutOfBounds)),
    ("C1", Wat("verdict-unaligned"), Ended(AbiOutOfBounds)),
    ("C1", Wat("realloc-out-of-bounds"), Ended(AbiOutOfBounds)),
    ("C1", Wat("realloc-unaligned"), Ended(AbiOutOfBounds)),
    ("C1", Wat("log-out-of-bounds"), Ended(AbiOutOfBounds)),
    ("C1", Wat("composed-out-of-bounds"), Ended(AbiOutOfBounds)),
    ("C2", Wat("aliased-strings"), Ended(LimitTransfer)),
    ("C2", Wat("aliased-rules"), Said(Status::Pass)),
    ("C3", Wat("invalid-utf8"), Ended(AbiUtf8)),
    ("C3", Wat("surrogate"), Ended(AbiUtf8)),
    ("C3", Wat("surrogate-utf16"), Ended(AbiUtf8)),
    ("C3", Wat("log-invalid-utf8"), Ended(AbiUtf8)),
    ("C3", Wat("composed-invalid-utf8"), Ended(AbiUtf8)),
    ("C3", Wat("hidden-characters"), Said(Status::Pass)),
    ("C4", Wat("bad-status"), Ended(AbiDiscriminant)),
    ("C4", Wat("bad-level"), Ended(AbiDiscriminant)),
    ("C4", Wat("bad-category"), Ended(AbiDiscriminant)),
    ("C4", Wat("bad-class"), Ended(AbiDiscriminant)),
    ("C4", Wat("bad-option"), Ended(AbiDiscriminant)),
    ("C4", Wat("bad-severity"), Ended(AbiDiscriminant)),
    ("C5", Wat("pass-with-error"), Said(Status::Fail)),
    ("C5", Wat("pass-with-buried-error"), Said(Status::Fail)),
    ("C5", Wat("pass-that-needs-a-person"), Said(Status::Abstain)),
    ("C5", Wat("not-applicable-with-error"), Said(Status::Fail)),
    ("C5", Wat("not-applicable-that-needs-a-person"), Said(Status::Abstain)),
    ("C5", Wat("class-infra"), Said(Status::Fail)),
    ("C6", Given("confidence", f64::NAN.to_le_bytes()), Ended(AbiRange)),
    ("C6", Given("confidence", f64::INFINITY.to_le_bytes()), Ended(AbiRange)),
    ("C6", Given("confidence", f64::NEG_INFINITY.to_le_bytes()), Ended(AbiRange)),
    ("C6", Given("confidence", 2.0f64.to_le_bytes()), Ended(AbiRange)),
    ("C6", Given("confidence", (-0.1f64).to_le_bytes()), Ended(AbiRange)),
    ("C6", Given("confidence", 1.0f64.to_le_bytes()), Said(Status::Pass)),
    ("C6", Given("metric", f64::NAN.to_le_bytes()), Ended(AbiRange)),
    ("C6", Given("metric", f64::INFINITY.to_le_bytes()), Ended(AbiRange)),
    ("C6", Given("metric", f64::NEG_INFINITY.to_le_bytes()), Ended(AbiRange)),
    ("C6", Given("metric", (-1e300f64).to_le_bytes()), Said(Status::Pass)),
    ("C7", Wat("many-findings"), Ended(LimitTransfer)),
    ("C7", Wat("path-outside"), Ended(AbiPlace)),
    ("C7", Wat("path-of-another-file"), Ended(AbiPlace)),
    ("C7", Wat("line-zero"), Ended(AbiPlace)),
    ("C7", Wat("fix-without-a-place"), Ended(AbiPlace)),
    ("C7", Wat("fix-of-1-mib"), Ended(LimitTransfer)),
    ("C7", Wat("fix-of-10001-edits"), Ended(LimitTransfer)),
    // Whether there is a number, and which: the line and the column of the start, then of the end.
    ("C7", Given("place", [0, 0, 0, 0, 0, 0, 0, 0]), Said(Status::Fail)),
    ("C7", Given("place", [0, 0, 1, 5, 0, 0, 0, 0]), Said(Status::Fail)),
    ("C7", Given("place", [1, 2, 1, 5, 0, 0, 0, 0]), Said(Status::Fail)),
    ("C7", Given("place", [1, 2, 1, 5, 1, 2, 1, 5]), Said(Status::Fail)),
    ("C7", Given("place", [1, 2, 1, 5, 0, 0, 1, 6]), Said(Status::Fail)),
    ("C7", Given("place", [1, 2, 1, 5, 1, 3, 1, 1]), Said(Status::Fail)),
    ("C7", Given("place", [1, 2, 0, 0, 1, 2, 1, 1]), Said(Status::Fail)),
    ("C7", Given("place", [1, 2, 0, 0, 1, 1, 0, 0]), Ended(AbiPlace)),
    ("C7", Given("place", [1, 2, 1, 1, 1, 1, 1, 9]), Ended(AbiPlace)),
    ("C7", Given("place", [1, 2, 1, 5, 1, 2, 1, 4]), Ended(AbiPlace)),
    ("C7", Given("place", [1, 2, 1, 5, 0, 0, 1, 4]), Ended(AbiPlace)),
    ("C7", Given("place", [0, 0, 0, 0, 1, 2, 0, 0]), Ended(AbiPlace)),
    ("C7", Given("place", [0, 0, 0, 0, 0, 0, 1, 2]), Ended(AbiPlace)),
    ("C7", Given("place", [0, 0, 1, 1, 1, 2, 1, 2]), Ended(AbiPlace)),
    ("C7", Given("place", [1, 2, 1, 5, 1, 2, 1, 0]), Ended(AbiPlace)),
    // Two edits: the line and the column of the start, then of the end.
    ("C7", Given("edits", [1, 1, 1, 2, 1, 2, 1, 2]), Said(Status::Fail)),
    ("C7", Given("edits", [0, 1, 1, 1, 2, 1, 2, 1]), Ended(AbiPlace)),
    ("C7", Given("edits", [1, 1, 1, 1, 2, 1, 2, 0]), Ended(AbiPlace)),
    ("C7", Given("edits", [2, 1, 1, 9, 3, 1, 3, 1]), Ended(AbiPlace)),
    ("C7", Given("edits", [1, 5, 1, 4, 3, 1, 3, 1]), Ended(AbiPlace)),
    ("C7", Given("edits", [1, 1, 2, 1, 1, 9, 3, 1]), Ended(AbiPlace)),
    ("C7", Given("edits", [2, 1, 2, 2, 1, 1, 1, 2]), Ended(AbiPlace)),
    ("C8", Wat("another-name"), Said(Status::Pass)),
    ("C8", Wat("forging-description"), Said(Status::Pass)),
    ("C8", Wat("hidden-description"), Said(Status::Fail)),
    ("C8", Wat("endless-schema"), Said(Status::Pass)),
    ("pool", Wat("leave-or-look"), Said(Status::Pass)),
];

/// The numbers of the catalogue without a guest: `closer` has a test for each.
const CLOSER: &[&str] = &["A4", "A10"];

impl Guest {
    fn component(&self) -> Vec<u8> {
        match self {
            Wat(name) | Given(name, _) => guests::component(name),
            Made(make) => make(),
        }
    }

    fn question(&self, time: Duration) -> Question {
        let limits = Limits { time, ..Limits::default() };
        match self {
            Wat(_) | Made(_) => Question { limits, ..Question::default() },
            Given(_, content) => Question { limits, content: content.to_vec(), ..Question::default() },
        }
    }
}

/// Returns the components of the catalogue and their inputs. A guest that must time out gets little time.
pub(crate) fn questions(little: Duration) -> Vec<(Vec<u8>, Question)> {
    let time = |expected: &Expected| if *expected == Ended(LimitTime) { little } else { Limits::default().time };
    static COMPONENTS: LazyLock<Vec<Vec<u8>>> =
        LazyLock::new(|| CATALOGUE.iter().map(|(_, guest, _)| guest.component()).collect());
    let rows = CATALOGUE.iter().zip(&*COMPONENTS);
    rows.map(|((_, guest, expected), component)| (component.clone(), guest.question(time(expected)))).collect()
}

/// Returns what is wrong with these answers, one line each.
pub(crate) fn surprises(answers: &[Result<CallResult, Failure>]) -> Vec<String> {
    let rows = CATALOGUE.iter().zip(answers).enumerate();
    let wrong = rows.filter_map(|(number, ((id, guest, expected), answer))| {
        let name = match guest {
            Wat(name) | Given(name, _) => name,
            Made(_) => "made",
        };
        let (found, why) = match answer {
            Err(failure) => (Refused(failure.kind), failure.message.clone()),
            Ok(answer) => match &answer.verdict.error {
                Some(failure) => (Ended(failure.kind), failure.message.clone()),
                None => (Said(answer.verdict.status), answer.verdict.summary.clone()),
            },
        };
        let line = || format!("row {number}, {id} {name}: expected {expected:?}, found {found:?}: {why}");
        let is_expected = found == *expected || matches!((&found, expected), (Said(_), SaidAny));
        (!is_expected).then(line)
    });
    wrong.collect()
}

#[test]
fn every_guest_ends_as_the_catalogue_says_and_its_siblings_do_not_notice() {
    let host = TestHost::new();
    let mut answers = Vec::new();
    for (number, (component, question)) in questions(Duration::from_millis(200)).into_iter().enumerate() {
        answers.push(host.ask(&component, question));
        assert!(host.is_well(), "after row {number}");
    }
    assert_eq!(surprises(&answers), Vec::<String>::new());
}

#[test]
fn guests_that_run_at_the_same_time_end_as_if_each_were_alone() {
    let host = TestHost::new();
    let sibling = || (json_syntax().wasm().to_vec(), Question { content: b"{}".to_vec(), ..Question::default() });
    let pairs = questions(Duration::from_millis(200)).into_iter().flat_map(|question| [question, sibling()]);
    let (mut hostile, mut siblings) = (Vec::new(), Vec::new());
    for (number, answer) in host.ask_all(pairs.collect()).into_iter().enumerate() {
        if number % 2 == 0 { hostile.push(answer) } else { siblings.push(answer) }
    }
    assert_eq!(surprises(&hostile), Vec::<String>::new());
    for answer in siblings {
        assert_eq!(answer.expect("loaded").verdict, Verdict::of(Status::Pass));
    }
}

#[test]
fn a_guest_that_waits_for_a_place_loses_no_time_of_its_own() {
    let spin =
        Question { limits: Limits { time: Duration::from_millis(300), ..Limits::default() }, ..Question::default() };
    let mut questions = vec![(guests::component("spin-in-check"), spin); 64];
    // It gets its place after more than the second that it has, and then needs some milliseconds.
    let late = Question { limits: Limits { time: Duration::from_secs(1), ..Limits::default() }, ..Question::default() };
    questions.push((guests::component("leave-or-look"), late));
    let mut answers = TestHost::new().ask_all(questions);
    let last = answers.pop().expect("an answer").expect("loaded");
    assert_eq!(last.verdict, Verdict::of(Status::Pass));
}

#[test]
fn every_file_is_in_the_catalogue() {
    let files: BTreeSet<String> = guests::names().into_iter().collect();
    let rows = CATALOGUE.iter().filter_map(|(_, guest, _)| match guest {
        Wat(name) | Given(name, _) => Some((*name).to_owned()),
        Made(_) => None,
    });
    assert_eq!(files, rows.collect());
}

#[test]
fn no_number_of_the_catalogue_is_missing() {
    let covered: BTreeSet<&str> = CATALOGUE.iter().map(|(id, ..)| *id).chain(CLOSER.iter().copied()).collect();
    for (letter, last) in [("A", 12), ("B", 18), ("C", 8)] {
        for number in 1..=last {
            assert!(covered.contains(&*format!("{letter}{number}")), "{letter}{number}");
        }
    }
}
