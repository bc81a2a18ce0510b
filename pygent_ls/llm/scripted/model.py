"""Model `scripted:FILE`, which plays answers from a file, for tests, demos and reproducible bug reports.

The file is JSON lines, one answer each, in order; empty lines are skipped. Every key is optional:

    {"text": "Hello", "thinking": "…", "tool_calls": [{"name": "read_file", "input": {"path": "a.py"}}],
     "finish_reason": "stop", "usage": {"input_tokens": 100, "output_tokens": 20}, "delay_s": 0.5, "chunk": 8,
     "error": {"type": "rate_limit", "message": "slow down"}}

`input` may also be a string, which is sent unchanged: for arguments that are not JSON. With `finish_reason` null the
stream breaks off. An `error` is raised after the rest of its line. A file that begins with `{"loop": true}` starts
again after its last line.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

from msgspec import Struct

from pygent_ls.agent.messages import Usage
from pygent_ls.agent.ports.model import (
    Chunk,
    Completion,
    FinishChunk,
    ModelFacts,
    ModelRequest,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    ToolDefinition,
    UsageChunk,
    completed,
)
from pygent_ls.errors import ModelError, ModelErrorType
from pygent_ls.llm.openai.chat_format import chat_tools
from pygent_ls.llm.providers.known_providers import SCRIPTED

DEFAULT_CHUNK_CHARS = 8
DEFAULT_USAGE = Usage(input_tokens=100, output_tokens=20, cost_usd=0.0, context_tokens=120)


class ScriptedCall(Struct, frozen=True, kw_only=True):
    """A tool call; `arguments` is JSON text, or an invalid replacement for it."""

    name: str
    arguments: str


class ScriptedError(Struct, frozen=True, kw_only=True):
    """An error that the call raises."""

    type: ModelErrorType
    message: str


class ScriptedAnswer(Struct, frozen=True, kw_only=True):
    """One line of the script."""

    text: str = ""
    thinking: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    finish_reason: str | None = "stop"
    usage: Usage = DEFAULT_USAGE
    delay_s: float = 0.0
    chunk: int = DEFAULT_CHUNK_CHARS
    error: ScriptedError | None = None


class Script(Struct, frozen=True, kw_only=True):
    """A whole file."""

    answers: tuple[ScriptedAnswer, ...] = ()
    loops: bool = False


@dataclass(slots=True)
class ScriptedModel:
    """Plays the script at `path` from its beginning; each object has its own position in it.

    `script` is the content of the file, after it was read.
    """

    path: Path
    script: Script | None = None
    _n_calls: int = field(default=0, init=False)

    @property
    def name(self) -> str:
        """The model string that selected it."""
        return f"{SCRIPTED}{self.path}"

    @property
    def ready(self) -> bool:
        """Always True: nothing heavy is loaded."""
        return True

    @property
    def facts(self) -> ModelFacts:
        """Facts of a model without a vendor and without a price."""
        return ModelFacts()

    async def prepare(self) -> None:
        """Read the script. Raises `ModelError` that names file, line and problem."""
        await self._read()

    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """Return the tools in the format of chat completions; they are not read."""
        return chat_tools(tools)

    async def complete(self, request: ModelRequest) -> Completion:
        """Return the whole answer, as `Model.complete` describes."""
        return await completed(self.stream(request), request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Yield the next answer, whatever the request is. Raises `ModelError` if the script says so or has ended."""
        script = await self._read()
        number = self._n_calls
        self._n_calls += 1
        answer = _answer(script, number, self.path)
        await asyncio.sleep(answer.delay_s)
        for chunk in _chunks(answer, number):
            yield chunk
            await asyncio.sleep(0)  # lets a cancellation or another turn run
        if answer.error is not None:
            raise ModelError(answer.error.message, type=answer.error.type, provider="scripted")

    async def _read(self) -> Script:
        if self.script is None:
            try:
                text = await asyncio.to_thread(self.path.expanduser().read_text, "utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise _problem(f"The script {self.path} cannot be read: {error}") from None
            self.script = parse_script(text, str(self.path))
        return self.script


def parse_script(text: str, file: str) -> Script:
    """Return the answers of a script. Raises `ModelError` that names file, line and problem."""
    answers: list[ScriptedAnswer] = []
    loops = False
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            given = _object(json.loads(line), "the line")
            if "loop" in given and not answers and not loops:
                loops = _loops(given)
            else:
                answers.append(_parse_answer(given))
        except (ValueError, RecursionError) as error:
            raise _problem(f"{file}, line {number}: {error}") from None
    if loops and not answers:
        raise _problem(f"{file}: loop is true, but the script has no answers")
    return Script(answers=tuple(answers), loops=loops)


def _answer(script: Script, number: int, path: Path) -> ScriptedAnswer:
    if script.loops:
        return script.answers[number % len(script.answers)]
    if number < len(script.answers):
        return script.answers[number]
    raise _problem(
        f"The script {path} has no more answers: it has {len(script.answers)}, and this is call {number + 1}."
    )


def _problem(message: str) -> ModelError:
    return ModelError(message, type="invalid_request", provider="scripted")


def _chunks(answer: ScriptedAnswer, number: int) -> Sequence[Chunk]:
    chunks: list[Chunk] = [ThinkingChunk(thinking=part) for part in _parts(answer.thinking, answer.chunk)]
    chunks += [TextChunk(text=part) for part in _parts(answer.text, answer.chunk)]
    for index, call in enumerate(answer.calls):
        chunks.append(ToolCallChunk(index=index, id=f"scripted_{number}_{index}", name=call.name))
        chunks += [ToolCallChunk(index=index, arguments=part) for part in _parts(call.arguments, answer.chunk)]
    if answer.error is None:
        chunks.append(UsageChunk(usage=answer.usage))
        if answer.finish_reason is not None:
            chunks.append(FinishChunk(reason=answer.finish_reason))
    return chunks


def _parts(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


# Parsing of a line: each function takes a decoded JSON value and raises ValueError with the problem.


def _parse_answer(given: dict[str, Any]) -> ScriptedAnswer:
    unknown = [key for key in given if key not in _FIELDS and key not in ("tool_calls", "finish_reason")]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is unknown; use one of {', '.join(sorted(_KNOWN))}")
    calls = tuple(_parse_call(call) for call in _list(given.get("tool_calls", []), "tool_calls"))
    finish = given.get("finish_reason", "tool_calls" if calls else "stop")
    if finish is not None:
        finish = _text(finish, "finish_reason")
    values: dict[str, Any] = {key: read(given[key], key) for key, read in _FIELDS.items() if key in given}
    return ScriptedAnswer(calls=calls, finish_reason=finish, **values)


def _parse_call(value: object) -> ScriptedCall:
    given = _only(_object(value, "a tool call"), ("name", "input"), "a tool call")
    arguments = given.get("input", {})
    if not isinstance(arguments, str):
        arguments = json.dumps(_object(arguments, "input"), ensure_ascii=False)
    return ScriptedCall(name=_text(given.get("name"), "name"), arguments=arguments)


def _loops(given: dict[str, Any]) -> bool:
    loops = _only(given, ("loop",), "the first line")["loop"]
    if not isinstance(loops, bool):
        raise ValueError(f"loop must be true or false, not {loops!r}")
    return loops


def _parse_usage(value: object, name: str) -> Usage:
    given = _only(_object(value, name), ("input_tokens", "output_tokens"), name)
    n_input = _whole(given.get("input_tokens", DEFAULT_USAGE.input_tokens), "input_tokens")
    n_output = _whole(given.get("output_tokens", DEFAULT_USAGE.output_tokens), "output_tokens")
    return Usage(input_tokens=n_input, output_tokens=n_output, cost_usd=0.0, context_tokens=n_input + n_output)


def _parse_error(value: object, name: str) -> ScriptedError:
    given = _only(_object(value, name), ("type", "message"), name)
    kind = given.get("type", "unknown")
    if kind not in get_args(ModelErrorType):
        raise ValueError(f"the type of an error must be one of {', '.join(get_args(ModelErrorType))}, not {kind!r}")
    message = _text(given.get("message", "the script makes this call fail"), "message")
    return ScriptedError(type=kind, message=message)


def _only(given: dict[str, Any], keys: Sequence[str], what: str) -> dict[str, Any]:
    unknown = [key for key in given if key not in keys]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is unknown in {what}; use one of {', '.join(keys)}")
    return given


def _object(value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} must be an object, not {_json_type(value)}")
    return cast("dict[str, Any]", value)


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{name} must be a list, not {_json_type(value)}")
    return cast("list[Any]", value)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text, not {_json_type(value)}")
    return value


def _whole(value: object, name: str, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number, {least} or more, not {value!r}")
    return value


def _chunk_size(value: object, name: str) -> int:
    return _whole(value, name, least=1)


MAX_DELAY_S = 3600.0


def _seconds(value: object, name: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= MAX_DELAY_S:
        raise ValueError(f"{name} must be a number of seconds from 0 to {MAX_DELAY_S:.0f}, not {value!r}")
    return float(value)


def _json_type(value: object) -> str:
    return "null" if value is None else type(value).__name__


_FIELDS: Mapping[str, Callable[[object, str], Any]] = {
    "text": _text,
    "thinking": _text,
    "usage": _parse_usage,
    "delay_s": _seconds,
    "chunk": _chunk_size,
    "error": _parse_error,
}
_KNOWN = (*_FIELDS, "tool_calls", "finish_reason")
