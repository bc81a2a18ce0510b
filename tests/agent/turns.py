"""Turns of the loop over fakes, and what must be true of any of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec.structs import replace

from pygent_ls.agent.events import (
    Cancelled,
    Finished,
    PermissionRequested,
    PermissionResolved,
    Stamped,
    ToolCall,
    ToolResult,
    TurnStarted,
)
from pygent_ls.agent.messages import ImageBlock, Message, TextBlock, ToolResultBlock
from pygent_ls.agent.ports.model import Model
from pygent_ls.agent.turn.loop import Turn
from pygent_ls.agent.turn.state import TurnResult, TurnSpec
from pygent_ls.agent.turn_spec import ModelSettings, TurnLimits
from tests.fakes import Rig, bounded


def new_turn(
    rig: Rig,
    model: Model,
    history: list[Message] | None = None,
    *,
    prompt: str = "do it",
    limits: TurnLimits | None = None,
    turn_id: str = "turn-1",
    **spec_changes: Any,
) -> Turn:
    """A turn that was not run yet; its events go to the rig's collector, and it waits for nothing."""
    delegate = spec_changes.pop("delegate", None)
    of_model = {name: spec_changes.pop(name) for name in ModelSettings.__struct_fields__ if name in spec_changes}
    spec = TurnSpec(
        turn_id=turn_id,
        prompt=prompt,
        content=prompt,
        model=model,
        mode=rig.services.memory.permissions.mode,
        agent="default",
        system="You are a test.",
        limits=limits or TurnLimits(max_iterations=50),
        model_settings=replace(ModelSettings(max_output_tokens=1_000, temperature=0.5), **of_model),
    )
    return Turn(
        spec=replace(spec, **spec_changes),
        services=rig.services,
        delegate=delegate,
        history=[] if history is None else history,
        sink=rig.events,
        retries=rig.retries,
        clock=rig.clock,
    )


async def run_turn(
    rig: Rig,
    model: Model,
    history: list[Message] | None = None,
    *,
    limits: TurnLimits | None = None,
    turn_id: str = "turn-1",
    **spec_changes: Any,
) -> TurnResult:
    """Run a turn to its end and check what must be true of every turn."""
    turn = new_turn(rig, model, history, limits=limits, turn_id=turn_id, **spec_changes)
    n_before = len(rig.events.stamped)
    result = await bounded(turn.run())
    check_turn(turn, result, rig.events.stamped[n_before:])
    return result


async def cancel_turn(rig: Rig, turn: Turn, when: Callable[[], Awaitable[None]], *, twice: bool = False) -> TurnResult:
    """Run a turn, cancel it when `when` returns, and check what must be true of every turn."""
    n_before = len(rig.events.stamped)
    task = asyncio.ensure_future(turn.run())
    await when()
    task.cancel()
    if twice:
        await asyncio.sleep(0)
        task.cancel()
    result = await bounded(task)
    check_turn(turn, result, rig.events.stamped[n_before:])
    return result


def check_turn(turn: Turn, result: TurnResult, stamped: Sequence[Stamped]) -> None:
    """The history can go on, and the events tell a whole story."""
    check_history(turn.history)
    check_events(stamped)
    finished = stamped[-1]
    assert isinstance(finished.event, Finished)
    assert finished.event.stop_reason == result.stop_reason
    assert finished.event.usage == result.usage
    assert finished.event.files_changed == result.files_changed
    assert finished.iteration == result.iterations
    assert (result.error is not None) == (result.stop_reason == "error")


def check_history(history: Sequence[Message]) -> None:
    """Every tool call has exactly one result, in the order of the calls, in the message right after it."""
    ids: list[str] = []
    for message, following in zip(history, [*history, None][1:], strict=True):
        assert message.blocks, "an empty message"
        assert message.role == "assistant" or not message.tool_calls
        if message.role == "assistant":
            assert message.text.strip() or message.tool_calls, "an answer of nothing"
        called = [call.id for call in message.tool_calls]
        ids += called
        results = [block for block in following.blocks if isinstance(block, ToolResultBlock)] if following else []
        assert [block.tool_use_id for block in results] == called, "calls and results"
        assert not results or (
            following and following.role == "user" and following.blocks[: len(results)] == (*results,)
        )
        beside = following.blocks[len(results) :] if results and following else ()
        assert all(
            isinstance(block, ImageBlock)
            or (
                isinstance(block, TextBlock)
                and block.text.startswith(("<user-feedback", "<reminder>", "<hook", "Images in the result of"))
            )
            for block in beside
        )
    assert len(ids) == len(set(ids)), "an id twice"
    assert all(ids)


def check_events(stamped: Sequence[Stamped]) -> None:
    """`turn_started` first and `finished` last, once each; every call and every question has its one end."""
    events = [each.event for each in stamped]
    types = [each.type for each in events]
    assert isinstance(events[0], TurnStarted)
    assert isinstance(events[-1], Finished)
    assert types.count("turn_started") == types.count("finished") == 1
    assert types.count("cancelled") == (events[-1].stop_reason == "cancelled")
    assert not any(isinstance(each, Cancelled) for each in events) or isinstance(events[-2], Cancelled)
    called = [each.tool_id for each in events if isinstance(each, ToolCall)]
    ended = [each.tool_id for each in events if isinstance(each, ToolResult)]
    assert sorted(called) == sorted(ended)
    for tool_id in called:
        at = {type(each): n for n, each in enumerate(events) if getattr(each, "tool_id", None) == tool_id}
        assert at[ToolCall] < at[ToolResult] == max(at.values()), "events of a call after its result"
    asked = [each.permission_id for each in events if isinstance(each, PermissionRequested)]
    answered = [each.permission_id for each in events if isinstance(each, PermissionResolved)]
    assert asked == answered
    iterations = [each.iteration for each in stamped]
    assert iterations == sorted(iterations)
    totals = [each.total_tokens for each in stamped]
    assert totals == sorted(totals)
