"""What handlers return, on the wire: every result is sent as JSON, and one that cannot be is an error."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from tests.fakes import bounded

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


class Words(str):
    """Text of a library, such as Beautiful Soup's."""

    __slots__ = ()


class Number(IntEnum):
    """A number with a name."""

    ONE = 1


class Name(StrEnum):
    """Text with a name."""

    FIRST = "first"


@asynccontextmanager
async def asked(result: Any) -> AsyncGenerator[list[Any]]:
    """Yield the responses to two requests, of a function and of a coroutine function that return this result."""
    sent: list[Any] = []
    endpoint = RpcEndpoint()
    endpoint.phase = "running"
    endpoint.mend = lambda _, params: dict(params)
    endpoint.write = lambda body: sent.append(json.loads(body))

    async def later(_: object) -> Any:
        return result

    endpoint.on_request("now", lambda _: result)
    endpoint.on_request("later", later)
    for number, method in enumerate(("now", "later")):
        endpoint.receive(json.dumps({"jsonrpc": "2.0", "id": number, "method": method}))
    await bounded(endpoint.end_requests(1.0))
    yield sent


@given(result=JSON)
async def test_a_result_is_sent_as_it_is(result: Any) -> None:
    async with asked(result) as sent:
        assert sent == [{"jsonrpc": "2.0", "id": number, "result": result} for number in (0, 1)]


@pytest.mark.parametrize(
    ("result", "plain"),
    [
        ({"a": Words("b")}, {"a": "b"}),
        ([Number.ONE, Name.FIRST], [1, "first"]),
        (MappingProxyType({"a": (1, 2)}), {"a": [1, 2]}),
        ("half \ud83d of a pair", "half \ud83d of a pair"),
        (10**30, 10**30),
        (float("nan"), None),
    ],
)
async def test_a_value_of_another_type_is_sent_as_what_it_stands_for(result: Any, plain: Any) -> None:
    async with asked(result) as sent:
        assert [each["result"] for each in sent] == [plain, plain]


async def test_a_result_that_is_no_json_is_an_error() -> None:
    async with asked(object()) as sent:
        assert [(each["id"], each["error"]["code"]) for each in sent] == [(0, -32603), (1, -32603)]
