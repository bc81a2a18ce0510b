"""Adapter for any provider through litellm. The only module that imports litellm, once a `LitellmLoader` is started.

Measured with litellm 1.106.2 and worked around here: its import takes 3 s of a core and its first call 1–2 s more (the
loader's thread does both); it loads the `.env` of a folder above its own installation, and fetches a price list (both
prevented by environment variables set during the import only); it never yields to the event loop while chunks are
buffered (a `sleep(0)` per chunk); it retries on its own (`max_retries=0`); a hundred equal chunks end a stream
(`REPEATED_STREAMING_CHUNK_LIMIT`); a stream without a finish reason, and a web page with status 200, look like a clean
`stop` (the wrapper's `received_finish_reason` holds what was really sent); leaving the loop over a stream does not
close its connection (`aclose`).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from msgspec.structs import replace

from pygent_ls.agent.ports.model import Chunk, Completion, ModelFacts, ModelRequest, ToolDefinition, completed
from pygent_ls.errors import ModelError, NoToolsError
from pygent_ls.llm.catalog.known_model import KnownModel
from pygent_ls.llm.catalog.pricing import PriceTable
from pygent_ls.llm.effort import nearest, thinking_budget, wanted_effort
from pygent_ls.llm.errors.model_errors import model_error
from pygent_ls.llm.http.refusals import MAX_REPEATS, Learned, Refusals, learn
from pygent_ls.llm.keys.saved_keys import SavedKeys
from pygent_ls.llm.litellm import gemini_search
from pygent_ls.llm.litellm.restrictions import restrict
from pygent_ls.llm.litellm.stream import ChunkTranslation, forget_pieces
from pygent_ls.llm.litellm.target import EnvironmentCheck, LitellmTarget, TargetChoice
from pygent_ls.llm.message_rules import signs_calls
from pygent_ls.llm.openai.chat_format import chat_messages, chat_tools, mark_for_cache
from pygent_ls.llm.openai.chat_request import takes_temperature
from pygent_ls.llm.openai.think_tags import ThinkTags, opens_in_prompt
from pygent_ls.llm.providers.endpoint import NO_KEY, Endpoint, with_effort
from pygent_ls.llm.providers.provider_keys import NO_SAVED_KEYS

PREFIX = "litellm/"

_ADJUSTABLE = ("temperature", "max_tokens", "stream_options", "reasoning_effort")
"""Arguments that are left out if the provider refuses them."""


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


class LitellmModel:
    """One model of any provider; `name` is a litellm model string, with or without the prefix `litellm/`.

    If an `api_base` is set, a name without a provider known to litellm is treated as an OpenAI-compatible model.
    """

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        loader: LitellmLoader,
        prices: PriceTable | None = None,
        refusals: Refusals | None = None,
        *,
        saved_keys: SavedKeys = NO_SAVED_KEYS,
    ) -> None:
        self._name = name
        self._refusals = refusals or Refusals()
        self._endpoint = endpoint
        self._loader = loader
        self._prices = prices or PriceTable()
        self._saved_keys = saved_keys
        self._known = KnownModel()
        self._target: LitellmTarget | None = None

    @property
    def name(self) -> str:
        """The model string that selected it."""
        return self._name

    @property
    def ready(self) -> bool:
        """Whether litellm is loaded."""
        return self._loader.ready

    @property
    def facts(self) -> ModelFacts:
        """Facts from litellm's table and the settings; nothing is known before `prepare`."""
        facts, target = self._known.facts, self._target
        if target is None:
            return facts
        has_tools = facts.has_native_tools and not self._learned(target).has_no_tools
        searches = self._has_search(target) and "web_search" not in self._learned(target).left_out
        return replace(facts, family=target.family, has_native_tools=has_tools, searches_web=searches)

    def _has_search(self, target: LitellmTarget) -> bool:
        """Whether it is Gemini 3 or newer, which combines a search with functions."""
        return target.called.provider == "gemini" and signs_calls(target.model)

    def _learned(self, target: LitellmTarget) -> Learned:
        return self._refusals.of(target.called.address or target.called.provider, target.model)

    @property
    def endpoint(self) -> Endpoint:
        """How its provider is reached."""
        return self._endpoint

    async def check_environment(self) -> EnvironmentCheck:
        """Return the result of litellm's own check of the environment. Raises `ModelError`."""
        await self._loader.wait()
        choice = self._choice()
        return await asyncio.to_thread(choice.environment)

    def _choice(self) -> TargetChoice:
        return TargetChoice(self._name.removeprefix(PREFIX), self._endpoint, self._loader.litellm, self._saved_keys)

    async def prepare(self) -> None:
        """Load what a call needs. Raises `ModelError` for an unknown provider, a missing key or an invalid address."""
        await self._prepared()

    async def _prepared(self) -> LitellmTarget:
        await self._loader.wait()
        if self._target is None:
            target = await asyncio.to_thread(self._choice().target)  # a saved key may be read from a file
            self._known = await self._prices.look_up(
                self._name, target.called.provider, target.bare, self._endpoint.own_facts
            )
            self._target = target
        return self._target

    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """Return the tools in the format of chat completions."""
        return chat_tools(tools)

    async def complete(self, request: ModelRequest) -> Completion:
        """Return the whole answer, as `Model.complete` describes."""
        return await completed(self.stream(request), request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Call the model, as `Model.stream` describes."""
        target = await self._prepared()
        request = with_effort(request, self._known, self._endpoint)
        import openai

        timeout_s = self._endpoint.first_byte_timeout_s
        reply: Any = None
        translation = ChunkTranslation(known=self._known, tags=ThinkTags(may_be_open=opens_in_prompt(target.bare)))
        try:
            reply, piece = await self._begun(target, request)
            timeout_s = self._endpoint.idle_timeout_s
            while piece is not None:
                forget_pieces(reply)
                for chunk in translation.chunks(piece):
                    yield chunk
                await asyncio.sleep(0)
                async with asyncio.timeout(timeout_s):
                    piece = await anext(reply, None)
            for chunk in translation.end(reply):
                yield chunk
        except TimeoutError:
            message = f"{target.called.provider} sent nothing for {timeout_s:g} s. Try again, or choose another model."
            raise ModelError(message, type="timeout", provider=target.called.provider) from None
        except (TypeError, AttributeError, LookupError) as error:  # litellm fails on an unexpected answer
            message = f"litellm cannot call {target.called.provider} this way ({type(error).__name__})."
            raise ModelError(message, type="invalid_request", provider=target.called.provider) from error
        except (openai.OpenAIError, ValueError, OSError) as error:
            failure = model_error(error, target.called)
            self._learned(target).has_no_tools |= isinstance(failure, NoToolsError)
            raise failure from None
        finally:
            if reply is not None:
                await reply.aclose()

    async def _begun(self, target: LitellmTarget, request: ModelRequest) -> tuple[Any, Any]:
        """Return litellm's stream and its first piece, None if it has none: some providers are called only for that
        piece. A request is repeated without the parts that the provider refused."""
        import openai

        learned = self._learned(target)
        n_repeats = 0
        while True:
            arguments = self._arguments(target, request, learned)
            try:
                async with asyncio.timeout(self._endpoint.first_byte_timeout_s):
                    reply = await self._loader.litellm.acompletion(**arguments)
                    return reply, await _first_piece(reply)
            except openai.OpenAIError as error:
                status, body = getattr(error, "status_code", None), getattr(error, "body", None)
                sent = {name: arguments[name] for name in _ADJUSTABLE if name in arguments} | {"thinking_back": True}
                if gemini_search.ARGUMENTS.items() <= arguments.items():
                    sent["web_search"] = True
                if n_repeats == MAX_REPEATS or not learn(status, body, str(error), sent, learned):
                    raise
                n_repeats += 1

    def _arguments(self, target: LitellmTarget, request: ModelRequest, learned: Learned) -> dict[str, Any]:
        is_claude = target.family == "anthropic"
        rules = target.rules
        if learned.wants_reasoning:
            rules = replace(rules, reasoning_field="reasoning_content", needs_reasoning=True)
        elif "thinking_back" in learned.left_out:
            rules = replace(rules, takes_data=False, seals_reasoning=False)
        messages = chat_messages(request.system, request.messages, rules, thinks=learned.wants_reasoning)
        if self._known.caches_prompts and is_claude:
            mark_for_cache(messages)
        searches = request.searches_web and "web_search" not in learned.left_out
        optional = {
            "tools": [*chat_tools(request.tools), *([gemini_search.TOOL] if searches else [])],
            **(gemini_search.ARGUMENTS if searches else {}),
            "api_base": self._endpoint.api_base,
            "api_key": target.api_key,
            "extra_headers": self._headers(target),
            "temperature": self._temperature(target, request),
            "max_tokens": self._most_tokens(request, is_claude=is_claude),
            "stream_options": {"include_usage": True},
            **self._thinking(request, learned),
        }
        kept = {name: value for name, value in optional.items() if name not in learned.left_out}
        return {
            "model": target.model,
            "messages": messages,
            "stream": True,
            "max_retries": 0,
            "num_retries": 0,
            "drop_params": True,
            **{name: value for name, value in kept.items() if value is not None and value not in ({}, [], "")},
        }

    def _most_tokens(self, request: ModelRequest, *, is_claude: bool) -> int:
        """Return the output limit, which for Anthropic includes thinking."""
        thinking = thinking_budget(request) if is_claude and self._known.thinks else 0
        return min(request.max_output_tokens + thinking, self._known.max_output_tokens or sys.maxsize)

    def _headers(self, target: LitellmTarget) -> dict[str, str]:
        betas = ",".join(self._endpoint.betas) if "claude" in target.model else ""
        return {**({"anthropic-beta": betas} if betas else {}), **self._endpoint.extra_headers}

    def _temperature(self, target: LitellmTarget, request: ModelRequest) -> float | None:
        """Return the temperature; Claude accepts one unless it thinks, other reasoning models accept none."""
        if target.family == "anthropic":
            thinks = bool(self._known.thinks) and wanted_effort(request) not in (None, "none")
            return request.temperature if self._known.takes_temperature and not thinks else None
        return request.temperature if takes_temperature(self._known, target.bare) else None

    def _thinking(self, request: ModelRequest, learned: Learned) -> dict[str, Any]:
        """Return the effort argument, which litellm converts to the provider's parameters."""
        effort = wanted_effort(request)
        if effort is None or not (self._known.thinks or (self._known.thinks is None and request.effort)):
            return {}
        level = nearest(effort, learned.efforts or self._known.efforts)
        return {"reasoning_effort": level} if level else {}


async def _first_piece(reply: Any) -> Any:
    """Return the first piece of a stream, or None. Closes the stream if it fails."""
    try:
        return await anext(reply, None)
    except BaseException:
        await reply.aclose()
        raise
