"""The search among tools whose definitions are left out of requests."""

from __future__ import annotations

from typing import Any

import pytest

from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.tools.schema_tool import SchemaTool
from pygent_ls.agent.tools.tool import Tool, ToolContext, ToolRegistry
from pygent_ls.agent.variants import without
from pygent_ls.tools.tool_search import MAX_FOUND, search_tool


def far(server: str, name: str, description: str) -> Tool:
    """A tool of a server."""

    async def run(context: ToolContext, /, **arguments: Any) -> str:
        return "done"

    return SchemaTool(
        name=f"mcp__{server}__{name}",
        description=description,
        risk=ToolRisk.HIGH,
        category=ToolCategory.MCP,
        kind="other",
        run=run,
        title=name,
        schema={},
    )


TOOLS = [
    far("git", "git_log", "Show commits."),
    far("git", "git_diff", "Show changes."),
    far("shop", "list_orders", "List the orders of a customer, with the commits that shipped them."),
    *(far("shop", f"order_{number}", "An order.") for number in range(20)),
]


def registry(found: set[str] | None = None) -> ToolRegistry:
    """All of them on demand, beside the search."""
    names = frozenset(each.name for each in TOOLS)
    return ToolRegistry([search_tool(TOOLS), *TOOLS], on_demand=names, found=found)


def offered(tools: ToolRegistry) -> list[str]:
    """The names that requests contain."""
    return [each.name for each in tools.list_definitions()]


def test_what_fits_best_comes_first_and_is_offered_from_then_on() -> None:
    found: set[str] = set()
    tools = registry(found)

    best = tools.find("commits", 8)

    assert [each.name for each in best] == ["mcp__git__git_log", "mcp__shop__list_orders"]
    assert offered(tools) == ["search_tools", "mcp__git__git_log", "mcp__shop__list_orders"]
    assert offered(registry(found)) == offered(tools)
    assert offered(without(tools, {"mcp__git__git_log": "is gone"})) == ["search_tools", "mcp__shop__list_orders"]


@pytest.mark.parametrize(
    ("query", "first"),
    [("mcp__git__git_diff", "mcp__git__git_diff"), ("DIFF", "mcp__git__git_diff"), ("order 17", "mcp__shop__order_17")],
)
def test_a_name_is_found_by_its_words(query: str, first: str) -> None:
    assert registry().find(query, 8)[0].name == first


@pytest.mark.parametrize("query", ["", "  ", "plums", "(.*", "é"])
def test_words_that_fit_nothing_find_nothing(query: str) -> None:
    assert registry().find(query, 8) == []


def test_one_search_finds_few() -> None:
    assert len(registry().find("order", MAX_FOUND)) == MAX_FOUND


def test_one_that_was_not_found_can_be_called_by_its_name() -> None:
    assert registry().get("mcp__git__git_diff") is TOOLS[1]
