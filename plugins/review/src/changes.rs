//! Shows the changes to a model: a list of the files, and for each file its diff, or its whole text if there is no diff.

use crate::material::untrusted;
use crate::{Settings, World};
use gatehost_sdk::Verdict;
use gatehost_sdk::glob::Glob;
use gatehost_sdk::models::Part;
use gatehost_sdk::submission::{Change, ChangeKind, Hunk, LineKind};

/// The changes that are shown, and the paths that are only listed because `exclude` matches them.
pub(crate) struct Changes {
    pub(crate) parts: Vec<Part>,
    pub(crate) excluded: Vec<String>,
}

/// Shows every change. If one cannot be shown, the error is an abstention that names it.
pub(crate) fn show(changes: &[Change], settings: &Settings, world: &dyn World) -> Result<Changes, Verdict> {
    let mut exclude = Vec::new();
    for pattern in &settings.exclude {
        let glob = Glob::new(pattern).map_err(|why| Verdict::abstain(format!("`exclude` has `{pattern}`: {why}")))?;
        exclude.push(glob);
    }
    let mut shown = Changes { parts: Vec::new(), excluded: Vec::new() };
    let mut list = String::new();
    let mut hidden = Vec::new();
    for change in changes {
        let left_out = exclude.iter().any(|glob| glob.matches(&change.path));
        list += &format!("{}{}\n", line(change), if left_out { " (not shown)" } else { "" });
        if left_out {
            shown.excluded.push(change.path.clone());
            continue;
        }
        match content(change, world) {
            Ok(part) => shown.parts.extend(part),
            Err(why) => hidden.push(format!("`{}` ({why})", change.path)),
        }
    }
    if let Some(first) = hidden.first() {
        let more = if hidden.len() == 1 { String::new() } else { format!(" and {} more", hidden.len() - 1) };
        return Err(Verdict::abstain(format!(
            "the reviewer cannot be shown all changes: {first}{more}; list files that need no review in `exclude`"
        )));
    }
    if !changes.is_empty() {
        shown.parts.insert(0, untrusted("changed files", list));
    }
    Ok(shown)
}

fn line(change: &Change) -> String {
    match (change.kind, &change.old_path) {
        (ChangeKind::Added, _) => format!("added {}", change.path),
        (ChangeKind::Modified, _) => format!("modified {}", change.path),
        (ChangeKind::Deleted, _) => format!("deleted {}", change.path),
        (ChangeKind::Renamed, Some(old)) => format!("renamed {old} to {}", change.path),
        (ChangeKind::Renamed, None) => format!("renamed {}", change.path),
    }
}

/// The diff or the whole file; nothing if the list of files says everything.
fn content(change: &Change, world: &dyn World) -> Result<Option<Part>, String> {
    match &change.hunks {
        Some(hunks) if hunks.is_empty() => Ok(None),
        Some(hunks) => {
            Ok(Some(untrusted(format!("diff of {}", change.path), hunks.iter().map(diff).collect::<String>())))
        }
        None if change.kind == ChangeKind::Deleted => Ok(None),
        None => {
            let bytes = world.read(&change.path)?;
            let text = String::from_utf8(bytes).map_err(|_| "the file is not UTF-8".to_owned())?;
            Ok(Some(untrusted(format!("the whole file {}", change.path), text)))
        }
    }
}

fn diff(hunk: &Hunk) -> String {
    let mut text =
        format!("@@ from line {} of the old file, line {} of the new one @@\n", hunk.old_start, hunk.new_start);
    for line in &hunk.lines {
        let mark = match line.kind {
            LineKind::Context => ' ',
            LineKind::Added => '+',
            LineKind::Removed => '-',
        };
        text.extend([mark]);
        text += &line.text;
        text.push('\n');
    }
    text
}
