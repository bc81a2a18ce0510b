"""A user, their editor and a real daemon at one folder; the agent is scripted and its commands wait for the test."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from lsprotocol import types

from tests.e2e.lsp_client import WAIT_S, EditorClient, editor_client
from tests.editors.lsp.editor_documents import path_of

IGNORED = "out/"
"""What git ignores in the folder."""

HOOK = [
    {
        "event": "post_tool_use",
        "matcher": "multi_edit|apply_patch|(edit|create|copy|move|delete)_file",
        "command": 'sh "$HOME/hook.sh"',
    }
]

GIT = ("git", "-c", "user.name=U", "-c", "user.email=u@example.org", "-c", "init.defaultBranch=main")

_LISTED = re.compile(r"^(Restored|Not restored): ((?:`[^`]*`(?:, )?)+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the daemon said about the files when it went back or forth."""

    text: str
    restored: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()
    undo_id: str = ""
    error: str = ""
    """Kind of the error; empty without one."""

    @property
    def names(self) -> frozenset[str]:
        """Every file that it names."""
        return self.restored | self.left


@dataclass(slots=True)
class Held:
    """A turn whose command has begun and waits."""

    turn: asyncio.Future[Any]
    desk: Desk

    async def finish(self) -> Any:
        """Let the command go on once the daemon has heard what the user did, and wait for the turn's result."""
        await self.desk.editor.ask("pygent/status", {})
        self.desk.let_go()
        async with asyncio.timeout(WAIT_S):
            return await self.turn


