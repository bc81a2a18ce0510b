"""The plan that is read off a conversation."""

from __future__ import annotations

from pygent_ls.agent.events import PlanEntry
from pygent_ls.agent.messages import Message, ToolResultBlock, ToolUseBlock, user_message
from pygent_ls.sessions.plan import plan_in


def planned(call_id: str, entries: object, *, is_error: bool = False) -> list[Message]:
    """A call of the tool, and its result."""
    call = ToolUseBlock(id=call_id, name="plan", input={"entries": entries})
    result = ToolResultBlock(tool_use_id=call_id, content="said", is_error=is_error)
    return [Message(role="assistant", content=(call,)), user_message((result,))]


def test_the_last_call_that_succeeded_counts() -> None:
    look = {"content": "look", "status": "completed", "priority": "high"}
    mend = {"content": " mend ", "status": "pending"}

    messages = [*planned("a", [mend]), *planned("b", [look, mend]), *planned("c", [], is_error=True)]

    assert plan_in(messages) == (
        PlanEntry(content="look", status="completed", priority="high"),
        PlanEntry(content="mend", status="pending"),
    )
    assert plan_in([*messages, *planned("d", [])]) == ()
    assert plan_in([user_message("go")]) == ()


def test_entries_that_no_plan_can_hold_are_left_out() -> None:
    odd = [
        "words",
        None,
        {"content": 1, "status": "pending"},
        {"content": "x", "status": ["pending"]},
        {"content": " "},
    ]
    kept = {"content": "look", "status": "pending", "priority": ["high"]}

    assert plan_in(planned("a", [*odd, {"content": " ", "status": "pending"}, kept])) == (
        PlanEntry(content="look", status="pending"),
    )
    assert plan_in(planned("a", "look")) == ()
