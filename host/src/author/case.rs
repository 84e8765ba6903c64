//! A case: a folder with the input of a verifier and the expected answer.
//!
//! - `input/`: the files. A file verifier checks each of them, symlinks too; for a submission verifier they are the
//!   workspace
//! - `submission.json`: the input of a submission verifier
//! - `settings.json`: its settings; `{}` by default
//! - `commands.json`, `models.json`: what commands and models answer (see `script`)
//! - `expected.json`: the verdict, or for each file its verdict

use super::Mistake;
use super::script::{CommandScript, ModelScript};
use crate::input;
use crate::plan::Shape;
use crate::runtime::FileInput;
use crate::submission::Submission;
use crate::text::clean_json;
use crate::writer::{self, Expected};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

const PARTS: &[&str] = &["input", "submission.json", "settings.json", "commands.json", "models.json", "expected.json"];

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name: that of its folder.
    pub name: String,
    pub(super) folder: PathBuf,
    /// The settings, a JSON object.
    pub settings: Value,
    /// The input.
    pub given: CaseInput,
    pub(super) commands: CommandScript,
    pub(super) models: ModelScript,
    /// The expected verdict, if there is one.
    pub expected: Option<Value>,
}

/// The input of a case.
#[derive(Clone, Debug)]
pub enum CaseInput {
    /// Files, ordered by path.
    Files(Vec<FileInput>),
    /// A submission.
    Submission(Box<Submission>),
}

impl CaseInput {
    /// Returns the shape of a verifier that can check it.
    pub fn shape(&self) -> Shape {
        match self {
            Self::Files(_) => Shape::File,
            Self::Submission(_) => Shape::Submission,
        }
    }
}

/// Reads all cases of a folder whose names contain `filter`, in order. It is a mistake if there is none.
pub fn read_all(folder: &Path, filter: Option<&str>) -> Result<Vec<Case>, Vec<Mistake>> {
    let none = |message: String| {
        vec![Mistake::new(message).hint(
            "a case is a folder such as `cases/good/` with `input/FILE` (or `submission.json`); \
             `gate test --bless` writes its expected.json",
        )]
    };
    let entries = fs::read_dir(folder)
        .map_err(|error| none(format!("cannot read the cases in `{}`: {error}", folder.display())))?;
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    if folders.is_empty() {
        return Err(none(format!("there are no cases in `{}`", folder.display())));
    }
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(filter) = filter {
        let names: Vec<String> = folders.iter().map(|path| name(path)).collect();
        folders.retain(|path| name(path).contains(filter));
        if folders.is_empty() {
            let message = format!("no case has `{filter}` in its name");
            return Err(vec![Mistake::new(message).hint(format!("there are {}", names.join(", ")))]);
        }
    }
    let mut cases = Vec::new();
    let mut mistakes = Vec::new();
    for folder in folders {
        match Case::read(name(&folder), folder) {
            Ok(case) => cases.push(case),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if mistakes.is_empty() { Ok(cases) } else { Err(mistakes) }
}

impl Case {
    fn read(name: String, folder: PathBuf) -> Result<Self, Mistake> {
        let wrong = |what: String| Mistake::new(format!("case `{name}`: {what}"));
        let entries = fs::read_dir(&folder).map_err(|error| wrong(error.to_string()))?;
        for entry in entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()) {
            if !PARTS.contains(&&*entry) && !entry.starts_with('.') {
                return Err(wrong(format!("unexpected `{entry}`")).hint(format!("a case has {}", PARTS.join(", "))));
            }
        }
        let files = if folder.join("input").exists() { files_below(&folder.join("input")) } else { Ok(Vec::new()) };
        let files = files.map_err(wrong)?;
        let given = match fs::read(folder.join("submission.json")) {
            Ok(bytes) => CaseInput::Submission(Box::new(input::parse(&bytes).map_err(|error| {
                wrong(format!("`submission.json` is not a submission: {error}"))
                    .hint("`gate schema submission` shows what one looks like")
            })?)),
            Err(_) if files.is_empty() => {
                return Err(wrong("it has no input".to_owned())
                    .hint("put files into its `input/` for a file verifier, or a `submission.json` beside it"));
            }
            Err(_) => CaseInput::Files(files),
        };
        let read = |part: &str| document(&folder, part).map_err(&wrong);
        let settings = read("settings.json")?.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        let expected = read("expected.json")?;
        let commands = document(&folder, "commands.json").map_err(&wrong)?.unwrap_or_default();
        let models = document(&folder, "models.json").map_err(&wrong)?.unwrap_or_default();
        Ok(Self { name, folder, settings, given, commands, models, expected })
    }

    /// Returns the folder of its files, if it has one.
    pub(super) fn files(&self) -> Option<PathBuf> {
        Some(self.folder.join("input")).filter(|folder| folder.is_dir())
    }

    /// Writes the found verdict as the expected one.
    pub fn bless(&self, found: &Value) -> Result<(), Mistake> {
        let path = self.folder.join("expected.json");
        writer::replace(&path, Expected::Any, clean_json(format!("{found:#}\n")).as_bytes(), writer::PLAIN)
            .map_err(|error| Mistake::new(format!("cannot write `{}`: {error}", path.display())))
    }
}

fn document<T: DeserializeOwned>(folder: &Path, part: &str) -> Result<Option<T>, String> {
    match fs::read(folder.join(part)) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| format!("`{part}`: {error}")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot read `{part}`: {error}")),
    }
}

