"""Minimal editor for a turn: open documents, edits that are applied to them, and prompts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from msgspec import Struct

from pygent_ls.cli.demo.daemon import DemoDaemon, DemoError, Message

ANSWER_S = 30.0
"""Maximum wait for a message of the daemon: its start takes seconds on a loaded machine, everything else is faster."""

METHOD_NOT_FOUND = -32601
REQUEST_CANCELLED = -32800

CAPABILITIES: Mapping[str, Any] = {
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}, "workspaceFolders": True},
    "textDocument": {"synchronization": {"didSave": True}},
}
"""Capabilities of most editors, without any extension of ours."""


class DemoDocument(Struct):
    """Open document; `text` may be newer than the file."""

    path: Path
    text: str
    version: int = 1

    @property
    def uri(self) -> str:
        """URI sent to the daemon."""
        return self.path.as_uri()


class User(Protocol):
    """User of the editor."""

    @property
    def wants_to_stop(self) -> bool:
        """Whether to cancel the turn."""
        ...

    def sees(self, event: Message) -> None:
        """Show an event of the turn."""
        ...

    def told(self, message: str) -> None:
        """Show a message from the daemon."""
        ...

    def answers(self, message: str, titles: Sequence[str]) -> str | None:
        """Return the action chosen in a prompt; None if it was closed."""
        ...

    def sees_edit(self, document: DemoDocument, before: str) -> None:
        """Show an edit that was applied to an open document and saved; `before` is the previous text."""
        ...


class Editor:
    """Editor with one daemon. Each method waits for the daemon's answer, for `ANSWER_S` at most."""

    def __init__(self, daemon: DemoDaemon, user: User) -> None:
        self._daemon = daemon
        self._user = user
        self._documents: dict[str, DemoDocument] = {}
        self._n_requests = 0
        self._on_request: Mapping[str, Callable[[Message], Any]] = {
            "window/showMessageRequest": self._prompt,
            "workspace/applyEdit": self._apply,
        }

    def start(self, folder: Path, settings: Mapping[str, Any]) -> None:
        """Send `initialize` for a workspace folder, with settings as in an editor's configuration."""
        self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": {"name": "pygent-ls demo"},
                "capabilities": CAPABILITIES,
                "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name}],
                "initializationOptions": {"pygent": settings},
            },
        )
        self._notify("initialized", {})

    def open(self, path: Path) -> DemoDocument:
        """Open a file."""
        document = DemoDocument(path, path.read_text(encoding="utf-8"))
        self._documents[document.uri] = document
        item = {"uri": document.uri, "languageId": "python", "version": document.version, "text": document.text}
        self._notify("textDocument/didOpen", {"textDocument": item})
        return document

    def type(self, document: DemoDocument, text: str) -> None:
        """Change the document's text to `text`, unsaved."""
        document.text = text
        document.version += 1
        identifier = {"uri": document.uri, "version": document.version}
        self._notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": [{"text": text}]})

    def save(self, document: DemoDocument) -> None:
        """Write the document to its file."""
        document.path.write_text(document.text, encoding="utf-8")
        self._notify("textDocument/didSave", {"textDocument": {"uri": document.uri}})

    def run_turn(self, prompt: str) -> Message:
        """Send `pygent/turn/start`; return the turn's result, also if the user stopped it."""
        return self.request("pygent/turn/start", {"prompt": prompt, "partialResultToken": "turn"})

    def stop(self) -> None:
        """Send `shutdown` and `exit`."""
        self.request("shutdown", None)
        self._notify("exit", None)

    def request(self, method: str, params: Mapping[str, Any] | None) -> Message:
        """Send a request, and serve the daemon until it has answered. Raises `DemoError` for an error."""
        self._n_requests += 1
        self._daemon.send({"id": self._n_requests, "method": method, "params": params})
        stopping = False
        while True:
            message = self._daemon.receive(ANSWER_S)
            if "method" in message:
                self._serve(message)
            elif message.get("id") == self._n_requests:
                return _result(message, method)
            if self._user.wants_to_stop and not stopping:
                stopping = True
                self._notify("$/cancelRequest", {"id": self._n_requests})

    def _notify(self, method: str, params: Mapping[str, Any] | None) -> None:
        self._daemon.send({"method": method, "params": params})

    # Messages from the daemon

    def _serve(self, message: Message) -> None:
        method, params = str(message["method"]), cast("Message", message.get("params") or {})
        if "id" in message:
            self._answer(message["id"], method, params)
        elif method == "$/progress":
            for event in params["value"].get("events", []):
                self._user.sees(event)
        elif method == "window/showMessage":
            self._user.told(str(params["message"]))

    def _answer(self, request_id: int | str, method: str, params: Message) -> None:
        handler = self._on_request.get(method)
        if handler is None:
            error = {"code": METHOD_NOT_FOUND, "message": f"unknown method {method}"}
            self._daemon.send({"id": request_id, "error": error})
        else:
            self._daemon.send({"id": request_id, "result": handler(params)})

    def _prompt(self, params: Message) -> Message | None:
        actions = cast("list[Message]", params.get("actions") or [])
        titles = [str(action["title"]) for action in actions]
        chosen = self._user.answers(str(params["message"]), titles)
        return {"title": chosen} if chosen is not None else None

    def _apply(self, params: Message) -> Message:
        """Apply an edit to the open document, notify the daemon, and save, so that programs see what the screen
        shows.
        """
        (change,) = params["edit"]["documentChanges"]
        document = self._documents.get(change["textDocument"]["uri"])
        if document is None or change["textDocument"]["version"] != document.version:
            return {"applied": False, "failureReason": "the document is not open or has changed"}
        before = document.text
        self.type(document, with_edits(before, change["edits"]))
        self.save(document)
        self._user.sees_edit(document, before)
        return {"applied": True}


def _result(message: Message, method: str) -> Message:
    """Return the result of a response; a cancelled one carries it in its error. Raises `DemoError`."""
    error = message.get("error")
    if error is None:
        return cast("Message", message["result"] or {})
    if error["code"] == REQUEST_CANCELLED and "data" in error:
        return cast("Message", error["data"])
    raise DemoError(f"{method} failed: {error['message']}")


def with_edits(text: str, edits: Sequence[Message]) -> str:
    """Apply LSP text edits; their ranges refer to the original text and do not overlap."""
    places = [(_offset(text, edit["range"]["start"]), _offset(text, edit["range"]["end"]), edit) for edit in edits]
    parts: list[str] = []
    done = 0
    for start, end, edit in sorted(places, key=lambda place: place[:2]):
        parts += [text[done:start], edit["newText"]]
        done = end
    return "".join([*parts, text[done:]])


def _offset(text: str, position: Mapping[str, int]) -> int:
    """Return the offset of a position, which counts UTF-16 code units, the default of LSP."""
    lines = text.split("\n")
    before = lines[: position["line"]]
    line = lines[position["line"]] if position["line"] < len(lines) else ""
    column = len(line.encode("utf-16-le")[: 2 * position["character"]].decode("utf-16-le", "ignore"))
    return min(sum(len(each) + 1 for each in before) + column, len(text))
