//! Which files a fix may change. A fix is the word of a verifier, which may be anybody's: it changes only what the verifier was
//! asked about, and nothing that decides what runs or what passes.

use super::names::SymlinkNames;
use crate::changes::{self, NamedByGit};
use crate::config::FileSet;
use crate::error::{Error, ErrorCategory};
use crate::outcome::Node;
use crate::plan::{Check, Plan, Shape};
use crate::session::{Pinned, PolicyPaths, Request};
use crate::submission::Change;
use crate::text;
use crate::writer::{self, Beneath};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

/// Files without a leading dot with which coding agents, editors, runners of hooks and CI are told what to do, in lower case. A part
/// between dots does not count, as in `claude.local.md`.
const SETTINGS: &[&str] = &[
    "action.yaml",
    "action.yml",
    "agent.md",
    "agents.md",
    "appveyor.yml",
    "azure-pipelines.yaml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "bitrise.yml",
    "buildspec.yaml",
    "buildspec.yml",
    "captainhook.json",
    "circle.yml",
    "claude.md",
    "cloudbuild.json",
    "cloudbuild.yaml",
    "cloudbuild.yml",
    "codefresh.yml",
    "codemagic.yaml",
    "codeowners",
    "codex.md",
    "copilot-instructions.md",
    "crush.json",
    "crush.md",
    "firebender.json",
    "gemini-extension.json",
    "gemini.md",
    "gitlab-ci.yaml",
    "gitlab-ci.yml",
    "grumphp.yaml",
    "grumphp.yml",
    "hk.pkl",
    "hooks.json",
    "iflow.md",
    "lefthook-local.json",
    "lefthook-local.jsonc",
    "lefthook-local.toml",
    "lefthook-local.yaml",
    "lefthook-local.yml",
    "lefthook.json",
    "lefthook.jsonc",
    "lefthook.toml",
    "lefthook.yaml",
    "lefthook.yml",
    "mcp.json",
    "mise.toml",
    "opencode.json",
    "opencode.jsonc",
    "prek.toml",
    "qwen.md",
    "replit.md",
    "screwdriver.yaml",
    "simple-git-hooks.cjs",
    "simple-git-hooks.js",
    "simple-git-hooks.json",
    "simple-git-hooks.mjs",
    "skill.md",
    "warp.md",
    "wercker.yml",
    "zuul.yaml",
];
/// Ends of the names of settings of editors, which are chosen freely.
const EDITORS: &[&str] = &[".code-workspace", ".sublime-project"];
/// A name of settings of CI, alone or with anything before or behind it.
const JENKINS: &str = "jenkinsfile";

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
    /// The file is hidden, or tells a coding agent, an editor, git, a runner of hooks or CI what to do.
    Settings,
    /// So many symlinks lead to the file that not all of its names can be looked at.
    Names,
}

impl fmt::Display for OutOfScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Place => "it is behind a symlink, belongs to the data of a repository, or is no regular file",
            Self::NotJudged => "its check did not judge this file",
            Self::Policy => "it is a file of the policy, or a protected file",
            Self::Settings => "it or a symlink to it is hidden, or tells an agent, an editor, git or CI what to do",
            Self::Names => "too many symlinks lead to it",
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
    named_by_git: NamedByGit,
    names: SymlinkNames,
}

impl<'p> FixScope<'p> {
    /// `changed` are the existing files of the change.
    pub(super) fn new(request: &Request, pinned: &'p Pinned, root: &Path, changed: &[Change]) -> Result<Self, Error> {
        let plan = pinned.plan();
        let kept = matching(&plan.files, &plan.exclude)?;
        let selected = changes::present(changed).filter(|path| kept.contains(path)).map(str::to_owned).collect();
        let checks = checks(plan);
        let named_by_git = changes::named_by_git(root, &request.environment)?;
        let work = Beneath::open(root).map_err(|error| Error::host("cannot open the workspace").because(error))?;
        let names = SymlinkNames::find(root, &named_by_git.folders, request.environment.home().as_deref());
        Ok(Self { work, checks, selected, policy: pinned.policy_paths(request, root)?, named_by_git, names })
    }

    /// Returns why a fix by this check may not change a file with this content, if it may not.
    pub(super) fn refuses(&self, check: &Node, path: &str, content: &str) -> Option<OutOfScope> {
        if self.work.check(path).is_err() {
            return Some(OutOfScope::Place);
        }
        if !self.was_judged(check, path, content) {
            return Some(OutOfScope::NotJudged);
        }
        let Some(names) = self.names.of(path) else { return Some(OutOfScope::Names) };
        if names.iter().any(|name| self.policy.contain(name)) {
            return Some(OutOfScope::Policy);
        }
        names.iter().any(|name| is_settings(name) || self.named_by_git.has(name)).then_some(OutOfScope::Settings)
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
                self.selected.contains(path)
                    && matching(&check.files, &check.exclude).is_ok_and(|set| set.contains(path))
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

/// Returns whether a file tells a program what to do: if it or a folder above it is hidden, or has a known name.
fn is_settings(path: &str) -> bool {
    let is_hook = path.rsplit('/').next().is_some_and(|name| changes::is_hook_name(&writer::plain_name(name)));
    is_hook
        || path.split('/').map(writer::plain_name).any(|name| {
            let known = match (name.split_once('.'), name.rsplit_once('.')) {
                (Some((stem, _)), Some((_, end))) => format!("{stem}.{end}"),
                _ => name.clone(),
            };
            name.starts_with('.')
                || EDITORS.iter().any(|end| name.ends_with(end))
                || SETTINGS.contains(&known.as_str())
                || name.split('.').any(|part| part == JENKINS)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_files_and_known_settings_are_settings_at_any_depth_and_in_any_case() {
        for path in [
            ".claude/settings.json",
            ".Claude/settings.local.json",
            "app/.mcp.json",
            ".githooks/pre-commit",
            ".husky/_/husky.sh",
            "LEFTHOOK.yml",
            "lefthook-local.toml",
            ".github/actions/build/action.yml",
            ".github/ISSUE_TEMPLATE.md",
            "sub/.vscode/tasks.json",
            ".gitattributes",
            ".cl\u{200c}aude/settings.json",
            "\u{200c}.claude/settings.json",
            ".husky./pre-commit",
            ".woodpecker.yml",
            ".aider.model.settings.yml",
            "sub/AGENTS.md",
            "agents.override.md",
            "CLAUDE.local.md",
            "src/.gitignore",
            ".hg/hgrc",
            "mise.local.toml",
            "project.code-workspace",
            "docs/CODEOWNERS",
            "Jenkinsfile",
            "Jenkinsfile.release",
            "ci/nightly.jenkinsfile",
            "AGENT.md",
            "plugin/hooks/hooks.json",
            "site.sublime-project",
            "vendor/hooks/pre-commit",
            "hooks/prepare-commit-msg",
        ] {
            assert!(is_settings(path), "{path}");
        }
        for path in [
            "claude/settings.json",
            "docs/agents.md.txt",
            "docs/lefthook.yml.md",
            "src/gitignore",
            "a.mcp.json",
            "src/agents.py",
            "src/warp.rs",
            "README.md",
            "package.json",
            "bin/update",
            "docs/pre-commit.md",
            "docs/pre-commit/index.md",
            "src/pre-commit.rs",
            "src/hooks.rs",
            "agent.py",
        ] {
            assert!(!is_settings(path), "{path}");
        }
    }
}
