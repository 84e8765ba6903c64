//! `gate new`: creates a verifier project.

use crate::args::Global;
use crate::error::{Error, Make as _};
use crate::languages::Language;
use crate::{Exit, templates, terminal};
use anyhow::{Context, anyhow};
use clap::Args;
use clap::ValueEnum;
use gatehost::component::{self, Bindings, ContractSource};
use gatehost::plan::Shape;
use gatehost::writer::{self, Expected, WriteError};
use std::fs;
use std::io::Write;
use std::path::Path;

#[derive(Debug, Args)]
#[command(after_help = "\
The project has a sample verifier, cases for `gate test`, and the contract (`wit/`). If a tool of the \
language is missing, `gate new` prints the command that installs it; it writes the project in any case.

Examples:
  gate new no-todo --lang rust
  gate new mentions-all --lang python --shape submission
  gate new --list")]
pub(crate) struct NewArgs {
    /// The name of the verifier and of its folder: lower-case words joined by `-`
    #[arg(required_unless_present = "list")]
    pub(crate) name: Option<String>,
    /// The language
    #[arg(long, value_enum, required_unless_present = "list")]
    pub(crate) lang: Option<Language>,
    /// What the verifier checks
    #[arg(long, value_enum, default_value_t)]
    pub(crate) shape: ShapeOf,
    /// List the languages, and the missing tools of each
    #[arg(long, conflicts_with_all = ["name", "lang"])]
    pub(crate) list: bool,
}

/// What a verifier checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShapeOf {
    /// One file at a time
    #[default]
    File,
    /// The whole submission: task, claim, tool calls and changes
    Submission,
}

pub(crate) fn run(global: &Global, command: &NewArgs) -> Result<Exit, Error> {
    let mut out = terminal::stdout();
    let (Some(name), Some(language)) = (&command.name, command.lang) else { return list(global, &mut out) };
    valid(name)?;
    let folder = global.directory.join(name);
    empty(&folder)?;
    let shape = command.shape.into();
    let mut files = templates::files(language, shape, name);
    files.extend(component::WIT.iter().map(|(file, text)| (format!("wit/{file}"), text.as_bytes().to_vec())));
    files.extend(bindings(language, shape)?);
    for (path, content) in &files {
        write(&folder.join(path), content)?;
    }
    let shown = terminal::path(&folder);
    writeln!(out, "wrote {shown}/: a {} verifier in {}", shape.as_str(), language.name())?;
    writeln!(out, "next:\n  cd {shown}")?;
    if let Some(missing) = language.missing(&folder) {
        writeln!(out, "  {}", missing.install)?;
    }
    writeln!(out, "  gate build\n  gate test")?;
    Ok(Exit::Pass)
}

/// Lists the languages, and the missing tools of each.
fn list(global: &Global, out: &mut impl Write) -> Result<Exit, Error> {
    for language in Language::value_variants() {
        let about = language.to_possible_value().and_then(|value| value.get_help().map(ToString::to_string));
        let state = match language.missing(&global.directory) {
            None => "ready".to_owned(),
            Some(missing) => format!("needs {}: {}", missing.tool, missing.install),
        };
        writeln!(out, "{:15} {:45} {state}", language.name(), about.unwrap_or_default())?;
    }
    Ok(Exit::Pass)
}

/// Returns the bindings, which `gate build` recreates if they are missing. Written now for editors.
pub(crate) fn bindings(language: Language, shape: Shape) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let made = ContractSource::of_this_host().and_then(|contract| in_language(&contract, language, shape));
    made.map_err(Error::broken)
}

/// Returns the bindings of a language, at their paths in the project.
pub(crate) fn in_language(
    contract: &ContractSource,
    language: Language,
    shape: Shape,
) -> Result<Vec<(String, Vec<u8>)>, component::ComponentError> {
    let kind = match language {
        Language::C | Language::Cpp | Language::Zig => Bindings::C,
        Language::Go => Bindings::Go,
        _ => return Ok(Vec::new()),
    };
    let files = contract.bindings(kind, shape)?.into_iter();
    Ok(match kind {
        Bindings::C => files.map(|(path, bytes)| (format!("bindings/{path}"), bytes)).collect(),
        // Those of Go are packages of the project's module; its `go.mod` comes from the template.
        Bindings::Go => files.filter(|(path, _)| path != "go.mod").collect(),
    })
}

fn valid(name: &str) -> Result<(), Error> {
    let word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if name.len() <= 64 && name.starts_with(|first: char| first.is_ascii_lowercase()) && name.split('-').all(word) {
        return Ok(());
    }
    Err(Error::mistake(anyhow!("`{name}` is not a valid name; expected lower-case words joined by `-`"))
        .hint("for example `no-todo`; choose the parent folder with `-C`".to_owned()))
}

/// Refuses a folder in which something would be overwritten.
fn empty(folder: &Path) -> Result<(), Error> {
    let shown = terminal::path(folder);
    match fs::read_dir(folder).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Err(Error::mistake(anyhow!("`{shown}` exists and is not empty"))
            .hint("choose another name, or remove it".to_owned())),
        Ok(false) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::mistake(anyhow!(error).context(format!("cannot use `{shown}`")))),
    }
}

pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    writer::create_folders_above(path)
        .map_err(WriteError::from)
        .and_then(|_| writer::replace(path, Expected::Any, content, writer::PLAIN))
        .with_context(|| format!("cannot write `{}`", path.display()))
        .map_err(Error::mistake)
}

impl From<ShapeOf> for Shape {
    fn from(shape: ShapeOf) -> Self {
        match shape {
            ShapeOf::File => Self::File,
            ShapeOf::Submission => Self::Submission,
        }
    }
}
