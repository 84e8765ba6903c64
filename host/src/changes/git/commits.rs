//! Commits: resolving names, reading trees, and finding merge bases.
//!
//! Git resolves a name to an id. Everything from there is read from hashed objects, because a forged commit with other
//! parents would lead to another base.

use super::id::{Id, ObjectKind};
use super::objects::Objects;
use super::program::Git;
use crate::changes::{ChangesError, shown_text};
use std::collections::{BinaryHeap, HashMap, HashSet};

/// The most tags that may point to one another.
const MAX_TAGS: usize = 20;
/// The most commits that are read to find a merge base.
const MAX_COMMITS: usize = 1_000_000;

/// The content of a commit.
pub(super) struct Commit {
    pub(super) tree: Id,
    pub(super) parents: Vec<Id>,
    time: i64,
}

fn parse(id: &Id, bytes: &[u8]) -> Result<Commit, ChangesError> {
    let forged = || ChangesError::Forged { id: id.to_string() };
    let mut lines = bytes.split(|&byte| byte == b'\n');
    let tree = lines.next().and_then(|line| Id::from_hex(line.strip_prefix(b"tree ")?)).ok_or_else(forged)?;
    let mut parents = Vec::new();
    let mut time = 0;
    for line in lines.take_while(|line| !line.is_empty()) {
        if let Some(parent) = line.strip_prefix(b"parent ") {
            parents.push(Id::from_hex(parent).ok_or_else(forged)?);
        } else if let Some(committer) = line.strip_prefix(b"committer ") {
            let mut words = committer.rsplit(|&byte| byte == b' ').skip(1);
            time = words.next().and_then(|time| str::from_utf8(time).ok()?.parse().ok()).unwrap_or(0);
        }
    }
    Ok(Commit { tree, parents, time })
}

pub(super) fn read(objects: &mut Objects<'_>, id: &Id) -> Result<Commit, ChangesError> {
    let bytes = objects.read(id, ObjectKind::Commit, "a commit")?;
    parse(id, &bytes)
}

/// Returns the last commit; `None` before the first.
pub(super) fn head(objects: &mut Objects<'_>) -> Result<Option<(Id, Commit)>, ChangesError> {
    if let Some(head) = objects.head().filter(|head| head.kind == ObjectKind::Commit) {
        return Ok(Some((head.id, parse(&head.id, &head.bytes)?)));
    }
    match objects.named("HEAD")? {
        Some(found) if found.kind == ObjectKind::Commit => Ok(Some((found.id, parse(&found.id, &found.bytes)?))),
        _ => Ok(None),
    }
}

/// Returns the names of branches and tags, for the hint after a misspelt name.
fn names(git: &Git) -> Vec<String> {
    const MOST: usize = 500;
    let refs = ["for-each-ref", "--count=500", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags"];
    let answer = git.ask(&refs).ok().filter(|answer| answer.status.success());
    let text = answer.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned()).unwrap_or_default();
    text.lines().take(MOST).map(shown_text).collect()
}

