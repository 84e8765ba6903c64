//! Why something could not be done: what failed, why, what to do next, and the exit code that follows.
//!
//! This is for callers. A verifier's failure to answer is none of these: it is a status, and part of a verdict.

use crate::changes;
use crate::config::ConfigProblems;
use crate::verdict::{ErrorKind, Failure, Status};
use serde::Serialize;
use std::error::Error as StdError;
use std::fmt;

/// How a program that runs gates ends. README and `gate --help` say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// The gate passed, or the command did what it was asked.
    Pass = 0,
    /// The gate failed.
    Fail = 1,
    /// The caller's mistake: usage, configuration, input.
    Mistake = 2,
    /// There is no verdict: an error, an abstention, or human review is needed.
    NoVerdict = 3,
}

impl Exit {
    /// The exit code as a number.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<Status> for Exit {
    fn from(status: Status) -> Self {
        match status {
            Status::Pass => Self::Pass,
            Status::Fail => Self::Fail,
            Status::Abstain | Status::Error | Status::NotApplicable => Self::NoVerdict,
        }
    }
}

/// Whether the machine is at fault, and nothing that the caller could change: no space, no memory, no more files, a broken disk.
pub fn is_of_the_machine(error: &(dyn StdError + 'static)) -> bool {
    use std::io::ErrorKind as Io;
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(io) = cause.downcast_ref::<std::io::Error>()
            && (matches!(io.kind(), Io::StorageFull | Io::QuotaExceeded | Io::OutOfMemory | Io::WriteZero)
                || matches!(io.raw_os_error(), Some(libc::EIO | libc::EMFILE | libc::ENFILE)))
        {
            return true;
        }
        next = cause.source();
    }
    false
}

/// What kind of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ErrorCategory {
    /// How the program or the library was called.
    Usage,
    /// A configuration.
    Configuration,
    /// What was handed over to be judged.
    Input,
    /// A component that cannot be used.
    Component,
    /// The machine: no space, no memory, no answer in time.
    Host,
}

impl ErrorCategory {
    /// The exit code that follows.
    pub fn exit(self) -> Exit {
        match self {
            Self::Usage | Self::Configuration | Self::Input | Self::Component => Exit::Mistake,
            Self::Host => Exit::NoVerdict,
        }
    }
}

/// One thing that is wrong.
#[derive(Debug)]
struct Message {
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
    hint: Option<String>,
}

/// An error for a caller; several where several things must be changed.
#[derive(Debug)]
pub struct Error {
    kind: ErrorCategory,
    problems: Vec<Message>,
}

impl Error {
    /// An error of this kind.
    pub fn new(kind: ErrorCategory, message: impl fmt::Display) -> Self {
        Self { kind, problems: vec![Message { message: message.to_string(), source: None, hint: None }] }
    }

    /// The caller must call differently.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(ErrorCategory::Usage, message)
    }

    /// What was handed over must be changed.
    pub fn input(message: impl fmt::Display) -> Self {
        Self::new(ErrorCategory::Input, message)
    }

    /// The machine could not do it.
    pub fn host(message: impl fmt::Display) -> Self {
        Self::new(ErrorCategory::Host, message)
    }

    /// Nothing that could be told to anybody: whoever would read it has gone.
    pub fn untold() -> Self {
        Self { kind: ErrorCategory::Host, problems: Vec::new() }
    }

    /// The configuration must be changed. `file` is its name in messages.
    pub fn configuration(file: &str, problems: &ConfigProblems) -> Self {
        let problem = |problem: &crate::config::ConfigProblem| {
            let place = if problem.position.is_some() { format!("{file}:") } else { format!("{file}: ") };
            Message { message: format!("{place}{problem}"), source: None, hint: problem.hint.clone() }
        };
        Self { kind: ErrorCategory::Configuration, problems: problems.iter().map(problem).collect() }
    }

    /// Adds what caused it. If the machine did, it is the machine's error.
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        let source = source.into();
        if is_of_the_machine(&*source) {
            self.kind = ErrorCategory::Host;
        }
        if let Some(last) = self.problems.last_mut() {
            last.source = Some(source);
        }
        self
    }

    /// Adds what to do about it.
    pub fn hint(mut self, hint: impl Into<Option<String>>) -> Self {
        if let Some(last) = self.problems.last_mut() {
            last.hint = hint.into();
        }
        self
    }

    /// Puts these words before each message: what it was about.
    pub fn context(mut self, what: &str) -> Self {
        for problem in &mut self.problems {
            let cause = Cause { message: std::mem::take(&mut problem.message), source: problem.source.take() };
            problem.message = what.to_owned();
            problem.source = Some(Box::new(cause));
        }
        self
    }

    /// Several errors of one kind: each a message and what to do about it.
    pub fn several(kind: ErrorCategory, problems: impl IntoIterator<Item = (String, Option<String>)>) -> Self {
        let problem = |(message, hint)| Message { message, source: None, hint };
        Self { kind, problems: problems.into_iter().map(problem).collect() }
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorCategory {
        self.kind
    }

    /// The exit code that follows.
    pub fn exit(&self) -> Exit {
        self.kind.exit()
    }

    /// Each thing that is wrong: its message, its causes from the nearest to the first, and what to do about it.
    pub fn problems(&self) -> impl Iterator<Item = (&str, Vec<String>, Option<&str>)> {
        self.problems.iter().map(|problem| {
            let mut causes = Vec::new();
            let mut next = problem.source.as_deref().map(|source| source as &dyn StdError);
            while let Some(cause) = next {
                causes.push(cause.to_string());
                next = cause.source();
            }
            (problem.message.as_str(), causes, problem.hint.as_deref())
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let messages: Vec<&str> = self.problems.iter().map(|problem| problem.message.as_str()).collect();
        f.write_str(&messages.join("; "))
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.problems.first()?.source.as_deref().map(|source| source as &dyn StdError)
    }
}

/// A message that another one stands before.
#[derive(Debug)]
struct Cause {
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Cause {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &dyn StdError)
    }
}

/// A component that the caller named cannot be used, or the host itself could not go on.
impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let kind = match failure.kind {
            ErrorKind::HostFailed => ErrorCategory::Host,
            _ => ErrorCategory::Component,
        };
        Self::new(kind, format_args!("{} ({})", failure.message, failure.kind)).hint(failure.hint)
    }
}

