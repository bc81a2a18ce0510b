"""A tool's declaration, its schema, its arguments and its registry; and what a call may touch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from pygent_ls.agent.display_text import MAX_EXCERPT_CHARS, excerpt
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.tools.signature import ArgumentObject
from pygent_ls.agent.tools.tool import DEFAULT_TIMEOUT_S, Tool, ToolContext, ToolRegistry, path_arguments, tool
from pygent_ls.errors import OutsideWorkspaceError, StaleDocumentError, ToolError
from pygent_ls.tools.git.write_tools import git_add
from tests.fakes import FOLDER, make_rig


class Edit(ArgumentObject, frozen=True, kw_only=True):
    """One replacement."""

    old: str
    new: str
    all: bool = False


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.SEARCH,
    kind="search",
    title="Search for {pattern} in {path}",
    read_only=True,
    ttl_s=30,
)
async def look(
    context: ToolContext,
    pattern: Annotated[str, Meta(min_length=1, description="A regular expression.")],
    path: str = ".",
    limit: Annotated[int, Meta(ge=1)] | None = None,
    order: Literal["name", "size"] = "name",
    edits: tuple[Edit, ...] = (),
) -> str:
    """Search the files.

    Folders are searched whole.

    Raises:
        ToolError: the pattern is invalid.
    """
    return f"{pattern} {path} {limit} {order} {len(edits)}"


def nothing(name: str, **changes: Any) -> Tool:
    async def run(context: ToolContext) -> str:
        """Do nothing."""
        return ""

    run.__name__ = name
    declared: dict[str, Any] = {"risk": ToolRisk.LOW, "category": ToolCategory.AGENT, "kind": "other", "title": name}
    return tool(**(declared | changes))(run)


def test_a_tool_is_told_by_its_name_docstring_and_signature() -> None:
    definition = look.definition
    assert definition.name == "look"
    assert definition.description == "Search the files.\n\nFolders are searched whole."
    schema = definition.schema
    assert schema["required"] == ["pattern"]
    assert list(schema["properties"]) == ["pattern", "path", "limit", "order", "edits"]
    assert schema["properties"]["pattern"] == {"type": "string", "minLength": 1, "description": "A regular expression."}
    assert schema["properties"]["path"] == {"type": "string", "default": "."}
    assert schema["properties"]["limit"]["default"] is None
    assert schema["properties"]["order"]["enum"] == ["name", "size"]
    assert schema["additionalProperties"] is False


def test_the_schema_spends_no_tokens_on_titles_but_keeps_an_argument_of_that_name() -> None:
    @tool(risk=ToolRisk.LOW, category=ToolCategory.AGENT, kind="other", title="x")
    async def titled(context: ToolContext, title: str, edits: list[Edit] | None = None) -> str:
        """Take a title."""
        return f"{title}{edits}"

    schema = titled.definition.schema
    assert schema["properties"]["title"] == {"type": "string"}
    assert "title" not in schema
    assert "title" not in schema["$defs"]["Edit"]
    assert "title" not in schema["$defs"]["Edit"]["properties"]["old"]


def test_the_context_is_no_argument_and_no_argument_is_needed() -> None:
    assert nothing("idle").definition.schema["properties"] == {}
    assert nothing("idle").validate({}) == {}


def test_valid_arguments_come_with_their_types_and_defaults() -> None:
    valid = look.validate({"pattern": "x", "limit": "3", "edits": [{"old": "a", "new": "b"}]})
    assert valid == {
        "pattern": "x",
        "path": ".",
        "limit": 3,
        "order": "name",
        "edits": (Edit(old="a", new="b", all=False),),
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "`pattern` is missing"),
        ({"pattern": 7}, "`pattern`: "),
        ({"pattern": ""}, "`pattern`: "),
        ({"pattern": "x", "pth": "."}, "`pth` is not an argument"),
        ({"pattern": "x", "limit": 0}, "`limit`: "),
        ({"pattern": "x", "limit": "many"}, "`limit`: "),
        ({"pattern": "x", "order": "age"}, "`order`: "),
        ({"pattern": "x", "edits": [{"old": "a", "new": "b"}, {"old": "a"}]}, "`edits.1.new` is missing"),
    ],
)
def test_invalid_arguments_name_the_field_and_what_the_tool_takes(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ToolError) as raised:
        look.validate(arguments)
    assert said in str(raised.value)
    assert '"pattern"' in str(raised.value)
    assert "look" in str(raised.value)


def test_all_wrong_fields_are_named_at_once() -> None:
    with pytest.raises(ToolError, match=r"(?s)`pattern` is missing.*`limit`: .*`more` is not an argument"):
        look.validate({"limit": 0, "more": 1})


def test_a_tool_is_cacheable_by_default_where_it_only_reads_and_a_time_is_given() -> None:
    assert nothing("a", read_only=True, ttl_s=30).cacheable
    assert not nothing("b", read_only=True).cacheable
    assert not nothing("c", ttl_s=30).cacheable
    assert not nothing("d", read_only=True, ttl_s=30, cacheable=False).cacheable


def test_a_tool_has_a_timeout_unless_it_keeps_its_own_time() -> None:
    assert nothing("a").timeout_s == DEFAULT_TIMEOUT_S
    assert nothing("b", timeout_s=None).timeout_s is None


def test_a_title_shows_the_arguments_in_one_short_line() -> None:
    assert look.title_for({"pattern": "x\n\ty", "path": "src"}) == "Search for x y in src"
    assert look.title_for({"path": "src"}) == "Search for in src"
    assert look.title_for({}) == "Search for in"
    long = look.title_for({"pattern": "x" * 500, "path": ["a", 1]})
    assert len(long) < 200
    assert "…" in long
    assert '["a", 1]' in long


def test_an_argument_with_braces_is_text_in_the_title() -> None:
    assert look.title_for({"pattern": "{path} {0} {", "path": "src"}) == "Search for {path} {0} { in src"


def test_what_the_user_is_asked_about_is_shown_whole() -> None:
    command = "echo 'a  b' \\\n" + "x" * 500 + "; rm -rf ~"
    shown = look.action_for({"pattern": command, "path": "."})
    assert shown == f"Search for {command} in .".replace("\n", "\n    ")


def test_what_the_user_is_asked_about_cannot_hide_behind_control_characters() -> None:
    shown = look.action_for({"pattern": "rm -rf ~\r\x1b[2Kecho\u202ehi\x08\t\n", "path": "."})
    assert shown == "Search for rm -rf ~\\r\\x1b[2Kecho\\u202ehi\\x08\t\n     in ."


@given(st.dictionaries(st.sampled_from(["pattern", "path", "edits"]), st.text() | st.integers() | st.lists(st.text())))
def test_titles_take_whatever_a_model_sends(arguments: dict[str, Any]) -> None:
    assert "\n" not in look.title_for(arguments)
    assert look.action_for(arguments)


def test_a_registry_keeps_tools_by_name_in_their_order() -> None:
    registry = ToolRegistry([look])
    other = nothing("other", category=ToolCategory.SEARCH)
    registry.register(other)
    registry.register(nothing("third"))

    assert registry.get("other") is other
    assert registry.get("fourth") is None
    assert [each.name for each in registry.list_all()] == ["look", "other", "third"]
    assert [each.name for each in registry.list_by_category(ToolCategory.SEARCH)] == ["look", "other"]
    assert registry.list_by_category(ToolCategory.WEB) == []
    assert [each.name for each in registry.list_definitions()] == ["look", "other", "third"]


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="look"):
        ToolRegistry([look, look])


def test_the_paths_of_a_call_are_the_text_of_its_path_arguments() -> None:
    arguments = {"path": "a", "paths": ["b", 7, "c"], "cwd": "d", "destination": None, "pattern": "e", "source": 3}
    assert list(path_arguments(arguments)) == ["a", "b", "c", "d"]


# The context


async def test_reading_counts_as_read_by_the_model_and_as_a_dependency() -> None:
    rig = make_rig(files={"a.txt": "one"})
    context = rig.context()

    document = await context.read("./a.txt")

    assert document.text == "one"
    assert context.shown == [document]
    assert context.dependencies == {FOLDER / "a.txt": document.stamp}
    assert rig.services.memory.reads.knows(FOLDER / "a.txt")


async def test_peeking_is_a_dependency_but_not_read_by_the_model() -> None:
    rig = make_rig(files={"a.txt": "one"})
    context = rig.context()

    document = await context.peek(FOLDER / "a.txt")

    assert context.dependencies == {FOLDER / "a.txt": document.stamp}
    assert context.shown == []
    assert not rig.services.memory.reads.knows(FOLDER / "a.txt")


async def test_a_path_that_leads_outside_is_refused() -> None:
    with pytest.raises(OutsideWorkspaceError):
        await make_rig().context().read("../secret")


async def test_a_file_that_the_model_never_read_may_be_edited() -> None:
    document = await make_rig(files={"a.txt": "one"}).context().read_to_edit("a.txt")
    assert document.text == "one"


def change_on_disk(rig: Any) -> None:
    rig.workspace.put("a.txt", "two")


def type_into_buffer(rig: Any) -> None:
    rig.workspace.type_text("a.txt", "two")


@pytest.mark.parametrize("change", [change_on_disk, type_into_buffer])
async def test_a_file_that_changed_since_it_was_read_is_refused_once_with_its_text(
    change: Callable[[Any], None],
) -> None:
    rig = make_rig(files={"a.txt": "one"})
    await rig.context().read("a.txt")
    change(rig)

    with pytest.raises(StaleDocumentError, match=r"(?s)a.txt.*```\ntwo\n```"):
        await rig.context().read_to_edit("a.txt")

    assert (await rig.context().read_to_edit("a.txt")).text == "two"


async def test_a_file_that_was_opened_but_holds_the_same_text_is_not_stale() -> None:
    rig = make_rig(files={"a.txt": "one"})
    await rig.context().read("a.txt")
    rig.workspace.type_text("a.txt", "one")
    assert (await rig.context().read_to_edit("a.txt")).text == "one"


async def test_what_depends_on_a_tree_that_is_too_large_is_not_cacheable() -> None:
    rig = make_rig(files={"a.txt": "one"})
    small, large = rig.context(), rig.context()

    await small.depend_on_tree(FOLDER)
    rig.workspace.tree_too_large = True
    await large.depend_on_tree(FOLDER)

    assert small.cacheable
    assert list(small.trees) == [FOLDER]
    assert not large.cacheable


def test_a_long_excerpt_keeps_both_ends_and_says_how_much_it_left_out() -> None:
    text = "a" * MAX_EXCERPT_CHARS + "b" * 100
    shown = excerpt(text)
    assert "100 characters left out" in shown
    assert shown.count("a") - shown.count("characters") * 3 >= MAX_EXCERPT_CHARS - 200
    assert shown.endswith("b" * 100 + "\n```")
    assert excerpt("short") == "```\nshort\n```"


def test_a_call_that_names_too_many_paths_is_refused() -> None:
    git_add.check_paths({"paths": ["a"] * 10_000})
    with pytest.raises(ToolError, match="names 501 paths"):
        git_add.check_paths({"paths": [f"{n}.py" for n in range(501)]})
