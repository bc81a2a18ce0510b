"""Handlers of the requests about checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygent_ls.sessions.checkpoints.rewind import Restored, RewindTarget
from pygent_ls.sessions.commands.answer_text import WAS_NOT_KEPT
from pygent_ls.sessions.saved_format.writer import timestamp

if TYPE_CHECKING:
    from pygent_ls.editors.lsp.client import Client
    from pygent_ls.editors.lsp.protocol.checkpoints import (
        CheckpointDiffOut,
        CheckpointOut,
        CheckpointParams,
        CheckpointRestoreParams,
        CheckpointsOut,
        RestoredOut,
    )
    from pygent_ls.editors.lsp.protocol.sessions import SessionParams
    from pygent_ls.sessions.checkpoints.checkpoints import Checkpoint
    from pygent_ls.sessions.store import Sessions


class CheckpointRequests:
    """Lists checkpoints, compares them with the current files, and restores them. Errors are `SessionError`."""

    def __init__(self, client: Client, sessions: Sessions) -> None:
        self._client = client
        self._sessions = sessions

    async def list_all(self, params: SessionParams) -> CheckpointsOut:
        """Handle `pygent/checkpoint/list`."""
        session = await self._sessions.with_checkpoints(params.session_id)
        return {
            "checkpoints": [_checkpoint(each) for each in session.checkpoints],
            "undone": [
                {"turnId": turn_id, "uris": [self._client.uri_of(path) for path in paths]}
                for turn_id, paths in session.undone.items()
            ],
        }

    async def diff(self, params: CheckpointParams) -> CheckpointDiffOut:
        """Handle `pygent/checkpoint/diff`."""
        session, checkpoint = await self._sessions.of_checkpoint(params.checkpoint_id)
        files = await session.diff(checkpoint)
        return {"files": [{"uri": self._client.uri_of(each.path), "patch": each.patch} for each in files]}

    async def restore(self, params: CheckpointRestoreParams) -> RestoredOut:
        """Handle `pygent/checkpoint/restore`."""
        session, checkpoint = await self._sessions.to_restore(params.checkpoint_id)
        wanted = RewindTarget(
            files=params.files, conversation=params.conversation, force=params.force, uncertain=params.uncertain
        )
        return restored_out(self._client, await session.restore(checkpoint, wanted))


def restored_out(client: Client, done: Restored) -> RestoredOut:
    """Return the result of a restore for the client."""
    out: RestoredOut = {
        "restored": [client.uri_of(path) for path in done.restored],
        "skipped": [{"uri": client.uri_of(each.path), "reason": each.reason} for each in done.skipped],
        "uncertain": [client.uri_of(path) for path in done.uncertain],
        "undoCheckpointId": done.undo_checkpoint_id,
    }
    if done.was_not_kept:
        out["notKept"] = True
    return out


def restored_message(done: Restored) -> str:
    """Return the result of a restore as a message with file names."""
    lines = [f"Restored: {', '.join(path.name for path in done.restored)}." if done.restored else "No file changed."]
    if done.was_not_kept:
        lines.append(WAS_NOT_KEPT)
    return "\n".join([*lines, *(f"Not restored: {each.path.name}: {each.reason}." for each in done.skipped)])


def _checkpoint(checkpoint: Checkpoint) -> CheckpointOut:
    return {
        "checkpointId": checkpoint.id,
        "turnId": checkpoint.turn_id,
        "label": checkpoint.label,
        "createdAt": timestamp(checkpoint.created_at),
        "files": len(checkpoint.changed),
    }