/// Returns the files below a folder, with relative paths. A symlink has the content of its target, as in a gate. Targets
/// outside the folder, and targets that are not files, are missing.
fn files_below(root: &Path) -> Result<Vec<FileInput>, String> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    let unreadable = |path: &Path, error: std::io::Error| format!("cannot read `{}`: {error}", path.display());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| unreadable(&folder, error))? {
            let entry = entry.map_err(|error| unreadable(&folder, error))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(|error| unreadable(&path, error))?;
            if kind.is_dir() {
                folders.push(path);
                continue;
            }
            let inside = path.strip_prefix(root).ok().and_then(Path::to_str);
            let inside = inside.ok_or_else(|| format!("the path `{}` is not UTF-8", path.display()))?;
            if kind.is_file() {
                let bytes = fs::read(&path).map_err(|error| unreadable(&path, error))?;
                let mode = entry.metadata().map_err(|error| unreadable(&path, error))?.permissions().mode();
                files.push(FileInput { executable: mode & 0o100 != 0, ..FileInput::new(inside, bytes) });
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).map_err(|error| unreadable(&path, error))?;
                let target =
                    target.to_str().ok_or_else(|| format!("the target of `{inside}` is not UTF-8"))?.to_owned();
                let real = path.canonicalize().ok().zip(root.canonicalize().ok());
                let content = real.filter(|(real, root)| real.starts_with(root) && real.is_file());
                let content = content.and_then(|(real, _)| fs::read(real).ok());
                let missing = content.is_none();
                let file = FileInput::new(inside, content.unwrap_or_default());
                files.push(FileInput { link_target: Some(target), missing, ..file });
            }
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_and_links_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::write(root.join("run.sh"), "true").expect("written");
        fs::set_permissions(root.join("run.sh"), fs::Permissions::from_mode(0o755)).expect("changed");
        for (name, target) in [("inside", "run.sh"), ("nowhere", "gone"), ("outside", "/etc/passwd")] {
            std::os::unix::fs::symlink(target, root.join(name)).expect("a link");
        }
        let files = files_below(root).expect("files");
        let told = |file: &FileInput| {
            (file.path.clone(), file.content.len(), file.executable, file.link_target.clone(), file.missing)
        };
        let expected = [
            ("inside".to_owned(), 4, false, Some("run.sh".to_owned()), false),
            ("nowhere".to_owned(), 0, false, Some("gone".to_owned()), true),
            ("outside".to_owned(), 0, false, Some("/etc/passwd".to_owned()), true),
            ("run.sh".to_owned(), 4, true, None, false),
        ];
        assert_eq!(files.iter().map(told).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_is_wrong_with_cases_is_told_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let message = |filter: Option<&str>| {
            let mistakes = read_all(root, filter).expect_err("a mistake");
            mistakes.into_iter().map(|mistake| mistake.message).collect::<Vec<_>>()
        };
        assert!(message(None)[0].starts_with("there are no cases in"));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("written");
        };
        write("a-typo/setings.json", "{}");
        write("b-nothing/settings.json", "{}");
        write("c-json/input/a.txt", "");
        write("c-json/settings.json", "{");
        write("d-script/input/a.txt", "");
        write("d-script/commands.json", r#"{"tests": [{"exit": 0, "signal": 9}]}"#);
        let found = message(None);
        let expected = [
            "case `a-typo`: unexpected `setings.json`",
            "case `b-nothing`: it has no input",
            "case `c-json`: `settings.json`: EOF while parsing an object",
            "case `d-script`: `commands.json`: expected one of `exit`",
        ];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{found}");
        }
        assert_eq!(message(Some("nowhere")), ["no case has `nowhere` in its name"]);
    }
}
