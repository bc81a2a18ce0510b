"""Interfaces between a front end and the rest of the program, which `app` implements."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

from pygent_ls.agent.display_text import on_one_line
from pygent_ls.agent.edits.reviewer import NoReviewer, Reviewer
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.ports.approver import Approver
from pygent_ls.agent.ports.editor_state import EditorState, NoEditor
from pygent_ls.agent.ports.hooks import Hooks, NoHooks
from pygent_ls.agent.ports.processes import Processes
from pygent_ls.agent.ports.questioner import NobodyToAsk, Questioner
from pygent_ls.agent.ports.review_findings import ReviewFindings
from pygent_ls.agent.ports.workspace import Workspace
from pygent_ls.agent.tools.listed_findings import ListedFindings
from pygent_ls.agent.tools.tool import Tool, ToolRegistry
from pygent_ls.errors import ToolError
from pygent_ls.extensions.language_servers.peers import LanguageSource
from pygent_ls.extensions.voice import Heard, VoiceInput, VoiceStatus
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.turns.request import TurnRequest

if TYPE_CHECKING:  # imports the adapters of all models
    from pygent_ls.agent.ports.completer import InlineCompletions
    from pygent_ls.agent.ports.skills import Skill
    from pygent_ls.agent.rules.rule import Rule
    from pygent_ls.agent.variants import AgentProfile
    from pygent_ls.extensions.mcp.server import ServerView
    from pygent_ls.llm.model_list import ListedModel
    from pygent_ls.llm.setup.flow import SetUp, Way
    from pygent_ls.sessions.commands.ports import Worktrees
    from pygent_ls.sessions.store import Sessions


class TrustQuestion(Struct, frozen=True, kw_only=True):
    """The question whether to trust a workspace folder's own settings files."""

    folder: Path
    sources: str
    """The settings files, as text for the user."""
    wishes: tuple[str, ...]
    """What the files would do, one line per effect, complete."""

    @property
    def text(self) -> str:
        """The complete question, in several lines."""
        listed = "\n".join(f"- {wish}" for wish in self.wishes)
        return self._asking(f"They came with the folder and would:\n{listed}\n")

    @property
    def beside_a_document(self) -> str:
        """The question for a dialog with no room for `text`, which is shown in a document."""
        keys = f"{len(self.wishes)} {'thing' if len(self.wishes) == 1 else 'things'}"
        return self._asking(f"They came with the folder and would do {keys}; see the opened document. ")

    def _asking(self, would: str) -> str:
        return (
            f"Do you trust the settings in {self.sources} of {on_one_line(str(self.folder))}? {would}They are ignored "
            "until you trust them. If they change, you are asked again."
        )


AskTrust = Callable[[TrustQuestion], Awaitable[bool | None]]
"""Asks the user, who may take any time. Returns None without a valid answer."""


async def _at_once() -> None:
    """Return at once, without an editor configuration."""


def _nothing() -> None:
    """Ignore the notification."""


def _tell_nobody(_session_id: str, _what: str) -> None:
    """Ignore the change of a session."""


def _to_nobody(_text: str) -> None:
    """Discard the text."""


async def _open_nothing(address: str) -> None:
    raise ToolError(f"No browser can be opened here for {address}. Use `pygent-ls mcp login NAME`.")


class SpeechDisplay(Struct, frozen=True, kw_only=True):
    """How a front end shows voice input."""

    begin: Callable[[Session, TurnRequest], object]
    """Starts or queues the turn of an utterance. Raises as `Session.start_turn`."""
    on_heard: Callable[[Heard], None]
    on_change: Callable[[VoiceStatus], None]
    """Called when voice input has started or stopped."""


class FrontEnd(Struct, frozen=True, kw_only=True):
    """What a front end provides to the core."""

    workspace: Workspace
    approver: Approver
    questioner: Questioner
    ask_trust: AskTrust
    on_session_change: Callable[[str, str], None]
    """Called with the session id and the kind of change."""
    editor: EditorState = field(default_factory=NoEditor)
    language: Sequence[LanguageSource] = ()
    """What the editor's own language servers answer."""
    reviewer: Reviewer = field(default_factory=NoReviewer)
    findings: ReviewFindings = field(default_factory=ListedFindings)
    pauser: Questioner = field(default_factory=NobodyToAsk)
    """Asks whether a turn that has reached a limit may continue; by default, the turn stops."""

    hooks: Hooks = field(default_factory=NoHooks)
    """The front end's own hooks, which run in addition to those of the settings."""

    tools: Callable[[], Sequence[Tool]] = tuple
    """Returns the front end's own tools, which are offered from the next turn on."""

    in_worktree: Callable[[Sequence[Path]], FrontEnd] | None = None
    """Returns the front end of the sessions in a worktree, whose workspace is these folders; None if there are no such
    sessions."""

    is_restricted: bool = False
    """Whether the client does not trust the workspace: only reading is allowed, and the workspace's own settings cannot
    loosen permissions or run anything."""

    offers_setup: bool = False
    """Whether the user may be asked to set up a model if a prompt needs one and none is configured."""

    on_models_change: Callable[[], None] = _nothing
    """Called when the default model or the set of available models has changed."""

    on_settings_change: Callable[[], None] = _nothing
    """Called when the settings were read for a turn."""

    tell: Callable[[str], None] = _to_nobody
    """Shows the user a line outside of turns."""

    on_mcp_change: Callable[[], None] = _nothing
    """Called when the state or the tools of an MCP server have changed."""

    open_url: Callable[[str], Awaitable[None]] = _open_nothing
    """Shows the user an address in their browser. Raises `ToolError` if that is not possible."""

    speech: SpeechDisplay | None = None
    """Shows what voice input hears; None if there is no voice input, because the front end does not stay."""

    around_processes: Callable[[Processes], Processes] = lambda processes: processes
    """Returns what the session's tools run programs with, from what runs them here: a client may have terminals."""

    waits_for_servers_s: float = 0.0
    """Maximum time for which a turn waits until MCP servers are connected. In an editor it does not wait: a server that
    is late counts from the next turn on."""

    configured: Callable[[], Awaitable[None]] = _at_once
    """Returns when the editor has sent its configuration, or after a short timeout."""

    def beside(self, workspace: Workspace, editor: EditorState, reviewer: Reviewer) -> FrontEnd:
        """Return the front end of the sessions in a worktree, which asks and tells the user as this one does. Tools and
        language servers of the editor are left out, because they work on the user's files."""
        return FrontEnd(
            workspace=workspace,
            approver=self.approver,
            questioner=self.questioner,
            ask_trust=self.ask_trust,
            on_session_change=_tell_nobody,
            editor=editor,
            reviewer=reviewer,
            pauser=self.pauser,
            hooks=self.hooks,
            is_restricted=self.is_restricted,
            offers_setup=self.offers_setup,
            tell=self.tell,
            open_url=self.open_url,
            configured=self.configured,
        )


