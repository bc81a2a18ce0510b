"""A daemon, an editor and a model's provider around one folder, for a fault at one boundary."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.raw import clean_environment
from tests.endurance.editor import Daemon, Editor
from tests.endurance.soak.book import Book, check_messages
from tests.model_server import Call, ModelServer, Received, Step

SETTINGS = {
    "PYGENT_RETRY_INITIAL_DELAY_S": "0.05",
    "PYGENT_RETRY_MAX_ATTEMPTS": "2",
    "PYGENT_MODEL": "openai/mock",
    "PYGENT_MODE": "trust",
    "PYGENT_PERMISSIONS": '{"allow": ["shell", "move_file", "delete_file"]}',
    "PYGENT_STREAM_FLUSH_MS": "4",
}

MAX_DISK_BYTES = 64_000_000
"""Size of the largest disk that may be filled: never the machine's own."""

AFTERWARDS = "The fault is over."


@dataclass
class Stage:
    """What a fault happens to."""

    folder: Path
    home: Path
    daemon: Daemon
    editor: Editor
    steps: list[Step] = field(default_factory=list[Step])
    requests: list[Received] = field(default_factory=list[Received])
    session: str = ""
    _n: int = 0

    @property
    def pid(self) -> int:
        """The daemon itself, which a program may have started that waits for it."""
        pid = self.daemon.process.pid
        if Path(f"/proc/{pid}/comm").read_text().strip() == "bwrap":
            pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
        return pid

    def inside(self, path: Path) -> Path:
        """A path as the daemon sees it, in the mounts that are its own."""
        return Path(f"/proc/{self.pid}/root{path}")

    def begin(self, *steps: Step, **params: object) -> Turn:
        """Start a turn that gets these answers, in the session of the stage."""
        self.steps[:] = steps
        self._n += 1
        token = f"turn {self._n}"
        given = {"prompt": "go", "partialResultToken": token, "sessionId": self.session, **params}
        return Turn(self, token, self.editor.begin("pygent/turn/start", given))

    async def turn(self, *steps: Step, wait_s: float = 60.0, **params: object) -> Turn:
        """A whole turn, which may take that long."""
        turn = self.begin(*steps, **params)
        async with asyncio.timeout(wait_s):
            turn.result = await turn.running
        return turn

    async def tool(self, name: str, **given: object) -> str:
        """Make a turn of one tool call; what the model is told of it, after "ERROR " if it failed."""
        turn = await self.turn(Step(calls=(Call(name=name, arguments=given),)), Step(text="Done."))
        results = turn.of("tool_result")
        assert len(results) == 1, (turn.result, results)
        return ("ERROR " if results[0]["isError"] else "") + results[0]["content"]

    async def goes_on(self) -> None:
        """A turn works as always, the session is whole, and no error was unexpected."""
        turn = await self.turn(Step(text=AFTERWARDS))
        assert turn.result["stopReason"] == "end_turn", turn.result
        assert turn.result["text"] == AFTERWARDS
        await self.is_whole()

    async def is_whole(self) -> dict[str, Any]:
        """Check the session's events from the first to the last, and its conversation."""
        loaded = await self.editor.ask("pygent/session/load", {"sessionId": self.session})
        check_messages(loaded["messages"])
        self._n += 1
        token = f"all {self._n}"
        params = {"sessionId": self.session, "sinceSeq": 0, "partialResultToken": token}
        view = self.editor.begin("pygent/session/attach", params)
        heard = self.editor.heard.setdefault(token, [])
        await self.editor.until(lambda: heard and heard[-1]["seq"] >= loaded["lastSeq"])
        self.editor.cancel(view)
        book = Book(self.session)
        book.take(heard)
        assert not book.problems, book.problems
        for turn_id in dict.fromkeys(each["turnId"] for each in heard):
            book.check_turn(turn_id)
        stderr = self.daemon.stderr.decode(errors="replace")
        assert "Traceback" not in stderr, stderr[-2000:]
        return loaded

    async def answers_within(self, seconds: float) -> None:
        """Another request is answered in that time."""
        async with asyncio.timeout(seconds):
            await self.editor.ask("pygent/status")

    def answer(self, request: Received, _: int) -> Step:
        """The provider's next answer; requests without tools are for a title or a summary."""
        if not request.body.get("tools"):
            return Step(text="A title")
        self.requests.append(request)
        return self.steps.pop(0) if self.steps else Step(status=400, error="the script is over")


