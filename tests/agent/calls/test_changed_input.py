"""Whoever is asked about a call may allow it with another input: what runs then, what is judged, and what is told."""

from __future__ import annotations

from typing import Any

from pygent_ls.agent.events import PermissionDenied, ToolCall, ToolResult
from pygent_ls.agent.messages import TextBlock, ToolUseBlock
from pygent_ls.agent.permissions.permissions import Rule
from pygent_ls.agent.ports.approver import PermissionAnswer
from pygent_ls.agent.ports.hooks import NOTHING, HookInput, HookOutcome
from tests.agent.abilities import FILE_TOOLS
from tests.agent.executor import Executor
from tests.fakes import FakeApprover, Rig, bounded, make_rig
from tests.hooks import FakeHooks, deny

EDIT = ToolUseBlock(id="c1", name="edit_file", input={"path": "a.txt", "old": "one", "new": "two"})


def allowed_with(**given: Any) -> PermissionAnswer:
    return PermissionAnswer(outcome="allow_once", input=given)


def rig_asking(*answers: PermissionAnswer, **changes: Any) -> Rig:
    return make_rig(*FILE_TOOLS, files={"a.txt": "one\n", "b.txt": "one\n"}, approver=FakeApprover(*answers), **changes)


async def run(rig: Rig, call: ToolUseBlock = EDIT) -> tuple[ToolResult, list[TextBlock]]:
    """What is told of the call, and what the model reads beside its result."""
    executor = Executor(rig.services, rig.events.emit)
    await bounded(executor.run(call))
    return rig.events.of(ToolResult)[-1], list(executor.beside(call.id))


async def test_what_was_changed_runs_and_is_asked_about_once() -> None:
    rig = rig_asking(allowed_with(path="b.txt", old="one", new="three"))

    told, remarks = await run(rig)

    assert (told.content, told.is_error) == ("Edited b.txt.", False)
    assert (rig.workspace.text("a.txt"), rig.workspace.text("b.txt")) == ("one\n", "three\n")
    assert len(rig.approver.requests) == 1
    assert [each.text for each in remarks] == [
        '<user-feedback about="edit_file">\nThe user allowed this call but changed its input before it ran. The '
        'new input: {"path": "b.txt", "old": "one", "new": "three"}\n</user-feedback>'
    ]


async def test_the_call_is_told_again_as_it_runs() -> None:
    rig = rig_asking(allowed_with(path="b.txt", old="one", new="three"))

    await run(rig)

    assert [(each.tool_id, each.input["path"]) for each in rig.events.of(ToolCall)] == [("c1", "b.txt")]


async def test_hooks_judge_what_it_was_changed_to() -> None:
    def said(given: HookInput) -> HookOutcome:
        return deny("not b") if (given.tool_input or {}).get("path") == "b.txt" else NOTHING

    rig = rig_asking(allowed_with(path="b.txt", old="one", new="three"))
    rig.use(hooks=FakeHooks({"pre_tool_use": said}))

    told, _ = await run(rig)

    assert told.is_error
    assert "not b" in told.content
    assert rig.workspace.text("b.txt") == "one\n"


async def test_what_a_hook_makes_of_it_is_asked_about_too() -> None:
    def said(given: HookInput) -> HookOutcome:
        changed = {**(given.tool_input or {}), "new": "four"}
        return HookOutcome(tool_input=changed) if changed["path"] == "b.txt" else NOTHING

    rig = rig_asking(allowed_with(path="b.txt", old="one", new="three"), PermissionAnswer(outcome="reject_once"))
    rig.use(hooks=FakeHooks({"pre_tool_use": said}))

    told, _ = await run(rig)

    assert [each.input["new"] for each in rig.approver.requests] == ["two", "four"]
    assert told.is_error
    assert rig.workspace.text("b.txt") == "one\n"


async def test_a_hook_and_an_answer_that_change_it_in_turn_come_to_an_end() -> None:
    rig = rig_asking(*[allowed_with(path="b.txt", old="one", new="three")] * 20)
    rig.use(hooks=FakeHooks({"pre_tool_use": HookOutcome(tool_input={**EDIT.input, "new": "four"})}))

    told, _ = await run(rig)

    assert "changed its input in turn" in told.content
    assert (rig.workspace.text("a.txt"), rig.workspace.text("b.txt")) == ("one\n", "one\n")


async def test_the_same_input_is_no_change() -> None:
    rig = rig_asking(allowed_with(**EDIT.input))

    told, remarks = await run(rig)

    assert (told.content, remarks) == ("Edited a.txt.", [])


async def test_a_call_that_plans_no_edit_can_be_changed_too() -> None:
    rig = rig_asking(allowed_with(path="b.txt"), rules=[Rule(text="read_file", decision="ask", origin="user")])
    rig.workspace.put("b.txt", "uno\n")

    told, _ = await run(rig, ToolUseBlock(id="c1", name="read_file", input={"path": "a.txt"}))

    assert told.content == "uno\n"


async def test_a_deny_rule_holds_for_what_it_was_changed_to() -> None:
    rig = rig_asking(
        allowed_with(path="b.txt", old="one", new="three"),
        rules=[Rule(text="edit_file(b.txt)", decision="deny", origin="user")],
    )

    told, _ = await run(rig)

    assert told.is_error
    assert "the rule edit_file(b.txt) denies it" in told.content
    assert len(rig.events.of(PermissionDenied)) == 1
    assert rig.workspace.text("b.txt") == "one\n"


async def test_what_is_no_input_is_an_error_for_the_model() -> None:
    rig = rig_asking(allowed_with(path="b.txt"))

    told, _ = await run(rig)

    assert told.is_error
    assert told.content.startswith("Error: the user changed the input of this call to an invalid one.")
    assert "`old` is missing" in told.content
    assert rig.workspace.text("b.txt") == "one\n"


async def test_it_leads_out_of_the_workspace_no_more_than_the_models_own() -> None:
    rig = rig_asking(allowed_with(path="../b.txt", old="one", new="three"))

    told, _ = await run(rig)

    assert told.is_error
    assert "outside" in told.content
    assert rig.workspace.names == ["a.txt", "b.txt"]
