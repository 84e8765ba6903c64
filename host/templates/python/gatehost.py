"""Helpers for Gatehost verifiers in Python: say what the verifier is, and answer.

The types are those of the contract (`wit/`), as componentize-py makes them; for an editor that should know them:
`componentize-py -d wit -w file bindings .` (or `-w submission-only`).
"""

import json
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Tuple

from wit_world.exports.about import Description, Rule
from wit_world.imports import log as _log
from wit_world.imports.types import Category, Edit, Finding, Fix, Level, Metric, Place, Status, Verdict

__all__ = [
    "Category", "Edit", "Finding", "Fix", "Level", "Metric", "Place", "Rule", "Status", "Verdict",
    "abstain", "edit", "error", "file_verifier", "fix", "log", "not_applicable", "note", "passed", "place", "rule",
    "submission_verifier", "text_of", "verdict", "warning",
]

Settings = Mapping[str, Any]


def place(path: str, text: Optional[str] = None, offset: int = 0) -> Place:
    """A whole file, or the place of the character at `offset` of its text. Lines and columns count from 1."""
    if text is None:
        return Place(path, None, None, None, None)
    line_start = text.rfind("\n", 0, offset) + 1
    return Place(path, text.count("\n", 0, offset) + 1, offset - line_start + 1, None, None)


def _finding(
    level: Level,
    code: str,
    message: str,
    at: Optional[Place],
    hint: Optional[str],
    *,
    category: Category = Category.WORK,
    key: Optional[str] = None,
    url: Optional[str] = None,
    fix: Optional[Fix] = None,
) -> Finding:
    return Finding(code, level, message, at, hint, category, key, url, fix)


def error(code: str, message: str, at: Optional[Place] = None, hint: Optional[str] = None, **more: Any) -> Finding:
    """Something that must not pass. `code` is a stable name: lower-case words joined by `-`.

    `more` is any of `category`, `key` (what identifies the finding besides its code and file), `url` and `fix`.
    """
    return _finding(Level.ERROR, code, message, at, hint, **more)


def warning(code: str, message: str, at: Optional[Place] = None, hint: Optional[str] = None, **more: Any) -> Finding:
    """Something worth repairing, and no reason to stop."""
    return _finding(Level.WARNING, code, message, at, hint, **more)


def note(code: str, message: str, at: Optional[Place] = None, hint: Optional[str] = None, **more: Any) -> Finding:
    """Information."""
    return _finding(Level.NOTE, code, message, at, hint, **more)


def edit(text: str, start: int, end: int, replacement: str) -> Edit:
    """Replace the characters from `start` to `end` of a text."""
    first, last = place("", text, start), place("", text, end)
    return Edit(first.line, first.column, last.line, last.column, replacement)


def fix(description: str, *edits: Edit) -> Fix:
    """A repair of a finding that has a place: edits of its file, in the order of the file."""
    return Fix(description, list(edits))


def verdict(
    findings: Iterable[Finding],
    summary: str = "",
    *,
    needs_person: bool = False,
    metrics: Optional[Mapping[str, float]] = None,
) -> Verdict:
    """The verdict that rests on these findings: a failure if one of them is an error."""
    found = list(findings)
    wrong = any(finding.level == Level.ERROR for finding in found)
    measured = [Metric(name, float(value)) for name, value in (metrics or {}).items()]
    return Verdict(Status.FAIL if wrong else Status.PASS, None, summary, found, None, needs_person, measured)


def passed() -> Verdict:
    """The work is acceptable."""
    return verdict([])


def abstain(why: str) -> Verdict:
    """This verifier should judge and cannot."""
    return Verdict(Status.ABSTAIN, None, why, [], None, False, [])


def not_applicable(why: str) -> Verdict:
    """The input is none of this verifier's business."""
    return Verdict(Status.NOT_APPLICABLE, None, why, [], None, False, [])


def log(message: str) -> None:
    """Write a line for whoever writes or operates the verifier. `print` is not there."""
    _log.write(_log.Severity.INFO, message)


def text_of(file: Any) -> Optional[str]:
    """The text of a file, or None where it is not UTF-8 or the path is a broken symlink."""
    content = getattr(file.content, "value", None)
    return content if isinstance(content, str) else None


def rule(code: str, summary: str, level: Level = Level.ERROR, help: str = "", url: Optional[str] = None) -> Rule:
    """A kind of finding that the verifier can report. The code `*` stands for all that come from the settings."""
    return Rule(code, level, summary, help, url)


def _about(
    name: str, version: str, summary: str, files: Sequence[str], settings: Optional[Settings], rules: Sequence[Rule]
) -> type:
    schema = "" if settings is None else json.dumps(
        {"type": "object", "properties": settings, "additionalProperties": False}, ensure_ascii=False)
    description = Description(name, version, summary, list(files), schema, list(rules), None)

    class About:
        def describe(self) -> Description:
            return description

    return About


def _checking(check: Callable[[Any, Settings], Verdict]) -> type:
    class Verifier:
        def check(self, judged: Any, settings: str) -> Verdict:
            return check(judged, json.loads(settings))

    return Verifier


def file_verifier(
    check: Callable[[Any, Settings], Verdict],
    *,
    name: str,
    version: str,
    summary: str,
    files: Sequence[str],
    rules: Sequence[Rule],
    settings: Optional[Settings] = None,
) -> Tuple[type, type]:
    """The two classes that a file verifier exports: assign them to `About, FileVerifier`.

    `check` gets the file and the settings. `rules` lists every kind of finding that `check` can report. `settings` has a
    JSON Schema for each setting; the host checks them.
    """
    return _about(name, version, summary, files, settings, rules), _checking(check)


def submission_verifier(
    check: Callable[[Any, Settings], Verdict],
    *,
    name: str,
    version: str,
    summary: str,
    rules: Sequence[Rule],
    settings: Optional[Settings] = None,
) -> Tuple[type, type]:
    """The two classes that a submission verifier exports: assign them to `About, SubmissionVerifier`.

    `check` gets the submission and the settings. `rules` lists every kind of finding that `check` can report. `settings`
    has a JSON Schema for each setting; the host checks them.
    """
    return _about(name, version, summary, [], settings, rules), _checking(check)
