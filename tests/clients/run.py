#!/usr/bin/env python3
"""Drives real coding agents, offline, against the hooks that `gate install` wrote.

  tests/clients/run.py --gate target/debug/gate [--client NAME]... [--scenario NAME]... [--prefix DIR] [--keep]

Every scenario has a repository, a home and a model on loopback of its own, and runs a client once or a few times. Needs
node 20, npm (which installs the clients the first time), git and Python 3. `contract` tries what the hosts make of each kind
of answer; all others use `gate`.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import contract
from clients import CLIENTS
from model import Model, Say, Shell

GOOD = """printf '{"a": 1}' > data.json"""


def bad(number):
    """A mistake of its own for each number."""
    return f"""printf '{{"a{number}": 1,}}' > data.json"""


class Work:
    """A repository, a home, and a program `gate` of its own that a scenario may break."""

    def __init__(self, gate=None, client=None, gate_toml=None):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gate-client-"))
        self.home, self.repository, self.gate = (f"{self.folder}/{name}" for name in ("home", "repository", "bin/gate"))
        for folder in (self.home, self.repository, f"{self.folder}/bin"):
            os.mkdir(folder)
        people = {f"GIT_{who}_{what}": "someone@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        self.environment = dict(people, PATH=os.environ["PATH"], HOME=self.home, LANG="C.UTF-8", GIT_CONFIG_NOSYSTEM="1")
        self.must("git", "init", "-q", "-b", "main")
        if gate:
            shutil.copy2(gate, self.gate)
            # The settings of clients name this program, so they are no part of the work.
            self.write(".gitignore", "".join(f"{each.settings.split('/')[0]}/\n" for each in CLIENTS.values()))
            if gate_toml:
                self.write("gate.toml", gate_toml)
            self.must("git", "add", ".")
            self.must("git", "commit", "-qm", "base")
            self.must(self.gate, "install", client.name, "git")

    def write(self, path, text):
        pathlib.Path(self.repository, path).write_text(text)

    def run(self, *command):
        """Run a command in the repository: its exit code, and everything it printed."""
        done = subprocess.run(command, cwd=self.repository, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout.decode("utf-8", "replace")

    def must(self, *command):
        code, printed = self.run(*command)
        assert code == 0, f"{' '.join(command)}: exit code {code}: {printed}"
        return printed

    def entries(self, gate, *arguments):
        """Entries of the ledger, oldest first."""
        printed = self.must(gate, "log", "--format", "json", *arguments)
        return [json.loads(line) for line in printed.splitlines()]

    def replace(self, client, old, new):
        """Change the client's settings."""
        path = pathlib.Path(self.repository, client.settings)
        text = path.read_text()
        assert old in text, text
        path.write_text(text.replace(old, new))


def refused(work, gate):
    """Nothing counts as verified: git refuses a commit, and a commit past its hooks is not verified."""
    work.must("git", "add", "-A")
    code, _ = work.run("git", "commit", "-qm", "unverified")
    assert code != 0, "git committed what was never verified"
    code, printed = work.run(gate, "verify")
    assert code == 1 and "not verified" in printed, f"gate verify: exit code {code}: {printed}"
    work.must("git", "commit", "-q", "--no-verify", "-m", "past the hooks")
    code, printed = work.run(gate, "verify", "HEAD")
    assert code == 1 and "not verified" in printed, f"gate verify HEAD: exit code {code}: {printed}"


def released(work, gate):
    """The message of the release, of a session that ended in `verification_failed`."""
    notes = [entry for entry in work.entries(gate) if entry["labels"].get("status") == "verification_failed"]
    assert len(notes) == 1, f"expected one release, found {notes}"
    return notes[0]


def bounces(work, gate):
    return [entry for entry in work.entries(gate) if entry["kind"] == "bounce"]


