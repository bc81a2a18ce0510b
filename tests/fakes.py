"""Fakes that behave: every port of the core, in memory, without a file, a program or a network.

A `Gate` stops a fake where a test wants to look, cancel or change something, and no test ever sleeps:

    gate = Gate()
    model = FakeModel([[TextChunk(text="half"), gate]])
    …; await gate.reached(); task.cancel()
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import posixpath
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from msgspec.structs import replace

from pygent_ls.agent.events import AgentEvent, Stamped
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.model.retry import RetryAction
from pygent_ls.agent.permissions.permissions import Permissions, Rule
from pygent_ls.agent.ports.approver import PermissionAnswer, PermissionOutcome, PermissionRequest
from pygent_ls.agent.ports.model import (
    Chunk,
    Completion,
    FinishChunk,
    ModelFacts,
    ModelRequest,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    ToolDefinition,
    UsageChunk,
    completed,
)
from pygent_ls.agent.ports.processes import (
    BackgroundCommand,
    BackgroundJob,
    BackgroundListener,
    BackgroundState,
    OutputMask,
    ProcessResult,
    ProcessSpec,
    Repositories,
    SandboxState,
)
from pygent_ls.agent.ports.workspace import (
    MISSING,
    Applied,
    CopyBytes,
    DeleteFile,
    Document,
    EditPlan,
    FileOperation,
    FileStatus,
    LargeFilePart,
    MoveFile,
    PartWanted,
    Stamp,
    WriteText,
)
from pygent_ls.agent.session_services import Environment, SessionMemory, SessionServices
from pygent_ls.agent.tools.cache import ToolCache
from pygent_ls.agent.tools.read_log import ReadLog
from pygent_ls.agent.tools.tool import Tool, ToolContext, ToolRegistry
from pygent_ls.errors import ModelError, OutsideWorkspaceError, StaleDocumentError, ToolError

WAIT_S = 30.0
"""Longest wait of any test for something that happens in this process: far beyond what a busy machine needs."""

FOLDER = Path("/w")
"""The fake workspace's only folder."""

Value = TypeVar("Value")


async def bounded(work: Awaitable[Value]) -> Value:
    """Await work, but no longer than `WAIT_S`."""
    async with asyncio.timeout(WAIT_S):
        return await work


class Gate:
    """Where a fake stops until the test lets it go on."""

    def __init__(self) -> None:
        self._reached = asyncio.Event()
        self._open = asyncio.Event()

    async def pass_through(self) -> None:
        """Called by the fake: say that it is here, and wait."""
        self._reached.set()
        await self._open.wait()

    async def reached(self) -> None:
        """Called by the test: wait until the fake stands here."""
        await bounded(self._reached.wait())

    def open(self) -> None:
        """Called by the test: let it go on, now or when it comes."""
        self._open.set()


