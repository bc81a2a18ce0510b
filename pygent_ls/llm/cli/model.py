"""Adapter for `cli:NAME`: a command-line program as a model.

The program is started for each answer, in an empty folder and outside the sandbox (it needs its own credentials and
network). It reads the conversation and writes the answer; its tool calls are read from the text. It is not asked to use
tools of its own, and any such use is not visible here.
"""

from __future__ import annotations

import asyncio
import dataclasses
import math
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls.agent.context.conversation_text import conversation_text
from pygent_ls.agent.messages import Message, ThinkingBlock, Usage
from pygent_ls.agent.ports.model import (
    Chunk,
    Completion,
    FinishChunk,
    ModelFacts,
    ModelRequest,
    TextChunk,
    ToolDefinition,
    UsageChunk,
    completed,
)
from pygent_ls.agent.ports.processes import Processes, ProcessResult, ProcessSpec
from pygent_ls.errors import ModelError, ModelErrorType, SettingError, ToolError
from pygent_ls.llm.cli.output import Cleaner, last_words
from pygent_ls.llm.cli.programs import CALL_IN_BLOCKS, CONTINUE, CONVERSATION, PREFIX, PRESETS, CliProgram
from pygent_ls.llm.text_tools.model import with_calls_found, with_tools

MAX_ARGUMENT_BYTES = 131_071
"""Maximum size of one program argument on Linux (MAX_ARG_STRLEN without the terminating byte)."""

MAX_ANSWER_CHARS = 4_000_000
"""Maximum length of an answer, about a million tokens; a program that writes more fails."""

MAX_KEPT_CHARS = 8_000
"""Maximum number of characters of diagnostic output kept; the end is quoted if the program fails."""

MAX_WAITING_PIECES = 8
"""Maximum number of buffered pieces of output, each at most the size of a pipe's buffer; then the program blocks."""

CHARS_A_TOKEN = 4
"""Usual estimate of characters per token, because programs do not report their token usage."""


class CliEnvironment(Struct, frozen=True, kw_only=True):
    """Settings and services that programs are run with."""

    processes: Processes
    folder: Path
    """Folder that programs are run in: created if missing, and empty, so that nothing in it can instruct them."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Provider keys, which programs do not get otherwise."""
    masked: Callable[[str], str] = str
    """Masks keys in a program's output."""
    first_byte_timeout_s: float = 300.0
    idle_timeout_s: float = 60.0
    own: Mapping[str, CliProgram] = field(default_factory=dict[str, CliProgram])
    """The user's programs by name; they take precedence over the presets."""
    text_tool_calls: bool = True
    """Whether the tools are offered."""

    def model(self, name: str) -> CliModel:
        """Return the model `cli:NAME` or `cli:NAME/MODEL`. Raises `SettingError` for an invalid name."""
        program_name, _, model = name.removeprefix(PREFIX).partition("/")
        program = self.own.get(program_name) or PRESETS.get(program_name)
        if program is None:
            known = ", ".join(dict.fromkeys((*self.own, *PRESETS)))
            raise SettingError(
                f"The model {name!r} does not name a program. Known programs: {known}. Define your own as "
                "[cli_models.NAME]."
            )
        if program.needs_model and not model:
            raise SettingError(f"The model {name!r} also needs a model name: {PREFIX}{program_name}/MODEL.")
        if model and not program.needs_model and not program.model_option:
            raise SettingError(f"{PREFIX}{program_name} does not accept a model name: its command has no {{model}}.")
        return CliModel(name, program, program.arguments(model), self)


