#!/usr/bin/env python3
"""Compares `gate` with `git status`, prek, pre-commit-hooks and Ruff on the same files, as ratios.

    tests/compare/compare.py --gate target/release/gate

Every round runs each command once, in turns, so that a busy machine slows all of them down. A ratio is the median over
the rounds of (the time of gate) / (the time of the other in the same round). Tools that are not installed are left out.
Files are generated, or taken with `--data FOLDER` and `--python FOLDER`; the Python files are those of the standard library.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

CHECKS = {"json": "json-syntax", "yaml": "yaml-syntax", "toml": "toml-syntax", "xml": "xml-syntax"}


def document(kind, size, chance):
    """A document of about so many bytes."""
    rows = [{"id": n, "name": f"item-{chance.random():.12f}", "tags": ["a", "b", str(n)]} for n in range(max(1, size // 70))]
    if kind == "json":
        return json.dumps({"rows": rows}, indent=1)
    if kind == "yaml":
        return "rows:\n" + "".join(f"  - id: {row['id']}\n    name: {row['name']}\n    tags: [a, b]\n" for row in rows)
    if kind == "toml":
        return "".join(f"[[rows]]\nid = {row['id']}\nname = \"{row['name']}\"\ntags = [\"a\", \"b\"]\n" for row in rows)
    return "<rows>\n" + "".join(f' <row id="{row["id"]}"><name>{row["name"]}</name></row>\n' for row in rows) + "</rows>\n"


def generate(folder, count):
    chance = random.Random(1)
    for number in range(count):
        kind = list(CHECKS)[number % len(CHECKS)]
        path = folder / f"d{number % 97:02}" / f"e{number % 7}" / f"{number}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document(kind, int(chance.paretovariate(1.2) * 500) % 60_000 + 60, chance))


def take(folder, source, endings, count):
    """Copies real files."""
    paths = sorted(p for p in Path(source).rglob("*") if p.suffix[1:] in endings and p.is_file() and not p.is_symlink())
    for number, path in enumerate(paths[:count]):
        target = folder / f"d{number % 97:02}" / f"{number}{path.suffix}"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def git(folder, *arguments):
    subprocess.run(["git", "-C", folder, *arguments], check=True, stdout=subprocess.DEVNULL)


def commit(folder):
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "gc.auto", "0")
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "first")


def drop_refused(gate, folder, environment):
    """Removes the files that do not pass, such as the bad examples of a test suite: what is compared is a tree that is in order."""
    done = subprocess.run([gate, "run", "--all-files", "--format", "json"], cwd=folder, env=environment, capture_output=True)
    nodes, refused = [json.loads(done.stdout)["gate"]], set()
    while nodes:
        node = nodes.pop()
        nodes.extend(node.get("children", []))
        refused.update(file["path"] for file in node.get("files") or [] if file["status"] != "pass")
    for path in refused:
        (folder / path).unlink()
    return len(refused)


def once(command, folder, environment):
    """Seconds, and the exit code."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start, done.returncode


def memory_of(command, folder, environment):
    """The most memory in MiB, if GNU time is there: a child of this program would be counted with the memory of Python."""
    meter = shutil.which("time")
    if not meter:
        return None
    with tempfile.NamedTemporaryFile() as told:
        once([meter, "-f", "%M", "-o", told.name, *command], folder, environment)
        return int(Path(told.name).read_text().split()[-1]) / 1024


