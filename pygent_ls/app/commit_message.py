"""Commit messages from the settings: the model, and what may be sent to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pygent_ls.config.settings import Settings

if TYPE_CHECKING:
    from pygent_ls.agent.session_services import SessionServices
    from pygent_ls.sessions.commit_message import CommitMessageWriter
    from pygent_ls.sessions.session import Session
    from pygent_ls.sessions.turns.settings import TurnSettings


def commit_message_writer(
    taken: TurnSettings, settings: Settings, services: Callable[[], SessionServices], sessions: Sequence[Session]
) -> CommitMessageWriter:
    """Return the writer with the settings of a turn that begins now. Raises `ModelError`.

    The model is that of summaries, which may be a cheap one; else that of the session that was used last, and then the
    default model.
    """
    from pygent_ls.sessions.commit_message import CommitMessageWriter

    newest = max(sessions, key=lambda each: each.updated_at, default=None)
    chosen = newest.own_model if newest is not None else None
    own = taken.renewed(services())
    own.memory.permissions.take(taken.policy, taken.mode)
    return CommitMessageWriter(
        services=own,
        model=taken.make_model(settings.compaction.model or chosen or taken.model),
        temperature=settings.temperature,
    )
