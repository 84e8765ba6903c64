"""The real clients: how each is installed, configured and started, offline and in an empty environment."""

import hashlib
import json
import os
import subprocess

PACKAGES = {
    "codex": ("@openai/codex", "0.166.0", "bin/codex.js"),
    "gemini": ("@google/gemini-cli", "0.61.0", "bundle/gemini.js"),
    "qwen": ("@qwen-code/qwen-code", "0.15.10", "cli.js"),
}


def install(client, prefix):
    """Install a client below the prefix, unless it is there. No code of the package runs while it is installed."""
    package, version, script = PACKAGES[client]
    folder = os.path.join(prefix, "node_modules", package)
    if not os.path.exists(os.path.join(folder, "package.json")):
        os.makedirs(prefix, exist_ok=True)
        subprocess.run(["npm", "install", "--prefix", prefix, "--ignore-scripts", "--no-audit", "--no-fund", "--no-save",
                        f"{package}@{version}"], check=True)
    return os.path.join(folder, script)


def write(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(value if isinstance(value, str) else json.dumps(value))


def trust(hooks_file):
    """What Codex's settings must say so that it runs the hooks of a project."""
    with open(hooks_file, encoding="utf-8") as file:
        hooks = json.load(file)["hooks"]
    text = ""
    for event, groups in hooks.items():
        name = "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(event))
        for g, group in enumerate(groups):
            for h, hook in enumerate(group["hooks"]):
                identity = {"event_name": name, "hooks": [{"async": False, "command": hook["command"],
                                                           "timeout": hook.get("timeout", 600), "type": "command"}]}
                digest = hashlib.sha256(json.dumps(identity, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
                text += f'[hooks.state.{json.dumps(f"{hooks_file}:{name}:{g}:{h}")}]\ntrusted_hash = "sha256:{digest}"\n'
    return text


def start(client, script, work, model, limit):
    """Run a client once, to its end or for `limit` seconds; what it printed."""
    home, repository = work.home, work.repository
    proxy = f"http://127.0.0.1:{model.port}"
    environment = dict(work.environment, HTTP_PROXY=proxy, HTTPS_PROXY=proxy, http_proxy=proxy, https_proxy=proxy,
                       NO_PROXY="127.0.0.1,localhost", no_proxy="127.0.0.1,localhost", TERM="dumb", NO_COLOR="1")
    prompt = "Please finish the task."
    if client == "codex":
        settings = f'''model = "scripted"
model_provider = "rig"
approval_policy = "never"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
apps = false
plugins = false
shell_snapshot = false
[model_providers.rig]
name = "rig"
base_url = "http://127.0.0.1:{model.port}/v1"
wire_api = "responses"
env_key = "RIG_KEY"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
[projects.{json.dumps(repository)}]
trust_level = "trusted"
'''
        write(f"{home}/.codex/config.toml", settings + trust(f"{repository}/.codex/hooks.json"))
        environment["RIG_KEY"] = "none"
        command = ["exec", "--json", "-s", os.environ.get("CODEX_SANDBOX", "workspace-write"), prompt]
    elif client == "gemini":
        write(f"{home}/.gemini/settings.json", {
            "security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False}, "general": {"enableAutoUpdate": False}})
        environment.update(GEMINI_API_KEY="none", GOOGLE_GEMINI_BASE_URL=proxy, GEMINI_CLI_NO_RELAUNCH="true",
                           GEMINI_CLI_TRUST_WORKSPACE="true")
        command = ["-m", "gemini-2.5-flash", "--approval-mode", "yolo", "--output-format", "json", "-p", prompt]
    else:
        write(f"{home}/.qwen/settings.json", {
            "security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False}, "general": {"disableAutoUpdate": True, "enableAutoUpdate": False}})
        environment.update(OPENAI_API_KEY="none", OPENAI_BASE_URL=f"{proxy}/v1", OPENAI_MODEL="scripted",
                           QWEN_CODE_NO_RELAUNCH="true")
        command = ["--approval-mode", "yolo", "--output-format", "json", "-p", prompt]
    with subprocess.Popen(["node", script, *command], cwd=repository, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as process:
        try:
            return process.communicate(timeout=limit)[0].decode("utf-8", "replace"), True
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            return process.communicate()[0].decode("utf-8", "replace"), False