class CliModel(Struct, frozen=True):
    """A command-line program as a model."""

    name: str
    program: CliProgram
    command: tuple[str, ...]
    around: CliEnvironment

    @property
    def ready(self) -> bool:
        """Always True: nothing is loaded."""
        return True

    @property
    def facts(self) -> ModelFacts:
        """Facts of a text model without native tools; its prices and context window are unknown."""
        return ModelFacts(has_native_tools=False, takes_images=False)

    async def prepare(self) -> None:
        """Check that the program is installed. Raises `ModelError` if it is not."""
        if self.around.processes.find(self.command[0]) is None:
            raise ModelError(
                f"{self.name} cannot run: the program {self.command[0]!r} is not installed or not on the PATH. "
                "Install it, or set its absolute path. Programs in the workspace are not run.",
                type="invalid_request",
                provider=self.name,
            )

    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """Return nothing: the tools are described in the conversation."""
        return ()

    async def complete(self, request: ModelRequest) -> Completion:
        """Return the whole answer, as `Model.complete` describes."""
        return await completed(self.stream(dataclasses.replace(request, tools=())), request)

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        """Yield the program's answer. Closing the generator ends the program's process group.

        Raises `ModelError` if the program is not installed, fails, or is silent for too long, or if the conversation is
        too long for it. The end of its output is quoted.
        """
        if request.tools and self.around.text_tool_calls:
            return with_calls_found(self._answer(request), request)
        return self._answer(dataclasses.replace(request, tools=()))

    async def _answer(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        await self.prepare()
        spec = self._spec(request)
        said: list[str] = []
        async with aclosing(self._cleaned(spec)) as texts:
            async for text in texts:
                said.append(text)
                if self._streams:
                    yield TextChunk(text=text)
        if not self._streams:
            said = [
                re.sub(rf"(?m)^{self.program.noise}\n?", "", "".join(said)) if self.program.noise else "".join(said)
            ]
            yield TextChunk(text=said[0].strip())
        yield UsageChunk(usage=_estimated(sum(map(len, spec.argv)) + len(spec.stdin_bytes), sum(map(len, said))))
        yield FinishChunk(reason="stop")

    @property
    def _streams(self) -> bool:
        return self.program.stream and not self.program.noise

    @property
    def _keys(self) -> dict[str, str]:
        wanted = self.program.keys
        return {name: key for name, key in self.around.environment.items() if wanted is None or name.startswith(wanted)}

    def _spec(self, request: ModelRequest) -> ProcessSpec:
        told = with_tools(request.system, request.tools).rstrip(), CALL_IN_BLOCKS if request.tools else "", CONTINUE
        system = "\n\n".join(part for part in told if part)
        messages = [_without_thinking(message) for message in request.messages]
        conversation = conversation_text(messages, self.program.form, system=system)
        as_argument = any(CONVERSATION in part for part in self.command)
        if as_argument:
            conversation = conversation.replace("\0", "\ufffd")
        n_bytes = len(conversation.encode())
        if as_argument and n_bytes > MAX_ARGUMENT_BYTES:
            raise ModelError(
                f"The conversation is too long for {self.name}, which reads it from an argument: {n_bytes} bytes, at "
                f"most {MAX_ARGUMENT_BYTES} are possible.",
                type="context_window",
                provider=self.name,
            )
        try:
            self.around.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ModelError(
                f"{self.name} cannot run: its folder {self.around.folder} cannot be created ({error.strerror}).",
                type="invalid_request",
                provider=self.name,
            ) from error
        return ProcessSpec(
            argv=tuple(part.replace(CONVERSATION, conversation) for part in self.command),
            cwd=self.around.folder,
            timeout_s=math.inf,
            env={"NO_COLOR": "1", "TERM": "dumb", **self._keys},
            max_output_chars=MAX_KEPT_CHARS,
            stdin_bytes=b"" if as_argument else conversation.encode(),
            errors_apart=True,
        )

    async def _cleaned(self, spec: ProcessSpec) -> AsyncGenerator[str]:
        cleaner = Cleaner()
        n_chars = 0
        async with aclosing(self._output(spec)) as pieces:
            async for piece in pieces:
                n_chars += len(piece)
                if text := cleaner.feed(piece):
                    yield text
                if n_chars > MAX_ANSWER_CHARS:
                    raise self._failed("server", f"wrote more than {MAX_ANSWER_CHARS} characters")
        if text := cleaner.close():
            yield text

    async def _output(self, spec: ProcessSpec) -> AsyncGenerator[str]:
        """Yield the program's output as it arrives; return after the program succeeds."""
        waiting: asyncio.Queue[str | ProcessResult | ToolError] = asyncio.Queue(MAX_WAITING_PIECES)

        async def run() -> None:
            try:
                ended = await self.around.processes.run(spec, waiting.put)
            except ToolError as error:
                await waiting.put(error)
            else:
                await waiting.put(ended)

        running = asyncio.create_task(run())
        now, limit_s = asyncio.get_running_loop().time, self.around.first_byte_timeout_s
        ends_s = now() + limit_s
        has_answered = False
        try:
            while True:
                try:
                    async with asyncio.timeout_at(ends_s):
                        came = await waiting.get()
                except TimeoutError:
                    raise self._failed("timeout", f"wrote nothing for {limit_s:g} s") from None
                match came:
                    case str():
                        yield came
                        if came.strip():  # empty lines do not count as an answer
                            has_answered, limit_s = True, self.around.idle_timeout_s
                            ends_s = now() + limit_s
                    case ProcessResult():
                        self._check(came, has_answered=has_answered)
                        return
                    case ToolError():
                        raise ModelError(str(came), type="invalid_request", provider=self.name)
        finally:
            running.cancel()
            await _ended(running)

    def _check(self, ended: ProcessResult, *, has_answered: bool) -> None:
        """Raise `ModelError` if the program failed or wrote only errors."""
        masked = self.around.masked
        said = last_words(ended.stderr, masked) or last_words(ended.stdout, masked)
        if ended.exit_code:
            how = (
                (f"was terminated by signal {-ended.exit_code}")
                if ended.exit_code < 0
                else f"failed ({ended.exit_code})"
            )
            raise self._failed(_type_of(said), how, said)
        if not has_answered and said:
            raise self._failed(_type_of(said), "did not answer", said)

    def _failed(self, error_type: ModelErrorType, how: str, said: str = "") -> ModelError:
        quoted = f"; its output:\n{said}" if said else "."
        return ModelError(f"{self.command[0]} {how}{quoted}", type=error_type, provider=self.name)


async def _ended(task: asyncio.Task[None]) -> None:
    """Wait for a cancelled task to end. A cancellation of the caller meanwhile is raised afterwards."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


def _without_thinking(message: Message) -> Message:
    """Remove thinking from a message: a program cannot use another model's thinking."""
    kept = tuple(block for block in message.blocks if not isinstance(block, ThinkingBlock))
    return message if len(kept) == len(message.blocks) else replace(message, content=kept)


def _estimated(n_in: int, n_out: int) -> Usage:
    """Return the usage estimated from characters; its cost is unknown."""
    tokens_in, tokens_out = math.ceil(n_in / CHARS_A_TOKEN), math.ceil(n_out / CHARS_A_TOKEN)
    return Usage(input_tokens=tokens_in, output_tokens=tokens_out, context_tokens=tokens_in + tokens_out)


_TYPES: Sequence[tuple[ModelErrorType, str]] = (
    ("rate_limit", r"rate.?limit|too many requests|\b429\b|quota|usage limit"),
    ("overloaded", r"overloaded|\b529\b|\b503\b"),
    ("context_window", r"context (?:window|length)|prompt is too long|maximum context|too many tokens"),
    ("auth", r"api.?key|unauthori[sz]ed|\b40[13]\b|log ?in|logged in|authenticat|credential|permission denied"),
    ("timeout", r"timed? ?out"),
    ("network", r"connection|connect:|econnre|enotfound|network|dns|could not connect|fetch failed"),
)
"""Patterns that classify a failure by the end of the program's output; the first match wins."""


def _type_of(said: str) -> ModelErrorType:
    for kind, words in _TYPES:
        if re.search(words, said, re.IGNORECASE):
            return kind
    return "unknown"
