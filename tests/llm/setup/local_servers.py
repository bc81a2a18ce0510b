"""Servers on loopback that list their models as Ollama, LM Studio, llama.cpp and vLLM do, and answer a chat."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

OLLAMA: Mapping[str, Any] = {
    "/api/tags": {
        "models": [
            {
                "name": "qwen3:8b",
                "model": "qwen3:8b",
                "modified_at": "2025-10-03T23:34:03.409490317-07:00",
                "size": 5225388164,
                "digest": "a2af6cc3eb7fa8be8504abaf9b04e88f17a119ec3f04a3addf55f92841195f5a",
                "details": {"format": "gguf", "family": "qwen3", "families": ["qwen3"], "parameter_size": "8.2B"},
            },
            {"name": "nomic-embed-text:latest", "model": "nomic-embed-text:latest", "size": 274302450},
        ]
    },
    "/v1/models": {
        "object": "list",
        "data": [
            {"id": "qwen3:8b", "object": "model", "created": 1759559643, "owned_by": "library"},
            {"id": "nomic-embed-text:latest", "object": "model", "created": 1759559643, "owned_by": "library"},
        ],
    },
}

EMPTY_OLLAMA: Mapping[str, Any] = {"/api/tags": {"models": []}, "/v1/models": {"object": "list", "data": None}}

LM_STUDIO: Mapping[str, Any] = {
    "/api/v0/models": {
        "object": "list",
        "data": [
            {
                "id": "meta-llama-3.1-8b-instruct",
                "object": "model",
                "type": "llm",
                "publisher": "lmstudio-community",
                "arch": "llama",
                "compatibility_type": "gguf",
                "state": "not-loaded",
            },
            {
                "id": "qwen2-vl-7b-instruct",
                "object": "model",
                "type": "vlm",
                "publisher": "mlx-community",
                "compatibility_type": "mlx",
                "state": "loaded",
            },
            {"id": "text-nomic-v1.5", "type": "embeddings", "publisher": "nomic-ai", "compatibility_type": "gguf"},
        ],
    },
    "/v1/models": {
        "object": "list",
        "data": [
            {"id": "meta-llama-3.1-8b-instruct", "object": "model", "owned_by": "organization_owner"},
            {"id": "qwen2-vl-7b-instruct", "object": "model", "owned_by": "organization_owner"},
        ],
    },
    # It answers what it does not know with 200.
    "/api/tags": {"error": "Unexpected endpoint or method. (GET /api/tags)"},
}

_OF_LLAMA_CPP: Mapping[str, Any] = {
    "models": [
        {"name": "gemma-3-4b.gguf", "model": "gemma-3-4b.gguf", "type": "model", "capabilities": ["completion"]}
    ],
    "object": "list",
    "data": [
        {
            "id": "gemma-3-4b.gguf",
            "object": "model",
            "created": 1759559643,
            "owned_by": "llamacpp",
            "meta": {"n_ctx_train": 131072},
        }
    ],
}
LLAMA_CPP: Mapping[str, Any] = {"/v1/models": _OF_LLAMA_CPP, "/api/tags": _OF_LLAMA_CPP}

VLLM: Mapping[str, Any] = {
    "/v1/models": {
        "object": "list",
        "data": [
            {
                "id": "Qwen/Qwen3-8B",
                "object": "model",
                "created": 1677610602,
                "owned_by": "vllm",
                "root": "Qwen/Qwen3-8B",
                "parent": None,
                "max_model_len": 40960,
            }
        ],
    }
}

NOTHING: Mapping[str, Any] = {}


@dataclass(kw_only=True)
class LocalServer:
    """One server: what it answers to a GET, and what it was sent."""

    port: int = 0
    lists: Mapping[str, Any]
    chunked: bool = False
    silent: bool = False
    """Whether the server accepts connections but answers nothing."""
    all_asked: asyncio.Barrier | None = None
    """What an answer waits for."""
    requests: list[tuple[str, Mapping[str, str]]] = field(default_factory=list[tuple[str, Mapping[str, str]]])
    """Paths and headers."""

    @property
    def url(self) -> str:
        """Without a path."""
        return f"http://127.0.0.1:{self.port}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request on a connection."""
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.BrokenBarrierError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            _, path, _ = head[0].split(" ")
            headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in head[1:])}
            self.requests.append((path, headers))
            if self.silent:
                await reader.read()
                return
            if self.all_asked is not None:
                await self.all_asked.wait()
            known = path in self.lists
            body = json.dumps(self.lists[path] if known else {"error": "not found"}).encode()
            status = "200 OK" if known else "404 Not Found"
            writer.write(f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n".encode())
            if self.chunked:
                writer.write(b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
                writer.write_eof()
            else:
                writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            await writer.drain()
            await reader.read()


@asynccontextmanager
async def serving(
    lists: Mapping[str, Any],
    *,
    chunked: bool = False,
    silent: bool = False,
    all_asked: asyncio.Barrier | None = None,
) -> AsyncGenerator[LocalServer]:
    """Serve these answers to GET, by path."""
    local = LocalServer(lists=lists, chunked=chunked, silent=silent, all_asked=all_asked)
    exchanges: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        exchanges.add(task)
        try:
            await local.answer(reader, writer)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    local.port = server.sockets[0].getsockname()[1]
    try:
        yield local
    finally:
        server.close()
        await asyncio.gather(*exchanges)


def nowhere() -> Mapping[str, str]:
    """The environment in which no local server is found."""
    closed = "http://127.0.0.1:9"
    names = ("OLLAMA_API_BASE", "LM_STUDIO_API_BASE", "LLAMAFILE_API_BASE", "HOSTED_VLLM_API_BASE")
    return {name: f"{closed}/{name.lower()}" for name in names}
