"""The sessions of one daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from pygent_ls.agent.model import Model
from pygent_ls.agent.permissions import Mode
from pygent_ls.agent.surroundings import Surroundings
from pygent_ls.errors import SessionError
from pygent_ls.sessions.checkpoints import Checkpoint
from pygent_ls.sessions.past import PastSession, PastSessions
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.turn_settings import Limits, MakeSystemPrompt, TakeSettings
from pygent_ls.sessions.turns import SessionParts


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDefaults:
    """What a new session begins with."""

    working_directory: Path
    agent: str
    model: str
    mode: Mode
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """What a front end asks for; None means the default."""

    working_directory: Path | None = None
    model: str | None = None
    mode: Mode | None = None
    name: str | None = None


class Sessions:
    """Makes sessions, finds them, and closes them."""

    def __init__(
        self,
        defaults: Callable[[], SessionDefaults],
        *,
        make_surroundings: Callable[[str, Mode], Surroundings],
        make_model: Callable[[str], Model],
        make_system_prompt: MakeSystemPrompt,
        on_change: Callable[[str, str], None],
        take_settings: TakeSettings | None = None,
    ) -> None:
        self._defaults = defaults
        self._make_surroundings = make_surroundings
        self._make_model = make_model
        self._make_system_prompt = make_system_prompt
        self._on_change = on_change
        self._take_settings = take_settings
        self._past: PastSessions | None = None
        self._sessions: dict[str, Session] = {}

    def look_back(self, past: PastSessions) -> None:
        """Find the checkpoints of the daemons before this one, too."""
        self._past = past

    @property
    def defaults(self) -> SessionDefaults:
        """What a session that is made now would begin with."""
        return self._defaults()

    def new(self, wanted: NewSession) -> Session:
        """A new, empty session. Raises `ModelError` for a model that cannot be had."""
        defaults = self.defaults
        model = wanted.model or defaults.model
        self._make_model(model)
        session_id = uuid4().hex
        working_directory = wanted.working_directory or defaults.working_directory
        surroundings = self._make_surroundings(session_id, defaults.mode)
        if wanted.mode is not None:
            surroundings.permissions.set_mode(wanted.mode)
        session = Session(
            SessionParts(
                id=session_id,
                name=wanted.name or "New session",
                working_directory=working_directory,
                agent=defaults.agent,
                model=model,
                surroundings=replace(surroundings, working_directory=working_directory),
                limits=defaults.limits,
                make_model=self._make_model,
                make_system_prompt=self._make_system_prompt,
                on_change=self._on_change,
                take_settings=self._take_settings,
                has_own_model=wanted.model is not None,
            )
        )
        self._sessions[session_id] = session
        self._on_change(session_id, "created")
        return session

    def get(self, session_id: str) -> Session:
        """The session of that id. Raises `SessionError` (`unknown_session`)."""
        session = self._sessions.get(session_id)
        if session is None:
            raise SessionError(
                f"There is no session {session_id!r}; start one with pygent/session/new.", kind="unknown_session"
            )
        return session

    async def with_checkpoints(self, session_id: str) -> Session | PastSession:
        """The session of that id, also one of a daemon before this one. Raises `SessionError` (`unknown_session`)."""
        if session_id not in self._sessions and self._past and (past := await self._past.get(session_id)):
            return past
        return self.get(session_id)

    async def of_checkpoint(self, checkpoint_id: str) -> tuple[Session | PastSession, Checkpoint]:
        """The checkpoint of that id and its session, likewise. Raises `SessionError` (`unknown_checkpoint`)."""
        for session in self._sessions.values():
            for checkpoint in session.checkpoints:
                if checkpoint.id == checkpoint_id:
                    return session, checkpoint
        if self._past and (found := await self._past.with_checkpoint(checkpoint_id)):
            return found
        raise SessionError(f"There is no checkpoint {checkpoint_id!r}.", kind="unknown_checkpoint")

    def all(self) -> list[Session]:
        """All sessions, the oldest first."""
        return list(self._sessions.values())

    async def close(self) -> None:
        """Cancel every turn and wait for them."""
        await asyncio.gather(*(session.close() for session in self.all()))
