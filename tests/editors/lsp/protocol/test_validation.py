"""What clients send is accepted as the schema says, and errors name what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec import UNSET, Struct, to_builtins

from pygent_ls.editors.lsp.protocol.client_extensions import (
    ClientHook,
    ClientTool,
    HooksRegisterParams,
    ToolsRegisterParams,
)
from pygent_ls.editors.lsp.protocol.commands import CommandSession
from pygent_ls.editors.lsp.protocol.content import EditorContext, TextContent
from pygent_ls.editors.lsp.protocol.models import KeysParams
from pygent_ls.editors.lsp.protocol.schema import CLIENT_NOTIFICATIONS, CLIENT_REQUESTS, REQUESTS, wire_schema
from pygent_ls.editors.lsp.protocol.sessions import SessionAttachParams, SessionListParams
from pygent_ls.editors.lsp.protocol.turns import RetryParams, TurnStartParams
from pygent_ls.editors.lsp.protocol.validation import InvalidValueError, valid
from tests.editors.lsp.protocol.test_wrong_parameters import places, with_odd

KINDS: Mapping[str, type[Struct]] = {
    each.__name__: each
    for each in (
        *(params for params, _ in REQUESTS.values()),
        *CLIENT_NOTIFICATIONS.values(),
        *(result for _, result in CLIENT_REQUESTS.values()),
        *(ClientTool, ClientHook, CommandSession),
    )
    if each not in (ToolsRegisterParams, HooksRegisterParams, KeysParams)
}
"""All types but two whose items are validated one by one, and one whose schema allows other names of variables."""

ODD: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 1.0, 1.5, 3_600.5, 10_001, 10**30, "", "x", "x" * 65, "null", "1", [], [None]),
    *(["x"], [1], {}, {"a": 1}, {"type": "text", "text": "x"}, [{"type": "text", "text": "x"}], [{"type": "y"}]),
    *([{"type": 1}], [{}], [[]], {"type": "text"}, {"line": 1, "character": 2}),
)


@cache
def definitions() -> Any:
    return wire_schema()["$defs"]


@cache
def validator(name: str) -> Any:
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": definitions()})


def is_allowed(name: str, value: Any) -> bool:
    """Whether the schema allows it."""
    return validator(name).is_valid(value)


PLAIN: Mapping[str, st.SearchStrategy[Any]] = {
    "string": st.sampled_from(["x", "", "file:///a b.py", "a-b_1", "é😀"]),
    "integer": st.sampled_from([0, 1, 7, 2.0, 10_000, -1]),
    "number": st.sampled_from([0, 0.5, 60, 3_600]),
    "boolean": st.booleans(),
    "null": st.none(),
}


def values(schema: Any) -> st.SearchStrategy[Any]:
    """Values that the schema allows, or nearly so: limits are ignored."""
    if "$ref" in schema:
        return values(definitions()[schema["$ref"].rpartition("/")[2]])
    if known := schema.get("enum") or ([schema["const"]] if "const" in schema else []):
        return st.sampled_from(known)
    if alternatives := schema.get("anyOf") or schema.get("oneOf"):
        return st.one_of(*map(values, alternatives))
    match schema.get("type"):
        case "object":
            members = {name: values(each) for name, each in schema.get("properties", {}).items()}
            required = {name: members.pop(name) for name in schema.get("required", [])}
            return st.fixed_dictionaries(required, optional=members)
        case "array":
            return st.lists(values(schema["items"]), max_size=3)
        case kind:
            return PLAIN.get(kind, st.sampled_from(ODD))


@st.composite
def sent(draw: st.DrawFn) -> tuple[str, Any]:
    """The name of a type, and a value for it with up to two odd ones inside."""
    name = draw(st.sampled_from(sorted(KINDS)))
    value = draw(values({"$ref": f"#/$defs/{name}"}))
    for odd in draw(st.lists(st.sampled_from(ODD), max_size=2)):
        value = with_odd(value, draw(st.sampled_from([*places(value)])), odd)
    return name, value


@given(sent())
def test_what_the_schema_allows_is_accepted_and_nothing_else(case: tuple[str, Any]) -> None:
    name, value = case
    try:
        read = valid(KINDS[name], value)
    except InvalidValueError as error:
        problem = error.described("it")
        assert "an image requires either `data` or `uri`" in problem or not is_allowed(name, value)
    else:
        assert is_allowed(name, value)
        assert valid(KINDS[name], to_builtins(read)) == read


HALF = "\ud800"
RANGE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}


@pytest.mark.parametrize(
    ("kind", "value", "problem"),
    [
        (RetryParams, 7, "it: Input should be a valid dictionary"),
        (RetryParams, {}, "sessionId: Field required; turnId: Field required; action: Field required"),
        (
            RetryParams,
            {"sessionId": None, "turnId": 1, "action": "later"},
            "sessionId: Input should be a valid string; turnId: Input should be a valid string; "
            "action: Input should be 'now' or 'give_up'",
        ),
        (SessionListParams, {"limit": True}, "limit: Input should be a valid integer"),
        (SessionListParams, {"limit": 1.5}, "limit: Input should be a valid integer"),
        (SessionListParams, {"limit": 0}, "limit: Input should be greater than or equal to 1"),
        (SessionListParams, {"limit": 10_001.0}, "limit: Input should be less than or equal to 10000"),
        (
            TurnStartParams,
            {"prompt": "x", "turnId": "a\n", "maxBudgetUsd": float("nan"), "workDoneToken": []},
            "turnId: String should match pattern '^[A-Za-z0-9_-]{1,64}$'; "
            "maxBudgetUsd: Input should be greater than or equal to 0; "
            "workDoneToken: Input should be a valid string or integer",
        ),
        (
            TurnStartParams,
            {"prompt": [{"type": "text", "text": "x"}, {"type": "y"}, {"type": "z"}]},
            "prompt.blocks.1: Input tag 'y' found using 'type' does not match any of the expected tags: "
            "'text', 'file', 'selection', 'diagnostics', 'image', 'terminal', 'review'",
        ),
        (
            TurnStartParams,
            {"prompt": [{"text": "x"}]},
            "prompt.blocks.0: Unable to extract tag using discriminator 'type'",
        ),
        (
            TurnStartParams,
            {"prompt": "x", "context": {"diagnostics": [{"uri": "a", "items": [{"range": RANGE, "message": 1}, 2]}]}},
            "context.diagnostics.0.items.0.message: Input should be a valid string",
        ),
        (
            KeysParams,
            {"keys": {"no": "sk-1", "A_KEY": "two\nlines"}},
            "keys.no.[key]: String should match pattern "
            "'^[A-Z][A-Z0-9_]{0,100}(?:KEY|KEY_ID|TOKEN|SECRET|PASSWORD)$'; "
            "keys.A_KEY: String should match pattern '^[!-~]{1,4096}$'",
        ),
        (ClientTool, {"name": HALF, HALF: 1}, "description: Field required; inputSchema: Field required"),
        (ToolsRegisterParams, {"tools": {}}, "tools: it must be a list"),
    ],
)
def test_an_error_names_each_invalid_field(kind: type[Struct], value: Any, problem: str) -> None:
    with pytest.raises(InvalidValueError) as raised:
        valid(kind, value)

    assert raised.value.described("it") == problem


def test_of_very_many_problems_the_first_are_named() -> None:
    with pytest.raises(InvalidValueError) as raised:
        valid(KeysParams, {"keys": {str(number): "x" for number in range(1_000)}})

    assert raised.value.described("it").count("String should match") == 10


def test_a_number_with_a_decimal_point_is_a_whole_one_where_a_whole_one_is_meant() -> None:
    value = {"prompt": "x", "maxTokens": 5.0, "workDoneToken": 1.0, "outputSchema": {"minimum": 1.0}}

    read = valid(TurnStartParams, value)

    assert repr((read.max_tokens, read.work_done_token, read.output_schema)) == "(5, 1, {'minimum': 1.0})"


def test_unknown_members_are_ignored_and_missing_ones_have_their_default() -> None:
    read = valid(SessionAttachParams, {"sessionId": "s", "partialResultToken": 1, "as_": "items", HALF: 1})

    assert read == SessionAttachParams(session_id="s", partial_result_token=1, since_seq=0, as_="events")


def test_a_missing_member_of_the_context_is_not_null() -> None:
    read = valid(EditorContext, {"activeUri": None})

    assert (read.active_uri, read.open_uris) == (None, UNSET)


def test_half_a_surrogate_pair_in_a_name_hides_nothing() -> None:
    read = valid(TurnStartParams, {"prompt": [{"type": "text", "text": "x", HALF: 1}], HALF: {}})

    assert read.prompt == [TextContent(text="x")]
