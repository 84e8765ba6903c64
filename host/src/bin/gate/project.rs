//! A verifier's project: the folder with `gate-verifier.toml`.

use crate::error::{Error, Make as _};
use crate::languages::Language;
use crate::terminal;
use anyhow::{Context, anyhow};
use gatehost::plan::Shape;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

const FILE: &str = "gate-verifier.toml";

/// What `gate-verifier.toml` says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    lang: Language,
    component: PathBuf,
    #[serde(default)]
    world: Option<String>,
}

/// A project that can be built.
#[derive(Debug)]
pub(crate) struct Project {
    /// Where it is.
    pub(crate) folder: PathBuf,
    /// What it is written in.
    pub(crate) language: Language,
    component: PathBuf,
    world: Option<String>,
}

impl Project {
    pub(crate) fn open(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let shown = terminal::path(&path);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{shown}`")).map_err(|error| {
            Error::mistake(error).hint("`gate new NAME --lang LANG` makes a project that has one".to_owned())
        })?;
        let written: Written =
            toml::from_str(&text).map_err(|error| Error::mistake(anyhow!("{shown}: {}", error.message())))?;
        let folder = folder.canonicalize().map_err(Error::mistake)?;
        Ok(Self { folder, language: written.lang, component: written.component, world: written.world })
    }

    /// Where the component is put.
    pub(crate) fn component(&self) -> PathBuf {
        self.folder.join(&self.component)
    }

    /// The world that it is built for, for tools that must be told.
    pub(crate) fn world(&self) -> Result<String, Error> {
        self.world.clone().ok_or_else(|| {
            Error::mistake(anyhow!("`{FILE}` does not say the `world`; expected one of `wit/worlds.wit`"))
                .hint("such as `world = \"file\"`".to_owned())
        })
    }

    /// The shape that its world has.
    pub(crate) fn shape(&self) -> Result<Shape, Error> {
        Ok(if self.world()? == "file" { Shape::File } else { Shape::Submission })
    }

    /// The name of a Rust project's package.
    pub(crate) fn cargo_package(&self) -> Result<String, Error> {
        #[derive(Deserialize)]
        struct Manifest {
            package: Package,
        }
        #[derive(Deserialize)]
        struct Package {
            name: String,
        }
        let path = self.folder.join("Cargo.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()));
        let manifest: Manifest = toml::from_str(&text.map_err(Error::mistake)?).map_err(Error::mistake)?;
        Ok(manifest.package.name)
    }
}
