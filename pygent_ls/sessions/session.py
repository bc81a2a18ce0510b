"""A conversation: its history, its mode and at most one running turn at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from msgspec.structs import replace

from pygent_ls.agent.context.attachments import NotePart
from pygent_ls.agent.context.memory import Compaction
from pygent_ls.agent.events import AgentEvent, Cancelled, Compacted, Finished, Notice, Stamped, TurnQueued, TurnStarted
from pygent_ls.agent.kinds import Mode, StopReason
from pygent_ls.agent.messages import Message, Usage, now
from pygent_ls.agent.ports.hooks import HookEnd
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.system_limits import limit_reached
from pygent_ls.agent.turn.loop import Turn
from pygent_ls.agent.turn.side_question import SideQuestion
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.agent.turn.structured_answer import StructuredAnswer
from pygent_ls.errors import ModelError, SessionError, WorktreeUnavailableError
from pygent_ls.sessions.background_reports import BackgroundReports
from pygent_ls.sessions.checkpoints.checkpoints import Checkpoint, FileDiff
from pygent_ls.sessions.checkpoints.restorer import Restorer
from pygent_ls.sessions.checkpoints.rewind import Restored, RewindTarget
from pygent_ls.sessions.event_stream import EventStream, NoSubscriber, Subscriber
from pygent_ls.sessions.journal.files import Journal
from pygent_ls.sessions.journal.records import AgentNote, Queued, State
from pygent_ls.sessions.journal.writer import JournalWriter, come_free
from pygent_ls.sessions.plan import plan_in
from pygent_ls.sessions.side_questions import SideQuestions, question_in
from pygent_ls.sessions.titles import UNNAMED, name_of_conversation
from pygent_ls.sessions.turns.agent_switch import switch_agent
from pygent_ls.sessions.turns.choices import Choices, Chosen, narrowed
from pygent_ls.sessions.turns.command_turn import CommandTurn
from pygent_ls.sessions.turns.context import SessionContext
from pygent_ls.sessions.turns.factory import TurnFactory
from pygent_ls.sessions.turns.hooks import SessionHooks
from pygent_ls.sessions.turns.queued_prompts import record_of, request_of
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.sessions.turns.resumption import state_of, take_up
from pygent_ls.sessions.turns.session_parts import ActiveParts, SessionOwner, SessionParts
from pygent_ls.sessions.turns.turn import RunningTurn


class Session:
    """One conversation. All its methods must be called from the event loop's thread."""

    def __init__(self, parts: SessionParts) -> None:
        recalled = parts.recalled
        self.id = parts.id
        self.name = parts.name
        self.working_directory = parts.working_directory
        self.created_at: datetime = recalled.created_at if recalled else now()
        self.updated_at: datetime = recalled.updated_at if recalled else self.created_at
        self.usage = recalled.usage if recalled else Usage()
        self.last_turn_usage = recalled.last_turn_usage if recalled else Usage()
        self.messages: list[Message] = list(recalled.messages) if recalled else []
        self.permissions = parts.services.memory.permissions
        self._turns: list[RunningTurn] = []
        self.turn_ids: set[str] = set(recalled.turn_ids) if recalled else set()
        """Ids of all its turns. A conversation taken over from another session contains further turn ids."""
        self._announcing = asyncio.Lock()
        """Acquired by each turn before it awaits anything else, so that the queue keeps the order of acceptance."""
        self._one_at_a_time = asyncio.Lock()
        self._held = {each.turn: each for each in recalled.held} if recalled else {}
        self._hooks = SessionHooks()
        self._untold: list[str] = []
        self.is_deleted = False
        memory = replace(parts.services.memory, settle=self._settle, mode_changed=self._mode_changed)
        active = self._active = ActiveParts(replace(parts, services=replace(parts.services, memory=memory)))
        self.choices = Choices(active, self.permissions)
        self.context = SessionContext(
            messages=self.messages, active=active, choices=self.choices, tell=self._tell_running, spend=self._spend
        )
        self._turn_factory = TurnFactory(active, self.choices, self.context, self._hooks)
        self.side_questions = SideQuestions(self, active, self._turn_factory, self._spend_beside)
        if recalled:
            self._hooks.starts_anew("resume")
            self._untold += take_up(recalled, active.services, self.choices, self.context)
        self._reports = BackgroundReports(self, active, recalled.agents if recalled else ())
        self._writer = JournalWriter(self, recalled)
        self.restorer = Restorer(active, parts.checkpoints, self._writer, self._restored)
        self._reports.listen()
        self._stream = EventStream(
            flush_interval_s=parts.limits.stream_flush_s,
            last_seq=recalled.last_seq if recalled else 0,
            keep=self._writer.keep,
        )

    @property
    def agent(self) -> str:
        """Name of the agent used by turns that choose none."""
        return self.choices.agent

    @property
    def model(self) -> str:
        """Name of the model used by turns that choose none."""
        return self.choices.model_now

    @property
    def own_model(self) -> str | None:
        """Model that was chosen for this session; None if the agent or the settings choose."""
        return self.choices.own_model

    @property
    def services(self) -> SessionServices:
        """Services of its turns and commands."""
        return self._active.services

    @property
    def agent_notes(self) -> tuple[AgentNote, ...]:
        """Subagents in the background of which the model has to be told."""
        return self._reports.notes

    def keep(self) -> None:
        """Write what is new to the journal."""
        self._writer.keep()

    def keep_in(self, journal: Journal) -> None:
        """Write the session to this journal, from its beginning. Until this is called, it is only in memory."""
        self._writer.begin(journal)

    @property
    def journal(self) -> Journal:
        """Journal that stores its events, its conversation and its state."""
        return self._writer.journal

    @property
    def compactions(self) -> Sequence[Compaction]:
        """All compactions of its conversation, in order."""
        return self.services.memory.window.compactions

    @property
    def state(self) -> State:
        """Current state of the session, without its conversation."""
        return state_of(self.name, self.updated_at, self.choices, self.services, self.context)

    @property
    def mode(self) -> Mode:
        """Mode of a turn that chooses none."""
        return self.choices.mode_now

    def tell_next(self, notice: str) -> None:
        """Show the user this notice when the next turn begins."""
        self._untold.append(notice)

    @property
    def last_seq(self) -> int:
        """Number of the last event that was delivered; 0 before the first."""
        return self._stream.last_seq

    @property
    def turns(self) -> Sequence[RunningTurn]:
        """Turns that run or wait, in order."""
        return self._turns

    @property
    def running(self) -> RunningTurn | None:
        """Turn that is running; None if no turn is."""
        return next((each for each in self._turns if each.turn is not None), None)

    @property
    def waiting(self) -> Sequence[RunningTurn]:
        """Turns that wait, in order."""
        return [each for each in self._turns if each.turn is None]

    # Turns

    @property
    def held(self) -> Sequence[Queued]:
        """Prompts that an earlier daemon accepted but whose turns had not begun when it ended, in order. Each stays
        here until it is sent again, by a request with its turn's id, or given up."""
        return [*self._held.values()]

    def held_request(self, turn_id: str) -> TurnRequest:
        """Return the request of a held prompt. Raises `SessionError` (`unknown_turn`)."""
        if turn_id not in self._held:
            raise SessionError(
                (f"No prompt {turn_id!r} is waiting; it was already sent again or removed."), kind="unknown_turn"
            )
        return request_of(self._held[turn_id])

    async def give_up(self, turn_id: str) -> bool:
        """Remove a held prompt; return False if no held prompt has that id."""
        held = self._held.pop(turn_id, None)
        if held is None:
            return False
        turn = RunningTurn(turn_id, request_of(held), NoSubscriber())
        await self._tell_that_it_never_ran(turn, TurnStarted.after(held.told), "cancelled")
        self._stream.flush()
        return True

    def start_turn(
        self, request: TurnRequest, subscriber: Subscriber, owner: SessionOwner | None = None
    ) -> RunningTurn:
        """Start a turn, or queue it behind the running one. `owner` is the front end it runs in; None means the
        session's. A side question (`/btw`) is answered at once, beside the turns.

        Raises `ModelError` if the turn's model is unavailable, `SessionError` for a mode that is not allowed, an
        unknown agent, an unusable output schema, or a turn id that is already used (`turn_id_taken`).
        """
        StructuredAnswer.to(request.output_schema)
        if (aside := question_in(request)) is not None:
            return self.side_questions.ask(aside, subscriber)
        turn_id = request.turn_id or f"turn-{uuid4().hex[:12]}"
        self._check_unused(turn_id)
        owner = owner or self.owner
        if owner is not None:
            owner = owner.for_folder(self.working_directory)
        self.transfer_to(owner)
        chosen = self._turn_factory.choices_at(owner, self).for_turn(request)
        turn = RunningTurn(turn_id, request, subscriber, owner)
        self._reports.n_wakes = 0
        self._held.pop(turn_id, None)
        self.turn_ids.add(turn_id)
        self._turns.append(turn)
        turn.task = asyncio.create_task(self._take_turn(turn, chosen))
        return turn

    def _check_unused(self, turn_id: str) -> None:
        is_taken = turn_id in self.turn_ids and turn_id not in self._held
        if is_taken or any(each.turn_id == turn_id for each in self.messages):
            raise SessionError(
                f"The session already has a turn {turn_id!r}. Choose another turnId, or omit it.",
                kind="turn_id_taken",
            )

    def set_model(self, name: str) -> None:
        """Use another model from the next model call on, except in a turn that has its own. Raises `ModelError` if the
        model is unavailable."""
        self.choices.set_model(name)
        running = self.running
        if running is not None and isinstance(running.turn, Turn) and running.request.model is None:
            running.turn.use(self.choices.made(name))

    def set_agent(self, name: str) -> None:
        """Use another agent from the next model call on, except in a turn that has its own. Raises `SessionError` for
        an unknown agent."""
        self.choices.set_agent(name)
        if self.running is not None:
            switch_agent(self.running, self.choices, self._active, self.context)

    def rename(self, name: str) -> None:
        """Rename the session. With an empty name, it is named after its first prompt, or after the next one."""
        self.name = " ".join(name.split()) or name_of_conversation(self.messages) or UNNAMED
        self.changed("renamed")

    def take_conversation(self, messages: Sequence[Message]) -> None:
        """Replace the conversation with this one. Files that its turns changed stay changed, because their earlier
        contents are stored by other sessions. Raises `SessionError` (`turn_running`)."""
        if self.running is not None and isinstance(self.running.turn, Turn):
            self.check_idle()
        self.messages[:] = messages
        self._hooks.starts_anew("resume" if messages else "clear")
        self.services.memory.plan.entries = plan_in(messages)
        self.restorer.replace_conversation(each.turn_id for each in messages)
        self.services.memory.reads.forget_all()
        self.changed("restored")

    async def compact(self, instruction: str = "") -> Compacted:
        """Compact the conversation as `SessionContext.compact` does, while nothing else works on the session. Also
        raises `turn_running`. Commands, which run in a turn, call `compact_now`."""
        async with self._alone():
            try:
                return await self.compact_now(instruction)
            finally:
                self.updated_at = now()
                self._writer.keep()

    async def take_settings(self) -> None:
        """Apply the current settings; what the user is to know is told when the next turn begins. Raises
        `ModelError`."""
        self._untold += await self._turn_factory.take_settings()

    async def compact_now(self, instruction: str = "") -> Compacted:
        """Compact the conversation from within a turn or with the session locked, and return what was done."""
        done = await self.context.compact(instruction)
        self._hooks.starts_anew("compact")
        return done

    def clear(self) -> None:
        """Empty the conversation. Raises `SessionError` (`turn_running`)."""
        self.check_idle()
        self.take_conversation(())

    def changed(self, what: str) -> None:
        """Record the current state and notify listeners of a change; `what` says which."""
        self.updated_at = now()
        self._writer.keep()
        self._active.parts.on_change(self.id, what)

    def _restored(self) -> None:
        self.changed("restored")

    def _mode_changed(self) -> None:
        self.changed("configured")

    def cancel(self, turn_id: str | None = None) -> bool:
        """Cancel the turn or the side question with that id, or the running turn; return False if there is nothing to
        cancel."""
        if turn_id is None:
            running = self.running or next(iter(self._turns), None)
            return running.cancel() if running else False
        return any(each.cancel() for each in self._turns if each.turn_id == turn_id) or self.side_questions.cancel(
            turn_id
        )

    # Checkpoints

    @property
    def checkpoints(self) -> Sequence[Checkpoint]:
        """Checkpoints that can be restored, the oldest first."""
        return self.restorer.checkpoints

    @property
    def undone(self) -> Mapping[str, Sequence[Path]]:
        """Files in which every change of a turn is undone, by turn id."""
        return self.restorer.undone

    async def diff(self, checkpoint: Checkpoint) -> list[FileDiff]:
        """Return the differences between one of this session's checkpoints and now. Raises `SessionError`
        (`checkpoint_failed`)."""
        return await self.restorer.diff(checkpoint)

    async def restore(self, checkpoint: Checkpoint, wanted: RewindTarget) -> Restored:
        """Restore one of this session's checkpoints. Turns requested meanwhile wait.

        Raises `SessionError`: `turn_running`, or `checkpoint_failed`, in which case nothing has changed.
        """
        self.restorer.own_checkpoints()
        async with self._alone():
            return await self.restorer.restore(checkpoint, wanted)

    async def undo(self) -> Restored:
        """Undo the last turn: its files and its part of the conversation. Raises `SessionError` like `restore`."""
        async with self._alone():
            return await self.restorer.undo()

    async def undo_rest(self) -> Restored:
        """Also undo the changes that the last undo reported as uncertain. Raises `SessionError` like `restore`."""
        async with self._alone():
            return await self.restorer.undo_rest()

    def shown(self, path: Path) -> str:
        """Return the path as it is shown to the user."""
        return self.services.environment.workspace.shown(path)

    @property
    def is_idle(self) -> bool:
        """Whether no turn runs or waits and nothing else works on the session."""
        return not self._turns and not self._one_at_a_time.locked()

    @property
    def owner(self) -> SessionOwner | None:
        """Front end that the session belongs to."""
        return self._active.parts.owner

    def transfer_to(self, owner: SessionOwner | None) -> None:
        """Transfer the session to this front end. If it is not idle, it is transferred when a turn of that front end
        begins."""
        if self.is_idle and owner is not None:
            self._turn_factory.transfer(owner.for_folder(self.working_directory), self)

    @asynccontextmanager
    async def _alone(self) -> AsyncGenerator[None]:
        """Hold the session exclusively. A turn that only reports its end is waited for, so that a client that has read
        `finished` can go on. Raises `SessionError` (`turn_running`)."""
        is_ending = all(each.is_ending for each in self._turns)
        if not self._turns or not is_ending:
            self.check_idle()
        async with self._one_at_a_time:
            yield

    def check_idle(self) -> None:
        """Raise `SessionError` (`turn_running`) unless the session is idle."""
        if not self.is_idle:
            raise SessionError("A turn is running. Cancel it or wait until it ends.", kind="turn_running")

    async def close(self, reason: HookEnd = "close") -> None:
        """Cancel all turns, end all background commands and wait for them; wait a moment for other work. `reason` is
        passed to the `session_end` hooks."""
        self._reports.is_closing = True
        for turn in reversed(self._turns):
            turn.cancel()
        await asyncio.gather(*(turn.task for turn in self._turns if turn.task), return_exceptions=True)
        await self.side_questions.close()
        await self._reports.close()
        await self._hooks.ended(self.services, reason)
        await come_free(self._one_at_a_time)
        self._stream.flush()
        await self._writer.sync()

    async def _take_turn(self, turn: RunningTurn, chosen: Chosen) -> TurnResult:
        stop: StopReason = "error"
        problem: str | None = None
        try:
            turn.begin()
            async with self._announcing:
                if self._turns[0] is not turn or self._one_at_a_time.locked():
                    await self._announce(turn, TurnQueued(**await self._turn_factory.beginning(turn, chosen)))
            async with self._one_at_a_time:
                return await self._run(turn, chosen)
        except asyncio.CancelledError:  # the turn never started
            stop = "cancelled"
            return TurnResult(stop_reason=stop, text="", usage=Usage(), iterations=0, files_changed=())
        except (OSError, WorktreeUnavailableError) as error:
            problem = limit_reached(error) if isinstance(error, OSError) else str(error)
            if problem is None:
                raise
            failed = ModelError(problem)
            return TurnResult(stop_reason=stop, text="", usage=Usage(), iterations=0, files_changed=(), error=failed)
        finally:
            try:
                if turn.turn is None:
                    beginning = TurnStarted(**await self._turn_factory.beginning(turn, chosen))
                    await self._tell_that_it_never_ran(turn, beginning, stop, problem)
            finally:  # whatever prevents that, the turn is over and the next one may begin
                self._turns.remove(turn)
                self._stream.flush()
                self._reports.wake()

    async def _announce(self, turn: RunningTurn, told: TurnQueued) -> None:
        """Report that the turn is queued. From here on its prompt outlives the daemon."""
        self.keep_waiting(await record_of(turn, told, self.services.memory.secrets))
        await self._publish_own(turn, told)

    def keep_waiting(self, prompt: Queued) -> None:
        """Record a prompt that was accepted and waits, so that it outlives the daemon."""
        self._writer.note(prompt)

    async def _tell_that_it_never_ran(
        self, turn: RunningTurn, beginning: TurnStarted, stop: StopReason, problem: str | None = None
    ) -> None:
        """Emit the begin and end events of a turn that never ran: every turn has both, even one removed from the
        queue."""
        await self._publish_own(turn, beginning)
        if stop == "cancelled":
            await self._publish_own(turn, Cancelled())
        if problem is not None:
            await self._publish_own(turn, Notice(content=problem, level="error"))
        await self._publish_own(turn, Finished(stop_reason=stop, usage=Usage(), files_changed=()))

    async def _run(self, turn: RunningTurn, chosen: Chosen) -> TurnResult:
        self._turn_factory.transfer(turn.owner, self)
        with ExitStack() as use:
            return await self._run_to_end(turn, await self._made(turn, chosen, use))

    async def _run_to_end(self, turn: RunningTurn, running: Turn | CommandTurn) -> TurnResult:
        turn.turn = running
        self.updated_at = now()
        self.permissions.set_turn_mode(turn.own_mode)
        # the choice may have changed while the turn was built
        switch_agent(turn, self.choices, self._active, self.context)
        self._active.parts.on_change(self.id, "turn_started")
        try:
            return await running.run()
        finally:
            self.usage = self.usage.plus(running.usage)
            self._reports.turn_ended(turn)
            if isinstance(running, Turn):
                self.last_turn_usage = running.usage
            self.updated_at = now()
            self.permissions.set_turn_mode(None)
            self.services.environment.cache.cleanup_expired()
            self._stream.flush()
            await self._writer.sync_at_the_end()
            self._active.parts.on_change(self.id, "turn_finished")

    async def _made(self, turn: RunningTurn, chosen: Chosen, use: ExitStack) -> Turn | CommandTurn:
        """Return the turn. That of a model enters `use` of the session's folder."""

        async def sink(stamped: Stamped) -> None:
            is_last = isinstance(stamped.event, Finished)
            if turn.is_over:  # a subagent in the background goes on
                await self._stream.publish(stamped, turn.turn_id, NoSubscriber(), waits=False)
                return
            if is_last:
                turn.is_over = True
                self._writer.keep()  # no event can follow `finished`
            else:
                await self._stream.publish(stamped, turn.turn_id, turn.subscriber, waits=not turn.cancel_requested)
            if problem := self._writer.untold_problem():
                await own_sink(Notice(content=problem, level="warning"))
            if is_last:
                await self._stream.publish(stamped, turn.turn_id, turn.subscriber, waits=not turn.cancel_requested)

        async def own_sink(event: AgentEvent) -> None:
            await self._publish_own(turn, event)

        asked = await self._turn_factory.asked(turn, self)
        if asked is not None:
            return CommandTurn(
                answer=asked,
                beginning=TurnStarted(**await self._turn_factory.beginning(turn, chosen)),
                item_id=f"{turn.turn_id}-text",
                sink=own_sink,
                mask=self.services.memory.secrets.masked,
            )
        use.enter_context(self._active.in_use())
        if remarks := self._reports.take():
            told = NotePart(kind="background commands", text="\n".join(remarks))
            turn.request = replace(turn.request, parts=(*turn.request.parts, told))
        notices = await self._turn_factory.take_settings()
        chosen = self.choices.for_turn(turn.request)
        turn.own_mode = chosen.own_mode
        services = narrowed(self.services, chosen.profile, turn.request)
        spec = await self._turn_factory.spec(turn, chosen, services, self.messages, (*self._untold, *notices))
        self._untold.clear()
        await self.restorer.begin_turn()
        if self.name == UNNAMED:
            self.name = await self._turn_factory.name(turn)
        return Turn(
            spec=spec,
            services=services,
            history=self.messages,
            sink=sink,
            delegate=self._turn_factory.subagents().make,
        )

    async def _settle(self) -> None:
        """Return when everything emitted so far is on the disk, or cannot be written there."""
        self._stream.flush()
        await self._writer.sync()

    async def _tell_running(self, event: AgentEvent) -> None:
        if (running := self.running) is not None:
            await self._publish_own(running, event)

    def _spend(self, usage: Usage) -> None:
        """Count usage outside the model's turns: for the running command turn, or else for the session alone."""
        if (running := self.running) is not None and isinstance(running.turn, CommandTurn):
            running.turn.usage = running.turn.usage.plus(usage)
        else:
            self.usage = self.usage.plus(usage)

    def _spend_beside(self, turn: Turn | None, question: SideQuestion) -> None:
        """Count the usage of a side question: for the turn that ran when it was asked, or else for the session."""
        if turn is not None and not turn.closing:
            turn.spend(question.usage, question.unpriced)
            return
        self.usage = self.usage.beside(question.usage)
        self._writer.keep()

    async def _publish_own(self, turn: RunningTurn, event: AgentEvent) -> None:
        """Publish an event that the agent loop did not emit. Its token count is 0 unless a command used a model."""
        total = turn.turn.usage.total_tokens if isinstance(turn.turn, CommandTurn) else 0
        stamped = Stamped(event=event, iteration=0, total_tokens=total)
        await self._stream.publish(stamped, turn.turn_id, turn.subscriber, waits=not turn.cancel_requested)
