"""Import of litellm in a thread. The only module that imports it.

Measured with litellm 1.106.2 and worked around here: its import takes 3 s of a core and its first call 1–2 s more (the
thread does both); it loads the `.env` of a folder above its own installation, and fetches a price list (both prevented
by environment variables set during the import only); a hundred equal chunks end a stream
(`REPEATED_STREAMING_CHUNK_LIMIT`).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from pygent_ls.agent.ports.model import ToolDefinition
from pygent_ls.agent.system_limits import limit_reached
from pygent_ls.errors import ModelError
from pygent_ls.llm.openai.chat_format import chat_tools
from pygent_ls.llm.providers.endpoint import NO_KEY


class LitellmLoader:
    """Imports litellm in a daemon thread and calls it once there; one object per process."""

    def __init__(self) -> None:
        self.error: ModelError | None = None
        self._litellm: Any = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_over = False
        self._waiting: list[asyncio.Future[None]] = []

    def start(self) -> None:
        """Begin to load, unless that was done before."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="litellm-loader", daemon=True)
                self._thread.start()

    @property
    def ready(self) -> bool:
        """Whether a call would begin at once."""
        return self._is_over and self._litellm is not None

    async def wait(self) -> None:
        """Wait until litellm can be called; start loading it if necessary. Raises `ModelError`."""
        self.start()
        with self._lock:
            future = None if self._is_over else asyncio.get_running_loop().create_future()
            if future is not None:
                self._waiting.append(future)
        if future is not None:
            await future
        if self.error is not None:
            raise ModelError(self.error.message, type=self.error.type)

    @property
    def litellm(self) -> Any:
        """The library; valid only after `wait`."""
        return self._litellm

    def _run(self) -> None:
        try:
            self._litellm = _import_litellm()
            asyncio.run(_warm_up(self._litellm))
        except ImportError as error:
            self.error = _not_loaded(f" ({error})")
        except OSError as error:
            problem = limit_reached(error)
            if problem is None:
                raise
            if self._litellm is None:
                self.error = ModelError(problem)
        finally:  # other errors of the import go to the thread's excepthook; waiters must be released anyway
            if self._litellm is None and self.error is None:
                self.error = _not_loaded("")
            self._finish()

    def _finish(self) -> None:
        with self._lock:
            self._is_over = True
            waiting, self._waiting = self._waiting, []
        for future in waiting:
            with suppress(RuntimeError):  # that loop is closed, and so are its waiters
                future.get_loop().call_soon_threadsafe(_resolve, future)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _not_loaded(why: str) -> ModelError:
    return ModelError(f"litellm could not be loaded{why}. Reinstall pygent-ls, or use offline/rules.")


@contextmanager
def _environment(**values: str) -> Generator[None]:
    """Set variables temporarily and restore them afterwards, so that programs started by tools do not see them."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _import_litellm() -> Any:
    from pygent_ls.llm.litellm.restrictions import restrict

    # PRODUCTION: otherwise a `.env` above the virtual environment, perhaps in an untrusted folder, sets keys and URLs.
    with _environment(LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_MODE="PRODUCTION"):
        import litellm as library
        from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler  # pyright: ignore[reportMissingTypeStubs]
        from litellm.llms.openai.common_utils import BaseOpenAILLM  # pyright: ignore[reportMissingTypeStubs]
    litellm: Any = library
    litellm.suppress_debug_info = True  # it prints to stdout
    litellm.telemetry = False
    restrict(litellm, AsyncHTTPHandler, BaseOpenAILLM)
    litellm.modify_params = True  # Anthropic requires tools if the history has calls, even if none are offered
    litellm.REPEATED_STREAMING_CHUNK_LIMIT = sys.maxsize
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):  # their warnings quote prompts
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    for name in ("httpx", "httpcore", "openai", "aiohttp"):  # their INFO records have URLs, some with a key
        logging.getLogger(name).setLevel(logging.WARNING)
    return litellm


_WARM_UP_ANSWER: Sequence[dict[str, Any]] = (
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "a"}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f"}}]}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}},
)


async def _warm_up(litellm: Any) -> None:
    """Make one streamed call without a network, so that litellm's lazy initialisation is done in advance.

    Measured: without it the first call blocks the event loop for 0.6 s, with it for 3 ms (other providers: 20 ms).
    """
    import httpx
    import openai

    envelope = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "warm-up"}
    body = "".join(f"data: {json.dumps(envelope | piece)}\n\n" for piece in _WARM_UP_ANSWER) + "data: [DONE]\n\n"

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=body)

    tool = ToolDefinition(name="f", description="f", schema={})
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        client = openai.AsyncOpenAI(api_key=NO_KEY, base_url="http://warm-up.invalid/v1", http_client=http)
        with suppress(openai.OpenAIError):  # then the first call is slow
            reply = await litellm.acompletion(
                model="openai/warm-up",
                messages=[{"role": "user", "content": "warm up"}],
                tools=chat_tools([tool]),
                client=client,
                stream=True,
                stream_options={"include_usage": True},
                max_retries=0,
                num_retries=0,
            )
            async for _ in reply:
                pass
    with suppress(litellm.exceptions.ModelNotMappedError):  # litellm computes a cost for every call
        litellm.cost_per_token(model="gpt-4o", custom_llm_provider="openai", prompt_tokens=1, completion_tokens=1)
