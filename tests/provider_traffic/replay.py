"""Serves one recorded answer from a real HTTP server, and compares what the adapter reads with what is expected."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from pygent_ls.agent.messages import user_message
from pygent_ls.agent.model.answer import ModelAnswer
from pygent_ls.agent.ports.model import (
    FINISH_REASONS,
    Model,
    ModelRequest,
    ThinkingChunk,
    ToolCallChunk,
    ToolDefinition,
)
from pygent_ls.errors import ModelError
from pygent_ls.llm.anthropic.model import AnthropicModel
from pygent_ls.llm.http.call import Native
from pygent_ls.llm.message_rules import CALL_ID
from pygent_ls.llm.openai.chat_model import OpenAIModel
from pygent_ls.llm.openai.responses_model import ResponsesModel
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.providers.known_providers import provider_named
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model
from tests.provider_traffic.recordings import Recording

WAIT_S = 60.0

NOT_SENT = frozenset({"content-length", "transfer-encoding", "content-encoding", "connection", "keep-alive"})
"""Headers that belong to the recorded connection and not to the answer."""


@dataclass(slots=True, kw_only=True)
class Read:
    """What an adapter made of one answer."""

    answer: ModelAnswer = field(default_factory=ModelAnswer)
    thinking: list[str] = field(default_factory=list[str])
    signatures: list[str] = field(default_factory=list[str])
    redacted: list[str] = field(default_factory=list[str])
    is_sealed: bool = False
    """A call came with data that goes back to the provider as it is."""
    error: ModelError | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the answer came to its end."""
        return self.error is None and self.answer.finish is not None

    def value(self, name: str) -> object:
        """What is compared with the expectation of that name."""
        usage = self.answer.usage
        values: Mapping[str, object] = {
            "text": self.answer.text,
            "thinking": "".join(self.thinking),
            "finish": self.answer.finish,
            "whole": self.is_whole,
            "input": usage.input_tokens,
            "output": usage.output_tokens,
            "cache_read": usage.cache_read_tokens,
            "cache_write": usage.cache_write_tokens,
            "signatures": "".join(self.signatures),
            "redacted": self.redacted,
            "sealed": self.is_sealed,
            "error": self.error is not None,
            "type": self.error.type if self.error else None,
        }
        return values[name]

    def calls(self) -> list[list[object]]:
        """Id, name and arguments of each call; the id is the provider's own, also where ours is a shorter one."""
        found = self.answer.message("replayed", ()).tool_calls
        return [[(call.provider_data or {}).get(CALL_ID) or call.id, call.name, dict(call.input)] for call in found]


async def read_answer(recording: Recording, resources: ModelResources) -> Read:
    """The answer, as the adapter of the recording's provider reads it."""
    read = Read()
    async with served(recording) as url:
        try:
            async with asyncio.timeout(WAIT_S):
                async for chunk in model_of(recording, url, resources).stream(_request(recording)):
                    read.answer.add(chunk)
                    if isinstance(chunk, ToolCallChunk):
                        read.is_sealed = read.is_sealed or bool(chunk.provider_data)
                    if isinstance(chunk, ThinkingChunk):
                        read.thinking.append(chunk.thinking)
                        read.signatures += [chunk.signature] if chunk.signature else []
                        read.redacted += [chunk.redacted] if chunk.redacted else []
        except ModelError as error:
            read.error = error
    read.answer.close()
    return read


_ADAPTERS: Mapping[str, Callable[[Native], Model]] = {
    "chat": OpenAIModel,
    "messages": AnthropicModel,
    "responses": ResponsesModel,
}
"""By the form of the answer; the model string alone may lead to another one."""


def model_of(recording: Recording, url: str, resources: ModelResources) -> Model:
    """The adapter that calls the recording's provider, sent to another address."""
    endpoint = Endpoint(api_base=url, api_key="sk-of-the-replay", first_byte_timeout_s=WAIT_S, idle_timeout_s=WAIT_S)
    adapter = _ADAPTERS.get(recording.form)
    if adapter is None:
        return make_model(recording.model_string, endpoint, resources)
    start, _, bare = recording.model_string.removeprefix("litellm/").partition("/")
    provider = provider_named(start) or provider_named("openai")
    assert provider is not None
    name = f"{provider.name}/{bare}"
    return adapter(Native(name=name, provider=provider, model=bare, endpoint=endpoint, resources=resources))


def _request(recording: Recording) -> ModelRequest:
    """A request that offers the tools that the answer calls."""
    names = dict.fromkeys(str(call[1]) for call in recording.expect.get("calls", ()))
    tools = [ToolDefinition(name=each, description=each, schema={"type": "object"}) for each in names]
    messages = [user_message("Go on.", turn_id="replayed")]
    return ModelRequest(system="Replay.", messages=messages, tools=tools, max_output_tokens=4096, temperature=1.0)


@asynccontextmanager
async def served(recording: Recording) -> AsyncGenerator[str, None]:
    """Address of a server that gives this answer to every request."""
    body = recording.body.encode()
    headers = {name: value for name, value in recording.headers.items() if name.lower() not in NOT_SENT}
    lines = [f"HTTP/1.1 {recording.status} Recorded", *(f"{name}: {value}" for name, value in headers.items())]
    answer = "\r\n".join([*lines, f"content-length: {len(body)}", "connection: close", "", ""]).encode("latin-1") + body

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = next(
                (line.partition(":")[2] for line in head.split("\r\n") if line.startswith("content-len")), "0"
            )
            await reader.readexactly(int(length))
            writer.write(answer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client needed no more of it
        finally:
            writer.close()

    server = await asyncio.start_server(answered, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


def differences(recording: Recording, read: Read) -> Iterator[str]:
    """One line for each expectation that is not met."""
    if recording.expects_json_answer:
        if not read.is_whole:
            yield f"the JSON answer is not read: {read.error}"
        return
    for name, expected in recording.expect.items():
        if name == "calls":
            found, is_met = read.calls(), _same_calls(expected, read.calls())
        elif name == "finish":
            found = read.value(name)
            is_met = found == expected or _reason(found) == _reason(expected) != "unknown"
        else:
            found = read.value(name)
            is_met = found == expected
        if not is_met:
            failure = f" ({read.error.type}: {read.error})" if read.error else ""
            yield f"{name}: expected {_short(expected)}, read {_short(found)}{failure}"


def _same_calls(expected: list[list[Any]], found: list[list[object]]) -> bool:
    """Whether the calls are the same; an id that the provider did not send is ours to choose."""
    if len(expected) != len(found):
        return False
    pairs = zip(expected, found, strict=True)
    return all(want[1:] == have[1:] and (not want[0] or want[0] == have[0]) for want, have in pairs)


def _reason(finish: object) -> str:
    return FINISH_REASONS.get(str(finish), "unknown")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:90]} … {text[-90:]}"
