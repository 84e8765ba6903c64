//! `hygiene`: general checks of a file, in one pass.
//!
//! Trailing whitespace, the newline at the end of the file, line endings, a byte order mark, the size, executable bits and
//! shebangs, broken symlinks, debug statements and private keys. Each check can be disabled, reports a file once, and fixes the
//! whole file at once if it has a fix.
//!
//! Of a binary file, only the size is checked. Of a symlink, only the target is checked, because the target is a file of its
//! own.

mod debug;
mod keys;
mod lines;

use gatehost_sdk::{About, Content, File, FileVerifier, Finding, Place, Rule, Verdict};

gatehost_sdk::settings! {
    struct Settings {
        /// The checks to run.
        checks: Vec<Check> = Check::ALL.to_vec() => { minItems: 1 },
        /// The maximum size of a file, in kilobytes (1024 bytes).
        max_kilobytes: u32 = 500 => { minimum: 1 },
    }
}

gatehost_sdk::settings! {
    enum Check {
        TrailingWhitespace = "trailing-whitespace",
        EndOfFile = "end-of-file",
        MixedLineEndings = "mixed-line-endings",
        ByteOrderMark = "byte-order-mark",
        LargeFile = "large-file",
        ExecutableWithoutShebang = "executable-without-shebang",
        ShebangNotExecutable = "shebang-not-executable",
        BrokenSymlink = "broken-symlink",
        DebugStatement = "debug-statement",
        PrivateKey = "private-key",
    }
}

impl Check {
    const ALL: [Self; 10] = [
        Self::TrailingWhitespace,
        Self::EndOfFile,
        Self::MixedLineEndings,
        Self::ByteOrderMark,
        Self::LargeFile,
        Self::ExecutableWithoutShebang,
        Self::ShebangNotExecutable,
        Self::BrokenSymlink,
        Self::DebugStatement,
        Self::PrivateKey,
    ];
}

struct Hygiene;

impl FileVerifier for Hygiene {
    type Settings = Settings;
    const ABOUT: About = About::new(
        "hygiene",
        env!("CARGO_PKG_VERSION"),
        "Files have clean whitespace, line endings, modes and symlinks, and no debug statements or private keys.",
    )
    .files(&["**/*"])
    .settings::<Settings>()
    .rules(
        const {
            &[
                Rule::error("trailing-whitespace", "Lines end in spaces or tabs.")
                    .help("Remove them. Two spaces at the end of a Markdown line are a line break and are allowed."),
                Rule::error("end-of-file", "The file does not end with exactly one newline.")
                    .help("End the last line, and remove empty lines after it."),
                Rule::error("mixed-line-endings", "Some lines end with LF and others with CRLF.")
                    .help("Use one of them in the whole file."),
                Rule::error("byte-order-mark", "The file starts with a byte order mark.")
                    .help("Save it as UTF-8 without one."),
                Rule::error("large-file", "The file is larger than `max_kilobytes`.")
                    .help("Keep it out of the repository, or store it with Git LFS."),
                Rule::error("executable-without-shebang", "The file is executable but has no shebang.")
                    .help("Add a first line such as `#!/bin/sh`, or remove the executable bit."),
                Rule::warning("shebang-not-executable", "The file has a shebang but is not executable.")
                    .help("Set the executable bit (`git add --chmod=+x`), or remove the shebang."),
                Rule::error("broken-symlink", "The symlink is broken.")
                    .help("Correct its target, or remove the symlink."),
                Rule::error("debug-statement", "The file calls a debugger.").help("Remove the statement."),
                Rule::error("private-key", "The file contains a private key.").help(
                    "Remove the key, and revoke it if it was ever shared. To allow a test key, write a comment `gate:allow-secret`.",
                ),
            ]
        },
    );
    const JUDGES_BROKEN_LINKS: bool = true;

    fn check(file: &File, settings: Settings) -> Verdict {
        judge(file, &settings)
    }
}

gatehost_sdk::export_file_verifier!(Hygiene);

fn judge(file: &File, settings: &Settings) -> Verdict {
    let wants = |check: Check| settings.checks.contains(&check);
    let target = file.link_target.as_deref();
    match (&file.content, target) {
        (Content::Missing, _) if wants(Check::BrokenSymlink) => {
            let message = format!("the symlink points to `{}`, which does not exist", target.unwrap_or("nothing"));
            return finding(file, Check::BrokenSymlink, message).into();
        }
        (Content::Missing, _) => return Verdict::not_applicable("a broken symlink"),
        (_, Some(_)) => return Verdict::not_applicable("a symlink; its target is checked separately"),
        _ => {}
    }
    let mut findings = Vec::new();
    let size = file.bytes().len() as u64;
    if wants(Check::LargeFile) && size > u64::from(settings.max_kilobytes) * 1024 {
        let (kilobytes, most) = (size.div_ceil(1024), settings.max_kilobytes);
        let message = format!("the file has {kilobytes} KB; expected at most {most} KB");
        let hint = "keep it out of the repository, store it with Git LFS, or raise `max_kilobytes`";
        findings.push(finding(file, Check::LargeFile, message).hint(hint));
    }
    let Some(text) = file.text().filter(|text| !text.contains('\0')) else {
        return match findings.is_empty() {
            true => Verdict::not_applicable("a binary file"),
            false => findings.into(),
        };
    };
    findings.extend(lines::judge(file, text, wants));
    findings.extend(modes(file, text, wants));
    if wants(Check::DebugStatement) {
        findings.extend(debug::judge(file, text));
    }
    if wants(Check::PrivateKey) {
        findings.extend(keys::judge(file, text));
    }
    findings.sort_by_key(|finding| finding.place.as_ref().and_then(|place| place.line));
    findings.into()
}

/// Whether what makes a script and what makes it executable are both there.
fn modes(file: &File, text: &str, wants: impl Fn(Check) -> bool) -> Option<Finding> {
    // `#![…]` is an attribute of Rust.
    let has_shebang = text.strip_prefix("#!").is_some_and(|rest| rest.trim_start_matches(' ').starts_with('/'));
    if file.executable && !has_shebang && wants(Check::ExecutableWithoutShebang) {
        let message = "the file is executable but does not start with a shebang such as `#!/bin/sh`";
        let hint = "add a shebang, or remove the executable bit: `git add --chmod=-x`";
        return Some(finding(file, Check::ExecutableWithoutShebang, message).hint(hint));
    }
    if !file.executable && has_shebang && wants(Check::ShebangNotExecutable) {
        let first = text.lines().next().unwrap_or_default();
        let message = format!("the file starts with `{first}` but is not executable");
        let hint = "set the executable bit, `git add --chmod=+x`, or remove the shebang";
        let finding = finding(file, Check::ShebangNotExecutable, message).hint(hint);
        return Some(Finding { level: gatehost_sdk::Level::Warning, ..finding });
    }
    None
}

/// A finding about the whole file. A check reports a file once, so that its code identifies the finding.
fn finding(file: &File, check: Check, message: impl Into<String>) -> Finding {
    let code = gatehost_sdk::Setting::json(&check);
    let code = code.trim_matches('"');
    Finding::error(code, message).at(Place::file(&file.path)).key(code)
}

#[cfg(test)]
mod tests;
