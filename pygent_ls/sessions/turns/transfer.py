"""Transfer of a session to another front end: the editor's part is replaced, the session's memory stays."""

from __future__ import annotations

from dataclasses import replace

from pygent_ls.agent.run_context import RunContext
from pygent_ls.sessions.checkpoints.checkpoints import Checkpoints
from pygent_ls.sessions.turns.turn import SessionParts


def moved(old: SessionParts, there: SessionParts) -> SessionParts:
    """Return the session's parts after the transfer; `there` are the parts of a new session in that front end.

    Its permissions and its checkpoints are the same objects as before, and act in the new front end from now on.
    """
    return replace(there, surroundings=_moved(old.surroundings, there.surroundings))


def _moved(old: RunContext, there: RunContext) -> RunContext:
    old.permissions.move(there.permissions)
    kept = replace(
        there,
        permissions=old.permissions,
        secrets=old.secrets.seen_from(there.workspace),
        reads=old.reads,
        outputs=old.outputs,
        plan=old.plan,
        marks=old.marks,
        context=old.context,
        settle=old.settle,
    )
    if isinstance(old.checkpointer, Checkpoints) and isinstance(there.checkpointer, Checkpoints):
        old.checkpointer.move(there.checkpointer)
        kept = replace(kept, checkpointer=old.checkpointer)
    return kept