class SessionStart(Struct, frozen=True, kw_only=True):
    """Defaults of a new session, according to the current settings."""

    model: str
    agent: str
    mode: Mode
    """Mode of a turn that does not set one: that of the agent, else of the settings."""
    modes: Sequence[Mode]
    """Modes that can be set."""
    needs_model: bool = False
    """Whether no model is configured or found, so that the offline model would answer."""


class Core(Protocol):
    """The agent, assembled for one front end."""

    @property
    def sessions(self) -> Sessions: ...

    @property
    def tools(self) -> ToolRegistry: ...

    async def beginning(self) -> SessionStart:
        """Return the defaults of a session created now. Does not ask for trust: a workspace's own settings apply only
        if they are already trusted."""
        ...

    @property
    def agents(self) -> Sequence[AgentProfile]:
        """The agents that a session, a turn or a subagent may use."""
        ...

    async def models(self) -> Sequence[ListedModel]:
        """List the models that can be selected, with the reason if a model cannot be called."""
        ...

    @property
    def mcp(self) -> ServerView:
        """The configured MCP servers."""
        ...

    @property
    def voice(self) -> VoiceInput:
        """Voice input, which a speech server among the MCP servers provides."""
        ...

    @property
    def completions(self) -> InlineCompletions:
        """Inline completion."""
        ...

    async def commit_message(self, folder: Path | None) -> str:
        """Write the message of the next commit in the repository that contains the folder, or in that of the first
        workspace folder. Raises `SessionError`, `ToolError` and `ModelError`."""
        ...

    @property
    def worktrees(self) -> Worktrees:
        """The worktrees beside the user's work tree."""
        ...

    async def skills(self) -> Sequence[Skill]:
        """Return the skills of the user and of the workspace."""
        ...

    def take_keys(self, keys: Mapping[str, str | None]) -> frozenset[str]:
        """Use these provider keys, by environment variable, from the next model call on; None removes one. Returns the
        variables that now have a key from an editor."""
        ...

    @property
    def state_folder(self) -> Path:
        """The folder for state that must not lie in the workspace."""
        ...

    @property
    def model_ready(self) -> bool:
        """Whether the default model can be called without loading anything first."""
        ...

    @property
    def reviews_edits(self) -> bool:
        """Whether the user wants to review each edit."""
        ...

    def rules(self) -> Sequence[Rule]:
        """Return the rules that "Always allow" stored for this workspace, and those of the settings."""
        ...

    def forget_rule(self, text: str) -> bool:
        """Delete a stored rule; False if it is not stored."""
        ...

    def file_changed(self, path: Path) -> None:
        """Discard what is cached of a file whose content may have changed."""
        ...

    def start_loading(self, after_s: float = 0.0) -> None:
        """Start the MCP servers, purge sessions deleted long ago, and after a time load in the background what the
        default model's first call needs. Returns at once."""
        ...

    def configure(self, given: object) -> Sequence[str]:
        """Apply the editor's current configuration to turns that begin from now on. Returns one line for each problem
        that was not reported before."""
        ...

    async def close(self) -> None:
        """Cancel every turn and every open question, and wait until they have ended."""
        ...

    async def set_up(self, way: Way = "any") -> SetUp:
        """Ask the user which model to use, and store the answer. Raises only `CancelledError`."""
        ...

    def kill_processes(self) -> None:
        """Kill every child process group at once."""
        ...


class Blueprint(Protocol):
    """The settings, read; builds the core on demand."""

    @property
    def model(self) -> str:
        """Name of the default model."""
        ...

    @property
    def completes(self) -> bool:
        """Whether a model for inline completion is set."""
        ...

    @property
    def problems(self) -> Sequence[str]:
        """Problems in the settings, as text for the user."""
        ...

    def build(self, front_end: FrontEnd) -> Core:
        """Build the core."""
        ...


ReadSettings = Callable[[Any, Sequence[Path]], Blueprint]
"""Reads the settings, given the editor's own settings as received and the workspace folders."""
