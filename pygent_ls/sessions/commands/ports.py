"""What commands act on: their session, the other sessions, and facts that `app` provides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pygent_ls.agent.events import Compacted
from pygent_ls.agent.messages import Message, Usage
from pygent_ls.agent.permissions.permissions import Permissions
from pygent_ls.agent.run_context import Surroundings
from pygent_ls.errors import SessionError
from pygent_ls.extensions.commands import OwnCommands
from pygent_ls.sessions.checkpoints.undo import GoingBack
from pygent_ls.sessions.export.exporter import Exportable
from pygent_ls.sessions.index.session_list import Page, SessionFilter
from pygent_ls.sessions.journal.files import Journal
from pygent_ls.sessions.turns.context import SessionContext

if TYPE_CHECKING:  # these modules import the commands
    from pygent_ls.sessions.index.search import Found
    from pygent_ls.sessions.turns.choices import Choices


class CommandSession(Exportable, Protocol):
    """What commands need of their session. They run in one of its turns, so no other turn runs. The methods raise
    `SessionError`."""

    @property
    def permissions(self) -> Permissions: ...

    @property
    def journal(self) -> Journal:
        """Journal with everything that happened in the session."""
        ...

    @property
    def last_turn_usage(self) -> Usage:
        """Usage of the last turn that used a model."""
        ...

    @property
    def around(self) -> Surroundings:
        """Run context of its turns."""
        ...

    @property
    def choices(self) -> Choices:
        """Agent, model and mode that its turns use."""
        ...

    @property
    def context(self) -> SessionContext:
        """What its requests contain of the conversation."""
        ...

    @property
    def going_back(self) -> GoingBack:
        """Restores of its checkpoints, undo and redo."""
        ...

    async def compact_now(self, instruction: str = "") -> Compacted:
        """Compact the conversation. Raises `SessionError` (`nothing_to_compact`) and `ModelError`."""
        ...

    def shown(self, path: Path) -> str:
        """Return the path as shown to the user."""
        ...

    def rename(self, name: str) -> None:
        """Rename the session. With an empty name, it is named after its first prompt, or after the next one."""
        ...

    def set_model(self, name: str) -> None:
        """Use another model from the next model call on. Raises `ModelError` if it is unavailable."""
        ...

    def set_agent(self, name: str) -> None:
        """Use another agent from the next model call on. Raises `SessionError` for an unknown agent."""
        ...

    def take_conversation(self, messages: Sequence[Message]) -> None:
        """Replace the conversation with this one."""
        ...


class SessionShelf(Protocol):
    """The existing sessions, in memory or on the disk."""

    async def page(self, wanted: SessionFilter) -> Page:
        """Return the matching sessions, the most recently used first."""
        ...

    async def search(self, query: str, limit: int) -> Sequence[Found]:
        """Return the turns that contain every word, the best match first."""
        ...

    async def look_at(self, session_id: str) -> Exportable:
        """Return a session for reading. Raises `SessionError`: `unknown_session`, `unreadable_session`."""
        ...

    async def fork(self, session_id: str, at_turn_id: str | None = None, *, name: str | None = None) -> CommandSession:
        """Create a session with that one's conversation, complete or up to the end of a turn. Raises `SessionError`."""
        ...

    async def delete(self, session_id: str) -> bool:
        """Move a session to the trash, or delete it if it is not stored; return whether it is in the trash. Raises
        `SessionError`: `unknown_session`, `session_locked`, `turn_running`."""
        ...


class Alone:
    """A `SessionShelf` without other sessions."""

    async def page(self, wanted: SessionFilter) -> Page:
        """Return an empty page."""
        return Page(sessions=(), cursor=None)

    async def search(self, query: str, limit: int) -> Sequence[Found]:
        """Return no results."""
        return ()

    async def look_at(self, session_id: str) -> Exportable:
        """Raise `SessionError`."""
        raise _alone()

    async def fork(self, session_id: str, at_turn_id: str | None = None, *, name: str | None = None) -> CommandSession:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandFacts:
    """Facts about the rest of the program, read anew at each use."""

    models: Callable[[], Awaitable[Sequence[NamedModel]]] = _no_models
    aliases: Callable[[], Awaitable[Mapping[str, str]]] = _none
    """Aliases from the settings: names without the slash, and what they expand to."""
    own: Callable[[], Sequence[OwnCommands]] = lambda: ()
    """Folders with own commands, the first of which takes precedence. Reading them blocks."""
    mcp_servers: Callable[[], Awaitable[Mapping[str, str]]] = _none
    """Configured MCP servers by name, each with the settings that define it."""
