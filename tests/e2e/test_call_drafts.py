"""A file is seen while the model writes it, with each adapter; nothing of it is left if its call does not come."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command_line import WAIT_S, clean_environment, run
from tests.e2e.conftest import WITH_HTTP, Rig
from tests.model_server import Call, ModelServer, Step

CONTENT = "".join(f'print("line {n}", "\u00e9\U0001f600")\n' for n in range(60))

WRITES = Call(name="create_file", arguments={"path": "long.py", "content": CONTENT})

Line = dict[str, Any]


def lines_of(tmp_path: Path, model: str, *steps: Step) -> list[Line]:
    """What a script reads of a turn."""
    folder = tmp_path / "project"
    folder.mkdir()
    with ModelServer(list(steps)) as server:
        environment = clean_environment(
            tmp_path / "home", PYGENT_MODEL=model, PYGENT_API_BASE=server.url, ANTHROPIC_API_KEY="k", OPENAI_API_KEY="k"
        )
        options = ("--yes", "--output-format", "stream-json", "--include-partial-messages")
        done = run("run", *options, "write it", environment=environment, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "long.py").read_text() == CONTENT
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("model", ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "litellm/openai/mock"])
def test_the_pieces_are_the_file_with_every_adapter(tmp_path: Path, model: str) -> None:
    lines = lines_of(tmp_path, model, Step(calls=(WRITES,), chunk=25), Step(text="Done."))

    pieces = [line for line in lines if line["type"] == "tool_call_delta"]
    kinds = [line["type"] for line in lines]
    assert "".join(line["content"] for line in pieces if line["argument"] == "content") == CONTENT
    assert "".join(line["content"] for line in pieces if line["argument"] == "path") == "long.py"
    assert {(line["tool_name"], line["parent_tool_use_id"]) for line in pieces} == {("create_file", None)}
    assert kinds.index("tool_call_delta") < kinds.index("assistant")


@pytest.mark.parametrize("model", ["openai/gpt-4o", "anthropic/claude-sonnet-4-5"])
def test_a_call_in_one_piece_is_not_sent_twice(tmp_path: Path, model: str) -> None:
    lines = lines_of(tmp_path, model, Step(calls=(WRITES,), chunk=100_000), Step(text="Done."))

    assert [line for line in lines if line["type"] == "tool_call_delta"] == []


@WITH_HTTP
async def test_an_editor_sees_the_text_before_the_call_and_the_call_names_its_item(rig: Rig) -> None:
    rig.editor.choose = lambda _: "Allow once"
    rig.model.play(Step(calls=(WRITES,), chunk=25), Step(text="Done."))

    await rig.editor.turn("write it", partialResultToken="drafts")

    events = rig.editor.events("drafts")
    pieces = [event for event in events if event["type"] == "tool_call_delta"]
    (call,) = [event for event in events if event["type"] == "tool_call"]
    assert "".join(event["content"] for event in pieces if event["argument"] == "content") == CONTENT
    assert {event["itemId"] for event in pieces} == {call["itemId"]}
    assert pieces[-1]["seq"] < call["seq"]
    assert [event["seq"] for event in events] == list(range(events[0]["seq"], events[-1]["seq"] + 1))


@WITH_HTTP
@pytest.mark.parametrize("how", ["dropped", "cancelled"])
async def test_a_call_that_does_not_come_leaves_nothing(rig: Rig, how: str) -> None:
    editor, token = rig.editor, f"cut-{how}"
    (rig.folder / "long.py").unlink(missing_ok=True)
    is_dropped = how == "dropped"
    broken = Step(
        calls=(WRITES,), chunk=25, drop_after=40 if is_dropped else None, stall_after=None if is_dropped else 40
    )
    rig.model.play(broken, Step(text="I gave up."))
    session = await editor.ask("pygent/session/new", {})
    turn = editor.begin_turn("write it", sessionId=session["sessionId"], partialResultToken=token)
    await editor.until(lambda: "tool_call_delta" in editor.types(token))
    if how == "cancelled":
        await editor.ask("pygent/turn/cancel", {"sessionId": session["sessionId"]})
    async with asyncio.timeout(WAIT_S):
        result = await turn

    events = editor.events(token)
    items = {event["itemId"] for event in events if event["type"] == "tool_call_delta"}
    assert (len(items), [event["type"] for event in events].count("tool_call")) == (1, 0)
    if how == "dropped":
        (error,) = [event for event in events if event["type"] == "llm_error"]
        assert items <= set(error["withdrawn"])
        assert result["text"] == "I gave up."
    else:
        assert result["stopReason"] == "cancelled"
    assert not (rig.folder / "long.py").exists()
