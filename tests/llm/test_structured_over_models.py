"""A structured answer with every kind of model: our two adapters and litellm over HTTP, tools as text, a program, a
script."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pygent_ls.agent.ports.model import Model
from pygent_ls.agent.tools.structured_output import Structured
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.llm.litellm.loader import LitellmLoader
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model
from pygent_ls.llm.text_tools.model import TextToolCalls
from tests.agent.abilities import saying
from tests.agent.turns import run_turn
from tests.fakes import Rig, make_rig
from tests.llm.cli.test_model import model_of as cli_model
from tests.llm.loopback import KEY
from tests.llm.loopback import model_at as litellm_at
from tests.model_server import Call, ModelServer, Step

CITIES: dict[str, Any] = {
    "type": "array",
    "items": {"$ref": "#/$defs/city"},
    "minItems": 1,
    "$defs": {"city": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
}
OFFERED = {
    "type": "object",
    "properties": {"value": {"type": "array", "items": {"$ref": "#/$defs/city"}, "minItems": 1}},
    "required": ["value"],
    "additionalProperties": False,
    "$defs": CITIES["$defs"],
}
OSLO = [{"name": "Oslo"}]

STORY = (
    Step(text="I look.", calls=(Call(name="look"),)),
    Step(calls=(Call(name="structured_output", arguments={"value": []}),)),
    Step(text="There it is.", calls=(Call(name="structured_output", arguments={"value": OSLO}),)),
)
"""Looks, gives an answer that is not valid, and then one that is."""


@pytest.fixture
async def resources() -> AsyncGenerator[ModelResources]:
    """Client of one test, whose connections are closed at its end."""
    own = ModelResources()
    yield own
    await own.close()


async def answered_by(model: Model, rig: Rig | None = None) -> TurnResult:
    return await run_turn(rig or make_rig(saying("look", "seen")), model, output_schema=CITIES)


def tools_of(body: dict[str, Any]) -> dict[str, Any]:
    """The schemas of the tools by their names, in whatever dialect."""
    tools = [each.get("function", each) for each in body["tools"]]
    return {each["name"]: each.get("parameters") or each.get("input_schema") for each in tools}


@pytest.mark.parametrize("name", ["openai/mock", "anthropic/claude-mock"])
async def test_over_our_own_adapters(resources: ModelResources, name: str) -> None:
    async with ModelServer(STORY) as server:
        result = await answered_by(make_model(name, Endpoint(api_base=server.url, api_key=KEY), resources))

    assert (result.stop_reason, result.structured, result.iterations) == ("end_turn", Structured(value=OSLO), 3)
    assert [tools_of(request.body)["structured_output"] for request in server.requests] == [OFFERED] * 3
    assert "$: [] should be non-empty" in json.dumps(server.requests[2].body)


CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("openai/gpt-4o", ("response_format", "json_schema", "schema")),
        ("anthropic/claude-sonnet-4-5", ("output_config", "format", "schema")),
    ],
)
async def test_a_model_that_takes_a_schema_for_its_text_answers_in_text(
    resources: ModelResources, name: str, form: tuple[str, ...]
) -> None:
    story = [STORY[0], Step(text=json.dumps(OSLO[0]))]
    async with ModelServer(story) as server:
        model = make_model(name, Endpoint(api_base=server.url, api_key=KEY), resources)
        result = await run_turn(make_rig(saying("look", "seen")), model, output_schema=CITY)

    assert (result.structured, result.iterations) == (Structured(value=OSLO[0]), 2)
    for request in server.requests:
        given: Any = request.body
        for key in form:
            given = given[key]
        assert given == CITY
        assert "structured_output" not in json.dumps(request.body)


async def test_a_model_that_refuses_the_schema_is_offered_the_tool(resources: ModelResources) -> None:
    refusal = Step(status=400, error="response_format of type json_schema is not supported with this model")
    give = Step(calls=(Call(name="structured_output", arguments=OSLO[0]),))
    async with ModelServer([refusal, Step(text="It is Oslo."), give]) as server:
        model = make_model("openai/gpt-4o", Endpoint(api_base=server.url, api_key=KEY), resources)
        result = await run_turn(make_rig(saying("look", "seen")), model, output_schema=CITY)

    assert (result.structured, result.iterations) == (Structured(value=OSLO[0]), 2)
    assert ["response_format" in request.body for request in server.requests] == [True, False, False]
    assert "structured_output" in tools_of(server.requests[2].body)


async def test_over_litellm(loader: LitellmLoader) -> None:
    async with ModelServer(STORY) as server:
        result = await answered_by(litellm_at(server, loader))

    assert (result.stop_reason, result.structured) == ("end_turn", Structured(value=OSLO))
    assert tools_of(server.requests[0].body)["structured_output"] == OFFERED


async def test_where_tools_are_text(resources: ModelResources) -> None:
    def call(name: str, given: dict[str, Any]) -> str:
        return f"```tool\n{json.dumps({'name': name, 'input': given})}\n```"

    texts = [call("look", {}), "It is Oslo.", call("structured_output", {"value": OSLO})]
    async with ModelServer([Step(text=text) for text in texts]) as server:
        inner = make_model("openai/mock", Endpoint(api_base=server.url, api_key=KEY), resources)
        result = await answered_by(TextToolCalls(inner, "on"))

    assert (result.stop_reason, result.structured, result.iterations) == ("end_turn", Structured(value=OSLO), 3)
    assert "## structured_output\n" in server.requests[0].texts("system")[0]


async def test_where_no_tools_can_be_offered_the_value_is_asked_for_as_text(tmp_path: Path) -> None:
    script = "import sys; t = sys.stdin.read(); print('[{\"name\": \"Oslo\"}]' if 'JSON Schema:' in t else 'Oslo.')"
    model = cli_model(script, tmp_path)
    deaf = replace(model.around, text_tool_calls=False).model("cli:toy")

    result = await answered_by(deaf)

    assert (result.stop_reason, result.structured, result.iterations) == ("end_turn", Structured(value=OSLO), 2)


async def test_a_program_calls_it_in_its_text(tmp_path: Path) -> None:
    call = json.dumps({"name": "structured_output", "input": {"value": OSLO}})
    model = cli_model(f"print('```tool\\n' + {call!r} + '\\n```')", tmp_path)
    result = await answered_by(model)
    assert (result.structured, result.iterations) == (Structured(value=OSLO), 1)


async def test_a_script_calls_it(tmp_path: Path, resources: ModelResources) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text(json.dumps({"tool_calls": [{"name": "structured_output", "input": {"value": OSLO}}]}))
    result = await answered_by(make_model(f"scripted:{script}", Endpoint(), resources))
    assert (result.structured, result.iterations) == (Structured(value=OSLO), 1)


async def test_the_model_without_a_network_says_that_it_cannot(resources: ModelResources) -> None:
    result = await answered_by(make_model("offline/rules", Endpoint(), resources))
    assert result.error is not None
    assert "gave no structured result" in result.error.message
