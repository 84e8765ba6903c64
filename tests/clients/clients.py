"""The clients: how each is installed, told where its model is, and started with nothing of the caller's environment."""

import hashlib
import json
import os
import pathlib
import subprocess


class Client:
    """A real, unmodified command line client."""
    name = package = version = script = settings = stop = ""
    # The word for a block, and how many units of the settings' time limits are a second.
    block, second = "block", 1
    # The flags for a transcript of JSON lines, and what such a transcript is known as.
    stream, agent = ["--output-format", "stream-json"], ""

    def install(self, prefix):
        """Install into a folder of its own; npm removes what it does not know from a folder. No script of a package runs."""
        folder = pathlib.Path(prefix, self.name)
        home = folder / "node_modules" / self.package
        if not (home / "package.json").exists() or json.loads((home / "package.json").read_text())["version"] != self.version:
            folder.mkdir(parents=True, exist_ok=True)
            subprocess.run(["npm", "install", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund",
                            f"{self.package}@{self.version}"], check=True, stdout=subprocess.DEVNULL)
        self.program = ["node", str(home / self.script)]

    def hooks(self, repository, command, limit=None):
        """Settings with one stop hook, as a person would write them."""
        handler = {"type": "command", "command": command}
        if limit is not None:
            handler["timeout"] = limit * self.second
        path = pathlib.Path(repository, self.settings)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"hooks": {self.stop: [{"hooks": [handler]}]}}))

    def prepare(self, work, model, stream=False):
        """The command that gives it one prompt, which is the last argument, and its environment."""
        environment = dict(work.environment, TERM="dumb", NO_COLOR="1", NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
            environment[name] = model.address
        more, arguments = self.configure(work, model)
        return self.program + (self.stream if stream else []) + arguments, dict(environment, **more)

    def run(self, work, model, seconds):
        """One prompt, to its end or for so many seconds: what was printed, and whether it ended by itself."""
        command, environment = self.prepare(work, model)
        process = subprocess.Popen(command + ["Please do the task."], cwd=work.repository, env=environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        try:
            printed, ended = process.communicate(timeout=seconds)[0], True
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            printed, ended = process.communicate()[0], False
        return printed.decode("utf-8", "replace"), ended


class Codex(Client):
    name, package, version, script = "codex", "@openai/codex", "0.166.0", "bin/codex.js"
    settings, stop = ".codex/hooks.json", "Stop"
    # Every run has one.
    stream, agent = [], "codex"

    def configure(self, work, model):
        lines = ['model = "scripted"', 'model_provider = "loopback"', 'approval_policy = "never"',
                 "check_for_update_on_startup = false", "analytics = { enabled = false }",
                 "features = { apps = false, plugins = false, shell_snapshot = false }",
                 "[model_providers.loopback]", 'name = "loopback"', f'base_url = "{model.address}/v1"',
                 'wire_api = "responses"', 'env_key = "LOOPBACK_KEY"', "request_max_retries = 0",
                 "stream_max_retries = 0", "supports_websockets = false",
                 f"[projects.{json.dumps(work.repository)}]", 'trust_level = "trusted"', *self.trust(work)]
        path = pathlib.Path(work.home, ".codex/config.toml")
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
        sandbox = os.environ.get("CODEX_SANDBOX", "workspace-write")
        return {"LOOPBACK_KEY": "-"}, ["exec", "--json", "--sandbox", sandbox]

    def trust(self, work):
        """What `/hooks` would write after a person trusted every hook of the project."""
        path = pathlib.Path(work.repository, self.settings)
        hooks = json.loads(path.read_text())["hooks"] if path.exists() else {}
        for event, groups in hooks.items():
            event = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in event).lstrip("_")
            for group, handlers in enumerate(groups):
                for number, handler in enumerate(handlers["hooks"]):
                    known = {"async": False, "command": handler["command"], "timeout": handler.get("timeout", 600),
                             "type": "command"}
                    text = json.dumps({"event_name": event, "hooks": [known]}, separators=(",", ":"), ensure_ascii=False)
                    key = json.dumps(f"{path}:{event}:{group}:{number}")
                    yield f"[hooks.state.{key}]"
                    yield f'trusted_hash = "sha256:{hashlib.sha256(text.encode()).hexdigest()}"'


class Gemini(Client):
    name, package, version, script = "gemini", "@google/gemini-cli", "0.61.0", "bundle/gemini.js"
    settings, stop, block, second = ".gemini/settings.json", "AfterAgent", "deny", 1000
    agent = "gemini"

    def configure(self, work, model):
        quiet(work, ".gemini", "gemini-api-key", enableAutoUpdate=False)
        return {"GEMINI_API_KEY": "-", "GOOGLE_GEMINI_BASE_URL": model.address, "GEMINI_CLI_NO_RELAUNCH": "true",
                "GEMINI_CLI_TRUST_WORKSPACE": "true"}, ["--model", "gemini-2.5-flash", "--approval-mode", "yolo", "-p"]


class Qwen(Client):
    name, package, version, script = "qwen", "@qwen-code/qwen-code", "0.15.10", "cli.js"
    settings, stop, second = ".qwen/settings.json", "Stop", 1000
    # The format of Claude Code.
    agent = "claude-code"

    def configure(self, work, model):
        # Its memory asks the model a question of its own after a turn, with tools.
        memory = {"enableManagedAutoMemory": False, "enableManagedAutoDream": False}
        quiet(work, ".qwen", "openai", {"memory": memory}, disableAutoUpdate=True)
        return {"OPENAI_API_KEY": "-", "OPENAI_BASE_URL": f"{model.address}/v1", "OPENAI_MODEL": "scripted",
                "QWEN_CODE_NO_RELAUNCH": "true"}, ["--approval-mode", "yolo", "-p"]


def quiet(work, folder, login, more=None, /, **general):
    """The user's own settings of Gemini CLI and its descendants: how to log in, and nothing is sent anywhere."""
    path = pathlib.Path(work.home, folder, "settings.json")
    path.parent.mkdir(exist_ok=True)
    settings = {"general": general, "telemetry": {"enabled": False}, "privacy": {"usageStatisticsEnabled": False},
                "security": {"auth": {"selectedType": login}}}
    path.write_text(json.dumps(dict(settings, **more or {})))


CLIENTS = {client.name: client for client in (Codex(), Gemini(), Qwen())}
