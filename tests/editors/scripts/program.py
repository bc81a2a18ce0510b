"""The program at the other end of a run's standard streams, over real pipes; the session behind them is on fakes."""

from __future__ import annotations

import asyncio
import io
import json
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from msgspec.structs import replace

from pygent_ls.agent.tools.tool import Tool
from pygent_ls.editors.run_options import RunOptions
from pygent_ls.editors.scripts.approver import LineApprover
from pygent_ls.editors.scripts.conversation import ScriptConversation
from pygent_ls.editors.scripts.input_lines import ToolPermissionResponse
from pygent_ls.editors.scripts.program_hooks import ProgramHooks
from pygent_ls.editors.scripts.requests import OpenRequests
from pygent_ls.editors.scripts.stdin import lines_of
from pygent_ls.editors.scripts.view import ScriptView
from pygent_ls.editors.scripts.writer import LineWriter
from pygent_ls.editors.terminal.text import Palette
from pygent_ls.editors.terminal.view import TerminalView
from pygent_ls.sessions.turns.session_parts import SessionParts
from tests.fakes import FOLDER, FakeModel, Step, bounded, with_parts
from tests.sessions.conversation import Conversation, conversation

Line = dict[str, Any]


@dataclass(kw_only=True)
class Program:
    """Writes lines to a run, and reads its lines."""

    exchange: ScriptConversation
    conversation: Conversation
    view: ScriptView
    status: io.StringIO
    _reader: asyncio.StreamReader
    _writes: int
    lines: list[Line] = field(default_factory=list[Line])
    """All that were read so far."""

    def says(self, *lines: Mapping[str, Any] | str) -> None:
        """Write lines; text as it is."""
        for line in lines:
            text = line if isinstance(line, str) else json.dumps(line)
            os.write(self._writes, text.encode() + b"\n")

    def asks(self, subtype: str, request_id: str = "r1", **given: Any) -> None:
        """Write a control request."""
        request = {"subtype": subtype, **given}
        self.says({"type": "control_request", "request_id": request_id, "request": request})

    def prompts(self, text: str) -> None:
        """Ask for a turn."""
        self.says({"type": "user", "message": {"role": "user", "content": text}})

    def answers(self, request_id: str, **body: Any) -> None:
        """Answer a question."""
        response = {"subtype": "success", "request_id": request_id, "response": body}
        self.says({"type": "control_response", "response": response})

    def leaves(self) -> None:
        """Close standard input."""
        if self._writes >= 0:
            os.close(self._writes)
            self._writes = -1

    async def reads(self, kind: str) -> Line:
        """The next line of that type, or subtype."""
        while True:
            text = await bounded(self._reader.readline())
            assert text, f"there was no {kind}; there were {self.kinds}"
            line = json.loads(text)
            self.lines.append(line)
            if kind in (line["type"], line.get("subtype")):
                return line

    async def reads_all(self) -> list[Line]:
        """Every line to the end, those that were read before too."""
        while text := await bounded(self._reader.readline()):
            self.lines.append(json.loads(text))
        return self.lines

    @property
    def kinds(self) -> list[str]:
        """What was read so far: subtypes of system lines, types of the others."""
        return [line["subtype"] if line["type"] == "system" else line["type"] for line in self.lines]


@asynccontextmanager
async def program(
    script: Sequence[Sequence[Step]] | FakeModel,
    *tools: Tool,
    asks_on_stdio: bool = True,
    shows_partial: bool = False,
    other: Sequence[Sequence[Step]] = (),
    files: Mapping[str, str] | None = None,
) -> AsyncGenerator[tuple[Program, asyncio.Task[None]]]:
    """A program, and the run that it speaks to, which ends with the program's input at the latest."""
    (comes, writes), (reads, goes) = os.pipe(), os.pipe()
    status = io.StringIO()
    ids = count(1)
    shown = TerminalView(
        answer=io.StringIO(),
        status=status,
        palette=Palette(on=False),
        answer_is_terminal=False,
        on_answer_lost=lambda: None,
    )
    view = ScriptView(
        writer=LineWriter(goes, lambda _: None),
        status=shown,
        is_stream=True,
        shows_partial=shows_partial,
        new_id=lambda: f"id-{next(ids)}",
        session_id="session-1",
    )
    hooks = ProgramHooks(requests=OpenRequests(write=view.write, new_id=view.new_id))
    questions: OpenRequests[ToolPermissionResponse] = OpenRequests(write=view.write, new_id=view.new_id)
    approver = LineApprover(requests=questions) if asks_on_stdio else None

    def asking_us(parts: SessionParts) -> SessionParts:
        services = parts.services
        return replace(
            parts,
            services=with_parts(
                services,
                approver=approver or services.environment.approver,
                questioner=approver or services.environment.questioner,
                hooks=hooks,
            ),
        )

    talk = conversation(script, *tools, other=other, files=files, change=asking_us)
    defined: dict[str, Any] = {}
    exchange = ScriptConversation(
        session=talk.session,
        view=view,
        request=RunOptions(prompt=None, folder=FOLDER).request,
        abilities={"commands": [], "agents": [{"name": "default", "description": ""}]},
        define_agents=defined.update,
        hooks=hooks,
        questions=questions if asks_on_stdio else None,
    )
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=10_000_000)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reads, "rb"))
    here = Program(exchange=exchange, conversation=talk, view=view, status=status, _reader=reader, _writes=writes)

    async def run() -> None:
        try:
            await exchange.run(lines_of(comes))
        finally:
            await view.written()
            view.writer.close()
            os.close(goes)

    async with asyncio.TaskGroup() as group:
        running = group.create_task(run())
        try:
            yield here, running
            here.leaves()
            if not running.cancelled():
                await bounded(asyncio.wait([running]))
        finally:
            here.leaves()
            running.cancel()
            transport.close()
