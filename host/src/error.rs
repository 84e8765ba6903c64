//! The error type for callers: what failed, why, what to do next, and the exit code.
//!
//! If a verifier returns no answer, that is not such an error: it is a status in the verdict.

use crate::changes;
use crate::config::ConfigProblems;
use crate::verdict::{ErrorKind, Failure, Status};
use crate::writer::WriteError;
use serde::Serialize;
use std::error::Error as StdError;
use std::fmt;

/// The exit code of `gate`. README and `gate --help` list the same codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// The gate passed, or the command succeeded.
    Pass = 0,
    /// The gate failed.
    Fail = 1,
    /// A usage, configuration or input error.
    Mistake = 2,
    /// There is no verdict: an error, an abstention, or human review is needed.
    NoVerdict = 3,
}

impl Exit {
    /// Returns the exit code as a number.
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

/// Returns whether the machine is at fault, so that the caller can change nothing: no disk space, no memory, too many open
/// files, a file beyond the limit of the process, a broken disk.
pub fn is_of_the_machine(error: &(dyn StdError + 'static)) -> bool {
    use std::io::ErrorKind as Io;
    let mut next = Some(error);
    while let Some(cause) = next {
        let io = match cause.downcast_ref::<WriteError>() {
            Some(WriteError::Io(io)) => Some(io),
            _ => cause.downcast_ref::<std::io::Error>(),
        };
        if let Some(io) = io
            && (matches!(
                io.kind(),
                Io::StorageFull | Io::QuotaExceeded | Io::OutOfMemory | Io::WriteZero | Io::FileTooLarge
            ) || matches!(io.raw_os_error(), Some(libc::EIO | libc::EMFILE | libc::ENFILE)))
        {
            return true;
        }
        next = cause.source();
    }
    false
}

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ErrorCategory {
    /// The program or the library was called wrongly.
    Usage,
    /// The configuration is invalid.
    Configuration,
    /// The submission or a file that was passed is invalid.
    Input,
    /// A component that cannot be used.
    Component,
    /// The machine failed: no disk space, no memory, no answer in time.
    Host,
}

impl ErrorCategory {
    /// Returns the exit code that follows.
    pub fn exit(self) -> Exit {
        match self {
            Self::Usage | Self::Configuration | Self::Input | Self::Component => Exit::Mistake,
            Self::Host => Exit::NoVerdict,
        }
    }
}

/// One message, with its cause and hint.
#[derive(Debug)]
struct Message {
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
    hint: Option<String>,
}

/// An error for a caller. It has several messages if several things must be changed.
#[derive(Debug)]
pub struct Error {
    kind: ErrorCategory,
    problems: Vec<Message>,
}

impl Error {
    /// Returns an error of this kind.
    pub fn new(kind: ErrorCategory, message: impl fmt::Display) -> Self {
        Self { kind, problems: vec![Message { message: message.to_string(), source: None, hint: None }] }
    }

    /// Returns a usage error.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(ErrorCategory::Usage, message)
    }

    /// Returns an error in the input.
    pub fn input(message: impl fmt::Display) -> Self {
        Self::new(ErrorCategory::Input, message)
    }

    /// Returns an error of the machine.
    pub fn host(message: impl fmt::Display) -> Self {
        Self::new(ErrorCategory::Host, message)
    }

    /// Returns an error without a message, for a reader that has closed its end of the pipe.
    pub fn silent() -> Self {
        Self { kind: ErrorCategory::Host, problems: Vec::new() }
    }

    /// Returns the problems of a configuration. `file` is its name in messages.
    pub fn configuration(file: &str, problems: &ConfigProblems) -> Self {
        let problem = |problem: &crate::config::ConfigProblem| {
            let place = if problem.position.is_some() { format!("{file}:") } else { format!("{file}: ") };
            Message { message: format!("{place}{problem}"), source: None, hint: problem.hint.clone() }
        };
        Self { kind: ErrorCategory::Configuration, problems: problems.iter().map(problem).collect() }
    }

    /// Adds the cause. If the machine caused it, the error becomes an error of the machine.
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

    /// Prefixes each message with this context.
    pub fn context(mut self, what: &str) -> Self {
        for problem in &mut self.problems {
            let cause = Cause { message: std::mem::take(&mut problem.message), source: problem.source.take() };
            problem.message = what.to_owned();
            problem.source = Some(Box::new(cause));
        }
        self
    }

    /// Returns an error with several messages, each with a hint.
    pub fn several(kind: ErrorCategory, problems: impl IntoIterator<Item = (String, Option<String>)>) -> Self {
        let problem = |(message, hint)| Message { message, source: None, hint };
        Self { kind, problems: problems.into_iter().map(problem).collect() }
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorCategory {
        self.kind
    }

    /// Returns the exit code that follows.
    pub fn exit(&self) -> Exit {
        self.kind.exit()
    }

    /// Returns each message, with its causes (nearest first) and its hint.
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

/// A message with another message as its cause.
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

/// A component that the caller named cannot be used, or the host itself failed.
impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let kind = match failure.kind {
            ErrorKind::HostFailed | ErrorKind::LimitTime => ErrorCategory::Host,
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
        // Most messages contain their cause already.
        match source.filter(|source| !error.to_string().contains(source.as_str())) {
            Some(source) => made.because(source),
            None => made,
        }
    }
}

/// Writing to stdout failed. If the reader has closed the pipe, there is nobody to tell.
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::silent(),
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
        for kind in [libc::EIO, libc::EMFILE, libc::ENFILE, libc::EDQUOT, libc::ENOMEM, libc::EFBIG] {
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
