"""A model on loopback for agents that others wrote. "Please do the EDIT now" and the like choose what it does.

TEXT answers; EDIT reads a.py and changes `x = 1` to `x = 2`; WRITE creates new.py; SHELL runs a command.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pygent_ls.agent.json_fields import obj, text
from tests.external_agents.dialects import Asked, Json, ToolUse, dialect_of

COMMAND, OUTPUT = "echo hi-from-shell", "hi-from-shell"
"""The command that the model runs, and what that prints."""

STEPS: Mapping[str, tuple[str, ...]] = {
    "TEXT": (),
    "EDIT": ("read", "edit"),
    "WRITE": ("write",),
    "SHELL": ("shell",),
}
"""Calls that each word leads to."""

PROMPT = re.compile(rf"please do the ({'|'.join(STEPS)}) now")

SHELLS = ("bash", "Bash", "run_shell_command", "shell", "shell_command", "exec_command")

TOOLS: Mapping[str, tuple[str, ...]] = {
    "read": ("read_file", "read", "Read", "view", *SHELLS),
    "edit": ("edit", "Edit", "replace", "apply_patch", *SHELLS),
    "write": ("write_file", "write", "Write", "create", "apply_patch", *SHELLS),
    "shell": SHELLS,
}
"""Names that the agents' tools have; an agent without a tool for files has a shell."""

PATCHES: Mapping[str, str] = {
    "edit": "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch\n",
    "write": "*** Begin Patch\n*** Add File: new.py\n+y = 1\n*** End Patch\n",
}

LINES: Mapping[str, str] = {
    "read": "cat a.py",
    "shell": COMMAND,
    **{step: f"apply_patch <<'EOF'\n{patch}EOF" for step, patch in PATCHES.items()},
}
"""Command lines of each step."""

FILLED: Mapping[str, Any] = {"string": "say", "boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}
"""Values of required arguments that do not matter, by type."""

MAX_CHUNK = 1_000_000


class Server(ThreadingHTTPServer):
    """The model; `folder` is the workspace."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._folder = folder
        self._ids = itertools.count(1)

    @property
    def url(self) -> str:
        """Address without a path."""
        return f"http://127.0.0.1:{self.server_port}"

    def choose(self, asked: Asked) -> ToolUse | None:
        """Return the call that answers a request; None for a text."""
        steps, n_results = (), 0
        for each in asked.heard:
            words = PROMPT.findall(each or "")
            steps, n_results = (STEPS[words[-1]], 0) if words else (steps, n_results + (each is None))
        if n_results >= len(steps):
            return None
        step = steps[n_results]
        name = next((each for each in TOOLS[step] if each in asked.tools), None)
        if name is None:
            return None  # a request for something else, such as a title
        schema = asked.tools[name]
        arguments = PATCHES[step] if schema is None else self._arguments(step, schema)
        return ToolUse(id=f"call_{next(self._ids):09}", name=name, arguments=arguments)

    def _arguments(self, step: str, schema: Json) -> Json:
        path = str(self._folder / ("new.py" if step == "write" else "a.py"))
        values = {
            **dict.fromkeys(("file_path", "filePath", "path"), path),
            **dict.fromkeys(("old_string", "oldString", "old_str"), "x = 1"),
            **dict.fromkeys(("new_string", "newString", "new_str"), "x = 2"),
            **dict.fromkeys(("content", "file_text"), "y = 1\n"),
            **dict.fromkeys(("command", "cmd"), LINES[step]),
            "input": PATCHES.get(step, ""),
        }
        properties, required = obj(schema.get("properties")), schema.get("required") or ()
        given = {name: values[name] for name in properties if name in values}
        filled = {name: _filled(obj(properties.get(name))) for name in required if name not in given}
        return {**filled, **given}


def _filled(schema: Json) -> Any:
    choices = schema.get("enum")
    return choices[0] if choices else FILLED.get(text(schema.get("type")), "say")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def do_HEAD(self) -> None:
        self._send("application/json", b"")

    def do_GET(self) -> None:
        models = [{"id": "mock", "object": "model", "type": "model", "display_name": "mock", "owned_by": "mock"}]
        self._send("application/json", json.dumps({"object": "list", "data": models, "models": []}).encode())

    def do_POST(self) -> None:
        body, dialect = obj(_parsed(self._body())), dialect_of(self.path)
        if dialect is None:
            counted = {"input_tokens": 10, "totalTokens": 10}  # a count of tokens, or what no agent needs
            self._send("application/json", json.dumps(counted).encode())
            return
        asked = dialect.read(self.path, body)
        use = self.server.choose(asked)
        if not asked.streams:
            self._send("application/json", json.dumps(dialect.answer(use)).encode())
            return
        events = [_event(each) for each in dialect.events(use)]
        end = "data: [DONE]\n\n" if self.path.endswith("/chat/completions") else ""
        self._send("text/event-stream", "".join([*events, end]).encode())

    def _body(self) -> bytes:
        if "chunked" not in (self.headers.get("transfer-encoding") or ""):
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        chunks: list[bytes] = []
        while size := int(self.rfile.readline(MAX_CHUNK).split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline(MAX_CHUNK)
        self.rfile.readline(MAX_CHUNK)
        return b"".join(chunks)

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _event(event: Json) -> str:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n"


@contextmanager
def model(folder: Path) -> Generator[str]:
    """Yield the address of a model for a workspace."""
    with Server(folder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server.url
        finally:
            server.shutdown()
            thread.join()
