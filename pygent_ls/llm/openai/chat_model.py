"""Adapter for endpoints that speak chat completions, without litellm: OpenAI, Ollama, vLLM, LM Studio, OpenRouter,
Groq, DeepSeek, Mistral, xAI, Together, Fireworks, a LiteLLM proxy, and compatible servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pygent_ls.agent.ports.model import ModelRequest, ToolDefinition
from pygent_ls.llm.http.call import HttpExchange, Native
from pygent_ls.llm.http.model import NativeModel
from pygent_ls.llm.http.refusals import Learned
from pygent_ls.llm.http.target import NativeTarget
from pygent_ls.llm.message_rules import chat_family, rules_of
from pygent_ls.llm.openai import responses_stream
from pygent_ls.llm.openai.chat_format import chat_tools
from pygent_ls.llm.openai.chat_request import adjustable, chat_request
from pygent_ls.llm.openai.chat_stream import ChatStream, is_last
from pygent_ls.llm.openai.responses_request import adjustable as responses_adjustable
from pygent_ls.llm.openai.responses_request import responses_request
from pygent_ls.llm.openai.think_tags import ThinkTags, opens_in_prompt


class OpenAIModel(NativeModel):
    """One model behind chat completions."""

    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """Return the tools in the format of chat completions."""
        return chat_tools(tools)

    def _exchange(self, target: NativeTarget, request: ModelRequest, learned: Learned) -> HttpExchange:
        native = self._native
        if learned.wants_responses and not learned.has_no_responses:
            return responses_exchange(native, target, request, learned)
        body = chat_request(request, target, native.known, learned)
        tags = ThinkTags(may_be_open=opens_in_prompt(native.model))
        return HttpExchange(
            call=native.call(target, _url(target), bearer(target), body, is_last),
            adjustable={**adjustable(body, target), "chat": True},
            stream=ChatStream(known=native.known, rules=rules_of(self.family), tags=tags),
        )

    @property
    def family(self) -> str:
        """The provider, with the vendor or the model if it serves many kinds."""
        return chat_family(self._native.provider.name, self._native.model)


def responses_exchange(native: Native, target: NativeTarget, request: ModelRequest, learned: Learned) -> HttpExchange:
    """Return a request to the Responses API and the reader of its answer."""
    body = responses_request(request, target, native.known, learned)
    return HttpExchange(
        call=native.call(target, _responses_url(target), bearer(target), body, responses_stream.is_last),
        adjustable={**responses_adjustable(body), "responses": True},
        stream=responses_stream.ResponsesStream(known=native.known),
    )


def _responses_url(target: NativeTarget) -> str:
    base = target.base.removesuffix("/chat/completions")
    return base if base.endswith("/responses") else f"{base}/responses"


def _url(target: NativeTarget) -> str:
    whole = "/chat/completions"
    return target.base if target.base.endswith(whole) else target.base + whole


def bearer(target: NativeTarget) -> dict[str, str]:
    """Return the header that carries the key, if there is one."""
    return {"Authorization": f"Bearer {target.key}"} if target.key else {}
