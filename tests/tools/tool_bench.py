"""A workspace to try tools on: real files, real processes, and buffers as an editor would have them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from pygent_ls.agent.calls.no_processes import NoProcesses
from pygent_ls.agent.ports.templates import Templates
from pygent_ls.agent.ports.workspace import Document, EditPlan, Stamp
from pygent_ls.agent.tools.read_log import ReadLog
from pygent_ls.agent.tools.tool import Tool, ToolContext
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from pygent_ls.workspace.files.document_text import digest
from pygent_ls.workspace.processes.local_processes import LocalProcesses


class WorkspaceWithBuffers(DiskWorkspace):
    """The disk, and what a user has typed and not saved."""

    def __init__(self, folders: Sequence[Path]) -> None:
        super().__init__(folders)
        self._buffers: dict[Path, Document] = {}

    def type_into(self, path: Path, text: str) -> None:
        """The buffer of this file holds the text now; nothing is saved."""
        version = (self._buffers[path].version or 0) + 1 if path in self._buffers else 1
        self._buffers[path] = Document(
            path=path, text=text, digest=digest(text), stamp=f"buffer {version}", version=version
        )

    async def read(self, path: Path) -> Document:
        return self._buffers.get(path) or await super().read(path)

    async def stamp(self, path: Path) -> Stamp:
        return self._buffers[path].stamp if path in self._buffers else await super().stamp(path)

    async def stamps(self, paths: Sequence[Path]) -> Sequence[Stamp]:
        return [await self.stamp(path) for path in paths]

    async def tree_stamp(self, folder: Path) -> Stamp | None:
        buffers = [f"{path} {each.stamp}" for path, each in self._buffers.items() if path.is_relative_to(folder)]
        on_disk = await super().tree_stamp(folder)
        return None if on_disk is None else f"{on_disk} {buffers}"

    def unsaved(self) -> Sequence[Document]:
        return tuple(self._buffers.values())

    def open_document(self, path: Path) -> Document | None:
        return self._buffers.get(path)


class Bench:
    """One session's tools on a folder of real files."""

    def __init__(self, *folders: Path) -> None:
        self.workspace = WorkspaceWithBuffers(folders)
        self.folder = self.workspace.folders[0] if folders else Path()
        self.processes = LocalProcesses()
        self.reads = ReadLog()
        self.templates: Templates | None = None
        self.reported: list[str] = []
        self.heard = asyncio.Event()
        """Set once a call has reported something."""
        self.context = self.new_context()

    def new_context(self) -> ToolContext:
        """What the next call is given."""

        async def report(content: str) -> None:
            self.reported.append(content)
            self.heard.set()

        return ToolContext(
            tool_id="call-1",
            session_id="session-1",
            workspace=self.workspace,
            processes=self.processes,
            reads=self.reads,
            report=report,
            working_directory=self.folder,
            templates=self.templates,
        )

    def write(self, path: str, content: str | bytes = "") -> Path:
        """Put a file on the disk, as some other program would."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def bytes_of(self, path: str) -> bytes:
        """What is on the disk."""
        return (self.folder / path).read_bytes()

    async def call(self, tool: Tool, /, **given: object) -> str:
        """Call as the model does: arguments are validated, and an edit is applied. Returns what the model reads."""
        self.context = self.new_context()
        if tool.plans_edit:
            self.context.processes = NoProcesses()
        outcome = await tool.run(self.context, **tool.validate(given))
        if isinstance(outcome, str):
            return outcome
        await self.workspace.apply(outcome)
        return outcome.result

    async def plan(self, tool: Tool, /, **given: object) -> EditPlan:
        """What a tool would change; nothing is applied."""
        self.context = self.new_context()
        self.context.processes = NoProcesses()
        outcome = await tool.run(self.context, **tool.validate(given))
        assert isinstance(outcome, EditPlan)
        return outcome
