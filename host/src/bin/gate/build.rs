//! `gate build`: builds a project into a component that fits the contract.

use crate::args::Global;
use crate::error::{Error, Make as _};
use crate::languages::{self, Language, MissingTool};
use crate::project::BuildProject;
use crate::{Exit, new, setup, terminal};
use anyhow::{Context, anyhow};
use clap::Args;
use gatehost::component::ContractSource;
use gatehost::runtime::{ComponentSource, ComponentType};
use gatehost::writer;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Debug, Args)]
#[command(after_help = "\
The project's gate-verifier.toml names the language and the component to build. The component is \
checked as before every run.

Examples:
  gate build
  gate build no-todo --release")]
pub(crate) struct BuildArgs {
    /// The project: a folder with a gate-verifier.toml
    #[arg(default_value = ".", hide_default_value = true)]
    pub(crate) path: PathBuf,
    /// Optimise the component
    #[arg(long)]
    pub(crate) release: bool,
}

pub(crate) fn run(global: &Global, command: &BuildArgs) -> Result<Exit, Error> {
    let project = BuildProject::open(&global.directory.join(&command.path))?;
    let build = Builder { project: &project, release: command.release, quiet: global.quiet };
    build.bindings()?;
    let component = match project.language {
        Language::Rust => build.rust()?,
        Language::Python => build.python()?,
        Language::Javascript => build.quickjs("verifier.js")?,
        Language::Typescript => build.typescript()?,
        Language::C => build.c("c", &["cc", "-std=c17"])?,
        Language::Cpp => build.c("cpp", &["c++", "-std=c++20", "-fno-exceptions", "-fno-rtti"])?,
        Language::Zig => build.zig()?,
        Language::Go => build.go()?,
        Language::Assemblyscript => build.assemblyscript()?,
    };
    finish(global, &project, component, &terminal::from_start(&global.directory, &command.path))
}

/// Writes the component and reports it, after the same check as before every run.
fn finish(global: &Global, project: &BuildProject, component: Vec<u8>, called: &Path) -> Result<Exit, Error> {
    let shown = called.join(project.component());
    let shown = terminal::path(&shown);
    let source = ComponentSource::from_bytes(component);
    let about = setup::block_on(setup::runtime(global).describe(&source))??;
    let component_type = ComponentType::read(source.bytes()).unwrap_or_default();
    let shape = component_type.shape()?;
    writer::replace_beneath(&project.folder, project.component(), source.bytes())
        .with_context(|| format!("cannot write `{shown}`"))
        .map_err(Error::mistake)?;
    let mut out = terminal::stdout();
    let size = source.bytes().len();
    let functions: Vec<_> =
        component_type.imports.iter().filter(|import| !ComponentType::is_types_only(import)).collect();
    let input = if shape == gatehost::plan::Shape::File { "--files FILE" } else { "--submission FILE" };
    let test = if called == Path::new(".") { String::new() } else { format!(" {}", terminal::path(called)) };
    terminal::noted(&mut out, |out| {
        let (name, version, shape) = (&about.name, &about.version, shape.as_str());
        writeln!(out, "built {shown}: `{name}` {version}, a {shape} verifier, {size} bytes")?;
        if functions.is_empty() {
            writeln!(out, "imports only types: it can compute, and nothing else")?;
        }
        functions.iter().try_for_each(|import| writeln!(out, "imports {import}"))?;
        writeln!(out, "next: `gate test{test}`, or `gate run --verifier {shown} {input}`")
    })?;
    Ok(Exit::Pass)
}

/// The component that tools write.
const COMPONENT: &str = "build/component.wasm";
/// The core module that compilers write.
const MODULE: &str = "build/module.wasm";
/// The object files of the C bindings.
const BINDINGS: [&str; 2] = ["build/bindings.o", "bindings/verifier_component_type.o"];

struct Builder<'a> {
    project: &'a BuildProject,
    release: bool,
    quiet: bool,
}

