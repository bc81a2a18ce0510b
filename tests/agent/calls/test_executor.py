"""One tool call from the model's words to its result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.agent.events import PermissionDenied, PermissionRequested, PermissionResolved, ToolProgress, ToolResult
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.messages import ToolUseBlock
from pygent_ls.agent.permissions.permissions import Policy, Rule
from pygent_ls.agent.permissions.refusals import Protected
from pygent_ls.agent.ports.approver import PermissionAnswer
from pygent_ls.agent.ports.processes import ProcessResult, ProcessSpec
from pygent_ls.agent.ports.workspace import EditPlan, MoveFile, WriteText
from pygent_ls.agent.tools.schema_tool import SchemaTool
from pygent_ls.agent.tools.tool import Tool, ToolContext, tool
from pygent_ls.agent.truncation import cut
from pygent_ls.errors import ToolError
from tests.agent.abilities import FILE_TOOLS, named, place, raising, saying, waiting
from tests.agent.executor import Executor
from tests.fakes import FakeApprover, FakeProcesses, Gate, Rig, bounded, make_rig


def executor_of(rig: Rig) -> Executor:
    return Executor(rig.services, rig.events.emit)


async def run(rig: Rig, name: str, *, executor: Executor | None = None, **arguments: Any) -> ToolResult:
    """Run one call, and return the event that ends it, which must be what the model reads."""
    executor = executor or executor_of(rig)
    call = ToolUseBlock(id=f"call_{len(rig.events.of(ToolResult))}", name=name, input=arguments)
    await bounded(executor.run(call))
    told = rig.events.of(ToolResult)[-1]
    read = executor.results[call.id]
    assert (read.tool_use_id, read.content, read.is_error) == (call.id, told.content, told.is_error)
    return told


def rig_with_files(**changes: Any) -> Rig:
    approver = changes.pop("approver", None) or FakeApprover(otherwise="allow_once")
    return make_rig(*FILE_TOOLS, files={"a.txt": "one\n", "b.txt": "uno\n"}, approver=approver, **changes)


# What a model can get wrong


async def test_an_unknown_tool_is_an_error_that_names_the_tools() -> None:
    told = await run(rig_with_files(), "read_fil", path="a.txt")
    assert told.is_error
    assert "read_fil" in told.content
    assert "read_file, list_files, edit_file" in told.content


async def test_invalid_arguments_are_an_error_that_names_the_field_and_nobody_is_asked() -> None:
    rig = rig_with_files()
    told = await run(rig, "edit_file", pth="a.txt", old="one", new="two")
    assert told.is_error
    assert "`path` is missing" in told.content
    assert "`pth` is not an argument" in told.content
    assert rig.approver.requests == []


async def test_arguments_that_were_not_json_are_an_error_that_quotes_them_and_the_schema() -> None:
    rig = rig_with_files()
    call = ToolUseBlock(id="c", name="read_file", input={}, problem="The arguments are not valid JSON: {oops")
    await executor_of(rig).run(call)
    told = rig.events.of(ToolResult)[0]
    assert told.is_error
    assert told.content == (
        "Error: The arguments are not valid JSON: {oops\n"
        'Argument schema: {"additionalProperties": false, "properties": {"path": {"type": "string"}}, '
        '"required": ["path"], "type": "object"}'
    )


async def test_a_path_outside_the_workspace_is_an_error_before_anybody_is_asked() -> None:
    rig = rig_with_files()
    for path in ("../x", "/etc/passwd"):
        told = await run(rig, "delete_file", path=path)
        assert told.is_error
        assert "outside" in told.content
    assert rig.approver.requests == []


async def test_a_path_of_another_programs_tool_may_be_anything_but_the_daemons_own_files() -> None:
    async def send(context: ToolContext, /, path: str) -> str:
        return f"sent to {path}"

    far = SchemaTool(
        name="mcp__web__send",
        description="Send.",
        risk=ToolRisk.HIGH,
        category=ToolCategory.MCP,
        kind="other",
        run=send,
        title="web: send {arguments}",
        schema={"properties": {"path": {"type": "string"}}},
    )
    protected = Protected(home="/home/ann", folders=("/home/ann/.config/pygent-ls",))
    rig = make_rig(far, files={"a.txt": ""}, approver=FakeApprover(otherwise="allow_once"))
    rig.services.memory.permissions.take(Policy(protected=protected), "default")

    assert (await run(rig, far.name, path="/api/v1/plums")).content == "sent to /api/v1/plums"
    assert [each.action for each in rig.approver.requests] == ['web: send {"path": "/api/v1/plums"}']
    told = await run(rig, far.name, path="/home/ann/.config/pygent-ls/config.toml")
    assert told.is_error
    assert len(rig.approver.requests) == 1


# What a tool can do wrong


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ToolError("There is no file x."), "Error: There is no file x."),
        (KeyError("k"), "Error: broken failed: KeyError: 'k'"),
        (RecursionError("too deep"), "Error: broken failed: RecursionError: too deep"),
        (SystemExit(3), "Error: broken failed: SystemExit: 3"),
        (TimeoutError("the server is slow"), "Error: broken exceeded a time limit: the server is slow"),
        (asyncio.CancelledError(), "Error: broken failed: an operation that it was waiting for was cancelled."),
        (ExceptionGroup("both", [ValueError("v")]), "Error: broken failed: ExceptionGroup: both (1 sub-exception)"),
    ],
)
async def test_whatever_a_tool_raises_is_an_error_result(error: BaseException, said: str) -> None:
    told = await run(make_rig(raising("broken", error)), "broken")
    assert (told.is_error, told.content) == (True, said)


async def test_a_tool_that_takes_too_long_is_ended_and_says_how_long_it_had() -> None:
    told = await run(make_rig(waiting("slow", Gate(), timeout_s=0.01)), "slow")
    assert told.is_error
    assert "slow was stopped after 0.01 s" in told.content


async def test_waiting_for_the_user_does_not_count_as_the_tools_time() -> None:
    gate = Gate()
    rig = make_rig(saying("quick", "done", risk=ToolRisk.HIGH, timeout_s=0.001), approver=FakeApprover("allow_once"))
    rig.approver.gate = gate
    async with asyncio.TaskGroup() as group:
        work = group.create_task(run(rig, "quick"))
        await gate.reached()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await asyncio.shield(work)
        gate.open()
        told = await work
    assert (told.is_error, told.content) == (False, "done")


async def test_the_exit_code_of_a_command_is_told_and_none_of_any_other_call() -> None:
    async def fail(context: ToolContext) -> str:
        context.exit_code = 2
        return "no rule"

    rig = make_rig(named("fail", fail), saying("quick", "done"))

    assert (await run(rig, "fail")).exit_code == 2
    assert (await run(rig, "quick")).exit_code is None


@pytest.mark.parametrize(("name", "plans"), [("number", False), ("plan", True)])
async def test_a_tool_that_returns_something_else_is_an_error(*, name: str, plans: bool) -> None:
    async def number(context: ToolContext) -> Any:
        return 7

    number.__name__ = name
    declared = tool(risk=ToolRisk.LOW, category=ToolCategory.AGENT, kind="other", title=name, plans_edit=plans)(number)
    told = await run(make_rig(declared), name)
    assert told.is_error
    assert "int" in told.content


async def test_live_output_is_passed_on_before_the_result() -> None:
    rig = rig_with_files()
    rig.use(processes=programs(lambda _: "hello\n"))
    told = await run(rig, "shell", command="echo hello")
    assert (told.content, told.is_error) == ("hello\n", False)
    assert [each.content for each in rig.events.of(ToolProgress)] == ["hello\n"]
    assert rig.events.types[-2:] == ["tool_progress", "tool_result"]


def programs(run_command: Callable[[str], str]) -> FakeProcesses:
    """A shell whose commands are this function."""

    def program(spec: ProcessSpec) -> ProcessResult:
        return ProcessResult(
            exit_code=0, stdout=run_command(spec.argv[-1]), stderr="", omitted_chars=0, timed_out=False, duration_s=0.0
        )

    return FakeProcesses({"sh": program})


# Programs that read the disk


def running_program(name: str = "build", said: str = "built") -> Tool:
    return replace(saying(name, said, read_only=False), runs_programs=True)


async def test_unsaved_changes_are_saved_before_a_program_reads_the_disk() -> None:
    rig = make_rig(running_program(), saying("other", "x"), files={"a.txt": "one\n"})
    rig.workspace.type_text("a.txt", "typed\n")
    await run(rig, "other")
    assert rig.workspace.saved_for == []
    assert (await run(rig, "build")).content == "built"
    assert rig.workspace.saved_for == ["build"]
    assert rig.workspace.unsaved() == []


async def test_a_program_does_not_run_where_the_user_cancels_the_saving() -> None:
    rig = make_rig(running_program("make", "it ran"))
    rig.workspace.save_refusal = ToolError("The user cancelled.")
    told = await run(rig, "make")
    assert (told.is_error, told.content) == (True, "Error: The user cancelled.")


async def test_the_model_is_told_which_open_files_a_program_changed() -> None:
    rig = make_rig(running_program(), files={"a.txt": "one\n"})
    rig.workspace.changed_behind = [place("a.txt"), place("sub/b.txt")]
    told = await run(rig, "build")
    assert told.content.startswith("built\n")
    assert "a.txt, sub/b.txt" in told.content
    assert (await run(rig, "build")).content == "built"


# Permission


async def test_low_risk_passes_without_a_question() -> None:
    rig = rig_with_files()
    told = await run(rig, "read_file", path="a.txt")
    assert told.content == "one\n"
    assert rig.events.types == ["tool_result"]


async def test_an_edit_is_shown_before_it_is_applied_and_applied_once_allowed() -> None:
    rig = rig_with_files(approver=FakeApprover("allow_once"))
    rig.approver.on_question = lambda _: seen.append(rig.workspace.text("a.txt"))
    seen: list[str | None] = []

    told = await run(rig, "edit_file", path="a.txt", old="one", new="two\nthree")

    assert seen == ["one\n"]
    assert rig.workspace.text("a.txt") == "two\nthree\n"
    assert (told.content, told.is_error) == ("Edited a.txt.", False)
    (request,) = rig.approver.requests
    assert request.action == "Edit a.txt (+2 −1)"
    assert request.rules == ("edit_file(a.txt)",)
    assert request.changes == told.changes
    assert (request.session_id, request.turn_id, request.tool_name) == ("session-1", "turn-1", "edit_file")
    assert told.changes[0].patch.endswith("-one\n+two\n+three\n")
    assert rig.events.types == ["permission_requested", "permission_resolved", "tool_result"]


async def test_a_rejected_edit_leaves_the_file_alone_and_tells_the_model_what_the_user_said() -> None:
    rig = rig_with_files(approver=FakeApprover(PermissionAnswer(outcome="reject_once", feedback="use tabs")))

    told = await run(rig, "edit_file", path="a.txt", old="one", new="two")

    assert rig.workspace.text("a.txt") == "one\n"
    assert rig.workspace.applied == []
    assert told.is_error
    assert "rejected" in told.content
    assert "use tabs" in told.content
    assert told.changes == ()
    resolved, denied = rig.events.of(PermissionResolved)[0], rig.events.of(PermissionDenied)[0]
    assert (resolved.outcome, resolved.by) == ("reject_once", "user")
    assert (denied.tool_id, denied.tool_name) == (told.tool_id, "edit_file")
    assert resolved.permission_id == rig.events.of(PermissionRequested)[0].permission_id


async def test_a_denied_call_never_runs_and_nobody_is_asked() -> None:
    rig = rig_with_files(rules=[Rule(text="read_file(**/.env)", decision="deny", origin="always_allow")])
    rig.workspace.put("sub/.env", "K=1")
    told = await run(rig, "read_file", path="sub/.env")
    assert told.is_error
    assert "K=1" not in told.content
    assert "read_file(**/.env)" in told.content
    assert rig.approver.requests == []
    assert rig.events.types == ["permission_denied", "tool_result"]


async def test_a_deny_rule_holds_for_where_a_link_leads() -> None:
    rig = rig_with_files(rules=[Rule(text="read_file(**/.env)", decision="deny", origin="always_allow")])
    rig.workspace.put(".env", "K=1")
    rig.workspace.links[place("innocent.txt")] = place(".env")
    told = await run(rig, "read_file", path="innocent.txt")
    assert told.is_error
    assert "K=1" not in told.content


async def test_what_is_deleted_is_the_link_and_so_is_what_the_user_is_asked() -> None:
    rig = rig_with_files()
    rig.workspace.put("link.txt", "")
    rig.workspace.links[place("link.txt")] = place("a.txt")
    await run(rig, "delete_file", path="link.txt")
    assert rig.approver.requests[0].rules == ("delete_file(link.txt)",)
    assert rig.workspace.names == ["a.txt", "b.txt"]


async def test_plan_mode_runs_nothing_that_writes_and_asks_nothing() -> None:
    rig = rig_with_files(mode="plan")
    edited = await run(rig, "edit_file", path="a.txt", old="one", new="2")
    ran = await run(rig, "shell", command="x")
    for told in (edited, ran):
        assert told.is_error
        assert "plan mode" in told.content
    assert rig.approver.requests == []
    assert rig.workspace.text("a.txt") == "one\n"
    assert not (await run(rig, "read_file", path="a.txt")).is_error


async def test_a_mode_that_is_set_while_the_user_is_asked_settles_the_question() -> None:
    rig = rig_with_files(approver=FakeApprover("reject_once"))
    rig.approver.on_question = lambda _: rig.services.memory.permissions.set_mode("trust")
    assert not (await run(rig, "edit_file", path="a.txt", old="one", new="2")).is_error
    assert not (await run(rig, "edit_file", path="a.txt", old="2", new="3")).is_error
    assert (len(rig.approver.requests), rig.approver.open_questions) == (1, 0)
    assert [(each.outcome, each.by) for each in rig.events.of(PermissionResolved)] == [("allow_once", "mode")]


async def test_allow_for_this_session_is_asked_once_for_that_file_alone() -> None:
    rig = rig_with_files(approver=FakeApprover("allow_session", "reject_once"))
    assert not (await run(rig, "edit_file", path="a.txt", old="one", new="two")).is_error
    assert not (await run(rig, "edit_file", path="./a.txt", old="two", new="three")).is_error
    assert (await run(rig, "edit_file", path="b.txt", old="uno", new="due")).is_error
    assert [each.rules for each in rig.approver.requests] == [("edit_file(a.txt)",), ("edit_file(b.txt)",)]
    assert rig.rules.rules == []


async def test_two_questions_at_once_are_asked_one_after_the_other() -> None:
    gate = Gate()
    rig = make_rig(
        saying("fetch_a", "a", risk=ToolRisk.HIGH),
        saying("fetch_b", "b", risk=ToolRisk.HIGH),
        approver=FakeApprover("allow_once", "reject_once"),
    )
    rig.approver.gate = gate
    executor = executor_of(rig)
    async with asyncio.TaskGroup() as group:
        for name in ("fetch_a", "fetch_b"):
            group.create_task(executor.run(ToolUseBlock(id=name, name=name, input={})))
        await gate.reached()
        assert [each.tool_id for each in rig.approver.requests] == ["fetch_a"]
        gate.open()
    assert rig.approver.most_open_questions == 1
    assert [each.is_error for each in executor.results.values()] == [False, True]
    ids = [each.permission_id for each in rig.events.of(PermissionRequested)]
    assert len(set(ids)) == 2


async def test_an_answer_that_settles_the_next_question_spares_it() -> None:
    rig = make_rig(saying("fetch", "a", risk=ToolRisk.HIGH), approver=FakeApprover("allow_session"))
    executor = executor_of(rig)
    async with asyncio.TaskGroup() as group:
        for n in range(3):
            group.create_task(executor.run(ToolUseBlock(id=str(n), name="fetch", input={})))
    assert len(rig.approver.requests) == 1
    assert [each.content for each in executor.results.values()] == ["a", "a", "a"]


async def test_plan_mode_that_is_set_during_a_question_denies_it_and_the_one_that_waits() -> None:
    rig = make_rig(
        saying("one", "1", risk=ToolRisk.HIGH, read_only=False),
        saying("two", "2", risk=ToolRisk.HIGH, read_only=False),
        approver=FakeApprover("allow_once"),
    )
    rig.approver.on_question = lambda _: rig.services.memory.permissions.set_mode("plan")
    executor = executor_of(rig)
    async with asyncio.TaskGroup() as group:
        for name in ("one", "two"):
            group.create_task(executor.run(ToolUseBlock(id=name, name=name, input={})))
    assert [each.tool_id for each in rig.approver.requests] == ["one"]
    assert "plan mode" in executor.results["one"].content
    assert "plan mode" in executor.results["two"].content
    assert sorted(each.tool_id for each in rig.events.of(PermissionDenied)) == ["one", "two"]


async def test_a_cancel_while_the_user_is_asked_closes_the_question() -> None:
    gate = Gate()
    rig = rig_with_files()
    rig.approver.gate = gate
    call = ToolUseBlock(id="c", name="edit_file", input={"path": "a.txt", "old": "one", "new": "two"})
    work = asyncio.ensure_future(executor_of(rig).run(call))
    await gate.reached()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await bounded(work)
    assert rig.approver.open_questions == 0
    assert [each.outcome for each in rig.events.of(PermissionResolved)] == ["cancelled"]
    assert rig.workspace.text("a.txt") == "one\n"


async def test_a_question_that_fails_is_no_permission() -> None:
    rig = rig_with_files()

    def gone(_: object) -> None:
        raise ConnectionError("the editor is gone")

    rig.approver.on_question = gone
    told = await run(rig, "edit_file", path="a.txt", old="one", new="two")
    assert told.is_error
    assert rig.workspace.text("a.txt") == "one\n"
    assert [each.outcome for each in rig.events.of(PermissionResolved)] == ["cancelled"]


async def test_the_user_is_asked_about_the_whole_command() -> None:
    rig = rig_with_files(approver=FakeApprover("reject_once"))
    command = "echo " + "x" * 500 + " && rm -rf ."
    await run(rig, "shell", command=command)
    assert rig.approver.requests[0].action == command
    assert rig.approver.requests[0].rules == (f"shell({command})",)


# The cache


async def test_a_read_is_served_from_the_cache_while_nothing_changed() -> None:
    rig = rig_with_files()
    first, second = await run(rig, "read_file", path="a.txt"), await run(rig, "read_file", path="a.txt")
    assert (first.cached, second.cached) == (False, True)
    assert first.content == second.content == "one\n"
    assert not (await run(rig, "read_file", path="b.txt")).cached
    rig.clock.advance(30)
    assert not (await run(rig, "read_file", path="a.txt")).cached


def write_behind_the_editor(rig: Rig) -> None:
    rig.workspace.put("a.txt", "two\n")


def write_text_of_the_same_length(rig: Rig) -> None:
    rig.workspace.put("a.txt", "eno\n")


def type_in_the_buffer(rig: Rig) -> None:
    rig.workspace.type_text("a.txt", "two\n")


@pytest.mark.parametrize("change", [write_behind_the_editor, write_text_of_the_same_length, type_in_the_buffer])
async def test_a_read_of_a_file_that_changed_is_never_served(change: Callable[[Rig], None]) -> None:
    rig = rig_with_files()
    await run(rig, "read_file", path="a.txt")
    change(rig)
    told = await run(rig, "read_file", path="a.txt")
    assert not told.cached
    assert told.content == rig.workspace.text("a.txt")


async def test_a_buffer_that_was_typed_in_again_is_never_served_from_before() -> None:
    rig = rig_with_files()
    rig.workspace.type_text("a.txt", "two\n")
    await run(rig, "read_file", path="a.txt")
    rig.workspace.type_text("a.txt", "three\n")
    assert (await run(rig, "read_file", path="a.txt")).content == "three\n"


async def test_a_file_that_is_gone_is_an_error_and_not_its_old_text() -> None:
    rig = rig_with_files()
    await run(rig, "read_file", path="a.txt")
    rig.workspace.remove("a.txt")
    assert (await run(rig, "read_file", path="a.txt")).is_error


async def test_a_search_is_served_only_while_nothing_below_its_folder_changed() -> None:
    rig = rig_with_files()
    rig.workspace.put("sub/c.txt", "c")
    assert [(await run(rig, "list_files")).cached for _ in range(2)] == [False, True]
    assert [(await run(rig, "list_files", path="sub")).cached for _ in range(2)] == [False, True]
    rig.workspace.type_text("a.txt", "typed")
    told = await run(rig, "list_files")
    assert (told.cached, told.content) == (False, "a.txt")
    assert (await run(rig, "list_files", path="sub")).cached


async def test_a_search_of_a_tree_that_is_too_large_to_tell_is_never_cached() -> None:
    rig = rig_with_files()
    rig.workspace.tree_too_large = True
    assert [(await run(rig, "list_files")).cached for _ in range(2)] == [False, False]


async def test_an_error_is_never_cached() -> None:
    rig = rig_with_files()
    assert (await run(rig, "read_file", path="new.txt")).is_error
    rig.workspace.put("new.txt", "there")
    assert (await run(rig, "read_file", path="new.txt")).content == "there"


async def test_a_cached_read_still_needs_permission() -> None:
    rig = rig_with_files()
    await run(rig, "read_file", path="a.txt")
    rig.rules.rules.append(Rule(text="read_file(a.txt)", decision="deny", origin="always_allow"))
    told = await run(rig, "read_file", path="a.txt")
    assert told.is_error
    assert not told.cached


async def test_a_cached_read_counts_as_read_by_this_session() -> None:
    rig = rig_with_files()
    await run(rig, "read_file", path="a.txt")
    rig.services.memory.reads.forget(place("a.txt"))
    assert (await run(rig, "read_file", path="a.txt")).cached
    assert rig.services.memory.reads.knows(place("a.txt"))


async def fails_after_writing(_: ToolContext) -> str:
    raise ToolError("exit code 1, after it had written")


async def writes(_: ToolContext) -> str:
    return "written"


async def hangs(_: ToolContext) -> str:
    await asyncio.Event().wait()
    return "never"


@pytest.mark.parametrize("write", [writes, fails_after_writing, hangs])
async def test_after_a_tool_that_writes_nothing_is_cached_however_it_ended(write: Any) -> None:
    status = saying("status", "clean", ttl_s=30)
    rig = make_rig(status, named("write", write, read_only=False, timeout_s=0.01))
    assert [(await run(rig, "status")).cached for _ in range(2)] == [False, True]
    await run(rig, "write")
    assert not (await run(rig, "status")).cached


async def test_after_a_tool_that_writes_was_cancelled_nothing_is_cached() -> None:
    gate = Gate()
    rig = make_rig(saying("status", "clean", ttl_s=30), waiting("write", gate, read_only=False))
    await run(rig, "status")
    work = asyncio.ensure_future(executor_of(rig).run(ToolUseBlock(id="w", name="write", input={})))
    await gate.reached()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await bounded(work)
    assert not (await run(rig, "status")).cached


# Editing


async def test_an_edit_drops_what_it_made_stale_and_what_may_be() -> None:
    rig = make_rig(
        *FILE_TOOLS,
        saying("status", "clean", ttl_s=30),
        files={"a.txt": "one\n", "b.txt": "uno\n"},
        mode="trust",
    )
    await run(rig, "read_file", path="a.txt")
    await run(rig, "read_file", path="b.txt")
    await run(rig, "status")
    await run(rig, "edit_file", path="a.txt", old="one", new="two")
    assert (await run(rig, "read_file", path="a.txt")).content == "two\n"
    assert (await run(rig, "read_file", path="b.txt")).cached
    assert not (await run(rig, "status")).cached


async def test_an_edit_that_could_not_be_proven_drops_the_cache_too() -> None:
    rig = make_rig(*FILE_TOOLS, saying("status", "clean", ttl_s=30), files={"a.txt": "one\n"}, mode="trust")
    await run(rig, "status")
    rig.workspace.refusal = ToolError("The editor said yes, and did nothing.")
    told = await run(rig, "edit_file", path="a.txt", old="one", new="two")
    assert (told.is_error, told.content) == (True, "Error: The editor said yes, and did nothing.")
    assert told.changes == ()
    assert not (await run(rig, "status")).cached


async def test_an_edit_of_a_file_that_changed_since_it_was_read_is_refused_with_the_current_text() -> None:
    rig = rig_with_files(mode="trust")
    await run(rig, "read_file", path="a.txt")
    rig.workspace.type_text("a.txt", "one, my own words\n")
    told = await run(rig, "edit_file", path="a.txt", old="one", new="two")
    assert told.is_error
    assert "one, my own words" in told.content
    assert rig.workspace.text("a.txt") == "one, my own words\n"
    assert rig.approver.requests == []
    assert not (await run(rig, "edit_file", path="a.txt", old="one", new="two")).is_error
    assert rig.workspace.text("a.txt") == "two, my own words\n"


async def test_a_read_that_failed_after_all_does_not_count_as_read() -> None:
    @tool(risk=ToolRisk.LOW, category=ToolCategory.FILESYSTEM, kind="read", title="x", read_only=True)
    async def read_line(context: ToolContext, path: str, line: int) -> str:
        lines = (await context.read(path)).text.splitlines()
        if line > len(lines):
            raise ToolError(f"{path} has {len(lines)} lines.")
        return lines[line - 1]

    rig = make_rig(*FILE_TOOLS, read_line, files={"a.txt": "one\n", "b.txt": "uno\n"}, mode="trust")
    await run(rig, "read_file", path="a.txt")
    rig.workspace.type_text("a.txt", "one, my own words\n")
    assert (await run(rig, "read_line", path="a.txt", line=9)).is_error
    assert (await run(rig, "read_line", path="b.txt", line=9)).is_error
    assert not rig.services.memory.reads.knows(place("b.txt"))
    told = await run(rig, "edit_file", path="a.txt", old="one", new="two")
    assert told.is_error
    assert "my own words" in told.content


async def test_what_the_user_types_while_being_asked_is_not_overwritten() -> None:
    rig = rig_with_files(approver=FakeApprover("allow_once"))
    rig.approver.on_question = lambda _: rig.workspace.type_text("a.txt", "one, typed\n")
    told = await run(rig, "edit_file", path="a.txt", old="one", new="two")
    assert told.is_error
    assert rig.workspace.text("a.txt") == "one, typed\n"


async def test_what_the_model_wrote_it_knows() -> None:
    rig = rig_with_files(mode="trust")
    executor = executor_of(rig)
    for old, new in (("one", "two"), ("two", "three")):
        assert not (await run(rig, "edit_file", executor=executor, path="a.txt", old=old, new=new)).is_error
    rig.workspace.put("a.txt", "changed\n")
    assert (await run(rig, "edit_file", path="a.txt", old="three", new="four")).is_error


async def test_what_the_user_types_right_after_an_edit_is_not_taken_for_known() -> None:
    rig = rig_with_files(mode="trust")
    gate = rig.workspace.gate_after_apply = Gate()
    async with asyncio.TaskGroup() as group:
        work = group.create_task(run(rig, "edit_file", path="a.txt", old="one", new="two"))
        await gate.reached()
        rig.workspace.type_text("a.txt", "two, typed\n")
        gate.open()
        assert not (await work).is_error
    rig.workspace.gate_after_apply = None
    told = await run(rig, "edit_file", path="a.txt", old="two", new="three")
    assert told.is_error
    assert "two, typed" in told.content
    assert rig.workspace.text("a.txt") == "two, typed\n"


async def test_an_edit_that_was_applied_is_a_success_though_the_file_is_gone_right_after() -> None:
    def replacing(name: str, before_name: str) -> Tool:
        @tool(risk=ToolRisk.LOW, category=ToolCategory.FILESYSTEM, kind="edit", title=name, plans_edit=True)
        async def write_and_move(context: ToolContext) -> EditPlan:
            document = await context.workspace.read(place(before_name))
            write = WriteText(path=document.path, before=document, text="new\n")
            move = MoveFile(source=document.path, destination=place("moved.txt"))
            return EditPlan(label=name, operations=(write, move), result="Written and moved.")

        return write_and_move

    rig = make_rig(replacing("write_and_move", "a.txt"), files={"a.txt": "one\n"})
    told = await run(rig, "write_and_move")
    assert (told.is_error, told.content) == (False, "Written and moved.")
    assert rig.workspace.text("moved.txt") == "new\n"


async def test_a_moved_and_a_deleted_file_are_no_longer_known() -> None:
    rig = rig_with_files()
    await run(rig, "read_file", path="a.txt")
    await run(rig, "read_file", path="b.txt")
    await run(rig, "move_file", source="a.txt", destination="c.txt")
    await run(rig, "delete_file", path="b.txt")
    assert not rig.services.memory.reads.knows(place("a.txt"))
    assert not rig.services.memory.reads.knows(place("b.txt"))
    assert rig.workspace.names == ["c.txt"]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("edit_file", {"path": "a.txt", "old": "one", "new": "two"})] * 1, {"a.txt": ("edit", 1, 1)}),
        (
            [
                ("edit_file", {"path": "a.txt", "old": "one", "new": "two"}),
                ("edit_file", {"path": "a.txt", "old": "two", "new": "2\n3"}),
            ],
            {"a.txt": ("edit", 3, 2)},
        ),
        (
            [
                ("create_file", {"path": "n.txt", "content": "x\n"}),
                ("edit_file", {"path": "n.txt", "old": "x", "new": "y"}),
            ],
            {"n.txt": ("create", 2, 1)},
        ),
        (
            [
                ("edit_file", {"path": "a.txt", "old": "one", "new": "two"}),
                ("delete_file", {"path": "a.txt"}),
            ],
            {"a.txt": ("delete", 1, 2)},
        ),
        ([("create_file", {"path": "n.txt", "content": "x\n"}), ("delete_file", {"path": "n.txt"})], {}),
        (
            [("delete_file", {"path": "a.txt"}), ("create_file", {"path": "a.txt", "content": "x\n"})],
            {"a.txt": ("edit", 1, 1)},
        ),
        (
            [
                ("move_file", {"source": "a.txt", "destination": "m.txt"}),
                ("edit_file", {"path": "m.txt", "old": "one", "new": "two"}),
            ],
            {"m.txt": ("move", 1, 1)},
        ),
    ],
)
async def test_several_changes_of_a_file_are_one_entry_of_the_turn(
    steps: list[tuple[str, dict[str, str]]], expected: dict[str, tuple[str, int, int]]
) -> None:
    rig = rig_with_files(mode="trust")
    executor = executor_of(rig)
    for name, arguments in steps:
        assert not (await run(rig, name, executor=executor, **arguments)).is_error
    changed = {each.path.name: (each.kind, each.added, each.removed) for each in executor.files_changed}
    assert changed == expected


async def test_a_change_that_was_made_is_counted_also_when_the_turn_is_cancelled_right_after() -> None:
    rig = rig_with_files(mode="trust")
    gate = rig.workspace.gate_after_apply = Gate()
    executor = executor_of(rig)
    call = ToolUseBlock(id="c", name="edit_file", input={"path": "a.txt", "old": "one", "new": "two"})
    work = asyncio.ensure_future(executor.run(call))
    await gate.reached()
    rig.events.gates[ToolResult] = Gate()
    gate.open()
    await rig.events.gates[ToolResult].reached()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await bounded(work)
    assert [each.path for each in executor.files_changed] == [place("a.txt")]
    assert executor.results["c"].content == "Edited a.txt."


# Long results


async def test_a_long_result_is_cut_in_the_middle_and_says_so() -> None:
    rig = make_rig(saying("long", "a" * 60 + "b" * 60), max_tool_result_chars=100)
    told = await run(rig, "long")
    assert told.truncated
    assert told.content.startswith("a" * 50 + "\n[…]\n" + "b" * 50)
    assert told.content.endswith("[OUTPUT TRUNCATED: Showing 100 of 120 characters from long]")


async def test_a_result_that_just_fits_is_whole() -> None:
    told = await run(make_rig(saying("long", "a" * 100), max_tool_result_chars=100), "long")
    assert (told.truncated, told.content) == (False, "a" * 100)


async def test_a_long_error_is_cut_too() -> None:
    told = await run(make_rig(raising("long", ToolError("e" * 500)), max_tool_result_chars=100), "long")
    assert told.truncated
    assert told.is_error
    assert len(told.content) < 300


@given(st.text(max_size=60), st.integers(0, 50))
def test_what_is_cut_never_holds_more_than_the_limit_and_counts_right(text: str, limit: int) -> None:
    shown, was_cut = cut(text, "t", limit)
    assert was_cut is (len(text) > limit)
    if not was_cut:
        assert shown == text
        return
    half = limit // 2
    head, tail = text[:half], text[len(text) - half :]
    note = f"[OUTPUT TRUNCATED: Showing {2 * half} of {len(text)} characters from t]"
    assert shown == f"{head}\n[…]\n{tail}\n{note}"


async def test_a_cached_result_is_cut_as_the_first_was() -> None:
    rig = make_rig(saying("long", "a" * 500, ttl_s=30), max_tool_result_chars=100)
    first, second = await run(rig, "long"), await run(rig, "long")
    assert second.cached
    assert second.truncated
    assert first.content == second.content
