"""A scripted model on loopback: answers what a scenario says, in the three dialects that the clients speak.

A scenario is a list of steps, one for each request that offers tools; the last one is repeated.
  {"say": TEXT}                          a final answer; `{n}` is the number of the request
  {"run": COMMAND}                       a call of the client's shell tool
  {"seen": TEXT, "then": …, "else": …}   by whether the request contains the text
The server is also the client's proxy, and refuses every other address: a client that tries to reach one is found out.
"""

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The shell tools of the clients, and how each takes a command.
SHELLS = {
    "exec_command": lambda command: {"cmd": command},
    "shell_command": lambda command: {"command": command},
    "shell": lambda command: {"command": ["bash", "-c", command]},
    "run_shell_command": lambda command: {"command": command, "description": "scripted"},
}


def offered(request):
    """The names of the tools that a request offers."""
    names = []
    for tool in request.get("tools") or []:
        for one in tool.get("functionDeclarations") or [tool.get("function") or tool]:
            names.append(one.get("name") or one.get("type"))
    return names


class Model:
    """The server, in a thread of its own."""

    def __init__(self, steps):
        self.steps, self.requests, self.refused = steps, [], []
        self.lock = threading.Lock()
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.document({"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []})

            def do_CONNECT(self):
                if self.path == f"127.0.0.1:{model.port}":
                    # To ourselves: go on with HTTP on this connection.
                    self.send_response_only(200, "Connection established")
                    self.end_headers()
                    self.close_connection = False
                    return
                model.refused.append(self.path)
                self.document({"error": "offline"}, 403)

            def do_POST(self):
                data = self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.headers.get("content-encoding") == "gzip":
                    data = gzip.decompress(data)
                text = data.decode("utf-8", "replace")
                try:
                    request = json.loads(text)
                except ValueError:
                    request = {}
                path = self.path.split("?")[0]
                if path.endswith("/responses"):
                    self.stream(responses(*model.step(text, request)), named=True)
                elif path.endswith("/chat/completions"):
                    self.stream(chat(*model.step(text, request)), done=True)
                elif path.endswith(":streamGenerateContent"):
                    self.stream([gemini(*model.step(text, request))])
                elif path.endswith(":generateContent"):
                    self.document(gemini(*model.step(text, request)))
                elif path.endswith(":countTokens"):
                    self.document({"totalTokens": 10})
                else:
                    self.document({"error": {"message": "not found"}}, 404)

            def document(self, value, status=200):
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def stream(self, events, named=False, done=False):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                for event in events:
                    name = f"event: {event['type']}\n" if named else ""
                    self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
                if done:
                    self.wfile.write(b"data: [DONE]\n\n")
                self.close_connection = True

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()

    def step(self, text, request):
        """The number of a request, and what it is answered: (number, words or None, call or None)."""
        names = offered(request)
        if not names:
            # A request for a title or the like uses up no step.
            return 0, "ok", None
        with self.lock:
            number = len(self.requests)
            self.requests.append(text)
        step = self.steps[min(number, len(self.steps) - 1)]
        while "seen" in step:
            step = step["then"] if step["seen"] in text else step["else"]
        if "say" in step:
            return number, step["say"].replace("{n}", str(number)), None
        shell = next((name for name in names if name in SHELLS), "shell")
        return number, None, (shell, SHELLS[shell](step["run"].replace("{n}", str(number))))


def responses(number, words, call):
    items = []
    if words is not None:
        content = [{"type": "output_text", "text": words, "annotations": []}]
        items.append({"type": "message", "id": f"m{number}", "role": "assistant", "status": "completed", "content": content})
    if call:
        items.append({"type": "function_call", "id": f"f{number}", "call_id": f"c{number}", "status": "completed",
                      "name": call[0], "arguments": json.dumps(call[1])})
    whole = {"id": f"r{number}", "object": "response", "status": "completed", "output": items,
             "usage": {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
                       "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}}
    yield {"type": "response.created", "response": dict(whole, status="in_progress", output=[])}
    for index, item in enumerate(items):
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        if item["type"] == "message":
            yield {"type": "response.output_text.delta", "item_id": item["id"], "output_index": index,
                   "content_index": 0, "delta": words}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": whole}


def chat(number, words, call):
    base = {"id": f"c{number}", "created": 0, "model": "scripted", "object": "chat.completion.chunk"}
    delta = {"role": "assistant", "content": words or ""}
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        delta["tool_calls"] = [{"index": 0, "id": f"c{number}", "type": "function", "function": function}]
    yield dict(base, choices=[{"index": 0, "delta": delta, "finish_reason": None}])
    yield dict(base, choices=[{"index": 0, "delta": {}, "finish_reason": "tool_calls" if call else "stop"}],
               usage={"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2})


def gemini(number, words, call):
    parts = [{"text": words}] if words is not None else []
    if call:
        parts.append({"functionCall": {"name": call[0], "args": call[1]}})
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
            "modelVersion": "scripted"}