/// Returns the commit that a name refers to. From then on its id is used, which cannot be taken for a file.
///
/// An ambiguous name is refused: git prefers a tag to a branch, so whoever may push a tag would choose.
pub(super) fn named(git: &Git, objects: &mut Objects<'_>, name: &str) -> Result<Id, ChangesError> {
    let unknown =
        || ChangesError::UnknownCommit { name: shown_text(name), is_shallow: git.is_shallow, known: names(git) };
    let (start, steps) = steps(name);
    // Without suffixes such as `main^{/fix}` or `main@{1}`.
    let stem = start.split(['^', '~', ':']).next().unwrap_or_default();
    let stem = stem.split("@{").next().unwrap_or_default();
    let is_full = stem.starts_with("refs/");
    // A tag may be named `refs/heads/main` too, and git uses it if there is no such branch.
    if is_full && !git.ask(&["show-ref", "--verify", "--quiet", "--", stem])?.status.success() {
        return Err(unknown());
    }
    let is_id = stem.len() == git.format.length() * 2 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut id = if is_id && stem == start {
        // A hook passes a full id. `rev-parse` would return it unchanged, but as a process of its own.
        Id::from_hex(start.to_ascii_lowercase().as_bytes()).ok_or_else(unknown)?
    } else {
        let question = ["-c", "core.warnAmbiguousRefs=true", "rev-parse", "--verify", "--end-of-options", start];
        let answer = git.ask(&question)?;
        let found = Id::from_hex(answer.stdout.trim_ascii_end()).filter(|_| answer.status.success());
        // These names take precedence over all others.
        let is_exact = is_full || is_id || stem == "HEAD";
        let is_ambiguous = !is_exact && answer.stderr.lines().any(|line| line.ends_with(" is ambiguous."));
        match found.ok_or_else(unknown)? {
            _ if is_ambiguous => return Err(ChangesError::Ambiguous(shown_text(name))),
            id => id,
        }
    };
    let mut commit = None;
    for _ in 0..MAX_TAGS {
        let object = objects.named(&id.to_string())?.ok_or_else(unknown)?;
        match object.kind {
            ObjectKind::Commit => {
                commit = Some(parse(&id, &object.bytes)?);
                break;
            }
            ObjectKind::Tag => {
                let target = object.bytes.split(|&byte| byte == b'\n').next();
                let target = target.and_then(|line| Id::from_hex(line.strip_prefix(b"object ")?));
                id = target.ok_or_else(unknown)?;
            }
            ObjectKind::Blob | ObjectKind::Tree => return Err(unknown()),
        }
    }
    let mut commit = commit.ok_or_else(unknown)?;
    for step in steps {
        let next = commit.parents.get(step).ok_or_else(unknown)?;
        let object = objects.named(&next.to_string())?.filter(|object| object.kind == ObjectKind::Commit);
        (id, commit) = (*next, parse(next, &object.ok_or_else(unknown)?.bytes)?);
    }
    Ok(id)
}

/// Splits a name into the part that git resolves and the parent to follow in each step: `main~2^2` is two steps to the first
/// parent and one to the second.
fn steps(name: &str) -> (&str, Vec<usize>) {
    let mut end = name.len();
    let mut groups = Vec::new();
    loop {
        let stem = name[..end].trim_end_matches(|character: char| character.is_ascii_digit());
        let digits = &name[stem.len()..end];
        let count: Option<usize> = if digits.is_empty() { Some(1) } else { digits.parse().ok() };
        match (stem.strip_suffix('~'), stem.strip_suffix('^'), count) {
            (Some(rest), _, Some(count)) if !rest.is_empty() && count <= 100_000 => groups.push((rest, vec![0; count])),
            // `^0` is the commit itself.
            (_, Some(rest), Some(0)) if !rest.is_empty() => groups.push((rest, Vec::new())),
            (_, Some(rest), Some(number)) if !rest.is_empty() => groups.push((rest, vec![number - 1])),
            _ => break,
        }
        end = groups.last().map_or(end, |(rest, _)| rest.len());
    }
    (&name[..end], groups.into_iter().rev().flat_map(|(_, steps)| steps).collect())
}

/// Returns the merge base of two commits, each given by its name and its id.
///
/// Computed here, not by git: a list of shallow commits in `.git` is enough to make git return an older one, in which a
/// later fix is missing.
pub(super) fn merge_base(
    git: &Git,
    objects: &mut Objects<'_>,
    (from, first): (&str, &Id),
    (to, second): (&str, &Id),
) -> Result<Id, ChangesError> {
    let (from, to) = (shown_text(from), shown_text(to));
    let mut walk = AncestorWalk::default();
    walk.reach(*first, FIRST, i64::MAX);
    walk.reach(*second, SECOND, i64::MAX);
    let common = walk.common(objects)?;
    // Nothing is newer than the first commit itself, whatever is missing.
    if common.contains(first) {
        return Ok(*first);
    }
    if walk.is_incomplete {
        return Err(ChangesError::Incomplete { from, to });
    }
    newest(objects, &common)?.ok_or(ChangesError::NoCommonAncestor { from, to, is_shallow: git.is_shallow })
}

/// An ancestor of the first commit.
const FIRST: u8 = 1;
/// An ancestor of the second commit.
const SECOND: u8 = 2;
/// An ancestor of a common ancestor, which is of no further interest.
const STALE: u8 = 4;