impl From<changes::ChangesError> for Error {
    fn from(error: changes::ChangesError) -> Self {
        let kind = if error.is_of_the_machine() || is_of_the_machine(&error) {
            ErrorCategory::Host
        } else {
            ErrorCategory::Input
        };
        let hint = error.hint();
        let source = StdError::source(&error).map(ToString::to_string);
        let made = Self::new(kind, &error).hint(hint);
        // Most messages hold their cause already.
        match source.filter(|source| !error.to_string().contains(source.as_str())) {
            Some(source) => made.because(source),
            None => made,
        }
    }
}

/// Writing to the output failed. Where the reader has gone, there is nobody to tell.
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::untold(),
            _ => Self::host(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_machine_takes_the_blame_from_the_caller() {
        for (kind, exit) in [
            (ErrorCategory::Usage, Exit::Mistake),
            (ErrorCategory::Configuration, Exit::Mistake),
            (ErrorCategory::Input, Exit::Mistake),
            (ErrorCategory::Component, Exit::Mistake),
            (ErrorCategory::Host, Exit::NoVerdict),
        ] {
            assert_eq!(Error::new(kind, "x").exit(), exit, "{kind:?}");
        }
        assert_eq!(Error::from(Failure::new(ErrorKind::HostFailed, "x")).exit(), Exit::NoVerdict);
        assert_eq!(Error::from(Failure::new(ErrorKind::LoadMalformed, "x")).exit(), Exit::Mistake);
    }

    #[test]
    fn a_full_disk_is_the_machines_wherever_it_is_met() {
        let full = || std::io::Error::from_raw_os_error(libc::ENOSPC);
        let missing = || std::io::Error::from_raw_os_error(libc::ENOENT);
        assert_eq!(Error::input("x").because(full()).exit(), Exit::NoVerdict);
        assert_eq!(
            Error::usage("x").because(Cause { message: "y".into(), source: Some(full().into()) }).exit(),
            Exit::NoVerdict
        );
        assert_eq!(Error::input("x").because(missing()).exit(), Exit::Mistake);
        for kind in [libc::EIO, libc::EMFILE, libc::ENFILE, libc::EDQUOT, libc::ENOMEM] {
            assert!(is_of_the_machine(&std::io::Error::from_raw_os_error(kind)), "{kind}");
        }
        let folder = |source| changes::ChangesError::Folder { path: "x".into(), source };
        assert_eq!(Error::from(folder(full())).exit(), Exit::NoVerdict);
        assert_eq!(Error::from(folder(missing())).exit(), Exit::Mistake);
    }

    #[test]
    fn nothing_but_a_pass_exits_with_0() {
        for status in [Status::Fail, Status::Abstain, Status::Error, Status::NotApplicable] {
            assert_ne!(Exit::from(status), Exit::Pass, "{status}");
        }
        assert_eq!(Exit::from(Status::Pass).code(), 0);
    }

    #[test]
    fn context_stands_before_the_message_and_keeps_the_causes() {
        let io = std::io::Error::other("no space");
        let error = Error::host("cannot write").because(io).hint("free some".to_owned()).context("saving `a`");
        let problems: Vec<_> = error.problems().collect();
        assert_eq!(
            problems,
            [("saving `a`", vec!["cannot write".to_owned(), "no space".to_owned()], Some("free some"))]
        );
    }
}