@dataclass(slots=True)
class Desk:
    """Everything is named by its path in the folder. The methods of the user are instantaneous."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    at_prompt: Callable[[str], object] | None = None
    """What the user does while they are asked for permission in these words, which they then give."""
    when_unsaved: str = "Continue without saving"
    """What the user chooses where a command is about to run that reads the disk."""
    _failure: AssertionError | None = None
    _editor: EditorClient | None = None
    _kept: dict[Path, str] = field(default_factory=dict[Path, str])
    """The buffers of an editor that is not there just now."""
    _saved: dict[Path, str] = field(default_factory=dict[Path, str])
    """What the file of a buffer held when the editor last read or wrote it."""
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _n_scripts: int = 0
    _pipes: dict[str, int] = field(default_factory=dict[str, int])

    # Life

    async def __aenter__(self) -> Self:
        for name in ("began", "go"):
            os.mkfifo(self.outside(name))
            self._pipes[name] = os.open(self.outside(name), os.O_RDWR | os.O_NONBLOCK)
        self.outside("hold.sh").write_text(f"echo > {self._quoted('began')}; read _ < {self._quoted('go')}\n")
        await self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._stack.aclose()
        finally:
            for pipe in self._pipes.values():
                os.close(pipe)

    @property
    def editor(self) -> EditorClient:
        """The editor that runs."""
        assert self._editor is not None
        return self._editor

    async def restart(self, meanwhile: Callable[[], None] | None = None) -> None:
        """End editor and daemon and start them again; the editor brings its buffers back, saved or not."""
        buffers = self._buffers()
        await self._stack.aclose()
        self._editor, self._kept = None, buffers
        if meanwhile is not None:
            meanwhile()
        await self._start()
        for path, text in buffers.items():
            self.editor.documents.open(path, text=text)

    async def _start(self) -> None:
        self._stack = AsyncExitStack()
        self._editor = await self._stack.enter_async_context(editor_client(self.folder, self.environment))
        self._editor.choose = self._choose

    def _choose(self, asked: types.ShowMessageRequestParams) -> str | None:
        titles = [each.title for each in asked.actions or ()]
        if "Allow once" not in titles:
            return self.when_unsaved if self.when_unsaved in titles else None
        if self.at_prompt is not None:
            try:
                self.at_prompt(asked.message)
            except AssertionError as error:  # the client would answer it as an error
                self._failure = self._failure or error
        return "Allow once"

    def raise_failure(self) -> None:
        """Raise what was raised at a prompt."""
        if self._failure is not None:
            raise self._failure

    # What the user sees

    def outside(self, name: str) -> Path:
        """A path beside the folder."""
        return self.folder.parent / name

    def path(self, name: str) -> Path:
        """The file of a name."""
        return self.folder / name

    def uri(self, name: str) -> str:
        """The same as a URI."""
        return self.path(name).as_uri()

    def is_open(self, name: str) -> bool:
        """Whether a buffer shows the file."""
        return self.path(name) in self._buffers()

    def see(self, name: str) -> str | None:
        """Return the text of the buffer, else of the file; None if neither exists."""
        path = self.path(name)
        return self._buffers().get(path, path.read_text() if path.is_file() else None)

    def visible(self) -> dict[str, str]:
        """All that the user sees, by name; what belongs to git aside."""
        found: dict[str, str] = {}
        for parent, folders, files in os.walk(self.folder):
            folders[:] = [each for each in folders if each != ".git"]
            for name in (Path(parent, each).relative_to(self.folder).as_posix() for each in files):
                found[name] = self.path(name).read_text()
        open_files = {path: text for path, text in self._buffers().items() if path.is_relative_to(self.folder)}
        return found | {path.relative_to(self.folder).as_posix(): text for path, text in open_files.items()}

    def _buffers(self) -> dict[Path, str]:
        if self._editor is None:
            return self._kept
        return {path_of(uri): held.text for uri, held in self._editor.documents.open_documents.items()}

    # What the user does

    def open(self, name: str) -> None:
        """Open a file, or a new one."""
        path = self.path(name)
        self.editor.documents.open(path, text=None if path.exists() else "")
        self._saved[path] = self.editor.documents.text(self.uri(name))

    def type(self, name: str, text: str) -> None:
        """The buffer holds this now, unsaved."""
        self.editor.documents.type_over(self.uri(name), text)

    def save(self, name: str) -> None:
        """Write the buffer."""
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.editor.documents.save(self.uri(name))
        self._saved[self.path(name)] = self.editor.documents.text(self.uri(name))

    def close(self, name: str) -> None:
        """Drop the buffer, saved or not."""
        self.editor.documents.close(self.uri(name))

    def write(self, name: str, text: str) -> None:
        """Another program of the user's writes the file."""
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(text)

    def follow_disk(self) -> None:
        """The editor reads the files of buffers again that have no unsaved changes, and closes those that are gone."""
        for path, text in self._buffers().items():
            on_disk = path.read_text() if path.is_file() else None
            if on_disk == text:
                self._saved[path] = text
            elif self._saved.get(path) == text:
                name = path.relative_to(self.folder).as_posix()
                if on_disk is None:
                    self.close(name)
                else:
                    self.type(name, on_disk)
                    self._saved[path] = on_disk

    def delete(self, name: str) -> None:
        """Another program of the user's deletes the file."""
        self.path(name).unlink()

    def git(self, *arguments: str) -> None:
        """The user runs git."""
        subprocess.run([*GIT, *arguments], cwd=self.folder, check=True, capture_output=True)

    # What the agent does

    async def turn(self, *calls: Mapping[str, Any], session: str | None = None, mode: str = "default") -> Any:
        """A turn that makes these calls, one an answer of the model; its result."""
        async with asyncio.timeout(WAIT_S):
            result = await self.begin(*calls, session=session, mode=mode)
        self.raise_failure()
        return result

    def begin(
        self, *calls: Mapping[str, Any], session: str | None = None, mode: str = "default"
    ) -> asyncio.Future[Any]:
        """Start such a turn."""
        self._n_scripts += 1
        script = self.outside(f"script-{self._n_scripts}.jsonl")
        answers = [*({"tool_calls": [each]} for each in calls), {"text": "Done."}]
        script.write_text("".join(json.dumps(each) + "\n" for each in answers))
        named = {"sessionId": session} if session else {}
        return self.editor.begin_turn(f"go {self._n_scripts}", model=f"scripted:{script}", mode=mode, **named)

    async def held(self, *calls: Mapping[str, Any], session: str | None = None, mode: str = "default") -> Held:
        """Start a turn, and wait until a command of it holds; see `holding`."""
        turn = self.begin(*calls, session=session, mode=mode)
        await self.until_held(turn)
        return Held(turn, self)

    async def until_held(self, turn: asyncio.Future[Any]) -> None:
        """Wait until a command holds. The turn may not end before."""
        began = asyncio.ensure_future(self._began())
        try:
            async with asyncio.timeout(WAIT_S):
                await asyncio.wait([began, turn], return_when=asyncio.FIRST_COMPLETED)
            self.raise_failure()
            assert began.done(), f"no command held: {turn.result()} {self.editor.results()}"
        finally:
            began.cancel()

    def let_go(self) -> None:
        """Let the command that holds go on."""
        os.write(self._pipes["go"], b"\n")

    @property
    def hold(self) -> str:
        """The part of a command line that waits for the test, and names no file of the folder."""
        return f"sh {self._quoted('hold.sh')}"

    def script(self, text: str) -> str:
        """A command line that does this, and names no file of the folder."""
        self._n_scripts += 1
        name = f"work-{self._n_scripts}.sh"
        self.outside(name).write_text(text)
        return f"sh {self._quoted(name)}"

    def hook(self, text: str) -> None:
        """What the hook does from now on that runs after each edit, where the desk has one."""
        self.outside("home").mkdir(exist_ok=True)
        self.outside("home/hook.sh").write_text(text)

    def has_hook_run(self) -> bool:
        """Whether a hook has run that empties itself."""
        return not self.outside("home/hook.sh").read_text()

    async def _began(self) -> None:
        loop, pipe = asyncio.get_running_loop(), self._pipes["began"]
        ready = asyncio.Event()
        loop.add_reader(pipe, ready.set)
        try:
            await ready.wait()
            os.read(pipe, 1)
        finally:
            loop.remove_reader(pipe)

    def _quoted(self, name: str) -> str:
        return shlex.quote(str(self.outside(name)))

    # Going back and forth

    async def slash(self, command: str, session: str) -> Answer:
        """A slash command that goes back or forth."""
        text = (await self.editor.turn(command, sessionId=session))["text"]
        found: dict[str, set[str]] = {"Restored": set(), "Not": set()}
        for line in _LISTED.finditer(text):
            found[line[1].partition(" ")[0]] |= set(re.findall(r"`([^`]*)`", line[2]))
        return Answer(text, frozenset(found["Restored"]), frozenset(found["Not"]))

    async def undo(self, session: str) -> Answer:
        """`/undo`."""
        return await self.slash("/undo", session)

    async def redo(self, session: str) -> Answer:
        """`/redo`."""
        return await self.slash("/redo", session)

    async def undo_by_command(self, session: str) -> Answer:
        """`pygent.undo`."""
        arguments = {"command": "pygent.undo", "arguments": [{"sessionId": session}]}
        return self._answer(await self.editor.ask_lsp("workspace/executeCommand", arguments))

    async def checkpoints(self, session: str) -> list[dict[str, Any]]:
        """The session's checkpoints, the oldest first."""
        return (await self.editor.ask("pygent/checkpoint/list", {"sessionId": session}))["checkpoints"]

    async def restore(self, checkpoint: str, *, conversation: bool = False, **more: bool) -> Answer:
        """`pygent/checkpoint/restore`."""
        wanted = {"checkpointId": checkpoint, "files": True, "conversation": conversation, **more}
        return self._answer(await self.editor.ask("pygent/checkpoint/restore", wanted))

    def _answer(self, result: Any) -> Answer:
        def names(uris: Sequence[str]) -> frozenset[str]:
            return frozenset(path_of(each).relative_to(self.folder).as_posix() for each in uris)

        left = names([each["uri"] for each in result["skipped"]])
        return Answer(json.dumps(result), names(result["restored"]), left, result["undoCheckpointId"])


@asynccontextmanager
async def desk_at(
    folder: Path, files: Mapping[str, str], *, has_git: bool = True, has_hook: bool = False
) -> AsyncGenerator[Desk]:
    """A desk with these files; git, where the folder has it, ignores `out/` and has committed the rest."""
    environment = {"PYGENT_HOOKS": json.dumps(HOOK)} if has_hook else {}
    desk = Desk(folder, environment)
    for name, text in files.items():
        desk.write(name, text)
    desk.hook("")
    if has_git:
        desk.write(".gitignore", IGNORED + "\n")
        desk.git("init", "-q")
        desk.git("add", "-A")
        desk.git("commit", "-q", "-m", "first")
    async with desk:
        yield desk


def call(name: str, **given: object) -> dict[str, Any]:
    """A tool call of the scripted model."""
    return {"name": name, "input": given}


def edit(path: str, old: str, new: str) -> dict[str, Any]:
    """A call of `edit_file`."""
    return call("edit_file", path=path, old=old, new=new)


def shell(command: str) -> dict[str, Any]:
    """A call of `shell`."""
    return call("shell", command=command)
