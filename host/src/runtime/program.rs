//! Programs as verifiers. A program has a `main`, reads one JSON document from stdin ([`ProgramInput`]), and prints one
//! ([`ProgramOutput`]). Its stderr becomes log lines.
//!
//! A program runs in the same sandbox with the same limits, and its answer follows the same rules as that of any other
//! verifier. Exit code 0 is not a pass: without a verdict, the result is an error.

use super::call::FileInput;
use super::{Description, Rule, scan};
use crate::submission::Submission;
use crate::text::clean_line;
use crate::verdict::{Class, ErrorKind, Failure, Finding, Level, Metric, Status, Verdict};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
};
use wasmparser::{ExternalKind, Parser, Payload};
use wit_component::ComponentEncoder;

/// The input of a program.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProgramInput<'a> {
    /// The contract of this document: `gatehost:verifier@0.1.0`.
    contract: &'static str,
    /// The settings of the check.
    settings: Value,
    /// The file, for a check that has `files`.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<ProgramFile<'a>>,
    /// The submission, for any other check.
    #[serde(skip_serializing_if = "Option::is_none")]
    submission: Option<&'a Submission>,
}

/// A file for a program.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProgramFile<'a> {
    /// The path relative to the root of the workspace.
    path: &'a str,
    /// The content, if it is UTF-8. A broken symlink has neither this nor `base64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// The content in base64, if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    /// Whether the file may be executed.
    executable: bool,
    /// For a symlink: its target, as it is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    link_target: Option<&'a str>,
}

/// The output of a program: one JSON document, and nothing else.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramOutput {
    /// What it decides.
    status: ProgramStatus,
    /// The confidence, from 0 to 1.
    #[serde(default)]
    confidence: Option<f64>,
    /// One line for a person.
    #[serde(default)]
    summary: String,
    /// The findings. With a finding of level `error`, a pass becomes a failure.
    #[serde(default)]
    findings: Vec<Finding>,
    /// Which kind of failure this is.
    #[serde(default)]
    class: Option<Class>,
    /// Whether a person must decide, whatever the status says.
    #[serde(default)]
    needs_person: bool,
    /// What it measured.
    #[serde(default)]
    metrics: Vec<Metric>,
}

/// The status that a program returns.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum ProgramStatus {
    /// The work is not acceptable.
    Fail,
    /// The work is acceptable.
    Pass,
    /// The program should judge the input and cannot.
    Abstain,
    /// The input is not for this program.
    NotApplicable,
}

const CONTRACT: &str = "gatehost:verifier@0.1.0";

/// Returns the description of a program, which cannot describe itself.
pub(super) fn description() -> Description {
    Description {
        name: "program".to_owned(),
        version: "0.0.0".to_owned(),
        summary: "A program that reads JSON and prints a verdict.".to_owned(),
        files: Vec::new(),
        // Any settings: only the program knows what they mean.
        settings_schema: "{\"type\": \"object\"}".to_owned(),
        // Any code: only the program knows what it reports.
        rules: vec![Rule {
            code: "*".to_owned(),
            level: Level::Error,
            summary: "What the program reports.".to_owned(),
            help: String::new(),
            url: None,
        }],
        url: None,
    }
}

/// Returns the document for a file.
pub(super) fn about_file(settings: &str, file: &FileInput) -> Result<Vec<u8>, Failure> {
    let text = simdutf8::basic::from_utf8(&file.content).ok().filter(|_| !file.missing);
    let base64 = if text.is_none() && !file.missing { Some(STANDARD.encode(&file.content)) } else { None };
    let (executable, link_target) = (file.executable, file.link_target.as_deref());
    document(settings, Some(ProgramFile { path: &file.path, text, base64, executable, link_target }), None)
}

/// Returns the document for a submission.
pub(super) fn about_submission(settings: &str, submission: &Submission) -> Result<Vec<u8>, Failure> {
    document(settings, None, Some(submission))
}

fn document(
    settings: &str,
    file: Option<ProgramFile<'_>>,
    submission: Option<&Submission>,
) -> Result<Vec<u8>, Failure> {
    let broken = |error: serde_json::Error| Failure::new(ErrorKind::HostFailed, error.to_string());
    let settings = serde_json::from_str(settings).map_err(broken)?;
    serde_json::to_vec(&ProgramInput { contract: CONTRACT, settings, file, submission }).map_err(broken)
}

