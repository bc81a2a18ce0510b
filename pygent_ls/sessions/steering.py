"""Messages from the user to a running turn."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from msgspec.structs import replace

from pygent_ls.agent.context.attachments import PromptPart, shown_attachments
from pygent_ls.agent.events import Notice, TurnQueued
from pygent_ls.agent.messages import user_message
from pygent_ls.agent.model.retry import RetryAction
from pygent_ls.agent.turn.loop import Turn
from pygent_ls.agent.turn.state import Steering
from pygent_ls.agent.turn.turn_hooks import run_prompt_hooks
from pygent_ls.sessions.event_stream import NoSubscriber
from pygent_ls.sessions.journal.records import Queued
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.turns.prompt import content_of
from pygent_ls.sessions.turns.queued_prompts import record_of
from pygent_ls.sessions.turns.turn import RunningTurn


async def steer(session: Session, turn_id: str, parts: Sequence[PromptPart]) -> bool:
    """Add this message to the conversation of the running turn. Return False if that is another turn, if it is too
    late, or if hooks deny it, which the user is told. If the daemon dies before the message joins, it is held as a
    prompt of its own."""
    running = session.running
    turn = _turn(running, turn_id)
    if running is None or turn is None:
        return False
    async with running.steering:
        return await _steer(session, running, turn, parts)


async def _steer(session: Session, running: RunningTurn, turn: Turn, parts: Sequence[PromptPart]) -> bool:
    if turn.closing:
        return False
    services = turn.services
    content = await content_of(parts, services)
    shown = await services.memory.secrets.masked("".join(part for part in parts if isinstance(part, str)))
    attachments = await shown_attachments(parts, services.memory.secrets.masked)
    reports = [each.text for each in attachments if each.kind == "review"]
    context, denied = await run_prompt_hooks(turn.context.hooks, shown or "\n\n".join(reports), None)
    if denied is not None:
        await turn.tell(Notice(content=denied, level="error"))
        return False
    if context:
        content = (*context, *user_message(content).blocks)
    steering = Steering(shown=shown, content=content, attachments=attachments)
    waiting = await _waiting(running, turn, parts, steering)
    is_accepted = turn.steer(steering)
    if is_accepted:
        session.keep_waiting(waiting)
    return is_accepted


async def _waiting(running: RunningTurn, turn: Turn, parts: Sequence[PromptPart], steering: Steering) -> Queued:
    """Return the record that is stored until the message joins the turn."""
    spec = turn.context.spec
    alone = RunningTurn(
        f"turn-{uuid4().hex[:12]}", replace(running.request, parts=tuple(parts), own_words=None), NoSubscriber()
    )
    told = TurnQueued(
        prompt=steering.shown,
        model=spec.model.name,
        mode=spec.mode,
        agent=spec.agent,
        attachments=steering.attachments,
    )
    return replace(await record_of(alone, told, turn.services.memory.secrets), steers=running.turn_id)


def decide_retry(running: RunningTurn | None, turn_id: str, action: RetryAction) -> bool:
    """Ask the failed model again now, or give up. Return False if another turn is running or it waits for no retry."""
    turn = _turn(running, turn_id)
    return turn is not None and turn.retries.decide(action)


def _turn(running: RunningTurn | None, turn_id: str) -> Turn | None:
    if running is None or running.turn_id != turn_id or not isinstance(running.turn, Turn):
        return None
    return running.turn
