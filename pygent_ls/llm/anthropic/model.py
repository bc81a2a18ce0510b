"""Adapter for Anthropic's Messages API and compatible servers, without litellm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pygent_ls.agent.ports.model import ModelRequest, ToolDefinition
from pygent_ls.llm.anthropic.request import adjustable, anthropic_tools, messages_request
from pygent_ls.llm.anthropic.stream import MessageStream, is_last
from pygent_ls.llm.http.call import HttpExchange
from pygent_ls.llm.http.model import NativeModel
from pygent_ls.llm.http.refusals import Learned
from pygent_ls.llm.http.target import NativeTarget

VERSION = "2023-06-01"
"""Version of the API; newer features are enabled by name (`betas`)."""

BINDING = "thinking-binding-controls-2026-08-01"
"""Beta that lets a request say how thinking blocks are treated whose preceding conversation has changed."""


class AnthropicModel(NativeModel):
    """One Anthropic model."""

    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """Return the tools in the format of the Messages API."""
        return anthropic_tools(tools)

    @property
    def searches_web(self) -> bool:
        """True for Claude models; other vendors behind this API have no such tool."""
        return self.family == "anthropic"

    def _exchange(self, target: NativeTarget, request: ModelRequest, learned: Learned) -> HttpExchange:
        native = self._native
        body = messages_request(request, target.model, native.known, learned, native.endpoint.cache_ttl)
        binds = "block_binding" in body.get("thinking", {})
        headers = _headers(target, (*native.endpoint.betas, BINDING) if binds else native.endpoint.betas)
        return HttpExchange(
            call=native.call(target, _url(target), headers, body, is_last),
            adjustable=adjustable(body),
            stream=MessageStream(known=native.known),
        )

    @property
    def family(self) -> str:
        """`anthropic` for every Claude model; other models behind this API read only their own sealed thinking."""
        return "anthropic" if "claude" in self._native.model else f"anthropic/{self._native.model}"


def _headers(target: NativeTarget, betas: Sequence[str]) -> dict[str, str]:
    headers = {"anthropic-version": VERSION}
    if target.key and target.is_token:
        headers["Authorization"] = f"Bearer {target.key}"
    elif target.key:
        headers["x-api-key"] = target.key
    if betas:
        headers["anthropic-beta"] = ",".join(betas)
    return headers


def _url(target: NativeTarget) -> str:
    if target.base.endswith("/messages"):
        return target.base
    return target.base + ("/messages" if target.base.endswith("/v1") else "/v1/messages")
