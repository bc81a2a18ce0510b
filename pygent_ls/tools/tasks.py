"""Tools with which the model divides its work: a plan visible to the user, and subagents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from pygent_ls.agent.display_text import one_line, visible
from pygent_ls.agent.events import PlanEntry, PlanPriority, PlanStatus
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.subagents import SubagentTask
from pygent_ls.agent.tools.signature import ArgumentObject
from pygent_ls.agent.tools.tool import Tool, ToolContext, tool
from pygent_ls.errors import ToolError

MAX_ENTRIES = 100
"""Maximum number of entries in a plan: more than a person reads, and few enough for every request."""

MAX_ENTRY_CHARS = 500


class EntryArgument(ArgumentObject, frozen=True, kw_only=True):
    """Plan entry as given by the model."""

    content: Annotated[str, Meta(min_length=1, max_length=MAX_ENTRY_CHARS, description="What to do.")]
    status: PlanStatus
    priority: PlanPriority = "medium"


@tool(risk=ToolRisk.LOW, category=ToolCategory.AGENT, kind="think", title="Plan")
async def plan(
    context: ToolContext,
    entries: Annotated[
        list[EntryArgument],
        Meta(max_length=MAX_ENTRIES, description="The whole plan, in order; it replaces the previous plan."),
    ],
) -> str:
    """Write down the steps that you are going to take, as a list that the user sees, and keep it up to date.

    Use it for work of three steps or more, not for a question or a single change. Give the whole list each time: mark a
    step `in_progress` before you start it, one at a time, and `completed` as soon as it is done and checked, not in
    advance. Add steps that turn out to be needed, and remove those that no longer are. The plan is kept when the
    conversation is shortened.
    """
    taken = [
        PlanEntry(content=visible(each.content).strip(), status=each.status, priority=each.priority) for each in entries
    ]
    if not all(each.content for each in taken):
        raise ToolError("An entry of the plan is empty. Give each entry a content.")
    await context.set_plan(taken)
    if not taken:
        return "The plan is empty now."
    counts = Counter(each.status for each in taken)
    doing = next((each.content for each in taken if each.status == "in_progress"), "")
    left = len(taken) - counts["completed"]
    now = f" Now: {one_line(doing)}" if doing else ""
    return f"Plan saved: {counts['completed']} of {len(taken)} done, {left} to do.{now}"


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.AGENT,
    kind="other",
    title="Subagent: {description}",
    timeout_s=None,
)
async def task(
    context: ToolContext,
    description: Annotated[str, Meta(min_length=1, description="The task in three to six words, for the user.")],
    prompt: Annotated[
        str,
        Meta(
            min_length=1,
            description="Everything that the subagent must know: it does not see this conversation. Say what to find "
            "or to do, where to start, what to leave alone, and what to report.",
        ),
    ],
    agent: Annotated[
        str,
        Meta(
            min_length=1,
            description="Which agent, such as `plan` (reads, changes nothing) or `review`; default: one like you.",
        ),
    ]
    | None = None,
    *,
    background: Annotated[
        bool,
        Meta(
            description="Return at once with an id, and let it work while you go on; its report comes in a later "
            "message. For long work whose result you do not need for your next steps."
        ),
    ] = False,
) -> str:
    """Give a task to a subagent, which works on it in its own conversation and returns its last message.

    Use it for work that would fill your context with text that you do not need afterwards (a wide search, the study of
    a large file, a review), and for work that can be done in parallel: several calls in one answer run side by side, so
    let them work on different files. Do tasks of one or two calls yourself. A subagent may do no more than you may, its
    changes count as yours, and its report is not verified: check what matters.

    Raises:
        ToolError: the agent does not exist or is nested too deep, or it did not finish (with its results so far).
    """
    report = await context.run_subagent(
        SubagentTask(description=description, prompt=prompt, agent=agent, background=background)
    )
    if report.is_complete:
        return report.in_words
    raise ToolError(report.in_words)


def task_tool(agents: Sequence[tuple[str, str]]) -> Tool:
    """Return the `task` tool, whose description lists the agents, each with its description."""
    return _task_tool(tuple(agents)) if agents else task


@lru_cache(maxsize=8)
def _task_tool(agents: tuple[tuple[str, str], ...]) -> Tool:
    listed = "\n".join(f"- `{name}`: {one_line(description, MAX_ENTRY_CHARS)}" for name, description in agents)
    return replace(task, description=f"{task.description}\n\nAgents:\n{listed}")
