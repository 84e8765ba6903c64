//! Which files a fix may change. A fix is the word of a verifier, which may be anybody's: it changes only what the verifier was
//! asked about, and nothing that decides what runs or what passes.

use crate::changes;
use crate::config::FileSet;
use crate::environment::Environment;
use crate::error::{Error, ErrorCategory};
use crate::outcome::Node;
use crate::plan::{Check, Plan, Shape};
use crate::session::{Pinned, PolicyPaths};
use crate::submission::Change;
use crate::text;
use crate::writer::{self, Beneath};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

/// Files and folders with which coding agents, editors, version control, runners of hooks and CI are told what to do, in lower
/// case.
const SETTINGS: &[&str] = &[
    ".agent",
    ".agents",
    ".aider.conf.yml",
    ".amazonq",
    ".amp",
    ".augment",
    ".bzr",
    ".circleci",
    ".claude",
    ".clinerules",
    ".codex",
    ".continue",
    ".copilot",
    ".cursor",
    ".cursorrules",
    ".devcontainer",
    ".envrc",
    ".factory",
    ".gemini",
    ".gitattributes",
    ".gitconfig",
    ".githooks",
    // It decides which files are checked.
    ".gitignore",
    ".github/agents",
    ".github/copilot",
    ".github/copilot-instructions.md",
    ".github/hooks",
    ".github/instructions",
    ".github/workflows",
    ".gitlab",
    ".gitlab-ci.yml",
    ".gitmodules",
    ".goosehints",
    ".hg",
    ".hgsub",
    ".husky",
    ".idea",
    ".jj",
    ".junie",
    ".kiro",
    ".lefthook",
    ".lefthook-local.yml",
    ".lefthook.json",
    ".lefthook.toml",
    ".lefthook.yaml",
    ".lefthook.yml",
    ".lfsconfig",
    ".mcp.json",
    ".opencode",
    ".overcommit.yml",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    ".pre-commit-hooks.yaml",
    ".qwen",
    ".roo",
    ".roorules",
    ".rules",
    ".simple-git-hooks.cjs",
    ".simple-git-hooks.js",
    ".simple-git-hooks.json",
    ".sl",
    ".svn",
    ".trae",
    ".travis.yml",
    ".vscode",
    ".windsurf",
    ".windsurfrules",
    ".woodpecker",
    ".zed",
    "agents.md",
    "agents.override.md",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "claude.local.md",
    "claude.md",
    "gemini.md",
    "hk.pkl",
    "jenkinsfile",
    "lefthook-local.yml",
    "lefthook.json",
    "lefthook.toml",
    "lefthook.yaml",
    "lefthook.yml",
    "opencode.json",
    "opencode.jsonc",
    "prek.toml",
    "qwen.md",
    "simple-git-hooks.cjs",
    "simple-git-hooks.js",
    "simple-git-hooks.json",
];

/// Why a fix is not tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum OutOfScope {
    /// The file is behind a symlink, in the data of a repository, or no file.
    Place,
    /// The check did not judge the file, or judged other bytes.
    NotJudged,
    /// The file is part of the policy, or protected by it.
    Policy,
    /// The file tells a coding agent, an editor, git, a runner of hooks or CI what to do.
    Settings,
}

impl fmt::Display for OutOfScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Place => "it is behind a symlink, belongs to the data of a repository, or is no regular file",
            Self::NotJudged => "its check did not judge this file",
            Self::Policy => "it is a file of the policy, or a protected file",
            Self::Settings => "it is a hook, or settings of an agent, an editor, git or CI",
        })
    }
}

/// The files that fixes of each check may change.
pub(super) struct FixScope<'p> {
    /// The workspace itself: what is in the copy may be behind a symlink here.
    work: Beneath,
    checks: BTreeMap<&'p str, &'p Check>,
    /// The files of the change that the configuration selects.
    selected: BTreeSet<String>,
    policy: PolicyPaths,
    /// The files and folders that the configuration of git names, relative to the root of the work.
    named_by_git: Vec<String>,
}