class FakeClock:
    """A monotonic clock that a test turns by hand."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now_s += seconds


# The model

Step = Chunk | Gate | Exception
"""A chunk is streamed, a gate is waited at, an exception is raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call of a scripted answer; arguments that are text are sent as they are, valid JSON or not."""

    name: str
    arguments: Mapping[str, Any] | str
    id: str | None = None


def say(
    text: str = "",
    *calls: Call,
    thinking: str = "",
    finish: str | None = "",
    usage: Usage | None = None,
) -> list[Step]:
    """The chunks of one answer, text and arguments in pieces. `finish` is the obvious reason unless given; None: the
    stream ends without one."""
    steps: list[Step] = []
    if thinking:
        steps.append(ThinkingChunk(thinking=thinking, signature="sealed"))
    middle = len(text) // 2
    steps += [TextChunk(text=piece) for piece in (text[:middle], text[middle:]) if piece]
    for index, call in enumerate(calls):
        given = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
        steps.append(ToolCallChunk(index=index, id=call.id, name=call.name, arguments=given[:3]))
        steps.append(ToolCallChunk(index=index, arguments=given[3:]))
    steps.append(UsageChunk(usage=usage or Usage(input_tokens=100, output_tokens=20)))
    if finish == "":
        steps.append(FinishChunk(reason="tool_calls" if calls else "stop"))
    elif finish is not None:
        steps.append(FinishChunk(reason=finish))
    return steps


class FakeModel:
    """Plays a script of answers, one a call, and records what it was asked.

    Beyond the end of the script every call fails with a `ModelError` that says so.
    """

    def __init__(self, script: Sequence[Iterable[Step]], *, name: str = "fake/model", ready: bool = True) -> None:
        self.name = name
        self.ready = ready
        self.requests: list[ModelRequest] = []
        self.open_streams = 0
        self.prepare_error: ModelError | None = None
        self.facts = ModelFacts()
        self._script = list(script)

    async def prepare(self) -> None:
        """Become ready, or raise `prepare_error`."""
        if self.prepare_error:
            raise self.prepare_error
        self.ready = True

    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """Their names."""
        return [{"name": tool.name} for tool in tools]

    async def complete(self, request: ModelRequest) -> Completion:
        """The next answer as a whole."""
        return await completed(self.stream(request), request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        """Play the next answer."""
        self.requests.append(request)
        if len(self.requests) > len(self._script):
            raise ModelError("the script is over", type="invalid_request", provider=self.name)
        self.open_streams += 1
        try:
            for step in self._script[len(self.requests) - 1]:
                if isinstance(step, Gate):
                    await step.pass_through()
                elif isinstance(step, Exception):
                    raise step
                else:
                    yield step
        finally:
            self.open_streams -= 1


# The workspace


def digest_of(text: str) -> str:
    """The digest that a `Document` has."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(slots=True)
class _Buffer:
    text: str
    version: int


