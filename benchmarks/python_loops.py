"""Agents in Python as programs, to measure: bare loops over HTTP libraries, and two agent libraries.

A program reads prompts as lines of JSON (`{"prompt": …}`, `{"cancel": true}`) and writes `{"text": …}` for each piece
of an answer and `{"end": true}` after it. It has one tool, `read_file`, and keeps its conversation in memory.

usage: python benchmarks/python_loops.py httpx|aiohttp|pydantic-ai|openai-agents URL FOLDER
"""

# pyright: basic, reportMissingImports=false
# The two agent libraries have an environment of their own.

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from pathlib import Path
from typing import Any

Turn = Callable[[str], AsyncGenerator[str]]

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read_file",
            "description": "Read a file.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        },
    }
]

INSTRUCTIONS = "You are an agent."


def httpx_loop(url: str, folder: Path) -> Turn:
    """A loop over httpx."""
    import httpx

    client = httpx.AsyncClient(timeout=60)

    async def lines(body: dict[str, Any]) -> AsyncIterator[str]:
        async with client.stream("POST", f"{url}/chat/completions", json=body) as reply:
            async for line in reply.aiter_lines():
                yield line

    return _bare(lines, folder)


def aiohttp_loop(url: str, folder: Path) -> Turn:
    """A loop over aiohttp."""
    import aiohttp

    client: aiohttp.ClientSession | None = None

    async def lines(body: dict[str, Any]) -> AsyncIterator[str]:
        nonlocal client
        client = client or aiohttp.ClientSession()
        async with client.post(f"{url}/chat/completions", json=body) as reply:
            async for line in reply.content:
                yield line.decode().rstrip("\n")

    return _bare(lines, folder)


def _bare(lines: Callable[[dict[str, Any]], AsyncIterator[str]], folder: Path) -> Turn:
    messages: list[dict[str, Any]] = [{"role": "system", "content": INSTRUCTIONS}]

    async def turn(prompt: str) -> AsyncGenerator[str]:
        messages.append({"role": "user", "content": prompt})
        calls: dict[int, dict[str, str]] | None = None
        while calls is None or calls:
            calls, text = {}, ""
            async for line in lines({"model": "mock", "messages": messages, "tools": TOOLS, "stream": True}):
                if not line.startswith("data: ") or line == "data: [DONE]":
                    continue
                for choice in json.loads(line[6:])["choices"]:
                    if content := choice["delta"].get("content"):
                        text += content
                        yield content
                    for piece in choice["delta"].get("tool_calls", []):
                        call = calls.setdefault(piece["index"], {"id": "", "name": "", "arguments": ""})
                        call["id"] = piece.get("id") or call["id"]
                        call["name"] = piece["function"].get("name") or call["name"]
                        call["arguments"] += piece["function"].get("arguments", "")
            asked = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": call["arguments"]},
                }
                for call in calls.values()
            ]
            messages.append({"role": "assistant", "content": text, **({"tool_calls": asked} if asked else {})})
            for call in calls.values():
                content = (folder / json.loads(call["arguments"])["path"]).read_text()
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})

    return turn


def pydantic_ai(url: str, folder: Path) -> Turn:
    """An agent of pydantic-ai."""
    from pydantic_ai import Agent, AgentRunResultEvent, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.usage import UsageLimits

    model = OpenAIChatModel("mock", provider=OpenAIProvider(base_url=url, api_key="none"))
    agent = Agent(model, instructions=INSTRUCTIONS)
    history: list[Any] = []

    @agent.tool_plain
    def read_file(path: str) -> str:
        """Read a file."""
        return (folder / path).read_text()

    async def turn(prompt: str) -> AsyncGenerator[str]:
        nonlocal history
        limits = UsageLimits(request_limit=None)
        async with agent.run_stream_events(prompt, message_history=history, usage_limits=limits) as events:
            async for event in events:
                match event:
                    case (
                        PartStartEvent(part=TextPart(content=text))
                        | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
                    ):
                        yield text
                    case AgentRunResultEvent(result=result):
                        history = result.all_messages()
                    case _:
                        pass

    return turn


def openai_agents(url: str, folder: Path) -> Turn:
    """An agent of openai-agents."""
    from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)

    @function_tool
    def read_file(path: str) -> str:
        """Read a file."""
        return (folder / path).read_text()

    model = OpenAIResponsesModel("mock", AsyncOpenAI(base_url=url, api_key="none"))
    agent = Agent(name="agent", instructions=INSTRUCTIONS, model=model, tools=[read_file])
    history: list[Any] = []

    async def turn(prompt: str) -> AsyncGenerator[str]:
        nonlocal history
        result = Runner.run_streamed(agent, [*history, {"role": "user", "content": prompt}], max_turns=1000)
        try:
            async for event in result.stream_events():
                if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                    yield event.data.delta
        except asyncio.CancelledError:
            result.cancel()
            raise
        history = result.to_input_list()

    return turn


LOOPS = {
    "httpx": httpx_loop,
    "aiohttp": aiohttp_loop,
    "pydantic-ai": pydantic_ai,
    "openai-agents": openai_agents,
}


async def serve(turn: Turn) -> None:
    """Answer prompts until the end of the input."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    tell({"ready": True})
    running: asyncio.Task[None] | None = None
    while line := await reader.readline():
        message = json.loads(line)
        if "prompt" in message:
            running = asyncio.create_task(answer(turn, message["prompt"]))
        elif running:
            running.cancel()


async def answer(turn: Turn, prompt: str) -> None:
    """Write the pieces of an answer, and its end."""
    pieces = turn(prompt)
    try:
        async for text in pieces:
            tell({"text": text})
    finally:
        await pieces.aclose()
        tell({"end": True})


def tell(message: dict[str, Any]) -> None:
    """Write a line."""
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    asyncio.run(serve(LOOPS[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))))
