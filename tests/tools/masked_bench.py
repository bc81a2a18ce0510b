"""A session's tools on real files and programs, whose secrets are masked: what the model reads, and what is told."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from pygent_ls.agent.events import ToolProgress, ToolResult
from pygent_ls.agent.messages import ToolUseBlock
from pygent_ls.agent.tools.session_secrets import SessionSecrets
from pygent_ls.secrets.finder import find_secrets
from pygent_ls.secrets.redactor import Redactor
from pygent_ls.tools.catalog import offered_tools
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from tests.agent.executor import Executor
from tests.fakes import FakeApprover, bounded, make_rig, with_parts
from tests.tools.tool_bench import WorkspaceWithBuffers

MAX_PIECE_CHARS = 8
"""Fewer consecutive characters of a secret do not count as a piece: words of a program share as many with it by chance.
"""


class MaskedBench:
    """Calls go the whole way, from the model's arguments to the result that it reads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.workspace = WorkspaceWithBuffers([self.folder])
        self.processes = LocalProcesses()
        tools = offered_tools(has_folder=True, shell_timeout_s=60.0)
        self.rig = make_rig(*tools, approver=FakeApprover(otherwise="allow_once"), max_tool_result_chars=4_000)
        self.secrets = SessionSecrets(Redactor(find_secrets, key=b"k"), self.workspace)
        self.services = with_parts(
            self.rig.services,
            workspace=self.workspace,
            processes=self.processes,
            working_directory=self.folder,
            secrets=self.secrets,
        )
        self._numbers = itertools.count(1)

    def write(self, name: str, content: str) -> Path:
        """Put a file on the disk, as some other program would."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8", newline="")
        return file

    async def call(self, name: str, **given: Any) -> str:
        """What the model reads of a call."""
        executor = Executor(self.services, self.rig.events.emit)
        call = ToolUseBlock(id=f"call_{next(self._numbers)}", name=name, input=given)
        await bounded(executor.run(call))
        return executor.results[call.id].content

    async def close(self) -> None:
        """End what runs in the background."""
        await self.processes.background.end_all(self.services.memory.session_id)

    def told(self) -> str:
        """All that was told of the calls, live output included."""
        events = self.rig.events
        live = "".join(each.content for each in events.of(ToolProgress))
        changes = [each.changes for each in events.of(ToolResult)]
        asked = [(each.action, each.changes) for each in self.rig.approver.requests]
        return f"{live}\n{[each.event for each in events.stamped]!r}\n{changes!r}\n{asked!r}"


def shows(text: str, *secrets: str) -> list[str]:
    """The pieces of the secrets that a text shows: so many characters of a line in a row, or all of a shorter one."""
    lines = {line for secret in secrets for line in secret.splitlines() if line}
    whole = {line for line in lines if len(line) <= MAX_PIECE_CHARS and line in text}
    return sorted(whole | (_runs(text) & {run for line in lines for run in _runs(line)}))


def _runs(text: str) -> set[str]:
    return {text[at : at + MAX_PIECE_CHARS] for at in range(len(text) - MAX_PIECE_CHARS + 1)}