@dataclass
class Turn:
    """A turn and what was heard of it."""

    stage: Stage
    token: str
    running: asyncio.Future[Any]
    result: Any = None

    @property
    def events(self) -> list[dict[str, Any]]:
        """Its events."""
        return self.stage.editor.heard.get(self.token, [])

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the events of a type."""
        return [each for each in self.events if each["type"] == kind]

    @property
    def notices(self) -> str:
        """What it told the user."""
        return " ".join(each["content"] for each in self.of("notice"))

    async def until(self, kind: str) -> None:
        """Wait for an event of a type."""
        await self.stage.editor.until(lambda: self.of(kind))

    async def end(self, wait_s: float = 60.0) -> Any:
        """Wait for its result."""
        async with asyncio.timeout(wait_s):
            self.result = await self.running
        return self.result

    async def cancel(self, wait_s: float = 15.0) -> None:
        """Cancel it; it ends."""
        await self.stage.editor.ask("pygent/turn/cancel", {"sessionId": self.stage.session})
        await self.end(wait_s)


@asynccontextmanager
async def stage(
    root: Path,
    *,
    settings: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
    base_url: str = "",
    session: str = "",
    permissions: bool = False,
    applies_edits: bool = False,
) -> AsyncGenerator[Stage]:
    """A stage in a folder, which may hold one from before; `before` starts the daemon. `base_url` is that of another
    provider, `session` one that goes on. With `permissions`, nothing is allowed beforehand. Unless it
    applies edits, the editor lets the daemon write files."""
    folder, home = root / "project", root / "home"
    folder.mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    made: list[Stage] = []

    def answer(request: Received, number: int) -> Step:
        return made[0].answer(request, number)

    with ModelServer(answer) as server:
        environment = clean_environment(home, **(server.env() | SETTINGS | dict(settings or {})))
        if base_url:
            environment |= {"OPENAI_BASE_URL": base_url, "OPENAI_API_BASE": base_url}
        if permissions:
            environment["PYGENT_PERMISSIONS"] = "{}"
        daemon = await Daemon.start(folder, environment, before=before)
        editor = await daemon.connect()
        try:
            here = Stage(folder, home, daemon, editor)
            made.append(here)
            await editor.initialize(folder, applies_edits=applies_edits)
            here.session = session or (await editor.ask("pygent/session/new"))["sessionId"]
            yield here
        finally:
            await editor.leave()
            daemon.kill()
            await daemon.wait()


def small_disk(place: Path, n_bytes: int) -> tuple[str, ...]:
    """The words before a command that sees a disk of that size at a place."""
    place.mkdir(exist_ok=True)
    return ("bwrap", "--die-with-parent", "--dev-bind", "/", "/", "--size", str(n_bytes), "--tmpfs", str(place), "--")


def fill(place: Path) -> Path:
    """Leave no room on the disk of a folder; the file that takes it."""
    disk = os.statvfs(place)
    assert disk.f_blocks * disk.f_frsize <= MAX_DISK_BYTES, f"{place} is on a disk that others use"
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    with filler.open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x")
    return filler


def copy_home(here: Stage, root: Path) -> None:
    """Copy what is on the daemon's own disk to the home of the next stage, as it is now."""
    shutil.copytree(here.inside(here.home), root / "home", symlinks=True, dirs_exist_ok=True)


def text_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """A conversation in one text."""
    return json.dumps(messages)


def is_alive(pid: int) -> bool:
    """Whether a process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
