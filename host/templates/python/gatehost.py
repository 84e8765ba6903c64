"""Helpers for Gatehost verifiers in Python: say what the verifier is, and answer.

The types are those of the contract (`wit/`), as componentize-py makes them; for an editor that should know them:
`componentize-py -d wit -w file bindings .` (or `-w submission-only`).
"""

import json
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Tuple

from wit_world.exports.about import Description
from wit_world.imports import log as _log
from wit_world.imports.types import Finding, Level, Place, Status, Verdict

__all__ = [
    "Finding", "Level", "Place", "Status", "Verdict",
    "abstain", "error", "file_verifier", "log", "note", "passed", "place", "submission_verifier", "text_of", "verdict", "warning",
]

Settings = Mapping[str, Any]


def place(path: str, text: Optional[str] = None, offset: int = 0) -> Place:
    """A whole file, or the place of the character at `offset` of its text. Lines and columns count from 1."""
    if text is None:
        return Place(path, None, None, None, None)
    line_start = text.rfind("\n", 0, offset) + 1
    return Place(path, text.count("\n", 0, offset) + 1, offset - line_start + 1, None, None)


def error(code: str, message: str, at: Optional[Place] = None, hint: Optional[str] = None) -> Finding:
    """Something that must not pass. `code` is a stable name: lower-case words joined by `-`."""
    return Finding(code, Level.ERROR, message, at, hint)


def warning(code: str, message: str, at: Optional[Place] = None, hint: Optional[str] = None) -> Finding:
    """Something worth repairing, and no reason to stop."""
    return Finding(code, Level.WARNING, message, at, hint)


def note(code: str, message: str, at: Optional[Place] = None, hint: Optional[str] = None) -> Finding:
    """Information."""
    return Finding(code, Level.NOTE, message, at, hint)


def verdict(findings: Iterable[Finding], summary: str = "") -> Verdict:
    """The verdict that rests on these findings: a failure if one of them is an error."""
    found = list(findings)
    wrong = any(finding.level == Level.ERROR for finding in found)
    return Verdict(Status.FAIL if wrong else Status.PASS, None, summary, found, None)


def passed() -> Verdict:
    """The work is acceptable."""
    return verdict([])


def abstain(why: str) -> Verdict:
    """This verifier cannot judge."""
    return Verdict(Status.ABSTAIN, None, why, [], None)


def log(message: str) -> None:
    """Write a line for whoever writes or operates the verifier. `print` is not there."""
    _log.write(_log.Severity.INFO, message)


def text_of(file: Any) -> Optional[str]:
    """The text of a file, or None where it is not UTF-8."""
    return file.content.value if isinstance(file.content.value, str) else None


def _about(name: str, version: str, summary: str, files: Sequence[str], settings: Optional[Settings]) -> type:
    schema = "" if settings is None else json.dumps(
        {"type": "object", "properties": settings, "additionalProperties": False}, ensure_ascii=False)
    description = Description(name, version, summary, list(files), schema)

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
    settings: Optional[Settings] = None,
) -> Tuple[type, type]:
    """The two classes that a file verifier exports: assign them to `About, FileVerifier`.

    `check` gets the file and the settings. `settings` has a JSON Schema for each setting; the host checks them.
    """
    return _about(name, version, summary, files, settings), _checking(check)


def submission_verifier(
    check: Callable[[Any, Settings], Verdict],
    *,
    name: str,
    version: str,
    summary: str,
    settings: Optional[Settings] = None,
) -> Tuple[type, type]:
    """The two classes that a submission verifier exports: assign them to `About, SubmissionVerifier`.

    `check` gets the submission and the settings. `settings` has a JSON Schema for each setting; the host checks them.
    """
    return _about(name, version, summary, [], settings), _checking(check)
