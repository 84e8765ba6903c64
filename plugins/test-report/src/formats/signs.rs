//! Says which readers can find a report in an output, by one look at its lines. Most outputs have one format, and a reader that
//! would find nothing is not run.

use super::{pytest, rspec, tap};
use crate::printed::{Marks, Printed, bare};

/// What an output contains. A reader returns a report only if its sign is set; the tests compare both.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signs {
    pub(super) junit: bool,
    pub(super) go: bool,
    pub(super) go_text: bool,
    pub(super) nextest: bool,
    pub(super) cargo: bool,
    pub(super) pytest: bool,
    pub(super) unittest: bool,
    pub(super) jest_json: bool,
    pub(super) jest: bool,
    pub(super) vitest: bool,
    pub(super) mocha: bool,
    pub(super) ctest: bool,
    pub(super) phpunit: bool,
    pub(super) rspec: bool,
    pub(super) dotnet: bool,
    pub(super) tap: bool,
}

impl Signs {
    pub(super) fn of(text: &Printed<'_>) -> Self {
        let all = text.marks();
        let mut signs = Self {
            junit: all.has(Marks::JUNIT),
            go: all.has(Marks::GO_FAILURE),
            jest_json: all.has(Marks::JEST_JSON),
            ctest: all.has(Marks::CTEST),
            ..Self::default()
        };
        for (line, marks) in text.marked_lines() {
            signs.see(line, bare(line));
            signs.pytest |= marks.has(Marks::IN) && pytest::sum(line).is_some();
        }
        signs
    }

    /// `bare` is the line without its indentation.
    fn see(&mut self, line: &str, bare: &str) {
        let starts = |words: &[&str]| words.iter().any(|words| bare.starts_with(words));
        match bare.as_bytes().first() {
            Some(b'{') => self.go |= line.starts_with('{'),
            Some(b't') => self.cargo |= starts(&["test result: "]),
            Some(b'R') => self.unittest |= line.starts_with("Ran "),
            Some(b'O') => self.phpunit |= starts(&["OK ("]) && bare.contains(" assertion"),
            Some(b'P') => self.dotnet |= starts(&["Passed!"]),
            Some(b'-') => self.go_text |= starts(&["--- FAIL:"]),
            Some(b'b' | b'B') => self.tap |= tap::is_bail_out(bare),
            Some(b'o' | b'n') => {
                self.go_text |= line.starts_with("ok  \t") || line.starts_with("ok \t");
                self.tap |= tap::is_numbered_result(line);
            }
            Some(b'F') => {
                self.dotnet |= starts(&["Failed!"]);
                self.go_text |= line.starts_with("FAIL\t");
            }
            Some(b'S') => {
                self.nextest |= starts(&["Summary ["]);
                self.dotnet |= starts(&["Skipped!"]);
            }
            Some(b'N') => {
                self.nextest |= starts(&["Nextest run"]);
                self.ctest |= starts(&["No tests were found!!!"]);
                self.phpunit |= starts(&["No tests executed!"]);
            }
            Some(b'T') => {
                self.jest |= starts(&["Test Suites:"]);
                self.vitest |= starts(&["Test Files"]);
                self.phpunit |= starts(&["Tests: "]) && bare.contains("Assertions: ");
                self.dotnet |= starts(&["Test summary: total:", "Total tests: "]);
            }
            Some(b'0'..=b'9' | b'+' | b',') => {
                self.rspec |= rspec::is_sum(line);
                self.tap |= line.starts_with("1..");
                let behind = bare.trim_start_matches(|c: char| c == '+' || c.is_ascii_digit());
                self.mocha |= behind.starts_with(" passing") || behind.starts_with(" failing");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::READERS;

    /// Pieces of lines, of which the readers look for most.
    const PIECES: &[&str] = &[
        "\n",
        "\n",
        "\n",
        "\n",
        " ",
        " ",
        "  ",
        "\t",
        "\u{a0}",
        "1",
        "3",
        "12",
        "+2",
        "0.1s",
        "{",
        "}",
        "\"Action\":\"fail\"",
        "{\"Action\":\"pass\",\"Package\":\"p\"}",
        "<testsuite ",
        "<testsuite tests=\"1\">",
        "</testsuite>",
        "<?xml",
        "ok",
        "not ok",
        "ok 1",
        "not ok 2 - a",
        "1..1",
        "1..2",
        "Bail out!",
        "bail OUT! no",
        "ok  \ta\t0.1s",
        "FAIL\ta",
        "--- FAIL: a",
        "Summary [",
        " run: ",
        "1 test run: 1 passed",
        "Nextest run",
        "test result: ok. 1 passed",
        "passed",
        "1 passed",
        "1 failed",
        " in ",
        " in",
        "in ",
        " in inf",
        "=",
        "==",
        "Ran 1 test",
        "Ran 2 tests in 0.1s",
        "OK",
        "OK (1 test, 1 assertion)",
        "{\"num",
        "Test Suites:",
        "Test Suites: 1 passed\nTests: 1 passed\n",
        "Tests:",
        "Tests: 1, Assertions: 1",
        " 1 passed",
        "Test Files",
        "  1 passed (1)",
        " passing",
        " passing (1ms)",
        "1 failing",
        "% tests passed, ",
        "0 tests failed out of 3",
        "100% tests passed, 0 tests failed out of 1",
        "No tests were found!!!",
        "No tests executed!",
        "1 example, 0 failures",
        "3,examples,0 failures",
        "Passed!",
        "Failed!",
        "Skipped!",
        " - Total: 1",
        "Test summary: total: 1",
        "Total tests: 1",
        "é",
        "✓",
        "x",
    ];

    #[test]
    fn a_reader_without_its_sign_finds_nothing() {
        let mut state: u32 = 5;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as usize
        };
        let mut found = [0; READERS.len()];
        for _ in 0..RANDOM {
            let text: String = (0..next() % 7).map(|_| PIECES[next() % PIECES.len()]).collect();
            let text = Printed::of(&text);
            let signs = Signs::of(&text);
            for (reader, found) in READERS.iter().zip(&mut found) {
                let report = (reader.read)(&text);
                assert!(report.is_none() || (reader.has_sign)(&signs), "{:?}: {:?}", reader.format, &*text);
                *found += usize::from(report.is_some());
            }
        }
        assert!(found.iter().all(|found| *found > 0), "{found:?}");
    }

    /// How many random outputs are read. Three million were, once.
    const RANDOM: usize = 30_000;
}
