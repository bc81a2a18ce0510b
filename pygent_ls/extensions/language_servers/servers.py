"""The language servers of one front end: each is started when it is first needed, one for each root."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any

from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.ports.language_features import Feature
from pygent_ls.agent.ports.workspace import MISSING, Document, Workspace
from pygent_ls.errors import ToolError
from pygent_ls.extensions.language_servers.file_watch import FileWatch
from pygent_ls.extensions.language_servers.peers import LanguagePeer
from pygent_ls.extensions.language_servers.server import METHODS, LanguageServer
from pygent_ls.extensions.language_servers.specs import LanguageServerHost, LanguageServerSpec, root_of

RESTARTS_S = (1.0, 5.0, 30.0, 120.0)
"""Time after each end in a row in which a server is not started again; the last one applies from then on."""

STEADY_S = 60.0
"""Time after which a server counts as working: the waits begin anew when it ends."""

MAX_RUNNING = 8
"""Maximum number of servers that run at once: some take hundreds of megabytes."""

MAX_ERROR_CHARS = 500


class LanguageServers:
    """Starts, restarts and ends servers. Implements `LanguageSource`."""

    def __init__(
        self, host: LanguageServerHost, workspace: Workspace, restarts_s: Sequence[float] = RESTARTS_S
    ) -> None:
        self._host = host
        self._workspace = workspace
        self._restarts_s = restarts_s
        self._specs: dict[str, LanguageServerSpec] = {}
        self._slots: dict[tuple[str, Path], _Slot] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._preparing: set[asyncio.Task[None]] = set()

    def apply(self, specs: Iterable[LanguageServerSpec]) -> None:
        """Take the servers of the settings; end those that are no longer in them or have changed. Returns at once."""
        self._specs, before = {each.name: each for each in specs}, self._specs
        for key, slot in list(self._slots.items()):
            if before.get(key[0]) != self._specs.get(key[0]):
                del self._slots[key]
                self._drop(slot)

    @property
    def offered(self) -> Collection[Feature]:
        """Every feature, if there is a server: what it can do is known once it runs."""
        return ("diagnostics", *METHODS) if self._specs else ()

    def prepare(self, paths: Sequence[Path]) -> None:
        wanted = [path for path in paths if any(spec.is_for(path) for spec in self._specs.values())]
        if wanted:
            task = asyncio.create_task(self._prepare(wanted))
            self._preparing.add(task)
            task.add_done_callback(self._preparing.discard)

    async def peers(self, path: Path | None) -> Sequence[LanguagePeer]:
        if path is None:
            return [slot.server for slot in self._slots.values() if slot.server is not None and slot.server.runs]
        return await self._servers_for(path)

    async def close(self) -> None:
        """End all servers, and wait until they have ended."""
        for task in self._preparing:
            task.cancel()
        starting = {slot.starting for slot in self._slots.values() if slot.starting is not None}
        self.apply(())
        if waiting := self._ending | self._preparing | starting:
            await asyncio.wait(waiting)

    async def _prepare(self, paths: Sequence[Path]) -> None:
        for path in paths:
            try:
                document = await self._workspace.read(path)
                for server in await self._servers_for(path):
                    await server.learn(document)
            except ToolError:  # a new file, or one that cannot be read: its check says so
                continue

    async def _servers_for(self, path: Path) -> Sequence[LanguageServer]:
        found: list[LanguageServer] = []
        for spec in self._specs.values():
            if not spec.is_for(path):
                continue
            root = await asyncio.to_thread(root_of, path, spec.root_markers, self._host.folders())
            server = await self._running(spec, root) if root is not None else None
            if server is not None:
                await self._bring_up_to_date(server)
                found.append(server)
        return found

    async def _running(self, spec: LanguageServerSpec, root: Path) -> LanguageServer | None:
        """Return the server of a root, started if need be; None if it cannot be started now."""
        slot = self._slots.pop((spec.name, root), None)
        if slot is None:
            if len(self._slots) >= MAX_RUNNING:
                unused = next((key for key, each in self._slots.items() if not each.is_busy), None)
                if unused is None:
                    return None
                self._drop(self._slots.pop(unused))
            slot = _Slot()
        self._slots[(spec.name, root)] = slot  # the least recently used one is the first
        if slot.starting is None:
            if slot.server is not None and slot.server.runs:
                return slot.server
            slot.starting = asyncio.create_task(self._start(slot, spec, root))
        starting = slot.starting
        await asyncio.wait([starting])  # whoever waits may give up, and the start goes on
        return None if starting.cancelled() else starting.result()

    async def _start(self, slot: _Slot, spec: LanguageServerSpec, root: Path) -> LanguageServer | None:
        clock = asyncio.get_running_loop().time
        try:
            if slot.server is not None:  # it has ended
                slot.note_end(clock(), self._restarts_s)
                self._retire(slot)
            if clock() < slot.not_before_s:
                return None
            watch = FileWatch(self._workspace, spec.is_for, root)
            await watch.changes()
            server, slot.began_s = LanguageServer(spec, root, self._host, watch), clock()
            slot.server = server
            await server.start()
            return server
        except ToolError as error:
            slot.note_end(clock(), self._restarts_s)
            self._retire(slot)
            if slot.n_ends == 1:
                why = one_line(str(error), MAX_ERROR_CHARS)
                self._host.tell(f"The language server {spec.name} cannot be used: {why}")
            return None
        finally:
            slot.starting = None

    async def _bring_up_to_date(self, server: LanguageServer) -> None:
        """Tell a server what has changed on the disk and of the documents that it has open, and all unsaved documents
        of its files."""
        server.tell_changes(await server.watch.changes())
        unsaved = {each.path: each for each in self._workspace.unsaved() if server.spec.is_for(each.path)}
        for document in unsaved.values():
            await server.learn(document)
        for path, known in server.open_stamps.items():
            stamp = await self._workspace.stamp(path)
            if stamp == known:
                continue
            document = await self._current(path) if stamp != MISSING else None
            if document is None:
                server.forget(path)
            else:
                await server.learn(document)

    async def _current(self, path: Path) -> Document | None:
        try:
            return await self._workspace.read(path)
        except ToolError:
            return None

    def _retire(self, slot: _Slot) -> None:
        """End the server of a slot, if there is one. Returns at once."""
        if slot.server is not None:
            self._own(slot.server.stop())
            slot.server = None

    def _drop(self, slot: _Slot) -> None:
        """End the server of a slot that is no longer used, also one that is starting. Returns at once."""
        if slot.starting is not None:
            slot.starting.cancel()
        self._retire(slot)

    def _own(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


class _Slot:
    """Place of one server at one root, through its restarts."""

    def __init__(self) -> None:
        self.server: LanguageServer | None = None
        self.starting: asyncio.Task[LanguageServer | None] | None = None
        self.began_s = 0.0
        self.not_before_s = 0.0
        self.n_ends = 0
        """Number of ends in a row."""

    @property
    def is_busy(self) -> bool:
        """Whether its server starts, or somebody waits for an answer of it."""
        return self.starting is not None or (self.server is not None and self.server.is_busy)

    def note_end(self, now_s: float, restarts_s: Sequence[float]) -> None:
        """Note that the server has ended, and when it may be started again."""
        self.n_ends = 1 if now_s - self.began_s > STEADY_S else self.n_ends + 1
        self.not_before_s = now_s + restarts_s[min(self.n_ends, len(restarts_s)) - 1]
