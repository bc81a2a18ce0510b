"""A plan may hold more than its call's arguments name: the rules hold for all of it."""

from __future__ import annotations

import dataclasses

import pytest
from msgspec.structs import replace

from pygent_ls.agent.events import PermissionDenied, ToolResult
from pygent_ls.agent.kinds import Mode, ToolCategory, ToolRisk
from pygent_ls.agent.messages import ToolUseBlock
from pygent_ls.agent.permissions.permissions import Permissions, Policy
from pygent_ls.agent.permissions.refusals import Protected
from pygent_ls.agent.ports.hooks import HookOutcome
from pygent_ls.agent.ports.workspace import EditPlan, WriteText
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.agent.tools.tool import ToolContext, tool
from tests.agent.executor import Executor
from tests.fakes import FOLDER, FakeApprover, Rig, bounded, make_rig, with_parts
from tests.hooks import FakeHooks


@tool(
    risk=ToolRisk.MEDIUM,
    category=ToolCategory.SCAFFOLD,
    kind="edit",
    title="Create {path}",
    plans_edit=True,
)
async def create_project(context: ToolContext, path: str) -> EditPlan:
    """Make two files in a folder."""
    folder = context.workspace.resolve(path)
    files = (folder / "main.txt", folder / "infra" / "secret.txt")
    operations = tuple(WriteText(path=file, before=None, text="new\n") for file in files)
    return EditPlan(label="Create", operations=operations, result="Created.")


@tool(
    risk=ToolRisk.MEDIUM,
    category=ToolCategory.SCAFFOLD,
    kind="edit",
    title="Create {path}",
    plans_edit=True,
)
async def create_settings(context: ToolContext, path: str) -> EditPlan:
    """Make a file that an editor acts by."""
    file = context.workspace.resolve(path) / ".vscode" / "tasks.json"
    operations = (WriteText(path=file, before=None, text="{}\n"),)
    return EditPlan(label="Create", operations=operations, result="Created.")


create_editor_settings = replace(create_settings, name="create_project")


async def run(rig: Rig) -> ToolResult:
    """Run one call of the tool, and return the event that ends it."""
    executor = Executor(rig.services, rig.events.emit)
    await bounded(executor.run(ToolUseBlock(id="call_1", name="create_project", input={"path": "app"})))
    (told,) = rig.events.of(ToolResult)
    return told


async def test_what_no_rule_is_about_is_asked_and_created() -> None:
    rig = make_rig(create_project, approver=FakeApprover("allow_once"))

    told = await run(rig)

    assert (told.content, told.is_error) == ("Created.", False)
    assert rig.workspace.names == ["app/infra/secret.txt", "app/main.txt"]
    assert len(rig.approver.requests) == 1


@pytest.mark.parametrize("mode", ["default", "trust"])
async def test_a_deny_rule_holds_for_files_that_no_argument_names(mode: Mode) -> None:
    rule = Rule(text="create_project(**/infra/**)", decision="deny", origin="session")
    rig = make_rig(create_project, approver=FakeApprover("allow_once"), mode=mode, rules=[rule])

    told = await run(rig)

    assert told.is_error
    assert "app/infra/secret.txt: the rule create_project(**/infra/**) denies it" in told.content
    assert (rig.approver.requests, rig.workspace.names) == ([], [])
    assert [each.tool_id for each in rig.events.of(PermissionDenied)] == ["call_1"]


async def test_what_is_always_refused_is_refused_inside_a_plan_too() -> None:
    rig = make_rig(create_project)
    protected = Protected(folders=(f"{FOLDER.as_posix()}/app/infra",))
    permissions = Permissions("bypass", rig.rules, Policy(may_bypass=True, protected=protected))
    rig.use(permissions=permissions)

    told = await run(rig)

    assert told.is_error
    assert "app/infra/secret.txt: tools never write the daemon's own settings and state" in told.content
    assert rig.workspace.names == []


@pytest.mark.parametrize(
    ("mode", "rules", "n_questions"),
    [
        ("trust", [], 1),
        ("bypass", [], 0),
        ("trust", ["create_project(app)"], 0),
        ("default", ["create_project(app)"], 0),
    ],
)
async def test_what_acts_later_is_asked_about_inside_a_plan_too(mode: Mode, rules: list[str], n_questions: int) -> None:
    """Unless a rule of the user's allows the call, or nothing is asked at all."""
    rig = make_rig(create_editor_settings, approver=FakeApprover("allow_once"))
    allowing = tuple(Rule(text=text, decision="allow", origin="user") for text in rules)
    rig.use(permissions=Permissions(mode, rig.rules, Policy(rules=allowing, may_bypass=True)))

    told = await run(rig)

    assert (told.content, rig.workspace.names) == ("Created.", ["app/.vscode/tasks.json"])
    assert len(rig.approver.requests) == n_questions


async def test_an_ask_rule_about_a_file_is_stronger_than_what_allows_the_call() -> None:
    rules = [
        Rule(text="create_project(app)", decision="allow", origin="session"),
        Rule(text="create_project(**/*.txt)", decision="ask", origin="session"),
    ]
    rig = make_rig(create_project, approver=FakeApprover("reject_once"), rules=rules)

    told = await run(rig)

    assert told.is_error
    assert (len(rig.approver.requests), rig.workspace.names) == (1, [])


async def test_a_hook_does_not_answer_what_an_ask_rule_asks_about_a_file_inside_a_plan() -> None:
    rule = Rule(text="create_project(**/infra/**)", decision="ask", origin="user")
    rig = make_rig(create_project, approver=FakeApprover("reject_once"), rules=[rule])
    allowing = FakeHooks({"permission_request": HookOutcome(decision="allow")})
    rig = dataclasses.replace(rig, services=with_parts(rig.services, hooks=allowing))

    told = await run(rig)

    assert told.is_error
    assert (len(rig.approver.requests), rig.workspace.names) == (1, [])
