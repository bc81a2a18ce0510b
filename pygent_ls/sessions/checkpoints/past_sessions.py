"""Sessions of ended daemons of which only the checkpoints remain. Their files can be restored."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from pygent_ls.agent.ports.workspace import Workspace
from pygent_ls.errors import SessionError, SnapshotError
from pygent_ls.sessions.checkpoints.checkpoints import Checkpoint, Checkpoints, FileDiff
from pygent_ls.sessions.checkpoints.records import CheckpointRecords, Stamp, session_of
from pygent_ls.sessions.checkpoints.rewind import Restored, RewindTarget, go_back
from pygent_ls.workspace.snapshots.snapshots import Snapshots


class PastSession:
    """A session that is no longer in memory."""

    def __init__(self, checkpoints: Checkpoints, before: PastSession | None = None) -> None:
        """`before` is the previous object for the same session."""
        self._checkpoints = checkpoints
        self._one_at_a_time = before._one_at_a_time if before else asyncio.Lock()

    @property
    def checkpoints(self) -> Sequence[Checkpoint]:
        """Checkpoints that can be restored, the oldest first."""
        return self._checkpoints.all()

    @property
    def undone(self) -> Mapping[str, Sequence[Path]]:
        """Files in which no change of a turn remains, by turn id."""
        return self._checkpoints.undone()

    async def diff(self, checkpoint: Checkpoint) -> list[FileDiff]:
        """Return the differences between the checkpoint and now. Raises `SessionError`: `other_workspace`,
        `checkpoint_failed`."""
        check_open(self._checkpoints, checkpoint)
        try:
            return await self._checkpoints.diff(checkpoint)
        except SnapshotError as error:
            raise checkpoint_failed(error) from None

    async def restore(self, checkpoint: Checkpoint, wanted: RewindTarget) -> Restored:
        """Restore files. Raises like `diff`, and `session_not_loaded` for the conversation, which is gone."""
        if wanted.conversation:
            raise SessionError(
                "The session of this checkpoint is not loaded and its conversation was not saved. "
                "Restore only the files.",
                kind="session_not_loaded",
            )
        check_open(self._checkpoints, checkpoint)
        async with self._one_at_a_time:
            try:
                return await go_back(self._checkpoints, checkpoint, wanted, [])
            except SnapshotError as error:
                raise checkpoint_failed(error) from None


class PastSessions:
    """Finds past sessions by their records in the state folder."""

    def __init__(self, root: Path, workspace: Workspace, snapshots: Snapshots) -> None:
        self._root = root
        self._workspace = workspace
        self._snapshots = snapshots
        self._found: dict[str, tuple[Stamp, PastSession]] = {}

    def records(self, session_id: str) -> CheckpointRecords:
        """Return the store of a session's checkpoint records."""
        return CheckpointRecords(self._root, session_id, days=self._snapshots.days)

    async def get(self, session_id: str) -> PastSession | None:
        """Return the session of that id; None if it has no records."""
        records = self.records(session_id)
        stamp = None if "/" in session_id else await asyncio.to_thread(records.stamp)
        if stamp is None:  # it never had records, or they were deleted
            self._found.pop(session_id, None)
            return None
        known, session = self._found.get(session_id, (None, None))
        if session is None or known != stamp:  # the session continued since, here or in another daemon
            checkpoints = Checkpoints(self._workspace, self._snapshots, records)
            await asyncio.to_thread(checkpoints.recall)
            session = PastSession(checkpoints, session)
            self._found[session_id] = stamp, session
        return session

    async def session_of(self, checkpoint_id: str) -> str | None:
        """Return the id of the session that has that checkpoint."""
        return await asyncio.to_thread(session_of, self._root, checkpoint_id)

    async def with_checkpoint(self, checkpoint_id: str) -> tuple[PastSession, Checkpoint] | None:
        """Return the checkpoint of that id and its session."""
        session_id = await asyncio.to_thread(session_of, self._root, checkpoint_id)
        session = await self.get(session_id) if session_id is not None else None
        found = [each for each in session.checkpoints if each.id == checkpoint_id] if session else []
        return (session, found[0]) if session and found else None


def check_open(checkpoints: Checkpoints, checkpoint: Checkpoint) -> None:
    """Raise `SessionError` (`other_workspace`) if a folder of the checkpoint is not open in the editor."""
    for kept in checkpoint.snapshot.states:
        if not any(kept.is_relative_to(folder) for folder in checkpoints.workspace.folders):
            raise SessionError(
                f"The checkpoint belongs to {kept}, which is not open here. Open that folder first.",
                kind="other_workspace",
            )


def checkpoint_failed(error: SnapshotError) -> SessionError:
    """Return the error for a checkpoint that can no longer be read, or a workspace that cannot be backed up."""
    return SessionError(f"The checkpoint cannot be used: {error}.", kind="checkpoint_failed")