impl Builder<'_> {
    fn path(&self, path: &str) -> PathBuf {
        self.project.folder.join(path)
    }

    /// Writes the bindings that are missing.
    fn bindings(&self) -> Result<(), Error> {
        let language = self.project.language;
        let there = match language {
            Language::C | Language::Cpp | Language::Zig => self.path("bindings/verifier.h").exists(),
            Language::Go => self.path("wit_exports.go").exists(),
            _ => true,
        };
        if there {
            return Ok(());
        }
        let shape = self.project.shape()?;
        for (path, content) in new::in_language(&self.contract()?, language, shape).map_err(Error::mistake)? {
            new::write(&self.path(&path), &content)?;
        }
        Ok(())
    }

    fn contract(&self) -> Result<ContractSource, Error> {
        ContractSource::read(&self.path("wit")).map_err(Error::mistake)
    }

    /// Runs a tool in the project. Its output is not part of the report.
    fn step(&self, tool: Result<Command, MissingTool>, arguments: &[&str]) -> Result<(), Error> {
        self.printed(tool, arguments).map(|_| ())
    }

    /// Runs a tool in the project, and returns its output.
    fn printed(&self, tool: Result<Command, MissingTool>, arguments: &[&str]) -> Result<Vec<u8>, Error> {
        let mut command = tool.map_err(|missing| {
            Error::mistake(anyhow!("{} is not installed", missing.tool)).hint(format!(
                "run in `{}`: {}",
                self.project.folder.display(),
                missing.install
            ))
        })?;
        command.args(arguments).current_dir(&self.project.folder).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(if self.quiet { Stdio::piped() } else { Stdio::inherit() });
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let shown = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let output = command.output().with_context(|| format!("cannot run `{shown}`")).map_err(Error::mistake)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        // If the output cannot be shown, the tool has failed all the same.
        let _ = std::io::stderr().write_all(&[output.stdout, output.stderr].concat());
        Err(Error::mistake(anyhow!("`{shown}` failed: {}", output.status)))
    }

    /// Makes the component from a core module.
    fn pack(&self, module: &str) -> Result<Vec<u8>, Error> {
        self.contract()?.component(&self.read(module)?).map_err(Error::mistake)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, Error> {
        let path = self.path(path);
        fs::read(&path).with_context(|| format!("cannot read `{}`", path.display())).map_err(Error::mistake)
    }

    fn build_folder(&self) -> Result<(), Error> {
        let folder = self.path("build");
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create `{}`", folder.display()))
            .map_err(Error::mistake)
    }

    fn rust(&self) -> Result<Vec<u8>, Error> {
        let mut arguments = vec!["build", "--target", languages::RUST_TARGET, "--target-dir", "target"];
        arguments.extend(self.release.then_some("--release"));
        self.step(languages::cargo(), &arguments)?;
        let profile = if self.release { "release" } else { "debug" };
        let package = self.project.cargo_package()?.replace('-', "_");
        self.read(&format!("target/{}/{profile}/{package}.wasm", languages::RUST_TARGET))
    }

    fn python(&self) -> Result<Vec<u8>, Error> {
        let world = self.project.world()?;
        self.build_folder()?;
        let tool = languages::componentize_py(&self.project.folder);
        let arguments =
            ["-d", "wit", "-w", &world, "componentize", "--stub-wasi", "-p", ".", "verifier", "-o", COMPONENT];
        self.step(tool, &arguments)?;
        self.read(COMPONENT)
    }

    /// Builds on QuickJS without asynchronous functions and without WASI.
    fn quickjs(&self, script: &str) -> Result<Vec<u8>, Error> {
        let world = self.project.world()?;
        self.build_folder()?;
        let root = Path::new(script).parent().and_then(Path::to_str).filter(|root| !root.is_empty()).unwrap_or(".");
        let mut arguments =
            vec!["--wit", "wit", "--world", &world, "--js", script, "--module-root", root, "--sync", "--stub-wasi"];
        // The smaller engine needs tail calls, which are disabled in the sandbox.
        arguments.extend(self.release.then_some("--minify"));
        arguments.extend(["-o", COMPONENT]);
        self.step(languages::node_tool(&self.project.folder, "componentize-qjs"), &arguments)?;
        self.read(COMPONENT)
    }

    fn typescript(&self) -> Result<Vec<u8>, Error> {
        self.step(languages::node_tool(&self.project.folder, "tsc"), &["--project", "."])?;
        new::write(&self.path("build/gatehost.js"), &self.read("src/gatehost.js")?)?;
        self.quickjs("build/verifier.js")
    }

    /// Compiles the generated C bindings, for every language that can use a C header.
    fn c_bindings(&self, optimise: &[&str]) -> Result<(), Error> {
        self.build_folder()?;
        let mut arguments = vec!["cc", "-target", "wasm32-wasi", "-I", "."];
        arguments.extend(optimise);
        arguments.extend(["-c", "bindings/verifier.c", "-o", BINDINGS[0]]);
        self.step(languages::zig(&self.project.folder), &arguments)
    }

    /// Builds C or C++: all sources in `src`.
    fn c(&self, extension: &str, compiler: &[&str]) -> Result<Vec<u8>, Error> {
        let optimise: &[&str] = if self.release { &["-Os", "-s"] } else { &["-g"] };
        self.c_bindings(optimise)?;
        let sources = self.sources(extension)?;
        let mut arguments = compiler.to_vec();
        arguments.extend(["-target", "wasm32-wasi", "-mexec-model=reactor", "-I", ".", "-Wall", "-Wextra"]);
        arguments.extend(optimise);
        arguments.extend(sources.iter().map(String::as_str));
        arguments.extend(BINDINGS);
        arguments.extend(["-o", MODULE]);
        self.step(languages::zig(&self.project.folder), &arguments)?;
        self.pack(MODULE)
    }

    fn sources(&self, extension: &str) -> Result<Vec<String>, Error> {
        let folder = self.path("src");
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot read `{}`", folder.display()));
        let names = entries.map_err(Error::mistake)?.flatten().map(|entry| entry.file_name());
        let names = names.filter_map(|name| name.to_str().map(str::to_owned));
        let mut sources: Vec<String> = names
            .filter(|name| Path::new(name).extension() == Some(extension.as_ref()))
            .map(|name| format!("src/{name}"))
            .collect();
        sources.sort();
        Ok(sources)
    }

    fn zig(&self) -> Result<Vec<u8>, Error> {
        let optimise: &[&str] = if self.release { &["-OReleaseSmall", "-fstrip"] } else { &["-ODebug"] };
        self.c_bindings(if self.release { &["-Os", "-s"] } else { &["-g"] })?;
        let translate = ["translate-c", "-target", "wasm32-wasi", "-lc", "bindings/verifier.h"];
        let header = self.printed(languages::zig(&self.project.folder), &translate)?;
        new::write(&self.path("build/c.zig"), &header)?;
        let mut arguments = vec!["build-exe", "-target", "wasm32-wasi", "-mexec-model=reactor"];
        arguments.extend(optimise);
        arguments.extend(["--dep", "c", "-Mroot=src/verifier.zig", "-lc"]);
        arguments.extend(optimise);
        arguments.push("-Mc=build/c.zig");
        arguments.extend(BINDINGS);
        let output = format!("-femit-bin={MODULE}");
        arguments.push(&output);
        self.step(languages::zig(&self.project.folder), &arguments)?;
        self.pack(MODULE)
    }

    fn go(&self) -> Result<Vec<u8>, Error> {
        let mut tool = languages::go(&self.project.folder);
        if let Ok(command) = &mut tool {
            command.envs([("GOOS", "wasip1"), ("GOARCH", "wasm"), ("GOWORK", "off")]);
        }
        let mut arguments = vec!["build", "-mod=mod", "-buildmode=c-shared"];
        arguments.extend(self.release.then_some("-ldflags=-s -w"));
        arguments.extend(["-o", MODULE, "."]);
        self.step(tool, &arguments)?;
        self.pack(MODULE)
    }

    fn assemblyscript(&self) -> Result<Vec<u8>, Error> {
        let target = if self.release { "release" } else { "debug" };
        self.step(
            languages::node_tool(&self.project.folder, "asc"),
            &["--config", "asconfig.json", "--target", target],
        )?;
        self.pack(MODULE)
    }
}
