"""A user at one folder: their editor, the daemon, and all that must be true after each step."""

from __future__ import annotations

import asyncio
import random
import re
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from tests.e2e.raw import clean_environment
from tests.editors.lsp.editor_documents import path_of
from tests.endurance.editor import WAIT_S, Daemon, Editor, ErrorAnswer, let_pass
from tests.endurance.soak.book import Book, check_messages
from tests.endurance.soak.plans import FILES, USER_LINE, Planner, Provider, key_text
from tests.model_server import ModelServer

SETTINGS = {
    "PYGENT_RETRY_INITIAL_DELAY_S": "0.05",
    "PYGENT_RETRY_MAX_ATTEMPTS": "3",
    "PYGENT_STREAM_FLUSH_MS": "4",
    "PYGENT_MODEL": "openai/mock",
    "ANTHROPIC_API_KEY": "sk-ant-test",
}

MODELS = ("openai/mock", "anthropic/claude-mock")

N_SESSIONS = 8
"""Sessions that are kept at most; the oldest is deleted."""

IDLE_S = 20.0
"""Longest time that the end of programs may take after the turn that started them."""

GIT = ("git", "-c", "user.name=U", "-c", "user.email=u@example.org", "-c", "init.defaultBranch=main")

HELPERS = ("index_process", "copier_process", "trap '' HUP INT TERM")
"""Parts of the command lines of processes that the daemon may keep."""