def compare(title, folder, environment, commands, rounds):
    times = {name: [] for name in commands}
    # The first run is not measured: it fills the caches.
    codes = {name: once(command, folder, environment)[1] for name, command in commands.items()}
    memory = {name: memory_of(command, folder, environment) for name, command in commands.items()}
    for number in range(rounds):
        names = list(commands)
        for name in names[number % len(names):] + names[: number % len(names)]:
            seconds, codes[name] = once(commands[name], folder, environment)
            times[name].append(seconds)
    print(f"\n{title}")
    for name in commands:
        most = f"{memory[name]:6.0f} MiB" if memory[name] else ""
        line = f"  {name:<26} {statistics.median(times[name]) * 1000:8.1f} ms  {most}  exit {codes[name]}"
        for other in commands if name.startswith("gate") else []:
            if not other.startswith("gate"):
                ratios = [mine / theirs for mine, theirs in zip(times[name], times[other])]
                line += f"   {statistics.median(ratios):.2f} x {other}"
                if memory[name] and memory[other]:
                    line += f" (memory {memory[name] / memory[other]:.1f} x)"
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gate", default="target/release/gate", help="the program to measure")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--data", help="a folder with data files to use")
    parser.add_argument("--python", default=sysconfig.get_paths()["stdlib"], help="a folder with Python files to use")
    parser.add_argument("--settle", type=int, default=62, help="seconds after which the ids of files are kept")
    parser.add_argument("only", nargs="*", help="data, python, changed")
    options = parser.parse_args()
    gate = str(Path(options.gate).resolve())
    wanted = options.only or ["data", "python", "changed"]
    tool = {name: shutil.which(name) for name in ["prek", "ruff", "check-json", "check-yaml"]}
    print("gate:", gate, " others:", ", ".join(name for name, path in tool.items() if path) or "none but git")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as top:
        top = Path(top)
        environment = {**os.environ, "GATE_CACHE_DIR": str(top / "cache"), "GATE_STATE_DIR": str(top / "state"),
                       "PREK_HOME": str(top / "prek"), "PREK_ALLOW_NO_CONFIG": "1",
                       # Outside the work, as the others' are.
                       "RUFF_CACHE_DIR": str(top / "ruff")}
        made = {}
        for name, count in [("data", 3_000), ("python", 3_000), ("changed", 10_000)]:
            if name not in wanted:
                continue
            folder = made[name] = top / name
            folder.mkdir()
            if name == "python":
                take(folder, options.python, {"py"}, count)
            elif options.data and name == "data":
                take(folder, options.data, set(CHECKS) | {"yml"}, count)
            else:
                generate(folder, count)
            checks = {"py": "python-syntax"} if name == "python" else CHECKS
            text = f"[gate.main]\nall = {json.dumps(list(checks))}\n"
            (folder / "gate.toml").write_text(text + "".join(f'[check.{k}]\nverifier = "{v}"\n' for k, v in checks.items()))
            hooks = "".join(f"      - id: check-{kind}\n" for kind in CHECKS)
            (folder / ".pre-commit-config.yaml").write_text(f"repos:\n  - repo: builtin\n    hooks:\n{hooks}")
            refused = drop_refused(gate, folder, environment)
            commit(folder)
            print(f"{name}: {refused} of the files do not pass, and are left out")
        if options.settle and made:
            time.sleep(options.settle)
        if "data" in made:
            commands = {"gate --no-cache": [gate, "run", "--all-files", "--no-cache"], "gate (cached)": [gate, "run", "--all-files"]}
            if tool["prek"]:
                commands["prek"] = [tool["prek"], "run", "--all-files"]
            if tool["check-json"]:
                files = sorted(str(p.relative_to(made["data"])) for p in made["data"].rglob("*.json"))
                commands["check-json (JSON only)"] = [tool["check-json"], *files]
            compare("3,000 data files, all of them", made["data"], environment, commands, options.rounds)
        if "python" in made:
            commands = {"gate --no-cache": [gate, "run", "--all-files", "--no-cache"], "gate (cached)": [gate, "run", "--all-files"]}
            if tool["ruff"]:
                commands["ruff --no-cache"] = [tool["ruff"], "check", "-q", "--isolated", "--select", "E9", "--no-cache"]
                commands["ruff (cached)"] = [tool["ruff"], "check", "-q", "--isolated", "--select", "E9"]
            compare("Python files, all of them", made["python"], environment, commands, options.rounds)
        if "changed" in made:
            changed = made["changed"] / "d00" / "e0" / "0.json"
            changed.parent.mkdir(parents=True, exist_ok=True)
            changed.write_text("[2]\n")
            git(made["changed"], "add", "-A")
            # `--staged` is what the hook of git runs. Like prek, it does not look at the working tree.
            commands = {"gate": [gate, "run"], "gate --staged": [gate, "run", "--staged"],
                        "git status": ["git", "status", "--porcelain"]}
            if tool["prek"]:
                commands["prek"] = [tool["prek"], "run"]
            compare("one changed file among 10,000", made["changed"], environment, commands, options.rounds)


if __name__ == "__main__":
    sys.exit(main())
