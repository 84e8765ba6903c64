//! One self-contained page: runs on a timeline, and for each its evidence, its tree of members, its findings and where its time
//! went. No script, nothing is loaded, and every text is escaped: most of it was written by the author of the work.

use super::view;
use crate::outcome::{Node, NodeKind, Outcome};
use crate::record::Record;
use crate::text::{self, clean};
use crate::verdict::{Finding, Level, Status};
use std::fmt::{self, Display};
use std::io::{self, Write};

const CSS: &str = include_str!("page.css");
/// The most runs on the timeline.
const MOST_ON_TIMELINE: usize = 200;
/// The most characters of a text.
const MOST: usize = 4_000;

/// What a page shows.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// What it is about: a project, or one run.
    pub title: String,
    /// When it was made, in UTC; empty to leave it out.
    pub made: String,
    /// The runs, newest first.
    pub runs: Vec<PageRun>,
    /// The reasons of open escalations.
    pub waiting: Vec<String>,
    /// The head of the ledger.
    pub head: String,
}

/// One run of a page.
#[derive(Clone, Debug)]
pub struct PageRun {
    /// Its record.
    pub record: Record,
    /// The number of its entry in the ledger, if it has one.
    pub entry: Option<u64>,
    /// The hash of that entry.
    pub hash: String,
    /// The commit that contains the passed work.
    pub commit: Option<String>,
    /// How a person let it through, if one did: `complete (unverified)` or `complete (forced)`, by whom and why.
    pub overridden: Option<String>,
}

/// Text that is safe in an element and in a quoted attribute.
struct Escaped<'t>(&'t str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in clean(self.0, MOST).chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                other => write!(f, "{other}")?,
            }
        }
        Ok(())
    }
}

fn e(text: &str) -> Escaped<'_> {
    Escaped(text)
}

/// Writes a page about one record.
pub(super) fn of_record(out: &mut dyn Write, record: &Record) -> io::Result<()> {
    let run = PageRun { record: record.clone(), entry: None, hash: String::new(), commit: None, overridden: None };
    let title = format!("gate {}", record.gate.name);
    html(out, &Page { title, runs: vec![run], ..Page::default() })
}

/// Writes a page.
pub fn html(out: &mut dyn Write, page: &Page) -> io::Result<()> {
    let title = e(&page.title);
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{CSS}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    )?;
    if !page.made.is_empty() {
        writeln!(out, "<p class=\"soft\">Made {}.</p>", e(&page.made))?;
    }
    if !page.head.is_empty() {
        writeln!(out, "<p class=\"soft\">Head of the ledger: <code id=\"head\">{}</code></p>", e(&page.head))?;
    }
    for waiting in &page.waiting {
        writeln!(out, "<p class=\"waiting\">Needs human review: {}</p>", e(waiting))?;
    }
    let above = page.waiting.iter().chain([&page.title]).map(|text| text::invisible(text)).sum();
    if let Some(note) = text::invisible_note(above) {
        writeln!(out, "<p class=\"soft\">Note: {note} above.</p>")?;
    }
    totals(out, &page.runs)?;
    if page.runs.len() > 1 {
        timeline(out, &page.runs)?;
        writeln!(out, "<h2>Runs</h2>")?;
    }
    if page.runs.is_empty() {
        writeln!(out, "<p>The ledger has no run of this project.</p>")?;
    }
    for (index, run) in page.runs.iter().enumerate() {
        let mut shown = Vec::new();
        self::run(&mut shown, run, index == 0)?;
        if let Some(note) = text::invisible_note(text::invisible(&String::from_utf8_lossy(&shown))) {
            writeln!(out, "<p class=\"soft\">Note about this run: {note}.</p>")?;
        }
        out.write_all(&shown)?;
    }
    writeln!(out, "</body>\n</html>")
}

/// Returns the class of colours of an outcome.
fn colour(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "fail",
        Outcome::Abstain => "abstain",
        Outcome::Error => "error",
        Outcome::Skipped | Outcome::NotApplicable | Outcome::NotReached | Outcome::NotNeeded => "none",
    }
}

fn of_status(status: Status) -> &'static str {
    colour(status.into())
}

fn totals(out: &mut dyn Write, runs: &[PageRun]) -> io::Result<()> {
    writeln!(out, "<ul class=\"totals\">")?;
    let count = |status: Status| runs.iter().filter(|run| run.record.status == status).count();
    writeln!(out, "<li><b>{}</b>runs</li>", runs.len())?;
    for (status, word) in
        [(Status::Pass, "passed"), (Status::Fail, "failed"), (Status::Abstain, "abstained"), (Status::Error, "errored")]
    {
        let class = of_status(status);
        writeln!(out, "<li><b class=\"{class}\">{}</b>{word}</li>", count(status))?;
    }
    let overridden = runs.iter().filter(|run| run.overridden.is_some()).count();
    if overridden > 0 {
        writeln!(out, "<li><b>{overridden}</b>let through by a person</li>")?;
    }
    writeln!(out, "</ul>")
}

