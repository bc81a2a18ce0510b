"""`outputSchema` of `pygent/turn/start`, and `structured` in its result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.editors.lsp.editor import Setup, connected
from tests.fakes import Call, say

INVALID_PARAMS = -32602

VERDICT = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


def give(arguments: dict[str, Any]) -> Call:
    return Call(name="structured_output", arguments=arguments)


async def test_the_result_carries_the_value_and_the_events_tell_of_the_call(folder: Path) -> None:
    script = [say("", give({"ok": "yes"})), say("All is well.", give({"ok": True}))]
    async with connected(folder, Setup(script=script)) as editor:
        result = await editor.turn("is it well?", outputSchema=VERDICT)

        assert (result["stopReason"], result["text"]) == ("end_turn", "All is well.")
        assert result["structured"] == {"ok": True}
        calls = [event for event in editor.events() if event["type"] == "tool_call"]
        assert [(each["toolName"], each["kind"], each["risk"], each["readOnly"]) for each in calls] == [
            ("structured_output", "other", "low", True)
        ] * 2
        assert "permission_requested" not in editor.types()


async def test_null_is_a_value_and_no_schema_is_none(folder: Path) -> None:
    script = [say("", give({"value": None})), say("Hello.")]
    async with connected(folder, Setup(script=script)) as editor:
        asked = await editor.turn("nothing, please", outputSchema={"type": "null"})
        plain = await editor.turn("hi", sessionId=asked["sessionId"])

    assert (asked["structured"], "structured" in plain) == (None, False)


async def test_a_turn_that_comes_to_none_is_an_error_with_its_text(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("no"), say("No."), say("NO!")])) as editor:
        result = await editor.turn("is it well?", outputSchema=VERDICT)

    assert (result["stopReason"], result["text"], "structured" in result) == ("error", "NO!", False)
    assert result["error"]["message"].startswith("fake/model gave no structured result: ")


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (
            {"type": "verdict"},
            "outputSchema: The output schema cannot be used: it is not a valid JSON Schema: $.type: ",
        ),
        (
            {"$ref": "http://127.0.0.1:9/x"},
            "$ref http://127.0.0.1:9/x points outside the schema, and nothing is fetched",
        ),
        ({"description": "x" * 70_000}, "the limit is 64,000"),
    ],
    ids=["no schema", "to be fetched", "too long"],
)
async def test_a_bad_schema_is_a_bad_request_and_makes_no_session(
    folder: Path, schema: dict[str, Any], said: str
) -> None:
    async with connected(folder) as editor:
        error = await editor.error("pygent/turn/start", {"prompt": "go", "outputSchema": schema})

        assert (error.code, error.data) == (INVALID_PARAMS, {"kind": "bad_output_schema"})
        assert said in error.message
        assert editor.core.sessions.all() == []


@pytest.mark.parametrize("schema", [True, [], "{}", 7], ids=repr)
async def test_what_is_no_object_is_no_schema(folder: Path, schema: object) -> None:
    async with connected(folder) as editor:
        error = await editor.error("pygent/turn/start", {"prompt": "go", "outputSchema": schema})

        assert (error.code, "outputSchema" in error.message) == (INVALID_PARAMS, True)


async def test_the_list_of_tools_does_not_name_it(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("", give({"ok": True}))])) as editor:
        await editor.turn("go", outputSchema=VERDICT)
        listed = await editor.request("pygent/tools/list")

    assert "structured_output" not in [each["name"] for each in listed["tools"]]
