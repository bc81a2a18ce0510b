"""External agents: other programs that run whole turns of a session, and what they are given for it.

An external agent has its own model, prompt and tools. What it wants from the editor or the user, it asks its
`AgentHost`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from pygent_ls.agent.events import PlanEntry
from pygent_ls.agent.kinds import StopReason, ToolKind
from pygent_ls.agent.messages import Block, Usage
from pygent_ls.agent.ports.model import Chunk, Completion, ModelFacts, ModelRequest, ToolDefinition
from pygent_ls.agent.ports.questioner import AnswerChoice
from pygent_ls.errors import ModelError

CallStatus = Literal["pending", "running", "done", "failed"]


READS: frozenset[ToolKind] = frozenset({"read", "search", "think"})
"""Kinds of calls that only read."""

CHANGES_NO_FILE = READS | {"fetch"}
"""Kinds of calls after which no file has changed."""


class ProposedText(Struct, frozen=True, kw_only=True):
    """Change of a file as an external agent announces it: whole texts, or the fragment that it replaces."""

    path: str
    old: str | None
    """None for a new file."""
    new: str


class ExternalCall(Struct, frozen=True, kw_only=True):
    """Tool call of an external agent, as far as it has told of it."""

    id: str
    """Unique within the agent's session."""
    title: str
    kind: ToolKind
    status: CallStatus
    input: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Arguments in the agent's own form."""
    command: str = ""
    """Command line of a call that executes one."""
    folder: str = ""
    """Folder that the command runs in; empty for the session's."""
    url: str = ""
    paths: tuple[str, ...] = ()
    """Absolute paths that the call is about."""
    changes: tuple[ProposedText, ...] = ()
    patch: str = ""
    """Unified diff in the agent's own form, if it tells of no `changes`."""
    output: str = ""
    """All output so far."""


class AgentHost(Protocol):
    """The turn that an external agent runs. Its methods may be called in parallel."""

    async def joined(self, session: AgentSession) -> None:
        """Remember the agent's session that answers this prompt, before anything else is told."""
        ...

    async def say(self, text: str) -> None:
        """Add text to the answer."""
        ...

    async def think(self, text: str) -> None:
        """Show a piece of a thought."""
        ...

    async def show(self, call: ExternalCall) -> None:
        """Show a call that begins, changes or ends."""
        ...

    async def permit(self, call: ExternalCall) -> bool:
        """Return whether the call may run, by the rules, the mode, the hooks and the user. The call is shown, too."""
        ...

    async def read(self, path: str) -> str:
        """Return the text of a file as the user sees it, unsaved changes included. Raises `ToolError`, and
        `FileNotFoundError` for a file that does not exist."""
        ...

    async def write(self, path: str, text: str) -> None:
        """Write a file as a verified edit; text that the user has typed meanwhile is merged. Raises `ToolError`: not
        permitted, outside of the workspace, or in conflict with what the user typed."""
        ...

    async def execute(self, argv: Sequence[str], folder: str, env: Mapping[str, str], output: OutputOfRun) -> int:
        """Run a command in the sandbox, if permitted, and return its exit code; negative for a signal. Raises
        `ToolError`."""
        ...

    async def set_plan(self, entries: Sequence[PlanEntry]) -> None:
        """Show the agent's plan."""
        ...

    async def count(self, usage: Usage) -> None:
        """Add to the turn's usage."""
        ...

    async def notice(self, text: str) -> None:
        """Tell the user something that is not part of the conversation."""
        ...

    async def choose(self, text: str, choices: Sequence[AnswerChoice]) -> str | None:
        """Ask the user a question, and return the title of the choice; None if they cannot be asked, or choose
        nothing."""
        ...


class OutputOfRun(Protocol):
    """Receives the output of a command piece by piece."""

    async def __call__(self, text: str, /) -> None: ...


class AgentSession(Struct, frozen=True, kw_only=True):
    """Session of an external agent, as our session remembers it."""

    id: str
    n_prompts: int
    """Number of prompts that it has been sent, with this one."""


class ExternalPrompt(Struct, frozen=True, kw_only=True):
    """Prompt for an external agent, and where in the conversation it stands."""

    session_id: str
    """Our session."""
    folder: Path
    content: tuple[Block, ...]
    """What the user says now: texts and images."""
    session: AgentSession | None
    """The agent's session that has heard everything before `unheard`; None for a new one."""
    unheard: str
    """Conversation that this session has not heard, as text; empty if it has heard all."""
    conversation: str
    """The whole conversation before this prompt, as text, for a new session."""
    mode: str
    """Our permission mode."""


class ExternalAgent(Protocol):
    """An agent of another program."""

    @property
    def is_ready(self) -> bool:
        """Whether its program runs."""
        ...

    @property
    def label(self) -> str:
        """Name of the agent for a person."""
        ...

    async def prepare(self) -> None:
        """Raises `ModelError` if the program cannot be run, with what to install."""
        ...

    async def prompt(self, prompt: ExternalPrompt, host: AgentHost) -> StopReason:
        """Run one turn, and return why it ended. If cancelled, the agent is told, and given a short time to stop.

        Raises `ModelError`.
        """
        ...


class ExternalModel(Struct, frozen=True):
    """Stands in the place of a `Model` for an agent that runs whole turns itself."""

    name: str
    agent: ExternalAgent

    @property
    def ready(self) -> bool:
        """Whether the agent's program runs."""
        return self.agent.is_ready

    @property
    def facts(self) -> ModelFacts:
        """Facts of a model that counts its own context. Whether it has a price is known once it has reported one."""
        return ModelFacts(family=self.name, has_price=True)

    async def prepare(self) -> None:
        """Raises `ModelError` as `ExternalAgent.prepare` does."""
        await self.agent.prepare()

    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """Return nothing: the agent has tools of its own."""
        return ()

    async def complete(self, request: ModelRequest) -> Completion:
        """Raise `ModelError`: an agent does not answer single requests."""
        raise self._not_a_model()

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        """Raise `ModelError`: an agent does not answer single requests."""
        raise self._not_a_model()

    def _not_a_model(self) -> ModelError:
        return ModelError(
            f"{self.name} is an agent that runs whole turns, and cannot be used as a model for this. Choose a model, "
            "such as with `compaction.model`.",
            type="invalid_request",
            provider=self.name,
        )
