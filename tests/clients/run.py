#!/usr/bin/env python3
"""Drives real coding agents, offline, against hooks that `gate install` wrote.

  tests/clients/run.py --gate target/debug/gate [--prefix DIR] [--client NAME] [--scenario NAME] [--keep]

Each scenario is a repository of its own with its own home, a scripted model on loopback, and one run of the client.
Needs node, npm (to install the clients into the prefix the first time), git and Python 3.
"""

import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

import clients
from model import Model

BAD = "printf '{\"a\": 1,}' > data.json"
GOOD = "printf '{\"a\": 1}' > data.json"


class Work:
    """A repository, a home, and a copy of `gate` that a scenario may break."""

    def __init__(self, gate, client, git_hooks=True, gate_toml=None):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gate-clients-"))
        self.home, self.repository = f"{self.folder}/home", f"{self.folder}/repository"
        self.gate = f"{self.folder}/bin/gate"
        for folder in (self.home, self.repository, os.path.dirname(self.gate)):
            os.makedirs(folder)
        try:
            os.link(os.path.realpath(gate), self.gate)
        except OSError:
            shutil.copy2(gate, self.gate)
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": self.home, "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@example.com"}
        self.run("git", "init", "-q", ".")
        with open(f"{self.repository}/.gitignore", "w", encoding="utf-8") as file:
            file.write(".codex/\n.gemini/\n.qwen/\n")
        if gate_toml:
            with open(f"{self.repository}/gate.toml", "w", encoding="utf-8") as file:
                file.write(gate_toml)
        self.run("git", "add", ".")
        self.run("git", "commit", "-qm", "base")
        self.run(self.gate, "install", client, *(["git"] if git_hooks else []))

    def run(self, *command):
        """Run a command in the repository; its exit code and what it printed."""
        done = subprocess.run(command, cwd=self.repository, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout.decode("utf-8", "replace")

    def sessions(self):
        """What the hook remembers of the agent's sessions."""
        found = glob.glob(f"{self.home}/.local/state/gatehost/sessions/*.json")
        return [json.load(open(path, encoding="utf-8")) for path in found]

    def states(self):
        return [session.get("state") for session in self.sessions()]

    def break_gate(self, script):
        """Put a script in the place of the program; without one, nothing."""
        os.remove(self.gate)
        if script:
            with open(self.gate, "w", encoding="utf-8") as file:
                file.write(script)
            os.chmod(self.gate, 0o755)

    def settings(self, client, old, new):
        """Change the client's settings."""
        path = {"codex": ".codex/hooks.json", "gemini": ".gemini/settings.json", "qwen": ".qwen/settings.json"}[client]
        path = f"{self.repository}/{path}"
        with open(path, encoding="utf-8") as file:
            text = file.read()
        assert old in text, text
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))


def refused(work, gate):
    """Whether git and a run of the gate still refuse the work."""
    work.run("git", "add", "-A")
    committed, _ = work.run("git", "commit", "-qm", "unverified")
    judged, said = work.run(gate, "run", "--no-ledger")
    assert committed != 0, "git took what was never verified"
    assert judged == 1, f"the gate passed it: {said}"


def repair(client, script, gate):
    """Bad work is sent back with the reason; the agent repairs it by a tool call, and passes."""
    work = Work(gate, client)
    model = Model([{"run": BAD}, {"say": "done"},
                   {"seen": "trailing-comma", "then": {"run": GOOD}, "else": {"say": "no reason was given"}},
                   {"say": "repaired"}])
    said, ended = clients.start(client, script, work, model, 120)
    assert ended, "the client did not end"
    assert any("trailing-comma" in text for text in model.requests), f"the reason never reached the model: {said[-2000:]}"
    with open(f"{work.repository}/data.json", encoding="utf-8") as file:
        assert file.read() == '{"a": 1}', "the agent did not repair it"
    assert work.states() == ["pass"], work.sessions()
    work.run("git", "add", "-A")
    assert work.run("git", "commit", "-qm", "verified")[0] == 0, "git refused verified work"
    return work, model


def spent(client, script, gate):
    """An agent that never repairs its work is let go when its budget is spent, and nothing is verified."""
    work = Work(gate, client)
    model = Model([{"run": BAD}, {"say": "done {n}"}])
    _, ended = clients.start(client, script, work, model, 120)
    assert ended, "the client did not end"
    assert work.states() == ["verification_failed"], work.sessions()
    assert sum("trailing-comma" in text for text in model.requests) >= 1, "the agent was never sent back"
    refused(work, gate)
    return work, model


def broken(name, breakage):
    """A hook that cannot answer: whatever the host does, nothing counts as verified."""
    def scenario(client, script, gate):
        work = Work(gate, client)
        work.break_gate(breakage)
        # Gemini takes the shell's complaint about a missing program for a denial, again and again.
        model = Model([{"run": BAD}, {"say": "done {n}"}])
        _, ended = clients.start(client, script, work, model, 40)
        print(f"      {client}: with a hook that is {name}, the client {'ended' if ended else 'went on for ever'} "
              f"after {len(model.requests)} requests")
        assert "pass" not in work.states(), work.sessions()
        refused(work, gate)
        return work, model
    return scenario


SLOW = """[gate.default]
all = ["slow"]
[check.slow]
verifier = "command"
grants = ["command:slow"]
[command.slow]
run = ["sleep", "300"]
timeout = "5m"
"""


def hangs(client, script, gate):
    """A gate that hangs is ended by the hook's own deadline: the agent is told once, and let go."""
    work = Work(gate, client, git_hooks=False, gate_toml=SLOW)
    work.settings(client, "--deadline 570", "--deadline 3")
    model = Model([{"run": BAD}, {"say": "done {n}"}])
    _, ended = clients.start(client, script, work, model, 120)
    assert ended, "the client did not end"
    assert any("was not done within 3 s" in text for text in model.requests), "the agent was not told"
    assert work.states() == ["verification_failed"], work.sessions()
    return work, model


SCENARIOS = {
    "repair": repair,
    "spent": spent,
    "hangs": hangs,
    "missing": broken("missing", None),
    "killed": broken("killed", "#!/bin/sh\nkill -9 $$\n"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gate", required=True)
    parser.add_argument("--prefix", default=os.path.join(tempfile.gettempdir(), "gate-clients"))
    parser.add_argument("--client", action="append", choices=sorted(clients.PACKAGES))
    parser.add_argument("--scenario", action="append", choices=list(SCENARIOS))
    parser.add_argument("--keep", action="store_true", help="keep the folder of each scenario")
    arguments = parser.parse_args()
    gate = os.path.realpath(arguments.gate)
    failed = 0
    for client in arguments.client or sorted(clients.PACKAGES):
        script = clients.install(client, arguments.prefix)
        for name in arguments.scenario or SCENARIOS:
            try:
                work, model = SCENARIOS[name](client, script, gate)
                outside = sorted(set(model.refused))
                print(f"ok    {client} {name} ({len(model.requests)} requests{', tried ' + ', '.join(outside) if outside else ''})",
                      flush=True)
                model.close()
                if not arguments.keep:
                    shutil.rmtree(work.folder, ignore_errors=True)
            except AssertionError as why:
                failed += 1
                print(f"FAIL  {client} {name}: {why}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
