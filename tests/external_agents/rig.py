"""An editor on a daemon whose model is an external agent, and what one turn of that showed."""

from __future__ import annotations

import asyncio
import json
import os
import select
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from lsprotocol import types

from tests.e2e.lsp_client import EditorClient, editor_client

SAVED, UNSAVED, EDITED = "x = 1\n", "x = 1\nunsaved = True\n", "x = 2\nunsaved = True\n"
"""Text of a.py on the disk, in the editor, and in the editor once the agent has made its edit."""

EDITED_ON_DISK = "x = 2\n"

NEW = "y = 1\n"
"""Text of the file that the agent creates."""

ANSWER = "Hello from the mock."
"""Last words of each of the agent's answers."""

MARK = "PYGENT_TEST_AGENT"
"""Variable by which the processes of an agent are found."""

END_S = 30.0
"""Maximum time until the processes of an agent have ended after the daemon."""

FAULTS = ("stopped working", "has no mode", "did not ask before this call")
"""Parts of notices that tell of a fault."""


UNSAVED_CHANGES, NOT_SAVED = "has unsaved changes", "Continue without saving"
"""Question before a command reads the disk, and its answer here: the unsaved text is what is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One finished turn."""

    result: Mapping[str, Any]
    events: Sequence[Mapping[str, Any]]
    prompts: Sequence[str]
    """What the user was asked."""

    def results(self) -> Mapping[str, bool]:
        """Return whether each call with a result succeeded."""
        return {each["toolId"]: not each["isError"] for each in self.events if each["type"] == "tool_result"}

    def problems(self) -> Iterator[str]:
        """Yield one line for each thing that no turn may show."""
        if self.result.get("error") or self.result["stopReason"] != "end_turn":
            yield f"the turn ended with {self.result['stopReason']}: {self.result.get('error')}"
        finished = [each["toolId"] for each in self.events if each["type"] == "tool_result"]
        for each in dict.fromkeys(each["toolId"] for each in self.events if each["type"] == "tool_call"):
            if finished.count(each) != 1:
                yield f"the call {each} has {finished.count(each)} results"
        for each in self.events:
            if each["type"] == "notice" and any(fault in each["content"] for fault in FAULTS):
                yield f"a notice says: {each['content']}"


@dataclass(slots=True, kw_only=True)
class Rig:
    """An editor with a.py open and not saved, and the model."""

    editor: EditorClient
    folder: Path
    model: str
    session: str = ""
    """Session of the last turn; the next one continues it."""

    def start_over(self) -> None:
        """Bring back the files and the unsaved text of the start."""
        documents = self.editor.documents
        self.saved.write_text(SAVED)
        if self.uri not in documents.open_documents:
            documents.open(self.saved)
        documents.type_over(self.uri, UNSAVED)
        self.new.unlink(missing_ok=True)
        if self.new.as_uri() in documents.open_documents:
            documents.close(self.new.as_uri())

    @property
    def saved(self) -> Path:
        """The file that has unsaved text in the editor."""
        return self.folder / "a.py"

    @property
    def new(self) -> Path:
        """The file that the agent creates."""
        return self.folder / "new.py"

    @property
    def uri(self) -> str:
        """URI of the file with unsaved text."""
        return self.saved.as_uri()

    @property
    def buffer(self) -> str:
        """Text of that file in the editor."""
        return self.editor.documents.text(self.uri)

    @property
    def new_text(self) -> str | None:
        """Text of the new file, in the editor or else on the disk; None without one."""
        held = self.editor.documents.open_documents.get(self.new.as_uri())
        if held is not None:
            return held.text
        return self.new.read_text() if self.new.exists() else None

    async def turn(self, said: str, choose: Callable[[types.ShowMessageRequestParams], str | None]) -> Turn:
        """Return a finished turn; `choose` answers what the user is asked. Raises `TimeoutError`."""
        self.editor.forget()
        self.editor.choose = lambda asked: NOT_SAVED if UNSAVED_CHANGES in asked.message else choose(asked)
        params = {"model": self.model, **({"sessionId": self.session} if self.session else {})}
        try:
            result = await self.editor.turn(said, **params)
        except TimeoutError:
            shown = [each.get("title") or each.get("content") for each in self.editor.events()]
            raise TimeoutError(f"the turn {said!r} did not end: {shown}") from None
        self.session = result["sessionId"]
        prompts = [each.message for each in self.editor.prompts if UNSAVED_CHANGES not in each.message]
        return Turn(result=result, events=list(self.editor.events()), prompts=prompts)


@asynccontextmanager
async def rig(
    name: str, command: Sequence[str], variables: Mapping[str, str], folder: Path, **environment: str
) -> AsyncGenerator[Rig]:
    """Yield an editor whose model is the agent `name` of the presets, started by this command."""
    home = folder.parent / "home" / ".config" / "pygent-ls"
    await asyncio.to_thread(home.mkdir, parents=True)
    given = "".join(f"{key} = {json.dumps(value)}\n" for key, value in variables.items())
    settings = f"[acp_agents.{name}]\ncommand = {json.dumps(list(command))}\n[acp_agents.{name}.env]\n{given}"
    await asyncio.to_thread((home / "config.toml").write_text, settings)
    await asyncio.to_thread((folder / "a.py").write_text, SAVED)
    async with editor_client(folder, environment) as editor:
        yield Rig(editor=editor, folder=folder, model=f"acp:{name}")


@contextmanager
def scratch() -> Generator[Path]:
    """Yield an empty workspace folder, beside which the daemon's home and the agent's will lie."""
    with tempfile.TemporaryDirectory(prefix="pygent-agents-", ignore_cleanup_errors=True) as made:
        folder = Path(made).resolve() / "project"
        folder.mkdir()
        yield folder


class Marked:
    """Processes of one agent: those whose environment has its mark."""

    def __init__(self) -> None:
        self.mark = uuid4().hex

    @property
    def variables(self) -> Mapping[str, str]:
        """Variables to start the agent with."""
        return {MARK: self.mark}

    def left(self) -> Sequence[str]:
        """Return the command lines of the processes that do not end in time."""
        found: list[str] = []
        for pid in self._pids():
            try:
                descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            try:
                if not select.select([descriptor], [], [], END_S)[0]:
                    found.append(_command_line(pid))
            finally:
                os.close(descriptor)
        return found

    def _pids(self) -> Iterator[int]:
        sought = f"{MARK}={self.mark}".encode()
        for each in Path("/proc").glob("[0-9]*"):
            try:
                if sought in (each / "environ").read_bytes().split(b"\0"):
                    yield int(each.name)
            except OSError:
                continue  # it has ended, or belongs to another user


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return str(pid)
