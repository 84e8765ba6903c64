#!/usr/bin/env python3
"""Runs `gate` on public repositories: over their commits, after `gate init`, and on clean checkouts.

    tests/adopt/adopt.py replay --gate target/debug/gate --repositories FOLDER --commits 800
    tests/adopt/adopt.py init --gate target/debug/gate --repositories FOLDER
    tests/adopt/adopt.py clean --gate target/debug/gate --repositories FOLDER

FOLDER holds clones, bare or not, at any depth. Nothing is written to them: everything happens in shared clones in a temporary
folder, without a ledger. Each command prints a table in Markdown, and exits with 1 where a promise does not hold:

- replay: commits spread evenly over the recent history of each repository, each judged by the default gate against its first
  parent. Promised: less than 2 % end in exit code 3, and every exit code 1 is the repository's own fault. Where Python, Node or
  git itself can parse the format, the script asks it for a second opinion; the rest is listed to be looked at.
- init: `gate init`, then `gate run` with the gate that it wrote. Promised: the run ends in a verdict about the repository
  (exit code 0 or 1), and never in an error of our sandbox.
- clean: checkouts in which nothing changed, in the forms that FORMS lists. Promised: no selection finds a changed file.
"""

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.parsers.expat
from pathlib import Path

WORDS = ("nothing", "incomplete")  # what is counted besides exit codes
LIMIT = 2.0  # per cent of commits that may end without a verdict


def git(folder, *arguments, **options):
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False, **options)
    return done.stdout if done.returncode == 0 else None


def repositories(folder):
    """Every git directory below a folder, by the name of its project."""
    found = {}
    for path, folders, files in os.walk(folder):
        if "HEAD" in files and "objects" in folders:
            here = Path(path)
            parts = [part for part in here.relative_to(folder).parts if part not in (".git", "repo")]
            found["/".join(parts).replace("+", "/").removesuffix(".git") or here.name] = here
            folders.clear()
    return dict(sorted(found.items()))


def clone(source, target, checkout):
    flags = ["--quiet", "--shared"] + ([] if checkout else ["--no-checkout"])
    done = subprocess.run(["git", "clone", *flags, str(source), str(target)], capture_output=True, check=False)
    return done.returncode == 0


def gate(arguments, folder, *words, **environment):
    command = [str(arguments.gate), "-C", str(folder), *words]
    start = time.monotonic()
    options = {"env": {**os.environ, **environment}, "timeout": arguments.timeout}
    done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL, **options)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"), time.monotonic() - start


# A second opinion: whether another parser refuses a file, too. None where there is no other parser.


