"""A tool whose paths stand inside an argument is judged by them like any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pygent_ls.agent.calls.batches import split_into_batches
from pygent_ls.agent.calls.call_record import CallRecord
from pygent_ls.agent.events import ToolCall, ToolResult
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.messages import ToolUseBlock
from pygent_ls.agent.permissions.permissions import Rule
from pygent_ls.agent.tools.tool import ToolContext, tool
from tests.agent.executor import Executor
from tests.agent.turns import run_turn
from tests.fakes import FOLDER, Call, FakeApprover, FakeModel, Rig, bounded, make_rig, say


def paths_in_list(given: Mapping[str, Any]) -> list[str]:
    """Return the lines of the argument `files`; nothing if it is not a string."""
    files = given.get("files")
    return files.split() if isinstance(files, str) else []


@tool(
    risk=ToolRisk.MEDIUM,
    category=ToolCategory.FILESYSTEM,
    kind="read",
    title="Look at {paths}",
    read_only=True,
    paths_of=paths_in_list,
)
async def look_at(context: ToolContext, files: str) -> str:
    """Look at the files of a list."""
    return f"Looked at {files}."


async def run(rig: Rig, files: object) -> ToolResult:
    executor = Executor(rig.services, rig.events.emit)
    await bounded(executor.run(ToolUseBlock(id="call", name="look_at", input={"files": files})))
    return rig.events.of(ToolResult)[-1]


async def test_a_rule_that_denies_one_of_the_paths_denies_the_call() -> None:
    rig = make_rig(look_at, rules=[Rule(text="look_at(**/.env)", decision="deny", origin="always_allow")])

    told = await run(rig, "a.txt sub/.env")

    assert told.is_error
    assert "the rule look_at(**/.env) denies it" in told.content


async def test_a_path_outside_the_workspace_is_refused_before_anybody_is_asked() -> None:
    rig = make_rig(look_at)

    told = await run(rig, "a.txt ../outside")

    assert told.is_error
    assert "outside the workspace" in told.content
    assert rig.approver.requests == []


async def test_always_allow_covers_just_the_paths_of_the_call_and_the_prompt_names_them() -> None:
    rig = make_rig(look_at, approver=FakeApprover("allow_always", "reject_once"))

    assert not (await run(rig, "a.txt b.txt")).is_error
    assert not (await run(rig, "b.txt")).is_error
    assert (await run(rig, "b.txt c.txt")).is_error

    assert [request.action for request in rig.approver.requests] == ["Look at a.txt, b.txt", "Look at b.txt, c.txt"]
    assert rig.approver.requests[0].rules == ("look_at(a.txt)", "look_at(b.txt)")


async def test_arguments_of_another_type_are_an_error_to_the_model() -> None:
    told = await run(make_rig(look_at), 7)

    assert told.is_error
    assert "`files`" in told.content


async def test_a_turn_tells_the_paths_and_keeps_calls_apart_that_share_one() -> None:
    rig = make_rig(look_at, mode="trust")
    calls = [Call(name="look_at", arguments={"files": files}) for files in ("a.txt b.txt", "c.txt", "b.txt")]

    await run_turn(rig, FakeModel([say("", *calls), say("done")]))

    told = rig.events.of(ToolCall)
    assert [call.title for call in told] == ["Look at a.txt, b.txt", "Look at c.txt", "Look at b.txt"]
    paths = [tuple(location.path for location in call.locations) for call in told]
    assert paths[0] == (FOLDER / "a.txt", FOLDER / "b.txt")
    planned = [
        CallRecord(asked=ToolUseBlock(id=call.tool_id, name=call.tool_name, input={}), tool=None, paths=named)
        for call, named in zip(told, paths, strict=True)
    ]
    assert [len(batch) for batch in split_into_batches(planned)] == [2, 1]