/// Writes a bar for each run, oldest first. Its height is the duration.
fn timeline(out: &mut dyn Write, runs: &[PageRun]) -> io::Result<()> {
    let shown: Vec<&PageRun> = runs.iter().take(MOST_ON_TIMELINE).rev().collect();
    let (width, height, foot) = (960.0, 120.0, 18.0);
    let longest = shown.iter().map(|run| run.record.duration.as_secs_f64()).fold(f64::MIN_POSITIVE, f64::max);
    #[expect(clippy::cast_precision_loss, reason = "at most 200 runs")]
    let step = (width - 20.0) / shown.len().max(1) as f64;
    writeln!(
        out,
        "<h2>Timeline</h2>\n<svg id=\"timeline\" role=\"img\" aria-label=\"Runs, oldest first; the height is how long each took\" \
         viewBox=\"0 0 {width} {}\">",
        height + foot
    )?;
    for (index, run) in shown.iter().enumerate() {
        let record = &run.record;
        #[expect(clippy::cast_precision_loss, reason = "at most 200 runs")]
        let left = 10.0 + step * index as f64;
        let tall = (record.duration.as_secs_f64() / longest * (height - 20.0)).max(3.0);
        writeln!(
            out,
            "<rect class=\"{}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{tall:.1}\" rx=\"1\">\
             <title>{} {}: {} ({:.0} ms)</title></rect>",
            of_status(record.status),
            height - tall,
            (step * 0.8).clamp(1.0, 40.0),
            e(&record.started),
            e(&record.gate.name),
            record.status,
            record.duration.as_secs_f64() * 1e3
        )?;
    }
    if let (Some(first), Some(last)) = (shown.first(), shown.last()) {
        writeln!(out, "<text x=\"10\" y=\"{}\">{}</text>", height + 13.0, e(&first.record.started))?;
        let (x, y) = (width - 10.0, height + 13.0);
        writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{}</text>", e(&last.record.started))?;
    }
    writeln!(out, "</svg>")
}

fn run(out: &mut dyn Write, run: &PageRun, open: bool) -> io::Result<()> {
    let record = &run.record;
    let task = record.task.as_ref().filter(|task| !task.id.is_empty() || !task.title.is_empty());
    let task = task.map(|task| format!("{} {}", task.id, task.title));
    writeln!(
        out,
        "<details class=\"run\" id=\"run-{}\"{}>\n<summary><span class=\"word {}\">{}</span><span>gate <b>{}</b></span>\
         <span>{}</span><span class=\"push soft\">{} · {:.0} ms</span></summary>\n<div class=\"inside\">",
        e(&record.run),
        if open { " open" } else { "" },
        of_status(record.status),
        record.status,
        e(&record.gate.name),
        e(task.as_deref().unwrap_or_default()),
        e(&record.started),
        record.duration.as_secs_f64() * 1e3
    )?;
    evidence(out, run)?;
    writeln!(out, "<h3>Members</h3>\n<ul class=\"tree\">")?;
    node(out, &record.gate)?;
    writeln!(out, "</ul>")?;
    findings(out, record)?;
    bars(out, record)?;
    writeln!(out, "</div>\n</details>")
}

