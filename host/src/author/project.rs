//! Where a verifier and its cases are: a project with a `gate-verifier.toml`, or a component and a folder.

use super::Mistake;
use crate::runtime::BUNDLED;
use std::fs;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// The file that makes a folder a project.
pub const MANIFEST: &str = "gate-verifier.toml";

/// A verifier and its cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The component, as [`crate::runtime::Source::named`] takes it beside the folder that it was looked for in.
    pub component: String,
    /// The folder of its cases.
    pub cases: PathBuf,
}

impl Project {
    /// What `path`, relative to `folder`, names: a folder with a manifest, a component in a file, or a bundled verifier.
    /// `cases` is the folder of the cases where it is not `cases` beside it.
    pub fn find(path: &str, folder: &Path, cases: Option<&Path>) -> Result<Self, Mistake> {
        let unpinned = path.rsplit_once("@sha256:").map_or(path, |(unpinned, _)| unpinned);
        // Without the dots that say nothing.
        let at: PathBuf = folder.join(unpinned).components().collect();
        let beside = |home: &Path| cases.map_or_else(|| home.join("cases"), |cases| folder.join(cases));
        // Only a component has bytes to pin.
        if at.is_dir() && path == unpinned {
            let built = component_of(&at, path)?;
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
        Err(Mistake::new(format!("there is no `{path}`; expected a folder with a {MANIFEST}, or a component"))
            .hint("`gate new` makes such a folder; `gate inspect` lists the bundled verifiers, which can be named too"))
    }
}

/// A file of a folder, so that it is not taken for a bundled verifier's name.
fn as_path(folder: &str, file: &str) -> String {
    let path: PathBuf = Path::new(folder).join(file).components().collect();
    let path = path.to_string_lossy();
    if path.starts_with(['/', '.']) { path.into_owned() } else { format!("./{path}") }
}

/// The component that the project in this folder makes.
fn component_of(folder: &Path, shown: &str) -> Result<String, Mistake> {
    let manifest = Path::new(shown).join(MANIFEST);
    let manifest = manifest.display();
    let text = fs::read_to_string(folder.join(MANIFEST)).map_err(|error| {
        Mistake::new(format!("cannot read `{manifest}`: {error}"))
            .hint(format!("name a folder with a {MANIFEST} (`gate new` makes one), or a component with `--cases DIR`"))
    })?;
    let table = DeTable::parse(&text)
        .map_err(|error| Mistake::new(format!("`{manifest}` is not TOML: {}", error.message())))?;
    match table.get_ref().get("component").map(|value| value.get_ref()) {
        Some(DeValue::String(component)) => Ok(component.to_string()),
        _ => Err(Mistake::new(format!("expected `component` in `{manifest}` to be the path of the built component"))
            .hint("such as `component = \"mine.wasm\"`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_is_found_with_its_cases() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::create_dir(root.join("mine")).expect("a folder");
        let find = |path: &str, cases: Option<&str>| Project::find(path, root, cases.map(Path::new));
        let message = |path: &str| find(path, None).expect_err("a mistake").message;
        assert!(message("mine").starts_with("cannot read `mine/gate-verifier.toml`"));
        fs::write(root.join("mine").join(MANIFEST), "lang = \"c\"\n").expect("written");
        assert!(message("mine").starts_with("expected `component` in `mine/gate-verifier.toml`"));
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
        let inside = Project::find(".", &root.join("mine"), None).expect("a project");
        assert_eq!((inside.component.as_str(), inside.cases), ("./out/mine.wasm", root.join("mine/cases")));
        let absolute = root.join("mine/out/mine.wasm").to_string_lossy().into_owned();
        assert_eq!(find(&absolute, None).expect("a component").component, absolute);
        assert_eq!(find("mine/out/mine.wasm", Some("mine/cases")).expect("a component").cases, root.join("mine/cases"));
        assert_eq!(find("json-syntax", None).expect("a name").component, "json-syntax");
        assert!(message("nope").starts_with("there is no `nope`; "));
    }
}
