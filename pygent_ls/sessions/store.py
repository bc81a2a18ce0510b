"""The sessions of one daemon."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

from pygent_ls.agent.model import Model
from pygent_ls.agent.permissions import Mode
from pygent_ls.agent.surroundings import Surroundings
from pygent_ls.agent.variants import Variants, variants
from pygent_ls.errors import SessionError
from pygent_ls.extensions.session_files import settled, timestamp
from pygent_ls.sessions.checkpoints import Checkpoint
from pygent_ls.sessions.commands.command import Command
from pygent_ls.sessions.commands.ports import CommandFacts
from pygent_ls.sessions.commands.registry import Commands
from pygent_ls.sessions.past import PastSession, PastSessions
from pygent_ls.sessions.searching import Found, search
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.turn_settings import Limits, MakeModelAt, MakeSystemPrompt, TakeSettings
from pygent_ls.sessions.turns import UNNAMED, SessionParts, TurnRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDefaults:
    """What a new session begins with."""

    working_directory: Path
    agent: str
    model: str
    mode: Mode
    limits: Limits
    variants: Variants = field(default_factory=variants)
    """All agents."""
    look_up_variants: Callable[[], Variants] | None = None
    """See `SessionParts`; and this."""
    make_model_at: MakeModelAt | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """What a front end asks for; None means the default."""

    working_directory: Path | None = None
    agent: str | None = None
    model: str | None = None
    mode: Mode | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Which sessions a list shall have."""

    query: str | None = None
    """Looked for in the name, and in the conversation as words."""
    folder: Path | None = None
    """The working directory."""
    cursor: str | None = None
    """What the page before this one came with."""
    limit: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A part of a list; with `cursor` one asks for what follows, None where nothing does."""

    sessions: Sequence[Session]
    cursor: str | None


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
        self.commands = Commands(self)
        self._sessions: dict[str, Session] = {}

    def look_back(self, past: PastSessions) -> None:
        """Find the checkpoints of the daemons before this one, too."""
        self._past = past

    def tell_commands(self, facts: CommandFacts) -> None:
        """What the commands of the sessions made from now on are told of the rest of the program."""
        self.commands = Commands(self, facts)

    async def listed_commands(self) -> list[Command]:
        """All that there are now, without the secrets that those who wrote them may have left there."""
        masked = self.draft().around.secrets.masked
        listing = await self.commands.listing()
        return [
            replace(each, description=await masked(each.description), takes=await masked(each.takes))
            for each in listing.commands.values()
        ]

    @property
    def defaults(self) -> SessionDefaults:
        """What a session that is made now would begin with."""
        return self._defaults()

    def new(self, wanted: NewSession) -> Session:
        """A new, empty session. Raises `ModelError` for a model that cannot be had, `SessionError` for an agent."""
        session = self._made(wanted)
        session.choices.for_turn(TurnRequest(parts=()))  # what could not have a turn is no session
        self._sessions[session.id] = session
        self._on_change(session.id, "created")
        return session

    def draft(self) -> Session:
        """A session as `new` would make it, of which nobody is told and which nobody finds; whatever its model is."""
        return self._made(NewSession())

    def _made(self, wanted: NewSession) -> Session:
        defaults = self.defaults
        model = wanted.model or defaults.model
        session_id = uuid4().hex
        working_directory = wanted.working_directory or defaults.working_directory
        surroundings = self._make_surroundings(session_id, defaults.mode)
        if wanted.mode is not None:
            surroundings.permissions.set_mode(wanted.mode)
        session = Session(
            SessionParts(
                id=session_id,
                name=wanted.name or UNNAMED,
                working_directory=working_directory,
                agent=defaults.agent,
                model=model,
                surroundings=replace(surroundings, working_directory=working_directory),
                limits=defaults.limits,
                make_model=self._make_model,
                make_system_prompt=self._make_system_prompt,
                on_change=self._on_change,
                take_settings=self._take_settings,
                commands=self.commands,
                make_model_at=defaults.make_model_at,
                variants=defaults.variants,
                look_up_variants=defaults.look_up_variants,
                has_own_model=wanted.model is not None,
            )
        )
        if wanted.agent is not None:
            session.set_agent(wanted.agent)
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

    def page(self, wanted: SessionFilter) -> Page:
        """The sessions that are wanted, the last one used first. Raises `SessionError` (`invalid_cursor`)."""
        if wanted.cursor is not None and _PLACE.fullmatch(wanted.cursor) is None:
            raise SessionError("cursor: it is none that a list came with (`nextCursor`).", kind="invalid_cursor")
        query = (wanted.query or "").strip()
        found = [
            each
            for each in self._sessions.values()
            if (wanted.folder is None or each.working_directory == wanted.folder)
            and (not query or query.casefold() in each.name.casefold() or search(each.messages, query, name=each.name))
        ]
        found.sort(key=_place, reverse=True)
        if wanted.cursor is not None:
            found = [each for each in found if _place(each) < wanted.cursor]
        more = len(found) > wanted.limit
        found = found[: wanted.limit]
        return Page(sessions=found, cursor=_place(found[-1]) if more else None)

    def search(self, query: str, limit: int) -> list[tuple[Session, Found]]:
        """The turns that hold each word, with their sessions; the best first."""
        found = [
            (session, each)
            for session in self._sessions.values()
            for each in search(session.messages, query, name=session.name)
        ]
        found.sort(key=lambda each: -each[1].score)
        return found[:limit]

    def fork(self, session_id: str, at_turn_id: str | None = None, *, name: str | None = None) -> Session:
        """A new session with that one's conversation, to the end of a turn, or whole but for a turn that runs.

        Raises `SessionError`: `unknown_session`, `unknown_turn`.
        """
        origin = self.get(session_id)
        running = origin.running.turn_id if origin.running else None
        messages = [each for each in origin.messages if each.turn_id != running]
        if at_turn_id is not None:
            places = [place for place, each in enumerate(messages) if each.turn_id == at_turn_id]
            if not places:
                raise SessionError(f"The conversation has no turn {at_turn_id!r} that is over.", kind="unknown_turn")
            messages = messages[: places[-1] + 1]
        fork = self.new(
            NewSession(
                working_directory=origin.working_directory,
                model=origin.own_model,
                agent=origin.choices.own_agent,
                mode=origin.permissions.own_mode,
                name=name or f"{origin.name} (fork)",
            )
        )
        fork.context.mode = origin.context.mode
        fork.choices.max_thinking_tokens = origin.choices.max_thinking_tokens
        fork.take_conversation(settled(messages))
        return fork

    async def delete(self, session_id: str) -> None:
        """Forget a session: its conversation, and with it the way back to its checkpoints.

        Raises `SessionError`: `unknown_session`, and `turn_running` where a turn runs or waits in it.
        """
        session = self.get(session_id)
        session.check_idle()
        del self._sessions[session_id]
        await session.close()
        await session.around.outputs.clear()
        self._on_change(session_id, "deleted")

    async def close_one(self, session_id: str) -> None:
        """Cancel the session's turns, end its background commands, and wait for them; it can be gone on with.
        Raises `SessionError` (`unknown_session`)."""
        await self.get(session_id).close()

    async def close(self) -> None:
        """Cancel every turn and wait for them. The conversations end with the daemon."""
        await asyncio.gather(*(session.close() for session in self.all()))
        await asyncio.gather(*(session.around.outputs.clear() for session in self.all()))


_PLACE = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z [0-9a-f]{32}")


def _place(session: Session) -> str:
    """Where it stands in a list: when it was used, to the microsecond, and its id for those of one moment."""
    return f"{timestamp(session.updated_at)} {session.id}"
