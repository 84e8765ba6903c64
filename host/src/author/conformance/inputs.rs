//! Odd inputs, which nobody writes by hand and which occur all the same.

use super::CaseInput;
use crate::runtime::FileInput;
use crate::submission::{Change, ChangeKind, ChangeState, Claim, Submission, Task, ToolCall};
use serde_json::Value;

/// Large, but within the input limit.
const HUGE: usize = 8 << 20;
const MANY: usize = 10_000;
const DEEP: usize = 100_000;

/// Returns odd inputs with their names, derived from an ordinary one.
pub(super) fn odd(ordinary: &CaseInput) -> Vec<(String, CaseInput)> {
    match ordinary {
        CaseInput::Files(files) => odd_files(files),
        CaseInput::Submission(submission) => odd_submissions(submission),
    }
}

fn odd_files(files: &[FileInput]) -> Vec<(String, CaseInput)> {
    let Some(FileInput { path, content, .. }) = files.first() else { return Vec::new() };
    let lines = content.split_inclusive(|&byte| byte == b'\n');
    let contents: Vec<(&str, Vec<u8>)> = vec![
        ("an empty file", Vec::new()),
        ("a single newline", b"\n".to_vec()),
        ("a truncated file", content[..content.len() / 2].to_vec()),
        ("a file of 8 MiB", repeated(b"the same line again\n", HUGE)),
        ("a line of 8 MiB", vec![b'x'; HUGE]),
        ("a file with CRLF line endings", lines.flat_map(windows_line).collect()),
        ("a file with a byte order mark", [b"\xef\xbb\xbf", &content[..]].concat()),
        ("a file with NUL bytes", [&content[..], b"\0\0\0"].concat()),
        ("a binary file", (0..=255).cycle().take(64 << 10).collect()),
        ("text in UTF-16", "text in UTF-16\n".encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("unusual characters", UNUSUAL.as_bytes().to_vec()),
        ("100,000 open brackets", repeated(b"[", DEEP)),
        ("100,000 nested braces", [repeated(b"{\"a\":", 5 * DEEP), repeated(b"}", DEEP)].concat()),
    ];
    let mut odd: Vec<(String, CaseInput)> = contents
        .into_iter()
        .map(|(name, content)| (name.to_owned(), CaseInput::Files(vec![FileInput::new(path, content)])))
        .collect();
    let named = |name: &String| FileInput::new(name, content.clone());
    odd.push(("odd file names".to_owned(), CaseInput::Files(odd_paths(path).iter().map(named).collect())));
    let run = FileInput { executable: true, ..FileInput::new(path, content.clone()) };
    odd.push(("an executable file".to_owned(), CaseInput::Files(vec![run])));
    let link = FileInput { link_target: Some("elsewhere".to_owned()), ..FileInput::new(path, Vec::new()) };
    let broken = FileInput { missing: true, ..link.clone() };
    odd.push(("a broken symlink".to_owned(), CaseInput::Files(vec![broken])));
    let link = FileInput { content: content.clone(), ..link };
    odd.push(("a symlink to a file".to_owned(), CaseInput::Files(vec![link])));
    odd
}

const UNUSUAL: &str =
    "\u{202e}\u{200b}\u{feff}e\u{301}\u{1f469}\u{200d}\u{1f4bb}\u{ffff}\u{10ffff}\u{1b}[31m\u{85}\u{2028}\n";

fn repeated(part: &[u8], length: usize) -> Vec<u8> {
    part.iter().copied().cycle().take(length).collect()
}

fn windows_line(line: &[u8]) -> Vec<u8> {
    match line.strip_suffix(b"\n") {
        Some(line) => [line, b"\r\n"].concat(),
        None => line.to_vec(),
    }
}

/// Returns odd file names with the extension of an ordinary one.
fn odd_paths(ordinary: &str) -> Vec<String> {
    let ending = ordinary.rsplit_once('.').map_or(String::new(), |(_, ending)| format!(".{ending}"));
    let stems = ["-rf", "$(reboot)", "a b", "a\nb", "%s%n", "\u{202e}gpj", "\u{e4}\u{1f600}", "'\"`;|&", "a/b/c/d/e/f"];
    let long = "x".repeat(200);
    stems.into_iter().chain([long.as_str()]).map(|stem| format!("{stem}{ending}")).collect()
}

fn odd_submissions(ordinary: &Submission) -> Vec<(String, CaseInput)> {
    let like = |name: &str, change: &dyn Fn(&mut Submission)| {
        let mut submission = ordinary.clone();
        change(&mut submission);
        (name.to_owned(), CaseInput::Submission(Box::new(submission)))
    };
    let claims = |text: String| {
        move |submission: &mut Submission| submission.claim = Some(Claim { text: text.clone(), report: None })
    };
    vec![
        like("an empty submission", &|submission| *submission = Submission::default()),
        like("a submission without a claim", &|submission| submission.claim = None),
        like("an empty claim", &claims(String::new())),
        like("a claim of 8 MiB", &claims("done, done. ".repeat(HUGE / 12))),
        like("a claim with unusual characters", &claims(format!("{UNUSUAL}\0"))),
        like("a claim of 100,000 open brackets", &claims("[".repeat(DEEP))),
        like("a report of an unknown kind", &|submission| {
            let report = Some((0..100).fold(Value::Null, |inner, _| Value::Array(vec![inner])));
            submission.claim = Some(Claim { text: String::new(), report });
        }),
        like("a submission without a task", &|submission| submission.task = None),
        like("a task with the largest numbers", &|submission| {
            let task = submission.task.get_or_insert_with(Task::default);
            (task.index, task.total, task.tier) = (Some(u32::MAX), Some(0), Some(u32::MAX));
            submission.attempt = u32::MAX;
        }),
        like("10,000 changes", &|submission| {
            submission.changes = (0..MANY).map(|n| change(format!("src/{n}.rs"))).collect()
        }),
        like("changes with odd paths", &|submission| {
            submission.changes = odd_paths("a.txt").into_iter().map(change).collect();
        }),
        like("10,000 tool calls", &|submission| submission.tool_calls = (0..MANY).map(call).collect()),
    ]
}

fn change(path: String) -> Change {
    let (kind, state) = (ChangeKind::Modified, ChangeState::Unstaged);
    Change { path, kind, state, old_path: None, size: None, hunks: None, old_mode: None, new_mode: None }
}

fn call(number: usize) -> ToolCall {
    ToolCall {
        tool: "write".to_owned(),
        success: number.is_multiple_of(2),
        error: None,
        input: None,
        output: Some("done".to_owned()),
        files_changed: Vec::new(),
    }
}
