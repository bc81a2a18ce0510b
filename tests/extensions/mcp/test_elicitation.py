"""Questions of servers with several choices, and structured results, in the SDK's own types."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp_types import ElicitRequestFormParams, TextContent

from pygent_ls.agent.ports.questioner import Question, QuestionAnswer, QuestionAnswered, QuestionNotAnswered
from pygent_ls.extensions.mcp.elicitation import elicit
from pygent_ls.extensions.mcp.tools import model_text


async def answered(field: dict[str, Any], *answers: str, required: bool = True) -> tuple[Any, list[Question]]:
    """What a server gets for a form with this field, and what the user was asked."""
    asked: list[Question] = []

    async def ask(question: Question) -> QuestionAnswer:
        asked.append(question)
        return QuestionAnswered(text=answers[len(asked) - 1]) if len(asked) <= len(answers) else QuestionNotAnswered()

    schema = {"type": "object", "properties": {"fruit": field}, "required": ["fruit"] if required else []}
    params = ElicitRequestFormParams.model_validate({"message": "Choose.", "requestedSchema": schema})
    return await elicit("toy", params, ask), asked


COLORS = {"type": "array", "items": {"type": "string", "enum": ["red", "green"]}}
TITLED = {"type": "array", "items": {"anyOf": [{"const": "r", "title": "Red, dark"}, {"const": "g", "title": "Green"}]}}


@pytest.mark.parametrize(
    ("field", "answers", "expected"),
    [
        (COLORS, ["green, red"], ["green", "red"]),
        (COLORS, ["red,red"], ["red"]),
        (COLORS, ["zzz", "red"], ["red"]),
        (TITLED, ["Red, dark; Green"], ["r", "g"]),
    ],
)
async def test_of_several_choices_only_those_are_taken(
    field: dict[str, Any], answers: list[str], expected: list[str]
) -> None:
    result, asked = await answered(field, *answers)

    assert (result.action, result.content) == ("accept", {"fruit": expected})
    assert "The MCP server toy asks: Choose." in asked[0].text
    assert {each.server for each in asked} == {"toy"}
    assert ("red, green" if field is COLORS else "Red, dark; Green") in asked[0].text
    if answers[0] == "zzz":
        assert "'zzz' cannot be chosen." in asked[1].text


async def test_answers_that_never_fit_cancel_the_form() -> None:
    result, asked = await answered(COLORS, "a", "b", "c", "red")

    assert (result.action, result.content) == ("cancel", None)
    assert len(asked) == 3


async def test_an_optional_field_may_have_none_of_the_choices() -> None:
    result, asked = await answered(COLORS, "-", required=False)

    assert (result.action, result.content) == ("accept", {"fruit": []})
    assert "(- for none)" in asked[0].text
    assert (await answered(COLORS, "-"))[0].action == "cancel"


ROWS = {"rows": [1, 2, 3]}


@pytest.mark.parametrize(
    ("texts", "structured", "is_added"),
    [
        (["3 rows found"], ROWS, True),
        ([], ROWS, True),
        ([json.dumps(ROWS)], ROWS, False),
        (["Here they are:", json.dumps(ROWS, indent=4)], ROWS, False),
        (["the sum is 3"], {"result": "the sum is 3"}, False),
        (["one", "two"], {"result": ["one", "two"]}, False),
        (["1", "2"], {"result": [1, 2]}, False),
        (["one"], {"result": ["one", "two"]}, True),
        (["one"], None, False),
    ],
)
def test_a_structured_result_is_shown_unless_a_text_repeats_it(
    texts: list[str], structured: Any, is_added: bool
) -> None:
    text, _ = model_text([TextContent(type="text", text=each) for each in texts], structured)

    added = [json.dumps(structured, ensure_ascii=False, indent=2)] if is_added else []
    assert text == "\n".join([*texts, *added])
