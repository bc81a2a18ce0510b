"""Models of installed packages: what they are given, and what becomes of what they answer."""

from __future__ import annotations

import itertools
import sys
from collections.abc import AsyncIterator, Generator, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.agent.messages import user_message
from pygent_ls.agent.ports.model import (
    Chunk,
    FinishChunk,
    ModelRequest,
    TextChunk,
    ToolCallChunk,
    ToolDefinition,
    UsageChunk,
)
from pygent_ls.api import Models
from pygent_ls.errors import ModelError
from pygent_ls.llm.packages import GROUP, PackageModel, load
from pygent_ls.llm.providers.endpoint import Endpoint
from tests.fakes import bounded

NUMBERS = itertools.count()
"""Numbers of modules: each is imported once."""

WAIT_S = 20.0
"""Longest wait for a package here."""

REQUEST = ModelRequest(
    system="Be brief.",
    messages=[user_message("hi")],
    tools=[ToolDefinition(name="look", description="Look.", schema={"type": "object"})],
    max_output_tokens=100,
    temperature=0.5,
)


class Package:
    """Packages that a test writes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def entry(self, code: str, value: str = "models") -> EntryPoint:
        """Write a module; return its entry point."""
        name = f"package_of_models_{next(NUMBERS)}"
        (self._folder / f"{name}.py").write_text(code)
        return EntryPoint(name="acme", value=f"{name}:{value}", group=GROUP)

    def model(self, body: str, first_byte_timeout_s: float = WAIT_S) -> PackageModel:
        """A model whose function `answer` has this body."""
        code = f"from pygent_ls.api import Models\nasync def answer(request):\n{body}\nmodels = Models(answer=answer)\n"
        return PackageModel("acme/large/v1", self.entry(code), Endpoint(first_byte_timeout_s=first_byte_timeout_s))


@pytest.fixture
def package(tmp_path: Path) -> Generator[Package]:
    """A place for packages that can be imported."""
    sys.path.insert(0, str(tmp_path))
    yield Package(tmp_path)
    sys.path.remove(str(tmp_path))


async def chunks_of(model: PackageModel) -> list[Chunk]:
    """All of an answer."""

    async def read() -> list[Chunk]:
        return [each async for each in model.stream(REQUEST)]

    return await bounded(read())


async def test_it_is_given_a_request_to_chat_completions_and_answers_with_text_or_chunks(package: Package) -> None:
    model = package.model(
        """
    yield repr(sorted(request)) + request["model"] + request["messages"][0]["content"]
    yield request["tools"][0]["function"]["name"]
    call = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}
    yield {"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    yield {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}}
"""
    )

    first, second, call, usage, finish = await chunks_of(model)

    keys = ["max_tokens", "messages", "model", "stream", "temperature", "tools"]
    assert first == TextChunk(text=f"{keys}large/v1Be brief.")
    assert second == TextChunk(text="look")
    assert isinstance(call, ToolCallChunk)
    assert (call.id, call.name, call.arguments) == ("c1", "look", "{}")
    assert isinstance(usage, UsageChunk)
    assert (usage.usage.input_tokens, usage.usage.output_tokens) == (7, 3)
    assert finish == FinishChunk(reason="tool_calls")
    assert model.ready


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("    raise RuntimeError('no tape')\n    yield", "RuntimeError: no tape"),
        ("    yield 'a'\n    yield 3", "a piece must be text or a chunk of chat completions, and not int"),
        ("    yield {'choices': {1, 2}}", "a piece is not JSON"),
        ("    yield {'error': {'message': 'out of cheese'}}", "out of cheese"),
        ("    return 'a'", "`answer` must be an async generator function"),
    ],
)
async def test_what_goes_wrong_in_a_package_is_an_error_of_the_call(body: str, why: str, package: Package) -> None:
    with pytest.raises(ModelError) as failure:
        await chunks_of(package.model(body))

    assert "The model acme/large/v1 failed" in failure.value.message
    assert why in failure.value.message


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise SystemExit(1)", "SystemExit: 1"),
        ("models = 3", "is not an instance of pygent_ls.api.Models"),
        ("", "AttributeError"),
        ("def (", "SyntaxError"),
    ],
)
async def test_a_package_that_cannot_be_imported_is_named(code: str, why: str, package: Package) -> None:
    with pytest.raises(ModelError, match="The models of the package acme cannot be used: ") as failure:
        await bounded(PackageModel("acme/x", package.entry(code), Endpoint()).prepare())

    assert why in failure.value.message


async def test_a_package_that_blocks_does_not_stop_the_daemon_and_is_ended_at_the_limit(package: Package) -> None:
    blocking = package.model(
        "    import threading\n    threading.Event().wait(2)\n    yield 'late'", first_byte_timeout_s=0.2
    )

    with pytest.raises(ModelError, match=r"answered nothing for 0\.2 s"):
        await chunks_of(blocking)


async def test_a_call_that_is_closed_is_closed_in_the_package(package: Package, tmp_path: Path) -> None:
    body = """
    from pathlib import Path
    try:
        n = 0
        while True:
            yield f"{n} "
            n += 1
    finally:
        Path(FILE).write_text(str(n))
""".replace("FILE", repr(str(tmp_path / "closed")))
    stream = package.model(body).stream(REQUEST)

    assert await bounded(anext(stream)) == TextChunk(text="0 ")
    await bounded(stream.aclose())

    assert int((tmp_path / "closed").read_text()) < 20  # it waits for its reader


async def answer(_request: Mapping[str, Any]) -> AsyncIterator[str]:
    """Answer."""
    yield "hello"


HERE = Models(answer=answer, names=["a"], context_limit=9, takes_tools=False, takes_images=True)


async def test_what_a_package_declares_are_the_facts_of_its_models() -> None:
    entry = EntryPoint(name="acme", value=f"{__name__}:HERE", group=GROUP)
    model = PackageModel("acme/a", entry, Endpoint())

    assert load(entry) is HERE
    await bounded(model.prepare())

    facts = model.facts
    assert (facts.context_limit, facts.has_native_tools, facts.takes_images) == (9, False, True)
    assert (await bounded(model.complete(REQUEST))).text == "hello"