/// Parses the verdict that a program printed. Nothing in it is checked yet.
pub(super) fn verdict(code: i32, printed: &[u8]) -> Result<Verdict, Failure> {
    if code != 0 {
        // WASI keeps only whether the exit code was 0.
        return Err(Failure::new(
            ErrorKind::GuestExited,
            "the program did not exit with code 0, so its output is ignored",
        )
        .hint("to reject the work, print {\"status\": \"fail\"} and exit with 0"));
    }
    let malformed = |message: String| {
        Failure::new(ErrorKind::GuestMalformed, message)
            .hint("print one JSON document and nothing else: `gate schema program-output` shows what it looks like")
    };
    if printed.trim_ascii().is_empty() {
        return Err(malformed("the program printed no verdict".to_owned()));
    }
    let output: ProgramOutput = serde_json::from_slice(printed).map_err(|error| {
        let start = clean_line(&String::from_utf8_lossy(&printed[..printed.len().min(60)]), 40);
        malformed(format!("the output of the program is not a verdict: {error}; it starts with `{start}`"))
    })?;
    Ok(Verdict {
        status: match output.status {
            ProgramStatus::Fail => Status::Fail,
            ProgramStatus::Pass => Status::Pass,
            ProgramStatus::Abstain => Status::Abstain,
            ProgramStatus::NotApplicable => Status::NotApplicable,
        },
        confidence: output.confidence,
        summary: output.summary,
        findings: output.findings,
        class: output.class,
        needs_person: output.needs_person,
        metrics: output.metrics,
        error: None,
        findings_omitted: 0,
        fixes_omitted: 0,
    })
}

/// Returns the bytes as a component: a core module that is a program is converted.
pub(super) fn component(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Failure> {
    if !Parser::is_core_wasm(bytes) || !exports(bytes).iter().any(|name| name == "_start") {
        return Ok(Cow::Borrowed(bytes));
    }
    scan::scan_module(bytes)?;
    let refused = |why: &str| {
        let message = format!("this core WebAssembly module cannot be converted to a component: {why}");
        Failure::new(ErrorKind::LoadNotComponent, clean_line(&message, 500))
            .hint("a program may import `wasi_snapshot_preview1` and nothing else: build it for `wasm32-wasi`")
    };
    // The encoder's output for these would be unbounded, and a program that needs only WASI has none.
    if has_metadata(bytes) {
        return Err(refused("it already contains component types; convert it with the tool that built it"));
    }
    let encode = || {
        ComponentEncoder::default()
            .module(bytes)?
            .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER)?
            .validate(true)
            .encode()
    };
    match catch_unwind(AssertUnwindSafe(encode)) {
        Ok(Ok(component)) => Ok(Cow::Owned(component)),
        Ok(Err(error)) => Err(refused(&format!("{:#}", error.root_cause()))),
        Err(_) => Err(refused("the encoder panicked")),
    }
}

fn has_metadata(module: &[u8]) -> bool {
    let mut parts = Parser::new(0).parse_all(module).flatten();
    parts.any(|part| matches!(part, Payload::CustomSection(section) if section.name().starts_with("component-type")))
}

/// Returns the names of the functions that a core module exports.
pub(super) fn exports(module: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload {
            Ok(Payload::ExportSection(section)) => {
                let functions = section.into_iter().flatten().filter(|export| export.kind == ExternalKind::Func);
                names.extend(functions.map(|export| export.name.to_owned()));
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_verdict_is_a_verdict() {
        assert!(verdict(0, b" {\"status\": \"pass\"}\n").is_ok());
        for printed in [
            "",
            "\n",
            "pass",
            "\"pass\"",
            "{}",
            "{\"status\": \"error\"}",
            "{\"status\": \"Pass\"}",
            "{\"status\": null}",
            "{\"status\": \"pass\", \"status\": \"fail\"}",
            "{\"status\": \"pass\"} {\"status\": \"pass\"}",
            "{\"status\": \"pass\"}\ndone",
            "{\"status\": \"pass\", \"error\": null}",
            "{\"status\": \"pass\", \"findings_omitted\": 0}",
            "{\"status\": \"pass\", \"findings\": [{\"code\": \"a\"}]}",
            "{\"status\": \"pass\", \"confidence\": \"1\"}",
        ] {
            let failure = verdict(0, printed.as_bytes()).expect_err(printed);
            assert_eq!(failure.kind, ErrorKind::GuestMalformed, "{printed}");
        }
        assert_eq!(verdict(1, b"{\"status\": \"pass\"}").expect_err("code 1").kind, ErrorKind::GuestExited);
    }
}
