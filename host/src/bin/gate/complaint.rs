//! How the program says that it cannot go on: what happened, why, what to do, and the exit code that follows.

use crate::Exit;
use crate::terminal::say;
use gatehost::author::Mistake;
use gatehost::changes;
use gatehost::config::Problems;
use gatehost::verdict::Failure;

/// An error for a person; several where several things must be changed.
#[derive(Debug)]
pub(crate) struct Complaint {
    pub(crate) exit: Exit,
    errors: Vec<(anyhow::Error, Option<String>)>,
}

impl Complaint {
    /// The caller must change something.
    pub(crate) fn mistake(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Mistake, errors: vec![(error.into(), None)] }
    }

    /// The program could not do its work.
    pub(crate) fn broken(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::NoVerdict, errors: vec![(error.into(), None)] }
    }

    /// The configuration must be changed. `file` is what it is called here.
    pub(crate) fn problems(file: &str, problems: &Problems) -> Self {
        let errors = problems.iter().map(|problem| {
            let place = if problem.position.is_some() { format!("{file}:") } else { format!("{file}: ") };
            (anyhow::anyhow!("{place}{problem}"), problem.hint.clone())
        });
        Self { exit: Exit::Mistake, errors: errors.collect() }
    }

    /// Say what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<Option<String>>) -> Self {
        if let Some((_, last)) = self.errors.last_mut() {
            *last = hint.into();
        }
        self
    }

    /// Say what it was about.
    pub(crate) fn context(mut self, what: &str) -> Self {
        let errors = self.errors.into_iter();
        self.errors = errors.map(|(error, hint)| (error.context(what.to_owned()), hint)).collect();
        self
    }

    pub(crate) fn print(&self, color: bool) {
        let paint = |word: &str, code: u8| if color { format!("\x1b[{code}m{word}\x1b[0m") } else { word.to_owned() };
        for (error, hint) in &self.errors {
            say(format_args!("{} {error}", paint("error:", 31)));
            for cause in error.chain().skip(1) {
                say(format_args!("{} {cause}", paint("caused by:", 33)));
            }
            if let Some(hint) = hint {
                say(format_args!("{} {hint}", paint("hint:", 36)));
            }
        }
    }
}

/// Something of a project must be changed.
impl From<Vec<Mistake>> for Complaint {
    fn from(mistakes: Vec<Mistake>) -> Self {
        let errors = mistakes.into_iter().map(|mistake| (anyhow::anyhow!(mistake.message), mistake.hint));
        Self { exit: Exit::Mistake, errors: errors.collect() }
    }
}

impl From<Mistake> for Complaint {
    fn from(mistake: Mistake) -> Self {
        vec![mistake].into()
    }
}

/// The caller named a component that cannot be used.
impl From<Failure> for Complaint {
    fn from(failure: Failure) -> Self {
        Self::mistake(anyhow::anyhow!("{} ({})", failure.message, failure.kind)).hint(failure.hint)
    }
}

impl From<changes::Error> for Complaint {
    fn from(error: changes::Error) -> Self {
        let hint = error.hint();
        Self::mistake(error).hint(hint.map(str::to_owned))
    }
}

/// Writing to standard output failed. Where the reader has gone, there is nobody to tell.
impl From<std::io::Error> for Complaint {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self { exit: Exit::NoVerdict, errors: Vec::new() },
            _ => Self::broken(error),
        }
    }
}
