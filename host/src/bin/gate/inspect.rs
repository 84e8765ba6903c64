//! `gate inspect`: shows what a component is and what it can do.

use crate::args::{Global, OutputFormat};
use crate::error::Error;
use crate::{Exit, setup, terminal};
use clap::Args;
use gatehost::runtime::{BUNDLED, CONTRACT, Code, ComponentSource, ComponentType, Description, Runtime};
use gatehost::text::{clean_line, write_json};
use gatehost::verdict::Failure;
use serde_json::json;
use std::io::Write;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gate inspect json-syntax
  gate inspect ./check.wasm --format json")]
pub(crate) struct InspectArgs {
    /// A bundled verifier, or the path of a component [default: list the bundled verifiers]
    pub(crate) component: Option<String>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

pub(crate) fn run(global: &Global, command: &InspectArgs) -> Result<Exit, Error> {
    let mut out = terminal::stdout();
    let Some(name) = &command.component else { return list(&mut out, command.format) };
    let source = ComponentSource::named(name, &global.directory)?;
    let facts = InspectDocument::collect(&setup::runtime(global), &source)?;
    match command.format {
        OutputFormat::Human => terminal::noted(&mut out, |out| facts.human(out, name))?,
        OutputFormat::Json => facts.json(&mut out)?,
    }
    let exits = facts.problems.iter().map(|problem| Error::from(problem.clone()).exit());
    Ok(exits.max().unwrap_or(Exit::Pass))
}

fn list(out: &mut impl Write, format: OutputFormat) -> Result<Exit, Error> {
    match format {
        OutputFormat::Human => {
            let width = BUNDLED.iter().map(|bundled| bundled.name.len()).max().unwrap_or(0);
            for bundled in BUNDLED {
                writeln!(out, "{:width$}  {}", bundled.name, bundled.description().summary)?;
            }
        }
        OutputFormat::Json => {
            let names: Vec<_> = BUNDLED
                .iter()
                .map(
                    |bundled| json!({ "name": bundled.name, "digest": bundled.digest, "about": bundled.description() }),
                )
                .collect();
            print_json(out, &json!(names))?;
        }
    }
    Ok(Exit::Pass)
}

/// The most characters of one line. A schema may be one line.
const MAX_LINE: usize = 64 << 10;

struct InspectDocument<'a> {
    source: &'a ComponentSource,
    /// `None` if the bytes are not a component or cannot be read.
    component_type: Option<ComponentType>,
    code: &'static str,
    about: Option<Description>,
    /// Why it cannot be used as a verifier.
    problems: Vec<Failure>,
}

impl<'a> InspectDocument<'a> {
    fn collect(runtime: &Runtime, source: &'a ComponentSource) -> Result<Self, Error> {
        let code = match runtime.compile(source) {
            Ok(Code::Bundled) => "compiled, bundled",
            Ok(Code::Cached) => "compiled, in the cache",
            Ok(Code::Compiled) => "compiled just now",
            Ok(Code::Unkept) => "compiled just now, but not cached",
            Err(problem) => {
                // The names may be readable even if the component cannot be compiled.
                let component_type = ComponentType::read(source.bytes());
                return Ok(Self {
                    source,
                    component_type,
                    code: "cannot be compiled",
                    about: None,
                    problems: vec![problem],
                });
            }
        };
        let mut problems = runtime.contract_differences(source);
        let about = match setup::block_on(runtime.describe(source))? {
            Ok(about) => Some(about),
            // Its type explains this better.
            Err(problem) => {
                if problems.is_empty() {
                    problems.push(problem);
                }
                None
            }
        };
        let component_type = runtime.read_type(source).ok();
        Ok(Self { source, component_type, code, about, problems })
    }

