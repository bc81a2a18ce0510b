"""Adapter for models of installed packages: `NAME/MODEL`, where NAME is an entry point of the group `pygent_ls.models`.

A package's code runs in an event loop of its own, in a thread, so that a call that blocks does not stop the daemon.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from pygent_ls.agent.ports.model import Chunk, Completion, ModelFacts, ModelRequest, ToolDefinition, completed
from pygent_ls.api import Models
from pygent_ls.errors import ModelError
from pygent_ls.llm.catalog.known_model import KnownModel
from pygent_ls.llm.errors.answer_errors import AnswerError
from pygent_ls.llm.openai.chat_format import chat_messages, chat_tools
from pygent_ls.llm.openai.chat_stream import ChatStream
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.server_sent_events import SentEvent

if TYPE_CHECKING:  # its import takes 10 ms
    from importlib.metadata import EntryPoint

GROUP = "pygent_ls.models"
"""Entry points of packages: each names an instance of `pygent_ls.api.Models`."""

LOAD_S = 60.0
"""Maximum time to import a package, some of which take half a minute."""

MAX_WAITING_PIECES = 8
"""Maximum number of pieces of an answer that wait to be read; then the package waits."""

LAST_S = 1.0
"""Maximum time for a package to end a cancelled call. After that it is left alone, and ends with the daemon."""

MAX_ERROR_CHARS = 500


@cache
def package_models() -> Mapping[str, EntryPoint]:
    """Return the entry points by name; the search takes long, so it is made once."""
    from importlib.metadata import entry_points

    return {each.name: each for each in reversed(tuple(entry_points(group=GROUP)))}


def load(entry: EntryPoint) -> Models:
    """Import the models of a package. Blocking. Raises `ModelError` that names the package."""
    try:
        found = entry.load()
    except (Exception, SystemExit) as error:  # whatever a package raises while it is imported
        raise _load_error(entry, f"{type(error).__name__}: {error}") from None
    if not isinstance(found, Models):
        raise _load_error(entry, f"{entry.value} is not an instance of pygent_ls.api.Models")
    return found


def _load_error(entry: EntryPoint, why: str) -> ModelError:
    package = entry.dist.name if entry.dist is not None else entry.name
    return ModelError(
        f"The models of the package {package} cannot be used: {why[:MAX_ERROR_CHARS]}", type="invalid_request"
    )


class PackageModel:
    """One model of a package."""

    def __init__(self, name: str, entry: EntryPoint, endpoint: Endpoint) -> None:
        self._name = name
        self._entry = entry
        self._endpoint = endpoint
        self._models: Models | None = None

    @property
    def name(self) -> str:
        """The model string that selected it."""
        return self._name

    @property
    def ready(self) -> bool:
        """Whether the package is imported."""
        return self._models is not None

    @property
    def facts(self) -> ModelFacts:
        """What the package declares; nothing is known before `prepare`."""
        models = self._models
        if models is None:
            return ModelFacts()
        return ModelFacts(
            context_limit=models.context_limit, has_native_tools=models.takes_tools, takes_images=models.takes_images
        )

    async def prepare(self) -> None:
        """Import the package. Raises `ModelError`."""
        if self._models is None:
            try:
                async with asyncio.timeout(LOAD_S):
                    self._models = await asyncio.to_thread(load, self._entry)
            except TimeoutError:
                raise _load_error(self._entry, f"it was not imported within {LOAD_S:g} s") from None

    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """Return the tools in the format of chat completions."""
        return chat_tools(tools)

    async def complete(self, request: ModelRequest) -> Completion:
        """Return the whole answer, as `Model.complete` describes."""
        return await completed(self.stream(request), request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Call the package, as `Model.stream` describes."""
        await self.prepare()
        assert self._models is not None
        answer = ChatStream(known=KnownModel())
        try:
            async with aclosing(_Call(self._models, self._body(request)).pieces(self._endpoint)) as pieces:
                async for piece in pieces:
                    for chunk in answer.chunks(SentEvent("", piece)):
                        yield chunk
            answer.was_closed = True
            for chunk in answer.end():
                yield chunk
        except (AnswerError, _PackageError) as error:
            why = f"The model {self._name} failed: {str(error)[:MAX_ERROR_CHARS]}"
            raise ModelError(why, type="server", provider=self._entry.name) from None

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._name.partition("/")[2],
            "messages": chat_messages(request.system, request.messages),
            "stream": True,
            "max_tokens": request.max_output_tokens,
            "temperature": request.temperature,
        }
        if request.effort is not None:
            body["reasoning_effort"] = request.effort
        return body | ({"tools": chat_tools(request.tools)} if request.tools else {})


