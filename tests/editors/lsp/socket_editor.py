"""Editors on one daemon: its end and theirs in one process, the frames go over a real Unix socket.

async with served(tmp_path) as daemon, daemon.editor("one") as one, daemon.editor("two") as two:
    result = await one.turn("hi")
"""

from __future__ import annotations

import asyncio
import socket
import tempfile
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pygent_ls.editors.lsp.daemon.socket_server import SocketDaemon
from pygent_ls.editors.lsp.transport.stdio import BrokenFrame, FrameReader, FrameWriter
from pygent_ls.editors.lsp.transport.unix_socket import listening, reach
from pygent_ls.editors.ports import ReadSettings
from pygent_ls.editors.shutdown import Closable
from tests.editors.lsp.editor import CAPABILITIES, Editor, FakeBlueprint, Setup, initialize
from tests.fakes import WAIT_S, bounded


class SocketEditor(Editor):
    """An editor that has connected to a daemon."""

    def __init__(self, folder: Path, blueprint: FakeBlueprint, path: Path) -> None:
        self._connection = reach(path)
        self._may_read = threading.Event()
        self._may_read.set()
        super().__init__(folder, blueprint)

    async def hung_up(self) -> None:
        """Wait until the daemon has."""
        await bounded(self._ended.wait())

    def send_raw(self, body: bytes | BrokenFrame) -> None:
        """Send a body as it is."""
        assert isinstance(body, bytes)
        self.writer.write(body)

    def send_bytes(self, data: bytes) -> None:
        """Send bytes that need be no frame."""
        self._connection.sendall(data)

    def stop_reading(self) -> None:
        """Take nothing more from the connection, beyond the frame that is on its way."""
        self._may_read.clear()

    def read_on(self) -> None:
        """Take the rest."""
        self._may_read.set()

    def leave(self) -> None:
        """Say no more, without a word of goodbye."""
        self._connection.shutdown(socket.SHUT_WR)

    async def close(self) -> None:
        """Disconnect, if still connected."""
        self.read_on()
        self.tell("exit", {})
        await self.hung_up()
        await asyncio.to_thread(self.writer.close, WAIT_S)
        self._stream.close()
        self._connection.close()

    def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        self._stream = self._connection.makefile("rb")
        self.writer = FrameWriter(self._connection.fileno(), loop, on_broken=lambda: None)
        FrameReader(
            stream=self._stream,
            loop=loop,
            on_message=self._receive,
            on_end=self._ended.set,
            before_frame=self._may_read.wait,
        ).start()


class NothingShared:
    """What editors have in common that have a core each."""

    async def close(self) -> None:
        """Nothing to do."""

    def kill_processes(self) -> None:
        """Return no documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A daemon that listens."""

    daemon: SocketDaemon
    path: Path
    folder: Path
    """In which each editor has a folder of its own."""
    setup: Setup

    @asynccontextmanager
    async def silent(self, name: str = "one") -> AsyncGenerator[SocketEditor]:
        """An editor that has connected and has said nothing; its folder has this name."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        editor = SocketEditor(folder, FakeBlueprint(setup=self.setup, state_folder=self.folder / "state"), self.path)
        try:
            yield editor
        finally:
            await editor.close()

    @asynccontextmanager
    async def editor(
        self, name: str = "one", *, capabilities: Mapping[str, Any] = CAPABILITIES, **params: object
    ) -> AsyncGenerator[SocketEditor]:
        """The same, once it has initialized."""
        async with self.silent(name) as editor:
            await initialize(editor, capabilities, params)
            yield editor


@asynccontextmanager
async def served(
    folder: Path,
    setup: Setup | None = None,
    *,
    read_settings: ReadSettings | None = None,
    core: Closable | None = None,
    **options: Any,
) -> AsyncGenerator[Served]:
    """A daemon; its state, and the folders of its editors, are in `folder`. Without `read_settings` each editor has a
    core of its own, as `setup` says; `options` are the daemon's."""
    setup = setup or Setup()
    blueprint = FakeBlueprint(setup=setup, state_folder=folder / "state")
    with tempfile.TemporaryDirectory(prefix="pygent-") as short:  # a test's own folder may be too deep for a socket
        path = Path(short) / "socket"
        with listening(path) as listener:
            daemon = SocketDaemon(listener, read_settings or blueprint.read, core or NothingShared(), **options)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(daemon.serve())
                try:
                    yield Served(daemon=daemon, path=path, folder=folder, setup=setup)
                finally:
                    daemon.end()
