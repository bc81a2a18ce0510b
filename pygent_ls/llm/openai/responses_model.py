"""Adapter for OpenAI models that need the Responses API, at OpenAI and at compatible servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pygent_ls.agent.ports.model import ModelRequest, ToolDefinition
from pygent_ls.llm.http.call import HttpExchange
from pygent_ls.llm.http.refusals import Learned
from pygent_ls.llm.http.target import NativeTarget
from pygent_ls.llm.openai.chat_model import OpenAIModel, responses_exchange
from pygent_ls.llm.openai.responses_request import responses_tools


class ResponsesModel(OpenAIModel):
    """A model called through the Responses API, or through chat completions once its server turns out to lack it."""

    @property
    def family(self) -> str:
        """`openai` for OpenAI's models, which read each other's reasoning; else one family per model of a server."""
        return "openai" if self._native.provider.name == "openai" else super().family

    @property
    def searches_web(self) -> bool:
        """True at OpenAI; compatible servers have no such tool."""
        return self._native.provider.name == "openai" and not self._native.has_no_responses

    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """Return the tools in the format of the Responses API."""
        return responses_tools(tools)

    def _exchange(self, target: NativeTarget, request: ModelRequest, learned: Learned) -> HttpExchange:
        if learned.has_no_responses:
            return super()._exchange(target, request, learned)
        return responses_exchange(self._native, target, request, learned)