def repair(client, gate):
    """Bad work is sent back with the reason; the agent repairs it by a tool call, and passes."""
    def decide(turn, text):
        if turn == 0:
            return Shell(bad(1))
        if turn == 1:
            return Say("done")
        if turn == 2:
            return Shell(GOOD) if "trailing-comma" in text else Say("there was no reason")
        return Say("repaired")
    work, model = Work(gate, client), Model(decide)
    printed, ended = client.run(work, model, 120)
    assert ended, "the client did not end"
    assert len(model.requests) == 4, f"{len(model.requests)} turns: {printed[-2000:]}"
    assert pathlib.Path(work.repository, "data.json").read_text() == '{"a": 1}', "the agent did not repair it"
    assert len(bounces(work, gate)) == 1
    runs = [entry for entry in work.entries(gate) if entry["kind"] == "run"]
    assert [run["labels"]["status"] for run in runs] == ["fail", "pass"], runs
    # The same work may be committed, and counts as verified then.
    work.must("git", "add", "-A")
    work.must("git", "commit", "-qm", "verified")
    assert work.must(gate, "verify", "HEAD").startswith("verified")
    return work, model


def spent(client, gate):
    """An agent that makes a new mistake each time is sent back twice, then let go, and nothing is verified."""
    def decide(turn, text):
        return Say(f"done {turn}") if turn % 2 else Shell(bad(turn))
    work, model = Work(gate, client), Model(decide)
    _, ended = client.run(work, model, 120)
    assert ended, "the client did not end"
    assert len(bounces(work, gate)) == 2, bounces(work, gate)
    assert "sent back 2 times" in json.dumps(released(work, gate))
    assert len(model.requests) == 6, f"{len(model.requests)} turns"
    refused(work, gate)
    return work, model


def stuck(client, gate):
    """An agent that changes nothing is sent back once."""
    work, model = Work(gate, client), Model(lambda turn, text: Say(f"done {turn}") if turn else Shell(bad(1)))
    _, ended = client.run(work, model, 120)
    assert ended, "the client did not end"
    assert len(bounces(work, gate)) == 1, bounces(work, gate)
    released(work, gate)
    refused(work, gate)
    return work, model


SLOW = """[gate.default]
all = ["json", "slow"]
[check.json]
verifier = "json-syntax"
[check.slow]
verifier = "command"
grants = ["command:slow"]
[command.slow]
run = ["sleep", "300"]
timeout = "5m"
"""


def hangs(client, gate):
    """A check that hangs is ended by the hook's own deadline: the agent is told once which one, and let go."""
    work, model = Work(gate, client, SLOW), Model(lambda turn, text: Say(f"done {turn}") if turn else Shell(GOOD))
    work.replace(client, "--deadline 570", "--deadline 6")
    _, ended = client.run(work, model, 120)
    assert ended, "the client did not end"
    told = [text for text in model.requests if "`slow`" in text]
    assert told, "the agent was not told which check hangs"
    assert len(bounces(work, gate)) == 1, bounces(work, gate)
    released(work, gate)
    assert work.run(gate, "verify")[0] == 1
    return work, model


def transcript(client, gate):
    """What the client writes down about the session is understood: tool calls, the last words and the model."""
    calls = '[gate.default]\nall = ["calls", "signal"]\n[check.calls]\nverifier = "tool-calls"\n' \
            '[check.signal]\nverifier = "completion-signal"\n'
    work, model = Work(gate, client, calls), Model(lambda turn, text: Say("TASK_COMPLETE") if turn else Shell("true"))
    _, ended = client.run(work, model, 120)
    assert ended, "the client did not end"
    runs = [entry for entry in work.entries(gate) if entry["kind"] == "run"]
    # Without a single call, `tool-calls` abstains.
    assert [run["labels"]["status"] for run in runs] == ["pass"], runs
    assert runs[0]["body"]["executor"].get("model"), runs[0]["body"]["executor"]
    return work, model


def loop(client, gate):
    """`gate loop` runs the client: its transcript is understood, and the feedback sends it back."""
    def decide(turn, text):
        if turn % 2:
            return Say(f"TASK_COMPLETE {turn}")
        return Shell(GOOD if "trailing-comma" in text else bad(1))
    calls = '[gate.default]\nall = ["json", "calls"]\n[check.json]\nverifier = "json-syntax"\n' \
            '[check.calls]\nverifier = "tool-calls"\n'
    work, model = Work(), Model(decide)
    work.write("gate.toml", calls)
    work.must("git", "add", ".")
    work.must("git", "commit", "-qm", "base")
    command, environment = client.prepare(work, model, stream=True)
    done = subprocess.run([gate, "loop", "--format", "json", "--", *command, "Please do the task. {feedback}"],
                          cwd=work.repository, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=240, check=False)
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
    record = json.loads(done.stdout)
    assert (record["state"], len(record["attempts"])) == ("completed", 2), record["state"]
    told = record["attempts"][1]["executor"]
    assert told["agent"] == client.agent and told["session"] and told["input_tokens"], told
    # Codex does not name its model there.
    assert client.agent == "codex" or told["model"], told
    return work, model


