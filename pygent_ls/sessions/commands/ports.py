"""What commands act on: their session, the sessions beside it, and what `app` tells of the rest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pygent_ls.agent.events import Compacted
from pygent_ls.agent.messages import Message, Usage
from pygent_ls.agent.permissions import Permissions
from pygent_ls.agent.surroundings import Surroundings
from pygent_ls.errors import SessionError
from pygent_ls.extensions.commands import OwnCommands
from pygent_ls.sessions.compacting import SessionContext
from pygent_ls.sessions.exporting import Exportable
from pygent_ls.sessions.going_back import GoingBack
from pygent_ls.sessions.journal.files import Journal
from pygent_ls.sessions.listing import Page, SessionFilter

if TYPE_CHECKING:  # it is made of what a turn is made of, and that of the commands
    from pygent_ls.sessions.choices import Choices
    from pygent_ls.sessions.index.asking import Found


class CommandSession(Exportable, Protocol):
    """What the commands need of the session that they are given in. They run in a turn of it, so no other turn runs.
    The methods raise `SessionError`."""

    @property
    def permissions(self) -> Permissions: ...

    @property
    def journal(self) -> Journal:
        """Where all that happened in it stands."""
        ...

    @property
    def last_turn_usage(self) -> Usage:
        """Of the last turn that asked a model."""
        ...

    @property
    def around(self) -> Surroundings:
        """What its turns are given."""
        ...

    @property
    def choices(self) -> Choices:
        """Which agent, model and mode its turns use."""
        ...

    @property
    def context(self) -> SessionContext:
        """What its requests hold of the conversation."""
        ...

    @property
    def going_back(self) -> GoingBack:
        """To its checkpoints, and to before its last turn."""
        ...

    async def compact_now(self, instruction: str = "") -> Compacted:
        """Sum the conversation up. Raises `SessionError` (`nothing_to_compact`) and `ModelError`."""
        ...

    def shown(self, path: Path) -> str:
        """The path as a person reads it."""
        ...

    def rename(self, name: str) -> None:
        """Give it another name; with an empty one, it is named by its first prompt, or the next one."""
        ...

    def set_model(self, name: str) -> None:
        """Use another model from the next model call on. Raises `ModelError` where it cannot be had."""
        ...

    def set_agent(self, name: str) -> None:
        """Have another agent from the next model call on. Raises `SessionError` for one that there is not."""
        ...

    def take_conversation(self, messages: Sequence[Message]) -> None:
        """Have this conversation from now on, in place of its own."""
        ...


class SessionShelf(Protocol):
    """The sessions that there are, in memory or kept on the disk."""

    async def page(self, wanted: SessionFilter) -> Page:
        """Those that are wanted, the last one used first."""
        ...

    async def search(self, query: str, limit: int) -> Sequence[Found]:
        """The turns that hold each word, the best first."""
        ...

    async def look_at(self, session_id: str) -> Exportable:
        """One of them, to read of it. Raises `SessionError`: `unknown_session`, `unreadable_session`."""
        ...

    async def fork(self, session_id: str, at_turn_id: str | None = None, *, name: str | None = None) -> CommandSession:
        """A new session with that one's conversation, to the end of a turn or whole. Raises `SessionError`."""
        ...

    async def delete(self, session_id: str) -> bool:
        """Put it into the trash, or forget it where it is not kept at all; returns whether it is in the trash. Raises
        `SessionError`: `unknown_session`, `session_locked`, `turn_running`."""
        ...


class Alone:
    """A `SessionShelf` with nothing on it: the session stands for itself."""

    async def page(self, wanted: SessionFilter) -> Page:
        """None."""
        return Page(sessions=(), cursor=None)

    async def search(self, query: str, limit: int) -> Sequence[Found]:
        """None."""
        return ()

    async def look_at(self, session_id: str) -> Exportable:
        """Raises `SessionError`."""
        raise _alone()

    async def fork(self, session_id: str, at_turn_id: str | None = None, *, name: str | None = None) -> CommandSession:
        """Raises `SessionError`."""
        raise _alone()

    async def delete(self, session_id: str) -> bool:
        """Raises `SessionError`."""
        raise _alone()


def _alone() -> SessionError:
    return SessionError("Only this session is available here.", kind="no_sessions")


class NamedModel(Protocol):
    """A model that can be named."""

    @property
    def name(self) -> str: ...
    @property
    def available(self) -> bool: ...

    @property
    def reason(self) -> str:
        """Why it is not available; empty where it is."""
        ...


async def _no_models() -> Sequence[NamedModel]:
    return ()


async def _none() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandFacts:
    """What commands are told of the rest of the program, each time as it is then."""

    models: Callable[[], Awaitable[Sequence[NamedModel]]] = _no_models
    aliases: Callable[[], Awaitable[Mapping[str, str]]] = _none
    """Of the settings: names without the slash, and what they stand for."""
    own: Callable[[], Sequence[OwnCommands]] = lambda: ()
    """The folders with own commands, the first wins; reading them is blocking."""
    mcp_servers: Callable[[], Awaitable[Mapping[str, str]]] = _none
    """Those of the settings by name, with where each is named."""