class World:
    """Lives in one event loop. Every method that is named after a step takes its own random generator."""

    def __init__(self, root: Path, *, has_git: bool, at_socket: bool, extensions: Mapping[str, bool]) -> None:
        self.root = root
        self.folder = root / "project"
        self.at_socket = at_socket
        self.extensions = extensions
        self.provider = Provider()
        self.server = ModelServer(self.provider.answer)
        self.books: dict[str, Book] = {}
        self.seen: Counter[str] = Counter()
        self.user_lines: dict[str, str] = {}
        """Lines that the user typed and that must be there, and the file in which they typed them."""
        self.number = partial(next, count(1))
        self.background: list[str] = []
        self._views: dict[str, asyncio.Future[Any]] = {}
        self._daemon: Daemon | None = None
        self._editor: Editor | None = None
        self._outcomes: random.Random = random.Random(0)
        self._never_answered = asyncio.Event()
        self._patience = True
        for name in ("a.txt", "b.txt", "sub/c.py", "out/e.log"):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"the first line of {name}\ndef function(): pass\nthe last line\n")
        (self.folder / ".gitignore").write_text("out/\n")
        if has_git:
            for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
                subprocess.run([*GIT, *words], cwd=self.folder, check=True, capture_output=True)
        (root / "home").mkdir()

    # Life

    @property
    def daemon(self) -> Daemon:
        """The daemon that runs."""
        assert self._daemon is not None
        return self._daemon

    @property
    def editor(self) -> Editor:
        """The editor that is connected."""
        assert self._editor is not None
        return self._editor

    async def start(self) -> None:
        """Start a daemon and connect the editor, which brings its buffers and its views back."""
        socket = self.root / "socket" if self.at_socket else None
        environment = clean_environment(self.root / "home", **self.server.env(), **SETTINGS)
        environment["ANTHROPIC_BASE_URL"] = self.server.url.removesuffix("/v1")
        self._daemon = await Daemon.start(self.folder, environment, socket=socket)
        await self.connect()

    async def connect(self) -> None:
        """Connect the editor."""
        buffers = {} if self._editor is None else dict(self._editor.documents.open_documents)
        self._editor = await self.daemon.connect()
        await self._editor.initialize(self.folder, extensions=self.extensions)
        self._editor.prompt = self.answer_prompt
        for uri, held in buffers.items():
            self._editor.documents.open(path_of(uri), text=held.text)
            self._editor.documents.open_documents[uri].saved = held.saved
        for book in self.books.values():
            self.attach(book)
        for book in self.books.values():
            last = (await self._editor.ask("pygent/session/load", {"sessionId": book.id, "messages": False}))["lastSeq"]
            assert last >= len(book.events), f"{book.id}: {len(book.events)} events were seen, {last} are stored"
            await self._editor.until(lambda book=book, last=last: book.n_replayed >= last)

    def attach(self, book: Book) -> None:
        """Open a view of a session."""
        book.begin_view()
        params = {"sessionId": book.id, "sinceSeq": 0, "partialResultToken": f"view {book.id}"}
        self._views[book.id] = self.editor.begin("pygent/session/attach", params)
        self.editor.on_events = self.take

    async def end_view(self, book: Book) -> None:
        """End the view of a session."""
        view = self._views.pop(book.id)
        self.editor.cancel(view)
        async with asyncio.timeout(WAIT_S):
            await asyncio.wait([view])

    def take(self, token: str | int, events: Sequence[dict[str, Any]]) -> None:
        """Events of a view."""
        name = str(token)
        if name.startswith("view ") and (book := self.books.get(name.removeprefix("view "))):
            book.take(events)
            self.editor.heard[token].clear()

    async def close(self) -> None:
        """Leave nothing behind."""
        if self._editor is not None:
            await self._editor.leave()
        if self._daemon is not None:
            self._daemon.kill()
            await self._daemon.wait()

    # What the user sees and does

    def path(self, name: str) -> Path:
        """The file of a name."""
        return self.folder / name

    def uri(self, name: str) -> str:
        """The same as a URI."""
        return self.path(name).as_uri()

    def is_open(self, name: str) -> bool:
        """Whether a buffer shows it."""
        return self.uri(name) in self.editor.documents.open_documents

    def visible(self) -> dict[str, str]:
        """All texts by name: of the buffer, else of the file."""
        found: dict[str, str] = {}
        for name in FILES:
            with suppress(FileNotFoundError, NotADirectoryError):
                found[name] = self.path(name).read_text()
        for uri, held in self.editor.documents.open_documents.items():
            found[path_of(uri).relative_to(self.folder).as_posix()] = held.text
        return found

    def user_does(self, chance: random.Random) -> None:
        """Something of the user's, at once: type, open, save, close, or let another program write a closed file."""
        name = chance.choice(FILES)
        text = self.visible().get(name)
        documents = self.editor.documents
        match chance.choice(["type", "type", "type", "open", "open", "save", "close", "write"]):
            case "open" if not self.is_open(name) and text is not None:
                documents.open(self.path(name))
            case "type" if self.is_open(name) and text is not None:
                line = self._line(name)
                if chance.random() < 0.5 and text:
                    documents.insert(self.uri(name), text.splitlines(keepends=True)[0], line)
                else:
                    documents.type_over(self.uri(name), text + line)
                self.seen["typed"] += 1
            case "save" if self.is_open(name):
                self._save(name)
            case "close" if self.is_open(name):
                self._save(name)
                documents.close(self.uri(name))
            case "write" if not self.is_open(name) and text is not None:
                self.path(name).write_text(text + self._line(name))
                self.seen["written outside"] += 1
            case _:
                pass

    def _line(self, name: str) -> str:
        line = f"user-{self.number()}"
        self.user_lines[line] = name
        return line + "\n"

    def _save(self, name: str) -> None:
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.editor.documents.save(self.uri(name))

    def follow_disk(self) -> None:
        """Read the files of clean buffers again, as editors do; close those of files that are gone."""
        for uri, held in tuple(self.editor.documents.open_documents.items()):
            path = path_of(uri)
            on_disk = path.read_text() if path.is_file() else None
            if on_disk == held.text:
                held.saved = held.text
            elif held.saved == held.text:
                if on_disk is None:
                    self.editor.documents.close(uri)
                else:
                    self.editor.documents.type_over(uri, on_disk)
                    held.saved = on_disk

    async def answer_prompt(self, params: Mapping[str, Any]) -> Any:
        """A random answer, or none at all."""
        chance = self._outcomes
        titles = [each.get("title", each.get("optionId")) for each in params.get("actions", params.get("options", ()))]
        self.seen["asked"] += 1
        if self._patience and chance.random() < 0.04:
            self._never_answered.set()
            self.seen["never answered"] += 1
            await asyncio.Event().wait()
        if "choices" in params:
            return chance.choice([{"choice": params["choices"][0]["title"]}, {"text": "neither"}, None])
        if "options" in params:
            weights = [20 if each["kind"] == "allow_once" else 1 for each in params["options"]]
            chosen = chance.choices(params["options"], weights)[0]
            return {"optionId": chosen["optionId"], "feedback": chance.choice(["", "not so"])}
        if "Allow once" in titles:
            return {"title": chance.choices(["Allow once", *titles], [20, *(1 for _ in titles)])[0]}
        return {"title": chance.choice(titles)} if titles and chance.random() < 0.9 else None

    # Turns

    async def turn(self, chance: random.Random, *, cut: Callable[[], None] | None = None) -> None:
        """A turn in a session of the user's, with what they do meanwhile. `cut` ends the daemon in the middle."""
        book = await self._some_book(chance)
        key = self.number()
        planner = Planner(chance, self.visible(), self.number, self.background)
        self.provider.play({key: planner.answers(), **planner.subturns})
        self._outcomes = random.Random(chance.random())
        self._never_answered.clear()
        meanwhile = Meanwhile(self, book.id, f"turn-{key}", chance, cut)
        self.editor.on_events = meanwhile.heard
        params = {
            "sessionId": book.id,
            "turnId": meanwhile.turn_id,
            "prompt": f"Do it. {key_text(key)}",
            "partialResultToken": meanwhile.turn_id,
            "mode": chance.choice(["default", "default", "accept_edits", "trust", "plan"]),
        }
        running = [self.editor.begin("pygent/turn/start", params)]
        if chance.random() < 0.1:
            then = {"sessionId": book.id, "turnId": f"{meanwhile.turn_id}-b", "prompt": "And then?"}
            running.append(self.editor.begin("pygent/turn/start", then))
        giving_up = asyncio.ensure_future(self._give_up(book.id))
        try:
            async with asyncio.timeout(WAIT_S):
                result, *_ = [await each for each in running]
        except EOFError:
            assert meanwhile.was_cut, f"the daemon ended: {self.daemon.stderr.decode(errors='replace')[-3000:]}"
            self._release(planner)
            return
        except ErrorAnswer as error:
            raise AssertionError(f"the turn failed: {error} {error.data}") from error
        except TimeoutError:
            raise AssertionError(f"the turn did not end; its last events are {meanwhile.events[-3:]}") from None
        finally:
            giving_up.cancel()
        self.editor.heard.clear()
        self._release(planner)
        self._count(result["stopReason"], meanwhile.events)
        if cut is not None and not meanwhile.was_cut:
            cut()
            return
        await self.editor.until(lambda: book.n_replayed >= meanwhile.events[-1]["seq"])
        assert book.turn(meanwhile.turn_id) == meanwhile.events, f"the view differs from {meanwhile.turn_id}"
        book.check_turn(meanwhile.turn_id)

    def _count(self, stop_reason: str, events: Sequence[Mapping[str, Any]]) -> None:
        self.seen[f"stop: {stop_reason}"] += 1
        for each in events:
            if each["type"] == "tool_result":
                self.seen[f"{each['toolName']}{' error' if each['isError'] else ''}"] += 1
                self.background += re.findall(r"shell_id[`: ]+([A-Za-z0-9_-]+)", each["content"])

    def _release(self, planner: Planner) -> None:
        typed_meanwhile = {line for line, name in self.user_lines.items() if name in planner.replaced}
        for line in planner.named | typed_meanwhile:
            self.user_lines.pop(line, None)
        self.provider.forget()

    async def _give_up(self, session_id: str) -> None:
        """Cancel the turn, and one that was queued behind it, once a prompt is one that is never answered."""
        while True:
            await self._never_answered.wait()
            self._never_answered.clear()
            await self.editor.ask("pygent/turn/cancel", {"sessionId": session_id})

    async def _some_book(self, chance: random.Random) -> Book:
        if not self.books or chance.random() < 0.1:
            return await self.new_session()
        return chance.choice(list(self.books.values()))

    async def new_session(self) -> Book:
        """Make a session; the oldest goes if there are many."""
        made = (await self.editor.ask("pygent/session/new", {}))["sessionId"]
        book = self.books[made] = Book(made)
        self.attach(book)
        if len(self.books) > N_SESSIONS:
            await self.delete(next(iter(self.books)))
        return book

    async def delete(self, session_id: str) -> None:
        """Delete one."""
        del self.books[session_id]
        await self.editor.ask("pygent/session/delete", {"sessionId": session_id})

    # What must be true

    async def check(self, *, is_idle: bool = True) -> None:
        """Check everything after a step."""
        self.follow_disk()
        self.check_text()
        problems = [each for book in self.books.values() for each in book.problems] + self.provider.failures
        assert not problems, problems[:3]
        stderr = self.daemon.stderr.decode(errors="replace")
        assert "Traceback" not in stderr, stderr[-3000:]
        for book in tuple(self.books.values()):
            loaded = await self.editor.ask("pygent/session/load", {"sessionId": book.id})
            await self.editor.until(lambda book=book, loaded=loaded: book.n_replayed >= loaded["lastSeq"])
            check_messages(loaded["messages"])
            for turn_id in dict.fromkeys(each["turnId"] for each in book.events[-400:]):
                events = book.turn(turn_id)
                if events[0]["type"] in ("turn_started", "turn_queued") and not events[-1].get("held"):
                    book.check_turn(turn_id)
        if is_idle:
            status = await self.editor.ask("pygent/status")
            assert status["runningTurns"] == 0, status

    def check_text(self) -> None:
        """Every line that the user typed is there, unless an edit named it."""
        texts = "\n".join(self.visible().values())
        there = set(USER_LINE.findall(texts))
        lost = {line: name for line, name in self.user_lines.items() if line not in there}
        assert not lost, f"lines of the user are lost: {lost}; there is {self.visible()}"

    async def check_nothing_left(self) -> None:
        """After the sessions are closed, their programs are gone."""
        for book in self.books.values():
            await self.editor.ask_or_error("pygent/session/close", {"sessionId": book.id})
        ends_s = time.monotonic() + IDLE_S
        while left := [each for each in self.daemon.children() if not any(name in each for name in HELPERS)]:
            assert time.monotonic() < ends_s, f"programs are left: {left}"
            await let_pass(0.05)