def policy(client, gate):
    """An agent that weakens the configuration is judged by the one that it started with, and needs a person."""
    weak = SLOW.replace("sleep", "true").replace('"json", ', "")
    def decide(turn, text):
        return Shell(f"{bad(1)}; printf '%s' '{weak}' > gate.toml") if turn == 0 else Say(f"done {turn}")
    work, model = Work(gate, client, SLOW.replace("sleep", "true")), Model(decide)
    _, ended = client.run(work, model, 120)
    assert ended, "the client did not end"
    assert any("trailing-comma" in text for text in model.requests), "the old configuration was not used"
    passed = [entry for entry in work.entries(gate, "--kind", "run") if entry["labels"].get("status") == "pass"]
    assert not passed, f"a run passed: {passed}"
    return work, model


def broken(what, program, limit=None):
    """A hook that cannot answer: whatever the host does, nothing counts as verified."""
    def scenario(client, gate):
        work = Work(gate, client)
        os.remove(work.gate)
        if program:
            pathlib.Path(work.gate).write_text(program)
            os.chmod(work.gate, 0o755)
        if limit:
            work.replace(client, f'"timeout": {600 * client.second}', f'"timeout": {limit * client.second}')
        model = Model(lambda turn, text: Say(f"done {turn}") if turn else Shell(bad(1)))
        _, ended = client.run(work, model, 40)
        print(f"      {client.name}: the hook is {what}: {'the agent stops' if ended else 'the agent is sent back without end'}"
              f" ({len(model.requests)} turns)")
        os.path.exists(work.gate) and os.remove(work.gate)
        shutil.copy2(gate, work.gate)
        refused(work, gate)
        return work, model
    scenario.__doc__ = f"The hook is {what}: nothing counts as verified, whatever the host does."
    return scenario


def hosts(client, gate):
    """What the host makes of each kind of answer is what the adapters expect."""
    wrong = []
    for work, model, name, expected, found in contract.check(client, Work):
        model.close()
        shutil.rmtree(work.folder, ignore_errors=True)
        if expected != found:
            wrong.append(f"{name}: expected {expected}, found {found}")
    assert not wrong, "; ".join(wrong)
    return work, model


SCENARIOS = {
    "repair": repair,
    "spent": spent,
    "stuck": stuck,
    "hangs": hangs,
    "transcript": transcript,
    "loop": loop,
    "policy": policy,
    "missing": broken("missing", None),
    "killed": broken("killed", "#!/bin/sh\nkill -9 $$\n"),
    "stopped": broken("hanging past the host's time limit", "#!/bin/sh\nexec sleep 60\n", 2),
    "contract": hosts,
}


def main():
    listed = "\n".join(f"  {name:10}{scenario.__doc__}" for name, scenario in SCENARIOS.items())
    parser = argparse.ArgumentParser(description=f"{__doc__}\nScenarios:\n{listed}",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gate", required=True, help="the program")
    parser.add_argument("--client", action="append", choices=list(CLIENTS))
    parser.add_argument("--scenario", action="append", choices=list(SCENARIOS))
    parser.add_argument("--prefix", default=os.path.join(tempfile.gettempdir(), "gate-clients"), help="where clients are installed")
    parser.add_argument("--keep", action="store_true", help="keep the folder of each scenario, and say where it is")
    asked = parser.parse_args()
    failed = 0
    for name in asked.client or CLIENTS:
        client = CLIENTS[name]
        client.install(asked.prefix)
        for scenario in asked.scenario or SCENARIOS:
            try:
                work, model = SCENARIOS[scenario](client, os.path.realpath(asked.gate))
            except AssertionError as why:
                failed += 1
                print(f"FAIL  {name} {client.version} {scenario}: {why}", flush=True)
                continue
            outside = f", refused: {', '.join(sorted(set(model.refused)))}" if model.refused else ""
            print(f"ok    {name} {client.version} {scenario} ({len(model.requests)} turns{outside})", flush=True)
            model.close()
            if asked.keep:
                print(f"      {work.folder}")
            else:
                shutil.rmtree(work.folder, ignore_errors=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
