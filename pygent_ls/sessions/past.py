"""Sessions of daemons that have ended: of them there are the checkpoints, and files can go back to those."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from pygent_ls.agent.workspace import Workspace
from pygent_ls.errors import SessionError, SnapshotError
from pygent_ls.sessions.checkpoint_records import CheckpointRecords, Stamp, session_of
from pygent_ls.sessions.checkpoints import Checkpoint, Checkpoints, FileDiff
from pygent_ls.sessions.rewind import Restored, Wanted, go_back
from pygent_ls.workspace.snapshots import Snapshots


class PastSession:
    """A session that is no longer in memory."""

    def __init__(self, checkpoints: Checkpoints, before: PastSession | None = None) -> None:
        """`before` is the same session as it was known before."""
        self._checkpoints = checkpoints
        self._one_at_a_time = before._one_at_a_time if before else asyncio.Lock()

    @property
    def checkpoints(self) -> Sequence[Checkpoint]:
        """What can be gone back to, the oldest first."""
        return self._checkpoints.all()

    @property
    def undone(self) -> Mapping[str, Sequence[Path]]:
        """See `Checkpoints`."""
        return self._checkpoints.undone()

    async def diff(self, checkpoint: Checkpoint) -> list[FileDiff]:
        """What differs from the checkpoint to now. Raises `SessionError`: `other_workspace`, `checkpoint_failed`."""
        check_open(self._checkpoints, checkpoint)
        try:
            return await self._checkpoints.diff(checkpoint)
        except SnapshotError as error:
            raise checkpoint_failed(error) from None

    async def restore(self, checkpoint: Checkpoint, wanted: Wanted) -> Restored:
        """Bring files back. Raises as `diff` does, and `session_not_loaded` for the conversation, which is gone."""
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
    """Finds them by what is recorded in the state folder."""

    def __init__(self, root: Path, workspace: Workspace, snapshots: Snapshots) -> None:
        self._root = root
        self._workspace = workspace
        self._snapshots = snapshots
        self._found: dict[str, tuple[Stamp, PastSession]] = {}

    def records(self, session_id: str) -> CheckpointRecords:
        """Where a session's checkpoints are to be recorded."""
        return CheckpointRecords(self._root, session_id, days=self._snapshots.days)

    async def get(self, session_id: str) -> PastSession | None:
        """The session of that id; None where nothing is recorded of it."""
        records = self.records(session_id)
        stamp = None if "/" in session_id else await asyncio.to_thread(records.stamp)
        if stamp is None:  # there never was one, or it was deleted since
            self._found.pop(session_id, None)
            return None
        known, session = self._found.get(session_id, (None, None))
        if session is None or known != stamp:  # it went on since, here or in another daemon
            checkpoints = Checkpoints(self._workspace, self._snapshots, records)
            await asyncio.to_thread(checkpoints.recall)
            session = PastSession(checkpoints, session)
            self._found[session_id] = stamp, session
        return session

    async def session_of(self, checkpoint_id: str) -> str | None:
        """The session that has that checkpoint."""
        return await asyncio.to_thread(session_of, self._root, checkpoint_id)

    async def with_checkpoint(self, checkpoint_id: str) -> tuple[PastSession, Checkpoint] | None:
        """The checkpoint of that id and its session."""
        session_id = await asyncio.to_thread(session_of, self._root, checkpoint_id)
        session = await self.get(session_id) if session_id is not None else None
        found = [each for each in session.checkpoints if each.id == checkpoint_id] if session else []
        return (session, found[0]) if session and found else None


def check_open(checkpoints: Checkpoints, checkpoint: Checkpoint) -> None:
    """Raises `SessionError` (`other_workspace`) where a folder of the checkpoint is not open in the editor."""
    for kept in checkpoint.snapshot.states:
        if not any(kept.is_relative_to(folder) for folder in checkpoints.workspace.folders):
            raise SessionError(
                f"The checkpoint belongs to {kept}, which is not open here. Open that folder first.",
                kind="other_workspace",
            )


def checkpoint_failed(error: SnapshotError) -> SessionError:
    """The error of a checkpoint that can no longer be read, or of a workspace that cannot be kept now."""
    return SessionError(f"The checkpoint cannot be used: {error}.", kind="checkpoint_failed")
