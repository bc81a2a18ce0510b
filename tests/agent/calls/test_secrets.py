"""Secrets and the calls of a turn: what goes out is masked, what is written is real, and nothing is carried out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from pygent_ls.agent.events import ToolProgress, ToolResult
from pygent_ls.agent.messages import ToolUseBlock
from pygent_ls.agent.ports.processes import ProcessResult, ProcessSpec
from pygent_ls.agent.tools.session_secrets import SessionSecrets
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.errors import ToolError
from pygent_ls.secrets.findings import Finding
from pygent_ls.secrets.redactor import PLACEHOLDER, Redactor
from tests.agent.abilities import FILE_TOOLS, named, place, raising
from tests.agent.executor import Executor
from tests.fakes import FakeApprover, FakeProcesses, Rig, bounded, make_rig

SECRET = "plums123"
FILE = f"key={SECRET}\nregion=eu\n"


def finder(text: str, path: str | None = None) -> Sequence[Finding]:
    """Whatever stands after `key=`, or is plums with a number."""
    found = re.finditer(r"(?<=key=)[^\s\"'`]+|plums\d+", text)
    return [Finding(start=each.start(), end=each.end(), kind="key") for each in found]


def rig_of(*tools: Tool, files: dict[str, str] | None = None, max_chars: int = 40_000) -> Rig:
    approver = FakeApprover(otherwise="allow_once")
    files = files or {"a.conf": FILE}
    rig = make_rig(*FILE_TOOLS, *tools, files=files, approver=approver, max_tool_result_chars=max_chars)
    return rig.use(secrets=SessionSecrets(Redactor(finder, key=b"k"), rig.workspace))


async def run(rig: Rig, name: str, **arguments: Any) -> ToolResult:
    """Run one call; returns the event that ends it, which is what the model reads. Nothing that went out is secret."""
    executor = Executor(rig.services, rig.events.emit)
    call = ToolUseBlock(id=f"call_{len(rig.events.of(ToolResult))}", name=name, input=arguments)
    await bounded(executor.run(call))
    told = rig.events.of(ToolResult)[-1]
    assert executor.results[call.id].content == told.content
    assert "plums" not in repr([each.event for each in rig.events.stamped])
    assert "plums" not in repr([(each.action, each.changes) for each in rig.approver.requests])
    return told


async def mark_in(rig: Rig) -> str:
    """The placeholder as the model reads it."""
    found = PLACEHOLDER.search((await run(rig, "read_file", path="a.conf")).content)
    assert found
    return found[0]


async def test_a_file_is_read_with_a_placeholder_and_the_edit_writes_the_value() -> None:
    rig = rig_of()
    mark = await mark_in(rig)

    old, new = f"key={mark}\nregion=eu", f"key={mark}\nother={mark}\nregion=us"
    told = await run(rig, "edit_file", path="a.conf", old=old, new=new)

    assert not told.is_error
    assert rig.workspace.text("a.conf") == f"key={SECRET}\nother={SECRET}\nregion=us\n"
    assert f"+other={mark}" in told.changes[0].patch


async def test_the_prompt_shows_the_change_with_placeholders() -> None:
    rig = rig_of()
    mark = await mark_in(rig)

    await run(rig, "create_file", path="b.conf", content=f"key={mark}\n")

    (request,) = rig.approver.requests
    assert request.changes[0].new_text == f"key={mark}\n"
    assert f"+key={mark}" in request.changes[0].patch
    assert rig.workspace.text("b.conf") == f"key={SECRET}\n"


async def test_what_a_person_is_asked_to_allow_shows_no_secret() -> None:
    rig = rig_of()

    await run(rig, "shell", command="./deploy key=plums456")

    assert PLACEHOLDER.search(rig.approver.requests[0].action)


async def test_a_cached_result_is_masked_like_the_first() -> None:
    rig = rig_of()

    first = await run(rig, "read_file", path="a.conf")
    second = await run(rig, "read_file", path="a.conf")

    assert (second.cached, second.content) == (True, first.content)


@pytest.mark.parametrize("error", [ToolError(f"not found near key={SECRET}"), ValueError(f"key={SECRET}")])
async def test_an_error_shows_no_secret(error: Exception) -> None:
    told = await run(rig_of(raising("broken", error)), "broken")

    assert told.is_error
    assert PLACEHOLDER.search(told.content)


async def test_an_edit_that_is_refused_with_the_current_text_shows_no_secret() -> None:
    rig = rig_of()
    mark = await mark_in(rig)
    rig.workspace.put("a.conf", "# by the user\n" + FILE)

    told = await run(rig, "edit_file", path="a.conf", old=f"key={mark}", new="key=")

    assert "# by the user" in told.content
    assert mark in told.content


@pytest.mark.parametrize("name", ["shell", "read_file", "delete_file"])
async def test_a_placeholder_in_a_call_that_writes_no_text_is_an_error_and_nobody_is_asked(name: str) -> None:
    rig = rig_of()
    mark = await mark_in(rig)

    told = await run(rig, name, **{"command" if name == "shell" else "path": f"echo {mark}"})

    assert told.is_error
    assert "stands for a secret" in told.content
    assert rig.approver.requests == rig.processes.specs == []


async def test_a_mask_over_a_secret_is_refused_before_anybody_is_asked() -> None:
    rig = rig_of()

    told = await run(rig, "edit_file", path="a.conf", old="region=eu", new="region=us")
    assert not told.is_error
    rig.approver.requests.clear()
    mark = await mark_in(rig)
    told = await run(rig, "edit_file", path="a.conf", old=f"key={mark}", new="key=********")

    assert told.is_error
    assert mark in told.content
    assert rig.workspace.text("a.conf") == f"key={SECRET}\nregion=us\n"
    assert rig.approver.requests == []


async def test_live_output_shows_no_part_of_a_secret_however_it_is_cut() -> None:
    async def talk(context: Any) -> str:
        for piece in ("start\nkey=plu", "ms1", "23", "\nmiddle\nkey=plums", "9"):
            await context.report(piece)
        return "done"

    rig = rig_of(named("talk", talk))
    await run(rig, "talk")

    shown = "".join(each.content for each in rig.events.of(ToolProgress))
    assert re.fullmatch(r"start\nkey=\{\{\w+\}\}\nmiddle\nkey=\{\{\w+\}\}", shown)


async def test_the_live_output_of_a_command_and_its_result_are_masked_alike() -> None:
    rig = rig_of()

    def printing(spec: ProcessSpec) -> ProcessResult:
        return ProcessResult(stdout=FILE, stderr="", exit_code=0, omitted_chars=0, timed_out=False, duration_s=0.0)

    rig.use(processes=FakeProcesses({"sh": printing}))
    told = await run(rig, "shell", command="cat a.conf")

    assert PLACEHOLDER.search(told.content)
    assert "".join(each.content for each in rig.events.of(ToolProgress)) == told.content


async def test_a_secret_at_the_edge_of_a_cut_is_not_shown_in_part() -> None:
    async def talk(_: Any) -> str:
        return "x" * 96 + f" key={SECRET} " + "y" * 400

    for limit in range(190, 230):
        told = await run(rig_of(named("talk", talk), max_chars=limit), "talk")
        assert told.truncated
        assert "plu" not in told.content


async def test_a_file_that_changed_hands_no_secret_to_what_is_counted() -> None:
    rig = rig_of(files={"a.conf": FILE})
    assert await rig.workspace.stamp(place("a.conf"))

    told = await run(rig, "delete_file", path="a.conf")

    assert PLACEHOLDER.search(told.changes[0].patch)
