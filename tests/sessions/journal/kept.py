"""The sessions of daemons on fakes, one after another or side by side, over one folder of real journals."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from pygent_ls.agent.events import (
    Finished,
    ToolCall,
    ToolResult,
    TurnQueued,
    TurnStarted,
)
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.messages import Message, ToolResultBlock
from pygent_ls.agent.ports.hooks import Hooks, NoHooks
from pygent_ls.agent.ports.model import Model
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.errors import ModelError
from pygent_ls.llm.anthropic.request import anthropic_messages
from pygent_ls.llm.openai.chat_format import chat_messages
from pygent_ls.sessions.checkpoints.checkpoints import Checkpoints
from pygent_ls.sessions.checkpoints.records import CheckpointRecords
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.journal.decoder import UnreadableError, parsed, record_of
from pygent_ls.sessions.journal.folder import JournalFolder
from pygent_ls.sessions.journal.records import Record, Told
from pygent_ls.sessions.lifecycle.defaults import NewSession, SessionDefaults
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.steering import steer
from pygent_ls.sessions.store import Sessions
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.tools.tasks import task
from tests.agent.abilities import edit_file, waiting
from tests.agent.abilities import read_file as read_tool
from tests.fakes import FOLDER, Call, FakeApprover, FakeModel, Gate, Rig, Step, bounded, make_rig, say, with_parts
from tests.llm.test_long_conversations import check_chat_completions, check_messages_api
from tests.sessions.conversation import LIMITS, say_mode
from tests.sessions.subscribers import Reader
from tests.workspace.repositories import snapshots_beside

FILES = {"a.txt": "the first file\n", "b.txt": "the second file\n"}

GOING_ON = (say("Looking.", Call(name="read_file", arguments={"path": "a.txt"})), say("Gone on."))
"""What a model says in a turn behind one that was cut off."""


@dataclass
class Kept:
    """One daemon. Its models play the script, its user answers what the approver says."""

    root: Path
    """The folder of the journals."""
    script: Sequence[Sequence[Step]] = ()
    tools: Sequence[Tool] = (read_tool, edit_file, task)
    approver: FakeApprover | None = None
    mode: Mode = "default"
    persist: bool = True
    model_name: str = "fake/model"
    hooks: Hooks = field(default_factory=NoHooks)
    has_checkpoints: bool = False
    """Whether sessions can go back; their conversations alone, since no file is kept."""

    def __post_init__(self) -> None:
        self.model = FakeModel(self.script, name=self.model_name)
        self.rigs: dict[str, Rig] = {}
        self.sessions = Sessions(
            self._defaults,
            make_services=self._services,
            make_model=self._model,
            make_system_prompt=say_mode,
            on_change=lambda session_id, what: None,
        )
        self.sessions.keep_in(JournalFolder(self.root))
        if self.has_checkpoints:
            self.sessions.keep_checkpoints(self.checkpoints)

    def new(self) -> Session:
        """A new session."""
        return self.sessions.new(NewSession())

    async def say(self, session: Session, prompt: str = "go on", reader: Reader | None = None) -> TurnResult:
        """One whole turn."""
        running = session.start_turn(TurnRequest(parts=(prompt,)), reader or Reader())
        assert running.task is not None
        return await bounded(running.task)

    def _defaults(self) -> SessionDefaults:
        return SessionDefaults(
            working_directory=FOLDER,
            agent="default",
            model=self.model_name,
            mode=self.mode,
            limits=LIMITS,
            persist=self.persist,
        )

    def _model(self, name: str) -> Model:
        if name != self.model_name:
            raise ModelError(f"there is no model {name}", type="invalid_request")
        return self.model

    def _services(self, session_id: str, mode: Mode) -> SessionServices:
        rig = self.rigs[session_id] = make_rig(
            *self.tools, files=FILES, mode=mode, approver=self.approver or FakeApprover(otherwise="allow_once")
        )
        return with_parts(rig.services, session_id=session_id, hooks=self.hooks)

    def checkpoints(self, session_id: str) -> Checkpoints:
        """The checkpoints of a session whose services were made."""
        snapshots = snapshots_beside(self.root, find=lambda: None)
        records = CheckpointRecords(self.root / "checkpoints", session_id, days=snapshots.days)
        return Checkpoints(self.rigs[session_id].workspace, snapshots, records)


@asynccontextmanager
async def daemon(
    root: Path,
    script: Sequence[Sequence[Step]] = (),
    *,
    approver: FakeApprover | None = None,
    persist: bool = True,
    tools: Sequence[Tool] = (read_tool, edit_file, task),
    has_checkpoints: bool = False,
    hooks: Hooks | None = None,
) -> AsyncGenerator[Kept]:
    """A daemon that ends as it should."""
    kept = Kept(root, script, approver=approver, persist=persist, tools=tools, has_checkpoints=has_checkpoints)
    kept.hooks = hooks or NoHooks()
    try:
        yield kept
    finally:
        await bounded(kept.sessions.close())


@contextmanager
def journal_of(data: bytes, session_id: str = "s1") -> Generator[Path]:
    """A folder of journals in which that is the only one."""
    root = Path(mkdtemp(prefix="journals-"))
    try:
        (root / f"{session_id}.jsonl").write_bytes(data)
        yield root
    finally:
        shutil.rmtree(root)


def records_in(data: bytes) -> list[Record]:
    """Return the readable records."""
    found: list[Record] = []
    for line in data.split(b"\n"):
        try:
            found += [record_of(parsed(line))] if line else []
        except UnreadableError:
            continue
    return found


def events_in(data: bytes) -> list[SessionEvent]:
    """Return the readable events."""
    return [each.event for each in records_in(data) if isinstance(each, Told)]


def open_turns(events: Sequence[SessionEvent]) -> set[str]:
    """The turns that have no end."""
    begun = {each.turn_id for each in events if isinstance(each.event, TurnQueued | TurnStarted)}
    return begun - {each.turn_id for each in events if isinstance(each.event, Finished)}


def check_conversation(messages: Sequence[Message]) -> None:
    """A user begins, nothing is empty, and the results of an answer's calls, in their order, begin the message right
    behind it and stand nowhere else."""
    assert not messages or messages[0].role == "user"
    for message, following in zip(messages, [*messages, None][1:], strict=True):
        assert message.blocks
        assert message.role == "assistant" or not message.tool_calls
        assert message.role == "user" or not _results(message)
        called = [each.id for each in message.tool_calls]
        if called:
            assert following is not None
            assert following.role == "user"
            assert _results(following) == called
            assert all(isinstance(each, ToolResultBlock) for each in following.blocks[: len(called)])
        elif following is not None:
            assert not _results(following)
    ids = [call.id for message in messages for call in message.tool_calls]
    assert len(ids) == len(set(ids))


def _results(message: Message) -> list[str]:
    return [each.tool_use_id for each in message.blocks if isinstance(each, ToolResultBlock)]


def check_requests(model: FakeModel) -> None:
    """Strict providers take what the model was sent."""
    for request in model.requests:
        check_messages_api(anthropic_messages(request.messages, thinking=True))
        check_chat_completions(chat_messages(request.system, request.messages))


def check_whole_story(events: Sequence[SessionEvent]) -> None:
    """Numbers rise by one; each turn begins and ends once, or its prompt is held; each call that was told has its
    result."""
    assert [each.seq for each in events] == list(range(1, len(events) + 1))
    for turn_id in dict.fromkeys(each.turn_id for each in events):
        own = [each.event for each in events if each.turn_id == turn_id]
        if isinstance(own[-1], TurnQueued):
            assert own[-1].held
            continue
        types = [each.type for each in own if each.type != "turn_queued"]
        assert types[0] == "turn_started"
        assert types[-1] == "finished"
        assert types.count("turn_started") == types.count("finished") == 1
        called = {each.tool_id for each in own if isinstance(each, ToolCall)}
        answered = [each.tool_id for each in own if isinstance(each, ToolResult)]
        assert sorted(called) == sorted(answered)


@cache
def eventful_journal() -> tuple[str, bytes]:
    """The id and the journal of a session of `one_eventful_turn`; made once, in an event loop of its own."""
    with TemporaryDirectory() as folder, ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, one_eventful_turn(Path(folder))).result()


async def one_eventful_turn(root: Path) -> tuple[str, bytes]:
    """A turn with thinking, calls side by side, a permission, an edit, a subagent and what the user says meanwhile,
    with another turn waiting behind it; the session's id and its journal."""
    gate = Gate()
    script = (
        say(
            "I look at both.",
            Call(name="read_file", arguments={"path": "a.txt"}, id="read-a"),
            Call(name="read_file", arguments={"path": "b.txt"}, id="read-b"),
            thinking="which first?",
        ),
        say(
            "Now I change it.",
            Call(name="edit_file", arguments={"path": "a.txt", "old": "first", "new": "1st"}, id="edit"),
            Call(name="wait", arguments={}, id="wait"),
        ),
        say("", Call(name="task", arguments={"description": "look on", "prompt": "look at b"}, id="task")),
        say("A subagent's words.", Call(name="read_file", arguments={"path": "b.txt"}, id="below")),
        say("Below it is fine."),
        say("All is done, in so many words."),
        say("The second turn."),
    )
    tools = (read_tool, edit_file, task, waiting("wait", gate))
    async with daemon(root, script, tools=tools) as kept:
        session = kept.new()
        running = session.start_turn(TurnRequest(parts=("change the first file",)), Reader())
        behind = session.start_turn(TurnRequest(parts=("and then?",)), Reader())
        await gate.reached()
        assert await steer(session, running.turn_id, ["be quick"])
        gate.open()
        assert running.task is not None
        assert behind.task is not None
        assert (await bounded(running.task)).stop_reason == "end_turn"
        assert (await bounded(behind.task)).text == "The second turn."
        return session.id, (root / f"{session.id}.jsonl").read_bytes()


def files_in(folder: Path) -> list[Path]:
    """What is in it."""
    return list(folder.iterdir())


def bytes_of(path: Path) -> bytes:
    """What is in it."""
    return path.read_bytes()