class Meanwhile:
    """What happens after some events of a turn: the user types, cancels, steers, or the daemon ends."""

    def __init__(
        self, world: World, session_id: str, turn_id: str, chance: random.Random, cut: Callable[[], None] | None
    ) -> None:
        self.turn_id = turn_id
        self.events: list[dict[str, Any]] = []
        self.was_cut = False
        self._world = world
        self._session_id = session_id
        self._cut = cut
        self._chance = random.Random(chance.random())
        self._user_after = [chance.randint(1, 40) for _ in range(chance.choice([0, 1, 2, 3]))]
        self._cancel_after = chance.randint(1, 30) if cut is None and chance.random() < 0.2 else None
        self._cut_after = chance.randint(1, 25) if cut is not None else None
        self._steer_after = chance.randint(2, 20) if chance.random() < 0.15 else None

    def heard(self, token: str | int, new: Sequence[dict[str, Any]]) -> None:
        """Take events, and act behind them."""
        self._world.take(token, new)
        if token == self.turn_id:
            for each in new:
                self.events.append(each)
                self._act(len(self.events))

    def _act(self, number: int) -> None:
        editor, named = self._world.editor, {"sessionId": self._session_id}
        if number in self._user_after:
            self._world.user_does(self._chance)
        if number == self._cancel_after:
            editor.begin("pygent/turn/cancel", named)
        if number == self._steer_after:
            editor.begin("pygent/turn/steer", {**named, "turnId": self.turn_id, "prompt": "Be quick."})
        if number == self._cut_after and self._cut is not None:
            self.was_cut = True
            self._cut()