/// A walk through the ancestors of two commits, newest first, as in git.
#[derive(Default)]
struct AncestorWalk {
    /// The marks of each visited commit.
    marks: HashMap<Id, u8>,
    ahead: BinaryHeap<(i64, Id)>,
    waiting: HashSet<Id>,
    /// How many of the queued commits are not stale.
    interesting: usize,
    /// Whether an interesting commit is missing.
    is_incomplete: bool,
}

impl AncestorWalk {
    /// Queues a commit with these marks.
    fn reach(&mut self, id: Id, marks: u8, time: i64) {
        let known = self.marks.entry(id).or_default();
        let (before, after) = (*known, *known | marks);
        *known = after;
        if before == after {
            return;
        }
        let was_waiting = !self.waiting.insert(id);
        match (was_waiting && before & STALE == 0, after & STALE == 0) {
            (true, false) => self.interesting -= 1,
            (false, true) => self.interesting += 1,
            _ => {}
        }
        if !was_waiting {
            self.ahead.push((time, id));
        }
    }

    /// Returns the common ancestors that are not known to have a later one.
    fn common(&mut self, objects: &mut Objects<'_>) -> Result<Vec<Id>, ChangesError> {
        let mut found = Vec::new();
        while self.interesting > 0 {
            let Some((_, id)) = self.ahead.pop() else { break };
            self.waiting.remove(&id);
            let mut marks = self.marks.get(&id).copied().unwrap_or_default();
            self.interesting -= usize::from(marks & STALE == 0);
            if self.marks.len() > MAX_COMMITS {
                self.is_incomplete = true;
                break;
            }
            // In a shallow clone, some commits are missing.
            let Some(object) = objects.named(&id.to_string())?.filter(|object| object.kind == ObjectKind::Commit)
            else {
                self.is_incomplete |= marks & STALE == 0;
                continue;
            };
            if marks == FIRST | SECOND {
                found.push(id);
                marks |= STALE;
            }
            let commit = parse(&id, &object.bytes)?;
            for parent in commit.parents {
                // For the order, a parent is never newer than its child.
                self.reach(parent, marks, commit.time);
            }
        }
        found.sort_unstable();
        found.dedup();
        found.retain(|id| self.marks.get(id).is_some_and(|marks| marks & STALE == 0));
        Ok(found)
    }
}

/// Returns the newest of several commits that is no ancestor of another.
fn newest(objects: &mut Objects<'_>, commits: &[Id]) -> Result<Option<Id>, ChangesError> {
    let mut best = Vec::new();
    for id in commits {
        let mut is_best = true;
        for other in commits.iter().filter(|other| *other != id) {
            is_best &= !is_ancestor(objects, id, other)?;
        }
        if is_best {
            best.push((read(objects, id)?.time, *id));
        }
    }
    Ok(best.into_iter().max().map(|(_, id)| id))
}

/// Returns whether a commit is the same as another, or an ancestor of it. The newest commits are visited first.
fn is_ancestor(objects: &mut Objects<'_>, wanted: &Id, from: &Id) -> Result<bool, ChangesError> {
    let mut ahead = BinaryHeap::from([(i64::MAX, *from)]);
    let mut seen = HashSet::from([*from]);
    while let Some((_, id)) = ahead.pop() {
        if id == *wanted {
            return Ok(true);
        }
        if seen.len() > MAX_COMMITS {
            return Ok(false);
        }
        // In a shallow clone, some commits are missing.
        let Some(object) = objects.named(&id.to_string())?.filter(|object| object.kind == ObjectKind::Commit) else {
            continue;
        };
        let commit = parse(&id, &object.bytes)?;
        ahead.extend(commit.parents.into_iter().filter(|parent| seen.insert(*parent)).map(|id| (commit.time, id)));
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_taken_off_the_end_of_a_name() {
        for (name, start, expected) in [
            ("main", "main", &[][..]),
            ("main~2", "main", &[0, 0]),
            ("main~2^2", "main", &[0, 0, 1]),
            ("HEAD^", "HEAD", &[0]),
            ("HEAD^^", "HEAD", &[0, 0]),
            ("v1.0^0", "v1.0", &[]),
            ("release-12", "release-12", &[]),
            ("main^{/fix}", "main^{/fix}", &[]),
            ("main@{1}~1", "main@{1}", &[0]),
            ("~1", "~1", &[]),
            ("a~99999999", "a~99999999", &[]),
        ] {
            assert_eq!(steps(name), (start, expected.to_vec()), "{name}");
        }
    }
}
