"""Adapter for any provider through litellm.

Measured with litellm 1.106.2 and worked around here: it never yields to the event loop while chunks are buffered (a
`sleep(0)` per chunk); it retries on its own (`max_retries=0`); a stream without a finish reason, and a web page with
status 200, look like a clean `stop` (the wrapper's `received_finish_reason` holds what was really sent); leaving the
loop over a stream does not close its connection (`aclose`).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
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
from pygent_ls.llm.litellm.loader import LitellmLoader
from pygent_ls.llm.litellm.stream import ChunkTranslation, forget_pieces
from pygent_ls.llm.litellm.target import EnvironmentCheck, LitellmTarget, TargetChoice
from pygent_ls.llm.message_rules import signs_calls
from pygent_ls.llm.openai.chat_format import chat_messages, chat_tools, mark_for_cache
from pygent_ls.llm.openai.chat_request import takes_temperature
from pygent_ls.llm.openai.think_tags import ThinkTags, opens_in_prompt
from pygent_ls.llm.providers.endpoint import Endpoint, with_effort
from pygent_ls.llm.providers.known_providers import LITELLM_PREFIX
from pygent_ls.llm.providers.provider_keys import NO_SAVED_KEYS

_ADJUSTABLE = ("temperature", "max_tokens", "stream_options", "reasoning_effort")
"""Arguments that are left out if the provider refuses them."""


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
        self.loader = loader
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
        return self.loader.ready

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
        await self.loader.wait()
        choice = self._choice()
        return await asyncio.to_thread(choice.environment)

    def _choice(self) -> TargetChoice:
        return TargetChoice(
            self._name.removeprefix(LITELLM_PREFIX), self._endpoint, self.loader.litellm, self._saved_keys
        )

    async def prepare(self) -> None:
        """Load what a call needs. Raises `ModelError` for an unknown provider, a missing key or an invalid address."""
        await self._prepared()

    async def _prepared(self) -> LitellmTarget:
        await self.loader.wait()
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
                    reply = await self.loader.litellm.acompletion(**arguments)
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
