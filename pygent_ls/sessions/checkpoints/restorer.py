"""Restores of one session: to a checkpoint, undo of the last turn, and redo. Turns wait meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from pygent_ls.agent.messages import Message
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.errors import SessionError, SnapshotError
from pygent_ls.sessions.checkpoints.checkpoints import Checkpoint, Checkpoints, FileDiff
from pygent_ls.sessions.checkpoints.past_sessions import check_open, checkpoint_failed
from pygent_ls.sessions.checkpoints.records import TakenBack
from pygent_ls.sessions.checkpoints.rewind import Restored, RewindTarget, go_back, last_turn
from pygent_ls.sessions.plan import plan_in


class ActiveServices(Protocol):
    """Holds the current services of the session."""

    @property
    def services(self) -> SessionServices:
        """Services of the session's turns."""
        ...

    def in_use(self) -> AbstractContextManager[None]:
        """Keep the folder of the session while it is changed. Raises `WorktreeUnavailableError`."""
        ...


class KeptConversation(Protocol):
    """Conversation of a session, and its journal."""

    @property
    def messages(self) -> list[Message]:
        """The session's own list."""
        ...

    def mark(self) -> int | None:
        """Return the size of the journal that holds the current conversation; None without a journal."""
        ...

    async def conversation_at(self, mark: int) -> tuple[Message, ...]:
        """Return the conversation at that size of the journal. Raises OSError."""
        ...