impl<'p> FixScope<'p> {
    /// `changed` are the existing files of the change.
    pub(super) fn new(
        pinned: &'p Pinned,
        root: &Path,
        changed: &[Change],
        environment: &Environment,
    ) -> Result<Self, Error> {
        let plan = pinned.plan();
        let kept = matching(&plan.files, &plan.exclude)?;
        let selected = changes::present(changed).filter(|path| kept.contains(path)).map(str::to_owned).collect();
        let checks = checks(plan);
        let named_by_git = changes::named_by_git(root, environment)?;
        let work = Beneath::open(root).map_err(|error| Error::host("cannot open the workspace").because(error))?;
        Ok(Self { work, checks, selected, policy: pinned.policy_paths(root)?, named_by_git })
    }

    /// Returns why a fix by this check may not change a file with this content, if it may not.
    pub(super) fn refuses(&self, check: &Node, path: &str, content: &str) -> Option<OutOfScope> {
        if self.work.check(path).is_err() {
            return Some(OutOfScope::Place);
        }
        if !self.was_judged(check, path, content) {
            return Some(OutOfScope::NotJudged);
        }
        if self.policy.contain(path) {
            return Some(OutOfScope::Policy);
        }
        let is_named = |entry: &String| is_at_or_below(path, entry);
        (is_settings(path) || self.named_by_git.iter().any(is_named)).then_some(OutOfScope::Settings)
    }

    /// Returns whether a file of the workspace has this content.
    pub(super) fn has(&self, path: &str, content: &str) -> bool {
        self.work.read(path, content.len() as u64).is_ok_and(|bytes| bytes == content.as_bytes())
    }

    /// Returns whether the verifier of a check was called for a file with these bytes, or was given them as a part of the change.
    fn was_judged(&self, node: &Node, path: &str, content: &str) -> bool {
        let Some(check) = self.checks.get(node.name.as_str()) else { return false };
        match check.shape {
            Shape::File => {
                let digest = text::sha256(Sha256::digest(content));
                node.files.iter().flatten().any(|file| file.path == path && file.digest == digest)
            }
            Shape::Submission => {
                let matches = check.files.is_empty()
                    || matching(&check.files, &check.exclude).is_ok_and(|set| set.contains(path));
                matches && self.selected.contains(path)
            }
        }
    }
}

fn checks(plan: &Plan) -> BTreeMap<&str, &Check> {
    plan.checks().map(|check| (check.member.as_str(), check)).collect()
}

fn matching(files: &[String], exclude: &[String]) -> Result<FileSet, Error> {
    FileSet::new(files, exclude).map_err(|error| Error::new(ErrorCategory::Configuration, &error))
}

/// Returns whether a file tells a program what to do, at the root or in a folder that somebody may open.
fn is_settings(path: &str) -> bool {
    let path = path.split('/').map(writer::plain_name).collect::<Vec<_>>().join("/");
    let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
    starts.into_iter().any(|start| SETTINGS.iter().any(|entry| is_at_or_below(&path[start..], entry)))
}

/// Returns whether a path is an entry or is below it, without regard to case.
fn is_at_or_below(path: &str, entry: &str) -> bool {
    let (path, entry) = (path.as_bytes(), entry.as_bytes());
    path.len() >= entry.len()
        && path[..entry.len()].eq_ignore_ascii_case(entry)
        && path.get(entry.len()).is_none_or(|next| *next == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_known_at_any_depth_and_in_any_case() {
        for path in [
            ".claude/settings.json",
            ".Claude/settings.local.json",
            "app/.mcp.json",
            ".githooks/pre-commit",
            ".husky/_/husky.sh",
            "LEFTHOOK.yml",
            ".github/hooks/gate.json",
            "sub/.vscode/tasks.json",
            ".gitattributes",
            ".cl\u{200c}aude/settings.json",
            ".husky./pre-commit",
            ".github/workflows/ci.yml",
            "sub/AGENTS.md",
            "src/.gitignore",
            ".hg/hgrc",
        ] {
            assert!(is_settings(path), "{path}");
        }
        for path in [
            "claude/settings.json",
            ".github/ISSUE_TEMPLATE.md",
            "docs/agents.md.txt",
            "docs/lefthook.yml.md",
            "src/gitignore",
            "a.mcp.json",
            "README.md",
        ] {
            assert!(!is_settings(path), "{path}");
        }
    }
}