class _PackageError(Exception):
    """A package raised an error, or answered with something else than pieces."""


class _Call:
    """One call, whose pieces a thread hands over to the event loop of the daemon."""

    def __init__(self, models: Models, body: Mapping[str, Any]) -> None:
        self._models = models
        self._body = body
        self._home = asyncio.get_running_loop()
        self._waiting: asyncio.Queue[str | Exception | None] = asyncio.Queue(MAX_WAITING_PIECES)
        self._ended = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_over = False

    async def pieces(self, endpoint: Endpoint) -> AsyncGenerator[str]:
        """Yield the pieces as JSON. Raises `_PackageError`, and `ModelError` if none comes in time."""
        threading.Thread(target=self._run, name="model of a package", daemon=True).start()
        limit_s = endpoint.first_byte_timeout_s
        try:
            while True:
                try:
                    async with asyncio.timeout(limit_s):
                        came = await self._waiting.get()
                except TimeoutError:
                    raise ModelError(f"The model answered nothing for {limit_s:g} s.", type="timeout") from None
                if came is None:
                    return
                if isinstance(came, Exception):
                    raise _PackageError(f"{type(came).__name__}: {came}")
                yield came
                limit_s = endpoint.idle_timeout_s
        finally:
            await self._end()

    async def _end(self) -> None:
        self._is_over = True
        task = self._task
        if task is not None:
            task.get_loop().call_soon_threadsafe(task.cancel)
        while not self._waiting.empty():
            self._waiting.get_nowait()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), LAST_S)

    def _run(self) -> None:
        try:
            with suppress(asyncio.CancelledError):  # at the end of the call
                asyncio.run(self._produce())
        finally:
            with suppress(RuntimeError):  # the loop of the daemon was closed while the package blocked
                self._home.call_soon_threadsafe(self._ended.set)

    async def _produce(self) -> None:
        self._task = asyncio.current_task()
        last: Exception | None = None
        try:
            if self._is_over:
                return
            given = cast("object", self._models.answer(self._body))
            if not isinstance(given, AsyncIterator):
                if isinstance(given, Coroutine):
                    given.close()
                raise _PackageError("`answer` must be an async generator function")
            async for piece in cast("AsyncIterator[object]", given):
                await self._hand_over(_as_json(piece))
        except Exception as error:  # of the package
            last = error
        await self._hand_over(last)

    async def _hand_over(self, item: str | Exception | None) -> None:
        if self._is_over:
            raise asyncio.CancelledError
        handed = asyncio.run_coroutine_threadsafe(self._waiting.put(item), self._home)
        await asyncio.wrap_future(handed)


def _as_json(piece: object) -> str:
    """Return a chunk of chat completions as JSON. Raises `_PackageError` if the piece is something else."""
    if isinstance(piece, str):
        piece = {"choices": [{"index": 0, "delta": {"content": piece}}]}
    if not isinstance(piece, Mapping):
        raise _PackageError(f"a piece must be text or a chunk of chat completions, and not {type(piece).__name__}")
    try:
        return json.dumps(dict(cast("Mapping[str, Any]", piece)))
    except (TypeError, ValueError) as error:
        raise _PackageError(f"a piece is not JSON: {error}") from None