fn evidence(out: &mut dyn Write, run: &PageRun) -> io::Result<()> {
    let record = &run.record;
    let marks: Vec<&str> = record.marks.iter().map(|mark| mark.as_str()).collect();
    let policy = match &record.policy.digest {
        Some(digest) => format!("{} ({digest})", record.policy.name),
        None => record.policy.name.clone(),
    };
    let entry = run.entry.map(|entry| format!("{entry} {}", run.hash)).unwrap_or_default();
    writeln!(out, "<dl>")?;
    for (name, value) in [
        ("run", record.run.clone()),
        ("entry", entry),
        ("class", record.class.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("marks", marks.join(", ")),
        ("let through", run.overridden.clone().unwrap_or_default()),
        ("attempt", record.attempt.to_string()),
        ("blocked by", record.blocked_by.join(", ")),
        ("files", record.files.to_string()),
        ("base", record.base.clone().unwrap_or_default()),
        ("tree", record.tree.clone().unwrap_or_default()),
        ("commit", run.commit.clone().unwrap_or_default()),
        ("policy", policy),
        ("plan", record.plan.clone()),
    ] {
        if !value.is_empty() {
            writeln!(out, "<dt>{name}</dt><dd class=\"mono\">{}</dd>", e(&value))?;
        }
    }
    writeln!(out, "</dl>")
}

fn node(out: &mut dyn Write, node: &Node) -> io::Result<()> {
    let verifier = node.verifier.as_ref().map(|verifier| format!(" — {}", verifier.name)).unwrap_or_default();
    let kind = match node.kind {
        NodeKind::Check => String::new(),
        NodeKind::Tiers => " tiers".to_owned(),
        NodeKind::Vote => {
            let vote = node.vote.as_ref();
            vote.map_or(" vote".to_owned(), |vote| {
                format!(" vote, {} for and {} against", vote.in_favour, vote.against)
            })
        }
        NodeKind::All => " all".to_owned(),
        NodeKind::Any => " any".to_owned(),
        NodeKind::Not => " not".to_owned(),
    };
    let flags = [(node.shadow, "shadow"), (node.escalated, "needs human review"), (node.flaky, "flaky")];
    let flags: Vec<&str> = flags.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word).collect();
    let cached = node.cached();
    let cached = if cached > 0 { format!(" · {cached} cached") } else { String::new() };
    let flags = if flags.is_empty() { String::new() } else { format!(" · {}", flags.join(", ")) };
    write!(
        out,
        "<li><span class=\"word {}\">{}</span> {}<span class=\"soft\">{}{}{flags}{cached}</span>",
        colour(node.outcome),
        node.outcome.as_str(),
        e(&node.name),
        e(&kind),
        e(&verifier)
    )?;
    if !node.reason.is_empty() {
        write!(out, " <span class=\"soft\">{}</span>", e(&node.reason))?;
    }
    if !node.children.is_empty() {
        writeln!(out, "\n<ul>")?;
        for child in &node.children {
            self::node(out, child)?;
        }
        write!(out, "</ul>")?;
    }
    writeln!(out, "</li>")
}

fn findings(out: &mut dyn Write, record: &Record) -> io::Result<()> {
    let members = view::members(record);
    let found: Vec<(&str, &Finding)> =
        members.iter().flat_map(|member| member.findings().map(|finding| (member.path.as_str(), finding))).collect();
    let broken = record.checks().filter_map(|check| Some((check, check.verdict.as_ref()?.error.as_ref()?)));
    let broken: Vec<_> = broken.collect();
    if found.is_empty() && broken.is_empty() {
        return Ok(());
    }
    writeln!(out, "<h3>Findings</h3>")?;
    writeln!(out, "<ul class=\"findings\">")?;
    for (check, error) in broken {
        writeln!(
            out,
            "<li class=\"error-level\"><code>{}</code> {} <span class=\"soft\">{}</span></li>",
            e(error.kind.as_str()),
            e(&error.message),
            e(&check.name)
        )?;
    }
    for (path, finding) in found {
        let level = match finding.level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        };
        let place = finding.place.as_ref().map(|place| match place.line {
            Some(line) => format!("{}:{line} ", place.path),
            None => format!("{} ", place.path),
        });
        write!(
            out,
            "<li class=\"{level}-level\"><span class=\"mono\">{}</span>{level}[<code>{}</code>] {} \
             <span class=\"soft\">{}</span>",
            e(place.as_deref().unwrap_or_default()),
            e(&finding.code),
            e(&finding.message),
            e(path)
        )?;
        if let Some(hint) = &finding.hint {
            write!(out, "<br><span class=\"soft\">hint: {}</span>", e(hint))?;
        }
        writeln!(out, "</li>")?;
    }
    writeln!(out, "</ul>")?;
    for command in record.gate.walk().flat_map(Node::commands_to_quote) {
        writeln!(out, "<pre>$ {}\n{}</pre>", e(&command.argv.join(" ")), e(&command.output))?;
    }
    Ok(())
}

/// Writes a bar for each check that ran, by its duration.
fn bars(out: &mut dyn Write, record: &Record) -> io::Result<()> {
    let whole = record.duration.as_secs_f64().max(f64::MIN_POSITIVE);
    let ran: Vec<&Node> = record.checks().filter(|check| check.started.is_some()).collect();
    if ran.is_empty() {
        return Ok(());
    }
    writeln!(out, "<h3>Time</h3>\n<div class=\"bars\">")?;
    for check in ran {
        let start = check.started.unwrap_or_default().as_secs_f64();
        let left = (start / whole * 100.0).clamp(0.0, 99.5);
        let wide = (check.duration.as_secs_f64() / whole * 100.0).clamp(0.0, 100.0 - left);
        writeln!(
            out,
            "<span>{}</span><div class=\"track {}\"><div class=\"bar\" style=\"left:{left:.2}%;width:{wide:.2}%\"></div></div>\
             <span class=\"soft\">{:.1} ms</span>",
            e(&check.name),
            colour(check.outcome),
            check.duration.as_secs_f64() * 1e3
        )?;
    }
    writeln!(out, "</div>")
}