    fn human(&self, out: &mut impl Write, name: &str) -> std::io::Result<()> {
        // Much of it is text of the component, which must not look like ours.
        let mut line = |label: &str, value: &str| writeln!(out, "{label:9} {}", clean_line(value, MAX_LINE));
        line("component", name)?;
        line("digest", self.source.digest())?;
        line("size", &format!("{} bytes", self.source.bytes().len()))?;
        line("code", self.code)?;
        if let Some(about) = &self.about {
            line("name", &format!("{} {}", about.name, about.version))?;
            line("about", &about.summary)?;
            if let Some(url) = &about.url {
                line("url", url)?;
            }
        }
        if let Some(component_type) = &self.component_type {
            if let Ok(shape) = component_type.shape() {
                line("shape", shape.as_str())?;
            }
            if component_type.is_program() {
                line("shape", "program: checks files if its check has `files`, otherwise the submission")?;
                line("contract", "reads and prints JSON; `gate schema program-input`, `gate schema program-output`")?;
            } else {
                let contract = component_type.contract().unwrap_or("none");
                line("contract", &format!("gatehost:verifier {contract} (this host: {CONTRACT})"))?;
            }
            let grants = needs(component_type);
            line("needs", &if grants.is_empty() { "no grant".to_owned() } else { grants.join(", ") })?;
            let functions = component_type.imports.iter().filter(|import| !ComponentType::is_types_only(import));
            for (number, import) in functions.clone().enumerate() {
                line(if number == 0 { "imports" } else { "" }, import)?;
            }
            if functions.count() == 0 {
                line("imports", "only types: it can compute, and nothing else")?;
            }
        } else {
            line("imports", "could not be read")?;
        }
        if let Some(about) = &self.about {
            for (number, glob) in about.files.iter().enumerate() {
                line(if number == 0 { "files" } else { "" }, glob)?;
            }
            let width = about.rules.iter().map(|rule| rule.code.chars().count()).max().unwrap_or(0);
            for (number, rule) in about.rules.iter().enumerate() {
                let text = format!("{:width$}  {:7}  {}", rule.code, rule.level, rule.summary);
                line(if number == 0 { "rules" } else { "" }, text.trim_end())?;
            }
            if about.rules.is_empty() {
                line("rules", "none declared")?;
            }
            let schema = if about.settings_schema.is_empty() { "none" } else { about.settings_schema.as_str() };
            for (number, text) in schema.lines().enumerate() {
                line(if number == 0 { "settings" } else { "" }, text)?;
            }
        }
        for problem in &self.problems {
            line("problem", &format!("{}: {}", problem.kind, problem.message))?;
            if let Some(hint) = &problem.hint {
                line("hint", hint)?;
            }
        }
        Ok(())
    }

    fn json(&self, out: &mut impl Write) -> std::io::Result<()> {
        let component_type = self.component_type.as_ref();
        let schema = self.about.as_ref().and_then(|about| serde_json::from_str(&about.settings_schema).ok());
        let schema: Option<serde_json::Value> = schema;
        print_json(
            out,
            &json!({
                "version": 1,
                "digest": self.source.digest(),
                "size": self.source.bytes().len(),
                "code": self.code,
                "shape": component_type.and_then(|component_type| component_type.shape().ok()),
                "contract": component_type.and_then(ComponentType::contract),
                "needs": component_type.map(needs),
                "imports": component_type.map(|component_type| &component_type.imports),
                "exports": component_type.map(|component_type| &component_type.exports),
                "about": self.about.as_ref().map(|about| json!({
                    "name": about.name, "version": about.version, "summary": about.summary, "files": about.files,
                    "rules": about.rules, "url": about.url,
                })),
                "settings_schema": schema,
                "problem": self.problems.first(),
                "problems": self.problems,
            }),
        )
    }
}

fn needs(component_type: &ComponentType) -> Vec<&'static str> {
    component_type.capabilities().into_iter().map(|capability| capability.needs()).collect()
}

fn print_json(out: &mut impl Write, value: &serde_json::Value) -> std::io::Result<()> {
    write_json(out, value)
}
