//! Files for continuous integration: a workflow of GitHub Actions, a job of GitLab. They are written once; a file
//! that the user has edited is not changed.

use super::{InstallStep, read, remove, store};
use crate::error::Error;
use std::path::Path;

/// A file, its content, and what the user has to do.
#[derive(Clone, Copy)]
pub(super) struct File {
    path: &'static str,
    text: &'static str,
    note: &'static str,
}

pub(super) const GITHUB: File = File {
    path: ".github/workflows/gate.yml",
    text: include_str!("ci/github.yml"),
    note: "the workflow expects `gate` on the runner: see the comment in its `Install gate` step",
};

pub(super) const GITLAB: File = File {
    path: ".gitlab/gate.yml",
    text: include_str!("ci/gitlab.yml"),
    note: "include it in `.gitlab-ci.yml`: `include: { local: .gitlab/gate.yml }`; the job expects `gate` in its image",
};

pub(super) fn install(root: &Path, file: File) -> Result<Vec<InstallStep>, Error> {
    let path = root.join(file.path);
    match read(&path)? {
        Some(before) if before != file.text => {
            let note = format!("`{}` was edited, so it is not changed", file.path);
            Ok(vec![InstallStep::Kept(path), InstallStep::Note(note)])
        }
        before => Ok(vec![
            store(&path, before.as_deref(), file.text, crate::writer::PLAIN)?,
            InstallStep::Note(file.note.to_owned()),
        ]),
    }
}

pub(super) fn uninstall(root: &Path, file: File) -> Result<Vec<InstallStep>, Error> {
    let path = root.join(file.path);
    match read(&path)? {
        Some(text) if text == file.text => remove(&path),
        Some(_) => Ok(vec![InstallStep::Note(format!("`{}` was edited: remove it yourself", file.path))]),
        None => Ok(vec![InstallStep::Kept(path)]),
    }
}
