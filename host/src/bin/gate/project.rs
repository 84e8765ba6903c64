//! A verifier project: a folder with `gate-verifier.toml`.

use crate::error::{Error, Make as _};
use crate::languages::Language;
use anyhow::{Context, anyhow};
use clap::ValueEnum;
use gatehost::author::{MANIFEST, Manifest};
use gatehost::plan::Shape;
use serde::Deserialize;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// A project that can be built.
#[derive(Debug)]
pub(crate) struct BuildProject {
    /// Where it is.
    pub(crate) folder: PathBuf,
    /// Its language.
    pub(crate) language: Language,
    manifest: Manifest,
}

impl BuildProject {
    pub(crate) fn open(folder: &Path) -> Result<Self, Error> {
        let manifest = Manifest::read(folder, folder)?;
        let language = manifest.lang.as_deref().and_then(|lang| Language::from_str(lang, false).ok());
        let Some(language) = language else {
            return Err(Error::mistake(anyhow!(
                "`{MANIFEST}` has no `lang`, so `gate build` cannot build this project"
            ))
            .hint("for example `lang = \"rust\"`".to_owned()));
        };
        let project = Self { folder: folder.canonicalize().map_err(Error::mistake)?, language, manifest };
        if !Path::new(project.component()).components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(Error::mistake(anyhow!("`component` in `{MANIFEST}` is not a path inside the project"))
                .hint("for example `component = \"mine.wasm\"`".to_owned()));
        }
        Ok(project)
    }

    /// Returns the path of the component in the project.
    pub(crate) fn component(&self) -> &str {
        self.manifest.component.trim_start_matches("./")
    }

    /// Returns the world that the component is built for.
    pub(crate) fn world(&self) -> Result<String, Error> {
        self.manifest.world.clone().ok_or_else(|| {
            Error::mistake(anyhow!("`{MANIFEST}` has no `world`; expected one of `wit/worlds.wit`"))
                .hint("such as `world = \"file\"`".to_owned())
        })
    }

    /// Returns the shape of its world.
    pub(crate) fn shape(&self) -> Result<Shape, Error> {
        Ok(if self.world()? == "file" { Shape::File } else { Shape::Submission })
    }

    /// Returns the name of a Rust project's package.
    pub(crate) fn cargo_package(&self) -> Result<String, Error> {
        #[derive(Deserialize)]
        struct CargoManifest {
            package: Package,
        }
        #[derive(Deserialize)]
        struct Package {
            name: String,
        }
        let path = self.folder.join("Cargo.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()));
        let manifest: CargoManifest = toml::from_str(&text.map_err(Error::mistake)?).map_err(Error::mistake)?;
        Ok(manifest.package.name)
    }
}
