"""What a front end needs of the rest of the program; `app` provides it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pygent_ls.agent.approver import Approver
from pygent_ls.agent.asker import NobodyToAsk, Questioner
from pygent_ls.agent.editor_state import EditorState, NoEditor
from pygent_ls.agent.hooks import Hooks, NoHooks
from pygent_ls.agent.permissions import Mode
from pygent_ls.agent.review import NoReviewer, Reviewer
from pygent_ls.agent.rules import Rule
from pygent_ls.agent.tool import ToolRegistry, visible
from pygent_ls.agent.variants import AgentProfile
from pygent_ls.agent.workspace import Workspace
from pygent_ls.sessions.store import Sessions

if TYPE_CHECKING:  # with it come the adapters of all models
    from pygent_ls.llm.listing import ListedModel
    from pygent_ls.llm.setup.flow import SetUp, Way


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustQuestion:
    """Whether a workspace folder's own files may do what they would."""

    folder: Path
    sources: str
    """The files, for a person."""
    wishes: tuple[str, ...]
    """What they would do, a line each, nothing left out."""

    @property
    def text(self) -> str:
        """The question in words, several lines, nothing left out."""
        listed = "\n".join(f"- {wish}" for wish in self.wishes)
        return self._asking(f"They came with the folder and would:\n{listed}\n")

    @property
    def beside_a_document(self) -> str:
        """The question for a dialog that has no room for `text`, which the user reads elsewhere."""
        keys = f"{len(self.wishes)} {'thing' if len(self.wishes) == 1 else 'things'}"
        return self._asking(f"They came with the folder and would do {keys}; see the opened document. ")

    def _asking(self, would: str) -> str:
        return (
            f"Do you trust the settings in {self.sources} of {one_line(str(self.folder))}? {would}They are ignored "
            "until you trust them. If they change, you are asked again."
        )


def one_line(text: str) -> str:
    """The text with all that hides, reorders or breaks a line spelled out."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


AskTrust = Callable[[TrustQuestion], Awaitable[bool | None]]
"""Asks the user, who may take any time; None where no answer came, or none that can be understood."""


async def _at_once() -> None:
    """There is no editor that has a configuration."""


def _nothing() -> None:
    """Nobody wants to know."""


def _to_nobody(_text: str) -> None:
    """There is no place beside the turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontEnd:
    """What a front end brings."""

    workspace: Workspace
    approver: Approver
    questioner: Questioner
    ask_trust: AskTrust
    on_session_change: Callable[[str, str], None]
    """Told (session id, what)."""
    editor: EditorState = field(default_factory=NoEditor)
    reviewer: Reviewer = field(default_factory=NoReviewer)
    pauser: Questioner = field(default_factory=NobodyToAsk)
    """Asked whether a turn that has reached a limit may go on; without an editor it stops."""

    hooks: Hooks = field(default_factory=NoHooks)
    """Its own hooks, which run beside those of the settings."""

    is_restricted: bool = False
    """It does not trust the workspace: nothing but reading is allowed there, and nothing of its own loosens or runs."""

    offers_setup: bool = False
    """Whether its user may be asked to set up a model where a prompt needs one and there is none."""

    on_models_change: Callable[[], None] = _nothing
    """Told when another model is the default one, or others can be called."""

    tell: Callable[[str], None] = _to_nobody
    """Shows the user a line beside all turns."""

    configured: Callable[[], Awaitable[None]] = _at_once
    """Returns when the editor has said what its configuration is, or is late with it; soon in any case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What a session begins with for which nothing is chosen, as the settings are now."""

    model: str
    agent: str
    mode: Mode
    """Of a turn that chooses none: the agent's own, else the settings'."""
    modes: Sequence[Mode]
    """Those that can be set."""
    needs_model: bool = False
    """No model is named, and none is at hand: the offline model would answer."""


class Core(Protocol):
    """The agent, put together for one front end."""

    @property
    def sessions(self) -> Sessions: ...

    @property
    def tools(self) -> ToolRegistry: ...

    async def beginning(self) -> Beginning:
        """What a session that is made now begins with. Nobody is asked to trust anything: a workspace's own settings
        count where they are trusted already."""
        ...

    @property
    def agents(self) -> Sequence[AgentProfile]:
        """The variants that a session, a turn or a subagent may use."""
        ...

    async def models(self) -> Sequence[ListedModel]:
        """The models that could be named, and what those lack that cannot be called."""
        ...

    def take_keys(self, keys: Mapping[str, str | None]) -> frozenset[str]:
        """Use these keys of providers, by their variables, from the next model call on; None takes one back. Returns
        the variables that hold a key of an editor's now."""
        ...

    @property
    def state_folder(self) -> Path:
        """Where what must not lie in the workspace is kept."""
        ...

    @property
    def model_ready(self) -> bool:
        """Whether the default model could be called without loading anything first."""
        ...

    @property
    def reviews_edits(self) -> bool:
        """Whether the user wants to be shown each edit before it counts."""
        ...

    def rules(self) -> Sequence[Rule]:
        """What "Always allow" stored for this workspace, and the rules of the settings."""
        ...

    def forget_rule(self, text: str) -> bool:
        """Take a stored rule back; False where it is not stored."""
        ...

    def file_changed(self, path: Path) -> None:
        """A file may read differently now: drop what was cached of it."""
        ...

    def start_loading(self) -> None:
        """Load what is heavy in the background; returns at once."""
        ...

    def configure(self, given: object) -> Sequence[str]:
        """Take what the editor's configuration says by now, for the turns that begin from now on; returns what is wrong
        with it and was not told yet, a line each."""
        ...

    async def close(self) -> None:
        """Cancel every turn and whatever is asked, and wait for their end."""
        ...

    async def set_up(self, way: Way = "any") -> SetUp:
        """Ask the user which model to use, and keep the answer. Raises nothing but a cancellation."""
        ...

    def kill_processes(self) -> None:
        """End every child process group now."""
        ...


class Blueprint(Protocol):
    """The settings are read; the rest is built when it is needed."""

    @property
    def model(self) -> str:
        """The default model's name."""
        ...

    @property
    def problems(self) -> Sequence[str]:
        """What is wrong with the settings, for the user."""
        ...

    def build(self, front_end: FrontEnd) -> Core:
        """Put the agent together."""
        ...


ReadSettings = Callable[[Any, Sequence[Path]], Blueprint]
"""From the editor's own settings, whatever it sent, and the workspace's folders."""
