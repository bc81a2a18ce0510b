"""Windows and prices from OpenRouter's list of models: fetched once, kept on the disk, and never in the way."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.llm.catalog.known_model import KnownModel, OwnFacts, Rates
from pygent_ls.llm.catalog.openrouter import MAX_AGE_S, ModelCatalog, listed_model
from pygent_ls.llm.http.call import Native
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.providers.known_providers import provider_named
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model
from tests.llm.loopback import KEY
from tests.llm.model_contract import chunks_of, joined
from tests.model_server import WAIT_S

SONNET: Mapping[str, Any] = {
    "id": "anthropic/claude-next",
    "canonical_slug": "anthropic/claude-next-20260901",
    "name": "Anthropic: Claude Next",
    "created": 1780000000,
    "context_length": 1000000,
    "architecture": {
        "modality": "text+image->text",
        "input_modalities": ["text", "image"],
        "output_modalities": ["text"],
        "tokenizer": "Claude",
        "instruct_type": None,
    },
    "pricing": {
        "prompt": "0.000003",
        "completion": "0.000015",
        "request": "0",
        "image": "0.0048",
        "web_search": "0.01",
        "internal_reasoning": "0",
        "input_cache_read": "0.0000003",
        "input_cache_write": "0.00000375",
    },
    "top_provider": {"context_length": 1000000, "max_completion_tokens": 64000, "is_moderated": True},
    "per_request_limits": None,
    "supported_parameters": ["include_reasoning", "max_tokens", "reasoning", "tool_choice", "tools"],
}

AUTO: Mapping[str, Any] = {
    "id": "openrouter/auto",
    "context_length": 2000000,
    "architecture": {"input_modalities": ["text", "image"]},
    "pricing": {"prompt": "-1", "completion": "-1"},
    "top_provider": {"context_length": None, "max_completion_tokens": None, "is_moderated": False},
    "supported_parameters": [],
}

PLAIN: Mapping[str, Any] = {
    "id": "meta/plain",
    "context_length": 8192,
    "architecture": {"input_modalities": ["text"]},
    "pricing": {"prompt": "0", "completion": "0"},
    "top_provider": {"context_length": 4096, "max_completion_tokens": None},
    "supported_parameters": ["max_tokens", "temperature"],
}

LIST = {"data": [SONNET, AUTO, PLAIN]}

STREAM = 'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


@dataclass(slots=True)
class Lister:
    """A server that has a list of models, and answers every call."""

    body: bytes = field(default_factory=lambda: json.dumps(LIST).encode())
    status: int = 200
    hangs: bool = False
    url: str = ""
    heads: list[str] = field(default_factory=list[str])
    """Headers of the requests for the list."""

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            kind, status, body = "text/event-stream", 200, STREAM.encode()
            if head.startswith("get "):
                self.heads.append(head)
                kind, status, body = "application/json", self.status, self.body
                if self.hangs:
                    await reader.read()  # until the client goes away
            lines = [
                f"HTTP/1.1 {status} x",
                f"content-type: {kind}",
                f"content-length: {len(body)}",
                "connection: close",
            ]
            writer.write("\r\n".join([*lines, "", ""]).encode() + body)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def listing(lister: Lister) -> AsyncGenerator[Lister]:
    server = await asyncio.start_server(lister.connected, "127.0.0.1", 0)
    async with server:
        lister.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        yield lister


@asynccontextmanager
async def process(folder: Path | None, wait_s: float = WAIT_S) -> AsyncGenerator[ModelResources]:
    """What the models of one process share."""
    own = ModelResources(catalog=ModelCatalog(folder, wait_s=wait_s))
    yield own
    await own.close()


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def known(
    resources: ModelResources, url: str, name: str = "openrouter/anthropic/claude-next", own: OwnFacts | None = None
) -> KnownModel:
    facts = {name: own} if own else {}
    provider, _, bare = name.partition("/")
    row = provider_named(provider)
    assert row is not None
    endpoint = Endpoint(api_base=url, api_key=KEY, own_facts=facts)
    native = Native(name=name, provider=row, model=bare, endpoint=endpoint, resources=resources)
    async with asyncio.timeout(WAIT_S):
        await native.prepared()
    return native.known


async def test_window_price_and_abilities_are_those_of_the_list(tmp_path: Path) -> None:
    async with listing(Lister()) as lister, process(tmp_path) as resources:
        found = await known(resources, lister.url)

    assert (found.context_limit, found.max_output_tokens) == (1_000_000, 64_000)
    assert found.rates == (Rates(input=3e-6, output=1.5e-5, cache_read=3e-7, cache_write=3.75e-6),)
    assert (found.has_native_tools, found.takes_images, found.thinks, found.takes_temperature) == (
        True,
        True,
        True,
        False,
    )
    assert found.source == "OpenRouter's list of models"


async def test_no_key_goes_with_the_request_for_the_list(tmp_path: Path) -> None:
    async with listing(Lister()) as lister, process(tmp_path) as resources:
        await known(resources, lister.url)

    (head,) = lister.heads
    assert head.startswith("get /v1/models ")
    assert "authorization" not in head
    assert KEY not in head


async def test_the_list_is_fetched_once_and_serves_the_next_process(tmp_path: Path) -> None:
    async with listing(Lister()) as lister:
        async with process(tmp_path) as resources:
            both = await asyncio.gather(known(resources, lister.url), known(resources, lister.url))
            await known(resources, lister.url, "openrouter/meta/plain")
        async with process(tmp_path) as later:
            assert await known(later, lister.url) == both[0] == both[1]

    assert len(lister.heads) == 1


async def test_a_list_of_yesterday_is_fetched_again_and_serves_while_there_is_no_network(tmp_path: Path) -> None:
    async with listing(Lister()) as lister:
        async with process(tmp_path) as resources:
            before = await known(resources, lister.url)
        (file,) = files_in(tmp_path)
        yesterday = time.time() - MAX_AGE_S - 60
        os.utime(file, (yesterday, yesterday))
        lister.body = json.dumps({"data": [{**SONNET, "context_length": 77, "top_provider": {}}]}).encode()
        async with process(tmp_path) as resources:
            assert (await known(resources, lister.url)).context_limit == 77
        os.utime(file, (yesterday, yesterday))
        lister.status = 503
        async with process(tmp_path) as resources:
            assert (await known(resources, lister.url)).context_limit == 77
        assert before.context_limit == 1_000_000
    assert len(lister.heads) == 3


async def test_a_server_that_is_slow_to_list_does_not_hold_up_the_call(tmp_path: Path) -> None:
    async with listing(Lister(hangs=True)) as lister, process(tmp_path, wait_s=0.05) as resources:
        model = make_model("openrouter/anthropic/claude-next", Endpoint(api_base=lister.url, api_key=KEY), resources)
        async with asyncio.timeout(WAIT_S):
            assert joined(await chunks_of(model)).text == "Hi"
            await known(resources, lister.url, "openrouter/meta/plain")

    assert len(lister.heads) == 1, "after a failure it is left alone for a while"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"data": {}}', b'{"data": [1, {"id": 2}, {"id": "anthropic/claude-next"}]}', b"\xff"]
)
async def test_a_list_that_cannot_be_read_knows_nothing(tmp_path: Path, body: bytes) -> None:
    async with listing(Lister(body=body)) as lister, process(tmp_path) as resources:
        found = await known(resources, lister.url)

    assert (found.context_limit, found.rates) == (None, ())
    assert found.facts.has_price, "it tells the cost of each call"


@pytest.mark.parametrize("kept", [b"", b"{", b"[]", b'{"models": 3}', b"\xff"])
async def test_a_kept_list_that_is_damaged_is_fetched_again(tmp_path: Path, kept: bytes) -> None:
    async with listing(Lister()) as lister:
        async with process(tmp_path) as resources:
            await known(resources, lister.url)
        (file,) = files_in(tmp_path)
        file.write_bytes(kept)
        async with process(tmp_path) as resources:
            assert (await known(resources, lister.url)).context_limit == 1_000_000

    assert files_in(tmp_path) == [file], "nothing half written is left"


async def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    async with listing(Lister()) as lister, process(tmp_path / "file" / "folder") as resources:
        assert (await known(resources, lister.url)).context_limit == 1_000_000


async def test_ones_own_facts_stand_above_the_list(tmp_path: Path) -> None:
    own = OwnFacts(context_limit=5, input_usd_per_mtok=1.0, output_usd_per_mtok=2.0)
    async with listing(Lister()) as lister, process(tmp_path) as resources:
        found = await known(resources, lister.url, own=own)

    assert (found.context_limit, found.max_output_tokens) == (5, 64_000)
    assert found.source == "your settings"


async def test_variants_of_a_model_have_its_window() -> None:
    async with listing(Lister()) as lister, process(None) as resources:
        nitro = await known(resources, lister.url, "openrouter/anthropic/claude-next:nitro")

    assert nitro.context_limit == 1_000_000


async def test_a_dollar_budget_can_be_kept_with_the_default_model() -> None:
    async with listing(Lister()) as lister, process(None) as resources:
        auto = await known(resources, lister.url, "openrouter/openrouter/auto")

    assert (auto.context_limit, auto.rates, auto.facts.has_price) == (2_000_000, (), True)
    assert auto.has_native_tools, "a model that lists no parameters is not known to lack any"


def test_an_entry_without_tools_or_pictures_says_so() -> None:
    plain = listed_model(PLAIN)

    assert (plain.has_native_tools, plain.takes_images, plain.thinks) == (False, False, False)
    assert (plain.context_limit, plain.rates) == (4096, (Rates(input=0, output=0, cache_read=0, cache_write=0),))


async def test_other_providers_are_not_asked(tmp_path: Path) -> None:
    async with listing(Lister()) as lister, process(tmp_path) as resources:
        await known(resources, lister.url, "groq/m")

    assert lister.heads == []