class FakeWorkspace:
    """Files and open buffers in memory, with stamps and versions as a real workspace has them.

    `gate_before_apply` and `gate_after_apply` stop `apply` on either side of the change; `refusal` makes it fail.
    """

    def __init__(self, files: Mapping[str, str] | None = None) -> None:
        self.folders: Sequence[Path] = (FOLDER,)
        self.more_folders: Sequence[Path] = ()
        self.links: dict[Path, Path] = {}
        self.applied: list[EditPlan] = []
        self.refusal: ToolError | None = None
        self.objection: ToolError | None = None
        self.note = ""
        self.gate_before_apply: Gate | None = None
        self.gate_after_apply: Gate | None = None
        self.tree_too_large = False
        self.saved_for: list[str] = []
        self.save_refusal: ToolError | None = None
        self.changed_behind: list[Path] = []
        self._texts: dict[Path, str] = {}
        self._inodes: dict[Path, int] = {}
        self._buffers: dict[Path, _Buffer] = {}
        self._changes = 0
        for name, text in (files or {}).items():
            self.put(name, text)

    # What a test does to it

    def put(self, name: str, text: str) -> None:
        """Write a file behind the editor's back."""
        self._write(FOLDER / name, text)

    def remove(self, name: str) -> None:
        """Delete a file behind the editor's back."""
        del self._texts[FOLDER / name]

    def type_text(self, name: str, text: str) -> None:
        """Set the text of the user's buffer, unsaved; it is opened if it was closed."""
        path = FOLDER / name
        buffer = self._buffers.setdefault(path, _Buffer(self._texts.get(path, ""), 0))
        buffer.text = text
        buffer.version += 1

    def text(self, name: str) -> str | None:
        """What the user sees: the buffer, else the file, else None."""
        path = FOLDER / name
        buffer = self._buffers.get(path)
        return buffer.text if buffer else self._texts.get(path)

    @property
    def names(self) -> list[str]:
        """All files, by their shown names."""
        return sorted(self.shown(path) for path in {*self._texts, *self._buffers})

    # The port

    def use_also(self, folders: Sequence[Path]) -> None:
        """Remember them; nothing is in them."""
        self.more_folders = folders

    def resolve(self, path: str, *, follow: bool = True) -> Path:
        """Normalise as text; `links` are followed at the end of a path."""
        if "\0" in path or not path:
            raise ToolError(f"{path!r} cannot be a path.")
        found = Path(posixpath.normpath(str(FOLDER / path)))
        if follow:
            found = self.links.get(found, found)
        if FOLDER not in (found, *found.parents):
            raise OutsideWorkspaceError(f"{path} is outside the workspace.")
        return found

    def shown(self, path: Path) -> str:
        """Relative to the folder."""
        return path.relative_to(FOLDER).as_posix() if path.is_relative_to(FOLDER) else path.as_posix()

    def kind_of(self, path: Path) -> Literal["file", "folder", "missing"]:
        """Return a file for a buffer or a text, and a folder for a parent of one."""
        if path in self._texts or path in self._buffers:
            return "file"
        return "folder" if any(path in each.parents for each in self._texts) else "missing"

    async def read(self, path: Path) -> Document:
        """The buffer, else the file."""
        document = self._document(path)
        if document is None:
            raise ToolError(f"There is no file {self.shown(path)}.")
        return document

    async def lines_on_disk(self, wanted: Mapping[Path, Collection[int]]) -> Mapping[Path, Mapping[int, bytes]]:
        """The lines of files, not of buffers."""
        return {
            path: {n: line.encode() for n, line in enumerate(self._texts[path].split("\n"), 1) if n in numbers}
            for path, numbers in wanted.items()
            if path in self._texts
        }

    async def stamp(self, path: Path) -> Stamp:
        """The stamp that `read` would give."""
        document = self._document(path)
        return document.stamp if document else MISSING

    async def stamps(self, paths: Sequence[Path]) -> Sequence[Stamp]:
        """The stamp of each."""
        return [await self.stamp(path) for path in paths]

    async def tree_stamp(self, folder: Path) -> Stamp | None:
        """All names and stamps below the folder."""
        if self.tree_too_large:
            return None
        inside = sorted(path for path in {*self._texts, *self._buffers} if path.is_relative_to(folder))
        lines = [f"{path} {await self.stamp(path)}" for path in inside]
        return digest_of("\n".join(lines))

    async def status(self, path: Path) -> FileStatus:
        """Folders are what files lie in."""
        if path in self._texts:
            return FileStatus(kind="file", mode=0o644)
        return FileStatus(kind="folder" if await self.files_below(path) else "missing", mode=0o755)

    async def files_named(self, is_wanted: Callable[[str], bool]) -> Sequence[Path]:
        """By name."""
        return sorted(each for each in self._texts if is_wanted(each.name))

    async def files_below(self, path: Path) -> Sequence[Path]:
        """By name."""
        return sorted(each for each in self._texts if each.is_relative_to(path))

    def unsaved(self) -> Sequence[Document]:
        """Buffers that differ from their files."""
        documents = [self._document(path) for path, each in self._buffers.items() if each.text != self._texts.get(path)]
        return [document for document in documents if document]

    def open_document(self, path: Path) -> Document | None:
        """The buffer."""
        return self._document(path) if path in self._buffers else None

    async def check(self, plan: EditPlan) -> None:
        """`objection` is what stands in the way of every plan."""
        if self.objection:
            raise self.objection

    async def apply(self, plan: EditPlan) -> Applied:
        """All operations or none; `note` is what is to be said of it."""
        if self.gate_before_apply:
            await self.gate_before_apply.pass_through()
        if self.refusal:
            raise self.refusal
        for operation in plan.operations:
            self._check(operation)
        for operation in plan.operations:
            self._carry_out(operation)
        self.applied.append(plan)
        if self.gate_after_apply:
            await self.gate_after_apply.pass_through()
        return Applied(asked=plan, stands=plan, note=self.note)

    async def read_part(self, path: Path, wanted: PartWanted) -> LargeFilePart:
        """No file here is large."""
        raise ToolError(f"{self.shown(path)} has no line {wanted.line}.")

    async def read_binary(self, path: Path) -> bytes:
        """The text's bytes."""
        return (await self.read(path)).text.encode()

    async def save_changes(self, reader: str) -> None:
        """Every buffer goes to the disk; `saved_for` tells who asked. `save_refusal` is the user's Cancel."""
        if self.save_refusal:
            raise self.save_refusal
        self.saved_for.append(reader)
        for path, buffer in self._buffers.items():
            if buffer.text != self._texts.get(path):
                self._write(path, buffer.text)

    def told(self) -> int:
        """Always the same moment."""
        return 0

    def told_since(self, moment: int) -> Sequence[Path]:
        """Return None: the user does not type."""
        return ()

    async def changed_on_disk(self) -> Sequence[Path]:
        """What the test put into `changed_behind`, once."""
        changed, self.changed_behind = self.changed_behind, []
        return changed

    def _document(self, path: Path) -> Document | None:
        buffer = self._buffers.get(path)
        text = buffer.text if buffer else self._texts.get(path)
        if text is None:
            return None
        digest = digest_of(text)
        stamp = f"buffer {buffer.version} {digest}" if buffer else f"disk {self._inodes[path]} {len(text)}"
        version = buffer.version if buffer else None
        return Document(path=path, text=text, digest=digest, stamp=stamp, version=version)

    def _write(self, path: Path, text: str) -> None:
        self._changes += 1
        self._texts[path] = text
        self._inodes[path] = self._changes

    def _check(self, operation: FileOperation) -> None:
        match operation:
            case WriteText(path=path, before=before):
                current = self._document(path)
                if (current and current.digest) != (before and before.digest):
                    raise StaleDocumentError(f"{self.shown(path)} is not what the plan was made from.")
            case CopyBytes(destination=path) | MoveFile(destination=path):
                if self._document(path):
                    raise ToolError(f"{self.shown(path)} exists.")
            case DeleteFile(path=path):
                if not self._document(path):
                    raise ToolError(f"There is no file {self.shown(path)}.")

    def _carry_out(self, operation: FileOperation) -> None:
        match operation:
            case WriteText(path=path, text=text):
                if path in self._buffers:
                    self.type_text(self.shown(path), text)
                else:
                    self._write(path, text)
            case CopyBytes(source=source, destination=path):
                self._write(path, self._texts[source])
            case MoveFile(source=source, destination=path):
                self._write(path, self._texts.pop(source))
                if source in self._buffers:
                    self._buffers[path] = self._buffers.pop(source)
            case DeleteFile(path=path):
                self._texts.pop(path, None)
                self._buffers.pop(path, None)


