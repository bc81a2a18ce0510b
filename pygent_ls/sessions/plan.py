"""Plan of a conversation: the last input of the `plan` tool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast, get_args

from pygent_ls.agent.display_text import visible
from pygent_ls.agent.events import PlanEntry, PlanPriority, PlanStatus
from pygent_ls.agent.messages import Message, ToolResultBlock

PLAN_TOOL = "plan"


def plan_in(messages: Sequence[Message]) -> tuple[PlanEntry, ...]:
    """Return the plan after the last successful call of the tool; empty without such a call.

    The conversation may come from a file, so entries without text or a known status are left out.
    """
    succeeded: set[str] = set()
    for message in reversed(messages):
        results = [each for each in message.blocks if isinstance(each, ToolResultBlock)]
        succeeded.update(each.tool_use_id for each in results if not each.is_error)
        for call in reversed(message.tool_calls):
            if call.name == PLAN_TOOL and call.id in succeeded:
                return tuple(_entries(call.input.get("entries")))
    return ()


def _entries(given: object) -> Iterator[PlanEntry]:
    for each in cast("Sequence[object]", given) if isinstance(given, list | tuple) else ():
        if not isinstance(each, Mapping):
            continue
        entry = cast("Mapping[str, object]", each)
        content, status = entry.get("content"), _STATUSES.get(str(entry.get("status")))
        text = visible(content).strip() if isinstance(content, str) else ""
        if text and status:
            priority = _PRIORITIES.get(str(entry.get("priority")), "medium")
            yield PlanEntry(content=text, status=status, priority=priority)


_STATUSES: Mapping[str, PlanStatus] = {each: each for each in get_args(PlanStatus)}
_PRIORITIES: Mapping[str, PlanPriority] = {each: each for each in get_args(PlanPriority)}
