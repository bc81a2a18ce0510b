"""What an answer to a permission prompt stores, and what the model reads of the user's words."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.agent.events import Notice, PermissionResolved
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.permissions.answer import with_rules
from pygent_ls.agent.ports.approver import PermissionAnswer, PermissionOutcome, PermissionRequest
from pygent_ls.agent.ports.processes import SandboxState
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.tools.files.edit_file import edit_file
from pygent_ls.tools.shell.command import shell_tool
from tests.agent.abilities import FILE_TOOLS, saying
from tests.agent.turns import run_turn
from tests.fakes import Call, FakeApprover, FakeModel, Gate, Rig, bounded, make_rig, say

SHELL = shell_tool(10.0)


def always(*rules: str) -> PermissionAnswer:
    return PermissionAnswer(outcome="allow_always", rules=rules)


@pytest.mark.parametrize(
    ("tool", "subjects", "rules"),
    [
        (SHELL, ["npm test"], ("shell(npm test)",)),
        (SHELL, ["npm test"], ("shell(npm:*)",)),
        (SHELL, ["npm test"], ("shell",)),
        (SHELL, ["make a && make b"], ("shell(make a)", "shell(make:*)")),
        (edit_file, ["src/a.py"], ("edit_file(src/**)",)),
        (edit_file, ["src/a.py"], ("edit_file",)),
        (edit_file, ["src/a.py", "b.py"], ("edit_file(src/**)", "edit_file(b.py)")),
        (edit_file, ["src/a.py"], ()),
    ],
)
def test_rules_in_the_users_own_words_are_stored_where_they_are_about_the_call(
    tool: Tool, subjects: list[str], rules: tuple[str, ...]
) -> None:
    answer, problem = with_rules(always(*rules), ("proposed",), tool, subjects)

    assert (answer.outcome, answer.rules, problem) == ("allow_always", rules, "")


@pytest.mark.parametrize(
    ("tool", "subjects", "rules"),
    [
        (SHELL, ["npm test"], ("shell(npm test",)),
        (SHELL, ["npm test"], ("",)),
        (SHELL, ["npm test"], ("shell(yarn:*)",)),
        (SHELL, ["npm test"], ("edit_file",)),
        (SHELL, ["npm test"], ("shell(npm:*)", "shell(rm:*)")),
        (SHELL, ["make a && rm b"], ("shell(make:*)",)),
        (SHELL, ["npm test"], ("*",)),
        (edit_file, ["src/a.py"], ("edit_file(docs/**)",)),
        (edit_file, ["src/a.py", "b.py"], ("edit_file(src/**)",)),
        (edit_file, ["src/a.py"], ("create_file(src/**)",)),
    ],
)
def test_a_rule_that_is_none_or_about_something_else_makes_it_a_reject_that_is_told(
    tool: Tool, subjects: list[str], rules: tuple[str, ...]
) -> None:
    for outcome in ("allow_session", "allow_always"):
        answer, problem = with_rules(replace(always(*rules), outcome=outcome), ("proposed",), tool, subjects)

        assert (answer.outcome, answer.rules) == ("reject_once", ())
        assert problem.startswith(f"No rule was stored and {tool.name} was rejected")


def test_what_is_always_rejected_need_not_be_all_of_the_call() -> None:
    answer = PermissionAnswer(outcome="reject_always", rules=("shell(rm:*)",))

    assert with_rules(answer, ("proposed",), SHELL, ["make a && rm b"]) == (answer, "")


@given(
    outcome=st.sampled_from(["allow_once", "reject_once", "cancelled"]),
    rules=st.none() | st.lists(st.text()).map(tuple),
)
def test_what_counts_once_stores_nothing(outcome: PermissionOutcome, rules: tuple[str, ...] | None) -> None:
    answer, problem = with_rules(PermissionAnswer(outcome=outcome, rules=rules), ("edit_file",), edit_file, ["a"])

    assert (answer.outcome, answer.rules, problem) == (outcome, (), "")


@given(rules=st.lists(st.text()))
def test_whatever_the_rules_are_nothing_is_stored_where_nothing_could_be(rules: list[str]) -> None:
    answer, _ = with_rules(always(*rules), (), SHELL, ["$("])

    assert answer.rules == ()


@given(rules=st.lists(st.text() | st.text().map("edit_file({})".format), max_size=3))
def test_whatever_the_rules_are_what_is_stored_covers_the_call(rules: list[str]) -> None:
    answer, problem = with_rules(always(*rules), ("edit_file(a)",), edit_file, ["a"])

    assert (answer.outcome == "allow_always") is (problem == "")
    assert answer.allowed or answer.rules == ()


# In a turn


def edit_rig(approver: FakeApprover) -> Rig:
    return make_rig(*FILE_TOOLS, files={"a.txt": "one\n"}, approver=approver)


EDIT = Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"})


async def test_what_the_user_says_when_they_allow_stands_beside_the_result_as_their_own_words() -> None:
    rig = edit_rig(FakeApprover(PermissionAnswer(outcome="allow_once", feedback="then run the tests")))
    model = FakeModel([say("", EDIT), say("", EDIT), say("done")])

    await run_turn(rig, model, [])

    remark = model.requests[1].messages[-1].blocks[-1]
    assert model.requests[1].messages[-1].text == (
        '<user-feedback about="edit_file">\nThe user allowed this call and said: then run the tests\n</user-feedback>'
    )
    assert not getattr(remark, "from_outside", True)
    assert model.requests[2].messages[-1].text == "", "told once"


async def test_rules_of_the_users_own_are_kept_in_place_of_the_proposed_ones() -> None:
    rig = edit_rig(FakeApprover(always("edit_file(*.txt)")))
    await run_turn(rig, FakeModel([say("", EDIT), say("done")]))

    assert [rule.text for rule in rig.rules.rules] == ["edit_file(*.txt)"]


async def test_a_wrong_rule_changes_nothing_and_the_user_is_told() -> None:
    rig = edit_rig(FakeApprover(always("edit_file(docs/**)")))
    await run_turn(rig, FakeModel([say("", EDIT), say("done")]))

    assert rig.workspace.text("a.txt") == "one\n"
    assert rig.rules.rules == []
    assert [each.outcome for each in rig.events.of(PermissionResolved)] == ["reject_once"]
    assert "edit_file(docs/**) does not apply to this call" in rig.events.of(Notice)[0].content


async def test_always_reject_denies_the_next_call_without_a_question() -> None:
    rig = edit_rig(FakeApprover("reject_always"))
    await run_turn(rig, FakeModel([say("", EDIT), say("", EDIT), say("done")]))

    assert len(rig.approver.requests) == 1
    assert [(rule.text, rule.decision) for rule in rig.rules.rules] == [("edit_file(a.txt)", "deny")]


async def test_a_mode_that_settles_nothing_leaves_the_question_open() -> None:
    rig = make_rig(saying("fetch", "fetched", risk=ToolRisk.HIGH), approver=FakeApprover("allow_once"))
    rig.approver.gate = Gate()
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(run_turn(rig, FakeModel([say("", Call(name="fetch", arguments={})), say("ok")])))
        await rig.approver.gate.reached()
        rig.services.memory.permissions.set_mode("trust")
        await asyncio.sleep(0)
        assert rig.approver.open_questions == 1
        rig.approver.gate.open()
        await bounded(turn)
    assert [(each.outcome, each.by) for each in rig.events.of(PermissionResolved)] == [("allow_once", "user")]


async def test_a_mode_never_answers_whether_a_command_may_leave_its_sandbox() -> None:
    tool = replace(saying("build", "built", risk=ToolRisk.HIGH, read_only=False), sandboxed=True)
    rig = make_rig(tool, approver=FakeApprover("allow_once", "reject_once"))
    rig.processes.sandbox_state = SandboxState(kind="failed", reason="no user namespaces")

    def trust(request: PermissionRequest) -> None:
        if "sandbox" in request.action:
            rig.services.memory.permissions.set_mode("trust")
            rig.services.memory.permissions.forget("x")

    rig.approver.on_question = trust
    await run_turn(rig, FakeModel([say("", Call(name="build", arguments={})), say("ok")]))

    assert len(rig.approver.requests) == 2
    assert [each.by for each in rig.events.of(PermissionResolved)] == ["user", "user"]
    assert [each.outcome for each in rig.events.of(PermissionResolved)] == ["allow_once", "reject_once"]


async def test_the_approver_is_told_all_that_a_rich_prompt_shows() -> None:
    rig = edit_rig(FakeApprover())
    await run_turn(rig, FakeModel([say("", EDIT), say("done")]))

    (request,) = rig.approver.requests
    assert (request.title, request.kind, request.read_only) == ("Edit a.txt", "edit", False)
    assert [path.name for path in request.paths] == ["a.txt"]
