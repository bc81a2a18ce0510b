"""An editor that speaks the protocol itself, to a daemon on standard streams or at a socket."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from tests.e2e.raw import framed
from tests.editors.lsp.editor_documents import Documents

WAIT_S = 60.0
"""Longest wait for an answer; a busy machine starts the daemon in 2 s."""

INTERNAL_ERROR = -32603

DAEMON = (sys.executable, "-m", "pygent_ls")

CAPABILITIES: Mapping[str, Any] = {
    "workspace": {
        "applyEdit": True,
        "workspaceFolders": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
    },
    "window": {"workDoneProgress": True},
    "general": {"positionEncodings": ["utf-16"]},
}

Prompt = Callable[[Mapping[str, Any]], Awaitable[Any]]
"""Answers a prompt of the daemon; may wait."""


class ErrorAnswer(Exception):  # noqa: N818 - an answer of the protocol, which most callers expect
    """The daemon answered with an error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.data: Any = error.get("data")


async def allow_once(_: Mapping[str, Any]) -> Any:
    """Allow what is asked."""
    return {"title": "Allow once"}


async def let_pass(seconds: float) -> None:
    """Let time pass, as a part of a fault or between two checks of a state that sends no event."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()


class Editor:
    """One connection. `run` reads it until it ends."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.documents = Documents(self.tell, "utf-16")
        self.prompt: Prompt = allow_once
        self.heard: dict[str | int, list[dict[str, Any]]] = {}
        """The events of each token, in their order."""
        self.on_events: Callable[[str | int, Sequence[dict[str, Any]]], None] = lambda _token, _events: None
        self.n_applied = 0
        self._reader = reader
        self._writer = writer
        self._ids = count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._prompts: dict[Any, asyncio.Task[None]] = {}
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._changed = asyncio.Event()
        self._task = asyncio.ensure_future(self._read())

    # Sending

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification."""
        self._send({"method": method, "params": dict(params)})

    def begin(self, method: str, params: Mapping[str, Any]) -> asyncio.Future[Any]:
        """Send a request; its result comes later, or `ErrorAnswer`."""
        number = next(self._ids)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda done: None if done.cancelled() else done.exception())  # it may be let alone
        answer.request_id = number  # type: ignore[attr-defined]
        if self._task.done():
            answer.set_exception(EOFError("the daemon closed its output"))
        else:
            self._send({"id": number, "method": method, "params": dict(params)})
        return answer

    async def ask(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Send a request and wait. Raises `ErrorAnswer`, EOFError and TimeoutError."""
        async with asyncio.timeout(WAIT_S):
            return await self.begin(method, params or {})

    async def ask_or_error(self, method: str, params: Mapping[str, Any]) -> Any:
        """Return the result, or None if the daemon refuses. Raises `ErrorAnswer` for an internal error."""
        try:
            return await self.ask(method, params)
        except ErrorAnswer as error:
            if error.code == INTERNAL_ERROR:
                raise
            return None

    def cancel(self, answer: asyncio.Future[Any]) -> None:
        """Cancel a request as LSP does."""
        self.tell("$/cancelRequest", {"id": answer.request_id})  # type: ignore[attr-defined]

    async def initialize(
        self, folder: Path, *, extensions: Mapping[str, bool] | None = None, applies_edits: bool = True
    ) -> Any:
        """The handshake."""
        capabilities = {**CAPABILITIES, "experimental": {"pygent": dict(extensions or {})}}
        if not applies_edits:
            del capabilities["workspace"]
        folders = [{"uri": folder.as_uri(), "name": folder.name}]
        given = {"processId": None, "rootUri": None, "workspaceFolders": folders, "capabilities": capabilities}
        result = await self.ask("initialize", given)
        self.tell("initialized", {})
        return result

    def stop_reading(self) -> None:
        """Leave what comes in the pipe."""
        self._may_read.clear()

    def read_on(self) -> None:
        """Take it."""
        self._may_read.set()

    async def until(self, true: Callable[[], object]) -> None:
        """Wait until a message has made something true."""
        async with asyncio.timeout(WAIT_S):
            while not true():
                if self._task.done():
                    raise EOFError("the daemon closed its output")
                self._changed.clear()
                await self._changed.wait()

    async def leave(self) -> None:
        """Close the connection at once; waiting requests end with EOFError."""
        self._may_read.set()
        for each in self._prompts.values():
            each.cancel()
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()
        self._task.cancel()
        await asyncio.gather(self._task, *self._prompts.values(), return_exceptions=True)

    def _send(self, message: Mapping[str, Any]) -> None:
        if not self._writer.is_closing():
            self._writer.write(framed({"jsonrpc": "2.0", **message}))

    # Receiving

    async def _read(self) -> None:
        try:
            while True:
                await self._may_read.wait()
                head = await self._reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
                self._take(json.loads(await self._reader.readexactly(length)))
                self._changed.set()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            self._changed.set()
            for each in self._waiting.values():
                if not each.done():
                    each.set_exception(EOFError("the daemon closed its output"))

    def _take(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if method is None:
            answer = self._waiting.pop(message["id"])
            if answer.done():
                return
            if "error" in message:
                answer.set_exception(ErrorAnswer(message["error"]))
            else:
                answer.set_result(message["result"])
        elif "id" in message:
            self._asked(message["id"], method, message.get("params", {}))
        elif method == "$/progress":
            params = message["params"]
            if isinstance(params["value"], dict) and (events := params["value"].get("events")):
                self.heard.setdefault(params["token"], []).extend(events)
                self.on_events(params["token"], events)
        elif method == "$/cancelRequest" and (task := self._prompts.pop(message["params"]["id"], None)):
            task.cancel()

    def _asked(self, number: Any, method: str, params: dict[str, Any]) -> None:
        if method == "workspace/applyEdit":
            self.n_applied += 1
            self._send({"id": number, "result": self.documents.apply(params)})
        elif method in ("window/showMessageRequest", "pygent/permission/request", "pygent/question/request"):
            self._prompts[number] = asyncio.ensure_future(self._answer(number, params))
        else:
            self._send({"id": number, "result": None})

    async def _answer(self, number: Any, params: Mapping[str, Any]) -> None:
        answer = await self.prompt(params)
        self._prompts.pop(number, None)
        self._send({"id": number, "result": answer})


class Daemon:
    """A daemon process, on its standard streams or at a socket."""

    def __init__(self, process: asyncio.subprocess.Process, socket: Path | None) -> None:
        self.process = process
        self.socket = socket
        self.stderr = b""
        self._said = asyncio.Event()
        self._errors = asyncio.ensure_future(self._read_errors())

    @classmethod
    async def start(
        cls,
        folder: Path,
        environment: Mapping[str, str],
        *,
        socket: Path | None = None,
        before: Sequence[str] = (),
    ) -> Daemon:
        """Start one; `before` are the words of a command that starts it."""
        options = ("--socket", str(socket)) if socket else ()
        process = await asyncio.create_subprocess_exec(
            *(*before, *DAEMON, *options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=folder,
            limit=2**20,
        )
        daemon = cls(process, socket)
        if socket:
            async with asyncio.timeout(WAIT_S):
                while f"listening at {socket}".encode() not in daemon.stderr:
                    assert process.returncode is None, daemon.stderr
                    daemon._said.clear()
                    await daemon._said.wait()
        return daemon

    async def connect(self) -> Editor:
        """An editor on it; only one without a socket."""
        if self.socket:
            return Editor(*await asyncio.open_unix_connection(self.socket, limit=2**20))
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        return Editor(self.process.stdout, self.process.stdin)

    def kill(self) -> None:
        """End it with -9."""
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)

    async def end(self, editor: Editor | None = None) -> int:
        """Shut it down as its editor does, at a socket with a signal; its exit code."""
        if self.socket is None and editor is not None:
            await editor.ask("shutdown")
            editor.tell("exit", {})
        else:
            self.process.terminate()
        return await self.wait()

    async def wait(self) -> int:
        """Wait for its end."""
        async with asyncio.timeout(WAIT_S):
            code = await self.process.wait()
            await self._errors
        return code

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(65536):
            self.stderr += data
            self._said.set()

    # What it holds

    def resident_bytes(self) -> int:
        """Memory that the daemon holds."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def descriptors(self) -> list[str]:
        """What is open, sorted."""
        found: list[str] = []
        for each in Path(f"/proc/{self.process.pid}/fd").iterdir():
            with suppress(OSError):
                found.append(str(each.readlink()))
        return sorted(found)

    def children(self) -> list[str]:
        """The command lines of the processes that it started and that still run."""
        found: list[str] = []
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with suppress(OSError):
                for pid in (task / "children").read_text().split():
                    found.append(
                        Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    )
        return found
