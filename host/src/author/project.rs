//! Finds a verifier and its cases: a project with a `gate-verifier.toml`, or a component and a folder.

use super::Mistake;
use crate::runtime::BUNDLED;
use crate::text::clean_line;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// The file that makes a folder a project.
pub const MANIFEST: &str = "gate-verifier.toml";

/// A verifier and its cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifierProject {
    /// The component, as [`crate::runtime::ComponentSource::named`] takes it.
    pub component: String,
    /// The folder of its cases.
    pub cases: PathBuf,
}

impl VerifierProject {
    /// Finds what `path`, relative to `folder`, names: a folder with a manifest, a component file, or a bundled verifier.
    /// `cases` is the folder of the cases, if it is not `cases` next to it.
    pub fn find(path: &str, folder: &Path, cases: Option<&Path>) -> Result<Self, Mistake> {
        let unpinned = path.rsplit_once("@sha256:").map_or(path, |(unpinned, _)| unpinned);
        // Without `.` parts.
        let at: PathBuf = folder.join(unpinned).components().collect();
        let beside = |home: &Path| cases.map_or_else(|| home.join("cases"), |cases| folder.join(cases));
        // Only a component has bytes to pin.
        if at.is_dir() && path == unpinned {
            let built = Manifest::read(&at, Path::new(path))?.component;
            if !at.join(&built).exists() {
                let shown = as_path(path, &built);
                let shown = shown.strip_prefix("./").unwrap_or(&shown);
                return Err(Mistake::new(format!("there is no component `{shown}` yet"))
                    .hint(format!("build it first: `gate build {path}`")));
            }
            return Ok(Self { component: as_path(path, &built), cases: beside(&at) });
        }
        if let Some(home) = at.parent().filter(|_| at.is_file()) {
            return Ok(Self { component: as_path("", path), cases: beside(home) });
        }
        if BUNDLED.iter().any(|bundled| bundled.name == unpinned) {
            return Ok(Self { component: path.to_owned(), cases: beside(folder) });
        }
        Err(Mistake::new(format!("there is no `{path}`; expected a folder with a {MANIFEST}, or a component")).hint(
            "`gate new` creates such a folder; `gate inspect` lists the bundled verifiers, which can be named too",
        ))
    }
}

/// Returns a file as a path that cannot be taken for the name of a bundled verifier.
fn as_path(folder: &str, file: &str) -> String {
    let path: PathBuf = Path::new(folder).join(file).components().collect();
    let path = path.to_string_lossy();
    if path.starts_with(['/', '.']) { path.into_owned() } else { format!("./{path}") }
}

/// The languages that `gate new` and `gate build` support.
pub const LANGUAGES: &[&str] =
    &["rust", "python", "javascript", "typescript", "c", "cpp", "zig", "go", "assemblyscript"];

/// The content of a `gate-verifier.toml`. `gate build`, `gate test` and `gate bench` all read it here.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The language, one of [`LANGUAGES`]; `None` if something else builds the component.
    #[serde(default)]
    pub lang: Option<String>,
    /// The path of the built component, relative to the project.
    pub component: String,
    /// The world of `wit/worlds.wit` that the verifier is built for.
    #[serde(default)]
    pub world: Option<String>,
}

impl Manifest {
    /// Reads the manifest of the project in `folder`; `shown` is the path of the folder in messages.
    pub fn read(folder: &Path, shown: &Path) -> Result<Self, Mistake> {
        let path = shown.join(MANIFEST);
        let path = path.strip_prefix(".").unwrap_or(&path).display();
        let text = fs::read_to_string(folder.join(MANIFEST)).map_err(|error| {
            Mistake::new(format!("cannot read `{path}`: {error}"))
                .hint("`gate new NAME --lang LANG` creates a project with one".to_owned())
        })?;
        let manifest: Self = toml::from_str(&text)
            .map_err(|error| Mistake::new(format!("`{path}`: {}", error.message())).hint(EXAMPLE.to_owned()))?;
        if let Some(lang) = manifest.lang.as_deref().filter(|lang| !LANGUAGES.contains(lang)) {
            let lang = clean_line(lang, 60);
            return Err(Mistake::new(format!("`{path}`: unknown language `{lang}`"))
                .hint(format!("expected one of {}", LANGUAGES.join(", "))));
        }
        Ok(manifest)
    }
}

const EXAMPLE: &str = "for example: `lang = \"rust\"`, `component = \"mine.wasm\"`, `world = \"file\"`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_is_found_with_its_cases() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::create_dir(root.join("mine")).expect("a folder");
        let find = |path: &str, cases: Option<&str>| VerifierProject::find(path, root, cases.map(Path::new));
        let message = |path: &str| find(path, None).expect_err("a mistake").message;
        assert!(message("mine").starts_with("cannot read `mine/gate-verifier.toml`"));
        let manifest = |text: &str| fs::write(root.join("mine").join(MANIFEST), text).expect("written");
        for (text, expected) in [
            ("lang = \"c\"", "`mine/gate-verifier.toml`: missing field `component`"),
            ("lang = \"cobol\"\ncomponent = \"a\"", "`mine/gate-verifier.toml`: unknown language `cobol`"),
            ("component = \"a\"\nwrold = \"file\"", "`mine/gate-verifier.toml`: unknown field `wrold`"),
        ] {
            manifest(text);
            assert!(message("mine").starts_with(expected), "{}", message("mine"));
        }
        fs::write(root.join("mine").join(MANIFEST), "component = \"out/mine.wasm\"\n").expect("written");
        let unbuilt = find("mine", None).expect_err("not built");
        assert_eq!(unbuilt.message, "there is no component `mine/out/mine.wasm` yet");
        assert_eq!(unbuilt.hint.as_deref(), Some("build it first: `gate build mine`"));
        fs::create_dir(root.join("mine/out")).expect("a folder");
        fs::write(root.join("mine/out/mine.wasm"), "").expect("written");
        let project = find("mine", None).expect("a project");
        assert_eq!(project.component, "./mine/out/mine.wasm");
        assert_eq!(project.cases, root.join("mine/cases"));
        let component = find("mine/out/mine.wasm", None).expect("a component");
        assert_eq!(component.component, "./mine/out/mine.wasm");
        assert_eq!(component.cases, root.join("mine/out/cases"));
        let pinned = find("mine/out/mine.wasm@sha256:00", None).expect("a component");
        assert_eq!(pinned.component, "./mine/out/mine.wasm@sha256:00");
        let inside = VerifierProject::find(".", &root.join("mine"), None).expect("a project");
        assert_eq!((inside.component.as_str(), inside.cases), ("./out/mine.wasm", root.join("mine/cases")));
        let absolute = root.join("mine/out/mine.wasm").to_string_lossy().into_owned();
        assert_eq!(find(&absolute, None).expect("a component").component, absolute);
        assert_eq!(find("mine/out/mine.wasm", Some("mine/cases")).expect("a component").cases, root.join("mine/cases"));
        assert_eq!(find("json-syntax", None).expect("a name").component, "json-syntax");
        assert!(message("nope").starts_with("there is no `nope`; "));
    }
}
