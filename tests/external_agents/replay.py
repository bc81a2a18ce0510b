"""Program that plays the agent's side of one recorded wire: `python -m tests.external_agents.replay WIRE LOG`.

Each request of the client is answered as the recording answers that method for the first (second, …) time. An agent
that writes the disk by itself does so here, too: the text of an edit that completes, unless the client has written it.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from pygent_ls.agent.json_fields import obj, objects, text
from tests.external_agents.wires import Exchange, Message, Wire, call_in, diffs_in, located, wire_in

METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602


class InputEndedError(Exception):
    """The client has closed the agent's input."""


class Replay:
    """The agent of one wire. What the client asks for and replies is logged, one JSON object a line."""

    def __init__(self, wire: Wire, streams: tuple[IO[str], IO[str]], log: IO[str]) -> None:
        self._wire = wire
        self._input, self._output = streams
        self._log_file = log
        self._n_asked = Counter[str]()
        self._unheard = deque[Message]()
        """Messages of the client that came while a reply was awaited."""
        self._folder = ""
        self._takes_writes = False
        """Whether the client offers to write files."""
        self._kinds: dict[str, str] = {}
        self._changes: dict[str, Sequence[Message]] = {}
        """Changes of files by the call that announces them."""
        self._written: set[str] = set()
        """Files that the client has written in this turn."""

    def run(self) -> None:
        """Answer until the input ends."""
        self._log(pid=os.getpid())
        try:
            while True:
                message = self._unheard.popleft() if self._unheard else self._next()
                if "method" in message and "id" in message:
                    self._answer(message)
        except InputEndedError:
            return

    def _answer(self, request: Message) -> None:
        method, params = text(request.get("method")), obj(request.get("params"))
        self._log(request=method, params=params)
        match method:
            case "initialize":
                self._takes_writes = bool(obj(obj(params.get("clientCapabilities")).get("fs")).get("writeTextFile"))
            case "session/new":
                self._folder = text(params.get("cwd"))
            case "session/prompt":
                self._written.clear()
            case _:
                pass
        exchange = self._recorded(method)
        if exchange is not None:
            for each in exchange.before:
                self._play(each, exchange)
            response = {name: value for name, value in exchange.response.items() if name != "id"}
            self._say({**response, "id": request["id"]})
            for each in exchange.after:
                self._play(each, exchange)
        else:
            self._say({"jsonrpc": "2.0", "id": request["id"], **self._unrecorded(method, params)})

    def _recorded(self, method: str) -> Exchange | None:
        """Return the exchange to play; a request that comes more often than it was recorded is answered as the last."""
        known = self._wire.of(method)
        number, self._n_asked[method] = self._n_asked[method], self._n_asked[method] + 1
        if not known or (method == "session/prompt" and number >= len(known)):
            return None
        return known[min(number, len(known) - 1)]

    def _unrecorded(self, method: str, params: Message) -> Message:
        """Return the answer to a request that was not recorded: an error, except for a mode that the agent offers."""
        if method == "session/set_mode":
            offered = objects(obj(self._wire.session.get("modes")).get("availableModes"))
            if params.get("modeId") in [each.get("id") for each in offered]:
                return {"result": {}}
        known = method in {each.method for each in self._wire.exchanges} or method == "session/set_mode"
        code = INVALID_PARAMS if known else METHOD_NOT_FOUND
        return {"error": {"code": code, "message": f"{method} was not recorded."}}

    def _play(self, recorded: Message, exchange: Exchange) -> None:
        """Send a message of the agent; for a request, wait for the reply."""
        message = located(recorded, self._folder)
        if call := call_in(message):
            self._follow(call)
        self._say(message)
        if "id" in message:
            reply = self._reply_to(message["id"])
            method, params = text(message.get("method")), obj(message.get("params"))
            if method == "fs/write_text_file" and self._takes_writes and "result" in reply:
                self._written.add(text(params.get("path")))
            expected = located(exchange.replies[recorded["id"]], self._folder)
            self._log(replied=method, params=params, reply=reply, recorded=expected)

    def _follow(self, call: Message) -> None:
        """Keep what a call announces, and write it to the disk once the call is completed."""
        call_id = text(call.get("toolCallId"))
        self._kinds[call_id] = text(call.get("kind")) or self._kinds.get(call_id, "")
        self._changes[call_id] = self._changes.get(call_id) or diffs_in(call)
        if call.get("status") == "completed" and self._kinds[call_id] == "edit":
            for each in self._changes[call_id]:
                self._write(each)

    def _write(self, diff: Message) -> None:
        path = Path(self._folder, text(diff.get("path")))
        if str(path) in self._written:
            return
        old, new = text(diff.get("oldText")), text(diff.get("newText"))
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if old not in before:
            raise ValueError(f"{path.name} does not contain {old!r}")
        path.write_text(before.replace(old, new, 1) if old else new, encoding="utf-8")

    def _reply_to(self, request_id: Any) -> Message:
        """Return the client's reply; what else it sends meanwhile is kept for later."""
        while True:
            message = self._next()
            if "method" not in message and message.get("id") == request_id:
                return message
            self._unheard.append(message)

    def _next(self) -> Message:
        line = self._input.readline()
        if not line:
            raise InputEndedError
        return json.loads(line)

    def _say(self, message: Message) -> None:
        self._output.write(json.dumps(message) + "\n")
        self._output.flush()

    def _log(self, **entry: Any) -> None:
        self._log_file.write(json.dumps(entry) + "\n")
        self._log_file.flush()


def log_of(file: Path) -> Sequence[Mapping[str, Any]]:
    """Return what a replay has logged."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def main() -> None:
    """Play the wire that the command line names."""
    wire, log = map(Path, sys.argv[1:])
    with log.open("a", encoding="utf-8") as file:
        Replay(wire_in(wire), (sys.stdin, sys.stdout), file).run()


if __name__ == "__main__":
    main()
