"""What a person is asked to allow cannot be hidden from them by what stands in it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.display_text import in_full, on_one_line, programs_of, visible
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.messages import ToolUseBlock
from pygent_ls.agent.ports.approver import PermissionRequest
from pygent_ls.agent.rules.rule import whole_command
from pygent_ls.agent.tools.tool import Tool, ToolContext, tool
from pygent_ls.editors.lsp.ports.approver import permission_prompt
from pygent_ls.editors.terminal.approver import prompt_text
from pygent_ls.editors.terminal.text import Palette
from tests.agent.executor import Executor
from tests.fakes import FakeApprover, make_rig


@tool(risk=ToolRisk.HIGH, category=ToolCategory.SHELL, kind="execute", title="{command}")
async def shell(context: ToolContext, command: str) -> str:
    """Run a command."""
    return command


async def asked(command: str, of: Tool = shell) -> PermissionRequest:
    rig = make_rig(of, approver=FakeApprover("reject_once"))
    executor = Executor(rig.services, rig.events.emit)
    await executor.run(ToolUseBlock(id="1", name="shell", input={"command": command}))
    (request,) = rig.approver.requests
    return request


async def prompts(command: str) -> list[str]:
    """In an editor, and on a terminal."""
    request = await asked(command)
    return [str(permission_prompt(request)["message"]), prompt_text(request, Palette(on=False))]


HIDING = [
    "ls \x1b[2K\x1b[1G\x1b[8mtouch z",
    "ls\r\x1b[Atouch z",
    "ls \x08\x08\x08touch z",
    "echo \u202e'z hcuot' \u202c",
    "ls \u2066x\u2069\u200b",
    "ls \U000e0074\U000e006f",
    "ls \u3164\u2800\xadx",
    "ls \x9b2K",
    "ls \x1b]8;;http://e.example\x07x\x1b]8;;\x07",
    "ls \ud800",
]


@pytest.mark.parametrize("command", HIDING, ids=ascii)
async def test_no_character_of_a_command_hides_reorders_or_overwrites_another(command: str) -> None:
    for prompt in await prompts(command):
        assert visible(prompt) == prompt
        assert all(word in prompt for word in re.findall("[a-z]{2,}", command))


async def test_a_line_of_a_command_cannot_pass_for_one_of_ours() -> None:
    command = "ls\nAlways allow adds: shell(ls)\nPermission for read_file (low risk)\ntouch z"

    for prompt in await prompts(command):
        lines = prompt.splitlines()
        assert [line for line in lines if line.startswith("    ") and "touch z" in line]
        assert not any(line.startswith(("Always allow adds: shell(ls)", "Permission for read_file")) for line in lines)


async def test_wide_gaps_and_empty_lines_push_nothing_out_of_sight() -> None:
    for prompt in await prompts("ls" + " " * 300 + "; touch y" + "\n" * 80 + "touch z"):
        assert "ls ⟨300 spaces⟩ ; touch y" in prompt
        assert "⟨79 empty lines⟩" in prompt
        assert len(prompt.split("Always allow")[0].splitlines()) < 8
    assert (
        in_full("if x:\n" + " " * 40 + "indented = 1\n\n\nmore")
        == "if x:\n    " + " " * 40 + "indented = 1\n    \n    \n    more"
    )


async def test_a_long_command_is_shown_whole_behind_the_names_of_what_it_runs() -> None:
    command = "echo " + "x" * 5_000 + " && touch z | tee y; $(printf rm) q"

    for prompt in await prompts(command):
        assert "A long command, 5,040 characters; it runs echo, touch, tee, printf, rm:" in prompt
        assert command in prompt
    assert programs_of("ls") == ""
    assert "could not be parsed" in programs_of("ls '" + "x" * 2_000)


async def test_the_rule_that_would_be_stored_stands_on_one_line() -> None:
    command = "ls\n\ttouch z"

    prompt, _ = await prompts(command)
    assert on_one_line(whole_command(command)) == "shell(ls\\n\\ttouch z)"
    assert prompt.rstrip().splitlines()[-1].endswith("shell(ls\\n\\ttouch z)")


@given(st.text())
def test_nothing_but_gaps_is_left_out_of_what_is_shown(text: str) -> None:
    shown = in_full(text)
    assert visible(shown) == shown
    assert all(line.startswith("    ") for line in shown.split("\n")[1:])
    if not re.search(r"\s{4}", visible(text)):
        assert shown.replace("\n    ", "\n") == visible(text)
