"""What is at hand: keys, local servers, programs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from pygent_ls.llm.setup.discovery import Discovered, LocalServer, discover, places, server_at
from tests.fakes import bounded
from tests.llm.setup.local_servers import (
    EMPTY_OLLAMA,
    LLAMA_CPP,
    LM_STUDIO,
    NOTHING,
    OLLAMA,
    VLLM,
    nowhere,
    serving,
)


async def found(environment: Mapping[str, str]) -> Discovered:
    return await bounded(discover({**nowhere(), **environment}, lambda _: None))


@pytest.mark.parametrize(
    ("answers", "variable", "kind", "models"),
    [
        (OLLAMA, "OLLAMA_API_BASE", "Ollama", ("ollama_chat/qwen3:8b",)),
        (EMPTY_OLLAMA, "OLLAMA_API_BASE", "Ollama", ()),
        (
            LM_STUDIO,
            "LM_STUDIO_API_BASE",
            "LM Studio",
            ("lm_studio/qwen2-vl-7b-instruct", "lm_studio/meta-llama-3.1-8b-instruct"),
        ),
        (LLAMA_CPP, "LLAMAFILE_API_BASE", "llama.cpp", ("llamafile/gemma-3-4b.gguf",)),
        (VLLM, "HOSTED_VLLM_API_BASE", "vLLM", ("hosted_vllm/Qwen/Qwen3-8B",)),
    ],
)
@pytest.mark.parametrize("chunked", [False, True])
async def test_a_server_is_found_with_its_models(
    answers: Mapping[str, Any], variable: str, kind: str, models: tuple[str, ...], chunked: bool
) -> None:
    async with serving(answers, chunked=chunked) as server:
        (local,) = (await found({variable: f"{server.url}/v1"})).servers

    assert (local.kind, local.address, local.api_base) == (kind, server.url, "")
    assert tuple(map(local.name_of, local.models)) == models


async def test_a_server_is_told_by_what_it_answers_and_not_by_its_port() -> None:
    async with serving(VLLM) as server:
        (local,) = (await found({"LLAMAFILE_API_BASE": f"{server.url}/v1"})).servers

    assert (local.kind, local.name_of(local.models[0])) == ("vLLM", "llamafile/Qwen/Qwen3-8B")


async def test_a_web_server_that_lists_no_models_is_none() -> None:
    async with serving(NOTHING) as server, serving({"/v1/models": ["odd"], "/api/tags": "odd"}) as odd:
        both = await found({"LLAMAFILE_API_BASE": server.url, "OLLAMA_API_BASE": odd.url})

    assert both == Discovered()


async def test_a_name_that_no_model_has_is_not_listed() -> None:
    names = ["A" * 100_000, "qwen\x1b[31m", "qwen3:8b", "", "qwen\u202ekcab"]
    async with serving({"/v1/models": {"data": [{"id": name, "owned_by": "vllm"} for name in names]}}) as server:
        (listed,) = (await found({"HOSTED_VLLM_API_BASE": server.url})).servers

    assert listed.models == ("qwen3:8b",)


@pytest.mark.parametrize("with_scheme", [False, True])
async def test_ollamas_own_variable_is_respected_and_what_it_says_has_to_be_set(with_scheme: bool) -> None:
    async with serving(OLLAMA) as server:
        host = server.url if with_scheme else server.url.removeprefix("http://")
        others = {name: value for name, value in nowhere().items() if name != "OLLAMA_API_BASE"}
        found = await bounded(discover({**others, "OLLAMA_HOST": host}, lambda _: None))

    assert found.servers == (
        LocalServer(
            kind="Ollama", provider="ollama_chat", address=server.url, models=("qwen3:8b",), api_base=server.url
        ),
    )


@pytest.mark.parametrize(
    ("host", "root", "api_base"),
    [
        ("", "http://localhost:11434", ""),
        ("0.0.0.0", "http://127.0.0.1:11434", "http://127.0.0.1:11434"),
        (":1234", "http://127.0.0.1:1234", "http://127.0.0.1:1234"),
        ("https://models.example", "https://models.example:443", "https://models.example:443"),
        ("[::]:11434", "http://[::1]:11434", "http://[::1]:11434"),
        ("localhost:port", "http://localhost:11434", ""),
    ],
)
def test_what_ollama_listens_at_becomes_what_can_be_called(host: str, root: str, api_base: str) -> None:
    ollama = places({"OLLAMA_HOST": host})[0]

    assert (ollama.root, ollama.api_base) == (root, api_base)


def test_the_usual_addresses_are_asked() -> None:
    assert [each.root for each in places({})] == [
        "http://localhost:11434",
        "http://localhost:1234",
        "http://localhost:8080",
        "http://localhost:8000",
    ]


async def test_servers_that_say_nothing_hide_no_other() -> None:
    async with serving(NOTHING, silent=True) as one, serving(NOTHING, silent=True) as other, serving(VLLM) as third:
        both = await found(
            {"OLLAMA_API_BASE": one.url, "LM_STUDIO_API_BASE": other.url, "HOSTED_VLLM_API_BASE": third.url}
        )

    assert [each.kind for each in both.servers] == ["vLLM"]


async def test_all_servers_are_asked_for_everything_at_once() -> None:
    all_asked = asyncio.Barrier(3 * 3)
    async with (
        serving(VLLM, all_asked=all_asked) as one,
        serving(VLLM, all_asked=all_asked) as other,
        serving(VLLM, all_asked=all_asked) as third,
    ):
        all_three = await found(
            {"OLLAMA_API_BASE": one.url, "LM_STUDIO_API_BASE": other.url, "HOSTED_VLLM_API_BASE": third.url}
        )
        await all_asked.abort()

    assert len(all_three.servers) == 3


async def test_a_key_that_a_server_wants_is_sent_to_that_server_alone() -> None:
    async with serving(VLLM) as keyed, serving(OLLAMA) as other:
        await found(
            {"HOSTED_VLLM_API_BASE": keyed.url, "HOSTED_VLLM_API_KEY": "for-vllm", "OLLAMA_API_BASE": other.url}
        )

    assert {headers.get("authorization") for _, headers in keyed.requests} == {"Bearer for-vllm"}
    assert {headers.get("authorization") for _, headers in other.requests} == {None}


async def test_keys_of_the_environment_saved_keys_and_installed_programs_are_found() -> None:
    environment = {**nowhere(), "GEMINI_API_KEY": "g", "OPENAI_API_KEY": "", "OLLAMA_API_KEY": "o"}

    both = await bounded(
        discover(environment, {"claude": "/bin/claude", "ollama": "/bin/ollama"}.get, ["mistral", "zai"])
    )

    assert [(provider.name, variable) for provider, variable in both.keyed] == [
        ("gemini", "GEMINI_API_KEY"),
        ("mistral", ""),
        ("zai", ""),
    ]
    assert [each.model for each in both.programs] == ["cli:claude"]  # ollama is better asked as a server


@pytest.mark.parametrize(
    ("answers", "model", "path"),
    [(OLLAMA, "ollama_chat/qwen3:8b", "/v1"), (LM_STUDIO, "lm_studio/qwen2-vl-7b-instruct", "/v1")],
)
async def test_a_server_at_a_typed_address_is_reached_there(answers: Mapping[str, Any], model: str, path: str) -> None:
    async with serving(answers) as server:
        found = await bounded(server_at(f" {server.url.removeprefix('http://')}/ "))

    assert found is not None
    assert found.name_of(found.models[0]) == model
    assert found.api_base == f"{server.url}{path}"


@pytest.mark.parametrize("address", ["", "http://", "no address", "http://127.0.0.1:9", "ftp://127.0.0.1:9"])
async def test_where_nothing_answers_there_is_no_server(address: str) -> None:
    assert await bounded(server_at(address)) is None
