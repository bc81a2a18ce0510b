"""The language server and an editor in one process: frames go through a real pipe, the model and the user are fakes.

async with connected(tmp_path, [say("Hello")]) as editor:
    result = await editor.turn("hi")
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.permissions.permissions import Permissions, Rule
from pygent_ls.agent.ports.completer import CompletionRequest
from pygent_ls.agent.ports.model import Model
from pygent_ls.agent.ports.questioner import Question, QuestionAnswered
from pygent_ls.agent.ports.skills import Skill
from pygent_ls.agent.rules import globs
from pygent_ls.agent.session_services import Environment, SessionMemory, SessionServices
from pygent_ls.agent.tools.cache import ToolCache
from pygent_ls.agent.tools.read_log import ReadLog
from pygent_ls.agent.tools.tool import Tool, ToolRegistry
from pygent_ls.agent.variants import AgentProfile, variants
from pygent_ls.editors.lsp.server import PygentServer
from pygent_ls.editors.lsp.transport.stdio import BrokenFrame, FrameReader, FrameWriter, Message, message_of
from pygent_ls.editors.ports import FrontEnd, SessionStart
from pygent_ls.errors import ModelError
from pygent_ls.llm.keys.editor_keys import EditorKeys
from pygent_ls.llm.model_list import ListedModel
from pygent_ls.llm.setup.flow import SetUp, Way
from pygent_ls.sessions.checkpoints.checkpoints import Checkpoints
from pygent_ls.sessions.checkpoints.past_sessions import PastSessions
from pygent_ls.sessions.commands.ports import NoWorktrees
from pygent_ls.sessions.journal.folder import JournalFolder
from pygent_ls.sessions.lifecycle.defaults import SessionDefaults
from pygent_ls.sessions.rules import FileRuleStore
from pygent_ls.sessions.store import Sessions
from pygent_ls.tools.catalog import offered_tools
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from pygent_ls.workspace.snapshots.snapshots import Snapshots
from tests.editors.lsp.editor_documents import Documents, path_of
from tests.extensions.mcp.view import ListedServers
from tests.extensions.voice_input import SilentVoice
from tests.fakes import WAIT_S, FakeClock, FakeModel, Step, bounded
from tests.sessions.conversation import LIMITS, say_mode


class _NoAnswer:
    def __repr__(self) -> str:
        return "no answer"


NO_ANSWER = _NoAnswer()
"""What a handler returns that never answers."""

CAPABILITIES: Mapping[str, Any] = {
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        "workspaceFolders": True,
    },
    "window": {"workDoneProgress": False, "showDocument": {"support": True}},
    "general": {"positionEncodings": ["utf-16"]},
}
"""Capabilities of an editor that supports everything used by default."""

Handler = Callable[[Mapping[str, Any]], Any]


class WireError(Exception):
    """A request was answered with an error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.data = data


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What the daemon is made of."""

    script: Sequence[Sequence[Step]] | FakeModel = ()
    tools: Sequence[Tool] | None = None
    """None: all that are offered."""
    model: str = "fake/model"
    mode: Mode = "default"
    problems: Sequence[str] = ()
    reviews_edits: bool = False
    checkpoints: bool = False
    """Whether git keeps what the agent changes."""
    keeps_sessions: bool = False
    """Whether they have journals on the disk."""


class NoCompletions:
    """Inline completion without a model."""

    completes = False
    suggests_edits = False
    debounce_s = 0.0
    max_tokens = 0

    async def refresh(self) -> None:
        """Implement `InlineCompletions`."""

    def is_withheld(self, path: Path, name: str) -> bool:
        """Implement `InlineCompletions`."""
        del path, name
        return True

    async def complete(self, request: CompletionRequest) -> AsyncGenerator[str]:
        """Implement `InlineCompletions`."""
        del request
        raise AssertionError("no model is set")
        yield ""


class FakeCore:
    """The agent, put together on the real workspace of the front end, with a scripted model."""

    model_ready = True

    def __init__(self, setup: Setup, state_folder: Path, front_end: FrontEnd) -> None:
        self.state_folder = state_folder
        self.model = setup.script if isinstance(setup.script, FakeModel) else FakeModel(setup.script)
        self.changed_files: list[Path] = []
        self.n_starts = 0
        self.mcp = ListedServers()
        self.voice = SilentVoice()
        self.worktrees = NoWorktrees()
        self.configured: list[object] = []
        self.keys = EditorKeys({})
        self._setup = setup
        self._front_end = front_end
        self._processes = LocalProcesses()
        self._cache = ToolCache(max_entries=64, clock=FakeClock())
        self._rules = FileRuleStore(state_folder, front_end.workspace.folders[0])
        self._snapshots = Snapshots(state_folder / "snapshots", lambda: self._processes.find("git"), days=30)
        self._past = PastSessions(state_folder / "checkpoints", front_end.workspace, self._snapshots)
        self.sessions = Sessions(
            lambda: SessionDefaults(
                working_directory=front_end.workspace.folders[0],
                agent="default",
                model=setup.model,
                mode=setup.mode,
                limits=LIMITS,
                persist=setup.keeps_sessions,
            ),
            make_services=self._services,
            make_model=self._make_model,
            make_system_prompt=say_mode,
            on_change=front_end.on_session_change,
        )

        if setup.checkpoints:
            self.sessions.keep_checkpoints(self._checkpoints, self._past)
        if setup.keeps_sessions:
            self.sessions.keep_in(JournalFolder(state_folder / "sessions"))

    @property
    def completions(self) -> NoCompletions:
        """Implement `Core`."""
        return NoCompletions()

    @property
    def tools(self) -> ToolRegistry:
        """Implement `Core`."""
        given = self._setup.tools
        usual = offered_tools(has_folder=True, shell_timeout_s=10.0, has_search=False)
        return ToolRegistry(usual if given is None else given)

    async def beginning(self) -> SessionStart:
        """Implement `Core`."""
        return SessionStart(model=self._setup.model, agent="default", mode=self._setup.mode, modes=("default", "plan"))

    async def models(self) -> Sequence[ListedModel]:
        """Implement `Core`."""
        return [ListedModel(name=self._setup.model), ListedModel(name="other", available=False, reason="no key")]

    @property
    def reviews_edits(self) -> bool:
        """Implement `Core`."""
        return self._setup.reviews_edits

    def rules(self) -> Sequence[Rule]:
        """Implement `Core`."""
        return self._rules.load()

    def forget_rule(self, text: str) -> bool:
        """Implement `Core`."""
        return self._rules.remove(text)

    def file_changed(self, path: Path) -> None:
        """Implement `Core`."""
        self.changed_files.append(path)
        self._cache.invalidate(globs.escape(path))

    def start_loading(self, after_s: float = 0.0) -> None:
        """Implement `Core`."""
        del after_s
        self.n_starts += 1

    def configure(self, given: object) -> Sequence[str]:
        """Implement `Core`."""
        self.configured.append(given)
        return [] if given is None or isinstance(given, Mapping) else ["the editor's settings are odd"]

    async def close(self) -> None:
        """Implement `Core`."""
        await self.sessions.close()

    @property
    def front_end(self) -> FrontEnd:
        """What the server brings to the core."""
        return self._front_end

    async def commit_message(self, folder: Path | None) -> str:
        """Implement `Core`."""
        return f"Change {folder}"

    async def skills(self) -> Sequence[Skill]:
        """Implement `Core`."""
        return ()

    def take_keys(self, keys: Mapping[str, str | None]) -> frozenset[str]:
        """Implement `Core`."""
        self.keys.change(keys)
        return self.keys.variables

    async def set_up(self, way: Way = "any") -> SetUp:
        """Asks for a key, and tells what was answered."""
        question = Question(question_id="q", session_id="", tool_id="", text="Key?", from_model=False, secret=True)
        answer = await self._front_end.questioner.ask(question)
        del way
        return SetUp(text=answer.text if isinstance(answer, QuestionAnswered) else type(answer).__name__)

    def kill_processes(self) -> None:
        """Implement `Core`."""
        self._processes.kill_all()

    @property
    def agents(self) -> Sequence[AgentProfile]:
        """The shipped ones."""
        return list(variants().profiles.values())

    def _make_model(self, name: str) -> Model:
        if name == self._setup.model:
            return self.model
        raise ModelError(f"there is no model {name}", type="invalid_request")

    def _checkpoints(self, session_id: str) -> Checkpoints:
        return Checkpoints(self._front_end.workspace, self._snapshots, self._past.records(session_id))

    def _services(self, session_id: str, mode: Mode) -> SessionServices:
        return SessionServices(
            environment=Environment(
                workspace=self._front_end.workspace,
                processes=self._processes,
                approver=self._front_end.approver,
                questioner=self._front_end.questioner,
                pauser=self._front_end.pauser,
                editor=self._front_end.editor,
                reviewer=self._front_end.reviewer,
                cache=self._cache,
                max_tool_result_chars=40_000,
            ),
            memory=SessionMemory(session_id=session_id, permissions=Permissions(mode, self._rules), reads=ReadLog()),
            tools=self.tools,
        )


@dataclass(kw_only=True)
class FakeBlueprint:
    """Keeps the core that it built, for the test to look at."""

    setup: Setup
    state_folder: Path
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    folders: Sequence[Path] = ()
    core: FakeCore | None = None

    @property
    def model(self) -> str:
        """Implement `Blueprint`."""
        return self.setup.model

    @property
    def completes(self) -> bool:
        """Implement `Blueprint`."""
        return False

    @property
    def problems(self) -> Sequence[str]:
        """Implement `Blueprint`."""
        return self.setup.problems

    def read(self, options: Mapping[str, Any], folders: Sequence[Path]) -> FakeBlueprint:
        """A `ReadSettings`."""
        self.options, self.folders = options, folders
        return self

    def build(self, front_end: FrontEnd) -> FakeCore:
        """Implement `Blueprint`."""
        self.core = FakeCore(self.setup, self.state_folder, front_end)
        return self.core


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request of the daemon."""

    id: int
    method: str
    params: Mapping[str, Any]