def refused_by_python(content):
    source = content.decode("utf-8", errors="surrogateescape")
    try:
        compile(source, "file", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return True
    return False


def refused_by_json(content):
    try:
        json.loads(content.decode("utf-8"))
    except ValueError:
        return True
    return False


def refused_by_toml(content):
    import tomllib

    try:
        tomllib.loads(content.decode("utf-8"))
    except ValueError:
        return True
    return False


def refused_by_expat(content):
    try:
        xml.parsers.expat.ParserCreate().Parse(content, True)
    except xml.parsers.expat.ExpatError:
        return True
    return False


def refused_by_yaml(content):
    try:
        import yaml
    except ImportError:
        return None
    try:
        for _ in yaml.parse(content):
            pass
    except (yaml.YAMLError, ValueError):
        return True
    return False


def refused_by_node(content, suffix):
    if shutil.which("node") is None:
        return None
    refusals = []
    for extension in (".mjs", ".cjs"):
        with tempfile.NamedTemporaryFile(suffix=extension) as file:
            file.write(content)
            file.flush()
            done = subprocess.run(["node", "--check", file.name], capture_output=True, check=False)
            refusals.append(done.returncode != 0)
    return all(refusals)


OPINIONS = {
    ".py": refused_by_python,
    ".pyi": refused_by_python,
    ".json": refused_by_json,
    ".toml": refused_by_toml,
    ".xml": refused_by_expat,
    ".svg": refused_by_expat,
    ".yaml": refused_by_yaml,
    ".yml": refused_by_yaml,
}


def second_opinion(folder, commit, path):
    suffix = Path(path).suffix.lower()
    content = git(folder, "show", f"{commit}:{path}")
    if content is None:
        return None
    if suffix in (".js", ".mjs", ".cjs"):
        return refused_by_node(content, suffix)
    opinion = OPINIONS.get(suffix)
    return None if opinion is None else opinion(content)


def failures(node, found):
    """The findings of the checks that failed, and the reasons of those without an answer."""
    if node.get("kind") == "check" and node.get("outcome") in ("fail", "error", "abstain"):
        verdict = node.get("verdict") or {}
        for finding in verdict.get("findings", []):
            if finding.get("level") == "error":
                place = finding.get("place") or {}
                found.append((node["name"], place.get("path", ""), place.get("line"), finding["message"]))
        if node["outcome"] != "fail":
            error = verdict.get("error") or {}
            why = error.get("message") or verdict.get("summary") or node.get("reason", "")
            found.append((node["name"], "", None, f"{node['outcome']}: {why}"))
    for child in node.get("children", []):
        failures(child, found)


def replay(arguments):
    sources = repositories(arguments.repositories)
    if not sources:
        raise SystemExit(f"there is no repository below {arguments.repositories}")
    each = -(-arguments.commits // len(sources))
    rows, notes, totals = [], [], collections.Counter()
    broken = False
    for name, source in sources.items():
        counts = collections.Counter()
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder) / "work"
            if not clone(source, work, False):
                raise SystemExit(f"cannot clone {source}")
            commits = (git(work, "rev-list", "--no-merges", "-n", str(arguments.history), "HEAD") or b"").decode().split()
            commits = [commit for commit in commits if git(work, "rev-parse", "--verify", "--quiet", f"{commit}^") is not None]
            step = max(1, len(commits) // each)
            spent = 0.0
            for commit in commits[::step][:each]:
                words = ["run", "--from-ref", f"{commit}^", "--to-ref", commit, "--format", "json", "--no-ledger", "-q"]
                code, out, err, took = gate(arguments, work, *words)
                spent += took
                if code == 2 and "is missing here" in err:
                    counts["incomplete"] += 1
                    continue
                counts[code] += 1
                record = json.loads(out) if out.startswith("{") else {}
                if "nothing-to-check" in record.get("marks", []):
                    counts["nothing"] += 1
                if code == 0:
                    continue
                found = []
                failures(record.get("gate", {}), found)
                for check, path, line, message in found[:3] or [("", "", None, err.strip()[:300])]:
                    opinion = second_opinion(work, commit, path) if path and code == 1 else None
                    word = {True: "refused by the second parser, too", False: "ACCEPTED by the second parser", None: "look at it"}[opinion]
                    broken |= opinion is False
                    notes.append(f"- {name} {commit[:12]} exit {code}: {check} {path}{f':{line}' if line else ''}: {message.splitlines()[0][:160]} ({word})")
        done = sum(count for code, count in counts.items() if code not in WORDS)
        rows.append((name, done, counts[0], counts["nothing"], counts[1], counts[2], counts[3], spent / max(1, done)))
        totals.update(counts)
        print(f"{name}: {done} commits", file=sys.stderr)
    print("| repository | commits | exit 0 | of these nothing to check | exit 1 | exit 2 | exit 3 | seconds each |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(str(value) for value in row[:-1]) + f" | {row[-1]:.2f} |")
    done = sum(count for code, count in totals.items() if code not in WORDS)
    silent = 100.0 * totals[3] / max(1, done)
    print(f"| all | {done} | {totals[0]} | {totals['nothing']} | {totals[1]} | {totals[2]} | {totals[3]} | |")
    print(f"\nWithout a verdict: {silent:.2f} % (promised: below {LIMIT} %).\n")
    print("\n".join(notes))
    if totals["incomplete"]:
        print(f"- {totals['incomplete']} commits were left out: a file of theirs is missing from the clone")
    others = [code for code in totals if code not in (0, 1, 3, *WORDS)]
    return 1 if broken or silent >= LIMIT or others else 0


def initialise(arguments):
    sources = repositories(arguments.repositories)
    print("| repository | gate init | gate run --all-files | gate run push | reasons |")
    print("|---|---|---|---|---|")
    broken = False
    for name, source in sources.items():
        if arguments.only and name not in arguments.only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder) / "work"
            if not clone(source, work, True):
                print(f"| {name} | left out: some of its files are missing from the clone | | | |", flush=True)
                continue
            code, out, err, took = gate(arguments, work, "init")
            row = [name, f"exit {code}, {took:.0f} s"]
            told = [line.strip() for line in out.splitlines() if line.startswith("  ")]
            outcomes = []
            written = (work / "gate.toml").read_text() if (work / "gate.toml").exists() else ""
            runs = [["run", "--all-files"]] + ([["run", "push", "--all-files"]] if "[gate.push]" in written else [])
            for words in runs:
                code, out, err, took = gate(arguments, work, *words, "--no-ledger", "--format", "json")
                found = []
                record = json.loads(out) if out.startswith("{") else {}
                failures(record.get("gate", {}), found)
                why = "; ".join(f"{check} {path}: {message.splitlines()[0][:100]}" for check, path, _, message in found[:3])
                outcomes.append(f"exit {code}, {took:.0f} s" + (f": {why}" if why else ""))
                broken |= code not in (0, 1)
            row.append(outcomes[0])
            row.append(outcomes[1] if len(outcomes) > 1 else "none")
            row.append("<br>".join(told))
            print("| " + " | ".join(value.replace("|", "\\|").replace("\n", " ") for value in row) + " |", flush=True)
    return 1 if broken else 0


def shell(folder, script):
    environment = {**os.environ, "HOME": str(folder)}
    done = subprocess.run(["sh", "-euc", script], cwd=folder, capture_output=True, check=False, env=environment)
    return done.returncode == 0


# How a repository can be checked out without a change. Each script runs beside `source` and `part`, and leaves its checkout in
# `work`. 
IDENTITY = "git -c user.name=a -c user.email=a@example.com -c protocol.file.allow=always"
FORMS = {
    "clone": "git clone -q --shared source work",
    "CRLF": "git config --global core.autocrlf true; git clone -q --shared source work",
    "worktree": "git clone -q --shared --no-checkout source main; git -C main worktree add -q --detach ../work HEAD",
    "sparse": "git clone -q --shared --sparse source work",
    "submodule": f"git clone -q --shared source work; cd work; {IDENTITY} submodule --quiet add ../part part; {IDENTITY} commit -qm part",
    "LFS": "git clone -q --shared source work; cd work; mkdir large; "
    "printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:"
    "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae\\nsize 3\\n' > large/a.bin; "
    "echo '*.bin filter=lfs diff=lfs merge=lfs -text' > large/.gitattributes; "
    f"git add large; {IDENTITY} commit -qm large; printf foo > large/a.bin",
}
SELECTIONS = [[], ["--staged"], ["--since", "HEAD"]]


def clean(arguments):
    """A check that fails for every changed file finds none in a clean checkout."""
    verifier = ["--verifier", "files-in-scope", "--settings", '{"files":["-"]}']
    print("| repository | files | " + " | ".join(FORMS) + " |")
    print("|---" * (len(FORMS) + 2) + "|")
    broken = False
    for name, source in repositories(arguments.repositories).items():
        if arguments.only and name not in arguments.only:
            continue
        row, notes = [], []
        files = len((git(source, "ls-tree", "-r", "--name-only", "HEAD") or b"").splitlines())
        for form, script in FORMS.items():
            with tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "source").symlink_to(source)
                shell(folder, f"git init -q part; cd part; echo 1 > a; git add a; {IDENTITY} commit -qm first")
                if not shell(folder, script):
                    row.append("left out: files are missing")
                    continue
                alarms = 0
                for selection in SELECTIONS:
                    words = ["run", *selection, *verifier, "--no-ledger", "--format", "json"]
                    code, out, err, _ = gate(arguments, Path(folder) / "work", *words, HOME=folder)
                    record = json.loads(out) if out.startswith("{") else {}
                    found = []
                    failures(record.get("gate", {}), found)
                    # The verifier abstains from a submission without a changed file.
                    if code == 3 and [path for _, path, _, _ in found] == [""] and "no changed file" in found[0][3]:
                        continue
                    alarms += 1
                    why = "; ".join(f"{path}: {message}" for _, path, _, message in found[:3]) or err.strip()[:300]
                    notes.append(f"- {name}, {form}, {' '.join(selection) or 'working tree'}: exit {code}: {why}")
                row.append(str(alarms))
                broken |= alarms > 0
        print("| " + " | ".join([name, str(files), *row]) + " |", *notes, sep="\n", flush=True)
    return 1 if broken else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for word, run in (("replay", replay), ("init", initialise), ("clean", clean)):
        command = commands.add_parser(word)
        command.set_defaults(run=run)
        command.add_argument("--gate", type=lambda path: Path(path).resolve(), required=True)
        command.add_argument("--repositories", type=Path, required=True)
        command.add_argument("--timeout", type=float, default=3600)
        if word == "replay":
            command.add_argument("--commits", type=int, default=800, help="in all, the same number of each repository")
            command.add_argument("--history", type=int, default=600, help="how many commits back")
        else:
            command.add_argument("--only", nargs="*", help="these repositories")
    arguments = parser.parse_args()
    return arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
