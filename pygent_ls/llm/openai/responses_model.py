"""OpenAI's models that need the Responses API, at OpenAI and at servers that are compatible with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pygent_ls.agent.model import ModelRequest, ToolDefinition
from pygent_ls.llm.http.call import Exchange
from pygent_ls.llm.http.refusals import Learned
from pygent_ls.llm.http.target import NativeTarget
from pygent_ls.llm.openai.chat_model import OpenAIModel, responses_exchange
from pygent_ls.llm.openai.responses_request import responses_tools


class ResponsesModel(OpenAIModel):
    """One such model. A server that has no Responses API is asked for chat completions from then on."""

    @property
    def family(self) -> str:
        """OpenAI's models read each other's reasoning; at a server of the user's own it stays with the model."""
        return "openai" if self._native.provider.name == "openai" else super().family

    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """As the Responses API has them."""
        return responses_tools(tools)

    def _exchange(self, target: NativeTarget, request: ModelRequest, learned: Learned) -> Exchange:
        if learned.has_no_responses:
            return super()._exchange(target, request, learned)
        return responses_exchange(self._native, target, request, learned)
