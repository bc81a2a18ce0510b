"""A daemon to measure: started as an editor starts it, and spoken to over its pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any


class Daemon:
    """A running daemon, initialized for one folder."""

    command: Sequence[str] = (sys.executable, "-m", "pygent_ls")

    def __init__(
        self, folder: Path, home: Path, capabilities: Mapping[str, Any] | None = None, /, **environment: str
    ) -> None:
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": str(home), **environment},
        )
        self._next_id = 0
        workspace = {"uri": folder.as_uri(), "name": folder.name}
        self.request(
            "initialize",
            {"processId": None, "rootUri": None, "workspaceFolders": [workspace], "capabilities": capabilities or {}},
        )
        self._send({"jsonrpc": "2.0", "method": "initialized", "params": {}})

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, *exception: object) -> None:
        self.process.kill()
        self.process.wait()

    def leave(self) -> None:
        """End it as an editor does."""
        self.request("shutdown", {})
        self._send({"jsonrpc": "2.0", "method": "exit"})
        self.process.wait()

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def begin(self, method: str, params: Mapping[str, Any]) -> int:
        """Send a request; returns its id."""
        self._next_id += 1
        self._send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        return self._next_id

    def cancel(self, request_id: int) -> None:
        """Cancel a request, and wait for its end."""
        self._send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": request_id}})
        self.until(lambda message: message.get("id") == request_id and "method" not in message)

    def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Send a request, and wait for its result."""
        return self.result(self.begin(method, params))

    def result(self, request_id: int) -> Any:
        """Wait for the result of a request; what the daemon asks meanwhile is answered with null."""

        def is_reply(message: dict[str, Any]) -> bool:
            return message.get("id") == request_id and "method" not in message

        reply = self.until(is_reply)
        if "result" not in reply:
            raise RuntimeError(reply["error"])
        return reply["result"]

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Read until such a message comes."""
        while True:
            message = self._read()
            if "method" in message and "id" in message:
                self._send({"jsonrpc": "2.0", "id": message["id"], "result": self.answer(message)})
            if wanted(message):
                return message

    def answer(self, request: Mapping[str, Any]) -> Any:
        """What this editor answers: the first action that is an allowance."""
        actions: list[dict[str, Any]] = request.get("params", {}).get("actions") or []
        return next((each for each in actions if each["title"] == "Allow once"), None)

    @property
    def resident_mb(self) -> float:
        """Memory that it holds now; 0 where the system does not tell it this way."""
        return resident_mb(self.process.pid)

    def _send(self, message: Mapping[str, Any]) -> None:
        body = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while (line := self.process.stdout.readline()).strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length, "the daemon has ended"
        return json.loads(self.process.stdout.read(length))


def resident_mb(pid: int) -> float:
    """Memory that a process holds; 0 where the system does not tell it this way."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
