"""What each host makes of an answer: the table that the adapters in `host/src/hook` rest on, tried with the real clients.

A hook that answers once as the case says, and then lets the agent go. The model answers in words only, so a second turn
means that the host took the answer for a block.
"""

import json
import pathlib
import shlex

from model import Model, Say, Shell

BLOCK = '{"decision":"%(block)s","reason":"because"}'
# The case, what the hook does, and which clients take it for a block.
ANSWERS = [
    ("nothing", "", ""),
    ("an empty object", "echo '{}'", ""),
    ("a block in JSON", f"echo '{BLOCK}'", "codex gemini qwen"),
    ("exit 1 with stderr", "echo because >&2; exit 1", ""),
    ("exit 3 with stderr", "echo because >&2; exit 3", "gemini"),
    ("exit 1 with a block in JSON", f"echo '{BLOCK}'; exit 1", "gemini qwen"),
    ("exit 2 with stderr", "echo because >&2; exit 2", "codex gemini qwen"),
    ("exit 2 in silence", "exit 2", ""),
    ("killed", "kill -9 $$", ""),
    ("a crash", "kill -SEGV $$", ""),
    ("a time-out", "exec sleep 30", ""),
    ("half a document", """echo '{"decision":"%(block)s","reason":'""", ""),
    ("noise before a block", f"echo noise; echo '{BLOCK}'", ""),
    ("a block with another key", """echo '{"decision":"%(block)s","reason":"because","other":1}'""", "gemini qwen"),
    ("a block without a reason", """echo '{"decision":"%(block)s"}'""", "gemini qwen"),
    ("a block with a blank reason", """echo '{"decision":"%(block)s","reason":" "}'""", "gemini qwen"),
    ("a block that also stops", """echo '{"continue":false,"decision":"%(block)s","reason":"because"}'""", "qwen"),
]
# `stop_hook_active` in three calls, without and with a tool call between them.
ACTIVE = {"codex": ("FTT", "FTT"), "gemini": ("FTT", "FFF"), "qwen": ("TTT", "TTT")}


def hooked(client, work, body, times):
    """Install a hook that does `body` for the first calls, and keeps what it was sent."""
    script = pathlib.Path(work.folder, "hook.sh")
    script.write_text(f"""number=0
while [ -e {shlex.quote(work.folder)}/call.$number ]; do number=$((number + 1)); done
cat > {shlex.quote(work.folder)}/call.$number
[ $number -lt {times} ] || exit 0
{body % {"block": client.block}}
""")
    client.hooks(work.repository, f"exec sh {shlex.quote(str(script))}", 3)


def sent(work):
    """What the hook was sent, in order."""
    calls = sorted(pathlib.Path(work.folder).glob("call.*"), key=lambda path: int(path.suffix[1:]))
    return [json.loads(path.read_text()) for path in calls]


def check(client, make_work):
    """Try every case; yields each with what was expected and what happened."""
    for name, body, blocking in ANSWERS:
        work, model = make_work(), Model(lambda turn, text: Say(f"done {turn}"))
        hooked(client, work, body, 1)
        client.run(work, model, 60)
        # A hook that was never called would look like one that did not block.
        found = len(model.requests) > 1 if sent(work) else "the hook was not called"
        yield work, model, name, client.name in blocking.split(), found
    work, model = make_work(), Model(lambda turn, text: Say(f"done {turn}"))
    hooked(client, work, f"echo '{BLOCK}'", 12)
    client.run(work, model, 120)
    yield work, model, "twelve blocks in a row", 13, len(model.requests)
    for between, expected in zip((False, True), ACTIVE[client.name]):
        def decide(turn, text, between=between):
            return Shell(f"echo {turn}") if between and turn % 2 else Say(f"done {turn}")
        work, model = make_work(), Model(decide)
        hooked(client, work, f"echo '{BLOCK}'", 2)
        client.run(work, model, 60)
        active = "".join("FT"[bool(call.get("stop_hook_active"))] for call in sent(work))
        yield work, model, f"stop_hook_active, {'a' if between else 'no'} tool call between", expected, active
