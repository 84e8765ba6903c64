"""A language model on loopback whose every answer is decided by a scenario.

A scenario is a function `decide(turn, text)`: `turn` counts the requests that offer tools, from 0, and `text` is the whole
request. It returns `Say(...)`, a final answer, or `Shell(...)`, a call of the client's shell tool. Requests without tools
(titles, loop checks) are answered with the smallest document that fits the schema they ask for, and count as no turn.

The same port is the client's proxy. It forwards nothing, and `refused` lists every other address that a client asked for.
"""

import gzip
import http.server
import json
import threading
from dataclasses import dataclass


@dataclass
class Say:
    """A final answer."""
    words: str


@dataclass
class Shell:
    """A call of the client's shell tool."""
    command: str


class Responses:
    """OpenAI's Responses interface, which Codex speaks."""
    paths = ("/responses",)

    def __init__(self, request):
        self.names = [tool.get("name", "") for tool in request.get("tools") or []]
        self.schema = None

    def events(self, turn, answer):
        if isinstance(answer, Say):
            item = {"type": "message", "id": f"item-{turn}", "role": "assistant",
                    "content": [{"type": "output_text", "text": answer.words}]}
        else:
            if "exec_command" in self.names:
                name, arguments = "exec_command", {"cmd": answer.command}
            elif "shell_command" in self.names:
                name, arguments = "shell_command", {"command": answer.command}
            else:
                name, arguments = "shell", {"command": ["sh", "-c", answer.command]}
            item = {"type": "function_call", "id": f"item-{turn}", "call_id": f"call-{turn}", "name": name,
                    "arguments": json.dumps(arguments)}
        done = {"id": f"response-{turn}", "output": [item],
                "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5,
                          "input_tokens_details": None, "output_tokens_details": None}}
        yield "response.created", {"type": "response.created", "response": {"id": done["id"]}}
        yield "response.output_item.done", {"type": "response.output_item.done", "item": item}
        yield "response.completed", {"type": "response.completed", "response": done}


class Chat:
    """OpenAI's Chat Completions, which Qwen Code speaks."""
    paths = ("/chat/completions",)

    def __init__(self, request):
        self.names = [tool["function"]["name"] for tool in request.get("tools") or [] if "function" in tool]
        self.schema = (request.get("response_format") or {}).get("json_schema", {}).get("schema")
        self.streams = request.get("stream", False)

    def events(self, turn, answer):
        calls = isinstance(answer, Shell)
        message = {"role": "assistant", "content": None if calls else answer.words}
        if calls:
            arguments = json.dumps({"command": answer.command, "description": "as the scenario says", "is_background": False})
            message["tool_calls"] = [{"index": 0, "id": f"call-{turn}", "type": "function",
                                      "function": {"name": "run_shell_command", "arguments": arguments}}]
        whole = {"id": f"chat-{turn}", "model": "scripted", "created": 1,
                 "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}}
        end = "tool_calls" if calls else "stop"
        if self.streams:
            yield None, dict(whole, object="chat.completion.chunk",
                             choices=[{"index": 0, "delta": message, "finish_reason": end}])
            yield None, "[DONE]"
        else:
            yield None, dict(whole, object="chat.completion",
                             choices=[{"index": 0, "message": message, "finish_reason": end}])


class Gemini:
    """Gemini's own interface."""
    paths = (":streamGenerateContent", ":generateContent")

    def __init__(self, request):
        tools = request.get("tools") or []
        self.names = [one["name"] for tool in tools for one in tool.get("functionDeclarations") or []]
        settings = request.get("generationConfig") or {}
        self.schema = settings.get("responseJsonSchema") or settings.get("responseSchema")

    def events(self, turn, answer):
        if isinstance(answer, Say):
            part = {"text": answer.words}
        else:
            part = {"functionCall": {"id": f"call-{turn}", "name": "run_shell_command",
                                     "args": {"command": answer.command, "description": "as the scenario says"}}}
        candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
        yield None, {"candidates": [candidate], "modelVersion": "scripted",
                     "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}}


def smallest(schema):
    """The smallest document that fits a JSON schema, as far as such requests use schemas."""
    kind = str(schema.get("type", "object")).lower()
    if schema.get("enum"):
        return schema["enum"][0]
    if kind == "object":
        fields = schema.get("properties") or {}
        return {name: smallest(fields[name]) for name in schema.get("required") or fields}
    return {"array": [], "boolean": False, "integer": 0, "number": 0}.get(kind, "-")


class Model:
    """The server. `requests` has the text of every turn."""

    def __init__(self, decide):
        self.decide, self.requests, self.refused = decide, [], []
        self._lock = threading.Lock()
        outer = self

        class Connection(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def do_GET(self):
                self.reply(200, {"data": [], "models": []})

            def do_CONNECT(self):
                # Some clients ask the proxy for the way to the model itself: it is here, so the connection goes on.
                if self.path == outer.address.removeprefix("http://"):
                    self.wfile.write(b"HTTP/1.1 200 here\r\n\r\n")
                    self.close_connection = False
                    return
                outer.refused.append(self.path)
                self.reply(403, {"error": "there is no network here"})

            def do_POST(self):
                if not self.path.startswith("/"):
                    outer.refused.append(self.path)
                    return self.reply(403, {"error": "there is no network here"})
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
                path = self.path.partition("?")[0]
                for dialect in (Responses, Chat, Gemini):
                    if path.endswith(dialect.paths):
                        text = body.decode("utf-8", "replace")
                        events = outer.answer(dialect(json.loads(text)), text)
                        return self.reply(200, list(events), "text/event-stream" if self.streams(path, text) else None)
                if path.endswith(":countTokens"):
                    return self.reply(200, {"totalTokens": 3})
                return self.reply(404, {"error": {"message": f"nothing is known of {path}"}})

            @staticmethod
            def streams(path, text):
                return path.endswith(("/responses", ":streamGenerateContent")) or json.loads(text).get("stream", False)

            def reply(self, status, content, kind=None):
                if kind is None:
                    document = content[0][1] if isinstance(content, list) else content
                    data = json.dumps(document)
                else:
                    lines = []
                    for name, event in content:
                        lines.append(f"event: {name}\n" if name else "")
                        lines.append(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n")
                    data = "".join(lines)
                self.send_response(status)
                self.send_header("Content-Type", kind or "application/json")
                self.end_headers()
                self.wfile.write(data.encode())

            def log_message(self, format, *arguments):
                """Nothing: what was asked is in `requests`."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Connection)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, dialect, text):
        """What a request is answered with."""
        if not dialect.names:
            return dialect.events("side", Say(json.dumps(smallest(dialect.schema)) if dialect.schema else "ok"))
        with self._lock:
            turn = len(self.requests)
            self.requests.append(text)
            return dialect.events(turn, self.decide(turn, text))

    def close(self):
        self._server.shutdown()
        self._server.server_close()