class Editor:
    """The editor's end. `handlers` answer the daemon's requests; without one a request is answered with an error."""

    def __init__(self, folder: Path, blueprint: FakeBlueprint) -> None:
        self.folder = folder
        self.blueprint = blueprint
        self.initialize_result: Mapping[str, Any] = {}
        self.frames: list[dict[str, Any]] = []
        """Everything that came, in order."""
        self.asked: list[Asked] = []
        self.told: list[tuple[str, Mapping[str, Any]]] = []
        self.exit_codes: list[int] = []
        self.documents = Documents(self.tell, "utf-16")
        self.handlers: dict[str, Handler] = {
            "workspace/applyEdit": self.documents.apply,
            "window/showMessageRequest": lambda _: {"title": "Allow once"},
            "window/showDocument": self.show,
            "window/workDoneProgress/create": lambda _: None,
        }
        self._ids = itertools.count(1)
        self._waiting: dict[int | str, asyncio.Future[Any]] = {}
        self._changed = asyncio.Event()
        self._ended = asyncio.Event()
        self._connect()

    def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        reading, writing = os.pipe()
        self._stream = os.fdopen(reading, "rb")
        self._writing = writing
        self.writer = FrameWriter(writing, loop, on_broken=self._ended.set)
        FrameReader(stream=self._stream, loop=loop, on_message=self._receive, on_end=self._ended.set).start()
        self.server = PygentServer(self.blueprint.read, self.writer)
        self.server.endpoint.on_exit = self.exit_codes.append

    # Going to the daemon

    def send(self, message: object) -> None:
        """Send any JSON."""
        self.send_raw(json.dumps(message).encode())

    def send_raw(self, body: bytes | BrokenFrame) -> None:
        """Send a body as it is."""
        self.server.endpoint.receive(message_of(body))

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def begin(self, method: str, params: object = None, *, id: int | str | None = None) -> asyncio.Future[Any]:
        """Send a request; the future has its result, or raises `WireError`. `id` of the last one: `last_id`."""
        self.last_id = next(self._ids) if id is None else id
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[self.last_id] = answer
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return answer

    async def request(self, method: str, params: object = None) -> Any:
        """Send a request and wait for its result. Raises `WireError`."""
        return await bounded(self.begin(method, {} if params is None else params))

    async def error(self, method: str, params: object = None) -> WireError:
        """The error that a request is answered with."""
        try:
            result = await self.request(method, params)
        except WireError as error:
            return error
        raise AssertionError(f"{method} was answered with {result!r}")

    def begin_turn(self, prompt: object = "go", **params: object) -> asyncio.Future[Any]:
        """`pygent/turn/start`; its events come on the token `events`, if no other is given."""
        return self.begin("pygent/turn/start", {"prompt": prompt, "partialResultToken": "events", **params})

    async def turn(self, prompt: object = "go", **params: object) -> Any:
        """A whole turn."""
        return await bounded(self.begin_turn(prompt, **params))

    def cancel(self, id: int | str) -> None:
        """`$/cancelRequest`."""
        self.tell("$/cancelRequest", {"id": id})

    # Coming from it

    def answer(self, asked: Asked, result: object) -> None:
        """Answer a request that no handler answered."""
        self.send({"jsonrpc": "2.0", "id": asked.id, "result": result})

    def show(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """`window/showDocument`: open the file in a buffer."""
        if params["uri"] not in self.documents.open_documents:
            self.documents.open(path_of(params["uri"]), uri=params["uri"])
        return {"success": True}

    def notifications(self, method: str) -> list[Mapping[str, Any]]:
        """The parameters of every notification of that name."""
        return [params for name, params in self.told if name == method]

    def requests(self, method: str) -> list[Asked]:
        """Every request of that name."""
        return [each for each in self.asked if each.method == method]

    def progress(self, token: str | int) -> list[Mapping[str, Any]]:
        """The values of `$/progress` on a token."""
        return [each["value"] for each in self.notifications("$/progress") if each["token"] == token]

    def events(self, token: str | int = "events") -> list[dict[str, Any]]:
        """The events of a turn."""
        return [event for value in self.progress(token) for event in value["events"]]

    def types(self, token: str | int = "events") -> list[str]:
        """Their types."""
        return [event["type"] for event in self.events(token)]

    async def until(self, true: Callable[[], object]) -> None:
        """Wait until something is true that a frame can make so."""
        async with asyncio.timeout(WAIT_S):
            while not true():
                self._changed.clear()
                await self._changed.wait()

    async def asks(self, method: str, number: int = 1) -> Asked:
        """Wait for the first (second, …) request of that name."""
        await self.until(lambda: len(self.requests(method)) >= number)
        return self.requests(method)[number - 1]

    @property
    def core(self) -> FakeCore:
        """The agent behind the server."""
        assert self.blueprint.core is not None
        return self.blueprint.core

    @property
    def tool_results(self) -> list[str]:
        """What the tools returned, of all turns on the usual token."""
        return [event["content"] for event in self.events() if event["type"] == "tool_result"]

    async def close(self) -> None:
        """End everything."""
        await bounded(self.server.close())
        self.writer.close(WAIT_S)
        os.close(self._writing)
        await bounded(self._ended.wait())
        self._stream.close()

    def _receive(self, given: Message) -> None:
        assert isinstance(given, str)
        message = json.loads(given)
        self.frames.append(message)
        if "method" not in message:
            self._take_answer(message)
        elif "id" in message:
            self._take_request(Asked(id=message["id"], method=message["method"], params=message["params"]))
        else:
            self.told.append((message["method"], message["params"]))
        self._changed.set()

    def _take_answer(self, message: Mapping[str, Any]) -> None:
        waiting = self._waiting.pop(message["id"], None)
        if waiting is None:
            return
        if "error" in message:
            error = message["error"]
            waiting.set_exception(WireError(error["code"], error["message"], error.get("data")))
        else:
            waiting.set_result(message["result"])

    def _take_request(self, asked: Asked) -> None:
        self.asked.append(asked)
        handler = self.handlers.get(asked.method)
        if handler is None:
            error = {"code": -32601, "message": f"this editor knows no {asked.method}"}
            self.send({"jsonrpc": "2.0", "id": asked.id, "error": error})
            return
        try:
            result = handler(asked.params)
        except WireError as error:
            body = {"code": error.code, "message": error.message}
            self.send({"jsonrpc": "2.0", "id": asked.id, "error": body})
            return
        if result is not NO_ANSWER:
            self.answer(asked, result)


@asynccontextmanager
async def wired(folder: Path, setup: Setup | None = None) -> AsyncGenerator[Editor]:
    """An editor that has said nothing yet; `folder` is its workspace, and the daemon's state lies beside it."""
    blueprint = FakeBlueprint(setup=setup or Setup(), state_folder=folder.parent / f"{folder.name}-state")
    editor = Editor(folder, blueprint)
    try:
        yield editor
    finally:
        await editor.close()


@asynccontextmanager
async def connected(
    folder: Path, setup: Setup | None = None, *, capabilities: Mapping[str, Any] = CAPABILITIES, **params: object
) -> AsyncGenerator[Editor]:
    """An editor that has initialized the daemon; `params` are more parameters of `initialize`."""
    async with wired(folder, setup) as editor:
        await initialize(editor, capabilities, params)
        yield editor


async def initialize(editor: Editor, capabilities: Mapping[str, Any], params: Mapping[str, object]) -> None:
    """The handshake."""
    offered = capabilities.get("general", {}).get("positionEncodings", [])
    editor.documents.encoding = "utf-8" if "utf-8" in offered else "utf-16"
    folders = [{"uri": editor.folder.as_uri(), "name": editor.folder.name}]
    editor.initialize_result = await editor.request(
        "initialize",
        {"processId": None, "rootUri": None, "workspaceFolders": folders, "capabilities": capabilities, **params},
    )
    editor.tell("initialized", {})
