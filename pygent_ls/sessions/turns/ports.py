"""What turns need of the session that they belong to, and of its commands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pygent_ls.agent.events import Compacted
from pygent_ls.agent.messages import Message, Usage
from pygent_ls.agent.permissions.permissions import Permissions
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.sessions.checkpoints.restorer import Restorer
from pygent_ls.sessions.export.exporter import Exportable
from pygent_ls.sessions.journal.files import Journal
from pygent_ls.sessions.journal.records import State
from pygent_ls.sessions.turns.context import SessionContext

if TYPE_CHECKING:
    from pygent_ls.sessions.turns.choices import Choices


class SideAnswers(Protocol):
    """Side questions of a session, as commands use them."""

    async def answered(self, question: str) -> str:
        """Return the answer to a question. Raises `ModelError` and `SessionError`."""
        ...


class SessionOfCommands(Exportable, Protocol):
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
    def services(self) -> SessionServices:
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
    def restorer(self) -> Restorer:
        """Restores of its checkpoints, undo and redo."""
        ...

    async def take_settings(self) -> None:
        """Apply the current settings, as a turn of a model does when it begins; a command calls this before it reads
        files for a model. Raises `ModelError`."""
        ...

    @property
    def side_questions(self) -> SideAnswers:
        """Questions beside its turns."""
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


class OwnSession(SessionOfCommands, Protocol):
    """Session that turns are made for."""

    @property
    def state(self) -> State:
        """Everything that a journal record of the session keeps."""
        ...
