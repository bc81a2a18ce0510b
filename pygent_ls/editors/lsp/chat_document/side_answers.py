"""Answers of side questions in clients without a plugin: as a message, and in no chat document."""

from __future__ import annotations

import asyncio

from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.editors.lsp.client import Client
from pygent_ls.editors.lsp.handlers.turns import Turns
from pygent_ls.editors.lsp.standard import MessageType
from pygent_ls.editors.turn_summary import STOP_WORDS
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.sessions.turns.turn import RunningTurn

MAX_QUESTION_CHARS = 80
"""Maximum number of characters of the question above its answer."""


def ask_beside(client: Client, turns: Turns, session: Session, request: TurnRequest) -> RunningTurn:
    """Begin to answer `/btw QUESTION`; the answer is shown as a message. Raises `SessionError`."""
    asked = turns.begin(session, request, events_token=None, work_token=None)
    assert asked.task is not None

    def show(task: asyncio.Task[TurnResult]) -> None:
        if not task.cancelled() and task.exception() is None:
            _show(client, asked, task.result())

    asked.task.add_done_callback(show)
    return asked


def _show(client: Client, asked: RunningTurn, result: TurnResult) -> None:
    if result.stop_reason == "cancelled" and not result.text:
        return
    kind = MessageType.INFO
    said = result.text.strip()
    if result.error is not None:
        kind, said = MessageType.ERROR, result.error.message
    elif result.stop_reason != "end_turn":
        said = f"{said}\n({STOP_WORDS[result.stop_reason][0]})".strip()
    client.endpoint.show_message(f"{one_line(asked.prompt, MAX_QUESTION_CHARS)}\n\n{said}", kind)