# Programs, the user, rules


class FakeBackground:
    """A machine on which nothing runs in the background; `ended` tells whose commands were ended."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    async def start(self, owner: str, spec: ProcessSpec, mask: OutputMask | None = None) -> str:
        """No program can be started."""
        raise ToolError(f"There is no program {spec.argv[0]}.")

    async def start_job(self, owner: str, job: BackgroundJob) -> str:
        """No subagent can be started."""
        raise ToolError("Nothing runs in the background here.")

    def running_jobs(self, owner: str) -> Sequence[BackgroundCommand]:
        """Return nothing."""
        return ()

    async def read(self, owner: str, name: str, wait_s: float) -> BackgroundState:
        """Return nothing."""
        raise ToolError(f"There is no background command {name!r}.")

    async def write(self, owner: str, name: str, text: str) -> None:
        """Return nothing."""
        raise ToolError(f"There is no background command {name!r}.")

    async def end(self, owner: str, name: str) -> BackgroundState:
        """Return nothing."""
        raise ToolError(f"There is no background command {name!r}.")

    async def stop(self, owner: str, name: str) -> bool:
        """Return nothing."""
        raise ToolError(f"There is no background command {name!r}.")

    async def listed(self, owner: str) -> Sequence[BackgroundCommand]:
        """Return nothing."""
        return ()

    def listen(self, owner: str, listener: BackgroundListener) -> None:
        """None starts or ends."""

    def has_any(self, owner: str) -> bool:
        """Return nothing."""
        return False

    async def end_all(self, owner: str) -> None:
        """Return all of them: an empty list."""
        self.ended.append(owner)


class FakeProcesses:
    """Programs that are functions of their spec. `gate` holds each of them until it is opened."""

    def __init__(self, programs: Mapping[str, Callable[[ProcessSpec], ProcessResult]] | None = None) -> None:
        self.specs: list[ProcessSpec] = []
        self.gate: Gate | None = None
        self.running = 0
        self.sandbox_state = SandboxState(kind="off")
        self.background = FakeBackground()
        self._programs = dict(programs or {})

    async def sandbox(self) -> SandboxState:
        """What the test says it is."""
        return self.sandbox_state

    @property
    def repositories(self) -> Repositories:
        """None: no program here is git."""
        raise ToolError("There is no git.")

    def find(self, program: str, *, anywhere: bool = False) -> str | None:
        """Programs live in /bin."""
        return f"/bin/{program}" if program in self._programs else None

    async def run(self, spec: ProcessSpec, on_output: Callable[[str], Awaitable[None]] | None = None) -> ProcessResult:
        """Run the function that stands for the program."""
        program = self._programs.get(spec.argv[0].removeprefix("/bin/"))
        if program is None:
            raise ToolError(f"There is no program {spec.argv[0]}.")
        self.specs.append(spec)
        self.running += 1
        try:
            if self.gate:
                await self.gate.pass_through()
            result = program(spec)
            if on_output:
                await on_output(result.stdout)
            return result
        finally:
            self.running -= 1


class FakeApprover:
    """A user: records each question, and answers the next of `answers`, or `otherwise`.

    `gate` keeps every question open until the test opens it.
    """

    def __init__(self, *answers: PermissionAnswer | PermissionOutcome, otherwise: PermissionOutcome = "reject_once"):
        self.requests: list[PermissionRequest] = []
        self.gate: Gate | None = None
        self.open_questions = 0
        self.most_open_questions = 0
        self.on_question: Callable[[PermissionRequest], None] | None = None
        self._answers = list(answers)
        self._otherwise: PermissionOutcome = otherwise

    async def approve(self, request: PermissionRequest) -> PermissionAnswer:
        """Answer."""
        self.requests.append(request)
        self.open_questions += 1
        self.most_open_questions = max(self.most_open_questions, self.open_questions)
        try:
            if self.on_question:
                self.on_question(request)
            if self.gate:
                await self.gate.pass_through()
            await asyncio.sleep(0)  # lets a second question in, if anything would ask it now
            answer = self._answers.pop(0) if self._answers else self._otherwise
            return answer if isinstance(answer, PermissionAnswer) else PermissionAnswer(outcome=answer)
        finally:
            self.open_questions -= 1


class MemoryRules:
    """A rule store."""

    def __init__(self, *rules: Rule) -> None:
        self.rules = list(rules)

    def load(self) -> Sequence[Rule]:
        """All rules."""
        return list(self.rules)

    def add(self, rule: Rule) -> None:
        """Once each."""
        if rule not in self.rules:
            self.rules.append(rule)

    def remove(self, text: str) -> bool:
        """By text."""
        kept = [rule for rule in self.rules if rule.text != text]
        found = len(kept) < len(self.rules)
        self.rules = kept
        return found


class FakeRetries:
    """A `RetryController`: turns the clock on instead of waiting, and records each delay. `actions` is what the user
    decides, wait by wait; `gate` keeps a wait open."""

    def __init__(self, clock: FakeClock) -> None:
        self.delays: list[float] = []
        self.actions: list[RetryAction] = []
        self.gate: Gate | None = None
        self._clock = clock

    async def wait(self, delay_s: float) -> RetryAction:
        """Wait."""
        self.delays.append(delay_s)
        if self.gate:
            await self.gate.pass_through()
        self._clock.advance(delay_s)
        return self.actions.pop(0) if self.actions else "now"

    def decide(self, action: RetryAction) -> bool:
        """Prepare the next wait."""
        self.actions.append(action)
        return True


# Events

Event = TypeVar("Event", bound=AgentEvent)


class EventCollector:
    """A sink that keeps every event. `gates` stop it after it has kept an event of that type."""

    def __init__(self) -> None:
        self.stamped: list[Stamped] = []
        self.gates: dict[type[AgentEvent], Gate] = {}
        self._more = asyncio.Event()

    async def __call__(self, stamped: Stamped) -> None:
        self.stamped.append(stamped)
        self._more.set()
        gate = self.gates.get(type(stamped.event))
        if gate:
            await gate.pass_through()

    async def emit(self, event: AgentEvent) -> None:
        """The same for who sends events without a stamp."""
        await self(Stamped(event=event, iteration=0, total_tokens=0))

    @property
    def events(self) -> list[AgentEvent]:
        """The events alone."""
        return [each.event for each in self.stamped]

    @property
    def types(self) -> list[str]:
        """Their types, as the wire names them."""
        return [each.type for each in self.events]

    def of(self, kind: type[Event]) -> list[Event]:
        """The events of one type."""
        return [each for each in self.events if isinstance(each, kind)]

    async def until(self, kind: type[AgentEvent], n: int = 1) -> None:
        """Wait until there are `n` events of this type."""
        async with asyncio.timeout(WAIT_S):
            while len(self.of(kind)) < n:
                self._more.clear()
                await self._more.wait()


# Put together


def with_parts(services: SessionServices, **parts: Any) -> SessionServices:
    """The services with these parts of the environment or of the session's memory, by name."""
    environment = {name: part for name, part in parts.items() if name in Environment.__struct_fields__}
    memory = {name: part for name, part in parts.items() if name not in environment}
    return replace(
        services,
        environment=replace(services.environment, **environment),
        memory=replace(services.memory, **memory),
    )


