"""A file that a rule denies is not shown by what the user attaches, nor out of the cache."""

from __future__ import annotations

import pytest

from pygent_ls.agent.context.attachments import (
    DiagnosticsPart,
    EditorPart,
    FilePart,
    ImagePart,
    PromptPart,
    SelectionPart,
    render,
)
from pygent_ls.agent.events import ToolResult
from pygent_ls.agent.messages import TextBlock, ToolUseBlock
from pygent_ls.agent.ports.editor_state import LineRange
from pygent_ls.agent.rules.read_rules import Reading
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.agent.tools.tool import ToolContext
from tests.agent.abilities import named, place
from tests.agent.calls.test_executor import executor_of
from tests.fakes import bounded, make_rig

DENY = Rule(text="read_file(**/.env)", decision="deny", origin="user")
ASK = Rule(text="read_file(**/.env)", decision="ask", origin="user")

LINES = LineRange(first=1, last=1)


async def shown(part: PromptPart, *rules: Rule) -> str:
    """What the model reads of an attachment."""
    rig = make_rig(files={".env": "KEY=plum", "a.txt": "apple"})
    rig.workspace.links[place("link.txt")] = place(".env")
    content = await render((part, "go"), rig.workspace, rig.services.memory.reads, reading=Reading.of(rules))
    assert isinstance(content, tuple)
    assert isinstance(content[0], TextBlock)
    assert rig.services.memory.reads.knows(place(".env")) == ("plum" in content[0].text and isinstance(part, FilePart))
    return content[0].text


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (FilePart(path=place(".env")), "file"),
        (FilePart(path=place("link.txt")), "file"),
        (SelectionPart(path=place(".env"), lines=LINES, text="KEY=plum"), "selection"),
        (DiagnosticsPart(path=place(".env"), lines=("1: plum is no number",)), "diagnostics"),
        (ImagePart(path=place(".env"), mime_type="image/png"), "image"),
    ],
)
async def test_what_is_attached_of_a_denied_file_is_not_shown_and_its_place_says_why(
    part: PromptPart, kind: str
) -> None:
    text = await shown(part, DENY)
    assert text.startswith(f'<context kind="{kind}" path="')
    assert text.endswith("\nNot shown: the rule read_file(**/.env) denies reading it.\n</context>")
    assert "plum" not in text


async def test_what_the_user_attaches_needs_no_second_yes_where_a_rule_only_asks() -> None:
    assert "plum" in await shown(FilePart(path=place(".env")), ASK)


async def test_other_files_and_the_names_of_open_ones_are_shown() -> None:
    assert "apple" in await shown(FilePart(path=place("a.txt")), DENY)
    assert "Active file: .env" in await shown(EditorPart(active=place(".env"), visible=()), DENY)


async def test_a_search_from_before_the_rule_is_not_served_again() -> None:
    results = ["plum", "nothing", "plum"]

    async def search(_: ToolContext) -> str:
        return results.pop(0)

    rig = make_rig(named("grep_search", search, ttl_s=30))
    executor = executor_of(rig)
    for n, rules in enumerate([[], [DENY], [DENY], []]):
        rig.rules.rules = list(rules)
        await bounded(executor.run(ToolUseBlock(id=f"call_{n}", name="grep_search", input={})))

    told = [(each.content, each.cached) for each in rig.events.of(ToolResult)]
    assert told == [("plum", False), ("nothing", False), ("plum", False), ("plum", True)]
