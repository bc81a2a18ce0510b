"""Conversion of queued prompts to journal records and back, to send them again after a crash."""

from __future__ import annotations

from pygent_ls.agent.context.attachments import without_secrets
from pygent_ls.agent.events import TurnQueued
from pygent_ls.agent.tools.session_secrets import SessionSecrets
from pygent_ls.sessions.journal.records import Queued
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.sessions.turns.turn import RunningTurn


async def record_of(turn: RunningTurn, told: TurnQueued, secrets: SessionSecrets) -> Queued:
    """Return the record of a queued turn, which the event `told` announces."""
    request = turn.request
    attached = [each for each in request.parts if not isinstance(each, str)]
    return Queued(
        turn=turn.turn_id,
        told=told,
        attachments=tuple([await without_secrets(each, secrets.masked) for each in attached]),
        agent=request.agent,
        model=request.model,
        mode=request.mode,
        max_iterations=request.max_iterations,
        max_tokens=request.max_tokens,
        max_budget_usd=request.max_budget_usd,
        effort=request.effort,
        output_schema=request.output_schema,
        own_words=None if request.own_words is None else await secrets.masked(request.own_words),
    )


def request_of(record: Queued) -> TurnRequest:
    """Return the request of the turn."""
    return TurnRequest(
        parts=(record.told.prompt, *record.attachments),
        turn_id=record.turn,
        agent=record.agent,
        model=record.model,
        mode=record.mode,
        max_iterations=record.max_iterations,
        max_tokens=record.max_tokens,
        max_budget_usd=record.max_budget_usd,
        effort=record.effort,
        output_schema=record.output_schema,
        own_words=record.own_words,
    )