class Restorer:
    """Restore, undo and redo for one session. The caller ensures that no turn that uses a model runs.

    The methods raise `SessionError`: `no_checkpoints`, `agents_running`, `other_workspace` (its folder is not open), or
    `checkpoint_failed`, in which case nothing has changed.
    """

    def __init__(
        self,
        active: ActiveServices,
        checkpoints: Checkpoints | None,
        kept: KeptConversation,
        on_restored: Callable[[], None],
    ) -> None:
        self._active = active
        self._checkpoints = checkpoints
        self._kept = kept
        self._on_restored = on_restored
        known = self._checkpoints.taken_back if self._checkpoints else TakenBack(checkpoints=())
        self._taken_back = [each for each in self.checkpoints if each.id in known.checkpoints]
        """Checkpoints that redo the undone turns, until the next turn."""
        self._has_rest = next((each for each in self.checkpoints if each.id == known.rest), None)
        """Checkpoint that the last undo restored, if it left files that a command may have changed."""

    @property
    def checkpoints(self) -> Sequence[Checkpoint]:
        """Checkpoints that can be restored, the oldest first."""
        return self._checkpoints.all() if self._checkpoints else ()

    @property
    def undone(self) -> Mapping[str, Sequence[Path]]:
        """Files in which no change of a turn remains, by turn id."""
        return self._checkpoints.undone() if self._checkpoints else {}

    async def diff(self, checkpoint: Checkpoint) -> list[FileDiff]:
        """Return the differences between one of the session's checkpoints and now."""
        check_open(self.own_checkpoints(), checkpoint)
        try:
            found = await self.own_checkpoints().diff(checkpoint)
            secrets = self._active.services.memory.secrets
            await secrets.masks.learn_files([str(each.path) for each in found])  # a patch shows only some of the lines
            return [replace(each, patch=await secrets.masked(each.patch, str(each.path))) for each in found]
        except SnapshotError as error:
            raise checkpoint_failed(error) from None

    async def restore(self, checkpoint: Checkpoint, wanted: RewindTarget) -> Restored:
        """Restore one of the session's checkpoints."""
        with self._active.in_use() if wanted.files else nullcontext():
            return await self._restore(checkpoint, wanted)

    async def _restore(self, checkpoint: Checkpoint, wanted: RewindTarget) -> Restored:
        services = self._active.services
        self._check_quiet()
        if wanted.files:
            check_open(self.own_checkpoints(), checkpoint)
        then = await self._with_messages(checkpoint) if wanted.conversation else checkpoint
        try:
            done = await go_back(self.own_checkpoints(), then, wanted, self._kept.messages, self._kept.mark())
            if wanted.conversation:
                services.memory.plan.entries = plan_in(self._kept.messages)
            return done
        except SnapshotError as error:
            raise checkpoint_failed(error) from None
        finally:
            services.environment.cache.clear()
            if wanted.conversation:
                services.memory.reads.forget_all()
            self._on_restored()

    def _check_quiet(self) -> None:
        """Raise `SessionError` (`agents_running`) while subagents work in the background."""
        services = self._active.services
        jobs = services.environment.processes.background.running_jobs(services.memory.session_id)
        if jobs:
            names = ", ".join(each.name for each in jobs)
            raise SessionError(
                f"Agents work in the background ({names}), and may change files meanwhile. Stop them first "
                "(/background stop NAME), or wait until they have ended.",
                kind="agents_running",
            )

    async def _with_messages(self, checkpoint: Checkpoint) -> Checkpoint:
        """Return the checkpoint with its conversation, if it has one, in memory."""
        said = checkpoint.conversation
        if said is None or said.messages is not None or said.journal_size is None:
            return checkpoint
        try:
            messages = await self._kept.conversation_at(said.journal_size)
        except OSError as error:
            raise SessionError(
                f"The checkpoint cannot be used because its conversation cannot be read: {error.strerror}.",
                kind="checkpoint_failed",
            ) from None
        return replace(checkpoint, conversation=replace(said, messages=messages))

    async def undo(self) -> Restored:
        """Undo the last turn: its files and its part of the conversation. Also raises `nothing_to_undo`."""
        found = last_turn(self.own_checkpoints(), self._kept.messages)
        if found is None:
            raise SessionError("There is no turn to undo.", kind="nothing_to_undo")
        checkpoint, has_files = found
        done = await self.restore(checkpoint, RewindTarget(files=has_files, conversation=True))
        done.was_not_kept = checkpoint.turn_id in self.own_checkpoints().not_kept
        self._has_rest = checkpoint if done.uncertain else None
        if undo := self.own_checkpoints().find(done.undo_checkpoint_id):
            self._taken_back.append(undo)
        await self._note()
        return done

    async def undo_rest(self) -> Restored:
        """Also undo what the last `undo` reported as uncertain. Raises `nothing_to_undo` if it reported
        nothing."""
        checkpoint = self._has_rest
        if checkpoint is None:
            raise SessionError("The last undo left no changes that a command may have made.", kind="nothing_to_undo")
        done = await self.restore(checkpoint, RewindTarget(files=True, conversation=False, uncertain=True))
        self._has_rest = None  # redoing the turn redoes this, too
        await self._note()
        return done

    async def redo(self) -> Restored:
        """Redo the last undone turn. Also raises `nothing_to_redo`."""
        if not self._taken_back:
            raise SessionError(
                ("There is nothing to redo: nothing was undone since the last turn."), kind="nothing_to_redo"
            )
        undo = self._taken_back[-1]
        self._has_rest = None
        done = await self.restore(undo, RewindTarget(files=True, conversation=True))
        self._taken_back.pop()
        await self._note()
        return done

    async def begin_turn(self) -> None:
        """Forget what could be redone, because a turn begins."""
        self._taken_back.clear()
        self._has_rest = None
        await self._note()

    async def _note(self) -> None:
        """Record what can be redone, so that it is known after a restart."""
        if self._checkpoints is not None:
            ids = tuple(each.id for each in self._taken_back)
            rest = self._has_rest.id if self._has_rest else ""
            await self._checkpoints.note_taken_back(TakenBack(checkpoints=ids, rest=rest))

    def replace_conversation(self, turn_ids: Iterable[str]) -> None:
        """Note that the conversation was replaced by one with these turns, whose files another session backed up, if
        any did."""
        self._taken_back.clear()
        if self._checkpoints is not None:
            self._checkpoints.not_kept.update(each for each in turn_ids if each)

    async def forget(self) -> None:
        """Delete what is stored of the checkpoints."""
        if self._checkpoints is not None:
            await self._checkpoints.forget()

    def own_checkpoints(self) -> Checkpoints:
        """Return the session's checkpoints. Raises `SessionError` (`no_checkpoints`) if it has none."""
        if self._checkpoints is None:
            raise SessionError("This session has no checkpoints.", kind="no_checkpoints")
        return self._checkpoints
