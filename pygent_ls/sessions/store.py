"""Sessions of one daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from msgspec.structs import replace

from pygent_ls.agent.edits.commit import to_its_end
from pygent_ls.errors import SessionError
from pygent_ls.sessions.commands.registry import SlashCommands
from pygent_ls.sessions.export.exporter import ExportFormat, export
from pygent_ls.sessions.journal.files import FileJournal, Journal, MemoryJournal
from pygent_ls.sessions.journal.folder import JournalFolder, unknown
from pygent_ls.sessions.journal.records import NOWHERE, Begun, State
from pygent_ls.sessions.lifecycle.defaults import NewSession, SessionDefaults, as_it_is
from pygent_ls.sessions.lifecycle.live_registry import LiveSessions, forget_unkept
from pygent_ls.sessions.saved_format.writer import settled
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.titles import UNNAMED
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.sessions.turns.session_parts import InUse, SessionParts

if TYPE_CHECKING:
    from pygent_ls.agent.kinds import Mode
    from pygent_ls.agent.ports.model import Model
    from pygent_ls.agent.session_services import SessionServices
    from pygent_ls.sessions.checkpoints.checkpoints import Checkpoint, Checkpoints
    from pygent_ls.sessions.checkpoints.past_sessions import PastSession, PastSessions
    from pygent_ls.sessions.commands.command import Command
    from pygent_ls.sessions.commands.ports import CommandFacts
    from pygent_ls.sessions.index.search import FoundTurn
    from pygent_ls.sessions.index.session_list import Page, SessionFilter
    from pygent_ls.sessions.journal.replay import Recalled
    from pygent_ls.sessions.turns.settings import MakeSystemPrompt, TakeSettings

TAKING_UP_S = 30.0
"""Seconds that reading a session may still take after its caller was cancelled."""


class Sessions:
    """Creates, finds and closes sessions.

    The sessions in memory belong to this daemon, which holds the locks of their journals.
    """

    def __init__(
        self,
        defaults: Callable[[], SessionDefaults],
        *,
        make_services: Callable[[str, Mode], SessionServices],
        make_model: Callable[[str], Model],
        make_system_prompt: MakeSystemPrompt,
        on_change: Callable[[str, str], None],
        take_settings: TakeSettings | None = None,
    ) -> None:
        self._defaults = defaults
        self._make_services = make_services
        self._make_checkpoints: Callable[[str], Checkpoints] | None = None
        self._make_model = make_model
        self._make_system_prompt = make_system_prompt
        self.on_change = on_change
        """Called with (session id, kind of change) for every session, whichever front end changed it."""
        self._take_settings = take_settings
        self._tell: Callable[[str], None] = lambda _: None
        self._past: PastSessions | None = None
        self.commands = SlashCommands(self)
        self._journals: JournalFolder | None = None
        self._in_worktree: Callable[[Path], Sessions | None] = lambda _: None
        self._in_use: InUse = nullcontext
        self._chosen_folders: set[Path] = set()
        """Folders in which this front end created sessions, whether it has them open or not."""
        self.share(LiveSessions())

    def share(self, live: LiveSessions, *, is_front_end: bool = True) -> None:
        """Use a registry of live sessions that other front ends use too. Must be called before anything else.
        `is_front_end`: whether to receive notifications, and sessions whose front end has disconnected."""
        self._shared = live
        self._live = live.by_id
        if is_front_end:
            live.join(self)

    def delegate(self, in_worktree: Callable[[Path], Sessions | None], in_use: InUse = nullcontext) -> None:
        """Leave sessions in folders of worktrees to the `Sessions` that `in_worktree` returns for such a folder. Own
        sessions enter `in_use` while they work."""
        self._in_worktree = in_worktree
        self._in_use = in_use

    def for_folder(self, folder: Path) -> Sessions:
        """Implement `SessionOwner`."""
        return self._in_worktree(folder) or self

    def keep_in(self, journals: JournalFolder) -> None:
        """Store sessions in this folder if the settings persist them, and find those stored there. Otherwise sessions
        end with the daemon."""
        self._journals = journals
        self._shared.listing.keep_in(journals)

    @property
    def journals(self) -> JournalFolder | None:
        """Folder in which sessions are stored; None if sessions are only in memory."""
        return self._journals

    def keep_checkpoints(self, make: Callable[[str], Checkpoints], past: PastSessions | None = None) -> None:
        """Give each session made from now on its checkpoints, and find those of earlier daemons in `past`. Otherwise
        sessions have none."""
        self._make_checkpoints = make
        self._past = past

    def tell_user_with(self, tell: Callable[[str], None]) -> None:
        """Set the function that shows the user a message while no turn runs. Must be called before any session is
        made."""
        self._tell = tell

    def tell_commands(self, facts: CommandFacts) -> None:
        """Set what the commands of sessions made from now on know about the rest of the program."""
        self.commands = SlashCommands(self, facts)

    async def listed_commands(self) -> list[Command]:
        """Return all current commands, with secrets masked in their texts."""
        masked = self.draft().services.memory.secrets.masked
        listing = await self.commands.listing()
        return [
            replace(each, description=await masked(each.description), takes=await masked(each.takes))
            for each in listing.commands.values()
        ]

    @property
    def defaults(self) -> SessionDefaults:
        """Defaults of a session created now."""
        return self._defaults()

    def new(self, wanted: NewSession) -> Session:
        """Create an empty session. Raises `ModelError` for an unavailable model, `SessionError` for an unknown agent or
        an id that is already used."""
        if wanted.working_directory is not None:
            self._chosen_folders.add(wanted.working_directory)
            return self.for_folder(wanted.working_directory)._begun(wanted)
        return self._begun(wanted)

    def draft(self) -> Session:
        """Return a session as `new` would make it, but unregistered and unannounced. An unavailable model is
        accepted."""
        return self._made(NewSession(), uuid4().hex)

    def _begun(self, wanted: NewSession, *, forked_from: str = "", forked_at: str = "") -> Session:
        session_id = wanted.id or uuid4().hex
        session = self._made(wanted, session_id)
        asked = NewSession() if wanted.is_inherited else wanted
        # raises if the session could not run a turn, or if it may not have what was asked for
        session.choices.for_turn(TurnRequest(parts=(), agent=asked.agent, model=asked.model))
        begun = Begun(
            id=session_id,
            created=session.created_at,
            working_directory=session.working_directory,
            forked_from=forked_from,
            forked_at=forked_at,
        )
        journal, problem = self._journal(begun)
        session.keep_in(journal)
        if problem:
            session.tell_next(problem)
        self._live[session.id] = session
        self._shared.tell(session.id, "created")
        self._shared.transfer_orphans(self)
        return session

    def _journal(self, begun: Begun) -> tuple[Journal, str]:
        """Create the journal of a new session; also return a notice for the user, empty if everything went well."""
        if self._journals is None or not self.defaults.persist:
            return MemoryJournal(), ""
        try:
            return self._journals.create(begun), ""
        except FileExistsError:
            raise SessionError(
                f"A session {begun.id} already exists. Resume it, or choose another id.", kind="session_exists"
            ) from None
        except OSError as error:
            return MemoryJournal(), f"The session is kept only in memory because it cannot be saved: {error.strerror}."

    def _made(
        self,
        wanted: NewSession,
        session_id: str,
        *,
        recalled: Recalled | None = None,
        made: tuple[SessionServices, Checkpoints | None] | None = None,
    ) -> Session:
        services, checkpoints = made or self._new_services(session_id)
        if wanted.mode is not None:
            permissions = services.memory.permissions
            (permissions.inherit_mode if wanted.is_inherited else permissions.set_mode)(wanted.mode)
        session = Session(replace(self._parts(wanted, session_id, services, checkpoints), recalled=recalled))
        if wanted.agent is not None and recalled is None:
            session.choices.found(wanted.agent)
        return session

    def _new_services(self, session_id: str) -> tuple[SessionServices, Checkpoints | None]:
        """Return the services of a session and its checkpoints; None if it has none."""
        services = self._make_services(session_id, self.defaults.mode)
        if self._make_checkpoints is None:
            return services, None
        checkpoints = self._make_checkpoints(session_id)
        return replace(services, memory=replace(services.memory, checkpointer=checkpoints)), checkpoints

    def _parts(
        self, wanted: NewSession, session_id: str, services: SessionServices, checkpoints: Checkpoints | None
    ) -> SessionParts:
        defaults, environment = self.defaults, services.environment
        locked = services.memory.permissions.admin.locked
        agent, model = [getattr(wanted, each) if each not in locked else None for each in ("agent", "model")]
        working_directory = wanted.working_directory or defaults.working_directory
        folder = self._folder_for(working_directory, environment.workspace.folders)
        return SessionParts(
            id=session_id,
            name=wanted.name or UNNAMED,
            working_directory=working_directory,
            agent=agent or defaults.agent,
            model=model or defaults.model,
            services=replace(services, environment=replace(environment, working_directory=folder)),
            checkpoints=checkpoints,
            limits=defaults.limits,
            make_model=self._make_model,
            make_system_prompt=self._make_system_prompt,
            on_change=self._shared.tell,
            take_settings=self._take_settings,
            tell=self._tell,
            commands=self.commands,
            make_model_at=defaults.make_model_at,
            variants=defaults.variants,
            look_up_variants=defaults.look_up_variants,
            answer_without_model=defaults.answer_without_model,
            has_own_agent=agent is not None,
            has_own_model=model is not None,
            owner=self,
            in_use=self._in_use,
        )

    def parts_of(self, session_id: str, folder: Path, state: State) -> SessionParts:
        """Return the parts that the session would have in this front end."""
        return self._parts(as_it_is(folder, state), session_id, *self._new_services(session_id))

    # Finding

    def live(self, session_id: str) -> Session | None:
        """Return the session if this daemon has it in memory."""
        return self._live.get(session_id)

    async def hold(self, session_id: str) -> Session:
        """Return the session for any use, taking ownership of it for this daemon.

        Raises `SessionError`: `unknown_session`, `unreadable_session`, and `session_locked` if another daemon owns it.
        """
        if self._shared.is_wanted(session_id) or session_id not in self._live:
            async with self._shared.alone_with(session_id):  # later callers wait too, so that turns keep their order
                await self._shared.resting.gone(session_id)
                if session_id not in self._live:
                    await to_its_end(self._take_up(session_id), TAKING_UP_S)
        session = self._live[session_id]
        self._shared.resting.used(session_id)
        session.transfer_to(self)
        self._shared.transfer_orphans(self)
        return session

    async def look_at(self, session_id: str) -> Session | Recalled:
        """Return the session for reading, whichever daemon owns it. Raises `SessionError`: `unknown_session`,
        `unreadable_session`."""
        live = self._live.get(session_id)
        if live is not None:
            return live
        if self._journals is None:
            raise unknown(session_id)
        return await asyncio.to_thread(self._journals.recall, session_id)

    async def _take_up(self, session_id: str) -> None:
        """Load a session from its journal into memory and continue it."""
        if self._journals is None:
            raise unknown(session_id)
        journal, recalled = await asyncio.to_thread(self._journals.take_up, session_id)
        try:
            is_lost = recalled.working_directory == NOWHERE
            folder = self.defaults.working_directory if is_lost else recalled.working_directory
            owner = self.for_folder(folder)
            services, checkpoints = owner._new_services(session_id)
            if checkpoints is not None:
                await asyncio.to_thread(checkpoints.recall)
            wanted = as_it_is(folder, recalled.state)
            session = owner._made(wanted, session_id, recalled=recalled, made=(services, checkpoints))
        except BaseException:
            journal.close()
            raise
        session.keep_in(journal)
        if is_lost:
            session.tell_next(f"The folder of the session is unknown. It continues in {folder}.")
        self._live[session_id] = session

    def _folder_for(self, was: Path, folders: Sequence[Path]) -> Path:
        """Return the folder in which a session's commands run: the previous one if it is open here, else the
        default."""
        if not folders or any(was.is_relative_to(each) for each in (*folders, *self._chosen_folders)):
            return was
        return self.defaults.working_directory

    async def with_checkpoints(self, session_id: str) -> Session | PastSession:
        """Return the session, or the record of its checkpoints if it is not in memory. Raises `SessionError`
        (`unknown_session`)."""
        if session_id not in self._live and self._past and (past := await self._past.get(session_id)):
            return past
        return await self.hold(session_id)

    async def to_restore(self, checkpoint_id: str) -> tuple[Session | PastSession, Checkpoint]:
        """Return the checkpoint and its session, for restoring. A session that has a journal is loaded with `hold`.
        Raises `SessionError` like `hold`, and `unknown_checkpoint`."""
        session_id = await self._past.session_of(checkpoint_id) if self._past else None
        if session_id is not None and session_id not in self._live and await self._is_kept(session_id):
            await self.hold(session_id)
        return await self.of_checkpoint(checkpoint_id)

    async def _is_kept(self, session_id: str) -> bool:
        return self._journals is not None and await asyncio.to_thread(self._journals.exists, session_id)

    async def of_checkpoint(self, checkpoint_id: str) -> tuple[Session | PastSession, Checkpoint]:
        """Return the checkpoint and its session. Raises `SessionError` (`unknown_checkpoint`)."""
        for session in self._live.values():
            for checkpoint in session.checkpoints:
                if checkpoint.id == checkpoint_id:
                    session.transfer_to(self)
                    return session, checkpoint
        if self._past and (found := await self._past.with_checkpoint(checkpoint_id)):
            return found
        raise SessionError(f"There is no checkpoint {checkpoint_id!r}.", kind="unknown_checkpoint")

    def all(self) -> list[Session]:
        """Return all sessions in memory, the oldest first."""
        return list(self._live.values())

    async def page(self, wanted: SessionFilter) -> Page:
        """Return one page of the matching sessions, in memory or stored, the most recently used first. Raises
        `SessionError` (`invalid_cursor`)."""
        return await self._shared.listing.page(wanted)

    async def search(self, query: str, limit: int) -> list[FoundTurn]:
        """Return the turns that contain every word, with their sessions, the best match first."""
        return await self._shared.listing.search(query, limit)

    async def fork(self, session_id: str, at_turn_id: str | None = None, *, name: str | None = None) -> Session:
        """Create a session with the conversation of another one, up to the end of a turn, or complete except for a
        running turn. A turn that only reports its end is included: a client may fork once it has read `finished`.

        Raises `SessionError`: `unknown_session`, `unknown_turn`.
        """
        origin = await self.look_at(session_id)
        running = origin.running if isinstance(origin, Session) else None
        left_out = running.turn_id if running and not running.is_ending else None
        messages = [each for each in origin.messages if each.turn_id != left_out]
        if at_turn_id is not None:
            places = [place for place, each in enumerate(messages) if each.turn_id == at_turn_id]
            if not places:
                raise SessionError(f"The conversation has no finished turn {at_turn_id!r}.", kind="unknown_turn")
            messages = messages[: places[-1] + 1]
        state = origin.state
        fork = self.for_folder(origin.working_directory)._begun(
            NewSession(
                working_directory=origin.working_directory,
                model=state.own_model,
                agent=state.own_agent,
                mode=state.own_mode,
                is_inherited=True,
                name=name or f"{origin.name} (fork)",
            ),
            forked_from=session_id,
            forked_at=at_turn_id or "",
        )
        fork.context.mode = state.context_mode
        fork.choices.max_thinking_tokens = state.max_thinking_tokens
        fork.choices.effort = state.effort
        fork.services.memory.window.recall(each for each in origin.compactions if each.applies_to(messages))
        fork.take_conversation(settled(messages))
        return fork

    async def export(self, session_id: str, form: ExportFormat) -> str:
        """Return the session as text, whichever daemon owns it. Raises `SessionError`: `unknown_session`,
        `unreadable_session`."""
        session = await self.look_at(session_id)
        if isinstance(session, Session):
            return await export(session, form, session.journal.read)
        return await export(session, form, self._journals and self._journals.reader(session_id))

    async def delete(self, session_id: str) -> bool:
        """Move a session to the trash, with the data needed to restore its checkpoints. Return whether it is there; a
        session that was never stored is gone.

        Raises `SessionError`: `unknown_session`, `session_locked`, and `turn_running` if a turn runs or waits in it.
        """
        session: Session | None = None
        try:
            session = await self.hold(session_id)
        except SessionError as error:
            if error.kind != "unreadable_session":
                raise
        else:
            session.check_idle()
            session.is_deleted = True
            del self._live[session_id]
        async with self._shared.alone_with(session_id):
            if session is not None:
                await session.close("delete")
                session.journal.close()
                await forget_unkept(session)
            is_restorable = await self._throw_away(session_id)
        self._shared.tell(session_id, "deleted")
        return is_restorable

    async def _throw_away(self, session_id: str) -> bool:
        if self._journals is None or not await asyncio.to_thread(self._journals.exists, session_id):
            return False
        journal = await asyncio.to_thread(self._journals.take, session_id)
        try:
            await asyncio.to_thread(self._journals.throw_away, session_id)
        except OSError as error:
            raise SessionError(f"The session cannot be deleted: {error.strerror}.", kind="not_deleted") from None
        finally:
            journal.close()
        return True

    async def close_one(self, session_id: str) -> None:
        """Cancel the session's turns, end its background commands, wait for them, and release it to other daemons. It
        can be resumed. A session that cannot be written stays, since it is only in memory. Raises `SessionError`:
        `unknown_session`, `session_locked`."""
        async with self._shared.alone_with(session_id):  # it may be being loaded or evicted
            await self._shared.resting.gone(session_id)
        session = self._live.get(session_id)
        if session is None:
            if self._journals is None:
                raise unknown(session_id)
            await asyncio.to_thread(self._journals.check_free, session_id)
        elif isinstance(session.journal, FileJournal) and not session.journal.has_failed:
            await asyncio.shield(self._shared.resting.let_go(session, "close"))
        else:
            await session.close()

    async def leave(self) -> None:
        """Disconnect this front end: cancel its turns and wait for them. Its sessions stay for the others."""
        await self._shared.leave(self)

    async def close(self) -> None:
        """Cancel every turn and wait for them. Stored sessions stay on the disk and can be resumed."""
        await self._shared.close()
