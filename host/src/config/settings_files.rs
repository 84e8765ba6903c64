//! Settings whose text is in a file next to gate.toml, such as the prompt of a reviewer.

use super::read::Table;
use super::{Config, ConfigProblem, ConfigProblems};
use crate::regular_file::{self, Symlinks};
use crate::text::clean_line;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Longer files are refused.
const MAX_BYTES: u64 = 256 << 10;

/// Reads `settings_files`: the path of each file, by the name of the setting.
pub(super) fn read(table: &mut Table<'_>, settings: Option<&serde_json::Value>) -> BTreeMap<String, String> {
    let what = "a table such as `{ prompt = \"review.md\" }`";
    let Some(files) = table.get("settings_files").and_then(|value| value.table(what)) else { return BTreeMap::new() };
    let mut named = BTreeMap::new();
    for (setting, value) in files.entries() {
        if settings.is_some_and(|settings| settings.get(setting).is_some()) {
            let shown = clean_line(setting, 60);
            value.problem(format!("`{shown}` is in both `settings` and `settings_files`; remove one"));
        }
        if let Some(path) = value.text("the path of a text file, relative to this file") {
            named.insert(setting.to_owned(), path);
        }
    }
    named
}

impl Config {
    /// Reads the files of `settings_files` into settings. Paths are relative to `folder`, the folder of the configuration.
    pub fn read_settings_files(&mut self, folder: &Path) -> Result<(), ConfigProblems> {
        let mut problems: Vec<ConfigProblem> = Vec::new();
        for check in self.checks.values_mut() {
            for (setting, path) in std::mem::take(&mut check.settings_files) {
                match inside(folder, Path::new(&path)).and_then(|path| text(&path)) {
                    Ok(text) => check.settings[&setting] = text.into(),
                    Err(why) => {
                        let place = format!("check.{}.settings_files.{setting}", check.name);
                        let message = format!("expected a text file, found `{}`: {why}", clean_line(&path, 60));
                        problems.push(self.places.problem(&place, message));
                    }
                }
            }
        }
        ConfigProblems::none_of(problems)
    }
}

/// Returns the path of a file, unless a symlink leads to it out of the folder of the configuration. Whoever can create a
/// symlink there need not be the author of the configuration, and the text may be sent to a model. A path with `..` of its
/// own may leave the folder.
fn inside(folder: &Path, path: &Path) -> Result<PathBuf, String> {
    let missing = |error: std::io::Error| error.to_string();
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let folder = folder.canonicalize().map_err(missing)?;
    let real = folder.join(path).canonicalize().map_err(missing)?;
    let mut written = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::ParentDir => drop(written.pop()),
            Component::CurDir => {}
            part => written.push(part),
        }
    }
    if real.starts_with(&folder) || real == written {
        Ok(real)
    } else {
        Err(format!("a symlink leads to `{}`, outside the folder of gate.toml; name the file itself", real.display()))
    }
}

fn text(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let file = regular_file::open(path, Symlinks::Follow).map_err(|error| error.to_string())?;
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_BYTES { Err(format!("it has more than {MAX_BYTES} bytes")) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    #[test]
    fn a_file_becomes_a_setting() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("review.md"), "Look closely.\n").expect("written");
        let file = "[gate.g]\nall = [\"a\"]\n[check.a]\nverifier = \"a\"\nsettings = { strict = true }\n";
        let named =
            |path: &str| parse(format!("{file}settings_files = {{ prompt = \"{path}\" }}").as_bytes()).expect("valid");
        let mut config = named("review.md");
        config.read_settings_files(folder.path()).expect("read");
        let expected = serde_json::json!({ "prompt": "Look closely.\n", "strict": true });
        assert_eq!(config.checks["a"].settings, expected);

        let problems = named("none.md").read_settings_files(folder.path()).expect_err("a problem").to_string();
        let expected = "6:29: check.a.settings_files.prompt: expected a text file, found `none.md`: ";
        assert!(problems.starts_with(expected), "{problems}");

        let problem = |path: &str| named(path).read_settings_files(folder.path()).map_err(|error| error.to_string());
        let elsewhere = tempfile::tempdir().expect("a folder");
        let secret = elsewhere.path().canonicalize().expect("a folder").join("secret");
        std::fs::write(&secret, "secret").expect("written");
        std::os::unix::fs::symlink(&secret, folder.path().join("link.md")).expect("linked");
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("folder")).expect("linked");
        std::os::unix::fs::symlink("review.md", folder.path().join("near.md")).expect("linked");
        for path in ["link.md", "folder/secret", "./folder/./secret"] {
            let why = problem(path).expect_err("refused");
            assert!(why.contains("outside the folder of gate.toml; name the file itself"), "{why}");
        }
        problem("near.md").expect("a link inside");
        problem(&secret.display().to_string()).expect("named itself");

        let problems = named(".").read_settings_files(folder.path()).expect_err("a problem").to_string();
        assert!(problems.ends_with("expected a text file, found `.`: it is not a regular file"), "{problems}");
    }
}
