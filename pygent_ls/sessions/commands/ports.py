"""What commands act on: their session, the other sessions, and facts that `app` provides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from pygent_ls.agent.ports.skills import Skill
from pygent_ls.errors import SessionError
from pygent_ls.extensions.acp.programs import AgentCommand
from pygent_ls.extensions.commands import OwnCommands
from pygent_ls.extensions.mcp.server import NoServers, ServerView
from pygent_ls.extensions.voice import NoVoice, VoiceInput
from pygent_ls.sessions.index.session_list import Page, SessionFilter
from pygent_ls.workspace.git.session_worktrees import Merged, SessionWorktree, SessionWorktrees, WorktreeError

if TYPE_CHECKING:  # these modules import the commands
    from pygent_ls.sessions.export.exporter import Exportable
    from pygent_ls.sessions.index.search import FoundTurn
    from pygent_ls.sessions.lifecycle.defaults import NewSession
    from pygent_ls.sessions.turns.ports import SessionOfCommands


class SessionShelf(Protocol):
    """The existing sessions, in memory or on the disk."""

    async def page(self, wanted: SessionFilter) -> Page:
        """Return the matching sessions, the most recently used first."""
        ...

    async def search(self, query: str, limit: int) -> Sequence[FoundTurn]:
        """Return the turns that contain every word, the best match first."""
        ...

    async def look_at(self, session_id: str) -> Exportable:
        """Return a session for reading. Raises `SessionError`: `unknown_session`, `unreadable_session`."""
        ...

    async def fork(
        self, session_id: str, at_turn_id: str | None = None, *, name: str | None = None
    ) -> SessionOfCommands:
        """Create a session with that one's conversation, complete or up to the end of a turn. Raises `SessionError`."""
        ...

    def new(self, wanted: NewSession) -> SessionOfCommands:
        """Create an empty session. Raises `ModelError`, `SessionError`."""
        ...

    async def delete(self, session_id: str) -> bool:
        """Move a session to the trash, or delete it if it is not stored; return whether it is in the trash. Raises
        `SessionError`: `unknown_session`, `session_locked`, `turn_running`."""
        ...


class Worktrees(Protocol):
    """Worktrees beside the user's work tree, in which sessions work."""

    def of_repository(self) -> SessionWorktrees:
        """Return the worktrees of the user's repository. Blocking. Raises `WorktreeError`."""
        ...

    async def open(self, name: str) -> Path:
        """Create the worktree of that name unless it exists; return the folder for the sessions in it. Raises
        `SessionError` (`worktree_failed`)."""
        ...

    async def merge(self, name: str) -> Merged:
        """Merge a worktree, as `SessionWorktrees.merge` does. Changes in open documents are saved first. Raises
        `SessionError` (`worktree_failed`), and `ToolError` if the user does not want to save."""
        ...

    def unsaved(self, worktree: SessionWorktree) -> Sequence[Path]:
        """Return the files of a worktree with changes that are only in the editor."""
        ...

    async def end(self, worktree: SessionWorktree) -> None:
        """End everything that works in a worktree, and close its sessions. Raises `SessionError` (`turn_running`)."""
        ...


class NoWorktrees:
    """`Worktrees` without a repository."""

    def of_repository(self) -> SessionWorktrees:
        """Raise `WorktreeError`."""
        raise WorktreeError("There are no worktrees here.")

    async def open(self, name: str) -> Path:
        """Raise `SessionError`."""
        raise SessionError("There are no worktrees here.", kind="worktree_failed")

    async def merge(self, name: str) -> Merged:
        """Raise `SessionError`."""
        raise SessionError("There are no worktrees here.", kind="worktree_failed")

    def unsaved(self, worktree: SessionWorktree) -> Sequence[Path]:
        """Return nothing."""
        return ()

    async def end(self, worktree: SessionWorktree) -> None:
        """Return at once."""


class Alone:
    """A `SessionShelf` without other sessions."""

    async def page(self, wanted: SessionFilter) -> Page:
        """Return an empty page."""
        return Page(sessions=(), cursor=None)

    async def search(self, query: str, limit: int) -> Sequence[FoundTurn]:
        """Return no results."""
        return ()

    async def look_at(self, session_id: str) -> Exportable:
        """Raise `SessionError`."""
        raise _alone()

    async def fork(
        self, session_id: str, at_turn_id: str | None = None, *, name: str | None = None
    ) -> SessionOfCommands:
        """Raise `SessionError`."""
        raise _alone()

    def new(self, wanted: NewSession) -> SessionOfCommands:
        """Raise `SessionError`."""
        raise _alone()

    async def delete(self, session_id: str) -> bool:
        """Raise `SessionError`."""
        raise _alone()


def _alone() -> SessionError:
    return SessionError("Only this session is available here.", kind="no_sessions")


class NamedModel(Protocol):
    """A model that a user can choose by name."""

    @property
    def name(self) -> str: ...
    @property
    def available(self) -> bool: ...

    @property
    def reason(self) -> str:
        """Why the model is unavailable; empty if it is available."""
        ...


async def _no_models() -> Sequence[NamedModel]:
    return ()


async def _none() -> Mapping[str, str]:
    return {}


async def _no_skills() -> Sequence[Skill]:
    return ()


class CommandFacts(Struct, frozen=True, kw_only=True):
    """Facts about the rest of the program, read anew at each use."""

    models: Callable[[], Awaitable[Sequence[NamedModel]]] = _no_models
    aliases: Callable[[], Awaitable[Mapping[str, str]]] = _none
    """Aliases from the settings: names without the slash, and what they expand to."""
    own: Callable[[], Sequence[OwnCommands]] = lambda: ()
    """Folders with own commands, the first of which takes precedence. Reading them blocks."""
    skills: Callable[[], Awaitable[Sequence[Skill]]] = _no_skills
    mcp: Callable[[], ServerView] = NoServers
    """Configured MCP servers."""
    voice: Callable[[], VoiceInput] = NoVoice
    worktrees: Worktrees = field(default_factory=NoWorktrees)
    agent_commands: Callable[[], Sequence[AgentCommand]] = lambda: ()
    """Commands that running agents of other programs offer."""
