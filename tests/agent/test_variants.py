"""Variants: what each is offered, and which there are."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pygent_ls.agent.tools.tool import ToolRegistry
from pygent_ls.agent.variants import SHIPPED, AgentProfile, variants
from pygent_ls.errors import SessionError
from tests.agent.abilities import saying

TOOLS = ToolRegistry([saying(name, "done") for name in ("read_file", "edit_file", "shell", "mcp__docs__find")])


def names(tools: ToolRegistry) -> list[str]:
    return [each.name for each in tools.list_all()]


@pytest.mark.parametrize(
    ("profile", "offered"),
    [
        (AgentProfile(name="a"), ["read_file", "edit_file", "shell", "mcp__docs__find"]),
        (AgentProfile(name="a", tools=("read_file",)), ["read_file"]),
        (AgentProfile(name="a", tools=("mcp__*", "shell")), ["shell", "mcp__docs__find"]),
        (AgentProfile(name="a", tools=("*",), disallowed_tools=("mcp__*",)), ["read_file", "edit_file", "shell"]),
        (AgentProfile(name="a", disallowed_tools=("*_file",)), ["shell", "mcp__docs__find"]),
        (AgentProfile(name="a", tools=("read_file",), disallowed_tools=("read_file",)), []),
        (AgentProfile(name="a", tools=()), []),
        (AgentProfile(name="a", tools=("Read_File", "nonsense")), []),
    ],
)
def test_an_agent_is_offered_what_its_tools_name_less_what_is_disallowed(
    profile: AgentProfile, offered: list[str]
) -> None:
    assert names(profile.offered(TOOLS)) == offered


def test_of_a_tool_that_is_not_offered_it_is_known_why() -> None:
    inner = AgentProfile(name="inner", disallowed_tools=("read_file",))
    kept = inner.offered(AgentProfile(name="outer", disallowed_tools=("shell",)).offered(TOOLS))

    assert kept.withheld == {
        "shell": "is not offered to the agent outer",
        "read_file": "is not offered to the agent inner",
    }


def test_the_shipped_agents_are_always_there_and_an_own_one_takes_the_place_of_its_name() -> None:
    mine = AgentProfile(name="mine", description="Mine.")
    plan = AgentProfile(name="plan", description="My plan.")

    found = variants([mine, plan], may_bypass=True).profiles

    assert list(found) == ["default", "plan", "review", "yolo", "opus", "local", "mine"]
    assert found == {**SHIPPED, "mine": mine, "plan": plan}


def test_without_the_users_leave_no_agent_bypasses() -> None:
    allowed = variants([AgentProfile(name="mine", mode="bypass")], may_bypass=True)
    refused = variants([AgentProfile(name="mine", mode="bypass")])

    assert [allowed.get(name).mode for name in ("yolo", "mine")] == ["bypass", "bypass"]
    assert [refused.get(name).mode for name in ("yolo", "mine")] == ["trust", "trust"]
    (said,) = refused.get("yolo").notices
    assert "allow_bypass = true" in said
    assert replace(refused.get("yolo"), mode="bypass", notices=()) == SHIPPED["yolo"]


def test_plan_and_review_change_nothing() -> None:
    found = variants()

    assert found.planners == {"plan", "review"}
    for name in found.planners:
        assert names(found.get(name).offered(TOOLS)) == ["read_file", "mcp__docs__find"]


def test_an_unknown_agent_is_an_error_that_lists_those_that_there_are() -> None:
    with pytest.raises(SessionError) as caught:
        variants().get("nobody")

    assert caught.value.kind == "unknown_agent"
    assert str(caught.value) == (
        "agent: there is no agent 'nobody'. The agents are: default, plan, review, yolo, opus, local."
    )


def test_a_setting_that_names_no_agent_is_said_and_does_not_count() -> None:
    chosen = variants().usual("nobody")

    assert replace(chosen, notices=()) == AgentProfile(name="default")
    assert "there is no agent 'nobody'" in chosen.notices[0]