@dataclass(kw_only=True)
class Rig:
    """Every port of one session."""

    workspace: FakeWorkspace
    processes: FakeProcesses
    approver: FakeApprover
    rules: MemoryRules
    clock: FakeClock
    retries: FakeRetries
    events: EventCollector
    services: SessionServices

    def use(self, **parts: Any) -> Rig:
        """Replace parts of the environment or of the session's memory, by name; return the rig."""
        self.services = with_parts(self.services, **parts)
        return self

    def context(self, tool_id: str = "call_1") -> ToolContext:
        """What a tool is given, for calling one directly."""

        async def report(_: str) -> None:
            return

        return ToolContext(
            tool_id=tool_id,
            session_id=self.services.memory.session_id,
            workspace=self.workspace,
            processes=self.processes,
            reads=self.services.memory.reads,
            report=report,
        )


def make_rig(
    *tools: Tool,
    files: Mapping[str, str] | None = None,
    approver: FakeApprover | None = None,
    mode: Mode = "default",
    rules: Sequence[Rule] = (),
    max_tool_result_chars: int = 40_000,
) -> Rig:
    """A session's surroundings, all of them fakes."""
    workspace, processes, clock = FakeWorkspace(files), FakeProcesses(), FakeClock()
    approver, store = approver or FakeApprover(), MemoryRules(*rules)
    services = SessionServices(
        environment=Environment(
            workspace=workspace,
            processes=processes,
            approver=approver,
            cache=ToolCache(max_entries=64, clock=clock),
            max_tool_result_chars=max_tool_result_chars,
        ),
        memory=SessionMemory(session_id="session-1", permissions=Permissions(mode, store), reads=ReadLog()),
        tools=ToolRegistry(tools),
    )
    return Rig(
        workspace=workspace,
        processes=processes,
        approver=approver,
        rules=store,
        clock=clock,
        retries=FakeRetries(clock),
        events=EventCollector(),
        services=services,
    )
